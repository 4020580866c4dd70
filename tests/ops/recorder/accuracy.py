# SPDX-License-Identifier: Apache-2.0
"""Bounds for functions that nobody computes exactly.

A device's result may be as far from the true value as OpenCL allows its built-in function to be,
and XLA's as far as it turned out to be for the recorded inputs, so the two may be apart by both."""

import numpy as np

from recorder.xla import PART

MANTISSA = {"bf16": 7, "f16": 10, "f32": 23, "f64": 52}
MIN_EXPONENT = {"bf16": -126, "f16": -14, "f32": -126, "f64": -1022}


def ulp_of(type_, value):
    """The spacing of the type's numbers around `value` (that of the least normal number below)."""
    _, exponent = np.frexp(np.abs(value))
    return np.ldexp(
        np.ones_like(value), np.maximum(exponent - 1, MIN_EXPONENT[type_]) - MANTISSA[type_]
    )


def errors(type_, output, exact):
    """ULP between XLA's finite results and the true values."""
    output = np.asarray(output).astype(np.longdouble)
    with np.errstate(all="ignore"):
        e = np.abs(output - exact) / ulp_of(type_, exact)
    tiny = 2.0 ** MIN_EXPONENT[type_]
    return np.where(np.isfinite(output) & np.isfinite(exact) & (np.abs(exact) >= tiny), e, 0)


def true_value(function, *inputs):
    with np.errstate(all="ignore"):
        return function(*[np.asarray(i).astype(np.longdouble) for i in inputs])


def _note_specials(name, type_, output, exact, inputs):
    """Prints where XLA and the truth differ in kind: such inputs do not belong in the data."""
    with np.errstate(all="ignore"):
        exact = exact.astype(np.float32 if type_ == "bf16" else output.dtype)
    wide = output.astype(np.float64)
    kind = (np.isnan(wide) != np.isnan(exact)) | (np.isinf(wide) != np.isinf(exact))
    for i in np.flatnonzero(kind):
        print(
            f"note: {name} {type_} of {[x[i] for x in inputs]}: XLA {output[i]}, truth {exact[i]}"
        )


def judge(name, type_, function, opencl_ulp, *inputs):
    """A function of XLA's output that gives the bound and its reason, for Case.measure."""

    def of(output):
        exact = true_value(function, *inputs)
        _note_specials(name, type_, output, exact, inputs)
        e = errors(type_, output, exact)
        worst = int(np.argmax(e))
        if e[worst] > 16:
            print(
                f"note: {name} {type_} of {[i[worst] for i in inputs]}: "
                f"XLA is {e[worst]:.0f} ULP off"
            )
        if type_ in ("bf16", "f16"):
            xla = int(np.ceil(e[worst] - 0.5))
            return xla + 1, f"computed in f32 and rounded once: 1 ULP; XLA's is {xla} off"
        xla = int(np.ceil(e[worst]))
        return xla + opencl_ulp, f"OpenCL allows {opencl_ulp} ULP, XLA's is {xla} off"

    return of


def complex_judge(name, type_, function, own_ulp, *inputs):
    """The same for complex results, whose ULP is that of the larger of the two parts."""
    part = PART[type_]

    def of(output):
        with np.errstate(all="ignore"):
            exact = function(*[i.astype(np.clongdouble) for i in inputs])
            away = np.abs(output.astype(np.clongdouble) - exact)
            e = away / ulp_of(part, np.maximum(np.abs(exact.real), np.abs(exact.imag)))
        e = np.where(np.isfinite(exact) & np.isfinite(output.astype(np.clongdouble)), e, 0)
        worst = int(np.argmax(e))
        xla = int(np.ceil(float(e[worst])))
        if xla > 64:
            print(f"note: {name} {type_} of {[i[worst] for i in inputs]}: XLA is {xla} ULP off")
        return (
            xla + own_ulp,
            f"made of real functions, {own_ulp} ULP of the larger part; XLA's {xla}",
        )

    return of
