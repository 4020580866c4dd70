# SPDX-License-Identifier: Apache-2.0
"""reduce-window and select-and-scatter: every type, windows with strides, dilations, padding of either sign,
cumulative ones, several arrays, and gradients of max-pooling.

Float sums are of small whole numbers, so that every order of adding gives the same exact result."""

import numpy as np

from recorder import values
from recorder.movement import fill
from recorder.xla import COMPLEX, FLOATS, INTS, Case, array, by_device, limits, shape


def _text(sizes, strides=None, low=None, high=None, base=None, dilation=None):
    """A window attribute; lists by dimension."""
    n = len(sizes)

    def joined(key, numbers):
        return [f"{key}={'x'.join(map(str, numbers))}"] if numbers else []

    parts = joined("size", sizes) + joined("stride", strides)
    if low or high:
        pairs = zip(low or [0] * n, high or [0] * n)
        parts += ["pad=" + "x".join(f"{a}_{b}" for a, b in pairs)]
    parts += joined("lhs_dilate", base) + joined("rhs_dilate", dilation)
    return "window={" + " ".join(parts) + "}"


def _extents(dims, sizes, strides=None, low=None, high=None, base=None, dilation=None):
    out = []
    for d, extent in enumerate(dims):
        base_d = base[d] if base else 1
        size = (sizes[d] - 1) * (dilation[d] if dilation else 1) + 1
        padded = (extent - 1) * base_d + 1 if extent else 0
        padded += (low[d] if low else 0) + (high[d] if high else 0)
        stride = strides[d] if strides else 1
        out.append(0 if padded <= 0 or size > padded else (padded - size) // stride + 1)
    return out


def _body(case, type_, op):
    name = f"{op}_{type_}".replace("-", "_")
    t = f"{type_}[]"
    case.computation(
        f"{name} {{\n  x = {t} parameter(0)\n  y = {t} parameter(1)\n  ROOT r = {t} {op}(x, y)\n}}"
    )
    return name


def _least(type_):
    if type_ == "pred":
        return 0
    return -np.inf if type_ in FLOATS else limits(type_)[0]


def _window(case, label, type_, op, x, init, sizes, bound=0, reason="", layouts=(None, None), neutral=None, **more):
    """neutral: the initial value as HLO writes it, for a constant that is known to change nothing."""
    p = case.param(type_, x, layouts[0])
    i = case.constant(f"{type_}[]", neutral) if neutral else case.param(type_, init)
    attrs = f"{_text(sizes, **more)}, to_apply={_body(case, type_, op)}"
    out = shape(type_, _extents(np.shape(x), sizes, **more), layouts[1])
    case.result(case.op(out, "reduce-window", p, i, attrs=attrs), label, bound, reason)


def _small(type_, dims, seed=0):
    """Whole numbers of which sums are exact."""
    r = values.random(40 + seed)
    if type_ == "pred":
        return r.randint(0, 2, dims).astype(bool)
    return array(type_, r.randint(0 if type_[0] == "u" else -3, 4, dims))


def _type_cases():
    for suffix, part in by_device(["pred"] + INTS + FLOATS + COMPLEX):
        case = Case("window.types" + suffix)
        for t in part:
            x = _small(t, (5, 6))
            op = "or" if t == "pred" else "add"
            _window(case, f"{t}.{op}", t, op, x, 0, (2, 3), strides=(2, 1), low=(1, 0), high=(0, 1))
            _window(case, f"{t}.cumulative", t, op, x, 0, (1, 6), low=(0, 5))
            if t in COMPLEX:
                continue
            _window(case, f"{t}.maximum", t, "maximum", x, _least(t), (3, 2), strides=(1, 2))
        yield case


def _shape_cases():
    case = Case("window")
    cube = _small("f32", (3, 5, 4))

    def one(label, x, sizes, op="add", init=0, **more):
        _window(case, label, "f32", op, x, init, sizes, **more)

    one("all-of-it", cube, (3, 5, 4))
    one("single", cube, (1, 1, 1))
    one("strides", cube, (2, 2, 2), strides=(1, 3, 2))
    one("padding", cube, (2, 3, 2), low=(1, 2, 0), high=(0, 1, 3))
    one("padding-only", cube, (1, 1, 1), low=(2, 0, 0), high=(0, 0, 1))
    one("cropped", cube, (2, 2, 2), low=(0, -1, 0), high=(0, -2, -1))
    one("cropped-and-padded", cube, (2, 2, 2), low=(-1, 2, 0), high=(2, -1, 0))
    one("base", cube, (2, 3, 2), base=(1, 2, 3))
    one("base-padded", cube, (2, 3, 3), base=(2, 1, 2), low=(1, 0, 2), high=(2, 2, 1))
    one("dilated", cube, (2, 3, 2), dilation=(2, 2, 1))
    one("everything", cube, (2, 2, 3), strides=(2, 1, 2), low=(1, -1, 2), high=(0, 3, 1), base=(2, 3, 1), dilation=(1, 2, 2))
    one("last-dilated", cube, (1, 2, 2), base=(1, 1, 2), dilation=(1, 1, 3), high=(0, 0, 4))
    one("too-large", cube, (1, 6, 1))
    one("no-elements", np.zeros((0, 3)), (2, 2), low=(1, 0), high=(2, 0))
    one("nothing", np.zeros((3, 0)), (1, 1))
    one("init", cube, (2, 2, 2), op="maximum", init=2.0)
    one("rank6", fill("f32", (2, 3, 1, 2, 2, 5)), (1, 2, 1, 2, 1, 3), strides=(1, 1, 1, 1, 2, 2))
    one("channels", _small("f32", (2, 9, 9, 21)), (1, 3, 3, 1), strides=(1, 2, 2, 1), low=(0, 1, 1, 0), high=(0, 1, 1, 0), op="maximum", init=-np.inf)
    one("rows", _small("f32", (3, 2, 9, 37)), (1, 1, 2, 3), strides=(1, 1, 2, 2), low=(0, 0, 0, 1), high=(0, 0, 1, 3), op="maximum", init=-np.inf)
    one("wide", _small("f32", (200,)), (33,), low=(5,), high=(30,))
    yield case
    case = Case("window.layouts")
    for label, layouts in (
        ("operand", ((0, 2, 1), None)),
        ("result", (None, (1, 0, 2))),
        ("both", ((0, 1, 2), (0, 1, 2))),
    ):
        _window(case, label, "f32", "add", cube, 0, (2, 2, 1), layouts=layouts)
        _window(case, f"cumulative.{label}", "f32", "add", cube, 0, (1, 5, 1), low=(0, 4, 0), layouts=layouts)
    yield case


def _cumulative_cases():
    case = Case("window.cumulative")
    r = values.random(17)
    for dims, along in (
        ((2,), 0),
        ((700,), 0),
        ((5000,), 0),
        ((9, 700), 1),
        ((700, 9), 0),
        ((600, 32), 0),
        ((2, 300, 4), 1),
        ((40, 3), 1),
    ):
        for reverse in False, True:
            sizes = [1] * len(dims)
            sizes[along] = dims[along]
            pad = [0] * len(dims)
            pad[along] = dims[along] - 1
            side = {"high": pad} if reverse else {"low": pad}
            label = "x".join(map(str, dims)) + f".{along}" + ".reverse" * reverse
            x = r.randint(-9, 10, dims)
            _window(case, label, "f32", "add", x, 0, sizes, **side)
            if len(dims) == 1 or reverse:
                _window(case, f"{label}.max", "s32", "maximum", x, -(2**31), sizes, **side)
    x = r.randint(0, 2, (300,)) * 2 - 1
    _window(case, "product", "s32", "multiply", x, 1, (300,), low=(299,))
    # of sums XLA counts an initial value that is no identity several times
    _window(case, "init", "s32", "maximum", x, 0, (300,), low=(299,))
    bound = "sums of logarithms in another order"
    case.computation(
        "logaddexp {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
        "  s = f32[] subtract(a, b)\n  n = pred[] compare(s, s), direction=NE\n"
        "  p = f32[] add(a, b)\n  m = f32[] maximum(a, b)\n  d = f32[] abs(s)\n"
        "  g = f32[] negate(d)\n  e = f32[] exponential(g)\n  l = f32[] log-plus-one(e)\n"
        "  t = f32[] add(m, l)\n  ROOT r = f32[] select(n, p, t)\n}"
    )
    p = case.param("f32", r.uniform(1, 5, (4, 400)))
    low = case.constant("f32[]", "-inf")
    for label, pad in ("logsumexp", "0_0x399_0"), ("logsumexp.reverse", "0_0x0_399"):
        attrs = f"window={{size=1x400 pad={pad}}}, to_apply=logaddexp"
        s = case.op("f32[4,400]{1,0}", "reduce-window", p, low, attrs=attrs)
        case.result(s, label, 64, bound)
    yield case


def _line_cases():
    """Rows of lines that are vectors and what is left of them, and rows that are shorter than one."""
    r = values.random(23)
    nan, inf = np.nan, np.inf
    case = Case("window.lines")
    for t in "f32", "f64", "s32", "u32", "s64", "u64", "f16", "bf16":
        for op, init in ("add", 0), ("maximum", 0 if t[0] == "u" else -9), ("multiply", 1):
            for dims in (3, 39), (6, 16), (5, 7):
                x = r.randint(0 if t[0] == "u" else -1, 2, dims)
                if op == "multiply":
                    x = np.where(x == 0, 1, x) * np.where(r.randint(0, 12, dims) == 0, 2, 1)
                n = dims[1]
                label = f"{t}.{op}.{n}"
                side = {"high": (0, n - 1)} if n == 16 or op == "maximum" else {"low": (0, n - 1)}
                _window(case, label, t, op, array(t, x), init, (1, n), **side)
        if t[0] in "su":
            x = array(t, r.randint(0, 100, (2, 41)))
            for op, init in ("and", 127), ("or", 0), ("xor", 0), ("minimum", 99):
                _window(case, f"{t}.{op}", t, op, x, init, (1, 41), low=(0, 40))
    yield case
    case = Case("window.lines.special")
    x = r.choice([nan, inf, -inf, -0.0, 0.0, -0.0, 0.0, -0.0, 0.0, -0.0, 1, -1], (12, 37))
    x[:8][np.isnan(x[:8])] = -0.0
    x[:4][x[:4] != 0] = 0.0
    for t in "f32", "f64":
        for op, init in ("maximum", -inf), ("minimum", inf), ("add", 0):
            _window(case, f"{t}.{op}", t, op, x, init, (1, 37), low=(0, 36))
            _window(case, f"{t}.{op}.reverse", t, op, x[:, :9], init, (1, 9), high=(0, 8))
    yield case
    case = Case("window.lines.fused")
    for label, dims in ("long", (1500,)), ("rows", (3, 50)):
        n = dims[-1]
        one = [1] * (len(dims) - 1)
        p = case.param("f16", array("f16", r.randint(-3, 4, dims)))
        wide = case.op(shape("f32", dims), "convert", p)
        square = case.op(shape("f32", dims), "multiply", wide, wide)
        x = case.op(shape("f32", dims), "subtract", square, wide)
        zero = case.constant("f32[]", "0")
        for side, pad in ("", [0] * len(one) + [n - 1]), (".reverse", [0] * len(one) + [n - 1]):
            window = _text(one + [n], **{"high" if side else "low": pad})
            attrs = f"{window}, to_apply={_body(case, 'f32', 'add')}"
            case.result(case.op(shape("f32", dims), "reduce-window", x, zero, attrs=attrs), label + side)
    yield case
    case = Case("window.lines.accuracy")
    reason = "sums in another order"
    for t in "f32", "f64", "f16", "bf16":
        _window(case, t, t, "add", array(t, r.uniform(0, 1, (600,))), 0, (600,), 8, reason, low=(599,))
        _window(case, f"{t}.rows", t, "add", array(t, r.uniform(0, 1, (7, 100))), 0, (1, 100), 8, reason, low=(0, 99))
    yield case


def _lane_cases():
    """Windows of which lines of neighbours are vectors: along them or not, inside, at edges, and beside them."""
    case = Case("window.lanes")
    forms = {
        "pool": ((1, 3, 3, 1), {"strides": (1, 2, 2, 1), "high": (0, 1, 1, 0)}),
        "same": ((1, 3, 3, 1), {"low": (0, 1, 1, 0), "high": (0, 1, 1, 0)}),
        "holes": ((2, 2, 2, 1), {"base": (1, 2, 3, 1), "dilation": (1, 2, 1, 1), "low": (1, 1, 0, 0), "high": (0, 2, 1, 0)}),
        "cropped": ((1, 2, 2, 1), {"low": (0, -1, 2, 0), "high": (0, 3, -1, 0)}),
        "along": ((1, 1, 2, 3), {"low": (0, 0, 1, 1), "high": (0, 0, 0, 1)}),
        "along.2": ((1, 1, 1, 3), {"strides": (1, 1, 1, 2), "low": (0, 0, 0, 1), "high": (0, 0, 0, 2)}),
        "along.3": ((1, 1, 1, 2), {"strides": (1, 1, 1, 3)}),
        "along.far": ((1, 1, 1, 3), {"dilation": (1, 1, 1, 9), "low": (0, 0, 0, 20), "high": (0, 0, 0, -3)}),
    }
    for label, (sizes, more) in forms.items():
        for t, c in ("f32", 37), ("f32", 64), ("f64", 21), ("s32", 40), ("f16", 19):
            x = _small(t, (2, 5, 4, c))
            for op in "add", "maximum":
                _window(case, f"{label}.{t}.{c}.{op}", t, op, x, 0 if op == "add" else -2, sizes, **more)
    yield case
    case = Case("window.lanes.special")
    x = values.random(9).choice([np.nan, np.inf, -np.inf, -0.0, 0.0, -0.0, 0.0, 1, -1], (9, 33))
    x[:3][x[:3] != 0] = 0.0
    for t in "f32", "f64":
        for op, init in ("maximum", -np.inf), ("minimum", np.inf):
            _window(case, f"{t}.{op}", t, op, x, init, (2, 1), strides=(2, 1))
            _window(case, f"{t}.{op}.along", t, op, x, init, (1, 2), high=(0, 1))
    yield case


def _several_cases():
    """The largest value and where it is, of windows and of all before."""
    case = Case("window.several")
    case.computation(
        "larger {\n"
        "  a = f32[] parameter(0)\n  i = s32[] parameter(1)\n"
        "  b = f32[] parameter(2)\n  j = s32[] parameter(3)\n"
        "  c = pred[] compare(a, b), direction=GE\n"
        "  v = f32[] select(c, a, b)\n  k = s32[] select(c, i, j)\n"
        "  ROOT r = (f32[], s32[]) tuple(v, k)\n}"
    )
    low, zero = case.constant("f32[]", "-inf"), case.constant("s32[]", "-1")
    for dims, sizes, more in (
        ((6, 8), (2, 3), {"strides": (2, 1)}),
        ((4, 40), (1, 40), {"low": (0, 39)}),
        ((900,), (900,), {"high": (899,)}),
        ((6, 8), (2, 3), {"base": (2, 2), "low": (1, 2), "high": (-1, 2), "dilation": (1, 2)}),
    ):
        x = case.param("f32", values.random(3).permutation(int(np.prod(dims))).reshape(dims))
        i = case.op(shape("s32", dims), "iota", attrs="iota_dimension=0")
        out = _extents(dims, sizes, **more)
        text = f"({shape('f32', out)}, {shape('s32', out)})"
        s = case.op(text, "reduce-window", x, i, low, zero, attrs=f"{_text(sizes, **more)}, to_apply=larger")
        label = "x".join(map(str, dims))
        for k, t in enumerate(("f32", "s32")):
            part = case.op(shape(t, out), "get-tuple-element", s, attrs=f"index={k}")
            case.result(part, f"{label}.{k}")
    yield case


def _special_cases():
    case = Case("window.special")
    nan, inf = np.nan, np.inf
    x = [1, nan, 2, inf, -inf, -0.0, 0.0, -0.0, 3, inf, 4, nan]
    for t in "f32", "bf16", "f16":
        for op, init in ("maximum", -inf), ("minimum", inf), ("add", 0):
            _window(case, f"{t}.{op}", t, op, x, init, (2,))
            _window(case, f"{t}.{op}.cumulative", t, op, x, init, (12,), low=(11,))
    yield case


def _long_cases():
    """Windows so long, or of so many elements, that they are done by blocks or by dimensions."""
    case = Case("window.long")
    rows = (3, 211)
    forms = {
        "plain": (rows, (1, 64), {}),
        "padded": (rows, (1, 64), {"low": (0, 7), "high": (0, 50)}),
        "cropped": (rows, (1, 64), {"low": (0, -3), "high": (0, -6)}),
        "strides": (rows, (1, 120), {"strides": (1, 3), "low": (0, 119)}),
        "longer-than-all": ((2, 50), (1, 64), {"low": (0, 63), "high": (0, 63)}),
        "columns": ((211, 5), (40, 1), {"low": (39, 0)}),
        "both": ((60, 45), (20, 12), {"low": (3, 0), "high": (0, 11)}),
        "dilated": ((70, 40), (9, 11), {"dilation": (2, 1), "high": (3, 1)}),
        "holes": ((40, 40), (9, 11), {"base": (1, 2), "strides": (1, 2)}),
    }
    for form, (dims, sizes, more) in forms.items():
        x = _small("f32", dims)
        _window(case, f"add.{form}", "f32", "add", x, 0, sizes, neutral="0", **more)
        _window(case, f"maximum.{form}", "f32", "maximum", x, 0, sizes, neutral="-inf", **more)
    least = {"s32": -(2**31), "s8": -128, "s64": -(2**63)}
    for t in "s32", "s8", "s64", "bf16", "f16", "f64":
        x = _small(t, rows)
        _window(case, f"add.{t}", t, "add", x, 0, (1, 64), neutral="0")
        low = str(least.get(t, "-inf"))
        _window(case, f"maximum.{t}", t, "maximum", x, 0, (1, 64), neutral=low, high=(0, 63))
    signs = np.where(_small("f32", rows) > 0, 1, -1)
    _window(case, "multiply", "f32", "multiply", signs, 1, (1, 64), neutral="1")
    _window(case, "multiply.s32", "s32", "multiply", _small("s32", rows), 1, (1, 64), neutral="1")
    special = np.zeros(200)
    special[[20, 75, 120, 121, 160]] = np.nan, np.inf, np.inf, -np.inf, np.nan
    for op, neutral in ("maximum", "-inf"), ("minimum", "inf"), ("add", "0"):
        _window(case, f"special.{op}", "f32", op, special, 0, (80,), neutral=neutral)
    yield case


def _select(case, label, type_, x, sizes, select="GE", op="add", init=0, layouts=(None,) * 3, bound=0, reason="", **more):
    t = f"{type_}[]"
    name = f"{select.lower()}_{type_}"
    case.computation(
        f"{name} {{\n  x = {t} parameter(0)\n  y = {t} parameter(1)\n"
        f"  ROOT r = pred[] compare(x, y), direction={select}\n}}"
    )
    dims = _extents(np.shape(x), sizes, **more)
    p = case.param(type_, x, layouts[0])
    s = case.param(type_, _small(type_, dims, 5), layouts[1])
    i = case.param(type_, init)
    attrs = f"{_text(sizes, **more)}, select={name}, scatter={_body(case, type_, op)}"
    out = shape(type_, np.shape(x), layouts[2])
    case.result(case.op(out, "select-and-scatter", p, s, i, attrs=attrs), label, bound, reason)


def _select_cases():
    for suffix, part in by_device([t for t in INTS if t[1:] != "4"] + FLOATS):
        case = Case("select-and-scatter.types" + suffix)
        for t in part:
            _select(case, t, t, _small(t, (5, 6)), (2, 3), strides=(2, 2))
        yield case
    case = Case("select-and-scatter")
    m = _small("f32", (6, 7))
    for direction in "GE", "GT", "LE", "LT":
        _select(case, direction, "f32", m, (2, 3), direction, strides=(1, 2))
    _select(case, "maximum", "f32", m, (3, 3), op="maximum", init=-1)
    _select(case, "init", "f32", m, (3, 3), init=5)
    _select(case, "padding", "f32", m, (3, 2), strides=(2, 2), low=(1, 1), high=(1, 0))
    _select(case, "one", "f32", m, (1, 1))
    _select(case, "gaps", "f32", m, (1, 2), strides=(3, 4))
    _select(case, "all-of-it", "f32", m, (6, 7))
    _select(case, "too-large", "f32", m, (7, 1), init=3)
    _select(case, "only-padding", "f32", m, (2, 2), strides=(2, 2), low=(2, 0), high=(0, 3))
    _select(case, "empty", "f32", np.zeros((0, 3)), (1, 1))
    _select(case, "vector", "f32", _small("f32", (40,)), (5,), strides=(2,))
    images = _small("f32", (2, 9, 9, 5))
    pool = {"strides": (1, 2, 2, 1), "low": (0, 1, 1, 0), "high": (0, 1, 1, 0)}
    _select(case, "images", "f32", images, (1, 3, 3, 1), **pool)
    for label, layouts in (
        ("operand", ((0, 1), None, None)),
        ("source", (None, (0, 1), None)),
        ("result", (None, None, (0, 1))),
    ):
        _select(case, f"layout.{label}", "f32", m, (2, 3), layouts=layouts)
    nan, inf = np.nan, np.inf
    special = [1, nan, 2, inf, -inf, -0.0, 0.0, -0.0, 3, inf, 4, nan, nan, 1]
    for direction in "GE", "GT":
        _select(case, f"special.{direction}", "f32", special, (3,), direction, strides=(2,))
    yield case


def cases():
    yield from _type_cases()
    yield from _shape_cases()
    yield from _cumulative_cases()
    yield from _line_cases()
    yield from _lane_cases()
    yield from _several_cases()
    yield from _special_cases()
    yield from _long_cases()
    yield from _select_cases()
