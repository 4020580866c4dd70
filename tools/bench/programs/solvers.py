# SPDX-License-Identifier: Apache-2.0
"""Solvers that go on until the answer is good enough."""

import jax
import jax.numpy as jnp

from programs.catalogue import integers, normal, program, uniform


@program("solvers", small=dict(side=12), medium=dict(side=64), large=dict(side=512, rounds=60))
def conjugate_gradients(side, rounds=200):
    """Poisson's equation on a square, without writing the matrix down."""

    def laplace(x):
        x = jnp.pad(x, 1)
        return 4 * x[1:-1, 1:-1] - x[:-2, 1:-1] - x[2:, 1:-1] - x[1:-1, :-2] - x[1:-1, 2:]

    def solve(b):
        def unfinished(state):
            _, _, _, square, k = state
            return (square > 1e-6 * limit) & (k < rounds)

        def step(state):
            x, r, p, square, k = state
            q = laplace(p)
            alpha = square / jnp.vdot(p, q)
            x, r = x + alpha * p, r - alpha * q
            new = jnp.vdot(r, r)
            return x, r, r + new / square * p, new, k + 1

        limit = jnp.vdot(b, b)
        x, _, _, square, k = jax.lax.while_loop(
            unfinished, step, (jnp.zeros_like(b), b, b, limit, 0)
        )
        return x, square, k

    return solve, (normal(side, side),)


@program("solvers", medium=dict(m=200, n=300, rounds=50), large=dict(m=1500, n=2000, rounds=20))
def optimal_transport(m, n, rounds):
    """Sinkhorn's algorithm in logarithms, and what the transport costs."""

    def solve(a, b):
        cost = ((a[:, None] - b[None]) ** 2).sum(-1)
        scaled = -cost / 0.5

        def step(_, fg):
            _, g = fg
            f = -jax.nn.logsumexp(scaled + g[None], 1) - jnp.log(m)
            g = -jax.nn.logsumexp(scaled + f[:, None], 0) - jnp.log(n)
            return f, g

        f, g = jax.lax.fori_loop(0, rounds, step, (jnp.zeros(m), jnp.zeros(n)))
        plan = jnp.exp(scaled + f[:, None] + g[None])
        return (plan * cost).sum(), f, g

    return solve, (normal(m, 2), normal(n, 2))


@program("solvers", small=dict(count=50), large=dict(count=1000000))
def kepler(count):
    """The eccentric anomaly for many orbits by Newton's method until all are found."""

    def solve(mean, eccentricity):
        def unfinished(state):
            _, change, k = state
            return (jnp.abs(change).max() > 1e-5) & (k < 30)

        def step(state):
            e, _, k = state
            change = (e - eccentricity * jnp.sin(e) - mean) / (1 - eccentricity * jnp.cos(e))
            return e - change, change, k + 1

        return jax.lax.while_loop(unfinished, step, (mean, jnp.ones_like(mean), 0))

    return solve, (uniform(count, low=0, high=3), uniform(count, low=0, high=0.8))


@program(
    "solvers",
    small=dict(samples=60, features=5),
    large=dict(samples=50000, features=256, rounds=30),
)
def lasso(samples, features, rounds=100):
    """Sparse regression: proximal gradients with momentum, the step size by power iteration before."""

    def solve(x, y):
        def power(_, v):
            v = x.T @ (x @ v)
            return v / jnp.linalg.norm(v)

        v = jax.lax.fori_loop(0, 10, power, jnp.ones(features))
        size = samples / jnp.vdot(x @ v, x @ v)

        def unfinished(state):
            _, _, _, change, k = state
            return (change > 1e-5) & (k < rounds)

        def step(state):
            w, z, t, _, k = state
            new = z - size * (x.T @ (x @ z - y)) / samples
            new = jnp.sign(new) * jnp.maximum(jnp.abs(new) - size * 0.01, 0)
            t_new = (1 + jnp.sqrt(1 + 4 * t * t)) / 2
            z = new + (t - 1) / t_new * (new - w)
            return new, z, t_new, jnp.abs(new - w).max(), k + 1

        start = jnp.zeros(features)
        w, _, _, change, k = jax.lax.while_loop(unfinished, step, (start, start, 1.0, 1.0, 0))
        return w, change, k

    return solve, (normal(samples, features), normal(samples))


@program("solvers", small=dict(pages=40, links=160), large=dict(pages=200000, links=2000000))
def page_rank(pages, links):
    """The rank of pages by following links, kept as two lists of ends."""

    def solve(source, target):
        degree = jnp.zeros(pages).at[source].add(1.0)

        def unfinished(state):
            _, change, k = state
            return (change > 1e-4) & (k < 40)

        def step(state):
            rank, _, k = state
            share = jnp.where(degree > 0, rank / jnp.maximum(degree, 1), 0)
            lost = jnp.where(degree > 0, 0, rank).sum()
            come = jax.ops.segment_sum(share[source], target, num_segments=pages)
            new = 0.15 / pages + 0.85 * (come + lost / pages)
            return new, jnp.abs(new - rank).sum(), k + 1

        return jax.lax.while_loop(unfinished, step, (jnp.full(pages, 1 / pages), 1.0, 0))

    ends = lambda: integers(links, high=pages)
    return solve, (ends(), ends())
