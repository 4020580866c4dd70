# SPDX-License-Identifier: Apache-2.0
"""Denormal numbers. XLA's CPU backend runs with them flushed to zero; a device that has them should
keep them, so here NumPy's IEEE arithmetic is the judge, for ops that are exact."""

import numpy as np

from recorder import values
from recorder.xla import FLOATS, Case, array, by_device, shape

UNARY = {"negate": np.negative, "abs": np.abs, "copy": np.positive, "sqrt": np.sqrt}
BINARY = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "maximum": np.maximum,
    "minimum": np.minimum,
}
COMPARE = {"EQ": np.equal, "LT": np.less}


def subnormals(type_):
    """Pairs of numbers, most of them subnormal, each with each."""
    tiny = values.MIN_NORMAL[type_]
    least = tiny * float(
        np.finfo(np.float64).eps
        if type_ == "f64"
        else {"bf16": 2.0**-7, "f16": 2.0**-10, "f32": 2.0**-23}[type_]
    )
    x = array(
        type_,
        [
            least,
            -least,
            2 * least,
            5 * least,
            tiny - least,
            -tiny / 2,
            tiny,
            tiny * 1.5,
            0.0,
            1.0,
            -2.0,
            0.5,
        ],
    )
    return np.repeat(x, len(x)), np.tile(x, len(x))


def cases():
    for suffix, part in by_device(FLOATS):
        case = Case("denormal" + suffix)
        case.expected = []

        def add(label, result_type, expected, op, *operands, attrs=""):
            case.result(
                case.op(shape(result_type, expected.shape), op, *operands, attrs=attrs), label
            )
            case.expected.append(array(result_type, expected))

        for type_ in part:
            a, b = subnormals(type_)
            p, q = case.param(type_, a), case.param(type_, b)
            wide = np.float64 if type_ == "f64" else np.float32
            with np.errstate(all="ignore"):
                for op, function in UNARY.items():
                    add(f"{op}.{type_}", type_, function(a.astype(wide)), op, p)
                for op, function in BINARY.items():
                    expected = function(a.astype(wide), b.astype(wide))
                    add(f"{op}.{type_}", type_, expected, op, p, q)
                for direction, function in COMPARE.items():
                    add(
                        f"compare-{direction.lower()}.{type_}",
                        "pred",
                        function(a.astype(wide), b.astype(wide)),
                        "compare",
                        p,
                        q,
                        attrs=f"direction={direction}",
                    )
        yield case
