# SPDX-License-Identifier: Apache-2.0
"""Inference: what a trained network says, token by token with caches, or for images."""

import jax
import jax.numpy as jnp
import numpy as np

from programs.catalogue import integers, normal, ones, program, uniform, weights


def rms_norm(x, scale):
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) * scale


def rotate(x, place):
    """Rotary positions of the vectors of one token, [batch, heads, size]."""
    half = x.shape[-1] // 2
    angle = place * 10000.0 ** (-jnp.arange(half) / half)
    a, b = x[..., :half], x[..., half:]
    return jnp.concatenate(
        [a * jnp.cos(angle) - b * jnp.sin(angle), a * jnp.sin(angle) + b * jnp.cos(angle)], -1
    )


def decode(p, caches, token, place, heads):
    """Logits of the token behind `token`, which stands at `place`, and the longer caches."""
    x = p["embedding"][token]
    batch, width = x.shape
    new = []
    for block, (keys, values) in zip(p["blocks"], caches):
        q, k, v = jnp.split(rms_norm(x, block["norm1"]) @ block["qkv"], 3, -1)
        by_head = lambda a: a.reshape(batch, heads, width // heads)
        q, k, v = rotate(by_head(q), place), rotate(by_head(k), place), by_head(v)
        keys = jax.lax.dynamic_update_slice(keys, k[:, :, None], (0, 0, place, 0))
        values = jax.lax.dynamic_update_slice(values, v[:, :, None], (0, 0, place, 0))
        scores = jnp.einsum("bhd,bhtd->bht", q, keys) / np.sqrt(width // heads)
        scores = jnp.where(jnp.arange(keys.shape[2]) <= place, scores, -jnp.inf)
        h = jnp.einsum("bht,bhtd->bhd", jax.nn.softmax(scores), values)
        x = x + h.reshape(batch, width) @ block["out"]
        gate, up = jnp.split(rms_norm(x, block["norm2"]) @ block["up"], 2, -1)
        x = x + (jax.nn.silu(gate) * up) @ block["down"]
        new.append((keys, values))
    return rms_norm(x, p["norm"]) @ p["head"], new


def decoder(width, layers, words):
    block = {
        "norm1": ones(width),
        "norm2": ones(width),
        "qkv": weights(width, 3 * width),
        "out": weights(width, width),
        "up": weights(width, 4 * width),
        "down": weights(2 * width, width),
    }
    return {
        "embedding": normal(words, width),
        "blocks": [block] * layers,
        "norm": ones(width),
        "head": weights(width, words),
    }


def cache(batch, heads, length, width, layers):
    one = normal(batch, heads, length, width // heads)
    return [(one, one)] * layers


@program(
    "inference",
    small=dict(batch=1, length=16, width=16, heads=2, layers=1, words=50),
    medium=dict(batch=4, length=128, width=256, heads=4, layers=2, words=2000),
    large=dict(batch=8, length=1024, width=768, heads=12, layers=2, words=16000),
)
def next_token(batch, length, width, heads, layers, words):
    """One step with a key-value cache, and the five likeliest tokens."""

    def step(p, caches, token, place):
        logits, caches = decode(p, caches, token, place, heads)
        return jax.lax.top_k(jax.nn.log_softmax(logits), 5), caches

    p = decoder(width, layers, words)
    tokens, place = integers(batch, high=words), integers(low=length // 2, high=length // 2 + 1)
    return step, (p, cache(batch, heads, length, width, layers), tokens, place)


@program(
    "inference",
    small=dict(batch=1, tokens=8, length=16, width=16, heads=2, layers=1, words=50),
    medium=dict(batch=2, tokens=24, length=64, width=128, heads=4, layers=2, words=1000),
)
def greedy_text(batch, tokens, length, width, heads, layers, words):
    """Tokens one after another, each the likeliest."""

    def generate(p, caches, first):
        def step(carry, place):
            token, caches = carry
            logits, caches = decode(p, caches, token, place, heads)
            token = jnp.argmax(logits, -1).astype(jnp.int32)
            return (token, caches), token

        return jax.lax.scan(step, (first, caches), jnp.arange(tokens))[1]

    p = decoder(width, layers, words)
    caches = cache(batch, heads, length, width, layers)
    return generate, (p, caches, integers(batch, high=words))


@program(
    "inference",
    small=dict(batch=1, side=16, width=8),
    large=dict(batch=8, side=112, width=64),
)
def separable_convs(batch, side, width):
    """Blocks of depthwise and pointwise convolutions, with statistics that no longer change."""

    def convolve(x, w, stride=1, groups=1):
        return jax.lax.conv_general_dilated(
            x,
            w,
            (stride, stride),
            "SAME",
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
            feature_group_count=groups,
        )

    def classify(p, x):
        x = jax.nn.relu6(convolve(x, p["stem"], 2))
        for block in p["blocks"]:
            h = jax.nn.relu6(convolve(x, block["widen"]) * block["scale"] + block["shift"])
            h = jax.nn.relu6(convolve(h, block["depth"], groups=h.shape[-1]))
            x = x + convolve(h, block["narrow"])
        return jax.nn.softmax(x.mean((1, 2)) @ p["head"])

    block = {
        "widen": weights(1, 1, width, 4 * width),
        "scale": ones(4 * width),
        "shift": uniform(4 * width),
        "depth": uniform(3, 3, 1, 4 * width, low=-0.5, high=0.5),
        "narrow": weights(1, 1, 4 * width, width),
    }
    p = {"stem": weights(3, 3, 3, width), "blocks": [block] * 2, "head": weights(width, 20)}
    return classify, (p, normal(batch, side, side, 3))
