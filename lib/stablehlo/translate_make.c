/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/translate_make.c: what all translations are made of: shapes, operands, instructions. */
#include "evaluator/evaluator.h"
#include "shape/types.h"
#include "stablehlo/translate.h"

#include <string.h>

/* ---- Shapes ---- */

static const halo_shape *make_array(halo_translator *t, const halo_mlir_type *type) {
  int64_t dims[HALO_MAX_RANK];
  bool dynamic[HALO_MAX_RANK];
  if (type->rank > HALO_MAX_RANK) {
    halo_translate_refuse(t, "an array has %d dimensions, of which at most %d are supported",
                          type->rank, HALO_MAX_RANK);
    return NULL;
  }
  for (int32_t d = 0; d < type->rank; d++) {
    dims[d] = type->dims[d];
    dynamic[d] = dims[d] == HALO_MLIR_DYNAMIC;
    if (!dynamic[d]) continue;
    dims[d] = type->bounds ? type->bounds[d] : HALO_UNBOUNDED;
    if (dims[d] == HALO_MLIR_DYNAMIC) dims[d] = HALO_UNBOUNDED;
  }
  halo_status status = halo_shape_check_array(type->element, type->rank, dims);
  if (status != HALO_OK) {
    halo_translate_failed(t, status);
    return NULL;
  }
  return halo_shape_new_full(t->arena, type->element, type->rank, dims, dynamic, NULL);
}

const halo_shape *halo_translate_type(halo_translator *t, const halo_mlir_type *type) {
  if (!halo_translate_ok(t)) return NULL;
  switch (type->kind) {
    case HALO_MLIR_SCALAR: return halo_shape_new(t->arena, type->element, 0, NULL);
    case HALO_MLIR_TENSOR: return make_array(t, type);
    case HALO_MLIR_TOKEN: return halo_shape_new_token(t->arena);
    case HALO_MLIR_TUPLE: {
      const halo_shape **parts =
          halo_arena_array(t->arena, const halo_shape *, type->input_count + 1);
      for (int32_t i = 0; i < type->input_count; i++) {
        parts[i] = halo_translate_type(t, type->inputs[i]);
        if (!parts[i]) return NULL;
      }
      return halo_shape_new_tuple(t->arena, type->input_count, parts);
    }
    case HALO_MLIR_FUTURE:
    case HALO_MLIR_FUNCTION:
    case HALO_MLIR_OTHER: break;
  }
  halo_strbuf text = {0};
  halo_mlir_type_print(&text, type);
  halo_translate_refuse(t, "values of type %s are not supported", halo_strbuf_text(&text));
  halo_strbuf_deinit(&text);
  return NULL;
}

bool halo_translate_is_bounded(const halo_shape *shape) {
  for (int32_t i = 0; i < shape->count; i++) {
    if (!halo_translate_is_bounded(shape->elements[i])) return false;
  }
  for (int d = 0; d < shape->rank; d++) {
    if (shape->dims[d] == HALO_UNBOUNDED) return false;
  }
  return true;
}

const halo_shape *halo_translate_declared(halo_translator *t, const halo_mlir_op *op, int32_t i) {
  const halo_shape *shape = halo_translate_type(t, op->results[i].type);
  return shape && halo_translate_is_bounded(shape) ? shape : NULL;
}

const halo_shape *halo_translate_declared_all(halo_translator *t, const halo_mlir_op *op) {
  if (op->result_count == 1) return halo_translate_declared(t, op, 0);
  const halo_shape **parts = halo_arena_array(t->arena, const halo_shape *, op->result_count + 1);
  for (int32_t i = 0; i < op->result_count; i++) {
    parts[i] = halo_translate_declared(t, op, i);
    if (!parts[i]) return NULL;
  }
  return halo_shape_new_tuple(t->arena, op->result_count, parts);
}

const halo_shape *halo_translate_array(halo_translator *t, halo_type type, int rank,
                                       const int64_t *dims) {
  if (!halo_translate_ok(t)) return NULL;
  halo_status status = rank <= HALO_MAX_RANK
                           ? halo_shape_check_array(type, rank, dims)
                           : halo_fail(HALO_UNIMPLEMENTED, "an array has %d dimensions", rank);
  halo_translate_failed(t, status);
  return status == HALO_OK ? halo_shape_new(t->arena, type, rank, dims) : NULL;
}

/* ---- Values ---- */

halo_instr *halo_translate_value(halo_translator *t, const halo_mlir_value *value) {
  if (!halo_translate_ok(t)) return NULL;
  halo_instr *instr = value->data;
  if (!instr) {
    halo_translate_wrong(t, "an operand is used before it is made");
  } else if (instr->parent != t->computation) {
    halo_translate_wrong(t, "an operand is not visible here");
    instr = NULL;
  }
  return instr;
}

halo_instr *halo_translate_operand(halo_translator *t, const halo_mlir_op *op, int32_t i) {
  if (halo_translate_ok(t) && i >= op->operand_count) {
    halo_translate_wrong(t, "there is no operand %d", i);
  }
  return halo_translate_ok(t) ? halo_translate_value(t, op->operands[i]) : NULL;
}

halo_instr **halo_translate_operands(halo_translator *t, const halo_mlir_op *op) {
  halo_instr **operands = halo_arena_array(t->arena, halo_instr *, op->operand_count + 1);
  for (int32_t i = 0; i < op->operand_count; i++) operands[i] = halo_translate_operand(t, op, i);
  return operands;
}

const int64_t *halo_translate_known_operand(halo_translator *t, const halo_mlir_op *op, int32_t i,
                                            int32_t expected, int32_t *count) {
  int32_t found;
  if (!count) count = &found;
  *count = 0;
  const halo_instr *operand = halo_translate_operand(t, op, i);
  if (!operand) return NULL;
  const int64_t *list = halo_translate_known(t, operand, count);
  if (!list) {
    halo_translate_refuse(t, "operand %d says extents that are known only when the program runs",
                          i);
  } else if (expected >= 0 && *count != expected) {
    halo_translate_wrong(t, "operand %d has %d number%s: expected %d", i, *count,
                         halo_plural(*count), expected);
  }
  return halo_translate_ok(t) ? list : NULL;
}

void halo_translate_result(halo_translator *t, halo_mlir_op *op, int32_t i, halo_instr *instr) {
  if (halo_translate_ok(t) && i >= op->result_count) {
    halo_translate_wrong(t, "the operation has too few results");
  }
  if (halo_translate_ok(t)) op->results[i].data = instr;
}

void halo_translate_results(halo_translator *t, halo_mlir_op *op, halo_instr *instr) {
  if (!halo_translate_ok(t)) return;
  halo_attr sharding;
  if (halo_translate_sharding(t, op->attrs, op->attr_count, instr->shape, &sharding)) {
    halo_instr_set_attr(instr, &sharding);
  }
  if (op->result_count == 1) {
    halo_translate_result(t, op, 0, instr);
    return;
  }
  int32_t made = halo_shape_is_tuple(instr->shape) ? instr->shape->count : 1;
  if (op->result_count && made != op->result_count) {
    halo_translate_wrong(t, "the operation has %d result%s, not %d", made, halo_plural(made),
                         op->result_count);
  }
  for (int32_t i = 0; i < op->result_count; i++) {
    halo_translate_result(t, op, i, halo_translate_element(t, instr, i));
  }
}

/* ---- Instructions ---- */

/* The last part of a location's name, "add" of "jit(f)/jit(main)/add", and a number that makes it unique. */
static const char *make_name(halo_translator *t, const halo_mlir_loc *loc, const char *fallback) {
  const char *name = loc && loc->name ? loc->name : fallback;
  const char *slash = strrchr(name, '/');
  if (slash && slash[1]) name = slash + 1;
  if (!*name) name = fallback;
  char *copy = halo_arena_printf(t->arena, "%s.%d", name, ++t->numbered);
  for (char *c = copy; *c; c++) {
    bool letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || *c == '_';
    bool other = (*c >= '0' && *c <= '9') || *c == '.' || *c == '-';
    if (!letter && (!other || c == copy)) *c = '_';
  }
  return copy;
}

enum { MAKE_FOLD_ELEMENTS = 4096 };

/* Whether the instruction is of whole numbers, few of them, that are all known. */
static bool make_folds(const halo_instr *instr) {
  const halo_shape *shape = instr->shape;
  if (instr->operand_count == 0 || !halo_shape_is_array(shape)) return false;
  if (!halo_type_is_integral(shape->type) && shape->type != HALO_PRED) return false;
  if (halo_shape_is_dynamic(shape) || halo_shape_element_count(shape) > MAKE_FOLD_ELEMENTS) {
    return false;
  }
  for (int32_t i = 0; i < instr->operand_count; i++) {
    if (instr->operands[i]->opcode != HALO_OP_CONSTANT) return false;
  }
  return halo_evaluator_supports(instr);
}

static halo_instr *make_folded(halo_translator *t, halo_instr *instr) {
  halo_literal **operands = halo_arena_array(t->arena, halo_literal *, instr->operand_count);
  for (int32_t i = 0; i < instr->operand_count; i++) operands[i] = instr->operands[i]->literal;
  halo_literal *value = NULL;
  halo_status status = halo_evaluate_instr(instr, operands, &value);
  if (status == HALO_OUT_OF_MEMORY) halo_translate_failed(t, status);
  if (status != HALO_OK) return instr; /* the program computes it when it runs */
  halo_instr *constant = halo_translate_constant(t, value);
  halo_literal_release(value);
  return constant;
}

/* Whether an instruction is to say that it belongs to each partition by itself: what exchanges something, and what
 * has no operands that say so. */
static bool make_says_manual(const halo_translator *t, halo_opcode opcode, int32_t operand_count) {
  if (!t->manual || t->reducing || t->module->num_partitions <= 1) return false;
  return halo_opcode_has_trait(opcode, HALO_TRAIT_COLL) ||
         (operand_count == 0 && opcode != HALO_OP_PARAMETER);
}

static void make_say_manual(halo_translator *t, halo_instr *instr) {
  halo_sharding *sharding = halo_arena_new(t->arena, halo_sharding);
  if (!halo_translate_shardy_manual(t, halo_shape_is_array(instr->shape) ? instr->shape->rank : -1,
                                    sharding)) {
    return;
  }
  halo_attr attr = {.id = HALO_ATTR_SHARDING, .sharding = sharding};
  halo_instr_set_attr(instr, &attr);
}

halo_instr *halo_translate_emit(halo_translator *t, halo_opcode opcode, const halo_shape *shape,
                                halo_instr *const *operands, int32_t operand_count,
                                const halo_attr *attrs, int32_t attr_count) {
  if (!halo_translate_ok(t)) return NULL;
  halo_attr *all = halo_arena_array(t->arena, halo_attr, attr_count + t->note_count + 1);
  if (attr_count) memcpy(all, attrs, sizeof *all * (size_t)attr_count);
  memcpy(all + attr_count, t->notes, sizeof *all * (size_t)t->note_count);
  halo_instr_spec spec = {.opcode = opcode,
                          .name = make_name(t, t->op ? t->op->loc : NULL, halo_opcode_name(opcode)),
                          .shape = shape,
                          .operands = operands,
                          .operand_count = operand_count,
                          .attrs = all,
                          .attr_count = attr_count + t->note_count,
                          .line = t->op ? t->op->line : 0};
  halo_instr *instr;
  halo_status status = halo_instr_create(t->computation, &spec, &instr);
  if (status != HALO_OK) {
    halo_translate_failed(t, status);
    return NULL;
  }
  if (make_says_manual(t, opcode, operand_count)) make_say_manual(t, instr);
  return t->fold && make_folds(instr) ? make_folded(t, instr) : instr;
}

halo_instr *halo_translate_unary(halo_translator *t, halo_opcode opcode, halo_instr *a) {
  return halo_translate_emit(t, opcode, NULL, &a, 1, NULL, 0);
}

halo_instr *halo_translate_binary(halo_translator *t, halo_opcode opcode, halo_instr *a,
                                  halo_instr *b) {
  return halo_translate_emit(t, opcode, NULL, (halo_instr *[]){a, b}, 2, NULL, 0);
}

halo_instr *halo_translate_constant(halo_translator *t, halo_literal *literal) {
  if (!halo_translate_ok(t)) return NULL;
  halo_instr_spec spec = {.opcode = HALO_OP_CONSTANT,
                          .name = make_name(t, NULL, "constant"),
                          .shape = halo_shape_clone(t->arena, literal->shape),
                          .literal = literal,
                          .line = t->op ? t->op->line : 0};
  return halo_instr_create_unchecked(t->computation, &spec);
}

halo_instr *halo_translate_number(halo_translator *t, const halo_shape *like, double value) {
  if (!halo_translate_ok(t)) return NULL;
  halo_literal *scalar = halo_literal_new_scalar(like->type);
  if (halo_type_is_complex(like->type)) {
    halo_literal_set_c128(scalar, 0, value, 0);
  } else {
    halo_literal_set_f64(scalar, 0, value);
  }
  halo_instr *constant = halo_translate_constant(t, scalar);
  halo_literal_release(scalar);
  return halo_translate_fill(t, constant, like);
}

halo_instr *halo_translate_fill(halo_translator *t, halo_instr *a, const halo_shape *like) {
  if (!halo_translate_ok(t) || a->shape->rank != 0 || like->rank == 0) return a;
  bool dynamic[HALO_MAX_RANK] = {false};
  const halo_shape *shape =
      halo_shape_new_full(t->arena, a->shape->type, like->rank, like->dims, dynamic, NULL);
  halo_attr attr = halo_translate_ints(t, HALO_ATTR_DIMENSIONS, NULL, 0);
  return halo_translate_emit(t, HALO_OP_BROADCAST, shape, &a, 1, &attr, 1);
}

halo_instr *halo_translate_convert(halo_translator *t, halo_instr *a, halo_type type) {
  if (!halo_translate_ok(t) || a->shape->type == type) return a;
  return halo_translate_emit(t, HALO_OP_CONVERT, halo_shape_with_type(t->arena, a->shape, type), &a,
                             1, NULL, 0);
}

halo_instr *halo_translate_compare(halo_translator *t, halo_direction direction, halo_instr *a,
                                   halo_instr *b) {
  halo_attr attr = halo_translate_int(HALO_ATTR_DIRECTION, direction);
  return halo_translate_emit(t, HALO_OP_COMPARE, NULL, (halo_instr *[]){a, b}, 2, &attr, 1);
}

halo_instr *halo_translate_select(halo_translator *t, halo_instr *pred, halo_instr *a,
                                  halo_instr *b) {
  return halo_translate_emit(t, HALO_OP_SELECT, NULL, (halo_instr *[]){pred, a, b}, 3, NULL, 0);
}

halo_instr *halo_translate_element(halo_translator *t, halo_instr *tuple, int64_t index) {
  halo_attr attr = halo_translate_int(HALO_ATTR_INDEX, index);
  return halo_translate_emit(t, HALO_OP_GET_TUPLE_ELEMENT, NULL, &tuple, 1, &attr, 1);
}

halo_instr *halo_translate_pack(halo_translator *t, halo_instr *const *values, int32_t count) {
  if (!halo_translate_ok(t)) return NULL;
  if (count == 1) return values[0];
  return halo_translate_emit(t, HALO_OP_TUPLE, NULL, values, count, NULL, 0);
}

halo_instr *halo_translate_parameter(halo_translator *t, int64_t number, const halo_shape *shape,
                                     const halo_mlir_loc *loc) {
  if (!halo_translate_ok(t) || !shape) return NULL;
  halo_attr metadata;
  bool noted = halo_translate_metadata(t, loc, &metadata);
  halo_arena scratch = {0};
  halo_instr_spec spec = {
      .opcode = HALO_OP_PARAMETER,
      .name = make_name(t, loc, halo_arena_printf(&scratch, "Arg_%lld", (long long)number)),
      .shape = shape,
      .parameter_number = number,
      .attrs = &metadata,
      .attr_count = noted};
  halo_instr *parameter;
  halo_status status = halo_instr_create(t->computation, &spec, &parameter);
  halo_arena_deinit(&scratch);
  halo_translate_failed(t, status);
  return status == HALO_OK ? parameter : NULL;
}

/* ---- Attributes ---- */

halo_attr halo_translate_ints(halo_translator *t, halo_attr_id id, const int64_t *values,
                              int32_t count) {
  halo_attr attr = {.id = id};
  attr.ints.data = halo_arena_copy(t->arena, values, sizeof *values * (size_t)count);
  attr.ints.count = count;
  return attr;
}

halo_attr halo_translate_text(halo_translator *t, halo_attr_id id, const char *text) {
  return (halo_attr){.id = id, .text = halo_arena_strdup(t->arena, text)};
}

halo_attr halo_translate_comp(halo_translator *t, halo_attr_id id, halo_computation *computation) {
  halo_attr attr = {.id = id};
  attr.comps.data = halo_arena_copy(t->arena, &computation, sizeof(halo_computation *));
  attr.comps.count = 1;
  return attr;
}

static char make_lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

halo_attr halo_translate_enum(halo_translator *t, halo_attr_id id, const char *name) {
  const char *const *names = halo_attr_enum_names(id);
  for (int64_t i = 0; names[i]; i++) {
    const char *a = names[i], *b = name;
    while (*a && make_lower(*a) == make_lower(*b)) a++, b++;
    if (!*a && !*b) return halo_translate_int(id, i);
  }
  halo_translate_wrong(t, "%s has no value %s", halo_attr_name(id), name);
  return halo_translate_int(id, 0);
}

/* ---- Computations ---- */

halo_computation *halo_translate_begin(halo_translator *t, const char *name,
                                       halo_computation **outer) {
  *outer = t->computation;
  t->computation = halo_computation_create(t->module, NULL);
  t->computation->name = make_name(t, NULL, name);
  return t->computation;
}

void halo_translate_end(halo_translator *t, halo_instr *root, halo_computation *outer) {
  if (halo_translate_ok(t)) t->computation->root = root;
  t->computation = outer;
}

halo_computation *halo_translate_scalar_body(halo_translator *t, halo_opcode opcode,
                                             halo_type type) {
  if (!halo_translate_ok(t)) return NULL;
  halo_computation *outer, *body = halo_translate_begin(t, halo_opcode_name(opcode), &outer);
  const halo_shape *scalar = halo_shape_new(t->arena, type, 0, NULL);
  halo_instr *a = halo_translate_parameter(t, 0, scalar, NULL);
  halo_instr *b = halo_translate_parameter(t, 1, scalar, NULL);
  halo_translate_end(t, halo_translate_binary(t, opcode, a, b), outer);
  return halo_translate_ok(t) ? body : NULL;
}
