# SPDX-License-Identifier: Apache-2.0
"""The version of this package, and whether JAX is new enough for it."""
import importlib.metadata
import pathlib
import re

OLDEST_JAX = (0, 9, 2)


def _find():
    try:
        return importlib.metadata.version("jax-halo")
    except importlib.metadata.PackageNotFoundError:
        pass
    # Imported from the source tree.
    try:
        text = (pathlib.Path(__file__).resolve().parents[2] / "meson.build").read_text(encoding="utf-8")
    except OSError:
        return "unknown"
    return re.search(r"version: '([0-9.]+)'", text).group(1)


__version__ = _find()


def trouble(jax_version):
    """A sentence for the user whose JAX is too old, or None."""
    numbers = tuple(int(number) for number in re.findall(r"\d+", jax_version)[:3])
    if numbers >= OLDEST_JAX:
        return None
    oldest = ".".join(map(str, OLDEST_JAX))
    return (
        f"jax_halo {__version__} needs jax {oldest} or newer, and this is jax {jax_version}: the platform halo is not there. "
        f"Install a newer one: pip install --upgrade 'jax>={oldest}'")
