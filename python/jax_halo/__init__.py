# SPDX-License-Identifier: Apache-2.0
"""JAX on OpenCL devices.

JAX finds this package by its entry point and calls `initialize` before the first use of a device. It registers
the platform "halo", and opens for it what JAX keeps for a fixed list of platforms: donation, callbacks to Python,
decompositions of matrices, the compilation cache, costs, DLPack, custom_partitioning, Pallas, jax.default_device,
lax.platform_dependent, MuJoCo's mjx. It says so where JAX goes to another platform, or compiles for long.
"""
import dataclasses
import functools
import importlib
import logging
import os
import pathlib

from jax_halo.version import __version__, trouble

PLATFORM = "halo"

_OPENED = (
    "donation", "linalg", "callbacks", "cache", "costs", "dlpack", "partitioning", "ffi", "tensorflow", "pallas",
    "default_device", "platforms", "mujoco", "progress")

_logger = logging.getLogger(__name__)


def library_path():
    """The plugin's library: $HALO_PJRT_LIBRARY, beside this file, in the source tree's build, or None."""
    named = os.environ.get("HALO_PJRT_LIBRARY")
    here = pathlib.Path(__file__).resolve().parent
    places = [here / "libhalo_pjrt.so", here.parent.parent / "build/lib/pjrt/libhalo_pjrt.so"]
    for place in [pathlib.Path(named)] if named else places:
        if place.is_file():
            return str(place)
    return None


def _is_registered_by_environment():
    names = os.environ.get("PJRT_NAMES_AND_LIBRARY_PATHS", "")
    return any(entry.split(":")[0].lower() == PLATFORM for entry in names.split(","))


def _tell_failure(factory):
    """JAX takes another platform without a word where nobody asked for this one by name, and it has no device."""

    @functools.wraps(factory)
    def create():
        from jax._src import config

        try:
            return factory()
        except Exception as error:
            wanted = os.environ.get("HALO_DEVICE")
            if "HALO_DEVICE" in str(error):
                wanted = None
            if not config.jax_platforms.value:  # else JAX raises it
                _logger.warning(
                    "jax_halo: JAX does not use OpenCL, but another platform%s: %s",
                    f", though HALO_DEVICE is {wanted!r}" if wanted else "", error)
            raise

    return create


def _make_options():
    """JAX calls it when it first wants the platform's devices."""
    from jax_halo import driver

    driver.offer()
    return {}


def _register(path):
    from jax._src import xla_bridge

    # A callable, since options from the environment are lost with several processes otherwise.
    xla_bridge.register_plugin(PLATFORM, library_path=path, options=_make_options)
    # Where nobody asks for this platform and there is no OpenCL device, other platforms are used, after a warning. JAX takes each
    # platform that is not on its list for an experiment, and would say so in every process.
    registered = xla_bridge._backend_factories[PLATFORM]
    xla_bridge._backend_factories[PLATFORM] = dataclasses.replace(
        registered, factory=_tell_failure(registered.factory), fail_quietly=True, experimental=False)


@functools.cache
def initialize():
    """Registers the platform, once. JAX calls it for each entry point that it finds, and there are two where the package is
    installed and its source tree is on the path as well."""
    import jax

    old = trouble(jax.__version__)
    if old:
        _logger.warning("%s", old)
        return
    if not _is_registered_by_environment():
        path = library_path()
        if path is None:
            _logger.warning("jax_halo: there is no libhalo_pjrt.so beside the package")
            return
        _register(path)
    for name in _OPENED:
        # What one JAX has, another may have elsewhere: the rest works without it.
        try:
            importlib.import_module(f"jax_halo.{name}").install(PLATFORM)
        except Exception as error:  # pylint: disable=broad-except
            _logger.warning("jax_halo: this version of JAX has no place for %s: %r", name, error)
