# SPDX-License-Identifier: Apache-2.0
"""Trains a network on handwritten digits on all devices of all processes: each process reads its part of the batch, and
the gradients' sums over the processes are JAX's business.

    mpiexec -n 4 python examples/jax/parallel.py                   (Open MPI 4)
    mpiexec -n 4 python examples/jax/parallel.py localhost:1234    (Open MPI 5, which does not tell where process 0 is)
    python examples/jax/parallel.py localhost:1234 2 0 & python examples/jax/parallel.py localhost:1234 2 1

Without mpiexec or arguments it is one process, which does the same on its devices.
"""
import os
import pathlib
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

DATA = pathlib.Path(__file__).resolve().parent.parent / "digits"
BATCH, STEPS, RATE = 128, 300, 0.2


def logits_of(weights, x):
    for w, b in weights[:-1]:
        x = jax.nn.relu(x @ w + b)
    w, b = weights[-1]
    return x @ w + b


def loss_of(weights, x, y):
    return -jnp.take_along_axis(jax.nn.log_softmax(logits_of(weights, x)), y[:, None], 1).mean()


@jax.jit
def step(weights, x, y):
    loss, gradients = jax.value_and_grad(loss_of)(weights, x, y)
    return jax.tree.map(lambda w, g: w - RATE * g, weights, gradients), loss


def main():
    if len(sys.argv) > 2:  # where the first process is met, how many there are, which this is
        jax.distributed.initialize(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
    elif len(sys.argv) > 1:
        count, rank = (int(os.environ[f"OMPI_COMM_WORLD_{name}"]) for name in ("SIZE", "RANK"))
        jax.distributed.initialize(sys.argv[1], count, rank)
    elif "OMPI_COMM_WORLD_SIZE" in os.environ:
        jax.distributed.initialize()  # before anything else of JAX
    me, count = jax.process_index(), jax.process_count()
    mesh = Mesh(np.array(jax.devices()), ("batch",))
    spread, everywhere = (NamedSharding(mesh, PartitionSpec(*axes)) for axes in (("batch",), ()))
    x_train, y_train, x_test, y_test = (
        np.load(DATA / f"{name}.npy") for name in ("x_train", "y_train", "x_test", "y_test"))

    random = np.random.RandomState(0)  # the same numbers in each process
    sizes = (x_train.shape[1], 64, 64, 10)
    weights = [(random.normal(size=(n, m)).astype(np.float32) / np.sqrt(n), np.zeros(m, np.float32))
               for n, m in zip(sizes, sizes[1:])]
    weights = jax.device_put(weights, everywhere)
    if me == 0:
        print(f"{count} processes, {len(jax.devices())} devices ({jax.devices()[0].device_kind})")
    start = time.time()
    for number in range(1, STEPS + 1):
        batch = random.randint(0, len(x_train), BATCH)
        mine = batch[me * BATCH // count:(me + 1) * BATCH // count]
        x = jax.make_array_from_process_local_data(spread, x_train[mine])
        y = jax.make_array_from_process_local_data(spread, y_train[mine])
        weights, loss = step(weights, x, y)
        if number % 100 == 0 and me == 0:
            print(f"step {number:4d}  loss {float(loss):.4f}")
    # All processes have all of the weights.
    accuracy = (logits_of(jax.device_get(weights), x_test).argmax(-1) == y_test).mean()
    if me == 0:
        print(f"{STEPS} steps in {time.time() - start:.1f} s, "
              f"{100 * float(accuracy):.1f} % of the test set are right")


if __name__ == "__main__":
    main()
