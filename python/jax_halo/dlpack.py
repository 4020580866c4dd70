# SPDX-License-Identifier: Apache-2.0
"""DLPack: arrays go out as arrays of the host, which is what those who take them can read, and come in from it.

Where the device shares the host's memory, large arrays are not copied on either way.
"""
import functools


def _is_ours(array, platform):
    devices = getattr(array, "devices", None)
    return callable(devices) and all(d.platform == platform for d in devices())


def _host_device():
    """JAX's CPU, or None where only this platform is used."""
    import jax

    try:
        return jax.local_devices(backend="cpu")[0]
    except RuntimeError:
        return None


def _install_export(platform):
    import jax
    import numpy as np
    from jax._src import array, dlpack

    device_of, export = array.ArrayImpl.__dlpack_device__, dlpack._to_dlpack

    @functools.wraps(device_of)
    def __dlpack_device__(self):
        if len(self.devices()) == 1 and _is_ours(self, platform):
            return dlpack.DLDeviceType.kDLCPU, 0
        return device_of(self)

    # Newer versions of JAX say which version of DLPack they want, too.
    @functools.wraps(export)
    def _to_dlpack(x, stream=None, src_device=None, device=None, copy=None, **more):
        host = _host_device()
        if not _is_ours(x, platform) or (device is not None and device != host):
            return export(x, stream, src_device, device, copy, **more)
        view = np.asarray(x)  # of a large array where it lies, if the device shares the host's memory
        if host is None:
            if copy is False:
                raise BufferError("without JAX's CPU backend arrays are copied when they go out by DLPack")
            return np.array(view, copy=True).__dlpack__()
        on_host = jax.device_put(view, host)
        if copy is False and on_host.unsafe_buffer_pointer() != view.ctypes.data:
            raise BufferError(f"this array of the platform {platform} is copied when it goes out by DLPack")
        return export(on_host, None, None, None, True if copy else None, **more)

    array.ArrayImpl.__dlpack_device__ = __dlpack_device__
    dlpack._to_dlpack = _to_dlpack


def _install_import(platform):
    import jax.dlpack
    from jax._src import dlpack
    from jax._src.numpy import array_constructors

    original = dlpack.from_dlpack

    @functools.wraps(original)
    def from_dlpack(external_array, device=None, copy=None):
        if _is_ours(external_array, platform) and device is None:
            # What JAX has already stays where it is, and is committed to that as all that comes in is.
            array = external_array.copy() if copy else external_array
            return array if array.committed else jax.device_put(array, array.sharding)
        return original(external_array, device, copy)

    for module in (dlpack, jax.dlpack, array_constructors):
        if getattr(module, "from_dlpack", None) is original:
            module.from_dlpack = from_dlpack


def install(platform):
    _install_export(platform)
    _install_import(platform)
