/* halo/literal.h: values in host memory. */
#ifndef HALO_LITERAL_H
#define HALO_LITERAL_H

#include "halo/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A value in host memory: an array's elements, or a tuple of literals. Array data is dense and in
 * logical row-major order (the last dimension varies fastest) WHATEVER the shape's layout says; the
 * layout only tells how the value lies on a device. Elements are little-endian, halo_type_size bytes
 * each (PRED 0 or 1; complex as re, im). Reference-counted; reading from several threads is safe,
 * writing is the business of whoever made it. */
typedef struct halo_literal halo_literal;

/* A literal of zeros (tuples: of literals of zeros). The shape is copied. Fails with
 * HALO_INVALID_ARGUMENT for shapes with unbounded dimensions or opaque leaves, and
 * HALO_OUT_OF_MEMORY. */
HALO_API HALO_MUST_USE halo_status halo_literal_create(const halo_shape *shape, halo_literal **out);
/* An array literal with a copy of row-major `data` (default layout); `data` may be NULL when there
 * are no elements. */
HALO_API HALO_MUST_USE halo_status halo_literal_create_array(halo_type type, int rank,
                                                             const int64_t *dims, const void *data,
                                                             halo_literal **out);
/* A tuple that shares (retains) the given elements. */
HALO_API HALO_MUST_USE halo_status halo_literal_create_tuple(int count,
                                                             halo_literal *const *elements,
                                                             halo_literal **out);
HALO_API void halo_literal_retain(halo_literal *literal);
/* Drops one reference; NULL is allowed. */
HALO_API void halo_literal_release(halo_literal *literal);

/* Owned by the literal. */
HALO_API const halo_shape *halo_literal_shape(const halo_literal *literal);
/* The array's data; NULL for tuples. */
HALO_API void *halo_literal_data(halo_literal *literal);
/* A tuple's element, owned by the tuple; the index must be in range. */
HALO_API halo_literal *halo_literal_element(const halo_literal *literal, int index);

/* ---- Single elements, converted ----
 * Of an array literal; `i` is a row-major position and must be in range. */

/* An integer or pred widened; floats are truncated. */
HALO_API int64_t halo_literal_get_i64(const halo_literal *literal, int64_t i);
/* Float types exactly; integers rounded; complex: the real part. */
HALO_API double halo_literal_get_f64(const halo_literal *literal, int64_t i);
/* Real and imaginary part (0 for real types). */
HALO_API void halo_literal_get_c128(const halo_literal *literal, int64_t i, double *re, double *im);
/* Stores with wrapping to the element type; pred stores value != 0; floats round to nearest. */
HALO_API void halo_literal_set_i64(halo_literal *literal, int64_t i, int64_t value);
/* Stores rounded to nearest even (integers: truncated toward zero and saturated, NaN to 0). */
HALO_API void halo_literal_set_f64(halo_literal *literal, int64_t i, double value);
HALO_API void halo_literal_set_c128(halo_literal *literal, int64_t i, double re, double im);

/* ---- Text ---- */

/* Reads a value of the given shape as HLO writes it ("2.5", "{ { 1, 2 }, { 3, 4 } }"); a tuple as
 * "( ..., ... )". The text must hold nothing else. HALO_INVALID_ARGUMENT with the place of the fault,
 * HALO_OUT_OF_MEMORY. */
HALO_API HALO_MUST_USE halo_status halo_literal_from_text(const char *text, const halo_shape *shape,
                                                          halo_literal **out);
/* The literal in that form, on one line; reading it gives the same bits. Freed with
 * halo_text_release (halo/module.h). */
HALO_API HALO_MUST_USE halo_status halo_literal_to_text(const halo_literal *literal, char **out);

#ifdef __cplusplus
}
#endif
#endif
