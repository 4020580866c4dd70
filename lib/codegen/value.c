/* SPDX-License-Identifier: Apache-2.0 */
/* codegen/value.c: values of element types in generated code. */
#include "codegen/value.h"

#include "codegen/ctype.h"
#include "shape/floats.h"

#include <math.h>

const char *halo_value_stored(halo_arena *arena, const halo_value *value) {
  return value->stored ? value->stored : halo_ctype_store(arena, value->type, value->text);
}

halo_value halo_value_name(halo_type type, const char *name) {
  return (halo_value){.type = type, .text = name, .is_atom = true};
}

halo_value halo_value_half(halo_arena *arena, const char *name) {
  halo_value value = halo_value_name(HALO_F16, halo_ctype_load(arena, HALO_F16, name));
  value.stored = name;
  value.quiet = halo_arena_printf(arena, "h_dec_quiet_f16(%s)", name);
  return value;
}

halo_value halo_value_as(halo_value value, halo_type type) {
  if (value.type == type) return value;
  value.type = type;
  value.stored = value.quiet = NULL;
  return value;
}

halo_value halo_value_expression(halo_type type, const char *text) {
  return (halo_value){.type = type, .text = text};
}

halo_value halo_value_fit(halo_arena *arena, halo_type type, const char *text) {
  halo_value value = halo_value_expression(type, halo_ctype_fit(arena, type, text));
  value.stored = halo_ctype_fit_stored(arena, type, text, false);
  return value;
}

static const char *value_half_constant(halo_arena *arena, double value) {
  return halo_arena_printf(arena, "(ushort)0x%x", (unsigned)halo_float_encode(HALO_F16, value));
}

halo_value halo_value_constant(halo_arena *arena, const halo_literal *literal, int64_t i) {
  halo_type type = literal->shape->type;
  halo_value value = halo_value_name(type, halo_ctype_constant(arena, literal, i));
  if (halo_type_is_complex(type)) return value;
  value.is_constant = true;
  if (halo_type_is_float(type)) {
    value.real = halo_literal_get_f64(literal, i);
    if (type == HALO_F16 && !isnan(value.real))
      value.stored = value_half_constant(arena, value.real);
  } else {
    value.integer = halo_literal_get_i64(literal, i);
  }
  return value;
}

halo_value halo_value_whole(halo_arena *arena, halo_type type, int64_t whole) {
  halo_value value = halo_value_name(type, halo_ctype_constant_i64(arena, type, whole));
  value.is_constant = !halo_type_is_complex(type);
  value.integer = whole;
  value.real = (double)whole;
  if (type == HALO_F16) value.stored = value_half_constant(arena, value.real);
  return value;
}
