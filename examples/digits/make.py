"""Remakes the digits example: the two programs as JAX lowers them, the data, the initial
parameters, and the losses that XLA's CPU backend gives for the same training.

    python -m venv env && env/bin/pip install -r requirements.txt
    env/bin/python make.py

Nothing of this is needed to run the example; the files are kept beside this script.
"""

import os
import pathlib
import time

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.datasets import load_digits

HERE = pathlib.Path(__file__).parent
SEED = 0
TEST_IMAGES = 297
LAYERS = [64, 512, 512, 10]
CLASSES = LAYERS[-1]
BATCH = 256
STEPS = 300
RATE, BETA1, BETA2, EPSILON = 1e-3, 0.9, 0.999, 1e-8


def data():
    """A seeded split of scikit-learn's 1797 images of 8x8 pixels, scaled from 0..16 to 0..1."""
    images, labels = load_digits(return_X_y=True)
    order = np.random.RandomState(SEED).permutation(len(images))
    images = (images[order] / 16).astype(np.float32)
    labels = labels[order].astype(np.int32)
    return images[TEST_IMAGES:], labels[TEST_IMAGES:], images[:TEST_IMAGES], labels[:TEST_IMAGES]


def initial_parameters():
    """He-normal weights and zero biases: w0, b0, w1, b1, w2, b2."""
    random = np.random.RandomState(SEED + 1)
    params = []
    for rows, columns in zip(LAYERS[:-1], LAYERS[1:]):
        scale = np.sqrt(2 / rows)
        params.append((random.standard_normal((rows, columns)) * scale).astype(np.float32))
        params.append(np.zeros(columns, np.float32))
    return params


def batch_rows(count, step):
    """The rows of a step's batch. The same rule is in digits.c: the images are taken in order,
    round and round, so that no shuffling has to be stored or matched (the split is shuffled)."""
    return (step * BATCH + np.arange(BATCH)) % count


def logits(params, x):
    w0, b0, w1, b1, w2, b2 = params
    h = jnp.maximum(x @ w0 + b0, 0)
    h = jnp.maximum(h @ w1 + b1, 0)
    return h @ w2 + b2


def loss(params, x, y):
    """Mean softmax cross entropy; the labels become one-hot rows by comparing with an iota."""
    z = logits(params, x)
    one_hot = y[:, None] == jax.lax.broadcasted_iota(jnp.int32, (len(y), CLASSES), 1)
    z = z - jax.lax.stop_gradient(jnp.max(z, axis=1, keepdims=True))
    log_sum = jnp.log(jnp.sum(jnp.exp(z), axis=1))
    return jnp.mean(log_sum - jnp.sum(jnp.where(one_hot, z, 0), axis=1))


def train_step(params, m, v, step, x, y):
    """One Adam step with bias correction. `step` counts from 0."""
    value, gradients = jax.value_and_grad(loss)(params, x, y)
    step = step + 1
    t = step.astype(jnp.float32)
    rate = RATE * jnp.sqrt(1 - BETA2**t) / (1 - BETA1**t)
    m = [BETA1 * a + (1 - BETA1) * g for a, g in zip(m, gradients)]
    v = [BETA2 * a + (1 - BETA2) * g * g for a, g in zip(v, gradients)]
    params = [p - rate * a / (jnp.sqrt(b) + EPSILON) for p, a, b in zip(params, m, v)]
    return params, m, v, step, value


def eval_step(params, x, y):
    """How many images are classified rightly. The guess is the first class with the greatest logit,
    by comparing with the maximum, which needs no sort and no variadic reduction."""
    z = logits(params, x)
    classes = jax.lax.broadcasted_iota(jnp.int32, z.shape, 1)
    best = jnp.min(jnp.where(z == jnp.max(z, axis=1, keepdims=True), classes, CLASSES), axis=1)
    return jnp.sum((best == y).astype(jnp.int32))


def write_hlo(name, lowered):
    (HERE / f"{name}.hlo").write_text(lowered.as_text(dialect="hlo"))


def main():
    x_train, y_train, x_test, y_test = data()
    params = [jnp.asarray(p) for p in initial_parameters()]
    m = [jnp.zeros_like(p) for p in params]
    v = [jnp.zeros_like(p) for p in params]
    step = jnp.int32(0)
    lowered_train = jax.jit(train_step).lower(params, m, v, step, x_train[:BATCH], y_train[:BATCH])
    lowered_eval = jax.jit(eval_step).lower(params, x_test, y_test)
    write_hlo("train_step", lowered_train)
    write_hlo("eval_step", lowered_eval)
    np.savez(
        HERE / "parameters.npz",
        **{f"{kind}{i // 2}": p for i, (p, kind) in enumerate(zip(params, "wbwbwb"))},
    )
    for name, value in [
        ("x_train", x_train),
        ("y_train", y_train),
        ("x_test", x_test),
        ("y_test", y_test),
    ]:
        np.save(HERE / f"{name}.npy", value)

    train, evaluate = lowered_train.compile(), lowered_eval.compile()
    batches = [batch_rows(len(x_train), i) for i in range(STEPS)]
    batches = [(jnp.asarray(x_train[rows]), jnp.asarray(y_train[rows])) for rows in batches]
    losses = []
    start = time.time()
    for x, y in batches:
        params, m, v, step, value = train(params, m, v, step, x, y)
        losses.append(value)
    losses = np.array(losses, np.float32)
    seconds = time.time() - start
    np.save(HERE / "losses_xla.npy", losses)
    correct = int(evaluate(params, x_test, y_test))
    print(
        f"{STEPS} steps in {seconds:.2f} s, last loss {losses[-1]:.6f}, "
        f"held-out accuracy {100 * correct / len(x_test):.2f} %"
    )


if __name__ == "__main__":
    main()
