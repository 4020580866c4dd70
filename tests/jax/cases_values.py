# SPDX-License-Identifier: Apache-2.0
"""cases_values.py: numbers that are special (infinities, NaN, zeros of both signs, the ends of integers), types of few bits,
windows of all kinds, indices out of bounds, and matrices that have no decomposition."""

import jax
import jax.numpy as jnp
import jax.scipy as jsp
import ml_dtypes
import numpy as np
from jax import lax

from cases_lax import BF16, C64, F16, F32, types
from check import RTOL, Case, array

SPECIAL = [0., -0., 1., -1., .5, -.5, 2., -2., 3., -3., np.inf, -np.inf, np.nan, 1e-3, -1e-3, 1.5, 2.5, -2.5, 100., -100., .9375]
ONE = """abs exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh arcsin arccos arctan arcsinh arccosh arctanh sqrt cbrt square
reciprocal sign signbit isfinite isnan isinf floor ceil trunc rint fabs sinc frexp modf nan_to_num deg2rad negative""".split()
TWO = """add subtract multiply divide power mod fmod floor_divide divmod maximum minimum fmax fmin arctan2 hypot logaddexp copysign heaviside
equal less greater_equal isclose""".split()


def close(times):
  """Element by element, without an absolute tolerance that the largest one sets: a number that should be 0 may be tiny."""

  def check(expected, actual):
    for i, (a, b) in enumerate(zip(expected, actual)):
      if a.dtype != b.dtype or a.shape != b.shape:
        return f"result {i}: {b.dtype}{list(b.shape)}, expected {a.dtype}{list(a.shape)}"
      name = a.dtype.name
      if name not in RTOL:
        good = a == b
      else:
        wide = np.complex128 if a.dtype.kind == "c" else np.float64
        c, d = a.astype(wide), b.astype(wide)
        good = np.isclose(d, c, rtol=RTOL[name] * times, atol=RTOL[name] * .1, equal_nan=True)
        if a.dtype.kind == "c":  # isclose takes all infinite numbers for equal
          good &= np.isnan(c) | (np.isclose(d.real, c.real, rtol=RTOL[name] * times, atol=RTOL[name], equal_nan=True) &
                                 np.isclose(d.imag, c.imag, rtol=RTOL[name] * times, atol=RTOL[name], equal_nan=True))
      if not np.all(good):
        at = tuple(int(k[0]) for k in np.nonzero(~np.atleast_1d(good)))
        return (f"result {i}: {int(np.sum(~good))} of {a.size} elements, first at {at}: {np.atleast_1d(b)[at]!r}, "
                f"expected {np.atleast_1d(a)[at]!r}")
    return None

  return check


def pairs(values):
  return np.repeat(values, len(values)), np.tile(values, len(values))


def floats():
  for dtype in types("f"):
    n, x = np.dtype(dtype).name, np.array(SPECIAL).astype(dtype)
    for name in ONE:
      yield Case(f"special.{name}/{n}", getattr(jnp, name), (x,), check=close(8))
    for name in TWO:
      yield Case(f"special.{name}/{n}", getattr(jnp, name), pairs(x), check=close(16))
    for name in "logistic rsqrt erf erfc erf_inv digamma bessel_i0e bessel_i1e".split():
      yield Case(f"special.lax.{name}/{n}", getattr(lax, name), (x,), check=close(16))
    yield Case(f"special.order/{n}", lambda x: (jnp.sort(x), jnp.argsort(x), lax.top_k(x, 9), jnp.max(x), jnp.min(x), jnp.argmax(x), jnp.argmin(x),
                                                lax.cummax(x), lax.cummin(x), jnp.nanmax(x), jnp.median(x)), (x,), check=close(1))
    far = np.array([0., 1.7, -1.7, np.inf, -np.inf, np.nan, 300., -300., 6e4, -6e4, 127.5, 255.9] + ([1e10, -1e10] if dtype != F16 else [])).astype(dtype)
    for other in types("iu"):
      yield Case(f"special.convert/{n}-{np.dtype(other).name}", lambda x, o=other: lax.convert_element_type(x, o), (far,))
  yield Case("special.igamma", lambda x: (lax.igamma(F32(1), x), lax.igammac(F32(1), x)), (np.array([np.inf, 0, 1, np.nan], F32),), check=close(16))


def integers():
  for dtype in types("iu"):
    n, info = np.dtype(dtype).name, np.iinfo(dtype)
    ends = {0, 1, 2, 3, 7, info.max, info.max - 1, info.max // 2, info.min, info.min + 1} | ({-1, -2, -7} if info.min else set())
    a, b = pairs(np.array(sorted(ends), dtype))
    for name in "add subtract multiply floor_divide mod fmod divmod maximum minimum divide left_shift right_shift".split():
      yield Case(f"ends.{name}/{n}", getattr(jnp, name), (a, b), check=close(1))
    for name in "div rem shift_left shift_right_logical shift_right_arithmetic".split():
      yield Case(f"ends.lax.{name}/{n}", getattr(lax, name), (a, b))
    for name in "population_count clz sign neg".split():
      yield Case(f"ends.lax.{name}/{n}", getattr(lax, name), (np.unique(a),))
  for dtype in (ml_dtypes.int2, ml_dtypes.uint2, ml_dtypes.int4, ml_dtypes.uint4):
    n, info = np.dtype(dtype).name, ml_dtypes.iinfo(dtype)
    a, b = pairs(np.arange(int(info.min), int(info.max) + 1).astype(dtype))
    for name in "add sub mul max min bitwise_and bitwise_or bitwise_xor eq ne lt le gt ge".split():
      yield Case(f"bits.{name}/{n}", getattr(lax, name), (a, b))
    yield Case(f"bits.moves/{n}", lambda x: (x[::-1], jnp.stack([x, x], 1), jnp.concatenate([x, x[1:3]]), lax.bitwise_not(x), x[jnp.array([2, 0])]), (a,))


def complexes():
  few = [0., -0., 1., -2., .5, np.inf, -np.inf, np.nan]
  for dtype in types("c"):
    n = np.dtype(dtype).name
    z = np.empty(len(few)**2, dtype)
    z.real, z.imag = pairs(np.array(few))
    for name in "abs angle tan tanh square negative conj isnan isfinite isinf sort".split():
      yield Case(f"special.{name}/{n}", getattr(jnp, name), (z,), check=close(16))
    yield Case(f"special.order/{n}", lambda z: (jnp.max(z), jnp.maximum(z, z[::-1]), z < z[::-1], z >= z[::-1]), (z,), check=close(1))


def windows():
  steps = [("add", lambda a, b: a + b, 1), ("mul", lambda a, b: a * b, 1), ("sub", lambda a, b: a - b, 0), ("max", lax.max, -np.inf), ("add0", lax.add, 0)]
  for shape, window, strides in (((4, 6), (2, 1), (1, 2)), ((4, 6), (1, 2), (2, 1)), ((3, 2, 4, 6), (2, 1, 2, 1), (1, 2, 2, 1))):
    for padding in ("VALID", "SAME", [(0, 3), (1, 2), (2, 3), (0, 2)][:len(shape)]):
      for base, inner in (((1, 1, 1, 1), (1, 2, 2, 1)), ((2, 3, 1, 2), (1, 1, 1, 1)), ((2, 1, 3, 2), (1, 2, 2, 1))):
        where = (window, strides, padding, base[:len(shape)], inner[:len(shape)])
        for name, step, first in steps:
          yield Case(f"window.{name}/{list(shape)}{where}", lambda x, s=step, f=first, w=where: lax.reduce_window(x, F32(f), s, *w), (array("wi", shape, F32),), 8)
        yield Case(f"window.two/{list(shape)}{where}", lambda x, y, w=where: lax.reduce_window((x, y), (F32(0), F32(-np.inf)), lambda a, b: (a[0] + b[0], lax.max(a[1], b[1])), *w),
                   (array("wi", shape, F32), array("wj", shape, F32)), 8)
  yield Case("window.far", lambda x: lax.reduce_window(x, 0., lax.add, (3, 4), (1, 1), "SAME", (40, 60), (2, 13)), (np.ones((4, 6), F32),))
  for groups, batches in ((1, 2), (2, 1)):
    for width in (0, 10):
      for dtype in (F32, BF16, C64, np.int8, np.uint16):
        x, k = array("cgx", (2 * batches, 3 * groups, 9, width), dtype, -1, 1), array("cgk", (2 * groups * batches, 3, 4, 5), dtype, -1, 1)
        yield Case(f"window.conv/{np.dtype(dtype).name}/{groups}{batches}{width}",
                   lambda x, k, g=groups, b=batches: lax.conv_general_dilated(x, k, (2, 1), ((10, 8), (7, 13)), (1, 4), (1, 2), feature_group_count=g, batch_group_count=b), (x, k), 16)


def places():
  indices = [1, -1, slice(None, None, -2), np.array([0, 2, -1]), (np.array([0, 9]), np.array([1, -1])), (slice(None), np.array([[0, 1], [2, 9]])),
             (1, slice(None), np.array([0, 1])), (np.array([0, 1]), slice(1, 3), np.array([2, 0])), np.array([], int), np.array([2, 2, 2])]  # yapf: disable
  for dtype in [F32, C64, np.int8]:
    n, x = np.dtype(dtype).name, array("pl", (4, 5, 3), dtype)
    for i, where in enumerate(indices):
      yield Case(f"places.get/{n}/{i}", lambda x, w=where: (x[w], x.at[w].get(mode="fill"), x.at[w].get(mode="clip")), (x,))
      for how in "set add multiply min max".split():
        if how in ("min", "max") and dtype == C64: continue
        for mode in (None, "clip"):
          yield Case(f"places.{how}/{n}/{i}{mode}", lambda x, w=where, h=how, m=mode: getattr(x.at[w], h)(jnp.asarray(1, x.dtype) * 2, mode=m), (x,), 4)
  for dtype in [F32, F16, C64, np.int16, np.bool_]:
    n, x, y = np.dtype(dtype).name, array("pu", (20,), dtype, -2, 2).round().astype(dtype) if dtype != np.bool_ else array("pu", (20,), dtype), array("pv", (7,), dtype)
    yield Case(f"sets.unique/{n}", lambda x: jnp.unique(x, return_index=True, return_inverse=True, return_counts=True), (x,), jit=False)
    yield Case(f"sets.sizes/{n}", lambda x, y: (jnp.unique(x, size=9, fill_value=0), jnp.nonzero(x, size=30, fill_value=-1), jnp.isin(x, y), jnp.union1d(x, y, size=22)), (x, y))
    yield Case(f"sets.two/{n}", lambda x, y: (jnp.intersect1d(x, y), jnp.setdiff1d(x, y), jnp.setxor1d(x, y)), (x, y), jit=False)


def matrices():
  qr = lax.linalg.SvdAlgorithm.QR
  for dtype in types("fc"):
    if np.dtype(dtype).itemsize < 4: continue
    n = np.dtype(dtype).name
    for shape in ((4, 4), (5, 3), (3, 5), (2, 4, 3)):
      x = array("mx", shape, dtype)
      yield Case(f"matrix.svd_qr/{n}{list(shape)}", lambda x: (lambda u, s, v: (s, (u * s[..., None, :]) @ v))(*lax.linalg.svd(x, full_matrices=False, algorithm=qr)), (x,), 100)
    for mode in ("left", "right"):
      yield Case(f"matrix.qr_multiply/{n}/{mode}", lambda x, c, m=mode: jsp.linalg.qr_multiply(x, c, m), (array("mq", (6, 4), dtype), array("mc", (4, 2) if mode == "left" else (2, 6), dtype)), 100)
    for trans in (0, 1, 2):
      yield Case(f"matrix.lu_solve/{n}/{trans}", lambda x, b, t=trans: jsp.linalg.lu_solve(jsp.linalg.lu_factor(x), b, t), (array("ml", (5, 5), dtype) + 5 * np.eye(5, dtype=dtype), array("mb", (5, 2), dtype)), 100)
    for size in (1, 4):
      nan = np.full((2, size, size), np.nan, dtype)
      for name in "cholesky eigvals inv slogdet qr svd pinv eig".split():
        yield Case(f"matrix.nan/{n}/{name}{size}", getattr(jnp.linalg, name), (nan,), check=close(1))
  singular = np.stack([np.ones((3, 3)), np.zeros((3, 3)), np.eye(3), -np.eye(3)]).astype(F32)
  for name in "inv det slogdet cholesky pinv matrix_rank eigvalsh".split():
    yield Case(f"matrix.singular/{name}", getattr(jnp.linalg, name), (singular,), check=close(100))


GROUPS = [floats, integers, complexes, windows, places, matrices]
