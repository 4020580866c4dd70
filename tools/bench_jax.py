"""Times HLO modules on XLA's CPU backend, one measurement for each line of standard input.

A request is "RUNS CHAINED PATH": the seconds of one run, over RUNS runs queued one after another, in
which the first CHAINED results become the first arguments of the next. The answer is a line with the
number, or "error: ..." when XLA refused. The first request for a module compiles it and runs it once.
"""

import os
import sys
import time

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import numpy as np
from jax._src import xla_bridge
from jaxlib import _hlo, _jax


class Program:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            module = _hlo.hlo_module_from_text(file.read())
        computation = _hlo.XlaComputation(module.as_serialized_hlo_module_proto())
        backend = xla_bridge.get_backend("cpu")
        self.executable = backend.compile_and_load(
            _jax.mlir.xla_computation_to_mlir_module(computation),
            _jax.DeviceList(tuple(backend.local_devices()[:1])), _jax.CompileOptions())
        random = np.random.RandomState(0)
        self.arguments = []
        for shape in computation.program_shape().parameter_shapes():
            dtype = np.dtype(shape.numpy_dtype())
            if dtype.kind == "f":
                value = random.random_sample(shape.dimensions()) * 0.1
            else:
                value = random.randint(0, 10, shape.dimensions())
            self.arguments.append(jax.device_put(np.asarray(value, dtype)))
        self.run(1, 0)

    def run(self, runs, chained):
        arguments = list(self.arguments)
        start = time.perf_counter()
        for _ in range(runs):
            results = self.executable.execute_sharded(arguments)
            results = [r[0] for r in results.disassemble_into_single_device_arrays()]
            arguments[:chained] = results[:chained]
        for result in results:
            result.block_until_ready()
        seconds = (time.perf_counter() - start) / runs
        self.arguments = arguments
        return seconds


def main():
    print("jax " + jax.__version__, flush=True)
    path, program = None, None
    for line in sys.stdin:
        runs, chained, wanted = line.rstrip("\n").split(" ", 2)
        try:
            if wanted != path:
                path, program = wanted, None  # at most one program's arrays are alive
                program = Program(wanted)
            print(program.run(int(runs), int(chained)), flush=True)
        except Exception as error:  # XLA's errors have no common class
            path, program = None, None
            print("error: " + str(error).split("\n", 1)[0], flush=True)


main()
