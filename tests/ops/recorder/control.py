# SPDX-License-Identifier: Apache-2.0
"""call, map, while and conditional."""

import numpy as np

from recorder import values
from recorder.movement import fill
from recorder.xla import COMPLEX, FLOATS, INTS, Case, by_device, shape


def _call_cases():
    case = Case("call")
    case.computation("twice { x = f32[2,3]{1,0} parameter(0)\n  ROOT r = f32[2,3]{1,0} add(x, x) }")
    case.computation(
        "both { x = f32[2,3]{1,0} parameter(0)\n  y = f32[2,3]{1,0} parameter(1)\n"
        "  t = f32[2,3]{1,0} call(x), to_apply=twice\n"
        "  ROOT r = (f32[2,3]{1,0}, f32[2,3]{1,0}) tuple(t, y) }"
    )
    p, q = case.param("f32", fill("f32", (2, 3))), case.param("f32", fill("f32", (2, 3), 9))
    case.result(case.op("f32[2,3]{1,0}", "call", p, attrs="to_apply=twice"), "simple")
    pair = case.op("(f32[2,3]{1,0}, f32[2,3]{1,0})", "call", p, q, attrs="to_apply=both")
    for k in 0, 1:
        case.result(
            case.op("f32[2,3]{1,0}", "get-tuple-element", pair, attrs=f"index={k}"), "nested"
        )
    inner = case.op("(f32[2,3]{1,0}, f32[2,3]{1,0})", "tuple", p, q)
    outer = case.op("((f32[2,3]{1,0}, f32[2,3]{1,0}), f32[2,3]{1,0})", "tuple", inner, q)
    back = case.op("(f32[2,3]{1,0}, f32[2,3]{1,0})", "get-tuple-element", outer, attrs="index=0")
    case.result(case.op("f32[2,3]{1,0}", "get-tuple-element", back, attrs="index=1"), "tuples")
    case.result(p, "parameter")
    case.result(p, "parameter-again")
    yield case


def _map_cases():
    for suffix, part in by_device(INTS + FLOATS + COMPLEX):
        case = Case("map" + suffix)
        for type_ in part:
            case.computation(
                f"f_{type_} {{ x = {type_}[] parameter(0)\n  y = {type_}[] parameter(1)\n"
                f"  s = {type_}[] add(x, y)\n  ROOT r = {type_}[] subtract(s, x) }}"
            )
            x = np.arange(24).reshape(2, 3, 4) % 8
            p, q = case.param(type_, x), case.param(type_, x[::-1])
            case.result(
                case.op(
                    shape(type_, x.shape),
                    "map",
                    p,
                    q,
                    attrs=f"dimensions={{0,1,2}}, to_apply=f_{type_}",
                ),
                type_,
            )
        yield case
    case = Case("map.forms")
    case.computation(
        "greater { x = f32[] parameter(0)\n  y = s32[] parameter(1)\n"
        "  c = f32[] convert(y)\n  ROOT r = pred[] compare(x, c), direction=GT }"
    )
    case.computation(
        "half { x = f32[] parameter(0)\n  c = f32[] constant(0.5)\n"
        "  ROOT r = f32[] multiply(x, c) }"
    )
    case.computation("nothing { x = f32[] parameter(0)\n  ROOT r = f32[] constant(7) }")
    x = fill("f32", (5,))
    p, q = case.param("f32", x), case.param("s32", x[::-1])
    case.result(
        case.op("pred[5]{0}", "map", p, q, attrs="dimensions={0}, to_apply=greater"), "mixed"
    )
    case.result(case.op("f32[5]{0}", "map", p, attrs="dimensions={0}, to_apply=half"), "constant")
    case.result(case.op("f32[5]{0}", "map", p, attrs="dimensions={0}, to_apply=nothing"), "unused")
    s = case.param("f32", 3)
    case.result(case.op("f32[]", "map", s, attrs="dimensions={}, to_apply=half"), "scalar")
    yield case


def _while_cases():
    case = Case("while.counted")
    state = "(s32[], f32[4]{0})"
    case.computation(
        f"below {{ s = {state} parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n"
        "  n = s32[] constant(10)\n  ROOT c = pred[] compare(i, n), direction=LT }"
    )
    case.computation(
        f"step {{ s = {state} parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n"
        "  x = f32[4]{0} get-tuple-element(s), index=1\n  one = s32[] constant(1)\n"
        "  j = s32[] add(i, one)\n  f = f32[] convert(i)\n"
        "  b = f32[4]{0} broadcast(f), dimensions={}\n  y = f32[4]{0} add(x, b)\n"
        f"  ROOT r = {state} tuple(j, y) }}"
    )
    for start in 0, 9, 10, 25, -3:
        i, x = case.param("s32", start), case.param("f32", fill("f32", (4,)))
        t = case.op(
            state, "while", case.op(state, "tuple", i, x), attrs="condition=below, body=step"
        )
        case.result(case.op("s32[]", "get-tuple-element", t, attrs="index=0"), f"from{start}")
        case.result(case.op("f32[4]{0}", "get-tuple-element", t, attrs="index=1"), f"from{start}")
    yield case
    case = Case("while.data-dependent")  # Collatz, and a state that is no tuple
    state = "(s32[], s32[])"
    case.computation(
        f"not_one {{ s = {state} parameter(0)\n  n = s32[] get-tuple-element(s), index=0\n"
        "  one = s32[] constant(1)\n  ROOT c = pred[] compare(n, one), direction=GT }"
    )
    case.computation(
        f"collatz {{ s = {state} parameter(0)\n  n = s32[] get-tuple-element(s), index=0\n"
        "  k = s32[] get-tuple-element(s), index=1\n  one = s32[] constant(1)\n"
        "  two = s32[] constant(2)\n  three = s32[] constant(3)\n  odd = s32[] and(n, one)\n"
        "  is_odd = pred[] compare(odd, one), direction=EQ\n  half = s32[] divide(n, two)\n"
        "  triple = s32[] multiply(n, three)\n  up = s32[] add(triple, one)\n"
        "  m = s32[] select(is_odd, up, half)\n  j = s32[] add(k, one)\n"
        f"  ROOT r = {state} tuple(m, j) }}"
    )
    for start in 1, 7, 27:
        n, k = case.param("s32", start), case.param("s32", 0)
        t = case.op(
            state, "while", case.op(state, "tuple", n, k), attrs="condition=not_one, body=collatz"
        )
        case.result(case.op("s32[]", "get-tuple-element", t, attrs="index=1"), f"collatz{start}")
    case.computation(
        "small { x = f32[] parameter(0)\n  n = f32[] constant(100)\n"
        "  ROOT c = pred[] compare(x, n), direction=LT }"
    )
    case.computation("double { x = f32[] parameter(0)\n  ROOT y = f32[] add(x, x) }")
    x = case.param("f32", 3)
    case.result(case.op("f32[]", "while", x, attrs="condition=small, body=double"), "plain-state")
    yield case
    yield _nested_while()
    yield _swap_while()
    yield _rotate_while()
    yield _exchange_while()
    yield _long_while()
    yield _update_while()
    yield _gradient_while()


def _nested_while():
    case = Case("while.nested")
    state = "(s32[], s32[], s32[3]{0})"
    for name, n, at in ("outer_more", 3, 0), ("inner_more", 4, 1):
        case.computation(
            f"{name} {{ s = {state} parameter(0)\n"
            f"  i = s32[] get-tuple-element(s), index={at}\n  n = s32[] constant({n})\n"
            "  ROOT c = pred[] compare(i, n), direction=LT }"
        )
    parts = (
        f"s = {state} parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n"
        "  j = s32[] get-tuple-element(s), index=1\n"
        "  x = s32[3]{0} get-tuple-element(s), index=2\n  one = s32[] constant(1)\n"
    )
    case.computation(
        f"inner {{ {parts}  k = s32[] add(j, one)\n  m = s32[] multiply(i, j)\n"
        "  b = s32[3]{0} broadcast(m), dimensions={}\n  y = s32[3]{0} add(x, b)\n"
        f"  ROOT r = {state} tuple(i, k, y) }}"
    )
    case.computation(
        f"outer {{ {parts}  zero = s32[] constant(0)\n"
        f"  t = {state} tuple(i, zero, x)\n"
        f"  w = {state} while(t), condition=inner_more, body=inner\n"
        "  y = s32[3]{0} get-tuple-element(w), index=2\n  k = s32[] add(i, one)\n"
        f"  ROOT r = {state} tuple(k, zero, y) }}"
    )
    i, x = case.param("s32", 0), case.param("s32", [1, 2, 3])
    t = case.op(
        state, "while", case.op(state, "tuple", i, i, x), attrs="condition=outer_more, body=outer"
    )
    case.result(case.op("s32[3]{0}", "get-tuple-element", t, attrs="index=2"), "nested")
    return case


def _swap_while():
    """State whose parts change places, and of which a slice is updated."""
    case = Case("while.swap")
    state = "(s32[], f32[3]{0}, f32[3]{0}, f32[10]{0})"
    case.computation(
        f"go {{ s = {state} parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n"
        "  n = s32[] constant(7)\n  ROOT c = pred[] compare(i, n), direction=LT }"
    )
    case.computation(
        f"swap {{ s = {state} parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n"
        "  a = f32[3]{0} get-tuple-element(s), index=1\n"
        "  b = f32[3]{0} get-tuple-element(s), index=2\n"
        "  h = f32[10]{0} get-tuple-element(s), index=3\n  one = s32[] constant(1)\n"
        "  j = s32[] add(i, one)\n  f = f32[] convert(i)\n  u = f32[1]{0} reshape(f)\n"
        "  k = f32[10]{0} dynamic-update-slice(h, u, i)\n"
        f"  ROOT r = {state} tuple(j, b, a, k) }}"
    )
    i = case.param("s32", 0)
    a, b = case.param("f32", [1, 2, 3]), case.param("f32", [4, 5, 6])
    h = case.param("f32", -np.ones(10))
    t = case.op(
        state, "while", case.op(state, "tuple", i, a, b, h), attrs="condition=go, body=swap"
    )
    for k, text in (1, "f32[3]{0}"), (2, "f32[3]{0}"), (3, "f32[10]{0}"):
        case.result(case.op(text, "get-tuple-element", t, attrs=f"index={k}"), f"part{k}")
    case.result(a, "untouched-parameter")
    return case


def _exchange_while():
    """Rounds that need all of the state for each element, so that what they make has another place; loops within
    them, too. An even and an odd number of rounds, and none."""
    case = Case("while.exchange")
    state, x_type = "(s32[], s32[], f32[200]{0}, f32[3]{0})", "f32[200]{0}"
    parts = (
        f"s = {state} parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n"
        "  n = s32[] get-tuple-element(s), index=1\n"
        f"  x = {x_type} get-tuple-element(s), index=2\n"
        "  y = f32[3]{0} get-tuple-element(s), index=3\n  one = s32[] constant(1)\n"
        "  j = s32[] add(i, one)\n  f = f32[] convert(i)\n"
    )
    case.computation(f"more {{ {parts}  ROOT c = pred[] compare(i, n), direction=LT }}")
    case.computation(
        f"below5 {{ {parts}  five = s32[] constant(5)\n"
        "  ROOT c = pred[] compare(i, five), direction=LT }"
    )
    turn = (
        "  left = f32[199]{0} slice(x), slice={[1:200]}\n  first = f32[1]{0} slice(x), slice={[0:1]}\n"
        f"  turned = {x_type} concatenate(left, first), dimensions={{0}}\n"
        f"  b = {x_type} broadcast(f), dimensions={{}}\n  z = {x_type} add(turned, b)\n"
        "  back = f32[3]{0} reverse(y), dimensions={0}\n  c = f32[3]{0} broadcast(f), dimensions={}\n"
        "  w = f32[3]{0} add(back, c)\n"
    )
    case.computation(f"turn {{ {parts}{turn}  ROOT r = {state} tuple(j, n, z, w) }}")
    case.computation(
        f"outer {{ {parts}{turn}  zero = s32[] constant(0)\n  three = s32[] constant(3)\n"
        f"  m = s32[] remainder(i, three)\n  t = {state} tuple(zero, m, z, w)\n"
        f"  l = {state} while(t), condition=more, body=turn\n"
        f"  u = {x_type} get-tuple-element(l), index=2\n"
        "  v = f32[3]{0} get-tuple-element(l), index=3\n"
        f"  back2 = {x_type} reverse(u), dimensions={{0}}\n  v2 = f32[3]{{0}} add(v, y)\n"
        f"  ROOT r = {state} tuple(j, n, back2, v2) }}"
    )
    start, x, y = case.constant("s32[]", 0), case.param("f32", np.arange(200) % 23), case.param("f32", [1, 5, 9])
    for n in 0, 1, 2, 7:
        count = case.param("s32", n)
        t = case.op(state, "tuple", start, count, x, y)
        for name, condition, body in (
            (f"rounds{n}", "more", "turn"),
            (f"nested{n}", "more", "outer"),
            ("counted", "below5", "outer"),
        ):
            if name == "counted" and n:
                continue
            loop = case.op(state, "while", t, attrs=f"condition={condition}, body={body}")
            case.result(case.op(x_type, "get-tuple-element", loop, attrs="index=2"), name)
            case.result(case.op("f32[3]{0}", "get-tuple-element", loop, attrs="index=3"), name)
    return case


def _rotate_while():
    """Arrays that only change places, of which each round reads one."""
    case = Case("while.rotate")
    state = "(s32[], f32[4]{0}, f32[4]{0}, f32[4]{0}, f32[])"
    case.computation(
        "sum { a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT r = f32[] add(a, b) }"
    )
    case.computation(
        f"go {{ s = {state} parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n"
        "  n = s32[] constant(11)\n  ROOT c = pred[] compare(i, n), direction=LT }"
    )
    case.computation(
        f"rotate {{ s = {state} parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n"
        "  a = f32[4]{0} get-tuple-element(s), index=1\n"
        "  b = f32[4]{0} get-tuple-element(s), index=2\n"
        "  c = f32[4]{0} get-tuple-element(s), index=3\n"
        "  k = f32[] get-tuple-element(s), index=4\n  one = s32[] constant(1)\n"
        "  zero = f32[] constant(0)\n  two = f32[] constant(2)\n  j = s32[] add(i, one)\n"
        "  t = f32[] reduce(a, zero), dimensions={0}, to_apply=sum\n"
        "  d = f32[] multiply(k, two)\n  l = f32[] add(d, t)\n"
        f"  ROOT r = {state} tuple(j, c, a, b, l) }}"
    )
    i, k = case.constant("s32[]", 0), case.param("f32", 1)
    a, b, c = (case.param("f32", [n, n + 1, n + 3, n + 9]) for n in (1, 20, 300))
    t = case.op(
        state, "while", case.op(state, "tuple", i, a, b, c, k), attrs="condition=go, body=rotate"
    )
    for part in range(1, 4):
        member = case.op("f32[4]{0}", "get-tuple-element", t, attrs=f"index={part}")
        case.result(member, f"part{part}")
    case.result(case.op("f32[]", "get-tuple-element", t, attrs="index=4"), "sums")
    return case


def _long_while():
    """Thousands of rounds, of which only the numbers themselves know how many."""
    case = Case("while.long")
    state = "(u32[3]{0}, s32[3]{0})"
    case.computation(
        "either { a = pred[] parameter(0)\n  b = pred[] parameter(1)\n  ROOT r = pred[] or(a, b) }"
    )
    case.computation(
        f"none_is_small {{ s = {state} parameter(0)\n  x = u32[3]{{0}} get-tuple-element(s), index=0\n"
        "  limit = u32[] constant(500000)\n  all = u32[3]{0} broadcast(limit), dimensions={}\n"
        "  small = pred[3]{0} compare(x, all), direction=LT\n  no = pred[] constant(false)\n"
        "  any = pred[] reduce(small, no), dimensions={0}, to_apply=either\n"
        "  ROOT c = pred[] not(any) }"
    )
    case.computation(
        f"congruences {{ s = {state} parameter(0)\n  x = u32[3]{{0}} get-tuple-element(s), index=0\n"
        "  k = s32[3]{0} get-tuple-element(s), index=1\n  a = u32[] constant(1664525)\n"
        "  c = u32[] constant(1013904223)\n  as = u32[3]{0} broadcast(a), dimensions={}\n"
        "  cs = u32[3]{0} broadcast(c), dimensions={}\n  ax = u32[3]{0} multiply(as, x)\n"
        "  y = u32[3]{0} add(ax, cs)\n  places = s32[3]{0} iota(), iota_dimension=0\n"
        f"  j = s32[3]{{0}} add(k, places)\n  ROOT r = {state} tuple(y, j) }}"
    )
    x = case.param("u32", [30000001, 2000000, 4000000000])
    start = case.op(state, "tuple", x, case.param("s32", [0, 0, 0]))
    t = case.op(state, "while", start, attrs="condition=none_is_small, body=congruences")
    case.result(case.op("u32[3]{0}", "get-tuple-element", t, attrs="index=0"), "numbers")
    case.result(case.op("s32[3]{0}", "get-tuple-element", t, attrs="index=1"), "rounds")
    return case


def _update_while():
    """Arrays that are updated in place, of which each round also reads what is elsewhere, or what was there before."""
    case = Case("while.updates")
    array, rows = "f32[400]{0}", "f32[30,20]{1,0}"
    state = f"(s32[], {array}, {array}, {rows}, {array}, {array}, {array}, f32[])"
    names = ("s32[] i", f"{array} a", f"{array} b", f"{rows} c", f"{array} d", f"{array} e", f"{array} f", "f32[] g")
    parts = "".join(
        f"  {name.split()[1]} = {name.split()[0]} get-tuple-element(s), index={k}\n" for k, name in enumerate(names)
    )
    case.computation("second { x = f32[] parameter(0)\n  ROOT y = f32[] parameter(1) }")
    case.computation(
        f"go {{ s = {state} parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n"
        "  n = s32[] constant(25)\n  ROOT r = pred[] compare(i, n), direction=LT }"
    )
    one, two, four = "f32[1]{0}", "f32[2]{0}", "f32[4]{0}"
    case.computation(
        f"update {{ s = {state} parameter(0)\n{parts}  one = s32[] constant(1)\n  j = s32[] add(i, one)\n"
        "  zero = s32[] constant(0)\n  k = s32[] add(j, one)\n  half = f32[] constant(0.5)\n"
        f"  h1 = {one} broadcast(half), dimensions={{}}\n  h4 = {four} broadcast(half), dimensions={{}}\n"
        # The next element from this one; two arrays that take each other's elements.
        f"  a0 = {one} dynamic-slice(a, i), dynamic_slice_sizes={{1}}\n"
        f"  b0 = {one} dynamic-slice(b, i), dynamic_slice_sizes={{1}}\n"
        f"  ah = {one} multiply(a0, h1)\n  ab = {one} add(ah, b0)\n"
        f"  a1 = {array} dynamic-update-slice(a, ab, j)\n  bh = {one} add(a0, h1)\n"
        f"  b1 = {array} dynamic-update-slice(b, bh, j)\n"
        # A row from the one before; a window from one that overlaps it, which begins where the array says.
        "  c0 = f32[1,20]{1,0} dynamic-slice(c, i, zero), dynamic_slice_sizes={1,20}\n"
        "  h20 = f32[1,20]{1,0} broadcast(half), dimensions={}\n  ch = f32[1,20]{1,0} add(c0, h20)\n"
        f"  c1 = {rows} dynamic-update-slice(c, ch, j, zero)\n"
        f"  d0 = {four} dynamic-slice(d, i), dynamic_slice_sizes={{4}}\n  dh = {four} add(d0, h4)\n"
        f"  dr = {four} reverse(dh), dimensions={{0}}\n  dp = {one} slice(d), slice={{[2:3]}}\n"
        "  ds = f32[] reshape(dp)\n  dc = s32[] convert(ds)\n  at = s32[] add(dc, i)\n"
        f"  d1 = {array} dynamic-update-slice(d, dr, at)\n"
        # Elements that change places, by two updates; what was in the first place is asked after both.
        f"  e0 = {one} dynamic-slice(e, i), dynamic_slice_sizes={{1}}\n"
        f"  e1 = {one} dynamic-slice(e, k), dynamic_slice_sizes={{1}}\n"
        f"  e2 = {array} dynamic-update-slice(e, e1, i)\n  e3 = {array} dynamic-update-slice(e2, e0, k)\n"
        f"  e4 = {one} dynamic-slice(e3, k), dynamic_slice_sizes={{1}}\n  e5 = {one} add(e4, e0)\n"
        "  ef = f32[] reshape(e5)\n  g1 = f32[] add(g, ef)\n"
        # What is scattered is read from there.
        f"  pp = s32[2]{{0}} constant({{7, 3}})\n  ib = s32[2]{{0}} broadcast(i), dimensions={{}}\n"
        "  to = s32[2]{0} add(pp, ib)\n  of = s32[2]{0} reverse(to), dimensions={0}\n"
        f"  f0 = {two} gather(f, of), offset_dims={{}}, collapsed_slice_dims={{0}}, start_index_map={{0}}, "
        f"index_vector_dim=1, slice_sizes={{1}}\n  h2 = {two} broadcast(half), dimensions={{}}\n"
        f"  fh = {two} add(f0, h2)\n  f1 = {array} scatter(f, to, fh), update_window_dims={{}}, "
        "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=second\n"
        f"  ROOT r = {state} tuple(j, a1, b1, c1, d1, e3, f1, g1) }}"
    )
    numbers = np.arange(400) % 13
    starts = [case.constant("s32[]", 0), *(case.param("f32", numbers + k) for k in range(2))]
    starts.append(case.param("f32", np.arange(600).reshape(30, 20) % 17))
    starts += [*(case.param("f32", numbers * k) for k in range(1, 4)), case.param("f32", 1)]
    t = case.op(state, "while", case.op(state, "tuple", *starts), attrs="condition=go, body=update")
    for k, name in enumerate(names[1:], 1):
        type_, label = name.split()
        case.result(case.op(type_, "get-tuple-element", t, attrs=f"index={k}"), label)
    return case


def _gradient_while():
    """Rounds as gradients of loops have them: parts are taken out of sums, and what is made of these is added elsewhere, as zeros
    with a part put in."""
    case = Case("while.gradients")
    one, two, four, row, array, rows = "f32[1]{0}", "f32[2]{0}", "f32[4]{0}", "f32[1,20]{1,0}", "f32[400]{0}", "f32[30,20]{1,0}"
    names = (f"{array} a", f"{array} b", f"{array} c", f"{array} d", f"{rows} e", f"{array} f", f"{array} g", "f16[400]{0} h")
    state = f"(s32[], {', '.join(name.split()[0] for name in names)})"
    parts = "".join(
        f"  {name.split()[1]} = {name.split()[0]} get-tuple-element(s), index={k + 1}\n" for k, name in enumerate(names)
    )
    case.computation("second { x = f32[] parameter(0)\n  ROOT y = f32[] parameter(1) }")
    case.computation("sum { x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  ROOT z = f32[] add(x, y) }")
    case.computation("sum16 { x = f16[] parameter(0)\n  y = f16[] parameter(1)\n  ROOT z = f16[] add(x, y) }")
    case.computation(
        f"go {{ s = {state} parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n"
        "  n = s32[] constant(25)\n  ROOT r = pred[] compare(i, n), direction=LT }"
    )

    def take(type_, name, array, *at):
        sizes = type_[4 : type_.index("]")]
        return f"  {name} = {type_} dynamic-slice({array}, {', '.join(at)}), dynamic_slice_sizes={{{sizes}}}\n"

    def put(name, old, part, *at, type_=array):
        return f"  {name} = {type_} dynamic-update-slice({old}, {part}, {', '.join(at)})\n"

    def binary(type_, name, opcode, x, y):
        return f"  {name} = {type_} {opcode}({x}, {y})\n"

    scatter = "update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1"
    case.computation(
        f"round {{ s = {state} parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n{parts}"
        "  one = s32[] constant(1)\n  j = s32[] add(i, one)\n  zero = s32[] constant(0)\n  k = s32[] add(j, one)\n"
        "  half = f32[] constant(0.5)\n  nothing = f32[] constant(0)\n"
        f"  h1 = {one} broadcast(half), dimensions={{}}\n  h2 = {two} broadcast(half), dimensions={{}}\n"
        f"  h4 = {four} broadcast(half), dimensions={{}}\n  h20 = {row} broadcast(half), dimensions={{}}\n"
        f"  n1 = {one} broadcast(nothing), dimensions={{}}\n  n4 = {four} broadcast(nothing), dimensions={{}}\n"
        f"  n20 = {row} broadcast(nothing), dimensions={{}}\n  zeros = {array} broadcast(nothing), dimensions={{}}\n"
        f"  zero_rows = {rows} broadcast(nothing), dimensions={{}}\n"
        # An element goes to two others.
        + take(one, "a0", "a", "j")
        + f"  jv = s32[1]{{0}} reshape(j)\n  a1 = {array} scatter(a, jv, nothing), update_window_dims={{}}, "
        "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=0, to_apply=second\n"
        + binary(one, "ah", "multiply", "a0", "h1")
        + put("a2", "zeros", "ah", "i")
        + binary(array, "a3", "add", "a1", "a2")
        + put("a4", "zeros", "a0", "k")
        + binary(array, "a5", "add", "a4", "a3")
        # Elements of two arrays change places.
        + take(one, "b0", "b", "j")
        + take(one, "c0", "c", "j")
        + put("b1", "b", "n1", "j")
        + put("c1", "c", "n1", "j")
        + binary(one, "bh", "multiply", "b0", "h1")
        + binary(one, "ch", "multiply", "c0", "h1")
        + put("b2", "zeros", "ch", "i")
        + put("c2", "zeros", "bh", "i")
        + binary(array, "b3", "add", "b1", "b2")
        + binary(array, "c3", "add", "c1", "c2")
        # Windows that overlap, and rows.
        + take(four, "d0", "d", "k")
        + put("d1", "d", "n4", "k")
        + binary(four, "dh", "multiply", "d0", "h4")
        + put("d2", "zeros", "dh", "i")
        + binary(array, "d3", "add", "d1", "d2")
        + take(row, "e0", "e", "j", "zero")
        + put("e1", "e", "n20", "j", "zero", type_=rows)
        + binary(row, "eh", "multiply", "e0", "h20")
        + put("e2", "zero_rows", "eh", "i", "zero", type_=rows)
        + binary(rows, "e3", "add", "e1", "e2")
        # What is scattered, with equal places, and what always goes to the same place.
        + "  pp = s32[2]{0} constant({7, 7})\n  ib = s32[2]{0} broadcast(i), dimensions={}\n  to = s32[2]{0} add(pp, ib)\n"
        + take(two, "f0", "f", "i")
        + binary(two, "fh", "multiply", "f0", "h2")
        + f"  f1 = {array} scatter(zeros, to, fh), {scatter}, to_apply=sum\n"
        + binary(array, "f2", "add", "f", "f1")
        + take(one, "g0", "g", "k")
        + f"  g1 = {array} pad(g0, nothing), padding=1_398\n"
        + binary(array, "g2", "add", "g", "g1")
        + "  tiny = f16[] constant(0.0003)\n  t1 = f16[1]{0} broadcast(tiny), dimensions={}\n  nil = f16[] constant(0)\n"
        "  nils = f16[400]{0} broadcast(nil), dimensions={}\n  kv = s32[1,1]{1,0} reshape(k)\n"
        f"  h1x = f16[400]{{0}} scatter(nils, kv, t1), {scatter}, to_apply=sum16\n"
        + binary("f16[400]{0}", "h2x", "add", "h", "h1x")
        + f"  ROOT r = {state} tuple(j, a5, b3, c3, d3, e3, f2, g2, h2x) }}"
    )
    numbers = np.arange(400) % 13 * 64.0
    starts = [case.constant("s32[]", 0), *(case.param("f32", numbers) for _ in range(4))]
    starts.append(case.param("f32", (np.arange(600) % 17 * 64.0).reshape(30, 20)))
    starts += [case.param("f32", numbers), case.param("f32", numbers), case.param("f16", np.ones(400))]
    t = case.op(state, "while", case.op(state, "tuple", *starts), attrs="condition=go, body=round")
    for k, name in enumerate(names, 1):
        type_, label = name.split()
        case.result(case.op(type_, "get-tuple-element", t, attrs=f"index={k}"), label)
    return case


def _conditional_cases():
    case = Case("conditional")
    case.computation("negated { x = f32[3]{0} parameter(0)\n  ROOT r = f32[3]{0} negate(x) }")
    case.computation("doubled { x = f32[3]{0} parameter(0)\n  ROOT r = f32[3]{0} add(x, x) }")
    case.computation("same { x = f32[3]{0} parameter(0)\n  ROOT r = f32[3]{0} copy(x) }")
    case.computation(
        "pair { p = (f32[3]{0}, s32[]) parameter(0)\n"
        "  x = f32[3]{0} get-tuple-element(p), index=0\n"
        "  n = s32[] get-tuple-element(p), index=1\n  m = s32[] negate(n)\n"
        "  ROOT r = (f32[3]{0}, s32[]) tuple(x, m) }"
    )
    case.computation(
        "single { x = f32[3]{0} parameter(0)\n  m = s32[] constant(5)\n"
        "  y = f32[3]{0} add(x, x)\n  ROOT r = (f32[3]{0}, s32[]) tuple(y, m) }"
    )
    x, y = case.param("f32", [1, 2, 3]), case.param("f32", [4, 5, 6])
    for value in True, False:
        p = case.param("pred", value)
        case.result(
            case.op(
                "f32[3]{0}",
                "conditional",
                p,
                x,
                y,
                attrs="true_computation=negated, false_computation=doubled",
            ),
            f"pred.{str(value).lower()}",
        )
        n = case.param("s32", 8)
        both = case.op("(f32[3]{0}, s32[])", "tuple", x, n)
        t = case.op(
            "(f32[3]{0}, s32[])",
            "conditional",
            p,
            both,
            y,
            attrs="true_computation=pair, false_computation=single",
        )
        case.result(case.op("f32[3]{0}", "get-tuple-element", t, attrs="index=0"), "tuple")
        case.result(case.op("s32[]", "get-tuple-element", t, attrs="index=1"), "tuple")
    for index in 0, 1, 2, 3, -1, 100, -(2**31):
        i = case.param("s32", index)
        case.result(
            case.op(
                "f32[3]{0}",
                "conditional",
                i,
                x,
                y,
                x,
                attrs="branch_computations={negated, doubled, same}",
            ),
            f"index{index}",
        )
    i = case.param("s32", 5)
    case.result(
        case.op("f32[3]{0}", "conditional", i, x, attrs="branch_computations={negated}"),
        "one-branch",
    )
    yield case


def _fusion_cases():
    """Chains that fusion may join; the values are exact, so joined or not they are the same."""
    case = Case("chains")
    x = fill("f32", (6, 8))
    p, q = case.param("f32", x), case.param("f32", fill("f32", (8,), 3))
    wide = case.op("f32[6,8]{1,0}", "broadcast", q, attrs="dimensions={1}")
    a = case.op("f32[6,8]{1,0}", "multiply", p, wide)
    b = case.op("f32[8,6]{1,0}", "transpose", a, attrs="dimensions={1,0}")
    c = case.op("f32[48]{0}", "reshape", b)
    d = case.op("f32[24]{0}", "slice", c, attrs="slice={[0:48:2]}")
    e = case.op("f32[24]{0}", "reverse", d, attrs="dimensions={0}")
    f = case.op("s32[24]{0}", "convert", e)
    case.result(f, "movement")
    case.result(a, "shared")
    case.computation(
        "sum { x = f32[] parameter(0)\n  y = f32[] parameter(1)\n" "  ROOT s = f32[] add(x, y) }"
    )
    zero = case.constant("f32[]", "0")
    g = case.op("f32[6]{0}", "reduce", a, zero, attrs="dimensions={1}, to_apply=sum")
    h = case.op("f32[6,8]{1,0}", "broadcast", g, attrs="dimensions={0}")
    i = case.op("f32[6,8]{1,0}", "subtract", a, h)
    case.result(i, "reduce-in-the-middle")
    j = case.op(
        "f32[6,6]{1,0}", "dot", i, b, attrs="lhs_contracting_dims={1}, rhs_contracting_dims={0}"
    )
    case.result(case.op("f32[6,6]{1,0}", "negate", j), "dot-between")
    yield case
    yield _layer()


def _layer():
    """A dense layer and its gradient's parts: dots between elementwise ops, transposes and sums."""
    case = Case("chains.layer")
    r = values.random(12)
    x, w = case.param("f32", r.randint(-3, 4, (9, 20))), case.param(
        "f32", r.randint(-3, 4, (20, 13))
    )
    bias = case.param("f32", r.randint(-9, 10, (13,)))
    case.computation(
        "sum { x = f32[] parameter(0)\n  y = f32[] parameter(1)\n" "  ROOT s = f32[] add(x, y) }"
    )
    xw = case.op(
        "f32[9,13]{1,0}", "dot", x, w, attrs="lhs_contracting_dims={1}, rhs_contracting_dims={0}"
    )
    wide = case.op("f32[9,13]{1,0}", "broadcast", bias, attrs="dimensions={1}")
    z = case.op("f32[9,13]{1,0}", "add", xw, wide)
    zero = case.constant("f32[]", "0")
    zeros = case.op("f32[9,13]{1,0}", "broadcast", zero, attrs="dimensions={}")
    h = case.op("f32[9,13]{1,0}", "maximum", z, zeros)
    case.result(h, "relu")
    on = case.op("pred[9,13]{1,0}", "compare", z, zeros, attrs="direction=GT")
    g = case.op("f32[9,13]{1,0}", "select", on, wide, zeros)
    case.result(
        case.op(
            "f32[20,13]{1,0}",
            "dot",
            x,
            g,
            attrs="lhs_contracting_dims={0}, rhs_contracting_dims={0}",
        ),
        "weights",
    )
    wt = case.op("f32[13,20]{1,0}", "transpose", w, attrs="dimensions={1,0}")
    case.result(
        case.op(
            "f32[9,20]{1,0}",
            "dot",
            g,
            wt,
            attrs="lhs_contracting_dims={1}, rhs_contracting_dims={0}",
        ),
        "inputs",
    )
    case.result(
        case.op("f32[13]{0}", "reduce", g, zero, attrs="dimensions={0}, to_apply=sum"), "bias"
    )
    case.result(
        case.op(
            "f32[]",
            "reduce",
            case.op("f32[9,13]{1,0}", "multiply", h, g),
            zero,
            attrs="dimensions={0,1}, to_apply=sum",
        ),
        "loss",
    )
    both = case.op("(f32[9,13]{1,0}, f32[13]{0})", "tuple", h, bias)
    kept = case.op("(f32[9,13]{1,0}, f32[13]{0})", "opt-barrier", both)
    case.result(case.op("f32[9,13]{1,0}", "get-tuple-element", kept, attrs="index=0"), "barrier")
    return case


def cases():
    yield from _call_cases()
    yield from _map_cases()
    yield from _while_cases()
    yield from _conditional_cases()
    yield from _fusion_cases()
