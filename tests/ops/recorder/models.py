# SPDX-License-Identifier: Apache-2.0
"""Networks and other models as JAX lowers them: a step of training each, with labels that are numbers."""

import jax
import jax.numpy as jnp
import numpy as np

from recorder.program import CHAINED, Program, normal


def _labels(seed, count, *dims):
    return np.random.default_rng(seed).integers(0, count, dims).astype(np.int32)


def _cross_entropy(logits, labels):
    """By the place of the right class, not by a mask: a gather, whose gradient is a scatter."""
    right = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], -1)
    return -right.mean()


# ---- Images ----


def _batch_norm(x, scale, shift):
    mean, variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
    y = (x - mean) * jax.lax.rsqrt(variance + np.float32(1e-3)) * scale + shift
    return y, (mean, variance)


def _conv(x, w, stride=1):
    return jax.lax.conv_general_dilated(
        x, w, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


def _max_pool(x):
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")


def resnet_step(p, x, labels):
    """A stem with max-pool and one residual block with a strided shortcut; loss, what batch norm saw, gradients."""

    def loss(p):
        h, seen = _batch_norm(_conv(x, p["stem"]), *p["bn0"])
        h = _max_pool(jax.nn.relu(h))
        short = _conv(h, p["short"], 2)
        y, seen1 = _batch_norm(_conv(h, p["conv1"], 2), *p["bn1"])
        y, seen2 = _batch_norm(_conv(jax.nn.relu(y), p["conv2"]), *p["bn2"])
        h = jax.nn.relu(short + y).mean((1, 2))
        return _cross_entropy(h @ p["w"] + p["b"], labels), (seen, seen1, seen2)

    return jax.value_and_grad(loss, has_aux=True)(p)


def _resnet():
    ones = lambda n: (np.ones(n, np.float32), np.zeros(n, np.float32))
    p = {
        "stem": normal(1, 3, 3, 3, 4) / 4,
        "short": normal(2, 1, 1, 4, 6) / 2,
        "conv1": normal(3, 3, 3, 4, 6) / 6,
        "conv2": normal(4, 3, 3, 6, 6) / 7,
        "w": normal(5, 6, 10) / 2,
        "b": np.zeros(10, np.float32),
        "bn0": ones(4),
        "bn1": ones(6),
        "bn2": ones(6),
    }
    return p, normal(6, 3, 9, 9, 3), _labels(7, 10, 3)


# ---- Text ----


def _layer_norm(x, scale):
    x = x - x.mean(-1, keepdims=True)
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + np.float32(1e-5)) * scale


def transformer_step(p, tokens):
    """The next token from those before: one block of two heads, with the embedding as its last layer too."""

    def loss(p):
        x = p["embedding"][tokens[:, :-1]] + p["place"]
        batch, length, width = x.shape
        h = _layer_norm(x, p["n1"])
        q, k, v = jnp.einsum("btw,wchd->cbhtd", h, p["qkv"])
        scores = jnp.einsum("bhtd,bhsd->bhts", q, k) / np.float32(np.sqrt(q.shape[-1]))
        scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -jnp.inf)
        h = jnp.einsum("bhts,bhsd->bthd", jax.nn.softmax(scores), v)
        x = x + h.reshape(batch, length, width) @ p["out"]
        x = x + jax.nn.gelu(_layer_norm(x, p["n2"]) @ p["up"]) @ p["down"]
        return _cross_entropy(x @ p["embedding"].T, tokens[:, 1:])

    return jax.value_and_grad(loss)(p)


def _transformer():
    p = {
        "embedding": normal(11, 13, 8),
        "place": normal(12, 6, 8),
        "n1": np.ones(8, np.float32),
        "n2": np.ones(8, np.float32),
        "qkv": normal(13, 8, 3, 2, 4) / 3,
        "out": normal(14, 8, 8) / 3,
        "up": normal(15, 8, 16) / 3,
        "down": normal(16, 16, 8) / 4,
    }
    return p, _labels(17, 13, 2, 7)


def embedding_step(table, words, near, far):
    """Words like those near them and unlike others, drawn at random: a step of skip-grams with negative samples.
    Some words are there many times, and each adds to its row."""

    def loss(table):
        word = table[words]
        alike = (word * table[near]).sum(-1)
        unlike = jnp.einsum("nd,nkd->nk", word, table[far])
        return -jax.nn.log_sigmoid(alike).mean() - jax.nn.log_sigmoid(-unlike).mean()

    value, slope = jax.value_and_grad(loss)(table)
    return value, table - np.float32(0.5) * slope, jnp.bincount(words, length=table.shape[0])


def lstm_step(p, x, labels):
    """A class for each sequence, and the gradients back through time."""

    def loss(p):
        def step(carry, row):
            h, c = carry
            i, f, g, o = jnp.split(row @ p["wx"] + h @ p["wh"] + p["b"], 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None

        zeros = jnp.zeros((x.shape[1], p["wh"].shape[0]), np.float32)
        (h, _), _ = jax.lax.scan(step, (zeros, zeros), x)
        return _cross_entropy(h @ p["w"], labels)

    return jax.value_and_grad(loss)(p)


def _lstm():
    p = {
        "wx": normal(21, 5, 28) / 2,
        "wh": normal(22, 7, 28) / 3,
        "b": normal(23, 28),
        "w": normal(24, 7, 4) / 2,
    }
    return p, normal(25, 6, 3, 5), _labels(26, 4, 3)


def experts_step(p, x, target):
    """Each token goes to the two experts that the router likes best: sorted by expert, products of groups of rows
    (ragged dots), and put back in their places."""
    count = p["up"].shape[0]

    def loss(p):
        weight, expert = jax.lax.top_k(jax.nn.softmax(x @ p["router"]), 2)
        weight = weight / weight.sum(-1, keepdims=True)
        order = jnp.argsort(expert.reshape(-1))
        sizes = jnp.bincount(expert.reshape(-1), length=count).astype(np.int32)
        h = jax.nn.silu(jax.lax.ragged_dot(x[order // 2], p["up"], sizes))
        h = jax.lax.ragged_dot(h, p["down"], sizes)
        y = jnp.zeros_like(x).at[order // 2].add(h * weight.reshape(-1)[order, None])
        return ((y - target) ** 2).mean(), sizes

    return jax.value_and_grad(loss, has_aux=True)(p)


def _experts():
    p = {
        "router": normal(31, 6, 4),
        "up": normal(32, 4, 6, 10) / 3,
        "down": normal(33, 4, 10, 6) / 3,
    }
    return p, normal(34, 11, 6), normal(35, 11, 6)


# ---- Neighbours ----


def nearest(points, labels, queries):
    """The five nearest points of each query by a sort of all distances, and the label that most of them have."""
    distance = ((queries[:, None] - points) ** 2).sum(-1)
    numbers = jnp.broadcast_to(jnp.arange(points.shape[0], dtype=np.int32), distance.shape)
    distance, near = jax.lax.sort((distance, numbers), num_keys=1)
    votes = jax.nn.one_hot(labels[near[:, :5]], 4, dtype=np.int32).sum(1)
    return distance[:, :5], near[:, :5], jnp.argmax(votes, -1).astype(np.int32)


def cases():
    yield Program("resnet", resnet_step, _resnet(), 4, CHAINED, 8)
    yield Program("transformer", transformer_step, _transformer(), 4, CHAINED, 8)
    words = [_labels(41, 9, 24), _labels(42, 30, 24), _labels(43, 30, 24, 3)]
    yield Program("embedding", embedding_step, (normal(44, 30, 6), *words), 4, CHAINED, 4)
    yield Program("lstm", lstm_step, _lstm(), 4, CHAINED, 8)
    # For CPUs JAX writes ragged dots as masked ones, which is how the results come about; the text has them.
    yield Program("experts", experts_step, _experts(), 4, CHAINED, 8, platform="tpu")
    points = (normal(51, 70, 3), _labels(52, 4, 70), normal(53, 9, 3))
    yield Program("nearest", nearest, points, 4, CHAINED, 8)
