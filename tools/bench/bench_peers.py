#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/bench/bench_peers.py: rows of `halo bench` beside the same work by other programs on the same machine, in turns.

    python3 -m venv /tmp/peers && /tmp/peers/bin/pip install onnx onnxruntime
    /tmp/peers/bin/python tools/bench/bench_peers.py [--halo PROGRAM] [--turns N]

Peers: ONNX Runtime's CPU provider (its own kernels for products and convolutions), and clpeak, which measures what an OpenCL device can
do. A peer that is not installed is left out, and said so. Prints a Markdown table; each figure is the best of all turns.
"""
import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

# Row of `halo bench`, ONNX operator, shapes of the operands (those after the first are constants), attributes.
MODELS = [
    ("dot.square.f32", "MatMul", [(1024, 1024), (1024, 1024)], {}),
    ("dot.skinny.f32", "MatMul", [(64, 4096), (4096, 4096)], {}),
    ("dot.batched.f32", "MatMul", [(64, 256, 256), (64, 256, 256)], {}),
    ("conv.3x3.f32", "Conv", [(32, 64, 56, 56), (64, 64, 3, 3)], {"pads": [1, 1, 1, 1]}),
    ("softmax.f32", "Softmax", [(16384, 1024)], {"axis": -1}),
    ("transpose.f32", "Transpose", [(4096, 4096)], {"perm": [1, 0]}),
    ("reduce.rows.f32", "ReduceSum", [(4096, 4096)], {"axes": [1], "keepdims": 0}),
    ("elementwise.add.f32", "Add", [(16777216,), (16777216,)], {}),
]

# Row of `halo bench`, option of clpeak, element of its XML form.
PEAKS = [
    ("limit.read", "--global-bandwidth", "global_memory_bandwidth"),
    ("limit.multiply-add.f32", "--compute-sp", "single_precision_compute"),
]


class Onnx:
    """One operator as a model."""

    def __init__(self, operator, shapes, attributes):
        import numpy
        import onnxruntime
        from onnx import TensorProto, helper

        names = [f"x{i}" for i in range(len(shapes))]
        node = helper.make_node(operator, names, ["y"], **attributes)
        inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in zip(names, shapes)]
        output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
        graph = helper.make_graph([node], operator, inputs, [output])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 12)], ir_version=8)
        self.session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        random = numpy.random.default_rng(1)
        self.feeds = {name: random.uniform(-1, 1, shape).astype(numpy.float32) for name, shape in zip(names, shapes)}
        # Memory for the result is there beforehand, as it is in a run of `halo bench`.
        self.binding = self.session.io_binding()
        for name, value in self.feeds.items():
            self.binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(value))
        result = self.session.run(None, self.feeds)[0]
        self.binding.bind_ortvalue_output("y", onnxruntime.OrtValue.ortvalue_from_numpy(result))

    def measure(self, seconds=0.5):
        """The median of the runs of so many seconds."""
        times = []
        end = time.perf_counter() + seconds
        while len(times) < 3 or time.perf_counter() < end:
            start = time.perf_counter()
            self.session.run_with_iobinding(self.binding)
            times.append(time.perf_counter() - start)
        return statistics.median(times)


def measure_halo(program, names):
    """Rows by name: seconds of one run, and the work of it."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        subprocess.run([program, "bench", "--no-starts", "--quiet", "--filter", ",".join(names), "--json", file.name], check=True)
        with open(file.name, encoding="utf-8") as text:
            record = json.load(text)
    return record, {row["name"]: row for row in record["rows"] if row["median"] > 0}


def measure_clpeak(option, element):
    """The largest figure of clpeak's on the first device that it lists."""
    with tempfile.NamedTemporaryFile(suffix=".xml") as file:
        subprocess.run(["clpeak", option, "--enable-xml-dump", "--xml-file", file.name], check=True, stdout=subprocess.DEVNULL)
        found = next(xml.etree.ElementTree.parse(file.name).iter(element))
    return max(float(figure.text) for figure in found)


def print_row(name, unit, ours, peer, theirs):
    print(f"| {name} | {ours:.3g} {unit} | {peer} | {theirs:.3g} {unit} | {ours / theirs:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description="rows of `halo bench` beside the same work by other programs")
    parser.add_argument("--halo", default="build/tools/halo", help="the program")
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    scale = {"GB/s": 1e9, "GFLOP/s": 1e9, "Mitems/s": 1e6}
    models, peaks = {}, list(PEAKS)
    try:
        import onnxruntime
        models = {name: Onnx(operator, shapes, attributes) for name, operator, shapes, attributes in MODELS}
        peer = f"ONNX Runtime {onnxruntime.__version__}"
    except ImportError as error:
        print(f"left out: ONNX Runtime ({error})", file=sys.stderr)
    if not shutil.which("clpeak"):
        print("left out: clpeak (not installed)", file=sys.stderr)
        peaks = []
    ours, theirs, record, units = {}, {}, None, {}
    for _ in range(options.turns):
        record, rows = measure_halo(options.halo, list(models) + [row for row, *_ in peaks])
        for name, row in rows.items():
            units[name] = row["unit"]
            ours[name] = max(ours.get(name, 0), row["work"] / row["median"] / scale[row["unit"]])
        for name, model in models.items():
            theirs[name] = max(theirs.get(name, 0), rows[name]["work"] / model.measure() / scale[units[name]])
        for name, option, element in peaks:
            theirs[name] = max(theirs.get(name, 0), measure_clpeak(option, element))
    print(f"{record['device']} ({record['platform']}, {record['driver']}), halo {record['version']} ({record['commit']})\n")
    print("| row | ours | peer | theirs | ours by theirs |\n|---|---|---|---|---|")
    for name in theirs:
        print_row(name, units[name], ours[name], peer if name in models else "clpeak", theirs[name])


if __name__ == "__main__":
    main()
