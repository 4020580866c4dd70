# SPDX-License-Identifier: Apache-2.0
"""Training steps: loss, gradients and what the optimiser makes of them."""

import jax
import jax.numpy as jnp
import numpy as np

from programs.catalogue import integers, normal, ones, program, uniform, weights, zeros


def cross_entropy(logits, labels):
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], -1).mean()


def adam(parameters, slopes, first, second, count, rate=1e-3):
    count = count + 1
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, slopes)
    second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, slopes)
    down1, down2 = 1 - 0.9**count, 1 - 0.999**count
    parameters = jax.tree.map(
        lambda p, m, v: p - rate * (m / down1) / (jnp.sqrt(v / down2) + 1e-8),
        parameters,
        first,
        second,
    )
    return parameters, first, second, count


def moments(parameters):
    """Adam's two moments of each parameter, and the count of steps."""
    same = lambda p: zeros(*p.shape)
    positive = lambda p: uniform(*p.shape, low=0, high=1e-4)
    return jax.tree.map(same, parameters), jax.tree.map(positive, parameters), ones()


@program(
    "training",
    small=dict(batch=16, widths=(12, 24, 24, 5)),
    medium=dict(batch=128, widths=(784, 256, 128, 10)),
    large=dict(batch=512, widths=(1024, 2048, 2048, 100)),
)
def mlp_adam(batch, widths):
    def step(parameters, first, second, count, x, labels):
        def loss(parameters):
            h = x
            for w, b in parameters[:-1]:
                h = jax.nn.gelu(h @ w + b)
            w, b = parameters[-1]
            return cross_entropy(h @ w + b, labels)

        value, slopes = jax.value_and_grad(loss)(parameters)
        return value, adam(parameters, slopes, first, second, count)

    parameters = [(weights(m, n), zeros(n)) for m, n in zip(widths, widths[1:])]
    data = (normal(batch, widths[0]), integers(batch, high=widths[-1]))
    return step, (parameters, *moments(parameters), *data)


def layer_norm(x, scale, shift):
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) / jnp.sqrt(variance + 1e-5) * scale + shift


def block_parameters(width, heads):
    return {
        "norm1": (ones(width), zeros(width)),
        "norm2": (ones(width), zeros(width)),
        "qkv": weights(width, 3 * width),
        "out": weights(width, width),
        "up": weights(width, 4 * width),
        "down": weights(4 * width, width),
    }


def attention(p, x, heads):
    batch, length, width = x.shape
    q, k, v = jnp.split(x @ p["qkv"], 3, -1)
    by_head = lambda a: a.reshape(batch, length, heads, width // heads).transpose(0, 2, 1, 3)
    q, k, v = by_head(q), by_head(k), by_head(v)
    scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(width // heads)
    past = jnp.arange(length)[:, None] >= jnp.arange(length)[None]
    share = jax.nn.softmax(jnp.where(past, scores, -1e9), -1)
    return (share @ v).transpose(0, 2, 1, 3).reshape(batch, length, width) @ p["out"]


@program(
    "training",
    small=dict(batch=2, length=12, width=16, heads=2, layers=1, words=40),
    medium=dict(batch=4, length=64, width=128, heads=4, layers=1, words=1000),
    large=dict(batch=4, length=256, width=384, heads=6, layers=1, words=8000),
)
def language_model(batch, length, width, heads, layers, words):
    """Decoder blocks, the next token, plain gradient descent with clipped gradients."""

    def step(p, tokens):
        def loss(p):
            x = p["embedding"][tokens[:, :-1]] + p["position"]
            for block in p["blocks"]:
                x = x + attention(block, layer_norm(x, *block["norm1"]), heads)
                h = jax.nn.gelu(layer_norm(x, *block["norm2"]) @ block["up"])
                x = x + h @ block["down"]
            return cross_entropy(layer_norm(x, *p["norm"]) @ p["embedding"].T, tokens[:, 1:])

        value, slopes = jax.value_and_grad(loss)(p)
        size = jnp.sqrt(sum((g * g).sum() for g in jax.tree.leaves(slopes)))
        scale = 0.1 * jnp.minimum(1, 1 / (size + 1e-6))
        return value, size, jax.tree.map(lambda a, g: a - scale * g, p, slopes)

    p = {
        "embedding": uniform(words, width, low=-0.05, high=0.05),
        "position": uniform(length, width, low=-0.05, high=0.05),
        "blocks": [block_parameters(width, heads) for _ in range(layers)],
        "norm": (ones(width), zeros(width)),
    }
    return step, (p, integers(batch, length + 1, high=words))


@program(
    "training",
    small=dict(batch=4, side=12, channels=(1, 4, 8)),
    medium=dict(batch=32, side=32, channels=(3, 16, 32)),
    large=dict(batch=64, side=64, channels=(3, 32, 64)),
)
def image_classifier(batch, side, channels):
    """Convolutions, batch norm, average pooling and momentum."""

    def convolve(x, w):
        return jax.lax.conv_general_dilated(
            x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )

    def step(p, speed, x, labels):
        def loss(p):
            h = x
            for layer in p["layers"]:
                h = convolve(h, layer["w"])
                mean, variance = h.mean((0, 1, 2)), h.var((0, 1, 2))
                h = (h - mean) / jnp.sqrt(variance + 1e-3) * layer["scale"] + layer["shift"]
                n, rows, columns, c = jax.nn.relu(h).shape
                h = jax.nn.relu(h).reshape(n, rows // 2, 2, columns // 2, 2, c).mean((2, 4))
            return cross_entropy(h.mean((1, 2)) @ p["head"], labels)

        value, slopes = jax.value_and_grad(loss)(p)
        speed = jax.tree.map(lambda s, g: 0.9 * s + g, speed, slopes)
        return value, jax.tree.map(lambda a, s: a - 0.01 * s, p, speed), speed

    layers = [
        {"w": weights(3, 3, m, n), "scale": ones(n), "shift": zeros(n)}
        for m, n in zip(channels, channels[1:])
    ]
    p = {"layers": layers, "head": weights(channels[-1], 10)}
    speed = jax.tree.map(lambda a: zeros(*a.shape), p)
    return step, (p, speed, normal(batch, side, side, channels[0]), integers(batch))


@program(
    "training",
    small=dict(batch=3, length=10, features=4, width=8),
    medium=dict(batch=32, length=50, features=16, width=64),
    large=dict(batch=64, length=64, features=64, width=256),
)
def gru_forecast(batch, length, features, width):
    """A recurrent network that foretells the next values of a series, back through time."""

    def forecasts(p, series):
        def cell(h, x):
            z, r = jnp.split(jax.nn.sigmoid(x @ p["xg"] + h @ p["hg"] + p["bg"]), 2, -1)
            new = jnp.tanh(x @ p["xn"] + (r * h) @ p["hn"] + p["bn"])
            h = (1 - z) * h + z * new
            return h, h @ p["out"]

        return jax.lax.scan(cell, jnp.zeros((batch, width)), series[:-1])[1]

    def step(p, series):
        def loss(p):
            return ((forecasts(p, series) - series[1:]) ** 2).mean()

        value, slopes = jax.value_and_grad(loss)(p)
        return value, jax.tree.map(lambda a, g: a - 0.05 * g, p, slopes)

    p = {
        "xg": weights(features, 2 * width),
        "hg": weights(width, 2 * width),
        "bg": zeros(2 * width),
        "xn": weights(features, width),
        "hn": weights(width, width),
        "bn": zeros(width),
        "out": weights(width, features),
    }
    return step, (p, normal(length + 1, batch, features))
