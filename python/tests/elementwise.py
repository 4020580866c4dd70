"""Operations on elements, for each type that JAX allows."""
import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax

from compare import Case, uniform

FLOATS = ("float32", "float16", "bfloat16")
COMPLEX = ("complex64",)
SIGNED = ("int8", "int16", "int32")
UNSIGNED = ("uint8", "uint16", "uint32")
NARROW = ("int4", "uint4", "float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz")
NUMBERS = FLOATS + COMPLEX + SIGNED + UNSIGNED

# name: types, and where the function is defined
UNARY = {
    "abs": (FLOATS + COMPLEX + SIGNED, -2, 2), "neg": (NUMBERS, -2, 2), "sign": (NUMBERS, -2, 2),
    "floor": (FLOATS, -9, 9), "ceil": (FLOATS, -9, 9), "round": (FLOATS, -9, 9),
    "exp": (FLOATS + COMPLEX, -4, 4), "exp2": (FLOATS + COMPLEX, -4, 4),
    "expm1": (FLOATS + COMPLEX, -2, 2), "log": (FLOATS + COMPLEX, 0.1, 9),
    "log1p": (FLOATS + COMPLEX, -0.5, 4), "sqrt": (FLOATS + COMPLEX, 0, 9),
    "rsqrt": (FLOATS + COMPLEX, 0.1, 9), "cbrt": (FLOATS, -9, 9),
    "sin": (FLOATS + COMPLEX, -9, 9), "cos": (FLOATS + COMPLEX, -9, 9),
    "tan": (FLOATS + COMPLEX, -1, 1), "asin": (FLOATS + COMPLEX, -1, 1),
    "acos": (FLOATS + COMPLEX, -1, 1), "atan": (FLOATS + COMPLEX, -4, 4),
    "sinh": (FLOATS + COMPLEX, -3, 3), "cosh": (FLOATS + COMPLEX, -3, 3),
    "tanh": (FLOATS + COMPLEX, -3, 3), "asinh": (FLOATS + COMPLEX, -3, 3),
    "acosh": (FLOATS + COMPLEX, 1.1, 4), "atanh": (FLOATS + COMPLEX, -0.9, 0.9),
    "logistic": (FLOATS + COMPLEX, -4, 4), "erf": (FLOATS, -3, 3), "erfc": (FLOATS, -3, 3),
    "erf_inv": (FLOATS, -0.95, 0.95), "lgamma": (FLOATS, 0.1, 9), "digamma": (FLOATS, 0.1, 9),
    "bessel_i0e": (FLOATS, -4, 4), "bessel_i1e": (FLOATS, -4, 4),
    "is_finite": (FLOATS, -2, 2), "population_count": (SIGNED + UNSIGNED, -9, 9),
    "clz": (SIGNED + UNSIGNED, -9, 9), "bitwise_not": (SIGNED + UNSIGNED + ("bool",), -9, 9),
    "real": (COMPLEX, -2, 2), "imag": (COMPLEX, -2, 2), "conj": (COMPLEX, -2, 2),
    "square": (NUMBERS, -2, 2), "reciprocal": (FLOATS + COMPLEX, 0.5, 4),
    "integer_pow": (NUMBERS, -2, 2),
}
BINARY = {
    "add": NUMBERS, "sub": NUMBERS, "mul": NUMBERS, "div": NUMBERS, "rem": FLOATS + SIGNED + UNSIGNED,
    "max": NUMBERS + ("bool",), "min": NUMBERS + ("bool",), "pow": FLOATS + COMPLEX,
    "atan2": FLOATS, "nextafter": ("float32", "float16", "bfloat16"),
    "bitwise_and": SIGNED + UNSIGNED + ("bool",), "bitwise_or": SIGNED + UNSIGNED + ("bool",),
    "bitwise_xor": SIGNED + UNSIGNED + ("bool",), "shift_left": SIGNED + UNSIGNED,
    "shift_right_logical": SIGNED + UNSIGNED, "shift_right_arithmetic": SIGNED + UNSIGNED,
    "eq": NUMBERS + ("bool",), "ne": NUMBERS + ("bool",), "lt": FLOATS + SIGNED + UNSIGNED,
    "le": FLOATS + SIGNED + UNSIGNED, "gt": FLOATS + SIGNED + UNSIGNED,
    "ge": FLOATS + SIGNED + UNSIGNED, "igamma": FLOATS[:1], "igammac": FLOATS[:1],
    "zeta": FLOATS[:1], "polygamma": FLOATS[:1], "random_gamma_grad": FLOATS[:1],
}
SHIFTS = ("shift_left", "shift_right_logical", "shift_right_arithmetic")
POSITIVE = ("pow", "igamma", "igammac", "zeta", "polygamma", "random_gamma_grad")
# Compared with another algorithm: bounds of their own.
BOUNDS = {"lgamma": 1e-4, "digamma": 1e-4, "igamma": 1e-3, "igammac": 1e-3, "zeta": 1e-4,
          "polygamma": 1e-3, "random_gamma_grad": 1e-3}


def special(dtype):
    """NaN, infinities, both zeros and the largest values of a floating-point type."""
    dtype = np.dtype(dtype)
    most = float(jnp.finfo(dtype).max)
    values = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, most, -most, 0.5, 3.0]
    return np.array(values).astype(dtype)


def unary():
    for name, (types, low, high) in UNARY.items():
        call = getattr(lax, name)
        if name == "integer_pow":
            call = lambda x: lax.integer_pow(x, 3)  # noqa: E731
        for dtype in types:
            x = uniform(1, (3, 5), dtype, low, high)
            if name == "reciprocal":
                call = lambda x: 1 / x  # noqa: E731
            yield Case(f"{name}.{dtype}", call, (x,), BOUNDS.get(name, 0))
        if "float32" in types and name not in ("lgamma", "digamma", "bessel_i0e", "bessel_i1e",
                                               "integer_pow", "reciprocal"):
            yield Case(f"{name}.special", call, (special("float32"),), BOUNDS.get(name, 0))


def binary():
    for name, types in BINARY.items():
        call = getattr(lax, name)
        for dtype in types:
            low = 0.3 if name in POSITIVE else -4
            x, y = uniform(2, (4, 3), dtype, low, 4), uniform(3, (4, 3), dtype, low, 4)
            if name == "zeta":
                x = x + 1
            if name == "polygamma":
                x = np.array([[1, 2, 3]] * 4, dtype)
            if name in SHIFTS:
                y = np.abs(y.astype("int32")).astype(dtype) % 9
            if name in ("div", "rem") and np.issubdtype(x.dtype, np.integer):
                y = np.where(y == 0, 3, y).astype(dtype)
            yield Case(f"{name}.{dtype}", call, (x, y), BOUNDS.get(name, 0))
    grid = special("float32")
    x, y = np.repeat(grid, len(grid)), np.tile(grid, len(grid))
    for name in ("add", "mul", "div", "rem", "max", "min", "pow", "atan2", "lt", "eq"):
        yield Case(f"{name}.special", getattr(lax, name), (x, y))


def narrow():
    for dtype in NARROW:
        x = uniform(4, (2, 7), "float32", -3, 3).astype(getattr(ml_dtypes, dtype))
        yield Case(f"identity.{dtype}", lambda x: x, (x,))
        yield Case(f"to_float.{dtype}", lambda x: x.astype(jnp.float32) * 2, (x,))
        yield Case(f"from_float.{dtype}", lambda x, d=dtype: x.astype(d),
                   (uniform(5, (9,), "float32", -3, 3),))
        yield Case(f"add.{dtype}", lambda x: (x + x), (x,))


def conversions():
    types = NUMBERS + ("bool",)
    for source in types:
        for target in types:
            if source in COMPLEX and target not in COMPLEX:
                continue
            x = uniform(6, (7,), source, 0 if target in UNSIGNED else -5, 5)
            yield Case(f"convert.{source}.{target}", lambda x, t=target: lax.convert_element_type(
                x, np.dtype(getattr(ml_dtypes, t, t))), (x,))
    for source, target in (("float32", "int32"), ("uint32", "float32"), ("float16", "uint16"),
                           ("bfloat16", "int16"), ("float32", "uint8"), ("uint8", "uint16")):
        x = uniform(7, (4, 4), source)
        yield Case(f"bitcast.{source}.{target}", lambda x, t=target: lax.bitcast_convert_type(
            x, np.dtype(t)), (x,))
    yield Case("reduce_precision", lambda x: lax.reduce_precision(x, 5, 3),
               (uniform(8, (9,), "float32"),))
    yield Case("clamp", lambda x: lax.clamp(-1.0, x, 1.0), (uniform(8, (9,), "float32"),))
    yield Case("select", lambda p, x, y: lax.select(p, x, y),
               (uniform(1, (6,), "bool"), uniform(2, (6,), "int16"), uniform(3, (6,), "int16")))
    yield Case("select_n", lambda w, x, y, z: lax.select_n(w, x, y, z),
               (np.array([0, 1, 2, 1], "int32"), *(uniform(s, (4,), "float32") for s in (1, 2, 3))))
    yield Case("complex", lambda x, y: lax.complex(x, y),
               (uniform(1, (6,), "float32"), uniform(2, (6,), "float32")))


def cases():
    yield from unary()
    yield from binary()
    yield from narrow()
    yield from conversions()
    yield Case("jit_scalar", lambda x: x + 1, (np.float32(2),))
    yield Case("zero_size", lambda x: jax.numpy.sin(x) + 1, (np.zeros((3, 0), "float32"),))
