# SPDX-License-Identifier: Apache-2.0
"""Many small arrays at a time as JAX lowers them: optimisers over lists of parameters of all sizes."""

import jax
import jax.numpy as jnp
import numpy as np

from recorder import program
from recorder.program import Program

SHAPES = [(8, 8), (8,), (3, 5), (16,), (7,), (64, 20), (1,), (), (0, 4), (2, 3, 50), (33, 31), (8,), (1024,)]
ROUNDED = "square roots and quotients of sums in another order"


def normal(seed, *dims, dtype=np.float32):
    """Of few digits, so that they take little room."""
    return (np.round(program.normal(seed, *dims) * 32) / 32).astype(dtype)


def _adam(clipped):
    def step(params, means, squares, gradients, count):
        count = count + 1
        scale = 1.0
        if clipped:
            scale = jnp.minimum(1, 20 / jnp.sqrt(sum(jnp.sum(g * g) for g in gradients)))
        first, second = 1 - jnp.float32(0.9) ** count, 1 - jnp.float32(0.999) ** count
        out = []
        for p, m, s, g in zip(params, means, squares, gradients):
            m = 0.9 * m + 0.1 * (g * scale)
            s = 0.999 * s + 0.001 * (g * scale) ** 2
            out.append((p - 0.01 * (m / first) / (jnp.sqrt(s / second) + 1e-8), m, s))
        return out, count

    return step


def _lists(shapes, dtype=np.float32):
    lists = [[normal(17 * k + i, *s, dtype=dtype) for i, s in enumerate(shapes)] for k in range(4)]
    lists[2] = [np.abs(a) for a in lists[2]]
    return lists


def _momentum_rounds(params, gradients):
    """Rounds of momentum, whose state is written in place."""

    def one(state, _):
        out = [(p - 0.125 * (0.5 * v + g), 0.5 * v + g) for (p, v), g in zip(state, gradients)]
        return out, sum(jnp.sum(p) for p, _ in out)

    return jax.lax.scan(one, [(p, jnp.zeros_like(p)) for p in params], None, 5)


def _rows(xs, ys):
    """Sums along both dimensions, and what is done with them."""
    out = []
    for x, y in zip(xs, ys):
        rows, columns = jnp.sum(x, 1), jnp.max(x, 0)
        out.append((x - rows[:, None], x * columns + y, rows * 2, jnp.transpose(x)))
    return out


def _each(xs):
    """A kernel of its own for each."""
    functions = [jnp.sin, jnp.negative, jnp.square, jnp.cumsum, jnp.abs, lambda x: x[::-1]]
    return [f(x.reshape(-1)) for f, x in zip(functions, xs)]


def _in_turn(xs):
    """Each needs all before it."""
    total, out = jnp.float32(0), []
    for x in xs:
        total = total + jnp.sum(x)
        out.append(x + total)
        out.append(jnp.sum(x * total))
    return out


def _fields(e, h):
    """Parts of arrays are added to where they lie, in rounds; one is read beside its place."""

    def round_(k, fields):
        e, h = fields
        h = h.at[:-1].add(0.5 * (e[1:] - e[:-1]))
        h = h.at[:, 1:].add(-h[:, 1:])
        e = e.at[1:, :-2].add(h[1:, 2:] - h[:-1, 2:])
        e = jax.lax.dynamic_update_slice(e, 0.5 * jax.lax.dynamic_slice(e, (k, 0), (3, 40)), (k, 0))
        return e.at[1:].set(e[:-1]), h

    return jax.lax.fori_loop(0, 6, round_, (e, h))


def _subsets(costs):
    """The least cost of sets by their last member: a table that each round writes a few elements of."""
    n = costs.shape[0]

    def round_(s, table):
        best = (table[s][:, None] + costs).min(0)
        more = s | (1 << jnp.arange(n))
        before = table[more, jnp.arange(n)]
        free = s >> jnp.arange(n) & 1 == 0
        return table.at[more, jnp.arange(n)].set(
            jnp.where(free, jnp.minimum(before, best), before)
        )

    return jax.lax.fori_loop(1, 1 << n, round_, jnp.full((1 << n, n), 1e3).at[1, 0].set(0))


def cases():
    for name, clipped in (("adam", False), ("adam_clipped", True)):
        lists = _lists(SHAPES)
        yield Program(f"arrays.{name}", _adam(clipped), (*lists, np.float32(3)), 4, ROUNDED, 8)
    shapes = [(40, 30), (30,), (5,), (1200,)]
    yield Program("arrays.momentum", _momentum_rounds, tuple(_lists(shapes)[:2]), 8, ROUNDED, 16)
    shapes = [(4, 33), (65, 20), (4, 33), (1, 7)]
    lists = _lists(shapes)
    yield Program("arrays.rows", _rows, (lists[0], [y[0] for y in lists[1]]), 4, ROUNDED, 16)
    yield Program("arrays.each", _each, (_lists(SHAPES)[0][:6],), 4, ROUNDED, 16)
    yield Program("arrays.in_turn", _in_turn, (_lists(SHAPES)[0],), 8, ROUNDED, 64)
    yield Program("arrays.fields", _fields, (normal(1, 24, 40), normal(2, 24, 40)), 4, ROUNDED, 4)
    yield Program("arrays.subsets", _subsets, (np.abs(normal(3, 6, 6)),), 0)
