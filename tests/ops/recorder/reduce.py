# SPDX-License-Identifier: Apache-2.0
"""reduce: every type, one and several dimensions, empty ones, any computation, several operands.

Float sums are of small whole numbers, so that every order of adding gives the same exact result."""

import numpy as np

from recorder import values
from recorder.movement import fill
from recorder.xla import COMPLEX, FLOATS, INTS, Case, array, by_device, shape


def _body(name, type_, op):
    return (
        f"{name} {{ x = {type_}[] parameter(0)\n  y = {type_}[] parameter(1)\n"
        f"  ROOT r = {type_}[] {op}(x, y) }}"
    )


def _reduce(case, label, type_, op, values_, init, at, bound=0, reason="", layout=None):
    name = f"{op}_{type_}".replace("-", "_")
    case.computation(_body(name, type_, op))
    p, i = case.param(type_, values_, layout), case.param(type_, init)
    out = [d for k, d in enumerate(np.shape(values_)) if k not in at]
    attrs = f"dimensions={{{','.join(map(str, at))}}}, to_apply={name}"
    case.result(case.op(shape(type_, out), "reduce", p, i, attrs=attrs), label, bound, reason)


def _type_cases():
    table = {
        "add": (["pred"] + INTS + FLOATS + COMPLEX, 0),
        "multiply": (INTS + FLOATS + COMPLEX, 1),
        "maximum": (["pred"] + INTS + FLOATS, None),
        "minimum": (["pred"] + INTS + FLOATS, None),
        "and": (["pred"] + INTS, -1),
        "or": (["pred"] + INTS, 0),
        "xor": (["pred"] + INTS, 0),
    }
    r = values.random(4)
    for op, (types, init) in table.items():
        for suffix, part in by_device(types):
            case = Case(f"reduce.{op}{suffix}")
            for type_ in part:
                shape_ = (3, 5, 4)
                if op == "multiply":
                    x = array(type_, r.choice([1, -1, 2] if type_[0] != "u" else [1, 3, 2], shape_))
                elif op == "add" and type_ in FLOATS + COMPLEX:
                    x = array(type_, r.randint(-3, 4, shape_))
                elif op in ("maximum", "minimum") and type_ in FLOATS:
                    x = values.floats(type_, 60)
                    x = x[np.isfinite(x.astype(np.float64)) & (x != 0)][:60].reshape(shape_)
                else:
                    x = np.resize(values.of_type(type_), shape_)
                start = init
                if init is None and type_ == "pred":
                    start = op == "minimum"
                elif init is None:
                    start = x.ravel()[7]
                every = [(0,), (2,), (0, 2), (0, 1, 2)]
                zero_sign = (
                    (1, "the order decides the sign of a zero part") if type_ in COMPLEX else ()
                )
                for at in every if type_ in ("pred", "s32", "bf16", "f32") else every[1:3]:
                    _reduce(case, type_, type_, op, x, start, at, *zero_sign)
            yield case


def _special_cases():
    case = Case("reduce.special")
    nan, inf = np.nan, np.inf
    rows = [
        [1, nan, 2],
        [inf, 1, 2],
        [-inf, inf, 0],
        [nan, nan, nan],
        [-inf, -inf, -inf],
        [0, 0, 0],
    ]
    for op, init in ("maximum", -inf), ("minimum", inf), ("add", 0):
        for type_ in "f32", "bf16", "f16":
            _reduce(case, f"{op}.{type_}", type_, op, rows, init, (1,))
    yield case


def _shape_cases():
    case = Case("reduce.shapes")
    r = values.random(6)
    for dims, at in (
        ((), ()),
        ((1,), (0,)),
        ((5,), ()),
        ((7,), (0,)),
        ((2, 3), (0,)),
        ((2, 3), (1,)),
        ((2, 3), (1, 0)),
        ((2, 3, 4), (1,)),
        ((2, 3, 4, 5), (0, 2)),
        ((2, 3, 4, 5), (1, 3)),
        ((2, 1, 3, 2, 2, 3), (0, 3, 5)),
        ((3, 0), (1,)),
        ((3, 0), (0,)),
        ((0,), (0,)),
        ((0, 2), (0, 1)),
        ((1, 1, 1), (0, 2)),
    ):
        # XLA takes init for an identity where the reduced dimensions are of size 1: there it is
        init = 0 if all(dims[k] == 1 for k in at) else 3
        _reduce(case, f"rank{len(dims)}", "f32", "add", r.randint(-9, 10, dims), init, at)
    yield case
    case = Case("reduce.large")
    for dims, at in (
        ((5000,), (0,)),
        ((37, 300), (1,)),
        ((300, 37), (0,)),
        ((20, 30, 17), (0, 2)),
        ((1, 4097), (1,)),
        ((1025, 1), (0,)),
        ((70, 65), (0, 1)),
        ((9, 40, 11), (1,)),
    ):
        _reduce(case, f"exact{dims}".replace(" ", ""), "f32", "add", r.randint(-9, 10, dims), 0, at)
        _reduce(
            case,
            f"max{dims}".replace(" ", ""),
            "s32",
            "maximum",
            r.randint(-(10**6), 10**6, dims),
            -(2**31),
            at,
        )
    x = r.uniform(0.5, 1.5, (8, 1000)).astype(np.float32)
    _reduce(
        case,
        "positive",
        "f32",
        "add",
        x,
        0,
        (1,),
        64,
        "1000 positive terms added in any order: half an ULP for each of the last levels",
    )
    yield case
    case = Case("reduce.short")
    short = values.random(12)
    for length in 4, 5, 8, 12, 16, 17:
        for op, type_, init in ("add", "f32", 0), ("maximum", "f32", -99), ("add", "u8", 3):
            x = short.randint(0 if type_ == "u8" else -9, 10, (70, length))
            _reduce(case, f"{op}.{type_}.{length}", type_, op, x, init, (1,))
            _reduce(case, f"{op}.{type_}.{length}.columns", type_, op, x.T, init, (0,))
    yield case
    case = Case("reduce.complex")
    units = short.choice([1, -1, 1j, -1j], (4, 300))
    for at in ((0,), (1,), (0, 1)):
        label = f"multiply.c64.{len(at)}.{at[0]}"
        reason = "the order decides the sign of a zero part"
        _reduce(case, label, "c64", "multiply", units, 1, at, 1, reason)
    x = case.param("c64", short.randint(1, 90, (4, 300)) * short.choice([3 + 4j, -5 + 12j], (4, 300)))
    sizes = case.op(shape("f32", (4, 300)), "abs", x)
    for op in "add", "maximum":
        case.computation(_body(f"{op}_f32", "f32", op))
        zero = case.param("f32", 0)
        for at, out in ("1", (4,)), ("0,1", ()):
            attrs = f"dimensions={{{at}}}, to_apply={op}_f32"
            reduced = case.op(shape("f32", out), "reduce", sizes, zero, attrs=attrs)
            case.result(reduced, f"{op}.abs.{len(out)}", 2, "exact in any order, but for the roots")
    yield case
    case = Case("reduce.layouts")
    for dims, at, layout in (
        ((4, 5), (0,), (0, 1)),
        ((4, 5), (1,), (0, 1)),
        ((3, 4, 5), (1,), (0, 2, 1)),
        ((3, 4, 5), (0, 2), (1, 0, 2)),
        ((2, 3, 2, 2), (2,), (2, 0, 3, 1)),
    ):
        _reduce(
            case, f"rank{len(dims)}", "f32", "add", r.randint(-9, 10, dims), 0, at, layout=layout
        )
    yield case


def _computation_cases():
    case = Case("reduce.computations")
    case.computation(
        "absmax { x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  a = f32[] abs(x)\n"
        "  b = f32[] abs(y)\n  ROOT r = f32[] maximum(a, b) }"
    )
    case.computation(
        "either { x = s32[] parameter(0)\n  y = s32[] parameter(1)\n"
        "  c = pred[] compare(y, x), direction=GT\n  ROOT r = s32[] select(c, y, x) }"
    )
    case.computation(
        "swapped { x = f32[] parameter(0)\n  y = f32[] parameter(1)\n"
        "  ROOT r = f32[] add(y, x) }"
    )
    case.computation(
        "second { x = s32[] parameter(0)\n  y = s32[] parameter(1)\n"
        "  m = s32[] constant(1000003)\n  a = s32[] multiply(x, y)\n"
        "  ROOT r = s32[] multiply(a, m) }"
    )
    x = values.random(7).randint(-50, 50, (6, 9))
    for label, type_, name, init in (
        ("absmax", "f32", "absmax", 0),
        ("select", "s32", "either", -99),
        ("swapped", "f32", "swapped", 5),
    ):
        p, i = case.param(type_, x), case.param(type_, init)
        for at, out in (0, (9,)), (1, (6,)):
            case.result(
                case.op(
                    shape(type_, out), "reduce", p, i, attrs=f"dimensions={{{at}}}, to_apply={name}"
                ),
                label,
            )
    yield case


def _extremes(case, name, type_, operands, dims, at, label):
    """Values and places along dimension `at` by the computation `name`, with results of extents `dims`."""
    both = case.op(
        f"({shape(type_, dims)}, {shape('s32', dims)})",
        "reduce",
        *operands,
        attrs=f"dimensions={{{at}}}, to_apply={name}",
    )
    for k, t in enumerate((type_, "s32")):
        case.result(case.op(shape(t, dims), "get-tuple-element", both, attrs=f"index={k}"), label)


def _variadic_cases():
    for type_ in "f32", "s32", "bf16":
        case = Case(f"reduce.variadic.{type_}")
        for name, direction in ("argmax", "GT"), ("argmin", "LT"):
            case.computation(
                f"{name} {{ av = {type_}[] parameter(0)\n  ai = s32[] parameter(1)\n"
                f"  bv = {type_}[] parameter(2)\n  bi = s32[] parameter(3)\n"
                f"  better = pred[] compare(av, bv), direction={direction}\n"
                f"  same = pred[] compare(av, bv), direction=EQ\n"
                f"  first = pred[] compare(ai, bi), direction=LT\n"
                f"  tie = pred[] and(same, first)\n  left = pred[] or(better, tie)\n"
                f"  v = {type_}[] select(left, av, bv)\n  i = s32[] select(left, ai, bi)\n"
                f"  ROOT r = ({type_}[], s32[]) tuple(v, i) }}"
            )
            lowest = -3000 if name == "argmax" else 3000
            x = values.random(3).randint(-20, 20, (5, 33, 4))
            p, init = case.param(type_, x), case.param(type_, lowest)
            none = case.param("s32", 2**31 - 1)
            for at in 1, 2, 0:
                dims = x.shape[:at] + x.shape[at + 1 :]
                index = case.op(shape("s32", x.shape), "iota", attrs=f"iota_dimension={at}")
                _extremes(case, name, type_, (p, index, init, none), dims, at, name)
        yield case
    for type_, name in (
        ("f32", "argmax"),
        ("f32", "argmin"),
        ("f16", "argmax"),
        ("bf16", "argmin"),
        ("f64", "argmin"),
        ("s32", "argmin"),
        ("u8", "argmax"),
    ):
        case = Case(f"reduce.variadic.short.{name}.{type_}")
        case.computation(
            f"{name} {{ av = {type_}[] parameter(0)\n  ai = s32[] parameter(1)\n"
            f"  bv = {type_}[] parameter(2)\n  bi = s32[] parameter(3)\n"
            f"  above = pred[] compare(av, bv), direction={'GT' if name == 'argmax' else 'LT'}\n"
            f"  none = pred[] compare(av, av), direction=NE\n"
            f"  better = pred[] or(above, none)\n"
            f"  same = pred[] compare(av, bv), direction=EQ\n"
            f"  first = pred[] compare(ai, bi), direction=LT\n"
            f"  tie = pred[] and(same, first)\n  left = pred[] or(better, tie)\n"
            f"  v = {type_}[] select(better, av, bv)\n  i = s32[] select(left, ai, bi)\n"
            f"  ROOT r = ({type_}[], s32[]) tuple(v, i) }}"
        )
        is_int = type_ in ("s32", "u8")
        last = {"s32": 2**31 - 1, "u8": 0}.get(type_, -np.inf if name == "argmax" else np.inf)
        for dims in (16, 2), (70, 10), (37, 127), (64, 16):
            x = values.random(5).randint(0, 40, dims).astype(np.float64)
            if not is_int:
                x[::3, dims[1] // 2] = np.nan
                x[::6, dims[1] - 1] = np.nan
            x[1] = last
            p, init = case.param(type_, x), case.param(type_, last)
            zero = case.param("s32", 0)
            index = case.op(shape("s32", dims), "iota", attrs="iota_dimension=1")
            _extremes(
                case,
                name,
                type_,
                (p, index, init, zero),
                dims[:1],
                1,
                "ties" if is_int else "nan and ties",
            )
        yield case
    case = Case("reduce.variadic.sums")
    case.computation(
        "sums { a = f32[] parameter(0)\n  b = s32[] parameter(1)\n  c = f32[] parameter(2)\n"
        "  d = s32[] parameter(3)\n  e = f32[] add(a, c)\n  f = s32[] maximum(b, d)\n"
        "  ROOT r = (f32[], s32[]) tuple(e, f) }"
    )
    p, q = case.param("f32", fill("f32", (3, 40))), case.param("s32", fill("s32", (3, 40))[:, ::-1])
    i, j = case.param("f32", 1), case.param("s32", -5)
    for at, dims in ("0", (40,)), ("1", (3,)), ("0,1", ()):
        both = case.op(
            f"({shape('f32', dims)}, {shape('s32', dims)})",
            "reduce",
            p,
            q,
            i,
            j,
            attrs=f"dimensions={{{at}}}, to_apply=sums",
        )
        for k, t in enumerate(("f32", "s32")):
            case.result(case.op(shape(t, dims), "get-tuple-element", both, attrs=f"index={k}"), t)
    yield case


def cases():
    yield from _type_cases()
    yield from _special_cases()
    yield from _shape_cases()
    yield from _computation_cases()
    yield from _variadic_cases()
