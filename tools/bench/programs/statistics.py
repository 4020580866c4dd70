# SPDX-License-Identifier: Apache-2.0
"""Statistics of samples."""

import jax
import jax.numpy as jnp

from programs.catalogue import integers, normal, program, uniform, words


@program("statistics", small=dict(rows=60, columns=4), large=dict(rows=1000000, columns=8))
def summary(rows, columns):
    """Moments, quantiles, outliers and correlations of a table with gaps."""

    def describe(table, present):
        known = present > 1
        count = jnp.maximum(known.sum(0), 1)
        mean = jnp.where(known, table, 0).sum(0) / count
        apart = jnp.where(known, table - mean, 0)
        deviation = jnp.sqrt((apart**2).sum(0) / count)
        z = apart / deviation
        skew, tails = (z**3).sum(0) / count, (z**4).sum(0) / count - 3
        quartiles = jnp.quantile(
            jnp.where(known, table, mean), jnp.array([0.25, 0.5, 0.75]), axis=0
        )
        together = z.T @ z / rows
        return mean, deviation, skew, tails, quartiles, (jnp.abs(z) > 2).sum(0), together

    return describe, (normal(rows, columns), integers(rows, columns))


@program(
    "statistics",
    small=dict(points=80, groups=4, size=3),
    large=dict(points=200000, groups=64, size=32),
)
def k_means(points, groups, size):
    """Ten rounds of Lloyd's algorithm."""

    def fit(x, centres):
        def nearest(centres):
            apart = (x * x).sum(1)[:, None] - 2 * x @ centres.T + (centres * centres).sum(1)
            return jnp.argmin(apart, 1), apart.min(1).mean()

        def move(_, centres):
            group, _ = nearest(centres)
            total = jax.ops.segment_sum(x, group, num_segments=groups)
            count = jax.ops.segment_sum(jnp.ones(points), group, num_segments=groups)
            return jnp.where(count[:, None] > 0, total / jnp.maximum(count, 1)[:, None], centres)

        centres = jax.lax.fori_loop(0, 10, move, centres)
        return centres, *nearest(centres)

    return fit, (normal(points, size), normal(groups, size))


@program("statistics", small=dict(samples=40, draws=30), medium=dict(samples=1000, draws=1000))
def bootstrap(samples, draws):
    """Intervals of a slope and a median ratio from samples drawn again and again."""

    def interval(seed, x, y):
        chosen = jax.random.randint(jax.random.wrap_key_data(seed), (draws, samples), 0, samples)
        xs, ys = x[chosen], y[chosen]
        dx, dy = xs - xs.mean(1, keepdims=True), ys - ys.mean(1, keepdims=True)
        slope = (dx * dy).sum(1) / (dx * dx).sum(1)
        return jnp.percentile(slope, jnp.array([2.5, 50.0, 97.5])), slope.mean(), slope.std()

    return interval, (words(2), normal(samples), normal(samples))


@program("statistics", small=dict(points=64, parts=3), medium=dict(points=4000, parts=8))
def mixture(points, parts):
    """A mixture of normal distributions by expectation and maximisation until it no longer improves."""

    def fit(x, mean):
        def expect(weight, mean, variance):
            apart = (x[:, None] - mean) ** 2 / variance
            log = jnp.log(weight) - 0.5 * (apart + jnp.log(2 * jnp.pi * variance))
            total = jax.nn.logsumexp(log, 1, keepdims=True)
            return jnp.exp(log - total), total.mean()

        def unfinished(state):
            _, _, _, now, before, k = state
            return (now - before > 1e-3) & (k < 12)

        def step(state):
            weight, mean, variance, now, _, k = state
            share, likelihood = expect(weight, mean, variance)
            size = share.sum(0) + 1e-6
            mean = (share * x[:, None]).sum(0) / size
            variance = (share * (x[:, None] - mean) ** 2).sum(0) / size + 1e-3
            return size / points, mean, variance, likelihood, now, k + 1

        start = (jnp.full(parts, 1 / parts), mean, jnp.ones(parts), -1e6, -2e6, 0)
        return jax.lax.while_loop(unfinished, step, start)

    return fit, (normal(points), normal(parts))


@program("statistics", small=dict(values=100, bins=10), large=dict(values=4000000, bins=256))
def histogram(values, bins):
    """Counts, a smooth density, entropy and the distance of two samples' distributions."""

    def compare(a, b):
        def share(x):
            place = jnp.clip(jnp.floor((x + 4) / 8 * bins), 0, bins - 1).astype(jnp.int32)
            return jnp.zeros(bins).at[place].add(1.0) / values

        p, q = share(a), share(b)
        smooth = jnp.convolve(p, jnp.array([0.25, 0.5, 0.25]), mode="same")
        entropy = -jnp.where(p > 0, p * jnp.log(jnp.where(p > 0, p, 1)), 0).sum()
        return p, smooth, entropy, jnp.abs(jnp.cumsum(p) - jnp.cumsum(q)).max()

    return compare, (normal(values), uniform(values, low=-3, high=3))
