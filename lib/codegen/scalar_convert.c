/* SPDX-License-Identifier: Apache-2.0 */
/* codegen/scalar_convert.c: a value of one element type as a value of another. */
#include "codegen/ctype.h"
#include "codegen/scalar.h"
#include "shape/types.h"

/* Rounded, by a conversion that makes NaNs quiet, as processors' own do, which XLA's backend takes. */
static const char *convert_round(halo_arena *arena, halo_type to, const char *x,
                                 const char **stored) {
  if (stored) *stored = halo_ctype_fit_stored(arena, to, x, true);
  return halo_ctype_fit_quiet(arena, to, x);
}

static const char *convert_to_float(halo_arena *arena, halo_sections *sections, halo_type from,
                                    halo_type to, const char *x, const char **stored) {
  bool narrow = halo_ctype_is_narrow(to);
  if (to == HALO_F64) return halo_arena_printf(arena, "(double)%s", x);
  if (from == HALO_F64 && to == HALO_F8E8M0FNU) {
    halo_sections_add(sections, "e8m0d");
    return halo_arena_printf(arena, "h_f64_to_f8e8m0fnu(%s)", x);
  }
  if (from == HALO_F64 && narrow && to != HALO_BF16) {
    /* XLA's CPU backend rounds f64 -> bf16 through f32, every other narrow float once. */
    halo_sections_add(sections, "odd");
    return convert_round(arena, to, halo_arena_printf(arena, "h_f64_to_f32_odd(%s)", x), stored);
  }
  const char *value =
      halo_type_is_float(from) && from != HALO_F64 ? x : halo_arena_printf(arena, "(float)%s", x);
  if (!narrow || from == to) return value;
  return convert_round(arena, to, value, stored);
}

static const char *convert_to_int(halo_arena *arena, halo_sections *sections, halo_type from,
                                  halo_type to, const char *x) {
  halo_type carrier = halo_ctype_carrier(to);
  const char *value;
  if (halo_type_is_float(from)) {
    bool is_double = from == HALO_F64;
    halo_sections_add_for(sections, is_double ? "d2i" : "f2i", halo_type_name(carrier));
    value = halo_arena_printf(arena, "h_%s_to_%s(%s)", is_double ? "double" : "float",
                              halo_type_name(carrier), x);
    if (carrier != to) { /* floats saturate at the narrow type's own ends */
      int bits = halo_type_bits(to);
      bool is_signed = halo_type_is_sint(to);
      const char *type = halo_ctype_compute(to);
      return halo_arena_printf(arena, "clamp(%s, (%s)(%d), (%s)%d)", value, type,
                               is_signed ? -(1 << (bits - 1)) : 0, type,
                               (1 << (is_signed ? bits - 1 : bits)) - 1);
    }
  } else {
    value = halo_arena_printf(arena, "(%s)%s", halo_ctype_compute(to), x);
  }
  return halo_ctype_fit(arena, to, value);
}

const char *halo_scalar_convert_text(halo_arena *arena, halo_sections *sections, halo_type from,
                                     halo_type to, const char *x, const char **stored) {
  if (from == to) return x;
  if (halo_type_is_complex(from)) {
    halo_type part = halo_type_real_part(from);
    if (halo_type_is_complex(to)) {
      const char *real = to == HALO_C128 ? "double" : "float";
      return halo_arena_printf(arena, "(%s)((%s)%s.x, (%s)%s.y)", halo_ctype_compute(to), real, x,
                               real, x);
    }
    x = halo_arena_printf(arena, "%s.x", x);
    return part == to ? x : halo_scalar_convert_text(arena, sections, part, to, x, stored);
  }
  switch (halo_type_class_of(to)) {
    case HALO_CLASS_PRED: return halo_arena_printf(arena, "(bool)(%s != 0)", x);
    case HALO_CLASS_SINT:
    case HALO_CLASS_UINT: return convert_to_int(arena, sections, from, to, x);
    case HALO_CLASS_FLOAT: return convert_to_float(arena, sections, from, to, x, stored);
    case HALO_CLASS_COMPLEX: {
      halo_type part = halo_type_real_part(to);
      const char *re = halo_scalar_convert_text(arena, sections, from, part, x, NULL);
      return halo_arena_printf(arena, "(%s)(%s, 0)", halo_ctype_compute(to), re);
    }
    case HALO_CLASS_OTHER: break;
  }
  return x;
}

halo_value halo_scalar_convert(halo_arena *arena, halo_sections *sections, halo_value value,
                               halo_type to) {
  halo_sections_add(sections, halo_ctype_section(value.type));
  halo_sections_add(sections, halo_ctype_section(to));
  if (value.type == to) return value;
  const char *stored = NULL;
  const char *text = halo_scalar_convert_text(arena, sections, value.type, to, value.text, &stored);
  if (text == value.text) return halo_value_as(value, to);
  halo_value converted = halo_value_expression(to, text);
  converted.stored = stored;
  return converted;
}
