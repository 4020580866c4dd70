"""What JAX computes on OpenCL against what it computes on the CPU, in one process.

    python compare.py [--list] [--seed N] [WORD ...]

runs the cases of the tables beside this file whose names hold all the words. A case is a function and its
arguments; the results on the platform "halo" must have the types and shapes of those on "cpu", and values within
the case's bound. The last line is "N passed, N failed".
"""
import argparse
import dataclasses
import importlib
import os
import sys
import time
import traceback
import warnings

os.environ.setdefault("JAX_PLATFORMS", "halo,cpu")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

TABLES = ("elementwise", "structured", "numpy_calls", "libraries", "transforms", "platform")

# Relative to the largest value of a result, since sums of many elements cancel.
BOUNDS = {"float64": 1e-10, "complex128": 1e-10, "float32": 2e-5, "complex64": 2e-5, "float16": 2e-3,
          "bfloat16": 1.6e-2}


@dataclasses.dataclass
class Case:
    name: str
    run: object  # called with the arguments; jitted unless `eager`
    arguments: tuple = ()
    bound: float = 0  # 0: that of the type
    eager: bool = False
    check: object = None  # in place of the comparison: called with nothing, raises


def uniform(seed, shape, dtype, low=-2.0, high=2.0):
    """Values of any type, the same for the same seed."""
    random = np.random.RandomState(seed)
    dtype = np.dtype(dtype)
    if dtype == np.bool_:
        return random.rand(*shape) < 0.5
    if jnp.issubdtype(dtype, jnp.complexfloating):
        parts = [random.uniform(low, high, shape) for _ in range(2)]
        return (parts[0] + 1j * parts[1]).astype(dtype)
    if jnp.issubdtype(dtype, jnp.floating):
        return random.uniform(low, high, shape).astype(dtype)
    information = jnp.iinfo(dtype)
    least = max(int(information.min), -9 if low < 0 else 0)
    return random.randint(least, min(int(information.max), 9) + 1, shape).astype(dtype)


def compute(case, device):
    arguments = [jax.device_put(a, device) for a in case.arguments]
    with jax.default_device(device), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = (case.run if case.eager else jax.jit(case.run))(*arguments)
        leaves, tree = jax.tree_util.tree_flatten(result)
        leaves = [jax.random.key_data(x) if jnp.issubdtype(getattr(x, "dtype", np.float32),
                                                           jax.dtypes.prng_key) else x
                  for x in leaves]
        return [np.asarray(x) for x in leaves], tree


def difference(case, got, wanted):
    """What is wrong with one result, or None."""
    if got.dtype != wanted.dtype or got.shape != wanted.shape:
        return f"{got.dtype}{list(got.shape)} instead of {wanted.dtype}{list(wanted.shape)}"
    if got.size == 0:
        return None
    name = str(got.dtype)
    if not (jnp.issubdtype(got.dtype, jnp.floating)
            or jnp.issubdtype(got.dtype, jnp.complexfloating)):
        wrong = np.nonzero(got != wanted)
        return f"{len(wrong[0])} of {got.size} differ" if len(wrong[0]) else None
    wide = np.complex128 if np.iscomplexobj(got) else np.float64
    g, w = got.astype(wide), wanted.astype(wide)
    if (np.isnan(g) != np.isnan(w)).any():
        return "NaN in other places"
    finite = np.isfinite(w)
    if ((g != w) & ~finite & ~np.isnan(w)).any():
        return "infinities in other places"
    if not finite.any():
        return None
    scale = max(np.abs(w[finite]).max(), 1e-30)
    # A type of few bits is compared by its steps.
    bound = case.bound or BOUNDS.get(name) or 2 * float(jnp.finfo(got.dtype).eps)
    error = np.abs(np.where(finite, g, 0) - np.where(finite, w, 0)).max() / scale
    return f"error {error:.3g} of {scale:.3g}, bound {bound:.3g}" if not error <= bound else None


def run_case(case, devices):
    """What is wrong with a case, or None."""
    try:
        if case.check:
            case.check()
            return None
        wanted, _ = compute(case, devices["cpu"])
    except Exception as error:  # pylint: disable=broad-except
        return f"on the CPU: {type(error).__name__}: {str(error)[:300]}" if not case.check else (
            "".join(traceback.format_exception_only(error))[:600])
    try:
        got, _ = compute(case, devices["halo"])
    except Exception as error:  # pylint: disable=broad-except
        return f"{type(error).__name__}: {str(error)[:400]}"
    if len(got) != len(wanted):
        return f"{len(got)} results instead of {len(wanted)}"
    for index, (g, w) in enumerate(zip(got, wanted)):
        wrong = difference(case, g, w)
        if wrong:
            return f"result {index}: {wrong}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--short", action="store_true", help="every eighth case")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    cases = []
    for table in TABLES:
        for case in importlib.import_module(table).cases():
            case.name = f"{table}.{case.name}"
            cases.append(case)
    cases = [c for c in cases if all(word in c.name for word in options.words)]
    if options.short:
        cases = cases[::8]
    if options.list:
        print("\n".join(c.name for c in cases))
        return 0
    devices = {name: jax.devices(name)[0] for name in ("halo", "cpu")}
    passed, failed, start = 0, 0, time.time()
    for case in cases:
        if options.verbose:
            print(case.name, flush=True)
        wrong = run_case(case, devices)
        if wrong:
            failed += 1
            print(f"{case.name}: {wrong}", flush=True)
        else:
            passed += 1
    print(f"in {time.time() - start:.0f} s")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
