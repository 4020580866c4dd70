# SPDX-License-Identifier: Apache-2.0
"""convolution: windows, dilations, groups, dimension labels.

As for dot most operands are small whole numbers without zeros, so that sums are exact in any order, the
bound is 0, and an error of indexing cannot hide in a tolerance."""

import jax
import jax.numpy as jnp
import numpy as np

from recorder import values
from recorder.program import Program
from recorder.xla import COMPLEX, F8, FLOATS, INTS, Case, array, by_device, shape

F32 = ("f32",) * 3


def _default_labels(spatial):
    digits = "".join(map(str, range(spatial)))
    return f"bf{digits}", f"oi{digits}", f"bf{digits}"


def _window(size, stride=None, pad=None, lhs=None, rhs=None, reversal=None):
    """The attribute's text; what is left out is left out of it."""
    if not size:
        return ""
    fields = [f"size={'x'.join(map(str, size))}"]
    for name, numbers in (("stride", stride), ("lhs_dilate", lhs), ("rhs_dilate", rhs)):
        if numbers:
            fields.append(f"{name}={'x'.join(map(str, numbers))}")
    if pad:
        fields.append("pad=" + "x".join(f"{low}_{high}" for low, high in pad))
    if reversal:
        fields.append("rhs_reversal=" + "x".join(str(int(r)) for r in reversal))
    return f"window={{{' '.join(fields)}}}, "


def _extent(size, k, stride, pad, lhs, rhs):
    padded = sum(pad) + ((size - 1) * lhs + 1 if size else 0)
    reach = (k - 1) * rhs + 1
    return 0 if padded <= 0 or reach > padded else (padded - reach) // stride + 1


def _numbers(type_, dims, seed):
    r = values.random(seed)
    if type_ == "pred":
        return r.randint(0, 4, dims) == 0
    x = r.randint(1, 4, dims) if type_[0] == "u" else r.choice([-3, -2, -1, 1, 2, 3], dims)
    return x + 1j * r.choice([-2, -1, 1, 2], dims) if type_ in COMPLEX else x


def _conv(
    case,
    label,
    size,
    window,
    batch=2,
    features=3,
    outputs=4,
    types=F32,
    labels=None,
    groups=1,
    batch_groups=1,
    layouts=(None, None, None),
    operands=None,
    bound=0,
    reason="",
    **more,
):
    """`size`, `window`: of the image and of the kernel; `more`: the rest of the window."""
    spatial = len(size)
    labels = labels or _default_labels(spatial)
    extents = (
        {"b": batch, "f": features},
        {"i": features // groups, "o": outputs},
        {"b": batch // batch_groups, "f": outputs},
    )
    for d in range(spatial):
        k = {name: v[d] for name, v in more.items() if name != "reversal" and v}
        extents[0][str(d)], extents[1][str(d)] = size[d], window[d]
        extents[2][str(d)] = _extent(
            size[d],
            window[d],
            k.get("stride", 1),
            k.get("pad", (0, 0)),
            k.get("lhs", 1),
            k.get("rhs", 1),
        )
    dims = [[extents[side][c] for c in labels[side]] for side in range(3)]
    names = []
    for side in 0, 1:
        x = operands[side] if operands else _numbers(types[side], dims[side], len(case.lines))
        names.append(case.param(types[side], x, layouts[side]))
    attrs = f"{_window(window, **more)}dim_labels={labels[0]}_{labels[1]}->{labels[2]}"
    if groups != 1:
        attrs += f", feature_group_count={groups}"
    if batch_groups != 1:
        attrs += f", batch_group_count={batch_groups}"
    out = shape(types[2], dims[2], layouts[2])
    case.result(case.op(out, "convolution", *names, attrs=attrs), label, bound, reason)


def _type_cases():
    for suffix, part in by_device(["pred"] + INTS + F8 + ["f4e2m1fn"] + FLOATS + COMPLEX):
        case = Case("conv.types" + suffix)
        for type_ in part:
            same = {"types": (type_,) * 3}
            _conv(case, type_, (5,), (3,), labels=("b0f", "0io", "b0f"), **same)
            _conv(case, type_, (4, 3), (2, 2), pad=((1, 0), (0, 1)), features=2, **same)
            _conv(case, f"{type_}.groups", (4,), (2,), features=4, groups=2, lhs=(2,), **same)
        yield case
    case = Case("conv.preferred")
    for types in (
        ("s8", "s8", "s32"),
        ("u8", "u8", "u32"),
        ("s16", "s16", "s64"),
        ("s8", "s8", "s16"),
        ("s32", "s32", "s8"),
        ("s8", "s8", "f32"),
        ("pred", "pred", "s32"),
        ("bf16", "bf16", "f32"),
        ("f16", "f16", "f32"),
        ("f32", "f32", "bf16"),
        ("f32", "bf16", "f32"),
        ("f8e4m3fn", "f8e4m3fn", "f32"),
    ):
        _conv(case, ".".join(types), (6, 5), (3, 3), types=types, pad=((1, 1), (1, 1)))
    yield case


def _window_cases():
    case = Case("conv.windows")
    ones = ((1, 1), (1, 1))
    for label, size, window, more in (
        ("plain", (5, 6), (3, 2), {}),
        ("same", (5, 6), (3, 3), {"pad": ones}),
        ("stride", (7, 8), (3, 3), {"pad": ones, "stride": (2, 3)}),
        ("lhs", (4, 3), (3, 3), {"pad": ((2, 2), (1, 3)), "lhs": (2, 3)}),
        ("rhs", (9, 8), (3, 3), {"pad": ones, "rhs": (2, 3)}),
        ("all", (6, 5), (3, 2), {"pad": ones, "stride": (2, 1), "lhs": (3, 2), "rhs": (1, 2)}),
        ("crop", (6, 7), (3, 3), {"pad": ((-1, 0), (-2, -1))}),
        ("crop-dilated", (6, 5), (2, 3), {"pad": ((-1, 2), (1, -2)), "lhs": (2, 2)}),
        ("reversed", (5, 5), (3, 3), {"reversal": (True, False), "pad": ones}),
        ("reversed-both", (5, 5), (3, 2), {"reversal": (True, True), "rhs": (1, 2)}),
        ("only-padding", (2, 2), (2, 2), {"pad": ((5, 0), (0, 5))}),
        ("wide-padding", (1, 1), (3, 3), {"pad": ((4, 4), (4, 4)), "stride": (3, 2)}),
        ("kernel-of-image", (4, 5), (4, 5), {}),
        ("points", (4, 5), (1, 1), {}),
        ("points-stride", (5, 5), (1, 1), {"stride": (2, 2)}),
        ("points-padded", (4, 3), (1, 1), {"pad": ((1, 0), (0, 2))}),
        ("too-small", (2, 3), (3, 3), {}),
        ("1d", (9,), (4,), {"pad": ((2, 1),), "stride": (2,)}),
        ("3d", (4, 3, 5), (2, 3, 2), {"pad": ((1, 0), (1, 1), (0, 1)), "stride": (2, 1, 2)}),
        ("4d", (2, 3, 2, 3), (2, 2, 1, 2), {"pad": ((1, 0), (0, 0), (0, 0), (1, 1))}),
        ("0d", (), (), {}),
    ):
        _conv(case, label, size, window, **more)
    yield case
    case = Case("conv.empty")
    _conv(case, "batch", (4, 4), (2, 2), batch=0)
    _conv(case, "features", (4, 4), (2, 2), features=0)
    _conv(case, "outputs", (4, 4), (2, 2), outputs=0)
    _conv(case, "image", (0, 4), (2, 2), pad=((2, 2), (0, 0)))
    _conv(case, "image-cropped", (3, 4), (2, 2), pad=((-2, -1), (0, 0)))
    _conv(case, "0d", (), (), features=0)
    yield case


def _label_cases():
    case = Case("conv.labels")
    more = {"pad": ((1, 0), (0, 1)), "stride": (1, 2)}
    for labels in (
        ("b01f", "01io", "b01f"),
        ("bf01", "oi01", "bf01"),
        ("b01f", "01oi", "bf01"),
        ("bf01", "io01", "b01f"),
        ("f01b", "i01o", "01bf"),
        ("01bf", "o01i", "01fb"),
        ("0b1f", "0i1o", "f0b1"),
        ("1f0b", "o1i0", "1b0f"),
        ("fb10", "10oi", "10fb"),
    ):
        _conv(case, "_".join(labels), (5, 6), (3, 2), labels=labels, **more)
        _conv(case, "_".join(labels) + ".groups", (4, 6), (3, 2), features=4, labels=labels, groups=2)
        _conv(case, "_".join(labels) + ".batches", (4, 6), (2, 2), labels=labels, batch_groups=2)
    for labels in (("bf", "io", "bf"), ("fb", "oi", "fb"), ("bf", "oi", "fb")):
        _conv(case, "_".join(labels), (), (), labels=labels)
        _conv(case, "_".join(labels) + ".groups", (), (), features=4, labels=labels, groups=2)
        _conv(case, "_".join(labels) + ".batches", (), (), labels=labels, batch_groups=2)
    yield case
    case = Case("conv.layouts")
    last = {"labels": ("b01f", "01io", "b01f")}
    for label, layouts in (
        ("lhs", ((0, 1, 2, 3), None, None)),
        ("lhs-channels-first", ((2, 1, 3, 0), None, None)),
        ("rhs", (None, (2, 0, 1, 3), None)),
        ("result", (None, None, (1, 3, 2, 0))),
        ("all", ((2, 1, 3, 0), (0, 2, 1, 3), (2, 1, 3, 0))),
    ):
        _conv(case, label, (4, 5), (3, 2), layouts=layouts, pad=((1, 1), (0, 0)), **last)
    yield case


def _group_cases():
    case = Case("conv.groups")
    last = {"labels": ("b01f", "01io", "b01f")}
    same = {"pad": ((1, 1), (1, 1))}
    for label, numbers in (
        ("two", {"features": 4, "groups": 2}),
        ("three", {"features": 6, "outputs": 3, "groups": 3}),
        ("depthwise", {"features": 5, "outputs": 5, "groups": 5}),
        ("depthwise-twice", {"features": 3, "outputs": 6, "groups": 3}),
        ("depthwise-one", {"features": 1, "outputs": 3, "groups": 1}),
        ("batches", {"batch": 4, "batch_groups": 2}),
        ("batches-all", {"batch": 4, "batch_groups": 4}),
        ("batches-outputs", {"batch": 6, "outputs": 6, "batch_groups": 3}),
    ):
        _conv(case, label, (5, 4), (3, 3), **numbers, **same)
        _conv(case, label + ".last", (5, 4), (3, 3), **numbers, **same, **last)
        _conv(case, label + ".stride", (7, 5), (3, 2), stride=(2, 2), **numbers, **last)
    yield case


def _size_cases():
    """Large enough for whole blocks and panels of every kernel, and their rims."""
    case = Case("conv.sizes")
    last = {"labels": ("b01f", "01io", "b01f")}
    same = {"pad": ((1, 1), (1, 1))}
    for label, size, window, numbers in (
        ("one-panel", (9, 7), (3, 3), {"features": 16, "outputs": 64, **same, **last}),
        ("rim", (9, 7), (3, 3), {"features": 5, "outputs": 70, **same, **last}),
        ("narrow", (9, 8), (3, 3), {"features": 33, "outputs": 10, **same, **last}),
        ("first", (8, 9), (3, 3), {"features": 9, "outputs": 40, **same}),
        ("image", (24, 23), (7, 7), {"outputs": 20, "stride": (2, 2), "pad": ((3, 3), (3, 2)), **last}),
        ("grouped", (6, 7), (3, 3), {"features": 36, "outputs": 70, "groups": 2, **same, **last}),
        ("depthwise", (9, 21), (3, 3), {"features": 40, "outputs": 40, "groups": 40, **same, **last}),
        ("depthwise-first", (9, 21), (3, 3), {"features": 9, "outputs": 9, "groups": 9, **same}),
        ("points", (7, 9), (1, 1), {"features": 40, "outputs": 70, **last}),
        ("line", (150,), (5,), {"features": 8, "outputs": 20, "labels": ("b0f", "0io", "b0f")}),
    ):
        _conv(case, label, size, window, **numbers)
    # the gradients of such: by the image, as jax writes it (a dilated base, the kernel reversed), and by
    # the kernel (batch and features exchanged)
    backward = {"labels": ("b01f", "01oi", "b01f"), "reversal": (True, True)}
    _conv(case, "by-image", (9, 7), (3, 3), features=24, outputs=16, **same, **backward)
    wide = {"pad": ((1, 2), (1, 2)), "lhs": (2, 2)}
    _conv(case, "by-image-strided", (5, 7), (3, 3), features=20, outputs=18, **wide, **backward)
    swapped = ("f01b", "i01o", "01bf")
    _conv(case, "by-kernel", (9, 8), (9, 8), batch=16, features=3, outputs=24, labels=swapped, **same)
    strided = {"pad": ((1, 0), (1, 0)), "rhs": (2, 2)}
    _conv(case, "by-kernel-strided", (10, 8), (5, 4), batch=9, outputs=70, labels=swapped, **strided)
    _conv(case, "by-kernel-long", (20, 30), (20, 30), batch=3, features=8, outputs=20, labels=swapped, **same)
    _conv(case, "batch-groups", (6, 7), (3, 3), batch=20, outputs=20, batch_groups=20, **same, **last)
    yield case
    case = Case("conv.sizes.types")
    for types in (("s8", "s8", "s32"), ("s32",) * 3, ("bf16",) * 3, ("f16", "f16", "f32")):
        more = {"types": types, **same, **last}
        _conv(case, types[0], (7, 6), (3, 3), features=8, outputs=36, **more)
        _conv(case, f"{types[0]}.depthwise", (7, 6), (3, 3), features=20, outputs=20, groups=20, **more)
    yield case


def _holes_cases():
    """Dilated images by phases: kernels shorter than the holes, as long, and longer, by a multiple or not; places of the result that
    not all phases have; vectors of results, and single ones; with something behind it."""
    for name, labels in ("last", ("b01f", "01io", "b01f")), ("first", ("bf01", "oi01", "bf01")):
        case = Case(f"conv.holes.{name}")
        for label, size, window, more in (
            ("shorter", (4, 3), (2, 3), {"lhs": (3, 5), "pad": ((1, 2), (2, 2))}),
            ("equal", (4, 3), (3, 2), {"lhs": (3, 2), "pad": ((2, 2), (1, 1))}),
            ("double", (4, 5), (4, 6), {"lhs": (2, 3), "pad": ((3, 3), (5, 5))}),
            ("longer", (3, 4), (5, 7), {"lhs": (2, 3), "pad": ((2, 1), (4, 3))}),
            ("cropped", (6, 5), (3, 4), {"lhs": (2, 4), "pad": ((-2, -1), (-3, 2))}),
            ("reversed", (4, 3), (3, 5), {"lhs": (2, 3), "pad": ((1, 2), (0, 3)), "reversal": (True, False)}),
            ("some", (4, 5), (4, 3), {"lhs": (2, 2), "pad": ((2, 2), (1, 1)), "stride": (1, 2)}),
            ("one-dimension", (4, 5), (4, 3), {"lhs": (4, 1), "pad": ((3, 3), (1, 1))}),
            ("many", (2, 3), (12, 9), {"lhs": (11, 9), "pad": ((3, 3), (1, 1))}),
        ):
            _conv(case, label, size, window, features=5, outputs=32, labels=labels, **more)
        wide = {"lhs": (2, 2), "pad": ((1, 2), (2, 1)), "labels": labels}
        _conv(case, "groups", (4, 3), (3, 4), features=8, outputs=32, groups=2, **wide)
        _conv(case, "batch-groups", (4, 3), (3, 4), batch=4, features=3, outputs=32, batch_groups=2, **wide)
        _conv(case, "rim", (4, 3), (3, 4), features=3, outputs=37, **wide)
        _conv(case, "integers", (4, 3), (3, 4), features=3, outputs=32, types=("s8", "s8", "s32"), **wide)
        yield case


def _random_cases():
    r = values.random(2026)
    for part, types in enumerate((F32, ("s32",) * 3, F32)):
        case = Case(f"conv.random{part}")
        for i in range(30):
            spatial = int(r.choice([0, 1, 2, 2, 3]))
            pick = lambda *options: [int(r.choice(options)) for _ in range(spatial)]
            window = pick(1, 2, 3)
            more = {
                "stride": pick(1, 1, 2, 3),
                "lhs": pick(1, 1, 1, 2, 3),
                "rhs": pick(1, 1, 1, 2),
                "pad": list(zip(pick(-2, -1, 0, 0, 1, 3), pick(-1, 0, 0, 1, 2))),
                "reversal": [bool(v) for v in pick(0, 0, 1)],
            }
            groups = int(r.choice([1, 1, 2, 3]))
            batch_groups = int(r.choice([1, 2, 3])) if groups == 1 else 1
            labels = []
            for kinds in ("bf", "io", "bf"):
                letters = list(kinds) + [str(d) for d in range(spatial)]
                labels.append("".join(r.permutation(letters)))
            _conv(
                case,
                str(i),
                pick(1, 3, 4, 6, 7),
                window,
                batch=batch_groups * int(r.choice([1, 2])),
                features=groups * int(r.choice([1, 2, 3])),
                outputs=groups * batch_groups * int(r.choice([1, 2, 5])),
                types=types,
                labels=tuple(labels),
                groups=groups,
                batch_groups=batch_groups,
                **{k: v for k, v in more.items() if v and r.randint(3)},
            )
        yield case


def _rounded_cases():
    reason = "108 positive terms added in any order, products rounded or fused"
    for suffix, part in by_device(FLOATS):
        case = Case("conv.rounded" + suffix)
        for type_ in part:
            r = values.random(9)
            operands = [
                array(type_, r.uniform(0.5, 1.5, d)) for d in ((1, 6, 5, 12), (3, 3, 12, 10))
            ]
            wide = type_ in ("f32", "f64")
            _conv(
                case,
                type_,
                (6, 5),
                (3, 3),
                batch=1,
                features=12,
                outputs=10,
                types=(type_,) * 3,
                labels=("b01f", "01io", "b01f"),
                operands=operands,
                bound=32 if wide else 1,
                reason=reason if wide else "added up in f32, rounded once",
            )
        yield case
    case = Case("conv.special")
    nan, inf = np.nan, np.inf
    image = np.array([1, nan, 2, 3, inf, 1, -inf, 5, 6, 7, 2, inf]).reshape(1, 12, 1)
    kernel = np.array([1, 2, 1, 1, -1, 1]).reshape(3, 1, 2)
    last = {"batch": 1, "features": 1, "outputs": 2, "labels": ("b0f", "0io", "b0f")}
    _conv(case, "image", (12,), (3,), operands=(image, kernel), **last)
    _conv(case, "padded", (12,), (3,), operands=(image, kernel), pad=((2, 2),), **last)
    yield case


def _fused_cases():
    """With operations in front and behind."""
    case = Case("conv.fused")
    x = case.param("f32", _numbers("f32", (2, 6, 7, 5), 1))
    k = case.param("f32", _numbers("f32", (3, 3, 5, 8), 2))
    bias = case.param("f32", _numbers("f32", (8,), 3))
    attrs = "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f"
    out = shape("f32", (2, 6, 7, 8))
    zero = case.constant("f32[]", "0")
    zeros = case.op(out, "broadcast", zero, attrs="dimensions={}")
    wide = case.op(out, "broadcast", bias, attrs="dimensions={3}")
    plain = case.op(out, "convolution", x, k, attrs=attrs)
    case.result(case.op(out, "maximum", case.op(out, "add", plain, wide), zeros), "bias-relu")
    negative = case.op(shape("f32", (2, 6, 7, 5)), "negate", x)
    doubled = case.op(shape("f32", (3, 3, 5, 8)), "add", k, k)
    case.result(case.op(out, "convolution", negative, doubled, attrs=attrs), "in-front")
    itself = case.op(shape("f32", (3, 3, 5, 5)), "slice", k, attrs="slice={[0:3],[0:3],[0:5],[0:5]}")
    square = case.op(shape("f32", (2, 6, 7, 5)), "convolution", x, itself, attrs=attrs)
    case.result(case.op(shape("f32", (2, 6, 7, 5)), "multiply", square, x), "behind")
    turned = case.op(shape("f32", (2, 5, 6, 7)), "transpose", x, attrs="dimensions={0,3,1,2}")
    back = case.op(shape("f32", (3, 3, 5, 8)), "reverse", k, attrs="dimensions={0}")
    first = attrs.replace("b01f_01io->b01f", "bf01_01io->bf01")
    result = case.op(shape("f32", (2, 8, 6, 7)), "convolution", turned, back, attrs=first)
    case.result(case.op(out, "transpose", result, attrs="dimensions={0,2,3,1}"), "turned")
    pads = case.op(shape("f32", (2, 7, 8, 5)), "pad", x, zero, attrs="padding=0_0x1_0x0_1x0_0")
    wide_out = shape("f32", (2, 7, 8, 8))
    case.result(case.op(wide_out, "convolution", pads, k, attrs=attrs), "padded")
    holes = "window={size=3x3 pad=1_2x2_1 lhs_dilate=2x3}, dim_labels=b01f_01io->b01f"
    large = shape("f32", (2, 12, 20, 8))
    there = case.param("f32", _numbers("f32", (2, 12, 20, 8), 5))
    apart = case.op(large, "convolution", negative, doubled, attrs=holes)
    around = case.op(large, "add", case.op(large, "multiply", apart, there), case.op(large, "broadcast", bias, attrs="dimensions={3}"))
    case.result(around, "holes")
    one = case.constant("f32[1,1]{1,0}", "{{3}}")
    case.result(case.op("f32[1,1]{1,0}", "convolution", one, one, attrs="dim_labels=bf_io->bf"), "constants")
    yield case


def _network(numbers):
    """Convolutions with padding, strides, groups and windows of one element, bias, relu and sums over windows; as
    whole numbers all of it, its gradients too, is exact."""
    first = numbers[0][1] == "C"
    image = (2, 3) if first else (1, 2)
    channels = 1 if first else 3

    def layer(x, w, b, stride, groups=1):
        y = jax.lax.conv_general_dilated(
            x, w, (stride, stride), "SAME", dimension_numbers=numbers, feature_group_count=groups
        )
        return jax.nn.relu(y + jnp.expand_dims(b, [d for d in range(4) if d != channels]))

    def loss(p, x, r):
        x = layer(x, p["w1"], p["b1"], 1)
        window = tuple(2 if d in image else 1 for d in range(4))
        x = jax.lax.reduce_window(x, 0.0, jax.lax.add, window, window, "VALID")
        x = layer(x, p["w2"], p["b2"], 2)
        x = layer(x, p["w3"], p["b3"], 1, 16)
        return (layer(x, p["w4"], p["b4"], 1) * r).sum()

    return loss


def _program_cases():
    r = values.random(5)
    pick = lambda *dims: r.choice([-1.0, 1.0], dims).astype(np.float32)
    for name, numbers in (("last", ("NHWC", "HWIO", "NHWC")), ("first", ("NCHW", "OIHW", "NCHW"))):
        turn = lambda a, to: np.transpose(a, ["NHWC".index(c) for c in to])
        kernel = lambda a, to: np.transpose(a, ["HWIO".index(c) for c in to])
        params = {
            "w1": kernel(pick(3, 3, 3, 8), numbers[1]),
            "w2": kernel(pick(3, 3, 8, 16), numbers[1]),
            "w3": kernel(pick(3, 3, 1, 16), numbers[1]),
            "w4": kernel(pick(1, 1, 16, 4), numbers[1]),
            **{f"b{i}": pick(n) for i, n in ((1, 8), (2, 16), (3, 16), (4, 4))},
        }
        x = turn(r.randint(-2, 3, (2, 8, 8, 3)).astype(np.float32), numbers[0])
        out = turn(pick(2, 2, 2, 4), numbers[0])
        step = jax.value_and_grad(_network(numbers), argnums=(0, 1))
        yield Program(f"conv.network-{name}", step, (params, x, out))


def cases():
    yield from _type_cases()
    yield from _window_cases()
    yield from _label_cases()
    yield from _group_cases()
    yield from _size_cases()
    yield from _holes_cases()
    yield from _random_cases()
    yield from _rounded_cases()
    yield from _fused_cases()
    yield from _program_cases()
