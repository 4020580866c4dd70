# SPDX-License-Identifier: Apache-2.0
"""Costs of programs that are not compiled yet: JAX has them of backends that are not plugins."""
import functools


def _analyse(backend, hlo):
    """By XLA for CPUs where JAX has that backend, else NotImplementedError, which callers take for no answer."""
    from jax._src import xla_bridge
    from jax._src.lib import _jax

    try:
        cpu = xla_bridge.get_backend("cpu")
    except RuntimeError as error:
        raise NotImplementedError(
            f"Lowered.cost_analysis on the platform {backend.platform} needs JAX's CPU backend") from error
    return _jax.hlo_module_cost_analysis(cpu, hlo.as_hlo_module())


def install(platform):
    from jax._src.interpreters import pxla

    original = pxla.MeshComputation.cost_analysis

    @functools.wraps(original)
    def cost_analysis(self):
        backend = self.compile_args["backend"]
        if backend.platform != platform:
            return original(self)
        return _analyse(backend, self.hlo())

    pxla.MeshComputation.cost_analysis = cost_analysis
