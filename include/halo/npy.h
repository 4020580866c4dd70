/* halo/npy.h: NumPy's .npy and .npz files. */
#ifndef HALO_NPY_H
#define HALO_NPY_H

#include "halo/literal.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reads a .npy file (format versions 1 to 3, C or Fortran order, either byte order) that holds one
 * array. bool is PRED. The types that only ml_dtypes has come in the way NumPy saves them, as raw
 * bytes: "V2" is bf16; "V1" is the type of one byte or less that `expected` names (f8..., f4...,
 * s1 to s4, u1 to u4, an element a byte), and an error without it; "f1" is f8e5m2. `expected` (else
 * HALO_TYPE_INVALID) has no other effect: nothing is converted. HALO_INVALID_ARGUMENT for a damaged
 * file or a type HLO has not, HALO_NOT_FOUND, HALO_IO_ERROR. */
HALO_API HALO_MUST_USE halo_status halo_npy_read(const char *path, halo_type expected,
                                                 halo_literal **out);
/* Writes an array literal as .npy version 1.0, C order, byte for byte what numpy.save writes, with
 * one exception: f8e5m2 is "V1" like its siblings, since numpy.load refuses the "f1" that numpy.save
 * gives it. In Python numpy.load(path).view(ml_dtypes.bfloat16) has such arrays back. The file is
 * there completely or not at all; HALO_IO_ERROR (disk full, ...) leaves an older one in place. */
HALO_API HALO_MUST_USE halo_status halo_npy_write(const char *path, const halo_literal *literal);

/* An open .npz archive (zip of .npy members, stored or deflated, zip64 too). May be read from several
 * threads at once. */
typedef struct halo_npz halo_npz;
/* HALO_INVALID_ARGUMENT for a file that is no zip archive or a damaged one, HALO_NOT_FOUND,
 * HALO_IO_ERROR. Members whose names do not end in ".npy" are passed over. */
HALO_API HALO_MUST_USE halo_status halo_npz_open(const char *path, halo_npz **out);
/* NULL is allowed. */
HALO_API void halo_npz_close(halo_npz *npz);
HALO_API int halo_npz_count(const halo_npz *npz);
/* The member's name without ".npy"; owned by the archive. */
HALO_API const char *halo_npz_name(const halo_npz *npz, int index);
/* The shape of what halo_npz_read would give, without reading the elements. Released by the caller. */
HALO_API HALO_MUST_USE halo_status halo_npz_shape(halo_npz *npz, int index, halo_type expected,
                                                  halo_shape **out);
/* As halo_npy_read; the member's checksum is checked too. */
HALO_API HALO_MUST_USE halo_status halo_npz_read(halo_npz *npz, int index, halo_type expected,
                                                 halo_literal **out);
/* Writes `count` arrays under their names (without ".npy"), stored without compression, as
 * halo_npy_write does. */
HALO_API HALO_MUST_USE halo_status halo_npz_write(const char *path, int count,
                                                  const char *const *names,
                                                  const halo_literal *const *literals);

#ifdef __cplusplus
}
#endif
#endif
