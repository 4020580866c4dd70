/* SPDX-License-Identifier: Apache-2.0 */
/* shape/types.h: facts about element types, from types.def. */
#ifndef HALO_SHAPE_TYPES_H
#define HALO_SHAPE_TYPES_H

#include "halo/types.h"

typedef enum halo_type_class {
  HALO_CLASS_OTHER = 0, /* tuple, opaque, token, invalid */
  HALO_CLASS_PRED,
  HALO_CLASS_SINT,
  HALO_CLASS_UINT,
  HALO_CLASS_FLOAT,
  HALO_CLASS_COMPLEX
} halo_type_class;

halo_type_class halo_type_class_of(halo_type type);
/* Of a float, or of a complex type's parts; 0 for others. */
int halo_type_exponent_bits(halo_type type);
int halo_type_mantissa_bits(halo_type type);

static inline bool halo_type_is_array(halo_type t) { return halo_type_class_of(t) != 0; }
static inline bool halo_type_is_float(halo_type t) {
  return halo_type_class_of(t) == HALO_CLASS_FLOAT;
}
static inline bool halo_type_is_complex(halo_type t) {
  return halo_type_class_of(t) == HALO_CLASS_COMPLEX;
}
static inline bool halo_type_is_sint(halo_type t) {
  return halo_type_class_of(t) == HALO_CLASS_SINT;
}
static inline bool halo_type_is_uint(halo_type t) {
  return halo_type_class_of(t) == HALO_CLASS_UINT;
}
/* S* or U*, not PRED. */
static inline bool halo_type_is_integral(halo_type t) {
  return halo_type_is_sint(t) || halo_type_is_uint(t);
}
/* F32 of C64, F64 of C128, the type itself otherwise. */
static inline halo_type halo_type_real_part(halo_type t) {
  return t == HALO_C64 ? HALO_F32 : t == HALO_C128 ? HALO_F64 : t;
}
/* Bits of an element as bitcasts count them: pred is a byte, and 4-bit integers are packed. */
static inline int halo_type_stored_bits(halo_type t) {
  return t == HALO_PRED ? 8 : halo_type_bits(t);
}

#endif
