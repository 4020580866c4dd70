# SPDX-License-Identifier: Apache-2.0
"""cases_several.py: what JAX promises where there are several devices, in steps (see cases_api.py): four of them, which
run.py asks for. JAX's CPU backend fails some.
"""

import collections

import jax
import jax.experimental
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import checkify, topologies
from jax.experimental.custom_partitioning import custom_partitioning
from jax.experimental.layout import Format, Layout, with_layout_constraint
from jax.experimental.serialize_executable import deserialize_and_load, serialize
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P, SingleDeviceSharding, reshard

import cases_foreign
from cases_api import raises, real, run_alone, same, struct
from check import Step

_STEPS = []


def step(fn):
  _STEPS.append(Step(f"several/{fn.__name__}", fn))
  return fn


def mesh_of(device, shape, names):
  devices = jax.devices(device.platform)
  assert len(devices) == 4, "four devices are asked for by HALO_DEVICE"
  return Mesh(np.array(devices).reshape(shape), names)


def line(device):
  return NamedSharding(mesh_of(device, (4,), ("x",)), P("x"))


def square(device, **more):
  return NamedSharding(mesh_of(device, (2, 2), ("x", "y")), P("x", "y"), **more)


@step
def callbacks_of_each(device):
  twice = lambda x: jax.pure_callback(lambda a: np.asarray(a * 2, real()), struct(x.shape), x)
  same(jax.pmap(twice)(jnp.arange(4.)), 2 * np.arange(4.))
  same(jax.pmap(lambda x: lax.psum(twice(x), "i"), axis_name="i")(jnp.arange(4.)), np.full(4, 12))
  whole = line(device)
  f = jax.jit(jax.shard_map(twice, mesh=whole.mesh, in_specs=P("x"), out_specs=P("x")))
  same(f(jnp.arange(8.)), 2 * np.arange(8.))


@step
def callbacks_of_all_together(device):
  x = jax.device_put(np.arange(8, dtype=real()), line(device))
  seen = []

  def more(a):
    seen.append(a.shape)
    return np.asarray(a + 1)

  same(jax.jit(lambda x: jax.pure_callback(more, struct(x.shape), x) * 2)(x), (np.arange(8) + 1) * 2)
  same(jax.jit(lambda x: jax.experimental.io_callback(more, struct(x.shape), x) * 2)(x), (np.arange(8) + 1) * 2)
  assert seen == [(8,), (8,)], seen
  elsewhere = SingleDeviceSharding(jax.devices(device.platform)[1])
  same(jax.jit(lambda x: jax.experimental.io_callback(more, struct(x.shape), x, sharding=elsewhere))(x), np.arange(8) + 1)
  assert len(seen) == 3
  f = jax.jit(lambda x: jax.experimental.io_callback(more, struct(x.shape), x, ordered=True))
  same(f(f(x)), np.arange(8) + 2)
  assert len(seen) == 5


@step
def callbacks_of_several_results(device):
  whole, x = line(device), np.arange(32, dtype=real()).reshape(8, 4)
  several = lambda a: (np.asarray(a).sum(), np.asarray(a) + 1, np.asarray(a).sum(0))
  f = lambda a: jax.pure_callback(several, (struct(()), struct(a.shape), struct(a.shape[1:])), a)
  for got, want in zip(jax.jit(f)(jax.device_put(x, whole)), several(x)):
    same(got, want)
  by_device = jax.jit(jax.shard_map(lambda a: jax.tree.map(lambda b: b[None], f(a)), mesh=whole.mesh, in_specs=P("x"), out_specs=P("x")))(x)
  for got, want in zip(by_device, zip(*(several(x[2 * k:2 * k + 2]) for k in range(4)))):
    same(got, np.stack(want))


@step
def callbacks_of_parts(device):
  whole, seen = line(device), []
  f = lambda a: (jax.debug.callback(lambda b: seen.append(np.asarray(b).tolist()), a, partitioned=True), a)[1]
  x = np.arange(8.)
  parts = [x[k:k + 2].tolist() for k in range(0, 8, 2)]
  jax.jit(jax.shard_map(f, mesh=whole.mesh, in_specs=P("x"), out_specs=P("x")))(x)
  jax.effects_barrier()
  assert sorted(seen) == parts, seen
  for place, wanted in ((device, [x.tolist()]), (whole, parts), (NamedSharding(whole.mesh, P()), 4 * [x.tolist()])):
    seen.clear()
    jax.jit(f)(jax.device_put(x, place))
    jax.effects_barrier()
    assert sorted(seen) == wanted, seen
  seen.clear()
  jax.jit(lambda a: (jax.debug.callback(lambda: seen.append(0), partitioned=True), a)[1])(jax.device_put(x, whole))
  jax.effects_barrier()
  assert seen == [0] * 4, seen
  seen.clear()
  both = lambda a, b: jax.debug.callback(lambda c, d: seen.append((c.shape, int(d))), a.T, b, partitioned=True)
  jax.jit(both)(jax.device_put(np.ones((4, 6)), square(device)), 3)
  jax.effects_barrier()
  assert seen == 4 * [((3, 2), 3)], seen


@step
def prints(device):
  text = run_alone(device, """
from jax.sharding import *
jax.pmap(lambda x: jax.debug.print("p {}", x))(jnp.arange(4))
s = NamedSharding(Mesh(np.array(jax.devices()), ("x",)), PartitionSpec("x"))
x = jax.device_put(jnp.arange(8), s)
jax.effects_barrier()
jax.jit(lambda x: (jax.debug.print("j {}", x), x * 2)[1])(x)
jax.effects_barrier()
jax.jit(jax.shard_map(lambda x: (jax.debug.print("s {}", x[0]), x)[1], mesh=s.mesh, in_specs=s.spec, out_specs=s.spec))(x)
jax.effects_barrier()
f = jax.jit(lambda x: jax.debug.print("o {}", x, ordered=True))
for i in range(4): f(jax.device_put(i, jax.devices()[i % 2]))
jax.effects_barrier()
""").splitlines()
  assert collections.Counter(text[:4]) == collections.Counter(f"p {i}" for i in range(4)), text
  assert text[4] == "j [0 1 2 3 4 5 6 7]" and sorted(text[5:9]) == [f"s {i}" for i in range(0, 8, 2)], text
  assert text[9:] == [f"o {i}" for i in range(4)], text


@step
def callbacks_that_raise(device):

  def bad(x):
    if x == 1: raise ValueError("not this one")
    return x

  fail = lambda x: jax.pure_callback(bad, struct(), x)
  for f in (jax.pmap(fail), jax.pmap(lambda x: lax.psum(fail(x), "i"), axis_name="i")):
    with raises(Exception, "not this one"):
      jax.block_until_ready(f(jnp.arange(4.)))
  same(jax.pmap(lambda x: lax.psum(x, "i"), axis_name="i")(jnp.arange(4)), np.full(4, 6))


@step
def checks(device):
  f = checkify.checkify(jax.pmap(lambda x: (checkify.check(x < 2, "too large: {x}", x=x), x)[1]))
  error, _ = f(jnp.arange(4))
  with raises(Exception, "too large: [23]"):
    error.throw()
  whole = line(device)
  g = checkify.checkify(jax.jit(jax.shard_map(jnp.log, mesh=whole.mesh, in_specs=P("x"), out_specs=P("x"))), errors=checkify.nan_checks)
  error, _ = g(jnp.arange(4) - 1.)
  with raises(Exception, "nan generated by primitive: log"):
    error.throw()


@step
def deleted(device):
  x = jax.device_put(np.arange(16.).reshape(8, 2), square(device))
  x.delete()
  with raises(RuntimeError, r"Array has been deleted with shape=float\d+\[8,2\]"):
    x + 1


@step
def memories(device):
  near = square(device, memory_kind="device")
  for kind in [m.kind for m in device.addressable_memories()]:
    x = jax.device_put(np.arange(16.).reshape(8, 2), near.with_memory_kind(kind))
    assert {s.data.sharding.memory_kind for s in x.addressable_shards} == {kind}
    same(jax.device_put(x, near), np.arange(16.).reshape(8, 2))
    y = jax.jit(lambda a, b: a * b + 1, out_shardings=near.with_memory_kind(kind))(*jax.device_put((x, x), near))
    assert y.sharding.memory_kind == kind
    same(y, np.arange(16.).reshape(8, 2)**2 + 1)
    z = jax.jit(lambda a: jax.device_put(a, near) * 2)(x)
    assert z.sharding.memory_kind == "device"
    same(z, np.arange(16.).reshape(8, 2) * 2)


@step
def layouts(device):
  spread = square(device)
  x = np.arange(64, dtype=np.int32).reshape(8, 8)
  array, turned = jax.device_put(x, spread), Format(Layout((1, 0)), spread)
  automatic = Format(Layout.AUTO)
  compiled = jax.jit(lambda a: a.T, in_shardings=automatic, out_shardings=automatic).lower(struct(x.shape, x.dtype, sharding=spread)).compile()
  assert compiled.output_formats.layout.major_to_minor == (1, 0)
  out = compiled(array)
  assert out.format == compiled.output_formats
  same(out, x.T)
  y = jax.device_put(x, turned)
  assert {s.data.format.layout.major_to_minor for s in y.addressable_shards} == {(1, 0)}
  same(y, x)
  same(jax.jit(lambda a: a + 1)(y), x + 1)
  with raises(ValueError, "does not match"):
    jax.jit(lambda a: a, in_shardings=turned).lower(array)
  z = jax.jit(lambda a: a * 2, in_shardings=turned, out_shardings=turned, donate_argnums=0)(y)
  assert y.is_deleted() and z.format.layout.major_to_minor == (1, 0)
  same(z, x * 2)
  y = jax.make_array_from_callback(x.shape, turned, lambda i: x[i])
  assert y.format.layout.major_to_minor == (1, 0)
  same(y, x)
  for fn in (lambda a: with_layout_constraint(a.T, Layout((1, 0))), lambda a: lax.with_sharding_constraint(a.T, turned)):
    y = jax.jit(fn)(array)
    assert y.format.layout.major_to_minor == (1, 0)
    same(y, x.T)
  small = jnp.arange(8, dtype=jnp.int4).reshape(2, 4) - 4
  same(jax.device_put(small, Format(Layout((1, 0)), SingleDeviceSharding(device))).copy(), small)


@step
def written_and_read(device):
  spread = line(device)
  x = jax.device_put(np.ones((8, 8), real()), spread)
  compiled = jax.jit(lambda a: a * a.sum(), in_shardings=spread, out_shardings=spread).lower(x).compile()
  again = deserialize_and_load(*serialize(compiled), backend=device.platform)
  same(again(x), compiled(x))
  assert again.as_text() == compiled.as_text()
  mapped = jax.pmap(lambda a: a * 2).lower(np.zeros((4, 3), real())).compile()
  same(deserialize_and_load(*serialize(mapped), backend=device.platform)(np.ones((4, 3), real())), np.full((4, 3), 2))
  one = jax.jit(lambda a: a * 2).lower(jnp.ones(3)).compile()
  same(deserialize_and_load(*serialize(one), backend=device.platform, execution_devices=[device])(jnp.ones(3)), np.full(3, 2))


@step
def topologies_of_several(device):
  if device.platform == "cpu": return
  texts = []
  for topology in (topologies.get_attached_topology(device.platform), topologies.get_topology_desc(platform=device.platform)):
    spread = NamedSharding(topologies.make_mesh(topology, (2, 2), ("x", "y")), P("x", "y"))
    compiled = jax.jit(lambda a: a * a).lower(struct((16, 16), sharding=spread)).compile()
    texts.append(deserialize_and_load(*serialize(compiled), backend=device.platform).as_text())
  assert texts[0] == texts[1]
  alone = SingleDeviceSharding(topologies.get_topology_desc(platform=device.platform).devices[0])
  compiled = jax.jit(lambda a: a + 1).lower(struct((4,), sharding=alone)).compile()
  assert compiled.cost_analysis()["flops"] == 4 and compiled.memory_analysis().output_size_in_bytes == 4 * real().itemsize


@step
def transfers_that_are_guarded(device):
  x = jax.device_put(np.ones(4), device)
  other = jax.devices(device.platform)[1]
  with jax.transfer_guard_device_to_device("disallow"):
    same(jax.device_put(x, other), np.ones(4))
  with jax.transfer_guard_device_to_device("disallow_explicit"):
    with raises(Exception, "Disallowed device-to-device"):
      jax.device_put(x, other)


def partitioned(fn, part, rule, **more):
  """A function that says itself how it is partitioned: by part(mesh, shardings of operands, those of results)."""
  f = custom_partitioning(fn)
  specs = lambda shapes: jax.tree_util.tree_map(lambda s: s.sharding, shapes)
  f.def_partition(lambda mesh, operands, results: (mesh, *part(mesh, specs(operands), specs(results))), sharding_rule=rule, **more)
  return f


@step
def functions_that_partition_themselves(device):
  spread = square(device)
  x = np.arange(64, dtype=real()).reshape(8, 8)
  seen = []

  def keep(mesh, operands, results):
    seen.append(tuple(operands[0].spec))
    return lambda a: a * 2, results, tuple(operands)

  twice = partitioned(lambda a: a * 2, keep, "i j -> i j")
  y = jax.jit(twice)(jax.device_put(x, spread))
  same(y, x * 2)
  assert y.sharding.spec == P("x", "y") and seen == [("x", "y")], seen
  same(jax.jit(lambda a: lax.scan(lambda c, _: (twice(c), c.sum()), a, None, length=3))(jax.device_put(x, spread))[0], x * 8)
  as_is = partitioned(lambda a: a * 2, lambda mesh, operands, results: (lambda a: a * 2, results, tuple(operands)), "i j -> i j")
  partly = jax.shard_map(as_is, mesh=spread.mesh, in_specs=P("x"), out_specs=P("x"), axis_names={"x"})
  same(jax.jit(partly)(jax.device_put(x, spread)), x * 2)

  def product(mesh, operands, results):
    one, two = (NamedSharding(mesh, P(*s)) for s in (("x", "y"), ("y", None)))
    return lambda a, b: lax.psum(a @ b, "y"), NamedSharding(mesh, P("x", None)), (one, two)

  dot = partitioned(lambda a, b: a @ b, product, "i k, k j -> i j", reduction_factors=("k",))
  with jax.set_mesh(spread.mesh):
    compiled = jax.jit(dot).lower(*jax.device_put((x, x), (spread, NamedSharding(spread.mesh, P("y"))))).compile()
  same(compiled(*jax.device_put((x, x), (spread, NamedSharding(spread.mesh, P("y"))))), x @ x)
  assert "all-reduce" in compiled.as_text() and "all-gather" not in compiled.as_text()

  def rows(mesh, operands, results):
    whole = NamedSharding(mesh, P(*operands[0].spec[:1], None))
    return lambda a: (jnp.sort(a, 1), a.sum(1)), (whole, NamedSharding(mesh, P(*operands[0].spec[:1]))), (whole,)

  ordered = partitioned(lambda a: (jnp.sort(a, 1), a.sum(1)), rows, "i j -> i j, i", need_replication_factors=("j",))
  with jax.set_mesh(spread.mesh):
    a, b = jax.jit(ordered)(jax.device_put(x[:, ::-1], spread))
  same(a, x)
  same(b, x.sum(1))
  same(jax.jit(ordered)(jax.device_put(x, device))[1], x.sum(1))

  def refuse(mesh, operands, results):
    raise ValueError("not like this")

  with raises(Exception, "not like this"):
    jax.jit(partitioned(lambda a: a, refuse, "i j -> i j"))(jax.device_put(x, spread))


@step
def shardings_that_are_looked_at(device):
  spread = square(device)
  x = jax.device_put(np.arange(64, dtype=real()).reshape(8, 8), spread)
  seen = []
  look = lambda a: jax.debug.inspect_array_sharding(a, callback=lambda s: seen.append(s.spec))

  def f(a):
    b = lax.with_sharding_constraint(a.T, NamedSharding(spread.mesh, P("y")))
    look({"a": a, "b": b})
    return lax.scan(lambda c, _: (look(c), (c * 2, None))[1], b, None, length=2)[0]

  same(jax.jit(f)(x), 4 * np.asarray(x).T)
  assert seen[0] == P("x", "y") and seen[1] == P("y") and len(seen) == 3, seen
  jax.jit(jax.shard_map(lambda a: (look(a), a)[1], mesh=spread.mesh, in_specs=spread.spec, out_specs=spread.spec))(x)
  assert seen[3] == P(), seen

  def bad(s):
    raise ValueError("no look")

  with raises(Exception, "(?s)Error calling inspect_sharding.*no look"):
    jax.jit(lambda a: (jax.debug.inspect_array_sharding(a, callback=bad), a)[1])(x)


@step
def ragged_exchanges(device):
  mesh = mesh_of(device, (4,), ("x",))
  f = lambda *a: lax.ragged_all_to_all(*[b[0] for b in a], axis_name="x", axis_index_groups=groups)[None]
  exchange = jax.shard_map(f, mesh=mesh, in_specs=P("x"), out_specs=P("x"), check_vma=False)
  lists = [np.array(2 * rows, np.int32) for rows in ([[0, 1], [0, 1]], [[1, 2], [1, 1]], [[0, 0], [1, 2]], [[1, 1], [2, 1]])]
  x, out = np.array([[1, 2, 2], [3, 4, 0], [10, 20, 20], [30, 40, 0]], real()), np.zeros((4, 4), real())
  want = np.array([[1, 3, 0, 0], [2, 2, 4, 0], [10, 30, 0, 0], [20, 20, 40, 0]])
  groups = [[0, 1], [2, 3]]
  same(jax.jit(exchange)(x, out, *lists), want)
  pair = mesh_of(device, (2, 2), ("y", "x"))
  groups = None
  exchange = jax.shard_map(f, mesh=pair, in_specs=P("x"), out_specs=P("x"), check_vma=False)
  halves = [a.reshape(2, 2, -1) for a in (x, out, *lists)]
  same(jax.jit(jax.vmap(exchange, spmd_axis_name="y"))(*halves), want.reshape(2, 2, 4))
  same(jax.jit(jax.vmap(exchange))(*halves), want.reshape(2, 2, 4))
  a, b, *rest = (h[0] for h in halves)
  same(jax.jit(jax.grad(lambda a: (exchange(a, b, *rest) * want[:2]).sum()))(a), a)


@step
def random_numbers(device):
  spread = line(device)
  x = jax.jit(lambda k: jax.random.bits(k, (64,)), out_shardings=spread)(jax.random.key(1))
  same(x, jax.random.bits(jax.random.key(1), (64,)))
  keys = jax.device_put(jax.random.split(jax.random.key(0), 4), spread)
  same(jax.vmap(jax.random.bits)(keys), jax.vmap(jax.random.bits)(jax.random.split(jax.random.key(0), 4)))


@step
def handlers_of_pieces(device):
  """Foreign functions see the whole array where a program speaks of it, and pieces where it speaks of these."""
  jax.ffi.register_ffi_target("tests.pieces", cases_foreign._handler(cases_foreign._scale), platform=device.platform)
  call = lambda x: cases_foreign._call("tests.pieces", x)
  x = np.arange(32, dtype=np.float32).reshape(8, 4)
  spread = jax.device_put(x, line(device))
  same(jax.jit(lambda x: call(x) + 1)(spread), x * 3 + 1)
  part = jax.shard_map(lambda x: call(x) + lax.axis_index("x"), mesh=line(device).mesh, in_specs=P("x"), out_specs=P("x"))
  same(jax.jit(part)(spread), x * 3 + np.arange(4, dtype=np.float32).repeat(2)[:, None])
  for each in jax.devices(device.platform): same(jax.jit(call)(jax.device_put(x, each)), x * 3)


@step
def borders(device):
  """What looks at its neighbours along a dimension that is cut exchanges these alone: no array is gathered."""
  at = NamedSharding(mesh_of(device, (4,), ("x",)), P(None, "x"))
  x = np.sin(np.arange(2 * 64 * 32 * 3, dtype=np.float32)).reshape(2, 64, 32, 3)
  kernels = [np.cos(np.arange(3 * 3 * 3 * 4, dtype=np.float32)).reshape(3, 3, 3, 4), np.cos(np.arange(5 * 3 * 4 * 4, dtype=np.float32)).reshape(5, 3, 4, 4)]

  def loss(kernels, x):
    for k, steps in zip(kernels, (1, 2)):
      x = jax.nn.relu(lax.conv_general_dilated(x, k, (steps, steps), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")))
    return jnp.mean((x - jnp.roll(x, 1, 1)) ** 2)

  step = jax.jit(jax.value_and_grad(loss))
  spread = jax.device_put(x, at)
  if device.platform != "cpu": assert "all-gather" not in step.lower(kernels, spread).compile().as_text()
  got, whole = step(kernels, spread), step(kernels, jax.device_put(x, device))
  for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(whole)): np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5 * np.abs(b).max())


@step
def updates(device):
  """What is put into an array that is cut is put where it lies: nothing is sent, and the result lies as the array does."""
  x, k, rows = np.sin(np.arange(128, dtype=np.float32)).reshape(16, 8), np.int32(5), np.array([3, 1, 15, 9], np.int32)
  blocks = lax.ScatterDimensionNumbers((1, 2), (), (0, 1))
  table = [
      lambda a, k, i: a.at[k].set(1), lambda a, k, i: a.at[k, k - 2].set(7), lambda a, k, i: a.at[:, k].add(2), lambda a, k, i: a.at[2:5].set(1), lambda a, k, i: a.at[:8].set(1), lambda a, k, i: a.at[:, 2:5].set(2),
      lambda a, k, i: a.at[2:11, 1:3].set(1), lambda a, k, i: a.at[1:12:2].set(1), lambda a, k, i: a.at[i].set(3), lambda a, k, i: a.at[i, i % 8].mul(3), lambda a, k, i: a.at[3:9].multiply(2),
      lambda a, k, i: lax.dynamic_update_slice(a, jnp.ones((3, 2), a.dtype), (k, k - 3)), lambda a, k, i: lax.dynamic_update_slice(a, jnp.ones((11, 8), a.dtype), (k + 9, k)), lambda a, k, i: lax.dynamic_update_slice(a, jnp.ones((1, 8), a.dtype), (k.astype(np.uint8), np.uint8(0))),
      lambda a, k, i: lax.scatter(a, jnp.stack([i, i % 5], 1) - 1, jnp.arange(24., dtype=a.dtype).reshape(4, 2, 3), blocks), lambda a, k, i: lax.scatter_add(a, jnp.stack([i, i % 7], 1) - 1, jnp.arange(24., dtype=a.dtype).reshape(4, 3, 2), blocks), lambda a, k, i: lax.fori_loop(0, 16, lambda j, a: lax.dynamic_update_slice(a, jnp.full((2, 2), j, a.dtype), (j, j % 8)), a),
      lambda a, k, i: jax.vmap(lambda r, j: lax.dynamic_update_slice(r, jnp.ones(3, a.dtype), (j,)))(a, jnp.arange(16, dtype=k.dtype) * k % 8), lambda a, k, i: a.at[k + 20].set(1, mode="drop"), lambda a, k, i: a.at[-k].set(1),
  ]
  mesh = mesh_of(device, (2, 2), ("x", "y"))
  for spec in (P("x"), P("x", "y"), P(None, "y"), P(("x", "y"))):
    spread = jax.device_put(x, NamedSharding(mesh, spec))
    for number, fn in enumerate(table):
      f = jax.jit(fn)
      text = f.lower(spread, k, rows).compile().as_text()
      for word in ("all-gather", "all-reduce(", "all-to-all", "collective-permute"): assert device.platform == "cpu" or word not in text, (number, spec, word)
      got = f(spread, k, rows)
      assert got.sharding.spec == spec, (number, spec, got.sharding)
      same(got, f(jax.device_put(x, device), k, rows))


@step
def gradients_in_summands(device):
  """Gradients that are kept in summands over layers and batches are summed up over the devices once, behind the loops."""
  mesh = Mesh(np.array(jax.devices(device.platform)), ("x",), axis_types=(AxisType.Explicit,))
  rng = np.random.RandomState(0)
  weights, batches = rng.randn(3, 4, 4).astype(np.float32) / 2, rng.randn(2, 8, 4).astype(np.float32)

  def loss(ws, x):
    low = lambda c, w: ((c.astype(jnp.bfloat16) @ w.astype(jnp.bfloat16)).astype(jnp.float32), None)
    return lax.scan(low, x, ws)[0].sum()

  def gradient(ws, xs):
    some = lambda acc, x: (acc + jax.grad(loss)(ws, x), None)
    acc, _ = lax.scan(some, reshard(jnp.zeros_like(ws), P(unreduced={"x"})), xs)
    return reshard(acc, P())

  with jax.set_mesh(mesh):
    ws, xs = jax.device_put(weights, P(reduced={"x"})), jax.device_put(batches, P(None, "x"))
    f = jax.jit(gradient)
    text = f.lower(ws, xs).compile().as_text()
    assert text.count(" all-reduce(") == 1, text
    got = np.asarray(f(ws, xs))
  want = sum(np.asarray(jax.grad(loss)(jax.device_put(weights, device), jax.device_put(x, device))) for x in batches)
  np.testing.assert_allclose(got, want, rtol=2e-2, atol=2e-2 * np.abs(want).max())


@step
def gradients_over_rounds(device):
  """Gradients that rounds of a loop add up are summed up over the devices behind it: in no round."""
  whole, rng = line(device), np.random.RandomState(0)
  w, u, xs = (rng.randn(*shape).astype(np.float32) / 2 for shape in ((16, 8), (8, 8), (5, 32, 16)))
  loss = lambda w, x: jnp.tanh(x @ w).sum()
  added = lambda w, u, xs: lax.scan(lambda g, x: (g + jax.grad(loss)(w, x), None), w, xs)[0]
  turn = lambda w, u, xs: (lax.scan(lambda h, x: (jnp.tanh(x @ w + h @ u), None), jnp.zeros((32, 8)), xs)[0] ** 2).sum()
  spread = [jax.device_put(a, NamedSharding(whole.mesh, s)) for a, s in ((w, P()), (u, P()), (xs, P(None, "x")))]
  for fn in (added, jax.grad(turn, (0, 1))):
    f = jax.jit(fn)
    text = f.lower(*spread).compile().as_text()
    entry = text[text.index("\nENTRY"):]
    assert device.platform == "cpu" or text.count(" all-reduce(") == entry.count(" all-reduce(") > 0, text
    for got, want in zip(jax.tree.leaves(f(*spread)), jax.tree.leaves(f(*[jax.device_put(a, device) for a in (w, u, xs)]))):
      assert got.sharding.is_fully_replicated
      np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5 * np.abs(want).max())


@step
def matrices(device):
  """Batches of matrices are factored where they lie: no array is gathered, and results lie as the batch does."""
  at = NamedSharding(mesh_of(device, (2, 2), ("x", "y")), P("x", "y"))
  x = np.sin(np.arange(2 * 4 * 6 * 6, dtype=np.float32)).reshape(2, 4, 6, 6)
  x = x @ x.swapaxes(-1, -2) + np.eye(6, dtype=np.float32)
  spread = jax.device_put(x, at)
  linalg = lax.linalg
  table = (linalg.cholesky, linalg.eigh, linalg.qr, linalg.svd, linalg.lu, linalg.tridiagonal, linalg.hessenberg, linalg.schur, linalg.eig, jnp.linalg.inv, jnp.linalg.det,
           lambda a: linalg.triangular_solve(a, a, lower=True), lambda a: linalg.tridiagonal_solve(a[..., 0], a[..., 1] + 9, a[..., 2], a), lambda a: linalg.qr(a, pivoting=True), jax.grad(lambda a: jnp.linalg.eigh(a)[0].max()))
  for fn in table:
    f = jax.jit(fn)
    text = f.lower(spread).compile().as_text()
    for word in ("all-gather", "all-reduce(", "all-to-all", "collective-permute"): assert word not in text or fn is table[-1], (fn, word)
    for got, want in zip(jax.tree.leaves(f(spread)), jax.tree.leaves(f(jax.device_put(x, device)))):
      assert fn is table[-1] or got.sharding.spec == P("x", "y"), (fn, got.sharding)
      np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5 * np.abs(want).max())


def steps():
  yield from _STEPS


GROUPS = [steps]
