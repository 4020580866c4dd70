"""Operations that move, combine and choose elements."""
import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from compare import Case, uniform

F = "float32"
TYPES = ("float32", "bfloat16", "float16", "complex64", "int32", "int8", "uint16", "bool")


def movement():
    for dtype in TYPES:
        x = uniform(1, (3, 4, 5), dtype)
        yield Case(f"transpose.{dtype}", lambda x: lax.transpose(x, (2, 0, 1)), (x,))
        yield Case(f"reshape.{dtype}", lambda x: lax.reshape(x, (5, 12)), (x,))
        yield Case(f"reverse.{dtype}", lambda x: lax.rev(x, (0, 2)), (x,))
        yield Case(f"broadcast.{dtype}", lambda x: lax.broadcast_in_dim(x, (2, 3, 4, 5), (1, 2, 3)),
                   (x,))
        yield Case(f"concatenate.{dtype}", lambda x: lax.concatenate([x, x[:, :2], x], 1), (x,))
        yield Case(f"pad.{dtype}", lambda x: lax.pad(x, x[0, 0, 0], ((1, 2, 0), (0, -1, 2), (-1, 0, 1))),
                   (x,))
        yield Case(f"slice.{dtype}", lambda x: lax.slice(x, (0, 1, 2), (3, 4, 5), (2, 1, 2)), (x,))
        yield Case(f"dynamic_slice.{dtype}", lambda x, i: lax.dynamic_slice(x, (i, 1, i), (2, 2, 3)),
                   (x, np.int32(4)))
        yield Case(f"dynamic_update.{dtype}", lambda x, i: lax.dynamic_update_slice(
            x, x[:2, :2, :2], (i, i, 1)), (x, np.int32(-1)))
    yield Case("iota", lambda: lax.broadcasted_iota(jnp.int32, (3, 4), 1))
    yield Case("iota.f", lambda: lax.iota(jnp.float32, 9))
    yield Case("squeeze", lambda x: lax.squeeze(x, (0,)), (uniform(1, (1, 4), F),))
    yield Case("constants", lambda: (jnp.arange(300.0), np.arange(7, dtype="int8"), np.float16(1.5)))
    yield Case("large_constant", lambda x: x + np.linspace(0, 1, 5000, dtype=F), (np.float32(1),))


def reductions():
    for name, dtype in itertools.product(("sum", "prod", "max", "min", "argmax", "argmin"), TYPES):
        if dtype == "complex64" and name not in ("sum", "prod"):
            continue
        if dtype == "bool" and name in ("sum", "prod"):
            continue
        x = uniform(2, (4, 6, 3), dtype, -1.5, 1.5)
        for axis in ((1,), (0, 2)) if not name.startswith("arg") else (1, 2):
            yield Case(f"{name}.{dtype}.{axis}",
                       lambda x, n=name, a=axis: getattr(jnp, n)(x, axis=a), (x,))
    for name in ("reduce_and", "reduce_or", "reduce_xor"):
        for dtype in ("bool", "int32", "uint8"):
            yield Case(f"{name}.{dtype}", lambda x, n=name: getattr(lax, n)(x, (1,)),
                       (uniform(3, (4, 7), dtype),))
    yield Case("reduce.custom", lambda x: lax.reduce(x, np.float32(0), lambda a, b: a + 2 * b, (1,)),
               (uniform(4, (3, 1), F),))
    yield Case("reduce.two", lambda x, i: lax.reduce(
        (x, i), (np.float32(-np.inf), np.int32(0)),
        lambda a, b: (jnp.maximum(a[0], b[0]), jnp.where(a[0] >= b[0], a[1], b[1])), (0,)),
               (uniform(5, (9, 3), F), np.arange(27, dtype="int32").reshape(9, 3)))
    for name in ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"):
        for reverse in (False, True):
            yield Case(f"{name}.{reverse}", lambda x, n=name, r=reverse: getattr(lax, n)(
                x, axis=1, reverse=r), (uniform(6, (3, 40), F),))
    yield Case("cumsum.int", lambda x: lax.cumsum(x), (np.arange(1000, dtype="int32"),))
    for window in (((2, 3), (1, 1), "VALID"), ((3, 2), (2, 2), "SAME")):
        yield Case(f"reduce_window.{window[2]}", lambda x, w=window: lax.reduce_window(
            x, -np.inf, lax.max, *w), (uniform(7, (9, 8), F),))
    yield Case("select_and_scatter", jax.grad(lambda x: lax.reduce_window(
        x, -jnp.inf, lax.max, (2, 2), (2, 2), "VALID").sum()), (uniform(8, (8, 8), F),))


def sorting():
    for dtype in ("float32", "float16", "int32", "uint8", "bool"):
        x = uniform(9, (5, 33), dtype)
        yield Case(f"sort.{dtype}", lambda x: lax.sort(x, dimension=1), (x,))
        yield Case(f"argsort.{dtype}", lambda x: jnp.argsort(x, axis=0, stable=True), (x,))
        if dtype != "bool":
            yield Case(f"top_k.{dtype}", lambda x: lax.top_k(x, 4), (x,))
    yield Case("sort.keys", lambda x, y: lax.sort((x, y), num_keys=2),
               (uniform(1, (50,), "int8"), uniform(2, (50,), F)))
    yield Case("sort.nan", lambda x: jnp.sort(x), (np.array([1, np.nan, -0.0, 0.0, -np.inf, 3], F),))
    yield Case("searchsorted", lambda a, v: jnp.searchsorted(a, v),
               (np.arange(20.0, dtype=F), uniform(3, (9,), F, 0, 20)))


def products():
    for dtype in ("float32", "bfloat16", "float16", "complex64", "int32", "int8"):
        x, y = uniform(1, (3, 5, 4), dtype), uniform(2, (3, 4, 6), dtype)
        yield Case(f"batch.{dtype}", lambda x, y: lax.dot_general(x, y, (((2,), (1,)), ((0,), (0,)))),
                   (x, y))
        yield Case(f"matmul.{dtype}", lambda x, y: x[0] @ y[0], (x, y))
        yield Case(f"vector.{dtype}", lambda x, y: x[0] @ y[0, :, 0], (x, y))
    yield Case("wide", lambda x, y: lax.dot_general(
        x, y, (((1,), (0,)), ((), ())), preferred_element_type=jnp.float32),
               (uniform(1, (8, 16), "bfloat16"), uniform(2, (16, 8), "bfloat16")))
    yield Case("int8_to_32", lambda x, y: lax.dot_general(
        x, y, (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32),
               (uniform(1, (8, 16), "int8"), uniform(2, (16, 8), "int8")))
    for text, shapes in (("ij,kj->ik", ((7, 9), (5, 9))), ("bij,bjk->ikb", ((2, 3, 4), (2, 4, 5))),
                         ("i,j->ij", ((3,), (4,))), ("abc,cd,de->ae", ((2, 3, 4), (4, 5), (5, 6))),
                         ("ii->i", ((4, 4),)), ("ijk->kij", ((2, 3, 4),))):
        yield Case(f"einsum.{text}", functools.partial(jnp.einsum, text),
                   tuple(uniform(i, s, F) for i, s in enumerate(shapes)))
    for name, shapes, more in (
            ("2d", ((2, 8, 9, 3), (3, 3, 3, 4)), {"padding": "SAME"}),
            ("strided", ((1, 9, 9, 2), (3, 3, 2, 4)), {"window_strides": (2, 2), "padding": "VALID"}),
            ("dilated", ((1, 9, 9, 2), (3, 3, 2, 4)), {"rhs_dilation": (2, 2), "padding": "SAME"}),
            ("transposed", ((1, 5, 5, 2), (3, 3, 2, 4)), {"lhs_dilation": (2, 2),
                                                          "padding": ((1, 2), (1, 2))}),
            ("grouped", ((1, 8, 8, 4), (3, 3, 2, 6)), {"feature_group_count": 2, "padding": "SAME"}),
            ("depthwise", ((1, 8, 8, 4), (3, 3, 1, 4)), {"feature_group_count": 4,
                                                         "padding": "SAME"})):
        more = {"window_strides": (1, 1), **more}
        for dtype in (F, "bfloat16", "complex64"):
            yield Case(f"conv.{name}.{dtype}", lambda x, k, m=more: lax.conv_general_dilated(
                x, k, dimension_numbers=("NHWC", "HWIO", "NHWC"), **m),
                       (uniform(1, shapes[0], dtype), uniform(2, shapes[1], dtype)))
    yield Case("conv.1d", lambda x, k: lax.conv_general_dilated(
        x, k, (1,), "SAME"), (uniform(1, (2, 3, 20), F), uniform(2, (4, 3, 5), F)))
    yield Case("conv.3d", lambda x, k: lax.conv_general_dilated(
        x, k, (1, 1, 1), "VALID"), (uniform(1, (1, 2, 5, 6, 7), F), uniform(2, (3, 2, 2, 3, 2), F)))
    yield Case("conv.batch_groups", lambda x, k: lax.conv_general_dilated(
        x, k, (1, 1), "SAME", batch_group_count=2), (uniform(1, (4, 2, 6, 6), F),
                                                     uniform(2, (4, 2, 3, 3), F)))


def indexing():
    x = uniform(1, (6, 5, 4), F)
    wild = np.array([0, 5, 7, -1, -9, 3], "int32")
    for mode in ("clip", "fill", "wrap"):
        yield Case(f"take.{mode}", lambda x, i, m=mode: jnp.take(x, i, axis=0, mode=m), (x, wild))
    for mode in ("drop", "clip", "promise_in_bounds"):
        index = wild if mode != "promise_in_bounds" else np.array([0, 1, 4, 5, 2, 3], "int32")
        for name in ("set", "add", "multiply", "min", "max"):
            yield Case(f"at.{name}.{mode}", lambda x, i, n=name, m=mode: getattr(x.at[i], n)(
                jnp.ones((6, 5, 4)) * 2, mode=m), (x, index))
    for dtype in ("int32", "bfloat16", "complex64", "uint8"):
        y = uniform(2, (8,), dtype)
        yield Case(f"scatter_add.{dtype}", lambda y, i: y.at[i].add(y[:5]),
                   (y, np.array([1, 1, 3, 7, 1], "int32")))
    yield Case("gather.two", lambda x, i, j: x[i, j], (x, wild % 6, wild % 5))
    yield Case("gather.mask", lambda x: jnp.where(x > 0, x, 0), (x,))
    yield Case("take_along", lambda x, i: jnp.take_along_axis(x, i, axis=1),
               (x, uniform(3, (6, 3, 4), "uint8").astype("int32") % 5))
    yield Case("index.newaxis", lambda x: x[::-1, None, 1:3, ..., -1], (x,))
    yield Case("index.array", lambda x: x[:, jnp.array([0, 2])][..., jnp.array([[1], [3]])], (x,))
    yield Case("segment_sum", lambda x, s: jax.ops.segment_sum(x, s, 4),
               (uniform(1, (9,), F), np.array([0, 1, 1, 3, 3, 3, 0, 2, 2], "int32")))
    yield Case("one_hot", lambda i: jax.nn.one_hot(i, 7), (wild,))


def cases():
    yield from movement()
    yield from reductions()
    yield from sorting()
    yield from products()
    yield from indexing()
