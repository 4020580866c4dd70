/* stablehlo/translate_places.c: where arguments and results of a program lie: layouts and kinds of memory that
 * frameworks name. */
#include "stablehlo/translate.h"

#include <stdlib.h>
#include <string.h>

static const char *place_text(const halo_mlir_attr *attrs, const char *name) {
  const halo_mlir_attr *attr = halo_mlir_dict_get(attrs, name);
  return attr && attr->kind == HALO_MLIR_STRING ? attr->string.text : NULL;
}

/* The shape in the layout that its attributes ask for, "{0,1}"; "default" and "auto" leave it row-major. */
static const halo_shape *place_layout(halo_translator *t, const halo_mlir_attr *attrs,
                                      const halo_shape *shape, const char *what, int32_t number) {
  const char *text = place_text(attrs, "mhlo.layout_mode");
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
  if (count == shape->rank && strcmp(at, "}") == 0) {
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
        place_layout(t, attrs, module->entry_params[number], "argument", number);
    place_note(t, attrs, "argument", number);
  }
  if (!results || results->kind != HALO_MLIR_ARRAY) return;
  const halo_shape *result = module->entry_result;
  int32_t count = halo_shape_is_tuple(result) ? result->count : 1;
  const halo_shape **shapes = halo_arena_array(t->arena, const halo_shape *, count + 1);
  for (int32_t i = 0; i < count; i++) {
    bool given = i < results->array.count && results->array.data[i]->kind == HALO_MLIR_DICT;
    shapes[i] = halo_shape_is_tuple(result) ? result->elements[i] : result;
    if (!given) continue;
    shapes[i] = place_layout(t, results->array.data[i], shapes[i], "result", i);
    place_note(t, results->array.data[i], "result", i);
  }
  module->entry_result =
      halo_shape_is_tuple(result) ? halo_shape_new_tuple(t->arena, count, shapes) : shapes[0];
}
