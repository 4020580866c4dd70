# SPDX-License-Identifier: Apache-2.0
"""A case that is a function as JAX lowers it."""

import jax
import jax.numpy as jnp
import numpy as np

from recorder.xla import Case

CHAINED = "sums of products in another order"


class Program(Case):
    """`function` of `arguments`, trees of arrays; one bound for all its results of floats, none for others. To
    f32 results `offset` is added, a number of the size that their sums' terms have: what is small beside
    these is rounding. With a `platform` the text is what JAX lowers for that one."""

    def __init__(self, name, function, arguments, bound=0, reason="", offset=0, platform=None):
        super().__init__(name)
        self.inputs = [np.asarray(a) for a in jax.tree.leaves(arguments)]

        def shift(leaf):
            return leaf + offset if offset and leaf.dtype == np.float32 else leaf

        traced = jax.jit(lambda *a: jax.tree.map(shift, function(*a))).trace(*arguments)
        platforms = (platform or "cpu",)
        self.lowered = traced.lower(lowering_platforms=platforms)
        self.hlo = self.lowered.as_text(dialect="hlo")
        results = jax.tree.leaves(traced.lower().out_info)
        if platform:
            self.expected = [np.asarray(r) for r in jax.tree.leaves(traced.lower().compile()(*arguments))]
        for leaf in results:
            rounded = jnp.issubdtype(leaf.dtype, jnp.inexact)
            self.bounds.append((str(leaf.dtype), bound if rounded else 0, reason if rounded else ""))

    def text(self):
        return self.hlo.strip()


def normal(seed, *dims, dtype=np.float32):
    return np.random.default_rng(seed).normal(0, 1, dims).astype(dtype)
