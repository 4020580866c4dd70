# SPDX-License-Identifier: Apache-2.0
"""Remakes dense/train_step.N.hlo: the training step on N devices, each with its part of the batch, as XLA's
partitioner leaves it: all-reduces of the gradients between them.

    env/bin/python make_cluster.py        (see make.py)
"""

import glob
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
COUNTS = 2, 4


def lower(count):
    """In a process of its own, since XLA's devices are counted when it starts."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import Mesh, PartitionSpec

    import make

    network = make.Dense()
    whole, part = PartitionSpec(), PartitionSpec("device")

    def train_step(params, moving, m, v, step, x, y):
        loss = jax.value_and_grad(network.loss, has_aux=True)
        (value, moving), gradients = loss(params, moving, x, y)
        gradients, value = jax.lax.pmean((gradients, value), "device")
        step = step + 1
        t = step.astype(jnp.float32)
        rate = network.rate * jnp.sqrt(1 - make.BETA2**t) / (1 - make.BETA1**t)
        m = [make.BETA1 * a + (1 - make.BETA1) * g for a, g in zip(m, gradients)]
        v = [make.BETA2 * a + (1 - make.BETA2) * g * g for a, g in zip(v, gradients)]
        params = [p - rate * a / (jnp.sqrt(b) + make.EPSILON) for p, a, b in zip(params, m, v)]
        return params, moving, m, v, step, value

    mesh = Mesh(np.array(jax.devices()[:count]), ("device",))
    specs = (whole, whole, whole, whole, whole, part, part)
    step = jax.shard_map(train_step, mesh=mesh, in_specs=specs, out_specs=whole, check_vma=False)
    params = [jnp.asarray(p) for p in network.parameters.values()]
    zeros = [jnp.zeros_like(p) for p in params]
    x = jnp.zeros((make.BATCH, 64), jnp.float32)
    y = jnp.zeros(make.BATCH, jnp.int32)
    jax.jit(step).lower(params, [], zeros, zeros, jnp.int32(0), x, y).compile()


def main():
    for count in COUNTS:
        with tempfile.TemporaryDirectory() as folder:
            flags = f"--xla_force_host_platform_device_count={count} --xla_dump_to={folder}"
            flags += " --xla_dump_hlo_as_text --xla_dump_hlo_pass_re=spmd-partitioning"
            env = {**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags}
            subprocess.run([sys.executable, __file__, str(count)], env=env, check=True, cwd=HERE)
            (path,) = glob.glob(f"{folder}/*jit_train_step*after_spmd-partitioning*")
            text = pathlib.Path(path).read_text()
        # What names the Python source is for who debugs JAX.
        text = re.sub(r", (metadata|sharding)=\{[^}]*\}", "", text)
        text = re.sub(r"\n\nFileNames\n.*?\n\n(?=%|ENTRY)", "\n\n", text, flags=re.S)
        (HERE / "dense" / f"train_step.{count}.hlo").write_text(text)


if __name__ == "__main__":
    lower(int(sys.argv[1])) if len(sys.argv) > 1 else main()
