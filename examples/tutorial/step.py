# SPDX-License-Identifier: Apache-2.0
"""Writes step.mlir beside this file: the training step of train.c, with gradients by JAX."""
import pathlib

import jax
import jax.numpy as jnp


def loss(w, bias, x, y):
    return jnp.mean((x @ w + bias - y) ** 2)


@jax.jit
def step(w, bias, x, y):
    value, (dw, dbias) = jax.value_and_grad(loss, argnums=(0, 1))(w, bias, x, y)
    return w - 0.1 * dw, bias - 0.1 * dbias, value


shapes = [jax.ShapeDtypeStruct(dims, jnp.float32) for dims in [(3,), (), (64, 3), (64,)]]
text = step.lower(*shapes).as_text(debug_info=True)  # with the names of parameters
file = pathlib.Path(__file__).resolve()
file.with_name("step.mlir").write_text(text.replace(f"{file.parent}/", ""))
