/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/translate.c: an MLIR program as an HLO module. */
#include "stablehlo/translate.h"
#include "base/memory.h"
#include "text/text.h"

#include <string.h>

/* ---- What a program is like ---- */

static bool program_is_open_type(const halo_mlir_type *type) {
  for (int32_t i = 0; i < type->input_count; i++) {
    if (program_is_open_type(type->inputs[i])) return true;
  }
  for (int32_t d = 0; type->kind == HALO_MLIR_TENSOR && d < type->rank; d++) {
    bool bounded = type->bounds && type->bounds[d] != HALO_MLIR_DYNAMIC;
    if (type->dims[d] == HALO_MLIR_DYNAMIC && !bounded) return true;
  }
  return false;
}

/* Whether extents are to be found out: some are `?`, or are operands. */
static bool program_is_open(const halo_mlir_program *program) {
  for (int32_t b = 0; b < program->blocks.count; b++) {
    const halo_mlir_block *block = program->blocks.data[b];
    for (int32_t i = 0; i < block->arg_count; i++) {
      if (program_is_open_type(block->args[i].type)) return true;
    }
    for (int32_t i = 0; i < block->ops.count; i++) {
      const halo_mlir_op *op = block->ops.data[i];
      if (halo_translate_is_dynamic(op)) return true;
      for (int32_t r = 0; r < op->result_count; r++) {
        if (program_is_open_type(op->results[r].type)) return true;
      }
    }
  }
  return false;
}

static void program_functions(halo_translator *t) {
  const halo_mlir_block *block = t->program->module->regions[0].block;
  for (int32_t i = 0; block && i < block->ops.count; i++) {
    halo_mlir_op *op = block->ops.data[i];
    if (op->opcode != HALO_MLIR_OP_FUNC) continue;
    const char *name = halo_mlir_string(op, "sym_name", "");
    t->op = op;
    if (halo_map_set_text(&t->functions, name, op)) {
      halo_translate_wrong(t, "there are two functions @%s", name);
    }
    t->op = NULL;
  }
}

/* ---- Arguments ---- */

/* The attributes of argument or result `i` of a function; NULL: none. */
static const halo_mlir_attr *entry_attrs(const halo_mlir_op *function, const char *list,
                                         int32_t i) {
  const halo_mlir_attr *attr = halo_mlir_attr_of(function, list);
  if (!attr || attr->kind != HALO_MLIR_ARRAY || i >= attr->array.count) return NULL;
  return attr->array.data[i]->kind == HALO_MLIR_DICT ? attr->array.data[i] : NULL;
}

/* The number of the platform that runs the program is no argument: it is known. */
static bool entry_is_platform(const halo_mlir_attr *attrs) {
  const halo_mlir_attr *attr = halo_mlir_dict_get(attrs, "jax.global_constant");
  return attr && attr->kind == HALO_MLIR_STRING &&
         strcmp(attr->string.text, "_platform_index") == 0;
}

static halo_instr *entry_platform(halo_translator *t, const halo_mlir_value *arg) {
  const halo_shape *shape = halo_translate_type(t, arg->type);
  return shape ? halo_translate_number(t, shape, t->how.platform_index) : NULL;
}

/* Whether an array may be the argument: `?` is any extent. */
static bool entry_fits(const halo_shape *given, const halo_shape *declared) {
  if (!halo_shape_is_array(declared)) return halo_shape_compatible(given, declared);
  if (given->type != declared->type || given->rank != declared->rank) return false;
  for (int d = 0; d < declared->rank; d++) {
    int64_t extent = declared->dims[d];
    if (extent == HALO_UNBOUNDED || given->dims[d] == extent) continue;
    if (!halo_shape_dim_is_dynamic(declared, d) || given->dims[d] > extent) return false;
  }
  return true;
}

/* The shape of parameter `number`: as declared, or as it was given where that leaves something open. */
static const halo_shape *entry_shape(halo_translator *t, const halo_mlir_value *arg,
                                     int32_t number) {
  const halo_shape *declared = halo_translate_type(t, arg->type);
  const halo_shape *given =
      t->how.arguments && number < t->how.argument_count ? t->how.arguments[number] : NULL;
  if (!declared) return NULL;
  halo_arena scratch = {0};
  halo_strbuf text = {0};
  halo_mlir_type_print(&text, arg->type);
  if (given && !entry_fits(given, declared)) {
    halo_translate_wrong(t, "argument %d is given as %s: expected %s", number,
                         halo_shape_text(&scratch, given, false), halo_strbuf_text(&text));
  } else if (!given && !halo_translate_is_bounded(declared)) {
    halo_translate_wrong(t,
                         "argument %d is %s: expected extents for its `?`, which are those of "
                         "the arrays that the program is given",
                         number, halo_strbuf_text(&text));
  }
  halo_strbuf_deinit(&text);
  halo_arena_deinit(&scratch);
  if (!halo_translate_ok(t)) return NULL;
  if (halo_translate_is_bounded(declared)) return declared;
  return halo_shape_new(t->arena, given->type, given->rank, given->dims);
}

/* Which result's memory the argument may become, or that it may become any. */
static void entry_donate(halo_translator *t, const halo_mlir_attr *attrs, int64_t number,
                         int32_t result_count) {
  const halo_mlir_attr *alias = halo_mlir_dict_get(attrs, "tf.aliasing_output");
  const halo_mlir_attr *donor = halo_mlir_dict_get(attrs, "jax.buffer_donor");
  if (alias && alias->kind == HALO_MLIR_INT) {
    if (alias->i < 0 || alias->i >= result_count) {
      halo_translate_wrong(t, "tf.aliasing_output of argument %lld is %lld: expected a result",
                           (long long)number, (long long)alias->i);
      return;
    }
    int64_t *index = halo_arena_copy(t->arena, &alias->i, sizeof alias->i);
    halo_vec_push(
        &t->module->aliases,
        (halo_alias){.out_index = index, .out_index_count = result_count > 1, .parameter = number});
  } else if (donor && donor->kind == HALO_MLIR_BOOL && donor->i) {
    halo_vec_push(&t->module->donors, (halo_alias){.parameter = number});
  }
}

static void entry_argument(halo_translator *t, const halo_mlir_op *main, halo_mlir_value *arg,
                           int32_t i, int32_t *number, int32_t result_count) {
  const halo_mlir_attr *attrs = entry_attrs(main, "arg_attrs", i);
  if (entry_is_platform(attrs)) {
    arg->data = entry_platform(t, arg);
    return;
  }
  halo_instr *parameter =
      halo_translate_parameter(t, *number, entry_shape(t, arg, *number), arg->loc);
  if (!parameter) return;
  halo_attr sharding;
  if (attrs && halo_translate_sharding(t, attrs->dict.data, attrs->dict.count, parameter->shape,
                                       &sharding)) {
    halo_instr_set_attr(parameter, &sharding);
  }
  entry_donate(t, attrs, *number, result_count);
  arg->data = parameter;
  ++*number;
}

/* ---- Results ---- */

/* One sharding for each leaf, where any result has one. */
static halo_instr *entry_shard(halo_translator *t, const halo_mlir_op *main, halo_instr *root,
                               int32_t count) {
  if (!halo_translate_ok(t) || count == 0) return root;
  halo_sharding *elements = halo_arena_array(t->arena, halo_sharding, count);
  bool any = false;
  for (int32_t i = 0; i < count; i++) {
    const halo_mlir_attr *attrs = entry_attrs(main, "res_attrs", i);
    const halo_shape *shape = count == 1 ? root->shape : root->shape->elements[i];
    halo_attr attr;
    elements[i] = (halo_sharding){.kind = HALO_SHARDING_UNKNOWN};
    if (attrs && halo_translate_sharding(t, attrs->dict.data, attrs->dict.count, shape, &attr)) {
      elements[i] = *attr.sharding;
      any = true;
    }
  }
  if (!any || t->module->num_partitions == 1) return root;
  /* A value of the program's own says something else. */
  if (count == 1) root = halo_translate_unary(t, HALO_OP_COPY, root);
  halo_attr attr = {.id = HALO_ATTR_SHARDING, .sharding = elements};
  if (count > 1) {
    halo_sharding *tuple = halo_arena_new(t->arena, halo_sharding);
    *tuple =
        (halo_sharding){.kind = HALO_SHARDING_TUPLE, .elements = elements, .element_count = count};
    attr.sharding = tuple;
  }
  halo_instr_set_attr(root, &attr);
  return root;
}

static void entry_finish(halo_translator *t) {
  halo_module *module = t->module;
  halo_computation *entry = module->entry;
  module->entry_params = halo_arena_array(t->arena, const halo_shape *, entry->params.count + 1);
  for (int32_t i = 0; i < entry->params.count; i++) {
    module->entry_params[i] = entry->params.data[i]->shape;
  }
  module->entry_result = halo_shape_with_default_layout(t->arena, entry->root->shape);
  for (int32_t i = 0; i < module->computations.count; i++) {
    halo_computation_remove_dead(module->computations.data[i]);
  }
  halo_module_remove_dead(module);
}

static halo_mlir_op *entry_function(halo_translator *t) {
  halo_mlir_op *main = halo_map_get_text(&t->functions, "main");
  if (!main && t->functions.count == 1) {
    const halo_mlir_block *block = t->program->module->regions[0].block;
    for (int32_t i = 0; i < block->ops.count && !main; i++) {
      if (block->ops.data[i]->opcode == HALO_MLIR_OP_FUNC) main = block->ops.data[i];
    }
  }
  if (!main) halo_translate_wrong(t, "there is no function @main, which a program begins with");
  return main ? halo_translate_function(t, halo_mlir_string(main, "sym_name", "")) : NULL;
}

static void entry_main(halo_translator *t) {
  halo_mlir_op *main = entry_function(t);
  if (!main) return;
  t->op = main;
  halo_mlir_block *block = main->regions[0].block;
  int32_t count = block->ops.count ? block->ops.data[block->ops.count - 1]->operand_count : 0;
  int32_t number = 0;
  halo_computation *outer;
  t->module->entry = halo_translate_begin(t, "main", &outer);
  for (int32_t i = 0; i < block->arg_count && halo_translate_ok(t); i++) {
    entry_argument(t, main, &block->args[i], i, &number, count);
  }
  if (t->how.arguments && halo_translate_ok(t) && number != t->how.argument_count) {
    halo_translate_wrong(t, "%d argument%s given: expected %d", t->how.argument_count,
                         t->how.argument_count == 1 ? " is" : "s are", number);
  }
  halo_instr **results = halo_arena_array(t->arena, halo_instr *, count + 1);
  halo_translate_function_block(t, main, results, count);
  halo_instr *root = halo_translate_pack(t, results, count);
  root = entry_shard(t, main, root, count);
  halo_translate_end(t, root, outer);
  if (halo_translate_ok(t)) {
    entry_finish(t);
    halo_translate_places(t, main);
  }
  t->op = NULL;
}

/* ---- The module ---- */

static void module_attributes(halo_translator *t) {
  const halo_mlir_op *op = t->program->module;
  int64_t replicas = halo_mlir_int(op, "mhlo.num_replicas", 1);
  int64_t partitions = halo_mlir_int(op, "mhlo.num_partitions", 1);
  t->module->replica_count = replicas > 0 ? replicas : 1;
  t->module->num_partitions = partitions > 0 ? partitions : 1;
  t->op = t->program->module;
  halo_translate_annotate(t, op);
  for (int32_t i = 0; i < t->note_count; i++) {
    if (t->notes[i].id != HALO_ATTR_FRONTEND_ATTRIBUTES) continue;
    t->module->frontend = t->notes[i].strings.data;
    t->module->frontend_count = t->notes[i].strings.count;
  }
  t->note_count = 0;
  t->op = NULL;
}

/* The name as HLO can have it. */
static const char *module_name(const halo_mlir_program *program, halo_arena *arena) {
  const char *name = halo_mlir_string(program->module, "sym_name", "");
  char *copy = halo_arena_strdup(arena, *name ? name : "module");
  for (char *c = copy; *c; c++) {
    bool good = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || *c == '_' ||
                (c > copy && ((*c >= '0' && *c <= '9') || *c == '.' || *c == '-'));
    if (!good) *c = '_';
  }
  return copy;
}

/* Parameters as they are declared, and no result. */
static void module_parameters(halo_translator *t) {
  halo_mlir_op *main = entry_function(t);
  if (!main) return;
  halo_mlir_block *block = main->regions[0].block;
  halo_computation *outer;
  int32_t number = 0;
  t->op = main;
  t->module->entry = halo_translate_begin(t, "main", &outer);
  t->module->entry_params = halo_arena_array(t->arena, const halo_shape *, block->arg_count + 1);
  for (int32_t i = 0; i < block->arg_count && halo_translate_ok(t); i++) {
    if (entry_is_platform(entry_attrs(main, "arg_attrs", i))) continue;
    const halo_shape *shape = halo_translate_type(t, block->args[i].type);
    halo_translate_parameter(t, number, shape, block->args[i].loc);
    t->module->entry_params[number++] = shape;
  }
  halo_instr *root = halo_translate_pack(t, NULL, 0);
  halo_translate_end(t, root, outer);
  if (root) t->module->entry_result = root->shape;
  t->op = NULL;
}

static halo_status module_make(halo_mlir_program *program, const halo_specialisation *how,
                               bool parameters, halo_module **out) {
  *out = NULL;
  halo_arena scratch = {0};
  halo_translator t = {.program = program};
  t.module = halo_module_create(module_name(program, &scratch));
  halo_arena_deinit(&scratch);
  t.arena = &t.module->arena;
  if (how) t.how = *how;
  t.fold = !parameters && program_is_open(program);
  program_functions(&t);
  if (halo_translate_ok(&t)) module_attributes(&t);
  if (parameters) {
    module_parameters(&t);
  } else {
    entry_main(&t);
  }
  halo_map_deinit(&t.functions);
  halo_pointer_map_deinit(&t.metadata);
  if (t.status == HALO_OK && !parameters) {
    t.status = halo_fail_in(halo_module_verify(t.module), "%s", program->name);
  }
  if (t.status == HALO_OK) {
    *out = t.module;
  } else {
    halo_module_release(t.module);
  }
  return t.status;
}

halo_status halo_stablehlo_to_module(halo_mlir_program *program, const halo_specialisation *how,
                                     halo_module **out) {
  return module_make(program, how, false, out);
}

halo_status halo_stablehlo_to_parameters(halo_mlir_program *program, halo_module **out) {
  return module_make(program, NULL, true, out);
}
