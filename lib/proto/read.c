/* SPDX-License-Identifier: Apache-2.0 */
/* proto/read.c: a module from an HloModuleProto. */
#include "proto/convert.h"
#include "proto/numbers.h"
#include "proto/proto.h"

#include "base/map.h"
#include "base/memory.h"

#include <string.h>

/* ---- Which message it is ---- */

/* A computation has instructions, which are messages, and ids, which are numbers. */
static bool is_computation(halo_proto_message message) {
  halo_proto_field field;
  bool instr = false;
  while (halo_proto_next(&message, &field)) {
    bool number = field.number == HALO_COMPUTATION_ID || field.number == HALO_COMPUTATION_ROOT;
    bool body = field.number == HALO_COMPUTATION_NAME || field.number == HALO_COMPUTATION_INSTRS;
    if ((number && field.wire != HALO_WIRE_VARINT) || (body && field.wire != HALO_WIRE_BYTES))
      return false;
    instr |= field.number == HALO_COMPUTATION_INSTRS;
  }
  return instr;
}

/* Fields that are well-formed, of a message that has an entry and computations. */
static bool is_module(halo_proto_message message) {
  halo_proto_field field;
  bool computation = false, entry = false;
  while (halo_proto_next(&message, &field)) {
    if (field.number == HALO_MODULE_NAME || field.number == HALO_MODULE_ENTRY_NAME ||
        field.number == HALO_MODULE_COMPUTATIONS) {
      if (field.wire != HALO_WIRE_BYTES) return false;
      entry |= field.number == HALO_MODULE_ENTRY_NAME;
    }
    if (field.number != HALO_MODULE_COMPUTATIONS || computation) continue;
    if (!is_computation(field.body)) return false;
    computation = true;
  }
  return computation && entry && message.reader->status == HALO_OK;
}

/* The module in what may hold one. */
static bool find_module(halo_proto_message message, halo_proto_message *out) {
  for (int depth = 0; depth < 3; depth++) {
    message.reader->status = HALO_OK;
    if (is_module(message)) {
      *out = message;
      return true;
    }
    halo_proto_field field;
    message.reader->status = HALO_OK;
    if (!halo_proto_next(&message, &field) || field.number != HALO_PROTO_INNER ||
        field.wire != HALO_WIRE_BYTES)
      return false;
    message = field.body;
  }
  return false;
}

bool halo_proto_is_module(const void *bytes, size_t size) {
  const uint8_t *begin = bytes;
  halo_proto_reader reader = {.name = "", .begin = begin};
  halo_proto_message out;
  if (!size || *begin != (1 << 3 | HALO_WIRE_BYTES)) return false;
  return find_module((halo_proto_message){&reader, begin, begin + size}, &out);
}

/* ---- Instructions ---- */

typedef struct body_state {
  halo_computation *computation;
  halo_map instrs;              /* by their ids */
  const halo_map *computations; /* by their ids */
  int32_t most_parameters;
} body_state;

/* What is known of computations before their bodies. */
typedef struct module_state {
  halo_map computations; /* by their ids */
  halo_map sequences;    /* halo_proto_message by the ids of computations */
} module_state;

static int64_t int_of(halo_proto_message message, uint32_t number) {
  halo_proto_field field;
  return halo_proto_find(message, number, &field) ? halo_proto_int(&field) : 0;
}

static const char *text_of(halo_proto_message message, uint32_t number) {
  halo_proto_field field;
  return halo_proto_find(message, number, &field) ? halo_proto_text(&field) : "";
}

/* A name that text can have. */
static const char *name_of(halo_proto_message message, uint32_t number, const char *default_) {
  char *name = (char *)text_of(message, number);
  for (char *at = name; *at; at++) {
    bool letter = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || *at == '_';
    bool other = (*at >= '0' && *at <= '9') || *at == '.' || *at == '-';
    if (!letter && (!other || at == name)) *at = '_';
  }
  return *name ? name : default_;
}

/* Instructions by their ids, which come before their users. */
static halo_instr **instrs_of(halo_proto_message message, uint32_t number, const body_state *body,
                              int32_t *count) {
  halo_int_list ids = halo_proto_list(message, number);
  halo_instr **out = halo_arena_array(message.reader->arena, halo_instr *, ids.count);
  *count = ids.count;
  for (int32_t i = 0; i < ids.count; i++) {
    out[i] = halo_map_get(&body->instrs, &ids.data[i], sizeof ids.data[i]);
    if (!out[i])
      halo_proto_wrong(message, "instruction %lld is used before it is defined",
                       (long long)ids.data[i]);
  }
  return out;
}

static void set_comps(halo_instr *instr, halo_attr_id id, halo_computation **data, int32_t count) {
  halo_attr attr = {.id = id};
  attr.comps.data = data;
  attr.comps.count = count;
  if (count) halo_instr_set_attr(instr, &attr);
}

/* What the computations of an opcode with two of them are, in order. */
static const struct {
  halo_opcode opcode;
  halo_attr_id first, second;
} pair_rows[] = {{HALO_OP_WHILE, HALO_ATTR_BODY, HALO_ATTR_CONDITION},
                 {HALO_OP_SELECT_AND_SCATTER, HALO_ATTR_SELECT, HALO_ATTR_SCATTER}};

static void read_called(halo_proto_message message, const body_state *body, halo_instr *instr) {
  static const halo_attr_id single[] = {HALO_ATTR_BRANCH_COMPUTATIONS,
                                        HALO_ATTR_CALLED_COMPUTATIONS, HALO_ATTR_TO_APPLY,
                                        HALO_ATTR_CALLS};
  halo_int_list ids = halo_proto_list(message, HALO_INSTR_CALLED);
  halo_computation **called =
      halo_arena_array(message.reader->arena, halo_computation *, ids.count);
  for (int32_t i = 0; i < ids.count; i++) {
    called[i] = halo_map_get(body->computations, &ids.data[i], sizeof ids.data[i]);
    if (!called[i] || !called[i]->root)
      halo_proto_wrong(message, "computation %lld is called before it is defined",
                       (long long)ids.data[i]);
  }
  if (message.reader->status != HALO_OK) return;
  for (size_t r = 0; r < sizeof pair_rows / sizeof *pair_rows; r++) {
    if (pair_rows[r].opcode != instr->opcode || ids.count != 2) continue;
    set_comps(instr, pair_rows[r].first, called, 1);
    set_comps(instr, pair_rows[r].second, called + 1, 1);
    return;
  }
  if (instr->opcode == HALO_OP_CONDITIONAL && ids.count == 2 && instr->operand_count &&
      instr->operands[0]->shape->type == HALO_PRED) {
    set_comps(instr, HALO_ATTR_TRUE_COMPUTATION, called, 1);
    set_comps(instr, HALO_ATTR_FALSE_COMPUTATION, called + 1, 1);
    return;
  }
  /* The ends of asynchronous pairs name what their start calls. */
  if (instr->opcode == HALO_OP_ASYNC_UPDATE || instr->opcode == HALO_OP_ASYNC_DONE) return;
  for (size_t i = 0; i < sizeof single / sizeof *single; i++) {
    bool required;
    if (!halo_proto_has_attr(instr, single[i], &required)) continue;
    set_comps(instr, single[i], called, ids.count);
    return;
  }
}

/* What inference relies on. */
static void check_instr(halo_proto_message message, halo_instr *instr) {
  /* XLA takes a third operand, which has no meaning. */
  if (instr->opcode == HALO_OP_RNG && instr->operand_count == 3) instr->operand_count = 2;
  const halo_op_info *info = halo_op_info_of(instr->opcode);
  if (instr->operand_count < info->min_operands ||
      (info->max_operands >= 0 && instr->operand_count > info->max_operands))
    halo_proto_wrong(message, "%s has %d operand%s", instr->name, instr->operand_count,
                     halo_plural(instr->operand_count));
  for (int i = 0; info->attrs[i].used; i++) {
    if ((info->attrs[i].flags & HALO_ATTR_REQUIRED) && !halo_instr_attr(instr, info->attrs[i].id))
      halo_proto_wrong(message, "%s has no %s", instr->name, halo_attr_name(info->attrs[i].id));
  }
}

/* The type of a comparison is said where it is not that of its operands. */
static void trim_compare(halo_instr *instr) {
  const halo_attr *type = halo_instr_attr(instr, HALO_ATTR_COMPARE_TYPE);
  if (!type || instr->operand_count < 1) return;
  int64_t said = type->i;
  halo_instr_remove_attr(instr, HALO_ATTR_COMPARE_TYPE);
  if ((int64_t)halo_compare_type_of(instr) == said) return;
  halo_instr_set_attr(instr, &(halo_attr){.id = HALO_ATTR_COMPARE_TYPE, .i = said});
}

static bool read_spec(halo_proto_message message, body_state *body, halo_instr_spec *spec) {
  halo_proto_reader *reader = message.reader;
  halo_proto_field field;
  const char *opcode = text_of(message, HALO_INSTR_OPCODE);
  if (!halo_opcode_from_name(opcode, &spec->opcode))
    halo_proto_refuse(message, "opcode '%.100s' is not known", opcode);
  spec->name = name_of(message, HALO_INSTR_NAME, NULL);
  spec->operands = instrs_of(message, HALO_INSTR_OPERANDS, body, &spec->operand_count);
  if (halo_proto_find(message, HALO_INSTR_SHAPE, &field))
    spec->shape = halo_proto_read_shape(halo_proto_body(&field));
  else
    halo_proto_wrong(message, "an instruction without a shape");
  if (reader->status != HALO_OK) return false;
  if (spec->opcode == HALO_OP_PARAMETER) {
    int64_t n = spec->parameter_number = int_of(message, HALO_INSTR_PARAMETER);
    const halo_computation *c = body->computation;
    if (n < 0 || n >= body->most_parameters || (n < c->params.count && c->params.data[n]))
      halo_proto_wrong(message, "parameter number %lld is out of range, or there twice",
                       (long long)n);
  }
  if (spec->opcode == HALO_OP_CONSTANT) {
    if (!halo_proto_find(message, HALO_INSTR_LITERAL, &field))
      halo_proto_wrong(message, "a constant without a value");
    else
      spec->literal = halo_proto_read_literal(halo_proto_body(&field));
  }
  return reader->status == HALO_OK;
}

static void read_instr(halo_proto_message message, body_state *body) {
  halo_instr_spec spec = {0};
  if (!read_spec(message, body, &spec)) return;
  halo_instr *instr = halo_instr_create_unchecked(body->computation, &spec);
  instr->control_preds = instrs_of(message, HALO_INSTR_CONTROL, body, &instr->control_pred_count);
  int64_t id = int_of(message, HALO_INSTR_ID);
  if (halo_map_set(&body->instrs, &id, sizeof id, instr))
    halo_proto_wrong(message, "two instructions have the number %lld", (long long)id);
  halo_proto_read_fields(message, instr);
  read_called(message, body, instr);
  halo_proto_read_attrs(message, instr);
  if (message.reader->status != HALO_OK) return;
  if (instr->opcode == HALO_OP_COMPARE) trim_compare(instr);
  check_instr(message, instr);
}

/* ---- Computations ---- */

/* Puts the instructions in the order in which they are scheduled; verifying checks it. */
static void schedule_body(const body_state *body, halo_proto_message sequence) {
  halo_computation *computation = body->computation;
  halo_int_list ids = halo_proto_list(sequence, HALO_SEQUENCE_IDS);
  if (ids.count != computation->instrs.count)
    halo_proto_wrong(sequence, "a schedule of %d instruction%s for %d", ids.count,
                     halo_plural(ids.count), computation->instrs.count);
  for (int32_t i = 0; i < computation->instrs.count; i++) computation->instrs.data[i]->mark = 0;
  halo_instr **order = halo_arena_array(sequence.reader->arena, halo_instr *, ids.count);
  for (int32_t i = 0; i < ids.count && sequence.reader->status == HALO_OK; i++) {
    order[i] = halo_map_get(&body->instrs, &ids.data[i], sizeof ids.data[i]);
    if (!order[i] || order[i]->mark)
      halo_proto_wrong(sequence, "a schedule that is no order of the instructions");
    else
      order[i]->mark = 1;
  }
  if (sequence.reader->status != HALO_OK) return;
  memcpy(computation->instrs.data, order, sizeof *order * (size_t)ids.count);
  for (int32_t i = 0; i < ids.count; i++) order[i]->mark = 0;
}

static void read_body(halo_proto_message message, const module_state *state,
                      halo_computation *computation) {
  body_state body = {.computation = computation, .computations = &state->computations};
  halo_proto_message rest = message;
  halo_proto_field field;
  while (halo_proto_next(&rest, &field))
    body.most_parameters += field.number == HALO_COMPUTATION_INSTRS;
  rest = message;
  while (halo_proto_next(&rest, &field))
    if (field.number == HALO_COMPUTATION_INSTRS) read_instr(halo_proto_body(&field), &body);
  int64_t root = int_of(message, HALO_COMPUTATION_ROOT);
  computation->root = halo_map_get(&body.instrs, &root, sizeof root);
  int64_t id = int_of(message, HALO_COMPUTATION_ID);
  const halo_proto_message *sequence = halo_map_get(&state->sequences, &id, sizeof id);
  if (sequence && message.reader->status == HALO_OK) schedule_body(&body, *sequence);
  const char *thread = text_of(message, HALO_COMPUTATION_THREAD);
  if (*thread && strcmp(thread, "main") != 0) computation->execution_thread = thread;
  if (!computation->root) halo_proto_wrong(message, "a computation has no root");
  for (int32_t i = 0; i < computation->params.count; i++)
    if (!computation->params.data[i])
      halo_proto_wrong(message, "a computation has no parameter %d", i);
  halo_map_deinit(&body.instrs);
}

/* Callees come before callers; one without a root has not been read yet. */
static void read_computations(halo_proto_message message, module_state *state) {
  halo_module *module = message.reader->module;
  halo_proto_message rest = message;
  halo_proto_field field;
  while (halo_proto_next(&rest, &field)) {
    if (field.number != HALO_MODULE_COMPUTATIONS) continue;
    halo_proto_message body = halo_proto_body(&field);
    halo_computation *computation = halo_computation_create(module, NULL);
    computation->name = name_of(body, HALO_COMPUTATION_NAME, "computation");
    int64_t id = int_of(body, HALO_COMPUTATION_ID);
    if (halo_map_set(&state->computations, &id, sizeof id, computation))
      halo_proto_wrong(body, "two computations have the number %lld", (long long)id);
  }
  int32_t number = 0;
  while (halo_proto_next(&message, &field))
    if (field.number == HALO_MODULE_COMPUTATIONS)
      read_body(halo_proto_body(&field), state, module->computations.data[number++]);
}

/* ---- The module ---- */

static void check_alias(halo_proto_message at, const halo_alias *alias) {
  const halo_module *module = at.reader->module;
  bool parameter = alias->parameter >= 0 && alias->parameter < module->entry->params.count;
  if (!parameter ||
      !halo_shape_part(module->entry_params[alias->parameter], alias->param_index,
                       alias->param_index_count) ||
      !halo_shape_part(module->entry_result, alias->out_index, alias->out_index_count))
    halo_proto_wrong(at, "aliased memory is no part of the result or of a parameter");
}

static void read_aliases(halo_proto_message message, bool donors) {
  halo_module *module = message.reader->module;
  halo_proto_field field;
  while (halo_proto_next(&message, &field)) {
    if (field.number != 1) continue;
    halo_proto_message body = halo_proto_body(&field);
    halo_int_list result = {0};
    uint32_t parameter = donors ? HALO_DONOR_PARAMETER : HALO_ALIAS_PARAMETER;
    uint32_t index = donors ? HALO_DONOR_PARAM_INDEX : HALO_ALIAS_PARAM_INDEX;
    halo_alias alias = {.parameter = int_of(body, parameter)};
    halo_int_list in = halo_proto_list(body, index);
    if (!donors) result = halo_proto_list(body, HALO_ALIAS_OUT_INDEX);
    alias.out_index = result.data;
    alias.out_index_count = result.count;
    alias.param_index = in.data;
    alias.param_index_count = in.count;
    alias.must = !donors && int_of(body, HALO_ALIAS_KIND) == HALO_ALIAS_MUST;
    check_alias(body, &alias);
    halo_aliases *list = donors ? &module->donors : &module->aliases;
    halo_vec_push(list, alias);
  }
}

/* The entry's parameters and result as callers see them. */
static void read_entry_shape(halo_proto_message message) {
  halo_proto_reader *reader = message.reader;
  halo_module *module = reader->module;
  const halo_computation *entry = module->entry;
  halo_proto_field field;
  int32_t number = 0;
  module->entry_params =
      halo_arena_array(reader->arena, const halo_shape *, entry->params.count + 1);
  for (int32_t i = 0; i < entry->params.count; i++)
    module->entry_params[i] = entry->params.data[i]->shape;
  module->entry_result = entry->root->shape;
  if (!halo_proto_find(message, HALO_MODULE_SHAPE, &field)) return;
  halo_proto_message program = halo_proto_body(&field);
  while (halo_proto_next(&program, &field)) {
    if (field.number == HALO_PROGRAM_RESULT)
      module->entry_result = halo_proto_read_shape(halo_proto_body(&field));
    if (field.number != HALO_PROGRAM_PARAMETERS) continue;
    if (number < entry->params.count)
      module->entry_params[number] = halo_proto_read_shape(halo_proto_body(&field));
    number++;
  }
  if (number != entry->params.count)
    halo_proto_wrong(message, "the entry has %d parameter%s, and the module says %d",
                     entry->params.count, halo_plural(entry->params.count), number);
}

static void read_header(halo_proto_message message) {
  halo_module *module = message.reader->module;
  halo_proto_field field;
  read_entry_shape(message);
  if (halo_proto_find(message, HALO_MODULE_ALIASES, &field))
    read_aliases(halo_proto_body(&field), false);
  if (halo_proto_find(message, HALO_MODULE_DONORS, &field))
    read_aliases(halo_proto_body(&field), true);
  if (halo_proto_find(message, HALO_MODULE_FRONTEND, &field))
    module->frontend = halo_proto_read_pairs(halo_proto_body(&field), &module->frontend_count);
  if (!halo_proto_find(message, HALO_MODULE_DEVICES, &field)) return;
  halo_proto_message devices = halo_proto_body(&field);
  int64_t replicas = int_of(devices, HALO_DEVICES_REPLICAS);
  int64_t partitions = int_of(devices, HALO_DEVICES_PARTITIONS);
  if (replicas < 0 || replicas > INT32_MAX || partitions < 0 || partitions > INT32_MAX)
    halo_proto_wrong(devices, "a device assignment of %lld x %lld", (long long)replicas,
                     (long long)partitions);
  if (replicas) module->replica_count = replicas;
  if (partitions) module->num_partitions = partitions;
}

static void read_schedule(halo_proto_message message, halo_map *sequences) {
  halo_arena *arena = message.reader->arena;
  halo_proto_field field, value;
  while (halo_proto_next(&message, &field)) {
    if (field.number != HALO_SCHEDULE_SEQUENCES) continue;
    halo_proto_message entry = halo_proto_body(&field);
    int64_t id = int_of(entry, HALO_SEQUENCE_KEY);
    if (!halo_proto_find(entry, HALO_SEQUENCE_VALUE, &value)) continue;
    halo_proto_message body = halo_proto_body(&value);
    halo_map_set(sequences, &id, sizeof id, halo_arena_copy(arena, &body, sizeof body));
  }
}

static void read_module(halo_proto_message message) {
  halo_module *module = message.reader->module;
  module_state state = {0};
  halo_proto_field field;
  module->name = name_of(message, HALO_MODULE_NAME, "module");
  if (halo_proto_find(message, HALO_MODULE_FRAMES, &field))
    halo_proto_read_frames(halo_proto_body(&field));
  module->is_scheduled = halo_proto_find(message, HALO_MODULE_SCHEDULE, &field);
  if (module->is_scheduled) read_schedule(halo_proto_body(&field), &state.sequences);
  read_computations(message, &state);
  int64_t entry = int_of(message, HALO_MODULE_ENTRY_ID);
  module->entry = halo_map_get(&state.computations, &entry, sizeof entry);
  const char *name = text_of(message, HALO_MODULE_ENTRY_NAME);
  for (int32_t i = 0; !module->entry && i < module->computations.count; i++)
    if (strcmp(module->computations.data[i]->name, name) == 0)
      module->entry = module->computations.data[i];
  if (!module->entry) halo_proto_wrong(message, "the module has no entry computation");
  if (message.reader->status == HALO_OK) read_header(message);
  halo_map_deinit(&state.computations);
  halo_map_deinit(&state.sequences);
}

typedef struct read_request {
  const void *bytes;
  size_t size;
  const char *name;
  halo_module *out;
} read_request;

static halo_status read_run(void *user) {
  read_request *request = user;
  halo_proto_reader reader = {.name = request->name ? request->name : "module",
                              .begin = request->bytes};
  halo_proto_message message = {&reader, request->bytes,
                                (const uint8_t *)request->bytes + request->size};
  halo_proto_message inner;
  if (!find_module(message, &inner))
    return halo_fail(HALO_INVALID_ARGUMENT, "%s: this is no HloModuleProto, nor one that holds it",
                     reader.name);
  halo_module *module = halo_module_create("module");
  reader.module = module;
  reader.arena = &module->arena;
  reader.status = HALO_OK;
  read_module(inner);
  halo_status status = reader.status;
  if (status == HALO_OK) status = halo_fail_in(halo_module_verify(module), "%s", reader.name);
  if (status == HALO_OK)
    request->out = module;
  else
    halo_module_release(module);
  return status;
}

halo_status halo_proto_read(const void *bytes, size_t size, const char *name, halo_module **out) {
  read_request request = {bytes, size, name, NULL};
  *out = NULL;
  HALO_TRY(halo_memory_guard(read_run, &request));
  *out = request.out;
  return HALO_OK;
}
