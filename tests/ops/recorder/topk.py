# SPDX-License-Identifier: Apache-2.0
"""topk: every real type (XLA fails on those of 4 bits), how many of how many, largest and smallest, ties and special numbers."""

import numpy as np

from recorder import values
from recorder.sort import _mixed as mixed
from recorder.xla import F8, FLOATS, INTS, Case, array, by_device, shape


def _topk(case, label, type_, x, k, largest=True, layout=None):
    p = case.param(type_, x, layout)
    dims = (*np.shape(x)[:-1], k)
    both = f"({shape(type_, dims)}, {shape('s32', dims)})"
    t = case.op(both, "topk", p, attrs=f"k={k}, largest={str(largest).lower()}")
    for i, result in enumerate((shape(type_, dims), shape("s32", dims))):
        name = ("values", "places")[i]
        got = case.op(result, "get-tuple-element", t, attrs=f"index={i}")
        case.result(got, f"{label}.{name}")


def cases():
    for suffix, part in by_device([t for t in INTS if t[1:] != "4"] + F8[:2] + FLOATS):
        case = Case("topk.types" + suffix)
        for t in part:
            _topk(case, t, t, mixed(t, (2, 40)), 7)
        yield case
    for suffix, part in by_device(["f8e4m3fn", "bf16", "f32", "f64"]):
        case = Case("topk.special" + suffix)
        for t in part:
            numbers = [np.nan, 1, -0.0, np.inf, 0.0, -np.inf, -1, np.nan, 0.0, -0.0, 2, 0.5]
            for largest in True, False:
                _topk(case, f"{t}.{largest}", t, array(t, numbers), 9, largest)
        yield case
    case = Case("topk.shapes")
    r = values.random(8)
    for dims, k in (
        ((1,), 1),
        ((5,), 0),
        ((5,), 5),
        ((9,), 3),
        ((0, 4), 2),
        ((3, 2, 20), 1),
        ((2, 2, 2, 2, 3, 11), 2),
        ((33, 64), 64),
    ):
        label = "x".join(map(str, dims)) + f".{k}"
        _topk(case, label, "s32", r.randint(-20, 20, dims), k)
        _topk(case, label + ".smallest", "f32", r.randint(-20, 20, dims), k, False)
    _topk(case, "layout", "f32", r.randint(-20, 20, (4, 30)), 4, layout=(0, 1))
    yield case
    case = Case("topk.large")
    for dims, k in ((20000,), 64), ((20000,), 1500), ((3, 5000), 200), ((50, 300), 10):
        label = "x".join(map(str, dims)) + f".{k}"
        _topk(case, label, "f32", r.randint(-(10**4), 10**4, dims), k)
    _topk(case, "20000.s64", "s64", r.randint(-(10**4), 10**4, (20000,)), 50, False)
    # already in order, and the other way round
    _topk(case, "rising", "f32", np.arange(9000), 100)
    _topk(case, "falling", "f32", -np.arange(9000), 100)
    yield case
    # what XLA's CPU backend makes of it, as dumps after its passes have it
    case = Case("topk.call")
    for name, kind in ("total", ", type=TOTALORDER"), ("partial", ""):
        case.computation(
            f"{name} {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
            "  i = s32[] parameter(2)\n  j = s32[] parameter(3)\n"
            f"  ROOT r = pred[] compare(a, b), direction=GT{kind}\n}}"
        )
        x = case.param("f32", r.permutation(120).reshape(4, 30))
        attrs = f'custom_call_target="TopK", called_computations={{{name}}}'
        both = "(f32[4,6]{1,0}, s32[4,6]{1,0})"
        t = case.op(both, "custom-call", x, attrs=attrs)
        for i, result in enumerate(("f32[4,6]{1,0}", "s32[4,6]{1,0}")):
            got = case.op(result, "get-tuple-element", t, attrs=f"index={i}")
            case.result(got, f"{name}.{('values', 'places')[i]}")
    yield case
