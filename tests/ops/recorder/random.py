# SPDX-License-Identifier: Apache-2.0
"""Random numbers: the bits and the new states of rng-bit-generator, random states, and
stochastic-convert."""

import numpy as np

from recorder.xla import DTYPES, F8, FLOATS, INTS, SIGNED, Case, by_device, shape

ALGORITHMS = {"rng_default": [2, 3], "rng_three_fry": [2], "rng_philox": [2, 3]}
TYPES = [*INTS, "u2", "s2", *FLOATS, *F8]


class Bits(Case):
    """XLA gives unsigned integers for whatever type the bits are meant; of 4 and 2 bits that shows."""

    def finish(self, outputs):
        for i, (label, *_) in enumerate(self.bounds):
            if label in ("s4", "s2"):
                outputs[i] = outputs[i].view(DTYPES[label])
        super().finish(outputs)


def _state(words):
    """Words so large that counters carry."""
    return np.array([0x9E3779B97F4A7C15, 2**64 - 3, 41][:words], np.uint64)


def _bits(case, algorithm, state, type_, dims, layout=None, label=None):
    data = shape(type_, dims, layout)
    pair = case.op(
        f"(u64[{len(state)}], {data})",
        "rng-bit-generator",
        case.param("u64", state),
        attrs=f"algorithm={algorithm}",
    )
    new = case.op(f"u64[{len(state)}]", "get-tuple-element", pair, attrs="index=0")
    out = case.op(data, "get-tuple-element", pair, attrs="index=1")
    case.result(new, "state")
    case.result(out, label or type_)


def cases():
    for algorithm, states in ALGORITHMS.items():
        short = algorithm.removeprefix("rng_")
        for suffix, types in by_device(TYPES):
            case = Bits(f"{short}{suffix}")
            for type_ in types:
                _bits(case, algorithm, _state(states[-1]), type_, (5, 6))
            yield case
        case = Case(f"{short}.shapes")
        for words in states:
            for dims in [(), (1,), (7,), (8,), (0,), (3, 0, 2), (3, 5), (3, 4), (4, 3), (5, 3, 7)]:
                _bits(case, algorithm, _state(words), "u32", dims, label="shapes")
            for dims in [(), (7,), (3, 4), (2, 3, 1, 2, 1, 3)]:
                _bits(case, algorithm, _state(words), "u64", dims, label="shapes")
            _bits(case, algorithm, np.zeros(words), "u32", (2, 2), label="state 0")
            _bits(case, algorithm, _state(words), "u16", (3, 4), layout=(0, 1), label="layout")
        yield case

    # The bits are computed inside of what reads them.
    case = Case("fused")
    bits = case.op(
        "(u64[2], u32[33,9])",
        "rng-bit-generator",
        case.param("u64", _state(2)),
        attrs="algorithm=rng_three_fry",
    )
    data = case.op("u32[33,9]", "get-tuple-element", bits, attrs="index=1")
    turned = case.op("u32[9,33]{1,0}", "transpose", data, attrs="dimensions={1,0}")
    part = case.op("u32[4,11]{1,0}", "slice", turned, attrs="slice={[1:9:2], [0:33:3]}")
    case.result(part, "fused")
    yield case

    # Each instruction has a state of its own. (The runs of one executable differ; test_random.c.)
    case = Case("states")
    for delta in (1, 2**62):
        case.result(case.op("u64[2]", "rng-get-and-update-state", attrs=f"delta={delta}"), "states")
    case.expected = [np.array([0x7012395, 0], np.uint64)] * 2
    yield case
    yield from _stochastic()


def _stochastic():
    rng = np.random.default_rng(6)
    edges = [0.0, -0.0, 0.5, -0.5, 1.25, -1.75, 126.5, 127.0, 127.5, 128.0, -127.5, -128.0, -128.5]
    edges += [6.5, 7.25, -7.5, -8.25, 1e30, -1e30, np.nan, np.inf, -np.inf, 32766.5, -32768.5]
    for suffix, types in by_device(["bf16", "f16", "f32", "f64"]):
        case = Case(f"stochastic{suffix}")
        for type_ in types:
            values = np.concatenate([edges, np.array(edges) * 3.1, rng.normal(0, 99, 52)])
            width = {"f64": 64, "f32": 32}.get(type_, 16)
            bits = rng.integers(0, 2**width, len(values), np.uint64)
            bits[:48:2] = 2 ** (width - 1)
            with np.errstate(over="ignore"):
                x = case.param(type_, values)
            r = case.param(f"u{width}", bits)
            for to in SIGNED:
                case.result(
                    case.op(f"{to}[{len(values)}]", "stochastic-convert", x, r), f"{type_} to {to}"
                )
        yield case
