# SPDX-License-Identifier: Apache-2.0
"""Trains a convolutional network on handwritten digits with flax and optax. Nothing in it knows of OpenCL: which
platform it runs on is JAX's business (JAX_PLATFORMS)."""
import argparse
import pathlib
import time

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

DATA = pathlib.Path(__file__).resolve().parent.parent / "digits"


class Network(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = x.reshape(-1, 8, 8, 1)
        for features in (16, 32):
            x = nn.relu(nn.Conv(features, (3, 3))(x))
            x = nn.max_pool(x, (2, 2), strides=(2, 2))
        x = nn.relu(nn.Dense(64)(x.reshape(len(x), -1)))
        return nn.Dense(10)(x)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--losses", help="a file for the losses, one a line")
    options = parser.parse_args()
    x_train, y_train, x_test, y_test = (
        np.load(DATA / f"{name}.npy") for name in ("x_train", "y_train", "x_test", "y_test"))
    network, optimizer = Network(), optax.adam(1e-3)
    parameters = network.init(jax.random.key(0), jnp.zeros((1, x_train.shape[1])))
    state = optimizer.init(parameters)

    def loss_of(parameters, x, y):
        return optax.softmax_cross_entropy_with_integer_labels(
            network.apply(parameters, x), y).mean()

    @jax.jit
    def step(parameters, state, x, y):
        loss, gradients = jax.value_and_grad(loss_of)(parameters, x, y)
        updates, state = optimizer.update(gradients, state)
        return optax.apply_updates(parameters, updates), state, loss

    print(f"training on {jax.devices()[0].device_kind} ({jax.default_backend()})")
    random, losses, start = np.random.RandomState(0), [], time.time()
    for number in range(1, options.steps + 1):
        batch = random.randint(0, len(x_train), 64)
        parameters, state, loss = step(parameters, state, x_train[batch], y_train[batch])
        losses.append(loss)
        if number % 50 == 0:
            print(f"step {number:4d}  loss {float(loss):.4f}")
    accuracy = (network.apply(parameters, x_test).argmax(-1) == y_test).mean()
    print(f"{options.steps} steps in {time.time() - start:.1f} s, "
          f"{100 * float(accuracy):.1f} % of the test set are right")
    if options.losses:
        np.savetxt(options.losses, np.array([float(x) for x in losses]))


if __name__ == "__main__":
    main()
