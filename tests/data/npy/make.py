#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Remakes the files beside it, which tests/unit/test_npy.c reads. Needs numpy and ml_dtypes.

usage: python3 tests/data/npy/make.py
"""
import os
import zipfile

import ml_dtypes
import numpy as np

os.chdir(os.path.dirname(os.path.abspath(__file__)))

# Every dtype that HLO has: three elements, the same values in each test.
for name in "? i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8".split():
    values = [1, 0, 1] if name == "?" else [1, 2, 100 if name[0] == "u" else -100]
    np.save("type_%s.npy" % name.replace("?", "b1"), np.array(values, dtype="<" + name))
    if name[-1] in "248":
        np.save("type_%s_big.npy" % name, np.array(values, dtype=">" + name))
for name in ("c8", "c16"):
    values = [1 + 2j, 2, -100 - 0.5j]
    np.save("type_%s.npy" % name, np.array(values, dtype="<" + name))
    np.save("type_%s_big.npy" % name, np.array(values, dtype=">" + name))

# ml_dtypes' own types, which numpy.save writes as raw bytes.
for name in ("bfloat16 float8_e5m2 float8_e4m3fn float8_e4m3b11fnuz float8_e5m2fnuz "
             "float8_e4m3fnuz float8_e4m3 float8_e3m4 float8_e8m0fnu float4_e2m1fn "
             "int4 uint4 int2 uint2").split():
    signed = not name.startswith("uint") and name != "float8_e8m0fnu"
    values = [1, 2 if name != "int2" else 0, -2 if signed else 2]
    np.save("ml_%s.npy" % name, np.array(values, dtype=getattr(ml_dtypes, name)))

# Shapes and orders: element [i,j,k] is 100 i + 10 j + k.
grid = np.fromfunction(lambda i, j, k: 100 * i + 10 * j + k, (2, 3, 4), dtype=np.int16)
np.save("order_c.npy", grid)
np.save("order_fortran.npy", np.asfortranarray(grid))
np.save("order_fortran_big.npy", np.asfortranarray(grid.astype(">i2")))
np.save("shape_scalar.npy", np.float32(2.5))
np.save("shape_empty.npy", np.zeros((2, 0, 3), dtype=np.float32))
for version in (2, 3):
    with open("version_%d.npy" % version, "wb") as f:
        np.lib.format.write_array(f, grid[0], version=(version, 0))

# What is refused by name.
np.save("bad_text.npy", np.array(["a", "bc"]))
np.save("bad_records.npy", np.zeros(2, dtype=[("x", "<f4"), ("y", "<i4")]))
np.save("bad_objects.npy", np.array([None, 1], dtype=object))
np.save("bad_dates.npy", np.zeros(2, dtype="M8[s]"))
np.save("bad_longdouble.npy", np.zeros(2, dtype="<f16"))

# Archives. Zero dates, so that remaking them changes nothing.
arrays = {"grid": grid, "half": np.arange(3, dtype=ml_dtypes.bfloat16),
          "long": np.arange(3000, dtype=np.int32) % 7}
np.savez("stored.npz", **arrays)
np.savez_compressed("deflated.npz", **arrays)


class Zip64Info(zipfile.ZipInfo):
    """A directory entry whose sizes and offset stand in its zip64 field though they are small."""

    def FileHeader(self, zip64=None):
        return super().FileHeader(True)


with open("shape_scalar.npy", "rb") as f:
    scalar = f.read()
with zipfile.ZipFile("zip64.npz", "w") as z:
    limit, zipfile.ZIP64_LIMIT = zipfile.ZIP64_LIMIT, 16
    z.writestr(Zip64Info("first.npy"), scalar)
    z.writestr(Zip64Info("notes.txt"), "not an array")
    z.writestr(Zip64Info("second.npy"), scalar)
    z.close()
    zipfile.ZIP64_LIMIT = limit
