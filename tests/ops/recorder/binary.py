# SPDX-License-Identifier: Apache-2.0
"""Elementwise binary ops."""

import numpy as np

from recorder import values
from recorder.accuracy import complex_judge, judge
from recorder.xla import COMPLEX, FLOATS, INTS, Case, array, by_device, limits, shape

EXACT = {
    "add": ["pred"] + INTS + FLOATS + COMPLEX,
    "subtract": INTS + FLOATS + COMPLEX,
    "multiply": ["pred"] + INTS + FLOATS,
    "divide": INTS + FLOATS,
    "remainder": INTS + FLOATS,
    "maximum": ["pred"] + INTS + FLOATS,
    "minimum": ["pred"] + INTS + FLOATS,
    "and": ["pred"] + INTS,
    "or": ["pred"] + INTS,
    "xor": ["pred"] + INTS,
}
SHIFTS = ["shift-left", "shift-right-logical", "shift-right-arithmetic"]


def _near(type_, a, b):
    """Without pairs whose sum, product or quotient may be denormal, which XLA flushes."""
    if type_ in values.MAX:
        with np.errstate(all="ignore"):
            wide_a, wide_b = a.astype(np.longdouble), b.astype(np.longdouble)
            results = [
                wide_a + wide_b,
                wide_a - wide_b,
                wide_a * wide_b,
                wide_a / wide_b,
                np.fmod(wide_a, wide_b),
            ]
        tiny = [(np.abs(r) < 2 * values.MIN_NORMAL[type_]) & (r != 0) for r in results]
        keep = ~np.any(tiny, axis=0)
        a, b = a[keep], b[keep]
    return a, b


def _shift_cases():
    for op in SHIFTS:
        case = Case(op)
        for type_ in INTS:
            a = values.ints(type_, 8)
            low, high = limits(type_)
            bits = (high - low).bit_length()
            amounts = array(
                type_,
                [
                    v
                    for v in [0, 1, bits // 2, bits - 1, bits, bits + 1, high, -1]
                    if low <= v <= high
                ],
            )
            p = case.param(type_, np.repeat(a, len(amounts)))
            q = case.param(type_, np.tile(amounts, len(a)))
            case.result(case.op(shape(type_, case.inputs[-1].shape), op, p, q), type_)
        yield case


def _power_cases():
    case = Case("power")
    for (
        type_
    ) in INTS:  # exponents below 64 and no base -1 with a negative one: XLA's own are odd there
        low, high = limits(type_)
        bases = [v for v in [0, 1, 2, 3, -2, -3, 5, 7, 10, high, low] if low <= v <= high]
        exponents = [v for v in [0, 1, 2, 3, 5, 7, 13, 31, 62, -1, -2, -5] if low <= v <= high]
        p = case.param(type_, np.repeat(np.array(bases, object), len(exponents)))
        q = case.param(type_, np.tile(np.array(exponents, object), len(bases)))
        case.result(case.op(shape(type_, case.inputs[-1].shape), "power", p, q), type_)
    yield case
    few = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, -3.0, 0.5, np.inf, -np.inf, np.nan, 3.0, 2.5]
    for op, function, ulp in ("power", np.power, 16), ("atan2", np.arctan2, 6):
        for suffix, types in by_device(FLOATS):
            case = Case(f"{op}.float{suffix}")
            for i, type_ in enumerate(types):
                a = array(
                    type_,
                    [x for x in few for _ in few]
                    + list(np.abs(values.spread(type_, 80, 3, -3, 3))),
                )
                b = array(type_, [y for _ in few for y in few] + values.spread(type_, 80, 4, -2, 2))
                p, q = case.param(type_, a), case.param(type_, b)
                case.result(case.op(shape(type_, a.shape), op, p, q), type_)
                case.measure(i, judge(op, type_, function, ulp, a, b))
            yield case


def _complex_cases():
    functions = {"multiply": (np.multiply, 4), "divide": (np.divide, 8), "power": (np.power, 64)}
    for suffix, (type_,) in by_device(COMPLEX):
        for op, (function, ulp) in functions.items():
            case = Case(f"{op}.complex{suffix}")
            a, b = values.complexes(type_, 80, 1, -3, 3), values.complexes(type_, 80, 5, -2, 2)
            p, q = case.param(type_, a), case.param(type_, b)
            case.result(case.op(shape(type_, a.shape), op, p, q), type_)
            case.measure(0, complex_judge(op, type_, function, ulp, a, b))
            yield case


def _complex_edges():
    for suffix, (type_,) in by_device(COMPLEX):
        parts = [complex(x, y) for x in (0.0, -0.0, 1.0, np.inf, np.nan) for y in (2.0, -1.0, np.nan)]
        a = array(type_, [x for x in parts for _ in parts])
        b = array(type_, [y for _ in parts for y in parts])
        case = Case("extremes.complex" + suffix)
        p, q = case.param(type_, a), case.param(type_, b)
        for op in "maximum", "minimum":
            case.result(case.op(shape(type_, a.shape), op, p, q), f"{op}.{type_}")
        yield case
        top = 1.7e308 if type_ == "c128" else 3.3e38
        root = top ** (1 / 3)
        a = array(type_, [complex(top, 2), complex(top / 2, top / 2), top**0.8, complex(root, -root / 2)])
        b = array(type_, [1, 1, 0.5, complex(2.5, 0)])
        case = Case("power.complex.large" + suffix)
        p, q = case.param(type_, a), case.param(type_, b)
        case.result(case.op(shape(type_, a.shape), "power", p, q), type_)
        case.measure(0, complex_judge("power", type_, np.power, 64, a, b))
        yield case


def _rank_cases():
    case = Case("add.ranks")
    for dims in (
        (),
        (1,),
        (2, 3),
        (2, 3, 4),
        (2, 1, 3, 2),
        (2, 1, 3, 1, 2),
        (2, 3, 1, 2, 2, 3),
        (1, 2, 1, 2, 1, 2, 1, 2),
        (0, 4),
        (1000, 3),
        (3, 1001),
    ):
        p = case.param("f32", np.arange(np.prod(dims)).reshape(dims))
        q = case.param("f32", np.arange(np.prod(dims)).reshape(dims) * -3)
        case.result(case.op(shape("f32", dims), "add", p, q), f"rank{len(dims)}")
    yield case


def _mulhi_cases():
    """There is no way for mulhi into this jaxlib; Python's integers are the judge."""
    case = Case("mulhi")
    case.expected = []
    for type_ in INTS:
        a, b = values.crossed(type_, 30)
        p, q = case.param(type_, a), case.param(type_, b)
        low, high = limits(type_)
        width = (high - low).bit_length()
        case.result(case.op(shape(type_, a.shape), "mulhi", p, q), type_)
        case.expected.append(array(type_, [(int(x) * int(y)) >> width for x, y in zip(a, b)]))
    yield case


def _broadcast_cases():
    """What the builder's two broadcasting forms become: a broadcast of the smaller operand."""
    case = Case("broadcasting")
    a = np.arange(24.0).reshape(2, 3, 4)
    p = case.param("f32", a)
    for dims, at in ((), ""), ((3,), "1"), ((2, 4), "0,2"), ((4,), "2"), ((2, 3), "0,1"):
        q = case.param("f32", np.arange(np.prod(dims)).reshape(dims) + 0.5)
        wide = case.op("f32[2,3,4]{2,1,0}", "broadcast", q, attrs=f"dimensions={{{at}}}")
        case.result(case.op("f32[2,3,4]{2,1,0}", "subtract", p, wide), f"{len(dims)}to3")
    q = case.param("f32", np.arange(2.0).reshape(2, 1))
    r = case.param("f32", np.arange(3.0).reshape(1, 3))
    wide = [
        case.op(
            "f32[2,3]{1,0}",
            "broadcast",
            case.op(f"f32[{n}]{{0}}", "reshape", v),
            attrs=f"dimensions={{{i}}}",
        )
        for i, (n, v) in enumerate([(2, q), (3, r)])
    ]
    case.result(case.op("f32[2,3]{1,0}", "add", *wide), "outer")
    yield case


def cases():
    for op, types in EXACT.items():
        for suffix, part in by_device(types):
            case = Case(op + suffix)
            for type_ in part:
                a, b = _near(type_, *values.crossed(type_))
                p, q = case.param(type_, a), case.param(type_, b)
                case.result(case.op(shape(type_, a.shape), op, p, q), type_)
            yield case
    yield from _shift_cases()
    yield from _power_cases()
    yield from _complex_cases()
    yield from _complex_edges()
    yield from _broadcast_cases()
    yield from _rank_cases()
    yield from _mulhi_cases()
