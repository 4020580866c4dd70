/* SPDX-License-Identifier: Apache-2.0 */
/* codegen/ctype.c: how XLA's element types are spelled in OpenCL C. */
#include "codegen/ctype.h"

#include "shape/floats.h"
#include "shape/types.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

halo_type halo_ctype_carrier(halo_type type) {
  switch (halo_type_class_of(type)) {
    case HALO_CLASS_SINT: return halo_type_bits(type) < 8 ? HALO_S8 : type;
    case HALO_CLASS_UINT: return halo_type_bits(type) < 8 ? HALO_U8 : type;
    case HALO_CLASS_FLOAT: return type == HALO_F64 ? HALO_F64 : HALO_F32;
    case HALO_CLASS_PRED:
    case HALO_CLASS_COMPLEX:
    case HALO_CLASS_OTHER: break;
  }
  return type;
}

bool halo_ctype_is_narrow(halo_type type) { return halo_ctype_carrier(type) != type; }

const char *halo_ctype_compute(halo_type type) {
  switch (halo_type_class_of(type)) {
    case HALO_CLASS_PRED: return "bool";
    case HALO_CLASS_SINT:
      switch (halo_type_size(type)) {
        case 1: return "char";
        case 2: return "short";
        case 4: return "int";
        default: return "long";
      }
    case HALO_CLASS_UINT:
      switch (halo_type_size(type)) {
        case 1: return "uchar";
        case 2: return "ushort";
        case 4: return "uint";
        default: return "ulong";
      }
    case HALO_CLASS_FLOAT: return type == HALO_F64 ? "double" : "float";
    case HALO_CLASS_COMPLEX: return type == HALO_C128 ? "double2" : "float2";
    case HALO_CLASS_OTHER: break;
  }
  return "void";
}

const char *halo_ctype_storage(halo_type type) {
  if (type == HALO_PRED) return "uchar";
  if (halo_type_is_float(type) && halo_ctype_is_narrow(type)) {
    return halo_type_size(type) == 2 ? "ushort" : "uchar";
  }
  return halo_ctype_compute(type);
}

size_t halo_ctype_size(halo_type type) { return halo_type_size(halo_ctype_carrier(type)); }

const char *halo_ctype_section(halo_type type) {
  if (type == HALO_F64 || type == HALO_C128) return "fp64";
  if (!halo_ctype_is_narrow(type)) return NULL;
  if (!halo_type_is_float(type)) return "wrap";
  if (type == HALO_F16) return "f16";
  if (type == HALO_BF16) return "bf16";
  static const char *const sections[HALO_TYPE_COUNT] = {
      [HALO_F8E5M2] = "f8.f8e5m2",
      [HALO_F8E4M3] = "f8.f8e4m3",
      [HALO_F8E3M4] = "f8.f8e3m4",
      [HALO_F8E4M3FN] = "f8.f8e4m3fn",
      [HALO_F8E4M3B11FNUZ] = "f8.f8e4m3b11fnuz",
      [HALO_F8E4M3FNUZ] = "f8.f8e4m3fnuz",
      [HALO_F8E5M2FNUZ] = "f8.f8e5m2fnuz",
      [HALO_F4E2M1FN] = "f8.f4e2m1fn",
      [HALO_F8E8M0FNU] = "e8m0",
  };
  return sections[type];
}

const char *halo_ctype_load(halo_arena *arena, halo_type type, const char *expr) {
  if (type == HALO_PRED) return halo_arena_printf(arena, "(bool)%s", expr);
  if (!halo_ctype_is_narrow(type) || !halo_type_is_float(type)) return expr;
  return halo_arena_printf(arena, "h_dec_%s(%s)", halo_type_name(type), expr);
}

const char *halo_ctype_store(halo_arena *arena, halo_type type, const char *expr) {
  if (type == HALO_PRED) return halo_arena_printf(arena, "(uchar)%s", expr);
  if (!halo_ctype_is_narrow(type) || !halo_type_is_float(type)) return expr;
  return halo_arena_printf(arena, "h_enc_%s(%s)", halo_type_name(type), expr);
}

const char *halo_ctype_fit(halo_arena *arena, halo_type type, const char *expr) {
  if (!halo_ctype_is_narrow(type)) return expr;
  return halo_arena_printf(arena, "%s_%s(%s)", halo_type_is_float(type) ? "h_round" : "h_wrap",
                           halo_type_name(type), expr);
}

const char *halo_ctype_fit_quiet(halo_arena *arena, halo_type type, const char *expr) {
  if (type != HALO_F16) return halo_ctype_fit(arena, type, expr);
  return halo_arena_printf(arena, "h_round_quiet_f16(%s)", expr);
}

const char *halo_ctype_fit_stored(halo_arena *arena, halo_type type, const char *expr, bool quiet) {
  if (type != HALO_F16 && type != HALO_BF16) return NULL;
  if (quiet && type == HALO_F16) return halo_arena_printf(arena, "h_enc_quiet_f16(%s)", expr);
  return halo_ctype_store(arena, type, expr);
}

static const char *ctype_integer(halo_arena *arena, halo_type type, int64_t value) {
  if (halo_type_is_uint(type)) {
    switch (halo_type_size(type)) {
      case 4: return halo_arena_printf(arena, "%lluu", (unsigned long long)value);
      case 8: return halo_arena_printf(arena, "%lluUL", (unsigned long long)value);
      default:
        return halo_arena_printf(arena, "(%s)%llu", halo_ctype_compute(type),
                                 (unsigned long long)value);
    }
  }
  if (type == HALO_S64) {
    /* -2^63 is not a literal of C: its digits overflow before the minus is applied. */
    if (value == INT64_MIN) return "(-9223372036854775807L - 1L)";
    return halo_arena_printf(arena, value < 0 ? "(%lldL)" : "%lldL", (long long)value);
  }
  if (type == HALO_S32) {
    if (value == INT32_MIN) return "(-2147483647 - 1)";
    return halo_arena_printf(arena, value < 0 ? "(%lld)" : "%lld", (long long)value);
  }
  return halo_arena_printf(arena, "(%s)(%lld)", halo_ctype_compute(type), (long long)value);
}

static const char *ctype_float(halo_arena *arena, double value, bool is_double) {
  if (!isfinite(value)) {
    /* By bits: NaN payloads survive, and no macro has to exist. */
    if (is_double) {
      return halo_arena_printf(arena, "as_double(0x%llxUL)",
                               (unsigned long long)halo_bits_of_f64(value));
    }
    return halo_arena_printf(arena, "as_float(0x%llxu)",
                             (unsigned long long)halo_float_encode(HALO_F32, value));
  }
  char text[48];
  snprintf(text, sizeof text, is_double ? "%.15g" : "%.6g", value);
  if (strtod(text, NULL) != value) snprintf(text, sizeof text, is_double ? "%.17g" : "%.9g", value);
  const char *point = strpbrk(text, ".e") ? "" : ".0";
  const char *suffix = is_double ? "" : "f";
  const char *format = signbit(value) ? "(%s%s%s)" : "%s%s%s";
  return halo_arena_printf(arena, format, text, point, suffix);
}

static const char *ctype_complex(halo_arena *arena, halo_type type, double re, double im) {
  bool is_double = type == HALO_C128;
  return halo_arena_printf(arena, "(%s)(%s, %s)", halo_ctype_compute(type),
                           ctype_float(arena, re, is_double), ctype_float(arena, im, is_double));
}

const char *halo_ctype_constant(halo_arena *arena, const halo_literal *literal, int64_t i) {
  halo_type type = literal->shape->type;
  double re, im;
  switch (halo_type_class_of(type)) {
    case HALO_CLASS_PRED: return halo_literal_get_i64(literal, i) ? "true" : "false";
    case HALO_CLASS_SINT:
    case HALO_CLASS_UINT: return ctype_integer(arena, type, halo_literal_get_i64(literal, i));
    case HALO_CLASS_FLOAT:
      return ctype_float(arena, halo_literal_get_f64(literal, i), type == HALO_F64);
    case HALO_CLASS_COMPLEX:
      halo_literal_get_c128(literal, i, &re, &im);
      return ctype_complex(arena, type, re, im);
    case HALO_CLASS_OTHER: break;
  }
  return "0";
}

const char *halo_ctype_constant_i64(halo_arena *arena, halo_type type, int64_t value) {
  if (type == HALO_PRED) return value ? "true" : "false";
  if (halo_type_is_complex(type)) return ctype_complex(arena, type, (double)value, 0);
  if (halo_type_is_float(type)) return ctype_float(arena, (double)value, type == HALO_F64);
  return ctype_integer(arena, type, value);
}
