# SPDX-License-Identifier: Apache-2.0
"""jax2tf: what is converted for TensorFlow without naming a platform is for the CPU, since TensorFlow has not this one."""
import functools
import sys


def install(platform):
    from jax._src.export import _export

    # What jax2tf calls: a function of its own, or in newer versions that of jax.export, which serves others too.
    name = "_export_internal" if hasattr(_export, "_export_internal") else "export"
    original = getattr(_export, name)

    @functools.wraps(original)
    def export(*args, platforms=None, **more):
        caller = sys._getframe(1).f_globals.get("__name__", "")
        if platforms is None and caller.startswith("jax.experimental.jax2tf"):
            platforms = ("cpu",) if _export.default_export_platform() == platform else None
        return original(*args, platforms=platforms, **more)

    setattr(_export, name, export)
