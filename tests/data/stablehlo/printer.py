# SPDX-License-Identifier: Apache-2.0
"""A program as mlir_print prints it, from MLIR's Python bindings."""

import re

import ml_dtypes
import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy, stablehlo

FLOATS = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "f8E4M3B11FNUZ": ml_dtypes.float8_e4m3b11fnuz,
    "f8E4M3": ml_dtypes.float8_e4m3,
    "f8E3M4": ml_dtypes.float8_e3m4,
    "f4E2M1FN": ml_dtypes.float4_e2m1fn,
    "f8E8M0FNU": ml_dtypes.float8_e8m0fnu,
}
INTEGERS = {"i8": "<i1", "i16": "<i2", "i32": "<i4", "i64": "<i8", "ui8": "<u1", "ui16": "<u2"}
INTEGERS |= {"ui32": "<u4", "ui64": "<u8"}

RESOURCES = {}  # hexadecimal digits by name, the first 8 their alignment
LONGEST_CONSTANT = 4096
EMPTY, ZERO, ONE, WORD, ACCURACY = range(5)
DEFAULTS = {
    EMPTY: """arg_attrs backend_config called_computations collapsed_slice_dims composite_attributes
        infeed_config input_batching_dims inserted_window_dims known_expanding_dimensions
        known_nonexpanding_dimensions layout lhs_batching_dimensions lhs_contracting_dimensions
        offset_dims operand_batching_dims operand_layouts outfeed_config output_operand_aliases
        res_attrs result_layouts result_tilings rhs_batching_dimensions rhs_contracting_dimensions
        scatter_dims_to_operand_dims scatter_indices_batching_dims source_target_pairs
        start_index_map start_indices_batching_dims sym_visibility update_window_dims""",
    ZERO: """channel_id has_dynamic_root has_side_effect index_vector_dim indices_are_sorted
        is_host_transfer is_stable lower padding unique_indices use_global_device_ids version
        window_reversal""",
    ONE: "api_version base_dilations lhs_dilation rhs_dilation window_dilations window_strides",
    WORD: "compare_type precision_config",
    ACCURACY: "result_accuracy",
}
FORM = {name: form for form, names in DEFAULTS.items() for name in names.split()}


def is_a(thing, kind):
    if isinstance(thing, kind):
        return True
    try:
        kind(thing)
    except (TypeError, ValueError):
        return False
    return True


# ---- Types ----


def type_text(t):
    text = str(t)
    if is_a(t, ir.FunctionType):
        t = ir.FunctionType(t)
        return f"({types_text(t.inputs)}) -> ({types_text(t.results)})"
    if "!quant" in text:
        return re.sub(r"<([^<]*(?:<[^>]*>)?[^<]*)>:(f\d+)(:\d+)?, ([^>]*)>", quantised, text)
    text = re.sub(r"\bsi(\d+)\b", r"i\1", text)
    text = re.sub(r"(?<![a-wyzA-Z_.])index\b", "i64", text)
    if text.startswith("vector") or text.startswith("memref<*"):
        return "a type of MLIR that StableHLO has not"
    return text


def types_text(types):
    return ", ".join(type_text(t) for t in types)


def quantised(match):
    storage, expressed, axis, scales = match.groups()
    if "<" not in storage:
        width = int(storage.lstrip("ui"))
        low, high = (0, 2**width - 1) if "u" in storage else (-(2 ** (width - 1)), 2 ** (width - 1) - 1)
        storage += f"<{low}:{high}>"

    def one(text):
        scale, _, point = text.partition(":")
        return f"{float(scale):.17g}:{point or 0}"

    if scales.startswith("{"):
        scales = "{" + ",".join(one(s) for s in scales.strip("{} ").split(",")) + "}"
    else:
        scales = one(scales)
    return f"<{storage}:{expressed}{axis or ''}, {scales}>"


# ---- Numbers ----


def finite(value):
    mantissa, mark, exponent = f"{value:.17g}".partition("e")
    return mantissa + ("" if "." in mantissa else ".0") + mark + exponent


def float_text(bits, kind):
    """Of the little-endian bytes of a number."""
    value = float(np.frombuffer(bits, FLOATS[kind])[0].astype(np.float64))
    return finite(value) if np.isfinite(value) else "0x" + bits[::-1].hex().upper()


def float_bits(text, kind):
    dtype = np.dtype(FLOATS[kind])
    if text.startswith("0x"):
        return int(text, 16).to_bytes(dtype.itemsize, "little")
    return np.array([float(text)], np.float64).astype(dtype).tobytes()


def float_attr(attr):
    kind = str(attr.type)
    text = str(attr).partition(" : ")[0]
    return f"{float_text(float_bits(text, kind), kind)} : {kind}"


# ---- Tensors ----


def bits_of(token, kind):
    """The bytes of an element from its text."""
    if kind.startswith("complex"):
        parts = token.strip("()").split(",")
        return b"".join(float_bits(p.strip(), kind[8:-1]) for p in parts)
    if kind in FLOATS:
        return float_bits(token, kind)
    if kind == "i1":
        return bytes([token == "true"])
    width = int(kind.lstrip("ui"))
    size = max(width // 8, 1)
    return (int(token) % 2 ** (8 * size)).to_bytes(size, "little")


def element_text(bits, kind):
    if kind.startswith("complex"):
        half = len(bits) // 2
        return f"({float_text(bits[:half], kind[8:-1])}, {float_text(bits[half:], kind[8:-1])})"
    if kind in FLOATS:
        return float_text(bits, kind)
    if kind == "i1":
        return "true" if bits[0] else "false"
    return str(int.from_bytes(bits, "little", signed=not kind.startswith("u")))


def nested(elements, dims):
    if not dims:
        return elements.pop(0)
    return "[" + ", ".join(nested(elements, dims[1:]) for _ in range(dims[0])) + "]"


def hashed(data):
    h = 0xCBF29CE484222325
    mask = 2**64 - 1
    for byte in data:
        h = (h ^ byte) * 0x100000001B3 & mask
    return mix(h)


def mix(h):
    mask = 2**64 - 1
    h ^= h >> 33
    h = h * 0xFF51AFD7ED558CCD & mask
    h ^= h >> 33
    h = h * 0xC4CEB9FE1A85EC53 & mask
    return h ^ h >> 33


def split(shape):
    """["2", "3", "f32"] of "2x3xf32"."""
    return re.match(r"((?:\d+x)*)(.*)", shape)[1].split("x")[:-1] + [re.sub(r"^(\d+x)*", "", shape)]


def tensor_of(attr):
    """Dimensions, element type, and the bytes of each element, or of the one that all are."""
    text = str(attr)
    if text.startswith("array<"):
        kind, _, rest = text[6:-1].partition(":")
        tokens = [t.strip() for t in rest.split(",") if t.strip()]
        return [len(tokens)], kind, [bits_of(t, kind) for t in tokens]
    body, _, shape = text[text.index("<") + 1 : -1].rpartition("> : tensor<")
    *dims, kind = split(shape)
    dims, kind = [int(d) for d in dims], "i64" if kind == "index" else kind
    if body.startswith('"0x'):
        data = bytes.fromhex(body.strip('"')[2:])
        size = len(bits_of("0" if kind != "i1" else "true", kind))
        return dims, kind, [data[i : i + size] for i in range(0, len(data), size)]
    tokens = re.findall(r"\([^)]*\)|[^\[\], ]+", body)
    elements = [bits_of(t, kind) for t in tokens]
    if len(elements) == 1 and np.prod(dims) <= 64:
        elements *= int(np.prod(dims))
    return dims, kind, elements


def dense_text(name, attr):
    dims, kind, elements = tensor_of(attr)
    rank = 2 if name == "padding" else 1
    few = len(elements) == int(np.prod(dims))
    if name != "value" and len(dims) == rank and kind in ("i64", "i1") and few:
        inner = ", ".join(element_text(e, kind) for e in elements)
        return f"array<{kind}{': ' if elements else ''}{inner}>"
    shape = "x".join([str(d) for d in dims] + [kind])
    data = b"".join(elements)
    if not elements:
        inner = ""
    elif all(e == elements[0] for e in elements):
        inner = element_text(elements[0], kind)
    elif len(data) > LONGEST_CONSTANT:
        inner = f"{len(data)} bytes of hash {hashed(data):016x}"
    else:
        inner = nested([element_text(e, kind) for e in elements], dims)
    return f"dense<{inner}> : tensor<{shape}>"


# ---- Attributes ----


def quoted(data):
    out = ""
    for byte in data:
        if byte in b'"\\':
            out += "\\" + chr(byte)
        else:
            out += chr(byte) if 32 <= byte < 127 else f"\\{byte:02X}"
    return f'"{out}"'


def name_text(name):
    return name if re.fullmatch(r"[A-Za-z_.$][\w.$]*", name, re.ASCII) else quoted(name.encode())


def ints(values):
    return "[" + ", ".join(str(v) for v in values) + "]"


def list_text(name, values):
    values = list(values)
    if values and all(str(v).endswith(" : i64") and is_a(v, ir.IntegerAttr) for v in values):
        return array(ir.IntegerAttr(v).value for v in values)
    if values and all(str(v) in ("true", "false") for v in values):
        return f"array<i1: {', '.join(map(str, values))}>"
    return "[" + ", ".join(attr_text(name, v) for v in values) + "]"


def fields(kind, **values):
    return f"#{kind}<" + ", ".join(f"{k} = {v}" for k, v in values.items() if v not in (None, "[]")) + ">"


def sub_axis(prefix, info):
    if info is None:
        return None
    info = (sdy if prefix == "sdy" else stablehlo).SubAxisInfoAttr(info)
    return fields(f"{prefix}.sub_axis_info", pre_size=info.pre_size, size=info.size)


def axis_text(prefix, axis):
    return fields(
        f"{prefix}.axis_ref",
        name=quoted(axis.name.encode()),
        sub_axis_info=sub_axis(prefix, axis.sub_axis_info),
    )


def joined(texts):
    return "[" + ", ".join(texts) + "]"


def sdy_mesh(mesh):
    axes = [
        fields("sdy.mesh_axis", name=quoted(a.name.encode()), size=a.size)
        for a in map(sdy.MeshAxisAttr, mesh.axes)
    ]
    return fields("sdy.mesh", axes=joined(axes), device_ids=ints(mesh.device_ids))


def sdy_axes(axes):
    return joined(axis_text("sdy", sdy.AxisRefAttr(a)) for a in axes)


def sdy_dimension(dim):
    return fields(
        "sdy.dimension_sharding",
        axes=sdy_axes(dim.axes),
        is_closed="true" if dim.is_closed else "false",
        priority=dim.priority,
    )


def sdy_sharding(sharding):
    mesh = sharding.mesh_or_ref
    dims = [sdy_dimension(sdy.DimensionShardingAttr(d)) for d in sharding.dimension_shardings]
    values = {
        "mesh_or_ref": sdy_mesh(sdy.MeshAttr(mesh))
        if is_a(mesh, sdy.MeshAttr)
        else attr_text("", mesh),
        "dim_shardings": joined(dims),
        "replicated_axes": sdy_axes(sharding.replicated_axes),
        "unreduced_axes": sdy_axes(sharding.unreduced_axes),
    }
    return fields("sdy.sharding", **values)


def structure(attr):
    """Attributes of StableHLO and Shardy with parts; None: it is another one."""
    if is_a(attr, stablehlo.ResultAccuracyAttr):
        a = stablehlo.ResultAccuracyAttr(attr)
        mode = re.search(r"mode = (.*)>", str(a))
        word = re.search(r"DEFAULT|HIGHEST|TOLERANCE", mode[1] if mode else "DEFAULT")[0]
        return fields(
            "stablehlo.result_accuracy",
            atol=f"{finite(a.atol)} : f64" if a.atol else None,
            rtol=f"{finite(a.rtol)} : f64" if a.rtol else None,
            ulps=a.ulps or None,
            mode=f"#stablehlo<result_accuracy_mode {word}>",
        )
    if is_a(attr, stablehlo.OutputOperandAlias):
        a = stablehlo.OutputOperandAlias(attr)
        return fields(
            "stablehlo.output_operand_alias",
            output_tuple_indices=ints(a.output_tuple_indices),
            operand_index=a.operand_index,
            operand_tuple_indices=ints(a.operand_tuple_indices),
        )
    if is_a(attr, stablehlo.ReplicaGroupMeshAxesAttr):
        a = stablehlo.ReplicaGroupMeshAxesAttr(attr)
        axes = [axis_text("stablehlo", stablehlo.AxisRefAttr(x)) for x in a.axes]
        return fields("stablehlo.replica_group_mesh_axes", mesh=attr_text("", a.mesh), axes=joined(axes))
    if is_a(attr, sdy.TensorShardingAttr):
        return sdy_sharding(sdy.TensorShardingAttr(attr))
    if is_a(attr, sdy.TensorShardingPerValueAttr):
        shardings = sdy.TensorShardingPerValueAttr(attr).shardings
        return joined(sdy_sharding(sdy.TensorShardingAttr(s)) for s in shardings)
    if is_a(attr, sdy.ManualAxesAttr):
        axes = (a if isinstance(a, str) else a.value for a in sdy.ManualAxesAttr(attr))
        return joined(quoted(a.encode()) for a in axes)
    if is_a(attr, sdy.MeshAttr):
        return sdy_mesh(sdy.MeshAttr(attr))
    return None


ENUMS = r"#stablehlo<(comparison_direction|comparison_type|fft_type|precision|rng_algorithm|rng_distribution|transpose) (\w+)>"


ENUM_NAMES = {"compare_type": "comparison_type", "precision_config": "precision", "transpose_a": "transpose"}


def attr_text(name, attr):
    text = str(attr)
    if text.startswith("dense_resource<"):
        data, shape = RESOURCES[text[15:].partition(">")[0]], text.partition(" : ")[2]
        return dense_text(name, f'dense<"0x{data[8:]}"> : {shape}')
    if text.startswith("dense<") or text.startswith("array<"):
        if re.search(r"vector<", text):
            return "#unknown"
        return dense_text(name, attr)
    if text == "unit":
        return "unit"
    if text in ("true", "false"):
        return text
    if is_a(attr, ir.IntegerAttr):
        kind = type_text(attr.type)
        return f"{ir.IntegerAttr(attr).value} : {kind}" if kind != "i128" else "#unknown"
    if is_a(attr, ir.FloatAttr):
        return float_attr(attr)
    if is_a(attr, ir.StringAttr):
        return quoted(ir.StringAttr(attr).value_bytes)
    if is_a(attr, ir.FlatSymbolRefAttr):
        return "@" + name_text(ir.FlatSymbolRefAttr(attr).value)
    if is_a(attr, ir.SymbolRefAttr):
        return "@" + name_text("::".join(ir.SymbolRefAttr(attr).value))
    if is_a(attr, ir.ArrayAttr):
        return list_text(name, ir.ArrayAttr(attr))
    if is_a(attr, ir.DictAttr):
        return "{" + named_text([(a.name, a.attr) for a in ir.DictAttr(attr)]) + "}"
    if is_a(attr, ir.TypeAttr):
        return type_text(ir.TypeAttr(attr).value)
    keyword = re.fullmatch(ENUMS, text)
    if keyword:
        return f"#stablehlo<{ENUM_NAMES.get(name, name)} {keyword[2]}>"
    return structure(attr) or "#unknown"


def named_text(pairs):
    parts = []
    for name, attr in pairs:
        unit = str(attr) == "unit"
        parts.append(name_text(name) + ("" if unit else f" = {attr_text(name, attr)}"))
    return ", ".join(parts)


# ---- Operations: attributes as VHLO has them ----


def i64(value):
    return f"{value} : i64"


def array(values):
    values = list(values)
    return f"array<i64{': ' if values else ''}{', '.join(map(str, values))}>"


def numbers(attr, names, rename={}):
    """The members of StableHLO's structures of dimension numbers."""
    out = {}
    for name in names.split():
        value = getattr(attr, name)
        out[rename.get(name, name)] = i64(value) if isinstance(value, int) else array(value)
    return out


def conv_numbers(attr):
    names = """input_batch_dimension input_feature_dimension input_spatial_dimensions
        kernel_input_feature_dimension kernel_output_feature_dimension kernel_spatial_dimensions
        output_batch_dimension output_feature_dimension output_spatial_dimensions"""
    return numbers(stablehlo.ConvDimensionNumbers(attr), names)


def algorithm(attr):
    a = stablehlo.DotAlgorithm(attr)
    types = ["lhs_precision_type", "rhs_precision_type", "accumulation_type"]
    counts = ["lhs_component_count", "rhs_component_count", "num_primitive_operations"]
    out = {n: type_text(getattr(a, n)) for n in types}
    out |= {n: i64(getattr(a, n)) for n in counts}
    out["allow_imprecise_accumulation"] = "true" if a.allow_imprecise_accumulation else "false"
    return out


def flat(op, name, attr):
    """What an attribute of StableHLO is in VHLO: texts by name."""
    if is_a(attr, stablehlo.GatherDimensionNumbers):
        names = """collapsed_slice_dims index_vector_dim offset_dims operand_batching_dims
            start_index_map start_indices_batching_dims"""
        return numbers(stablehlo.GatherDimensionNumbers(attr), names)
    if is_a(attr, stablehlo.ScatterDimensionNumbers):
        names = """index_vector_dim input_batching_dims inserted_window_dims
            scatter_indices_batching_dims scattered_dims_to_operand_dims update_window_dims"""
        rename = {"scattered_dims_to_operand_dims": "scatter_dims_to_operand_dims"}
        return numbers(stablehlo.ScatterDimensionNumbers(attr), names, rename)
    if is_a(attr, stablehlo.DotDimensionNumbers):
        names = """lhs_batching_dimensions lhs_contracting_dimensions rhs_batching_dimensions
            rhs_contracting_dimensions"""
        return numbers(stablehlo.DotDimensionNumbers(attr), names)
    if is_a(attr, stablehlo.ConvDimensionNumbers):
        return conv_numbers(attr)
    if is_a(attr, stablehlo.DotAlgorithm):
        return algorithm(attr)
    if is_a(attr, stablehlo.ChannelHandle):
        a = stablehlo.ChannelHandle(attr)
        out = {"channel_id": i64(a.handle)}
        if op in ("stablehlo.send", "stablehlo.recv"):
            out["channel_type"] = i64(a.channel_type)
        return out
    if str(attr) == "unit" and name in ("use_global_device_ids", "has_dynamic_root"):
        return {name: "true"}
    if op == "stablehlo.custom_call" and name == "call_target_name":
        return {name: quoted(ir.StringAttr(attr).value_bytes)}
    return {name: None if str(attr) == "unit" else attr_text(name, attr)}


def is_default(op, name, text):
    if op == "stablehlo.sort" and name == "dimension":
        return text == "-1 : i64"
    form = FORM.get(name)
    if form is None or text is None:
        return False
    values = re.findall(r"-?\b\d+\b|\btrue\b|\bfalse\b", re.sub(r"\b(array<i1|array<i64|: tensor<.*|: i64|: i32)", "", text))
    number = not re.search(r'["{@#]', text)
    if form == EMPTY:
        return text in ('""', "[]", "{}", "array<i64>", "array<i1>") or bool(re.fullmatch(r"\[\{\}(, \{\})*\]|dense<> : .*", text))
    if form == ZERO:
        return number and all(v in ("0", "false") for v in values)
    if form == ONE:
        return number and all(v == "1" for v in values)
    if form == WORD:
        return set(re.findall(r"#stablehlo<\w+ (\w+)>", text)) <= {"DEFAULT", "NOTYPE"}
    return "result_accuracy_mode DEFAULT" in text


def attrs_text(op):
    texts = {}
    if op.name == "stablehlo.constant":  # complex elements have no class in Python
        text = op.get_asm(print_generic_op_form=True, large_elements_limit=None)
        texts["value"] = dense_text("value", re.search(r"dense<.*> : tensor<.*>(?=}> : \(\))", text)[0])
    else:
        for name in op.attributes:
            texts |= flat(op.name, name, op.attributes[name])
    texts = {n: t for n, t in texts.items() if not is_default(op.name, n, t)}
    if not texts:
        return ""
    parts = [name_text(n) + ("" if t is None else f" = {t}") for n, t in sorted(texts.items())]
    return " {" + ", ".join(parts) + "}"


# ---- Programs ----


class Printer:
    def __init__(self):
        self.lines = []
        self.numbers = {}

    def define(self, value):
        self.numbers[value] = len(self.numbers)
        return f"%{self.numbers[value]}"

    def region(self, region, depth):
        text = "{\n"
        for block in region.blocks:
            if len(block.arguments):
                args = ", ".join(f"{self.define(a)}: {type_text(a.type)}" for a in block.arguments)
                text += "  " * depth + f"^bb0({args}):\n"
            for op in block.operations:
                text += self.op(op.operation, depth + 1)
        return text + "  " * depth + "}"

    def op(self, op, depth):
        text = "  " * depth
        if len(op.results):
            text += ", ".join(self.define(r) for r in op.results) + " = "
        operands = ", ".join(f"%{self.numbers[o]}" for o in op.operands)
        text += f'"{op.name}"({operands})'
        if len(op.regions):
            text += " (" + ", ".join(self.region(r, depth) for r in op.regions) + ")"
        inputs = types_text(o.type for o in op.operands)
        outputs = types_text(r.type for r in op.results)
        if len(op.results) != 1:
            outputs = f"({outputs})"
        return text + attrs_text(op) + f" : ({inputs}) -> {outputs}\n"


def program(module):
    RESOURCES.update(re.findall(r'(\w+): "0x(\w+)"', str(module)))
    return Printer().op(module.operation, 0)
