# SPDX-License-Identifier: Apache-2.0
"""lax.platform_dependent: where nobody thought of this platform, and there is no default, the branch for CPUs is taken."""
import functools


def _amend(platforms, platform):
    """Which branch is for which platforms, with this one among those of the CPU's branch; None is the default."""
    if None in platforms or any(platform in group for group in platforms):
        return platforms
    return tuple((*group, platform) if "cpu" in group else group for group in platforms)


def install(platform):
    from jax._src.interpreters import mlir
    from jax._src.lax.control_flow import conditionals

    def wrap(primitive, rule, name):
        @functools.wraps(rule)
        def wrapper(*args, **params):
            if params.get(name) is not None:
                params[name] = _amend(params[name], platform)
            return rule(*args, **params)

        mlir.register_lowering(primitive, wrapper)

    wrap(conditionals.platform_index_p, conditionals._platform_index_lowering, "platforms")
    wrap(conditionals.cond_p, conditionals._cond_lowering, "branches_platforms")
