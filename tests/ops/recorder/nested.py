# SPDX-License-Identifier: Apache-2.0
"""Arrays, loops, sorts and scatters inside of computations that others apply.

XLA's CPU backend dies of most of these combinations, although its verifier takes them. What it does run
is the inner computation by itself; what applies it is written here in Python. Values are small whole
numbers, so that all of it is exact."""

import functools

import numpy as np

from recorder.xla import Case, array, by_device, run, shape

# Each takes x and y, scalars of type T, and gives r; the computations that it calls come first.
INNER = {
    "reduce": (
        "add.T { p = T[] parameter(0)\n  q = T[] parameter(1)\n  ROOT r = T[] add(p, q) }",
        """a = T[3,4]{1,0} broadcast(x), dimensions={}
  b = T[3,4]{1,0} iota(), iota_dimension=1
  c = T[3,4]{1,0} add(a, b)
  s = T[4]{0} reduce(c, y), dimensions={0}, to_apply=add.T
  t = T[4,2]{1,0} broadcast(s), dimensions={0}
  u = T[2]{0} reduce(t, x), dimensions={0}, to_apply=add.T
  v = T[1]{0} slice(u), slice={[1:2]}
  ROOT r = T[] reshape(v)""",
    ),
    "dot": (
        "",
        """a = T[2,2]{1,0} broadcast(x), dimensions={}
  k = T[2,2]{1,0} constant({{1, 0}, {1, 1}})
  d = T[2,2]{1,0} dot(a, k), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  f = T[2,2]{1,0} dot(k, d), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = T[1,1]{1,0} slice(f), slice={[1:2], [0:1]}
  q = T[] reshape(t)
  ROOT r = T[] add(q, y)""",
    ),
    "gather": (
        "",
        """k = T[4]{0} constant({3, 1, 4, 2})
  i = s32[] convert(y)
  j = s32[1]{0} reshape(i)
  g = T[] gather(k, j), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, \
index_vector_dim=0, slice_sizes={1}
  ROOT r = T[] add(g, x)""",
    ),
    "while": (
        """going.T { s = (s32[], T[4]{0}, T[4]{0}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT r = pred[] compare(i, n), direction=LT }
round.T { s = (s32[], T[4]{0}, T[4]{0}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  a = T[4]{0} get-tuple-element(s), index=1
  b = T[4]{0} get-tuple-element(s), index=2
  one = s32[] constant(1)
  j = s32[] add(i, one)
  v = T[4]{0} reverse(b), dimensions={0}
  k = T[4]{0} iota(), iota_dimension=0
  w = T[4]{0} add(v, k)
  ROOT t = (s32[], T[4]{0}, T[4]{0}) tuple(j, w, a) }""",
        """a = T[4]{0} broadcast(x), dimensions={}
  b = T[4]{0} broadcast(y), dimensions={}
  z = s32[] constant(0)
  s = (s32[], T[4]{0}, T[4]{0}) tuple(z, a, b)
  w = (s32[], T[4]{0}, T[4]{0}) while(s), condition=going.T, body=round.T
  c = T[4]{0} get-tuple-element(w), index=1
  d = T[4]{0} get-tuple-element(w), index=2
  e = T[4]{0} subtract(c, d)
  t = T[1]{0} slice(e), slice={[2:3]}
  ROOT r = T[] reshape(t)""",
    ),
    "swap": (
        """few.T { s = (s32[], T[2]{0}, T[2]{0}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT r = pred[] compare(i, n), direction=LT }
swap.T { s = (s32[], T[2]{0}, T[2]{0}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  a = T[2]{0} get-tuple-element(s), index=1
  b = T[2]{0} get-tuple-element(s), index=2
  one = s32[] constant(1)
  j = s32[] add(i, one)
  ROOT t = (s32[], T[2]{0}, T[2]{0}) tuple(j, b, a) }""",
        """a = T[2]{0} broadcast(x), dimensions={}
  b = T[2]{0} broadcast(y), dimensions={}
  z = s32[] constant(0)
  s = (s32[], T[2]{0}, T[2]{0}) tuple(z, a, b)
  w = (s32[], T[2]{0}, T[2]{0}) while(s), condition=few.T, body=swap.T
  c = T[2]{0} get-tuple-element(w), index=1
  d = T[2]{0} get-tuple-element(w), index=2
  e = T[2]{0} add(c, c)
  f = T[2]{0} add(e, d)
  t = T[1]{0} slice(f), slice={[1:2]}
  ROOT r = T[] reshape(t)""",
    ),
    "conditional": (
        """first.T { p = (T[2,3]{1,0}, T[]) parameter(0)
  a = T[2,3]{1,0} get-tuple-element(p), index=0
  b = T[] get-tuple-element(p), index=1
  c = T[2,3]{1,0} add(a, a)
  ROOT t = (T[2,3]{1,0}, T[]) tuple(c, b) }
second.T { p = T[3,2]{1,0} parameter(0)
  a = T[2,3]{1,0} transpose(p), dimensions={1,0}
  t = T[1,1]{1,0} slice(p), slice={[2:3], [0:1]}
  b = T[] reshape(t)
  ROOT u = (T[2,3]{1,0}, T[]) tuple(a, b) }
third.T { p = (T[2,3]{1,0}, T[]) parameter(0)
  ROOT u = (T[2,3]{1,0}, T[]) copy(p) }""",
        """a = T[2,3]{1,0} broadcast(x), dimensions={}
  k = T[3,2]{1,0} iota(), iota_dimension=0
  i = s32[] convert(y)
  p = (T[2,3]{1,0}, T[]) tuple(a, y)
  c = (T[2,3]{1,0}, T[]) conditional(i, p, k, p), branch_computations={first.T, second.T, third.T}
  d = T[2,3]{1,0} get-tuple-element(c), index=0
  e = T[] get-tuple-element(c), index=1
  t = T[1,1]{1,0} slice(d), slice={[1:2], [2:3]}
  q = T[] reshape(t)
  ROOT r = T[] add(q, e)""",
    ),
    "sort": (
        """more.T { p = T[] parameter(0)
  q = T[] parameter(1)
  i = s32[] parameter(2)
  j = s32[] parameter(3)
  ROOT r = pred[] compare(p, q), direction=GT }""",
        """a = T[2,1]{1,0} broadcast(x), dimensions={}
  b = T[2,1]{1,0} broadcast(y), dimensions={}
  k = T[2,3]{1,0} constant({{2, 1, 2}, {0, 2, 3}})
  c = T[2,5]{1,0} concatenate(a, k, b), dimensions={1}
  n = s32[2,5]{1,0} iota(), iota_dimension=1
  s = (T[2,5]{1,0}, s32[2,5]{1,0}) sort(c, n), dimensions={1}, is_stable=true, to_apply=more.T
  v = T[2,5]{1,0} get-tuple-element(s), index=0
  w = s32[2,5]{1,0} get-tuple-element(s), index=1
  f = T[2,5]{1,0} convert(w)
  g = T[2,5]{1,0} multiply(v, f)
  t = T[1,1]{1,0} slice(g), slice={[1:2], [2:3]}
  ROOT r = T[] reshape(t)""",
    ),
    "scatter": (
        "both.T { p = T[] parameter(0)\n  q = T[] parameter(1)\n  s = T[] add(p, p)\n"
        "  ROOT r = T[] add(s, q) }",
        """a = T[4,3]{1,0} broadcast(x), dimensions={}
  u = T[3,2]{1,0} broadcast(y), dimensions={}
  i = s32[] convert(y)
  k = s32[3,2]{1,0} constant({{1, 0}, {1, 1}, {1, 2}})
  o = s32[3,2]{1,0} broadcast(i), dimensions={}
  z = s32[3,2]{1,0} constant({{0, 0}, {1, 0}, {0, 0}})
  m = s32[3,2]{1,0} multiply(o, z)
  j = s32[3,2]{1,0} add(k, m)
  s = T[4,3]{1,0} scatter(a, j, u), update_window_dims={1}, inserted_window_dims={0}, \
scatter_dims_to_operand_dims={0,1}, index_vector_dim=1, to_apply=both.T
  t = T[1,1]{1,0} slice(s), slice={[1:2], [1:2]}
  v = T[1,1]{1,0} slice(s), slice={[2:3], [1:2]}
  w = T[1,1]{1,0} add(t, v)
  ROOT r = T[] reshape(w)""",
    ),
    "deep": (
        """less.T { p = T[] parameter(0)
  q = T[] parameter(1)
  ROOT r = pred[] compare(p, q), direction=LT }
up.T { p = T[3]{0} parameter(0)
  ROOT r = T[3]{0} sort(p), dimensions={0}, to_apply=less.T }
down.T { p = T[3]{0} parameter(0)
  a = T[3]{0} sort(p), dimensions={0}, to_apply=less.T
  ROOT r = T[3]{0} reverse(a), dimensions={0} }
until.T { s = (s32[], T[3]{0}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(4)
  ROOT r = pred[] compare(i, n), direction=LT }
turn.T { s = (s32[], T[3]{0}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  a = T[3]{0} get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  k = T[3]{0} constant({1, 3, 2})
  b = T[3]{0} add(a, k)
  two = s32[] constant(2)
  odd = s32[] remainder(i, two)
  c = T[3]{0} conditional(odd, b, b), branch_computations={up.T, down.T}
  ROOT t = (s32[], T[3]{0}) tuple(j, c) }""",
        """a = T[2]{0} broadcast(x), dimensions={}
  b = T[1]{0} reshape(y)
  c = T[3]{0} concatenate(a, b), dimensions={0}
  z = s32[] constant(0)
  s = (s32[], T[3]{0}) tuple(z, c)
  w = (s32[], T[3]{0}) while(s), condition=until.T, body=turn.T
  d = T[3]{0} get-tuple-element(w), index=1
  t = T[1]{0} slice(d), slice={[1:2]}
  ROOT r = T[] reshape(t)""",
    ),
}
UNORDERED = ["reduce", "while", "swap"]  # fit for complex numbers
P, Q = [3, 1, 2, 0], [1, 2, 0, 3]


# What else the operations can be told, of f32; only mapped.
FORMS = {
    "sort columns": (
        """low.T { p = s32[] parameter(0)
  q = s32[] parameter(1)
  a = T[] parameter(2)
  b = T[] parameter(3)
  i = pred[] parameter(4)
  j = pred[] parameter(5)
  ROOT r = pred[] compare(a, b), direction=LT }""",
        """k = T[4,2]{0,1} constant({{2, 7}, {0.5, 1}, {9, 0}, {1.5, 3}})
  a = T[4,2]{0,1} broadcast(x), dimensions={}
  c = T[4,2]{0,1} subtract(k, a)
  d = T[4,2]{0,1} multiply(c, c)
  n = s32[4,2]{1,0} iota(), iota_dimension=0
  o = pred[4,2]{1,0} compare(c, a), direction=GT
  s = (s32[4,2]{1,0}, T[4,2]{0,1}, pred[4,2]{1,0}) sort(n, d, o), dimensions={0}, is_stable=true, \
to_apply=low.T
  w = s32[4,2]{1,0} get-tuple-element(s), index=0
  v = T[4,2]{0,1} get-tuple-element(s), index=1
  h = pred[4,2]{1,0} get-tuple-element(s), index=2
  e = T[4,2]{1,0} convert(w)
  g = T[4,2]{1,0} convert(h)
  u = T[4,2]{1,0} multiply(v, e)
  l = T[4,2]{1,0} add(u, g)
  t = T[1,1]{1,0} slice(l), slice={[2:3], [1:2]}
  ROOT r = T[] reshape(t)""",
    ),
    "scatter batches": (
        "take.T { p = T[] parameter(0)\n  ROOT q = T[] parameter(1) }",
        """a = T[2,5]{1,0} iota(), iota_dimension=1
  i = u8[] convert(y)
  k = u8[2,3]{1,0} constant({{0, 4, 200}, {3, 1, 1}})
  o = u8[2,3]{1,0} broadcast(i), dimensions={}
  j = u8[2,3]{1,0} add(k, o)
  b = T[2,3]{1,0} broadcast(x), dimensions={}
  n = T[2,3]{1,0} iota(), iota_dimension=1
  u = T[2,3]{1,0} add(b, n)
  s = T[2,5]{1,0} scatter(a, j, u), update_window_dims={}, inserted_window_dims={1}, \
scatter_dims_to_operand_dims={1}, input_batching_dims={0}, scatter_indices_batching_dims={0}, \
index_vector_dim=2, to_apply=take.T
  m = T[5]{0} constant({1, 10, 100, 1000, 10000})
  l = T[2,5]{1,0} broadcast(m), dimensions={1}
  d = T[2]{0} dot(s, l), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={1}, \
rhs_contracting_dims={1}
  t = T[1]{0} slice(d), slice={[1:2]}
  f = T[1]{0} slice(d), slice={[0:1]}
  g = T[1]{0} subtract(t, f)
  ROOT r = T[] reshape(g)""",
    ),
    "scatter two": (
        """two.T { p = T[] parameter(0)
  c = s32[] parameter(1)
  q = T[] parameter(2)
  d = s32[] parameter(3)
  m = T[] maximum(p, q)
  e = s32[] add(c, d)
  ROOT t = (T[], s32[]) tuple(m, e) }""",
        """a = T[3]{0} broadcast(x), dimensions={}
  n = s32[3]{0} iota(), iota_dimension=0
  k = s32[4,1]{1,0} constant({{2}, {-1}, {2}, {1}})
  u = T[4]{0} constant({5, 9, 7, 1})
  w = s32[4]{0} constant({1, 2, 4, 8})
  s = (T[3]{0}, s32[3]{0}) scatter(a, n, k, u, w), update_window_dims={}, \
inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=two.T
  v = T[3]{0} get-tuple-element(s), index=0
  c = s32[3]{0} get-tuple-element(s), index=1
  d = T[3]{0} convert(c)
  e = T[3]{0} multiply(v, d)
  f = T[1]{0} slice(e), slice={[2:3]}
  g = T[1]{0} slice(e), slice={[1:2]}
  h = T[1]{0} subtract(f, g)
  ROOT r = T[] reshape(h)""",
    ),
    "empty": (
        """none.T { p = T[] parameter(0)
  q = T[] parameter(1)
  ROOT r = pred[] compare(p, q), direction=LT }
sum.T { p = T[] parameter(0)
  q = T[] parameter(1)
  ROOT r = T[] add(p, q) }""",
        """a = T[2,0]{1,0} broadcast(x), dimensions={}
  s = T[2,0]{1,0} sort(a), dimensions={1}, to_apply=none.T
  v = T[2]{0} reduce(s, y), dimensions={1}, to_apply=sum.T
  i = s32[0,1]{1,0} constant({})
  u = T[0]{0} constant({})
  w = T[2]{0} scatter(v, i, u), update_window_dims={}, inserted_window_dims={0}, \
scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum.T
  t = T[1]{0} slice(w), slice={[1:2]}
  ROOT r = T[] reshape(t)""",
    ),
    "gradient of a pooling": (
        """least.T { p = T[] parameter(0)
  q = T[] parameter(1)
  ROOT r = pred[] compare(p, q), direction=LE }
sum.T { p = T[] parameter(0)
  q = T[] parameter(1)
  ROOT r = T[] add(p, q) }""",
        """k = T[4,3]{0,1} constant({{4, 1, 2}, {0, 3, 5}, {7, 1, 0}, {2, 2, 2}})
  b = T[4,3]{0,1} broadcast(x), dimensions={}
  d = T[4,3]{0,1} subtract(k, b)
  m = T[4,3]{0,1} multiply(d, d)
  i = T[4,2]{1,0} iota(), iota_dimension=0
  n = T[4,2]{1,0} broadcast(y), dimensions={}
  u = T[4,2]{1,0} add(i, n)
  s = T[4,3]{1,0} select-and-scatter(m, u, y), window={size=2x2 pad=3_2x0_0 stride=2x1}, \
select=least.T, scatter=sum.T
  c = T[4,3]{1,0} constant({{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {10, 11, 12}})
  g = T[4,3]{1,0} multiply(s, c)
  z = T[] constant(0)
  ROOT r = T[] reduce(g, z), dimensions={0,1}, to_apply=sum.T""",
    ),
    "until it is large": (
        """sum.T { p = T[] parameter(0)
  q = T[] parameter(1)
  ROOT r = T[] add(p, q) }
small.T { a = T[5]{0} parameter(0)
  z = T[] constant(0)
  s = T[] reduce(a, z), dimensions={0}, to_apply=sum.T
  n = T[] constant(1000)
  ROOT r = pred[] compare(s, n), direction=LT }
more.T { a = T[5]{0} parameter(0)
  v = T[5]{0} reverse(a), dimensions={0}
  b = T[5]{0} add(a, a)
  ROOT r = T[5]{0} add(b, v) }""",
        """k = T[3]{0} constant({4, 1, 2})
  b = T[1]{0} reshape(x)
  c = T[1]{0} reshape(y)
  a = T[5]{0} concatenate(k, b, c), dimensions={0}
  w = T[5]{0} while(a), condition=small.T, body=more.T
  t = T[1]{0} slice(w), slice={[1:2]}
  ROOT r = T[] reshape(t)""",
    ),
}


def _texts(inner, type_):
    computations, lines = (INNER | FORMS)[inner]
    name = inner.replace(" ", "_")
    return computations.replace("T[", type_ + "[").replace(".T", f".{name}.{type_}"), (
        f"x = {type_}[] parameter(0)\n  y = {type_}[] parameter(1)\n  "
        + lines.replace("T[", type_ + "[").replace(".T", f".{name}.{type_}")
    )


@functools.lru_cache(None)
def _alone(inner, type_, x, y):
    """The inner computation of two numbers, by XLA."""
    computations, lines = _texts(inner, type_)
    module = f"HloModule alone\n\n{computations}\nENTRY main {{ {lines} }}"
    return run(module, [array(type_, x), array(type_, y)])[0].item()


def _inner(case, inner, type_):
    """Adds the computation of two numbers to a module; gives its name, and what it does."""
    computations, lines = _texts(inner, type_)
    name = f"f.{inner.replace(' ', '_')}.{type_}"
    case.computation(computations)
    case.computation(f"{name} {{ {lines} }}")
    return name, lambda x, y: _alone(inner, type_, x, y)


def _map(case, type_, p, q, name, f):
    attrs = f"dimensions={{0}}, to_apply={name}"
    return case.op(shape(type_, (4,)), "map", p, q, attrs=attrs), [f(x, y) for x, y in zip(P, Q)]


def _reduce(case, type_, p, q, name, f):
    zero = case.constant(f"{type_}[]", "(0, 0)" if type_ == "c64" else "0")
    attrs = f"dimensions={{0}}, to_apply={name}"
    return case.op(f"{type_}[]", "reduce", p, zero, attrs=attrs), functools.reduce(f, P, 0)


def _reduce_window(case, type_, p, q, name, f):
    zero = case.constant(f"{type_}[]", "(0, 0)" if type_ == "c64" else "0")
    attrs = f"window={{size=2}}, to_apply={name}"
    result = case.op(shape(type_, (3,)), "reduce-window", p, zero, attrs=attrs)
    return result, [f(f(0, P[i]), P[i + 1]) for i in range(3)]


def _scatter(case, type_, p, q, name, f):
    places = [2, 0, 2, 7]
    indices = case.constant("s32[4,1]{1,0}", "{{2}, {0}, {2}, {7}}")
    attrs = (
        "update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
        f"index_vector_dim=1, to_apply={name}"
    )
    expected = list(P)
    for place, y in zip(places, Q):
        if place < len(P):
            expected[place] = f(expected[place], y)
    return case.op(shape(type_, (4,)), "scatter", p, indices, q, attrs=attrs), expected


def _select_and_scatter(case, type_, p, q, name, f):
    select = f"select.{type_}"
    case.computation(
        f"{select} {{ p = {type_}[] parameter(0)\n  q = {type_}[] parameter(1)\n"
        "  ROOT r = pred[] compare(p, q), direction=GE }"
    )
    source = case.op(shape(type_, (3,)), "slice", q, attrs="slice={[0:3]}")
    one = case.constant(f"{type_}[]", "1")
    attrs = f"window={{size=2}}, select={select}, scatter={name}"
    expected = [1] * 4
    for i in range(3):
        place = i if P[i] >= P[i + 1] else i + 1
        expected[place] = f(expected[place], Q[i])
    result = case.op(shape(type_, (4,)), "select-and-scatter", p, source, one, attrs=attrs)
    return result, expected


def _sort(case, type_, p, q, name, f):
    """By f(x, 1), without a comparator that could be seen through."""
    comparator = f"before.{name}"
    case.computation(
        f"{comparator} {{ a = {type_}[] parameter(0)\n  b = {type_}[] parameter(1)\n"
        f"  one = {type_}[] constant(1)\n  x = {type_}[] call(a, one), to_apply={name}\n"
        f"  y = {type_}[] call(b, one), to_apply={name}\n  l = pred[] compare(x, y), direction=LT\n"
        "  n = pred[] compare(a, a), direction=NE\n  ROOT r = pred[] or(l, n) }"
    )
    attrs = f"dimensions={{0}}, is_stable=true, to_apply={comparator}"
    result = case.op(shape(type_, (4,)), "sort", p, attrs=attrs)
    return result, sorted(P, key=lambda x: f(x, 1))


OUTER = {
    "map": _map,
    "reduce": _reduce,
    "reduce-window": _reduce_window,
    "scatter": _scatter,
    "select-and-scatter": _select_and_scatter,
    "sort": _sort,
}
ORDERED_OUTER = ["select-and-scatter", "sort"]


def cases():
    for outer, rule in OUTER.items():
        for suffix, part in by_device(["s32", "u8", "bf16", "f32", "f64", "c64"]):
            case = Case(outer + suffix)
            expected = []
            for type_ in part:
                if type_ == "c64" and outer in ORDERED_OUTER:
                    continue
                p, q = case.param(type_, P), case.param(type_, Q)
                for inner in UNORDERED if type_ == "c64" else INNER:
                    if type_ == "bf16" and inner == "reduce" and outer != "map":
                        continue  # grows beyond what is exact
                    result, values = rule(case, type_, p, q, *_inner(case, inner, type_))
                    case.result(result, type_)
                    expected.append(array(type_, np.asarray(values)))
            case.expected = expected
            yield case
    case = Case("forms")
    case.expected = []
    p, q = case.param("f32", P), case.param("f32", Q)
    for inner in FORMS:
        result, values = _map(case, "f32", p, q, *_inner(case, inner, "f32"))
        case.result(result, inner.replace(" ", "-"))
        case.expected.append(array("f32", values))
    yield case
