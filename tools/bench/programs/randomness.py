# SPDX-License-Identifier: Apache-2.0
"""Random numbers and what is made from them."""

import jax
import jax.numpy as jnp

from programs.catalogue import normal, program, uniform, words


def key(data):
    return jax.random.wrap_key_data(data, impl="threefry2x32")


@program("randomness", small=dict(paths=64, steps=12), large=dict(paths=200000, steps=100))
def option_price(paths, steps):
    """An Asian option by the mean over random paths, all drawn at once."""

    def price(seed, start, spread):
        z = jax.random.normal(key(seed), (paths, steps))
        path = start * jnp.exp(
            jnp.cumsum((0.01 - spread**2 / 2) / steps + spread / steps**0.5 * z, 1)
        )
        gain = jnp.exp(-0.01) * jnp.maximum(path.mean(1) - start, 0)
        return gain.mean(), gain.std() / paths**0.5

    return price, (words(2), uniform(low=90, high=110), uniform(low=0.1, high=0.3))


@program("randomness", small=dict(chains=8, steps=50), medium=dict(chains=2000, steps=100))
def metropolis(chains, steps):
    """Chains that wander over a density with two peaks; keys are split in the loop."""

    def density(x):
        return jnp.logaddexp(-((x - 1.5) ** 2).sum(-1), -((x + 1.5) ** 2).sum(-1))

    def sample(seed, start):
        def step(carry, _):
            k, x, energy = carry
            k, k1, k2 = jax.random.split(k, 3)
            new = x + 0.8 * jax.random.normal(k1, x.shape)
            there = density(new)
            moves = jnp.log(jax.random.uniform(k2, energy.shape)) < there - energy
            x = jnp.where(moves[:, None], new, x)
            return (k, x, jnp.where(moves, there, energy)), moves.mean()

        (_, x, _), moved = jax.lax.scan(
            step, (key(seed), start, density(start)), None, length=steps
        )
        return x.mean(0), moved.mean()

    return sample, (words(2), normal(chains, 2))


@program("randomness", small=dict(count=40), medium=dict(count=20000))
def gamma_samples(count):
    """By rejection, each in a loop of its own until one is accepted."""

    def sample(seed, shape):
        return jax.random.gamma(key(seed), shape)

    return sample, (words(2), uniform(count, low=0.5, high=4))


@program("randomness", small=dict(count=50, picks=10), medium=dict(count=20000, picks=500))
def shuffled_batch(count, picks):
    """A permutation, the rows at its front with dropout, and a weighted choice."""

    def draw(seed, rows, share):
        k1, k2, k3 = jax.random.split(key(seed), 3)
        order = jax.random.permutation(k1, count)[:picks]
        batch = rows[order]
        kept = jax.random.bernoulli(k2, 0.9, batch.shape)
        chosen = jax.random.choice(k3, count, (picks,), p=share / share.sum())
        return order, jnp.where(kept, batch / 0.9, 0), chosen

    return draw, (words(2), normal(count, 8), uniform(count, low=0, high=1))
