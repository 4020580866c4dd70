# SPDX-License-Identifier: Apache-2.0
"""MuJoCo's mjx, and brax, which asks it: mjx chooses how it computes by the names of platforms. Here it computes with JAX."""
import importlib.abc
import importlib.util
import sys

_MODULE = "mujoco.mjx._src.io"


def _patch(module, platform):
    original = getattr(module, "_resolve_impl", None)
    if original is None:
        return

    def _resolve_impl(device, *args, **kwargs):
        if device.platform == platform:
            return module.types.Impl.JAX
        return original(device, *args, **kwargs)

    module._resolve_impl = _resolve_impl


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the module as others do, and patches it when it has been read."""

    def __init__(self, platform):
        self._platform = platform

    def find_spec(self, name, path, target=None):
        if name != _MODULE:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        read = spec.loader.exec_module

        def exec_module(module):
            read(module)
            _patch(module, self._platform)

        spec.loader.exec_module = exec_module
        return spec


def install(platform):
    module = sys.modules.get(_MODULE)
    if module is not None:
        _patch(module, platform)
    else:
        sys.meta_path.insert(0, _Finder(platform))
