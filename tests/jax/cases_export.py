# SPDX-License-Identifier: Apache-2.0
"""cases_export.py: programs that are exported with dimensions left open, written, read, and called with arrays."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
from jax import export, lax

from check import Case, array

F32 = np.float32
M, N, V = array("em", (3, 4), F32, 0, 1), array("en", (4, 5), F32, 0, 1), array("ev", (5,), F32, 0, 1)


def _case(name, fn, shapes, args, loose=32., where=(), exact=False):
  """`shapes` has a text for each argument: "b, 2*c"."""

  def run(*args):
    with warnings.catch_warnings():
      warnings.simplefilter("ignore")
      specs = export.symbolic_args_specs(args, shapes, constraints=where)
      platforms = list(dict.fromkeys(["cpu", jax.devices()[0].platform]))
      program = export.export(jax.jit(fn), platforms=platforms)(*specs).serialize()
    return export.deserialize(program).call(*args)

  return Case(f"export/{name}", run, args, loose, jit=False, exact=exact)


def moves():
  m = ["b, c"]
  fns = {
      "arange": (lambda x: jnp.arange(x.shape[0]) + x.sum(), ["b, _"]), "arange_step": (lambda x: jnp.arange(0, x.shape[0] * 2, 2), m),
      "broadcast_to": (lambda x: jnp.broadcast_to(x, (x.shape[0], *x.shape)), m), "broadcast_in_dim": (lambda x: lax.broadcast_in_dim(x, (x.shape[0], 7, x.shape[1]), (0, 2)), m),
      "collapse": (lambda x: lax.collapse(x[:, None], 0, 2), m), "concatenate": (lambda x: jnp.concatenate([x, x[:1], x]), ["b + 1, c"]), "eye": (lambda x: jnp.eye(*x.shape) + x, m),
      "expand_dims": (lambda x: jnp.expand_dims(x, (0, 2)), m), "full": (lambda x: lax.full((x.shape[0], 2), 3.), m), "row": (lambda x: x[:, 1], ["b, c + 2"]),
      "slices": (lambda x: x[1:, ::2], ["b + 1, c"]), "from_end": (lambda x: x[-2:], ["b + 2, c"]), "reshape": (lambda x: x.reshape(-1), m), "reshape_parts": (lambda x: x.reshape(x.shape[0] * 2, -1), ["b, 2*c"]),
      "reshape_turned": (lambda x: x.reshape(x.shape[1], x.shape[0]), m), "rev": (lambda x: lax.rev(x, (0,)), m), "roll": (lambda x: jnp.roll(x, x.shape[0] // 2, 0), m), "pad": (lambda x: jnp.pad(x, ((1, 2), (0, x.shape[0]))), m),
      "pad_edge": (lambda x: jnp.pad(x, 1, "edge"), m), "lax_pad": (lambda x: lax.pad(x, F32(3), ((1, 0, 1), (x.shape[1], -1, 0))), m), "split": (lambda x: jnp.split(x, 2, 1), ["b, 2*c"]), "stack": (lambda x: jnp.stack([x, x], 1), m),
      "tile": (lambda x: jnp.tile(x, (x.shape[0], 2)), m), "transpose": (lambda x: x.T, m), "tril": (lambda x: jnp.tril(x), m), "dimensions": (lambda x: jnp.array([x.shape[0] % 3 + x.shape[0] // 2, x.shape[0] * x.shape[1]]), m),
      "meshgrid": (lambda x: jnp.meshgrid(x[0], x[:, 0]), m), "nonzero": (lambda x: jnp.nonzero(x > .5, size=x.shape[0] * x.shape[1], fill_value=9), m),
      "dynamic_slice": (lambda x: lax.dynamic_slice_in_dim(x, 1, x.shape[0] - 1, 0), ["b + 1, c"]), "dynamic_update": (lambda x: lax.dynamic_update_slice(x, x[:2, :1], (1, 1)), ["b + 2, c + 1"]),
      "take": (lambda x: x[jnp.array([0, 2, 5, -1])], m), "take_clip": (lambda x: jnp.take(x, jnp.array([0, 2, 9]), 0, mode="clip"), m), "one_hot": (lambda x: jax.nn.one_hot(jnp.arange(3), x.shape[1]), m),
      "add_at": (lambda x: x.at[jnp.array([0, 2])].add(x[:2]), ["b + 2, c"]), "set_at": (lambda x: x.at[1].set(x[0]), ["b + 2, c"]), "drop": (lambda x: x.at[jnp.array([1, 77])].set(x[:2], mode="drop"), ["b + 2, c"]), "max_at": (lambda x: x.at[:1].max(x[1:2]), ["b + 1, c"]),
  }
  for name, (fn, shapes) in fns.items():
    yield _case(name, fn, shapes, (M,))


def computes():
  m, v = ["b, c"], ["b"]
  square = np.stack([np.eye(4, dtype=F32) * 3 + M.T @ M * k for k in (F32(.1), F32(.2))])
  image, kernel = array("ei", (2, 7, 6, 3), F32), array("ek", (3, 3, 3, 4), F32)
  conv = lambda stride, pad: lambda x, k: lax.conv_general_dilated(x, k, stride, pad, dimension_numbers=("NHWC", "HWIO", "NHWC"))
  for name in ("sum", "prod", "min", "max", "any", "all", "mean", "var", "std", "median", "sort", "argsort", "argmax", "argmin", "cumsum", "cumprod"):
    yield _case(name, lambda x, name=name: getattr(jnp, name)(x, axis=0), m, (M,))
  for name, fn in {
      "sin": jnp.sin, "softmax": jax.nn.softmax, "logsumexp": lambda x: jax.nn.logsumexp(x, 1), "gelu": jax.nn.gelu, "lgamma": lambda x: lax.lgamma(x + 1), "igamma": lambda x: lax.igamma(x + 1, x), "where": lambda x: jnp.where(x > .5, x, 0.), "clamp": lambda x: lax.clamp(F32(.2), x, F32(.7)),
      "top_k": lambda x: lax.top_k(x, 2), "cummax": lambda x: lax.cummax(x, 1, reverse=True), "bfloat16": lambda x: x.astype(jnp.bfloat16).sum(0).astype(F32), "uint8": lambda x: (x * 9).astype(np.uint8) + np.uint8(250), "complex": lambda x: (x + 1j * x) @ (x.T - 2j),
      "map": lambda x: lax.map(lambda a: a * 2, x), "scan": lambda x: lax.scan(lambda c, a: (c + a, c * a), jnp.zeros_like(x[0]), x), "fori": lambda x: lax.fori_loop(0, x.shape[0], lambda i, s: s + x[i], jnp.zeros(x.shape[1])), "while": lambda x: lax.while_loop(lambda c: c[0] < x.shape[0], lambda c: (c[0] + 1, c[1] * 2), (0, x)),
      "cond": lambda x: lax.cond(x.sum() > 0, lambda a: a * 2, lambda a: a + x.shape[0], x), "grad": jax.grad(lambda x: (jnp.sin(x) @ x.T).sum()), "vmap": jax.vmap(lambda a: a @ a), "norm": lambda x: jnp.linalg.norm(x, axis=1), "uniform": lambda x: jax.random.uniform(jax.random.key(3), x.shape), "normal": lambda x: jax.random.normal(jax.random.key(0), x.shape),
      "split_key": lambda x: jax.random.key_data(jax.random.split(jax.random.key(3), x.shape[0])), "categorical": lambda x: jax.random.categorical(jax.random.key(0), x, axis=1),
  }.items():
    yield _case(name, fn, ["b, c + 2"] if name == "top_k" else m, (M,), 300)
  yield _case("rfft", jnp.fft.rfft, ["b, _"], (M,))
  yield _case("window_same", lambda x: lax.reduce_window(x, -np.inf, lax.max, (2,), (2,), "SAME"), v, (V,))
  yield _case("window_whole", lambda x: lax.reduce_window(x, 0., lax.add, x.shape, (1,), "VALID"), v, (V,))
  yield _case("sort_pairs", lambda k: lax.sort((k, k * 2), num_keys=1), v, (V,))
  yield _case("interp", lambda x: jnp.interp(x, jnp.linspace(0, 1, 4), jnp.arange(4.)), v, (V,))
  yield _case("dot", lambda x, y: x @ y, ["a, b", "b, c"], (M, N))
  yield _case("einsum", lambda x: jnp.einsum("bij,bkj->bik", x, x), ["b, i, j"], (square,))
  yield _case("conv", conv((1, 1), "SAME"), ["b, h, w, 3", "3, 3, 3, 4"], (image, kernel))
  yield _case("conv_strided", conv((2, 2), "SAME"), ["b, h, w, 3", "3, 3, 3, 4"], (image, kernel))
  yield _case("conv_valid", conv((1, 2), "VALID"), ["b, h + 3, w + 3, 3", "3, 3, 3, 4"], (image, kernel))
  yield _case("resize", lambda x: jax.image.resize(x, (x.shape[0], 2 * x.shape[1], 9, 3), "bilinear"), ["b, h, _, 3"], (image,))
  for name, fn in {
      "cholesky": jnp.linalg.cholesky, "eigvalsh": lambda x: jnp.linalg.eigvalsh(x), "singular_values": lambda x: jnp.linalg.svd(x, compute_uv=False), "lu": lambda x: lax.linalg.lu(x)[0], "solve": lambda x: jnp.linalg.solve(x, x[..., :2]), "triangular_solve": lambda x: lax.linalg.triangular_solve(jnp.tril(x), x, left_side=True, lower=True),
      "inv": jnp.linalg.inv, "det": jnp.linalg.det,
  }.items():
    yield _case(name, fn, ["b, n, n"], (square,), 300)


GROUPS = [moves, computes]
