# SPDX-License-Identifier: Apache-2.0
"""scan: slices one after the other, with carries; forward and in reverse, along any dimension.

XLA's CPU backend has no way from HLO text into a scan, so that the results are the definition's, by NumPy
on whole numbers."""

import numpy as np

from recorder import values
from recorder.xla import Case, array, shape


def _run(case, label, inputs, inits, body, step, dim, reverse=False):
    """`body`: the computation's lines and root; `step(slices, carries)` gives (outputs, carries)."""
    name = "step_" + label.replace("-", "_")
    lines = [f"{name} {{"]
    drop = [np.delete(np.shape(v), dim) for _, v in inputs]
    kinds = [(t, d) for (t, _), d in zip(inputs, drop)] + [(t, np.shape(v)) for t, v in inits]
    for k, (t, d) in enumerate(kinds):
        lines.append(f"  p{k} = {shape(t, d)} parameter({k})")
    case.computation("\n".join([*lines, *[f"  {line}" for line in body], "}"]))
    arrays = [array(t, v) for t, v in inputs]
    carries = [array(t, v) for t, v in inits]
    operands = [case.param(t, v) for t, v in [*inputs, *inits]]
    length = arrays[0].shape[dim]
    outputs = []
    for i in range(length)[:: -1 if reverse else 1]:
        out, carries = step([np.take(a, i, dim) for a in arrays], carries)
        outputs.append(out)
    outputs = outputs[::-1] if reverse else outputs
    results = [np.stack(parts, dim) for parts in zip(*outputs)] + carries
    types = {np.dtype("int32"): "s32", np.dtype("float32"): "f32"}
    texts = [shape(types[np.asarray(r).dtype], np.shape(r)) for r in results]
    attrs = f"dimensions={{{dim}}}, num_carries={len(inits)}"
    attrs += ", is_reverse=true" if reverse else ""
    s = case.op(f"({', '.join(texts)})", "scan", *operands, attrs=f"{attrs}, to_apply={name}")
    for k, text in enumerate(texts):
        part = case.op(text, "get-tuple-element", s, attrs=f"index={k}")
        case.result(part, f"{label}.{k}")
    case.expected += results


def cases():
    case = Case("scan")
    case.expected = []
    r = values.random(2)
    x, m = r.randint(-9, 10, (12,)), r.randint(-9, 10, (4, 3, 5))
    total = ["n = s32[] add(p0, p1)", "ROOT r = (s32[], s32[]) tuple(n, n)"]

    def summed(slices, carries):
        n = np.asarray(slices[0] + carries[0], np.int32)
        return [n], [n]

    _run(case, "sum", [("s32", x)], [("s32", 3)], total, summed, 0)
    _run(case, "sum-reverse", [("s32", x)], [("s32", 3)], total, summed, 0, True)
    for dim, left in enumerate(("3,5", "4,5", "4,3")):
        t = f"f32[{left}]{{1,0}}"
        body = [
            f"n = {t} multiply(p0, p2)",
            f"o = {t} add(n, p1)",
            f"q = {t} subtract(p0, p2)",
            f"ROOT r = ({t}, {t}, {t}) tuple(o, q, p0)",
        ]

        def mixed(slices, carries):
            a, b = slices
            return [a * carries[0] + b, a - carries[0]], [a]

        inputs = [("f32", m), ("f32", m[::-1])]
        start = ("f32", np.zeros([int(n) for n in left.split(",")]))
        _run(case, f"arrays-{dim}", inputs, [start], body, mixed, dim, dim == 1)
    none = ["n = s32[] negate(p0)", "ROOT r = (s32[]) tuple(n)"]
    _run(case, "no-carries", [("s32", x)], [], none, lambda s, c: ([-s[0]], []), 0)
    last = ["n = s32[] subtract(p0, p1)", "ROOT r = (s32[]) tuple(n)"]
    difference = lambda s, c: ([], [np.asarray(s[0] - c[0], np.int32)])
    _run(case, "no-outputs", [("s32", x)], [("s32", 1)], last, difference, 0)
    _run(case, "empty", [("s32", x[:0])], [("s32", 7)], last, difference, 0)
    yield case
