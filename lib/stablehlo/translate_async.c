/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/translate_async.c: collectives that begin and end apart, as JAX 0.12 writes them: custom calls by the names of
 * HLO's operations, whose attributes are an object of JSON. */
#include "stablehlo/translate.h"

#include <string.h>

static const struct {
  const char *target;
  halo_mlir_opcode opcode;
  halo_translate_fn *translate;
  bool reduces; /* by a function that the call names */
} async_rows[] = {
    {"all-gather-start", HALO_MLIR_OP_ALL_GATHER, halo_translate_op_collective},
    {"all-reduce-start", HALO_MLIR_OP_ALL_REDUCE, halo_translate_op_collective, true},
    {"all-to-all-start", HALO_MLIR_OP_ALL_TO_ALL, halo_translate_op_all_to_all},
    {"collective-permute-start", HALO_MLIR_OP_COLLECTIVE_PERMUTE, halo_translate_op_permute},
    {"reduce-scatter-start", HALO_MLIR_OP_REDUCE_SCATTER, halo_translate_op_collective, true},
};

/* What JAX calls otherwise than StableHLO. */
static const char *const async_names[][2] = {
    {"all_gather_dimension", "all_gather_dim"},
    {"permutation", "source_target_pairs"},
};

/* ---- The object ---- */

/* A list of lists of numbers as a matrix; the last character of it. */
static const char *async_matrix(const char *list, halo_strbuf *out) {
  int depth = 0, rows = 0, numbers = 0;
  const char *at = list;
  for (bool inside = false; *at; at++) {
    bool digit = *at >= '0' && *at <= '9';
    if (digit && !inside) numbers++;
    inside = digit;
    if (*at == '[' && ++depth == 2) rows++;
    if (*at == ']' && --depth == 0) break;
  }
  int length = (int)(at - list) + (*at == ']');
  halo_strbuf_printf(out, "dense<%.*s> : tensor<%dx%dxi64>", length, list, rows,
                     rows ? numbers / rows : 0);
  return list + length - 1;
}

/* JSON as MLIR's text of a dictionary. */
static void async_text(const char *json, halo_strbuf *out) {
  bool quoted = false;
  for (const char *at = json; *at; at++) {
    if (*at == '"') quoted = !quoted;
    if (!quoted && *at == '[' && at[1] == '[') {
      at = async_matrix(at, out);
    } else {
      halo_strbuf_char(out, !quoted && *at == ':' ? '=' : *at);
    }
  }
}

static const halo_mlir_attr *async_config(halo_translator *t, const halo_mlir_op *op) {
  const halo_mlir_attr *json = halo_mlir_dict_get(halo_mlir_attr_of(op, "mhlo.frontend_attributes"),
                                                  "async_collective_config");
  const halo_mlir_attr *config = NULL;
  if (json && json->kind == HALO_MLIR_STRING) {
    halo_strbuf text = {0};
    async_text(json->string.text, &text);
    halo_translate_failed(t, halo_mlir_read_attr(t->program, halo_strbuf_text(&text), &config));
    halo_strbuf_deinit(&text);
  }
  bool found = config && config->kind == HALO_MLIR_DICT;
  if (!found && halo_translate_ok(t)) {
    halo_translate_wrong(t, "async_collective_config: expected an object of JSON");
  }
  return found ? config : NULL;
}

static const char *async_name(const char *name) {
  for (size_t i = 0; i < sizeof async_names / sizeof async_names[0]; i++) {
    if (strcmp(async_names[i][0], name) == 0) return async_names[i][1];
  }
  return name;
}

/* ---- The calls ---- */

void halo_translate_async_start(halo_translator *t, halo_mlir_op *op) {
  const char *target = halo_mlir_string(op, "call_target_name", "");
  size_t row = 0;
  while (strcmp(async_rows[row].target, target) != 0) row++;
  const halo_mlir_attr *config = async_config(t, op);
  const halo_mlir_attr *called = halo_mlir_attr_of(op, "called_computations");
  if (!config) return;
  if (async_rows[row].reduces &&
      (!called || called->kind != HALO_MLIR_ARRAY || !called->array.count)) {
    halo_translate_wrong(t, "expected a function that reduces");
    return;
  }
  halo_mlir_named *attrs = halo_arena_array(t->arena, halo_mlir_named, config->dict.count + 1);
  int32_t count = 0;
  for (; count < config->dict.count; count++) {
    attrs[count] = config->dict.data[count];
    attrs[count].name = async_name(attrs[count].name);
  }
  if (async_rows[row].reduces) attrs[count++] = (halo_mlir_named){"called_computations", called};
  halo_mlir_op collective = *op;
  collective.opcode = async_rows[row].opcode;
  collective.name = halo_mlir_opcode_name(collective.opcode);
  collective.attrs = attrs;
  collective.attr_count = count;
  async_rows[row].translate(t, &collective);
}
