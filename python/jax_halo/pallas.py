# SPDX-License-Identifier: Apache-2.0
"""Pallas: its kernels run as the programs that its interpreter makes of them, here also where nobody asks for that.

There is no compiler of such kernels for OpenCL, and JAX would refuse them. What is interpreted is compiled like any
other program of JAX: the grid is a loop, and blocks are slices.
"""
import functools


def _interpreted(rule):
    @functools.wraps(rule)
    def lower(ctx, *operands, interpret, **parameters):
        return rule(ctx, *operands, interpret=interpret or True, **parameters)

    return lower


def install(platform):
    from jax._src.interpreters import mlir

    original = mlir.register_lowering

    def add(primitive, rule):
        if str(primitive) == "pallas_call":
            original(primitive, _interpreted(rule), platform=platform)

    # Pallas may be imported before or later.
    for primitive, entry in list(mlir._lowerings.items()):
        add(primitive, getattr(entry, "rule", entry))

    @functools.wraps(original)
    def register_lowering(prim, rule, *args, **kwargs):
        result = original(prim, rule, *args, **kwargs)
        if not args and kwargs.get("platform") is None:
            add(prim, rule)
        return result

    mlir.register_lowering = register_lowering
