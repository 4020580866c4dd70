/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/bytecode_rule.c: Shardy's rules of custom calls, as the text that the other reader has of them. */
#include "stablehlo/bytecode.h"

#include <string.h>

static const halo_mlir_attr *rule_field(const halo_mlir_attr *of, const char *name) {
  static const halo_mlir_attr none = {.kind = HALO_MLIR_ARRAY};
  const halo_mlir_attr *field = halo_mlir_dict_get(of, name);
  return field && field->kind == HALO_MLIR_ARRAY ? field : &none;
}

/* Factors are called i, j, ..., z, z_1, z_2, ... */
static void rule_factor(halo_strbuf *out, const halo_mlir_attr *index) {
  enum { LETTERS = 'z' - 'i' };
  int64_t i = index->i;
  if (i <= LETTERS) {
    halo_strbuf_char(out, (char)('i' + i));
  } else {
    halo_strbuf_printf(out, "z_%lld", (long long)(i - LETTERS));
  }
}

static void rule_tensors(halo_strbuf *out, const halo_mlir_attr *tensors) {
  halo_strbuf_char(out, '(');
  for (int32_t t = 0; t < tensors->array.count; t++) {
    const halo_mlir_attr *dims = rule_field(tensors->array.data[t], "dim_mappings");
    halo_strbuf_append(out, t ? ", [" : "[");
    for (int32_t d = 0; d < dims->array.count; d++) {
      const halo_mlir_attr *factors = rule_field(dims->array.data[d], "factor_indices");
      if (d) halo_strbuf_append(out, ", ");
      for (int32_t f = 0; f < factors->array.count; f++) {
        rule_factor(out, factors->array.data[f]);
      }
    }
    halo_strbuf_char(out, ']');
  }
  halo_strbuf_char(out, ')');
}

static void rule_set(halo_strbuf *out, const halo_mlir_attr *rule, const char *field,
                     const char *name) {
  const halo_mlir_attr *factors = rule_field(rule, field);
  for (int32_t f = 0; f < factors->array.count; f++) {
    halo_strbuf_printf(out, f ? ", " : " %s={", name);
    rule_factor(out, factors->array.data[f]);
  }
  if (factors->array.count) halo_strbuf_char(out, '}');
}

void halo_bytecode_rule_text(halo_arena *arena, halo_mlir_attr *rule) {
  halo_strbuf out = {0};
  const halo_mlir_attr *sizes = rule_field(rule, "factor_sizes"),
                       *custom = halo_mlir_dict_get(rule, "is_custom_rule");
  halo_strbuf_append(&out, "#sdy.op_sharding_rule<");
  rule_tensors(&out, rule_field(rule, "operand_mappings"));
  halo_strbuf_append(&out, "->");
  rule_tensors(&out, rule_field(rule, "result_mappings"));
  for (int32_t f = 0; f < sizes->array.count; f++) {
    halo_mlir_attr index = {.kind = HALO_MLIR_INT, .i = f};
    halo_strbuf_append(&out, f ? ", " : " {");
    rule_factor(&out, &index);
    halo_strbuf_printf(&out, "=%lld", (long long)sizes->array.data[f]->i);
  }
  if (sizes->array.count) halo_strbuf_char(&out, '}');
  rule_set(&out, rule, "reduction_factors", "reduction");
  rule_set(&out, rule, "need_replication_factors", "need_replication");
  rule_set(&out, rule, "permutation_factors", "permutation");
  rule_set(&out, rule, "blocked_propagation_factors", "blocked_propagation");
  if (custom && custom->i) halo_strbuf_append(&out, ", custom");
  halo_strbuf_char(&out, '>');
  size_t length = strlen(halo_strbuf_text(&out));
  const char *text = halo_arena_strndup(arena, halo_strbuf_text(&out), length);
  halo_strbuf_deinit(&out);
  *rule = (halo_mlir_attr){.kind = HALO_MLIR_OPAQUE};
  rule->string.text = text;
  rule->string.length = length;
}
