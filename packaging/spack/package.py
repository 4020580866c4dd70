# SPDX-License-Identifier: Apache-2.0
"""A recipe for Spack. UNTRIED: it was written from Spack's documentation and has never been run. Before it is submitted, add the
address of the project and of its releases with their hashes."""

from spack.package import *


class Halocline(MesonPackage):
    """XLA programs on any OpenCL device: a program, a C library and a plugin for JAX."""

    license("Apache-2.0")

    version("main", branch="main")

    variant("clblast", default=True, description="CLBlast as one implementation of matrix products")
    variant("lapacke", default=True, description="LAPACK for the custom calls that JAX emits on CPUs")
    variant("mpi", default=True, description="Processes over MPI")
    variant("pjrt", default=True, description="The plugin for JAX and PyTorch")

    depends_on("c", type="build")
    depends_on("meson@1:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3", type="build")
    depends_on("opencl-icd-loader")
    depends_on("opencl-c-headers")
    depends_on("zlib-api")
    # The library's own processor device runs clang, and opens libLLVM.
    depends_on("llvm@15: +clang +llvm_dylib", type="run", when="target=x86_64:")
    depends_on("clblast", when="+clblast")
    depends_on("netlib-lapack+lapacke", when="+lapacke")
    depends_on("mpi", when="+mpi")

    def meson_args(self):
        features = ("clblast", "lapacke", "mpi", "pjrt")
        return [f"-D{name}={'enabled' if f'+{name}' in self.spec else 'disabled'}" for name in features] + ["-Dtests=false"]
