# SPDX-License-Identifier: Apache-2.0
"""Times HLO modules on XLA's CPU backend, one measurement for each line of standard input.

A request is "RUNS CHAINED PATH": the seconds of one run, over RUNS runs queued one after another, in
which the first CHAINED results become the first arguments of the next; with -1 each run is waited for.
The answer is a line with the number, or "error: ..." when XLA refused. The first request for a module
compiles it and runs it once; 0 runs ask for the seconds that this takes.
"""

import os
import re
import sys
import time

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["JAX_ENABLE_X64"] = "1"  # else f64 arguments become f32

import jax
import numpy as np
from jax._src import xla_bridge
from jaxlib import _hlo, _jax
from jaxlib.cpu import _lapack

from programs import values

WAITED = -1


class Program:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        start = time.perf_counter()
        module = _hlo.hlo_module_from_text(text)
        computation = _hlo.XlaComputation(module.as_serialized_hlo_module_proto())
        backend = xla_bridge.get_backend("cpu")
        self.executable = backend.compile_and_load(
            _jax.mlir.xla_computation_to_mlir_module(computation),
            _jax.DeviceList(tuple(backend.local_devices()[:1])),
            _jax.CompileOptions(),
        )
        compiled = time.perf_counter() - start
        shapes = computation.program_shape().parameter_shapes()
        recipes = re.findall("^//! input (.*)$", text, re.MULTILINE)
        make = self.by_recipe if recipes else self.made_up
        self.arguments = [jax.device_put(value) for value in make(shapes, recipes)]
        self.first_seconds = compiled + self.run(1, WAITED)

    @staticmethod
    def made_up(shapes, _):
        random = np.random.RandomState(0)
        for shape in shapes:
            dtype = np.dtype(shape.numpy_dtype())
            if jax.numpy.issubdtype(dtype, np.floating):
                value = random.random_sample(shape.dimensions()) * 0.1
            elif jax.numpy.issubdtype(dtype, np.complexfloating):
                value = random.random_sample(shape.dimensions()) * (0.1 - 0.1j) + 0.1j
            else:
                value = random.randint(0, 10, shape.dimensions())
            yield np.asarray(value, dtype)

    @staticmethod
    def by_recipe(shapes, recipes):
        for index, (shape, recipe) in enumerate(zip(shapes, recipes, strict=True)):
            yield values.make(recipe, shape.numpy_dtype(), shape.dimensions(), index)

    def run(self, runs, chained):
        arguments = list(self.arguments)
        start = time.perf_counter()
        for _ in range(runs):
            results = self.executable.execute_sharded(arguments)
            results = [r[0] for r in results.disassemble_into_single_device_arrays()]
            if chained == WAITED:
                jax.block_until_ready(results)
            else:
                arguments[:chained] = results[:chained]
        for result in results:
            result.block_until_ready()
        seconds = (time.perf_counter() - start) / runs
        self.arguments = arguments
        return seconds


def main():
    _lapack.initialize()  # else LAPACK's functions are not there when a program calls them
    print("jax " + jax.__version__, flush=True)
    path, program = None, None
    for line in sys.stdin:
        runs, chained, wanted = line.rstrip("\n").split(" ", 2)
        try:
            if wanted != path:
                path, program = wanted, None  # at most one program's arrays are alive
                program = Program(wanted)
            runs = int(runs)
            print(program.run(runs, int(chained)) if runs else program.first_seconds, flush=True)
        except Exception as error:  # XLA's errors have no common class
            path, program = None, None
            print("error: " + str(error).split("\n", 1)[0], flush=True)


main()
