# SPDX-License-Identifier: Apache-2.0
"""fft: complex, real and their inverses, along one to three axes, of any length."""

import numpy as np

from recorder.xla import Case, array, shape

SUMS = "to each part a number of the size of the largest is added, beside which the rest is rounding"
PARTS = {"f32": "c64", "f64": "c128"}


def _values(seed, dims, is_complex):
    rng = np.random.default_rng(seed)
    x = rng.integers(-99, 100, dims) / 64.0
    return x + 1j * rng.integers(-99, 100, dims) / 64.0 if is_complex else x


def _largest(kind, x, lengths):
    """A power of two above what comes out."""
    axes = tuple(range(x.ndim - len(lengths), x.ndim))
    function = {
        "FFT": lambda: np.fft.fftn(x, axes=axes),
        "IFFT": lambda: np.fft.ifftn(x, axes=axes),
        "RFFT": lambda: np.fft.rfftn(x, axes=axes),
        "IRFFT": lambda: np.fft.irfftn(x, s=lengths, axes=axes),
    }[kind]
    out = function()
    parts = np.abs(np.concatenate([out.real.ravel(), out.imag.ravel()]))
    return 2.0 ** (int(np.log2(parts.max())) + 1) if parts.size and parts.max() > 0 else 1.0


def _fft(case, kind, part, dims, lengths, layouts=(None, None), bound=2, seed=3):
    """`dims` of the array in space; half of the last extent is there where it is a real one's spectrum."""
    half = [*dims[:-1], dims[-1] // 2 + 1 if dims[-1] else 0]
    given = half if kind == "IRFFT" else dims
    result = half if kind == "RFFT" else dims
    from_type = part if kind == "RFFT" else PARTS[part]
    to_type = part if kind == "IRFFT" else PARTS[part]
    x = array(from_type, _values(seed, given, kind != "RFFT"))
    p = case.param(from_type, x, layouts[0])
    text = shape(to_type, result, layouts[1])
    attrs = f"fft_type={kind}, fft_length={{{','.join(map(str, lengths))}}}"
    y = case.op(text, "fft", p, attrs=attrs)
    if 0 in result:
        case.result(y, to_type)
        return
    size = _largest(kind, x.astype(np.complex128) if kind != "RFFT" else x, lengths)
    literal = f"({size}, {size})" if to_type[0] == "c" else f"{size}"
    c = case.constant(f"{to_type}[]", literal)
    spread = case.op(text, "broadcast", c, attrs="dimensions={}")
    case.result(case.op(text, "add", y, spread), to_type, bound, SUMS)


def cases():
    for part, suffix in (("f32", ""), ("f64", ".f64")):
        for kind in ("FFT", "IFFT", "RFFT", "IRFFT"):
            case = Case(f"{kind.lower()}{suffix}")
            for n in (2, 7, 30, 128) if part == "f32" else (5, 64):
                _fft(case, kind, part, [3, n], [n])
            yield case
            case = Case(f"{kind.lower()}.axes{suffix}")
            if part == "f32":
                _fft(case, kind, part, [2, 6, 10], [6, 10])
                _fft(case, kind, part, [2, 4, 5, 7], [4, 5, 7])
                _fft(case, kind, part, [9, 16], [9, 16])
            else:
                _fft(case, kind, part, [2, 3, 4, 8], [3, 4, 8])
            yield case
            case = Case(f"{kind.lower()}.primes{suffix}")
            _fft(case, kind, part, [2, 97], [97], bound=4)
            if part == "f32":
                _fft(case, kind, part, [17, 19], [17, 19], bound=4)
            yield case
    case = Case("small")
    for kind in ("FFT", "RFFT", "IRFFT"):
        _fft(case, kind, "f32", [1], [1])
        _fft(case, kind, "f32", [0, 4], [4])
        _fft(case, kind, "f32", [3, 0], [0])
    _fft(case, "FFT", "f32", [2, 0, 3], [0, 3])
    yield case

    # What has no imaginary part has 0 there, so that its angle is 0 or pi.
    for part, suffix in (("f32", ""), ("f64", ".f64")):
        case = Case(f"rfft.ends{suffix}")
        for n in (6, 30, 100, 202, 262, 1000) if part == "f32" else (12, 262):
            p = case.param(part, array(part, _values(n, [4, n], False)))
            out = [4, n // 2 + 1]
            attrs = f"fft_type=RFFT, fft_length={{{n}}}"
            y = case.op(shape(PARTS[part], out), "fft", p, attrs=attrs)
            parts = case.op(shape(part, out), "imag", y)
            for k in (0, n // 2):
                cut = f"slice={{[0:4], [{k}:{k + 1}]}}"
                case.result(case.op(shape(part, [4, 1]), "slice", parts, attrs=cut), f"{n} at {k}")
        yield case

    case = Case("layouts")
    _fft(case, "FFT", "f32", [3, 5, 8], [8], ((0, 1, 2), None))
    _fft(case, "RFFT", "f32", [3, 5, 8], [5, 8], ((1, 2, 0), (0, 2, 1)))
    _fft(case, "IRFFT", "f32", [3, 5, 8], [8], (None, (0, 1, 2)))
    yield case

    # Lengths of several stages, and of several passes for kernels with little local memory.
    case = Case("long")
    _fft(case, "FFT", "f32", [1, 1024], [1024])
    _fft(case, "IFFT", "f32", [720], [720])
    _fft(case, "RFFT", "f32", [4096], [4096])
    yield case
    case = Case("longer")
    _fft(case, "IRFFT", "f32", [5005], [5005], bound=4)
    _fft(case, "FFT", "f32", [2, 2053], [2053], bound=4)
    yield case

    # Prime factors whose sums are loops: alone, behind others and behind each other, side by side; and lengths
    # that become convolutions of a length that is no power of two.
    for part, suffix in (("f32", ""), ("f64", ".f64")):
        case = Case(f"factors{suffix}")
        _fft(case, "FFT", part, [2, 323], [323], bound=4)
        _fft(case, "IFFT", part, [3, 62], [62], bound=4)
        _fft(case, "RFFT", part, [31, 5], [31, 5], bound=4)
        _fft(case, "IRFFT", part, [1, 690], [690], bound=4)
        _fft(case, "FFT", part, [2, 139], [139], bound=4)
        yield case
    case = Case("factors.long")
    _fft(case, "RFFT", "f32", [20999], [20999], bound=4)
    yield case

    # What is made on the fly and what follows elementwise go into the kernels.
    case = Case("fused")
    x = case.param("f32", _values(5, [4, 16], False))
    y = case.param("f32", _values(6, [16, 4], False))
    t = case.op("f32[4,16]{1,0}", "transpose", y, attrs="dimensions={1,0}")
    z = case.op("c64[4,16]{1,0}", "complex", x, t)
    f = case.op("c64[4,16]{1,0}", "fft", z, attrs="fft_type=FFT, fft_length={16}")
    re = case.op("f32[4,16]{1,0}", "real", f)
    im = case.op("f32[4,16]{1,0}", "imag", f)
    power = case.op(
        "f32[4,16]{1,0}",
        "add",
        case.op("f32[4,16]{1,0}", "multiply", re, re),
        case.op("f32[4,16]{1,0}", "multiply", im, im),
    )
    largest = case.op(
        "f32[4,16]{1,0}", "broadcast", case.constant("f32[]", "256"), attrs="dimensions={}"
    )
    case.result(case.op("f32[4,16]{1,0}", "add", power, largest), "power", 2, SUMS)
    yield case
