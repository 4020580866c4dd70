# SPDX-License-Identifier: Apache-2.0
"""cases_devices.py: programs over eight devices: arrays that are cut in all ways, collectives, regions that are partitioned
by hand along all axes or some, summands, and moving arrays. What is compared is values and where they lie.

A case's function takes the platform's devices, and makes its arrays itself.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, shard_map
from jax.experimental import io_callback
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P, reshard

from cases_lax import C64, F16, F32
from check import Case, array

try:
  from jax.experimental.shard_alike import shard_alike
except ImportError:  # jax 0.12 has it no longer
  shard_alike = None

AUTO, EXPLICIT = AxisType.Auto, AxisType.Explicit
SPECS = {1: [P("x"), P(("x", "y"))], 2: [P("x", "y"), P(None, "x"), P(("x", "y")), P("y")], 3: [P("x", "y"), P(None, "x", "y")], 4: [P("x", None, None, "y"), P(None, "x", "y")]}


def mesh_of(devices, shape=(4, 2), names=("x", "y"), kind=AUTO):
  return Mesh(np.array(devices[:int(np.prod(shape))]).reshape(shape), names, axis_types=(kind,) * len(names))


def put(x, mesh, spec):
  return jax.device_put(x, NamedSharding(mesh, spec))


def operations():
  """One operation over arrays that are cut somehow; how its results lie is the compiler's choice."""
  a, b, v, t = array("da", (8, 16), F32), array("db", (16, 8), F32), array("dv", (16,), F32), array("dt", (4, 8, 16), F32)
  i, where = np.arange(128, dtype=np.int32).reshape(8, 16) * 7 % 16, np.array([3, 1, 7, 0, 2, 2, 5, 6])
  image, kernel = array("di", (4, 8, 8, 4), F32), array("dk", (3, 3, 4, 8), F32)
  matrices = np.stack([np.eye(8, dtype=F32) * k + 1 for k in (3, 4, 5, 6)])
  labels = ("NHWC", "HWIO", "NHWC")
  table = {
      "add": (lambda x: x + 1, a), "sum": (lambda x: (x.sum(), x.sum(0), x.sum(1)), a), "max": (lambda x: (x.max(0), x.min(1)), a), "argmax": (lambda x: (jnp.argmax(x, 0), jnp.argmin(x, 1), jnp.argmax(x)), a), "sort": (lambda x: (jnp.sort(x, 0), jnp.sort(x, 1)), a),
      "argsort": (lambda x: jnp.argsort(x, 1), a), "cumsum": (lambda x: (jnp.cumsum(x, 0), jnp.cumsum(x, 1)), a), "matmul": (lambda x, y: x @ y, a, b), "matvec": (lambda x, y: x @ y, a, v), "einsum": (lambda x: jnp.einsum("bij,bkj->bik", x, x), t), "transpose": (lambda x: x.T, a),
      "reshape": (lambda x: (x.reshape(4, 32), x.reshape(-1), x.reshape(2, 4, 4, 4)), a), "slice": (lambda x: (x[1:5, ::2], x[:, 3], x[:4]), a), "reverse": (lambda x: x[::-1, ::-1], a), "concatenate": (lambda x: (jnp.concatenate([x, x + 1], 0), jnp.concatenate([x, x[:, :3]], 1)), a),
      "pad": (lambda x: jnp.pad(x, ((1, 2), (0, 3))), a), "gather": (lambda x: (x[where], x[:, where]), a), "take": (lambda x, i: jnp.take_along_axis(x, i, 1), a, i), "scatter": (lambda x: (x.at[where].set(1.), x.at[:, where].add(2.), x.at[where, where].mul(3.)), a),
      "dynamic": (lambda x: (lax.dynamic_slice(x, (2, 3), (3, 5)), lax.dynamic_update_slice(x, jnp.ones((3, 5), F32), (2, 3))), a), "top_k": (lambda x: lax.top_k(x, 3), a), "softmax": (lambda x: jax.nn.softmax(x, 1), a), "one_hot": (lambda x: jax.nn.one_hot(x, 16), i),
      "reduce_window": (lambda x: (lax.reduce_window(x, -np.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"), lax.reduce_window(x, 0., lax.add, (1, 3, 3, 1), (1, 1, 1, 1), "SAME")), image),
      "fft": (lambda x: jnp.fft.fft(x, axis=1), a), "cholesky": (jnp.linalg.cholesky, matrices), "scan": (lambda x: lax.scan(lambda c, r: (c + r, c * r), jnp.zeros(16), x), a), "while": (lambda x: lax.while_loop(lambda c: jnp.abs(c).sum() < 1e3, lambda c: c * 1.5, x), a),
      "cond": (lambda x: lax.cond(x.sum() > 0, lambda y: y * 2, lambda y: y - 1, x), a), "random": (lambda x: x + jax.random.normal(jax.random.key(0), x.shape), a), "permutation": (lambda x: jax.random.permutation(jax.random.key(1), x), a), "tile": (lambda x: jnp.tile(x, (2, 3)), a),
      "tril": (jnp.tril, a), "stack": (lambda x: jnp.stack([x, x * 2]), a), "histogram": (lambda x: jnp.histogram(x, 5), a), "median": (lambda x: jnp.median(x, 1), a), "bfloat16": (lambda x: x.astype(jnp.bfloat16) @ x.astype(jnp.bfloat16).T, a), "complex": (lambda x: ((x + 1j * x).prod(1), (x + 1j * x) @ (x - 1j * x).T), a),
      "logic": (lambda x: ((x > 0).all(1), (x > 1).any()), a), "int4": (lambda x: x.astype(jnp.int4) + x.astype(jnp.int4), i), "bitcast": (lambda x: lax.bitcast_convert_type(x, np.int8), a), "layer_norm": (lambda x: (x - x.mean(1, keepdims=True)) / jnp.sqrt(x.var(1, keepdims=True)), a),
      "segment_sum": (lambda x: jax.ops.segment_sum(x, jnp.array(where), 8), a), "reduce_two": (lambda x: lax.reduce((x, x), (F32(0), F32(1)), lambda p, q: (p[0] + q[0], p[1] * q[1]), (0,)), a), "remat": (jax.grad(lambda x: jax.checkpoint(lambda y: jnp.sin(jnp.cos(y)))(x).sum()), a),
  }

  def apply(fn, args, n, devices):
    mesh = mesh_of(devices, (2, 2))
    return jax.jit(fn)(*[put(x, mesh, SPECS[x.ndim][n % len(SPECS[x.ndim])]) for x in args])

  for name, (fn, *args) in table.items():
    for n in range(len(SPECS[args[0].ndim])):
      yield Case(f"{name}/{n}", functools.partial(apply, fn, args, n), loose=200, several=True)
  yield Case("convolution", lambda d: jax.jit(lambda x, w: lax.conv_general_dilated(x, w, (2, 2), "SAME", dimension_numbers=labels))(put(image, mesh_of(d, (2, 2)), P("x", "y")), kernel), loose=20, several=True)
  # Dimensions that the devices do not divide.
  odd = array("do", (13, 4), F32)
  constrain = lambda x, d: lax.with_sharding_constraint(x, NamedSharding(mesh_of(d, (8,), ("x",)), P("x")))
  yield Case("uneven", lambda d: jax.jit(lambda x: [f(constrain(x * 2, d)) for f in (jnp.sum, jnp.sin, lambda y: y @ y.T, lambda y: jnp.cumsum(y, 0), lambda y: constrain(y[:5], d) * 2)])(odd), loose=20, several=True)
  yield Case("uneven_result", lambda d: [jax.jit(lambda: lax.with_sharding_constraint(jnp.arange(5 * n).reshape(5, n), NamedSharding(mesh_of(d), P("x", "y"))))() for n in (3, 4)], several=True)
  order = [3, 1, 0, 2, 7, 6, 4, 5]
  yield Case("order", lambda d: jax.jit(lambda x: (x @ x.T, x.sum(0), x.T, jnp.sort(x, 1)))(put(a, mesh_of([d[k] for k in order]), P("x", "y"))), loose=20, several=True)
  yield Case("six", lambda d: jax.jit(lambda x: (x @ x.T, x.sum(0), x.T))(put(odd[:12, :2], mesh_of(d, (3, 2)), P("x", "y"))), loose=20, several=True)
  open_ = P.UNCONSTRAINED
  yield Case("unconstrained", lambda d: jax.jit(lambda x: [lax.with_sharding_constraint(x * 2, NamedSharding(mesh_of(d), s)) for s in (P(open_, "y"), P("x", open_), P(open_, open_))])(put(a, mesh_of(d), P("x"))), several=True)


def collectives():
  """Regions that are partitioned by hand along the mesh's only axis."""
  halves, pairs = [[0, 2, 4, 6], [1, 3, 5, 7]], [[0, 1], [2, 3], [4, 5], [6, 7]]
  ring = [(k, (k + 1) % 8) for k in range(8)]
  by_type = {
      "psum": (lambda v: lax.psum(v, "i"), P()), "pmax": (lambda v: lax.pmax(v, "i"), P()), "all_gather": (lambda v: lax.all_gather(v, "i", axis=1), P("i")), "all_to_all": (lambda v: lax.all_to_all(v, "i", 1, 0, tiled=True), P("i")), "ppermute": (lambda v: lax.ppermute(v, "i", ring), P("i")),
      "psum_scatter": (lambda v: lax.psum_scatter(v, "i", scatter_dimension=1, tiled=True), P("i")),
  }
  plain = {
      "psum_groups": lambda v: lax.psum(v, "i", axis_index_groups=halves), "gather_groups": lambda v: lax.all_gather(v, "i", axis_index_groups=pairs, tiled=True), "to_all_groups": lambda v: lax.all_to_all(v, "i", 1, 1, axis_index_groups=halves, tiled=True), "axis_index": lambda v: v + lax.axis_index("i"), "axis_index_loop": lambda v: lax.fori_loop(0, 3, lambda k, c: c * 2 + lax.axis_index("i"), v),
      "partly": lambda v: lax.ppermute(v, "i", [(0, 1), (3, 5)]), "constant": lambda v: v * lax.psum(jnp.ones(()), "i"), "scan": lambda v: lax.scan(lambda c, r: (lax.psum(c, "i") * .1 + r, c), jnp.zeros(8), v)[1], "while": lambda v: lax.while_loop(lambda c: lax.psum(c.sum(), "i") < 1e4, lambda c: jnp.abs(c) * 2 + 1, v),
      "cond": lambda v: lax.cond(lax.axis_index("i") % 2 == 0, lambda a: a * 2, lambda a: a - 1, v), "random": lambda v: v + jax.random.normal(jax.random.fold_in(jax.random.key(0), lax.axis_index("i")), v.shape), "grad": jax.grad(lambda v: lax.pmean(jnp.sin(v).sum(), "i")),
      "vmap": lambda v: jax.vmap(lambda r: lax.all_to_all(r, "i", 0, 0))(v), "callback": lambda v: jax.pure_callback(lambda a: np.asarray(a) * 2, jax.ShapeDtypeStruct(v.shape, v.dtype), v),
  }

  def apply(fn, out, x, devices):
    mesh = mesh_of(devices, (8,), ("i",))
    return jax.jit(shard_map(fn, mesh=mesh, in_specs=P("i"), out_specs=out, check_vma=False))(put(jnp.asarray(x, device=devices[0]), mesh, P("i")))

  for dtype in (F32, F16, C64, np.int8, np.uint32, np.bool_, jnp.bfloat16, jnp.int4, jnp.float8_e4m3fn):
    for name, (fn, out) in by_type.items():
      narrow = np.dtype(dtype).itemsize == 1 and np.dtype(dtype).kind == "V"
      if (name == "psum_scatter" and dtype == np.bool_) or (name in ("pmax",) and dtype == C64): continue  # JAX has none
      if "sum" in name and dtype == jnp.float8_e4m3fn and narrow: continue  # rounded in any order
      x = array("dc", (16, 8), F32).astype(dtype) if dtype != C64 else array("dc", (16, 8), C64)
      yield Case(f"{name}/{np.dtype(dtype).name}", functools.partial(apply, fn, out, x), loose=8, several=True)
  for name, fn in plain.items():
    if name == "callback": continue  # XLA's CPU devices wait for each other there
    yield Case(name, functools.partial(apply, fn, P("i"), array("dp", (16, 8), F32)), loose=8, several=True)


def partly():
  """Regions that are partitioned by hand along some axes, where the others go on."""
  x = array("dm", (16, 8), F32)
  table = {
      "same": (lambda v: v * 2, P("x"), P("x"), "x"), "psum": (lambda v: lax.psum(v, "x"), P("x"), P(), "x"), "psum_minor": (lambda v: lax.psum(v, "y"), P(None, "y"), P(), "y"), "matmul": (lambda v: v @ v.T, P("x"), P("x"), "x"), "sum": (lambda v: v.sum(1), P("x"), P("x"), "x"),
      "axis_index": (lambda v: v + lax.axis_index("y"), P(None, "y"), P(None, "y"), "y"), "permute": (lambda v: lax.ppermute(v, "x", [(k, (k + 1) % 4) for k in range(4)]), P("x"), P("x"), "x"), "to_all": (lambda v: lax.all_to_all(v, "x", 1, 1, tiled=True), P("x"), P("x"), "x"),
      "gather": (lambda v: lax.all_gather(v, "x", tiled=True), P("x"), P(None), "x"), "scatter": (lambda v: lax.psum_scatter(v, "x", scatter_dimension=0, tiled=True), P("x"), P("x"), "x"), "constrained": (lambda v: lax.with_sharding_constraint(v * 2, P("y")), P("x"), P("x"), "x"),
      "printing": (lambda v: (jax.debug.callback(lambda w: None, v), v * 2)[1], P("x"), P("x"), "x"), "scan": (lambda v: lax.scan(lambda c, r: (c + lax.psum(r, "x"), c), jnp.zeros(8), v)[1], P("x"), P("x"), "x"), "sort": (lambda v: jnp.sort(v, 1), P("x"), P("x"), "x"), "constant": (lambda v: v * lax.psum(jnp.ones(8), "x"), P("x"), P("x"), "x"), "grad": (jax.grad(lambda v: lax.psum(jnp.sin(v).sum(), "x")), P("x"), P("x"), "x"),
  }

  def apply(fn, i, o, axis, devices):
    mesh = mesh_of(devices)
    return jax.jit(shard_map(fn, mesh=mesh, in_specs=i, out_specs=o, axis_names={axis}, check_vma=False))(put(x, mesh, P("x", "y")))

  for name, row in table.items():
    yield Case(name, functools.partial(apply, *row), loose=8, several=True)

  def nested(devices):
    mesh = mesh_of(devices, (2, 2, 2), ("x", "y", "z"))
    inner = lambda v: lax.psum(v, "y")
    outer = lambda v: lax.psum(shard_map(inner, in_specs=P(None, "y"), out_specs=P(), axis_names={"y"})(v), "x")
    with jax.set_mesh(mesh):
      return jax.jit(shard_map(outer, in_specs=P("x"), out_specs=P(), axis_names={"x"}))(put(x, mesh, P("x", "y")))

  yield Case("nested", nested, several=True)


def summands():
  """Arrays of which each device has a summand."""
  a, b = array("dsa", (8, 16), F32), array("dsb", (16, 8), F32)
  product = lambda a, b: jnp.einsum("ab,bc->ac", a, b, out_sharding=P("x", None, unreduced={"y"}))
  parts = lambda x: [s.data for s in x.addressable_shards]

  def apply(fn, devices):
    mesh = mesh_of(devices, (2, 2), kind=EXPLICIT)
    with jax.set_mesh(mesh):
      return fn(put(a, mesh, P("x", "y")), put(b, mesh, P("y")))

  table = {
      "result": lambda a, b: parts(jax.jit(product)(a, b)), "twice": lambda a, b: parts(jax.jit(lambda u: u + u)(jax.jit(product)(a, b))), "reduced": lambda a, b: jax.jit(lambda a, b: reshard(product(a, b), P("x")))(a, b), "scattered": lambda a, b: jax.jit(lambda a, b: reshard(product(a, b), P("x", "y")))(a, b),
      "argument": lambda a, b: jax.jit(lambda u: reshard(u, P()))(jax.jit(product)(a, b)), "grad": lambda a, b: jax.jit(jax.grad(lambda a, b: reshard(product(a, b), P("x")).sum(), (0, 1)))(a, b),
      "region": lambda a, b: jax.jit(lambda a: reshard(shard_map(lambda v: v.sum(1), in_specs=P("x", "y"), out_specs=P("x", unreduced={"y"}), check_vma=False)(a), P("x")))(a),
  }
  parted, whole = P("x", None, unreduced={"y"}), lambda u: reshard(u, P("x"))

  def loop(a, b):
    """What rounds add up, and what they put into an array, stays in summands until it is resharded."""

    def body(state, k):
      u, all = state
      v = product(a * k, b).astype(jnp.bfloat16).astype(jnp.float32)
      return (u + v, lax.dynamic_update_index_in_dim(all, v, k.astype(int), 0)), v[:4]

    zeros = reshard(jnp.zeros((8, 8), F32), parted), reshard(jnp.zeros((3, 8, 8), F32), P(None, "x", None, unreduced={"y"}))
    (u, all), rows = lax.scan(body, zeros, jnp.arange(3, dtype=F32))
    u = lax.cond(a.sum() > 0, lambda u: u + u, lambda u: u, u)
    return whole(u), reshard(all.sum(0), P()), reshard(rows, P()), reshard(jnp.concatenate([u, u]).T, P())

  table["loop"] = jax.jit(loop)
  for name, fn in table.items():
    yield Case(name, functools.partial(apply, fn), loose=8, several=True)


def arrays():
  """Arrays from one place to another, replicated and mapped programs, and what compiled ones say."""
  x = array("dx", (8, 16), F32)
  specs = [P("x", "y"), P(), P("y"), P(("x", "y")), P(None, ("y", "x"))]

  def moves(devices):
    near, far = mesh_of(devices, (2, 2)), mesh_of(devices[:3:-1], (2, 2))
    lie = [put(x, near, s) for s in specs]
    return [put(a, far, s) for a in lie for s in specs] + [jax.device_put(a, devices[5]) for a in lie]

  def mapped(fn, devices, **how):
    return jax.pmap(fn, axis_name="i", devices=devices, **how)(x)

  yield Case("moves", moves, several=True)
  yield Case("index", lambda d: (lambda a: (a[0], a[1:3], a[:, 1], a + 1, a @ a.T))(put(x, mesh_of(d), P("x", "y"))), loose=8, several=True)
  yield Case("donated", lambda d: jax.jit(lambda a: a * 2, donate_argnums=0)(put(x, mesh_of(d), P("x", "y"))), several=True)
  yield Case("not_donated", lambda d: (lambda a: [jax.jit(lambda a: a.sum(0), donate_argnums=0)(a), np.array(a.is_deleted())])(put(x, mesh_of(d), P("x", "y"))), several=True)
  # JAX 0.9 itself fails there.
  if jax.__version_info__ >= (0, 10): yield Case("parts_of_axes", lambda d: jax.jit(lambda a: (a.reshape(8, 4, 4), a.reshape(4, 32), a.reshape(8, 16, 1)))(put(x, mesh_of(d, (8,), ("x",)), P(None, "x"))), several=True)
  if shard_alike: yield Case("alike", lambda d: (lambda a: [jax.jit(lambda a: shard_alike(a, jnp.full(a.shape, 2.))[1])(a), jax.jit(lambda a: shard_alike(a[:8, :8], (a @ a.T))[1] * 2)(a), jax.jit(jax.grad(lambda a: shard_alike(a, jnp.sin(a))[1].sum()))(a)])(put(x, mesh_of(d, (2, 2)), P("x", "y"))), loose=8, several=True)
  yield Case("memory", lambda d: (lambda s: jax.jit(lambda a: jax.device_put(jax.device_put(a * 2, s.with_memory_kind("pinned_host")), s) + 1)(jax.device_put(x, s)))(NamedSharding(mesh_of(d), P("x", "y"))), several=True)
  yield Case("ordered_callback", lambda d: jax.jit(shard_map(lambda v: (io_callback(lambda a: None, (), v, ordered=True), v + 1)[1], mesh=mesh_of(d, (4,), ("i",)), in_specs=P("i"), out_specs=P("i")))(x), several=True)
  yield Case("pmap/psum", lambda d: mapped(lambda v: v / lax.psum(v, "i"), d), loose=8, several=True)
  yield Case("pmap/grad", lambda d: mapped(jax.grad(lambda v: lax.pmean(jnp.sin(v).sum(), "i")), d), loose=8, several=True)
  yield Case("pmap/groups", lambda d: mapped(lambda v: lax.psum(v, "i", axis_index_groups=[[0, 1, 2, 3], [4, 5, 6, 7]]), d), loose=8, several=True)
  yield Case("pmap/vmap", lambda d: mapped(lambda v: jax.vmap(lambda r: lax.psum(r, ("i", "j")), axis_name="j")(v), d), loose=8, several=True)
  words = lambda text: np.array([w in text for w in ("all-reduce", "all-gather")])
  yield Case("as_text", lambda d: [words(jax.jit(f).lower(put(x, mesh_of(d), P("x", "y"))).compile().as_text()) for f in (lambda a: a.sum(), lambda a: a * 2)], several=True)
  yield Case("keys", lambda d: jax.jit(jax.vmap(lambda k: jax.random.normal(jax.random.wrap_key_data(k), (3,))))(put(np.arange(16, dtype=np.uint32).reshape(8, 2), mesh_of(d), P("x"))), loose=8, several=True)


GROUPS = [operations, collectives, partly, summands, arrays]
