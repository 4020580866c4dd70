# SPDX-License-Identifier: Apache-2.0
"""ragged-dot and scaled-dot. XLA's CPU backend runs neither opcode (JAX writes them as others), so what is
expected is computed here, by their definition, of whole numbers, for which sums are exact."""

import numpy as np

from recorder.xla import Case, array, by_device, shape

EXACT = "whole numbers"


def _whole(seed, *dims, low=-4, high=5):
    return np.random.default_rng(seed).integers(low, high, dims)


def _listed(**lists):
    return ", ".join(f"{k}={{{','.join(map(str, v))}}}" for k, v in lists.items() if v)


def _rows(lhs, rhs, sizes):
    """[m,k], [g,k,n], [g]: rows of a group meet its part of rhs."""
    out, at = np.zeros((lhs.shape[0], rhs.shape[2])), 0
    for j, size in enumerate(sizes):
        out[at : at + size] = lhs[at : at + size] @ rhs[j]
        at += size
    return out


def _sums(lhs, rhs, sizes):
    """[m,k], [k,n], [g]: a product for each group of columns."""
    out, at = np.zeros((len(sizes), lhs.shape[0], rhs.shape[1])), 0
    for j, size in enumerate(sizes):
        out[j] = lhs[:, at : at + size] @ rhs[at : at + size]
        at += size
    return out


class Ragged(Case):
    def __init__(self, name):
        super().__init__(name)
        self.expected = []

    def ragged(self, type_, lhs, rhs, sizes, want, index="s32", label=None, **lists):
        p = [self.param(type_, lhs), self.param(type_, rhs), self.param(index, sizes)]
        op = self.op(shape(type_, want.shape), "ragged-dot", *p, attrs=_listed(**lists))
        self.result(op, label or type_, 0, EXACT)
        self.expected.append(array(type_, want))


def _free(case, type_, sizes, index="s32", label=None):
    lhs, rhs = _whole(1, 9, 5), _whole(2, len(sizes), 5, 4)
    want = _rows(lhs, rhs, sizes)
    case.ragged(
        type_, lhs, rhs, np.array(sizes), want, index, label,
        lhs_contracting_dims=[1], rhs_contracting_dims=[1], lhs_ragged_dims=[0], rhs_group_dims=[0],
    )  # fmt: skip


def _contracted(case, type_, sizes, index="s32", label=None):
    lhs, rhs = _whole(3, 6, 10), _whole(4, 10, 3)
    want = _sums(lhs, rhs, sizes)
    case.ragged(
        type_, lhs, rhs, np.array(sizes), want, index, label,
        lhs_contracting_dims=[1], rhs_contracting_dims=[0], lhs_ragged_dims=[1],
    )  # fmt: skip


def _batches(case):
    lists = {"lhs_batch_dims": [0], "rhs_batch_dims": [1]}
    lhs, rhs = _whole(5, 2, 7, 4), _whole(6, 3, 2, 4, 5)
    for sizes in (np.array([2, 0, 4]), np.array([[1, 3, 2], [0, 7, 0]])):
        each = np.broadcast_to(sizes, (2, 3))
        want = np.stack([_rows(lhs[i], rhs[:, i], each[i]) for i in range(2)])
        case.ragged(
            "f32", lhs, rhs, sizes, want, label="batch", **lists,
            lhs_contracting_dims=[2], rhs_contracting_dims=[2], lhs_ragged_dims=[1],
            rhs_group_dims=[0],
        )  # fmt: skip
    rhs = _whole(7, 2, 4, 5)
    lists["rhs_batch_dims"] = [0]
    for sizes in (np.array([1, 2]), np.array([[3, 1], [0, 2]])):
        each = np.broadcast_to(sizes, (2, 2))
        want = np.stack([_sums(lhs[i], rhs[i], each[i]) for i in range(2)], 1)
        case.ragged(
            "f32", lhs, rhs, sizes, want, label="batch, contracted", **lists,
            lhs_contracting_dims=[2], rhs_contracting_dims=[1], lhs_ragged_dims=[2],
        )  # fmt: skip
    case.ragged(
        "f32", lhs, rhs, np.array([1, 1]), lhs @ rhs, label="ragged batch", **lists,
        lhs_contracting_dims=[2], rhs_contracting_dims=[1], lhs_ragged_dims=[0],
    )  # fmt: skip


def _scaled(case, types, lhs, rhs, scales, result, label):
    """Scales of None stand for scalars."""
    p = [case.param(t, v) for t, v in zip(types, (lhs, rhs))]
    sides = [lhs.astype(float), rhs.astype(float)]
    for i, scale in enumerate(scales):
        p.append(case.param(types[2 + i], 7.0 if scale is None else scale))
        if scale is not None:
            blocks = [n // m for n, m in zip(sides[i].shape, scale.shape)]
            sides[i] = sides[i] * np.kron(scale, np.ones(blocks))
    want = sides[0] @ sides[1]
    attrs = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
    case.result(case.op(shape(result, want.shape), "scaled-dot", *p, attrs=attrs), label, 0, EXACT)
    case.expected.append(array(result, want))


def cases():
    types = ["s8", "s32", "u16", "bf16", "f16", "f32", "f64", "c64"]
    for suffix, part in by_device(types):
        case = Ragged(f"types{suffix}")
        for type_ in part:
            _free(case, type_, [2, 3, 1])
            _contracted(case, type_, [4, 0, 3])
        yield case
    case = Ragged("sizes")
    for sizes in ([9], [0, 0], [0, 9, 0], [4, 5], [5, 7]):
        _free(case, "f32", sizes, label="groups")
    for index in ("s64", "u8"):
        _free(case, "f32", [1, 2, 3], index, f"by {index}")
        _contracted(case, "f32", [1, 2, 3], index, f"by {index}")
    yield case
    case = Ragged("batches")
    _batches(case)
    yield case

    case = Ragged("scaled")
    lhs, rhs = _whole(8, 4, 64), _whole(9, 64, 3)
    left, right = 2.0 ** _whole(10, 4, 2, low=-2, high=3), 2.0 ** _whole(11, 2, 3, low=-2, high=3)
    for value in ("f8e4m3fn", "f8e5m2", "f4e2m1fn"):
        small = [np.clip(lhs, -3, 3), np.clip(rhs, -3, 3)]
        scaled = [value, value, "f8e8m0fnu", "f8e8m0fnu"]
        _scaled(case, scaled, *small, (left, right), "f32", value)
    _scaled(case, ["bf16"] * 4, lhs, rhs, (left, None), "bf16", "one side")
    _scaled(case, ["f32"] * 4, lhs, rhs, (None, None), "f32", "no side")
    _scaled(case, ["f32", "f32", "bf16", "f32"], lhs, rhs, (left, right[:1]), "f32", "blocks")
    yield case
