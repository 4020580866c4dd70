# SPDX-License-Identifier: Apache-2.0
"""processes.py: JAX on several processes, each with devices of its own, which mpiexec started or nobody in particular.

    python tests/jax/processes.py [-n PROCESSES ...] [--by WAY] [--devices COUNT] [--match TEXT | --short]

starts itself, with as many processes as each -n says (2 and 4), and on each goes through the same cases; then has one
process alone keep what it compiled, and lets one fail, in each way in which one can, and sees what the others are told.
All of that in each WAY: `hand`, which tells JAX who is who, so that the processes are connected over TCP, and `mpiexec`,
where that is there, over MPI. Ends with "N passed, N failed".
"""

import argparse
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

LIMIT = 5  # seconds that a collective waits where a process is to fail


# ---- Cases: each process goes through all of them in this order. `job` has what they share. ----


def devices(job):
  jax, np = job.jax, job.np
  everyone = jax.devices()
  assert [d.id for d in everyone] == list(range(len(everyone))), everyone
  assert jax.process_count() == job.count and jax.process_index() == job.process
  assert [d.process_index for d in everyone] == sorted(d.process_index for d in everyone)
  assert len(jax.local_devices()) == job.each
  for device in everyone:
    here = device.process_index == job.process
    assert (device in jax.local_devices()) == here
    assert device.device_kind == jax.local_devices()[0].device_kind
    assert device.compute_units > 0 and device.opencl_platform
    if here: continue
    refused(lambda d=device: d.memory_stats(), "another process", "addressable")


def local_data(job):
  jax, np = job.jax, job.np
  part = np.arange(job.each * 12, dtype=np.float32).reshape(job.each, 12) + 100 * job.process
  whole = np.concatenate([np.arange(job.each * 12, dtype=np.float32).reshape(job.each, 12) + 100 * p for p in range(job.count)])
  x = jax.make_array_from_process_local_data(job.sharding("i"), part)
  assert x.shape == whole.shape and not x.is_fully_addressable
  for shard in x.addressable_shards:
    np.testing.assert_array_equal(shard.data, whole[shard.index])
  y = jax.jit(lambda x: (x * 2).sum(1))(x)
  for shard in y.addressable_shards:
    np.testing.assert_allclose(shard.data, (whole * 2).sum(1)[shard.index], rtol=1e-6)
  assert float(jax.jit(lambda x: x.sum())(x)) == whole.sum()
  refused(lambda: np.asarray(x), "non-addressable")
  z = jax.make_array_from_callback(whole.shape, job.sharding(None, None), lambda index: whole[index])
  np.testing.assert_array_equal(z, whole)


def utilities(job):
  np = job.np
  from jax.experimental import multihost_utils as utils
  mine = np.arange(3) + 10 * job.process
  gathered = utils.process_allgather(mine)
  np.testing.assert_array_equal(gathered, np.stack([np.arange(3) + 10 * p for p in range(job.count)]))
  tiled = utils.process_allgather({"a": mine.astype(np.float32), "b": np.float32(job.process)})
  np.testing.assert_array_equal(tiled["b"], np.arange(job.count))
  np.testing.assert_array_equal(utils.broadcast_one_to_all(mine), np.arange(3))
  np.testing.assert_array_equal(utils.broadcast_one_to_all(mine, is_source=job.process == job.count - 1), np.arange(3) + 10 * (job.count - 1))
  utils.sync_global_devices("a name")
  utils.assert_equal(np.ones(4), "is the same")
  refused(lambda: utils.assert_equal(mine, "differs"), "differs")
  x = job.spread(np.arange(job.total * 4, dtype=np.int32).reshape(job.total, 4))
  np.testing.assert_array_equal(utils.process_allgather(x, tiled=True), np.arange(job.total * 4).reshape(job.total, 4))
  rows = utils.global_array_to_host_local_array(x, job.mesh, job.P("i"))
  np.testing.assert_array_equal(rows, np.arange(job.total * 4).reshape(job.total, 4)[job.process * job.each:(job.process + 1) * job.each])


def pmap(job):
  jax, np, lax = job.jax, job.np, job.jax.lax
  mine = np.arange(job.each * 5, dtype=np.float32).reshape(job.each, 5) + job.process
  total = sum((np.arange(job.each * 5, dtype=np.float32).reshape(job.each, 5) + p).sum(0) for p in range(job.count))
  summed = jax.pmap(lambda x: lax.psum(x, "i"), axis_name="i")(mine)
  for shard in summed.addressable_shards:
    np.testing.assert_allclose(np.asarray(shard.data).reshape(5), total, rtol=1e-6)
  places = jax.pmap(lambda x: lax.axis_index("i") + 0 * x.astype(int), axis_name="i")(mine)
  for d, shard in enumerate(places.addressable_shards):
    assert np.all(np.asarray(shard.data) == job.process * job.each + d)


def shard_map(job):
  jax, np, lax, P = job.jax, job.np, job.jax.lax, job.P
  n = job.total
  whole = np.random.default_rng(0).normal(size=(n, n, 6)).astype(np.float32)
  x = job.spread(whole)

  def check(name, fn, expected, out):
    result = jax.jit(jax.shard_map(fn, mesh=job.mesh, in_specs=P("i"), out_specs=out, check_vma=False))(x)
    for shard in result.addressable_shards:
      np.testing.assert_allclose(shard.data, expected[shard.index], rtol=1e-5, atol=1e-6, err_msg=name)
  check("psum", lambda x: lax.psum(x, "i"), whole.sum(0, keepdims=True), P())
  check("pmax", lambda x: lax.pmax(x, "i"), whole.max(0, keepdims=True), P())
  check("all_gather", lambda x: lax.all_gather(x, "i", tiled=True), whole, P())
  check("psum_scatter", lambda x: lax.psum_scatter(x[0], "i", tiled=True), whole.sum(0), P("i"))
  check("all_to_all", lambda x: lax.all_to_all(x, "i", 1, 0, tiled=True), whole.transpose(1, 0, 2).reshape(n * n, 1, 6), P("i"))
  check("ppermute", lambda x: lax.ppermute(x, "i", [(i, (i + 1) % n) for i in range(n)]), np.roll(whole, 1, 0), P("i"))


def jit(job):
  """Programs of whole arrays, partitioned over all processes."""
  jax, np, jnp = job.jax, job.np, job.jax.numpy
  rng = np.random.default_rng(1)
  a, b = (rng.normal(size=(8 * job.total, 8 * job.total)).astype(np.float32) for _ in range(2))
  for left, right, out in (("i", None), (None, "i"), ("i", None)), ((None, "i"), ("i", None), (None, None)), (("i", None), (None, None), (None, "i")):
    product = jax.jit(jnp.matmul, out_shardings=job.sharding(*out))(job.put(a, *left), job.put(b, *right))
    for shard in product.addressable_shards:
      np.testing.assert_allclose(shard.data, (a @ b)[shard.index], rtol=1e-4, atol=1e-4)
  x = job.put(a, "i", None)
  np.testing.assert_allclose(jax.jit(lambda x: jnp.sort(x.reshape(-1))[:5], out_shardings=job.sharding(None))(x), np.sort(a.reshape(-1))[:5])
  np.testing.assert_allclose(jax.jit(lambda x: jnp.cumsum(x, 0)[-1], out_shardings=job.sharding(None))(x), a.sum(0), rtol=1e-3, atol=1e-3)
  turned = jax.device_put(x, job.sharding(None, "i"))
  for shard in turned.addressable_shards:
    np.testing.assert_array_equal(shard.data, a[shard.index])
  eager = (x + 1).T @ x
  for shard in eager.addressable_shards:
    np.testing.assert_allclose(shard.data, ((a + 1).T @ a)[shard.index], rtol=1e-3, atol=1e-3)
  step = jax.jit(lambda x: x + 1, donate_argnums=0)
  given = job.put(a, "i", None)
  taken = step(step(given))
  assert given.is_deleted()
  for shard in taken.addressable_shards:
    np.testing.assert_allclose(shard.data, a[shard.index] + 2, rtol=1e-6)
  loop = jax.jit(lambda x: jax.lax.fori_loop(0, 10, lambda _, c: c / jnp.linalg.norm(c), x))(x)
  assert abs(float(jax.jit(jnp.linalg.norm)(loop)) - 1) < 1e-5


def training(job):
  """The batch spread, the weights everywhere; and the weights spread too. One process does the same alone."""
  jax, np, jnp = job.jax, job.np, job.jax.numpy
  rng = np.random.default_rng(2)
  weights = [rng.normal(size=s).astype(np.float32) / 4 for s in ((16, 8 * job.total), (8 * job.total, 8 * job.total), (8 * job.total, 4))]
  x, y = rng.normal(size=(8 * job.total, 16)).astype(np.float32), rng.integers(0, 4, 8 * job.total)

  def loss_of(w, x, y):
    h = jax.nn.relu(x @ w[0])
    h = jax.nn.gelu(h @ w[1])
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(h @ w[2]), y[:, None], 1))

  def train(w, x, y):
    step = jax.jit(lambda w, x, y: (lambda l, g: (l, [a - .5 * b for a, b in zip(w, g)]))(*jax.value_and_grad(loss_of)(w, x, y)))
    losses = []
    for _ in range(8):
      loss, w = step(w, x, y)
      losses.append(float(loss))
    return losses

  alone = train(weights, x, y)
  assert alone[-1] < alone[0]
  everywhere = [job.put(w) for w in weights]
  np.testing.assert_allclose(train(everywhere, job.put(x, "i"), job.put(y, "i")), alone, rtol=1e-4)
  spread = [job.put(weights[0], None, "i"), job.put(weights[1], "i", None), job.put(weights[2])]
  np.testing.assert_allclose(train(spread, job.put(x), job.put(y)), alone, rtol=1e-4)


def own_programs(job):
  """What one process computes alone is nobody else's business."""
  jax, np = job.jax, job.np
  x = np.arange(5, dtype=np.float32)
  for k in range(job.process + 1):
    np.testing.assert_allclose(jax.jit(lambda x: x * (job.process + 2) + k)(x), x * (job.process + 2) + k)
  device = jax.local_devices()[-1]
  y = jax.device_put(x, device)
  np.testing.assert_array_equal(y + y, 2 * x)
  assert (y + y).devices() == {device}
  assert abs(jax.random.uniform(jax.random.key(job.process)).sum()) <= 1
  mesh = jax.sharding.Mesh(np.array(jax.local_devices()), ("j",))
  z = jax.device_put(np.arange(job.each * 3.), jax.sharding.NamedSharding(mesh, job.P("j")))
  assert float(z.sum()) == np.arange(job.each * 3.).sum()


def some_processes(job):
  """Programs for devices of some processes: in others the same calls give arrays without pieces, and nobody waits for them."""
  jax, np, lax, P = job.jax, job.np, job.jax.lax, job.P
  whole = np.random.default_rng(3).normal(size=(24, 24)).astype(np.float32)
  for members in ([0, 1], [1, job.count - 1], [0, *range(job.count // 2, job.count)]):
    mesh = jax.sharding.Mesh(np.array([d for d in jax.devices() if d.process_index in members]), ("i",))
    rows = jax.sharding.NamedSharding(mesh, P("i") if len(whole) % mesh.size == 0 else P())
    x = jax.make_array_from_callback(whole.shape, rows, lambda index: whole[index], dtype=whole.dtype)
    product = jax.jit(lambda a: a @ a.T, out_shardings=rows)(x)
    assert bool(product.addressable_shards) == (job.process in members) and product.sharding == rows
    for shard in product.addressable_shards:
      np.testing.assert_allclose(shard.data, (whole @ whole.T)[shard.index], rtol=1e-4, atol=1e-4)
    count = jax.jit(jax.shard_map(lambda a: lax.psum(a[0], "i"), mesh=mesh, in_specs=P("i"), out_specs=P()))(np.arange(mesh.size))
    for shard in count.addressable_shards: assert int(shard.data) == sum(range(mesh.size))
    for shard in (x + 1).sum().addressable_shards: np.testing.assert_allclose(float(shard.data), (whole + 1).sum(), rtol=1e-4)
    for k in range(job.process): np.testing.assert_allclose(jax.jit(lambda x: x + k)(whole), whole + k)
  total = jax.jit(lambda a: a.sum())(job.spread(np.arange(job.total, dtype=np.float32)))
  assert float(total) == sum(range(job.total))


def callbacks(job):
  jax, np = job.jax, job.np
  seen = []
  jax.jit(lambda x: jax.debug.callback(lambda v: seen.append(np.asarray(v)), x.sum()))(np.ones(4, np.float32))
  jax.effects_barrier()
  assert len(seen) == 1 and seen[0] == 4, seen


def callbacks_of_all(job):
  """Of arrays that are spread over the processes: once, on the first, or on each device where all have arrays of their own."""
  jax, np, P = job.jax, job.np, job.P
  x, seen = job.spread(np.arange(job.total * 3, dtype=np.float32).reshape(job.total, 3)), []
  jax.jit(lambda x: jax.debug.callback(lambda v: seen.append(np.asarray(v)), x.sum(0)))(x)
  jax.effects_barrier()
  assert len(seen) == (job.process == 0), seen
  twice = lambda x: jax.pure_callback(lambda v: np.asarray(v) * 2, jax.ShapeDtypeStruct(x.shape, x.dtype), x)
  for f in (twice, jax.shard_map(twice, mesh=job.mesh, in_specs=P("i"), out_specs=P("i"))):
    for shard in jax.jit(f, out_shardings=job.sharding("i"))(x).addressable_shards:
      np.testing.assert_array_equal(shard.data, (np.arange(job.total * 3).reshape(job.total, 3) * 2)[shard.index])


def partitioners(job):
  """Each process asks its own function, whose address is its own."""
  from jax.experimental.custom_partitioning import custom_partitioning
  jax, np, lax = job.jax, job.np, job.jax.lax
  whole, seen = np.arange(job.total * 3, dtype=np.float32).reshape(job.total, 3), []
  sums = custom_partitioning(lambda x: x.sum(0))

  def part(mesh, operands, results):
    return mesh, lambda x: lax.psum(x.sum(0), "i"), jax.sharding.NamedSharding(mesh, job.P(None)), (operands[0].sharding,)

  sums.def_partition(part, sharding_rule="i j -> j")

  def f(x):
    jax.debug.inspect_array_sharding(x, callback=lambda s: seen.append(s.spec))
    return sums(x)

  np.testing.assert_allclose(jax.jit(f)(job.spread(whole)), whole.sum(0))
  assert seen == [job.P("i")], seen


def differences(job):
  """Programs that are not the same are refused on all sides, and what comes after them is not harmed."""
  jax, np = job.jax, job.np
  x = job.spread(np.ones((job.total, 3), np.float32))
  refused(lambda: jax.jit(lambda x: (x + job.process).sum())(x).block_until_ready(), "compile different programs")
  assert float(jax.jit(lambda x: (x + 7).sum())(x)) == 8 * 3 * job.total


CASES = [devices, local_data, utilities, pmap, shard_map, jit, training, own_programs, some_processes, callbacks, callbacks_of_all, partitioners, differences]

# ---- One process fails: the others say what they are told. ----


def leave(job):
  if job.process == 1:
    os.kill(os.getpid(), 9)


def keep_away(job):
  if job.process == 1:
    time.sleep(3 * LIMIT)


FAULTS = {"killed": leave, "late": keep_away}


def fail(job, how):
  jax, np = job.jax, job.np
  x = job.spread(np.ones((job.total, 3), np.float32))
  total = jax.jit(lambda x: x.sum())
  assert float(total(x)) == 3 * job.total
  start = time.time()
  FAULTS[how](job)
  try:
    float(total(x))
    job.say("nothing")
  except Exception as error:  # pylint: disable=broad-except
    job.say(f"{time.time() - start:.1f} {' '.join(str(error).split())}")
  # JAX's service waits for processes that are gone.
  os._exit(0)


# ---- In each process ----


def refused(call, *texts):
  try:
    call()
  except Exception as error:  # pylint: disable=broad-except
    assert any(text in str(error) for text in texts), f"refused with: {error}"
    return
  raise AssertionError(f"not refused ({texts[0]})")


class Job:
  """A process's view of the job: JAX is there, all devices are in one mesh."""

  def __init__(self, results, place):
    import jax
    import numpy as np
    self.process, self.count, coordinator = place
    if coordinator: jax.distributed.initialize(coordinator_address=coordinator, num_processes=self.count, process_id=self.process)
    else: jax.distributed.initialize()
    self.jax, self.np, self.P = jax, np, jax.sharding.PartitionSpec
    self.each, self.total = jax.local_device_count(), jax.device_count()
    self.mesh = jax.sharding.Mesh(np.array(jax.devices()), ("i",))
    self.results = open(os.path.join(results, str(self.process)), "w")

  def say(self, line):
    """To the launcher: not by the way of mpiexec, which may mix lines up."""
    print(line, file=self.results, flush=True)

  def sharding(self, *axes):
    return self.jax.sharding.NamedSharding(self.mesh, self.P(*axes))

  def put(self, whole, *axes):
    return self.jax.make_array_from_callback(whole.shape, self.sharding(*axes), lambda index: whole[index])

  def spread(self, whole):
    return self.put(whole, "i")


def worker(options):
  import traceback
  import warnings
  warnings.filterwarnings("ignore")
  if options.place:
    process, count, coordinator = options.place.split("/")
    place = int(process), int(count), coordinator
  else:
    # Open MPI 5 no longer tells processes where the first one is, which JAX asks older ones for.
    tells = "OMPI_MCA_orte_hnp_uri" in os.environ
    place = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"]), None if tells else options.coordinator
  if options.cache and place[0] == 0:
    os.environ.update(JAX_COMPILATION_CACHE_DIR=options.cache, JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS="0", JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES="0")
  job = Job(options.worker, place)
  if options.fault: return fail(job, options.fault)
  for case in CASES:
    if options.match and options.match not in case.__name__: continue
    try:
      case(job)
      job.say(f"PASS {case.__name__}")
    except Exception:  # pylint: disable=broad-except
      job.say(f"FAIL {case.__name__} {' '.join(traceback.format_exc(limit=-2).split())[-1500:]}")
  return 0


# ---- The launcher ----


def commands(way, count, launcher, worker):
  """What is started so that there are so many processes."""
  with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    coordinator = f"127.0.0.1:{free.getsockname()[1]}"
  if way == "mpiexec":
    return [["mpiexec", "--oversubscribe", *launcher, "-n", str(count), *worker, "--coordinator", coordinator]]
  return [[*worker, "--place", f"{process}/{count}/{coordinator}"] for process in range(count)]


def start(count, way, options, *more, launcher=()):
  """What each process says, a list of lines; the worst exit status; standard error."""
  environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_btl_vader_single_copy_mechanism="none",
                     JAX_PLATFORMS="halo,cpu", HALO_DEVICE=options.device if options.devices == 1 else f"{options.device}*{options.devices}")
  if more and more[0] == "--fault": environment["HALO_COLLECTIVE_TIMEOUT"] = str(LIMIT)
  with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as errors:
    worker = [sys.executable, os.path.abspath(__file__), "--worker", folder, *more]
    started = [subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=errors) for command in commands(way, count, launcher, worker)]
    until, codes = time.time() + options.timeout, []
    for process in started:
      try:
        codes.append(process.wait(max(until - time.time(), 0)))
      except subprocess.TimeoutExpired:
        process.terminate()  # mpiexec ends those that it started
        process.wait()
        codes.append(124)
    errors.seek(0)
    said = [open(os.path.join(folder, name)).read().splitlines() for name in sorted(os.listdir(folder))]
    return said, max(codes, key=abs), errors.read().strip()[-1500:]


def run_cases(count, way, options):
  begin = time.time()
  said, code, errors = start(count, way, options, *(["--match", options.match] if options.match else []))
  names = [case.__name__ for case in CASES if not options.match or options.match in case.__name__]
  bad = {}
  for name in names:
    passed = sum(f"PASS {name}" in lines for lines in said)
    why = {line.split(" ", 2)[2] for lines in said for line in lines if line.startswith(f"FAIL {name} ")}
    if passed != count: bad[name] = f"{count - passed} of {count} processes: {' | '.join(sorted(why))}"
  if code: bad["the end"] = f"ended with {code}: {errors}"
  good = sum(name not in bad for name in names)
  print(f"{count} processes of {options.devices} devices, by {way}: {good} passed, {len(bad)} failed, {time.time() - begin:.0f} s", flush=True)
  for name, why in bad.items():
    print(f"  {name}: {why}", flush=True)
  return good, len(bad)


def run_fault(how, way, options):
  """Of three processes the second fails; the others are told who does not come, within the limit."""
  said, code, errors = start(3, way, options, "--fault", how, launcher=["--enable-recovery"])
  told = [line for lines in said for line in lines]
  good = [line for line in told if re.match(r"[\d.]+ ", line) and float(line.split()[0]) < 2 * LIMIT and ("process 1" in line or "connection to other processes" in line)]
  wrong = len(good) < 2
  print(f"a process is {how}, by {way}: {'FAIL' if wrong else 'passed'}", flush=True)
  if wrong: print(f"  {code}: {told} {errors}", flush=True)
  return int(not wrong), int(wrong)


def run_cache(way, options):
  """One process of two finds its programs in JAX's cache the second time, the other compiles them."""
  wrong = None
  with tempfile.TemporaryDirectory() as folder:
    for _ in range(2):
      said, code, errors = start(2, way, options, "--cache", folder, "--match", "training")
      if said != [["PASS training"]] * 2 or not os.listdir(folder):
        wrong = f"{code}: {said} {len(os.listdir(folder))} files {errors}"
  print(f"a cache of one process, by {way}: {'FAIL' if wrong else 'passed'}", flush=True)
  if wrong: print(f"  {wrong}", flush=True)
  return int(not wrong), int(wrong is not None)


def main():
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument("-n", type=int, action="append", help="processes; may be given several times")
  parser.add_argument("--by", choices=("hand", "mpiexec"), action="append", help="how they are started; may be given twice")
  parser.add_argument("--device", default="cpu", help="as HALO_DEVICE")
  parser.add_argument("--devices", type=int, default=1, help="of each process")
  parser.add_argument("--match", help="cases whose names hold this text, and nothing else")
  parser.add_argument("--short", action="store_true", help="the cases alone, on two processes")
  parser.add_argument("--timeout", type=float, default=300, help="seconds for each start")
  parser.add_argument("--worker", metavar="FOLDER", help=argparse.SUPPRESS)
  parser.add_argument("--place", help=argparse.SUPPRESS)
  parser.add_argument("--coordinator", help=argparse.SUPPRESS)
  parser.add_argument("--cache", help=argparse.SUPPRESS)
  parser.add_argument("--fault", help=argparse.SUPPRESS)
  options = parser.parse_args()
  if options.worker: return worker(options)
  results, ways = [], options.by or ["hand"] + ["mpiexec"] * bool(shutil.which("mpiexec"))
  for way in ways:
    results += [run_cases(count, way, options) for count in options.n or ((2,) if options.short else (2, 4))]
    if not options.match and not options.short: results += [run_cache(way, options)] + [run_fault(how, way, options) for how in FAULTS]
  passed, failed = (sum(column) for column in zip(*results))
  print(f"{passed} passed, {failed} failed")
  return 1 if failed else 0


if __name__ == "__main__":
  sys.exit(main())
