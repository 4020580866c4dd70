/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/write.c: HLO modules as StableHLO text: functions, regions, values and types. */
#include "stablehlo/write.h"

#include "base/memory.h"

#include <inttypes.h>
#include <string.h>

/* Regions may nest this deep: each call of a computation that is applied is one. */
enum { WRITE_MAX_DEPTH = 200 };

halo_status halo_write_refuse(const halo_instr *instr, const char *why) {
  return halo_fail(HALO_UNIMPLEMENTED, "%s in %s: %s is not written as StableHLO: %s", instr->name,
                   instr->parent->name, halo_opcode_name(instr->opcode), why);
}

/* ---- Values ---- */

halo_write_values halo_write_values_of(const halo_writer *w, const halo_instr *instr) {
  return *(const halo_write_values *)halo_pointer_map_get(&w->values, instr);
}

void halo_write_set_values(halo_writer *w, const halo_instr *instr, halo_write_values values) {
  halo_write_values *slot = halo_pointer_map_get(&w->values, instr);
  if (!slot) {
    slot = halo_arena_new(&w->arena, halo_write_values);
    halo_pointer_map_set(&w->values, instr, slot);
  }
  *slot = values;
}

/* New numbers. */
static halo_write_values write_fresh(halo_writer *w, int32_t count) {
  int64_t *ids = halo_arena_array(&w->arena, int64_t, count ? count : 1);
  for (int32_t i = 0; i < count; i++) ids[i] = w->next++;
  return (halo_write_values){ids, count};
}

/* The types of all leaves with commas between. */
static void write_leaf_types(halo_writer *w, const halo_shape *shape, bool *any) {
  int32_t count = halo_shape_leaf_count(shape);
  for (int32_t i = 0; i < count; i++) {
    halo_strbuf_append(w->out, *any ? ", " : "");
    *any = true;
    halo_write_type(w->out, halo_leaf_shape(shape, i));
  }
}

static void write_ids(halo_writer *w, halo_write_values values, bool *any) {
  for (int32_t i = 0; i < values.count; i++) {
    halo_strbuf_printf(w->out, "%s%%%" PRId64, *any ? ", " : "", values.ids[i]);
    *any = true;
  }
}

/* ---- Operations ---- */

static void write_line(halo_writer *w) { halo_strbuf_printf(w->out, "\n%*s", w->indent, ""); }

void halo_write_begin(halo_writer *w, const halo_instr *instr, const char *name) {
  halo_write_values results = write_fresh(w, halo_shape_leaf_count(instr->shape));
  halo_write_set_values(w, instr, results);
  write_line(w);
  bool any = false;
  write_ids(w, results, &any);
  halo_strbuf_printf(w->out, "%s\"%s\"(", any ? " = " : "", name);
  any = false;
  for (int32_t i = 0; i < instr->operand_count; i++)
    write_ids(w, halo_write_values_of(w, instr->operands[i]), &any);
  halo_strbuf_append(w->out, ")");
}

void halo_write_end(halo_writer *w, const halo_instr *instr, const char *attrs) {
  if (*attrs) halo_strbuf_printf(w->out, " {%s}", attrs);
  halo_strbuf_append(w->out, " : (");
  bool any = false;
  for (int32_t i = 0; i < instr->operand_count; i++)
    write_leaf_types(w, instr->operands[i]->shape, &any);
  halo_strbuf_append(w->out, ") -> (");
  any = false;
  write_leaf_types(w, instr->shape, &any);
  halo_strbuf_append(w->out, ")");
}

/* ---- Computations ---- */

/* The instructions, and the root's values as operands of what ends the block. */
static halo_status write_body(halo_writer *w, const halo_computation *computation,
                              const char *terminator) {
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    const halo_instr *instr = computation->instrs.data[i];
    if (instr->opcode != HALO_OP_PARAMETER) HALO_TRY(halo_write_op(w, instr));
  }
  write_line(w);
  halo_strbuf_printf(w->out, "\"%s\"(", terminator);
  bool any = false;
  write_ids(w, halo_write_values_of(w, computation->root), &any);
  halo_strbuf_append(w->out, ") : (");
  any = false;
  write_leaf_types(w, computation->root->shape, &any);
  halo_strbuf_append(w->out, ") -> ()");
  return HALO_OK;
}

/* What the entry gives of its arguments' memory. */
static void write_donation(halo_writer *w, int32_t parameter) {
  const halo_module *module = w->module;
  for (int32_t i = 0; i < module->aliases.count; i++) {
    const halo_alias *alias = &module->aliases.data[i];
    if (alias->parameter != parameter) continue;
    halo_strbuf_printf(w->out, " {tf.aliasing_output = %" PRId64 " : i32}",
                       alias->out_index_count ? alias->out_index[0] : 0);
    return;
  }
  for (int32_t i = 0; i < module->donors.count; i++) {
    if (module->donors.data[i].parameter != parameter) continue;
    halo_strbuf_append(w->out, " {jax.buffer_donor = true}");
    return;
  }
}

/* "%a: type, ..." for the leaves of all parameters, which are their values from here on. */
static void write_arguments(halo_writer *w, const halo_computation *computation) {
  bool any = false;
  for (int32_t p = 0; p < computation->params.count; p++) {
    const halo_instr *param = computation->params.data[p];
    halo_write_values values = write_fresh(w, halo_shape_leaf_count(param->shape));
    halo_write_set_values(w, param, values);
    for (int32_t i = 0; i < values.count; i++) {
      halo_strbuf_printf(w->out, "%s%%%" PRId64 ": ", any ? ", " : "", values.ids[i]);
      halo_write_type(w->out, halo_leaf_shape(param->shape, i));
      if (computation == w->module->entry) write_donation(w, p);
      any = true;
    }
  }
}

halo_status halo_write_region(halo_writer *w, const halo_computation *computation, bool arguments,
                              const halo_write_values *given, int32_t given_count) {
  if (w->depth == WRITE_MAX_DEPTH)
    return halo_fail(HALO_UNIMPLEMENTED, "%s: computations nest more than %d deep",
                     computation->name, WRITE_MAX_DEPTH);
  w->depth++;
  halo_strbuf_append(w->out, "{");
  for (int32_t i = 0; i < given_count; i++)
    halo_write_set_values(w, computation->params.data[i], given[i]);
  if (arguments && computation->params.count) {
    write_line(w);
    halo_strbuf_append(w->out, "^bb0(");
    write_arguments(w, computation);
    halo_strbuf_append(w->out, "):");
  }
  w->indent += 2;
  HALO_TRY(write_body(w, computation, "stablehlo.return"));
  w->indent -= 2;
  write_line(w);
  halo_strbuf_append(w->out, "}");
  w->depth--;
  return HALO_OK;
}

static halo_status write_function(halo_writer *w, const halo_computation *computation,
                                  int32_t number) {
  write_line(w);
  if (number < 0)
    halo_strbuf_append(w->out, "func.func public @main(");
  else
    halo_strbuf_printf(w->out, "func.func private @f%d(", number);
  write_arguments(w, computation);
  halo_strbuf_append(w->out, ") -> (");
  bool any = false;
  write_leaf_types(w, computation->root->shape, &any);
  halo_strbuf_append(w->out, ") {");
  w->indent += 2;
  HALO_TRY(write_body(w, computation, "func.return"));
  w->indent -= 2;
  write_line(w);
  halo_strbuf_append(w->out, "}");
  return HALO_OK;
}

/* ---- Modules ---- */

/* What the form of a module cannot say. */
static halo_status write_check(const halo_module *module) {
  const halo_computation *entry = module->entry;
  const char *why = NULL;
  if (module->num_partitions > 1)
    why = "a module of several partitions, whose shardings would be lost";
  if (halo_module_sizes_are_values(module))
    why = "a module whose sizes are values: expected one before the pass dynamic-sizes";
  for (int32_t p = 0; p < entry->params.count; p++) {
    const halo_shape *shape = entry->params.data[p]->shape;
    if (halo_shape_is_tuple(shape)) why = "a parameter that is a tuple";
    if (halo_shape_is_dynamic(shape)) why = "a parameter whose size is known at run time only";
  }
  const halo_shape *result = entry->root->shape;
  if (halo_shape_is_tuple(result)) {
    for (int32_t i = 0; i < result->count; i++)
      if (halo_shape_is_tuple(result->elements[i])) why = "a result with a tuple in a tuple";
  }
  for (int32_t i = 0; i < module->aliases.count; i++)
    if (module->aliases.data[i].out_index_count > 1 || module->aliases.data[i].param_index_count)
      why = "an alias of a part of a part";
  if (!why) return HALO_OK;
  return halo_fail(HALO_UNIMPLEMENTED, "module %s is not written as StableHLO: %s", module->name,
                   why);
}

static halo_status write_module(halo_writer *w) {
  const halo_module *module = w->module;
  HALO_TRY(write_check(module));
  halo_strbuf_append(w->out, "module @\"");
  for (const char *c = module->name; *c; c++) {
    if (*c == '"' || *c == '\\' || (unsigned char)*c < ' ')
      halo_strbuf_printf(w->out, "\\%02X", (unsigned char)*c);
    else
      halo_strbuf_char(w->out, *c);
  }
  halo_strbuf_printf(w->out,
                     "\" attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = %" PRId64
                     " : i32} {",
                     module->replica_count);
  w->indent = 2;
  HALO_TRY(write_function(w, module->entry, -1));
  /* Functions call others: the list grows meanwhile. */
  for (int32_t i = 0; i < w->functions.count; i++)
    HALO_TRY(write_function(w, w->functions.data[i], i));
  halo_strbuf_append(w->out, "\n}\n");
  return HALO_OK;
}

typedef struct write_request {
  const halo_module *module;
  char *text;
} write_request;

static halo_status write_run(void *user) {
  write_request *request = user;
  halo_strbuf out = {0};
  halo_writer w = {.out = &out, .module = request->module};
  halo_status status = write_module(&w);
  halo_vec_deinit(&w.functions);
  halo_pointer_map_deinit(&w.values);
  halo_pointer_map_deinit(&w.called);
  halo_arena_deinit(&w.arena);
  if (status == HALO_OK)
    request->text = halo_strbuf_take(&out);
  else
    halo_strbuf_deinit(&out);
  return status;
}

halo_status halo_module_to_stablehlo(const halo_module *module, char **text) {
  if (!module || !text)
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_module_to_stablehlo: NULL argument");
  *text = NULL;
  write_request request = {.module = module};
  HALO_TRY(halo_memory_guard(write_run, &request));
  *text = request.text;
  return HALO_OK;
}
