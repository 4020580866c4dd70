"""cases_foreign.py: functions of others in programs: handlers of jax.ffi, and callbacks that write into buffers.

Each step is a function of a device that asserts what must hold, on JAX's CPU backend too.
"""

import ctypes

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.buffer_callback import buffer_callback

from cases_api import raises, real, same, struct
from check import Step

_POINTER, _SIZE, _INT, _LONG = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int64


def _structure(name, *fields):
  """A structure of XLA's interface for handlers, which begins with its size and its extensions."""
  head = [("struct_size", _SIZE), ("extension_start", _POINTER)]
  return type(name, (ctypes.Structure,), {"_fields_": head + list(fields)})


_Version = _structure("Version", ("major", _INT), ("minor", _INT))
_Buffer = _structure("Buffer", ("dtype", _INT), ("data", _POINTER), ("rank", _LONG), ("dims", ctypes.POINTER(_LONG)))
_Arrays = _structure("Arrays", ("size", _LONG), ("types", _POINTER), ("at", ctypes.POINTER(ctypes.POINTER(_Buffer))))
_Attributes = _structure("Attributes", ("size", _LONG), ("types", _POINTER), ("names", _POINTER), ("at", ctypes.POINTER(_POINTER)))
_Frame = _structure("Frame", ("api", _POINTER), ("context", _POINTER), ("stage", _INT), ("arguments", _Arrays),
                    ("results", _Arrays), ("attributes", _Attributes))
_KEPT = []


def _floats(buffer):
  """The elements of an array of f32 as NumPy sees them, in the memory that the handler was given."""
  assert buffer.dtype == 11
  shape = tuple(buffer.dims[i] for i in range(buffer.rank))
  memory = (ctypes.c_float * int(np.prod(shape))).from_address(buffer.data)
  return np.frombuffer(memory, np.float32).reshape(shape)


def _handler(fn):
  """A handler for what `fn` does with the frame of a call."""

  @ctypes.CFUNCTYPE(_POINTER, ctypes.POINTER(_Frame))
  def handler(pointer):
    frame = pointer.contents
    if frame.extension_start:
      # Only the version is asked for: it is behind the extension's head and the size of what that points to.
      metadata = _POINTER.from_address(frame.extension_start + 24).value
      version = _Version.from_address(metadata + 8)
      version.struct_size, version.major, version.minor = ctypes.sizeof(_Version), 0, 1
    else:
      fn(frame)

  _KEPT.append(handler)
  return jax.ffi.pycapsule(ctypes.cast(handler, _POINTER))


def _scale(frame):
  """y = x * factor, which is the only attribute, a number of f32."""
  value = _POINTER.from_address(frame.attributes.at[0] + 8).value
  factor = ctypes.c_float.from_address(value).value
  _floats(frame.results.at[0].contents)[...] = _floats(frame.arguments.at[0].contents) * np.float32(factor)


def _call(name, x, **more):
  return jax.ffi.ffi_call(name, struct(x.shape, np.float32), vmap_method="broadcast_all", **more)(x, factor=np.float32(3))


def handlers_of_its_own(device):
  jax.ffi.register_ffi_target("tests.own", _handler(_scale), platform=device.platform)
  x = jnp.arange(6, dtype=np.float32).reshape(2, 3)
  same(jax.jit(lambda x: _call("tests.own", x + 1) - 1)(x), (np.arange(6, dtype=np.float32).reshape(2, 3) + 1) * 3 - 1)
  same(jax.vmap(lambda x: _call("tests.own", x))(x), np.asarray(x) * 3)
  turned = jax.jit(lambda x: _call("tests.own", x.T, input_layouts=[(0, 1)], output_layouts=(0, 1)))(x)
  same(turned, np.asarray(x).T * 3)
  same(jax.jit(lambda x: jax.lax.fori_loop(0, 3, lambda i, c: _call("tests.own", c), x))(x), np.asarray(x) * 27)


def handlers_of_the_host(device):
  """What was registered for JAX's CPU runs here too, whenever that was; what is registered for this platform wins."""
  x = jnp.ones(4, np.float32)
  jax.ffi.register_ffi_target("tests.host", _handler(_scale), platform="cpu")
  same(jax.jit(lambda x: _call("tests.host", x))(x), np.full(4, 3, np.float32))
  if device.platform == "cpu": return

  def minus(frame):
    _floats(frame.results.at[0].contents)[...] = -_floats(frame.arguments.at[0].contents)

  jax.ffi.register_ffi_target("tests.host", _handler(minus), platform=device.platform)
  same(jax.jit(lambda x: _call("tests.host", x) + 0)(x), -np.ones(4, np.float32))


def handlers_for_others(device):
  """Handlers for platforms that are not there are kept by JAX, and do not answer here."""
  jax.ffi.register_ffi_target("tests.elsewhere", _handler(_scale), platform="CUDA")
  with raises(Exception, "tests.elsewhere"):
    jax.block_until_ready(jax.jit(lambda x: _call("tests.elsewhere", x))(jnp.ones(4, np.float32)))


def buffers_of_callbacks(device):
  def add(context, out, x, *, y):
    assert str(context.stage).endswith("EXECUTE")
    assert x.shape == (3,) and x.ndim == 1 and x.dtype == real() and out["sum"].writeable and not x.writeable
    np.asarray(out["sum"])[...] = np.asarray(x) + np.asarray(y)
    np.asarray(out["size"])[...] = np.from_dlpack(x).size

  f = buffer_callback(add, {"sum": struct((3,)), "size": struct((), np.int32)})
  x = jnp.arange(3, dtype=real())
  for g in (f, jax.jit(f)):
    out = g(x, y=x + 1)
    same(out["sum"], np.arange(3, dtype=real()) * 2 + 1)
    assert int(out["size"]) == 3

  def count(context, out, x):
    np.asarray(out)[0] += 10

  same(jax.jit(buffer_callback(count, struct((3,)), input_output_aliases={0: 0}))(x), np.asarray([10, 1, 2], real()))
  batched = buffer_callback(lambda context, out, x: np.copyto(np.asarray(out), np.asarray(x) * 2), struct(), vmap_method="sequential")
  same(jax.vmap(batched)(x), np.asarray(x) * 2)
  seen = []
  jax.jit(buffer_callback(lambda context, out, x: seen.append(float(np.asarray(x)[1])), (), has_side_effect=True))(x)
  jax.effects_barrier()
  assert seen == [1.0], seen
  with raises(Exception, "must not return"):
    jax.block_until_ready(jax.jit(buffer_callback(lambda context, out, x: 1, struct((3,))))(x))


def ffi():
  for fn in (handlers_of_its_own, handlers_of_the_host, handlers_for_others):
    yield Step(f"ffi/{fn.__name__}", fn)


def buffers():
  yield Step("buffers/buffers_of_callbacks", buffers_of_callbacks)


GROUPS = [ffi, buffers]
