/* SPDX-License-Identifier: Apache-2.0 */
/* proto/write.c: a module as an HloModuleProto. */
#include "base/map.h"
#include "base/memory.h"
#include "proto/convert.h"
#include "proto/numbers.h"
#include "proto/proto.h"

#include <string.h>

typedef struct module_writer {
  halo_proto_writer out;
  halo_map numbers; /* of computations, from 1 */
  halo_map renamed; /* instructions whose names others have too, and the names that they get */
  halo_arena arena; /* of these names */
  halo_status status;
} module_writer;

/* ---- Names ---- */

/* Names are those of one computation here, of the module there. */
static void find_names(module_writer *w, const halo_module *module) {
  halo_map taken = {0};
  for (int32_t c = 0; c < module->computations.count; c++) {
    const halo_computation *computation = module->computations.data[c];
    for (int32_t i = 0; i < computation->instrs.count; i++) {
      const halo_instr *instr = computation->instrs.data[i];
      const char *name = instr->name;
      for (int32_t k = c; halo_map_get_text(&taken, name); k++) {
        name = halo_arena_printf(&w->arena, "%s.c%d", instr->name, (int)k);
      }
      halo_map_set_text(&taken, name, (void *)instr);
      if (name != instr->name) halo_map_set(&w->renamed, &instr, sizeof instr, (void *)name);
    }
  }
  halo_map_deinit(&taken);
}

static const char *name_of(const module_writer *w, const halo_instr *instr) {
  const char *name = halo_map_get(&w->renamed, &instr, sizeof instr);
  return name ? name : instr->name;
}

/* ---- Instructions ---- */

static int64_t number_of(const module_writer *w, const halo_computation *computation) {
  return (int64_t)(intptr_t)halo_map_get(&w->numbers, &computation, sizeof computation);
}

/* Bodies of loops come before their conditions, else it is the order of attributes. */
static void write_called(module_writer *w, const halo_instr *instr) {
  halo_computation *body = halo_instr_comp(instr, HALO_ATTR_BODY);
  int32_t count = halo_instr_called_count(instr);
  if (!count) return;
  int64_t *ids = halo_alloc(sizeof *ids * (size_t)count);
  for (int32_t i = 0; i < count; i++) ids[i] = number_of(w, halo_instr_called(instr, i));
  if (instr->opcode == HALO_OP_WHILE && body && count == 2) {
    ids[0] = number_of(w, body);
    ids[1] = number_of(w, halo_instr_comp(instr, HALO_ATTR_CONDITION));
  }
  halo_proto_put_ints(&w->out, HALO_INSTR_CALLED, ids, count);
  halo_free(ids);
}

static void write_instrs(module_writer *w, uint32_t field, halo_instr *const *instrs,
                         int32_t count) {
  int64_t *ids = halo_alloc(sizeof *ids * (size_t)(count ? count : 1));
  for (int32_t i = 0; i < count; i++) ids[i] = instrs[i]->id + 1;
  halo_proto_put_ints(&w->out, field, ids, count);
  halo_free(ids);
}

/* A comparison's type is always said. */
static void write_compare(module_writer *w, const halo_instr *instr) {
  enum { COMPARISON_TYPE = 72 };
  if (instr->opcode != HALO_OP_COMPARE || halo_instr_attr(instr, HALO_ATTR_COMPARE_TYPE)) return;
  const char *name = halo_attr_enum_names(HALO_ATTR_COMPARE_TYPE)[halo_compare_type_of(instr)];
  halo_proto_put_text(&w->out, COMPARISON_TYPE, name);
}

/* So is the version of what a custom call calls: the first one, where nothing is said. */
static void write_version(module_writer *w, const halo_instr *instr) {
  enum { API_VERSION = 77, ORIGINAL = 1 };
  if (instr->opcode == HALO_OP_CUSTOM_CALL && !halo_instr_attr(instr, HALO_ATTR_API_VERSION))
    halo_proto_put_int(&w->out, API_VERSION, ORIGINAL);
}

static void write_instr(module_writer *w, const halo_instr *instr) {
  size_t mark = w->out.used;
  write_version(w, instr);
  bool parameter = instr->opcode == HALO_OP_PARAMETER;
  write_compare(w, instr);
  halo_proto_write_attrs(&w->out, instr);
  halo_proto_write_fields(&w->out, instr);
  write_called(w, instr);
  write_instrs(w, HALO_INSTR_CONTROL, instr->control_preds, instr->control_pred_count);
  write_instrs(w, HALO_INSTR_OPERANDS, instr->operands, instr->operand_count);
  halo_proto_put_zero(&w->out, HALO_INSTR_ID, instr->id + 1);
  if (parameter) halo_proto_put_zero(&w->out, HALO_INSTR_PARAMETER, instr->parameter_number);
  if (instr->literal && instr->literal->elided && w->status == HALO_OK)
    w->status = halo_fail(HALO_UNIMPLEMENTED, "%s: a constant whose value was left out as {...}",
                          instr->name);
  if (instr->literal) {
    halo_proto_write_literal(&w->out, HALO_INSTR_LITERAL, instr->literal);
  }
  halo_proto_write_shape(&w->out, HALO_INSTR_SHAPE, instr->shape);
  halo_proto_put_text(&w->out, HALO_INSTR_OPCODE, halo_opcode_name(instr->opcode));
  halo_proto_put_text(&w->out, HALO_INSTR_NAME, name_of(w, instr));
  halo_proto_close(&w->out, HALO_COMPUTATION_INSTRS, mark);
}

/* ---- Computations ---- */

static void write_program(module_writer *w, uint32_t field, const halo_computation *computation,
                          const halo_shape *const *params, const halo_shape *result) {
  size_t mark = w->out.used;
  for (int32_t i = computation->params.count; i-- > 0;)
    halo_proto_put_text(&w->out, HALO_PROGRAM_NAMES, name_of(w, computation->params.data[i]));
  halo_proto_write_shape(&w->out, HALO_PROGRAM_RESULT, result);
  for (int32_t i = computation->params.count; i-- > 0;)
    halo_proto_write_shape(&w->out, HALO_PROGRAM_PARAMETERS,
                           params ? params[i] : computation->params.data[i]->shape);
  halo_proto_close(&w->out, field, mark);
}

static void write_computation(module_writer *w, const halo_computation *computation) {
  size_t mark = w->out.used;
  const char *thread = computation->execution_thread;
  halo_proto_put_text(&w->out, HALO_COMPUTATION_THREAD, thread ? thread : "main");
  halo_proto_put_zero(&w->out, HALO_COMPUTATION_ROOT, computation->root->id + 1);
  halo_proto_put_int(&w->out, HALO_COMPUTATION_ID, number_of(w, computation));
  write_program(w, HALO_COMPUTATION_SHAPE, computation, NULL, computation->root->shape);
  for (int32_t i = computation->instrs.count; i-- > 0;) write_instr(w, computation->instrs.data[i]);
  halo_proto_put_text(&w->out, HALO_COMPUTATION_NAME, computation->name);
  halo_proto_close(&w->out, HALO_MODULE_COMPUTATIONS, mark);
}

/* ---- The module ---- */

static void write_aliases(module_writer *w, uint32_t field, const halo_aliases *list, bool donors) {
  size_t all = w->out.used;
  for (int32_t i = list->count; i-- > 0;) {
    const halo_alias *alias = &list->data[i];
    size_t mark = w->out.used;
    if (!donors)
      halo_proto_put_int(&w->out, HALO_ALIAS_KIND, alias->must ? HALO_ALIAS_MUST : HALO_ALIAS_MAY);
    halo_proto_put_ints(&w->out, donors ? HALO_DONOR_PARAM_INDEX : HALO_ALIAS_PARAM_INDEX,
                        alias->param_index, alias->param_index_count);
    halo_proto_put_int(&w->out, donors ? HALO_DONOR_PARAMETER : HALO_ALIAS_PARAMETER,
                       alias->parameter);
    if (!donors)
      halo_proto_put_ints(&w->out, HALO_ALIAS_OUT_INDEX, alias->out_index, alias->out_index_count);
    halo_proto_close(&w->out, 1, mark);
  }
  if (list->count) halo_proto_close(&w->out, field, all);
}

/* Devices in order: a module for several of them says how many only so. */
static void write_devices(module_writer *w, const halo_module *module) {
  int64_t replicas = module->replica_count, partitions = module->num_partitions;
  if (replicas * partitions <= 1) return;
  size_t mark = w->out.used;
  for (int64_t p = partitions; p-- > 0;) {
    size_t inner = w->out.used;
    for (int64_t r = replicas; r-- > 0;) halo_proto_put_zero(&w->out, 1, r * partitions + p);
    halo_proto_close(&w->out, HALO_DEVICES_LIST, inner);
  }
  halo_proto_put_int(&w->out, HALO_DEVICES_PARTITIONS, partitions);
  halo_proto_put_int(&w->out, HALO_DEVICES_REPLICAS, replicas);
  halo_proto_close(&w->out, HALO_MODULE_DEVICES, mark);
}

/* Of all computations but those of fusions, which have no order of their own. */
static void write_schedule(module_writer *w, const halo_module *module) {
  size_t all = w->out.used;
  if (!module->is_scheduled) return;
  halo_map fused = {0};
  for (int32_t c = 0; c < module->computations.count; c++) {
    const halo_computation *computation = module->computations.data[c];
    for (int32_t i = 0; i < computation->instrs.count; i++) {
      const halo_instr *instr = computation->instrs.data[i];
      halo_computation *body = halo_instr_comp(instr, HALO_ATTR_CALLS);
      if (instr->opcode == HALO_OP_FUSION && body) halo_map_set(&fused, &body, sizeof body, body);
    }
  }
  for (int32_t c = module->computations.count; c-- > 0;) {
    const halo_computation *computation = module->computations.data[c];
    if (halo_map_get(&fused, &computation, sizeof computation)) continue;
    size_t entry = w->out.used;
    write_instrs(w, HALO_SEQUENCE_IDS, computation->instrs.data, computation->instrs.count);
    halo_proto_close(&w->out, HALO_SEQUENCE_VALUE, entry);
    halo_proto_put_int(&w->out, HALO_SEQUENCE_KEY, number_of(w, computation));
    halo_proto_close(&w->out, HALO_SCHEDULE_SEQUENCES, entry);
  }
  halo_proto_close(&w->out, HALO_MODULE_SCHEDULE, all);
  halo_map_deinit(&fused);
}

static void write_module(module_writer *w, const halo_module *module) {
  int32_t count = module->computations.count;
  find_names(w, module);
  for (int32_t i = 0; i < count; i++) {
    const halo_computation *computation = module->computations.data[i];
    halo_map_set(&w->numbers, &computation, sizeof computation, (void *)(intptr_t)(i + 1));
  }
  if (module->frontend_count)
    halo_proto_write_pairs(&w->out, HALO_MODULE_FRONTEND, module->frontend, module->frontend_count);
  write_aliases(w, HALO_MODULE_DONORS, &module->donors, true);
  write_devices(w, module);
  write_aliases(w, HALO_MODULE_ALIASES, &module->aliases, false);
  write_schedule(w, module);
  halo_proto_put_int(&w->out, HALO_MODULE_ENTRY_ID, number_of(w, module->entry));
  write_program(w, HALO_MODULE_SHAPE, module->entry, module->entry_params, module->entry_result);
  for (int32_t i = count; i-- > 0;) write_computation(w, module->computations.data[i]);
  halo_proto_put_text(&w->out, HALO_MODULE_ENTRY_NAME, module->entry->name);
  halo_proto_put_text(&w->out, HALO_MODULE_NAME, module->name);
}

halo_status halo_proto_write(const halo_module *module, halo_strbuf *out) {
  module_writer w = {0};
  write_module(&w, module);
  if (w.status == HALO_OK)
    halo_strbuf_append_n(out, w.out.data + w.out.capacity - w.out.used, w.out.used);
  halo_free(w.out.data);
  halo_map_deinit(&w.numbers);
  halo_map_deinit(&w.renamed);
  halo_arena_deinit(&w.arena);
  return w.status;
}

typedef struct write_request {
  const halo_module *module;
  char *out;
  size_t size;
} write_request;

static halo_status write_run(void *user) {
  write_request *request = user;
  halo_strbuf bytes = {0};
  HALO_TRY(halo_proto_write(request->module, &bytes));
  request->size = bytes.length;
  request->out = halo_strbuf_take(&bytes);
  return HALO_OK;
}

halo_status halo_module_to_proto(const halo_module *module, char **out, size_t *size) {
  if (!module || !out || !size)
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_module_to_proto: NULL argument");
  *out = NULL;
  *size = 0;
  write_request request = {.module = module};
  HALO_TRY(halo_memory_guard(write_run, &request));
  *out = request.out;
  *size = request.size;
  return HALO_OK;
}
