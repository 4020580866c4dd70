/* codegen/value.c: values of element types in generated code. */
#include "codegen/value.h"

#include "codegen/ctype.h"

const char *halo_value_stored(halo_arena *arena, const halo_value *value) {
  return value->stored ? value->stored : halo_ctype_store(arena, value->type, value->text);
}

halo_value halo_value_name(halo_type type, const char *name) {
  return (halo_value){.type = type, .text = name, .is_atom = true};
}

halo_value halo_value_expression(halo_type type, const char *text) {
  return (halo_value){.type = type, .text = text};
}

halo_value halo_value_constant(halo_arena *arena, const halo_literal *literal, int64_t i) {
  halo_type type = literal->shape->type;
  halo_value value = halo_value_name(type, halo_ctype_constant(arena, literal, i));
  if (halo_type_is_complex(type)) return value;
  value.is_constant = true;
  if (halo_type_is_float(type)) {
    value.real = halo_literal_get_f64(literal, i);
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
  return value;
}
