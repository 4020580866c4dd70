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

/* Element types and the three non-array types. The numbers are XLA's PrimitiveType. */
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
enum { HALO_TYPE_COUNT = 34 };

/* The HLO name ("f32", "pred", "tuple", ...); "invalid" for anything else. Static. */
HALO_API const char *halo_type_name(halo_type type);
/* The type with this HLO name (case-sensitive), or HALO_TYPE_INVALID. */
HALO_API halo_type halo_type_from_name(const char *name);
/* Bytes one element takes in host and device memory; 1 for PRED and for types narrower than a byte
 * (one element a byte, signed ones sign-extended); 0 for non-array types. */
HALO_API size_t halo_type_size(halo_type type);
/* Logical bits of one element (PRED 1, S4 4, ...); 0 for non-array types. */
HALO_API int halo_type_bits(halo_type type);

/* The extent of an unbounded dynamic dimension (`?` in HLO text). */
#define HALO_UNBOUNDED INT64_MIN

/* An immutable shape: an array (element type, dimensions, layout), a tuple of shapes, a token or an
 * opaque. Shapes made by these functions are heap objects that the caller releases; shapes that an
 * accessor returns belong to the object they were asked from. Safe to read from any thread. */
typedef struct halo_shape halo_shape;

/* An array shape with the default layout (row-major: dimension 0 varies slowest). `dims` holds
 * `rank` extents, each >= 0 (NULL allowed when rank is 0). Fails with HALO_INVALID_ARGUMENT for a
 * non-array type, a negative extent, or when the byte size does not fit 63 bits. */
HALO_API HALO_MUST_USE halo_status halo_shape_create_array(halo_type type, int rank,
                                                           const int64_t *dims, halo_shape **out);
/* As above with a layout: `minor_to_major` lists the dimensions from fastest to slowest varying and
 * must be a permutation of 0..rank-1. */
HALO_API HALO_MUST_USE halo_status halo_shape_create_array_with_layout(
    halo_type type, int rank, const int64_t *dims, const int32_t *minor_to_major, halo_shape **out);
/* An array shape with dynamic dimensions: where dynamic[d], dims[d] is a bound, and how many elements there
 * are along it is known at run time only. Otherwise as the first. */
HALO_API HALO_MUST_USE halo_status halo_shape_create_dynamic(halo_type type, int rank,
                                                             const int64_t *dims,
                                                             const bool *dynamic, halo_shape **out);
/* A tuple of copies of `elements` (`count` may be 0). */
HALO_API HALO_MUST_USE halo_status halo_shape_create_tuple(int count,
                                                           const halo_shape *const *elements,
                                                           halo_shape **out);
HALO_API HALO_MUST_USE halo_status halo_shape_create_token(halo_shape **out);
/* Releases a shape made by a create call; NULL is allowed. */
HALO_API void halo_shape_release(halo_shape *shape);

/* The element type; HALO_TYPE_TUPLE and the like for what is no array. */
HALO_API halo_type halo_shape_type(const halo_shape *shape);
/* Number of dimensions; 0 for scalars and non-arrays. */
HALO_API int halo_shape_rank(const halo_shape *shape);
/* Extent of a dimension (the bound, when dynamic); dimension must be in range. */
HALO_API int64_t halo_shape_dim(const halo_shape *shape, int dimension);
HALO_API bool halo_shape_dim_is_dynamic(const halo_shape *shape, int dimension);
/* The i-th fastest varying dimension. */
HALO_API int halo_shape_minor_to_major(const halo_shape *shape, int i);
/* Number of elements of an array shape (1 for scalars); 0 for non-arrays. */
HALO_API int64_t halo_shape_element_count(const halo_shape *shape);
/* Bytes of an array's dense data; for tuples the sum over the elements; 0 for tokens. */
HALO_API int64_t halo_shape_byte_size(const halo_shape *shape);
/* Number of a tuple's elements; 0 for non-tuples. */
HALO_API int halo_shape_tuple_count(const halo_shape *shape);
/* A tuple's element; the index must be in range. Owned by `shape`. */
HALO_API const halo_shape *halo_shape_tuple_element(const halo_shape *shape, int index);
/* Equal, layouts and dynamic marks included. */
HALO_API bool halo_shape_equal(const halo_shape *a, const halo_shape *b);
/* Equal but for layouts and dynamic marks. */
HALO_API bool halo_shape_compatible(const halo_shape *a, const halo_shape *b);
/* Writes HLO text such as "f32[2,3]{1,0}" into `buffer` (always NUL-terminated when size > 0) and
 * returns the length it needs without the NUL, as snprintf does. */
HALO_API size_t halo_shape_to_text(const halo_shape *shape, bool with_layout, char *buffer,
                                   size_t size);

#ifdef __cplusplus
}
#endif
#endif
