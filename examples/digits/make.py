# SPDX-License-Identifier: Apache-2.0
"""Remakes the digits example: the programs as JAX lowers them, the data, the initial parameters,
and the losses that XLA's CPU backend gives for the same training. What belongs to one of the two
networks is in the folder of its name.

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
CLASSES = 10
BATCH = 256
STEPS = 300
BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8


def data():
    """A seeded split of scikit-learn's 1797 images of 8x8 pixels, scaled from 0..16 to 0..1."""
    images, labels = load_digits(return_X_y=True)
    order = np.random.RandomState(SEED).permutation(len(images))
    images = (images[order] / 16).astype(np.float32)
    labels = labels[order].astype(np.int32)
    return images[TEST_IMAGES:], labels[TEST_IMAGES:], images[:TEST_IMAGES], labels[:TEST_IMAGES]


def batch_rows(count, step):
    """The rows of a step's batch. The same rule is in digits.c: the images are taken in order,
    round and round, so that no shuffling has to be stored or matched (the split is shuffled)."""
    return (step * BATCH + np.arange(BATCH)) % count


def he_normal(random, *dims):
    """Weights from all dimensions but the last to the last."""
    scale = np.sqrt(2 / np.prod(dims[:-1]))
    return (random.standard_normal(dims) * scale).astype(np.float32)


# A network has a name, a learning rate, arrays by name that are trained (`parameters`) or that its
# loss brings up to date (`moving`), and two functions: loss(parameters, moving, x, y) gives the loss
# and the new `moving`, correct(parameters, moving, x, y) the number of images classified rightly.


class Dense:
    """Three dense layers. Labels become one-hot rows by comparing with an iota; the guess is the
    first class with the greatest logit, by comparing with the maximum: no gather, no scatter, no
    variadic reduction."""

    name = "dense"
    rate = 1e-3
    layers = [64, 512, 512, CLASSES]

    def __init__(self):
        random = np.random.RandomState(SEED + 1)
        self.parameters, self.moving = {}, {}
        for i, (rows, columns) in enumerate(zip(self.layers[:-1], self.layers[1:])):
            self.parameters[f"w{i}"] = he_normal(random, rows, columns)
            self.parameters[f"b{i}"] = np.zeros(columns, np.float32)

    @staticmethod
    def logits(params, x):
        w0, b0, w1, b1, w2, b2 = params
        h = jnp.maximum(x @ w0 + b0, 0)
        h = jnp.maximum(h @ w1 + b1, 0)
        return h @ w2 + b2

    @classmethod
    def loss(cls, params, moving, x, y):
        z = cls.logits(params, x)
        one_hot = y[:, None] == jax.lax.broadcasted_iota(jnp.int32, (len(y), CLASSES), 1)
        z = z - jax.lax.stop_gradient(jnp.max(z, axis=1, keepdims=True))
        log_sum = jnp.log(jnp.sum(jnp.exp(z), axis=1))
        return jnp.mean(log_sum - jnp.sum(jnp.where(one_hot, z, 0), axis=1)), moving

    @classmethod
    def correct(cls, params, moving, x, y):
        z = cls.logits(params, x)
        classes = jax.lax.broadcasted_iota(jnp.int32, z.shape, 1)
        best = jnp.min(jnp.where(z == jnp.max(z, axis=1, keepdims=True), classes, CLASSES), axis=1)
        return jnp.sum((best == y).astype(jnp.int32))


class Conv:
    """Two convolutions, each with batch norm, relu and max-pool, and a dense layer. Labels stay
    numbers, by which the loss takes the right class's logit."""

    name = "conv"
    rate = 3e-3
    channels = [1, 32, 64]
    momentum = 0.9

    def __init__(self):
        random = np.random.RandomState(SEED + 2)
        self.parameters, self.moving = {}, {}
        for i, (before, after) in enumerate(zip(self.channels[:-1], self.channels[1:])):
            self.parameters[f"kernel{i}"] = he_normal(random, 3, 3, before, after)
            self.parameters[f"scale{i}"] = np.ones(after, np.float32)
            self.parameters[f"shift{i}"] = np.zeros(after, np.float32)
            self.moving[f"mean{i}"] = np.zeros(after, np.float32)
            self.moving[f"variance{i}"] = np.ones(after, np.float32)
        self.parameters["w"] = he_normal(random, 2 * 2 * self.channels[-1], CLASSES)
        self.parameters["b"] = np.zeros(CLASSES, np.float32)

    @staticmethod
    def layer(x, kernel, scale, shift, mean, variance):
        """What a layer makes of x, by the mean and the variance that are given, or else by those of
        the batch; which ones these were."""
        x = jax.lax.conv_general_dilated(
            x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        if mean is None:
            mean, variance = jnp.mean(x, (0, 1, 2)), jnp.var(x, (0, 1, 2))
        x = (x - mean) * jax.lax.rsqrt(variance + 1e-3) * scale + shift
        window = (1, 2, 2, 1)
        x = jax.lax.reduce_window(jnp.maximum(x, 0), -jnp.inf, jax.lax.max, window, window, "VALID")
        return x, [mean, variance]

    @classmethod
    def logits(cls, params, moving, x):
        """The logits, by the means and variances of `moving` or else of the batch; which ones these
        were."""
        x = x.reshape(-1, 8, 8, 1)
        met = []
        for i in range(2):
            known = moving[2 * i : 2 * i + 2] if moving else (None, None)
            x, seen = cls.layer(x, *params[3 * i : 3 * i + 3], *known)
            met += seen
        w, b = params[-2:]
        return x.reshape(len(x), -1) @ w + b, met

    @classmethod
    def loss(cls, params, moving, x, y):
        z, met = cls.logits(params, None, x)
        right = jnp.take_along_axis(jax.nn.log_softmax(z), y[:, None], axis=1)
        moving = [cls.momentum * a + (1 - cls.momentum) * b for a, b in zip(moving, met)]
        return -jnp.mean(right), moving

    @classmethod
    def correct(cls, params, moving, x, y):
        z, _ = cls.logits(params, moving, x)
        return jnp.sum((jnp.argmax(z, axis=1) == y).astype(jnp.int32))


def make_steps(network):
    def train_step(params, moving, m, v, step, x, y):
        """One Adam step with bias correction. `step` counts from 0."""
        loss = jax.value_and_grad(network.loss, has_aux=True)
        (value, moving), gradients = loss(params, moving, x, y)
        step = step + 1
        t = step.astype(jnp.float32)
        rate = network.rate * jnp.sqrt(1 - BETA2**t) / (1 - BETA1**t)
        m = [BETA1 * a + (1 - BETA1) * g for a, g in zip(m, gradients)]
        v = [BETA2 * a + (1 - BETA2) * g * g for a, g in zip(v, gradients)]
        params = [p - rate * a / (jnp.sqrt(b) + EPSILON) for p, a, b in zip(params, m, v)]
        return params, moving, m, v, step, value

    def eval_step(params, moving, x, y):
        return network.correct(params, moving, x, y)

    return train_step, eval_step


def make(network, x_train, y_train, x_test, y_test):
    folder = HERE / network.name
    folder.mkdir(exist_ok=True)
    np.savez(folder / "parameters.npz", **network.parameters, **network.moving)
    params = [jnp.asarray(p) for p in network.parameters.values()]
    moving = [jnp.asarray(p) for p in network.moving.values()]
    m = [jnp.zeros_like(p) for p in params]
    v = [jnp.zeros_like(p) for p in params]
    step = jnp.int32(0)
    train_step, eval_step = map(jax.jit, make_steps(network))
    train = train_step.lower(params, moving, m, v, step, x_train[:BATCH], y_train[:BATCH])
    evaluate = eval_step.lower(params, moving, x_test, y_test)
    for name, lowered in ("train_step", train), ("eval_step", evaluate):
        (folder / f"{name}.hlo").write_text(lowered.as_text(dialect="hlo"))

    train, evaluate = train.compile(), evaluate.compile()
    batches = [batch_rows(len(x_train), i) for i in range(STEPS)]
    batches = [(jnp.asarray(x_train[rows]), jnp.asarray(y_train[rows])) for rows in batches]
    losses = []
    start = time.time()
    for x, y in batches:
        params, moving, m, v, step, value = train(params, moving, m, v, step, x, y)
        losses.append(value)
    losses = np.array(losses, np.float32)
    seconds = time.time() - start
    np.save(folder / "losses_xla.npy", losses)
    correct = int(evaluate(params, moving, x_test, y_test))
    print(
        f"{network.name}: {STEPS} steps in {seconds:.2f} s, last loss {losses[-1]:.6f}, "
        f"held-out accuracy {100 * correct / len(x_test):.2f} %"
    )


def main():
    arrays = dict(zip(("x_train", "y_train", "x_test", "y_test"), data()))
    for name, value in arrays.items():
        np.save(HERE / f"{name}.npy", value)
    for network in Dense(), Conv():
        make(network, **arrays)


if __name__ == "__main__":
    main()
