#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/bench/bench_dispatch.py: what JAX's smallest calls take on a platform, in microseconds: the best of eight rounds.

    tools/dev jax python tools/bench/bench_dispatch.py [halo] [cpu]

Each platform is measured in a process of its own, with JAX_PLATFORMS as its name.
"""
import os
import subprocess
import sys
import time


def measure():
    import jax
    import jax.numpy as jnp
    import numpy as np

    def best(call, count=400):
        for _ in range(20):
            call()
        times = []
        for _ in range(8):
            start = time.perf_counter()
            for _ in range(count):
                result = call()
            jax.block_until_ready(result)
            times.append((time.perf_counter() - start) / count)
        return 1e6 * min(times)

    a, b, host = jnp.ones(1024), jnp.ones(1024), np.ones(1024, np.float32)
    large = jnp.ones(1 << 22)
    rows = {
        "jnp.add of 1024 floats": lambda: jnp.add(a, b),
        "the same, and its end": lambda: jnp.add(a, b).block_until_ready(),
        "a + 1.0": lambda: a + 1.0,
        "device_put of 1024 floats": lambda: jax.device_put(host),
        "jnp.add, and np.asarray of it": lambda: np.asarray(jnp.add(a, b)),
    }
    for name, call in rows.items():
        print(f"{jax.default_backend():5} {best(call):8.1f}  {name}")
    start = time.perf_counter()
    np.asarray(large)
    print(f"{jax.default_backend():5} {1e6 * (time.perf_counter() - start):8.1f}  "
          "np.asarray of 16 MiB, the first time")


def main():
    if os.environ.get("HALO_BENCH_MEASURES"):
        measure()
        return
    for platform in sys.argv[1:] or ["halo", "cpu"]:
        subprocess.run([sys.executable, __file__], check=True,
                       env={**os.environ, "JAX_PLATFORMS": platform, "HALO_BENCH_MEASURES": "1"})


if __name__ == "__main__":
    main()
