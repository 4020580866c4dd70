# SPDX-License-Identifier: Apache-2.0
"""check.py: runs a JAX function on two platforms of one process and compares what it gives.

A case is a function, its arguments as NumPy arrays (or anything that JAX takes as a leaf of a tree), and how close
the results must be. What it means to agree is said once, here.
"""

import dataclasses
import time
import traceback
import zlib

import jax
import ml_dtypes
import numpy as np

# Relative tolerances by the precision that results have: some roundings of the type, since both platforms
# round where their kernels do. Sums and products of many terms say more (`loose`).
RTOL = {
    "float64": 1e-12, "complex128": 1e-12,
    "float32": 1e-5, "complex64": 1e-5,
    "float16": 2e-3, "bfloat16": 1.6e-2,
}  # yapf: disable


@dataclasses.dataclass
class Case:
  name: str
  fn: object
  args: tuple = ()
  loose: float = 1.0  # times the tolerance
  jit: bool = True  # False: called as it is, every operation by itself
  exact: bool = False  # the same bits
  check: object = None  # check(expected, actual) instead of comparing, for results with freedom
  several: bool = False  # fn(devices) makes its arrays; where results lie is compared too


@dataclasses.dataclass
class Step:
  """What asserts what must hold by itself, for functions that give nothing to compare."""
  name: str
  fn: object  # fn(device)


def rng_of(name):
  """Random numbers that depend on the case's name alone."""
  return np.random.default_rng(zlib.crc32(name.encode()))


def array(name, shape, dtype, low=-3.0, high=3.0):
  """An array of `dtype` between low and high; integers and booleans in their own way."""
  rng = rng_of(f"{name}/{shape}/{np.dtype(dtype).name}")
  dtype = np.dtype(dtype)
  if dtype == bool:
    return rng.integers(0, 2, shape).astype(bool)
  if dtype.kind == "c":
    part = np.float32 if dtype == np.complex64 else np.float64
    return (rng.uniform(low, high, shape).astype(part) + 1j * rng.uniform(low, high, shape).astype(part)).astype(dtype)
  if dtype.kind in "iu" or dtype.name in ("int4", "uint4", "int2", "uint2"):
    info = ml_dtypes.iinfo(dtype)
    bottom, top = max(info.min, -100), min(info.max, 100)
    return rng.integers(bottom, top + 1, shape).astype(dtype)
  return rng.uniform(low, high, shape).astype(dtype)


def _flat(tree):
  leaves, structure = jax.tree_util.tree_flatten(tree)
  return [np.asarray(jax.random.key_data(x)) if _is_key(x) else np.asarray(x) for x in leaves], structure


def _is_key(x):
  return isinstance(x, jax.Array) and jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key)


def differs(expected, actual, loose, exact):
  """What is different, in words, or None."""
  if expected.dtype != actual.dtype:
    return f"type {actual.dtype}, expected {expected.dtype}"
  if expected.shape != actual.shape:
    return f"shape {actual.shape}, expected {expected.shape}"
  if expected.size == 0:
    return None
  name = expected.dtype.name
  inexact = expected.dtype.kind in "fc" or name.startswith(("bfloat", "float"))
  if exact or not inexact:
    a, b = expected, actual
    if inexact:
      same = (a == b) | (np.isnan(a.astype(np.float64)) & np.isnan(b.astype(np.float64))) if a.dtype.kind != "c" else \
          (a == b) | (np.isnan(a) & np.isnan(b))
    else:
      same = a == b
    if np.all(same):
      return None
    at = tuple(int(i[0]) for i in np.nonzero(~np.atleast_1d(same)))
    return f"{int(np.sum(~same))} of {a.size} elements, first at {at}: {np.atleast_1d(b)[at]!r}, expected {np.atleast_1d(a)[at]!r}"
  wide = np.complex128 if expected.dtype.kind == "c" else np.float64
  a, b = expected.astype(wide), actual.astype(wide)
  rtol = RTOL.get(name, 0.13) * loose  # 8-bit floats: one step of three bits
  finite = np.abs(a[np.isfinite(a)])
  atol = rtol * (np.max(finite) if finite.size else 0.0) * 0.1
  good = np.isclose(b, a, rtol=rtol, atol=atol, equal_nan=True)
  if np.all(good):
    return None
  at = tuple(int(i[0]) for i in np.nonzero(~np.atleast_1d(good)))
  return (f"{int(np.sum(~good))} of {a.size} elements, first at {at}: {np.atleast_1d(b)[at]!r}, "
          f"expected {np.atleast_1d(a)[at]!r} (rtol {rtol:.1e})")


def _places(x):
  """Which part of an array each device has, as a number of each."""
  sharding = getattr(x, "sharding", None)
  if sharding is None:
    return np.zeros(0, np.int64)
  parts = sorted((d.id, str(index)) for d, index in sharding.devices_indices_map(x.shape).items())
  return np.array([zlib.crc32(f"{device} {part}".encode()) for device, part in parts])


def _on_several(devices, case):
  with jax.default_device(devices[0]):
    results = case.fn(devices)
    leaves, structure = _flat(results)
    return leaves + [_places(x) for x in jax.tree_util.tree_leaves(results)], structure


def _on(device, case):
  if case.several:
    return _on_several(jax.devices(device.platform), case)
  with jax.default_device(device):
    args = jax.tree_util.tree_map(
        lambda x: jax.device_put(x, device) if isinstance(x, np.ndarray) else x, case.args)
    fn = jax.jit(case.fn) if case.jit else case.fn
    return _flat(fn(*args))


def _run_step(step, device):
  start, wrong = time.time(), None
  try:
    with jax.default_device(device):
      step.fn(device)
  except Exception as e:
    line = traceback.extract_tb(e.__traceback__)[1:2]
    wrong = f"line {line[0].lineno if line else 0}: {type(e).__name__}: {str(e).strip()[:400]}"
  return wrong, time.time() - start


def run(case, judge, device):
  """None when the case passes, else what is wrong; and the seconds it took on `device`."""
  if isinstance(case, Step):
    return _run_step(case, device)
  try:
    expected, structure = _on(judge, case)
  except Exception:  # the case itself is wrong, or JAX's CPU backend cannot
    return "the judge fails: " + traceback.format_exc(limit=-1).strip().splitlines()[-1][:300], 0.0
  start = time.time()
  try:
    actual, got = _on(device, case)
  except Exception as e:
    return f"{type(e).__name__}: {str(e).strip()[:400]}", time.time() - start
  seconds = time.time() - start
  if structure != got:
    return f"structure {got}, expected {structure}", seconds
  if case.check:
    return case.check(expected, actual), seconds
  for i, (a, b) in enumerate(zip(expected, actual)):
    wrong = differs(a, b, case.loose, case.exact)
    if wrong:
      return f"result {i}: {wrong}", seconds
  return None, seconds
