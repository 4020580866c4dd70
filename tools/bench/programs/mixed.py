# SPDX-License-Identifier: Apache-2.0
"""Programs of several element types: short floats, quantised numbers, complex ones, bytes and bits."""

import jax
import jax.numpy as jnp
import numpy as np

from programs.catalogue import integers, normal, program, uniform, weights, words, zeros


@program("mixed", small=dict(batch=8, width=16), large=dict(batch=256, width=1024))
def bfloat_training(batch, width):
    """Products in bf16, parameters and sums in f32, the loss scaled and steps that overflow left out."""

    def step(p, x, y, scale):
        def loss(p):
            h = x.astype(jnp.bfloat16)
            for w in p[:-1]:
                h = jax.nn.silu(h @ w.astype(jnp.bfloat16))
            out = (h @ p[-1].astype(jnp.bfloat16)).astype(jnp.float32)
            return ((out - y) ** 2).mean() * scale

        value, slopes = jax.value_and_grad(loss)(p)
        slopes = jax.tree.map(lambda g: g / scale, slopes)
        fine = jnp.all(jnp.array([jnp.isfinite(g).all() for g in slopes]))
        p = jax.tree.map(lambda a, g: jnp.where(fine, a - 0.01 * g, a), p, slopes)
        return value / scale, p, jnp.where(fine, scale * 1.1, scale / 2)

    p = [weights(width, width), weights(width, width), weights(width, 4)]
    data = (normal(batch, width), normal(batch, 4), uniform(low=100, high=1000))
    return step, (p, *data)


@program("mixed", small=dict(batch=4, width=32), large=dict(batch=128, width=2048))
def quantised_layers(batch, width):
    """Two layers of int8 weights; inputs are quantised by row, sums are int32."""

    def quantise(x):
        scale = jnp.abs(x).max(-1, keepdims=True) / 127 + 1e-9
        return jnp.round(x / scale).astype(jnp.int8), scale

    def layer(x, w, scale):
        q, size = quantise(x)
        total = jax.lax.dot(q, w, preferred_element_type=jnp.int32)
        return total.astype(jnp.float32) * size * scale

    def forward(x, w1, s1, w2, s2):
        h = jax.nn.relu(layer(x, w1, s1))
        return jax.nn.softmax(layer(h, w2, s2).astype(jnp.float16).astype(jnp.float32))

    level = lambda: integers(width, width, low=-127, high=128, dtype=np.int8)
    scale = lambda: uniform(width, low=0.0005, high=0.002)
    return forward, (normal(batch, width), level(), scale(), level(), scale())


@program("mixed", small=dict(side=16, rounds=30), medium=dict(side=128, rounds=100))
def julia_set(side, rounds):
    """How long complex numbers stay small; a while loop that ends when all have left."""

    def draw(c):
        line = jnp.linspace(-1.5, 1.5, side)
        z = jax.lax.complex(*jnp.meshgrid(line, line))

        def unfinished(state):
            _, count, k = state
            return (k < rounds) & (count == k).any()

        def step(state):
            z, count, k = state
            inside = (z.real**2 + z.imag**2 <= 4) & (count == k)
            return jnp.where(inside, z * z + c, z), count + inside.astype(jnp.int32), k + 1

        start = (z, jnp.zeros((side, side), jnp.int32), 0)
        _, count, k = jax.lax.while_loop(unfinished, step, start)
        return (255 * count // rounds).astype(jnp.uint8), k

    return draw, (uniform(low=-0.8, high=-0.7, dtype=np.complex64),)


@program("mixed", small=dict(images=1, side=16), large=dict(images=16, side=512))
def image_pipeline(images, side):
    """Bytes to half floats: contrast, a smaller picture, turned and cut, and bytes again."""

    def prepare(pictures, turned):
        x = pictures.astype(jnp.float16) / np.float16(255)
        grey = x.mean((1, 2), keepdims=True, dtype=jnp.float32).astype(jnp.float16)
        x = jnp.clip((x - grey) * np.float16(1.5) + grey, 0, 1)
        x = jax.image.resize(x, (images, side // 2, side // 2, 3), "bilinear")
        x = jnp.where(turned[:, None, None, None] > 4, x[:, :, ::-1], x)
        x = x[:, side // 16 : side // 16 + side // 4, side // 16 : side // 16 + side // 4]
        return jnp.round(x * 255).astype(jnp.uint8), x.astype(jnp.bfloat16)

    return prepare, (integers(images, side, side, 3, high=256, dtype=np.uint8), integers(images))


@program("mixed", small=dict(rows=20, bits=64), medium=dict(rows=1000, bits=256))
def fingerprints(rows, bits):
    """Signs of random projections packed into words, and the nearest by differing bits."""

    def search(vectors, planes, query):
        def pack(x):
            sign = (x @ planes > 0).astype(jnp.uint32).reshape(*x.shape[:-1], bits // 32, 32)
            return (sign << jnp.arange(32, dtype=jnp.uint32)).sum(-1, dtype=jnp.uint32)

        apart = jax.lax.population_count(pack(vectors)[None] ^ pack(query)[:, None])
        apart = apart.sum(-1, dtype=jnp.int32)
        distance, near = jax.lax.top_k(-apart, 5)
        return -distance, near, apart.astype(jnp.int16).max()

    vectors = (normal(rows, 24), normal(24, bits), normal(rows // 4, 24))
    return search, vectors
