# SPDX-License-Identifier: Apache-2.0
"""Forms that HLO text has beside the usual ones, and XLA reads: comparisons with another signedness than their
operands', clamps of complex numbers, constants of one number, windows that say too little, single values of scans."""

import numpy as np

from recorder import values
from recorder.xla import Case, array, by_device, shape

ADD = """add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT sum = f32[] add(a, b)
}"""
BODY = """body {
  x = f32[2] parameter(0)
  negated = f32[2] negate(x)
  ROOT result = (f32[2]) tuple(negated)
}"""
PLAIN = """plain {
  x = f32[2] parameter(0)
  carry = f32[2] parameter(1)
  ROOT sum = f32[2] add(x, carry)
}"""


def _compare():
    """XLA's verifier refuses these of parameters; of constants it computes what is expected here."""
    case = Case("form.compare")
    case.expected = []
    for type_ in "pred", "s4", "s8", "s32", "s64", "u4", "u8", "u16", "u64":
        other = "UNSIGNED" if type_[0] == "s" else "SIGNED"
        a, b = values.crossed(type_, 20)
        p, q = case.param(type_, a), case.param(type_, b)
        width = 1 if type_ == "pred" else int(type_[1:])
        x, y = ([int(v) % 2**width for v in side] for side in (a, b))
        if other == "SIGNED":
            x, y = ([v - 2**width * (v >> (width - 1)) for v in side] for side in (x, y))
        for direction in "LT", "GE", "EQ":
            attrs = f"direction={direction}, type={other}"
            out = case.op(shape("pred", a.shape), "compare", p, q, attrs=attrs)
            case.result(out, f"{type_}.{direction.lower()}")
            compare = {"LT": int.__lt__, "GE": int.__ge__, "EQ": int.__eq__}[direction]
            case.expected.append(np.array([compare(v, w) for v, w in zip(x, y)]))
    return case


def _clamp():
    few = [0, 1 + 2j, 1 - 5j, -2 + 1j, complex(np.nan, 1), complex(np.inf, 0), complex(1, np.nan)]
    n = len(few)
    for suffix, part in by_device(["c64", "c128"]):
        case = Case("form.clamp" + suffix)
        for type_ in part:
            low = array(type_, [a for a in few for _ in range(n * n)])
            x = array(type_, [b for _ in few for b in few for _ in few])
            high = array(type_, [c for _ in range(n * n) for c in few])
            operands = [case.param(type_, v) for v in (low, x, high)]
            case.result(case.op(shape(type_, x.shape), "clamp", *operands), type_)
            scalars = [case.param(type_, v) for v in (1 + 2j, 3 + 1j)]
            bounds = scalars[0], operands[1], scalars[1]
            case.result(case.op(shape(type_, x.shape), "clamp", *bounds), type_ + ".scalars")
        yield case


def _constants():
    case = Case("form.constant")
    for type_, literal in (
        ("f32", "1.5"),
        ("bf16", "nan"),
        ("s4", "-3"),
        ("pred", "true"),
        ("u64", "-1"),
    ):
        case.result(case.constant(shape(type_, (2, 3)), literal), f"{type_}.first")
    case.result(case.constant("u64[3]", "{-1, -9223372036854775808, 3}"), "u64.negative")
    return case


def _windows():
    case = Case("form.window")
    case.computation(ADD)
    x = case.param("f32", np.arange(12).reshape(4, 3))
    zero = case.param("f32", 0)
    window = "window={size=2x1 pad=0_1x0_0 rhs_reversal=1}, to_apply=add"
    case.result(case.op("f32[4,3]", "reduce-window", x, zero, attrs=window), "reversal")
    image = case.param("f32", np.arange(9).reshape(1, 3, 3, 1))
    kernel = case.param("f32", np.array([1, 10, 100, 1000]).reshape(2, 2, 1, 1))
    for kind in "fprop", "dgrad", "wgrad":
        attrs = f"window={{size=2x2}}, dim_labels=b01f_01io->b01f, convolution_kind={kind}"
        out = case.op("f32[1,2,2,1]", "convolution", image, kernel, attrs=attrs)
        case.result(out, f"kind.{kind}")
    one = case.param("f32", np.full((1, 1, 1, 1), 2))
    attrs = "window={size=1x1 rhs_reversal=1}, dim_labels=b01f_01io->b01f"
    out = case.op("f32[1,3,3,1]", "convolution", image, one, attrs=attrs)
    case.result(out, "short-reversal")
    return case


def _scan():
    case = Case("form.scan")
    case.computation(BODY)
    case.computation(PLAIN)
    x = case.param("f32", np.arange(6).reshape(3, 2))
    start = case.param("f32", [10, 20])
    attrs = "dimensions={0}, num_carries=0, to_apply=body"
    case.result(case.op("f32[3,2]", "scan", x, attrs=attrs), "output")
    attrs = "dimensions={0}, num_carries=1, to_apply=plain"
    case.result(case.op("f32[2]", "scan", x, start, attrs=attrs), "carry")
    return case


def _bits():
    """XLA's way from HLO text to its CPU backend loses these; the results are those of the definition."""
    case = Case("form.bits")
    words = np.array([[0, 1, 256, 0x01010101], [-1, 65536, 2, 0]], np.int32)
    x = case.param("s32", words)
    case.result(case.op("pred[2,4,4]", "bitcast-convert", x), "s32.pred")
    wide = words.view(np.uint8).reshape(2, 4, 4) != 0
    flags = case.param("pred", wide)
    case.result(case.op("u32[2,4]", "bitcast-convert", flags), "pred.u32")
    y = case.param("c64", np.array([[[3 - 2j]]]))
    attrs = "fft_type=FFT, fft_length={0}"
    case.result(case.op("c64[1,1,1]", "fft", y, attrs=attrs), "fft.degenerate")
    packed = wide.astype(np.uint8).reshape(2, 16).view(np.uint32)
    case.expected = [wide, packed, np.array([[[3 - 2j]]], np.complex64)]
    return case


def _factors():
    """Eigenvectors and reflectors are unique but for signs: what is compared is put together from them again."""
    reason = "rounding errors of another algorithm, in well-conditioned problems"
    case = Case("form.factors")

    def away(value, label):
        """Errors are relative to the largest element: all are moved away from zero."""
        text = case.shapes[value]
        eight = case.op(text, "broadcast", case.constant("f32[]", "8"), attrs="dimensions={}")
        case.result(case.op(text, "add", value, eight), label, 256, reason)

    for dims in (4, 3), (2, 3, 5):
        label = "x".join(map(str, dims))
        *batch, m, n = dims
        k = min(m, n)
        a = case.param("f32", values.random(n).standard_normal(dims))
        matrix, taus = shape("f32", dims), shape("f32", (*batch, k))
        attrs = 'custom_call_target="Qr"'
        pair = case.op(f"({matrix}, {taus})", "custom-call", a, attrs=attrs)
        h = case.op(matrix, "get-tuple-element", pair, attrs="index=0")
        tau = case.op(taus, "get-tuple-element", pair, attrs="index=1")
        away(h, f"qr.{label}")
        if m < n:
            continue
        attrs = 'custom_call_target="ProductOfElementaryHouseholderReflectors"'
        q = case.op(matrix, "custom-call", h, tau, attrs=attrs)
        away(q, f"q.{label}")
    for lower in 1, 0:
        x = values.random(7).standard_normal((2, 4, 4))
        a = case.param("f32", x + 4 * np.eye(4))
        attrs = f'custom_call_target="Eigh", backend_config="{lower},1,100,1e-6"'
        pair = case.op("(f32[2,4,4], f32[2,4])", "custom-call", a, attrs=attrs)
        v = case.op("f32[2,4,4]", "get-tuple-element", pair, attrs="index=0")
        w = case.op("f32[2,4]", "get-tuple-element", pair, attrs="index=1")
        away(w, f"eigenvalues.{lower}")
        wide = case.op("f32[2,4,4]", "broadcast", w, attrs="dimensions={0,2}")
        scaled = case.op("f32[2,4,4]", "multiply", v, wide)
        attrs = "lhs_batch_dims={0}, rhs_batch_dims={0}, "
        attrs += "lhs_contracting_dims={2}, rhs_contracting_dims={2}"
        again = case.op("f32[2,4,4]", "dot", scaled, v, attrs=attrs)
        away(again, f"again.{lower}")
    return case


def cases():
    yield _compare()
    yield from _clamp()
    yield _constants()
    yield _windows()
    yield _scan()
    yield _bits()
    yield _factors()
