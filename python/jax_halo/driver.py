# SPDX-License-Identifier: Apache-2.0
"""The OpenCL driver for the CPU that `pip install jax-halo[pocl]` brings, where the system has no driver."""
import ctypes
import importlib.util
import logging
import os
import pathlib
import shutil

_logger = logging.getLogger("jax_halo")
_SYSTEM = pathlib.Path("/etc/OpenCL/vendors")
_CHOSEN = ("OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH", "OCL_ICD_FILENAMES")


def _find():
    """The folder in which that package has its library and an .icd file, which names the library without a folder."""
    spec = importlib.util.find_spec("pocl_binary_distribution")
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = pathlib.Path(spec.submodule_search_locations[0]).parent / "pyopencl" / ".libs"
    return folder if any(folder.glob("*.icd")) else None


def offer():
    """Names the driver to OpenCL's loader, and to the plugin where there is no loader."""
    if any(name in os.environ for name in _CHOSEN) or any(_SYSTEM.glob("*.icd")):
        return
    folder = _find()
    if folder is None:
        return
    # It links kernels by ld, with gcc's library and C's, and ends the process where they are not there.
    if shutil.which("ld") is None or shutil.which("gcc") is None:
        _logger.warning(
            "jax_halo: the OpenCL driver of the package pocl-binary-distribution is not used, since it needs gcc. Install it "
            "(apt install gcc libc6-dev), or a driver of your system (apt install pocl-opencl-icd)")
        return
    for library in folder.glob("libpocl*.so*"):
        # A library that is loaded already is found by its name alone.
        ctypes.CDLL(str(library), mode=os.RTLD_NOW | os.RTLD_LOCAL)
    os.environ["OCL_ICD_VENDORS"] = str(folder)
