# SPDX-License-Identifier: Apache-2.0
"""Peak memory of train steps in JAX on the plugin and on its CPU backend.

    tools/dev jax python tools/bench/bench_memory.py [PLATFORM ...]        (halo and cpu)

Each platform and size has a process of its own, in which nothing else runs. Shown are its largest resident size, and what of
it came after the platform had compiled and run one small program. The step is one of Adam on a perceptron, with and without
the state donated. A first run on PoCL has clang in the process as well; a second finds what that compiled in its cache.
"""

import os
import subprocess
import sys

STEPS = 4


def resident(name):
    with open("/proc/self/status", encoding="ascii") as file:
        for line in file:
            if line.startswith(name):
                return int(line.split()[1]) / 1024
    return 0.0


def measure(width, donate):
    import jax
    import jax.numpy as jnp
    import numpy as np

    def loss(weights, x, y):
        for w in weights[:-1]:
            x = jax.nn.relu(x @ w)
        return jnp.mean((x @ weights[-1] - y) ** 2)

    def step(state, x, y):
        weights, first, second, count = state
        value, slopes = jax.value_and_grad(loss)(weights, x, y)
        count = count + 1
        first = [0.9 * m + 0.1 * g for m, g in zip(first, slopes)]
        second = [0.99 * v + 0.01 * g * g for v, g in zip(second, slopes)]
        scale = jnp.sqrt(1 - 0.99**count) / (1 - 0.9**count)
        weights = [w - 1e-3 * scale * m / (jnp.sqrt(v) + 1e-8)
                   for w, m, v in zip(weights, first, second)]
        return (weights, first, second, count), value

    def state(width):
        weights = [jnp.full((width, width), 0.01) for _ in range(4)]
        zeros = [jnp.zeros_like(w) for w in weights]
        return weights, zeros, [jnp.zeros_like(w) for w in weights], jnp.float32(0)

    jitted = jax.jit(step, donate_argnums=(0,) if donate else ())
    for size in [16, width]:
        now = state(size)
        x = jnp.asarray(np.ones((256, size), np.float32))
        for _ in range(STEPS):
            now, value = jitted(now, x, x)
        jax.block_until_ready((now, value))
        if size == 16:
            with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
                file.write("5")
            start = resident("VmRSS")
    stats = jax.devices()[0].memory_stats() or {}
    print(f"{jax.default_backend():5} {width:6} {'donated' if donate else 'kept':8}"
          f"{resident('VmHWM'):9.1f} MiB, of these after the start {resident('VmHWM') - start:8.1f}"
          f"   of the device {stats.get('peak_bytes_in_use', 0) / 2**20:8.1f}"
          f"   state {12 * 4 * width * width / 2**20:8.1f}   loss {float(value):.4f}")


def main():
    if os.environ.get("HALO_BENCH_MEASURES"):
        measure(int(sys.argv[1]), sys.argv[2] == "donated")
        return
    for width in ["512", "2048"]:
        for kind in ["donated", "kept"]:
            for platform in sys.argv[1:] or ["halo", "cpu"]:
                subprocess.run([sys.executable, __file__, width, kind], check=True,
                               env={**os.environ, "JAX_PLATFORMS": platform,
                                    "HALO_BENCH_MEASURES": "1"})


if __name__ == "__main__":
    main()
