# SPDX-License-Identifier: Apache-2.0
"""threads.py: JAX from several Python threads at once, each result compared with NumPy's.

    python tests/jax/threads.py [--threads 8] [--seconds 10]

Each thread takes chains of jitted functions, small and large, whose arrays go from one to the next, compiles new ones, and
copies arrays to the device and back. Ends with "N passed, N failed": results of chains.
"""

import argparse
import collections
import threading
import time

import jax
import jax.numpy as jnp
import numpy as np


@jax.jit
def first(x):
  return x[0] * 1


@jax.jit
def large(x, k):
  s = jnp.exp(jnp.cos(jnp.sin(x)))
  return x + k + (s - s)


@jax.jit
def counted(x, n):
  return jax.lax.fori_loop(0, n, lambda i, c: c.at[i % 7].add(i), x)


def doubling(rng):
  """Each function needs the result of the one before, and waits for it nowhere."""
  x = jnp.ones(1 << 17, jnp.float32)
  for _ in range(4):
    y = large(x, first(x))
    x = large(y, first(y))
  return np.asarray(x), np.full(1 << 17, 256, np.float32)


def products(rng):
  a = rng.integers(-4, 5, (64, 96)).astype(np.float32)
  b = rng.integers(-4, 5, (96, 32)).astype(np.float32)
  return np.asarray(jnp.sort(jnp.asarray(a) @ b, axis=0)), np.sort(a @ b, axis=0)


def loops(rng):
  n = int(rng.integers(1, 40))
  expected = np.zeros(7, np.int32)
  for i in range(n): expected[i % 7] += i
  return np.asarray(counted(jnp.zeros(7, jnp.int32), n)), expected


def compiled(rng):
  """A function that no other thread has."""
  k, n = int(rng.integers(1, 1 << 20)), int(rng.integers(1, 3000))
  x = np.arange(n, dtype=np.int32)
  return np.asarray(jax.jit(lambda v: (v + k).sum() + v)(x)), x + (x + np.int32(k)).sum(dtype=np.int32)


def copies(rng):
  x = rng.integers(0, 1000, int(rng.integers(1, 200000))).astype(np.int32)
  y = jax.device_put(x)
  return np.asarray(y.at[0].set(7)), np.concatenate([[np.int32(7)], x[1:]])


CHAINS = (doubling, products, loops, copies, doubling, products, loops, copies, compiled)


def work(thread, until, counts, wrong):
  rng, i = np.random.default_rng(thread), thread
  while time.monotonic() < until:
    chain = CHAINS[i % len(CHAINS)]
    i += 1
    try:
      result, expected = chain(rng)
      good = np.array_equal(result, expected)
      if not good: wrong.append(f"{chain.__name__} in thread {thread}: {int((result != expected).sum())} of {expected.size}")
    except Exception as e:  # counted, as what is wrong
      good = False
      wrong.append(f"{chain.__name__} in thread {thread}: {e!r}")
    counts[thread, good] += 1


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument("--threads", type=int, default=8)
  parser.add_argument("--seconds", type=float, default=10)
  options = parser.parse_args()
  counts, wrong = collections.Counter(), []
  until = time.monotonic() + options.seconds
  threads = [threading.Thread(target=work, args=(i, until, counts, wrong)) for i in range(options.threads)]
  for thread in threads: thread.start()
  for thread in threads: thread.join()
  for line in wrong[:10]: print("FAIL", line)
  passed = sum(n for (_, good), n in counts.items() if good)
  failed = sum(n for (_, good), n in counts.items() if not good)
  print(f"{options.threads} threads, {options.seconds:g} s, {jax.devices()[0]}")
  print(f"{passed} passed, {failed} failed")
  raise SystemExit(failed > 0 or passed == 0)


if __name__ == "__main__":
  main()
