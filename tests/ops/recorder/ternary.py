# SPDX-License-Identifier: Apache-2.0
"""select and clamp."""

import numpy as np

from recorder import values
from recorder.xla import COMPLEX, FLOATS, INTS, Case, array, by_device, shape


def _clamp_inputs(type_):
    if type_ in FLOATS:
        few = [0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan]
    else:
        few = [int(v) for v in values.int_specials(type_)][::2]
    n = len(few)
    low = array(type_, [a for a in few for _ in range(n * n)])
    x = array(type_, [b for _ in few for b in few for _ in few])
    high = array(type_, [c for _ in range(n * n) for c in few])
    return low, x, high


def cases():
    types = ["pred"] + INTS + FLOATS + COMPLEX
    for suffix, part in by_device(types):
        case = Case("select" + suffix)
        for type_ in part:
            a = values.of_type(type_)
            p = case.param("pred", values.random(1).randint(0, 2, a.shape))
            q, r = case.param(type_, a), case.param(type_, a[::-1])
            case.result(case.op(shape(type_, a.shape), "select", p, q, r), type_)
        yield case
    case = Case("select.scalar-predicate")
    for value in True, False:
        p = case.param("pred", value)
        q, r = case.param("s32", [1, 2, 3]), case.param("s32", [4, 5, 6])
        wide = case.op("pred[3]{0}", "broadcast", p, attrs="dimensions={}")
        case.result(case.op("s32[3]{0}", "select", wide, q, r), str(value).lower())
    yield case
    for suffix, part in by_device(INTS + FLOATS):
        case = Case("clamp" + suffix)
        for type_ in part:
            low, x, high = _clamp_inputs(type_)
            operands = [case.param(type_, v) for v in (low, x, high)]
            case.result(case.op(shape(type_, x.shape), "clamp", *operands), type_)
        yield case
    case = Case("clamp.scalar-bounds")
    for type_ in "f32", "bf16", "s8", "u32":
        x = array(type_, [-3, 0, 1, 2, 5, 100] if type_[0] != "u" else [0, 1, 2, 3, 5, 100])
        p, q, r = case.param(type_, 1), case.param(type_, x), case.param(type_, 4)
        case.result(case.op(shape(type_, x.shape), "clamp", p, q, r), type_)
    yield case
