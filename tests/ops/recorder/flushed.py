# SPDX-License-Identifier: Apache-2.0
"""Subnormal numbers as XLA's CPU backend has them, and a device that is to flush them: operands that count as
zero, and results that are zero. What only moves numbers, or changes their sign, keeps them."""

import numpy as np

from recorder.denormal import subnormals
from recorder.xla import Case, array, by_device, shape

UNARY = ["negate", "abs", "copy", "sqrt"]
BINARY = ["add", "subtract", "multiply", "divide"]
COMPARE = ["EQ", "LT"]
# Where exponentials begin to be subnormal, and where they vanish.
FALLING = {"f32": (-87.0, -110.0), "f64": (-708.0, -750.0)}
FALLING_BOUND, FALLING_REASON = 3, "what OpenCL allows for exp; subnormal results are zero"


def cases():
    for suffix, part in by_device(["f32", "f64"]):
        case = Case("flushed" + suffix)
        for type_ in part:
            a, b = subnormals(type_)
            p, q = case.param(type_, a), case.param(type_, b)
            of = shape(type_, a.shape)
            for op in UNARY:
                case.result(case.op(of, op, p), f"{op}.{type_}")
            for op in BINARY:
                case.result(case.op(of, op, p, q), f"{op}.{type_}")
            for direction in COMPARE:
                label = f"compare-{direction.lower()}.{type_}"
                attrs = f"direction={direction}"
                case.result(case.op(shape("pred", a.shape), "compare", p, q, attrs=attrs), label)
            x = array(type_, np.append(np.linspace(*FALLING[type_], 200), -np.inf))
            low = case.param(type_, x)
            falling = case.op(shape(type_, x.shape), "exponential", low)
            case.result(falling, f"exponential.{type_}", FALLING_BOUND, FALLING_REASON)
        yield case
