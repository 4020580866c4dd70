# SPDX-License-Identifier: Apache-2.0
"""What an element is made of lies beside it: rolled and padded arrays, small windows, windows that are updated.

Rows of several lengths, of types of several sizes; edges of one element and of more."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np

from recorder import program
from recorder.program import Program

FUSED = "multiplied and added in one rounding where XLA does it in two, or the other way round"
DIMS = [(17, 24), (30, 16), (9, 129), (3, 4, 33), (1, 50), (37,)]


def normal(seed, *dims, dtype=np.float32):
    """Of few digits, so that they take little room."""
    return (np.round(program.normal(seed, *dims) * 32) / 32).astype(dtype)


def whole(seed, dtype, most, *dims):
    return np.random.default_rng(seed).integers(0, most, dims).astype(dtype)


def neighbours(x):
    """Those to the left, right, above and below, round the edges."""
    return jnp.roll(x, 1, -1) + jnp.roll(x, -1, -1) * 2 + jnp.roll(x, 1, 0) * 3 + jnp.roll(x, -2, 0) * 5


def corners(x):
    return jnp.roll(x, (1, -3), (0, -1)) - jnp.roll(x, (-2, 5), (0, -1)) * 3


def life(x):
    def step(x, _):
        sums = sum(jnp.roll(x, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
        return ((sums == 3) | ((x == 1) & (sums == 2))).astype(x.dtype), None

    return jax.lax.scan(step, x, None, length=4)[0]


def upwind(x):
    def step(x, _):
        return x - 0.125 * x * (x - jnp.roll(x, 1)), x[:2]

    return jax.lax.scan(step, x, None, length=5)


def edges(x):
    """Differences with zeros, copies and mirror images beyond the edges."""
    zero, edge, mirror = (jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(2, 1)], **mode) for mode in
                          ({}, {"mode": "edge"}, {"mode": "reflect"}))
    return zero[..., 3:] - zero[..., :-3], edge[..., 1:] + edge[..., :-1], mirror[..., 3:] * mirror[..., :-3]


def joined(x, y):
    """Pieces of several arrays along rows, one of them a single element."""
    return jnp.concatenate([x[..., 3:5], y[..., :1], x[..., 7:20], y[..., 4:]], -1) * 2


def updated(x, y):
    x = x.at[1:-1, 1:-1].add(y[2:, 1:-1] - y[:-2, 1:-1] + y[1:-1, 2:] * 2 - y[1:-1, :-2])
    return x.at[:, 3:].set(x[:, 3:] * 2 + y[:, :-3])


def shifted(x):
    """What is written is read beside where it is."""
    return x.at[1:, 1:].set(x[:-1, :-1] - x[1:, 1:])


def convolved(**how):
    def function(x, kernel):
        return jax.lax.conv_general_dilated(x, kernel, **{"window_strides": (1,) * (x.ndim - 2), "padding": "SAME", **how})

    return function


def smoothed(x, kernel):
    def step(x, _):
        y = jax.lax.conv_general_dilated(x[None, None], kernel, (1, 1), "SAME")[0, 0]
        return x * 0.5 + y, None

    return jax.lax.scan(step, x, None, length=3)[0]


def padded_sum(x, w):
    """Rows of a power of two behind a test of the place, in a loop over elements that lie side by side."""
    return (jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(1, 1)]) * w).sum(-1)


def padded_most(x):
    wide = jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(4, 12)], constant_values=-1)
    return wide - wide.max(-1, keepdims=True)


def weights(x, y):
    """The gradient of a kernel: an image is padded, and its copy read in many places."""
    return jax.lax.conv_general_dilated(x, y, (1, 1), [(1, 1), (1, 1)], dimension_numbers=("CNHW", "IOHW", "CNHW"))


def columns(x):
    """Each element from all of its row of 16."""
    result = x[..., 15]
    for k in range(15):
        result = result * 2 + x[..., k]
    return result


def cases():
    for dtype in (np.uint32, np.float32, np.int16):
        for dims in ((48, 16), (3, 32, 16), (33, 16), (2, 16, 7, 16)):
            name = f"{'x'.join(map(str, dims))}.{np.dtype(dtype).name}"
            x = whole(15, dtype, 2, *dims)
            yield Program(f"stencil.columns.{name}", columns, (x,), 0)
            yield Program(f"stencil.columns.two.{name}", lambda a, b: columns(a) - columns(b), (x, x[::-1] + 1), 0)
    for dims in DIMS:
        name = "x".join(map(str, dims))
        for dtype in (np.uint8, np.int32, np.float32, np.complex64, np.float64, ml_dtypes.bfloat16, np.float16):
            x = whole(1, dtype, 7, *dims)
            yield Program(f"stencil.neighbours.{name}.{np.dtype(dtype).name}", neighbours, (x,), 0)
        yield Program(f"stencil.corners.{name}", corners, (whole(2, np.int16, 90, *dims),), 0)
        yield Program(f"stencil.edges.{name}", edges, (normal(3, *dims),), 0)
        yield Program(f"stencil.joined.{name}", joined, (normal(4, *dims), normal(5, *dims)), 0)
    for dims in ((48, 64), (5, 32), (3, 4, 128)):
        name = "x".join(map(str, dims))
        x, w = whole(16, np.float32, 9, *dims), whole(17, np.float32, 9, *dims[:-1], dims[-1] + 2)
        yield Program(f"stencil.padded.sum.{name}", padded_sum, (x, w), 0)
        yield Program(f"stencil.padded.most.{name}", padded_most, (x,), 0)
    for size in (8, 32):
        x, y = whole(18, np.float32, 9, 2, 3, size, size), whole(19, np.float32, 5, 2, 8, size, size)
        yield Program(f"stencil.weights.{size}", weights, (x, y), 0)
    for dims in DIMS[:3]:
        name = "x".join(map(str, dims))
        yield Program(f"stencil.life.{name}", life, (whole(6, np.uint8, 2, *dims),), 0)
        yield Program(f"stencil.updated.{name}", updated, (whole(7, np.float32, 9, *dims), whole(8, np.float32, 9, *dims)), 0)
        yield Program(f"stencil.shifted.{name}", shifted, (whole(9, np.int32, 9, *dims),), 0)
        yield Program(f"stencil.smoothed.{name}", smoothed, (whole(10, np.float32, 9, *dims), normal(11, 1, 1, 3, 3)), 4, FUSED, 16)
    yield Program("stencil.upwind", upwind, (normal(12, 61) * 0.25,), 4, FUSED, 2)
    for name, dims, kernel, how in [
        ("3x3", (1, 1, 20, 33), (1, 1, 3, 3), {}),
        ("5x5", (2, 1, 18, 40), (1, 1, 5, 5), {}),
        ("features", (1, 2, 17, 24), (1, 2, 3, 3), {}),
        ("two", (1, 1, 20, 33), (2, 1, 3, 2), {}),
        ("valid", (1, 1, 20, 33), (1, 1, 3, 3), {"padding": "VALID"}),
        ("stride", (1, 1, 41, 64), (1, 1, 3, 3), {"window_strides": (2, 2)}),
        ("dilated", (1, 1, 20, 33), (1, 1, 3, 3), {"rhs_dilation": (2, 3)}),
        ("holes", (1, 1, 10, 17), (1, 1, 3, 3), {"lhs_dilation": (2, 2), "padding": [(1, 2), (2, 1)]}),
        ("space", (1, 1, 6, 7, 32), (1, 1, 3, 3, 3), {}),
        ("line", (1, 1, 200), (1, 1, 5), {}),
        ("away", (1, 1, 3, 20), (1, 1, 3, 3), {"padding": [(4, 4), (5, 6)]}),
        ("groups", (1, 3, 12, 20), (3, 1, 3, 3), {"feature_group_count": 3}),
    ]:
        x, k = whole(13, np.float32, 30, *dims), whole(14, np.float32, 9, *kernel)
        yield Program(f"stencil.convolved.{name}", convolved(**how), (x, k), 0)
        yield Program(f"stencil.convolved.{name}.s32", convolved(**how), (x.astype(np.int32), k.astype(np.int32)), 0)
