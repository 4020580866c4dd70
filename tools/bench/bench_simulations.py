# SPDX-License-Identifier: Apache-2.0
"""Times simulations and solvers of other packages on the plugin and on JAX's CPU backend, in turns.

Each program runs as one jitted function of many small steps: environments, physics, ordinary differential
equations and an optimiser. A line of a program has the shortest time of a call on the plugin and on XLA's CPU
backend and their ratio, and whether the results agree. Packages that are not installed are named and left out.

    tools/dev jax python tools/bench/bench_simulations.py [--dump FOLDER] [--seconds S] [--rounds N] [PROGRAM ...]

--dump writes each program's StableHLO text and its arguments (NAME.mlir, NAME.npz), for `halo run`.
"""

import argparse
import importlib
import os
import time

import jax
import jax.numpy as jnp
import numpy as np


def bfgs():
    """BFGS of jax.scipy on Rosenbrock's function of 10 unknowns."""
    from jax.scipy.optimize import minimize

    def rosenbrock(x):
        return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    return lambda x: minimize(rosenbrock, x, method="BFGS").x, (jnp.zeros(10),)


def brax():
    """100 steps of brax's inverted pendulum, generalised back end. Differences grow tenfold in ten steps: of 1e-7 after the fifth,
    nothing is left to compare at the end."""
    from brax import envs

    environment = envs.get_environment("inverted_pendulum", backend="generalized")

    def run(key, actions):
        state = environment.reset(key)
        state, rewards = jax.lax.scan(
            lambda s, a: ((t := environment.step(s, a)), t.reward), state, actions
        )
        return state.obs, rewards

    actions = 0.1 * jnp.sin(jnp.arange(100.0))[:, None]
    return run, (jax.random.PRNGKey(0), actions)


def dynamiqs():
    """dynamiqs' mesolve: a damped oscillator of 16 levels."""
    import dynamiqs as dq

    def run(alpha):
        a = dq.destroy(16)
        result = dq.mesolve(
            a.dag() @ a,
            [jnp.sqrt(0.5) * a],
            dq.coherent(16, alpha),
            jnp.linspace(0, 2.0, 11),
            exp_ops=[a],
            progress_meter=False,
        )
        return result.expects

    return run, (jnp.float32(1.0),)


def jumanji(name):
    import jumanji

    environment = jumanji.make(name)

    def run(key, actions):
        state, _ = environment.reset(key)

        def step(s, a):
            s, t = environment.step(s, a)
            return s, (t.reward, t.discount)

        return jax.lax.scan(step, state, actions)[1]

    return run, (jax.random.PRNGKey(0), jnp.arange(100, dtype=jnp.int32) % 4)


def jumanji_snake():
    """100 steps of jumanji's Snake."""
    return jumanji("Snake-v1")


def jumanji_2048():
    """100 steps of jumanji's 2048."""
    return jumanji("Game2048-v1")


def minigrid():
    """100 steps of xland-minigrid's four rooms."""
    import xminigrid

    environment, parameters = xminigrid.make("MiniGrid-FourRooms")

    def run(key, actions):
        t = environment.reset(parameters, key)

        def step(t, a):
            t = environment.step(parameters, t, a)
            return t, (t.reward, t.observation)

        return jax.lax.scan(step, t, actions)[1]

    return run, (jax.random.PRNGKey(0), jnp.arange(100, dtype=jnp.int32) % 6)


def jaxley():
    """jaxley: 10 ms of a Hodgkin-Huxley cell of two branches."""
    import jaxley as jx
    from jaxley.channels import HH

    compartment = jx.Compartment()
    branch = jx.Branch(compartment, ncomp=2)
    cell = jx.Cell(branch, parents=[-1, 0, 0])
    cell.insert(HH())
    cell.branch(0).loc(0.0).record(verbose=False)
    current = jx.step_current(i_delay=1.0, i_dur=2.0, i_amp=0.1, delta_t=0.025, t_max=10.0)

    def run(scale):
        stimuli = cell.branch(1).loc(1.0).data_stimulate(current * scale)
        return jx.integrate(cell, data_stimuli=stimuli, delta_t=0.025)

    return run, (jnp.float32(1.0),)


def asterix():
    """100 steps of gymnax's Asterix."""
    import gymnax

    environment, parameters = gymnax.make("Asterix-MinAtar")

    def run(key, actions):
        _, state = environment.reset(key, parameters)

        def step(carry, a):
            key, state = carry
            key, one = jax.random.split(key)
            out = environment.step(one, state, a, parameters)
            return (key, out[1]), out[2]

        return jax.lax.scan(step, (key, state), actions)[1]

    return run, (jax.random.PRNGKey(0), jnp.arange(100, dtype=jnp.int32) % 5)


PROGRAMS = {
    "bfgs": bfgs,
    "brax": brax,
    "dynamiqs": dynamiqs,
    "jumanji_snake": jumanji_snake,
    "jumanji_2048": jumanji_2048,
    "minigrid": minigrid,
    "jaxley": jaxley,
    "asterix": asterix,
}


class Side:
    """A program on one backend."""

    def __init__(self, function, arguments, backend):
        device = jax.devices(backend)[0]
        self.arguments = jax.device_put(arguments, device)
        start = time.perf_counter()
        self.call = jax.jit(function).lower(*self.arguments).compile()
        self.result = self.run()
        self.first = time.perf_counter() - start
        self.best = float("inf")

    def run(self):
        return jax.block_until_ready(self.call(*self.arguments))

    def measure(self, seconds):
        end = time.perf_counter() + seconds
        while True:
            start = time.perf_counter()
            self.run()
            now = time.perf_counter()
            self.best = min(self.best, now - start)
            if now > end:
                return


def agree(a, b):
    """The largest difference of results, relative to the largest element."""
    worst = 0.0
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        x, y = np.asarray(x), np.asarray(y)
        if x.size == 0:
            continue
        if x.dtype.kind in "bui":
            worst = max(worst, float(np.max(x != y)))
        else:
            worst = max(worst, float(np.max(np.abs(x - y)) / max(1e-30, np.max(np.abs(y)))))
    return worst


def dump(folder, name, function, arguments):
    os.makedirs(folder, exist_ok=True)
    lowered = jax.jit(function).lower(*arguments)
    with open(os.path.join(folder, name + ".mlir"), "w", encoding="utf-8") as file:
        file.write(lowered.as_text())
    leaves = jax.tree.leaves(arguments)
    np.savez(
        os.path.join(folder, name + ".npz"),
        **{f"arg{i}": np.asarray(leaf) for i, leaf in enumerate(leaves)},
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dump", metavar="FOLDER")
    parser.add_argument("--seconds", type=float, default=0.2, help="of a turn")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM")
    options = parser.parse_args()
    for name in options.programs or PROGRAMS:
        try:
            function, arguments = PROGRAMS[name]()
        except ModuleNotFoundError as error:
            print(f"{name:14} left out: {error}", flush=True)
            continue
        if options.dump:
            dump(options.dump, name, function, arguments)
            continue
        ours, xla = Side(function, arguments, "halo"), Side(function, arguments, "cpu")
        for _ in range(options.rounds):
            ours.measure(options.seconds)
            xla.measure(options.seconds)
        print(
            f"{name:14} {ours.best * 1e6:10.0f} us, XLA {xla.best * 1e6:10.0f} us, ratio "
            f"{ours.best / xla.best:6.2f}; compilation and first run {ours.first:.1f} s, XLA {xla.first:.1f} s; "
            f"difference {agree(ours.result, xla.result):.1e}",
            flush=True,
        )


if __name__ == "__main__":
    main()
