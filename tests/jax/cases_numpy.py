# SPDX-License-Identifier: Apache-2.0
"""cases_numpy.py: jax.numpy with its linalg and fft, and what is built on it: jax.nn, jax.scipy, jax.image."""

import jax
import jax.numpy as jnp
import jax.scipy as jsp
import jax.scipy.cluster.vq
import jax.scipy.optimize
import jax.scipy.sparse.linalg
import numpy as np

from cases_lax import BF16, C64, F16, F32, types
from check import Case, array

UNARY = """abs absolute angle:fc arccos:f:-1:1 arccosh:f:1:9 arcsin:f:-1:1 arcsinh:f arctan:f arctanh:f:-.9:.9 argsort:fi argwhere- around:f cbrt:f ceil:f
conj:c cos:f cosh:f cumprod:f:.5:1.5 cumsum:fi deg2rad:f diff:fi exp:f exp2:f expm1:f fabs:f fix:f flip:fi fliplr flipud floor:f imag:c invert:iub isfinite:f
isinf:f isnan:f isneginf:f isposinf:f isreal:fc iscomplex:c log:f:.1:9 log10:f:.1:9 log1p:f:-.5:9 log2:f:.1:9 logical_not:fiub max:fiu mean:fciu median:f min:fiu
nan_to_num:f nanmax:f nanmean:f nanmin:f nanstd:f nansum:f nanvar:f nanmedian:f nancumsum:f negative:fi ones_like:fi positive:f prod:f:.5:1.5 ptp:f rad2deg:f ravel:fi
real:c reciprocal:f:.5:3 rint:f round:f sign:fi signbit:f sin:f sinc:f sinh:f sort:fi sqrt:f:0:9 square:fi squeeze std:fc sum:fciub tan:f:-1:1 tanh:f trace:f
transpose:fi tril:fi triu:fi trunc:f unwrap:f var:fc zeros_like:fi all:fib any:fib argmax:fi argmin:fi count_nonzero:fib i0:f nanprod:f:.5:1.5 rot90 diagonal
diag diagflat frexp:f modf:f spacing:f unique_counts- atleast_3d matrix_transpose:f permute_dims- bitwise_count:iu bitwise_invert:iu""".split()
BINARY = """add:fciu arctan2:f bitwise_and:iub bitwise_or:iub bitwise_xor:iub copysign:f divide:fi divmod:fi dot:fi equal:fi float_power:f:.1:3 floor_divide:fi fmax:f fmin:f
fmod:fi gcd:i greater:fi greater_equal:fi heaviside:f hypot:f inner:fi kron:fi lcm:i ldexp- left_shift- less:fi less_equal:fi logaddexp:f logaddexp2:f logical_and:fib
logical_or:fib logical_xor:fib matmul:fci maximum:fi minimum:fi mod:fi multiply:fci nextafter:f not_equal:fi outer:fi power:f:.1:3 remainder:fi subtract:fci true_divide:fi
vdot:fc append:fi array_equal:fi array_equiv:fi isclose:f allclose:f cross- union1d- concatenate- hstack- vecdot:f""".split()


def table(rows, arity, prefix, module, shapes):
  for row in rows:
    name, *rest = row.split(":")
    if name.endswith("-") or not hasattr(module, name): continue
    kinds = rest[0] if rest else "f"
    low, high = (float(rest[1]), float(rest[2])) if len(rest) > 2 else (-3, 3)
    for dtype in types(kinds):
      if arity == 1 and dtype in (F16, BF16) and name in ("frexp", "i0", "spacing", "median", "nanmedian", "unwrap", "modf"): continue
      for shape in shapes:
        args = tuple(array(f"{name}{i}", shape, dtype, low, high) for i in range(arity))
        if arity == 2 and name in ("divide", "divmod", "floor_divide", "fmod", "mod", "remainder", "true_divide"):
          args = (args[0], np.where(args[1] == 0, np.ones_like(args[1]), args[1]))
        yield Case(f"{prefix}.{name}/{np.dtype(dtype).name}{list(shape)}", getattr(module, name), args, 16)


def ufuncs():
  yield from table(UNARY, 1, "jnp", jnp, [(4, 4)])
  yield from table(BINARY, 2, "jnp", jnp, [(4, 4)])


def reductions():
  for name in "sum mean max min prod std var any all argmax argmin cumsum cumprod nansum median ptp count_nonzero".split():
    for axis in (None, 0, 1, -1):
      for keep in (False, True):
        if name in ("cumsum", "cumprod") and keep: continue
        kw = {"axis": axis} | ({"keepdims": True} if keep else {})
        yield Case(f"jnp.{name}/axis{axis}{keep}", lambda x, name=name, kw=kw: getattr(jnp, name)(x, **kw), (array("red", (3, 5, 4), F32, .5, 1.5),), 16)
  x = array("q", (40,), F32)
  for q in (0., .25, .5, 1.):
    for method in ("linear", "lower", "nearest", "midpoint"):
      yield Case(f"jnp.quantile/{q}{method}", lambda x, q=q, m=method: jnp.quantile(x, q, method=m), (x,), 8)
  yield Case("jnp.percentile", lambda x: jnp.percentile(x, jnp.array([10., 50.])), (x,), 8)
  yield Case("jnp.average", lambda x, w: jnp.average(x, weights=w), (x, array("w", (40,), F32, .1, 1)), 8)
  yield Case("jnp.histogram", lambda x: jnp.histogram(x, 10), (x,), 8)
  yield Case("jnp.histogram2d", lambda x: jnp.histogram2d(x, x * .5, 4), (x,), 8)
  yield Case("jnp.bincount", lambda i: jnp.bincount(i, length=7), (np.abs(array("bi", (40,), np.int32)) % 7,))
  yield Case("jnp.digitize", lambda x: jnp.digitize(x, jnp.linspace(-2, 2, 7)), (x,))
  yield Case("jnp.searchsorted", lambda x: jnp.searchsorted(jnp.linspace(-2, 2, 70), x), (x,))
  yield Case("jnp.cov", jnp.cov, (array("cov", (3, 40), F32),), 16)
  yield Case("jnp.corrcoef", jnp.corrcoef, (array("cov", (3, 40), F32),), 16)
  yield Case("jnp.trapezoid", jnp.trapezoid, (x,), 16)
  yield Case("jnp.convolve", lambda x: jnp.convolve(x, x[:7]), (x,), 16)
  yield Case("jnp.correlate", lambda x: jnp.correlate(x, x[:7], "same"), (x,), 16)
  yield Case("jnp.interp", lambda x: jnp.interp(x, jnp.linspace(-2, 2, 9), jnp.arange(9.)), (x,), 8)
  yield Case("jnp.polyfit", lambda x: jnp.polyval(jnp.polyfit(x, x**3 - x, 3), x), (x,), 2000)
  yield Case("jnp.polyval", lambda x: jnp.polyval(jnp.array([1., 2, 3]), x), (x,), 8)
  yield Case("jnp.roots", lambda c: jnp.polyval(jnp.array([1., -6, 11, -6]), c), (x,), 16)
  yield Case("jnp.nonzero", lambda x: jnp.nonzero(x > 0, size=40, fill_value=-1), (x,))
  yield Case("jnp.unique", lambda i: jnp.unique(i, size=20, return_counts=True, return_index=True, return_inverse=True), (np.abs(array("un", (40,), np.int32)) % 9,))
  yield Case("jnp.lexsort", lambda a, b: jnp.lexsort((a, b)), (np.abs(array("lx", (40,), np.int32)) % 5, x))
  yield Case("jnp.partition", lambda x: jnp.sort(jnp.partition(x, 7)[:7]), (x,))
  yield Case("jnp.isin", lambda i: jnp.isin(i, jnp.array([1, 5, 9])), (array("ii", (40,), np.int32),))
  yield Case("jnp.select", lambda x: jnp.select([x < -1, x < 1], [x, x**2], 7.), (x,), 2)
  yield Case("jnp.piecewise", lambda x: jnp.piecewise(x, [x < 0, x >= 0], [jnp.sin, jnp.cos]), (x,), 4)
  yield Case("jnp.where", lambda x: jnp.where(x > 0, x, -1), (x,))
  yield Case("jnp.apply_along_axis", lambda x: jnp.apply_along_axis(jnp.sum, 0, x.reshape(4, 10)), (x,), 8)
  yield Case("jnp.vectorize", lambda x: jnp.vectorize(lambda a, b: jnp.dot(a, b), signature="(n),(n)->()")(x.reshape(4, 10), x[:10]), (x,), 8)


def shaping():
  x = array("sh", (4, 6), F32)
  i = np.array([1, 3, 0], np.int32)
  calls = {
      "reshape": lambda x: jnp.reshape(x, (3, -1)), "swapaxes": lambda x: jnp.swapaxes(x, 0, 1), "moveaxis": lambda x: jnp.moveaxis(x[None], 0, -1),
      "roll": lambda x: jnp.roll(x, (1, -2), (0, 1)), "tile": lambda x: jnp.tile(x, (2, 3)), "repeat": lambda x: jnp.repeat(x, 3, 1),
      "repeat_counts": lambda x: jnp.repeat(x, jnp.array([1, 0, 2, 3]), 0, total_repeat_length=6), "stack": lambda x: jnp.stack([x, x * 2], 1), "hstack": lambda x: jnp.hstack([x, x]),
      "vstack": lambda x: jnp.vstack([x, x]), "dstack": lambda x: jnp.dstack([x, x]), "split": lambda x: jnp.split(x, 3, 1), "array_split": lambda x: jnp.array_split(x, 4, 1),
      "pad_constant": lambda x: jnp.pad(x, 1), "pad_edge": lambda x: jnp.pad(x, 2, "edge"), "pad_reflect": lambda x: jnp.pad(x, 2, "reflect"), "pad_wrap": lambda x: jnp.pad(x, 2, "wrap"),
      "pad_symmetric": lambda x: jnp.pad(x, 2, "symmetric"), "pad_mean": lambda x: jnp.pad(x, 1, "mean"), "pad_linear": lambda x: jnp.pad(x, 2, "linear_ramp"),
      "broadcast_to": lambda x: jnp.broadcast_to(x, (3, 4, 6)), "expand_dims": lambda x: jnp.expand_dims(x, 1), "delete": lambda x: jnp.delete(x, 2, 1), "insert": lambda x: jnp.insert(x, 2, 9., 1),
      "take": lambda x: jnp.take(x, jnp.array([1, 3, 9]), 1), "take_clip": lambda x: jnp.take(x, jnp.array([1, 3, 9]), 1, mode="clip"), "take_along_axis": lambda x: jnp.take_along_axis(x, jnp.argsort(x, 1), 1),
      "meshgrid": lambda x: jnp.meshgrid(x[0], x[:, 0]), "linspace": lambda x: jnp.linspace(x[0, 0], 3, 7), "logspace": lambda x: jnp.logspace(0, 2, 7), "geomspace": lambda x: jnp.geomspace(1, 64, 7),
      "arange": lambda x: jnp.arange(3, 20, 4) + x[0, 0], "eye": lambda x: jnp.eye(4, 6, 1) * x, "tri": lambda x: jnp.tri(4, 6) * x, "vander": lambda x: jnp.vander(x[0], 4), "identity": lambda x: jnp.identity(4) @ x,
      "tril_indices": lambda x: x[jnp.tril_indices(4)], "diag_indices": lambda x: x[jnp.diag_indices(4)], "unravel_index": lambda x: jnp.unravel_index(jnp.argmax(x), x.shape), "ravel_multi_index": lambda x: jnp.ravel_multi_index((jnp.array([1, 2]), jnp.array([3, 4])), (4, 6), mode="clip"),
      "fill_diagonal": lambda x: jnp.fill_diagonal(x, 7., inplace=False), "block": lambda x: jnp.block([[x, x], [x, x]]), "einsum_trace": lambda x: jnp.einsum("ii->i", x[:, :4]), "einsum_mm": lambda x: jnp.einsum("ij,kj->ik", x, x),
      "einsum_3": lambda x: jnp.einsum("ij,jk,kl->il", x, x.T, x), "einsum_batch": lambda x: jnp.einsum("bij,bjk->bik", x[None] * jnp.ones((3, 1, 1)), x.T[None] * jnp.ones((3, 1, 1))), "tensordot": lambda x: jnp.tensordot(x, x, ((0,), (0,))),
      "cross": lambda x: jnp.cross(x[:, :3], x[:, 3:]), "rollaxis": lambda x: jnp.rollaxis(x[None], 2), "column_stack": lambda x: jnp.column_stack([x, x[:, 0]]), "ix_": lambda x: x[jnp.ix_(jnp.array([0, 2]), jnp.array([1, 5]))],
      "packbits": lambda x: jnp.packbits(x > 0), "unpackbits": lambda x: jnp.unpackbits(jnp.packbits(x > 0)), "bartlett": lambda x: jnp.bartlett(9) + x[0, 0], "hanning": lambda x: jnp.hanning(9), "kaiser": lambda x: jnp.kaiser(9, 3.), "blackman": lambda x: jnp.blackman(9),
      "gradient": lambda x: jnp.gradient(x), "ediff1d": lambda x: jnp.ediff1d(x), "clip": lambda x: jnp.clip(x, -1, 1), "trim_zeros": lambda x: x[0], "resize": lambda x: jnp.resize(x, (5, 7)), "choose": lambda x: jnp.choose(jnp.array([0, 1, 1, 0, 2, 3]), list(x), mode="clip"),
      "apply_over_axes": lambda x: jnp.apply_over_axes(jnp.sum, x, (0, 1)), "nanargmax": lambda x: jnp.nanargmax(x, 1), "fromfunction": lambda x: jnp.fromfunction(lambda i, j: i + j, (4, 6)) + x, "astype": lambda x: x.astype(jnp.bfloat16), "view": lambda x: x.view(jnp.int32),
  }
  for name, fn in calls.items():
    yield Case(f"jnp.{name}", fn, (x,), 16)
  index = {
      "int": lambda x, i: x[1], "negative": lambda x, i: x[-1, -2], "slice": lambda x, i: x[1:3, ::-2], "ellipsis": lambda x, i: x[..., 0], "none": lambda x, i: x[:, None, 1], "array": lambda x, i: x[i],
      "two_arrays": lambda x, i: x[i, i], "mixed": lambda x, i: x[:, i], "dynamic": lambda x, i: x[i[0], i[1]], "mask": lambda x, i: jnp.where(x > 0, x, 0)[i], "set": lambda x, i: x.at[i].set(7.), "set_dynamic": lambda x, i: x.at[i[0], 2:4].set(jnp.array([8., 9.])),
      "add": lambda x, i: x.at[jnp.array([0, 0, 2])].add(1.), "mul": lambda x, i: x.at[:, i].multiply(3.), "min": lambda x, i: x.at[i].min(0.), "max": lambda x, i: x.at[::2].max(0.), "get_fill": lambda x, i: x.at[i + 2].get(mode="fill", fill_value=-9), "drop": lambda x, i: x.at[i + 2].set(1., mode="drop"),
      "apply": lambda x, i: x.at[i].apply(jnp.sin), "divide": lambda x, i: x.at[1].divide(2.), "power": lambda x, i: jnp.abs(x).at[1].power(2.), "bool_static": lambda x, i: x[np.array([True, False, True, False])],
  }
  for name, fn in index.items():
    yield Case(f"jnp.index/{name}", fn, (x, i), 8)


def linalg():
  for dtype in types("fc"):
    if np.dtype(dtype).itemsize < 4: continue
    n = np.dtype(dtype).name
    a = array("jl", (2, 5, 5), dtype, -1, 1)
    h = a @ np.conj(np.swapaxes(a, 1, 2)) + 2 * np.eye(5, dtype=dtype)
    la = jnp.linalg
    calls = {
        "inv": (la.inv, h), "det": (la.det, a), "slogdet": (la.slogdet, a), "solve": (lambda x: la.solve(x, x[..., :2]), h), "cholesky": (la.cholesky, h), "norm": (la.norm, a), "norm_fro": (lambda x: la.norm(x, axis=(1, 2)), a),
        "norm_1": (lambda x: la.norm(x[0], 1), a), "matrix_power": (lambda x: la.matrix_power(x, 3), a), "eigvalsh": (la.eigvalsh, h), "svdvals": (lambda x: la.svd(x, compute_uv=False), a), "matrix_rank": (la.matrix_rank, h), "pinv": (la.pinv, h),
        "cond": (la.cond, h), "qr_r": (lambda x: jnp.abs(la.qr(x, "r")), a), "lstsq": (lambda x: la.lstsq(x[0], x[0, :, :2])[0], h), "multi_dot": (lambda x: la.multi_dot([x[0], x[1], x[0]]), a), "tensorinv": (lambda x: la.tensorinv(x.reshape(2, 25)[:1, :16].reshape(4, 4), ind=1), h),
        "eigh": (lambda x: (lambda w, v: (w, v @ (w[..., None] * jnp.conj(jnp.swapaxes(v, -1, -2)))))(*la.eigh(x)), h), "svd": (lambda x: (lambda u, s, v: (s, (u * s[..., None, :]) @ v))(*la.svd(x, full_matrices=False)), a),
        "qr": (lambda x: (lambda q, r: q @ r)(*la.qr(x)), a), "expm": (lambda x: jsp.linalg.expm(x[0]), a), "lu": (lambda x: jsp.linalg.lu(x[0]), a), "cho_solve": (lambda x: jsp.linalg.cho_solve(jsp.linalg.cho_factor(x[0]), x[0, :, :1]), h),
        "solve_triangular": (lambda x: jsp.linalg.solve_triangular(x[0], x[0], lower=True), h), "block_diag": (lambda x: jsp.linalg.block_diag(x[0], x[1]), a), "toeplitz": (lambda x: jsp.linalg.toeplitz(x[0, 0]), a), "polar": (lambda x: jsp.linalg.polar(x[0]), h),
        "vector_norm": (la.vector_norm, a), "outer": (lambda x: la.outer(x[0, 0], x[0, 1]), a),
    }
    for name, (fn, x) in calls.items():
      yield Case(f"jnp.linalg.{name}/{n}", fn, (x,), 500)
  yield Case("jnp.linalg.eigvals", lambda x: jnp.sort(jnp.abs(jnp.linalg.eigvals(x))), (array("ev", (5, 5), F32),), 500)
  yield Case("jsp.linalg.sqrtm", lambda x: jsp.linalg.sqrtm(x @ x.T + jnp.eye(4)), (array("sq", (4, 4), F32),), 500)


def fft():
  for dtype in types("c"):
    x = array("fx", (3, 4, 10), dtype)
    for name in "fft ifft fft2 ifft2 fftn ifftn fftshift ifftshift hfft irfft irfft2 irfftn".split():
      yield Case(f"jnp.fft.{name}/{np.dtype(dtype).name}", getattr(jnp.fft, name), (x,), 32)
    for n in (5, 16, 13):
      yield Case(f"jnp.fft.fft/n{n}/{np.dtype(dtype).name}", lambda x, n=n: jnp.fft.fft(x, n, axis=1, norm="ortho"), (x,), 32)
  for name in "rfft rfft2 rfftn ihfft".split():
    yield Case(f"jnp.fft.{name}", getattr(jnp.fft, name), (array("fr", (3, 4, 10), F32),), 32)
  yield Case("jnp.fft.irfft/none", jnp.fft.irfft, (np.ones((3, 1), C64),))
  yield Case("jnp.fft.fftfreq", lambda: (jnp.fft.fftfreq(9), jnp.fft.rfftfreq(9)))
  yield Case("jsp.fft.dct", lambda x: jsp.fft.idct(jsp.fft.dct(x)), (array("dct", (3, 16), F32),), 32)
  yield Case("jsp.signal.fftconvolve", lambda x: jsp.signal.fftconvolve(x, x[:5]), (array("fc", (33,), F32),), 64)
  yield Case("jsp.signal.stft", lambda x: jsp.signal.stft(x, nperseg=16)[2], (array("st", (64,), F32),), 64)
  yield Case("jsp.signal.welch", lambda x: jsp.signal.welch(x, nperseg=16), (array("st", (64,), F32),), 64)
  yield Case("jsp.signal.convolve2d", lambda x: jsp.signal.convolve2d(x, x[:3, :3]), (array("c2", (8, 9), F32),), 32)
  yield Case("jsp.signal.detrend", jsp.signal.detrend, (array("dt", (32,), F32),), 64)


def neural():
  x = array("nn", (4, 9), F32)
  for name in "relu relu6 sigmoid softplus sparse_plus soft_sign silu swish log_sigmoid leaky_relu hard_sigmoid hard_silu hard_swish hard_tanh elu celu selu gelu glu squareplus mish softmax log_softmax logsumexp standardize identity log1mexp sparse_sigmoid".split():
    if not hasattr(jax.nn, name): continue
    for dtype in (F32, BF16, F16):
      v = array("nn", (4, 8), dtype, *((.1, 3) if name == "log1mexp" else (-3, 3)))
      yield Case(f"jax.nn.{name}/{np.dtype(dtype).name}", getattr(jax.nn, name), (v,), 8)
    yield Case(f"jax.nn.{name}/grad", lambda v, f=getattr(jax.nn, name): jax.grad(lambda y: (f(y)**3).sum())(v), (array("ng", (4, 8), F32, *((.1, 3) if name == "log1mexp" else (-3, 3))),), 64)
  yield Case("jax.nn.gelu/exact", lambda x: jax.nn.gelu(x, approximate=False), (x,), 8)
  yield Case("jax.nn.one_hot", lambda i: jax.nn.one_hot(i, 7), (np.array([1, 6, 9, -1], np.int32),))
  for causal in (False, True):
    for dtype in (F32, BF16):
      yield Case(f"jax.nn.dot_product_attention/{causal}/{np.dtype(dtype).name}", lambda q, k, v, c=causal: jax.nn.dot_product_attention(q, k, v, is_causal=c), tuple(array(n, (2, 12, 4, 8), dtype) for n in "qkv"), 32)
  yield Case("jax.nn.dot_product_attention/grad", lambda q: jax.grad(lambda q: jax.nn.dot_product_attention(q, q, q, is_causal=True).sum())(q), (array("q", (2, 12, 4, 8), F32),), 64)
  inits = jax.nn.initializers
  for name in ("glorot_uniform", "he_normal", "lecun_normal", "orthogonal", "truncated_normal", "variance_scaling"):
    if name in ("orthogonal", "variance_scaling"): continue
    yield Case(f"jax.nn.initializers.{name}", lambda name=name: getattr(inits, name)()(jax.random.key(3), (8, 9), jnp.float32), (), 16)


def scipy():
  special = """betainc:3:.1:.9 betaln:2:.2:3 digamma:1:.2:9 entr:1:.1:3 erf:1 erfc:1 erfinv:1:-.9:.9 exp1:1:.2:3 expi:1:.2:3 expit:1 gammainc:2:.2:3 gammaincc:2:.2:3 gammaln:1:.2:9 gamma:1:.2:5 i0:1 i0e:1 i1:1 i1e:1
  kl_div:2:.1:3 log_ndtr:1 log_softmax:1 logit:1:.1:.9 ndtr:1 ndtri:1:.1:.9 poch:2:.2:3 psi:1:.2:9 rel_entr:2:.1:3 softmax:1 spence:1:.1:3 xlog1py:2:.1:3 xlogy:2:.1:3 zeta:2:1.2:3 factorial:1:0:5 hyp1f1:3:.5:2 bernoulli- sici:1:.2:3 fresnel:1:-3:3 erfcx:1:-1:3""".split()
  for row in special:
    name, *r = row.split(":")
    if not hasattr(jsp.special, name): continue
    low, high = (float(r[1]), float(r[2])) if len(r) > 2 else (-3, 3)
    yield Case(f"jsp.special.{name}", getattr(jsp.special, name), tuple(array(f"{name}{i}", (3, 4), F32, low, high) for i in range(int(r[0]))), 100)
  yield Case("jsp.special.logsumexp", lambda x: jsp.special.logsumexp(x, 1), (array("ls", (3, 9), F32),), 8)
  yield Case("jsp.special.lpmn_values", lambda x: jsp.special.sph_harm_y(jnp.array([1]), jnp.array([1]), x, x, n_max=2).astype(np.complex64), (array("sp", (1,), F32, .1, 1),), 64)
  stats = """norm.pdf norm.cdf norm.logpdf norm.ppf:.1:.9 beta.logpdf:.1:.9:2,3 cauchy.pdf chi2.logpdf:.2:3:3 dirichlet- expon.logpdf:.1:3 gamma.logpdf:.1:3:2 laplace.cdf logistic.sf multivariate_normal- pareto.logpdf:1.1:3:2 t.logpdf:-3:3:4
  truncnorm.logpdf:-1:1:-2,2 uniform.pdf poisson.logpmf:0:5:2 bernoulli- geom- binom.logpmf:0:4:5,.3 nbinom.logpmf:0:4:5,.3 gumbel_r.logpdf gumbel_l.cdf vonmises.pdf:-3:3:2""".split()
  # With 64-bit types some give f64 that they computed in f32.
  for row in stats:
    name, *r = row.split(":")
    if name.endswith("-"): continue
    fn = jsp.stats
    for part in name.split("."): fn = getattr(fn, part)
    low, high = (float(r[0]), float(r[1])) if len(r) > 1 else (-3, 3)
    extra = [float(v) for v in r[2].split(",")] if len(r) > 2 else []
    x = array(name, (3, 4), F32, low, high)
    yield Case(f"jsp.stats.{name}", lambda x, fn=fn, e=extra: fn(x, *e).astype(F32), (np.floor(x) if "pmf" in name else x,), 100)
  yield Case("jsp.stats.multivariate_normal", lambda x: jsp.stats.multivariate_normal.logpdf(x, jnp.zeros(3), jnp.eye(3) * 2), (array("mv", (5, 3), F32),), 32)
  yield Case("jsp.stats.gaussian_kde", lambda x: jsp.stats.gaussian_kde(x)(jnp.linspace(-2, 2, 5, dtype=F32)).astype(F32), (array("kde", (40,), F32),), 64)
  yield Case("jsp.stats.rankdata", jsp.stats.rankdata, (array("rk", (20,), F32),))
  yield Case("jsp.ndimage.map_coordinates", lambda x: jsp.ndimage.map_coordinates(x, [jnp.array([.5, 1.7]), jnp.array([1.2, 2.9])], 1), (array("mc", (5, 6), F32),), 16)
  yield Case("jsp.interpolate", lambda x: jsp.interpolate.RegularGridInterpolator((jnp.arange(5.), jnp.arange(6.)), x)(jnp.array([[1.5, 2.5]])), (array("mc", (5, 6), F32),), 16)
  yield Case("jsp.integrate", lambda x: jsp.integrate.trapezoid(x), (array("ig", (9,), F32),), 8)
  yield Case("jsp.optimize", lambda x: jsp.optimize.minimize(lambda v: ((v - 2)**2).sum(), x, method="BFGS").x, (array("op", (3,), F32),), 1000)
  yield Case("jsp.sparse.cg", lambda a: jsp.sparse.linalg.cg(a @ a.T + 3 * jnp.eye(5), jnp.ones(5))[0], (array("cg", (5, 5), F32),), 1000)
  yield Case("jsp.cluster.vq", lambda x: jsp.cluster.vq.vq(x, x[:3]), (array("vq", (9, 2), F32),), 16)
  for method in ("nearest", "linear", "cubic", "lanczos3"):
    for size in ((7, 5), (3, 12)):
      yield Case(f"jax.image.resize/{method}{size}", lambda x, m=method, s=size: jax.image.resize(x, s, m), (array("im", (6, 8), F32),), 32)
  yield Case("jax.image.scale_and_translate", lambda x: jax.image.scale_and_translate(x, (8, 9), (0, 1), jnp.array([1.3, .7]), jnp.array([.5, 1.]), "linear"), (array("im", (6, 8), F32),), 32)


def bits():
  """Bytes seen as another type: from each width to each, of whole arrays and of scalars."""
  kinds = [jnp.int4, jnp.uint4, np.bool_, np.int8, np.uint16, F16, BF16, np.int32, F32, C64] + ([np.float64, np.uint64, np.complex128] if jax.config.jax_enable_x64 else [])
  rng = np.random.default_rng(5)
  for a in kinds:
    x = np.asarray(array("bits", (2, 32), a)) if a in (jnp.int4, jnp.uint4, np.bool_) else rng.integers(0, 256, (2, 32 * np.dtype(a).itemsize)).astype(np.uint8).view(a)
    for b in kinds:
      if b == np.bool_ and a != np.bool_: continue  # whose bytes may be any
      if np.dtype(b).kind == "c" and a != b: continue  # JAX adds the parts up, and XLA's CPU has no denormal numbers
      yield Case(f"view/{np.dtype(a).name}/{np.dtype(b).name}", lambda x, b=b: x.view(b), (x,), exact=True)
    for b in {np.int8: [np.uint8, np.bool_, jnp.float8_e5m2], np.bool_: [np.int8, np.uint8], np.int32: [F32, np.uint32], F16: [BF16, np.int16], jnp.int4: [jnp.uint4]}.get(a, []):
      yield Case(f"view.scalar/{np.dtype(a).name}/{np.dtype(b).name}", lambda x, b=b: x.view(b), (x[0, 0] if np.dtype(a) != np.int8 else np.array(1, a),), exact=True)


INDICES = [((10,), slice(None, 1, -2)), ((10, 8), (slice(1, 3), slice(0, 2))), ((3, 4, 5), (0, ..., 2)), ((6, 6), np.array([[1, 2, 0], [3, 4, -1]])), ((0,), np.array([], np.int32)), ((), ()),
           ((4, 5, 6), (np.array([0, 2, 1, 3]), slice(None), np.array([-1, 0, -2, 1]))), ((3, 4, 5), (..., np.array([[0, 2], [1, 3]]), slice(None))), ((3, 4), (np.array([True, False, True]), None)),
           ((3, 4, 5), (np.array([0, 2]), None, None, np.array([-1, 2]))), ((3, 4, 5), -4), ((3, 4, 5), (-4, 4)), ((3, 3), (2, 7))]


def updates():
  """x.at[...]: each operation at indices of all kinds, in and out of bounds, with updates of full shape and of none; and its gradients."""
  types, modes = [F32, BF16, np.int32, C64, np.uint8, F16], ["clip", "drop", "promise_in_bounds"]
  for i, (shape, index) in enumerate(INDICES):
    inside = i < len(INDICES) - 3
    part = np.zeros(shape)[index].shape if inside else ()
    for k, op in enumerate("set add subtract multiply divide power min max get apply".split()):
      dtype, mode = types[(i + k) % len(types)], modes[(i + k) % (3 if inside else 2)]
      if op in ("divide", "power") and np.dtype(dtype).kind in "iu" or op in ("min", "max") and dtype == C64: dtype = F32
      y = np.abs(array(f"u{i}{k}", part if k % 2 else (), dtype)) + np.array(1, dtype)
      if op == "get": fn = lambda x, y, j=index, m=mode: (x.at[j].get(mode=m), x.at[j].get(mode="fill", fill_value=7))
      elif op == "apply": fn = lambda x, y, j=index, m=mode: x.at[j].apply(jnp.square, mode=m)
      else: fn = lambda x, y, o=op, j=index, m=mode: getattr(x.at[j], o)(y.astype(x.dtype), mode=m)
      yield Case(f"at.{op}/{i}/{np.dtype(dtype).name}/{mode}", fn, (array(f"x{i}{k}", shape, dtype), y), 16)
    grad = lambda x, y, j=index: jax.vjp(lambda x, y: (x.at[j].add(y), x.at[j].multiply(y, unique_indices=True), x.at[j].set(y)), x, y)[1]((x, x, x))
    yield Case(f"at.grad/{i}", grad, (array(f"g{i}", shape, F32), array(f"h{i}", part, F32)), 16)


def searches():
  a, v = np.sort(array("sa", (17,), F32)), array("sv", (5, 5), F32)
  special = np.array([-np.inf, -1, 0., -0., 1, np.inf, np.nan, -np.nan], np.float32)
  for method in ("sort", "scan", "scan_unrolled", "compare_all"):
    for side in ("left", "right"):
      search = lambda a, v, m=method, s=side: jnp.searchsorted(a, v, side=s, method=m)
      yield Case(f"searchsorted/{method}/{side}", search, (a, v))
      yield Case(f"searchsorted/{method}/{side}/special", search, (special, special))
      yield Case(f"searchsorted/{method}/{side}/sorter", lambda a, v, m=method, s=side: jnp.searchsorted(a, v, side=s, method=m, sorter=jnp.argsort(a)), (a[::-1].copy(), v))
      yield Case(f"searchsorted/{method}/{side}/complex", search, (np.sort((a + 1j * a[::-1]).astype(C64)), v.astype(C64)))
    yield Case(f"isin/{method}", lambda i, m={"scan": "auto", "scan_unrolled": "binary_search"}.get(method, method): jnp.isin(i, jnp.array([1, 5, 9, -3]), method=m), (array("ii", (40,), np.int32),))
    yield Case(f"digitize/{method}", lambda x, m=method: (jnp.digitize(x, jnp.arange(-2., 3.), method=m), jnp.digitize(x, jnp.arange(-2., 3.)[::-1], right=True, method=m), jnp.digitize(x, jnp.zeros(0), method=m)), (v,))


def ufunc_methods():
  """Functions that are applied along an axis, between all pairs and by index; sums of exponentials of what is infinite or none."""
  names = "add multiply subtract maximum minimum logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor logaddexp".split()
  where, at = array("uw", (5, 3), bool), np.array([0, 2, 1])
  for name in names:
    f, kinds = getattr(jnp, name), {"logaddexp": "f", "bitwise_and": "iub", "bitwise_or": "iub", "bitwise_xor": "iub"}.get(name, "fib")
    for dtype in types(kinds):
      x, y = array("ux" + name, (5, 3), dtype, .5, 3), array("uy" + name, (5, 3), dtype, .5, 2)
      if dtype == np.bool_ and name == "subtract": continue
      yield Case(f"jnp.{name}.methods/{np.dtype(dtype).name}", lambda x, y, f=f: (
          f.outer(x[0], y[:, 0]), f.reduce(x, axis=0), f.reduce(x, axis=1, where=where, initial=x[0, 0]), f.accumulate(x, axis=0),
          f.reduceat(x, jnp.array([0, 3, 1]), axis=0), f.at(x, at, y[:3], inplace=False)), (x, y), 32)
  special = np.array([[np.inf, 1, -np.inf], [-np.inf, 2, -np.inf], [np.nan, np.inf, -np.inf]], F32)
  for dtype in (F32, C64):
    yield Case(f"jsp.special.logsumexp.special/{np.dtype(dtype).name}", lambda x: [
        jsp.special.logsumexp(x[:2], axis, return_sign=True, b=b) for axis in (0, 1) for b in (None, x[:2].real)], (special.astype(dtype),), 16)


GROUPS = [ufuncs, ufunc_methods, reductions, shaping, linalg, fft, neural, scipy, bits, updates, searches]
