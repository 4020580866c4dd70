# SPDX-License-Identifier: Apache-2.0
"""cases_foreign.py: functions of others in programs: handlers of jax.ffi, and callbacks that write into buffers.

Each step is a function of a device that asserts what must hold, on JAX's CPU backend too.
"""

import ctypes

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.buffer_callback import Buffer, ExecutionContext, buffer_callback

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


def _attribute(kind, at):
  """What a handler finds under an attribute: numbers as NumPy's, lists of these, or text."""
  types = {1: np.bool_, 2: np.int8, 3: np.int16, 4: np.int32, 5: np.int64, 6: np.uint8, 7: np.uint16, 8: np.uint32,
           9: np.uint64, 10: np.float16, 11: np.float32, 12: np.float64}
  if kind == 4:
    return ctypes.string_at(_POINTER.from_address(at).value, _SIZE.from_address(at + 8).value).decode()
  dtype = np.dtype(types[_INT.from_address(at).value])
  count = _SIZE.from_address(at + 8).value if kind == 1 else 1
  data = _POINTER.from_address(at + (16 if kind == 1 else 8)).value
  found = np.frombuffer(ctypes.string_at(data, count * dtype.itemsize), dtype)
  return found if kind == 1 else found[0]


def _attributes(attributes):
  found = {}
  for i in range(attributes.size):
    name = ctypes.POINTER(_POINTER).from_buffer(_POINTER(attributes.names))[i]
    kind = _INT.from_address(attributes.types + 4 * i).value
    found[_attribute(4, name)] = _attribute(kind, attributes.at[i])
  return found


def attributes_of_all_kinds(device):
  given = {"i": np.int32(-5), "u": np.uint64(2**62 + 5), "b": True, "no": np.bool_(False), "f": np.float32(1.1), "h": np.float16(-0.1),
           "d": np.float64(1e300), "nan": np.float32(np.nan), "inf": np.float64(-np.inf), "text": 'a "b"\n\u00e4 \\ ',
           "list": np.array([1, -2, 3], np.int64), "bytes": np.array([1, 255], np.uint8), "large": np.array([2**64 - 1], np.uint64), "matrix": np.ones((2, 2), np.float32), "halves": np.array([-0.1, 65504], np.float16),
           "reals": np.array([0.5, np.inf, -0.0], np.float32), "none": np.array([], np.int32), "wide": np.array([1e-310, 2.5])}
  if device.platform != "cpu": given["flags"] = np.array([True, False, True])  # lists of bits, which JAX's CPU backend refuses
  found = {}
  jax.ffi.register_ffi_target("tests.attributes", _handler(lambda frame: found.update(_attributes(frame.attributes))), platform=device.platform)
  call = jax.ffi.ffi_call("tests.attributes", struct((4,), np.float32), has_side_effect=True)
  jax.block_until_ready(jax.jit(lambda x: call(x, **given))(jnp.ones(4, np.float32)))
  assert sorted(found) == sorted(given), (sorted(found), sorted(given))
  for name, want in given.items():
    if isinstance(want, str):
      assert found[name] == want, (name, found[name])
    else:
      want = np.asarray(want).ravel() if name == "matrix" else np.asarray(want)
      assert found[name].dtype == want.dtype, (name, found[name].dtype)
      assert found[name].tobytes() == want.tobytes(), (name, found[name])


def functions_without_types(device):
  """The older forms: pointers alone; and with a text and a status."""
  floats = ctypes.POINTER(ctypes.c_float)

  @ctypes.CFUNCTYPE(None, floats, ctypes.POINTER(floats))
  def add(out, arguments):
    for i in range(4): out[i] = arguments[0][i] + arguments[1][i]

  @ctypes.CFUNCTYPE(None, ctypes.POINTER(floats), ctypes.POINTER(floats), _POINTER, _SIZE, _POINTER)
  def two(out, arguments, text, size, status):
    for i in range(4):
      out[0][i], out[1][i] = arguments[0][i] * size, -arguments[0][i]

  for name, fn in (("tests.old_add", add), ("tests.old_two", two)):
    _KEPT.append(fn)
    jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(ctypes.cast(fn, _POINTER)), platform=device.platform, api_version=0)
  x, like = jnp.arange(4, dtype=np.float32), struct((4,), np.float32)
  same(jax.jit(lambda x: jax.ffi.ffi_call("tests.old_add", like, custom_call_api_version=1)(x, x + 1))(x), np.arange(4, dtype=np.float32) * 2 + 1)
  both = jax.jit(lambda x: jax.ffi.ffi_call("tests.old_two", (like, like), custom_call_api_version=3, legacy_backend_config="seven..")(x))(x)
  same(both[0], np.arange(4, dtype=np.float32) * 7)
  same(both[1], -np.arange(4, dtype=np.float32))


def buffers_of_callbacks(device):
  def add(context, out, x, *, y):
    assert isinstance(context, ExecutionContext) and isinstance(x, Buffer) and isinstance(out["sum"], Buffer)
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
  failures = []

  def ask(context, out, x):
    try:
      context.stream
    except jax.errors.JaxRuntimeError as error:
      failures.append(str(error))
    np.asarray(out)[...] = 5
    # An argument that is aliased is the result.
    assert np.asarray(x)[0] == 5

  out = jax.jit(buffer_callback(ask, struct((3,)), input_output_aliases={0: 0}))(x)
  same(out, np.full(3, 5, real()))
  assert len(failures) == 1 and "UNIMPLEMENTED: XLA FFI GPU context is not available" in failures[0], failures


def ffi():
  for fn in (handlers_of_its_own, handlers_of_the_host, handlers_for_others, attributes_of_all_kinds, functions_without_types):
    yield Step(f"ffi/{fn.__name__}", fn)


def buffers():
  yield Step("buffers/buffers_of_callbacks", buffers_of_callbacks)


GROUPS = [ffi, buffers]
