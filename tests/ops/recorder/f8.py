# SPDX-License-Identifier: Apache-2.0
"""Arithmetic on the 8-bit floats.

XLA computes in f16 and rounds to 8 bits; one rounding from the exact value may differ from the two
by one ULP."""

import numpy as np

from recorder import values
from recorder.xla import F8, Case, shape

TWICE = "XLA rounds twice, through f16"


def _finite(type_, op, a, b):
    with np.errstate(all="ignore"):
        wide_a, wide_b = a.astype(np.float32), b.astype(np.float32)
        exact = {
            "add": np.add,
            "subtract": np.subtract,
            "multiply": np.multiply,
            "divide": np.divide,
            "maximum": np.maximum,
            "minimum": np.minimum,
        }[op](wide_a, wide_b)
        # XLA's f16 overflows and its conversion's overflow value are not those of one rounding
        top = np.max(
            values.every_float8(type_).astype(np.float32),
            where=np.isfinite(values.every_float8(type_).astype(np.float32)),
            initial=0,
        )
        keep = np.abs(exact) <= top / 2
    return a[keep], b[keep]


def cases():
    for op in "add", "subtract", "multiply", "divide", "maximum", "minimum":
        case = Case(f"{op}.f8")
        for type_ in F8:
            a, b = _finite(type_, op, *values.crossed(type_))
            p, q = case.param(type_, a), case.param(type_, b)
            exact = op in ("maximum", "minimum")
            case.result(
                case.op(shape(type_, a.shape), op, p, q),
                type_,
                0 if exact else 1,
                "" if exact else TWICE,
            )
        yield case
    for op in "negate", "abs", "ceil", "floor", "sqrt", "exponential", "tanh":
        case = Case(f"{op}.f8")
        for type_ in F8:
            x = values.every_float8(type_)
            wide = x.astype(np.float32)
            if op == "exponential":
                x = x[(np.abs(wide) < 2)]
            p = case.param(type_, x)
            exact = op in ("negate", "abs", "ceil", "floor")
            case.result(
                case.op(shape(type_, x.shape), op, p),
                type_,
                0 if exact else 1,
                "" if exact else TWICE,
            )
        yield case
    case = Case("compare.f8")
    for type_ in F8:
        a, b = values.crossed(type_)
        p, q = case.param(type_, a), case.param(type_, b)
        for direction in "EQ", "LT", "GE":
            case.result(
                case.op(shape("pred", a.shape), "compare", p, q, attrs=f"direction={direction}"),
                f"{type_}.{direction.lower()}",
            )
    yield case
