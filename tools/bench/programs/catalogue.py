# SPDX-License-Identifier: Apache-2.0
"""What a program of `halo bench programs` is: a function and its arguments at some sizes.

A module of a field adds programs with the decorator `program`. The decorated function takes the numbers of a
size and gives (function, arguments): what a user would hand to jax.jit, and trees of `Input`.
"""

import collections
import dataclasses
import functools
import importlib
import inspect
import re

import jax
import numpy as np

FIELDS = [
    "training",
    "inference",
    "differential",
    "solvers",
    "recurrences",
    "randomness",
    "hashing",
    "filters",
    "statistics",
    "sorting",
    "mixed",
]


@dataclasses.dataclass(frozen=True)
class Input:
    """An array that is made up from a seed; `recipe` as for `halo run --input`."""

    recipe: str
    dtype: np.dtype
    shape: tuple

    def struct(self):
        return jax.ShapeDtypeStruct(self.shape, self.dtype)


def uniform(*shape, low=-1, high=1, dtype=np.float32):
    return Input(f"random:{low:g}:{high:g}", np.dtype(dtype), shape)


def weights(*shape, dtype=np.float32):
    """Of a layer whose input has all dimensions but the last."""
    return uniform(*shape, low=-_spread(shape), high=_spread(shape), dtype=dtype)


def _spread(shape):
    return round(float(np.sqrt(3 / np.prod(shape[:-1]))), 3)


def normal(*shape, dtype=np.float32):
    return Input("normal", np.dtype(dtype), shape)


def integers(*shape, low=0, high=10, dtype=np.int32):
    return Input(f"random:{low}:{high}", np.dtype(dtype), shape)


def words(*shape):
    return Input("random:0:4294967296", np.dtype(np.uint32), shape)


def zeros(*shape, dtype=np.float32):
    return Input("zeros", np.dtype(dtype), shape)


def ones(*shape, dtype=np.float32):
    return Input("ones", np.dtype(dtype), shape)


@dataclasses.dataclass(frozen=True)
class Program:
    name: str  # "mlp_adam.small"
    field: str
    size: str
    build: object
    given: dict = dataclasses.field(hash=False)

    @property
    def function(self):
        return self.build.__name__

    @property
    def numbers(self):
        """What `build` takes, with its defaults."""
        bound = inspect.signature(self.build).bind(**self.given)
        bound.apply_defaults()
        return bound.arguments

    @functools.cache
    def text(self):
        """The module as JAX lowers it, behind lines that say what it is and what it takes. Layouts are left out:
        all are the usual ones. Names are counted anew, since JAX's numbers depend on what it lowered before."""
        function, arguments = self.build(**self.numbers)
        structs = jax.tree.map(Input.struct, arguments)
        lowered = jax.jit(function, keep_unused=True).lower(*structs)
        recipes = [f"//! input {leaf.recipe}" for leaf in jax.tree.leaves(arguments)]
        heading = [f"//! program {self.field} {self.size}", *recipes]
        entry = lowered.as_text(dialect="hlo").partition("ENTRY")[2]
        if entry.count(" parameter(") != len(recipes):
            raise SystemExit(f"{self.name}: its parameters are not its arguments")
        text = re.sub(r"(?<=\])\{[0-9,]+\}", "", lowered.as_text(dialect="hlo"))
        return "\n".join(heading) + "\n" + renumber(text.strip()) + "\n"


def renumber(text):
    """add.7, mul.3, add.9 become add.1, mul.1, add.2."""
    counts, names = collections.Counter(), {}

    def new_name(name):
        if name[0] not in names:
            counts[name[1]] += 1
            names[name[0]] = f"{name[1]}.{counts[name[1]]}"
        return names[name[0]]

    return re.sub(r"\b([A-Za-z_][\w-]*)\.(\d+)\b", new_name, text)


PROGRAMS = []


def program(field, **sizes):
    """small=dict(...), medium=dict(...), large=dict(...): those sizes that the program has."""

    def add(build):
        for size, numbers in sizes.items():
            PROGRAMS.append(Program(f"{build.__name__}.{size}", field, size, build, numbers))
        return build

    return add


def load():
    """All programs, field by field."""
    for field in FIELDS:
        importlib.import_module(f"programs.{field}")
    return PROGRAMS
