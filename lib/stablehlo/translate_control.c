/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/translate_control.c: blocks, regions that are applied, functions and their calls. */
#include "stablehlo/translate.h"

#include <string.h>

/* ---- Blocks ---- */

static bool control_is_end(halo_mlir_opcode opcode) {
  return opcode == HALO_MLIR_OP_RETURN || opcode == HALO_MLIR_OP_FUNC_RETURN ||
         opcode == HALO_MLIR_OP_SDY_RETURN;
}

void halo_translate_block(halo_translator *t, halo_mlir_block *block, halo_instr **results,
                          int32_t expected) {
  if (!halo_translate_ok(t)) return;
  int32_t last = block->ops.count - 1;
  if (last < 0 || !control_is_end(block->ops.data[last]->opcode)) {
    halo_translate_wrong(t, "a region does not end in a return");
  }
  if (halo_translate_ok(t) && t->depth >= HALO_MAX_CALL_DEPTH) {
    halo_translate_refuse(t, "regions and calls are more than %d deep", HALO_MAX_CALL_DEPTH);
  }
  t->depth++;
  for (int32_t i = 0; i < last && halo_translate_ok(t); i++) {
    halo_translate_op(t, block->ops.data[i]);
  }
  t->depth--;
  if (!halo_translate_ok(t)) return;
  halo_mlir_op *end = block->ops.data[last], *outer = t->op;
  t->op = end;
  if (end->operand_count != expected) {
    halo_translate_wrong(t, "%d value%s returned: expected %d", end->operand_count,
                         end->operand_count == 1 ? " is" : "s are", expected);
  }
  for (int32_t i = 0; i < expected && halo_translate_ok(t); i++) {
    results[i] = halo_translate_operand(t, end, i);
  }
  t->op = outer;
}

/* ---- Regions that are applied ---- */

/* Where a value stood before a region made it stand for something of its own. */
typedef struct control_saved {
  halo_mlir_value *value;
  void *data;
} control_saved;
typedef HALO_VEC(control_saved) control_list;

bool halo_translate_is_inside(const halo_mlir_value *value, const halo_mlir_region *region) {
  for (const halo_mlir_block *at = value->block; at;) {
    if (at->region == region) return true;
    at = at->region && at->region->op ? at->region->op->block : NULL;
  }
  return false;
}

bool halo_translate_is_constant(const halo_instr *instr) {
  return instr->opcode == HALO_OP_CONSTANT ||
         (instr->opcode == HALO_OP_BROADCAST && instr->operands[0]->opcode == HALO_OP_CONSTANT);
}

halo_instr *halo_translate_copy(halo_translator *t, const halo_instr *constant) {
  if (!halo_translate_ok(t)) return NULL;
  if (constant->opcode == HALO_OP_CONSTANT) return halo_translate_constant(t, constant->literal);
  halo_instr *scalar = halo_translate_constant(t, constant->operands[0]->literal);
  return halo_translate_emit(t, HALO_OP_BROADCAST, constant->shape, &scalar, 1,
                             halo_instr_attr(constant, HALO_ATTR_DIMENSIONS), 1);
}

/* Constants of outside that the region uses are copied into it. */
static void control_capture(halo_translator *t, const halo_mlir_region *top,
                            const halo_mlir_region *region, control_list *saved) {
  for (int32_t i = 0; region->block && i < region->block->ops.count; i++) {
    const halo_mlir_op *op = region->block->ops.data[i];
    for (int32_t o = 0; o < op->operand_count && halo_translate_ok(t); o++) {
      halo_mlir_value *value = op->operands[o];
      const halo_instr *instr = value->data;
      if (halo_translate_is_inside(value, top) || !instr || instr->parent == t->computation) {
        continue;
      }
      if (!halo_translate_is_constant(instr)) {
        halo_translate_refuse(t,
                              "the computation that it applies uses the value %s from outside, "
                              "which is no constant",
                              instr->name);
        return;
      }
      halo_vec_push(saved, (control_saved){value, value->data});
      value->data = halo_translate_copy(t, instr);
    }
    for (int32_t r = 0; r < op->region_count; r++) {
      control_capture(t, top, &op->regions[r], saved);
    }
  }
}

halo_computation *halo_translate_body(halo_translator *t, halo_mlir_region *region, int32_t count) {
  if (!halo_translate_ok(t)) return NULL;
  halo_mlir_block *block = region->block;
  if (!block || block->arg_count != count) {
    halo_translate_wrong(t, "a region takes %d argument%s: expected %d",
                         block ? block->arg_count : 0, block && block->arg_count == 1 ? "" : "s",
                         count);
    return NULL;
  }
  halo_computation *outer, *body = halo_translate_begin(t, "region", &outer);
  control_list saved = {0};
  bool reducing = t->reducing;
  t->reducing = true;
  control_capture(t, region, region, &saved);
  for (int32_t i = 0; i < count; i++) {
    const halo_shape *shape = halo_translate_type(t, block->args[i].type);
    block->args[i].data = halo_translate_parameter(t, i, shape, block->args[i].loc);
  }
  int32_t returned = block->ops.count ? block->ops.data[block->ops.count - 1]->operand_count : 0;
  halo_instr **results = halo_arena_array(t->arena, halo_instr *, returned + 1);
  halo_translate_block(t, block, results, returned);
  halo_translate_end(t, halo_translate_pack(t, results, returned), outer);
  t->reducing = reducing;
  while (saved.count) {
    control_saved *last = &saved.data[--saved.count];
    last->value->data = last->data;
  }
  halo_vec_deinit(&saved);
  return halo_translate_ok(t) ? body : NULL;
}

/* ---- Functions ---- */

halo_mlir_op *halo_translate_function(halo_translator *t, const char *name) {
  if (!halo_translate_ok(t)) return NULL;
  halo_mlir_op *function = halo_map_get_text(&t->functions, name);
  if (!function) {
    halo_translate_wrong(t, "there is no function @%s", name);
  } else if (function->region_count != 1 || !function->regions[0].block) {
    halo_translate_wrong(t, "the function @%s has no body", name);
  }
  return halo_translate_ok(t) ? function : NULL;
}

void halo_translate_function_block(halo_translator *t, const halo_mlir_op *function,
                                   halo_instr **results, int32_t count) {
  halo_translate_block(t, function->regions[0].block, results, count);
  const halo_mlir_attr *attr = halo_mlir_attr_of(function, "function_type");
  if (!halo_translate_ok(t) || !attr || attr->kind != HALO_MLIR_TYPE_ATTR) return;
  const halo_mlir_type *type = attr->type;
  if (type->result_count != count) {
    halo_translate_wrong(t, "%d value%s returned: expected %d", count, count == 1 ? " is" : "s are",
                         type->result_count);
  }
  for (int32_t i = 0; i < count && halo_translate_ok(t); i++) {
    halo_translate_check(t, "result", i, type->results[i], results[i]);
  }
}

/* How many values a function returns. */
static int32_t control_returned(const halo_mlir_op *function) {
  const halo_mlir_block *block = function->regions[0].block;
  return block->ops.count ? block->ops.data[block->ops.count - 1]->operand_count : 0;
}

/* Its computation while it is being made: to tell a function that calls itself. */
static int control_open;

/* As a computation of its own, which is made once. */
static halo_computation *control_function_body(halo_translator *t, halo_mlir_op *function) {
  if (!halo_translate_ok(t)) return NULL;
  if (function->data == &control_open) {
    halo_translate_wrong(t, "the function @%s calls itself",
                         halo_mlir_string(function, "sym_name", ""));
    return NULL;
  }
  if (function->data) return function->data;
  function->data = &control_open;
  halo_mlir_block *block = function->regions[0].block;
  halo_computation *outer;
  halo_computation *body =
      halo_translate_begin(t, halo_mlir_string(function, "sym_name", "function"), &outer);
  for (int32_t i = 0; i < block->arg_count; i++) {
    const halo_shape *shape = halo_translate_type(t, block->args[i].type);
    block->args[i].data = halo_translate_parameter(t, i, shape, block->args[i].loc);
  }
  int32_t returned = control_returned(function);
  halo_instr **results = halo_arena_array(t->arena, halo_instr *, returned + 1);
  halo_translate_function_block(t, function, results, returned);
  halo_translate_end(t, halo_translate_pack(t, results, returned), outer);
  function->data = body;
  return halo_translate_ok(t) ? body : NULL;
}

/* Operations that calls put in place: a short text whose functions call others twice each, again and again, has more
 * than anybody can write. */
enum { CONTROL_MOST_INLINED = 1 << 21 };

/* Puts the function's operations here, with these operands for its arguments. */
static void control_inline(halo_translator *t, halo_mlir_op *function, halo_instr *const *operands,
                           halo_instr **results) {
  halo_mlir_block *block = function->regions[0].block;
  if (function->data == &control_open) {
    halo_translate_wrong(t, "the function @%s calls itself",
                         halo_mlir_string(function, "sym_name", ""));
    return;
  }
  t->inlined += block->ops.count;
  if (t->inlined > CONTROL_MOST_INLINED) {
    halo_translate_refuse(t, "calls that are put in place come to more than %d operations",
                          CONTROL_MOST_INLINED);
    return;
  }
  void *before = function->data;
  function->data = &control_open;
  for (int32_t i = 0; i < block->arg_count; i++) {
    halo_translate_check(t, "argument", i, block->args[i].type, operands[i]);
    block->args[i].data = operands[i];
  }
  halo_translate_function_block(t, function, results, control_returned(function));
  function->data = before;
}

/* Calls the function; the results [result_count]. */
static void control_call(halo_translator *t, const char *name, halo_instr *const *operands,
                         int32_t operand_count, halo_instr **results, int32_t result_count) {
  halo_mlir_op *function = halo_translate_function(t, name);
  if (!function) return;
  const halo_mlir_block *block = function->regions[0].block;
  if (block->arg_count != operand_count || control_returned(function) != result_count) {
    halo_translate_wrong(t, "@%s takes %d argument%s and has %d result%s: expected %d and %d", name,
                         block->arg_count, halo_plural(block->arg_count),
                         control_returned(function), halo_plural(control_returned(function)),
                         operand_count, result_count);
    return;
  }
  if (t->fold || t->manual) {
    control_inline(t, function, operands, results);
    return;
  }
  halo_computation *body = control_function_body(t, function);
  if (!body) return;
  halo_attr attr = halo_translate_comp(t, HALO_ATTR_TO_APPLY, body);
  halo_instr *call = halo_translate_emit(t, HALO_OP_CALL, NULL, operands, operand_count, &attr, 1);
  if (result_count == 1) results[0] = call;
  for (int32_t i = 0; i < result_count && result_count > 1; i++) {
    results[i] = halo_translate_element(t, call, i);
  }
}

static void control_call_op(halo_translator *t, halo_mlir_op *op, const char *name) {
  halo_instr **results = halo_arena_array(t->arena, halo_instr *, op->result_count + 1);
  halo_instr **operands = halo_translate_operands(t, op);
  control_call(t, name, operands, op->operand_count, results, op->result_count);
  for (int32_t i = 0; i < op->result_count; i++) halo_translate_result(t, op, i, results[i]);
}

void halo_translate_op_call(halo_translator *t, halo_mlir_op *op) {
  control_call_op(t, op, halo_mlir_string(op, "callee", ""));
}

/* Composites that are one instruction in what XLA makes of the program too. It writes out the others (acos, sinh, ...), and
 * so do their decompositions. */
static bool control_is_instruction(const char *name) {
  static const char *const names[] = {"chlo.erf", "chlo.mulhi", "chlo.ragged_dot", "chlo.top_k"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (strcmp(names[i], name) == 0) return true;
  }
  return false;
}

void halo_translate_op_composite(halo_translator *t, halo_mlir_op *op) {
  const char *name = halo_mlir_string(op, "name", "");
  if (control_is_instruction(name) &&
      halo_translate_named(t, op, name + 5, halo_mlir_attr_of(op, "composite_attributes"))) {
    return;
  }
  if (halo_translate_ok(t)) control_call_op(t, op, halo_mlir_string(op, "decomposition", ""));
}

halo_computation *halo_translate_called(halo_translator *t, const halo_mlir_op *op) {
  const halo_mlir_attr *attr = halo_mlir_attr_of(op, "called_computations");
  if (!attr || attr->kind != HALO_MLIR_ARRAY || attr->array.count == 0) return NULL;
  const halo_mlir_attr *first = attr->array.data[0];
  if (attr->array.count > 1 ||
      (first->kind != HALO_MLIR_SYMBOL && first->kind != HALO_MLIR_STRING)) {
    halo_translate_refuse(t, "called_computations names %d functions: at most one is supported",
                          attr->array.count);
    return NULL;
  }
  halo_mlir_op *function = halo_translate_function(t, first->string.text);
  return function ? control_function_body(t, function) : NULL;
}
