# SPDX-License-Identifier: Apache-2.0
"""Batch normalisation: training, inference, gradient.

Whole numbers in groups of a power of two: sums, means and variances are exact, in any order, so what
may differ is the reciprocal root and the roundings behind it."""

from recorder import values
from recorder.xla import Case, by_device, shape

TYPES = ["f32", "f16", "bf16", "f64"]
# dimensions, feature index, layout
FORMS = [((4, 3, 2), 1, None), ((2, 2, 2, 5), 3, None), ((3, 8), 0, None), ((8, 4), 1, (0, 1))]
ROUNDINGS = "the reciprocal root and four roundings"
SLOPE = "small differences of rounded products"


def _tuple(shapes):
    return f"({', '.join(shapes)})"


def cases():
    for form, (dims, feature, layout) in enumerate(FORMS):
        for suffix, types in by_device(TYPES):
            case = Case(f"batch_norm{form}{suffix}")
            for type_ in types:
                r = values.random(form)
                by_feature = (dims[feature],)
                array, vector = shape(type_, dims, layout), shape(type_, by_feature)
                x = case.param(type_, r.randint(-4, 5, dims), layout)
                scale = case.param(type_, r.randint(1, 4, by_feature))
                offset = case.param(type_, r.randint(40, 60, by_feature))
                mean = case.param(type_, r.randint(-2, 3, by_feature))
                variance = case.param(type_, r.randint(1, 9, by_feature))
                dy = case.param(type_, r.randint(-4, 5, dims), layout)
                attrs = f"epsilon=0.125, feature_index={feature}"
                wide = type_ in ("f32", "f64")
                y = case.op(
                    _tuple([array, vector, vector]), "batch-norm-training", x, scale, offset,
                    attrs=attrs,
                )
                for i, s in enumerate([array, vector, vector]):
                    part = case.op(s, "get-tuple-element", y, attrs=f"index={i}")
                    case.result(part, type_, 4 if i == 0 else 1, ROUNDINGS)
                y = case.op(
                    array, "batch-norm-inference", x, scale, offset, mean, variance, attrs=attrs
                )
                case.result(y, type_, 4, ROUNDINGS)
                y = case.op(
                    _tuple([array, vector, vector]), "batch-norm-grad", x, scale, mean, variance,
                    dy, attrs=attrs,
                )
                for i, s in enumerate([array, vector, vector]):
                    part = case.op(s, "get-tuple-element", y, attrs=f"index={i}")
                    bound = (64 if wide else 16) if i == 0 else 4
                    case.result(part, type_, bound, SLOPE if i == 0 else ROUNDINGS)
            yield case
