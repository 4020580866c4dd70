# SPDX-License-Identifier: Apache-2.0
"""cases_api.py: JAX as its users meet it: arrays and their lives, memory, layouts, callbacks, errors, compiled programs.

Each step is a function of a device that asserts what must hold; nothing is compared with another platform. What the
steps ask is what JAX itself promises: they pass on its CPU backend too.
"""

import collections
import contextlib
import copy
import functools
import os
import pickle
import re
import subprocess
import sys
import tempfile
import threading
import time
import warnings

import jax
import jax.experimental
import jax.numpy as jnp
import jax.profiler
import numpy as np
from jax import export, lax
from jax._src import dispatch
from jax.experimental import checkify, pallas, topologies
from jax.experimental.layout import Format, Layout, with_layout_constraint
from jax.experimental.serialize_executable import deserialize_and_load, serialize
from jax.sharding import SingleDeviceSharding

from check import Step

_STEPS = collections.defaultdict(list)


def step(group):
  """Adds a function to a group of steps."""

  def add(fn):
    _STEPS[group].append(Step(f"{group}/{fn.__name__}", fn))
    return fn

  return add


@contextlib.contextmanager
def raises(kind, pattern=""):
  """What is inside must fail, with a message in which the pattern is found."""
  try:
    yield
  except kind as e:
    assert re.search(pattern, str(e)), f"the message is {str(e)[:300]!r}, expected {pattern!r}"
    return
  raise AssertionError(f"no {kind.__name__}")


@contextlib.contextmanager
def warns(pattern):
  with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    yield
  assert any(re.search(pattern, str(w.message)) for w in seen), [str(w.message) for w in seen]


def same(actual, expected):
  np.testing.assert_array_equal(np.asarray(actual), np.asarray(expected))


def real():
  """The type of numbers without one."""
  return jnp.zeros(()).dtype


def struct(shape=(), dtype=None, **more):
  return jax.ShapeDtypeStruct(shape, dtype or real(), **more)


# ---- Devices ----


@step("device")
def tells_of_itself(device):
  assert device.device_kind and device.platform == device.client.platform
  assert str(device) and "id=0" in repr(device)
  assert device.process_index == 0 and device.local_hardware_id == 0
  assert device.client.platform_version
  assert device in jax.local_devices(backend=device.platform)


@step("device")
def names_its_memories(device):
  memory = device.default_memory()
  assert memory.kind == "device" and device.memory("device") == memory
  assert memory in device.addressable_memories() and device in memory.addressable_by_devices()
  with raises(Exception, "(?i)memory"):
    device.memory("no such memory")


@step("device")
def counts_what_is_in_use(device):
  before = device.memory_stats()
  if before is None: return  # JAX's CPU backend does not count
  x = jax.device_put(np.ones((256, 1024), np.float32), device) + 1  # the host's own memory does not count
  x.block_until_ready()
  after = device.memory_stats()
  assert after["bytes_in_use"] - before["bytes_in_use"] >= x.nbytes, (before, after)
  assert after["peak_bytes_in_use"] >= after["bytes_in_use"] and after["bytes_limit"] > 0
  assert 0 < after["bytes_reservable_limit"] <= after["bytes_limit"], after
  del x
  assert device.memory_stats()["bytes_in_use"] <= before["bytes_in_use"]


@step("device")
def lists_live_arrays(device):
  x = jnp.arange(5) + 1
  assert any(x is y for y in jax.live_arrays())
  x.delete()
  assert not any(x is y for y in jax.live_arrays())


@step("device")
def is_the_default_by_name(device):
  with jax.default_device(device.platform):
    assert jnp.ones(2).devices() == {jax.devices(device.platform)[0]}
  with raises(ValueError, "platform name"), jax.default_device("no such platform"):
    pass


@step("device")
def moves_to_cpu_and_back(device):
  x = jnp.arange(12.).reshape(3, 4)
  there = jax.device_put(x, jax.devices("cpu")[0])
  assert there.devices() == {jax.devices("cpu")[0]}
  back = jax.device_put(there + 1, device)
  assert back.devices() == {device}
  same(back, np.asarray(x) + 1)
  with jax.default_device(jax.devices("cpu")[0]):
    assert (jnp.ones(3) * 2).devices() == {jax.devices("cpu")[0]}
  with raises(ValueError, "incompatible devices"):
    if jax.devices("cpu")[0] == device: raise ValueError("incompatible devices")
    jax.jit(lambda a, b: a + b)(there, jax.device_put(x, device))


# ---- Arrays ----


@step("array")
def comes_from_any_view(device):
  x = np.arange(48, dtype=np.float32).reshape(6, 8)
  for view in (x.T, x[::2, 1::3], x[::-1, ::-1], np.broadcast_to(x[0], (5, 8)), np.asfortranarray(x), x[0, 0], x[:0], x[None, :, :1]):
    same(jax.device_put(view), view)
    same(jnp.asarray(view) + 1, view + 1)


@step("array")
def does_not_see_later_changes(device):
  for size in (3, 100000):
    x = np.ones(size, np.float32)
    if device.platform == "cpu" and size > 3: continue  # which reads large ones where they lie
    y = jnp.array(x)
    if size > 3: y.block_until_ready()  # JAX copies large ones by a program, which may be queued still
    x[:] = 2
    same(y, np.ones(size))


@step("array")
def has_ones_for_whatever_bytes_are_true(device):
  if device.platform == "cpu": return  # where they stay what they are
  x = np.array([[0, 1, 120], [255, 0, 2]], np.uint8).view(bool)
  for given in (x, x.T, np.tile(x, (1000, 100)), x[0, 2]):
    same(np.asarray(jax.device_put(given)).view(np.int8), given.astype(np.int8))
    same(jnp.asarray(given).view(np.int8), given.astype(np.int8))


@step("array")
def is_a_read_only_numpy_array(device):
  for size in (3, 100000):
    view = np.asarray(jnp.arange(size, dtype=np.int32))
    assert not view.flags.writeable
    with raises(ValueError, "read-only"):
      view[0] = 1
    same(view, np.arange(size))
    copied = np.array(jnp.arange(size, dtype=np.int32), copy=True)
    copied[0] = 7
    assert np.asarray(jnp.arange(3), dtype=np.float64).dtype == np.float64


@step("array")
def outlives_its_deletion_as_a_view(device):
  x = jnp.arange(100000, dtype=np.float32) + 1
  view = np.asarray(x)
  x.delete()
  y = [jnp.zeros(100000) for _ in range(4)]
  jax.block_until_ready(y)
  same(view, np.arange(100000) + 1)


@step("array")
def says_when_it_was_deleted(device):
  x = jnp.arange(4.)
  x.delete()
  assert x.is_deleted()
  x.delete()
  for use in (lambda: x + 1, lambda: np.asarray(x), x.block_until_ready, lambda: jax.device_put(x, device).block_until_ready(), lambda: jax.jit(lambda a: a)(x)):
    with raises((RuntimeError, ValueError), "deleted"):
      use()


@step("array")
def is_ready_when_waited_for(device):
  x = jnp.ones((64, 64)) @ jnp.ones((64, 64))
  assert jax.block_until_ready({"a": x, "b": [x, 3]})["a"].is_ready()


@step("array")
def becomes_a_number(device):
  assert float(jnp.float32(3)) == 3 and int(jnp.int32(3)) == 3 and bool(jnp.bool_(1)) and complex(jnp.complex64(1j)) == 1j
  assert list(range(jnp.int32(3))) == [0, 1, 2] and [10, 20][jnp.int32(1)] == 20
  assert f"{jnp.float32(1.5):.2f}" == "1.50" and jnp.arange(3).tolist() == [0, 1, 2] and jnp.float32(2).item() == 2
  with raises(TypeError, "unhashable"):
    hash(jnp.arange(3))
  with raises(TypeError):
    float(jnp.arange(3))


@step("array")
def pickles_and_copies(device):
  for dtype in (np.float32, np.bool_, jnp.bfloat16, jnp.int4, np.complex64):
    x = jnp.asarray(np.arange(6).reshape(2, 3) % 2, dtype)
    for y in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x), copy.copy(x), x.copy()):
      assert y.dtype == x.dtype
      same(y, x)
    assert x.copy().unsafe_buffer_pointer() != x.unsafe_buffer_pointer()
  sharding = x.sharding
  assert jax.device_put(np.ones(3), sharding).sharding == sharding


@step("array")
def has_an_address_of_its_own(device):
  x, y = jnp.ones(3), jnp.ones(3)
  assert x.unsafe_buffer_pointer() == x.unsafe_buffer_pointer() != y.unsafe_buffer_pointer()
  z = jax.jit(lambda a: a)(x)
  assert z.unsafe_buffer_pointer() != 0
  x.delete()
  same(z, np.ones(3))


@step("array")
def is_made_from_pieces(device):
  x = np.arange(12.).reshape(3, 4).astype(np.float32)
  sharding = SingleDeviceSharding(device)
  same(jax.make_array_from_callback((3, 4), sharding, lambda i: x[i]), x)
  same(jax.make_array_from_single_device_arrays((3, 4), sharding, [jax.device_put(x, device)]), x)
  with raises(ValueError):
    jax.make_array_from_single_device_arrays((4, 3), sharding, [jax.device_put(x, device)])
  shard, = jax.device_put(x, device).addressable_shards
  assert shard.device == device and shard.data.shape == (3, 4)


@step("array")
def goes_out_by_dlpack(device):
  for dtype in (np.int8, np.uint16, np.int32, np.float16, np.float32, np.complex64, np.bool_):
    for shape in ((), (0,), (2, 3), (300, 200)):
      x = np.ones(shape, dtype)
      same(np.from_dlpack(jnp.asarray(x)), x)
  x = jnp.arange(6.).reshape(2, 3)
  y = jax.dlpack.from_dlpack(x)
  same(y, x)
  assert y.devices() == x.devices() and y.committed, y.devices()
  assert jax.dlpack.from_dlpack(jnp.ones(3, jnp.bfloat16)).dtype == jnp.bfloat16
  assert x.__dlpack_device__()[0] == 1
  large = jax.jit(lambda: jnp.arange(100000, dtype=np.float32) + 1)()
  if not np.asarray(large).flags.owndata:
    same(np.from_dlpack(large), np.arange(100000, dtype=np.float32) + 1)
    assert np.from_dlpack(large).ctypes.data == np.asarray(large).ctypes.data
    assert np.from_dlpack(large, copy=False).ctypes.data == np.asarray(large).ctypes.data
    assert np.from_dlpack(large, copy=True).ctypes.data != np.asarray(large).ctypes.data


@step("array")
def comes_in_by_dlpack(device):
  x = np.arange(6, dtype=np.float32).reshape(2, 3)
  y = jax.dlpack.from_dlpack(x, device=device)
  assert y.devices() == {device}
  same(y + 1, x + 1)
  same(jnp.from_dlpack(x), x)
  with raises(TypeError, "__dlpack__"):
    jax.dlpack.from_dlpack([1, 2])


@step("array")
def has_no_interface_of_other_devices(device):
  assert not hasattr(jnp.ones(3), "__cuda_array_interface__")


# ---- Transfers that are guarded ----


@step("guard")
def refuses_transfers(device):
  with jax.transfer_guard("disallow"):
    with raises(Exception, "Disallowed host-to-device"):
      jnp.sin(np.ones(3))
    x = jax.device_put(np.ones(3))
    jax.device_get(x)
  with jax.transfer_guard_host_to_device("disallow_explicit"):
    with raises(Exception, "Disallowed host-to-device"):
      jax.device_put(np.ones(3))
  if device.platform != "cpu":
    with jax.transfer_guard_device_to_host("disallow"):
      x = jnp.ones(3) + 1
      with raises(Exception, "Disallowed device-to-host"):
        np.asarray(x)
  same(jnp.ones(3) + np.ones(3), np.full(3, 2))


# ---- Donation ----


@step("donation")
def takes_arguments(device):
  x = jnp.arange(4.)
  y = jax.jit(lambda a: a + 1, donate_argnums=0)(x)
  assert x.is_deleted()
  same(y, [1, 2, 3, 4])
  tree = {"a": jnp.ones(3), "b": jnp.ones((2, 2))}
  jax.jit(lambda t: {k: v * 2 for k, v in t.items()}, donate_argnums=0)(tree)
  assert tree["a"].is_deleted() and tree["b"].is_deleted()
  x, y = jnp.ones(4), jnp.ones(4)
  jax.jit(lambda a, b: a + b, donate_argnames="b")(x, b=y)
  assert y.is_deleted() and not x.is_deleted()


@step("donation")
def reuses_memory(device):
  x = jnp.ones((512, 512))
  jax.block_until_ready(x)
  place = x.unsafe_buffer_pointer()
  y = jax.jit(lambda a: a + 1, donate_argnums=0)(x)
  same(y, np.full((512, 512), 2))
  del place  # that it is the same place is no promise


@step("donation")
def warns_of_what_no_result_takes(device):
  x = jnp.arange(4.)
  with warns("Some donated buffers were not usable"):
    jax.jit(lambda a: a.sum(), donate_argnums=0)(x)
  assert not x.is_deleted() and float(x[3]) == 3


@step("donation")
def refuses_twice_the_same(device):
  x = jnp.arange(4.)
  with raises(Exception, "Attempt to use a buffer that was previously donated in the same call to Execute.*f.donate.a., a."):
    jax.jit(lambda a, b: a + b, donate_argnums=0)(x, x)
  x = jnp.arange(4.)
  with raises(Exception, "Attempt to donate a buffer which is also used by the same call to Execute.*f.a, donate.a.."):
    jax.jit(lambda a, b: a + b, donate_argnums=1)(x, x)
  x = jnp.arange(4.)
  with raises(Exception, "Attempt to donate the same buffer twice in Execute.*f.donate.a., donate.a.."):
    jax.jit(lambda a, b: (a + 1, b + 1), donate_argnums=(0, 1))(x, x)


@step("donation")
def refuses_what_is_gone(device):
  f = jax.jit(lambda a: a + 1, donate_argnums=0)
  x = jnp.arange(4.)
  f(x)
  with raises(Exception, "Buffer has been deleted or donated"):
    f(x)
  with raises(RuntimeError, "Array has been deleted"):
    np.asarray(x)
  same(f(jnp.arange(4.)), [1, 2, 3, 4])


@step("donation")
def leaves_views_alone(device):
  x = jnp.arange(100000.)
  view = np.asarray(x)
  jax.jit(lambda a: a * 0, donate_argnums=0)(x).block_until_ready()
  same(view, np.arange(100000.))


# ---- Memory ----


@step("memory")
def has_kinds(device):
  x = np.arange(16, dtype=np.float32)
  for kind in [m.kind for m in device.addressable_memories()]:
    y = jax.device_put(x, SingleDeviceSharding(device, memory_kind=kind))
    assert y.sharding.memory_kind == kind
    same(y, x)
    same(jax.device_put(y, SingleDeviceSharding(device, memory_kind="device")), x)
  with raises(ValueError, "Could not find memory|memory kind"):
    jax.device_put(x, SingleDeviceSharding(device, memory_kind="gpu_hbm"))


@step("memory")
def changes_within_programs(device):
  if "pinned_host" not in [m.kind for m in device.addressable_memories()]: return
  host, near = SingleDeviceSharding(device, memory_kind="pinned_host"), SingleDeviceSharding(device, memory_kind="device")
  y = jax.jit(lambda x: jax.device_put(x * 2, host))(jnp.ones(4))
  assert y.sharding.memory_kind == "pinned_host"
  z = jax.jit(lambda x: jax.device_put(x, near) * 3)(y)
  assert z.sharding.memory_kind == "device"
  same(z, np.full(4, 6))
  assert jax.jit(lambda x: x * 2, out_shardings=host)(jnp.ones(4)).sharding.memory_kind == "pinned_host"
  assert jax.jit(lambda x: jax.device_put(x, jax.memory.Space.Host))(jnp.ones(4)).sharding.memory_kind == "pinned_host"


@step("memory")
def runs_out_and_goes_on(device):
  if device.memory_stats() is None: return
  n = device.memory_stats()["bytes_limit"]
  with raises(Exception, "RESOURCE_EXHAUSTED"):
    jax.block_until_ready(jax.jit(lambda: jnp.ones((n,), jnp.float32) * 2)())
  with raises(Exception, "RESOURCE_EXHAUSTED"):
    jax.block_until_ready(jnp.zeros((n // 2,), jnp.float32))
  same(jnp.ones(3) + 1, np.full(3, 2))


# ---- Layouts ----


@step("layout")
def of_an_array(device):
  x = np.arange(24, dtype=real()).reshape(2, 3, 4)
  for order in ((0, 1, 2), (2, 1, 0), (1, 0, 2), (0, 2, 1)):
    wanted = Format(Layout(order), SingleDeviceSharding(device))
    y = jax.device_put(x, wanted)
    if device.platform != "cpu": assert y.format.layout.major_to_minor == order, y.format
    same(y, x)
    same(y + 1, x + 1)
    same(jax.device_put(jnp.asarray(x), wanted), x)


@step("layout")
def of_arguments_and_results(device):
  x = np.arange(12, dtype=real()).reshape(3, 4)
  turned = Format(Layout((1, 0)), SingleDeviceSharding(device))
  z = jax.jit(lambda a: a * 2, out_shardings=turned)(x)
  assert z.format.layout.major_to_minor == (1, 0)
  same(z, x * 2)
  compiled = jax.jit(lambda a: a * 3, in_shardings=turned).lower(struct((3, 4))).compile()
  assert compiled.input_formats[0][0].layout.major_to_minor == (1, 0)
  same(compiled(z), x * 6)
  with raises(ValueError, "input layout"):
    compiled(jax.device_put(x, device))
  for order in ((0, 1), (1, 0)):
    z = jax.jit(lambda a: with_layout_constraint(a.T, Layout(order)))(x)
    assert z.format.layout.major_to_minor == order
    same(z, x.T)


@step("layout")
def of_elements_of_less_than_a_byte(device):
  for dtype, bits in ((jnp.int4, 4), (jnp.uint2, 2), (np.int8, 0), (np.bool_, 0)):
    x = jnp.ones((3, 4), np.int8).astype(dtype)
    compiled = jax.jit(lambda a: a.T).lower(x).compile()
    for formats in (compiled.input_formats[0][0], compiled.output_formats):
      assert formats.layout.sub_byte_element_size_in_bits == bits, formats
    y = compiled(x)
    assert y.format.layout.sub_byte_element_size_in_bits == 0, y.format
    same(y.astype(np.int8), np.ones((4, 3), np.int8))


@step("layout")
def that_the_compiler_chooses(device):
  automatic = Format(Layout.AUTO)
  compiled = jax.jit(lambda a: a.T, in_shardings=automatic, out_shardings=automatic).lower(struct((3, 4))).compile()
  order = compiled.input_formats[0][0].layout.major_to_minor
  assert compiled.output_formats.layout.major_to_minor == order[::-1], "a transpose need not move anything"
  x = np.arange(12, dtype=real()).reshape(3, 4)
  same(compiled(jax.device_put(x, compiled.input_formats[0][0])), x.T)
  compiled = jax.jit(lambda a, b: (jnp.sin(a.transpose(2, 0, 1)) + 1, a @ b), out_shardings=automatic).lower(struct((2, 3, 4)), struct((4, 5))).compile()
  a, b = np.ones((2, 3, 4), real()), np.ones((4, 5), real())
  c, d = compiled(a, b)
  np.testing.assert_allclose(c, np.sin(a.transpose(2, 0, 1)) + 1, rtol=1e-5)
  np.testing.assert_allclose(d, a @ b, rtol=1e-5)
  with raises(ValueError, "AUTO"):
    jax.device_put(x, Format(Layout.AUTO, SingleDeviceSharding(device)))


# ---- Programs that are compiled ahead ----


@step("compiled")
def says_what_it_is(device):
  lowered = jax.jit(jnp.dot).lower(jnp.ones((4, 5)), jnp.ones((5, 6)))
  compiled = lowered.compile()
  with raises(Exception, "got buffer with incompatible size"):
    compiled.runtime_executable().execute_sharded([jnp.ones((4, 4)), jnp.ones((5, 6))])
  for n in (8, 64, 256):  # small ones share a kernel with what is around them
    assert jax.jit(lambda a: jnp.tanh(a @ a.T) @ a).lower(jnp.ones((n, n))).compile().cost_analysis()["flops"] >= 4 * n**3
  assert lowered.cost_analysis()["flops"] == 240
  assert compiled.cost_analysis()["flops"] == 240 and compiled.cost_analysis()["bytes accessed"] >= 74 * real().itemsize
  memory = compiled.memory_analysis()
  assert memory.argument_size_in_bytes == 50 * real().itemsize and memory.output_size_in_bytes == 24 * real().itemsize and memory.alias_size_in_bytes == 0
  assert "HloModule" in compiled.as_text() and "dot_general" in lowered.as_text()
  assert "HloModule" in lowered.as_text("hlo")
  assert compiled.runtime_executable() is not None
  assert compiled.input_shardings[0][0].device_set == {device} and compiled.output_shardings.device_set == {device}
  assert compiled.in_tree.num_leaves == 2
  same(compiled(np.ones((4, 5), real()), np.ones((5, 6), real())), np.full((4, 6), 5))
  with raises(TypeError):
    compiled(np.ones((4, 5), real()))
  with raises(TypeError):
    compiled(np.ones((4, 6), real()), np.ones((5, 6), real()))


@step("compiled")
def counts_what_is_donated(device):
  memory = jax.jit(lambda a: a + 1, donate_argnums=0).lower(struct((256,))).compile().memory_analysis()
  assert memory.alias_size_in_bytes == 256 * real().itemsize


@step("compiled")
def is_written_and_read(device):
  for fn, args in ((lambda x: x * 2 + 1, (jnp.ones(4),)), (lambda t: {"s": t["a"].sum()}, ({"a": jnp.ones((2, 3))},))):
    compiled = jax.jit(fn).lower(*args).compile()
    again = deserialize_and_load(*serialize(compiled), backend=device.platform, execution_devices=[device])
    jax.tree_util.tree_map(same, again(*args), compiled(*args))
    assert again.as_text() == compiled.as_text()
  ref = jax.new_ref(jnp.zeros(()))
  with raises(ValueError, "serialize with a closed-over"):
    serialize(jax.jit(lambda x: ref.__setitem__((), x)).lower(1.).compile())


@step("compiled")
def takes_options(device):
  lowered = jax.jit(lambda x: x + 1).lower(jnp.ones(3))
  same(lowered.compile(compiler_options={"xla_embed_ir_in_executable": True, "xla_dump_max_hlo_modules": 200})(jnp.ones(3)), np.full(3, 2))
  with raises(Exception, "No such compile option: 'no_such_option'"):
    lowered.compile(compiler_options={"no_such_option": "1"})
  with raises(Exception, "is not a valid bool value"):
    lowered.compile(compiler_options={"xla_embed_ir_in_executable": "perhaps"})
  if device.platform == "cpu": return
  same(jax.jit(lambda x: x + 1, compiler_options={"halo_no_fusion": True})(jnp.ones(3)), np.full(3, 2))
  differences = jax.jit(lambda x: lax.reduce(x, np.float32(0), lambda a, b: a - b, (0,)), compiler_options={"halo_strict_order": True})
  same(differences(jnp.ones(100, jnp.float32)), np.float32(-100))


@step("compiled")
def for_a_topology(device):
  assert topologies.get_attached_topology(device.platform).devices[0] == device
  if device.platform == "cpu": return
  topology = topologies.get_topology_desc(platform=device.platform)
  there = topology.devices[0]
  assert there.device_kind == device.device_kind and there.platform == device.platform
  mesh = topologies.make_mesh(topology, (len(topology.devices),), ("x",))
  spread = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))
  lowered = jax.jit(lambda x: x * x).lower(struct((16, 16), sharding=spread))
  loaded = deserialize_and_load(*serialize(lowered.compile()), backend=device.platform)
  x = np.arange(256, dtype=real()).reshape(16, 16)
  here = jax.sharding.NamedSharding(jax.sharding.Mesh(np.array(jax.devices(device.platform)), ("x",)), spread.spec)
  same(loaded(jax.device_put(x, here)), x * x)
  with raises(Exception, "no_such_device"):
    topologies.get_topology_desc("no_such_device", platform=device.platform)


@step("compiled")
def refuses_arguments_of_another_size(device):
  with jax.enable_x64(True):
    wide = np.arange(8) + 42
    lowered = jax.jit(lambda x: lax.convert_element_type(wide, np.float32) + x).lower(np.ones(8, np.float32))
  x = np.arange(8, dtype=np.float32)
  compiled = lowered.compile()
  if jax.config.jax_enable_x64 or not compiled._params.const_args:
    same(compiled(x), wide + x)
    return
  with raises(Exception, "got buffer with incompatible size"):
    compiled(x)


@step("compiled")
def is_kept_between_processes(device):
  """A second process takes what the first one compiled from JAX's cache on the disk."""
  code = """
import jax, sys
hits = []
jax.monitoring.register_event_listener(lambda event, **_: hits.append(event))
jax.config.update("jax_compilation_cache_dir", sys.argv[1])
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
print(float(jax.jit(lambda x: x * 3 + 1)(2.)), sum("cache_hits" in e for e in hits))
"""
  with tempfile.TemporaryDirectory() as place:
    env = dict(os.environ, JAX_PLATFORMS=device.platform)
    outputs = [subprocess.run([sys.executable, "-c", code, place], env=env, capture_output=True, text=True, check=True).stdout.split() for _ in range(2)]
    assert os.listdir(place)
  assert outputs[0] == ["7.0", "0"] and outputs[1][0] == "7.0" and int(outputs[1][1]) > 0, outputs


@step("compiled")
def is_exported(device):
  args = struct((3,)),
  for platforms in ([device.platform], ["cuda", "tpu", "cpu", device.platform]):
    exported = export.deserialize(export.export(jax.jit(lambda x: jnp.sin(x) + 1), platforms=list(dict.fromkeys(platforms)))(*args).serialize())
    np.testing.assert_allclose(exported.call(jnp.ones(3)), np.sin(np.ones(3)) + 1, rtol=1e-6)
  other = export.export(jax.jit(jnp.sin), platforms=["tpu"])(*args)
  with raises(ValueError, "was exported for platforms"):
    other.call(jnp.ones(3))


@step("compiled")
def is_exported_with_derivatives(device):
  exported = export.export(jax.jit(lambda x: (x**3).sum()), platforms=[device.platform])(struct((3,)))
  read = export.deserialize(exported.serialize(vjp_order=2))
  np.testing.assert_allclose(jax.grad(read.call)(jnp.arange(3.)), 3 * np.arange(3.)**2, rtol=1e-6)
  np.testing.assert_allclose(jax.grad(lambda x: jax.grad(read.call)(x).sum())(jnp.arange(3.)), 6 * np.arange(3.), rtol=1e-6)


@step("compiled")
def is_exported_for_any_size(device):
  a, b = export.symbolic_shape("a, b")
  shaped = export.export(jax.jit(lambda x: (x.reshape(-1), x.sum(0), x.shape[0] + jnp.zeros(x.shape[1]))), platforms=[device.platform])(struct((a, b)))
  for shape in ((2, 3), (5, 1)):
    x = np.ones(shape, real())
    flat, total, count = shaped.call(x)
    assert flat.shape == (x.size,)
    same(total, x.sum(0))
    same(count, np.full(shape[1], shape[0]))
  n, = export.symbolic_shape("n", constraints=["n >= 4"])
  held = export.export(jax.jit(lambda x: x + 1), platforms=[device.platform])(struct((n,)))
  with raises(ValueError, "n >= 4|greater than or equal|Expected"):
    held.call(jnp.ones(2))


@step("compiled")
def is_exported_with_effects(device):
  seen = []
  exported = export.export(jax.jit(lambda x: x + 1, keep_unused=True), platforms=[device.platform])(struct(()))
  assert not exported.ordered_effects
  with raises(NotImplementedError, "effects|callback"):
    export.export(jax.jit(lambda x: (jax.debug.callback(seen.append, x), x)[1]), platforms=[device.platform])(struct(())).serialize()


# ---- Callbacks ----


@step("callback")
def pure(device):
  f = jax.jit(lambda x: jax.pure_callback(np.sin, struct(x.shape, x.dtype), x))
  np.testing.assert_allclose(f(jnp.ones(3)), np.sin(np.ones(3)), rtol=1e-6)
  for method in ("sequential", "expand_dims", "broadcast_all"):
    g = jax.vmap(lambda x, m=method: jax.pure_callback(lambda a: np.asarray(np.sin(a), real()), struct(), x, vmap_method=m))
    np.testing.assert_allclose(g(jnp.arange(3.)), np.sin(np.arange(3.)), rtol=1e-6)
  with raises(ValueError, "JVP"):
    jax.grad(lambda x: jax.pure_callback(np.sin, struct(), x))(1.)


@step("callback")
def of_every_type(device):
  kinds = (jnp.bfloat16, jnp.int4, np.bool_, np.int8, np.uint16, np.int32, np.complex64, jnp.float8_e4m3fn, np.float16)
  for dtype in kinds:
    x = jnp.asarray(np.arange(6).reshape(3, 2) % 2, dtype)
    y = jax.jit(lambda a: jax.pure_callback(np.asarray, struct(a.shape, a.dtype), a))(x)
    assert y.dtype == x.dtype
    same(y, x)


@step("callback")
def of_any_number_of_arrays(device):
  assert float(jax.jit(lambda: jax.pure_callback(lambda: np.asarray(3, real()), struct()))()) == 3
  empty = struct((0, 3))
  for y in jax.jit(lambda x: jax.pure_callback(lambda a: (a, a), (empty, empty), x))(jnp.ones((0, 3))):
    assert y.shape == (0, 3)
  a, b = jax.pure_callback(lambda *a: a, (struct((2,)), struct((0,), np.int32)), jnp.ones(2), jnp.ones(0, np.int32))
  same(a, np.ones(2))
  assert b.shape == (0,)
  many = [jnp.full(i + 1, i, real()) for i in range(8)]
  for x, y in zip(many, jax.jit(lambda *a: jax.pure_callback(lambda *b: [c + 1 for c in b], [struct(c.shape) for c in a], *a))(*many)):
    same(y, x + 1)


@step("callback")
def of_many_at_once(device):
  f = lambda k, x: jax.pure_callback(lambda a: np.asarray(a + k, real()), struct((100, 100)), x)
  same(jax.jit(lambda x: sum(f(k, x) for k in range(8)))(jnp.ones((100, 100))), np.full((100, 100), 36))


@step("callback")
def that_calls_jax(device):
  inner = jax.jit(lambda a: a * 2)
  same(jax.jit(lambda x: jax.pure_callback(lambda a: np.asarray(inner(a)), struct((3,)), x))(jnp.ones(3)), np.full(3, 2))


@step("callback")
def that_raises(device):

  def bad(x):
    raise ValueError("no number of mine")

  shape = struct((3,))
  with raises(Exception, "no number of mine"):
    jax.block_until_ready(jax.jit(lambda x: jax.pure_callback(bad, shape, x))(jnp.ones(3)))
  with raises(Exception, "no number of mine"):
    jax.block_until_ready(jax.jit(lambda x: lax.scan(lambda c, _: (jax.pure_callback(bad, shape, c), 0), x, None, 3))(jnp.ones(3)))
  with raises(Exception, "no number of mine"):
    jax.jit(lambda x: jax.experimental.io_callback(bad, None, x, ordered=True))(jnp.ones(3))
    jax.effects_barrier()
  # What failed in order is what all that comes behind it in order waits for.
  dispatch.runtime_tokens.clear()
  same(jnp.ones(3) + 1, np.full(3, 2))


@step("callback")
def that_gives_the_wrong_thing(device):
  for wrong in (lambda a: np.ones(7, real()), lambda a: None, lambda a: (a, a)):
    with raises(Exception):
      jax.block_until_ready(jax.jit(lambda x: jax.pure_callback(wrong, struct((3,)), x))(jnp.ones(3)))
  same(jnp.ones(3) + 1, np.full(3, 2))


@step("callback")
def in_order(device):
  seen = []

  def note(x):
    seen.append(int(x))
    return np.int32(x)

  call = lambda x: jax.experimental.io_callback(note, struct((), np.int32), x, ordered=True)
  assert int(jax.jit(lambda x: lax.fori_loop(0, 5, lambda i, c: call(c + i), x))(np.int32(0))) == 10
  assert seen == [0, 1, 3, 6, 10], seen
  seen.clear()
  f = jax.jit(lambda x: (call(x), call(x + 1), call(x + 2))[2])
  for i in range(5): f(np.int32(10 * i))
  jax.effects_barrier()
  assert seen == [10 * i + k for i in range(5) for k in range(3)], seen
  seen.clear()
  jax.jit(lambda x: lax.cond(x > 0, lambda: call(x), lambda: call(-x)))(np.int32(-4))
  jax.jit(lambda x: lax.while_loop(lambda c: c < 3, lambda c: call(c) + 1, x))(np.int32(0))
  jax.jit(lambda x: lax.scan(lambda c, a: (c + call(a), None), x, jnp.arange(7, 9)))(np.int32(0))
  jax.effects_barrier()
  assert seen == [4, 0, 1, 2, 7, 8], seen


@step("callback")
def without_order(device):
  """The barrier waits for every run that was started, also where a later one is over sooner."""
  seen = []

  def slow(x):
    time.sleep(0.1)
    seen.append(int(x))

  f = jax.jit(lambda x: (jax.experimental.io_callback(slow, None, x), x + 1)[1])
  g = jax.jit(lambda x: (jax.experimental.io_callback(lambda x: seen.append(int(x)), None, x), x + 1)[1])
  for _ in range(4):
    seen.clear()
    f(1), g(2)
    jax.effects_barrier()
    assert sorted(seen) == [1, 2], seen


@step("callback")
def at_the_end_of_the_process(device):
  text = run_alone(device, """
import time
def slow(x): time.sleep(1); print("slow", int(x), flush=True)
def quick(x): print("quick", int(x), flush=True)
jax.jit(lambda x: (jax.experimental.io_callback(slow, None, x), x + 1)[1])(1)
jax.jit(lambda x: (jax.experimental.io_callback(quick, None, x), x + 1)[1])(2)
""")
  assert sorted(text.splitlines()) == ["quick 2", "slow 1"], text


@step("callback")
def for_debugging(device):
  seen = []
  note = lambda x: seen.append(int(x))
  jax.jit(lambda x: (lax.cond(x > 0, lambda: jax.debug.callback(note, x), lambda: None), x)[1])(1)
  jax.effects_barrier()
  jax.vmap(lambda x: jax.debug.callback(note, x))(jnp.arange(4))
  jax.effects_barrier()
  assert seen == [1, 0, 1, 2, 3], seen
  seen.clear()
  jax.grad(lambda x: (jax.debug.callback(note, x), x * x)[1])(3.)
  jax.jit(jax.checkpoint(lambda x: (jax.debug.callback(note, x), jnp.sin(x))[1]))(4.)
  lax.map(lambda x: (jax.debug.callback(note, x), x)[1], jnp.arange(5, 7))
  jax.effects_barrier()
  assert seen == [3, 4, 5, 6], seen


@step("callback")
def that_prints(device):
  text = run_alone(device, """
jax.debug.print("first {x}", x=jnp.arange(3))
jax.effects_barrier()
jax.jit(lambda x: jax.debug.print("second {}", x, ordered=True))(2)
jax.jit(lambda x: jax.debug.print("third {x:.2f} {y}", x=x, y=x + 1))(2.5)
jax.effects_barrier()
jax.lax.fori_loop(0, 2, lambda i, c: (jax.debug.print("i {}", i, ordered=True), c)[1], 0)
jax.effects_barrier()
""")
  assert text.splitlines() == ["first [0 1 2]", "second 2", "third 2.50 3.5", "i 0", "i 1"], text


def run_alone(device, code):
  """The output of a program in a process of its own."""
  platforms = device.platform if device.platform == "cpu" else device.platform + ",cpu"
  done = subprocess.run([sys.executable, "-c", "import jax, jax.numpy as jnp, numpy as np, time\n" + code], env=dict(os.environ, JAX_PLATFORMS=platforms), capture_output=True, text=True, timeout=100)
  assert done.returncode == 0, f"ended with {done.returncode}: {done.stderr[-600:]}"
  return done.stdout


@step("callback")
def that_checks(device):

  def f(x):
    checkify.check(x > 0, "must be more than 0, is {x}", x=x)
    return jnp.log(x)

  error, _ = jax.jit(checkify.checkify(f))(-1.)
  with raises(Exception, "must be more than 0"):
    error.throw()
  error, _ = checkify.checkify(lambda x, i: x[i], errors=checkify.index_checks)(jnp.ones(3), 5)
  with raises(Exception, "out-of-bounds"):
    error.throw()
  error, _ = checkify.checkify(lambda x: x / 0., errors=checkify.float_checks)(jnp.ones(3))
  with raises(Exception, "division by zero|nan"):
    error.throw()
  error, _ = jax.jit(checkify.checkify(lambda x: lax.fori_loop(0, 3, lambda i, c: f(c) * 0 - 1, x)))(1.)
  with raises(Exception, "must be more than 0"):
    error.throw()
  with raises(Exception, "not functionalized"):
    jax.jit(f)(-1.)
  same(jnp.ones(3) + 1, np.full(3, 2))


@step("callback")
def that_checks_while_it_runs(device):
  """Checks that nobody has taken out of the program."""
  flag = "jax_experimental_unsafe_xla_runtime_errors"
  jax.config.update(flag, True)
  try:
    f = jax.jit(lambda x: (checkify.check(x > 0, "must be more than 0, is {x}", x=x), x * 2)[1])
    assert float(f(2.)) == 4
    with raises(Exception, "must be more than 0"):
      f(-1.).block_until_ready()
      jax.effects_barrier()
  finally:
    jax.config.update(flag, False)
    dispatch.runtime_tokens.clear()


@step("callback")
def of_rules_that_come_later(device):
  """JAX gives this function a rule for CPUs when the module is imported, with what users have to lower to callbacks."""
  import jax.experimental.sparse.linalg

  matrix = np.eye(4) * 2 + np.eye(4, k=1)
  sparse = jax.experimental.sparse.BCSR.fromdense(jnp.asarray(matrix))
  solve = lambda data: jax.experimental.sparse.linalg.spsolve(data, sparse.indices, sparse.indptr, jnp.ones(4))
  np.testing.assert_allclose(jax.jit(solve)(sparse.data), np.linalg.solve(matrix, np.ones(4)), rtol=1e-5)


@step("callback")
def of_halves(device):
  """Decompositions of types that LAPACK does not have, which JAX has no rules for on CPUs."""
  if device.platform == "cpu": return
  x = jnp.asarray(np.random.RandomState(0).randn(2, 5, 5), jnp.bfloat16)
  eigh = functools.partial(lax.linalg.eigh, symmetrize_input=False)
  for fn in (jnp.linalg.svd, eigh, jnp.linalg.eigvals, lax.linalg.lu, lax.linalg.qr, lax.linalg.hessenberg):
    for half, single in zip(jax.tree.leaves(jax.jit(fn)(x)), jax.tree.leaves(jax.jit(fn)(x.astype("float32")))):
      np.testing.assert_allclose(half.astype(single.dtype), single, rtol=2e-2, atol=5e-2)


@step("callback")
def of_no_factors_of_float16(device):
  with raises(Exception, "Unsupported dtype.*float16"):
    jnp.linalg.qr(jnp.ones((5, 6), np.float16))


# ---- Arrays that change ----


@step("ref")
def changes(device):
  ref = jax.new_ref(jnp.zeros(3))
  ref[0] = 5.
  ref[...] += 1
  same(ref[...], [6, 1, 1])

  @jax.jit
  def f(r):
    r[1] = 7.
    return r[0]

  assert float(f(ref)) == 6
  same(jax.freeze(ref), [6, 7, 1])


@step("ref")
def changes_in_loops(device):

  @jax.jit
  def f(x):
    ref = jax.new_ref(x)

    def body(i, _):
      ref[i] = i * 1.

    lax.fori_loop(0, 3, body, None)
    return ref[...]

  same(f(jnp.ones(4)), [0, 1, 2, 1])
  total = jax.new_ref(jnp.zeros(()))

  @jax.jit
  def g(xs):

    def body(c, x):
      total[...] += x
      return c, None

    lax.scan(body, 0, xs)

  g(jnp.arange(5.))
  assert float(total[...]) == 10


# ---- What goes wrong ----


@step("failure")
def is_found(device):
  with jax.debug_nans(True):
    with raises(FloatingPointError, "nan"):
      jnp.log(jnp.float32(-1.))
    with raises(FloatingPointError, "nan"):
      jax.jit(lambda x: jnp.log(x) * 2)(-1.)
    with raises(FloatingPointError, "nan"):
      jax.jit(lambda x: lax.scan(lambda c, _: (jnp.log(c), c), x, None, 3))(-1.)
    with raises(FloatingPointError, "nan"):
      jax.grad(lambda x: jnp.sqrt(x) * 0)(0.)
    jax.jit(lambda x: x * 2)(1.)
  with jax.debug_infs(True):
    with raises(FloatingPointError, "inf"):
      jnp.float32(1) / jnp.zeros(1)


@step("failure")
def of_a_program_does_not_last(device):
  with raises(Exception, "no_such_target"):
    jax.jit(lambda a: jax.ffi.ffi_call("no_such_target", struct((3,)))(a))(jnp.ones(3)).block_until_ready()
  same(jnp.ones(3) + 1, np.full(3, 2))


@step("failure")
def has_jaxs_own_type(device):
  try:
    jax.jit(lambda a: jax.ffi.ffi_call("no_such_target", struct((3,)))(a))(jnp.ones(3)).block_until_ready()
  except jax.errors.JaxRuntimeError as e:
    assert re.match("[A-Z_]+: ", str(e)), str(e)


@step("failure")
def at_the_end_of_a_process(device):
  """Work in flight, callbacks among it, when the process ends."""
  run_alone(device, "x = jnp.ones((400, 400))\nfor _ in range(20): x = x @ x / 400\n")
  run_alone(device, "y = jax.jit(lambda x: jnp.sort(x) + time.time())(jnp.ones(100000))\n")  # which no cache has
  run_alone(device, "y = jax.jit(lambda x: jax.pure_callback(lambda a: (time.sleep(.3), a)[1], jax.ShapeDtypeStruct((3,), np.float32), x))(jnp.ones(3))\n")


# ---- Around it ----


@step("compiled")
def for_platforms(device):
  """Where no branch is for this platform, and there is no default, that of CPUs is taken."""
  f = lambda x: lax.platform_dependent(x, cpu=lambda x: x + 1, cuda=lambda x: x + 2)
  same(jax.jit(f)(1.), 2.)
  same(f(jnp.float32(1)), 2.)
  same(jax.jit(jax.vmap(f))(jnp.arange(3.)), np.arange(1, 4, dtype=real()))
  same(jax.jit(jax.grad(lambda x: lax.platform_dependent(x, cuda=jnp.cos, cpu=jnp.sin)))(0.), 1.)
  g = lambda x: lax.platform_dependent(x, cpu=lambda x: x + 1, cuda=lambda x: x + 2, default=lambda x: x + 3)
  same(jax.jit(g)(1.), 2. if device.platform == "cpu" else 4.)
  with raises(NotImplementedError, "platform"):
    jax.jit(lambda x: lax.platform_dependent(x, cuda=lambda x: x + 2))(1.)


@step("tool")
def libraries_that_ask_for_platforms(device):
  """mjx, in whose place a module stands that chooses as it does; read before the first use of a device, and behind it."""
  with tempfile.TemporaryDirectory() as directory:
    folder = os.path.join(directory, "mujoco", "mjx", "_src")
    os.makedirs(folder)
    for package in ("mujoco", "mujoco/mjx", "mujoco/mjx/_src"):
      open(os.path.join(directory, package, "__init__.py"), "w").close()
    with open(os.path.join(folder, "io.py"), "w") as out:
      out.write("""
class types:
  class Impl: JAX = "jax"
def _resolve_impl(device):
  if device.platform in ("cpu", "gpu"): return types.Impl.JAX
  raise ValueError(f"Unsupported device: {device}")
def put(): import jax; return _resolve_impl(jax.devices()[0])
""")
    for first in ("jax.devices()", ""):
      text = run_alone(device, f"""
import sys
sys.path.insert(0, {directory!r})
{first}
from mujoco.mjx._src import io
jax.devices()
print(io.put())
""")
      assert text.split() == ["jax"], text


@step("tool")
def traces(device):
  with tempfile.TemporaryDirectory() as place:
    with jax.profiler.trace(place):
      with jax.profiler.TraceAnnotation("work"), jax.profiler.StepTraceAnnotation("step", step_num=1):
        (jnp.ones(5) + 1).block_until_ready()
      with raises(RuntimeError, "Profile has already been started"):
        jax.profiler.start_trace(place)
    assert any(name.endswith(".xplane.pb") for _, _, names in os.walk(place) for name in names)
  with raises(RuntimeError, "No profile started"):
    jax.profiler.stop_trace()


@step("tool")
def traces_programs(device):
  """A trace has rows of each device: the programs that ran there, and their kernels."""
  if device.platform == "cpu" or not hasattr(jax.profiler, "ProfileData"): return

  @jax.jit
  def named(x):
    return x * 2 + 1

  named(jnp.ones(5)).block_until_ready()
  with tempfile.TemporaryDirectory() as place:
    with jax.profiler.trace(place):
      for _ in range(3): named(jnp.ones(5)).block_until_ready()
    path, = [os.path.join(folder, name) for folder, _, names in os.walk(place) for name in names if name.endswith(".xplane.pb")]
    plane, = [p for p in jax.profiler.ProfileData.from_file(path).planes if p.name.startswith("/device:CUSTOM:HALO")]
    lines = {line.name: list(line.events) for line in plane.lines}
    events = [e for e in lines["XLA Modules"] if e.name == "jit_named"]
  assert str(device.id) in plane.name and device.device_kind in plane.name, plane.name
  assert len(events) == 3 and all(e.duration_ns > 0 for e in events), [(e.name, e.duration_ns) for e in events]
  for kernel in lines.get("XLA Ops", ()):
    within = any(e.start_ns - 1 <= kernel.start_ns and kernel.end_ns <= e.end_ns + 1 for e in lines["XLA Modules"])
    assert within and not kernel.name.startswith("jit_"), (kernel.name, kernel.start_ns, kernel.end_ns)


@step("tool")
def profiles_memory(device):
  x = jnp.ones((100, 100))
  assert jax.profiler.device_memory_profile()
  with tempfile.TemporaryDirectory() as place:
    jax.profiler.save_device_memory_profile(os.path.join(place, "memory.prof"))
  del x


@step("tool")
def runs_in_threads(device):
  f, wrong = jax.jit(lambda x: x * 2 + 1), []

  def work(i):
    for j in range(200):
      if float(f(jnp.float32(i + j))) != 2 * (i + j) + 1: wrong.append((i, j))

  threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
  for thread in threads: thread.start()
  for thread in threads: thread.join()
  assert not wrong, wrong


@step("tool")
def compiles_in_threads(device):
  wrong = []

  def work(i):
    for j in range(5):
      if float(jax.jit(lambda x: x * i + j)(2.)) != 2. * i + j: wrong.append((i, j))

  threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
  for thread in threads: thread.start()
  for thread in threads: thread.join()
  assert not wrong, wrong


@step("tool")
def starts_again(device):
  """Backends are thrown away and made anew, while arrays of the old ones live."""
  text = run_alone(device, """
from jax.extend.backend import clear_backends
x = jnp.ones(3) + 1
clear_backends()
print(float((jnp.ones(3) + 1).sum()), np.asarray(x).sum(), len(jax.devices()))
jax.clear_caches()
print(float(jax.jit(lambda a: a * 2)(1.)))
""")
  assert text.split()[:2] == ["6.0", "6.0"] and text.split()[-1] == "2.0", text


@step("tool")
def says_nothing_unasked(device):
  """Neither does what it uses, in a process that has no more of an environment than it must."""
  kept = {name: value for name, value in os.environ.items() if name in ("PYTHONPATH", "HALO_PJRT_LIBRARY", "OCL_ICD_VENDORS", "LD_LIBRARY_PATH")}
  code = "import jax; f = jax.jit(lambda x: x * 3 + 1); assert float(f(1.)) == 4; jax.numpy.add(1, 1)"
  with tempfile.TemporaryDirectory() as place:  # nothing is compiled before
    env = dict(kept, JAX_PLATFORMS=device.platform, HALO_CACHE_DIR=place, POCL_CACHE_DIR=place)
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=100)
  assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), (done.returncode, done.stdout[-300:], done.stderr[-600:])


@step("tool")
def compiles_without_a_path(device):
  """Where the environment was emptied while the process ran, as tests of programs do. PoCL as a package of Debian
  needs a linker when it compiles itself: without one there is an error that says so."""
  code = """
import os, jax, jax.numpy as jnp
jnp.ones(3).block_until_ready()
os.environ.clear()
assert float(jax.jit(lambda x: jnp.sin(x).sum() + jnp.cumsum(x)[2])(jnp.arange(17.))) > 0
"""
  with tempfile.TemporaryDirectory() as place:  # nothing is compiled before
    env = dict(os.environ, HALO_CACHE_DIR=place, POCL_CACHE_DIR=place, HALO_CPU="off")
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=100)
  told = done.returncode == 1 and "links kernels by the program ld" in done.stderr
  assert done.returncode == 0 or told, (done.returncode, done.stderr[-600:])


@step("tool")
def converts_for_tensorflow(device):
  """What jax2tf exports without naming a platform is for the CPU: TensorFlow knows no other that is here."""
  from jax._src.export import _export
  jax2tf = {"__name__": "jax.experimental.jax2tf.jax2tf"}
  exec("def convert(export, f, **more): return export(f, **more)", jax2tf)
  export = getattr(_export, "_export_internal", _export.export)
  assert jax2tf["convert"](export, jax.jit(jnp.sin))(jnp.ones(3)).platforms == ("cpu",)
  assert jax2tf["convert"](export, jax.jit(jnp.sin), platforms=("cuda",))(jnp.ones(3)).platforms == ("cuda",)
  assert jax.export.export(jax.jit(jnp.sin))(jnp.ones(3)).platforms == (jax.default_backend(),)


@step("tool")
def knows_ffi(device):
  assert os.path.isdir(jax.ffi.include_dir())
  lowered = jax.jit(lambda a: jax.ffi.ffi_call("no_such_target", struct((3,)), has_side_effect=True)(a, key=np.int32(3))).lower(jnp.ones(3))
  assert "no_such_target" in lowered.as_text()


@step("tool")
def runs_kernels_of_pallas(device):
  """Without interpret=True, which only JAX's CPU backend must be told."""
  told = device.platform == "cpu"

  def product(x, y, out):
    @pallas.when(pallas.program_id(2) == 0)
    def _():
      out[...] = jnp.zeros_like(out)

    out[...] += x[...] @ y[...]

  n, block = 16, (8, 8)
  multiply = pallas.pallas_call(
      product, grid=(2, 2, 2), out_shape=struct((n, n), np.float32), interpret=told,
      in_specs=[pallas.BlockSpec(block, lambda i, j, k: (i, k)),
                pallas.BlockSpec(block, lambda i, j, k: (k, j))],
      out_specs=pallas.BlockSpec(block, lambda i, j, k: (i, j)))
  x = np.arange(2 * n * n, dtype=np.float32).reshape(2, n, n) % 7
  same(multiply(x[0], x[1]), x[0] @ x[1])
  same(jax.jit(jax.vmap(multiply))(x, x), x @ x)

  def sine(x, out):
    out[...] = jnp.sin(x[...])

  f = pallas.pallas_call(sine, out_shape=struct((4,), np.float32), interpret=told)
  _, slope = jax.jvp(f, (jnp.ones(4, np.float32),), (jnp.ones(4, np.float32),))
  np.testing.assert_allclose(slope, np.full(4, np.cos(1.)), rtol=1e-6)


@step("tool")
def goes_from_server_to_server(device):
  """jax.experimental.transfer, which reads an array piece by piece and makes one of pieces."""
  from jax.experimental import transfer
  here, there = [transfer.start_transfer_server(device.client, "127.0.0.1:0", ["127.0.0.1:0"]) for _ in range(2)]
  x = np.arange(300 * 1000, dtype=np.float32)
  here.await_pull(1, [jax.device_put(x, device)])
  wanted = struct(x.shape, x.dtype, sharding=SingleDeviceSharding(device))
  same(there.connect(here.address()).pull(1, [wanted])[0], x)


@step("tool")
def says_what_comes_first(device):
  """As jax.experimental.control_deps does."""

  @jax.jit
  def fn(a, b):
    first, second = jnp.sin(a), jnp.cos(b)
    jax.ffi.ffi_call("control_dep", (), has_side_effect=True)(second, first)
    return first + second

  np.testing.assert_allclose(fn(jnp.ones(3), jnp.ones(3)), np.full(3, np.sin(1.) + np.cos(1.)), rtol=1e-6)


def device():
  yield from _STEPS["device"]


def array():
  yield from _STEPS["array"]
  yield from _STEPS["guard"]


def donation():
  yield from _STEPS["donation"]


def memory():
  yield from _STEPS["memory"]
  yield from _STEPS["layout"]


def compiled():
  yield from _STEPS["compiled"]


def callback():
  yield from _STEPS["callback"]


def tool():
  yield from _STEPS["ref"]
  yield from _STEPS["failure"]
  yield from _STEPS["tool"]


GROUPS = [device, array, donation, memory, compiled, callback, tool]
