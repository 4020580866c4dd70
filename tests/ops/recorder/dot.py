# SPDX-License-Identifier: Apache-2.0
"""dot and dot-general.

Most operands are small whole numbers, whose products and sums are exact in any order and in every
type; so the bound is 0 and an error of indexing cannot hide in a tolerance."""

import numpy as np

from recorder import values
from recorder.xla import COMPLEX, FLOATS, INTS, Case, array, by_device, shape


def _list(numbers):
    return "{" + ",".join(map(str, numbers)) + "}"


def _dot(
    case,
    label,
    types,
    dims,
    batch=((), ()),
    contract=((1,), (0,)),
    bound=0,
    reason="",
    operands=None,
    layouts=(None, None),
    out_layout=None,
    low=-3,
    high=4,
):
    """types: lhs, rhs, result; dims: of lhs and rhs."""
    r = values.random(len(case.lines))
    names = []
    for k in 0, 1:
        lowest = 0 if types[k][0] == "u" or types[k] == "pred" else low
        x = (
            operands[k]
            if operands
            else r.randint(lowest, high if types[k] != "pred" else 2, dims[k])
        )
        if types[k] in FLOATS and not operands:
            x = np.where(x == 0, high, x)  # without zeros: the sign of a zero product is anyone's
        if types[k] in COMPLEX and not operands:
            x = x + 1j * r.randint(low, high, dims[k])
        names.append(case.param(types[k], x, layouts[k]))
    out = [dims[0][i] for i in batch[0]]
    out += [d for i, d in enumerate(dims[0]) if i not in batch[0] + contract[0]]
    out += [d for i, d in enumerate(dims[1]) if i not in batch[1] + contract[1]]
    attrs = []
    for name, numbers in (
        ("lhs_batch_dims", batch[0]),
        ("lhs_contracting_dims", contract[0]),
        ("rhs_batch_dims", batch[1]),
        ("rhs_contracting_dims", contract[1]),
    ):
        if numbers or "contracting" in name:
            attrs.append(f"{name}={_list(numbers)}")
    case.result(
        case.op(shape(types[2], out, out_layout), "dot", *names, attrs=", ".join(attrs)),
        label,
        bound,
        reason,
    )


def _type_cases():
    for suffix, part in by_device(INTS + FLOATS + COMPLEX):
        case = Case("dot.types" + suffix)
        for type_ in part:
            for dims in ((3, 4), (4, 5)), ((4,), (4,)), ((3, 4), (4,)), ((17, 33), (33, 9)):
                _dot(case, type_, (type_,) * 3, dims, contract=((len(dims[0]) - 1,), (0,)))
        yield case
    case = Case("dot.preferred")
    for types in (
        ("s8", "s8", "s32"),
        ("u8", "u8", "u32"),
        ("s16", "s16", "s32"),
        ("bf16", "bf16", "f32"),
        ("f16", "f16", "f32"),
    ):
        _dot(
            case,
            f"{types[0]}.{types[2]}",
            types,
            ((5, 70), (70, 6)),
            low=-100 if types[0] == "s8" else -3,
            high=100 if types[0] in ("s8", "u8") else 4,
        )
    yield case
    # Numbers of terms that are odd, or more than are added up on their own; either operand turned over.
    case = Case("dot.bf16")
    for result in "bf16", "f32":
        for label, dims, contract in (
            ("odd", ((37, 65), (65, 70)), (1, 0)),
            ("long", ((20, 513), (513, 66)), (1, 0)),
            ("nt", ((33, 301), (70, 301)), (1, 1)),
            ("tn", ((40, 33), (40, 130)), (0, 0)),
        ):
            contracted = (contract[:1], contract[1:])
            _dot(case, f"{label}.{result}", ("bf16", "bf16", result), dims, contract=contracted)
    yield case


def _shape_cases():
    case = Case("dot.shapes")
    f32 = ("f32",) * 3
    for label, dims, batch, contract in (
        ("vector-vector", ((5,), (5,)), ((), ()), ((0,), (0,))),
        ("matrix-vector", ((4, 5), (5,)), ((), ()), ((1,), (0,))),
        ("vector-matrix", ((5,), (5, 4)), ((), ()), ((0,), (0,))),
        ("tn", ((5, 4), (5, 3)), ((), ()), ((0,), (0,))),
        ("nt", ((4, 5), (3, 5)), ((), ()), ((1,), (1,))),
        ("tt", ((5, 4), (3, 5)), ((), ()), ((0,), (1,))),
        ("batch", ((2, 3, 4), (2, 4, 5)), ((0,), (0,)), ((2,), (1,))),
        ("batch-middle", ((3, 2, 4), (4, 2, 5)), ((1,), (1,)), ((2,), (0,))),
        ("batch-last", ((3, 4, 2), (4, 5, 2)), ((2,), (2,)), ((1,), (0,))),
        ("batch-mixed", ((3, 4, 2), (2, 5, 4)), ((2,), (0,)), ((1,), (2,))),
        ("two-batches", ((2, 3, 4, 5), (2, 3, 5, 2)), ((0, 1), (0, 1)), ((3,), (2,))),
        ("two-batches-crossed", ((2, 3, 4, 5), (3, 5, 2, 2)), ((0, 1), (2, 0)), ((3,), (1,))),
        ("two-contracted", ((2, 3, 4), (3, 4, 5)), ((), ()), ((1, 2), (0, 1))),
        ("two-contracted-crossed", ((2, 3, 4), (4, 5, 3)), ((), ()), ((1, 2), (2, 0))),
        ("outer", ((3,), (4,)), ((), ()), ((), ())),
        ("outer-batch", ((2, 3), (2, 4)), ((0,), (0,)), ((), ())),
        ("scalar-scalar", ((), ()), ((), ()), ((), ())),
        ("scalar-matrix", ((), (2, 3)), ((), ()), ((), ())),
        ("all-batch", ((2, 3), (2, 3)), ((0, 1), (0, 1)), ((), ())),
        ("empty-contraction", ((3, 0), (0, 4)), ((), ()), ((1,), (0,))),
        ("empty-result", ((0, 3), (3, 4)), ((), ()), ((1,), (0,))),
        ("ones", ((1, 1), (1, 1)), ((), ()), ((1,), (0,))),
        ("row-column", ((1, 50), (50, 1)), ((), ()), ((1,), (0,))),
        ("column-row", ((50, 1), (1, 50)), ((), ()), ((1,), (0,))),
        ("many-free", ((2, 3, 4), (4, 2, 2)), ((), ()), ((2,), (0,))),
        ("rank6", ((2, 1, 2, 3, 2, 2), (2, 3, 2, 2)), ((0,), (0,)), ((3, 5), (1, 2))),
    ):
        _dot(case, label, f32, dims, batch, contract)
    yield case
    case = Case("dot.sizes")
    for m, k, n in (
        (7, 13, 5),
        (16, 16, 16),
        (33, 65, 17),
        (64, 64, 64),
        (100, 3, 100),
        (3, 257, 3),
        (65, 128, 66),
        (130, 200, 140),
        (1, 100, 70),
        (70, 100, 1),
    ):
        _dot(case, f"{m}x{k}x{n}", f32, ((m, k), (k, n)))
    _dot(case, "batched", f32, ((9, 17, 20), (9, 20, 18)), ((0,), (0,)), ((2,), (1,)))
    yield case
    case = Case("dot.small-batches")
    for m, k, n in (2, 2, 2), (3, 3, 3), (4, 4, 4), (1, 5, 6), (3, 3, 1), (2, 7, 4), (5, 3, 3):
        dims = (70, m, k), (70, k, n)
        _dot(case, f"{m}x{k}x{n}", f32, dims, ((0,), (0,)), ((2,), (1,)))
    _dot(case, "nt", f32, ((70, 3, 3), (70, 3, 3)), ((0,), (0,)), ((2,), (2,)))
    _dot(case, "batch-last", f32, ((3, 3, 70), (3, 3, 70)), ((2,), (2,)), ((1,), (0,)))
    for type_ in "bf16", "s8", "s64", "u16":
        dims = (70, 3, 3), (70, 3, 3)
        _dot(case, type_, (type_,) * 3, dims, ((0,), (0,)), ((2,), (1,)))
    yield case
    case = Case("dot.layouts")
    for label, layouts, out_layout in (
        ("lhs", ((0, 1), None), None),
        ("rhs", (None, (0, 1)), None),
        ("both", ((0, 1), (0, 1)), None),
        ("result", (None, None), (0, 1)),
        ("all", ((0, 1), (0, 1)), (0, 1)),
    ):
        _dot(case, label, f32, ((6, 7), (7, 5)), layouts=layouts, out_layout=out_layout)
    _dot(
        case,
        "batch",
        f32,
        ((2, 3, 4), (2, 4, 5)),
        ((0,), (0,)),
        ((2,), (1,)),
        layouts=((0, 2, 1), (1, 0, 2)),
        out_layout=(0, 1, 2),
    )
    yield case


def _rounded_cases():
    reason = "64 positive terms added in any order, products rounded or fused"
    for suffix, part in by_device(FLOATS):
        case = Case("dot.rounded" + suffix)
        for type_ in part:
            r = values.random(9)
            operands = [array(type_, r.uniform(0.5, 1.5, d)) for d in ((9, 64), (64, 10))]
            bound = {"f32": 32, "f64": 32}.get(type_, 1)
            why = reason if bound > 1 else "added up in f32, rounded once"
            _dot(
                case,
                type_,
                (type_,) * 3,
                ((9, 64), (64, 10)),
                operands=operands,
                bound=bound,
                reason=why,
            )
        yield case
    case = Case("dot.special")
    nan, inf = np.nan, np.inf
    lhs = np.array([[1, nan, 0], [inf, 1, 1], [0, 0, 1], [-inf, inf, 1]])
    rhs = np.array([[1, 0], [1, 2], [3, inf]])
    _dot(case, "f32", ("f32",) * 3, (lhs.shape, rhs.shape), operands=(lhs, rhs))
    yield case


def _narrow_cases():
    """Integers that multiply in pairs: an odd number of products, the ends of their ranges, sums that wrap."""
    ends = {"s8": (-128, 127), "u8": (0, 255), "s16": (-32768, 32767), "u16": (0, 65535)}

    def operand(r, type_, dims):
        low, high = ends[type_]
        x = r.randint(low, high + 1, dims)
        return np.where(r.randint(0, 3, dims) == 0, low if low else high, x)

    case = Case("dot.narrow")
    for types, dims, batch, contract in (
        (("s8", "s8", "s32"), ((13, 37), (37, 70)), ((), ()), ((1,), (0,))),
        (("u8", "u8", "s32"), ((37, 13), (37, 9)), ((), ()), ((0,), (0,))),
        (("u8", "s8", "s32"), ((5, 20), (66, 20)), ((), ()), ((1,), (1,))),
        (("s16", "s16", "s32"), ((7, 3), (3, 33)), ((), ()), ((1,), (0,))),
        (("u16", "u16", "u32"), ((7, 6), (6, 5)), ((), ()), ((1,), (0,))),
        (("s8", "s8", "s8"), ((3, 6, 21), (3, 21, 5)), ((0,), (0,)), ((2,), (1,))),
        # Bytes in fours, where the processor has that: signs of either side, of both and of none, k no multiple of 4.
        (("s8", "u8", "s32"), ((11, 23), (23, 70)), ((), ()), ((1,), (0,))),
        (("s8", "s8", "s32"), ((31, 12), (31, 140)), ((), ()), ((0,), (0,))),
    ):
        r = values.random(len(case.lines))
        operands = [operand(r, types[i], dims[i]) for i in (0, 1)]
        _dot(case, ".".join(types), types, dims, batch, contract, operands=operands)
    r = values.random(len(case.lines))
    for narrow, wide in ("s8", "s32"), ("u16", "s32"), ("s16", "u32"):
        x = case.param(narrow, operand(r, narrow, (9, 19)))
        y = case.param(narrow, operand(r, narrow, (19, 40)))
        x = case.op(shape(wide, (9, 19)), "convert", x)
        y = case.op(shape(wide, (19, 40)), "convert", y)
        attrs = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
        case.result(case.op(shape(wide, (9, 40)), "dot", x, y, attrs=attrs), f"{narrow}.widened", 0)
    yield case


def cases():
    yield from _type_cases()
    yield from _shape_cases()
    yield from _rounded_cases()
    yield from _narrow_cases()
