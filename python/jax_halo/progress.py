# SPDX-License-Identifier: Apache-2.0
"""A line of Python logging when compiling takes long."""
import ctypes
import functools
import logging
import threading
import time

_PATIENCE = 3.0  # seconds that compiling takes before somebody wants to know why nothing happens
_PAUSE = 0.5
_IDLE = 10.0  # seconds without a compilation after which nobody looks any more

_logger = logging.getLogger("jax_halo")


class _Watcher:
    """Looks from a thread of its own how far compiling has come, while there is something to look at.

    Some OpenCL drivers compile kernels at their first launch, which comes after the call that compiles returns.
    """

    def __init__(self, ask):
        self._ask = ask
        self._lock = threading.Lock()
        self._thread = None

    def wake(self):
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="jax_halo.progress", daemon=True)
                self._thread.start()

    def _run(self):
        told, last, seen = False, 0.0, time.monotonic()
        while time.monotonic() - seen < _IDLE:
            time.sleep(_PAUSE)
            now = self._ask()
            if now is None:
                continue
            seconds, kernels, compiled, kept = now
            seen = time.monotonic()
            told = told and seconds >= last  # else it is another compilation
            last = seconds
            if seconds >= _PATIENCE and not told:
                told = True
                count = f"{compiled} of {kernels} kernels" if kernels else "no kernel yet"
                _logger.warning("jax_halo: still compiling (%s after %.0f s)%s", count, seconds,
                                "; later runs reuse them" if kept else "")


def _ask_library(path):
    """A function that gives what the plugin counts, or None while nothing is compiled."""
    ask = ctypes.CDLL(path).HaloCompileProgress
    ask.restype = ctypes.c_int
    ask.argtypes = [ctypes.POINTER(ctypes.c_double)] + 3 * [ctypes.POINTER(ctypes.c_int)]

    def call():
        seconds, kernels, compiled, kept = ctypes.c_double(), ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
        if not ask(seconds, kernels, compiled, kept):
            return None
        return seconds.value, kernels.value, compiled.value, bool(kept.value)

    return call


def install(platform):
    from jax._src import compiler

    import jax_halo

    path = jax_halo.library_path()
    if path is None or jax_halo._is_registered_by_environment():
        return  # another library counts
    watcher = _Watcher(_ask_library(path))
    original = compiler.backend_compile_and_load

    @functools.wraps(original)
    def backend_compile_and_load(backend, *args, **kwargs):
        if backend.platform == platform:
            watcher.wake()
        return original(backend, *args, **kwargs)

    compiler.backend_compile_and_load = backend_compile_and_load
