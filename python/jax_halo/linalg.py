# SPDX-License-Identifier: Apache-2.0
"""Lowerings of primitives that JAX has for platforms by name only, or not as they are best here."""
import functools

# Calls of LAPACK, by the names that JAX gives them on CPUs.
_DECOMPOSITIONS = (
    "eig",
    "eigh",
    "geqp3",
    "geqrf",
    "hessenberg",
    "householder_product",
    "lu",
    "ormqr",
    "schur",
    "svd",
    "tridiagonal",
    "tridiagonal_solve",
)
# Algorithms that LAPACK does not have: a choice among ways to the same result, so that another does.
_NOT_IN_LAPACK = ("JACOBI", "POLAR", "QDWH")
# Complex convolutions as real ones.
_AS_ON_CPUS = ("conv_general_dilated",)
# Types that LAPACK does not have.
_HALVES = ("float16", "bfloat16")
# What JAX promises to refuse on every device.
_REFUSED = {"geqrf": "float16"}
# Those of modules that are imported when somebody wants them: jax.experimental.sparse.linalg.
_AS_ON_CPUS_LATER = ("spsolve",)
# Arrays that a program puts into another memory.
_AS_ON_TPUS = ("device_put",)
# What one device has, for all.
_AS_ON_GPUS = ("pbroadcast",)


def _copy(platform, source, names):
    from jax._src.interpreters import mlir

    for primitive, entry in list(mlir._platform_specific_lowerings[source].items()):
        if str(primitive) in names:
            rule = getattr(entry, "rule", entry)
            mlir.register_lowering(primitive, rule, platform=platform)


def _copy_decompositions(platform):
    """The calls of LAPACK, and those of types that it does not have as of f32."""
    from jax._src.interpreters import mlir

    def with_halves(primitive, rule):
        def wide(types, parameters, *arrays):
            arrays = [x.astype("float32") if x.dtype.name in _HALVES else x for x in arrays]
            results = primitive.bind(*arrays, **parameters)
            results = results if primitive.multiple_results else [results]
            return [x.astype(dtype) for x, dtype in zip(results, types)]

        def lower(ctx, *operands, **parameters):
            dtype = ctx.avals_in[0].dtype
            if dtype.name == _REFUSED.get(str(primitive)):
                raise ValueError(f"Unsupported dtype {dtype!r}")
            if getattr(parameters.get("algorithm"), "name", None) in _NOT_IN_LAPACK:
                parameters["algorithm"] = None
            if not any(aval.dtype.name in _HALVES for aval in ctx.avals_in):
                return rule(ctx, *operands, **parameters)
            types = [aval.dtype for aval in ctx.avals_out]
            call = functools.partial(wide, types, parameters)
            return mlir.lower_fun(call, multiple_results=True)(ctx, *operands)

        return lower

    for primitive, entry in list(mlir._platform_specific_lowerings["cpu"].items()):
        if str(primitive) in _DECOMPOSITIONS:
            rule = with_halves(primitive, getattr(entry, "rule", entry))
            mlir.register_lowering(primitive, rule, platform=platform)


def _copy_later(platform, source, names):
    """The rules that JAX has, and those that it will get."""
    from jax.interpreters import mlir

    _copy(platform, source, names)
    original = mlir.register_lowering

    @functools.wraps(original)
    def register_lowering(prim, rule, *args, **kwargs):
        result = original(prim, rule, *args, **kwargs)
        if str(prim) in names and source in (*args[:1], kwargs.get("platform")):
            original(prim, rule, platform=platform)
        return result

    mlir.register_lowering = register_lowering


def _approx_top_k(operand, *, k, reduction_dimension, is_max_k, aggregate_to_topk, recall_target,
                  reduction_input_size_override):
    """The largest elements themselves: as good an approximation as any."""
    import jax.numpy as jnp
    from jax import lax
    from jaxlib import _jax

    dimension = reduction_dimension % operand.ndim
    size, count = operand.shape[dimension], k
    if not aggregate_to_topk:
        count = min(size, _jax.approx_top_k_reduction_output_size(
            size, operand.ndim, k, recall_target, aggregate_to_topk,
            reduction_input_size_override)[0])
    operand = jnp.moveaxis(operand, dimension, -1)
    values, places = lax.top_k(operand if is_max_k else -operand, count)
    values = values if is_max_k else -values
    return jnp.moveaxis(values, -1, dimension), jnp.moveaxis(places, -1, dimension)


def _install_approx_top_k(platform):
    from jax._src.interpreters import mlir
    from jax._src.lax import ann

    mlir.register_lowering(
        ann.approx_top_k_p, mlir.lower_fun(_approx_top_k, multiple_results=True), platform=platform)


def _install_cholesky(platform):
    import jax.numpy as jnp
    from jax._src.interpreters import mlir
    from jax._src.lax import linalg
    from jax._src.lib.mlir import ir
    from jax._src.lib.mlir.dialects import hlo

    def checked(factor):
        # XLA's operation leaves NaN in the last place alone where only the last pivot is zero. JAX promises
        # NaN everywhere if a matrix has no factor.
        last = factor[..., -1:, -1:]
        return jnp.where(jnp.isnan(last.real), jnp.full_like(factor, jnp.nan), factor)

    def rule(ctx, operand):
        factor = hlo.cholesky(operand, lower=ir.BoolAttr.get(True))
        return mlir.lower_fun(checked, multiple_results=False)(ctx, factor)

    mlir.register_lowering(linalg.cholesky_p, rule, platform=platform)


def install(platform):
    # The modules that register the rules which are copied.
    import jax._src.dispatch  # noqa: F401
    import jax._src.lax.linalg  # noqa: F401
    import jax._src.lax.parallel  # noqa: F401

    _copy_decompositions(platform)
    _copy(platform, "cpu", _AS_ON_CPUS)
    _copy_later(platform, "cpu", _AS_ON_CPUS_LATER)
    _copy(platform, "tpu", _AS_ON_TPUS)
    _copy(platform, "cuda", _AS_ON_GPUS)
    _install_approx_top_k(platform)
    _install_cholesky(platform)
