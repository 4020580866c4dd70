# SPDX-License-Identifier: Apache-2.0
"""convert between all pairs of types, bitcast-convert, reduce-precision."""

import numpy as np

from recorder import values
from recorder.xla import (
    COMPLEX,
    DOUBLES,
    DTYPES,
    F8,
    FLOATS,
    INTS,
    Case,
    array,
    bits,
    by_device,
    shape,
)

NARROW = F8 + ["f4e2m1fn", "f8e8m0fnu"]
REAL = ["pred"] + INTS + NARROW + FLOATS


def _edges():
    """Floats at the borders of the integer types."""
    edges = []
    for power in 3, 4, 7, 8, 15, 16, 31, 32, 63, 64:
        for value in 2.0**power, 2.0**power - 1, 2.0**power + 0.5, 2.0**power * 1.5:
            edges += [value, -value]
    return edges + [0.5, -0.5, 0.99, -0.99, 1.5, 2.5, -1.5, 1e9, 1e20, -1e20]


def _inputs(source, target):
    if source in FLOATS:
        # XLA goes to the 8-bit floats by way of f16, so for them: values with few bits, none that
        # overflow in f16 or are denormal there.
        if target in NARROW:
            few = np.arange(-64, 65) / 16
            return array(source, np.concatenate([few, few * 16, few / 8]))
        more = values.spread(source, 40, 11, -12, 30 if source != "f16" else 15)
        return np.append(
            values.floats(source, 0), array(source, values.in_range(source, _edges() + more))
        )
    if source in NARROW:
        every = values.every_float8(source)
        if source == "f8e8m0fnu":
            every = every[
                1:
            ]  # 2^-127 is denormal in f32, through which XLA goes, and flushed there
        if source == "f4e2m1fn" and target[0] in "su":
            # XLA compares with the integer type's limits rounded to 4 bits: 6 becomes the maximum
            every = every[np.abs(every.astype(np.float32)) < 6]
        if target[0] in "sup" or target in NARROW:
            return every[np.isfinite(every.astype(np.float32))]
        return every
    if source in INTS and target in NARROW:
        return values.ints(source)[np.abs(values.ints(source).astype(np.float64)) < 60]
    return values.of_type(source)


def _convert_cases():
    for source in REAL + COMPLEX:
        targets = [t for t in (COMPLEX if source in COMPLEX else REAL + COMPLEX)]
        if source == "f4e2m1fn":
            targets = [t for t in targets if t != "f8e8m0fnu"]
        doubles = DOUBLES if source not in DOUBLES else targets
        for suffix, part in ("", [t for t in targets if t not in doubles]), (
            ".f64",
            [t for t in targets if t in doubles],
        ):
            if not part:
                continue
            case = Case(f"convert.{source}{suffix}")
            params = {}
            for target in part:
                x = _inputs(source, target)
                if target == "f4e2m1fn":
                    x = x[~np.isnan(x.astype(np.float32))]  # has no NaN
                if target == "f8e8m0fnu":
                    x = x[x.astype(np.float64) > 2.0**-13]  # has no zero and no sign
                key = x.tobytes()
                if key not in params:
                    params[key] = case.param(source, x)
                case.result(case.op(shape(target, x.shape), "convert", params[key]), target)
            yield case


def _bitcast_cases():
    groups = [
        ["s8", "u8", "f8e5m2", "f8e4m3fn"],
        ["s16", "u16", "f16", "bf16"],
        ["s32", "u32", "f32"],
        ["s64", "u64", "f64"],
    ]
    for group in groups:
        case = Case("bitcast-convert." + str(DTYPES[group[0]]().nbytes * 8))
        for source in group:
            x = values.every_float8(source) if source in F8 else values.of_type(source)
            p = case.param(source, x)
            for target in group:
                case.result(
                    case.op(shape(target, x.shape), "bitcast-convert", p), f"{source}.{target}"
                )
        yield case
    case = Case("bitcast-convert.resize")
    for wide, narrow, ratio in (
        ("f32", "u8", 4),
        ("u32", "u16", 2),
        ("s64", "s32", 2),
        ("s16", "s8", 2),
        ("u8", "u4", 2),
    ):
        x = values.of_type(wide)
        p = case.param(wide, x)
        small = case.op(shape(narrow, (len(x), ratio)), "bitcast-convert", p)
        case.result(small, f"{wide}.{narrow}")
        y = values.ints(narrow, 26)[:24].reshape(-1, ratio)
        q = case.param(narrow, y)
        case.result(case.op(shape(wide, y.shape[:1]), "bitcast-convert", q), f"{narrow}.{wide}")
    yield case


def _reduce_precision_cases():
    for suffix, part in by_device(FLOATS):
        case = Case("reduce-precision" + suffix)
        for type_ in part:
            ties = np.arange(-64, 65) / 64 * 1.25
            x = np.append(
                values.floats(type_),
                array(
                    type_,
                    values.in_range(
                        type_,
                        list(ties) + [65519.0, 65520.0, 2.0**-14, 2.0**-13 * 1.9, 240.0, 250.0],
                    ),
                ),
            )
            x = x[~np.isnan(x)]
            p = case.param(type_, x)
            q = case.param(type_, [np.nan])
            for e, m in (5, 10), (8, 7), (4, 3), (5, 2), (8, 23), (11, 52), (3, 0), (2, 1):
                attrs = f"exponent_bits={e}, mantissa_bits={m}"
                case.result(
                    case.op(shape(type_, x.shape), "reduce-precision", p, attrs=attrs),
                    f"{type_}.e{e}m{m}",
                )
            case.result(
                case.op(
                    shape(type_, (1,)),
                    "reduce-precision",
                    q,
                    attrs="exponent_bits=5, mantissa_bits=2",
                ),
                f"{type_}.nan",
            )
            case.result(
                case.op(
                    shape(type_, (1,)),
                    "reduce-precision",
                    q,
                    attrs="exponent_bits=8, mantissa_bits=0",
                ),
                f"{type_}.nan.m0",
            )
        yield case


def cases():
    yield from _convert_cases()
    yield from _bitcast_cases()
    yield from _reduce_precision_cases()
