/* SPDX-License-Identifier: Apache-2.0 */
/* builder/builder.c: builders' lives, the first error, and the steps that every op takes. */
#include "builder/build.h"

#include "base/memory.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* ---- Lives ---- */

char *halo_build_clean_name(const char *text, const char *fallback) {
  if (!text || !*text) text = fallback;
  halo_strbuf name = {0};
  if (!isalpha((unsigned char)*text) && *text != '_') halo_strbuf_char(&name, '_');
  for (const char *c = text; *c; c++) {
    bool legal = (isascii(*c) && isalnum((unsigned char)*c)) || strchr("_.-", *c);
    halo_strbuf_char(&name, legal ? *c : '_');
  }
  return halo_strbuf_take(&name);
}

/* A name that no other computation of the module has. */
static const char *builder_computation_name(halo_builder *top, const char *wanted) {
  const char *name = halo_arena_strdup(&top->module->arena, wanted);
  while (halo_map_get_text(&top->computations, name)) {
    name = halo_module_fresh_name(top->module, wanted);
  }
  halo_map_set_text(&top->computations, name, top);
  return name;
}

halo_builder *halo_builder_create(const char *name) {
  halo_builder *builder = halo_alloc(sizeof *builder);
  builder->top = builder;
  builder->name = halo_build_clean_name(name, "module");
  builder->module = halo_module_create(builder->name);
  builder->computation = halo_computation_create(builder->module, NULL);
  builder->computation->name = builder_computation_name(builder, "main");
  return builder;
}

halo_builder *halo_builder_create_sub(halo_builder *parent, const char *name) {
  if (!parent) {
    (void)halo_fail(HALO_INVALID_ARGUMENT, "halo_builder_create_sub: parent is NULL");
    return NULL;
  }
  halo_builder *top = parent->top, *sub = halo_alloc(sizeof *sub);
  sub->top = top;
  sub->next = top->next;
  top->next = sub;
  if (!top->module) return sub;
  char *clean = halo_build_clean_name(name, "computation");
  sub->computation = halo_computation_create(top->module, NULL);
  sub->computation->name = builder_computation_name(top, clean);
  halo_free(clean);
  return sub;
}

void halo_builder_release(halo_builder *builder) {
  if (!builder || builder->top != builder) return;
  halo_module_release(builder->module);
  while (builder) {
    halo_builder *next = builder->next;
    halo_vec_deinit(&builder->ops);
    halo_vec_deinit(&builder->comps);
    halo_map_deinit(&builder->names);
    halo_map_deinit(&builder->computations);
    halo_vec_deinit(&builder->notes);
    halo_free(builder->name);
    halo_free(builder->message);
    halo_free(builder);
    builder = next;
  }
}

halo_status halo_builder_status(const halo_builder *builder) {
  return builder ? builder->top->status : HALO_INVALID_ARGUMENT;
}

const char *halo_builder_message(const halo_builder *builder) {
  return builder && builder->top->message ? builder->top->message : "";
}

const halo_shape *halo_op_shape(halo_op op) {
  if (!op.builder || op.id < 0 || op.id >= op.builder->ops.count) return NULL;
  return op.builder->ops.data[op.id]->shape;
}

/* ---- Calls and errors ---- */

void halo_build_record(build_call *call, halo_status status) {
  if (!call->ok) return;
  call->ok = false;
  halo_builder *top = call->builder->top;
  if (top->status != HALO_OK) return;
  top->status = halo_fail_in(status, "%s: call %d (%s)", top->name, top->calls, call->function);
  top->message = halo_strdup(halo_error_message());
}

void halo_build_fail(build_call *call, const char *format, ...) {
  if (!call->ok) return;
  char text[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  halo_build_record(call, halo_fail(HALO_INVALID_ARGUMENT, "%s", text));
}

build_call halo_build_begin(halo_builder *builder, const char *function) {
  build_call call = {.builder = builder, .function = function};
  if (!builder) {
    (void)halo_fail(HALO_INVALID_ARGUMENT, "%s: no builder, or no valid operand", function);
    return call;
  }
  builder->top->calls++;
  call.ok = builder->top->status == HALO_OK;
  if (call.ok && !builder->computation) {
    halo_build_record(&call, halo_fail(HALO_FAILED_PRECONDITION,
                                       "the computation is finished and takes no more ops"));
  }
  return call;
}

build_call halo_build_begin_with(const char *function, int count, const halo_op *operands) {
  for (int i = 0; i < count; i++) {
    if (operands[i].builder) return halo_build_begin(operands[i].builder, function);
  }
  return halo_build_begin(NULL, function);
}

bool halo_build_check_list(build_call *call, int count, const void *list, const char *what) {
  if (!call->ok) return false;
  if (count < 0 || (count > 0 && !list)) {
    halo_build_fail(call, "%s: %s", what, count < 0 ? "the count is negative" : "the list is NULL");
  } else if (count > HALO_MAX_RANK) {
    halo_build_fail(call, "%s has %d entr%s, the limit is %d", what, count,
                    count == 1 ? "y" : "ies", HALO_MAX_RANK);
  }
  return call->ok;
}

/* ---- Operands ---- */

halo_instr *halo_build_operand(build_call *call, halo_op op) {
  if (!call->ok) return NULL;
  if (!op.builder || op.id < 0) {
    halo_build_fail(call, "an operand is invalid");
  } else if (op.builder != call->builder) {
    halo_build_fail(call, "an operand belongs to another computation");
  } else if (op.id >= op.builder->ops.count) {
    halo_build_fail(call, "an operand is not a value of this builder");
  }
  return call->ok ? op.builder->ops.data[op.id] : NULL;
}

halo_instr *halo_build_array(build_call *call, halo_op op) {
  halo_instr *instr = halo_build_operand(call, op);
  if (!instr || halo_shape_is_array(instr->shape)) return instr;
  halo_arena scratch = {0};
  halo_build_fail(call, "the operand must be an array, not %s",
                  halo_shape_text(&scratch, instr->shape, false));
  halo_arena_deinit(&scratch);
  return NULL;
}

halo_instr **halo_build_operands(build_call *call, int count, const halo_op *ops) {
  if (!call->ok) return NULL;
  if (count < 0 || (count > 0 && !ops)) {
    halo_build_fail(call, "operands: %s", count < 0 ? "the count is negative" : "the list is NULL");
    return NULL;
  }
  halo_instr **operands = halo_arena_array(halo_build_arena(call), halo_instr *, count);
  for (int i = 0; i < count && call->ok; i++) operands[i] = halo_build_operand(call, ops[i]);
  return call->ok ? operands : NULL;
}

halo_computation *halo_build_comp(build_call *call, halo_comp comp) {
  if (!call->ok) return NULL;
  halo_builder *top = call->builder->top;
  if (!comp.builder || comp.id < 0) {
    halo_build_fail(call, "a computation is invalid");
  } else if (comp.builder != top) {
    halo_build_fail(call, "a computation belongs to another builder");
  } else if (comp.id >= top->comps.count) {
    halo_build_fail(call, "a computation is not of this builder");
  }
  return call->ok ? top->comps.data[comp.id] : NULL;
}

halo_attr halo_build_int(halo_attr_id id, int64_t value) {
  return (halo_attr){.id = id, .i = value};
}

halo_attr halo_build_ints(build_call *call, halo_attr_id id, int count, const int64_t *values) {
  halo_attr attr = {.id = id};
  if (!call->ok) return attr;
  attr.ints.data = halo_arena_copy(halo_build_arena(call), values, sizeof *values * (size_t)count);
  attr.ints.count = count;
  return attr;
}

halo_attr halo_build_comps(build_call *call, halo_attr_id id, int count,
                           halo_computation *const *comps) {
  halo_attr attr = {.id = id};
  if (!call->ok) return attr;
  attr.comps.data = halo_arena_copy(halo_build_arena(call), comps, sizeof *comps * (size_t)count);
  attr.comps.count = count;
  return attr;
}

/* ---- Instructions ---- */

/* An HLO name for `text` that no other instruction of the computation has. */
static const char *builder_own_name(build_call *call, const char *text) {
  halo_builder *builder = call->builder;
  char *name = halo_strdup(text);
  while (halo_map_get_text(&builder->names, name)) {
    halo_strbuf longer = {0};
    halo_strbuf_printf(&longer, "%s.%d", text, ++builder->top->numbered);
    halo_free(name);
    name = halo_strbuf_take(&longer);
  }
  halo_map_set_text(&builder->names, name, builder);
  const char *kept = halo_arena_strdup(halo_build_arena(call), name);
  halo_free(name);
  return kept;
}

halo_instr *halo_build_add(build_call *call, const halo_instr_spec *spec) {
  if (!call->ok) return NULL;
  halo_instr_spec named = *spec;
  if (!named.name) {
    halo_strbuf name = {0};
    halo_strbuf_printf(&name, "%s.%d", halo_opcode_name(spec->opcode),
                       ++call->builder->top->numbered);
    named.name = builder_own_name(call, halo_strbuf_text(&name));
    halo_strbuf_deinit(&name);
  }
  halo_instr *instr;
  halo_status status = halo_instr_create(call->builder->computation, &named, &instr);
  if (status != HALO_OK) {
    halo_build_record(call, status);
    return NULL;
  }
  for (int32_t i = 0; i < call->builder->notes.count; i++) {
    halo_instr_set_attr(instr, &call->builder->notes.data[i]);
  }
  return instr;
}

halo_instr *halo_build_op(build_call *call, halo_opcode opcode, const halo_shape *shape,
                          halo_instr *const operands[3], int attr_count, const halo_attr *attrs) {
  if (!call->ok) return NULL;
  int count = 0;
  while (count < 3 && operands[count]) count++;
  halo_instr_spec spec = {.opcode = opcode,
                          .shape = shape,
                          .operands = operands,
                          .operand_count = count,
                          .attrs = attrs,
                          .attr_count = attr_count};
  return halo_build_add(call, &spec);
}

halo_instr *halo_build_literal(build_call *call, halo_literal *literal) {
  if (!call->ok) return NULL;
  halo_instr_spec spec = {.opcode = HALO_OP_CONSTANT, .literal = literal};
  return halo_build_add(call, &spec);
}

halo_op halo_build_result(build_call *call, halo_instr *instr) {
  if (!call->ok || !instr) return (halo_op){.builder = call->builder, .id = -1};
  halo_vec_push(&call->builder->ops, instr);
  return (halo_op){.builder = call->builder, .id = call->builder->ops.count - 1};
}

halo_op halo_build_nary(build_call *call, halo_opcode opcode, int count, const halo_op *ops,
                        int attr_count, const halo_attr *attrs) {
  halo_instr **operands = halo_build_operands(call, count, ops);
  if (!call->ok) return halo_build_result(call, NULL);
  halo_instr_spec spec = {.opcode = opcode,
                          .operands = operands,
                          .operand_count = count,
                          .attrs = attrs,
                          .attr_count = attr_count};
  return halo_build_result(call, halo_build_add(call, &spec));
}

halo_op halo_parameter(halo_builder *builder, int64_t number, const halo_shape *shape,
                       const char *name) {
  build_call call = halo_build_begin(builder, "halo_parameter");
  if (call.ok && !shape) halo_build_fail(&call, "the shape is NULL");
  if (!call.ok) return halo_build_result(&call, NULL);
  char *clean = halo_build_clean_name(name, "parameter");
  halo_instr_spec spec = {.opcode = HALO_OP_PARAMETER,
                          .name = name ? builder_own_name(&call, clean) : NULL,
                          .parameter_number = number,
                          .shape = halo_shape_clone(halo_build_arena(&call), shape)};
  halo_free(clean);
  return halo_build_result(&call, halo_build_add(&call, &spec));
}

/* ---- Endings ---- */

static bool builder_check_params(build_call *call) {
  const halo_computation *computation = call->builder->computation;
  for (int32_t i = 0; i < computation->params.count && call->ok; i++) {
    if (!computation->params.data[i]) {
      halo_build_fail(call, "parameter %d of %s is missing", i, computation->name);
    }
  }
  return call->ok;
}

halo_comp halo_builder_finish_sub(halo_builder *sub, halo_op root) {
  build_call call = halo_build_begin(sub, "halo_builder_finish_sub");
  halo_comp invalid = {.builder = sub ? sub->top : NULL, .id = -1};
  if (call.ok && sub->top == sub) halo_build_fail(&call, "the builder is not a sub");
  halo_instr *instr = halo_build_operand(&call, root);
  if (!call.ok || !builder_check_params(&call)) return invalid;
  sub->computation->root = instr;
  halo_vec_push(&sub->top->comps, sub->computation);
  sub->computation = NULL;
  sub->ops.count = 0;
  return (halo_comp){.builder = sub->top, .id = sub->top->comps.count - 1};
}

/* Leaves the module with the finished computations, callees first as they were finished, and the
 * entry last; what was begun and not finished goes. */
static void builder_order(halo_builder *top) {
  halo_module *module = top->module;
  module->computations.count = 0;
  for (int32_t i = 0; i < top->comps.count; i++) {
    halo_vec_push(&module->computations, top->comps.data[i]);
  }
  halo_vec_push(&module->computations, top->computation);
  for (halo_builder *sub = top->next; sub; sub = sub->next) {
    sub->ops.count = 0;
    if (!sub->computation) continue;
    halo_vec_deinit(&sub->computation->instrs);
    halo_vec_deinit(&sub->computation->params);
    sub->computation = NULL;
  }
}

static halo_status builder_end(halo_builder *top, halo_instr *root, halo_module **out) {
  halo_module *module = top->module;
  builder_order(top);
  halo_computation *entry = top->computation;
  module->entry = entry;
  entry->root = root;
  module->entry_params = halo_arena_array(&module->arena, const halo_shape *, entry->params.count);
  for (int32_t i = 0; i < entry->params.count; i++) {
    module->entry_params[i] = entry->params.data[i]->shape;
  }
  module->entry_result = root->shape;
  top->module = NULL;
  top->computation = NULL;
  top->ops.count = 0;
  halo_status status = halo_module_verify(module);
  if (status != HALO_OK) {
    halo_module_release(module);
    return halo_fail_in(status, "%s", top->name);
  }
  *out = module;
  return HALO_OK;
}

halo_status halo_builder_build(halo_builder *builder, halo_op root, halo_module **out) {
  if (!out) return halo_fail(HALO_INVALID_ARGUMENT, "halo_builder_build: out is NULL");
  *out = NULL;
  if (!builder) return halo_fail(HALO_INVALID_ARGUMENT, "halo_builder_build: builder is NULL");
  build_call call = halo_build_begin(builder, "halo_builder_build");
  if (call.ok && builder->top != builder) halo_build_fail(&call, "the builder is a sub");
  halo_instr *instr = halo_build_operand(&call, root);
  if (call.ok) builder_check_params(&call);
  halo_builder *top = builder->top;
  if (!call.ok) return halo_fail(top->status, "%s", halo_builder_message(builder));
  halo_status status = builder_end(top, instr, out);
  if (status != HALO_OK) halo_build_record(&call, status);
  return status;
}
