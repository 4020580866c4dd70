/* SPDX-License-Identifier: Apache-2.0 */
/* exec/fold.c: elements are combined a block at a time, in one of three types that hold all others: f32 (narrower
 * floats, too), f64, and 64-bit integers, whose lower bits are those of narrower ones. */
#include "exec/fold.h"

#include "shape/types.h"

#include <string.h>

enum { FOLD_BLOCK = 64 };

typedef union fold_block {
  float f32[FOLD_BLOCK];
  double f64[FOLD_BLOCK];
  uint64_t u64[FOLD_BLOCK];
} fold_block;

/* ---- Bits ---- */

static float fold_f32(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
static uint32_t fold_bits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
static double fold_f64(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
static uint64_t fold_long_bits(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* As cl_kernels/scalar.cl has them: NaNs keep what fits of their payload. */
static float fold_from_f16(uint16_t half) {
  uint32_t exponent = half >> 10 & 31, mantissa = half & 0x3ff;
  float value = fold_f32(((uint32_t)(half & 0x7fff) << 13) + 0x38000000u);
  if (exponent == 0) value = (float)mantissa * 0x1p-24f;
  if (exponent == 31) value = fold_f32(0x7f800000u | mantissa << 13);
  return fold_f32(fold_bits(value) | (uint32_t)(half & 0x8000) << 16);
}
static uint16_t fold_to_f16(float value) {
  uint32_t bits = fold_bits(value), size = bits & 0x7fffffffu, sign = bits >> 16 & 0x8000u;
  if (size > 0x7f800000u) {
    uint32_t payload = size >> 13 & 0x3ffu;
    return (uint16_t)(sign | 0x7c00u | (payload ? payload : 0x200u));
  }
  if (size >= 0x47800000u) return (uint16_t)(sign | 0x7c00u);
  if (size >= 0x38800000u) {
    return (uint16_t)(sign | (size + 0xfffu + (size >> 13 & 1u) - 0x38000000u) >> 13);
  }
  /* Units of the smallest one, rounded where a float's mantissa ends. */
  float units = fold_f32(size) * 0x1p24f + 0x1p23f;
  return (uint16_t)(sign | (fold_bits(units) - fold_bits(0x1p23f)));
}
static uint16_t fold_to_bf16(float value) {
  uint32_t bits = fold_bits(value);
  if (value != value) return (uint16_t)(bits >> 16 | ((bits & 0x7f0000u) ? 0 : 0x40u));
  return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

/* ---- Blocks ---- */

typedef enum fold_carrier { FOLD_F32, FOLD_F64, FOLD_U64 } fold_carrier;

static fold_carrier fold_carrier_of(halo_type type) {
  halo_type real = halo_type_real_part(type);
  if (!halo_type_is_float(real)) return FOLD_U64;
  return real == HALO_F64 ? FOLD_F64 : FOLD_F32;
}

static void fold_load_whole(size_t size, bool is_signed, int count, const char *from,
                            uint64_t *to) {
  for (int i = 0; i < count; i++) {
    uint64_t value = 0;
    memcpy(&value, from + size * (size_t)i, size);
    uint64_t sign = (uint64_t)is_signed << (8 * size - 1);
    to[i] = (value ^ sign) - sign;
  }
}

static void fold_load(halo_type type, int count, const char *from, fold_block *to) {
  halo_type real = halo_type_real_part(type);
  size_t size = halo_type_size(real);
  uint16_t half;
  if (fold_carrier_of(type) == FOLD_U64) {
    fold_load_whole(size, halo_type_is_sint(type), count, from, to->u64);
  } else if (size > sizeof half) {
    memcpy(to, from, size * (size_t)count);
  } else {
    for (int i = 0; i < count; i++) {
      memcpy(&half, from + sizeof half * (size_t)i, sizeof half);
      to->f32[i] = type == HALO_BF16 ? fold_f32((uint32_t)half << 16) : fold_from_f16(half);
    }
  }
}

static void fold_store(halo_type type, int count, const fold_block *from, char *to) {
  size_t size = halo_type_size(halo_type_real_part(type));
  uint16_t half;
  if (fold_carrier_of(type) == FOLD_U64) {
    for (int i = 0; i < count; i++) memcpy(to + size * (size_t)i, &from->u64[i], size);
  } else if (size > sizeof half) {
    memcpy(to, from, size * (size_t)count);
  } else {
    for (int i = 0; i < count; i++) {
      half = type == HALO_BF16 ? fold_to_bf16(from->f32[i]) : fold_to_f16(from->f32[i]);
      memcpy(to + sizeof half * (size_t)i, &half, sizeof half);
    }
  }
}

/* ---- Operations ---- */

/* Where the first one is NaN the sum with itself is that, made quiet: which of two NaNs a sum gives is the
 * compiler's choice. */
static float fold_one_f32(halo_fold_op op, float a, float b) {
  if (a != a) return op == HALO_FOLD_ADD || op == HALO_FOLD_MULTIPLY ? a + a : a;
  if (op == HALO_FOLD_ADD) return a + b;
  if (op == HALO_FOLD_MULTIPLY) return a * b;
  bool max = op == HALO_FOLD_MAXIMUM;
  if (a == b) return fold_f32(max ? fold_bits(a) & fold_bits(b) : fold_bits(a) | fold_bits(b));
  return (max ? a > b : a < b) ? a : b;
}
static double fold_one_f64(halo_fold_op op, double a, double b) {
  if (a != a) return op == HALO_FOLD_ADD || op == HALO_FOLD_MULTIPLY ? a + a : a;
  if (op == HALO_FOLD_ADD) return a + b;
  if (op == HALO_FOLD_MULTIPLY) return a * b;
  bool max = op == HALO_FOLD_MAXIMUM;
  uint64_t x = fold_long_bits(a), y = fold_long_bits(b);
  if (a == b) return fold_f64(max ? x & y : x | y);
  return (max ? a > b : a < b) ? a : b;
}
static uint64_t fold_one_whole(halo_fold_op op, bool is_signed, uint64_t a, uint64_t b) {
  switch (op) {
    case HALO_FOLD_ADD: return a + b;
    case HALO_FOLD_MULTIPLY: return a * b;
    case HALO_FOLD_MAXIMUM: return (is_signed ? (int64_t)a > (int64_t)b : a > b) ? a : b;
    case HALO_FOLD_MINIMUM: return (is_signed ? (int64_t)a < (int64_t)b : a < b) ? a : b;
    case HALO_FOLD_AND: return a & b;
    case HALO_FOLD_OR: return a | b;
    case HALO_FOLD_XOR: return a ^ b;
    case HALO_FOLD_NONE: break;
  }
  return a;
}

static void fold_combine(halo_fold_op op, halo_type type, int count, fold_block *a,
                         const fold_block *b) {
  bool is_signed = halo_type_is_sint(type);
  switch (fold_carrier_of(type)) {
    case FOLD_F32:
      for (int i = 0; i < count; i++) a->f32[i] = fold_one_f32(op, a->f32[i], b->f32[i]);
      break;
    case FOLD_F64:
      for (int i = 0; i < count; i++) a->f64[i] = fold_one_f64(op, a->f64[i], b->f64[i]);
      break;
    case FOLD_U64:
      for (int i = 0; i < count; i++) {
        a->u64[i] = fold_one_whole(op, is_signed, a->u64[i], b->u64[i]);
      }
      break;
  }
}

/* ---- Rows ---- */

typedef struct fold_job {
  halo_fold_op op;
  halo_type type;
  size_t stride; /* from row to row, bytes */
  const char *rows;
  int count; /* elements of the block */
} fold_job;

/* Rows 0 to `members` - 1. */
static void fold_in_order(const fold_job *j, int64_t members, fold_block *out) {
  fold_block next;
  fold_load(j->type, j->count, j->rows, out);
  for (int64_t m = 1; m < members; m++) {
    fold_load(j->type, j->count, j->rows + j->stride * (size_t)m, &next);
    fold_combine(j->op, j->type, j->count, out, &next);
  }
}

/* What row `first` has become after rounds in which `width` rows became one. */
static void fold_in_pairs(const fold_job *j, int64_t members, int64_t first, int64_t width,
                          fold_block *out) {
  if (width == 1) {
    fold_load(j->type, j->count, j->rows + j->stride * (size_t)first, out);
    return;
  }
  int64_t half = width / 2;
  fold_in_pairs(j, members, first, half, out);
  if (first + half >= members) return;
  fold_block other;
  fold_in_pairs(j, members, first + half, half, &other);
  fold_combine(j->op, j->type, j->count, out, &other);
}

void halo_fold(halo_fold_op op, halo_type type, bool pairs, int64_t members, size_t bytes,
               const void *rows, void *out) {
  size_t size = halo_type_size(halo_type_real_part(type)), block = size * FOLD_BLOCK;
  int64_t width = 1;
  while (width < members) width *= 2;
  for (size_t at = 0; at < bytes; at += block) {
    size_t rest = bytes - at < block ? bytes - at : block;
    fold_job job = {op, type, bytes, (const char *)rows + at, (int)(rest / size)};
    fold_block sum;
    if (pairs) {
      fold_in_pairs(&job, members, 0, width, &sum);
    } else {
      fold_in_order(&job, members, &sum);
    }
    fold_store(type, job.count, &sum, (char *)out + at);
  }
}
