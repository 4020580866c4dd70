"""Functions of Python that programs call: pure_callback, io_callback, debug.print and their like.

JAX has two ways for it. The one for TPUs needs nothing of a platform but sends and receives, which the plugin has.
"""


class _Module:
    """A module's context, but for the name of its platform."""

    platforms = ("tpu",)

    def __init__(self, context):
        self._context = context

    def __getattr__(self, name):
        return getattr(self._context, name)


def _install_emitter(platform):
    from jax._src import callback

    original = callback.emit_python_callback

    def emit_python_callback(ctx, *args, **kwargs):
        if tuple(ctx.module_context.platforms) == (platform,):
            ctx = ctx.replace(module_context=_Module(ctx.module_context))
        return original(ctx, *args, **kwargs)

    callback.emit_python_callback = emit_python_callback


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


def install(platform):
    _install_emitter(platform)
    _install_rules(platform)
