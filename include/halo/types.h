/* SPDX-License-Identifier: Apache-2.0 */
/* halo/types.h: element types and shapes. */
#ifndef HALO_TYPES_H
#define HALO_TYPES_H

#include "halo/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Element types, and the three types that are not arrays. The numbers are those of XLA's
 * PrimitiveType. */
typedef enum halo_type {
  HALO_TYPE_INVALID = 0,
  HALO_PRED = 1,
  HALO_S8 = 2,
  HALO_S16 = 3,
  HALO_S32 = 4,
  HALO_S64 = 5,
  HALO_U8 = 6,
  HALO_U16 = 7,
  HALO_U32 = 8,
  HALO_U64 = 9,
  HALO_F16 = 10,
  HALO_F32 = 11,
  HALO_F64 = 12,
  HALO_TUPLE = 13,
  HALO_OPAQUE = 14,
  HALO_C64 = 15,
  HALO_BF16 = 16,
  HALO_TOKEN = 17,
  HALO_C128 = 18,
  HALO_F8E5M2 = 19,
  HALO_F8E4M3FN = 20,
  HALO_S4 = 21,
  HALO_U4 = 22,
  HALO_F8E4M3B11FNUZ = 23,
  HALO_F8E5M2FNUZ = 24,
  HALO_F8E4M3FNUZ = 25,
  HALO_S2 = 26,
  HALO_U2 = 27,
  HALO_F8E4M3 = 28,
  HALO_F8E3M4 = 29,
  HALO_S1 = 30,
  HALO_U1 = 31,
  HALO_F4E2M1FN = 32,
  HALO_F8E8M0FNU = 33
} halo_type;
/* The number of values of halo_type. */
enum { HALO_TYPE_COUNT = 34 };

/* The type's HLO name ("f32", "pred", "tuple", ...); "invalid" for other values. Static. */
HALO_API const char *halo_type_name(halo_type type);
/* The type with this HLO name (case-sensitive), or HALO_TYPE_INVALID. */
HALO_API halo_type halo_type_from_name(const char *name);
/* The size of one element in host and device memory, in bytes. 1 for PRED and for types narrower
 * than a byte, which take one byte per element (signed ones sign-extended). 0 for types that are
 * not arrays. */
HALO_API size_t halo_type_size(halo_type type);
/* The number of significant bits of one element (PRED 1, S4 4, ...); 0 for types that are not
 * arrays. */
HALO_API int halo_type_bits(halo_type type);

/* The extent of an unbounded dynamic dimension (`?` in HLO text). */
#define HALO_UNBOUNDED INT64_MIN

/* An immutable shape: an array (element type, dimensions, layout), a tuple of shapes, a token or an
 * opaque. The caller releases shapes that it creates. A shape returned by an accessor belongs to
 * the object that was asked. Any thread may read a shape. */
typedef struct halo_shape halo_shape;

/* An array shape with the default layout (row-major: dimension 0 varies slowest). `dims` has `rank`
 * extents, each >= 0; it may be NULL if rank is 0. Returns HALO_INVALID_ARGUMENT for a type that is
 * not an array's, a negative extent, or a size in bytes that does not fit 63 bits. */
HALO_API HALO_MUST_USE halo_status halo_shape_create_array(halo_type type, int rank,
                                                           const int64_t *dims, halo_shape **out);
/* As halo_shape_create_array, with a layout: `minor_to_major` lists the dimensions from fastest to
 * slowest varying and must be a permutation of 0..rank-1. */
HALO_API HALO_MUST_USE halo_status halo_shape_create_array_with_layout(
    halo_type type, int rank, const int64_t *dims, const int32_t *minor_to_major, halo_shape **out);
/* As halo_shape_create_array, with dynamic dimensions: if dynamic[d], then dims[d] is a bound, and
 * the number of elements along d is known only at run time. */
HALO_API HALO_MUST_USE halo_status halo_shape_create_dynamic(halo_type type, int rank,
                                                             const int64_t *dims,
                                                             const bool *dynamic, halo_shape **out);
/* A tuple of copies of `elements`; `count` may be 0. */
HALO_API HALO_MUST_USE halo_status halo_shape_create_tuple(int count,
                                                           const halo_shape *const *elements,
                                                           halo_shape **out);
/* The shape of a token. */
HALO_API HALO_MUST_USE halo_status halo_shape_create_token(halo_shape **out);
/* Releases a shape made by a create call; NULL is allowed. */
HALO_API void halo_shape_release(halo_shape *shape);

/* The element type; HALO_TUPLE, HALO_OPAQUE or HALO_TOKEN for shapes that are not arrays. */
HALO_API halo_type halo_shape_type(const halo_shape *shape);
/* The number of dimensions; 0 for scalars and for shapes that are not arrays. */
HALO_API int halo_shape_rank(const halo_shape *shape);
/* The extent of a dimension (its bound, if it is dynamic). `dimension` must be in range. */
HALO_API int64_t halo_shape_dim(const halo_shape *shape, int dimension);
/* Whether the size of a dimension is known only at run time. `dimension` must be in range. */
HALO_API bool halo_shape_dim_is_dynamic(const halo_shape *shape, int dimension);
/* The i-th fastest varying dimension. `i` must be in range. */
HALO_API int halo_shape_minor_to_major(const halo_shape *shape, int i);
/* The number of elements of an array (1 for scalars); 0 for other shapes. */
HALO_API int64_t halo_shape_element_count(const halo_shape *shape);
/* The size of an array's dense data in bytes; for tuples the sum over the elements; 0 for
 * tokens. */
HALO_API int64_t halo_shape_byte_size(const halo_shape *shape);
/* The number of elements of a tuple; 0 for other shapes. */
HALO_API int halo_shape_tuple_count(const halo_shape *shape);
/* An element of a tuple. `index` must be in range. Owned by `shape`. */
HALO_API const halo_shape *halo_shape_tuple_element(const halo_shape *shape, int index);
/* Whether two shapes are equal, including layouts and dynamic marks. */
HALO_API bool halo_shape_equal(const halo_shape *a, const halo_shape *b);
/* Whether two shapes are equal except for layouts and dynamic marks. */
HALO_API bool halo_shape_compatible(const halo_shape *a, const halo_shape *b);
/* Writes HLO text such as "f32[2,3]{1,0}" to `buffer` (NUL-terminated if size > 0) and returns the
 * length that it needs without the NUL, as snprintf does. */
HALO_API size_t halo_shape_to_text(const halo_shape *shape, bool with_layout, char *buffer,
                                   size_t size);

#ifdef __cplusplus
}
#endif
#endif
