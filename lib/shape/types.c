/* SPDX-License-Identifier: Apache-2.0 */
/* shape/types.c: the table of element types. */
#include "shape/types.h"

#include <string.h>

typedef struct type_row {
  const char *name;
  uint8_t size, bits, class_, exponent, mantissa;
} type_row;

static const type_row type_rows[HALO_TYPE_COUNT] = {
#define X(id, name, size, bits, class_, exponent, mantissa)                                        \
  [HALO_##id] = {name, size, bits, HALO_CLASS_##class_, exponent, mantissa},
#include "shape/types.def"
#undef X
};

static const type_row *type_find(halo_type type) {
  static const type_row invalid = {"invalid", 0, 0, 0, 0, 0};
  if ((int)type <= 0 || (int)type >= HALO_TYPE_COUNT) return &invalid;
  return &type_rows[type];
}

const char *halo_type_name(halo_type type) { return type_find(type)->name; }
size_t halo_type_size(halo_type type) { return type_find(type)->size; }
int halo_type_bits(halo_type type) { return type_find(type)->bits; }
halo_type_class halo_type_class_of(halo_type type) { return type_find(type)->class_; }
int halo_type_exponent_bits(halo_type type) { return type_find(type)->exponent; }
int halo_type_mantissa_bits(halo_type type) { return type_find(type)->mantissa; }

halo_type halo_type_from_name(const char *name) {
  for (int i = 1; i < HALO_TYPE_COUNT; i++) {
    if (strcmp(type_rows[i].name, name) == 0) return (halo_type)i;
  }
  return HALO_TYPE_INVALID;
}
