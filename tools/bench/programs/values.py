# SPDX-License-Identifier: Apache-2.0
"""Arrays from recipes and a seed, the same ones that `halo` makes up (tools/inputs.c)."""

import numpy as np

_STEP = 0x9E3779B97F4A7C15
_ALL = 2**64 - 1


def _mixed(z):
    """The output function of splitmix64."""
    z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return z ^ z >> np.uint64(31)


def _uniform(index, count, seed):
    """`count` numbers in [0, 1) for the argument at `index`."""
    start = np.array([(seed * 0x2545F4914F6CDD1D + index + _STEP) & _ALL], np.uint64)
    states = _mixed(start) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(_STEP)
    return (_mixed(states) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def make(recipe, dtype, shape, index, seed=0):
    dtype, count = np.dtype(dtype), int(np.prod(shape))
    kind, *numbers = recipe.split(":")
    if kind in ("zeros", "ones"):
        return np.full(shape, kind == "ones", dtype)
    parts = 2 if dtype.kind == "c" else 1
    if kind == "normal":
        u = _uniform(index, 2 * parts * count, seed)
        values = np.sqrt(-2 * np.log(1 - u[0::2])) * np.cos(2 * np.pi * u[1::2])
    else:
        low, high = map(float, numbers)
        values = low + (high - low) * _uniform(index, parts * count, seed)
        if dtype.kind in "iub":
            values = np.floor(values)
    if parts == 2:
        values = values[0::2] + 1j * values[1::2]
    return values.astype(dtype).reshape(shape)
