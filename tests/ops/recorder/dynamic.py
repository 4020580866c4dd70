# SPDX-License-Identifier: Apache-2.0
"""Dimensions whose sizes are known at run time only: what is behind a size is not seen, by any operation."""

import numpy as np

from recorder import values
from recorder.xla import Case


class Sized(Case):
    """A case whose arrays come with more elements than are valid; what is more would show if it were seen."""

    def sized(self, type_, data, sizes):
        """A parameter of `data`, of which dimension d has sizes[d] elements at run time."""
        name = self.param(type_, data)
        dims = [str(n) for n in np.shape(data)]
        for d, size in sizes.items():
            dims[d] = f"<={dims[d]}"
            count = self.param("s32", size)
            name = self.op(bounded(type_, dims), "set-dimension-size", name, count,
                           attrs=f"dimensions={{{d}}}")
        return name

    def reducer(self, type_, opcode):
        name = f"{opcode}_{type_}"
        lines = [f"  {p} = {type_}[] parameter({i})" for i, p in enumerate("ab")]
        root = f"  ROOT r = {type_}[] {opcode}(a, b)"
        self.computation("\n".join([f"{name} {{", *lines, root, "}"]))
        return name


def bounded(type_, dims):
    """The text of a shape; dimensions are numbers or `<=N`."""
    layout = ",".join(str(d) for d in reversed(range(len(dims))))
    return f"{type_}[{','.join(map(str, dims))}]" + (f"{{{layout}}}" if dims else "")


def _plain():
    case = Sized("plain")
    r = values.random(1)
    x = r.randint(-9, 10, (8, 3)).astype(np.float32)
    x[5:] = np.nan
    d = case.sized("f32", x, {0: 5})
    case.result_sized(case.op("f32[<=8,3]{1,0}", "multiply", d, d), "square")
    case.result_sized(case.op("f32[3,<=8]{1,0}", "transpose", d, attrs="dimensions={1,0}"), "transposed")
    b = case.op("f32[<=8,2,3]{2,1,0}", "broadcast", d, attrs="dimensions={0,2}")
    case.result_sized(b, "broadcast")
    case.result_sized(case.op("s32[<=8,3]{1,0}", "convert", d), "converted")
    static = case.param("f32", r.randint(-9, 10, (8, 3)))
    case.result_sized(case.op("f32[<=8,3]{1,0}", "add", static, d), "with-static")
    both = case.sized("s32", r.randint(-9, 10, (4, 5)), {0: 3, 1: 2})
    case.result_sized(case.op("s32[<=4,<=5]{1,0}", "negate", both), "two")
    none = case.sized("s32", r.randint(-9, 10, (4,)), {0: 0})
    case.result_sized(case.op("s32[<=4]{0}", "negate", none), "none")
    return case


def _whole():
    """A size that is the bound makes the dimension static again, and shows what was behind it."""
    case = Sized("whole")
    e = case.sized("s32", values.random(3).randint(-9, 10, (6,)), {0: 2})
    six = case.constant("s32[]", "6")
    case.result(case.op("s32[6]{0}", "set-dimension-size", e, six, attrs="dimensions={0}"), "whole")
    return case


def _reduces():
    case = Sized("reduce")
    r = values.random(2)
    for opcode, init in (("add", "0"), ("multiply", "1"), ("maximum", "-inf"), ("minimum", "inf")):
        x = r.randint(-3, 4, (7, 6)).astype(np.float32)
        x[4:] = np.nan
        x[:, 5:] = np.inf
        for name, sizes in (("rows", {0: 4}), ("both", {0: 4, 1: 5})):
            d = case.sized("f32", x, sizes)
            zero = case.constant("f32[]", init)
            apply = f"to_apply={case.reducer('f32', opcode)}"
            for dims in ([0], [1], [0, 1]):
                text = [("<=" if i in sizes else "") + str(n)
                        for i, n in enumerate(x.shape) if i not in dims]
                attrs = f"dimensions={{{','.join(map(str, dims))}}}, {apply}"
                y = case.op(bounded("f32", text), "reduce", d, zero, attrs=attrs)
                label = f"{opcode}.{name}.{len(dims)}{dims[0]}"
                (case.result_sized if any("<" in t for t in text) else case.result)(y, label)
    return case


def _ints(r, dims, low=-9, high=10):
    return r.randint(low, high, dims)


def _op(case, type_, dims, opcode, *operands, attrs="", label=None):
    """An operation and its result, sized when a dimension says so."""
    y = case.op(bounded(type_, dims), opcode, *operands, attrs=attrs)
    judge = case.result_sized if any("<" in str(d) for d in dims) else case.result
    judge(y, label or opcode)
    return y


def _moves():
    case = Sized("moves")
    r = values.random(4)
    x = case.sized("s32", _ints(r, (6, 4)), {0: 4})
    both = case.sized("s32", _ints(r, (5, 4)), {0: 2, 1: 3})
    _op(case, "s32", ["<=6", 4], "reverse", x, attrs="dimensions={0}", label="reverse")
    _op(case, "s32", ["<=5", "<=4"], "reverse", both, attrs="dimensions={0,1}", label="reverse2")
    minus = case.constant("s32[]", "-1")
    for name, low, high, inner in (("high", 0, 2, 0), ("low", 3, 0, 0), ("inner", 1, 2, 2), ("crop", -1, -1, 0)):
        n = 6 + low + high + 5 * inner
        _op(case, "s32", [f"<={n}", 4], "pad", x, minus, attrs=f"padding={low}_{high}_{inner}x0_0", label=f"pad.{name}")
    a, b = case.sized("s32", _ints(r, (4, 3)), {0: 2}), case.sized("s32", _ints(r, (5, 3)), {0: 3})
    c = case.param("s32", _ints(r, (2, 3)))
    _op(case, "s32", ["<=11", 3], "concatenate", a, c, b, attrs="dimensions={0}", label="concatenate")
    _op(case, "s32", ["<=8", 3], "concatenate", c, a, c, attrs="dimensions={0}", label="concatenate.static")
    d = case.sized("s32", _ints(r, (3, 4)), {0: 2})
    e = case.sized("s32", _ints(r, (3, 2)), {0: 2})
    _op(case, "s32", ["<=3", 6], "concatenate", d, e, attrs="dimensions={1}", label="concatenate.other")
    return case


def _slices():
    case = Sized("slices")
    r = values.random(5)
    x = case.sized("s32", _ints(r, (9,)), {0: 6})
    for lo, hi, step in ((0, 9, 1), (2, 9, 1), (1, 9, 2), (0, 9, 4)):
        n = len(range(lo, hi, step))
        _op(case, "s32", [f"<={n}"], "slice", x, attrs=f"slice={{[{lo}:{hi}:{step}]}}", label=f"{lo}.{hi}.{step}")
    _op(case, "s32", [1], "slice", x, attrs="slice={[2:3]}", label="one")
    m = case.sized("s32", _ints(r, (4, 6)), {0: 3})
    at, zero = case.param("s32", 5), case.param("s32", 0)
    _op(case, "s32", ["<=4", 2], "dynamic-slice", m, zero, at, attrs="dynamic_slice_sizes={4,2}", label="dynamic")
    _op(case, "s32", [1, 6], "dynamic-slice", m, zero, zero, attrs="dynamic_slice_sizes={1,6}", label="row")
    return case


def _ends():
    """Slices that end before the size does, or begin behind it. XLA takes no heed of the end, and gives the
    size -1 to what begins behind: so the results are the definition's."""
    case = Sized("ends")
    case.expected = []
    data = values.random(14).randint(-9, 10, (9,)).astype(np.int32)
    x = case.sized("s32", data, {0: 6})
    for lo, hi, step in ((0, 4, 1), (1, 6, 2), (3, 8, 1), (7, 9, 1), (5, 9, 2)):
        part = data[:6][lo:hi:step]
        n = len(range(lo, hi, step))
        _op(case, "s32", [f"<={n}"], "slice", x, attrs=f"slice={{[{lo}:{hi}:{step}]}}", label=f"{lo}.{hi}.{step}")
        case.expected += [np.int32(len(part)), np.resize(part, n) if len(part) else np.zeros(n, np.int32)]
    return case


def _reshapes():
    case = Sized("reshapes")
    r = values.random(6)
    x = case.sized("s32", _ints(r, (6, 4)), {0: 4})
    _op(case, "s32", ["<=24"], "reshape", x, label="merge")
    _op(case, "s32", ["<=6", 2, 2], "reshape", x, label="beside")
    _op(case, "s32", [1, "<=6", 4], "reshape", x, label="one")
    y = case.sized("s32", _ints(r, (4, 6)), {1: 5})
    _op(case, "s32", ["<=24"], "reshape", y, label="merge-minor")
    both = case.sized("s32", _ints(r, (4, 6)), {0: 3, 1: 4})
    _op(case, "s32", ["<=24"], "reshape", both, label="merge-both")
    flat = case.sized("s32", _ints(r, (12,)), {0: 8})
    _op(case, "s32", [1, "<=12", 1], "reshape", flat, label="ones")
    three, four, two = (case.param("s32", n) for n in (3, 4, 2))
    _op(case, "s32", ["<=6", "<=4"], "dynamic-reshape", both, four, three, label="sized")
    _op(case, "s32", ["<=12", 2], "dynamic-reshape", both, case.constant("s32[]", "6"), two, label="sized-static")
    _op(case, "s32", ["<=2", "<=6"], "dynamic-reshape", flat, two, four, label="sized-split")
    return case


def _splits():
    """Reshapes that split a dimension, for which XLA gives the bound as the size: by definition."""
    case = Sized("splits")
    case.expected = []
    data = values.random(15).randint(-9, 10, (12,)).astype(np.int32)
    flat = case.sized("s32", data, {0: 8})
    for name, dims, attrs in (
        ("major", ["<=6", 2], ""),
        ("minor", [2, "<=6"], ""),
        ("middle", [2, "<=3", 2], ""),
        ("inferred", ["<=3", 4], "inferred_dimension=0"),
    ):
        _op(case, "s32", dims, "reshape", flat, attrs=attrs, label=name)
        sizes = [8 // (12 // int(d[2:])) for d in dims if isinstance(d, str)]
        case.expected += [*map(np.int32, sizes), np.resize(data[:8], [int(str(d)[-1]) for d in dims])]
    return case


def _windows():
    case = Sized("windows")
    r = values.random(7)
    x = _ints(r, (2, 9)).astype(np.float32)
    x[:, 6:] = np.nan
    d = case.sized("f32", x, {1: 6})
    zero, low = case.constant("f32[]", "0"), case.constant("f32[]", "-inf")
    add, top = (f"to_apply={case.reducer('f32', op)}" for op in ("add", "maximum"))
    for name, size, stride, apply, init in (("sum", 3, 1, add, zero), ("pool", 2, 2, top, low), ("wide", 4, 3, add, zero)):
        n = (9 - size) // stride + 1
        attrs = f"window={{size=1x{size} stride=1x{stride}}}, {apply}"
        _op(case, "f32", [2, f"<={n}"], "reduce-window", d, init, attrs=attrs, label=name)
    return case


def _products():
    case = Sized("products")
    r = values.random(8)
    a, b = _ints(r, (2, 4, 6)).astype(np.float32), _ints(r, (2, 6, 5)).astype(np.float32)
    a[:, :, 4:], b[:, 4:] = np.nan, np.inf
    numbers = "lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={1}"
    lhs, rhs = case.sized("f32", a, {2: 4}), case.sized("f32", b, {1: 4})
    _op(case, "f32", [2, 4, 5], "dot", lhs, rhs, attrs=numbers, label="contracted")
    whole = case.param("f32", _ints(r, (2, 6, 5)))
    _op(case, "f32", [2, 4, 5], "dot", lhs, whole, attrs=numbers, label="one-side")
    lhs = case.sized("f32", _ints(r, (2, 4, 6)), {1: 3})
    rhs = case.sized("f32", _ints(r, (2, 6, 5)), {2: 2})
    _op(case, "f32", [2, "<=4", "<=5"], "dot", lhs, rhs, attrs=numbers, label="free")
    lhs = case.sized("f32", _ints(r, (2, 4, 6)), {0: 1})
    rhs = case.sized("f32", _ints(r, (2, 6, 5)), {0: 1})
    _op(case, "f32", ["<=2", 4, 5], "dot", lhs, rhs, attrs=numbers, label="batch")
    image, kernel = _ints(r, (3, 5, 4)).astype(np.float32), _ints(r, (3, 4, 2)).astype(np.float32)
    k = case.param("f32", kernel)
    x = case.sized("f32", image, {0: 2})
    labels = "window={size=3}, dim_labels=b0f_0io->b0f"
    _op(case, "f32", ["<=3", 3, 2], "convolution", x, k, attrs=labels, label="conv.batch")
    image[:, :, 3:], kernel[:, 3:] = np.nan, np.inf
    x, k = case.sized("f32", image, {2: 3}), case.sized("f32", kernel, {1: 3})
    _op(case, "f32", [3, 3, 2], "convolution", x, k, attrs=labels, label="conv.feature")
    return case


def _indexed():
    case = Sized("indexed")
    r = values.random(9)
    table = case.param("s32", _ints(r, (7, 3)))
    at = case.sized("s32", _ints(r, (5,), 0, 7), {0: 3})
    rows = "offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,3}"
    _op(case, "s32", ["<=5", 3], "gather", table, at, attrs=rows, label="gather.indices")
    columns = case.sized("s32", _ints(r, (7, 3)), {1: 2})
    still = case.param("s32", _ints(r, (4,), 0, 7))
    _op(case, "s32", [4, "<=3"], "gather", columns, still, attrs=rows, label="gather.slices")
    some = case.sized("s32", _ints(r, (7, 3)), {0: 4})
    few = case.param("s32", _ints(r, (4,), 0, 4))
    _op(case, "s32", [4, 3], "gather", some, few, attrs=rows, label="gather.some")
    into = "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1"
    into += f", to_apply={case.reducer('s32', 'add')}"
    updates = case.sized("s32", _ints(r, (5, 3)), {0: 3})
    _op(case, "s32", [7, 3], "scatter", table, at, updates, attrs=into, label="scatter.indices")
    plain = case.param("s32", _ints(r, (4, 3)))
    _op(case, "s32", ["<=7", 3], "scatter", some, few, plain, attrs=into, label="scatter.some")
    base, part = case.sized("s32", _ints(r, (6, 3)), {0: 5}), case.param("s32", _ints(r, (6, 1)))
    zero, one = case.param("s32", 0), case.param("s32", 1)
    _op(case, "s32", ["<=6", 3], "dynamic-update-slice", base, part, zero, one, label="update")
    return case


def _narrow():
    """Places of 8 bits in arrays whose sizes do not fit these. XLA clamps them to limits that it rounds to 8 bits
    too: so the results are the definition's."""
    case = Sized("narrow")
    case.expected = []
    r = values.random(15)
    data, part = _ints(r, (900,)).astype(np.int32), _ints(r, (3,)).astype(np.int32)
    x, update = case.sized("s32", data, {0: 800}), case.param("s32", part)
    for type_, at in (("s8", 100), ("u8", 200)):
        start = case.param(type_, at)
        _op(case, "s32", [4], "dynamic-slice", x, start, attrs="dynamic_slice_sizes={4}", label=f"slice.{type_}")
        _op(case, "s32", ["<=900"], "dynamic-update-slice", x, update, start, label=f"update.{type_}")
        updated = data.copy()
        updated[at : at + 3] = part
        case.expected += [data[at : at + 4], np.int32(800), updated]
    return case


def _sorts():
    case = Sized("sorts")
    r = values.random(10)
    case.computation("less {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
                     "  ROOT r = pred[] compare(a, b), direction=LT\n}")
    case.computation("more {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
                     "  i = s32[] parameter(2)\n  j = s32[] parameter(3)\n"
                     "  ROOT r = pred[] compare(a, b), direction=GT\n}")
    keys = _ints(r, (3, 9), -99, 100).astype(np.float32)
    keys[:, 5:] = -1e9
    x = case.sized("f32", keys, {1: 5})
    _op(case, "f32", [3, "<=9"], "sort", x, attrs="dimensions={1}, to_apply=less", label="less")
    number = case.sized("s32", np.arange(27).reshape(3, 9), {1: 5})
    pair = case.op("(f32[3,<=9]{1,0}, s32[3,<=9]{1,0})", "sort", x, number,
                   attrs="dimensions={1}, is_stable=true, to_apply=more")
    for i, t in enumerate(("f32", "s32")):
        _op(case, t, [3, "<=9"], "get-tuple-element", pair, attrs=f"index={i}", label=f"pair{i}")
    y = case.sized("f32", _ints(r, (4, 6)), {0: 2})
    _op(case, "f32", ["<=4", 6], "sort", y, attrs="dimensions={1}, to_apply=less", label="rows")
    return case


def _norms():
    case = Sized("norms")
    r = values.random(11)
    x = values.uniform(r, (6, 4, 2)) if hasattr(values, "uniform") else r.rand(6, 4, 2)
    x = np.asarray(x, np.float32)
    x[4:] = np.nan
    d = case.sized("f32", x, {0: 4})
    scale, offset = case.param("f32", r.rand(2)), case.param("f32", r.rand(2))
    attrs = "epsilon=0.001, feature_index=2"
    full = "f32[<=6,4,2]{2,1,0}"
    out = case.op(f"({full}, f32[2]{{0}}, f32[2]{{0}})", "batch-norm-training", d, scale, offset, attrs=attrs)
    y = case.op(full, "get-tuple-element", out, attrs="index=0")
    case.result_sized(y, "training", 64, "sums in another order")
    mean = case.op("f32[2]{0}", "get-tuple-element", out, attrs="index=1")
    case.result(mean, "mean", 4, "sums in another order")
    variance = case.op("f32[2]{0}", "get-tuple-element", out, attrs="index=2")
    case.result(variance, "variance", 64, "a difference of sums in another order")
    z = case.op(full, "batch-norm-inference", d, scale, offset, mean, variance, attrs=attrs)
    case.result_sized(z, "inference", 64, "sums in another order")
    return case


def _softmax():
    """Rows of a softmax, as JAX writes it: a maximum, a difference, a sum, a quotient."""
    case = Sized("softmax")
    r = values.random(12)
    x = np.asarray(r.rand(4, 9) * 8, np.float32)
    x[:, 7:] = 1e9
    d = case.sized("f32", x, {1: 7})
    full = "f32[4,<=9]{1,0}"
    low, zero = case.constant("f32[]", "-inf"), case.constant("f32[]", "0")
    top = case.op("f32[4]{0}", "reduce", d, low, attrs=f"dimensions={{1}}, to_apply={case.reducer('f32', 'maximum')}")
    wide = case.op("f32[4,9]{1,0}", "broadcast", top, attrs="dimensions={0}")
    e = case.op(full, "exponential", case.op(full, "subtract", d, wide))
    s = case.op("f32[4]{0}", "reduce", e, zero, attrs=f"dimensions={{1}}, to_apply={case.reducer('f32', 'add')}")
    wide = case.op("f32[4,9]{1,0}", "broadcast", s, attrs="dimensions={0}")
    case.result_sized(case.op(full, "divide", e, wide), "softmax", 8, "exponentials and sums of them")
    return case


def _control():
    case = Sized("control")
    r = values.random(13)
    state = "(s32[], s32[<=8]{0})"
    # The array loses a valid element each round.
    case.computation("\n".join([
        "shrink {",
        f"  s = {state} parameter(0)",
        "  i = s32[] get-tuple-element(s), index=0",
        "  x = s32[<=8]{0} get-tuple-element(s), index=1",
        "  one = s32[] constant(1)",
        "  next = s32[] add(i, one)",
        "  n = s32[] get-dimension-size(x), dimensions={0}",
        "  less = s32[] subtract(n, one)",
        "  y = s32[<=8]{0} add(x, x)",
        "  z = s32[<=8]{0} set-dimension-size(y, less), dimensions={0}",
        f"  ROOT t = {state} tuple(next, z)",
        "}",
    ]))
    case.computation("\n".join([
        "goes_on {",
        f"  s = {state} parameter(0)",
        "  i = s32[] get-tuple-element(s), index=0",
        "  three = s32[] constant(3)",
        "  ROOT r = pred[] compare(i, three), direction=LT",
        "}",
    ]))
    x = case.sized("s32", _ints(r, (8,)), {0: 7})
    begin = case.op(state, "tuple", case.constant("s32[]", "0"), x)
    loop = case.op(state, "while", begin, attrs="condition=goes_on, body=shrink")
    y = _op(case, "s32", ["<=8"], "get-tuple-element", loop, attrs="index=1", label="loop")
    total = case.op("s32[]", "reduce", y, case.constant("s32[]", "0"),
                    attrs=f"dimensions={{0}}, to_apply={case.reducer('s32', 'add')}")
    case.result(total, "loop.sum")
    for name, op in (("doubled", "add"), ("squared", "multiply")):
        case.computation(f"{name} {{\n  s = (s32[<=8]{{0}}) parameter(0)\n"
                         "  x = s32[<=8]{0} get-tuple-element(s), index=0\n"
                         f"  y = s32[<=8]{{0}} {op}(x, x)\n  ROOT t = (s32[<=8]{{0}}) tuple(y)\n}}")
    for which in (0, 1):
        p = case.param("pred", which)
        a = case.op("(s32[<=8]{0})", "tuple", case.sized("s32", _ints(r, (8,)), {0: 3}))
        b = case.op("(s32[<=8]{0})", "tuple", case.sized("s32", _ints(r, (8,)), {0: 5}))
        c = case.op("(s32[<=8]{0})", "conditional", p, a, b,
                    attrs="true_computation=doubled, false_computation=squared")
        _op(case, "s32", ["<=8"], "get-tuple-element", c, attrs="index=0", label=f"branch{which}")
    return case


def cases():
    yield _plain()
    yield _whole()
    yield _reduces()
    yield _moves()
    yield _slices()
    yield _ends()
    yield _reshapes()
    yield _splits()
    yield _windows()
    yield _products()
    yield _indexed()
    yield _narrow()
    yield _sorts()
    yield _norms()
    yield _softmax()
    yield _control()
