# SPDX-License-Identifier: Apache-2.0
"""Dynamic programming: tables that are filled row by row."""

import jax
import jax.numpy as jnp

from programs.catalogue import integers, normal, program, uniform


@program("recurrences", small=dict(pairs=1, m=20, n=24), medium=dict(pairs=64, m=128, n=128))
def edit_distance(pairs, m, n):
    """Between words of letters, by rows; the minimum along a row is a cumulative one."""

    def distance(a, b):
        places = jnp.arange(n + 1)

        def row(before, letter):
            change = before[:-1] + (b != letter)
            best = jnp.minimum(before + 1, jnp.concatenate([before[:1] + 1, change]))
            return jax.lax.cummin(best - places) + places, None

        return jax.lax.scan(row, places, a)[0][-1]

    return jax.vmap(distance), (integers(pairs, m, high=4), integers(pairs, n, high=4))


@program(
    "recurrences",
    small=dict(batch=2, length=30, states=6),
    medium=dict(batch=16, length=200, states=64),
)
def hidden_markov(batch, length, states):
    """How likely the sequences are, and what state each is in by forward and backward sums of logarithms."""

    def posterior(step, emitted):
        step = jax.nn.log_softmax(step)

        def forward(a, e):
            a = e + jax.nn.logsumexp(a[:, :, None] + step, 1)
            return a, a

        _, a = jax.lax.scan(forward, emitted[0], emitted[1:])
        return jax.nn.logsumexp(a[-1], -1), jnp.argmax(a, -1).astype(jnp.int32)

    return posterior, (normal(states, states), normal(length, batch, states))


@program("recurrences", small=dict(items=20, room=60), medium=dict(items=200, room=10000))
def knapsack(items, room):
    """The greatest worth for every size of the bag."""

    def fill(sizes, worths):
        places = jnp.arange(room + 1)

        def item(best, one):
            size, worth = one
            without = jnp.where(places >= size, best[jnp.maximum(places - size, 0)], -1e9)
            return jnp.maximum(best, without + worth), None

        return jax.lax.scan(item, jnp.zeros(room + 1), (sizes, worths))[0]

    return fill, (integers(items, low=1, high=12), uniform(items, low=1, high=5))


@program("recurrences", small=dict(nodes=16), medium=dict(nodes=128))
def shortest_paths(nodes):
    """Floyd and Warshall's, by way of each node in turn."""

    def solve(lengths):
        def by_way_of(k, d):
            return jnp.minimum(d, d[:, k][:, None] + d[k][None])

        return jax.lax.fori_loop(0, nodes, by_way_of, lengths)

    return solve, (uniform(nodes, nodes, low=1, high=10),)


@program("recurrences", small=dict(a=16, b=20), medium=dict(a=200, b=256))
def alignment(a, b):
    """Smith and Waterman's local alignment along the anti-diagonals; the best score."""

    def score(first, second):
        rows = jnp.arange(a)

        def diagonal(carry, d):
            before, last, best = carry
            column = d - rows
            inside = (column >= 0) & (column < b)
            same = first == second[jnp.clip(column, 0, b - 1)]
            up = jnp.concatenate([jnp.zeros(1), last[:-1]])
            corner = jnp.concatenate([jnp.zeros(1), before[:-1]])
            new = jnp.maximum(corner + jnp.where(same, 2.0, -1.0), jnp.maximum(up, last) - 1.5)
            new = jnp.where(inside, jnp.maximum(new, 0), 0)
            return (last, new, jnp.maximum(best, new.max())), None

        start = (jnp.zeros(a), jnp.zeros(a), jnp.zeros(()))
        return jax.lax.scan(diagonal, start, jnp.arange(a + b - 1))[0][2]

    return score, (integers(a, high=4), integers(b, high=4))
