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


def cases():
    yield _plain()
    yield _whole()
    yield _reduces()
