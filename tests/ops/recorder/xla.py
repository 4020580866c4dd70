# SPDX-License-Identifier: Apache-2.0
"""HLO modules as text: putting them together, and running them on XLA's CPU backend."""

import os
import re

os.environ["JAX_PLATFORMS"] = "cpu"
DEVICES = 8
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={DEVICES}"

import jax
import ml_dtypes
import numpy as np
from jax._src.lib import xla_client
from jax.sharding import Mesh, NamedSharding, PartitionSpec

jax.config.update("jax_enable_x64", True)

DTYPES = {
    "pred": np.bool_,
    "s2": ml_dtypes.int2,
    "s4": ml_dtypes.int4,
    "u2": ml_dtypes.uint2,
    "u4": ml_dtypes.uint4,
    "s8": np.int8,
    "s16": np.int16,
    "s32": np.int32,
    "s64": np.int64,
    "u8": np.uint8,
    "u16": np.uint16,
    "u32": np.uint32,
    "u64": np.uint64,
    "f8e3m4": ml_dtypes.float8_e3m4,
    "f8e4m3": ml_dtypes.float8_e4m3,
    "f8e4m3fn": ml_dtypes.float8_e4m3fn,
    "f8e4m3b11fnuz": ml_dtypes.float8_e4m3b11fnuz,
    "f8e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "f8e5m2": ml_dtypes.float8_e5m2,
    "f8e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "f8e8m0fnu": ml_dtypes.float8_e8m0fnu,
    "f4e2m1fn": ml_dtypes.float4_e2m1fn,
    "bf16": ml_dtypes.bfloat16,
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    "c64": np.complex64,
    "c128": np.complex128,
}
SIGNED = ["s4", "s8", "s16", "s32", "s64"]
UNSIGNED = ["u4", "u8", "u16", "u32", "u64"]
INTS = SIGNED + UNSIGNED
F8 = ["f8e5m2", "f8e4m3fn", "f8e4m3b11fnuz", "f8e5m2fnuz", "f8e4m3fnuz", "f8e4m3", "f8e3m4"]
FLOATS = ["bf16", "f16", "f32", "f64"]
COMPLEX = ["c64", "c128"]
DOUBLES = ["f64", "c128"]  # what a device without double precision cannot do
PART = {"c64": "f32", "c128": "f64"}


def bits(type_):
    """The width of an integer type."""
    return int(type_[1:])


def limits(type_):
    if type_[0] == "u":
        return 0, 2 ** bits(type_) - 1
    return -(2 ** (bits(type_) - 1)), 2 ** (bits(type_) - 1) - 1


def by_device(types):
    """(Suffix of the case's name, types): split off is what needs double precision."""
    plain = [t for t in types if t not in DOUBLES]
    double = [t for t in types if t in DOUBLES]
    return [(suffix, part) for suffix, part in (("", plain), (".f64", double)) if part]


def array(type_, values):
    """Python numbers as an array of an HLO element type; integers wrap."""
    if type_[0] in "su":
        low, high = limits(type_)
        span = high - low + 1
        wrapped = [(int(v) - low) % span + low for v in np.asarray(values, object).ravel()]
        wide = np.array(wrapped, np.uint64 if type_ == "u64" else np.int64)
        return wide.astype(DTYPES[type_]).reshape(np.shape(values))
    return np.asarray(values).astype(DTYPES[type_])


def to_bytes(a):
    """Row-major bytes as the library keeps them: a byte for each narrow element, sign-extended."""
    a = np.asarray(a)
    if a.dtype in (ml_dtypes.int4, ml_dtypes.int2):
        a = a.astype(np.int8)
    elif a.dtype in (ml_dtypes.uint4, ml_dtypes.uint2):
        a = a.astype(np.uint8)
    return np.ascontiguousarray(a).tobytes()


def shape(type_, dims, layout=None):
    text = f"{type_}[{','.join(map(str, dims))}]"
    if layout is None:
        layout = range(len(dims) - 1, -1, -1)
    return text + ("{" + ",".join(map(str, layout)) + "}" if len(dims) else "")


class Case:
    """A module under construction, its inputs, and how its results are to be judged."""

    def __init__(self, name):
        self.name = name
        self.inputs, self.lines, self.computations = [], [], []
        self.results, self.shapes, self.bounds = [], {}, []
        self.expected = None  # filled by a family that does not ask XLA, and says why
        self.measured = []
        self.dynamic, self.sizes = {}, []  # where the sizes of a dynamic result are; what they were

    def _add(self, text, shape_text):
        name = f"v{len(self.lines)}"
        self.lines.append(f"  {name} = {shape_text} {text}")
        self.shapes[name] = shape_text
        return name

    def param(self, type_, values, layout=None):
        values = array(type_, values)
        self.inputs.append(values)
        return self._add(f"parameter({len(self.inputs) - 1})", shape(type_, values.shape, layout))

    def op(self, shape_text, opcode, *operands, attrs=""):
        return self._add(
            f"{opcode}({', '.join(operands)})" + (f", {attrs}" if attrs else ""), shape_text
        )

    def constant(self, shape_text, literal):
        return self._add(f"constant({literal})", shape_text)

    def computation(self, text):
        """Adds a computation unless it is there already."""
        if text not in self.computations:
            self.computations.append(text)

    def result(self, name, label, bound=0, reason=""):
        self.results.append(name)
        self.bounds.append((label, bound, reason))

    def result_sized(self, name, label, bound=0, reason=""):
        """A result with dynamic dimensions, `<=8`, whose sizes are results before it."""
        dims = self.shapes[name].split("[")[1].split("]")[0].split(",")
        where = {}
        for d, text in enumerate(dims):
            if text.startswith("<="):
                size = self.op("s32[]", "get-dimension-size", name, attrs=f"dimensions={{{d}}}")
                where[d] = len(self.results)
                self.result(size, f"{label}.size{d}")
        self.dynamic[len(self.results)] = where
        self.result(name, label, bound, reason)

    def measure(self, result_index, judge):
        """`judge(output)` gives (bound, reason) once XLA's output is known."""
        self.measured.append((result_index, judge))

    def finish(self, outputs):
        for i, where in self.dynamic.items():
            cut = {d: int(outputs[at]) for d, at in where.items()}
            dims = [cut.get(d, n) for d, n in enumerate(outputs[i].shape)]
            # XLA puts the valid elements of a result at the front of its memory.
            outputs[i] = outputs[i].ravel()[: np.prod(dims, dtype=int)].reshape(dims)
            self.sizes += cut.values()
        for i, judge in self.measured:
            self.bounds[i] = (self.bounds[i][0], *judge(outputs[i]))

    def text(self):
        module = "".join(c if c == "_" or c.isalnum() else "_" for c in self.name)
        root = ", ".join(self.shapes[r] for r in self.results)
        lines = [f"HloModule {module}", ""]
        lines += [c + "\n" for c in self.computations]
        lines += [
            "ENTRY main {",
            *self.lines,
            f"  ROOT results = ({root}) tuple({', '.join(self.results)})",
            "}",
        ]
        return "\n".join(lines)


class SharedCase(Case):
    """A module that several replicas and partitions run, each with inputs and results of its own. Those of
    one device stand together, replica by replica."""

    def __init__(self, name, replicas, partitions=1):
        super().__init__(name)
        self.replicas, self.partitions = replicas, partitions
        self.each = []

    @property
    def devices(self):
        return self.replicas * self.partitions

    def param(self, type_, values, layout=None):
        """`values`: one array for each device."""
        self.each.append([array(type_, v) for v in values])
        dims = self.each[-1][0].shape
        self.inputs = [e[d] for d in range(self.devices) for e in self.each]
        return self._add(f"parameter({len(self.each) - 1})", shape(type_, dims, layout))

    def text(self):
        head, _, rest = super().text().partition("\n")
        for name, count in (("replica_count", self.replicas), ("num_partitions", self.partitions)):
            head += f", {name}={count}" if count > 1 else ""
        return head + "\n" + rest


def run_shared(case):
    """XLA's partitioner must take it that nothing is left to partition."""
    head, entry, body = case.text().partition("ENTRY main {")
    lines = []
    for line in body.split("\n"):
        if " = (" in line:
            count = len(re.findall(r"[a-z0-9]+\[", line.split(") ")[0]))
            line += ", sharding={" + ", ".join(["{manual}"] * count) + "}"
        elif " = " in line:
            line += ", sharding={manual}"
        lines.append(line)
    text = head + entry + "\n".join(lines) if case.partitions > 1 else case.text()
    devices = jax.devices("cpu")[: case.devices]
    options = xla_client.CompileOptions()
    build = options.executable_build_options
    options.num_replicas = build.num_replicas = case.replicas
    options.num_partitions = build.num_partitions = case.partitions
    build.use_spmd_partitioning = case.partitions > 1
    grid = np.arange(case.devices).reshape(case.replicas, case.partitions)
    options.device_assignment = xla_client.DeviceAssignment.create(grid)
    build.device_assignment = options.device_assignment
    executable = devices[0].client.compile_and_load(
        _stablehlo(text), xla_client.DeviceList(tuple(devices)), options
    )
    sharding = NamedSharding(Mesh(np.array(devices), ("d",)), PartitionSpec("d"))
    arguments = []
    for values in case.each:
        flat = [v.reshape(-1) for v in values]
        whole = (case.devices * values[0].size,)
        parts = [jax.device_put(v, d) for v, d in zip(values, devices)]
        if values[0].ndim:
            whole = (case.devices * values[0].shape[0], *values[0].shape[1:])
        else:
            parts = [jax.device_put(f, d) for f, d in zip(flat, devices)]
        arguments.append(jax.make_array_from_single_device_arrays(whole, sharding, parts))
    results = executable.execute_sharded(arguments).disassemble_into_single_device_arrays()
    return [np.asarray(r[d]) for d in range(case.devices) for r in results]


def _stablehlo(hlo):
    module = xla_client.hlo.hlo_module_from_text(hlo)
    computation = xla_client.XlaComputation(module.as_serialized_hlo_module_proto())
    return xla_client._xla.mlir.xla_computation_to_mlir_module(computation)


def run(hlo, inputs):
    stablehlo = _stablehlo(hlo)
    device = jax.devices("cpu")[0]
    executable = device.client.compile_and_load(
        stablehlo, xla_client.DeviceList((device,)), xla_client.CompileOptions()
    )
    return [np.asarray(r) for r in executable.execute([jax.device_put(a) for a in inputs])]


# Opcodes that have no way from HLO text into this jaxlib: JAX's function, lowered to simpler ops,
# is what XLA's CPU backend runs instead.
THROUGH_JAX = {
    "acos": jax.lax.acos,
    "acosh": jax.lax.acosh,
    "asin": jax.lax.asin,
    "asinh": jax.lax.asinh,
    "atan": jax.lax.atan,
    "atanh": jax.lax.atanh,
    "cosh": jax.lax.cosh,
    "sinh": jax.lax.sinh,
}


def run_through_jax(op, inputs):
    return [np.asarray(jax.jit(THROUGH_JAX[op])(a)) for a in inputs]
