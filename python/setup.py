# SPDX-License-Identifier: Apache-2.0
"""What pyproject.toml cannot say: the version is that of meson.build, and the package holds a shared library, which is
taken from the build, and no Python code that was compiled."""
import os
import pathlib
import re
import shutil

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

HERE = pathlib.Path(__file__).resolve().parent
NAME, MPI_NAME = "libhalo_pjrt.so", "libhalo-mpi.so"


def find_library():
    """The plugin: $HALO_PJRT_LIBRARY, or that of the source tree's build; None where there is none."""
    places = [HERE / "jax_halo" / NAME, HERE.parent / "build/lib/pjrt" / NAME]
    if os.environ.get("HALO_PJRT_LIBRARY"):
        places = [pathlib.Path(os.environ["HALO_PJRT_LIBRARY"])]
    return next((place for place in places if place.is_file()), None)


class Build(build_py):
    def run(self):
        super().run()
        if self.editable_mode:
            return
        library = find_library()
        if library is None:
            raise SystemExit(f"there is no {NAME}: build it first (tools/dev build)")
        folder = pathlib.Path(self.build_lib) / "jax_halo"
        shutil.copy(library, folder / NAME)
        # For processes that this machine's MPI connects; over TCP they do without.
        for place in (library.parent, library.parent.parent / "mpi"):
            if (place / MPI_NAME).is_file():
                shutil.copy(place / MPI_NAME, folder / MPI_NAME)


class Wheel(bdist_wheel):
    def get_tag(self):
        # The libraries are called through ctypes and by JAX: any Python will do.
        return "py3", "none", super().get_tag()[2]


class Binary(Distribution):
    """Installed where libraries of the platform go."""

    def has_ext_modules(self):
        return True


version = re.search(r"version: '([0-9.]+)'", (HERE.parent / "meson.build").read_text(encoding="utf-8")).group(1)
setup(version=version, cmdclass={"bdist_wheel": Wheel, "build_py": Build}, distclass=Binary)
