# SPDX-License-Identifier: Apache-2.0
"""Elementwise unary ops on real types."""

import numpy as np
import scipy.special

from recorder import values
from recorder.accuracy import judge
from recorder.xla import FLOATS, INTS, SIGNED, THROUGH_JAX, Case, by_device, run_through_jax, shape

EXACT = {  # op: element types
    "abs": SIGNED + FLOATS,
    "negate": INTS + FLOATS,
    "sign": SIGNED + FLOATS,
    "not": ["pred"] + INTS,
    "popcnt": INTS,
    "count-leading-zeros": INTS,
    "ceil": FLOATS,
    "floor": FLOATS,
    "round-nearest-afz": FLOATS,
    "round-nearest-even": FLOATS,
    "is-finite": FLOATS,
    "real": FLOATS,
    "imag": FLOATS,
    "sqrt": FLOATS,
    "copy": ["pred"] + INTS + FLOATS,
}


def _erf(x):
    return scipy.special.erf(x.astype(np.float64)).astype(np.longdouble)


# op: (true function, ULP that OpenCL allows in f32 and f64, range of the inputs' binary exponents)
ROUNDED = {
    "exponential": (np.exp, 3, -10, 6),
    "exponential-minus-one": (np.expm1, 3, -20, 6),
    "log": (np.log, 3, -60, 60),
    "log-plus-one": (np.log1p, 2, -20, 60),
    "logistic": (lambda x: 1 / (1 + np.exp(-x)), 6, -10, 6),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 2, -60, 60),
    "cbrt": (np.cbrt, 2, -60, 60),
    "sine": (np.sin, 4, -12, 10),
    "cosine": (np.cos, 4, -12, 10),
    "tan": (np.tan, 5, -12, 10),
    "tanh": (np.tanh, 5, -12, 5),
    "erf": (_erf, 16, -12, 3),
    "acos": (np.arccos, 4, -12, 0),
    "asin": (np.arcsin, 4, -12, 0),
    "atan": (np.arctan, 5, -12, 12),
    "acosh": (np.arccosh, 4, 0, 40),
    "asinh": (np.arcsinh, 4, -12, 40),
    "atanh": (np.arctanh, 5, -12, 0),
    "cosh": (np.cosh, 4, -12, 6),
    "sinh": (np.sinh, 4, -12, 6),
}


def cases():
    for op, types in EXACT.items():
        for suffix, part in by_device(types):
            case = Case(op + suffix)
            for type_ in part:
                inputs = values.of_type(type_)
                if op.startswith("round"):
                    inputs = np.append(inputs, np.arange(-4.5, 5, 0.5).astype(inputs.dtype))
                if (op, type_) == ("popcnt", "s4"):
                    inputs = inputs[inputs >= 0]  # XLA counts the bits of the byte that holds it
                p = case.param(type_, inputs)
                out = "pred" if op == "is-finite" else type_
                case.result(case.op(shape(out, inputs.shape), op, p), type_)
            yield case
    for op, (function, opencl_ulp, low, high) in ROUNDED.items():
        for suffix, part in by_device(FLOATS):
            case = Case(op + suffix)
            for i, type_ in enumerate(part):
                few = values.array(
                    type_, [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5, -0.5]
                )
                inputs = np.append(
                    few,
                    values.array(
                        type_,
                        values.spread(
                            type_, 150, 7, low if type_ != "f16" else max(low, -12), high
                        ),
                    ),
                )
                if (op, type_) == ("logistic", "f16"):
                    inputs = inputs[~(inputs < -11)]  # exp(-x) overflows in XLA's f16, not in f32
                p = case.param(type_, inputs)
                case.result(case.op(shape(type_, inputs.shape), op, p), type_)
                case.measure(i, judge(op, type_, function, opencl_ulp, inputs))
            if op in THROUGH_JAX:
                case.expected = run_through_jax(op, case.inputs)
            yield case
