"""Random numbers: the bits and the new states of rng-bit-generator."""

import numpy as np

from recorder.xla import DTYPES, F8, FLOATS, INTS, Case, by_device, shape

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
