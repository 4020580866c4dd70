/* SPDX-License-Identifier: Apache-2.0 */
/* evaluator/number.c: elements from and to memory, and their bits as numbers. */
#include "evaluator/scalar.h"

#include "shape/floats.h"

#include <string.h>

uint64_t eval_wrap(halo_type type, uint64_t value) {
  int unused = 64 - halo_type_bits(type);
  if (halo_type_is_sint(type)) return (uint64_t)((int64_t)(value << unused) >> unused);
  return value << unused >> unused;
}

static uint64_t number_raw(const char *data, size_t size) {
  uint64_t bits = 0;
  memcpy(&bits, data, size);
  return bits;
}

eval_scalar eval_load(halo_type type, const void *data, int64_t i) {
  size_t size = halo_type_size(type);
  const char *at = (const char *)data + (size_t)i * size;
  switch (halo_type_class_of(type)) {
    case HALO_CLASS_PRED: return (eval_scalar){*at != 0, 0};
    case HALO_CLASS_SINT:
    case HALO_CLASS_UINT: return (eval_scalar){eval_wrap(type, number_raw(at, size)), 0};
    case HALO_CLASS_FLOAT: return (eval_scalar){number_raw(at, size), 0};
    case HALO_CLASS_COMPLEX:
      return (eval_scalar){number_raw(at, size / 2), number_raw(at + size / 2, size / 2)};
    case HALO_CLASS_OTHER: break;
  }
  return (eval_scalar){0, 0};
}

void eval_store(halo_type type, void *data, int64_t i, eval_scalar value) {
  size_t size = halo_type_size(type);
  char *at = (char *)data + (size_t)i * size;
  if (halo_type_is_complex(type)) {
    memcpy(at, &value.re, size / 2);
    memcpy(at + size / 2, &value.im, size / 2);
  } else {
    memcpy(at, &value.re, size);
  }
}

double eval_decode(halo_type type, uint64_t bits) {
  if (type == HALO_F64) return halo_f64_of_bits(bits);
  if (type == HALO_F32 || type == HALO_BF16) {
    uint32_t low = (uint32_t)(type == HALO_BF16 ? bits << 16 : bits);
    float value;
    memcpy(&value, &low, sizeof value);
    return value;
  }
  return halo_float_decode(type, bits);
}

uint64_t eval_encode(halo_type type, double value) {
  if (type == HALO_F64) return halo_bits_of_f64(value);
  if (type == HALO_F32) {
    float rounded = (float)value;
    uint32_t bits;
    memcpy(&bits, &rounded, sizeof bits);
    return bits;
  }
  return halo_float_encode(type, value);
}

uint64_t eval_encode_long(halo_type type, long double value) {
  return eval_encode(type, (double)value);
}
