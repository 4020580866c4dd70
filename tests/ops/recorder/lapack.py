# SPDX-License-Identifier: Apache-2.0
"""Programs of linear algebra as JAX lowers them for CPUs: custom calls of LAPACK, and what is around them.

Eigenvectors and the like are unique but for signs, so what is compared is put together from them again; all
results are moved away from zero, as their errors are relative to the largest element."""

import re

import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
import numpy as np

from recorder import values

REASON = "rounding errors of another LAPACK, in well-conditioned problems"
DTYPES = {"f32": np.float32, "f64": np.float64, "c64": np.complex64, "c128": np.complex128}


class Program:
    """A jitted function as a case; the results are those of its compiled form."""

    def __init__(self, name, function, *inputs, bound=256):
        flat = jax.jit(lambda *a: tuple(jax.tree.leaves(function(*a))), keep_unused=True)
        lowered = flat.lower(*inputs)
        text = lowered.as_text(dialect="hlo")
        text = re.sub(r', (metadata|frontend_attributes)=\{(?:[^"}]|"[^"]*")*\}', "", text)
        self.hlo = text.rstrip()
        self.name, self.inputs, self.sizes = name, list(inputs), []
        self.expected = [np.asarray(r) for r in lowered.compile()(*inputs)]
        labels = [f"{i}" for i in range(len(self.expected))]
        exact = [r.dtype == np.int32 for r in self.expected]
        self.bounds = [(n, 0 if e else bound, "" if e else REASON) for n, e in zip(labels, exact)]

    def text(self):
        return self.hlo

    def finish(self, outputs):
        pass


def _matrix(type_, *dims, seed=1):
    r = values.random(sum(dims) + seed)
    x = r.standard_normal(dims)
    if type_[0] == "c":
        x = x + 1j * r.standard_normal(dims)
    return x.astype(DTYPES[type_])


def _adjoint(x):
    return jnp.conj(jnp.swapaxes(x, -1, -2))


def _definite(type_, *dims):
    x = _matrix(type_, *dims)
    return (x @ np.conj(np.swapaxes(x, -1, -2)) + dims[-1] * np.eye(dims[-1])).astype(x.dtype)


def _away(*results):
    return tuple(r + 8 for r in results)


def _qr(a):
    q, r = jnp.linalg.qr(a)
    return _away(q @ r, _adjoint(q) @ q)


def _eigh(a):
    w, v = jnp.linalg.eigh(a)
    return _away(w, (v * w[..., None, :]) @ _adjoint(v))


def _apply_q(a, c):
    h, tau = jnp.linalg.qr(a, mode="raw")
    h = h.T
    apply, q = jax.lax.linalg.ormqr, jax.lax.linalg.householder_product(h, tau)
    return _away(
        apply(h, tau, c),
        apply(h, tau, c.T, left=False, transpose=True),
        _adjoint(q) @ apply(h, tau, c) - c[:3],
    )


def _svd(full, algorithm=None):
    def f(a):
        u, s, v = jax.lax.linalg.svd(a, full_matrices=full, algorithm=algorithm)
        k = s.shape[-1]
        return _away(s, (u[..., :, :k] * s[..., None, :]) @ v[..., :k, :], _adjoint(u) @ u)

    return f


def _eig(a):
    w, left, right = jax.lax.linalg.eig(a, compute_left_eigenvectors=True)
    a = a.astype(right.dtype)
    return _away(
        jnp.sum(w, -1),
        a @ right - right * w[..., None, :],
        _adjoint(left) @ a - w[..., :, None] * _adjoint(left),
    )


def _schur(a):
    t, z = jsl.schur(a)
    return _away(z @ t @ _adjoint(z), _adjoint(z) @ z)


def _hessenberg(a):
    h, q = jsl.hessenberg(a, calc_q=True)
    return _away(q @ h @ _adjoint(q))


def _tridiagonal(a):
    _, d, e, _ = jax.lax.linalg.tridiagonal(a, lower=True)
    return _away(d, jnp.abs(e))


# Three matrices of one element, of which the second is not a number.
_ONE_NAN = np.array([1, np.nan, 1], np.float32)[:, None, None]


def _type_cases(type_):
    def program(name, function, *inputs):
        return Program(f"lapack.{name}.{type_}", function, *inputs)

    square = _matrix(type_, 5, 5)
    yield program("potrf", lambda a: _away(jnp.linalg.cholesky(a)), _definite(type_, 2, 5, 5))
    yield program("getrf", lambda a: jsl.lu_factor(a), _matrix(type_, 2, 4, 3))
    yield program("geqrf", _qr, _matrix(type_, 2, 5, 3))
    yield program("syevd", _eigh, _definite(type_, 2, 5, 5))
    yield program("gesdd", _svd(False), _matrix(type_, 2, 5, 3))
    yield program("gesdd_full", _svd(True), _matrix(type_, 3, 5))
    yield program("gesvd", _svd(False, jax.lax.linalg.SvdAlgorithm.QR), _matrix(type_, 2, 5, 3))
    yield program("ormqr", _apply_q, _matrix(type_, 4, 3), _matrix(type_, 4, 2))
    yield program("geev", _eig, _matrix(type_, 2, 4, 4))
    yield program("geev_nan", jnp.linalg.eig, _matrix(type_, 3, 1, 1) * _ONE_NAN)
    yield program("gees", _schur, square)
    yield program("gehrd", _hessenberg, square)
    yield program("sytrd", _tridiagonal, _definite(type_, 2, 5, 5))
    yield program("geqp3", lambda a: (jsl.qr(a, pivoting=True)[2],), _matrix(type_, 5, 3))
    d, b = _matrix(type_, 5), _matrix(type_, 5, 2)
    solve = jax.lax.linalg.tridiagonal_solve
    yield program("gtsv", lambda d, b: _away(solve(d, d + 4, d, b)), d, b)
    right = jax.lax.linalg.triangular_solve
    yield program(
        "trsm",
        lambda a, b: _away(
            right(a, b, left_side=False, lower=True, conjugate_a=True, transpose_a=True),
            jsl.solve_triangular(a[0], b[0].T, trans=1, unit_diagonal=True) / 64,
        ),
        _definite(type_, 2, 5, 5) / 5,
        _matrix(type_, 2, 3, 5),
    )


# ---- Small matrices, which kernels factor ----


def _stack(*matrices):
    return np.stack([np.asarray(m, np.float32) for m in matrices])


def _odd():
    """Singular matrices, and equal candidates for a pivot."""
    singular = [[1, 2, 3], [2, 4, 6], [1, 1, 1]]
    no_column = [[0, 1, 2], [0, 3, 4], [0, 5, 7]]
    equal = [[-2, 1, 3], [2, 1, 0], [2, 5, 1]]
    return _stack(singular, no_column, equal, np.zeros((3, 3)), np.eye(3))


def _no_numbers():
    return _stack([[1, 1, 2], [7, np.nan, 5], [2, 7, 9]], [[2, 1, 0], [1, np.inf, 1], [4, 1, 3]])


def _small_cases(type_):
    def program(name, function, *inputs):
        return Program(f"lapack.small.{name}.{type_}", function, *inputs)

    def factors(a):
        return _away(jnp.linalg.cholesky(a), jnp.linalg.cholesky(a, upper=True))

    def pivoted(a):
        lu, pivots = jsl.lu_factor(a)
        return lu + 8, pivots

    cast = DTYPES[type_]
    yield program("getrf_odd", lambda a: jsl.lu_factor(a), _odd().astype(cast))
    for dims in ((1, 1), (3, 0, 0), (0, 3, 3), (2, 2, 1, 4), (2, 6, 2), (70, 4, 4), (16, 16)):
        name = "x".join(str(d) for d in dims)
        yield program(f"getrf.{name}", pivoted, _matrix(type_, *dims))
        if dims[-1] == dims[-2]:
            yield program(f"potrf.{name}", factors, _definite(type_, *dims))
        if dims[-1] <= dims[-2]:
            yield program(f"geqrf.{name}", _qr, _matrix(type_, *dims))
    wide = _matrix(type_, 2, 3, 5)
    yield program("geqrf.wide", lambda a: _away(jnp.matmul(*jnp.linalg.qr(a))), wide)
    # Definite; not; only but for its last pivot; not at once; with numbers that are none.
    definite = np.array([[4, 2, 1], [2, 5, 3], [1, 3, 6]])
    not_last = np.array([[4, 2, 1], [2, 5, 3], [1, 3, 1]])
    no_number = np.array([[4, 2, np.nan], [2, 5, 3], [np.nan, 3, 6]])
    infinite = np.diag([1, np.inf, 2])
    odd = _stack(definite, -definite, not_last, np.zeros((3, 3)), no_number, infinite)
    yield program("potrf_odd", factors, odd.astype(cast))
    # Nothing to take away; numbers whose squares are none; numbers that are none.
    square = np.array([[3, 1, 2], [4, 2, 1], [0, 5, 3]])
    tiny, huge = (1e-30, 1e30) if type_ in ("f32", "c64") else (1e-200, 1e200)
    odd = np.stack([np.triu(square), np.zeros((3, 3)), square * tiny, square * huge]).astype(cast)
    scale = np.array([1, 1, tiny, huge])[:, None, None].astype(odd.real.dtype)
    yield program("geqrf_odd", lambda a: _qr_scaled(a, scale), odd)
    # Where there are numbers is all that is compared: a complex one may be none in one part.
    no_numbers = _no_numbers().astype(cast)
    yield program("geqrf_nan", lambda a: _are_none(*jnp.linalg.qr(a)), no_numbers)
    if type_ != "f32":  # whose OpenBLAS loses an infinite pivot on some processors
        yield program("getrf_nan", lambda a: jsl.lu_factor(a), no_numbers)


def _are_none(*results):
    return tuple(jnp.isnan(r).astype(jnp.int32) for r in results)


def _qr_scaled(a, scale):
    q, r = jnp.linalg.qr(a)
    return _away(q @ (r / scale), _adjoint(q) @ q)


def _boundary_cases():
    """On both sides of where the host's LAPACK takes over."""

    def factors(a):
        return _away(jnp.linalg.cholesky(a))

    for n in 128, 129:
        yield Program(f"lapack.getrf.{n}", lambda a: jsl.lu_factor(a)[1], _matrix("f32", n, n))
    # Likewise on GPUs.
    for n in 64, 65:
        yield Program(f"lapack.potrf.{n}", factors, _definite("f32", n, n))
        yield Program(f"lapack.geqrf.{n}", _qr, _matrix("f32", n, 60))


def _reflector_cases():
    """Matrices of which several reflectors are applied at once: columns that are no whole vectors, steps that are no
    whole panels, one that is too large for a work item's own memory, and ones that need no reflector or scaling."""

    def edges(a):
        """The rows and columns at the edges, with LAPACK's signs, and how well they hold together."""
        q, r = jnp.linalg.qr(a)
        product, unit = q @ r, _adjoint(q) @ q
        return _away(q[..., -3:], r[..., :2, :], r[..., -2:, :], product[..., -2:, :], unit[..., -2:, :])

    def program(name, a):
        # Sums of as many products as a column has rows, in another order.
        return Program(f"lapack.reflectors.{name}", edges, a, bound=64)

    for type_ in "f32", "f64", "c64", "c128":
        for dims in (41, 33), (37, 50), (2, 30, 30):
            name = "x".join(str(d) for d in dims)
            yield program(f"{name}.{type_}", _matrix(type_, *dims))
    for dims in (150, 131), (98, 190), (129, 2):
        yield program("x".join(str(d) for d in dims), _matrix("f32", *dims))
    odd = np.array(_matrix("f32", 34, 34))
    odd[:, 5] = 0
    odd[8:, 8] = 0
    yield Program("lapack.reflectors.odd", _qr, odd, bound=64)
    none = np.array(_matrix("f32", 40, 40))
    none[3, 20] = np.nan
    yield Program("lapack.reflectors.nan", lambda a: _are_none(*jnp.linalg.qr(a)), none)
    for name, scale in (("small", np.float32(1e-30)), ("large", np.float32(1e36))):
        scaled = np.array(_matrix("f32", 35, 35)) * scale
        yield Program(f"lapack.reflectors.{name}", lambda a, by=scale: _qr_scaled(a, by), scaled, bound=64)
    infinite = np.eye(34, dtype=np.float32)
    infinite[0, 20] = np.inf
    yield Program("lapack.reflectors.infinite", lambda a: jnp.linalg.qr(a), infinite)


def _iterations():
    """Loops with factorisations in them, which are one kernel."""

    def newton(x):
        def step(x, _):
            residual = jnp.stack([x[0] ** 2 + x[1] ** 2 - 4, x[0] * x[1] - 1])
            return x - jnp.linalg.solve(jnp.array([[2 * x[0], 2 * x[1]], [x[1], x[0]]]), residual), None

        return jax.lax.scan(step, x, None, length=6)[0]

    def filtered(p, z):
        def step(p, z):
            factor = jnp.linalg.cholesky(p + jnp.eye(4, dtype=p.dtype))
            gain = jsl.cho_solve((factor, True), p).T
            return p - gain @ p + 0.1 * jnp.eye(4, dtype=p.dtype), gain @ z

        return jax.lax.scan(step, p, z)

    yield Program("lapack.newton", lambda x: _away(newton(x)), np.array([2.1, 0.4], np.float32))
    yield Program(
        "lapack.filter",
        lambda p, z: _away(*filtered(p, z)),
        _definite("f32", 4, 4),
        _matrix("f32", 9, 4),
    )


# ---- Programs with a purpose ----


def _gaussian_process(x, y, at):
    """Mean, variance and log marginal likelihood."""

    def kernel(a, b):
        return jnp.exp(-0.5 * (a[:, None] - b[None, :]) ** 2)

    factor = jnp.linalg.cholesky(kernel(x, x) + 0.1 * jnp.eye(x.shape[0], dtype=x.dtype))
    alpha = jsl.cho_solve((factor, True), y)
    cross = kernel(x, at)
    v = jsl.solve_triangular(factor, cross, lower=True)
    likelihood = -0.5 * y @ alpha - jnp.sum(jnp.log(jnp.diag(factor)))
    return _away(cross.T @ alpha, 1 - jnp.sum(v * v, 0), likelihood)


def _pca(x):
    x = x - jnp.mean(x, 0)
    w, v = jnp.linalg.eigh(x.T @ x / x.shape[0])
    top = v[:, -3:]
    return _away(w, jnp.abs(x @ top), x @ top @ top.T)


def _least_squares(a, b):
    q, r = jnp.linalg.qr(a)
    x = jsl.solve_triangular(r, q.T @ b)
    return _away(x, jnp.sum((a @ x - b) ** 2, 0))


def _programs():
    x = np.linspace(-3, 3, 40).astype(np.float32)
    at = np.linspace(-2.5, 2.5, 7).astype(np.float32)
    yield Program("lapack.gaussian_process", _gaussian_process, x, np.sin(x), at, bound=1024)
    slope = jax.grad(lambda y, x, at: jnp.sum(_gaussian_process(x, y, at)[0]))
    yield Program(
        "lapack.gaussian_process_grad",
        lambda y, x, at: _away(slope(y, x, at)),
        np.sin(x),
        x,
        at,
        bound=1024,
    )
    yield Program("lapack.pca", _pca, _matrix("f32", 60, 8), bound=1024)
    yield Program(
        "lapack.least_squares", _least_squares, _matrix("f32", 30, 4), _matrix("f32", 30, 2)
    )
    a = (_matrix("f32", 3, 6, 6) + 4 * np.eye(6)).astype(np.float32)
    yield Program(
        "lapack.solve",
        lambda a, b: _away(jnp.linalg.solve(a, b), jnp.linalg.inv(a), jnp.linalg.slogdet(a)[1]),
        a,
        _matrix("f32", 3, 6, 2),
    )


def cases():
    # A routine's real types are one text, and so are its complex ones: each once in full.
    for type_ in "f32", "c128":
        yield from _type_cases(type_)
    for type_ in "f64", "c64":
        some = ("potrf", "getrf", "syevd", "geev")
        yield from (c for c in _type_cases(type_) if c.name.split(".")[1] in some)
    for type_ in DTYPES:
        yield from _small_cases(type_)
    yield from _boundary_cases()
    yield from _reflector_cases()
    yield from _iterations()
    yield from _programs()
