# SPDX-License-Identifier: Apache-2.0
"""Artifacts that this jaxlib does not write: newer versions of VHLO, other ways to lay out the bytes."""

import struct


def vi(value):
    """A varint: as many low zero bits as bytes follow the first."""
    for size in range(1, 9):
        if value < 1 << 7 * size:
            return (value << size | 1 << size - 1).to_bytes(size, "little")
    return b"\0" + value.to_bytes(8, "little")


def si(value):
    return vi(value * 2 if value >= 0 else -value * 2 - 1)


def counted(parts):
    parts = list(parts)
    return vi(len(parts)) + b"".join(parts)


DYNAMIC = -(2**63)


class Artifact:
    """Tables that grow as they are asked for: each method of a kind of entry gives its number."""

    def __init__(self, version=6, producer="StableHLO_v1.20.0"):
        self.version, self.producer = version, producer
        self.strings, self.names, self.attrs, self.types, self.properties = [], [], [], [], []
        self.dialects = ["builtin", "vhlo", "sdy"]

    def number(self, table, entry):
        if entry not in table:
            table.append(entry)
        return table.index(entry)

    # Types

    def type(self, body, dialect="vhlo"):
        return self.number(self.types, (dialect, body, True))

    def text_type(self, text):
        return self.number(self.types, ("builtin", text.encode() + b"\0", False))

    def f32(self):
        return self.type(vi(4))

    def tensor(self, *dims, of=None):
        return self.type(vi(20) + counted(map(si, dims)) + vi(self.f32() if of is None else of))

    def function(self, inputs, outputs):
        return self.type(vi(8) + counted(map(vi, inputs)) + counted(map(vi, outputs)))

    # Attributes

    def attr(self, body, dialect="vhlo"):
        return self.number(self.attrs, (dialect, body, True))

    def string(self, text):
        return self.attr(vi(14) + vi(self.name(text)))

    def array(self, *entries):
        return self.attr(vi(1) + counted(map(vi, entries)))

    def boolean(self, value):
        return self.attr(vi(2) + vi(value))

    def i64(self, value):
        return self.attr(vi(9) + vi(self.type(vi(14))) + si(value))

    def enum(self, code, value):
        return self.attr(vi(code) + vi(value))

    def int_tensor(self, dims, values):
        t = self.tensor(*dims, of=self.type(vi(14)))
        data = struct.pack(f"<{len(values)}q", *values)
        return self.attr(vi(15) + vi(t) + vi(len(data)) + data)

    def type_attr(self, t):
        return self.attr(vi(17) + vi(t))

    def builtin_string(self, text):
        return self.attr(vi(2) + vi(self.name(text)), "builtin")

    def unknown(self):
        return self.attr(vi(15), "builtin")

    def dictionary(self, **entries):
        pairs = [vi(self.builtin_string(k)) + vi(v) for k, v in entries.items()]
        return self.attr(vi(1) + counted(pairs), "builtin")

    # Operations

    def name(self, text):
        return self.number(self.strings, text.encode())

    def op(self, name, operands=(), results=(), props=None, regions=(), isolated=False, extra=None, **more):
        """Bytes of an operation. Properties, in their order, are attributes; `uses` are orders of uses."""
        dialect, _, rest = name.partition(".")
        if dialect not in self.dialects:
            self.dialects.append(dialect)
        names = (dialect, rest)
        out, mask = b"", 0
        if extra is not None:
            mask |= 0x01
            out += vi(extra)
        if props is not None and self.version >= 5:
            mask |= 0x40
            body = b"".join(p if isinstance(p, bytes) else vi(p) for p in props)
            out += vi(self.number(self.properties, body))
        if results:
            mask |= 0x02
            out += counted(map(vi, results))
        if operands:
            mask |= 0x04
            out += counted(map(vi, operands))
        if "uses" in more:
            mask |= 0x20
            out += more["uses"]
        if regions:
            mask |= 0x10
            body = b"".join(regions)
            if isolated and self.version >= 2:
                body = section(4, body)
            out += vi(len(regions) << 1 | isolated) + body
        return vi(self.number(self.names, names)) + bytes([mask]) + vi(self.unknown()) + out

    def region(self, values, args, ops, uses=None):
        """`values`: how many it defines itself; `args`: types of its arguments."""
        out = vi(1) + vi(values) + vi(len(ops) << 1 | bool(args))
        if args:
            each = [vi(a << (self.version >= 4)) + (b"" if self.version >= 4 else vi(self.unknown())) for a in args]
            out += counted(each)
            if self.version >= 3:
                out += b"\0" if uses is None else b"\x20" + uses
        return out + b"".join(ops)

    def main(self, inputs, outputs, values, ops, uses=None, before=()):
        """The whole file: a function main, and what stands before it in the module."""
        empty, public = self.array(), self.string("public")
        function_type = self.type_attr(self.function(inputs, outputs))
        sym_name = self.string("main")
        named = {"arg_attrs": empty, "function_type": function_type, "res_attrs": empty}
        named |= {"sym_name": sym_name, "sym_visibility": public}
        function = self.op(
            "vhlo.func_v1",
            props=[*named.values()],
            extra=None if self.version >= 5 else self.dictionary(**named),
            regions=[self.region(values, inputs, ops, uses)],
            isolated=True,
        )
        ops = [*before, function]
        module = self.op(
            "builtin.module", props=[vi(0), vi(0)], regions=[self.region(0, [], ops)], isolated=True
        )
        return self.file(vi(1 << 1) + module)

    # The file

    def sections(self, ir):
        entries = [(d, n) for d, n in self.names]
        for dialect, rest in entries:
            self.name(rest)
        heads = [vi(self.name(d) << 1) if self.version else vi(self.name(d)) for d in self.dialects]
        dialects = counted(heads)
        if self.version >= 4:
            dialects += vi(len(entries))
        for dialect, rest in entries:
            number = self.name(rest)
            dialects += vi(self.dialects.index(dialect)) + vi(1)
            dialects += vi(number << 1 | 1 if self.version >= 5 else number)
        index = vi(len(self.attrs)) + vi(len(self.types))
        for dialect, body, custom in self.attrs + self.types:
            index += vi(self.dialects.index(dialect)) + vi(1) + vi(len(body) << 1 | custom)
        sizes = b"".join(vi(len(s) + 1) for s in reversed(self.strings))
        out = {
            1: dialects,
            3: index,
            2: b"".join(body for _, body, _ in self.attrs + self.types),
            4: ir,
            0: vi(len(self.strings)) + sizes + b"".join(s + b"\0" for s in self.strings),
        }
        if self.version >= 5:
            out[8] = counted(vi(len(p)) + p for p in self.properties)
        return out

    def file(self, ir):
        out = self.head()
        for number, data in self.sections(ir).items():
            out += section(number, data)
        return out

    def head(self):
        return b"ML\xefR" + vi(self.version) + self.producer.encode() + b"\0"


def section(number, data):
    return bytes([number]) + vi(len(data)) + data


def aligned(artifact, ir):
    """The sections in another order, each aligned to 64 bytes."""
    out = artifact.head()
    for number, data in reversed(artifact.sections(ir).items()):
        out += bytes([number | 0x80]) + vi(len(data)) + vi(64)
        out += b"\xcb" * (-len(out) % 64) + data
    return out


# ---- Programs ----


def adder(version):
    a = Artifact(version, "StableHLO_v1.0.0")
    t = a.tensor(2)
    add = a.op("vhlo.add_v1", [0, 0], [t])
    return a.main([t], [t], 2, [add, a.op("vhlo.return_v1", [1])])


class Aligned(Artifact):
    def file(self, ir):
        return aligned(self, ir)


def aligned_adder():
    a = Aligned()
    t = a.tensor(2)
    # Orders of uses: of the argument, which has two, and of a result of two.
    add = a.op("vhlo.add_v1", [0, 0], [t], uses=vi(0 << 1))
    swap = a.op(
        "vhlo.optimization_barrier_v1", [0, 1], [t, t], uses=vi(1) + vi(1) + vi(2 << 1) + vi(1) + vi(0)
    )
    add2 = a.op("vhlo.add_v1", [2, 3], [t])
    return a.main([t], [t], 5, [add, swap, add2, a.op("vhlo.return_v1", [4])], uses=vi(2 << 1) + vi(1) + vi(0))


ADDER = """"builtin.module"() ({
  "func.func"() ({
  ^bb0(%0: tensor<2xf32>):
    %1 = "stablehlo.add"(%0, %0) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    "func.return"(%1) : (tensor<2xf32>) -> ()
  }) {function_type = (tensor<2xf32>) -> (tensor<2xf32>), sym_name = "main", sym_visibility = "public"} : () -> ()
}) : () -> ()
"""
ALIGNED = ADDER.replace(
    '    "func.return"(%1)',
    """    %2, %3 = "stablehlo.optimization_barrier"(%0, %1) : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
    %4 = "stablehlo.add"(%2, %3) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    "func.return"(%4)""",
)


def newest():
    """Operations of VHLO 1.13 to 1.20."""
    a = Artifact()
    t, scalar, buffer = a.tensor(2), a.tensor(), a.type(vi(41) + counted([si(2)]) + vi(4))
    buffer = a.type(vi(41) + counted([si(2)]) + vi(a.f32()))
    future = a.type(vi(42) + counted([vi(t)]))
    groups, channel = a.int_tensor([1, 2], [0, 1]), a.i64(7)
    add = a.op("vhlo.add_v1", [6, 7], [scalar])
    body = a.region(3, [scalar, scalar], [add, a.op("vhlo.return_v1", [8])])
    reduce = a.op(
        "vhlo.collective_reduce_v1",
        [0, 0],
        [t, t],
        props=[channel, a.boolean(1), groups, a.boolean(0)],
        regions=[body],
    )
    cast = a.op("vhlo.collective_broadcast_v2", [1, 2], [t, t], props=[channel, a.boolean(1), groups])
    tilings = a.array(a.array(a.int_tensor([2], [8, 128])))
    empty = a.array()
    call = a.op(
        "vhlo.custom_call_v2",
        [3],
        [buffer],
        props=[a.enum(5, 4), a.attr(vi(6) + vi(0)), a.string("f"), a.array(a.string("main")), a.boolean(1)]
        + [empty, empty, empty, tilings],
    )
    ops = [reduce, cast, call, a.op("vhlo.return_v1", [3])]
    return a.main([t], [t], 6, ops)


NEWEST = """"builtin.module"() ({
  "func.func"() ({
  ^bb0(%0: tensor<2xf32>):
    %1, %2 = "stablehlo.collective_reduce"(%0, %0) ({
    ^bb0(%3: tensor<f32>, %4: tensor<f32>):
      %5 = "stablehlo.add"(%3, %4) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%5) : (tensor<f32>) -> ()
    }) {channel_id = 7 : i64, has_dynamic_root = true, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
    %6, %7 = "stablehlo.collective_broadcast"(%1, %2) {channel_id = 7 : i64, has_dynamic_root = true, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
    %8 = "stablehlo.custom_call"(%6) {api_version = 4 : i32, call_target_name = "f", called_computations = [@main], has_side_effect = true, result_tilings = [[array<i64: 8, 128>]]} : (tensor<2xf32>) -> memref<2xf32>
    "func.return"(%6) : (tensor<2xf32>) -> ()
  }) {function_type = (tensor<2xf32>) -> (tensor<2xf32>), sym_name = "main", sym_visibility = "public"} : () -> ()
}) : () -> ()
"""


def quantised():
    a = Artifact(producer="StableHLO_v1.17.0")
    t, i8, u8 = a.tensor(2), a.type(vi(11)), a.type(vi(16))

    def scale_bits(value):
        bits = struct.unpack("<Q", struct.pack("<d", value))[0]
        return vi(bits * 2 if bits < 1 << 63 else (1 << 64) - bits * 2 - 1)

    per_tensor = a.type(
        vi(24) + vi(1) + vi(i8) + vi(a.f32()) + scale_bits(0.5) + si(3) + si(-127) + si(127)
    )
    per_axis = a.type(
        vi(30) + vi(0) + vi(u8) + vi(a.f32()) + vi(0) + si(0) + si(255)
        + counted([scale_bits(0.5), scale_bits(0.25)]) + counted([si(3), si(0)])
    )
    q, r = a.tensor(2, of=per_tensor), a.tensor(2, of=per_axis)
    ops = [
        a.op("vhlo.uniform_quantize_v1", [0], [q]),
        a.op("vhlo.uniform_dequantize_v1", [1], [t]),
        a.op("vhlo.uniform_quantize_v1", [2], [r]),
        a.op("vhlo.return_v1", [2]),
    ]
    return a.main([t], [t], 4, ops)


QUANTISED = """"builtin.module"() ({
  "func.func"() ({
  ^bb0(%0: tensor<2xf32>):
    %1 = "stablehlo.uniform_quantize"(%0) : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8<-127:127>:f32, 0.5:3>>
    %2 = "stablehlo.uniform_dequantize"(%1) : (tensor<2x!quant.uniform<i8<-127:127>:f32, 0.5:3>>) -> tensor<2xf32>
    %3 = "stablehlo.uniform_quantize"(%2) : (tensor<2xf32>) -> tensor<2x!quant.uniform<ui8<0:255>:f32:0, {0.5:3,0.25:0}>>
    "func.return"(%2) : (tensor<2xf32>) -> ()
  }) {function_type = (tensor<2xf32>) -> (tensor<2xf32>), sym_name = "main", sym_visibility = "public"} : () -> ()
}) : () -> ()
"""


def unknown():
    """Operations and versions of operations that are not known keep their names, attributes in the dictionary too."""
    a = Artifact(producer="StableHLO_v1.30.0")
    t = a.tensor(2)
    ops = [
        a.op("vhlo.novel_v1", [0], [t], props=[a.i64(1)], extra=a.dictionary(n=a.i64(5))),
        a.op("vhlo.add_v9", [0, 1], [t], props=[a.i64(1)]),
        a.op("shape.any", [0], [t]),
        a.op("vhlo.return_v1", [0]),
    ]
    return a.main([t], [t], 4, ops)


UNKNOWN = """"builtin.module"() ({
  "func.func"() ({
  ^bb0(%0: tensor<2xf32>):
    %1 = "vhlo.novel_v1"(%0) {n = 5 : i64} : (tensor<2xf32>) -> tensor<2xf32>
    %2 = "vhlo.add_v9"(%0, %1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %3 = "shape.any"(%0) : (tensor<2xf32>) -> tensor<2xf32>
    "func.return"(%0) : (tensor<2xf32>) -> ()
  }) {function_type = (tensor<2xf32>) -> (tensor<2xf32>), sym_name = "main", sym_visibility = "public"} : () -> ()
}) : () -> ()
"""


def shardy():
    """Operations of Shardy that artifacts of this jaxlib do not have, builtin's types, types as text."""
    a = Artifact()
    f8 = a.text_type("f8E4M3FN")
    plain = a.type(vi(13) + counted([si(2)]) + vi(a.type(vi(5), "builtin")), "builtin")
    small = a.type(vi(13) + counted([si(2)]) + vi(f8), "builtin")
    t = a.tensor(2)

    def sdy(code, body):
        return a.attr(vi(code) + body, "sdy")

    mesh = a.attr(vi(4) + vi(a.builtin_string("m")), "builtin")
    axis = sdy(4, vi(a.name("x")) + vi(0))
    dim = sdy(5, counted([vi(axis)]) + b"\1" + vi(0))
    sharding = sdy(15, vi(mesh) + counted([vi(dim)]) + vi(0) + counted([vi(axis)]))
    inline = sdy(2, counted([vi(sdy(1, vi(a.name("x")) + si(2)))]) + vi(0))
    sharding3 = sdy(17, vi(inline) + counted([vi(dim)]) + vi(0) + vi(0) + si(1))
    axes = sdy(11, counted([vi(axis)]))
    lists = sdy(12, counted([vi(axes)]))
    per_value = sdy(16, counted([vi(sharding)]))
    name = a.builtin_string("f")
    inner = a.region(1, [plain], [a.op("sdy.return", [5])])
    ops = [
        a.op("sdy.all_gather", [0], [plain], props=[lists, sharding]),
        a.op("sdy.all_reduce", [1], [plain], props=[sharding3, axes, vi(0)]),
        a.op("sdy.named_computation", [2], [plain], props=[vi(per_value << 1 | 1), name, vi(0)], regions=[inner]),
        a.op("builtin.unrealized_conversion_cast", [3], [small]),
        a.op("vhlo.return_v1", [0]),
    ]
    return a.main([t], [t], 5, ops)


SHARDY = """"builtin.module"() ({
  "func.func"() ({
  ^bb0(%0: tensor<2xf32>):
    %1 = "sdy.all_gather"(%0) {gathering_axes = [[#sdy.axis_ref<name = "x">]], out_sharding = #sdy.sharding<mesh_or_ref = @m, dim_shardings = [#sdy.dimension_sharding<axes = [#sdy.axis_ref<name = "x">], is_closed = true>], unreduced_axes = [#sdy.axis_ref<name = "x">]>} : (tensor<2xf32>) -> tensor<2xf32>
    %2 = "sdy.all_reduce"(%1) {out_sharding = #sdy.sharding<mesh_or_ref = #sdy.mesh<axes = [#sdy.mesh_axis<name = "x", size = 2>]>, dim_shardings = [#sdy.dimension_sharding<axes = [#sdy.axis_ref<name = "x">], is_closed = true>], unreduced_reduction = 1>, reduction_axes = [#sdy.axis_ref<name = "x">]} : (tensor<2xf32>) -> tensor<2xf32>
    %3 = "sdy.named_computation"(%2) ({
    ^bb0(%4: tensor<2xf32>):
      "sdy.return"(%4) : (tensor<2xf32>) -> ()
    }) {in_shardings = [#sdy.sharding<mesh_or_ref = @m, dim_shardings = [#sdy.dimension_sharding<axes = [#sdy.axis_ref<name = "x">], is_closed = true>], unreduced_axes = [#sdy.axis_ref<name = "x">]>], name = "f"} : (tensor<2xf32>) -> tensor<2xf32>
    %5 = "builtin.unrealized_conversion_cast"(%3) : (tensor<2xf32>) -> tensor<2xf8E4M3FN>
    "func.return"(%0) : (tensor<2xf32>) -> ()
  }) {function_type = (tensor<2xf32>) -> (tensor<2xf32>), sym_name = "main", sym_visibility = "public"} : () -> ()
}) : () -> ()
"""


def meshes():
    """Replica groups by the axes of a mesh that stands in place."""
    a = Artifact()
    t, scalar = a.tensor(2), a.tensor()
    axis = a.attr(vi(24) + vi(a.string("x")) + si(2))
    ids = a.int_tensor([2], [1, 0])
    mesh = a.attr(vi(25) + vi(a.array(axis)) + vi(ids << 1 | 1))
    sub = a.attr(vi(21) + si(1) + si(2))
    ref = a.attr(vi(22) + vi(a.string("x")) + vi(1) + vi(sub))
    whole = a.attr(vi(22) + vi(a.string("x")) + vi(0))
    groups = a.attr(vi(23) + vi(mesh) + vi(a.array(ref, whole)))
    body = a.region(3, [scalar, scalar], [a.op("vhlo.add_v1", [2, 3], [scalar]), a.op("vhlo.return_v1", [4])])
    reduce = a.op("vhlo.all_reduce_v2", [0], [t], props=[a.i64(1), groups, a.boolean(1)], regions=[body])
    return a.main([t], [t], 2, [reduce, a.op("vhlo.return_v1", [1])])


MESHES = """"builtin.module"() ({
  "func.func"() ({
  ^bb0(%0: tensor<2xf32>):
    %1 = "stablehlo.all_reduce"(%0) ({
    ^bb0(%2: tensor<f32>, %3: tensor<f32>):
      %4 = "stablehlo.add"(%2, %3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%4) : (tensor<f32>) -> ()
    }) {channel_id = 1 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "x", size = 2>], device_ids = array<i64: 1, 0>>, axes = [#stablehlo.axis_ref<name = "x", sub_axis_info = #stablehlo.sub_axis_info<pre_size = 1, size = 2>>, #stablehlo.axis_ref<name = "x">]>, use_global_device_ids = true} : (tensor<2xf32>) -> tensor<2xf32>
    "func.return"(%1) : (tensor<2xf32>) -> ()
  }) {function_type = (tensor<2xf32>) -> (tensor<2xf32>), sym_name = "main", sym_visibility = "public"} : () -> ()
}) : () -> ()
"""


def native():
    """StableHLO's own bytecode, which no reader is to take."""
    a = Artifact(producer="MLIR23.0.0git")
    t = a.tensor(2)
    return a.main([t], [t], 2, [a.op("stablehlo.add", [0, 0], [t]), a.op("func.return", [1])])


# ---- Files that are refused ----


def with_attr(make):
    """A program whose one operation has an attribute, which `make` gives for an artifact."""
    a = Artifact()
    t = a.tensor(2)
    op = a.op("vhlo.add_v1", [0, 0], [t], extra=a.dictionary(n=make(a)))
    return a.main([t], [t], 2, [op, a.op("vhlo.return_v1", [1])])


def cycle(a):
    number = len(a.attrs)
    a.attrs.append(("vhlo", vi(1) + counted([vi(number + 1)]), True))
    a.attrs.append(("vhlo", vi(1) + counted([vi(number)]), True))
    return number


def deep(a):
    attr = a.array()
    for _ in range(200):
        attr = a.array(attr)
    return attr


def wide(a):
    """A few bytes that stand for 2 to the power of 100 types."""
    t = a.type(vi(23) + counted([vi(a.f32())]))
    for _ in range(100):
        t = a.type(vi(23) + counted([vi(t), vi(t)]))
    return a.type_attr(t)


def tensor_attr(dims, blob, kind=14):
    def make(a):
        t = a.tensor(*dims, of=a.type(vi(kind)))
        return a.attr(vi(15) + vi(t) + vi(len(blob)) + blob)

    return make


def body(make, values=2):
    """A program of the operations that `make` gives for an artifact and a type."""
    a = Artifact()
    t = a.tensor(2)
    return a.main([t], [t], values, [*make(a, t), a.op("vhlo.return_v1", [0])])


def nested(depth):
    def make(a, t):
        op = a.op("vhlo.return_v1", [0])
        for _ in range(depth):
            op = a.op("vhlo.if_v1", [0], regions=[a.region(0, [], [op])])
        return [op]

    return make


def blocks(a, t):
    two = vi(2) + vi(0) + vi(0) + vi(0)
    return [a.op("vhlo.if_v1", [0], regions=[two])]


def greedy(a, t):
    """Each region claims as many values as there are bytes left."""
    return [a.op("vhlo.if_v1", [0], regions=[vi(1) + vi(40) + vi(0) + vi(1)])]


def shared():
    """Many operations, each with properties of its own, share a large dictionary."""
    a = Artifact()
    t = a.tensor(2)
    big = a.dictionary(**{f"n{i}": a.unknown() for i in range(400)})
    ops = [a.op("vhlo.iota_v1", [], [t], props=[a.i64(i)], extra=big) for i in range(1500)]
    return a.main([t], [t], 1501, [*ops, a.op("vhlo.return_v1", [0])])


def broken():
    good = adder(6)
    header = len(b"ML\xefR") + 1 + len(b"StableHLO_v1.0.0\0")
    first = header + 2 + (good[header + 1] >> 1)  # where the second section starts
    return {
        "native": native(),
        "empty": b"",
        "text": b"module {}",
        "version": good[:4] + vi(7) + good[5:],
        "producer": good[:12],
        "section_twice": good + good[header:first],
        "section_missing": good[:header] + good[first:],
        "section_unknown": good + section(9, b""),
        "section_misaligned": good + bytes([0x86]) + vi(0) + vi(3),
        "section_cut": good[:-1],
        "cycle": with_attr(cycle),
        "deep": with_attr(deep),
        "wide": with_attr(wide),
        "splat": with_attr(tensor_attr([2**31, 2**31, 4], bytes(8))),
        "blob": with_attr(tensor_attr([3], bytes(16))),
        "bits": with_attr(tensor_attr([9], bytes(3), kind=0)),
        "dynamic": with_attr(tensor_attr([DYNAMIC], bytes(8))),
        "dimension": with_attr(tensor_attr([-5], bytes(8))),
        "rank": with_attr(tensor_attr([1] * 65, bytes(8))),
        "code": with_attr(lambda a: a.attr(vi(99))),
        "type_code": with_attr(lambda a: a.type_attr(a.type(vi(99)))),
        "enum": with_attr(lambda a: a.enum(3, 6)),
        "rest": with_attr(lambda a: a.attr(vi(2) + vi(1) + vi(1))),
        "attribute": with_attr(lambda a: a.attr(vi(1) + counted([vi(5000)]))),
        "string": with_attr(lambda a: a.attr(vi(14) + vi(5000))),
        "undefined": body(lambda a, t: [a.op("vhlo.add_v1", [1, 0], [t])]),
        "value": body(lambda a, t: [a.op("vhlo.add_v1", [2, 0], [t])]),
        "values_more": body(lambda a, t: [a.op("vhlo.add_v1", [0, 0], [t])] * 2),
        "values_fewer": body(lambda a, t: []),
        "values_greedy": body(greedy, values=1),
        "blocks": body(blocks, values=1),
        "regions": body(nested(300), values=1),
        "successors": body(lambda a, t: [vi(a.number(a.names, ("vhlo", "br_v1"))) + b"\x08" + vi(a.unknown()) + vi(0)], values=1),
        "mask": body(lambda a, t: [vi(a.number(a.names, ("vhlo", "br_v1"))) + b"\x80" + vi(a.unknown())], values=1),
        "shared": shared(),
        "properties": body(lambda a, t: [a.op("vhlo.iota_v1", [], [t], props=[a.i64(0), a.i64(0)])]),
    }


def write(folder):
    made = {
        "made_adder": (ADDER, {f"bytecode{v}": adder(v) for v in (0, 1, 2, 3, 4, 5, 6)}),
        "made_aligned": (ALIGNED, {"1.20.0": aligned_adder()}),
        "made_newest": (NEWEST, {"1.20.0": newest()}),
        "made_quantised": (QUANTISED, {"1.17.0": quantised()}),
        "made_unknown": (UNKNOWN, {"1.30.0": unknown()}),
        "made_shardy": (SHARDY, {"1.20.0": shardy()}),
        "made_meshes": (MESHES, {"1.20.0": meshes()}),
    }
    for name, (expected, files) in made.items():
        (folder / f"{name}.expected").write_text(expected)
        for version, data in files.items():
            (folder / f"{name}.{version}.mlirbc").write_bytes(data)
    for name, data in broken().items():
        (folder / "broken" / f"{name}.bytecode").write_bytes(data)
