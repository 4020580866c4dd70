# SPDX-License-Identifier: Apache-2.0
"""The small ones of the programs that `halo bench programs` runs (tools/bench/programs), with the same inputs."""

import pathlib
import sys

import jax

from recorder.program import CHAINED, Program

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "tools" / "bench"))

from programs import catalogue, values

# Those of many kernels: the families models and real have their like.
LEFT_OUT = {
    "mlp_adam",
    "language_model",
    "image_classifier",
    "gru_forecast",
    "next_token",
    "separable_convs",
    "gamma_samples",
    "shuffled_batch",
    "option_price",
    "bootstrap",
    "bfloat_training",
}
EXACT = (0, "")
STEPS = "the rounding of each step is carried on"
# Of XLA's and ours the size of the next step is 3e-7 and 4e-6 from what f64 gives: it follows the third root of an
# estimate whose terms cancel but for 1e-4 of them.
ESTIMATE = "the rounding of each step, and a step's size from the difference of two results"
QUOTIENTS = "quotients of f16 by a constant, or products with its reciprocal as in XLA, decide how a tie is rounded"
# ULP and why, where it is not CHAINED, and what is added to results where their sums' terms are not of size 8.
BOUNDS = {
    "adaptive_pendulum": (32, ESTIMATE),
    "alignment": EXACT,
    "image_pipeline": (1, QUOTIENTS),
    "kalman": (32, STEPS),
    "knapsack": EXACT,
    "join": EXACT,
    "shortest_paths": EXACT,
    "suppression": EXACT,
}
OFFSETS = {
    "histogram": 1,
    "lasso": 1,
    "optimal_transport": 1,
    "page_rank": 0.5,
    "quantised_layers": 0.5,
    "ranking_quality": 1,
    "reaction_diffusion": 1,
}


def cases():
    for program in catalogue.load():
        name = program.name.removesuffix(".small")
        if program.size != "small" or name in LEFT_OUT:
            continue
        function, arguments = program.build(**program.numbers)
        leaves, tree = jax.tree.flatten(arguments)
        inputs = [values.make(a.recipe, a.dtype, a.shape, i) for i, a in enumerate(leaves)]
        bound, reason = BOUNDS.get(name, (4, CHAINED))
        with jax.enable_x64(False):
            offset = 0 if bound == 0 else OFFSETS.get(name, 8)
            arguments = jax.tree.unflatten(tree, inputs)
            yield Program(name, function, arguments, bound, reason, offset)
