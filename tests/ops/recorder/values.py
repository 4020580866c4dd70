# SPDX-License-Identifier: Apache-2.0
"""Inputs that are worth trying, type by type; all from fixed seeds."""

import numpy as np

from recorder.xla import DTYPES, PART, array, limits

MAX = {
    "bf16": 3.3895314e38,
    "f16": 65504.0,
    "f32": 3.4028234663852886e38,
    "f64": 1.7976931348623157e308,
}
MIN_NORMAL = {"bf16": 2.0**-126, "f16": 2.0**-14, "f32": 2.0**-126, "f64": 2.0**-1022}


def random(seed=0):
    return np.random.RandomState(seed)


def in_range(type_, values):
    """Without what would be denormal in the type (XLA's CPU backend flushes denormals to zero; see
    the family `denormal`) or would overflow it."""
    return [
        v
        for v in values
        if not np.isfinite(v) or v == 0 or MIN_NORMAL[type_] <= abs(v) <= MAX[type_]
    ]


def float_specials(type_):
    values = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        np.inf,
        -np.inf,
        np.nan,
        MAX[type_],
        -MAX[type_],
        MIN_NORMAL[type_],
        -MIN_NORMAL[type_],
        0.5,
        -2.5,
        3.0,
        -7.25,
        1 / 3,
    ]
    return values


def int_specials(type_):
    low, high = limits(type_)
    values = [0, 1, 2, 3, 5, 7, high, high - 1, high // 3, low, low + 1, -1, -2, -3]
    return [v for v in dict.fromkeys(values) if low <= v <= high]


def spread(type_, count, seed=0, low=-8, high=8):
    """Random floats of both signs whose magnitudes are spread over 2^low to 2^high."""
    r = random(seed)
    values = np.exp2(r.uniform(low, high, count)) * r.choice([-1.0, 1.0], count)
    return in_range(type_, values)


def floats(type_, count=60, seed=0):
    return array(type_, float_specials(type_) + spread(type_, count, seed))


def ints(type_, count=40, seed=0):
    low, high = limits(type_)
    r = random(seed)
    return array(
        type_,
        int_specials(type_)
        + [int(r.randint(0, 2**32)) * 2**32 + int(r.randint(0, 2**32)) for _ in range(count)],
    )


def complexes(type_, count=60, seed=0, low=-4, high=4):
    part = PART[type_]
    re, im = spread(part, count, seed, low, high), spread(part, count, seed + 1, low, high)
    return np.array([complex(a, b) for a, b in zip(re, im)]).astype(DTYPES[type_])


def of_type(type_, count=60, seed=0):
    if type_ == "pred":
        return np.array([False, True] * (count // 2))
    if type_ in ("c64", "c128"):
        return complexes(type_, count, seed)
    if type_ in MAX:
        return floats(type_, count, seed)
    if type_[0] in "su":
        return ints(type_, count, seed)
    return every_float8(type_)


def every_float8(type_):
    """All encodings of an 8-bit (or 4-bit) float type."""
    return np.arange(16 if type_ == "f4e2m1fn" else 256, dtype=np.uint8).view(DTYPES[type_])


def crossed(type_, count=60):
    """Two arrays: every special value against every other, then random pairs."""
    if type_ == "pred":
        return np.array([False, False, True, True]), np.array([False, True, False, True])
    if type_ in ("c64", "c128"):
        return complexes(type_, count, 1), complexes(type_, count, 5)
    if type_ in MAX:
        special, more = float_specials(type_), [spread(type_, count, s) for s in (1, 2)]
        more = [m[: min(map(len, more))] for m in more]
    elif type_[0] in "su":
        special = int_specials(type_)
        more = [[int(v) for v in ints(type_, count, s)[len(special) :]] for s in (1, 2)]
    else:
        r = random(3)
        every = every_float8(type_)
        return every[r.randint(0, len(every), 300)], every[r.randint(0, len(every), 300)]
    a = [x for x in special for _ in special] + list(more[0])
    b = [y for _ in special for y in special] + list(more[1])
    return array(type_, a), array(type_, b)
