# SPDX-License-Identifier: Apache-2.0
"""dynamic-slice, dynamic-update-slice and gather."""

import numpy as np

from recorder.movement import TYPES, fill
from recorder.xla import INTS, Case, array, by_device, limits, shape


def _starts(type_, dims):
    """Starts inside, at the end, beyond it, far beyond it, and negative."""
    low, high = limits(type_)
    picks = [0, 1, 2, 100, high, -1, -100, low]
    picks = [min(max(v, low), high) for v in picks if low <= v <= high or v > 0]
    return [[picks[(i + k) % len(picks)] for k in range(len(dims))] for i in range(len(picks))]


def _dynamic_slice_cases():
    for suffix, part in by_device(TYPES):
        case = Case("dynamic-slice.types" + suffix)
        i = case.param("s32", 1)
        for type_ in part:
            p = case.param(type_, fill(type_, (4, 5)))
            case.result(
                case.op(
                    shape(type_, (2, 3)),
                    "dynamic-slice",
                    p,
                    i,
                    i,
                    attrs="dynamic_slice_sizes={2,3}",
                ),
                type_,
            )
            u = case.param(type_, fill(type_, (2, 3), 60))
            case.result(
                case.op(shape(type_, (4, 5)), "dynamic-update-slice", p, u, i, i), f"{type_}.update"
            )
        yield case
    case = Case("dynamic-slice")
    for index in [t for t in INTS if t[1:] != "4"]:
        for dims, sizes in ((5,), (2,)), ((3, 4), (2, 4)), ((3, 4), (3, 1)):
            p = case.param("f32", fill("f32", dims))
            for starts in _starts(index, dims)[: 5 if index[1:] in ("16", "64") else 8]:
                operands = [case.param(index, s) for s in starts]
                attrs = f"dynamic_slice_sizes={{{','.join(map(str, sizes))}}}"
                case.result(
                    case.op(shape("f32", sizes), "dynamic-slice", p, *operands, attrs=attrs),
                    f"{index}.rank{len(dims)}",
                )
    yield case
    case = Case("dynamic-slice.ranks")
    for dims, sizes in (
        ((3,), (0,)),
        ((0,), (0,)),
        ((2, 3, 4), (1, 2, 4)),
        ((2, 2, 3, 2, 2, 3), (1, 2, 2, 1, 1, 2)),
    ):
        p = case.param("s32", fill("s32", dims))
        operands = [case.param("s32", 1 + k) for k in range(len(dims))]
        attrs = f"dynamic_slice_sizes={{{','.join(map(str, sizes))}}}"
        case.result(
            case.op(shape("s32", sizes), "dynamic-slice", p, *operands, attrs=attrs),
            f"rank{len(dims)}",
        )
    yield case
    case = Case("dynamic-slice.scalar")  # the way into this jaxlib does not take it: the identity
    p = case.param("s32", 7)
    case.result(case.op("s32[]", "dynamic-slice", p, attrs="dynamic_slice_sizes={}"), "rank0")
    case.expected = case.inputs[:1]
    yield case


def _update_cases():
    case = Case("dynamic-update-slice")
    for index in "s32", "u8", "s64", "s16", "u32":
        for dims, sizes in ((5,), (2,)), ((3, 4), (2, 4)):
            p, u = case.param("f32", fill("f32", dims)), case.param("f32", -fill("f32", sizes))
            for starts in _starts(index, dims)[:6]:
                operands = [case.param(index, s) for s in starts]
                case.result(
                    case.op(shape("f32", dims), "dynamic-update-slice", p, u, *operands),
                    f"{index}.rank{len(dims)}",
                )
    yield case
    case = Case("dynamic-update-slice.ranks")
    for dims, sizes in (
        ((), ()),
        ((3,), (0,)),
        ((0,), (0,)),
        ((3,), (3,)),
        ((2, 3, 4), (1, 2, 4)),
        ((2, 2, 3, 2, 2, 3), (1, 2, 2, 1, 1, 2)),
    ):
        p, u = case.param("s32", fill("s32", dims)), case.param("s32", -fill("s32", sizes))
        operands = [case.param("s32", 1 + k) for k in range(len(dims))]
        case.result(
            case.op(shape("s32", dims), "dynamic-update-slice", p, u, *operands), f"rank{len(dims)}"
        )
    yield case


def _gather(
    case,
    label,
    type_,
    operand,
    index_type,
    indices,
    out,
    offset,
    collapsed,
    start_map,
    vector,
    sizes,
    batch=(),
    index_batch=(),
):
    p = case.param(type_, operand)
    q = case.param(index_type, indices)
    text = [
        f"{key}={{{','.join(map(str, value))}}}"
        for key, value in (
            ("offset_dims", offset),
            ("collapsed_slice_dims", collapsed),
            ("start_index_map", start_map),
        )
    ]
    if batch:
        text += [
            f"operand_batching_dims={{{','.join(map(str, batch))}}}",
            f"start_indices_batching_dims={{{','.join(map(str, index_batch))}}}",
        ]
    text += [f"index_vector_dim={vector}", f"slice_sizes={{{','.join(map(str, sizes))}}}"]
    case.result(case.op(shape(type_, out), "gather", p, q, attrs=", ".join(text)), label)


def _gather_cases():
    for suffix, part in by_device(TYPES):
        case = Case("gather.types" + suffix)
        for type_ in part:
            _gather(
                case,
                type_,
                type_,
                fill(type_, (5, 3)),
                "s32",
                [4, 0, 2, 9],
                (4, 3),
                (1,),
                (0,),
                (0,),
                1,
                (1, 3),
            )
        yield case
    case = Case("gather")
    m = fill("f32", (3, 4))
    cube = fill("f32", (3, 4, 5))
    for index in "s8", "u8", "s16", "s32", "s64", "u32", "u64":
        low, high = limits(index)
        picks = [max(low, -1), 0, 2, 3, high, low]
        _gather(case, f"rows.{index}", "f32", m, index, picks, (6, 4), (1,), (0,), (0,), 1, (1, 4))
    s32 = "s32"
    _gather(case, "columns", "f32", m, s32, [3, 1, -7, 8], (3, 4), (0,), (1,), (1,), 1, (3, 1))
    _gather(
        case,
        "points",
        "f32",
        m,
        s32,
        [[0, 1], [2, 3], [5, -5]],
        (3,),
        (),
        (0, 1),
        (0, 1),
        1,
        (1, 1),
    )
    _gather(
        case,
        "points-swapped",
        "f32",
        m,
        s32,
        [[1, 0], [3, 2], [-5, 5]],
        (3,),
        (),
        (0, 1),
        (1, 0),
        1,
        (1, 1),
    )
    _gather(
        case,
        "vector-first",
        "f32",
        m,
        s32,
        [[0, 2, 5], [1, 3, -5]],
        (3,),
        (),
        (0, 1),
        (0, 1),
        0,
        (1, 1),
    )
    _gather(
        case,
        "windows",
        "f32",
        m,
        s32,
        [[0, 1], [1, 2], [2, 3]],
        (3, 2, 2),
        (1, 2),
        (),
        (0, 1),
        1,
        (2, 2),
    )
    _gather(
        case,
        "windows-first",
        "f32",
        m,
        s32,
        [[0, 1], [1, 2], [2, 3]],
        (2, 2, 3),
        (0, 1),
        (),
        (0, 1),
        1,
        (2, 2),
    )
    _gather(
        case,
        "windows-around",
        "f32",
        m,
        s32,
        [[0, 1], [1, 2], [2, 3]],
        (2, 3, 2),
        (0, 2),
        (),
        (0, 1),
        1,
        (2, 2),
    )
    _gather(case, "one-index", "f32", m, s32, 1, (4,), (0,), (0,), (0,), 0, (1, 4))
    _gather(
        case,
        "grid",
        "f32",
        cube,
        s32,
        [[0, 1], [2, 9]],
        (2, 2, 3, 5),
        (2, 3),
        (1,),
        (1,),
        2,
        (3, 1, 5),
    )
    _gather(case, "empty-slice", "f32", m, s32, [1, 2], (2, 0), (1,), (0,), (0,), 1, (1, 0))
    _gather(case, "no-indices", "f32", m, s32, np.zeros((0,)), (0, 4), (1,), (0,), (0,), 1, (1, 4))
    _gather(
        case,
        "batch",
        "f32",
        cube,
        s32,
        [[3, 0], [1, 1], [7, -2]],
        (3, 2, 5),
        (2,),
        (1,),
        (1,),
        2,
        (1, 1, 5),
        (0,),
        (0,),
    )
    _gather(
        case,
        "batch-transposed",
        "f32",
        cube,
        s32,
        [[3, 1, 7], [0, 1, -2]],
        (2, 3, 5),
        (2,),
        (1,),
        (1,),
        2,
        (1, 1, 5),
        (0,),
        (1,),
    )
    _gather(
        case,
        "batch-vector-first",
        "f32",
        cube,
        s32,
        [[[3, 0], [1, 1], [7, -2]]],
        (3, 2, 5),
        (2,),
        (1,),
        (1,),
        0,
        (1, 1, 5),
        (0,),
        (1,),
    )
    _gather(
        case,
        "two-batches",
        "f32",
        cube,
        s32,
        fill("s32", (3, 4, 2)) % 5,
        (3, 4, 2),
        (),
        (2,),
        (2,),
        3,
        (1, 1, 1),
        (0, 1),
        (0, 1),
    )
    six = fill("f32", (2, 2, 3, 2, 2, 3))
    _gather(
        case,
        "rank6",
        "f32",
        six,
        s32,
        [[0, 2], [1, 1]],
        (2, 2, 2, 2, 2),
        (1, 2, 3, 4),
        (2, 5),
        (2, 5),
        1,
        (2, 2, 1, 2, 2, 1),
    )
    yield case


def cases():
    yield from _dynamic_slice_cases()
    yield from _update_cases()
    yield from _gather_cases()
