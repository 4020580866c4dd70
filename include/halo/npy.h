/* halo/npy.h: NumPy's .npy and .npz files. */
#ifndef HALO_NPY_H
#define HALO_NPY_H

#include "halo/literal.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reads a .npy file (format versions 1 to 3, C or Fortran order, either byte order). bfloat16 and the
 * 8-bit floats are recognised in the way ml_dtypes writes them (custom dtypes saved as raw void
 * bytes, "V1"/"V2"): `expected`, when not HALO_TYPE_INVALID, says which such type they are (V2 without
 * it is bf16; V1 without it is an error). HALO_INVALID_ARGUMENT for a damaged file. */
HALO_API HALO_MUST_USE halo_status halo_npy_read(const char *path, halo_type expected,
                                                 halo_literal **out);
/* Writes an array literal as .npy version 1 (or 2 when the header is long), C order. */
HALO_API HALO_MUST_USE halo_status halo_npy_write(const char *path, const halo_literal *literal);

/* An open .npz archive (zip of .npy members, stored or deflated). */
typedef struct halo_npz halo_npz;
HALO_API HALO_MUST_USE halo_status halo_npz_open(const char *path, halo_npz **out);
HALO_API void halo_npz_close(halo_npz *npz);
HALO_API int halo_npz_count(const halo_npz *npz);
/* The member's name without ".npy"; owned by the archive. */
HALO_API const char *halo_npz_name(const halo_npz *npz, int index);
HALO_API HALO_MUST_USE halo_status halo_npz_read(halo_npz *npz, int index, halo_type expected,
                                                 halo_literal **out);
/* Writes `count` arrays under their names (without ".npy"), stored without compression. */
HALO_API HALO_MUST_USE halo_status halo_npz_write(const char *path, int count,
                                                  const char *const *names,
                                                  const halo_literal *const *literals);

#ifdef __cplusplus
}
#endif
#endif
