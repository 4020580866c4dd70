# SPDX-License-Identifier: Apache-2.0
"""Records programs of JAX for eight devices: what XLA is given before it partitions them, inputs, and XLA's results.

usage: record.py [NAME...]   (tests/ops/requirements.txt says what it needs)

Each case is data/NAME.hlo, as lowered for XLA's own partitioner, so that shardings stand on the instructions, and
data/NAME.npz with in0, in1, ... and out0, out1, ..., all of them whole arrays.
"""

import os
import pathlib
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax import lax  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P  # noqa: E402

jax.config.update("jax_use_shardy_partitioner", False)
DATA = pathlib.Path(__file__).parent / "data"
DEVICES = np.array(jax.devices())
MESH = Mesh(DEVICES.reshape(4, 2), ("data", "model"))
CUBE = Mesh(DEVICES.reshape(2, 2, 2), ("x", "y", "z"))
random = np.random.RandomState(0)
cases = {}


def normal(*shape, scale=1.0):
    return (random.randn(*shape) * scale).astype(np.float32)


def case(name, function, inputs, specs, results=None, mesh=MESH):
    """`results`: specs of the results; None: as XLA's propagation has them."""
    cases[name] = (function, inputs, [NamedSharding(mesh, s) for s in specs], results, mesh)


# ---- Training steps ----

BATCH, LENGTH, WIDTH, HEADS, HIDDEN, WORDS, LAYERS = 8, 16, 32, 4, 64, 64, 2


def scaled(x, g):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5) * g


def layer(x, p):
    h = scaled(x, p["g1"])
    q, k, v = (jnp.einsum("bsd,dhk->bshk", h, p[w]) for w in ("wq", "wk", "wv"))
    scores = jnp.einsum("bshk,bthk->bhst", q, k) / np.sqrt(WIDTH // HEADS)
    scores = jnp.where(jnp.tril(jnp.ones((LENGTH, LENGTH), bool)), scores, -1e9)
    mixed = jnp.einsum("bhst,bthk->bshk", jax.nn.softmax(scores, -1), v)
    x = x + jnp.einsum("bshk,hkd->bsd", mixed, p["wo"])
    return x + jax.nn.gelu(scaled(x, p["g2"]) @ p["w1"]) @ p["w2"], None


def transformer_loss(p, words):
    x, _ = lax.scan(layer, p["embed"][words[:, :-1]], {k: v for k, v in p.items() if k != "embed"})
    chances = jax.nn.log_softmax(jnp.einsum("bsd,vd->bsv", x, p["embed"]))
    return -jnp.take_along_axis(chances, words[:, 1:, None], -1).mean()


def transformer_step(p, m, words):
    loss, gradient = jax.value_and_grad(transformer_loss)(p, words)
    m = jax.tree.map(lambda a, g: 0.9 * a + g, m, gradient)
    return jax.tree.map(lambda w, a: w - 0.1 * a, p, m), m, loss


def transformer(name, spread):
    head = WIDTH // HEADS
    shapes = {
        "embed": (WORDS, WIDTH), "g1": (LAYERS, WIDTH), "g2": (LAYERS, WIDTH),
        "w1": (LAYERS, WIDTH, HIDDEN), "w2": (LAYERS, HIDDEN, WIDTH), "wk": (LAYERS, WIDTH, HEADS, head),
        "wo": (LAYERS, HEADS, head, WIDTH), "wq": (LAYERS, WIDTH, HEADS, head), "wv": (LAYERS, WIDTH, HEADS, head),
    }
    weights = {k: normal(*s, scale=0.2) + (k[0] == "g") for k, s in shapes.items()}
    moments = {k: normal(*s, scale=0.01) for k, s in shapes.items()}
    specs = {k: spread.get(k, P()) for k in shapes}
    words = random.randint(0, WORDS, (BATCH, LENGTH + 1)).astype(np.int32)
    inputs = [weights[k] for k in shapes] + [moments[k] for k in shapes] + [words]

    def step(*arguments):
        n = len(shapes)
        p, m = (dict(zip(shapes, arguments[i * n : (i + 1) * n])) for i in (0, 1))
        p, m, loss = transformer_step(p, m, arguments[-1])
        return [p[k] for k in shapes] + [m[k] for k in shapes] + [loss]

    each = [specs[k] for k in shapes]
    case(name, step, inputs, each + each + [P("data")], each + each + [P()])


transformer("transformer", {
    "embed": P("model"), "wq": P(None, None, "model"), "wk": P(None, None, "model"), "wv": P(None, None, "model"),
    "wo": P(None, "model"), "w1": P(None, None, "model"), "w2": P(None, "model"),
})


def network_loss(p, x, y):
    h = lax.conv_general_dilated(x, p[0], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    h = lax.reduce_window(jax.nn.relu(h), -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    h = lax.conv_general_dilated(h, p[1], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    chances = jax.nn.log_softmax(h.mean((1, 2)) @ p[2])
    return -(chances * jax.nn.one_hot(y, 10)).sum(-1).mean()


def network_step(a, b, c, x, y):
    loss, gradient = jax.value_and_grad(network_loss)((a, b, c), x, y)
    return [loss, *gradient]


NETWORK = [normal(3, 3, 3, 8, scale=0.3), normal(3, 3, 8, 16, scale=0.3), normal(16, 10), normal(16, 8, 8, 3),
           random.randint(0, 10, 16).astype(np.int32)]
case("convolutions", network_step, NETWORK, [P(), P(), P(), P(("data", "model")), P(("data", "model"))], [P()] * 4)
case("convolutions_by_features", network_step, NETWORK,
     [P(None, None, None, "model"), P(None, None, "model"), P("model"), P("data"), P("data")])


def dense_loss(weights, x):
    for w in weights:
        x = jnp.tanh(x @ w)
    return (x**2).mean()


def dense_step(a, b, c, x):
    loss, gradient = jax.value_and_grad(dense_loss)((a, b, c), x)
    return [w - 0.1 * g for w, g in zip((a, b, c), gradient)] + [loss]


DENSE = [normal(32, 64, scale=0.2), normal(64, 64, scale=0.2), normal(64, 32, scale=0.2), normal(128, 32)]
case("fully_sharded", dense_step, DENSE, [P("data")] * 4, [P("data")] * 3 + [P()])
BOTH = [P("data", "model"), P("model", "data"), P("data", "model")]
case("fully_sharded_both", dense_step, DENSE, BOTH + [P("data")], BOTH + [P()])

# ---- Manual regions ----


def manual(x, w):
    y = jnp.tanh(x @ w)
    body = lambda a: lax.psum(a, "model") * 2 + lax.axis_index("data")
    return y.sum(0), jax.shard_map(body, mesh=MESH, in_specs=P("data", "model"), out_specs=P("data", None))(y)


def collectives(x):
    def body(a):
        turned = lax.ppermute(a, "data", [(i, (i + 1) % 4) for i in range(4)])
        gathered = lax.all_gather(a, "model", axis=1, tiled=True)
        swapped = lax.all_to_all(gathered, "data", 1, 0, tiled=True)
        return turned + 1, gathered, swapped, lax.psum_scatter(gathered, "model", scatter_dimension=1, tiled=True)

    specs = (P("data", "model"), P("data", None), P(None, "data"), P("data", "model"))
    return jax.shard_map(body, mesh=MESH, in_specs=P("data", "model"), out_specs=specs, check_vma=False)(x)


def partly_manual(x, w):
    def body(a, w):
        def turn(c, _):
            return jnp.tanh(c @ w) + lax.psum(c.sum(), "data") * 0.01, c.sum()

        c, sums = lax.scan(turn, a, None, length=3)
        return c, lax.psum(sums, "data")

    return jax.shard_map(body, mesh=MESH, in_specs=(P("data", None), P()), out_specs=(P("data", None), P()),
                         axis_names={"data"}, check_vma=False)(x, w)


def ring(x, w):
    def body(q, w):
        def turn(c, _):
            return (c[0] + q @ c[1].T @ c[1], lax.ppermute(c[1], "data", [(i, (i + 1) % 4) for i in range(4)])), None

        return lax.scan(turn, (jnp.zeros_like(q), q @ w), None, length=4)[0][0]

    whole = jax.shard_map(body, mesh=MESH, in_specs=(P("data", None), P()), out_specs=P("data", None), check_vma=False)
    return jax.value_and_grad(lambda x, w: (whole(x, w) ** 2).mean(), (0, 1))(x, w)


case("manual", manual, [normal(8, 16), normal(16, 32)], [P("data", None), P(None, "model")])
case("collectives", collectives, [normal(8, 16)], [P("data", "model")])
case("partly_manual", partly_manual, [normal(8, 16), normal(16, 16)], [P("data", None), P(None, "model")])
case("ring", ring, [normal(16, 8), normal(8, 8)], [P("data", None), P()])

# ---- The rest ----


def uneven(x):
    y = lax.with_sharding_constraint(x * 2, NamedSharding(MESH, P("data", "model")))
    return lax.with_sharding_constraint(jnp.cumsum(y, 0), NamedSharding(MESH, P("model", "data"))), y.sum(1), jnp.sort(y, 1)


def control(x, n):
    def turn(s):
        return s[0] + 1, jnp.sin(s[1]) @ s[1].T @ s[1] * 0.01, s[2] + s[1].sum(0)

    i, y, z = lax.while_loop(lambda s: s[0] < n, turn, (0, x, jnp.zeros(x.shape[1])))
    w = lax.cond(z.sum() > 0, lambda v: v * 2, lambda v: jnp.flip(v, 1), y)
    u = lax.switch(n % 3, [lambda v: v + 1, lambda v: v[::-1], lambda v: v.T.reshape(v.shape)], w)
    return i, y, z, w, u


def assorted(x, at, k):
    u = jax.random.uniform(jax.random.wrap_key_data(k), x.shape)
    return (jnp.argmax(x, 1), jnp.argmax(x, 0), jnp.take(x, at, axis=0), jnp.take(x, at, axis=1), *lax.top_k(x, 3),
            jnp.argsort(x, 0), u + x, x.at[at].add(1.0), x.at[:, at].set(0.5), jnp.cumsum(x, 1), jnp.roll(x, 3, 0),
            x.reshape(4, 2, 4, 8).transpose(2, 0, 1, 3).reshape(16, 16), jnp.concatenate([x, x * 2], 0),
            jnp.pad(x, ((1, 1), (0, 0))), x[2:6], x[:, 3:9], x @ x.T, jnp.linalg.norm(x, axis=1),
            jnp.fft.fft(x, axis=1).real, (x > 0).any(0), x.max(), x.min(1), x.prod(0), jnp.var(x, axis=0),
            lax.dynamic_slice(x, (at[0], 0), (3, 32)), lax.dynamic_update_slice(x, x[:2, :5], (at[0], at[1])))


def cube(x, w):
    y = lax.with_sharding_constraint(jnp.einsum("abc,cd->abd", x, w), NamedSharding(CUBE, P("x", "y", "z")))
    z = jax.vmap(lambda a: a @ a.T)(y)
    return y, lax.with_sharding_constraint(z, NamedSharding(CUBE, P(("z", "x"), None, "y"))), z.sum(0)


def stencils(u, w):
    def turn(_, u):
        u = u + 0.1 * (jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1) - 4 * u)
        p = jnp.pad(u, ((2, 2), (1, 1)), constant_values=0.5)
        u = u + 0.05 * (p[:-4, 1:-1] - 2 * u + p[4:, 1:-1]) + 0.05 * (p[2:-2, 2:] - p[2:-2, :-2])
        return lax.conv_general_dilated(u[None, None], w, (1, 1), "SAME")[0, 0]

    u = lax.fori_loop(0, 3, turn, u)
    turned = lambda v: jnp.sum(jnp.sin(jnp.roll(v, 3, 0)) * jnp.roll(v, (-2, 7), (0, 1)))
    pool = lambda v, start, fn, size, step: lax.reduce_window(v, start, fn, (size, size), (step, step), "SAME")
    return u, pool(u, -jnp.inf, lax.max, 3, 1), pool(u, 0.0, lax.add, 2, 2), pool(u, -jnp.inf, lax.max, 3, 2), jnp.roll(u, (19, 5), (0, 1)), jax.grad(turned)(u)


def images(w, x, y):
    def loss(w):
        z = x
        for k, step in zip(w[:-1], (1, 2, 1)):
            z = jax.nn.relu(lax.conv_general_dilated(z, k, (step, step), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")))
        z = lax.reduce_window(z, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        return jnp.mean((z.mean((1, 2)) @ w[-1] - y) ** 2)

    value, slopes = jax.value_and_grad(loss)(w)
    return value, [k - 0.1 * g for k, g in zip(w, slopes)]


case("stencils", stencils, [normal(64, 32), normal(1, 1, 3, 3, scale=0.3)], [P("data", "model"), P()])
IMAGES = [[normal(3, 3, 2, 4, scale=0.3), normal(3, 3, 4, 4, scale=0.3), normal(5, 3, 4, 8, scale=0.3), normal(8, 3)], normal(2, 64, 32, 2), normal(2, 3)]
case("images", images, IMAGES, [P(), P(None, "data", "model"), P()])
case("uneven", uneven, [normal(10, 7)], [P()])
case("control", control, [normal(8, 16), np.int32(4)], [P("data", "model"), P()])
ASSORTED = [normal(8, 32), np.array([1, 5, 2, 2], np.int32), np.array([1, 2], np.uint32)]
case("assorted", assorted, ASSORTED, [P("data", "model"), P(), P()])
case("assorted_rows", assorted, ASSORTED, [P(("data", "model")), P("data"), P()])
case("cube", cube, [normal(4, 8, 16), normal(16, 32)], [P("x", "y", None), P("z", "x")], mesh=CUBE)


def record(name):
    function, inputs, shardings, results, mesh = cases[name]
    arrays = [jax.device_put(a, s) for a, s in zip(inputs, shardings)]
    inputs = jax.tree.leaves(inputs)
    options = {} if results is None else {"out_shardings": [NamedSharding(mesh, s) for s in results]}
    lowered = jax.jit(function, **options).lower(*arrays)
    head, _, body = lowered.compiler_ir("hlo").as_hlo_text().partition("\n")
    # What JAX says beside the module, by its compile options.
    head += ", num_partitions=8"
    if results is None:
        head += ", allow_spmd_sharding_propagation_to_output={true}"
    outputs = jax.tree.leaves(lowered.compile()(*arrays))
    (DATA / f"{name}.hlo").write_text(head + "\n" + body)
    np.savez_compressed(DATA / f"{name}.npz", **{f"in{i}": a for i, a in enumerate(inputs)},
                        **{f"out{i}": np.asarray(a) for i, a in enumerate(outputs)})
    print(name, f"{len(outputs)} results")


for name in sys.argv[1:] or cases:
    record(name)
