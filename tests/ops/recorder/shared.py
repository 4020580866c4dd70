# SPDX-License-Identifier: Apache-2.0
"""Collectives among several replicas and partitions, in XLA's own four ways of meaning replica groups.

XLA's CPU backend runs them on several devices of the host. Where its way from HLO text does not know an
operation (tuples of all-to-all, broadcasts, ragged-all-to-all, starts and dones), the results are stated by
what SEMANTICS of the operation say, in a few lines of NumPy."""

import numpy as np

from recorder import values
from recorder.collective import TYPES, _values
from recorder.xla import SharedCase, array, by_device, shape

REDUCER = "{1}_{0} (a: {0}[], b: {0}[]) -> {0}[] {{ a = {0}[] parameter(0)  b = {0}[] parameter(1)  ROOT c = {0}[] {1}(a, b) }}"


def _reducer(case, type_, op="add"):
    op = {"add": "or", "multiply": "and"}.get(op, op) if type_ == "pred" else op
    case.computation(REDUCER.format(type_, op))
    return f"to_apply={op}_{type_}"


def _each(case, type_, r, dims):
    return [_values(type_, r, dims) for _ in range(case.devices)]


def _modes(case):
    """What may stand behind an operation: (label, attributes), for two replicas of two partitions."""
    yield "replicas", "replica_groups={{1,0}}", 2
    yield "both", "channel_id=%d, replica_groups={{0},{1}}", 2
    yield "all", "channel_id=%d, replica_groups={{0,1}}", 4
    yield "flat", "channel_id=%d, replica_groups={{0,3},{2,1}}, use_global_device_ids=true", 2
    yield "iota", "channel_id=%d, replica_groups=[2,2]<=[2,2]T(1,0), use_global_device_ids=true", 2


def _attrs(text, channel):
    return text % channel if "%d" in text else text


def _grid():
    """Two replicas of two partitions."""
    channel = 0
    case = SharedCase("grid", 2, 2)
    r = values.random(3)
    x = case.param("f32", _each(case, "f32", r, (4, 3)))
    y = case.param("s32", _each(case, "s32", r, (2, 8)))
    reducers = {t: _reducer(case, t) for t in ("f32", "s32")}
    for label, text, n in _modes(case):
        for value, type_, dims, dim in ((x, "f32", (4, 3), 0), (y, "s32", (2, 8), 1)):
            channel += 1
            attrs = _attrs(text, channel)
            whole = shape(type_, dims)
            case.result(
                case.op(whole, "all-reduce", value, attrs=f"{attrs}, {reducers[type_]}"),
                f"all-reduce.{label}",
            )
            longer = [d * n if i == dim else d for i, d in enumerate(dims)]
            case.result(
                case.op(shape(type_, longer), "all-gather", value,
                        attrs=f"{_attrs(text, channel + 100)}, dimensions={{{dim}}}"),
                f"all-gather.{label}",
            )
            shorter = [d // n if i == dim else d for i, d in enumerate(dims)]
            case.result(
                case.op(shape(type_, shorter), "reduce-scatter", value,
                        attrs=f"{_attrs(text, channel + 200)}, dimensions={{{dim}}}, {reducers[type_]}"),
                f"reduce-scatter.{label}",
            )
    for label, attrs in (
        ("replicas", "source_target_pairs={{0,1}}"),
        ("partitions", "channel_id=300, source_target_pairs={{0,1},{1,0}}"),
    ):
        case.result(case.op(shape("f32", (4, 3)), "collective-permute", x, attrs=attrs), f"permute.{label}")
    for label, attrs in (
        ("replicas", "replica_groups={{0,1}}"),
        ("partitions", "channel_id=301, replica_groups={{1,0}}"),
    ):
        case.result(
            case.op(shape("s32", (2, 8)), "all-to-all", y, attrs=f"{attrs}, dimensions={{1}}"),
            f"all-to-all.{label}",
        )
    case.result(case.op("u32[]", "replica-id"), "replica-id")
    case.result(case.op("u32[]", "partition-id"), "partition-id")
    yield case


def _types():
    for suffix, types in by_device(TYPES):
        case = SharedCase(f"types{suffix}", 3)
        for i, type_ in enumerate(types):
            r = values.random(20 + i)
            dims = [(3, 2), (6,), (2, 3, 2), (3,)][i % 4]
            dim = [0, 0, 1, 0][i % 4]
            x = case.param(type_, _each(case, type_, r, dims))
            text = shape(type_, dims)
            ops = ["add", "multiply"] if type_[0] == "c" else ["add", "maximum"]
            for op in ops:
                y = case.op(text, "all-reduce", x,
                            attrs=f"replica_groups={{{{2,0,1}}}}, {_reducer(case, type_, op)}")
                case.result(y, f"all-reduce.{op}.{type_}")
            longer = shape(type_, [d * 3 if k == dim else d for k, d in enumerate(dims)])
            y = case.op(longer, "all-gather", x, attrs=f"replica_groups={{{{2,0,1}}}}, dimensions={{{dim}}}")
            case.result(y, f"all-gather.{type_}")
            y = case.op(text, "collective-permute", x, attrs="source_target_pairs={{0,1},{1,2}}")
            case.result(y, f"collective-permute.{type_}")
        yield case


def _large():
    """So many bytes that members reduce parts of them."""
    case = SharedCase("large", 4)
    r = values.random(50)
    for type_, dims in (("f32", (97, 101)), ("bf16", (20001,)), ("f16", (150, 140))):
        x = case.param(type_, _each(case, type_, r, dims))
        text = shape(type_, dims)
        for op in ("add", "maximum"):
            y = case.op(text, "all-reduce", x, attrs=f"replica_groups={{}}, {_reducer(case, type_, op)}")
            case.result(y, f"all-reduce.{op}.{type_}")
    yield case


def _programs():
    """What JAX makes of several devices: matrix products with sharded operands, norms, loops, branches."""
    case = SharedCase("loop", 1, 4)
    r = values.random(60)
    x = case.param("f32", _each(case, "f32", r, (8,)))
    reducer = _reducer(case, "f32", "maximum")
    case.computation(
        "body (s: (s32[], f32[8])) -> (s32[], f32[8]) { s = (s32[], f32[8]) parameter(0), sharding={{manual},{manual}}  "
        "i = s32[] get-tuple-element(s), index=0, sharding={manual}  v = f32[8] get-tuple-element(s), index=1, sharding={manual}  "
        "one = s32[] constant(1), sharding={manual}  j = s32[] add(i, one), sharding={manual}  "
        "w = f32[8] collective-permute(v), channel_id=1, source_target_pairs={{0,1},{1,2},{2,3},{3,0}}, sharding={manual}  "
        "m = f32[8] all-reduce(w), channel_id=2, replica_groups={{0,1},{2,3}}, use_global_device_ids=true, "
        f"{reducer}, sharding={{manual}}  "
        "a = f32[8] add(m, v), sharding={manual}  ROOT t = (s32[], f32[8]) tuple(j, a), sharding={{manual},{manual}} }"
    )
    case.computation(
        "condition (s: (s32[], f32[8])) -> pred[] { s = (s32[], f32[8]) parameter(0), sharding={{manual},{manual}}  "
        "i = s32[] get-tuple-element(s), index=0, sharding={manual}  n = s32[] constant(5), sharding={manual}  "
        "ROOT c = pred[] compare(i, n), direction=LT, sharding={manual} }"
    )
    zero = case.constant("s32[]", "0")
    start = case.op("(s32[], f32[8])", "tuple", zero, x)
    end = case.op("(s32[], f32[8])", "while", start, attrs="condition=condition, body=body")
    case.result(case.op("f32[8]", "get-tuple-element", end, attrs="index=1"), "while")
    yield case


def _stated():
    n = 4
    case = SharedCase("stated", n)
    case.expected = [None] * n
    said = []
    r = values.random(9)

    def say(name, expected, label):
        case.result(name, label)
        said.append(expected)

    dims = (4, 3)
    xs = [array("f32", _values("f32", r, dims)) for _ in range(n)]
    ys = [array("f32", _values("f32", r, dims)) for _ in range(n)]
    text, pair = shape("f32", dims), f"({shape('f32', dims)}, {shape('f32', dims)})"
    px, py = case.param("f32", xs), case.param("f32", ys)
    reducer = _reducer(case, "f32")
    part = lambda tuple_, i, t=text: case.op(t, "get-tuple-element", tuple_, attrs=f"index={i}")  # noqa: E731
    zeros = np.zeros_like(xs[0])

    both = case.op(pair, "all-reduce", px, py, attrs=f"replica_groups={{{{0,1}},{{2,3}}}}, {reducer}")
    for i, v in enumerate((xs, ys)):
        say(part(both, i), [v[d // 2 * 2] + v[d // 2 * 2 + 1] for d in range(n)], "all-reduce.tuple")
    # Groups of several sizes.
    one = case.op(text, "all-reduce", px, attrs=f"replica_groups={{{{3,0,1}},{{2}}}}, {reducer}")
    say(one, [xs[3] + xs[0] + xs[1] if d != 2 else xs[2] for d in range(n)], "all-reduce.uneven")
    long = shape("f32", (8, 3))
    both = case.op(f"({long}, {long})", "all-gather", px, py,
                   attrs="replica_groups={{1,0},{2,3}}, dimensions={0}")
    group = lambda d: (1, 0) if d < 2 else (2, 3)  # noqa: E731
    for i, v in enumerate((xs, ys)):
        say(part(both, i, long), [np.concatenate([v[k] for k in group(d)]) for d in range(n)], "all-gather.tuple")
    swap = case.op(pair, "all-to-all", px, py, attrs="replica_groups={{1,0},{2,3}}")
    for i in range(2):
        say(part(swap, i), [(xs, ys)[group(d).index(d)][group(d)[i]] for d in range(n)], "all-to-all.tuple")
    say(case.op(text, "collective-broadcast", px, attrs="replica_groups={{2,0},{1}}"),
        [xs[2], xs[1], xs[2], zeros], "broadcast")
    say(case.op(text, "collective-reduce", px, attrs=f"replica_groups={{{{1,0}},{{2,3}}}}, {reducer}"),
        [zeros, xs[1] + xs[0], xs[2] + xs[3], zeros], "reduce")
    # Roots that are chosen at run time are places in the group.
    roots = case.param("s32", [np.array(v, np.int32) for v in ([1, 0], [1, 0], [0, 1], [0, 1])])
    first = case.op("s32[1]", "slice", roots, attrs="slice={[0:1]}")
    say(case.op(text, "collective-reduce", px, first,
                attrs=f"replica_groups={{{{1,0}},{{2,3}}}}, has_dynamic_root=true, {reducer}"),
        [xs[1] + xs[0], zeros, xs[2] + xs[3], zeros], "reduce.dynamic")
    both = case.op(pair, "collective-reduce", px, py, roots,
                   attrs=f"replica_groups={{{{1,0}},{{2,3}}}}, has_dynamic_root=true, {reducer}")
    say(part(both, 0), [xs[1] + xs[0], zeros, xs[2] + xs[3], zeros], "reduce.dynamic.tuple")
    say(part(both, 1), [zeros, ys[1] + ys[0], zeros, ys[2] + ys[3]], "reduce.dynamic.tuple")
    roots = case.param("s32", [np.array(v, np.int32) for v in ([1, 0], [1, 0], [0, 0], [0, 0])])
    both = case.op(pair, "collective-broadcast", px, py, roots,
                   attrs="replica_groups={{1,0},{2}}, has_dynamic_root=true")
    say(part(both, 0), [xs[0], xs[0], xs[2], zeros], "broadcast.dynamic")
    say(part(both, 1), [ys[1], ys[1], ys[2], zeros], "broadcast.dynamic")
    both = case.op(pair, "collective-permute", px, py, attrs="source_target_pairs={{3,0},{0,2},{1,1}}")
    for i, v in enumerate((xs, ys)):
        say(part(both, i), [v[3], v[1], v[0], zeros], "permute.tuple")

    start = case.op(f"({text}, {long})", "all-gather-start", px, attrs="replica_groups={{0,1},{2,3}}, dimensions={0}")
    say(case.op(long, "all-gather-done", start),
        [np.concatenate([xs[d // 2 * 2], xs[d // 2 * 2 + 1]]) for d in range(n)], "all-gather-start")
    start = case.op(text, "all-reduce-start", px, attrs=f"replica_groups={{}}, {reducer}")
    between = case.op(text, "multiply", px, py)
    say(case.op(text, "all-reduce-done", start), [xs[0] + xs[1] + xs[2] + xs[3]] * n, "all-reduce-start")
    say(between, [x * y for x, y in zip(xs, ys)], "between")
    start = case.op(f"({text}, {text}, u32[], u32[])", "collective-permute-start", py,
                    attrs="source_target_pairs={{0,1},{1,0}}")
    say(case.op(text, "collective-permute-done", start), [ys[1], ys[0], zeros, zeros], "permute-start")

    # From one device to another, by channel.
    who = 'frontend_attributes={_xla_send_recv_source_target_pairs="{{0,1},{1,2},{2,3}}"}'
    token = case.op("token[]", "after-all")
    sent = case.op(f"({text}, u32[], token[])", "send", py, token, attrs=f"channel_id=7, {who}")
    case.op("token[]", "send-done", sent, attrs="channel_id=7")
    got = case.op(f"({text}, u32[], token[])", "recv", token, attrs=f"channel_id=7, {who}")
    got = case.op(f"({text}, token[])", "recv-done", got, attrs="channel_id=7")
    say(part(got, 0), [zeros, ys[0], ys[1], ys[2]], "send.recv")

    # A slice of the input goes to a place in the target's output.
    starts = [case.constant("s32[]", str(v)) for v in (1, 0, 2, 1)]
    places = [case.op("(s32[], s32[])", "tuple", *starts[k : k + 2]) for k in (0, 2)]
    slid = case.op(text, "collective-permute", px, py, *places,
                   attrs="source_target_pairs={{0,1},{2,3}}, slice_sizes={{2,2}}")
    expected = [y.copy() for y in ys]
    for s, t in ((0, 1), (2, 3)):
        expected[t][2:4, 1:3] = xs[s][1:3, 0:2]
    say(slid, expected, "permute.slice")

    for updates, rows in ((None, (9, 2)), (2, (40,))):
        form = (n,) if updates is None else (n, updates)
        count = 1 if updates is None else updates
        sources = [array("s32", r.randint(1, 90, rows)) for _ in range(n)]
        targets = [array("s32", -r.randint(1, 90, rows)) for _ in range(n)]
        sizes = r.randint(0, 3, (n, n, count))
        offsets = r.randint(0, rows[0] - 3, (n, n, count))
        to = np.zeros((n, n, count), int)
        for receiver in range(n):
            at = 0
            for sender in range(n):
                for q in range(count):
                    to[sender, receiver, q] = at
                    at += sizes[sender, receiver, q]
        expected = [t.copy() for t in targets]
        for sender in range(n):
            for receiver in range(n):
                for q in range(count):
                    o, k, t = offsets[sender, receiver, q], sizes[sender, receiver, q], to[sender, receiver, q]
                    expected[receiver][t : t + k] = sources[sender][o : o + k]
        type_ = "s32" if updates is None else "s64"
        received = sizes.transpose(1, 0, 2)
        lists = [case.param(type_, [v[d].reshape(form) for d in range(n)]) for v in (offsets, sizes, to, received)]
        result = case.op(shape("s32", rows), "ragged-all-to-all", case.param("s32", sources),
                         case.param("s32", targets), *lists, attrs="replica_groups={{0,1,2,3}}")
        say(result, expected, f"ragged.{updates}")
    case.expected = [array_ for d in range(n) for array_ in [e[d] for e in said]]
    yield case


def _state(case, said):
    """`said`: a list of each result's arrays, device by device."""
    case.expected = [result[d] for d in range(case.devices) for result in said]
    return case


def _worked():
    """The worked examples of the pages on semantics (StableHLO's, and XLA's for its builder)."""
    i64 = lambda *rows: array("s64", np.array(rows))  # noqa: E731
    case = SharedCase("worked", 2)
    case.expected, said = [None], []
    reducer = _reducer(case, "s64")
    square = case.param("s64", [i64([1, 2], [3, 4]), i64([5, 6], [7, 8])])
    row = case.param("s64", [i64(1, 2, 3, 4), i64(5, 6, 7, 8)])
    wide = case.param("s64", [i64([1, 2, 3, 4], [5, 6, 7, 8]), i64([9, 10, 11, 12], [13, 14, 15, 16])])
    case.result(case.op("s64[2,4]", "all-gather", square, attrs="replica_groups={{0,1}}, dimensions={1}"), "all-gather")
    said.append([i64([1, 2, 5, 6], [3, 4, 7, 8])] * 2)
    case.result(case.op("s64[4]", "all-reduce", row, attrs=f"replica_groups={{{{0,1}}}}, {reducer}"), "all-reduce")
    said.append([i64(6, 8, 10, 12)] * 2)
    case.result(case.op("s64[2,2]", "reduce-scatter", wide,
                        attrs=f"replica_groups={{{{0,1}}}}, dimensions={{1}}, {reducer}"), "reduce-scatter")
    said.append([i64([10, 12], [18, 20]), i64([14, 16], [22, 24])])
    # Split along dimension 1 and put together along dimension 0, as the builder writes it.
    halves = [case.op("s64[2,2]", "slice", wide, attrs=f"slice={{[0:2], [{k}:{k + 2}]}}") for k in (0, 2)]
    swap = case.op("(s64[2,2], s64[2,2])", "all-to-all", *halves, attrs="replica_groups={{0,1}}")
    parts = [case.op("s64[2,2]", "get-tuple-element", swap, attrs=f"index={k}") for k in (0, 1)]
    case.result(case.op("s64[4,2]", "concatenate", *parts, attrs="dimensions={0}"), "all-to-all.1")
    said.append([i64([1, 2], [5, 6], [9, 10], [13, 14]), i64([3, 4], [7, 8], [11, 12], [15, 16])])
    lists = [case.param("s64", [i64(*a), i64(*b)]) for a, b in (
        ((1, 2, 2), (3, 4, 0)), ((0, 0, 0, 0), (0, 0, 0, 0)), ((0, 1), (0, 1)), ((1, 2), (1, 1)),
        ((0, 0), (1, 2)), ((1, 1), (2, 1)))]
    case.result(case.op("s64[4]", "ragged-all-to-all", *lists, attrs="replica_groups={{0,1}}"), "ragged-all-to-all")
    said.append([i64(1, 3, 0, 0), i64(2, 2, 4, 0)])
    yield _state(case, said)

    case = SharedCase("worked_permute", 3)
    case.expected, said = [None], []
    x = case.param("s64", [i64([1, 2], [3, 4]), i64([5, 6], [7, 8]), i64([9, 10], [11, 12])])
    case.result(case.op("s64[2,2]", "collective-permute", x, attrs="source_target_pairs={{0,1},{1,2}}"),
                "collective-permute")
    said.append([i64([0, 0], [0, 0]), i64([1, 2], [3, 4]), i64([5, 6], [7, 8])])
    yield _state(case, said)

    # f32[4,16] in four parts along dimension 1, put together along dimension 0: f32[16,4].
    case = SharedCase("worked_swap", 4)
    case.expected, said = [None], []
    xs = [array("f32", np.arange(64).reshape(4, 16) + 100 * d) for d in range(4)]
    x = case.param("f32", xs)
    part = "f32[4,4]"
    cut = [case.op(part, "slice", x, attrs=f"slice={{[0:4], [{k}:{k + 4}]}}") for k in (0, 4, 8, 12)]
    swap = case.op(f"({part}, {part}, {part}, {part})", "all-to-all", *cut, attrs="replica_groups={{0,1,2,3}}")
    parts = [case.op(part, "get-tuple-element", swap, attrs=f"index={k}") for k in range(4)]
    case.result(case.op("f32[16,4]", "concatenate", *parts, attrs="dimensions={0}"), "all-to-all.2")
    said.append([np.concatenate([v[:, 4 * d : 4 * d + 4] for v in xs]) for d in range(4)])
    yield _state(case, said)


def _eight():
    """Four replicas of two partitions."""
    case = SharedCase("eight", 4, 2)
    r = values.random(80)
    channel = 0
    for type_, dims, dim in (("f32", (8, 3), 0), ("s32", (2, 16), 1), ("bf16", (16,), 0)):
        x = case.param(type_, _each(case, type_, r, dims))
        reducer = _reducer(case, type_)
        for label, text, n in (
            ("replicas", "replica_groups={{1,0},{2,3}}", 2),
            ("both", "channel_id=%d, replica_groups={{0,2},{3,1}}", 4),
            ("flat", "channel_id=%d, replica_groups=[2,4]<=[4,2]T(1,0), use_global_device_ids=true", 4),
            ("everybody", "channel_id=%d, replica_groups={{7,6,5,4,3,2,1,0}}, use_global_device_ids=true", 8),
        ):
            channel += 3
            longer = shape(type_, [d * n if i == dim else d for i, d in enumerate(dims)])
            shorter = shape(type_, [d // n if i == dim else d for i, d in enumerate(dims)])
            for k, (result, op, more) in enumerate((
                (shape(type_, dims), "all-reduce", reducer),
                (longer, "all-gather", f"dimensions={{{dim}}}"),
                (shorter, "reduce-scatter", f"dimensions={{{dim}}}, {reducer}"),
            )):
                case.result(case.op(result, op, x, attrs=f"{_attrs(text, channel + k)}, {more}"),
                            f"{op}.{label}.{type_}")
        case.result(case.op(shape(type_, dims), "all-to-all", x,
                            attrs=f"replica_groups={{{{3,0}},{{1,2}}}}, dimensions={{{dim}}}"), f"all-to-all.{type_}")
        case.result(case.op(shape(type_, dims), "collective-permute", x,
                            attrs="source_target_pairs={{0,3},{3,1},{2,2}}"), f"permute.{type_}")
    yield case


def _narrow():
    """Floats of 8 bits: XLA sums them in f16."""
    case = SharedCase("narrow", 4)
    r = values.random(70)
    for type_ in ("f8e4m3fn", "f8e5m2", "f8e4m3b11fnuz", "f8e5m2fnuz", "f4e2m1fn"):
        x = case.param(type_, [r.normal(size=48) * np.exp2(r.randint(-3, 3, 48)) for _ in range(4)])
        reducer = _reducer(case, type_)
        case.result(case.op(shape(type_, (48,)), "all-reduce", x, attrs=f"replica_groups={{}}, {reducer}"),
                    f"all-reduce.{type_}")
        case.result(case.op(shape(type_, (12,)), "reduce-scatter", x,
                            attrs=f"replica_groups={{}}, dimensions={{0}}, {reducer}"), f"reduce-scatter.{type_}")
        case.result(case.op(shape(type_, (192,)), "all-gather", x, attrs="replica_groups={}, dimensions={0}"),
                    f"all-gather.{type_}")
    yield case


def cases():
    yield from _worked()
    yield from _narrow()
    yield from _eight()
    yield from _grid()
    yield from _types()
    yield from _large()
    yield from _programs()
    yield from _stated()
