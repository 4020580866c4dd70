# SPDX-License-Identifier: Apache-2.0
"""Elementwise unary ops on complex types. Infinities and NaN only where the op works part by part:
elsewhere XLA's results for them are its own formulas', which other oracles do not share."""

import numpy as np

from recorder import values
from recorder.accuracy import complex_judge, judge
from recorder.xla import DTYPES, PART, THROUGH_JAX, Case, run_through_jax, shape

ROUNDED = {
    "exponential": np.exp,
    "exponential-minus-one": np.expm1,
    "log": np.log,
    "log-plus-one": np.log1p,
    "logistic": lambda z: 1 / (1 + np.exp(-z)),
    "sqrt": np.sqrt,
    "rsqrt": lambda z: 1 / np.sqrt(z),
    "sine": np.sin,
    "cosine": np.cos,
    "tan": np.tan,
    "tanh": np.tanh,
    "sign": lambda z: z / np.abs(z),
    "acos": np.arccos,
    "asin": np.arcsin,
    "atan": np.arctan,
    "acosh": np.arccosh,
    "asinh": np.arcsinh,
    "atanh": np.arctanh,
    "cosh": np.cosh,
    "sinh": np.sinh,
}


def _specials(type_):
    few = [0.0, -0.0, 1.0, -2.0, np.inf, -np.inf, np.nan]
    z = np.empty(len(few) ** 2, DTYPES[type_])
    z.real, z.imag = np.repeat(few, len(few)), np.tile(few, len(few))
    return z


def _edges(type_):
    """Numbers near the top, where |z| + |re z| is beyond the type, for rsqrt; and, for functions that give
    zeros, the signs of both parts, which results within a bound do not tell."""
    part, suffix = PART[type_], ".f64" if type_ == "c128" else ""
    top = float(np.finfo(DTYPES[part]).max)
    case = Case("rsqrt.complex.large" + suffix)
    z = np.array([0.6 * top, top, -0.7 * top, complex(0.6 * top, 0.6 * top), complex(-0.8, 0.4) * top,
                  complex(0.2, -0.9) * top, complex(0.99, -0.99) * top], DTYPES[type_])
    p = case.param(type_, z)
    case.result(case.op(shape(type_, z.shape), "rsqrt", p), type_)
    case.measure(0, complex_judge("rsqrt", type_, ROUNDED["rsqrt"], 12, z))
    yield case
    z = np.array([complex(100, -0.0), complex(100, 0.0), complex(-0.0, -0.0), complex(0.0, -0.0),
                  complex(-0.0, 0.0), complex(-0.0, 1e-30), complex(1, -0.0), complex(-1, 0.0)],
                 DTYPES[type_])
    bits, width = ("u64", 63) if part == "f64" else ("u32", 31)
    for op in "sinh", "cosh", "exponential-minus-one":
        case = Case(op + ".complex.zeros" + suffix)
        if op == "exponential-minus-one":
            z = np.delete(z, 5)  # its real part is negative, and too small for f32
        p = case.param(type_, z)
        value = case.op(shape(type_, z.shape), op, p)
        last = case.constant(bits + "[]", str(width))
        shift = case.op(shape(bits, z.shape), "broadcast", last, attrs="dimensions={}")
        for side in "real", "imag":
            one = case.op(shape(part, z.shape), side, value)
            word = case.op(shape(bits, z.shape), "bitcast-convert", one)
            sign = case.op(shape(bits, z.shape), "shift-right-logical", word, shift)
            case.result(sign, f"{side}.sign.{type_}")
        if op in THROUGH_JAX:
            [w] = run_through_jax(op, case.inputs)
            integer = np.uint64 if part == "f64" else np.uint32
            case.expected = [np.signbit(x).astype(integer) for x in (w.real, w.imag)]
        yield case
    # tan and tanh, where nothing is rounded.
    z = _specials(type_)
    z = z[~np.isfinite(z) | (z == 0)]
    case = Case("tan.complex.specials" + suffix)
    p = case.param(type_, z)
    for op in "tan", "tanh":
        case.result(case.op(shape(type_, z.shape), op, p), f"{op}.{type_}")
    yield case


def cases():
    for type_ in "c64", "c128":
        yield from _edges(type_)
        part, suffix = PART[type_], ".f64" if type_ == "c128" else ""
        case = Case("complex-parts" + suffix)
        z = np.append(_specials(type_), values.complexes(type_))
        p = case.param(type_, z)
        case.result(case.op(shape(type_, z.shape), "negate", p), f"negate.{type_}")
        case.result(case.op(shape(type_, z.shape), "copy", p), f"copy.{type_}")
        case.result(case.op(shape(part, z.shape), "real", p), f"real.{type_}")
        case.result(case.op(shape(part, z.shape), "imag", p), f"imag.{type_}")
        finite = np.append(np.zeros(1, DTYPES[type_]), values.complexes(type_, 80))
        q = case.param(type_, finite)
        case.result(case.op(shape(part, finite.shape), "abs", q), f"abs.{type_}")
        case.measure(
            4, judge("abs", part, lambda x: np.abs(finite.astype(np.clongdouble)), 4, finite.real)
        )
        re = case.param(part, values.floats(part))
        im = case.param(part, values.floats(part)[::-1])
        case.result(
            case.op(shape(type_, case.inputs[-1].shape), "complex", re, im), f"complex.{type_}"
        )
        yield case
        for op, function in ROUNDED.items():
            case = Case(op + ".complex" + suffix)
            z = values.complexes(type_, 60, 9, -4, 2)
            p = case.param(type_, z)
            case.result(case.op(shape(type_, z.shape), op, p), type_)
            case.measure(0, complex_judge(op, type_, function, 12, z))
            if op in THROUGH_JAX:
                case.expected = run_through_jax(op, case.inputs)
            yield case
