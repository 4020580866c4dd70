/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/translate_custom.c: custom calls: those that stand for operations, and all others. */
#include "stablehlo/translate.h"

#include <stdlib.h>
#include <string.h>

/* The dictionary of a call, wherever its version has it; NULL: none. */
static const halo_mlir_attr *custom_dictionary(const halo_mlir_op *op) {
  const halo_mlir_attr *attr = halo_mlir_attr_of(op, "mhlo.backend_config");
  if (!attr) attr = halo_mlir_attr_of(op, "backend_config");
  return attr && attr->kind == HALO_MLIR_DICT ? attr : NULL;
}

static int64_t custom_number(const halo_mlir_attr *dict, const char *name, int64_t default_) {
  const halo_mlir_attr *attr = halo_mlir_dict_get(dict, name);
  return attr && (attr->kind == HALO_MLIR_INT || attr->kind == HALO_MLIR_BOOL) ? attr->i : default_;
}

/* ---- Any function by name ---- */

enum { CUSTOM_ATTRS = 8 };

/* Which operands are no arguments but shapes of results: entry k that of result k. */
static const int64_t *custom_shape_operands(halo_translator *t, const halo_mlir_op *op,
                                            int32_t *count) {
  *count = 0;
  if (!halo_mlir_attr_of(op, "indices_of_shape_operands")) return NULL;
  return halo_translate_list(t, op, "indices_of_shape_operands", op->result_count, count);
}

static bool custom_is_among(const int64_t *list, int32_t count, int64_t number) {
  for (int32_t i = 0; i < count; i++) {
    if (list[i] == number) return true;
  }
  return false;
}

/* The shape with the layout that entry i of the attribute says. */
static const halo_shape *custom_layout(halo_translator *t, const halo_mlir_op *op, const char *name,
                                       int32_t i, const halo_shape *shape) {
  const halo_mlir_attr *attr = halo_mlir_attr_of(op, name);
  if (!shape || !attr || attr->kind != HALO_MLIR_ARRAY || i >= attr->array.count) return shape;
  if (!halo_shape_is_array(shape)) return shape;
  int32_t count, order[HALO_MAX_RANK];
  const int64_t *list = halo_mlir_ints(t->program, attr->array.data[i], &count);
  if (count != shape->rank) {
    halo_translate_wrong(t, "%s: layout %d does not have %d dimension%s", name, i, shape->rank,
                         halo_plural(shape->rank));
    return NULL;
  }
  for (int32_t d = 0; d < count; d++) order[d] = (int32_t)list[d];
  halo_status status = halo_shape_check_layout(count, order);
  halo_translate_failed(t, status);
  if (status != HALO_OK) return NULL;
  return halo_shape_new_full(t->arena, shape->type, shape->rank, shape->dims, shape->dynamic,
                             order);
}

static const halo_shape *custom_result(halo_translator *t, const halo_mlir_op *op,
                                       const int64_t *shapes) {
  const halo_shape **parts = halo_arena_array(t->arena, const halo_shape *, op->result_count + 1);
  for (int32_t i = 0; i < op->result_count && halo_translate_ok(t); i++) {
    parts[i] = halo_translate_declared(t, op, i);
    if (!parts[i] && halo_translate_ok(t) && !shapes) {
      halo_translate_refuse(t, "the extents of result %d are not known", i);
    }
    if (!parts[i] && halo_translate_ok(t)) {
      int32_t rank;
      const int64_t *dims = halo_translate_known_operand(t, op, (int32_t)shapes[i], -1, &rank);
      if (dims) parts[i] = halo_translate_array(t, op->results[i].type->element, rank, dims);
    }
    parts[i] = custom_layout(t, op, "result_layouts", i, parts[i]);
  }
  if (!halo_translate_ok(t)) return NULL;
  return op->result_count == 1 ? parts[0] : halo_shape_new_tuple(t->arena, op->result_count, parts);
}

static halo_int_list custom_indices(halo_translator *t, const halo_mlir_attr *of,
                                    const char *name) {
  halo_int_list list = {0};
  list.data = halo_mlir_ints(t->program, halo_mlir_dict_get(of, name), &list.count);
  if (list.count < 0) return (halo_int_list){0};
  list.data = halo_arena_copy(t->arena, list.data, sizeof *list.data * (size_t)list.count);
  return list;
}

static bool custom_aliases(halo_translator *t, const halo_mlir_op *op, halo_attr *out) {
  const halo_mlir_attr *attr = halo_mlir_attr_of(op, "output_operand_aliases");
  if (!attr || attr->kind != HALO_MLIR_ARRAY || attr->array.count == 0) return false;
  halo_alias *rows = halo_arena_array(t->arena, halo_alias, attr->array.count);
  for (int32_t i = 0; i < attr->array.count; i++) {
    const halo_mlir_attr *row = attr->array.data[i];
    halo_int_list result = custom_indices(t, row, "output_tuple_indices");
    halo_int_list operand = custom_indices(t, row, "operand_tuple_indices");
    rows[i] = (halo_alias){.out_index = result.data,
                           .out_index_count = result.count,
                           .parameter = custom_number(row, "operand_index", 0),
                           .param_index = operand.data,
                           .param_index_count = operand.count};
  }
  *out = (halo_attr){.id = HALO_ATTR_OUTPUT_TO_OPERAND_ALIASING};
  out->aliases.data = rows;
  out->aliases.count = attr->array.count;
  return true;
}

/* A dictionary as it is, text in quotes, as HLO text has them. */
static bool custom_config(halo_translator *t, const halo_mlir_op *op, halo_attr *out) {
  const halo_mlir_attr *dict = custom_dictionary(op);
  halo_strbuf text = {0};
  if (dict) {
    halo_translate_print_attr(&text, dict);
  } else {
    const halo_mlir_attr *config = halo_mlir_attr_of(op, "backend_config");
    if (!config || config->kind != HALO_MLIR_STRING || config->string.length == 0) return false;
    halo_strbuf_char(&text, '"');
    for (size_t i = 0; i < config->string.length; i++) {
      char c = config->string.text[i];
      if (c == '"' || c == '\\') halo_strbuf_char(&text, '\\');
      if (c == '\n') {
        halo_strbuf_append(&text, "\\n");
      } else if (c == '\0') {
        halo_strbuf_append(&text, "\\000"); /* some configurations are bytes */
      } else {
        halo_strbuf_char(&text, c);
      }
    }
    halo_strbuf_char(&text, '"');
  }
  *out = halo_translate_text(t, HALO_ATTR_BACKEND_CONFIG, halo_strbuf_text(&text));
  halo_strbuf_deinit(&text);
  return true;
}

static bool custom_layouts(halo_translator *t, const halo_mlir_op *op, halo_instr *const *operands,
                           int32_t count, halo_attr *out) {
  const halo_mlir_attr *attr = halo_mlir_attr_of(op, "operand_layouts");
  if (!attr || attr->kind != HALO_MLIR_ARRAY || attr->array.count == 0) return false;
  const halo_shape **shapes = halo_arena_array(t->arena, const halo_shape *, count + 1);
  for (int32_t i = 0; i < count && halo_translate_ok(t); i++) {
    shapes[i] = custom_layout(t, op, "operand_layouts", i, operands[i]->shape);
  }
  *out = (halo_attr){.id = HALO_ATTR_OPERAND_LAYOUT_CONSTRAINTS};
  out->shapes.data = shapes;
  out->shapes.count = count;
  return halo_translate_ok(t);
}

static void custom_any(halo_translator *t, halo_mlir_op *op, const char *target) {
  int32_t shape_count, count = 0, n = 0;
  const int64_t *shapes = custom_shape_operands(t, op, &shape_count);
  halo_instr **operands = halo_translate_operands(t, op);
  for (int32_t i = 0; i < op->operand_count; i++) {
    if (!custom_is_among(shapes, shape_count, i)) operands[count++] = operands[i];
  }
  const halo_shape *shape = custom_result(t, op, shapes);
  halo_computation *called = halo_translate_called(t, op);
  if (!halo_translate_ok(t)) return;
  halo_attr attrs[CUSTOM_ATTRS];
  attrs[n++] = halo_translate_text(t, HALO_ATTR_CUSTOM_CALL_TARGET, target);
  if (custom_layouts(t, op, operands, count, &attrs[n])) n++;
  if (halo_mlir_int(op, "has_side_effect", 0)) {
    attrs[n++] = halo_translate_int(HALO_ATTR_CUSTOM_CALL_HAS_SIDE_EFFECT, 1);
  }
  if (custom_aliases(t, op, &attrs[n])) n++;
  if (called) attrs[n++] = halo_translate_comp(t, HALO_ATTR_CALLED_COMPUTATIONS, called);
  int64_t version = halo_mlir_int(op, "api_version", 1);
  if (custom_dictionary(op)) version = 1 + HALO_API_TYPED_FFI;
  if (version > 1 && version <= 1 + HALO_API_TYPED_FFI) {
    attrs[n++] = halo_translate_int(HALO_ATTR_API_VERSION, version - 1);
  }
  if (custom_config(t, op, &attrs[n])) n++;
  halo_translate_results(
      t, op, halo_translate_emit(t, HALO_OP_CUSTOM_CALL, shape, operands, count, attrs, n));
}

/* ---- Sorts that keep a part ---- */

void halo_translate_topk(halo_translator *t, halo_mlir_op *op, halo_instr *operand, int64_t k,
                         bool largest) {
  halo_attr attrs[] = {halo_translate_int(HALO_ATTR_K, k),
                       halo_translate_int(HALO_ATTR_LARGEST, largest)};
  halo_translate_results(t, op, halo_translate_emit(t, HALO_OP_TOPK, NULL, &operand, 1, attrs, 2));
}

/* n inputs, as many initial values; the exact result is one that approximate ones may be. `k` < 0: as declared, or
 * as the dictionary says. */
static void custom_approx_topk(halo_translator *t, halo_mlir_op *op, int64_t k) {
  const halo_mlir_attr *dict = custom_dictionary(op);
  int32_t n = op->result_count;
  halo_instr **operands = halo_translate_operands(t, op);
  halo_computation *comparator = halo_translate_called(t, op);
  if (halo_translate_ok(t) && (!comparator || n < 1 || op->operand_count < 2 * n || !dict)) {
    halo_translate_wrong(t,
                         "expected inputs, as many initial values and results, a comparator and "
                         "a dictionary");
  }
  if (!halo_translate_ok(t)) return;
  int64_t dimension = custom_number(dict, "reduction_dim", -1);
  int rank = operands[0]->shape->rank;
  if (dimension < 0) dimension += rank;
  if (dimension < 0 || dimension >= rank) {
    halo_translate_wrong(t, "reduction_dim is no dimension of the operand");
    return;
  }
  const halo_mlir_type *declared = op->results[0].type;
  bool known = declared->kind == HALO_MLIR_TENSOR && declared->rank == rank &&
               declared->dims[dimension] != HALO_MLIR_DYNAMIC;
  if (known) k = declared->dims[dimension];
  if (k < 0) k = custom_number(dict, "top_k", -1);
  halo_attr attrs[] = {halo_translate_ints(t, HALO_ATTR_DIMENSIONS, &dimension, 1),
                       halo_translate_comp(t, HALO_ATTR_TO_APPLY, comparator),
                       halo_translate_int(HALO_ATTR_IS_STABLE, 1)};
  halo_instr *sorted = halo_translate_emit(t, HALO_OP_SORT, NULL, operands, n, attrs, 3);
  for (int32_t i = 0; i < n && halo_translate_ok(t); i++) {
    halo_instr *all = n == 1 ? sorted : halo_translate_element(t, sorted, i);
    int64_t ranges[3 * HALO_MAX_RANK];
    for (int d = 0; d < rank && all; d++) {
      ranges[3 * d] = 0;
      ranges[3 * d + 1] = d == dimension ? k : all->shape->dims[d];
      ranges[3 * d + 2] = 1;
    }
    halo_attr slice = halo_translate_ints(t, HALO_ATTR_SLICE, ranges, 3 * rank);
    halo_translate_result(t, op, i,
                          halo_translate_emit(t, HALO_OP_SLICE, NULL, &all, 1, &slice, 1));
  }
}

static void custom_dynamic_topk(halo_translator *t, halo_mlir_op *op) {
  const int64_t *k = halo_translate_known_operand(t, op, 1, 1, NULL);
  halo_instr *operand = halo_translate_operand(t, op, 0);
  if (k) halo_translate_topk(t, op, operand, k[0], true);
}

static void custom_dynamic_approx(halo_translator *t, halo_mlir_op *op) {
  const int64_t *k = halo_translate_known_operand(t, op, op->operand_count - 1, 1, NULL);
  if (k) custom_approx_topk(t, op, k[0]);
}

static void custom_approx(halo_translator *t, halo_mlir_op *op) { custom_approx_topk(t, op, -1); }

/* ---- Checks and extents ---- */

/* The message with {0}, {1}, ... replaced by the values that the call has. */
static void custom_say(halo_translator *t, const halo_mlir_op *op, halo_strbuf *out) {
  const char *c = halo_mlir_string(op, "error_message", "an assertion about extents fails");
  for (; *c; c++) {
    const halo_instr *value = NULL;
    int32_t count;
    if (c[0] == '{' && c[1] >= '0' && c[1] <= '9') {
      char *end;
      long number = strtol(c + 1, &end, 10);
      bool named = *end == '}' && number + 1 < op->operand_count;
      value = named ? halo_translate_operand(t, op, (int32_t)number + 1) : NULL;
      const int64_t *known = value ? halo_translate_known(t, value, &count) : NULL;
      if (known && count == 1) {
        halo_strbuf_printf(out, "%lld", (long long)known[0]);
        c = end;
        continue;
      }
    }
    halo_strbuf_char(out, *c);
  }
}

static void custom_assertion(halo_translator *t, halo_mlir_op *op) {
  const int64_t *holds = halo_translate_known_operand(t, op, 0, 1, NULL);
  if (!holds || holds[0]) return;
  halo_strbuf message = {0};
  custom_say(t, op, &message);
  halo_translate_wrong(t, "%s", halo_strbuf_text(&message));
  halo_strbuf_deinit(&message);
}

static void custom_first(halo_translator *t, halo_mlir_op *op) {
  halo_translate_result(t, op, 0, halo_translate_operand(t, op, 0));
}

static void custom_reduce_window(halo_translator *t, halo_mlir_op *op) {
  halo_translate_reduce_window_by_operands(t, op, halo_translate_called(t, op));
}

static void custom_rng_bits(halo_translator *t, halo_mlir_op *op) {
  halo_instr *state = halo_translate_operand(t, op, 0);
  int32_t rank;
  const int64_t *dims = halo_translate_known_operand(t, op, 1, -1, &rank);
  if (!dims || op->result_count != 2) {
    if (dims) halo_translate_wrong(t, "expected two results");
    return;
  }
  const halo_shape *parts[] = {state->shape,
                               halo_translate_array(t, op->results[1].type->element, rank, dims)};
  if (!parts[1]) return;
  halo_arena scratch = {0};
  const char *word = halo_mlir_string(op, "rng_algorithm", "DEFAULT");
  halo_attr attr =
      halo_translate_enum(t, HALO_ATTR_RNG_ALGORITHM, halo_arena_printf(&scratch, "rng_%s", word));
  halo_arena_deinit(&scratch);
  halo_translate_results(
      t, op,
      halo_translate_emit(t, HALO_OP_RNG_BIT_GENERATOR, halo_shape_new_tuple(t->arena, 2, parts),
                          &state, 1, &attr, 1));
}

static void custom_ragged(halo_translator *t, halo_mlir_op *op) {
  halo_translate_ragged_all_to_all(t, op, custom_dictionary(op));
}

/* ---- The table ---- */

static const struct {
  const char *target;
  halo_translate_fn *translate;
} custom_rows[] = {
    {"ApproxTopK", custom_approx},
    {"all-gather-done", custom_first},
    {"all-gather-start", halo_translate_async_start},
    {"all-reduce-done", custom_first},
    {"all-reduce-start", halo_translate_async_start},
    {"all-to-all-done", custom_first},
    {"all-to-all-start", halo_translate_async_start},
    {"collective-permute-done", custom_first},
    {"collective-permute-start", halo_translate_async_start},
    {"ragged_all_to_all", custom_ragged},
    {"reduce-scatter-done", custom_first},
    {"reduce-scatter-start", halo_translate_async_start},
    {"shape_assertion", custom_assertion},
    {"stablehlo.dynamic_approx_top_k", custom_dynamic_approx},
    {"stablehlo.dynamic_reduce_window", custom_reduce_window},
    {"stablehlo.dynamic_rng_bit_generator", custom_rng_bits},
    {"stablehlo.dynamic_top_k", custom_dynamic_topk},
    {"stablehlo.shape_refinement_operand_wrapper", custom_first},
};

void halo_translate_op_custom_call(halo_translator *t, halo_mlir_op *op) {
  const char *target = halo_mlir_string(op, "call_target_name", "");
  if (!*target) halo_translate_wrong(t, "call_target_name is missing");
  for (size_t i = 0; i < sizeof custom_rows / sizeof custom_rows[0]; i++) {
    if (strcmp(custom_rows[i].target, target) != 0) continue;
    custom_rows[i].translate(t, op);
    return;
  }
  const halo_mlir_attr *frontend = halo_mlir_attr_of(op, "mhlo.frontend_attributes");
  bool constraint = strcmp(target, "Sharding") == 0 && op->result_count == 1;
  if (t->reducing && constraint) {
    custom_first(t, op); /* which says nothing in a computation on scalars */
  } else if (constraint && halo_mlir_dict_get(frontend, "xla.sdy.sharding")) {
    halo_translate_shardy_call(t, op, target);
  } else if (strncmp(target, "xla.sdy.", 8) == 0) {
    halo_translate_shardy_call(t, op, target + 8);
  } else if (strncmp(target, "mhlo.", 5) == 0) {
    if (!halo_translate_named(t, op, target + 5, halo_mlir_attr_of(op, "mhlo.attributes"))) {
      halo_translate_refuse(t, "HLO has no operation for the target %s", target);
    }
  } else if (halo_translate_ok(t)) {
    custom_any(t, op, target);
  }
}
