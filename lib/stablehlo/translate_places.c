/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/translate_places.c: where arguments and results of a program lie: layouts and kinds of memory that
 * frameworks name. */
#include "stablehlo/translate.h"

#include <stdlib.h>
#include <string.h>

static const char *place_text(const halo_mlir_attr *attrs, const char *name) {
  const halo_mlir_attr *attr = halo_mlir_dict_get(attrs, name);
  return attr && attr->kind == HALO_MLIR_STRING ? attr->string.text : NULL;
}

/* How deep instructions are looked through for a layout. */
enum { PLACE_DEPTH = 16 };

/* The order, fastest first, in which the elements of a value come where nothing is moved: a transpose leaves them
 * as its operand has them, and so does elementwise code; a constraint says how they are to lie. False: nothing speaks for any but row-major order. */
static bool place_natural(const halo_module *module, const halo_instr *instr, int depth,
                          int32_t *order) {
  const halo_shape *shape = instr->shape;
  if (depth == 0 || !halo_shape_is_array(shape)) return false;
  if (instr->opcode == HALO_OP_PARAMETER) {
    const halo_shape *entry = module->entry_params[instr->parameter_number];
    if (instr->parent != module->entry || halo_shape_has_default_layout(entry)) return false;
    for (int i = 0; i < shape->rank; i++) order[i] = (int32_t)entry->minor_to_major[i];
    return true;
  }
  if (instr->opcode == HALO_OP_CUSTOM_CALL) {
    const halo_attr *target = halo_instr_attr(instr, HALO_ATTR_CUSTOM_CALL_TARGET);
    for (int i = 0; i < shape->rank; i++) order[i] = (int32_t)shape->minor_to_major[i];
    return target && strcmp(target->text, "LayoutConstraint") == 0;
  }
  if (instr->opcode == HALO_OP_TRANSPOSE) {
    int32_t inner[HALO_MAX_RANK], count;
    const int64_t *from = halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &count);
    if (!place_natural(module, instr->operands[0], depth - 1, inner)) {
      for (int i = 0; i < count; i++) inner[i] = count - 1 - i;
    }
    for (int i = 0; i < count; i++) {
      for (int d = 0; d < count; d++) {
        if (from[d] == inner[i]) order[i] = d;
      }
    }
    return true;
  }
  if (halo_opcode_exec(instr->opcode) != HALO_EXEC_ELEMENTWISE) return false;
  for (int32_t i = 0; i < instr->operand_count; i++) {
    const halo_instr *x = instr->operands[i];
    if (x->shape->rank == shape->rank && place_natural(module, x, depth - 1, order)) return true;
  }
  return false;
}

/* The shape of a result in the layout in which it costs least; `value` NULL, an argument's: row-major. */
static const halo_shape *place_automatic(halo_translator *t, const halo_shape *shape,
                                         const halo_instr *value) {
  int32_t order[HALO_MAX_RANK];
  if (!value || !place_natural(t->module, value, PLACE_DEPTH, order)) return shape;
  return halo_shape_new_full(t->arena, shape->type, shape->rank, shape->dims, shape->dynamic,
                             order);
}

/* Whether a layout ends here, be it with the size that its elements have anyway: ":E(4)}" of four bits. */
static bool place_is_end(const char *at, halo_type type) {
  long bits = 0;
  char *end = NULL;
  if (strncmp(at, ":E(", 3) == 0) bits = strtol(at + 3, &end, 10);
  if (!end) return strcmp(at, "}") == 0;
  return strcmp(end, ")}") == 0 && bits == halo_type_bits(type);
}

/* The shape in the layout that its attributes ask for, "{0,1}"; "default" leaves it row-major. */
static const halo_shape *place_layout(halo_translator *t, const halo_mlir_attr *attrs,
                                      const halo_shape *shape, const halo_instr *value,
                                      const char *what, int32_t number) {
  const char *text = place_text(attrs, "mhlo.layout_mode");
  if (text && strcmp(text, "auto") == 0) return place_automatic(t, shape, value);
  int32_t order[HALO_MAX_RANK];
  bool taken[HALO_MAX_RANK] = {false};
  int32_t count = 0;
  if (!text || *text != '{' || !halo_shape_is_array(shape)) return shape;
  const char *at = text + 1;
  while (*at && *at != '}' && count < shape->rank) {
    char *end;
    long d = strtol(at, &end, 10);
    if (end == at || d < 0 || d >= shape->rank || taken[d]) break;
    taken[d] = true;
    order[count++] = (int32_t)d;
    at = *end == ',' ? end + 1 : end;
  }
  if (count == shape->rank && place_is_end(at, shape->type)) {
    return halo_shape_new_full(t->arena, shape->type, shape->rank, shape->dims, shape->dynamic,
                               order);
  }
  halo_translate_wrong(
      t, "%s %d has the layout %s: expected its dimensions in some order, and no tiles", what,
      number, text);
  return shape;
}

static void place_note(halo_translator *t, const halo_mlir_attr *attrs, const char *what,
                       int32_t number) {
  const char *kind = place_text(attrs, "mhlo.memory_kind");
  if (kind) halo_module_set_memory_kind(t->module, what[0] == 'r', number, kind);
}

void halo_translate_places(halo_translator *t, const halo_mlir_op *main) {
  const halo_mlir_block *block = main->regions[0].block;
  const halo_mlir_attr *arguments = halo_mlir_attr_of(main, "arg_attrs");
  const halo_mlir_attr *results = halo_mlir_attr_of(main, "res_attrs");
  halo_module *module = t->module;
  for (int32_t i = 0; arguments && arguments->kind == HALO_MLIR_ARRAY && i < block->arg_count &&
                      i < arguments->array.count;
       i++) {
    const halo_mlir_attr *attrs = arguments->array.data[i];
    const halo_instr *parameter = block->args[i].data;
    if (attrs->kind != HALO_MLIR_DICT || parameter->opcode != HALO_OP_PARAMETER) continue;
    int32_t number = (int32_t)parameter->parameter_number;
    module->entry_params[number] =
        place_layout(t, attrs, module->entry_params[number], NULL, "argument", number);
    place_note(t, attrs, "argument", number);
  }
  if (!results || results->kind != HALO_MLIR_ARRAY) return;
  const halo_shape *result = module->entry_result;
  const halo_instr *root = module->entry->root;
  int32_t count = halo_shape_is_tuple(result) ? result->count : 1;
  const halo_shape **shapes = halo_arena_array(t->arena, const halo_shape *, count + 1);
  for (int32_t i = 0; i < count; i++) {
    bool given = i < results->array.count && results->array.data[i]->kind == HALO_MLIR_DICT;
    shapes[i] = halo_shape_is_tuple(result) ? result->elements[i] : result;
    if (!given) continue;
    const halo_instr *value = !halo_shape_is_tuple(result)    ? root
                              : root->opcode == HALO_OP_TUPLE ? root->operands[i]
                                                              : NULL;
    shapes[i] = place_layout(t, results->array.data[i], shapes[i], value, "result", i);
    place_note(t, results->array.data[i], "result", i);
  }
  module->entry_result =
      halo_shape_is_tuple(result) ? halo_shape_new_tuple(t->arena, count, shapes) : shapes[0];
}
