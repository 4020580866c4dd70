# SPDX-License-Identifier: Apache-2.0
"""Collectives of one replica and one partition: what comes in goes out.

XLA's CPU backend is asked where its way from HLO text knows the operation. Where it does not (starts and
dones, ragged-all-to-all, broadcasts, all-to-all of a tuple), the results are stated: they are the operands,
zeros, or rows put where the offsets say."""

import numpy as np

from recorder import values
from recorder.xla import Case, INTS, FLOATS, COMPLEX, array, by_device, shape

TYPES = ["pred", *INTS, *FLOATS, *COMPLEX]
ADD = "add_{0} (a: {0}[], b: {0}[]) -> {0}[] {{ a = {0}[] parameter(0)  b = {0}[] parameter(1)  ROOT c = {0}[] {1}(a, b) }}"


def _values(type_, r, dims):
    if type_ == "pred":
        return r.randint(0, 2, dims).astype(bool)
    low = 0 if type_[0] == "u" else -7
    return r.randint(low, 8, dims)


def _reducer(case, type_):
    case.computation(ADD.format(type_, "or" if type_ == "pred" else "add"))
    return f"to_apply=add_{type_}"


def _judged():
    """Through XLA."""
    for suffix, types in by_device(TYPES):
        case = Case(f"collectives{suffix}")
        for i, type_ in enumerate(types):
            r = values.random(i)
            dims, layout = [((4, 6), (0, 1)), ((2, 3, 2), None), ((), None), ((0, 4), None)][i % 4]
            x = case.param(type_, _values(type_, r, dims), layout)
            text = shape(type_, dims, layout)
            reducer = _reducer(case, type_)
            y = case.op(text, "all-reduce", x, attrs=f"replica_groups={{{{0}}}}, {reducer}")
            case.result(y, f"all-reduce.{type_}")
            if dims:
                y = case.op(text, "all-gather", x, attrs="replica_groups={{0}}, dimensions={1}")
                case.result(y, f"all-gather.{type_}")
                y = case.op(
                    text, "reduce-scatter", x,
                    attrs=f"replica_groups={{{{0}}}}, dimensions={{1}}, {reducer}",
                )
                case.result(y, f"reduce-scatter.{type_}")
            y = case.op(text, "collective-permute", x, attrs="source_target_pairs={{0,0}}")
            case.result(y, f"collective-permute.{type_}")
        yield case


def _stated():
    case = Case("collectives.stated")
    case.expected = []
    r = values.random(7)

    def say(name, expected, label):
        case.result(name, label)
        case.expected.append(expected)

    x = array("f32", _values("f32", r, (4, 3)))
    y = array("f32", _values("f32", r, (4, 3)))
    text, pair = shape("f32", (4, 3)), f"({shape('f32', (4, 3))}, {shape('f32', (4, 3))})"
    zeros = np.zeros_like(x)
    px, py = case.param("f32", x), case.param("f32", y)
    reducer = _reducer(case, "f32")
    part = lambda tuple_, i: case.op(text, "get-tuple-element", tuple_, attrs=f"index={i}")  # noqa: E731
    both = case.op(pair, "all-reduce", px, py, attrs=f"replica_groups={{}}, {reducer}")
    say(part(both, 0), x, "all-reduce.tuple")
    say(part(both, 1), y, "all-reduce.tuple")
    both = case.op(pair, "all-gather", px, py, attrs="replica_groups={}, dimensions={0}")
    say(part(both, 1), y, "all-gather.tuple")
    one = case.op(f"({text})", "all-to-all", px, attrs="replica_groups={{0}}")
    say(part(one, 0), x, "all-to-all.tuple")
    say(case.op(text, "all-to-all", px, attrs="replica_groups={}, dimensions={0}"), x, "all-to-all")
    say(case.op(text, "collective-broadcast", px, attrs="replica_groups={{0}}"), x, "broadcast")
    # No group has the only participant.
    say(case.op(text, "collective-broadcast", px, attrs="replica_groups={{1}}"), zeros, "outside")
    say(case.op(text, "collective-reduce", px, attrs=f"replica_groups={{{{0}}}}, {reducer}"), x, "reduce")
    say(case.op(text, "collective-permute", px, attrs="source_target_pairs={}"), zeros, "permute.nobody")

    start = case.op(f"({text}, {text})", "all-gather-start", px, attrs="replica_groups={}, dimensions={0}")
    say(case.op(text, "all-gather-done", start), x, "all-gather-start")
    start = case.op(text, "all-reduce-start", px, attrs=f"replica_groups={{}}, {reducer}")
    say(case.op(text, "all-reduce-done", start), x, "all-reduce-start")
    start = case.op(
        f"({text}, {text}, u32[], u32[])", "collective-permute-start", px,
        attrs="source_target_pairs={{0,0}}",
    )
    say(case.op(text, "collective-permute-done", start), x, "permute-start")
    start = case.op(
        f"({text}, {text}, u32[], u32[])", "collective-permute-start", px,
        attrs="source_target_pairs={}",
    )
    say(case.op(text, "collective-permute-done", start), zeros, "permute-start.nobody")

    for index, (updates, dims) in enumerate([(None, (5, 2)), (3, (7,)), (2, (6, 2, 2))]):
        form = (1,) if updates is None else (1, updates)
        source = array("s32", r.randint(1, 90, (9, *dims[1:])))
        target = array("s32", -r.randint(1, 90, dims))
        offsets = [1] if updates is None else [4, 0, 8][:updates]
        sizes = [3] if updates is None else [2, 0, 1][:updates]
        to = [2] if updates is None else [1, 0, 5][:updates]
        expected = target.copy()
        for o, n, t in zip(offsets, sizes, to):
            expected[t : t + n] = source[o : o + n]
        type_ = "s64" if index == 2 else "s32"
        lists = [case.param(type_, np.reshape(v, form)) for v in (offsets, sizes, to, sizes)]
        result = case.op(
            shape("s32", dims), "ragged-all-to-all", case.param("s32", source),
            case.param("s32", target), *lists, attrs="replica_groups={{0}}",
        )
        say(result, expected, f"ragged.{updates}")
    yield case


def cases():
    yield from _judged()
    yield from _stated()
