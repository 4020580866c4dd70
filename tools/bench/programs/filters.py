# SPDX-License-Identifier: Apache-2.0
"""Filters of signals, images and states."""

import jax
import jax.numpy as jnp
import numpy as np

from programs.catalogue import normal, program, uniform


@program("filters", small=dict(channels=2, length=200), medium=dict(channels=64, length=1000))
def biquads(channels, length):
    """Three second-order sections one after another, sample by sample."""

    def run(signal, coefficients):
        def sample(state, x):
            new = []
            for (s1, s2), (b0, b1, b2, a1, a2) in zip(state, coefficients):
                y = b0 * x + s1
                new.append((b1 * x - a1 * y + s2, b2 * x - a2 * y))
                x = y
            return new, x

        rest = jnp.zeros(channels)
        return jax.lax.scan(sample, [(rest, rest)] * 3, signal)[1]

    return run, (normal(length, channels), uniform(3, 5, low=0.05, high=0.3))


@program("filters", small=dict(tracks=1, length=60), medium=dict(tracks=500, length=100))
def kalman(tracks, length):
    """Places and speeds in two dimensions from noisy places."""

    h = 0.1
    motion = np.eye(4, dtype=np.float32) + h * np.eye(4, k=2, dtype=np.float32)
    seen = np.eye(2, 4, dtype=np.float32)

    def track(measured):
        def step(state, z):
            x, p = state
            x, p = motion @ x, motion @ p @ motion.T + 0.01 * jnp.eye(4)
            s = seen @ p @ seen.T + 0.25 * jnp.eye(2)
            turned = jnp.array([[s[1, 1], -s[0, 1]], [-s[1, 0], s[0, 0]]])
            inverse = turned / (s[0, 0] * s[1, 1] - s[0, 1] * s[1, 0])
            gain = p @ seen.T @ inverse
            x = x + gain @ (z - seen @ x)
            return (x, (jnp.eye(4) - gain @ seen) @ p), x

        (_, p), path = jax.lax.scan(step, (jnp.zeros(4), 10 * jnp.eye(4)), measured)
        return path, p

    return jax.vmap(track), (normal(tracks, length, 2),)


@program("filters", small=dict(side=24), large=dict(side=2048))
def edges(side):
    """Canny's first steps: blur, slopes, thinning along the slope, two thresholds."""

    def blur(x, axis):
        x = jnp.pad(x, 2, mode="edge")
        near = [jax.lax.slice_in_dim(x, i, i + side, axis=axis) for i in range(5)]
        cut = [slice(2, -2), slice(None)] if axis else [slice(None), slice(2, -2)]
        return sum(w * a for w, a in zip((0.06, 0.24, 0.4, 0.24, 0.06), near))[tuple(cut)]

    def detect(image):
        x = jnp.pad(blur(blur_rows(image), 1), 1, mode="edge")
        dy = (x[2:, :-2] + 2 * x[2:, 1:-1] + x[2:, 2:]) - (
            x[:-2, :-2] + 2 * x[:-2, 1:-1] + x[:-2, 2:]
        )
        dx = (x[:-2, 2:] + 2 * x[1:-1, 2:] + x[2:, 2:]) - (
            x[:-2, :-2] + 2 * x[1:-1, :-2] + x[2:, :-2]
        )
        size = jnp.sqrt(dx * dx + dy * dy)
        wide = jnp.pad(size, 1)
        level = jnp.abs(dx) > jnp.abs(dy)
        one = jnp.where(level, wide[1:-1, 2:], wide[2:, 1:-1])
        two = jnp.where(level, wide[1:-1, :-2], wide[:-2, 1:-1])
        thin = jnp.where((size >= one) & (size >= two), size, 0)
        strong = thin > 1.0
        near = jax.lax.reduce_window(strong, False, jax.lax.bitwise_or, (3, 3), (1, 1), "SAME")
        return thin, strong | (near & (thin > 0.5))

    def blur_rows(image):
        return blur(image, 0)

    return detect, (uniform(side, side, low=0, high=1),)


@program("filters", small=dict(length=512, frame=64), medium=dict(length=65536, frame=512))
def spectrogram(length, frame):
    """Overlapping windows of sound, their spectra, in bands and logarithms."""

    def analyse(sound, bands):
        hop = frame // 2
        count = (length - frame) // hop + 1
        places = hop * jnp.arange(count)[:, None] + jnp.arange(frame)[None]
        window = 0.5 - 0.5 * jnp.cos(2 * jnp.pi * jnp.arange(frame) / frame)
        power = jnp.abs(jnp.fft.rfft(sound[places] * window)) ** 2
        loud = jnp.log(power @ bands + 1e-6)
        return loud - loud.mean(0), jnp.argmax(power, -1).astype(jnp.int32)

    return analyse, (normal(length), uniform(frame // 2 + 1, 20, low=0, high=1))
