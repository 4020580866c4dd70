# SPDX-License-Identifier: Apache-2.0
"""custom_partitioning: functions that say themselves how they are partitioned.

While a program is compiled, JAX is asked for the program of one partition. It gives that as MLIR bytecode of its
own version, which the plugin does not read: it reads portable artifacts.
"""


def _version(platform):
    """Of StableHLO, for artifacts: what the plugin asks for, or JAX's own, if that is older."""
    from jax._src import xla_bridge
    from jax._src.lib.mlir.dialects import hlo

    wanted = tuple(xla_bridge.get_backend(platform).stablehlo_current_version)
    own = tuple(map(int, hlo.get_current_version().split(".")))
    return ".".join(map(str, min(wanted, own)))


def _portable(partition, platform):
    from jax.extend import mlir

    def portable(*args):
        program, arguments, result = partition(*args)
        return mlir.serialize_portable_artifact(program, _version(platform)), arguments, result

    return portable


def install(platform):
    from jax._src import custom_partitioning, xla_bridge
    from jax._src.lib import xla_client

    def register(c_api):
        if c_api is not xla_bridge._backend_factories[platform].c_api:
            return
        # After JAX's own, which this replaces.
        xla_client.register_custom_call_partitioner(
            custom_partitioning._CUSTOM_PARTITIONING_CALL_NAME,
            custom_partitioning._custom_partitioning_propagate_user_sharding,
            _portable(custom_partitioning._custom_partitioning_partition, platform),
            custom_partitioning._custom_partitioning_infer_sharding_from_operands,
            can_side_effecting_have_replicated_sharding=True,
            c_api=c_api)

    xla_bridge.register_plugin_callbacks(register)
