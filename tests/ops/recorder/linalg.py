# SPDX-License-Identifier: Apache-2.0
"""cholesky and triangular-solve.

Most matrices are made of few small whole numbers and powers of two so that every step is exact, in any order
and in every type: the bound is 0 there. Of the others the bound follows from their size and condition."""

import numpy as np

from recorder import values
from recorder.xla import COMPLEX, F8, FLOATS, PART, Case, array, by_device, shape

ZEROS = "signs of zeros in complex products"
ROUNDED = "rounding errors of sums in another order, in a well-conditioned system"
TYPES = F8 + FLOATS + COMPLEX


def _lower(r, type_, dims, density=1.0):
    """Lower triangular matrices with small whole numbers below and powers of two on the diagonal."""
    n = dims[-1]
    x = r.randint(-2, 3, dims) * (r.rand(*dims) < density)
    if type_ in COMPLEX:
        x = x + 1j * r.randint(-2, 3, dims) * (r.rand(*dims) < density)
    return np.tril(x, -1) + np.eye(n) * 2.0 ** r.randint(0, 2, (*dims[:-1], 1))


def _adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def _junk(matrix, lower, junk):
    """With the triangle that must not be read filled."""
    n = matrix.shape[-1]
    other = np.triu(np.ones((n, n), bool), 1) if lower else np.tril(np.ones((n, n), bool), -1)
    return np.where(other, junk, matrix)


# ---- cholesky ----


def _cholesky(case, label, type_, matrix, lower=True, layouts=(None, None), bound=0, reason=""):
    if type_ in COMPLEX and not bound:
        bound, reason = 1, ZEROS
    p = case.param(type_, matrix, layouts[0])
    text = shape(type_, np.shape(matrix), layouts[1])
    c = case.op(text, "cholesky", p, attrs=f"lower={str(lower).lower()}")
    case.result(c, label, bound, reason)


def _exact(type_, dims, lower, seed=0):
    """A matrix whose factor, and all sums on the way to it, are exact."""
    r = values.random(sum(dims) + 7 * lower + seed)
    narrow = type_ in F8 or type_ == "bf16"
    # Sparse where it is large: well-conditioned, as XLA inverts blocks.
    factor = _lower(r, type_, dims, 0.3 if narrow else min(1, 4 / max(dims[-1] - 16, 1)))
    if narrow:
        factor = np.where(np.abs(factor) > 1, np.sign(factor), factor)
    matrix = factor @ _adjoint(factor)
    # Beyond its blocks of 128 XLA multiplies what lies in the other triangle by zero.
    junk = np.nan if type_ in FLOATS and dims[-1] <= 128 else 3
    return _junk(matrix if lower else np.conj(matrix), lower, junk)


def _signed(r, type_, dims):
    """Numbers of either sign that are neither small nor large."""
    x = r.uniform(0.5, 1.5, dims) * r.choice([-1, 1], dims)
    return x + 1j * r.uniform(-1, 1, dims) if type_ in COMPLEX else x


def _positive(type_, dims, seed):
    """A matrix whose factor has no small elements: a relative bound suits all of them."""
    n = dims[-1]
    x = np.tril(_signed(values.random(seed), type_, dims), -1) / np.sqrt(n) + 2 * np.eye(n)
    return x @ _adjoint(x)


def _cholesky_cases():
    for suffix, part in by_device(TYPES):
        case = Case("cholesky.types" + suffix)
        for type_ in part:
            _cholesky(case, type_, type_, _exact(type_, (5, 5), True))
            _cholesky(case, type_, type_, [[4]])
        yield case
    case = Case("cholesky.shapes")
    for type_ in "f32", "c64":
        for dims in (17, 17), (2, 1, 3, 6, 6), (0, 0), (2, 0, 0), (0, 3, 3):
            for lower in True, False:
                label = f"{type_}.{'x'.join(map(str, dims))}"
                _cholesky(case, label, type_, _exact(type_, dims, lower), lower)
        for layouts in ((0, 1), None), (None, (0, 1)), ((0, 1), (0, 1)):
            _cholesky(case, f"{type_}.layout", type_, _exact(type_, (6, 6), True), True, layouts)
        m = _exact(type_, (3, 4, 4), False)
        _cholesky(case, f"{type_}.layout3", type_, m, False, ((0, 2, 1), (1, 0, 2)))
    yield case
    case = Case("cholesky.sizes")
    for type_, n, lower in (
        ("f32", 65, True),
        ("f32", 65, False),
        ("f32", 130, True),
        ("f32", 130, False),
        ("c64", 33, False),
        ("c64", 67, True),
        ("c64", 67, False),
    ):
        _cholesky(case, f"{type_}.{n}", type_, _exact(type_, (n, n), lower), lower)
    _cholesky(case, "f32.2x70", "f32", _exact("f32", (2, 70, 70), True), True)
    yield case
    for suffix, part in by_device(["f32", "f64", "c64", "c128"]):
        case = Case("cholesky.rounded" + suffix)
        for type_ in part:
            for dims, lower in [((70, 70), True)]:
                m = _positive(type_, dims, dims[-1])
                label = f"{type_}.{dims[-1]}"
                _cholesky(case, label, type_, m, lower, bound=256, reason=ROUNDED)
        yield case
    yield _cholesky_special()


def _cholesky_special():
    """What is not positive definite; pivots of zero; infinities."""
    case = Case("cholesky.special")
    inf, nan = np.inf, np.nan
    for label, matrix in (
        ("negative1", [[-4]]),
        ("zero1", [[0]]),
        ("nan1", [[nan]]),
        ("inf1", [[inf]]),
        ("negative", [[1, 0, 0], [2, 1, 0], [1, 0, 9]]),
        ("first-of-two", [[[1, 9], [1, -1]], [[1, 9], [2, 8]]]),
        ("zero-last", [[1, 9], [1, 1]]),
        ("zero-first", [[0, 9], [0, 1]]),
        ("minus-zero-first", [[-0.0, 9], [1, 1]]),
        ("inf", [[inf, 9], [1, 1]]),
        ("inf-below", [[1, 9], [inf, 1]]),
        ("nan-below", [[1, 9], [nan, 1]]),
        ("nan", [[nan, 9], [1, 1]]),
    ):
        m = np.array(matrix, float)
        _cholesky(case, f"f32.{label}", "f32", m)
        _cholesky(case, f"f32.{label}.upper", "f32", np.swapaxes(m, -1, -2), False)
        if "inf" not in label:  # products of complex infinities are anyone's
            _cholesky(case, f"c64.{label}", "c64", m)
    _cholesky(case, "c64.diagonal", "c64", [[4 + 1j, 0], [2 + 1j, 2 + 2.5j]], bound=2)
    _cholesky(case, "c64.diagonal1", "c64", [[4 + 1j]])
    # Where the blocks are: a failure in the first and in the last one, and in one matrix of two.
    for at in 0, 69:
        m = np.stack([np.eye(70), np.eye(70)])
        m[0, at, at] = -1
        for lower in True, False:
            _cholesky(case, f"f32.block.{at}", "f32", m, lower)
    _cholesky(case, "c64.block", "c64", m[:, 34:, 34:])
    m = np.eye(70)
    m[69, 69] = 0
    _cholesky(case, "f32.block-zero-last", "f32", m)
    return case


# ---- triangular-solve ----


def _solve(
    case,
    label,
    type_,
    a,
    b,
    left=True,
    lower=True,
    unit=False,
    op="NO_TRANSPOSE",
    layouts=(None, None, None),
    bound=0,
    reason="",
):
    if type_ in COMPLEX and not bound:
        bound, reason = 1, ZEROS
    p, q = case.param(type_, a, layouts[0]), case.param(type_, b, layouts[1])
    flags = {"left_side": left, "lower": lower, "unit_diagonal": unit}
    attrs = [f"{k}={str(v).lower()}" for k, v in flags.items()] + [f"transpose_a={op}"]
    text = shape(type_, np.shape(b), layouts[2])
    case.result(
        case.op(text, "triangular-solve", p, q, attrs=", ".join(attrs)), label, bound, reason
    )


def _apply(t, x, left, op):
    t = {"NO_TRANSPOSE": t, "TRANSPOSE": np.swapaxes(t, -1, -2), "ADJOINT": _adjoint(t)}[op]
    return t @ x if left else x @ t


def _system(type_, n, lines, left, lower, unit, op, batch=(), seed=0):
    """Matrices and right-hand sides of which the solutions, and all on the way to them, are exact."""
    r = values.random(n + 3 * lines + seed)
    narrow = type_ in F8 or type_ == "bf16"
    t = _lower(r, type_, (*batch, n, n), 0.3 if narrow or n > 20 else 1)
    if n > 20 or narrow:
        t = np.where(np.abs(t) > 1, np.sign(t), t)
        t = t * (r.rand(*t.shape) < 4 / n) * (1 - np.eye(n)) + np.eye(n) * 2
    dims = (*batch, n, lines) if left else (*batch, lines, n)
    x = r.choice([-2, -1, 1, 2], dims)
    if type_ in COMPLEX:
        x = x + 1j * r.randint(-2, 3, dims)
    if not lower:
        t = np.swapaxes(t, -1, -2)
    full = t * (1 - np.eye(n)) + np.eye(n) if unit else t
    b = _apply(full, x, left, op)
    junk = np.nan if type_ in ("f32", "f64") else 3
    t = _junk(t, lower, junk)
    if unit:
        t = t * (1 - np.eye(n)) + 7 * np.eye(n) if junk == 3 else np.where(np.eye(n), junk, t)
    return t, b


def _flags():
    for left in True, False:
        for lower in True, False:
            for unit in True, False:
                for op in "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT":
                    yield left, lower, unit, op


def _label(type_, left, lower, unit, op, *more):
    names = ["left" if left else "right", "lower" if lower else "upper", "unit" if unit else "free"]
    return ".".join([type_, *names, op.lower(), *map(str, more)])


def _solve_cases():
    for suffix, part in by_device(TYPES):
        case = Case("solve.types" + suffix)
        for type_ in part:
            f = [True, True, False, "NO_TRANSPOSE"]
            _solve(case, _label(type_, *f), type_, *_system(type_, 4, 3, *f), *f)
        yield case
    case = Case("solve.flags")
    for i, f in enumerate(_flags()):
        _solve(case, _label("f32", *f), "f32", *_system("f32", 5, 18, *f), *f)
        if i % 6 == 2:
            _solve(case, _label("c64", *f), "c64", *_system("c64", 5, 18, *f), *f)
    yield case
    case = Case("solve.shapes")
    f = [True, True, False, "NO_TRANSPOSE"]
    g = [False, False, True, "TRANSPOSE"]
    for batch, n, lines in (
        ((), 1, 5),
        ((), 7, 1),
        ((2, 1, 3), 3, 2),
        ((1000,), 3, 1),
        ((), 0, 3),
        ((), 3, 0),
        ((0,), 3, 2),
    ):
        for flags in f, g:
            label = f"{batch}x{n}x{lines}".replace(" ", "")
            _solve(case, label, "f32", *_system("f32", n, lines, *flags, batch), *flags)
    for layouts in ((0, 1), None, None), (None, (0, 1), None), (None, None, (0, 1)):
        for flags in f, g:
            a, b = _system("f32", 9, 20, *flags)
            _solve(case, "layout", "f32", a, b, *flags, layouts=layouts)
    for flags in f, g:
        a, b = _system("f32", 4, 5, *flags, (3,))
        _solve(case, "layout3", "f32", a, b, *flags, layouts=((0, 2, 1), (1, 0, 2), (0, 1, 2)))
    yield case
    case = Case("solve.sizes")
    for i, f in enumerate(_flags()):
        n, lines = ((64, 3), (65, 33))[i % 2]
        if i % 5 == 0:
            _solve(case, _label("f32", *f, n), "f32", *_system("f32", n, lines, *f), *f)
        if i % 8 == 5:
            a, b = _system("c64", 34, 5, *f, (2,))
            _solve(case, _label("c64", *f, 34), "c64", a, b, *f, bound=64, reason=ROUNDED)
    yield case
    for suffix, part in by_device(["f32", "f64", "c64", "c128"]):
        case = Case("solve.rounded" + suffix)
        for type_ in part:
            for f in list(_flags())[::16]:
                r = values.random(50)
                left, lower, unit, op = f
                a = _signed(r, type_, (50, 50)) / 8
                a = (np.tril(a, -1) if lower else np.triu(a, 1)) + np.eye(50) * (1 if unit else 2)
                b = _apply(a, _signed(r, type_, (50, 4) if left else (4, 50)), left, op)
                _solve(case, _label(type_, *f), type_, a, b, *f, bound=256, reason=ROUNDED)
        yield case


def cases():
    yield from _cholesky_cases()
    yield from _solve_cases()
