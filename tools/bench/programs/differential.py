# SPDX-License-Identifier: Apache-2.0
"""Differential equations and other scans over time."""

import jax
import jax.numpy as jnp

from programs.catalogue import normal, program, uniform


def runge_kutta(f, y, h):
    k1 = f(y)
    k2 = f(y + h / 2 * k1)
    k3 = f(y + h / 2 * k2)
    k4 = f(y + h * k3)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


@program(
    "differential",
    small=dict(count=1, steps=500),
    large=dict(count=262144, steps=50),
)
def predators(count, steps):
    """Lotka and Volterra's equations with saturation, each with its own rates; the last state and the peak."""

    def simulate(start, rates):
        def slope(y):
            prey, hunters = y
            eaten = rates[1] * prey * hunters / (1 + prey)
            return jnp.stack([rates[0] * prey * (1 - prey / 4) - eaten, eaten - rates[2] * hunters])

        def step(carry, _):
            y, peak = carry
            y = runge_kutta(slope, y, 0.02)
            return (y, jnp.maximum(peak, y)), None

        return jax.lax.scan(step, (start, start), None, length=steps)[0]

    return simulate, (uniform(2, count, low=0.5, high=2), uniform(3, count, low=0.5, high=1.5))


@program("differential", small=dict(bodies=3, steps=200), large=dict(bodies=600, steps=20))
def bodies(bodies, steps):
    """Masses that attract each other, by leapfrog; the path of the first one and the energy."""

    def pull(x, mass):
        apart = x[None] - x[:, None]
        near = (apart**2).sum(-1) + 0.05
        return (apart * (mass / near**1.5)[..., None]).sum(1)

    def simulate(x, v, mass):
        def step(carry, _):
            x, v, a = carry
            v = v + 0.005 * a
            x = x + 0.01 * v
            a = pull(x, mass)
            v = v + 0.005 * a
            return (x, v, a), (x[0], (mass * (v**2).sum(-1)).sum() / 2)

        (x, v, _), path = jax.lax.scan(step, (x, v, pull(x, mass)), None, length=steps)
        return x, v, path

    masses = uniform(bodies, low=0.1, high=1)
    return simulate, (normal(bodies, 3), normal(bodies, 3), masses)


@program("differential", small=dict(count=1), medium=dict(count=2000))
def adaptive_pendulum(count):
    """A damped, driven pendulum with Bogacki and Shampine's method and steps of its own size until time 5."""

    def slope(t, y):
        return jnp.stack([y[1], -0.2 * y[1] - jnp.sin(y[0]) + 0.5 * jnp.cos(0.7 * t)])

    def simulate(start):
        def unfinished(state):
            t, _, _, rounds = state
            return (t < 5.0) & (rounds < 500)

        def step(state):
            t, h, y, rounds = state
            h = jnp.minimum(h, 5.0 - t)
            k1 = slope(t, y)
            k2 = slope(t + h / 2, y + h / 2 * k1)
            k3 = slope(t + h * 3 / 4, y + h * 3 / 4 * k2)
            new = y + h * (2 * k1 + 3 * k2 + 4 * k3) / 9
            k4 = slope(t + h, new)
            error = jnp.abs(h * (-5 * k1 / 72 + k2 / 12 + k3 / 9 - k4 / 8)).max()
            good = error <= 1e-4
            factor = jnp.clip(0.9 * jnp.cbrt(1e-4 / (error + 1e-12)), 0.3, 3.0)
            return jnp.where(good, t + h, t), h * factor, jnp.where(good, new, y), rounds + 1

        return jax.lax.while_loop(unfinished, step, (0.0, 0.1, start, 0))

    return simulate, (normal(2, count),)


@program("differential", small=dict(side=24, steps=60), large=dict(side=768, steps=40))
def reaction_diffusion(side, steps):
    """Gray and Scott's two substances on a torus."""

    def spread(a):
        sides = jnp.roll(a, 1, 0) + jnp.roll(a, -1, 0) + jnp.roll(a, 1, 1) + jnp.roll(a, -1, 1)
        return sides - 4 * a

    def simulate(u, v):
        def step(_, uv):
            u, v = uv
            made = u * v * v
            u = u + 0.16 * spread(u) - made + 0.035 * (1 - u)
            v = v + 0.08 * spread(v) + made - 0.1 * v
            return u, v

        return jax.lax.fori_loop(0, steps, step, (u, v))

    return simulate, (uniform(side, side, low=0.5, high=1), uniform(side, side, low=0, high=0.5))


@program(
    "differential",
    small=dict(rods=1, points=32, steps=10),
    medium=dict(rods=256, points=128, steps=10),
)
def implicit_heat(rods, points, steps):
    """Heat in rods by implicit steps: each a tridiagonal system by elimination and substitution."""

    def solve(below, diagonal, above, right):
        def eliminate(carry, row):
            c, d = carry
            a, b, e, r = row
            scale = 1 / (b - a * c)
            new = (e * scale, (r - a * d) * scale)
            return new, new

        def substitute(x, row):
            c, d = row
            x = d - c * x
            return x, x

        nothing = jnp.zeros_like(right[0])
        _, (c, d) = jax.lax.scan(eliminate, (nothing, nothing), (below, diagonal, above, right))
        return jax.lax.scan(substitute, nothing, (c, d), reverse=True)[1]

    def simulate(heat, conductance):
        flow = 0.5 * conductance
        below = jnp.concatenate([jnp.zeros_like(flow[:1]), -flow])
        above = jnp.concatenate([-flow, jnp.zeros_like(flow[:1])])
        diagonal = 1 - below - above

        def step(heat, _):
            heat = solve(below, diagonal, above, heat)
            return heat, heat.mean(0)

        return jax.lax.scan(step, heat, None, length=steps)

    return simulate, (normal(points, rods), uniform(points - 1, rods, low=0.1, high=1))
