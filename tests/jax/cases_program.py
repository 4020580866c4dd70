# SPDX-License-Identifier: Apache-2.0
"""cases_program.py: jax.random, autodiff and vmap, whole programs, and arrays as such (transfers, donation, errors)."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import jax.experimental.jet
from jax import export, lax

from cases_lax import BF16, C64, F16, F32, F8, SUB, types
from check import Case, array


def random():
  r = jax.random
  draws = {
      "bits": lambda k: r.bits(k, (5, 7)), "bits8": lambda k: r.bits(k, (9,), np.uint8), "bits16": lambda k: r.bits(k, (9,), np.uint16), "uniform": lambda k: r.uniform(k, (5, 7)), "uniform_bf16": lambda k: r.uniform(k, (9,), jnp.bfloat16),
      "uniform_f16": lambda k: r.uniform(k, (9,), jnp.float16, 1, 3), "randint": lambda k: r.randint(k, (9,), -5, 1000), "randint8": lambda k: r.randint(k, (9,), 0, 100, np.int8), "permutation": lambda k: r.permutation(k, 40),
      "permutation_array": lambda k: r.permutation(k, jnp.arange(24).reshape(6, 4), 1, independent=True), "choice": lambda k: r.choice(k, 50, (9,)), "choice_no_replacement": lambda k: r.choice(k, 50, (9,), replace=False),
      "choice_p": lambda k: r.choice(k, 4, (9,), p=jnp.array([.1, .2, .3, .4])), "split": lambda k: r.split(k, 5), "fold_in": lambda k: r.fold_in(k, 17), "bernoulli": lambda k: r.bernoulli(k, .3, (40,)), "rademacher": lambda k: r.rademacher(k, (9,)),
      "categorical": lambda k: r.categorical(k, jnp.arange(12.).reshape(3, 4)),
  }
  close = {
      "normal": lambda k: r.normal(k, (5, 7)), "normal_bf16": lambda k: r.normal(k, (9,), jnp.bfloat16), "normal_c64": lambda k: r.normal(k, (9,), jnp.complex64), "truncated_normal": lambda k: r.truncated_normal(k, -1, 2, (9,)),
      "multivariate_normal": lambda k: r.multivariate_normal(k, jnp.zeros(3), jnp.eye(3)), "beta": lambda k: r.beta(k, 2., 3., (9,)), "exponential": lambda k: r.exponential(k, (9,)), "gamma": lambda k: r.gamma(k, 2.5, (9,)),
      "poisson": lambda k: r.poisson(k, 4., (40,)), "gumbel": lambda k: r.gumbel(k, (9,)), "laplace": lambda k: r.laplace(k, (9,)), "logistic": lambda k: r.logistic(k, (9,)), "pareto": lambda k: r.pareto(k, 2., (9,)), "t": lambda k: r.t(k, 3., (9,)),
      "cauchy": lambda k: r.cauchy(k, (9,)), "dirichlet": lambda k: r.dirichlet(k, jnp.array([1., 2, 3])), "maxwell": lambda k: r.maxwell(k, (9,)), "double_sided_maxwell": lambda k: r.double_sided_maxwell(k, 0., 1., (9,)), "weibull_min": lambda k: r.weibull_min(k, 1., 2., (9,)),
      "rayleigh": lambda k: r.rayleigh(k, 1., (9,)), "chisquare": lambda k: r.chisquare(k, 3., (9,)), "f": lambda k: r.f(k, 3., 4., (9,)), "geometric": lambda k: r.geometric(k, .3, (9,)), "triangular": lambda k: r.triangular(k, 0., 1., 3., (9,)),
      "lognormal": lambda k: r.lognormal(k, shape=(9,)), "wald": lambda k: r.wald(k, 1., (9,)), "ball": lambda k: r.ball(k, 3, shape=(5,)), "orthogonal": lambda k: jnp.abs(r.orthogonal(k, 3)), "binomial": lambda k: r.binomial(k, 10., .4, (9,)), "loggamma": lambda k: r.loggamma(k, 2., (9,)),
      "multinomial": lambda k: r.multinomial(k, 20., jnp.array([.2, .3, .5])), "generalized_normal": lambda k: r.generalized_normal(k, 2., (9,)),
  }
  for impl in ("threefry2x32", "rbg", "unsafe_rbg"):
    for name, fn in draws.items():
      yield Case(f"jax.random.{name}/{impl}", lambda fn=fn, i=impl: fn(r.key(7, impl=i)), (), exact=name not in ("uniform", "uniform_bf16", "uniform_f16"))
  for name, fn in close.items():
    yield Case(f"jax.random.{name}", lambda fn=fn: fn(r.key(7)), (), 300)
  yield Case("jax.random.PRNGKey", lambda s: r.uniform(r.PRNGKey(s), (9,)), (np.int32(3),))
  yield Case("jax.random.big", lambda: r.bits(r.key(1), (1000, 33)), (), exact=True)


def transformations():
  kind = np.float64 if jax.config.jax_enable_x64 else F32  # that of numbers without a type
  x = array("tr", (6,), kind)
  m = array("trm", (4, 6), kind)
  fns = {
      "sin": lambda x: jnp.sin(x).sum(), "prod": lambda x: jnp.prod(x + 4), "sort": lambda x: (jnp.sort(x) * jnp.arange(6)).sum(), "max": lambda x: jnp.max(x), "cumsum": lambda x: (jnp.cumsum(x)**2).sum(), "cumprod": lambda x: jnp.cumprod(x + 4).sum(), "cummax": lambda x: lax.cummax(x).sum(),
      "logsumexp": lambda x: jax.nn.logsumexp(x), "norm": lambda x: jnp.linalg.norm(x), "gather": lambda x: (x[jnp.array([0, 0, 3])]**2).sum(), "scatter": lambda x: (x.at[jnp.array([1, 4])].set(x[:2]**2)**2).sum(), "dynamic": lambda x: lax.dynamic_slice(x, (2,), (3,)).prod(),
      "scan": lambda x: lax.scan(lambda c, a: (c * a + 1, c), 1., x)[0], "while_jvp_free": lambda x: lax.fori_loop(0, 3, lambda i, s: s * x, x).sum(), "cond": lambda x: lax.cond(x[0] > 0, lambda: x.sum(), lambda: (x**2).sum()), "where": lambda x: jnp.where(x > 0, x**2, -x).sum(),
      "conv": lambda x: jnp.convolve(x, x).sum(), "matmul": lambda x: (jnp.outer(x, x) @ x).sum(), "pad": lambda x: (jnp.pad(x, 2)**3).sum(), "fft": lambda x: jnp.abs(jnp.fft.fft(x)).sum(), "solve": lambda x: jnp.linalg.solve(jnp.outer(x, x) + 9 * jnp.eye(6), x).sum(), "chol": lambda x: jnp.linalg.cholesky(jnp.outer(x, x) + 9 * jnp.eye(6)).sum(),
      "det": lambda x: jnp.linalg.det(jnp.outer(x, x) + jnp.eye(6)), "eigh": lambda x: jnp.linalg.eigvalsh(jnp.outer(x, x) + jnp.diag(jnp.arange(6.))).sum(), "lgamma": lambda x: lax.lgamma(jnp.abs(x) + 1).sum(), "erf": lambda x: lax.erf(x).sum(), "pool": lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (2,), (2,), "VALID").sum(),
      "complex": lambda x: jnp.abs(jnp.exp(1j * x) * x).sum(), "interp": lambda x: jnp.interp(x, jnp.linspace(-3, 3, 9), jnp.arange(9.)).sum(), "topk": lambda x: lax.top_k(x, 2)[0].sum(), "checkpoint": lambda x: jax.checkpoint(lambda y: jnp.sin(jnp.sin(y)).sum())(x), "softmax": lambda x: (jax.nn.softmax(x)**2).sum(),
  }
  for name, fn in fns.items():
    yield Case(f"jax.grad/{name}", jax.grad(fn), (x,), 200)
    yield Case(f"jax.jvp/{name}", lambda x, fn=fn: jax.jvp(fn, (x,), (jnp.arange(1, 7, dtype=x.dtype),)), (x,), 200)
    yield Case(f"jax.vmap/{name}", jax.vmap(fn), (m,), 200)
    yield Case(f"jax.vmap_grad/{name}", jax.vmap(jax.grad(fn)), (m,), 400)
    # Of |x exp(ix)| it is zero but for rounding; the others have none worth comparing.
    if name not in ("complex", "scan", "solve", "chol", "det", "eigh", "sort", "topk"):
      yield Case(f"jax.hessian/{name}", jax.hessian(fn), (x,), 2000)
  yield Case("jax.jacfwd", jax.jacfwd(lambda x: jnp.outer(x, jnp.sin(x))), (x,), 16)
  yield Case("jax.jacrev", jax.jacrev(lambda x: jnp.outer(x, jnp.sin(x))), (x,), 16)
  yield Case("jax.linearize", lambda x: jax.linearize(jnp.sin, x)[1](x), (x,), 8)
  yield Case("jax.vjp", lambda x: jax.vjp(jnp.tanh, x)[1](x), (x,), 8)
  yield Case("jax.vmap/axes", lambda a, b: jax.vmap(lambda u, v: u @ v, (1, None), 1)(a, b), (array("va", (3, 5, 4), F32), array("vb", (4, 2), F32)), 16)
  yield Case("jax.vmap/axis_name", lambda m: jax.vmap(lambda v: v - lax.pmean(v, "i"), axis_name="i")(m), (m,), 16)
  yield Case("jax.vmap/all_gather", lambda m: jax.vmap(lambda v: lax.all_gather(v, "i"), axis_name="i")(m), (m,))
  yield Case("jax.experimental.jet", lambda x: jax.experimental.jet.jet(jnp.sin, (x,), ((jnp.ones_like(x), jnp.zeros_like(x)),)), (x,), 16)
  yield Case("jax.experimental.odeint", lambda x: __import__("jax.experimental.ode", fromlist=["odeint"]).odeint(lambda y, t: -y, x, jnp.linspace(0, 1, 5)), (x,), 300)


def programs():
  k = np.float32(.3)

  def mlp(p, x, y):
    for w, b in p[:-1]: x = jax.nn.relu(x @ w + b)
    logits = x @ p[-1][0] + p[-1][1]
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], 1))

  params = [(array(f"w{i}", s, F32, -.5, .5), np.zeros(s[1], F32)) for i, s in enumerate([(16, 32), (32, 32), (32, 5)])]
  data = (array("x", (24, 16), F32), np.abs(array("y", (24,), np.int32)) % 5)
  yield Case("program/mlp_step", lambda p, x, y: jax.tree_util.tree_map(lambda a, g: a - .1 * g, p, jax.grad(mlp)(p, x, y)), (params,) + data, 64)

  def adam(p, x, y):
    def step(s, _):
      p, m, v, t = s
      g = jax.grad(mlp)(p, x, y)
      m = jax.tree_util.tree_map(lambda a, b: .9 * a + .1 * b, m, g)
      v = jax.tree_util.tree_map(lambda a, b: .999 * a + .001 * b * b, v, g)
      p = jax.tree_util.tree_map(lambda a, b, c: a - .01 * (b / (1 - .9**t)) / (jnp.sqrt(c / (1 - .999**t)) + 1e-3), p, m, v)
      return (p, m, v, t + 1), mlp(p, x, y)
    z = jax.tree_util.tree_map(jnp.zeros_like, p)
    return lax.scan(step, (p, z, z, 1.), None, 10)[1]
  yield Case("program/adam_scan", adam, (params,) + data, 1000)

  def block(x, w):
    q, kk, v = jnp.split((x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5) @ w[0], 3, -1)
    h = lambda a: a.reshape(2, 10, 4, 8).transpose(0, 2, 1, 3)
    s = jnp.where(jnp.tril(jnp.ones((10, 10), bool)), h(q) @ h(kk).swapaxes(-1, -2) / 8**.5, -1e9)
    x = x + (jax.nn.softmax(s) @ h(v)).transpose(0, 2, 1, 3).reshape(2, 10, 32) @ w[1]
    return x + jax.nn.gelu(x @ w[2]) @ w[3]
  ws = [array(f"tw{i}", s, F32, -.3, .3) for i, s in enumerate([(32, 96), (32, 32), (32, 64), (64, 32)])]
  yield Case("program/transformer", block, (array("tx", (2, 10, 32), F32), ws), 64)
  yield Case("program/transformer_grad", lambda x, w: jax.grad(lambda w: (block(x, w)**2).mean())(w), (array("tx", (2, 10, 32), F32), ws), 500)

  def lstm(x, w):
    def cell(s, a):
      h, c = s
      i, f, g, o = jnp.split(jnp.concatenate([a, h], -1) @ w, 4, -1)
      c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
      h = jax.nn.sigmoid(o) * jnp.tanh(c)
      return (h, c), h
    return lax.scan(cell, (jnp.zeros((4, 8)), jnp.zeros((4, 8))), x)[1]
  yield Case("program/lstm", lstm, (array("lx", (12, 4, 5), F32), array("lw", (13, 32), F32, -.5, .5)), 64)
  yield Case("program/lstm_grad", lambda x, w: jax.grad(lambda w: lstm(x, w).sum())(w), (array("lx", (12, 4, 5), F32), array("lw", (13, 32), F32, -.5, .5)), 500)

  def convnet(x, w):
    x = jax.nn.relu(lax.conv_general_dilated(x, w[0], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")))
    x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    x = (x - x.mean((0, 1, 2))) / jnp.sqrt(x.var((0, 1, 2)) + 1e-3)
    return (x.reshape(x.shape[0], -1) @ w[1]).sum(0)
  cw = [array("cw0", (3, 3, 3, 8), F32, -.5, .5), array("cw1", (128, 5), F32, -.3, .3)]
  yield Case("program/convnet", convnet, (array("cx", (4, 8, 8, 3), F32), cw), 500)
  yield Case("program/convnet_grad", lambda x, w: jax.grad(lambda w: (convnet(x, w)**2).sum())(w), (array("cx", (4, 8, 8, 3), F32), cw), 3000)
  yield Case("program/newton", lambda x: lax.while_loop(lambda s: jnp.max(jnp.abs(s**2 - x)) > 1e-3, lambda s: .5 * (s + x / s), x), (np.abs(array("nw", (9,), F32)) + 1,), 64)
  yield Case("program/mandelbrot", lambda c: lax.fori_loop(0, 20, lambda i, z: jnp.where(jnp.abs(z) < 4, z * z + c, z), jnp.zeros_like(c)), (array("mb", (8, 9), C64, -.5, .5),), 500)
  shapes = ((2, 3, 53, 29), (2, 3, 29, 29), (2, 3, 53, 29), (2, 3, 1, 29))  # what finishes a product calls a helper that nothing else needs
  yield Case("program/complex_quotient", lambda a, w, c, b: (c - a @ w) / b, tuple(array(f"cq{k}", s, C64, .5, 3.) for k, s in enumerate(shapes)), 20)
  yield Case("program/life", lambda b: lax.fori_loop(0, 5, lambda i, b: ((lambda n: (n == 3) | (b & (n == 2)))(sum(jnp.roll(b, (i, j), (0, 1)).astype(int) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j))), b), (array("lf", (12, 12), np.bool_),))
  swap = lambda i, v: lax.cond(v[i] > v[i + 1], lambda v: v.at[i].set(v[i + 1]).at[i + 1].set(v[i]), lambda v: v, v)
  yield Case("program/bubble", lambda v: lax.fori_loop(0, 40, lambda _, v: lax.fori_loop(0, 39, swap, v), v), (array("bu", (40,), F32),))
  turns = [lambda c: (c[0].at[1:3].set(c[1][0]), c[1].at[2].add(1)), lambda c: (c[0].at[0].multiply(2), c[1].at[-1].set(c[0][3])), lambda c: c]
  yield Case("program/turns", lambda v, w: lax.fori_loop(0, 9, lambda i, c: lax.switch(i % 3, turns, c), (v, w)), (array("tu", (8,), F32), array("tv", (9,), F32)))
  yield Case("program/kmeans", lambda x: lax.fori_loop(0, 5, lambda i, c: (lambda a: jax.ops.segment_sum(x, a, 3) / jnp.maximum(jax.ops.segment_sum(jnp.ones(40, F32), a, 3), 1)[:, None])(jnp.argmin(((x[:, None] - c)**2).sum(-1), 1)), x[:3]), (array("km", (40, 2), F32),), 64)
  # Gradients of loops whose rounds read and set parts of what they carry: their sums get a part in each round.
  loop = lambda n, f: lambda v: (lax.fori_loop(0, n, f, v)**2).sum()
  several = jnp.array([1, 5, 7])
  carries = {
      "element": loop(300, lambda i, v: v.at[i + 1].set(jnp.sin(v[i]) * 1.1 + v[i + 1])), "add": loop(300, lambda i, v: v.at[i + 1].add(jnp.sin(v[i]))), "multiply": loop(300, lambda i, v: v.at[i + 1].multiply(jnp.sin(v[i]))),
      "window": loop(290, lambda i, v: lax.dynamic_update_slice(v, jnp.sin(lax.dynamic_slice(v, (i,), (4,))), (i + 2,))), "swap": loop(300, lambda i, v: v.at[i].set(v[i + 1]).at[i + 1].set(v[i] * .9)),
      "row": lambda v: loop(20, lambda i, m: m.at[i].set(jnp.sin(m[i + 1]) + m[i]))(v[:294].reshape(21, 14)), "column": lambda v: loop(13, lambda i, m: m.at[:, i].set(jnp.sin(m[:, i + 1])))(v[:294].reshape(21, 14)),
      "scatter": loop(290, lambda i, v: v.at[several + i].set(jnp.sin(v[several * 2 - i]))), "scatter_add": loop(290, lambda i, v: v.at[several + i].add(.1 * jnp.sin(v[several - 1 + i]))), "static": loop(300, lambda i, v: v.at[i].set(jnp.sin(v[3] + v[i]))),
      "conditional": loop(300, lambda i, v: lax.cond(i % 3 == 0, lambda v: v.at[i + 1].set(jnp.sin(v[i])), lambda v: v, v)), "vmap": lambda v: jax.vmap(loop(99, lambda i, v: v.at[i + 1].set(jnp.sin(v[i]) + v[i + 1])))(v[:300].reshape(3, 100)).sum(),
      "two": lambda v: (lambda a, b: (a * b).sum())(*lax.fori_loop(0, 300, lambda i, s: (s[0].at[i + 1].set(jnp.sin(s[1][i])), s[1].at[i + 1].set(jnp.cos(s[0][i]))), (v, v + 1))), "half": lambda v: loop(300, lambda i, v: v.at[i + 1].set(jnp.sin(v[i]) + v[i + 1]))(v.astype(jnp.bfloat16)).astype(F32),
      "read": lambda v: lax.scan(lambda c, i: (jnp.sin(c) * v[i] + v[(i * 7) % 300] * v[3], c), F32(.1), jnp.arange(300))[1].sum(), "read_row": lambda v: lax.scan(lambda c, i: (jnp.sin(c) + v[:294].reshape(21, 14)[i], None), jnp.ones(14), jnp.arange(21))[0].sum(),
  }
  for name, fn in carries.items(): yield Case(f"program/loop_grad/{name}", jax.value_and_grad(fn), (array("lg", (301,), F32, .1, 1.),), 2e5 if name == "half" else 200)
  yield Case("program/export", lambda x: export.deserialize(export.export(jax.jit(lambda a: jnp.sin(a) * 2), platforms=["cpu", "halo"])(jax.ShapeDtypeStruct((6,), jnp.float32)).serialize()).call(x), (array("ex", (6,), F32),), 8, jit=False)
  def exported(x):
    n, = export.symbolic_shape("n")
    return export.export(jax.jit(lambda a: jnp.cumsum(a) + a.shape[0]), platforms=["cpu", "halo"])(jax.ShapeDtypeStruct((n,), jnp.float32)).call(x)
  yield Case("program/export_symbolic", exported, (array("ex", (6,), F32),), 8, jit=False)


def arrays():
  kinds = types("fciub") + F8 + SUB
  for dtype in kinds:
    n = np.dtype(dtype).name
    for shape in ((), (0,), (3, 0, 2), (5,), (3, 4)):
      yield Case(f"array/round_trip/{n}{list(shape)}", lambda x: x, (array("rt", shape, dtype),), exact=True, jit=False)
    yield Case(f"array/identity/{n}", lambda x: x, (array("rt", (3, 4), dtype),), exact=True)
    yield Case(f"array/constant/{n}", lambda x=array("rt", (3, 4), dtype): jnp.asarray(x), (), exact=True)
    yield Case(f"array/large_constant/{n}", lambda x=array("rt", (30, 40), dtype): jnp.asarray(x), (), exact=True)
  x = array("st", (6, 8), F32)
  for name, view in {"transposed": x.T, "strided": x[::2, 1::3], "reversed": x[::-1, ::-1], "broadcast": np.broadcast_to(x[0], (5, 8)), "fortran": np.asfortranarray(x)}.items():
    yield Case(f"array/layout/{name}", lambda a: a, (view,), exact=True, jit=False)
  yield Case("array/eager", lambda x: (x + 1) * 2 - x.sum() + jnp.zeros((6, 8))[0, 0], (x,), 8, jit=False)
  yield Case("array/list", lambda x: jnp.array([x[0, 0], 2., x[1, 1]]), (x,), jit=False)
  yield Case("array/iterate", lambda x: [row.sum() for row in x], (x,), 8, jit=False)
  yield Case("array/unused", lambda x, y: x * 2, (x, x))
  yield Case("array/same_twice", lambda x: (x, x, x + 1), (x,))
  yield Case("array/no_results", lambda x: (), (x,))
  yield Case("array/many", lambda *a: [v + 1 for v in a], tuple(array(f"m{i}", (i % 5 + 1,), F32) for i in range(60)))
  yield Case("array/copy", lambda x: jnp.copy(x), (x,), jit=False)

  def donated(x):
    f = jax.jit(lambda a: a + 1, donate_argnums=0)
    a = jnp.array(x)
    b = f(a)
    return b
  yield Case("array/donated", donated, (x,), jit=False)

  def fails(x):
    try:
      jax.jit(lambda a: jax.ffi.ffi_call("no_such_target", jax.ShapeDtypeStruct((6, 8), jnp.float32))(a))(x).block_until_ready()
    except Exception as e:
      assert "no_such_target" in str(e), str(e)
    return x + 1
  yield Case("array/after_failure", fails, (x,), jit=False)
  yield Case("array/is_ready", lambda x: (jax.block_until_ready(x * 2), jax.block_until_ready([x])), (x,), jit=False)
  yield Case("array/delete", lambda x: (lambda a: (a.delete(), jnp.float32(a.is_deleted()))[1])(x + 1), (x,), jit=False)
  yield Case("array/effects_barrier", lambda x: (jax.effects_barrier(), x)[1], (x,), jit=False)


GROUPS = [random, transformations, programs, arrays]
