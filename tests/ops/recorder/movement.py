# SPDX-License-Identifier: Apache-2.0
"""Ops that move elements and compute nothing: every element size, ranks 0 to 6, empty arrays, and
layouts other than the default."""

import numpy as np

from recorder import values
from recorder.xla import COMPLEX, DTYPES, F8, FLOATS, INTS, Case, array, by_device, shape

TYPES = ["pred"] + INTS + F8[:2] + FLOATS + COMPLEX


def fill(type_, dims, start=1):
    """Different elements, as far as the type has them."""
    n = int(np.prod(dims))
    numbers = np.arange(start, start + n)
    if type_ == "pred":
        return (numbers % 3 == 0).reshape(dims)
    if type_ in COMPLEX:
        return array(type_, (numbers - 1j * numbers[::-1]).reshape(dims))
    if type_ in F8:
        return values.every_float8(type_)[numbers % 120].reshape(dims)
    return array(type_, (numbers % 251 if type_[0] != "b" else numbers).reshape(dims))


def _every_type(name, dims, out_dims, opcode, attrs, more=()):
    """The op on one shape with every element type; `more`: shapes of further operands."""
    for suffix, part in by_device(TYPES):
        case = Case(f"{name}.types{suffix}")
        for type_ in part:
            operands = [
                case.param(type_, fill(type_, d, 1 + 40 * i)) for i, d in enumerate([dims, *more])
            ]
            case.result(case.op(shape(type_, out_dims), opcode, *operands, attrs=attrs), type_)
        yield case


def _broadcast_cases():
    yield from _every_type("broadcast", (3,), (2, 3, 2), "broadcast", "dimensions={1}")
    case = Case("broadcast")
    for dims, at, out in (
        ((), (), ()),
        ((), (), (4,)),
        ((), (), (2, 3, 4)),
        ((3,), (0,), (3,)),
        ((3,), (0,), (3, 5)),
        ((3,), (1,), (5, 3)),
        ((2, 3), (0, 2), (2, 4, 3)),
        ((2, 3), (1, 3), (2, 2, 4, 3)),
        ((1,), (0,), (1, 3)),
        ((0,), (0,), (0, 3)),
        ((3,), (0,), (3, 0)),
        ((2, 3), (2, 5), (1, 2, 2, 1, 2, 3)),
        ((2, 1, 3), (0, 1, 2), (2, 1, 3)),
        ((40,), (1,), (30, 40)),
        ((30,), (0,), (30, 40)),
    ):
        p = case.param("f32", fill("f32", dims))
        attrs = f"dimensions={{{','.join(map(str, at))}}}"
        case.result(
            case.op(shape("f32", out), "broadcast", p, attrs=attrs), f"{len(dims)}to{len(out)}"
        )
    yield case


def _reshape_cases():
    yield from _every_type("reshape", (2, 6), (3, 4), "reshape", "")
    case = Case("reshape")
    for dims, out in (
        ((), ()),
        ((), (1,)),
        ((1, 1), ()),
        ((6,), (2, 3)),
        ((2, 3), (6,)),
        ((2, 3, 4), (4, 3, 2)),
        ((2, 3, 4), (24,)),
        ((4, 1, 3), (4, 3)),
        ((0, 3), (5, 0)),
        ((2, 2, 2, 2, 2, 2), (8, 8)),
        ((64,), (2, 2, 2, 2, 2, 2)),
        ((30, 40), (24, 50)),
    ):
        p = case.param("s32", fill("s32", dims))
        case.result(case.op(shape("s32", out), "reshape", p), f"{len(dims)}to{len(out)}")
    yield case
    case = Case("bitcast")  # the way into this jaxlib does not take it: the values are obvious
    x, y = fill("f32", (2, 3, 4)), fill("f32", (3, 4))
    p, q = case.param("f32", x), case.param("f32", y)
    case.result(case.op("f32[6,4]{1,0}", "bitcast", p), "reshape")
    case.result(case.op("f32[4,3]{0,1}", "bitcast", q), "transpose")
    case.result(case.op("u32[3,4]{1,0}", "bitcast", q), "type")
    case.expected = [x.reshape(6, 4), y.T, y.view(np.uint32)]
    yield case
    yield _bitcast_widths()


def _bitcast_widths():
    """Between element types of different widths: the bytes in the order of memory, which are numpy's."""
    case = Case("bitcast.width")
    case.expected = []

    def cast(type_, values, layout, to, to_dims, to_layout):
        p = case.param(type_, values, layout)
        case.result(case.op(shape(to, to_dims, to_layout), "bitcast", p), f"{type_}.{to}")
        memory = case.inputs[-1].transpose(layout[::-1]).ravel()
        ordered = [to_dims[d] for d in to_layout[::-1]]
        result = memory.view(DTYPES[to]).reshape(ordered)
        case.expected.append(result.transpose(np.argsort(to_layout[::-1])))

    cast("s8", [[1, 0], [2, 0], [0, 1]], (1, 0), "s16", (3,), (0,))
    cast("s16", fill("s16", (3, 5)), (1, 0), "s8", (3, 5, 2), (2, 1, 0))
    cast("f32", fill("f32", (2, 3)), (0, 1), "u8", (24,), (0,))
    cast("u8", fill("u8", (4, 6, 2)), (1, 2, 0), "u32", (3, 4), (0, 1))
    cast("u16", fill("u16", (2, 2, 6)), (0, 2, 1), "f32", (4, 3), (0, 1))
    cast("pred", np.arange(8) % 3 == 0, (0,), "u32", (2,), (0,))
    cast("u16", [[1, 256], [257, 0]], (0, 1), "pred", (2, 2, 2), (2, 1, 0))
    cast("c64", fill("c64", (3, 2)), (0, 1), "f32", (4, 3), (1, 0))
    cast("f32", fill("f32", (2, 6)), (0, 1), "c64", (3, 2), (0, 1))
    cast("c64", fill("c64", (5,)), (0,), "u16", (2, 10), (0, 1))
    cast("u8", fill("u8", (32,)), (0,), "c64", (2, 2), (0, 1))
    cast("u64", fill("u64", (3,)), (0,), "c64", (3,), (0,))
    return case


def _transpose_cases():
    yield from _every_type("transpose", (3, 5), (5, 3), "transpose", "dimensions={1,0}")
    case = Case("transpose")
    r = values.random(5)
    for dims in (
        (),
        (3,),
        (3, 4),
        (2, 3, 4),
        (2, 3, 4, 5),
        (2, 3, 2, 3, 2),
        (2, 3, 2, 1, 2, 3),
        (0, 3),
        (33, 70),
    ):
        for _ in range(2 if len(dims) > 2 else 1):
            order = [int(i) for i in r.permutation(len(dims))] if len(dims) != 2 else [1, 0]
            p = case.param("f32", fill("f32", dims))
            out = [dims[i] for i in order]
            attrs = f"dimensions={{{','.join(map(str, order))}}}"
            case.result(
                case.op(shape("f32", out), "transpose", p, attrs=attrs),
                "".join(map(str, order)) or "scalar",
            )
    yield case


def _reverse_slice_cases():
    yield from _every_type("reverse", (3, 4), (3, 4), "reverse", "dimensions={0,1}")
    yield from _every_type("slice", (5, 4), (2, 3), "slice", "slice={[1:5:2], [1:4]}")
    case = Case("reverse")
    for dims, at in (
        ((4,), (0,)),
        ((4,), ()),
        ((2, 3, 4), (0, 2)),
        ((2, 3, 4), (1,)),
        ((0, 3), (0,)),
        ((2, 1, 3, 2, 2, 2), (0, 5, 3)),
    ):
        p = case.param("s16", fill("s16", dims))
        attrs = f"dimensions={{{','.join(map(str, at))}}}"
        case.result(case.op(shape("s16", dims), "reverse", p, attrs=attrs), f"rank{len(dims)}")
    yield case
    case = Case("slice")
    for dims, windows in (
        ((5,), [(1, 3, 1)]),
        ((5,), [(0, 5, 1)]),
        ((5,), [(2, 2, 1)]),
        ((10,), [(1, 10, 4)]),
        ((5, 6), [(0, 5, 2), (1, 6, 3)]),
        ((3, 4, 5), [(1, 2, 1), (0, 4, 3), (2, 5, 1)]),
        ((0, 3), [(0, 0, 1), (1, 3, 1)]),
        ((2, 2, 3, 2, 2, 3), [(0, 1, 1), (1, 2, 1), (0, 3, 2), (0, 2, 1), (1, 2, 1), (0, 3, 2)]),
    ):
        p = case.param("f32", fill("f32", dims))
        out = [-(-(b - a) // s) for a, b, s in windows]
        attrs = "slice={" + ", ".join(f"[{a}:{b}:{s}]" for a, b, s in windows) + "}"
        case.result(case.op(shape("f32", out), "slice", p, attrs=attrs), f"rank{len(dims)}")
    yield case


def _pad_cases():
    yield from _every_type("pad", (2, 3), (5, 5), "pad", "padding=1_1_1x0_2", more=[()])
    case = Case("pad")
    for dims, config in (
        ((3,), [(1, 2, 0)]),
        ((3,), [(0, 0, 2)]),
        ((5,), [(-1, -2, 0)]),
        ((4,), [(-2, 3, 1)]),
        ((4,), [(3, -5, 2)]),
        ((3,), [(-7, 9, 0)]),
        ((0,), [(2, 1, 3)]),
        ((1,), [(1, 1, 5)]),
        ((3,), [(-3, 0, 0)]),
        ((2, 3), [(1, 0, 0), (0, 1, 1)]),
        ((2, 3), [(-1, 2, 1), (1, -2, 2)]),
        ((2, 1, 2, 1, 2, 2), [(0, 1, 0), (1, 0, 0), (0, 0, 1), (0, 0, 0), (-1, 1, 0), (0, 0, 0)]),
        ((20, 30), [(1, 1, 0), (2, 2, 0)]),
    ):
        p, v = case.param("f32", fill("f32", dims)), case.param("f32", -1)
        out = [d + a + b + max(d - 1, 0) * i for d, (a, b, i) in zip(dims, config)]
        attrs = "padding=" + "x".join(f"{a}_{b}_{i}" for a, b, i in config)
        case.result(case.op(shape("f32", out), "pad", p, v, attrs=attrs), f"rank{len(dims)}")
    yield case


def _concatenate_cases():
    yield from _every_type(
        "concatenate", (2, 3), (2, 5), "concatenate", "dimensions={1}", more=[(2, 2)]
    )
    case = Case("concatenate")
    for parts, at in (
        (((3,),), 0),
        (((3,), (2,), (4,)), 0),
        (((2, 3), (1, 3)), 0),
        (((2, 3), (2, 1), (2, 2)), 1),
        (((2, 0), (2, 3), (2, 0)), 1),
        (((0,), (0,)), 0),
        (((2, 1, 2, 2, 1, 3), (2, 1, 2, 4, 1, 3)), 3),
        (((1,),) * 12, 0),
    ):
        operands = [case.param("s32", fill("s32", d, 1 + 50 * i)) for i, d in enumerate(parts)]
        out = list(parts[0])
        out[at] = sum(d[at] for d in parts)
        case.result(
            case.op(shape("s32", out), "concatenate", *operands, attrs=f"dimensions={{{at}}}"),
            f"{len(parts)}parts",
        )
    yield case


def _iota_cases():
    for suffix, part in by_device([t for t in TYPES if t != "pred"]):
        case = Case("iota" + suffix)
        case.param("f32", 0)
        for type_ in part:
            count = 16 if type_ in F8 else 5000 if type_ in ("f16", "bf16") else 300
            case.result(case.op(shape(type_, (count,)), "iota", attrs="iota_dimension=0"), type_)
            case.result(case.op(shape(type_, (2, 3, 2)), "iota", attrs="iota_dimension=1"), type_)
        yield case
    case = Case("iota.ranks")
    case.param("f32", 0)
    for dims, at in ((0,), 0), ((2, 3), 0), ((2, 3), 1), ((2, 1, 3, 2, 2, 2), 2), ((3, 0), 0):
        case.result(
            case.op(shape("s32", dims), "iota", attrs=f"iota_dimension={at}"), f"rank{len(dims)}"
        )
    yield case


def _short_row_cases():
    """Many rows of few elements, made from a value for each row, from a value for each column, and from columns."""
    case = Case("short-rows")
    r = values.random(11)
    rows = 70
    for length in 2, 3, 5, 8:
        dims = rows, length
        for type_ in "s32", "u8", "f32":
            x, y, z = (
                case.param(type_, r.randint(1, 9, d)) for d in (dims, (rows,), (length,))
            )
            whole = shape(type_, dims)
            by_row = case.op(whole, "broadcast", y, attrs="dimensions={0}")
            by_column = case.op(whole, "broadcast", z, attrs="dimensions={1}")
            number = case.op(whole, "iota", attrs="iota_dimension=1")
            hot = case.op(shape("pred", dims), "compare", by_row, number, attrs="direction=EQ")
            flat = shape(type_, (rows * length,))
            label = f"{type_}.{length}"
            case.result(case.op(whole, "multiply", x, by_row), label)
            case.result(case.op(whole, "add", by_column, x), label)
            case.result(case.op(whole, "convert", hot), label)
            case.result(
                case.op(flat, "reshape", case.op(whole, "maximum", by_row, by_column)), label
            )
    yield case


def _layout_cases():
    """Parameters and results that lie differently in memory, with ops in between."""
    case = Case("layouts")
    a = case.param("f32", fill("f32", (3, 4)), layout=(0, 1))
    b = case.param("f32", fill("f32", (3, 4), 20))
    column, row = "f32[3,4]{0,1}", "f32[3,4]{1,0}"
    case.result(case.op(row, "add", a, b), "add.row")
    case.result(case.op(column, "add", a, b), "add.column")
    case.result(case.op(row, "copy", a), "copy.row")
    case.result(case.op(column, "copy", b), "copy.column")
    case.result(case.op("f32[4,3]{0,1}", "transpose", a, attrs="dimensions={1,0}"), "transpose")
    case.result(case.op("f32[2,6]{0,1}", "reshape", a), "reshape")
    case.result(case.op("f32[3,2]{0,1}", "slice", a, attrs="slice={[0:3], [1:3]}"), "slice")
    case.result(
        case.op("f32[4,4]{0,1}", "pad", a, case.constant("f32[]", "9"), attrs="padding=0_1x0_0"),
        "pad",
    )
    case.result(
        case.op("f32[6,4]{0,1}", "concatenate", a, b, attrs="dimensions={0}"), "concatenate"
    )
    case.result(case.op(column, "reverse", a, attrs="dimensions={0}"), "reverse")
    case.result(
        case.op(
            "f32[3,4]{0,1}",
            "broadcast",
            case.param("f32", fill("f32", (4,))),
            attrs="dimensions={1}",
        ),
        "broadcast",
    )
    case.result(case.op("s32[3,4]{0,1}", "iota", attrs="iota_dimension=1"), "iota")
    dot = "lhs_contracting_dims={1}, rhs_contracting_dims={1}"
    case.result(case.op("f32[3,3]{0,1}", "dot", a, b, attrs=dot), "dot")
    case.computation(
        "sum { x = f32[] parameter(0)\n  y = f32[] parameter(1)\n" "  ROOT s = f32[] add(x, y) }"
    )
    zero = case.constant("f32[]", "0")
    for at in 0, 1:
        out = "f32[4]{0}" if at == 0 else "f32[3]{0}"
        case.result(
            case.op(out, "reduce", a, zero, attrs=f"dimensions={{{at}}}, to_apply=sum"),
            f"reduce{at}",
        )
    yield case
    case = Case("layouts.rank")
    r = values.random(8)
    for dims in (2, 3, 4), (2, 3, 2, 3), (2, 1, 3, 2, 2, 2), (0, 2, 3):
        orders = [[int(i) for i in r.permutation(len(dims))] for _ in range(3)]
        p = case.param("s16", fill("s16", dims), layout=orders[0])
        q = case.param("s16", fill("s16", dims, 7), layout=orders[1])
        case.result(case.op(shape("s16", dims, orders[2]), "subtract", p, q), f"rank{len(dims)}")
        case.result(case.op(shape("s16", dims), "copy", p), f"rank{len(dims)}")
        case.result(case.op(shape("s16", (int(np.prod(dims)),)), "reshape", p), f"rank{len(dims)}")
        permutation = [int(i) for i in r.permutation(len(dims))]
        case.result(
            case.op(
                shape("s16", [dims[i] for i in permutation], orders[2]),
                "transpose",
                q,
                attrs=f"dimensions={{{','.join(map(str, permutation))}}}",
            ),
            f"rank{len(dims)}",
        )
    yield case


def _empty_cases():
    case = Case("empty")
    for dims in (0,), (3, 0), (0, 0, 2):
        p, q = case.param("f32", np.zeros(dims)), case.param("f32", np.zeros(dims))
        case.result(case.op(shape("f32", dims), "add", p, q), f"rank{len(dims)}")
        case.result(case.op(shape("s32", dims), "convert", p), f"rank{len(dims)}")
    yield case


def cases():
    yield from _broadcast_cases()
    yield from _reshape_cases()
    yield from _transpose_cases()
    yield from _reverse_slice_cases()
    yield from _pad_cases()
    yield from _concatenate_cases()
    yield from _iota_cases()
    yield from _short_row_cases()
    yield from _layout_cases()
    yield from _empty_cases()
