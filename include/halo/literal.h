/* SPDX-License-Identifier: Apache-2.0 */
/* halo/literal.h: values in host memory. */
#ifndef HALO_LITERAL_H
#define HALO_LITERAL_H

#include "halo/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A value in host memory: the elements of an array, or a tuple of literals. Array data is dense
 * and in logical row-major order (the last dimension varies fastest) WHATEVER the shape's layout
 * says; the layout only describes the value on a device. Elements are little-endian and have
 * halo_type_size bytes each (PRED 0 or 1; complex numbers as re, im). Reference-counted. Several
 * threads may read a literal; its creator must see to it that nobody reads it while it is
 * written. */
typedef struct halo_literal halo_literal;

/* A literal of zeros; for a tuple shape, a tuple of such literals. The shape is copied. Returns
 * HALO_INVALID_ARGUMENT for shapes with unbounded dimensions or opaque leaves, and
 * HALO_OUT_OF_MEMORY. */
HALO_API HALO_MUST_USE halo_status halo_literal_create(const halo_shape *shape, halo_literal **out);
/* An array literal with the default layout and a copy of row-major `data`, which may be NULL if
 * there are no elements. */
HALO_API HALO_MUST_USE halo_status halo_literal_create_array(halo_type type, int rank,
                                                             const int64_t *dims, const void *data,
                                                             halo_literal **out);
/* A tuple that shares (retains) the given elements. */
HALO_API HALO_MUST_USE halo_status halo_literal_create_tuple(int count,
                                                             halo_literal *const *elements,
                                                             halo_literal **out);
/* Adds a reference. */
HALO_API void halo_literal_retain(halo_literal *literal);
/* Drops one reference; NULL is allowed. */
HALO_API void halo_literal_release(halo_literal *literal);

/* The literal's shape. Owned by the literal. */
HALO_API const halo_shape *halo_literal_shape(const halo_literal *literal);
/* The array's data, owned by the literal; NULL for tuples. */
HALO_API void *halo_literal_data(halo_literal *literal);
/* An element of a tuple, owned by the tuple. `index` must be in range. */
HALO_API halo_literal *halo_literal_element(const halo_literal *literal, int index);

/* ---- Single elements, converted ----
 * The literal must be an array; `i` is a row-major position, which must be in range. */

/* An integer or pred, widened; floats are truncated. */
HALO_API int64_t halo_literal_get_i64(const halo_literal *literal, int64_t i);
/* A float, exactly; integers are rounded, and complex numbers give their real part. */
HALO_API double halo_literal_get_f64(const halo_literal *literal, int64_t i);
/* The real and the imaginary part (0 for real types). */
HALO_API void halo_literal_get_c128(const halo_literal *literal, int64_t i, double *re, double *im);
/* Stores an integer, wrapped to the element type; pred stores value != 0; floats are rounded to
 * nearest. */
HALO_API void halo_literal_set_i64(halo_literal *literal, int64_t i, int64_t value);
/* Stores a number rounded to nearest even; integers are truncated toward zero and saturated, and
 * NaN becomes 0. */
HALO_API void halo_literal_set_f64(halo_literal *literal, int64_t i, double value);
/* Stores a complex number, each part as by halo_literal_set_f64; real types take the real part. */
HALO_API void halo_literal_set_c128(halo_literal *literal, int64_t i, double re, double im);

/* ---- Text ---- */

/* Reads a value of the given shape in HLO's notation: "2.5", "{ { 1, 2 }, { 3, 4 } }", a tuple as
 * "( ..., ... )". The text must contain nothing else. Returns HALO_INVALID_ARGUMENT with the
 * position of the error, or HALO_OUT_OF_MEMORY. */
HALO_API HALO_MUST_USE halo_status halo_literal_from_text(const char *text, const halo_shape *shape,
                                                          halo_literal **out);
/* The literal in that notation, on one line; reading it back gives the same bits. Freed with
 * halo_text_release (halo/module.h). */
HALO_API HALO_MUST_USE halo_status halo_literal_to_text(const halo_literal *literal, char **out);

#ifdef __cplusplus
}
#endif
#endif
