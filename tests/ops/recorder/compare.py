# SPDX-License-Identifier: Apache-2.0
"""compare: every direction, every type, and the total order of floats."""

import numpy as np

from recorder import values
from recorder.xla import COMPLEX, FLOATS, INTS, Case, by_device, shape


def _nans(type_):
    """Quiet NaNs of both signs. (Payloads are left out: what a device does to them is its own.)"""
    nan = np.array([np.nan]).astype(values.array(type_, [0]).dtype)
    return np.concatenate([nan, -nan])


def cases():
    for direction in "EQ", "NE", "GE", "GT", "LE", "LT":
        types = ["pred"] + INTS + FLOATS + (COMPLEX if direction in ("EQ", "NE") else [])
        for suffix, part in by_device(types):
            case = Case(f"compare.{direction.lower()}{suffix}")
            for type_ in part:
                a, b = values.crossed(type_, 20)
                if type_ in COMPLEX:
                    a, b = np.append(a, b), np.append(a, b[::-1])
                p, q = case.param(type_, a), case.param(type_, b)
                out = shape("pred", a.shape)
                case.result(case.op(out, "compare", p, q, attrs=f"direction={direction}"), type_)
                if type_ in FLOATS:
                    few = np.concatenate([_nans(type_), values.floats(type_, 0)])
                    p, q = (
                        case.param(type_, x)
                        for x in (np.repeat(few, len(few)), np.tile(few, len(few)))
                    )
                    out = shape("pred", (len(few) ** 2,))
                    case.result(
                        case.op(
                            out, "compare", p, q, attrs=f"direction={direction}, type=TOTALORDER"
                        ),
                        f"{type_}.totalorder",
                    )
            yield case
