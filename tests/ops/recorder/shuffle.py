# SPDX-License-Identifier: Apache-2.0
"""shuffle: rotations, and permutations by tables of indices.

The pinned XLA does not know the operation yet, so that the results are the definition's, by NumPy."""

import numpy as np

from recorder import values
from recorder.xla import FLOATS, INTS, Case, array, by_device, shape


def _literal(a):
    return str(a.tolist()).replace("[", "{").replace("]", "}")


def _add(case, type_, x, dims, label, *, shifts=None, table=None, index_type="s32"):
    """`table`: for each place of the result one index for each of `dims`; dimensions of 1 are shared."""
    data = array(type_, x)
    operand = case.param(type_, x)
    attrs = f"dimensions={{{','.join(map(str, dims))}}}, "
    if shifts is not None:
        attrs += f"mode=rotate, shifts={{{','.join(map(str, shifts))}}}"
        result = np.roll(data, [-s for s in shifts], dims)
    else:
        text = shape(index_type, table.shape)
        attrs += f"mode=permute, indices={text} {_literal(table)}"
        if table.ndim == data.ndim:
            table = table[..., None]
        full = np.broadcast_to(table, (*data.shape, len(dims)))
        at = list(np.indices(data.shape))
        for k, d in enumerate(dims):
            at[d] = full[..., k]
        result = data[tuple(at)]
    case.result(case.op(shape(type_, data.shape), "shuffle", operand, attrs=attrs), label)
    case.expected.append(result)


def cases():
    r = values.random(21)
    for suffix, types in by_device(["pred", *INTS, *FLOATS, "c64"]):
        case = Case(f"types{suffix}")
        case.expected = []
        for type_ in types:
            x = r.randint(0, 2, (3, 4)) if type_ == "pred" else r.randint(0, 8, (3, 4))
            _add(case, type_, x, [0, 1], f"{type_}.rotate", shifts=[1, 2])
            _add(case, type_, x, [1], f"{type_}.permute", table=r.permutation(4)[None, :, None])
        yield case
    case = Case("forms")
    case.expected = []
    x = r.randint(-99, 100, (4, 3, 5))
    for shifts in ([0], [7], [-1], [-9]):
        _add(case, "s32", x, [2], f"rotate{shifts[0]}", shifts=shifts)
    _add(case, "s32", x, [2, 0], "rotate-two", shifts=[3, -2])
    _add(case, "s32", x, [], "rotate-none", shifts=[])
    _add(case, "s32", r.randint(0, 9, (0, 3)), [0, 1], "rotate-empty", shifts=[5, 1])
    _add(case, "s32", x, [0], "shared", table=r.permutation(4).reshape(4, 1, 1))
    _add(case, "s32", x, [2], "by-row", table=r.randint(0, 5, (4, 1, 5, 1)), index_type="u8")
    both = np.stack([r.randint(0, n, (4, 1, 5)) for n in (5, 4)], -1)
    _add(case, "s32", x, [2, 0], "two", table=both, index_type="s8")
    every = np.stack([r.randint(0, n, (4, 3, 5)) for n in (4, 3, 5)], -1)
    _add(case, "s32", x, [0, 1, 2], "every", table=every, index_type="s64")
    _add(case, "s32", r.randint(0, 9, (6,)), [0], "line", table=r.permutation(6), index_type="u16")
    yield case
