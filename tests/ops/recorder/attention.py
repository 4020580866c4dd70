# SPDX-License-Identifier: Apache-2.0
"""Attention as JAX lowers it: products of queries and keys, masks, softmax, products with values."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np

from recorder import program
from recorder.program import Program

SUMS = "sums in another order, weights scaled at the end, and exponentials of 2 ULP"
NARROW = "weights are not rounded to the narrow type"


def normal(seed, *dims, dtype=np.float32):
    """Of few digits, so that they take little room."""
    return (np.round(program.normal(seed, *dims) * 16) / 16).astype(dtype)


def qkv(batch, queries, keys, heads, depth, width=None, dtype=np.float32):
    width = width or depth
    dims = ((batch, queries, heads, depth), (batch, keys, heads, depth), (batch, keys, heads, width))
    return tuple(normal(20 + i, *d, dtype=dtype) for i, d in enumerate(dims))


def plain(q, k, v):
    return jax.nn.dot_product_attention(q, k, v)


def causal(q, k, v):
    return jax.nn.dot_product_attention(q, k, v, is_causal=True)


def weighed(scores, v, order="bhts,bshd->bthd"):
    return jnp.einsum(order, jax.nn.softmax(scores, axis=-1), v)


def scores_of(q, k):
    return jnp.einsum("bthd,bshd->bhts", q, k) / np.float32(np.sqrt(q.shape[-1]))


def with_mask(fill):
    def masked(q, k, v, mask):
        return weighed(jnp.where(mask, scores_of(q, k), fill), v)

    return masked


def _forms():
    small = qkv(2, 17, 19, 2, 5, 3)
    yield Program("attention.small", lambda q, k, v: weighed(scores_of(q, k), v), small, 16, SUMS, 4)
    yield Program("attention.plain", plain, qkv(2, 20, 37, 3, 8), 16, SUMS, 4)
    # More queries than one work item or group has, and blocks of keys that none of them sees.
    args = qkv(1, 70, 70, 2, 4)
    yield Program("attention.causal", causal, args, 16, SUMS, 4)
    # 0 times what nobody sees is a NaN, or not.
    beyond = tuple(a.copy() for a in args)
    beyond[2][0, 66, 0, 1], beyond[2][0, 68, 1, 3] = np.inf, np.nan
    yield Program("attention.causal.special", causal, beyond, 16, SUMS, 4)
    bias = normal(30, 2, 3, 20, 37)
    by = lambda q, k, v, b: jax.nn.dot_product_attention(q, k, v, bias=b)
    yield Program("attention.bias", by, (*qkv(2, 20, 37, 3, 8), bias), 16, SUMS, 4)
    # Heads first; one matrix; queries first.
    first = lambda q, k, v: weighed(jnp.einsum("bhtd,bhsd->bhts", q, k) * 0.3, v, "bhts,bhsd->bhtd")
    heads = tuple(normal(31 + i, 2, 2, 33, 6) for i in range(3))
    yield Program("attention.heads_first", first, heads, 16, SUMS, 4)
    single = lambda q, k, v: jax.nn.softmax(q @ k.T * 0.25, -1) @ v
    yield Program("attention.single", single, tuple(normal(34 + i, 65, 16) for i in range(3)), 16, SUMS, 4)
    time = lambda q, k, v: weighed(jnp.einsum("tbhd,sbhd->bhts", q, k) * 0.3, v, "bhts,sbhd->tbhd")
    yield Program("attention.time_first", time, tuple(normal(37 + i, 18, 2, 3, 6) for i in range(3)), 16, SUMS, 4)
    # Heads that share keys; what has no kernel of its own: scores and weights that are wanted, gradients.
    q, k, v = qkv(1, 18, 18, 2, 4)
    yield Program("attention.shared_keys", plain, (normal(40, 1, 18, 4, 4), k, v), 16, SUMS, 4)
    weights = lambda q, k, v: (jax.nn.softmax(scores_of(q, k), -1), weighed(scores_of(q, k), v))
    yield Program("attention.weights_too", weights, (q, k, v), 16, SUMS, 4)
    mean = lambda q, k, v: weighed(scores_of(q, k) - scores_of(q, k).mean(-1, keepdims=True) ** 2, v)
    yield Program("attention.of_more", mean, (q, k, v), 16, SUMS, 4)
    gradient = lambda t, *a: jax.vjp(causal, *a)[1](t)
    yield Program("attention.gradient", gradient, (normal(41, 1, 18, 2, 4), q, k, v), 32, SUMS, 4)
    shared = lambda t, *a: jax.vjp(jax.nn.dot_product_attention, *a)[1](t)
    t, q = normal(43, 1, 18, 4, 4), normal(44, 1, 18, 4, 4)
    yield Program("attention.shared_gradient", shared, (t, q, k, v), 32, SUMS, 4)


def _masks():
    q, k, v = qkv(2, 20, 70, 2, 4)
    mask = normal(42, 2, 2, 20, 70) > -0.5
    mask[0, 0, 3] = False  # a row that sees nothing
    mask[1, :, :, :40] = False  # a block that nobody sees comes first
    yield Program("attention.mask", with_mask(np.float32(-1e9)), (q, k, v, mask), 16, SUMS, 4)
    yield Program("attention.mask.inf", with_mask(np.float32(-np.inf)), (q, k, v, mask), 16, SUMS, 4)
    q, k, v = q.copy(), k.copy(), v.copy()
    q[0, 0, 0, 1], q[0, 1, 1, 0], k[1, 5, 0, 2], v[1, 9, 1, 3] = np.nan, np.inf, np.inf, -np.inf
    mask[:] = True
    yield Program("attention.special", with_mask(np.float32(-1e9)), (q, k, v, mask), 16, SUMS, 4)


def _types():
    # As f32 numbers around 4: XLA rounds weights to the narrow type, by up to a part in 512 or 4096.
    wide = lambda function: lambda *a: function(*a).astype(np.float32)
    args = qkv(1, 40, 40, 2, 8, dtype=ml_dtypes.bfloat16)
    yield Program("attention.bfloat16", wide(causal), args, 1 << 15, NARROW, 4)

    def narrow(q, k, v):
        scores = jnp.einsum("bthd,bshd->bhts", q, k, preferred_element_type=np.float32) * 0.3
        return jnp.einsum("bhts,bshd->bthd", jax.nn.softmax(scores, -1).astype(v.dtype), v)

    args = qkv(1, 40, 40, 2, 8, dtype=np.float16)
    yield Program("attention.float16", wide(narrow), args, 1 << 11, NARROW, 4)
    # Scores, too, are narrow, as flax and most models in bf16 have them.
    scores = lambda q, k, v: weighed(jnp.einsum("bthd,bshd->bhts", q, k) * q.dtype.type(0.3), v)
    args = qkv(1, 40, 70, 2, 8, dtype=ml_dtypes.bfloat16)
    yield Program("attention.narrow.bfloat16", wide(scores), args, 1 << 16, NARROW, 4)
    args = qkv(1, 40, 70, 2, 8, dtype=np.float16)
    yield Program("attention.narrow.float16", wide(scores), args, 1 << 13, NARROW, 4)
    inside = lambda q, k, v: plain(*(a.astype(np.float32) for a in (q, k, v))).astype(q.dtype)
    yield Program("attention.wide", inside, qkv(1, 20, 24, 2, 8, dtype=ml_dtypes.bfloat16), 1, NARROW)
    double = lambda q, k, v: weighed(scores_of(q, k), v)
    yield Program("attention.f64", double, qkv(1, 20, 24, 2, 8, dtype=np.float64), 1 << 10, SUMS)


def cases():
    yield from _forms()
    yield from _masks()
    yield from _types()
