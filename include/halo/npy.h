/* SPDX-License-Identifier: Apache-2.0 */
/* halo/npy.h: NumPy's .npy and .npz files. */
#ifndef HALO_NPY_H
#define HALO_NPY_H

#include "halo/literal.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reads a .npy file that holds one array: format versions 1 to 3, C or Fortran order, either byte
 * order. bool becomes PRED. Types that only ml_dtypes has arrive as NumPy saves them, as raw bytes:
 * "V2" is bf16; "V1" is the type of at most one byte that `expected` names (f8..., f4..., s1 to s4,
 * u1 to u4, one byte per element), and an error without it; "f1" is f8e5m2. Otherwise `expected`
 * (or HALO_TYPE_INVALID) has no effect: nothing is converted. Returns HALO_INVALID_ARGUMENT for a
 * damaged file or a type that HLO does not have, HALO_NOT_FOUND or HALO_IO_ERROR. The caller
 * releases *out. */
HALO_API HALO_MUST_USE halo_status halo_npy_read(const char *path, halo_type expected,
                                                 halo_literal **out);
/* Writes an array literal as .npy version 1.0 in C order, byte for byte as numpy.save does, with
 * one exception: f8e5m2 is written as "V1" like similar types, because numpy.load rejects the "f1"
 * that numpy.save writes. In Python, numpy.load(path).view(ml_dtypes.bfloat16) restores such
 * arrays. The file is written completely or not at all; on HALO_IO_ERROR (disk full, ...) an older
 * file stays in place. */
HALO_API HALO_MUST_USE halo_status halo_npy_write(const char *path, const halo_literal *literal);

/* An open .npz archive: a zip file of .npy members, stored or deflated, also zip64. Several threads
 * may read it at once. */
typedef struct halo_npz halo_npz;
/* Opens an archive. Members whose names do not end in ".npy" are ignored. Returns
 * HALO_INVALID_ARGUMENT for a file that is not a zip archive or is damaged, HALO_NOT_FOUND or
 * HALO_IO_ERROR. */
HALO_API HALO_MUST_USE halo_status halo_npz_open(const char *path, halo_npz **out);
/* Closes the archive; NULL is allowed. */
HALO_API void halo_npz_close(halo_npz *npz);
/* The number of members. */
HALO_API int halo_npz_count(const halo_npz *npz);
/* The member's name without ".npy". Owned by the archive. */
HALO_API const char *halo_npz_name(const halo_npz *npz, int index);
/* The shape that halo_npz_read would return, without reading the elements. The caller releases
 * it. */
HALO_API HALO_MUST_USE halo_status halo_npz_shape(halo_npz *npz, int index, halo_type expected,
                                                  halo_shape **out);
/* Reads a member as halo_npy_read reads a file; its checksum is verified. */
HALO_API HALO_MUST_USE halo_status halo_npz_read(halo_npz *npz, int index, halo_type expected,
                                                 halo_literal **out);
/* Writes `count` arrays under their names (without ".npy"), without compression; otherwise as
 * halo_npy_write. */
HALO_API HALO_MUST_USE halo_status halo_npz_write(const char *path, int count,
                                                  const char *const *names,
                                                  const halo_literal *const *literals);

#ifdef __cplusplus
}
#endif
#endif
