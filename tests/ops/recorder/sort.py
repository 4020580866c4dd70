# SPDX-License-Identifier: Apache-2.0
"""sort: every type, dimension and layout, any comparator, several operands.

Where equal elements can be told apart the sort is stable: the order of others is not promised."""

import numpy as np

from recorder import values
from recorder.movement import fill
from recorder.xla import COMPLEX, F8, FLOATS, INTS, PART, Case, array, by_device, shape


def _comparator(case, types, text, name):
    """`text`: lines that end with a root, of parameters a0, b0, a1, b1, ..."""
    lines = [f"{name} {{"]
    for k, t in enumerate(types):
        lines += [f"  a{k} = {t}[] parameter({2 * k})", f"  b{k} = {t}[] parameter({2 * k + 1})"]
    case.computation("\n".join([*lines, *[f"  {line}" for line in text], "}"]))
    return name


def _plain(case, types, direction, total=False):
    kind = ", type=TOTALORDER" if total else ""
    name = "_".join([direction.lower() + "total" * total, *types])
    text = [f"ROOT r = pred[] compare(a0, b0), direction={direction}{kind}"]
    return _comparator(case, types, text, name)


def _canonical(t, side, k):
    """What JAX compares: zeros are alike, and so are NaNs."""
    return [
        f"zero{side}{k} = {t}[] constant(0)",
        f"nan{side}{k} = {t}[] constant(nan)",
        f"is_nan{side}{k} = pred[] compare({side}{k}, {side}{k}), direction=NE",
        f"is_zero{side}{k} = pred[] compare({side}{k}, zero{side}{k}), direction=EQ",
        f"unsigned{side}{k} = {t}[] select(is_zero{side}{k}, zero{side}{k}, {side}{k})",
        f"{side}key{k} = {t}[] select(is_nan{side}{k}, nan{side}{k}, unsigned{side}{k})",
    ]


def _sort(case, label, operands, dim, comparator, stable=True, layouts=None):
    """`operands`: (type, values) each; layouts of operands and results."""
    n = len(operands)
    layouts = layouts or [None] * (2 * n)
    p = [case.param(t, v, layouts[k]) for k, (t, v) in enumerate(operands)]
    _sorted(case, label, p, [(t, np.shape(v)) for t, v in operands], dim, comparator, stable, layouts)


def _sorted(case, label, p, kinds, dim, comparator, stable=True, layouts=None):
    n = len(p)
    layouts = layouts or [None] * (2 * n)
    results = [shape(t, d, layouts[n + k]) for k, (t, d) in enumerate(kinds)]
    text = results[0] if n == 1 else f"({', '.join(results)})"
    attrs = f"dimensions={{{dim}}}{', is_stable=true' if stable else ''}, to_apply={comparator}"
    s = case.op(text, "sort", *p, attrs=attrs)
    if n == 1:
        case.result(s, label)
        return
    for k, result in enumerate(results):
        case.result(
            case.op(result, "get-tuple-element", s, attrs=f"index={k}"), f"{label}.{k}"
        )


def _mixed(type_, dims, seed=0):
    """Elements of the whole range of a type, some of them equal; floats are finite and not -0."""
    n = int(np.prod(dims))
    r = values.random(31 + seed)
    if type_ == "pred":
        return r.randint(0, 2, dims).astype(bool)
    if type_ in COMPLEX:
        part = PART[type_]
        return array(type_, _mixed(part, dims) + 1j * _mixed(part, dims, 1))
    if type_ in F8 + FLOATS:
        x = values.every_float8(type_) if type_ in F8 else values.floats(type_, 200)
        wide = x.astype(np.float64)
        x = x[np.isfinite(wide) & ~((wide == 0) & np.signbit(wide))]
    else:
        x = np.asarray(values.of_type(type_)).ravel()
    return x[r.randint(0, len(x), n)].reshape(dims)


def _type_cases():
    for suffix, part in by_device(["pred"] + INTS + F8 + FLOATS):
        case = Case("sort.types" + suffix)
        for t in part:
            x = _mixed(t, (3, 37))
            _sort(case, f"{t}.lt", [(t, x)], 1, _plain(case, [t], "LT"))
            if t not in ("pred", "s4", "s64", "u16", "u32", "f8e5m2", "bf16", "f32", "f64"):
                continue
            # bytes beside the key, and more of them than a place takes
            others = [t, t, "s64", "u8"]
            more = [("s64", fill("s64", (3, 37))), ("u8", fill("u8", (3, 37)))]
            _sort(
                case,
                f"{t}.others",
                [(t, x), (t, _mixed(t, (3, 37), 2)), *more],
                1,
                _plain(case, others, "GT"),
            )
        yield case
    for suffix, part in by_device(COMPLEX):
        case = Case("sort.complex" + suffix)
        for t in part:
            f = PART[t]
            text = [
                f"ar = {f}[] real(a0)",
                f"br = {f}[] real(b0)",
                f"ai = {f}[] imag(a0)",
                f"bi = {f}[] imag(b0)",
                "less = pred[] compare(ar, br), direction=LT",
                "same = pred[] compare(ar, br), direction=EQ",
                "below = pred[] compare(ai, bi), direction=LT",
                "then = pred[] and(same, below)",
                "ROOT r = pred[] or(less, then)",
            ]
            x = array(t, np.round(_mixed("f32", (2, 29)).clip(-2, 2)) + 1j * _mixed("s8", (2, 29)))
            _sort(case, t, [(t, x)], 1, _comparator(case, [t], text, f"lexicographic_{t}"))
        yield case


def _special_cases():
    for suffix, part in by_device(["f8e4m3fn", "bf16", "f16", "f32", "f64"]):
        case = Case("sort.special" + suffix)
        for t in part:
            numbers = [np.nan, 1, -0.0, np.inf, 0.0, -np.inf, -1, np.nan, 0.0, -0.0, 2, 0.5, -0.0]
            x = array(t, numbers)
            place = ("s32", np.arange(len(numbers)))
            for direction in ("LT", "GT") if t in ("bf16", "f32") else ("GT",):
                both = [t, "s32"]
                _sort(
                    case,
                    f"{t}.total.{direction}",
                    [(t, x), place],
                    0,
                    _plain(case, both, direction, True),
                )
                # without NaN, which no plain comparison orders
                wide = x.astype(np.float64)
                real = x[~np.isnan(wide)]
                short = ("s32", np.arange(len(real)))
                _sort(
                    case,
                    f"{t}.zeros.{direction}",
                    [(t, real), short],
                    0,
                    _plain(case, both, direction),
                )
                if t in F8:  # not all of them have what `nan` means
                    continue
                text = [
                    *_canonical(t, "a", 0),
                    *_canonical(t, "b", 0),
                    f"ROOT r = pred[] compare(akey0, bkey0), direction={direction}, type=TOTALORDER",
                ]
                name = f"canonical_{direction}_{t}"
                _sort(
                    case,
                    f"{t}.canonical.{direction}",
                    [(t, x), place],
                    0,
                    _comparator(case, both, text, name),
                )
        yield case


def _shape_cases():
    case = Case("sort.shapes")
    for dims, dim in (
        ((1,), 0),
        ((2,), 0),
        ((7,), 0),
        ((8,), 0),
        ((9,), 0),
        ((0,), 0),
        ((3, 0), 1),
        ((0, 3), 1),
        ((5, 1), 1),
        ((17, 3), 0),
        ((4, 6, 5), 0),
        ((4, 6, 5), 1),
        ((4, 6, 5), 2),
        ((2, 3, 2, 9, 2, 2), 3),
        ((1, 64), 1),
        ((65, 2), 0),
    ):
        x = values.random(len(dims)).randint(-50, 50, dims)
        name = "x".join(map(str, dims)) + f".{dim}"
        _sort(case, name, [("s32", x)], dim, _plain(case, ["s32"], "LT"), False)
        if len(dims) < 3:
            continue
        _sort(
            case,
            name + ".pairs",
            [("s32", x), ("f32", fill("f32", dims))],
            dim,
            _plain(case, ["s32", "f32"], "GT"),
        )
    yield case
    case = Case("sort.layouts")
    x, y = values.random(9).randint(-9, 9, (5, 6)), fill("f32", (5, 6))
    for label, layouts in (
        ("operands", ((0, 1), (0, 1), None, None)),
        ("results", (None, None, (0, 1), (0, 1))),
        ("one-each", ((0, 1), None, None, (0, 1))),
        ("all", ((0, 1), (0, 1), (0, 1), (0, 1))),
    ):
        for dim in 0, 1:
            both = _plain(case, ["s32", "f32"], "LT")
            _sort(case, f"{label}.{dim}", [("s32", x), ("f32", y)], dim, both, layouts=layouts)
    yield case


def _comparator_cases():
    case = Case("sort.comparators")
    r = values.random(12)
    x, y = r.randint(-4, 5, (3, 50)), r.randint(-3, 4, (3, 50)).astype(np.float32)
    z = fill("u8", (3, 50))
    operands = [("s32", x), ("f32", y), ("u8", z)]
    types = [t for t, _ in operands]

    def one(label, text, dim=1):
        name = _comparator(case, types, text, label.replace("-", "_"))
        _sort(case, label, operands, dim, name)

    one("turned", ["ROOT r = pred[] compare(b0, a0), direction=LT"])
    one("second-operand", ["ROOT r = pred[] compare(a1, b1), direction=GT"])
    one("third-operand", ["ROOT r = pred[] compare(b2, a2), direction=GT"], 0)
    lexicographic = [
        "same = pred[] compare(a0, b0), direction=EQ",
        "less = pred[] compare(a0, b0), direction=LT",
        "below = pred[] compare(a1, b1), direction=GT",
        "then = pred[] and(same, below)",
    ]
    one("two-keys", [*lexicographic, "ROOT r = pred[] or(less, then)"])
    one("two-keys-turned", [*lexicographic, "ROOT r = pred[] or(then, less)"], 0)
    of_three = [
        *lexicographic[:2],
        "less1 = pred[] compare(a1, b1), direction=LT",
        "same1 = pred[] compare(b1, a1), direction=EQ",
        "less2 = pred[] compare(a2, b2), direction=GT",
        "then1 = pred[] and(less2, same1)",
        "rest = pred[] or(less1, then1)",
        "then = pred[] and(rest, same)",
        "ROOT r = pred[] or(less, then)",
    ]
    one("three-keys", of_three)
    one(
        "computed",
        [
            "am = s32[] multiply(a0, a0)",
            "bm = s32[] multiply(b0, b0)",
            "ROOT r = pred[] compare(am, bm), direction=LT",
        ],
    )
    one(
        "of-two-operands",
        [
            "ac = f32[] convert(a0)",
            "bc = f32[] convert(b0)",
            "as = f32[] add(ac, a1)",
            "bs = f32[] add(bc, b1)",
            "ROOT r = pred[] compare(as, bs), direction=LT",
        ],
    )
    one(
        "not-of-keys",
        [
            "d = s32[] subtract(a0, b0)",
            "zero = s32[] constant(0)",
            "ROOT r = pred[] compare(d, zero), direction=LT",
        ],
    )
    one(
        "not-less",
        [
            "no = pred[] compare(a1, b1), direction=GE",
            "ROOT r = pred[] not(no)",
        ],
        0,
    )
    one(
        "parity-first",
        [
            "one = s32[] constant(1)",
            "ap = s32[] and(a0, one)",
            "bp = s32[] and(b0, one)",
            "differ = pred[] compare(ap, bp), direction=NE",
            "even = pred[] compare(ap, bp), direction=LT",
            "less = pred[] compare(a0, b0), direction=LT",
            "ROOT r = pred[] select(differ, even, less)",
        ],
    )
    yield case


def _fused_cases():
    """With operations in front and behind, as an argsort and its inverse are."""
    case = Case("sort.fused")
    x = case.param("f32", values.random(3).permutation(60).reshape(4, 15))
    both = _plain(case, ["f32", "s32"], "LT")
    iota = case.op("s32[4,15]{1,0}", "iota", attrs="iota_dimension=1")
    negative = case.op("f32[4,15]{1,0}", "negate", x)
    turned = case.op("f32[4,15]{1,0}", "reverse", negative, attrs="dimensions={1}")
    t = "(f32[4,15]{1,0}, s32[4,15]{1,0})"
    s = case.op(t, "sort", turned, iota, attrs=f"dimensions={{1}}, is_stable=true, to_apply={both}")
    order = case.op("s32[4,15]{1,0}", "get-tuple-element", s, attrs="index=1")
    case.result(order, "argsort")
    ints = _plain(case, ["s32", "s32"], "LT")
    ti = "(s32[4,15]{1,0}, s32[4,15]{1,0})"
    back = case.op(ti, "sort", order, iota, attrs=f"dimensions={{1}}, to_apply={ints}")
    inverse = case.op("s32[4,15]{1,0}", "get-tuple-element", back, attrs="index=1")
    case.result(inverse, "inverse")
    least = case.op("f32[4,15]{1,0}", "get-tuple-element", s, attrs="index=0")
    few = case.op("f32[4,3]{1,0}", "slice", least, attrs="slice={[0:4], [0:3]}")
    case.result(case.op("f32[4,3]{1,0}", "add", few, few), "behind")
    yield case


def _large_cases():
    """Enough for several blocks, runs and pieces of each implementation."""
    case = Case("sort.large")
    r = values.random(5)
    for dims, dim in (((20000,), 0), ((3, 3000), 1), ((700, 5), 0), ((40, 130), 1)):
        name = "x".join(map(str, dims))
        x = r.randint(-(10**4), 10**4, dims)
        _sort(case, f"{name}.s32", [("s32", x)], dim, _plain(case, ["s32"], "LT"), False)
        _sort(
            case,
            f"{name}.pairs",
            [("s16", x // 64), ("f32", fill("f32", dims))],
            dim,
            _plain(case, ["s16", "f32"], "GT"),
        )
    text = [
        "d = s32[] subtract(a0, b0)",
        "zero = s32[] constant(0)",
        "ROOT r = pred[] compare(d, zero), direction=LT",
    ]
    any_ = _comparator(case, ["s32", "s64", "u8"], text, "difference")
    for dims, dim in (((9000,), 0), ((2, 2100), 1)):
        x = r.randint(-200, 200, dims)
        operands = [("s32", x), ("s64", fill("s64", dims)), ("u8", fill("u8", dims))]
        _sort(case, "any." + "x".join(map(str, dims)), operands, dim, any_)
    yield case


def cases():
    yield from _type_cases()
    yield from _special_cases()
    yield from _shape_cases()
    yield from _comparator_cases()
    yield from _fused_cases()
    yield from _large_cases()
