# SPDX-License-Identifier: Apache-2.0
"""Sorting and what is done with order."""

import jax
import jax.numpy as jnp

from programs.catalogue import integers, normal, program, uniform


@program("sorting", small=dict(rows=60, groups=8), large=dict(rows=1000000, groups=10000))
def group_by(rows, groups):
    """A table sorted by group and amount; ranks, running totals and each group's greatest."""

    def report(group, amount):
        order = jnp.lexsort((-amount, group))
        group, amount = group[order], amount[order]
        first = jnp.concatenate([jnp.ones(1, bool), group[1:] != group[:-1]])
        start = jax.lax.cummax(jnp.where(first, jnp.arange(rows), 0))
        rank = jnp.arange(rows) - start
        total = jax.ops.segment_sum(amount, group, num_segments=groups, indices_are_sorted=True)
        best = jax.ops.segment_max(amount, group, num_segments=groups, indices_are_sorted=True)
        return order, rank, total, best, (rank < 3).sum()

    return report, (integers(rows, high=groups), uniform(rows, low=0, high=100))


@program("sorting", small=dict(queries=3, items=40), medium=dict(queries=100, items=1000))
def ranking_quality(queries, items):
    """Gain of rankings against the best order: sorts of rows by score and by relevance."""

    def quality(score, relevance):
        discount = 1 / jnp.log2(jnp.arange(items) + 2.0)
        order = jnp.argsort(-score, axis=1)
        gain = 2.0 ** jnp.take_along_axis(relevance, order, 1).astype(jnp.float32) - 1
        best = 2.0 ** -jnp.sort(-relevance, axis=1).astype(jnp.float32) - 1
        reached, most = (gain * discount).sum(1), (best * discount).sum(1)
        return reached / jnp.maximum(most, 1e-6), order[:, :10]

    return quality, (normal(queries, items), integers(queries, items, high=5))


@program("sorting", small=dict(boxes=30, rounds=10), medium=dict(boxes=1000, rounds=100))
def suppression(boxes, rounds):
    """Boxes without those that overlap a better one too much, one after another."""

    def select(corner, extent, score):
        end = corner + extent
        area = extent.prod(-1)

        def pick(left, _):
            best = jnp.argmax(left)
            low, high = jnp.maximum(corner, corner[best]), jnp.minimum(end, end[best])
            shared = jnp.maximum(high - low, 0).prod(-1)
            overlap = shared / (area + area[best] - shared)
            value = left[best]
            return jnp.where(overlap > 0.5, -jnp.inf, left), (best, value)

        return jax.lax.scan(pick, score, None, length=rounds)[1]

    return select, (
        uniform(boxes, 2, low=0, high=10),
        uniform(boxes, 2, low=1, high=4),
        normal(boxes),
    )


@program("sorting", small=dict(left=40, right=60), large=dict(left=500000, right=1000000))
def join(left, right):
    """Each row of one table finds the last row of another that is not later, as with prices over time."""

    def latest(times, moments, prices):
        order = jnp.argsort(moments)
        moments, prices = moments[order], prices[order]
        place = jnp.searchsorted(moments, times, side="right") - 1
        found = place >= 0
        price = jnp.where(found, prices[jnp.maximum(place, 0)], jnp.nan)
        age = jnp.where(found, times - moments[jnp.maximum(place, 0)], 0)
        return price, age, found.sum()

    times = uniform(left, low=0, high=1000)
    return latest, (times, uniform(right, low=0, high=1000), uniform(right, low=1, high=2))
