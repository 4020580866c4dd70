/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/opcode.c: the tables behind opcode.h. */
#include "hlo/opcode.h"

#include "base/map.h"
#include "shape/types.h"

#include <string.h>

enum {
  EW = HALO_TRAIT_EW,
  COMM = HALO_TRAIT_COMM,
  ASSOC = HALO_TRAIT_ASSOC,
  EFFECT = HALO_TRAIT_EFFECT,
  NOINFER = HALO_TRAIT_NOINFER,
  COLL = HALO_TRAIT_COLL,
  ID = HALO_TRAIT_ID,
  ASYNC = HALO_TRAIT_ASYNC,
  ELEM = HALO_TRAIT_ELEM,
  FINISH = HALO_TRAIT_FINISH,
  JOIN = HALO_TRAIT_JOIN,
  LINES = HALO_TRAIT_LINES,
  T_PRED = HALO_T_PRED,
  T_SINT = HALO_T_SINT,
  T_UINT = HALO_T_UINT,
  T_FLOAT = HALO_T_FLOAT,
  T_COMPLEX = HALO_T_COMPLEX,
  T_ANY = HALO_T_ANY
};

#define ATTRS(...)                                                                                 \
  { __VA_ARGS__ }
#define R(id)                                                                                      \
  { HALO_ATTR_##id, HALO_ATTR_REQUIRED, true }
#define O(id)                                                                                      \
  { HALO_ATTR_##id, 0, true }
#define P(id)                                                                                      \
  { HALO_ATTR_##id, HALO_ATTR_ALWAYS_PRINTED, true }
#define EXEC(class, cost, reads) HALO_EXEC_##class, cost, reads

static const halo_op_info op_rows[HALO_OPCODE_COUNT] = {
#define STABLEHLO(id, name) HALO_DIALECT_STABLEHLO
#define STABLEHLO_ACCURATE(id, name) HALO_DIALECT_STABLEHLO
#define CHLO(id, name) HALO_DIALECT_CHLO
#define NO_MLIR HALO_DIALECT_NONE
#define ULP(single, loose, wide, magnitude)                                                        \
  { single, loose, wide, magnitude }
#define NO_ULP                                                                                     \
  { 0 }
#define OP(id, name, lo, hi, traits, types, infer, exec, rules, mlir, ulp, ...)                    \
  [HALO_OP_##id] = {name, lo, hi, traits, types, exec, mlir, ulp, __VA_ARGS__},
#include "hlo/opcodes.def"
#undef OP
};

static const struct {
  const char *text;
  halo_attr_kind kind;
} attr_rows[HALO_ATTR_COUNT] = {
#define A(id, text, kind) [HALO_ATTR_##id] = {text, HALO_KIND_##kind},
#include "hlo/attrs.def"
#undef A
};

const char *const halo_precision_names[] = {"default", "high", "highest", "packed_nibble", NULL};

const halo_op_info *halo_op_info_of(halo_opcode op) { return &op_rows[op]; }
const char *halo_opcode_name(halo_opcode op) { return op_rows[op].name; }

bool halo_opcode_commutes(halo_opcode op, halo_type type) {
  bool extreme = op == HALO_OP_MAXIMUM || op == HALO_OP_MINIMUM;
  if (halo_type_is_complex(type) && extreme) return false;
  return halo_opcode_has_trait(op, HALO_TRAIT_COMM);
}

bool halo_opcode_associates(halo_opcode op, halo_type type) {
  if (halo_type_is_complex(type) && op != HALO_OP_ADD && op != HALO_OP_MULTIPLY) return false;
  return halo_opcode_has_trait(op, HALO_TRAIT_ASSOC);
}

halo_exec_class halo_opcode_exec(halo_opcode op) { return op_rows[op].exec; }

halo_reading halo_opcode_reading(halo_opcode op, int operand) {
  const char *reads = op_rows[op].reads;
  size_t count = strlen(reads);
  if (count == 0) return HALO_READ_MEMORY;
  return (halo_reading)reads[(size_t)operand < count ? (size_t)operand : count - 1];
}

bool halo_opcode_is_elemental(halo_opcode op) {
  const halo_op_info *row = &op_rows[op];
  return row->exec == HALO_EXEC_ELEMENTWISE || row->exec == HALO_EXEC_MOVEMENT ||
         (row->traits & HALO_TRAIT_ELEM) != 0;
}

bool halo_opcode_from_name(const char *name, halo_opcode *out) {
  for (int i = 0; i < HALO_OPCODE_COUNT; i++) {
    if (strcmp(op_rows[i].name, name) == 0) {
      *out = (halo_opcode)i;
      return true;
    }
  }
  return false;
}

bool halo_opcode_has_trait(halo_opcode op, unsigned trait) {
  return (op_rows[op].traits & trait) != 0;
}

unsigned halo_type_mask(halo_type type) {
  halo_type_class class_ = halo_type_class_of(type);
  return class_ == HALO_CLASS_OTHER ? 0 : 1u << (class_ - 1);
}

const char *halo_attr_name(halo_attr_id id) { return attr_rows[id].text; }
halo_attr_kind halo_attr_kind_of(halo_attr_id id) { return attr_rows[id].kind; }

bool halo_attr_is_common(halo_attr_id id) {
  return id >= HALO_ATTR_SHARDING && id < HALO_ATTR_UNKNOWN;
}

halo_attr_id halo_attr_from_name(halo_opcode op, const char *text) {
  for (const halo_attr_spec *spec = op_rows[op].attrs; spec->used; spec++) {
    if (strcmp(attr_rows[spec->id].text, text) == 0) return spec->id;
  }
  for (int id = HALO_ATTR_SHARDING; id < HALO_ATTR_UNKNOWN; id++) {
    if (strcmp(attr_rows[id].text, text) == 0) return (halo_attr_id)id;
  }
  return HALO_ATTR_UNKNOWN;
}

const char *const *halo_attr_enum_names(halo_attr_id id) {
  static const char *const none[] = {NULL};
  static const char *const direction[] = {"EQ", "NE", "GE", "GT", "LE", "LT", NULL};
  static const char *const type[] = {"FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED", NULL};
  static const char *const order[] = {"TOTAL", "PARTIAL", "WEAK", NULL};
  static const char *const fusion[] = {"kLoop", "kInput", "kOutput", "kCustom", NULL};
  static const char *const fft[] = {"FFT", "IFFT", "RFFT", "IRFFT", NULL};
  static const char *const transpose[] = {"NO_TRANSPOSE", "TRANSPOSE", "ADJOINT", NULL};
  static const char *const distribution[] = {"rng_uniform", "rng_normal", NULL};
  static const char *const rng[] = {"rng_default", "rng_three_fry", "rng_philox", NULL};
  static const char *const conv[] = {"unset", "fprop", "wgrad", "dgrad", NULL};
  static const char *const mode[] = {"cross_replica", "cross_partition",
                                     "cross_replica_and_partition", "flattened_id", NULL};
  static const char *const padding[] = {"PADDING_VALID", "PADDING_SAME", NULL};
  static const char *const schedule[] = {"SCHEDULE_NONE", "SCHEDULE_LATEST", "SCHEDULE_EARLIEST",
                                         NULL};
  static const char *const api[] = {"API_VERSION_ORIGINAL", "API_VERSION_STATUS_RETURNING",
                                    "API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI",
                                    NULL};
  static const char *const algorithm[] = {"dot_unset",
                                          "dot_any_f8_any_f8_f32",
                                          "dot_any_f8_any_f8_f32_fast_accum",
                                          "dot_f16_f16_f16",
                                          "dot_f16_f16_f32",
                                          "dot_bf16_bf16_bf16",
                                          "dot_bf16_bf16_f32",
                                          "dot_bf16_bf16_f32_x3",
                                          "dot_bf16_bf16_f32_x6",
                                          "dot_bf16_bf16_f32_x9",
                                          "dot_tf32_tf32_f32",
                                          "dot_tf32_tf32_f32_x3",
                                          "dot_f32_f32_f32",
                                          "dot_f64_f64_f64",
                                          NULL};
  static const char *const *const rows[HALO_ATTR_COUNT] = {
      [HALO_ATTR_DIRECTION] = direction,
      [HALO_ATTR_COMPARE_TYPE] = type,
      [HALO_ATTR_COMPARE_ORDER] = order,
      [HALO_ATTR_FUSION_KIND] = fusion,
      [HALO_ATTR_FFT_TYPE] = fft,
      [HALO_ATTR_TRANSPOSE_A] = transpose,
      [HALO_ATTR_DISTRIBUTION] = distribution,
      [HALO_ATTR_RNG_ALGORITHM] = rng,
      [HALO_ATTR_CONVOLUTION_KIND] = conv,
      [HALO_ATTR_CONV_KIND] = conv,
      [HALO_ATTR_PADDING_TYPE] = padding,
      [HALO_ATTR_SCHEDULE] = schedule,
      [HALO_ATTR_API_VERSION] = api,
      [HALO_ATTR_ALGORITHM] = algorithm,
      [HALO_ATTR_COLLECTIVE_MODE] = mode,
  };
  return rows[id] ? rows[id] : none;
}
