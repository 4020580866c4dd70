# SPDX-License-Identifier: Apache-2.0
"""Programs of random numbers and Fourier transforms as JAX lowers them, with what XLA's CPU backend makes of them."""

import jax
import jax.numpy as jnp
import numpy as np

from recorder.program import CHAINED, Program, normal


# ---- Random numbers ----


def dropout_step(key, w1, w2, x, y):
    """Loss and gradients of two layers with dropout between them."""

    def loss(weights):
        h = jnp.tanh(x @ weights[0])
        keep = jax.random.bernoulli(jax.random.wrap_key_data(key), np.float32(0.75), h.shape)
        h = jnp.where(keep, h / 0.75, 0)
        return ((h @ weights[1] - y) ** 2).mean()

    return jax.value_and_grad(loss)((w1, w2))


def samples(key):
    """Splitting, and what most distributions are made of."""
    a, b, c = jax.random.split(jax.random.wrap_key_data(key), 3)
    folded = jax.random.fold_in(c, 5)
    return (
        jax.random.uniform(a, (7, 5), np.float32),
        jax.random.randint(b, (31,), -9, 100, np.int32),
        jax.random.bits(c, (6, 4), jnp.uint8),
        jax.random.normal(folded, (11,), np.float32),
    )


def _random():
    data = (normal(1, 20, 33), normal(2, 33, 4), normal(3, 12, 20), normal(4, 12, 4))
    for implementation, words in (("threefry2x32", 2), ("rbg", 4), ("unsafe_rbg", 4)):
        with jax.default_prng_impl(implementation):
            key = np.arange(17, 17 + words).astype(np.uint32)
            yield Program(f"dropout.{implementation}", dropout_step, (key, *data), 2, CHAINED, 32)
            yield Program(f"samples.{implementation}", samples, (key,), 8, "erf_inv", 4)


# ---- Fourier transforms ----


def poisson(f):
    """The periodic u of mean 0 with Laplacian f less its mean, its gradient, and its energy's spectrum."""
    rows, columns = f.shape
    ky = 2 * np.pi * jnp.fft.fftfreq(rows, 1 / rows, dtype=f.dtype)[:, None]
    kx = 2 * np.pi * jnp.fft.rfftfreq(columns, 1 / columns, dtype=f.dtype)[None, :]
    square = kx**2 + ky**2
    spectrum = jnp.fft.rfft2(f)
    u = jnp.where(square > 0, -spectrum / jnp.where(square > 0, square, 1), 0)
    gradient = [jnp.fft.irfft2(1j * k.astype(u.dtype) * u, f.shape) for k in (kx, ky)]
    return jnp.fft.irfft2(u, f.shape), *gradient, jnp.abs(u) ** 2


def schroedinger(re, im, potential):
    """Steps of a wave function by turns in space and among frequencies."""
    n = potential.shape[0]
    k = 2 * np.pi * jnp.fft.fftfreq(n, 1 / n, dtype=np.float32)
    here = jax.lax.complex(jnp.cos(potential), -jnp.sin(potential))
    there = jax.lax.complex(jnp.cos(k**2 * np.float32(1e-4)), -jnp.sin(k**2 * np.float32(1e-4)))

    def step(_, psi):
        return jnp.fft.ifft(jnp.fft.fft(psi * here) * there)

    psi = jax.lax.fori_loop(0, 5, step, jax.lax.complex(re, im))
    return psi.real, psi.imag


def _fourier():
    yield Program("poisson", poisson, (normal(5, 24, 35),), 4, CHAINED, 8)
    yield Program("poisson.batch", jax.vmap(poisson), (normal(6, 3, 16, 16),), 4, CHAINED, 8)
    waves = (normal(7, 4, 100), normal(8, 4, 100), normal(9, 100))
    yield Program("schroedinger", schroedinger, waves, 4, CHAINED, 8)


def cases():
    yield from _random()
    yield from _fourier()
