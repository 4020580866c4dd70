# SPDX-License-Identifier: Apache-2.0
"""scatter: windows of updates combined into an array at places that indices say."""

import numpy as np

from recorder.movement import TYPES, fill
from recorder.xla import COMPLEX, FLOATS, INTS, Case, array, by_device, limits, shape

ONE_ROUNDING = "XLA may keep sums of narrow floats in f32 between windows"


def _listed(key, values):
    return f"{key}={{{','.join(map(str, values))}}}"


def _body(case, types, opcode):
    """A computation that combines each value with its update by an opcode; `replace` takes the update."""
    scalars = [f"{t}[]" for t in types]
    n = len(types)
    name = "_".join([opcode.replace("-", "_"), *types])
    lines = [f"{name} {{"]
    lines += [f"  p{k} = {scalars[k % n]} parameter({k})" for k in range(2 * n)]
    results = []
    for k in range(n):
        if opcode == "replace":
            results.append(f"p{k + n}")
            continue
        lines.append(f"  r{k} = {scalars[k]} {opcode}(p{k}, p{k + n})")
        results.append(f"r{k}")
    if n > 1:
        root = f"({', '.join(scalars)}) tuple({', '.join(results)})"
    else:
        root = f"{scalars[0]} copy({results[0]})"
    lines += [f"  ROOT r = {root}", "}"]
    case.computation("\n".join(lines))
    return name


def _scatter(
    case,
    label,
    operands,
    indices,
    updates,
    window,
    inserted,
    to_operand,
    vector,
    batch=(),
    index_batch=(),
    body="add",
    index_type="s32",
    unique=False,
    layouts=(None, None, None, None),
    bound=0,
    reason="",
    known=False,
):
    """`operands`, `updates`: (type, values) each; layouts of operand, indices, updates and result; `known`:
    the indices are a constant."""
    p = [case.param(t, v, layouts[0]) for t, v in operands]
    if known:
        text = str(np.asarray(indices).tolist()).replace("[", "{").replace("]", "}")
        q = case.constant(shape(index_type, np.shape(indices)), text)
    else:
        q = case.param(index_type, indices, layouts[1])
    u = [case.param(t, v, layouts[2]) for t, v in updates]
    types = [t for t, _ in operands]
    attrs = [
        _listed("update_window_dims", window),
        _listed("inserted_window_dims", inserted),
        _listed("scatter_dims_to_operand_dims", to_operand),
    ]
    if batch:
        attrs += [
            _listed("input_batching_dims", batch),
            _listed("scatter_indices_batching_dims", index_batch),
        ]
    attrs.append(f"index_vector_dim={vector}")
    if unique:
        attrs.append("unique_indices=true")
    attrs.append(f"to_apply={body if body in _named(case) else _body(case, types, body)}")
    results = [shape(t, np.shape(v), layouts[3]) for t, v in operands]
    text = results[0] if len(results) == 1 else f"({', '.join(results)})"
    s = case.op(text, "scatter", *p, q, *u, attrs=", ".join(attrs))
    if len(results) == 1:
        case.result(s, label, bound, reason)
        return
    for k, result in enumerate(results):
        case.result(
            case.op(result, "get-tuple-element", s, attrs=f"index={k}"),
            f"{label}.{k}",
            bound,
            reason,
        )


def _named(case):
    return {c.split(" ", 1)[0] for c in case.computations}


def _rows(case, label, type_, indices=(4, 0, 2, 9, 2, -1, 2), dims=(5, 3), **more):
    """Whole rows of a matrix at indices that repeat and that lie outside."""
    n = len(indices)
    _scatter(
        case,
        label,
        [(type_, fill(type_, dims))],
        list(indices),
        [(type_, fill(type_, (n, *dims[1:]), 40))],
        (1,),
        (0,),
        (0,),
        1,
        **more,
    )


def _type_cases():
    for suffix, part in by_device(TYPES):
        case = Case("scatter.types" + suffix)
        for type_ in part:
            _rows(case, f"{type_}.replace", type_, body="replace")
            if type_ == "pred":
                _rows(case, "pred.or", type_, body="or")
                _rows(case, "pred.and", type_, body="and")
                continue
            narrow = type_ == "bf16" or type_[:2] == "f8"
            bound, reason = (1, ONE_ROUNDING) if narrow else (0, "")
            _rows(case, f"{type_}.add", type_, bound=bound, reason=reason)
            if type_ not in COMPLEX:
                _rows(case, f"{type_}.maximum", type_, body="maximum")
            if type_ in INTS + ["f32", "f64"]:
                _rows(case, f"{type_}.multiply", type_, body="multiply")
                _rows(case, f"{type_}.minimum", type_, body="minimum")
                _rows(case, f"{type_}.subtract", type_, body="subtract")
        yield case


def _index_cases():
    case = Case("scatter.indices")
    for index in INTS:
        low, high = limits(index)
        picks = [max(low, -1), 0, 2, 3, high, low, 2, 1]
        _scatter(
            case,
            f"points.{index}",
            [("f32", fill("f32", (5,)))],
            picks,
            [("f32", fill("f32", (8,), 10))],
            (),
            (0,),
            (0,),
            1,
            index_type=index,
        )
        _rows(case, f"rows.{index}", "s32", picks, (4, 3), index_type=index)
    yield case


def _attribute_cases():
    case = Case("scatter")
    m, cube = fill("f32", (3, 4)), fill("f32", (3, 4, 5))

    def one(label, operand, indices, updates, *numbers, **more):
        _scatter(
            case,
            label,
            [("f32", operand)],
            indices,
            [("f32", fill("f32", updates, 100))],
            *numbers,
            **more,
        )

    one("columns", m, [3, 1, -7, 8, 3], (3, 5), (0,), (1,), (1,), 1)
    points = [[0, 1], [2, 3], [5, -5], [0, 1], [2, -1], [2, 3]]
    one("points", m, points, (6,), (), (0, 1), (0, 1), 1)
    swapped = [[b, a] for a, b in points]
    one("points-swapped", m, swapped, (6,), (), (0, 1), (1, 0), 1)
    first = [list(row) for row in zip(*points)]
    one("vector-first", m, first, (6,), (), (0, 1), (0, 1), 0)
    corners = [[0, 1], [1, 2], [1, 1], [2, 0], [-1, 0], [0, 3], [1, 2]]
    one("windows", m, corners, (7, 2, 2), (1, 2), (), (0, 1), 1)
    one("windows-first", m, corners, (2, 2, 7), (0, 1), (), (0, 1), 1)
    one("windows-around", m, corners, (2, 7, 2), (0, 2), (), (0, 1), 1)
    one("windows-replace", m, corners, (7, 2, 2), (1, 2), (), (0, 1), 1, body="replace")
    one("one-index", m, 1, (4,), (0,), (0,), (0,), 0)
    one("one-index-outside", m, 3, (4,), (0,), (0,), (0,), 0)
    one("one-window", m, [1, 1], (2, 3), (0, 1), (), (0, 1), 0)
    one("whole", m, [0, 1, 0, -1], (4, 3, 4), (1, 2), (), (0,), 1)
    one("narrow-window", cube, [1, 0, 1, 3], (4, 2, 3), (1, 2), (0,), (0,), 1)
    one("half-indexed", cube, [[1], [3], [0], [1]], (4, 2, 1, 3), (1, 2, 3), (), (1,), 1)
    one("thick-and-thin", cube, [[2, 3], [3, 0], [1, 1], [2, 2]], (4, 2, 2), (1, 2), (0,), (1, 2), 1)
    one("grid", cube, [[0, 1], [2, 9], [1, 1]], (3, 2, 3, 5), (2, 3), (1,), (1,), 2)
    one("no-window-elements", m, [1, 2], (2, 0), (1,), (0,), (0,), 1)
    one("no-indices", m, np.zeros((0,)), (0, 4), (1,), (0,), (0,), 1)
    one("nothing", np.zeros((0, 4)), [0, 0], (2, 4), (1,), (0,), (0,), 1)
    one("no-columns", np.zeros((3, 0)), [0, 1], (2, 0), (1,), (0,), (0,), 1)
    one("not-indexed", m, np.zeros((3, 0)), (3, 2, 4), (1, 2), (), (), 1)
    one("scalar", fill("f32", ()), np.zeros((0,)), (), (), (), (), 0)
    one("unique", m, [2, 0, 5], (3, 4), (1,), (0,), (0,), 1, unique=True)
    one("unique-points", m, points[:3], (3,), (), (0, 1), (0, 1), 1, unique=True)
    apart = [[0, 0], [1, 2], [0, 3]]
    one("unique-windows", m, apart, (3, 2, 2), (1, 2), (), (0, 1), 1, unique=True)
    batch = [[3, 0], [1, 1], [7, -2]]
    one("batch", cube, batch, (3, 2, 5), (2,), (1,), (1,), 2, (0,), (0,))
    turned = [[3, 1, 7], [0, 1, -2]]
    one("batch-transposed", cube, turned, (2, 3, 5), (2,), (1,), (1,), 2, (0,), (1,))
    one("batch-vector-first", cube, [batch], (3, 2, 5), (2,), (1,), (1,), 0, (0,), (1,))
    many = fill("s32", (3, 4, 3)) * 7 % 6
    one("two-batches", cube, many, (3, 4, 3), (), (2,), (2,), 3, (0, 1), (0, 1))
    one("batch-windows", cube, [[0, 1, 1, 2]] * 3, (3, 4, 2, 5), (2, 3), (), (1,), 2, (0,), (0,))
    one("batch-unique", cube, [[3, 0], [1, 2], [7, -2]], (3, 2, 5), (2,), (1,), (1,), 2, (0,), (0,), unique=True)
    six = fill("f32", (2, 2, 3, 2, 2, 3))
    places = [[0, 2], [1, 1], [0, 2], [3, 0]]
    one("rank6", six, places, (4, 2, 2, 2, 2), (1, 2, 3, 4), (2, 5), (2, 5), 1)
    yield case
    case = Case("scatter.scalar")  # XLA's simplifier makes a wrong instruction of it: the sum
    none = np.zeros((3, 0))
    _scatter(case, "thrice", [("f32", 1)], none, [("f32", [2, 30, 400])], (), (), (), 1)
    case.expected = [array("f32", 433)]
    yield case


def _layout_cases():
    case = Case("scatter.layouts")
    m, u = fill("f32", (3, 4)), fill("f32", (2, 2, 2), 50)
    at = [[0, 1], [1, 2]]
    for label, layouts in (
        ("operand", ((0, 1), None, None, None)),
        ("indices", (None, (0, 1), None, None)),
        ("updates", (None, None, (0, 2, 1), None)),
        ("result", (None, None, None, (0, 1))),
        ("operand-and-result", ((0, 1), None, None, (0, 1))),
        ("all", ((0, 1), (0, 1), (1, 0, 2), (0, 1))),
    ):
        numbers = ((1, 2), (), (0, 1), 1)
        _scatter(case, label, [("f32", m)], at, [("f32", u)], *numbers, layouts=layouts)
    yield case


def _variadic_cases():
    case = Case("scatter.several")
    types = ["f32", "s32"]

    def several(label, kinds, indices, dims, updates, *numbers, **more):
        _scatter(
            case,
            label,
            [(t, fill(t, dims, 1 + k)) for k, t in enumerate(kinds)],
            indices,
            [(t, fill(t, updates, 50 + 7 * k)) for k, t in enumerate(kinds)],
            *numbers,
            **more,
        )

    rows = ((1,), (0,), (0,), 1)
    at = [4, 0, 2, 9, 2, -1, 2]
    several("add", types, at, (5, 3), (7, 3), *rows)
    several("replace", types, at, (5, 3), (7, 3), *rows, body="replace")
    several("three", ["s8", "f32", "u32"], at, (5, 3), (7, 3), *rows, body="maximum")
    several("unique", types, [3, 1], (5, 3), (2, 3), *rows, unique=True)
    case.computation(
        "larger {\n"
        "  a = f32[] parameter(0)\n  i = s32[] parameter(1)\n"
        "  b = f32[] parameter(2)\n  j = s32[] parameter(3)\n"
        "  c = pred[] compare(a, b), direction=GE\n"
        "  v = f32[] select(c, a, b)\n  k = s32[] select(c, i, j)\n"
        "  ROOT r = (f32[], s32[]) tuple(v, k)\n}"
    )
    values = [("f32", [1, 5, 3, 2]), ("s32", [0, 0, 0, 0])]
    news = [("f32", [4, 4, 9, 3, 9, 8]), ("s32", [1, 2, 3, 4, 5, 6])]
    points = ((), (0,), (0,), 1)
    _scatter(case, "larger", values, [0, 1, 2, 3, 2, 7], news, *points, body="larger")
    case.computation(
        "mixed {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
        "  half = f32[] constant(0.5)\n  h = f32[] multiply(a, half)\n"
        "  ROOT r = f32[] subtract(b, h)\n}"
    )
    _scatter(
        case,
        "mixed",
        [("f32", fill("f32", (4,)))],
        [1, 1, 3, 1, 0, 3],
        [("f32", fill("f32", (6,), 9))],
        *points,
        body="mixed",
    )
    yield case


def _special_cases():
    for suffix, part in by_device(FLOATS):
        case = Case("scatter.special" + suffix)
        for type_ in part:
            held = array(type_, [np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0])
            new = array(type_, [np.inf, np.nan, -0.0, 1.0, -np.inf, 2.0, np.nan, 3.0, -0.0])
            at = [1, 0, 3, 4, 1, 2, 5, 5, 3]
            for body in "add", "maximum", "minimum", "replace", "multiply":
                _scatter(
                    case,
                    f"{type_}.{body}",
                    [(type_, held)],
                    at,
                    [(type_, new)],
                    (),
                    (0,),
                    (0,),
                    1,
                    body=body,
                )
        yield case


def _fused_cases():
    """With operations in front and behind, and as what a gather's gradient is."""
    case = Case("scatter.fused")
    table = case.param("f32", fill("f32", (6, 3)))
    at = case.param("s32", [[5], [-2], [0], [5], [7]])
    new = case.param("f32", fill("f32", (5, 3), 30))
    zero = case.constant("s32[]", "0")
    six = case.constant("s32[]", "6")
    zeros = case.op("s32[5,1]{1,0}", "broadcast", zero, attrs="dimensions={}")
    sixes = case.op("s32[5,1]{1,0}", "broadcast", six, attrs="dimensions={}")
    negative = case.op("pred[5,1]{1,0}", "compare", at, zeros, attrs="direction=LT")
    wrapped = case.op("s32[5,1]{1,0}", "add", at, sixes)
    places = case.op("s32[5,1]{1,0}", "select", negative, wrapped, at)
    doubled = case.op("f32[5,3]{1,0}", "add", new, new)
    nothing = case.constant("f32[]", "0")
    empty = case.op("f32[6,3]{1,0}", "broadcast", nothing, attrs="dimensions={}")
    body = _body(case, ["f32"], "add")
    numbers = (
        "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
        f"index_vector_dim=1, to_apply={body}"
    )
    into = case.op("f32[6,3]{1,0}", "scatter", table, places, doubled, attrs=numbers)
    fresh = case.op("f32[6,3]{1,0}", "scatter", empty, places, doubled, attrs=numbers)
    twice = case.op("f32[6,3]{1,0}", "scatter", fresh, at, new, attrs=numbers)
    case.result(into, "into")
    case.result(case.op("f32[6,3]{1,0}", "multiply", into, table), "behind")
    case.result(twice, "twice")
    itself = case.op("f32[6,3]{1,0}", "negate", table)
    own = case.constant("s32[6]{0}", "{3,3,0,1,8,3}")
    case.result(case.op("f32[6,3]{1,0}", "scatter", itself, own, itself, attrs=numbers), "itself")
    single = case.constant("f32[1]{0}", "{2.5}")
    spots = case.param("s32", [0, 1, 0])
    three = case.param("f32", [1, 2, 4])
    points = numbers.replace("dims={1}", "dims={}", 1)
    case.result(case.op("f32[1]{0}", "scatter", single, spots, three, attrs=points), "constant")
    yield case
    # enough work for several work items, of each implementation
    case = Case("scatter.larger")
    rng = np.random.default_rng(7)
    places = rng.integers(-2, 52, (300,))
    _scatter(
        case,
        "rows",
        [("s32", rng.integers(-99, 99, (50, 37)))],
        places,
        [("s32", rng.integers(-99, 99, (300, 37)))],
        (1,),
        (0,),
        (0,),
        1,
        body="subtract",
    )
    grown = rng.integers(-99, 99, (300,))
    _scatter(
        case,
        "points",
        [("f32", rng.normal(size=50))],
        places,
        [("f32", rng.normal(size=300))],
        (),
        (0,),
        (0,),
        1,
    )
    _scatter(
        case,
        "last-wins",
        [("s32", rng.integers(-99, 99, (50,)))],
        places,
        [("s32", grown)],
        (),
        (0,),
        (0,),
        1,
        body="replace",
    )
    _scatter(
        case,
        "windows",
        [("s32", rng.integers(-99, 99, (20, 20)))],
        rng.integers(-1, 19, (60, 2)),
        [("s32", rng.integers(-99, 99, (60, 3, 4)))],
        (1, 2),
        (),
        (0, 1),
        1,
        body="replace",
    )
    _scatter(
        case,
        "permutation",
        [("f32", rng.normal(size=200))],
        rng.permutation(200),
        [("f32", rng.normal(size=200))],
        (),
        (0,),
        (0,),
        1,
        unique=True,
    )
    yield case


def _known_cases():
    """Indices that are constants: one window, windows at equal distances, and such as are neither."""
    case = Case("scatter.known")
    x = ("f32", fill("f32", (6, 7)))
    whole = ("s32", fill("s32", (4, 9, 5)))

    def windows(label, operand, indices, updates, window, inserted, to_operand, vector=1, **more):
        update = (operand[0], fill(operand[0], updates, 40))
        _scatter(
            case, label, [operand], indices, [update], window, inserted, to_operand, vector, known=True, **more
        )

    for body in ("replace", "add", "subtract"):
        windows(f"{body}.row", x, [[2]], (1, 7), (1,), (0,), (0,), body=body)
        windows(f"{body}.element", x, [5, 3], (), (), (0, 1), (0, 1), 0, body=body)
        windows(f"{body}.window", x, [1, 4], (3, 2), (0, 1), (), (0, 1), 0, body=body)
        windows(f"{body}.every-other-row", x, [[0], [2], [4]], (3, 7), (1,), (0,), (0,), body=body)
        windows(f"{body}.rows", x, [[3], [4], [5]], (3, 7), (1,), (0,), (0,), body=body)
        windows(f"{body}.columns", x, [[1], [4]], (6, 2), (0,), (1,), (1,), body=body)
        windows(f"{body}.middle", whole, [[2], [5], [8]], (3, 4, 5), (1, 2), (1,), (1,), body=body)
        windows(f"{body}.corner", whole, [[1, 0], [1, 3]], (3, 2, 2), (0, 2), (1,), (1, 2), body=body)
        windows(f"{body}.kept", whole, [[1], [3]], (4, 1, 5, 2), (0, 1, 2), (), (1,), body=body)
        windows(f"{body}.outside", x, [[6]], (1, 7), (1,), (0,), (0,), body=body)
        windows(f"{body}.partly-outside", x, [[2], [4], [6]], (3, 7), (1,), (0,), (0,), body=body)
        windows(f"{body}.backwards", x, [[4], [2], [0]], (3, 7), (1,), (0,), (0,), body=body)
        windows(f"{body}.uneven", x, [[0], [1], [4]], (3, 7), (1,), (0,), (0,), body=body)
        windows(f"{body}.repeated", x, [[2], [2]], (2, 7), (1,), (0,), (0,), body=body)
        windows(f"{body}.diagonal", x, [[0, 0], [2, 2], [4, 4]], (3,), (), (0, 1), (0, 1), body=body)
    spots = case.op(
        "s32[3]{0}", "iota", attrs="iota_dimension=0"
    )
    two = case.op("s32[3]{0}", "broadcast", case.constant("s32[]", "2"), attrs="dimensions={}")
    spots = case.op("s32[3]{0}", "multiply", spots, two)
    spots = case.op("s32[3,1]{1,0}", "reshape", spots)
    rows = case.param("f32", fill("f32", (6, 7)))
    update = case.param("f32", fill("f32", (3, 7), 40))
    attrs = (
        "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
        f"index_vector_dim=1, to_apply={_body(case, ['f32'], 'add')}"
    )
    case.result(case.op("f32[6,7]{1,0}", "scatter", rows, spots, update, attrs=attrs), "computed")
    windows("pred", ("pred", fill("pred", (9,))), [[1], [4], [7]], (3,), (), (0,), (0,), body="or")
    windows("c64", ("c64", fill("c64", (9,))), [[0], [3], [6]], (3,), (), (0,), (0,), body="add")
    yield case


def cases():
    yield from _type_cases()
    yield from _index_cases()
    yield from _attribute_cases()
    yield from _layout_cases()
    yield from _variadic_cases()
    yield from _special_cases()
    yield from _fused_cases()
    yield from _known_cases()
