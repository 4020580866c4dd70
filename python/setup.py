"""What pyproject.toml cannot say: the package holds shared libraries, which are taken from the build, and no Python
code that was compiled."""
import os
import pathlib
import shutil

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

HERE = pathlib.Path(__file__).resolve().parent
NAME, MPI_NAME, COMPILER_NAME = "libhalo_pjrt.so", "libhalo-mpi.so", "halo-compiler"


class Build(build_py):
    def run(self):
        super().run()
        places = [HERE / "jax_halo" / NAME, HERE.parent / "build/lib/pjrt" / NAME]
        if os.environ.get("HALO_PJRT_LIBRARY"):
            places.insert(0, pathlib.Path(os.environ["HALO_PJRT_LIBRARY"]))
        library = next((place for place in places if place.is_file()), None)
        if library is None and not self.editable_mode:
            raise SystemExit(f"there is no {NAME}: build it first (tools/dev build)")
        if self.editable_mode:
            return
        folder = pathlib.Path(self.build_lib) / "jax_halo"
        shutil.copy(library, folder / NAME)
        # Programs start sooner with it, and do without.
        for place in (library.parent, library.parent.parent / "compiler", library.parent.parent / "libexec/halo"):
            if (place / COMPILER_NAME).is_file():
                shutil.copy(place / COMPILER_NAME, folder / COMPILER_NAME)
            # Beside it, what links kernels for it.
            for linker in (place / "linker/ld", place.parent / "linker/ld"):
                if (place / COMPILER_NAME).is_file() and linker.is_file():
                    (folder / "linker").mkdir(exist_ok=True)
                    shutil.copy(linker, folder / "linker/ld")
        # Several processes need it, and one does without.
        for place in (library.parent, library.parent.parent / "mpi"):
            if (place / MPI_NAME).is_file():
                shutil.copy(place / MPI_NAME, folder / MPI_NAME)


class Wheel(bdist_wheel):
    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self):
        _, _, platform = super().get_tag()
        return "py3", "none", platform


setup(cmdclass={"bdist_wheel": Wheel, "build_py": Build})
