# SPDX-License-Identifier: Apache-2.0
"""Chains of reductions of the same rows as JAX lowers them: softmax, norms, cross-entropy and their gradients.

Rows of all kinds of lengths: odd, of a vector's length, longer than what a kernel keeps, empty."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np

from recorder import program
from recorder.program import Program

DIMS = [(5, 300), (66, 32), (2, 1, 1025), (130, 10), (3, 3, 17), (7, 5, 3), (1, 77), (1, 9001), (4, 0), (0, 5)]
SUMS = "sums in another order, and functions of 2 ULP"
NARROW = "functions and sums in f32, rounded where XLA's may fall to the other side"


def normal(seed, *dims, dtype=np.float32):
    """Of few digits, so that they take little room."""
    return (np.round(program.normal(seed, *dims) * 32) / 32).astype(dtype)


def softmax(x):
    return jax.nn.softmax(x, axis=-1)


def layer_norm(x, gain, bias):
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * gain + bias


def rms_norm(x, gain):
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) * gain


def cross_entropy(x, labels):
    """Losses of rows, by picking the label's element."""
    picked = jnp.take_along_axis(jax.nn.log_softmax(x), labels[:, None], 1)
    return -picked[:, 0]


def cross_entropy_one_hot(x, labels):
    hot = jax.nn.one_hot(labels, x.shape[-1], dtype=x.dtype)
    return -(jax.nn.log_softmax(x) * hot).sum(-1)


def masked(scores, mask, by):
    """The weights of attention, and what a row has in all."""
    scores = jnp.where(mask, scores * 0.125 + by, -1e9)
    return jax.nn.softmax(scores, axis=-1), jax.nn.logsumexp(scores, axis=-1)


def backwards(function):
    def gradient(t, *arguments):
        value, back = jax.vjp(function, *arguments)
        return value, back(t)

    return gradient


def _softmax():
    for dims in DIMS:
        name = "x".join(map(str, dims))
        x = normal(1, *dims) * 3
        if 0 not in dims and dims[-1] < 9000:
            yield Program(f"rows.log_softmax.{name}", jax.nn.log_softmax, (x,), 4, SUMS, 64)
            yield Program(f"rows.logsumexp.{name}", lambda a: jax.nn.logsumexp(a, axis=-1), (x,), 4, SUMS, 16)
            yield Program(
                f"rows.softmax_gradient.{name}", backwards(softmax), (normal(2, *dims), x), 8, SUMS, 2
            )
        yield Program(f"rows.softmax.{name}", softmax, (x,), 16, SUMS)
    special = normal(3, 66, 21)
    special[0, 5], special[1, 7], special[2, 9] = np.nan, np.inf, -np.inf
    special[3], special[4], special[5] = -np.inf, np.inf, 0
    special[6, :2], special[7] = (np.inf, np.nan), 1e30
    yield Program("rows.softmax.special", softmax, (special,), 16, SUMS)
    yield Program("rows.log_softmax.special", jax.nn.log_softmax, (special,), 4, SUMS, 64)
    for type_, bound in ((np.float16, 2), (ml_dtypes.bfloat16, 2)):
        x = normal(4, 66, 36, dtype=type_)
        name = np.dtype(type_).name
        yield Program(f"rows.softmax.{name}", softmax, (x,), bound, NARROW)
        wide = lambda a: softmax(a.astype(np.float32)).astype(a.dtype)
        yield Program(f"rows.softmax.wide.{name}", wide, (x,), 1, NARROW)
    yield Program("rows.softmax.f64", softmax, (normal(5, 66, 36, dtype=np.float64),), 16, SUMS)


def _norms():
    for dims in DIMS[:6]:
        name = "x".join(map(str, dims))
        x, gain, bias, t = normal(6, *dims), normal(7, dims[-1]), normal(8, dims[-1]), normal(9, *dims)
        yield Program(f"rows.layer_norm.{name}", layer_norm, (x, gain, bias), 8, SUMS, 16)
        yield Program(f"rows.rms_norm.{name}", rms_norm, (x, gain), 8, SUMS, 16)
        yield Program(
            f"rows.layer_norm_gradient.{name}", backwards(layer_norm), (t, x, gain, bias), 8, SUMS, 64
        )
        yield Program(f"rows.rms_norm_gradient.{name}", backwards(rms_norm), (t, x, gain), 8, SUMS, 64)
    x, gain, bias = normal(6, 66, 36), normal(7, 36), normal(8, 36)
    mixed = lambda a, g, b: layer_norm(a.astype(np.float32), g, b).astype(a.dtype)
    narrow = x.astype(ml_dtypes.bfloat16)
    yield Program("rows.layer_norm.mixed", mixed, (narrow, gain, bias), 1, NARROW)
    both = lambda a, b, g, h: (a + b, layer_norm(a + b, g, h))
    yield Program("rows.add_and_norm", both, (x, normal(9, 66, 36), gain, bias), 8, SUMS, 16)


def _losses():
    for rows, classes in ((5, 300), (130, 10), (1, 1030)):
        x, labels = normal(10, rows, classes), (np.arange(rows) * 7 % classes).astype(np.int32)
        name = f"{rows}x{classes}"
        for way, loss in (("picked", cross_entropy), ("one_hot", cross_entropy_one_hot)):
            gradient = jax.value_and_grad(lambda a, b: loss(a, b).mean())
            yield Program(f"rows.cross_entropy.{way}.{name}", loss, (x, labels), 4, SUMS, 16)
            yield Program(f"rows.cross_entropy_gradient.{way}.{name}", gradient, (x, labels), 4, SUMS, 1)
    scores = normal(11, 2, 3, 19, 65)
    mask = np.tril(np.ones((19, 65), bool), 20)
    yield Program("rows.masked", masked, (scores, mask, normal(12, 65)), 4, SUMS, 1)


def _whole(x):
    """Whole numbers: extrema, sums, products and bits, each needed by what comes next."""
    low, high = x.min(-1, keepdims=True), x.max(-1, keepdims=True)
    near = jnp.where(x - low < high - x, x, low)
    total = near.sum(-1, keepdims=True)
    odd = jax.lax.reduce(near ^ total, np.array(0, x.dtype), jax.lax.bitwise_xor, (1,))
    ones = jax.lax.reduce(near | total, np.array(-1).astype(x.dtype), jax.lax.bitwise_and, (1,))
    some = jax.lax.reduce(near & total, np.array(0, x.dtype), jax.lax.bitwise_or, (1,))
    product = (near | 1).prod(-1)
    return near * total, odd, ones, some, product


def _truths(x):
    every, some = x.all(-1, keepdims=True), x.any(-1, keepdims=True)
    odd = jax.lax.reduce(x != some, False, jax.lax.bitwise_xor, (1,))
    return x & ~every | ~some, odd


def _others():
    r = np.random.default_rng(13)
    for type_ in (np.int32, np.uint32, np.int64, np.uint64, np.int8):
        info = np.iinfo(type_)
        # XLA's CPU backend takes differences of 8 bits not to wrap.
        part = 2 if type_ == np.int8 else 1
        x = r.integers(info.min // part, info.max // part, (20, 77), type_, endpoint=True)
        yield Program(f"rows.whole.{np.dtype(type_).name}", _whole, (x,))
    truths = r.integers(0, 2, (70, 40)).astype(bool)
    truths[0], truths[1] = True, False
    yield Program("rows.truths", _truths, (truths,))
    unit = lambda x: x / jnp.linalg.norm(x, axis=-1, keepdims=True)
    yield Program("rows.unit", unit, (normal(14, 66, 36),), 4, SUMS)
    # Rows of one array, and a value a row of another.
    scaled = lambda x, s: jnp.exp(x * s[:, None] - (x * s[:, None]).max(1, keepdims=True)).sum(1) * s
    yield Program("rows.scaled", scaled, (normal(15, 66, 36), normal(16, 66)), 16, SUMS)
    # What reads rows of another length, and columns, is another kernel's.
    twice = lambda x: softmax(softmax(x).T) + softmax(x.T)
    yield Program("rows.turned", twice, (normal(17, 66, 35),), 16, SUMS)


def cases():
    yield from _softmax()
    yield from _norms()
    yield from _losses()
    yield from _others()
