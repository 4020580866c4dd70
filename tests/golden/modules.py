# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/modules/*.hlo: programs as JAX lowers them, whose kernels test_modules.c counts.

    python tests/golden/modules.py      (with the packages of tests/ops/requirements.txt)
"""

import os

import jax
import jax.numpy as jnp

F32 = jnp.float32


def spec(*dims, dtype=F32):
    return jax.ShapeDtypeStruct(dims, dtype)


def norm(x, scale, bias):
    mean = x.mean(-1, keepdims=True)
    var = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(var + 1e-5) * scale + bias


def attention(x, wq, wk, wv, wo, heads):
    b, t, d = x.shape
    q, k, v = ((x @ w).reshape(b, t, heads, d // heads) for w in (wq, wk, wv))
    scores = jnp.einsum("bthd,bshd->bhts", q, k) / jnp.sqrt(d / heads).astype(x.dtype)
    scores = jnp.where(jnp.tril(jnp.ones((t, t), bool)), scores, -1e30)
    mixed = jnp.einsum("bhts,bshd->bthd", jax.nn.softmax(scores), v)
    return mixed.reshape(b, t, d) @ wo


def transformer(x, p):
    x = x + attention(norm(x, p["s1"], p["b1"]), p["wq"], p["wk"], p["wv"], p["wo"], 4)
    return x + jax.nn.gelu(norm(x, p["s2"], p["b2"]) @ p["w1"]) @ p["w2"]


def transformer_loss(p, x, y):
    return ((transformer(x, p) - y) ** 2).mean()


TRANSFORMER = {
    **{name: spec(64, 64) for name in ("wq", "wk", "wv", "wo")},
    **{name: spec(64) for name in ("s1", "b1", "s2", "b2")},
    "w1": spec(64, 256),
    "w2": spec(256, 64),
}


def lstm(x, wx, wh, b):
    def step(state, xt):
        h, c = state
        i, f, g, o = jnp.split(xt @ wx + h @ wh + b, 4, axis=-1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    zero = jnp.zeros((x.shape[1], wh.shape[0]))
    return jax.lax.scan(step, (zero, zero), x)[1]


def adam(p, g, m, v, t):
    def one(p, g, m, v):
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g * g
        scale = 0.001 * jnp.sqrt(1 - 0.999**t) / (1 - 0.9**t)
        return p - scale * m / (jnp.sqrt(v) + 1e-8), m, v

    return [one(*leaf) for leaf in zip(p, g, m, v)]


def mlp_step(params, x, y):
    def loss(params):
        for w, b in params[:-1]:
            x_ = jnp.tanh((x if w is params[0][0] else x_) @ w + b)
        logits = x_ @ params[-1][0] + params[-1][1]
        return -(jax.nn.log_softmax(logits) * y).sum(-1).mean()

    grads = jax.grad(loss)(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)


def rk4(y, rho):
    def f(y):
        a, b, c = y
        return jnp.stack([10.0 * (b - a), a * (rho - c) - b, a * b - 8.0 / 3.0 * c])

    def step(y, _):
        k1 = f(y)
        k2 = f(y + 0.005 * k1)
        k3 = f(y + 0.005 * k2)
        k4 = f(y + 0.01 * k3)
        return y + 0.01 / 6 * (k1 + 2 * k2 + 2 * k3 + k4), None

    return jax.lax.scan(step, y, None, length=100)[0]


LEAVES = [spec(*dims) for dims in [(64, 64), (64,), (64, 128), (128,), (32, 3, 3), (7,)] * 4]
LAYERS = [(spec(64, 128), spec(128)), (spec(128, 128), spec(128)), (spec(128, 10), spec(10))]
PROGRAMS = {
    "transformer": (transformer, (spec(2, 16, 64), TRANSFORMER)),
    "transformer_grad": (
        jax.grad(transformer_loss),
        (TRANSFORMER, spec(2, 16, 64), spec(2, 16, 64)),
    ),
    "lstm": (lstm, (spec(12, 8, 32), spec(32, 128), spec(32, 128), spec(128))),
    "adam": (adam, (LEAVES, LEAVES, LEAVES, LEAVES, spec())),
    "mlp_step": (mlp_step, (LAYERS, spec(32, 64), spec(32, 10))),
    "rk4": (rk4, (spec(3), spec())),
}

if __name__ == "__main__":
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "modules")
    os.makedirs(folder, exist_ok=True)
    for name, (function, arguments) in PROGRAMS.items():
        text = jax.jit(function).lower(*arguments).as_text(dialect="hlo")
        with open(os.path.join(folder, name + ".hlo"), "w") as file:
            file.write(text.rstrip("\n") + "\n")
