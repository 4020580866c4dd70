# SPDX-License-Identifier: Apache-2.0
"""python -m jax_halo doctor: why there is no OpenCL device, and what mends that, as `halo doctor` says it."""
import ctypes
import sys

import jax_halo
from jax_halo import driver


def main(arguments):
    if not arguments or arguments[0] != "doctor":
        print(__doc__, file=sys.stderr)
        return 2
    path = jax_halo.library_path()
    if path is None:
        print("jax_halo: there is no libhalo_pjrt.so beside the package", file=sys.stderr)
        return 1
    driver.offer()
    texts = [text.encode() for text in arguments]
    return ctypes.CDLL(path).HaloDoctor(len(texts), (ctypes.c_char_p * (len(texts) + 1))(*texts, None))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
