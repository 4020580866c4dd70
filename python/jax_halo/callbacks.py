# SPDX-License-Identifier: Apache-2.0
"""Functions of Python that programs call: pure_callback, io_callback, buffer_callback, debug.print and their like.

JAX has two ways for it. The one for TPUs needs nothing of a platform but sends and receives, which the plugin has.
"""


class _Module:
    """A module's context, but for the name of its platform."""

    platforms = ("tpu",)

    def __init__(self, context):
        self._context = context

    def __getattr__(self, name):
        return getattr(self._context, name)


def _is_local(context):
    """Whether each device's part of the program speaks of arrays of its own, or there is but one device."""
    axes = context.axis_context
    mesh = getattr(axes, "mesh", None)
    if mesh is not None:
        return set(axes.manual_axes) == set(mesh.axis_names)
    return getattr(axes, "num_devices", None) == 1


def _pieces(ctx, operands, avals):
    """What each device has of the operands, and its extents: see partition/custom.c."""
    from jax._src import core
    from jax._src.interpreters import mlir
    from jax._src.lib.mlir import ir
    from jax._src.lib.mlir.dialects import hlo
    import numpy as np

    values, kinds = [], []
    for operand, aval in zip(operands, avals):
        extents = core.ShapedArray((max(aval.ndim, 1),), np.dtype(np.int32))
        call = hlo.CustomCallOp(
            [operand.type, mlir.aval_to_ir_type(ctx.module_context, extents)], [operand],
            call_target_name=ir.StringAttr.get("halo.pieces"))
        call.attributes["mhlo.sharding"] = ir.StringAttr.get("{{manual}, {manual}}")
        values += call.results
        kinds += [aval, extents]
    return values, kinds


def _of_pieces(callback, avals):
    """Calls with the pieces, of arrays that begin with them."""
    import numpy as np

    def call(*args):
        arrays = []
        for whole, extents, aval in zip(args[::2], args[1::2], avals):
            dims = tuple(map(int, extents))[:aval.ndim]
            arrays.append(np.asarray(whole).reshape(-1)[:int(np.prod(dims))].reshape(dims))
        return callback(*arrays)

    return call


def _with_operand(callback):
    """What takes nothing is called by each device that has something."""
    from jax._src import core
    from jax._src.interpreters import mlir
    import numpy as np

    nothing = np.zeros(1, np.float32)
    return lambda _: callback(), [mlir.ir_constant(nothing)], [core.ShapedArray(nothing.shape, nothing.dtype)]


def _install_emitter(platform):
    from jax._src import callback as callbacks
    from jax.interpreters import mlir

    original = callbacks.emit_python_callback

    def emit_python_callback(ctx, callback, token, operands, operand_avals, *args, partitioned=False, **kwargs):
        if tuple(ctx.module_context.platforms) != (platform,):
            return original(ctx, callback, token, operands, operand_avals, *args, partitioned=partitioned, **kwargs)
        # Where each device has arrays of its own, a callback of parts is one like all others.
        if partitioned and not _is_local(ctx.module_context):
            if not operands:
                callback, operands, operand_avals = _with_operand(callback)
            callback = _of_pieces(callback, operand_avals)
            operands, operand_avals = _pieces(ctx, operands, operand_avals)
            kwargs["sharding"] = None
        ctx = ctx.replace(module_context=_Module(ctx.module_context))
        return original(ctx, callback, token, operands, operand_avals, *args, **kwargs)

    # The second is where users find it, and parts of JAX.
    for module in (callbacks, mlir):
        if getattr(module, "emit_python_callback", None) is original:
            module.emit_python_callback = emit_python_callback


def _install_receiver():
    """JAX gives all that a callback returns the sharding of the first result, which fits no other rank."""
    from jax._src import callback

    original = callback.receive_from_host

    def receive_from_host(*args, sharding=None, **kwargs):
        # JAX 0.9 gives no context; there no platform but this one and TPUs comes here.
        ours = isinstance(args[0], (_Module, int))
        shardings = getattr(sharding, "shardings", None)
        # That of one device has no dimensions.
        if ours and shardings and not shardings[0].logical_device_ids:
            out_aval = args[2] if isinstance(args[0], int) else args[3]
            none = callback.SdyDim(axes=(), is_open=False)
            fits = callback.SdyArray(
                mesh_shape=shardings[0].mesh_shape, dim_shardings=(none,) * out_aval.ndim,
                logical_device_ids=())
            sharding = type(sharding)((fits,))
        return original(*args, sharding=sharding, **kwargs)

    callback.receive_from_host = receive_from_host


def _install_rules(platform):
    from jax._src import checkify, debugging
    from jax._src.interpreters import mlir

    # Each lowering has channels of its own, so that none is kept for another.
    mlir.register_lowering(
        debugging.debug_callback_p, debugging.debug_callback_lowering, platform=platform,
        cacheable=False)
    mlir.register_lowering(
        debugging.debug_print_p, debugging.debug_print_lowering_rule, platform=platform,
        cacheable=False)
    mlir.register_lowering(checkify.check_p, checkify.check_lowering_rule, platform=platform)


class _Buffer:
    """An argument or a result of buffer_callback: the callback's own view of an array of the host."""

    @property
    def __class__(self):
        # JAX's own, which nobody but its handlers can make, is what users ask isinstance for.
        from jax._src import buffer_callback

        return buffer_callback.Buffer

    def __init__(self, array, writeable):
        self._array = array
        self.dtype, self.ndim, self.shape = array.dtype, array.ndim, array.shape
        self.writeable = writeable

    def __array__(self, dtype=None, copy=None):
        array = self._array if dtype is None else self._array.astype(dtype, copy=False)
        return array.copy() if copy else array

    def __dlpack__(self, **kwargs):
        return self._array.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


class _Context:
    """What a buffer_callback is told of its call: it runs on the host."""

    @property
    def __class__(self):
        from jax._src import buffer_callback

        return buffer_callback.ExecutionContext

    def __init__(self, stage):
        self.stage = stage

    @property
    def stream(self):
        import jax

        # As on CPUs.
        raise jax.errors.JaxRuntimeError("UNIMPLEMENTED: XLA FFI GPU context is not available: the callback runs on the host")


def _lower_buffer_callback(ctx, *args, callback, in_tree, out_tree, has_side_effect,
                           input_output_aliases, **_):
    import numpy as np
    from jax import tree_util
    from jax._src import buffer_callback
    from jax._src import callback as callbacks

    avals = ctx.avals_out
    aliases = {result: argument for argument, result in input_output_aliases}

    def run(*arrays):
        arrays = [np.asarray(a) for a in arrays]
        # A result that is aliased begins as the argument, and both are one array.
        outputs = [arrays[aliases[i]].copy() if i in aliases else np.empty(a.shape, a.dtype)
                   for i, a in enumerate(avals)]
        for result, argument in aliases.items():
            arrays[argument] = outputs[result]
        positional, named = tree_util.tree_unflatten(in_tree, [_Buffer(a, False) for a in arrays])
        results = tree_util.tree_unflatten(out_tree, [_Buffer(a, True) for a in outputs])
        context = _Context(buffer_callback.ExecutionStage.EXECUTE)
        if callback(context, results, *positional, **named) is not None:
            raise ValueError("buffer_callback callback must not return any values.")
        return tuple(outputs)

    results, _, _ = callbacks.emit_python_callback(
        ctx, run, None, list(args), ctx.avals_in, avals, has_side_effect=has_side_effect,
        returns_token=False)
    return results


def _install_buffers(platform):
    from jax._src import buffer_callback
    from jax._src.interpreters import mlir

    mlir.register_lowering(
        buffer_callback.buffer_callback_p, _lower_buffer_callback, platform=platform,
        cacheable=False)


def install(platform):
    _install_rules(platform)
    _install_emitter(platform)
    _install_receiver()
    _install_buffers(platform)
