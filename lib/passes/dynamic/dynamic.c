/* SPDX-License-Identifier: Apache-2.0 */
/* passes/dynamic/dynamic.c: notes of run-time sizes, and what rules make new instructions with. */
#include "passes/dynamic/dynamic.h"

/* ---- Notes: for a value a list by leaf, of lists by dimension, of sizes; each may be NULL ---- */

halo_instr *halo_dynamic_leaf_size(const halo_dynamic *d, const halo_instr *value, int32_t leaf,
                                   int dim) {
  halo_instr ***leaves = value ? halo_pointer_map_get(&d->sizes, value) : NULL;
  return leaves && leaves[leaf] ? leaves[leaf][dim] : NULL;
}

halo_instr *halo_dynamic_size(const halo_dynamic *d, const halo_instr *array, int dim) {
  return halo_dynamic_leaf_size(d, array, 0, dim);
}

halo_instr *halo_dynamic_extent(halo_dynamic *d, const halo_instr *array, int dim) {
  halo_instr *size = halo_dynamic_size(d, array, dim);
  return size ? size : halo_dynamic_number(d, array->shape->dims[dim]);
}

bool halo_dynamic_any(const halo_dynamic *d, const halo_instr *value) {
  return halo_pointer_map_get(&d->sizes, value) != NULL;
}

static halo_arena *dynamic_arena(const halo_dynamic *d) { return &d->all->module->arena; }

/* The list of a value, made if need be. */
static halo_instr ***dynamic_leaves(halo_dynamic *d, const halo_instr *value) {
  halo_instr ***leaves = halo_pointer_map_get(&d->sizes, value);
  if (leaves) return leaves;
  leaves = halo_arena_array(dynamic_arena(d), halo_instr **, halo_shape_leaf_count(value->shape));
  halo_pointer_map_set(&d->sizes, value, leaves);
  return leaves;
}

static bool dynamic_is_number(const halo_instr *size, int64_t *out) {
  if (!size || size->opcode != HALO_OP_CONSTANT || size->literal->elided) return false;
  *out = halo_literal_get_i64(size->literal, 0);
  return true;
}

void halo_dynamic_set_leaf(halo_dynamic *d, const halo_instr *value, int32_t leaf, int dim,
                           halo_instr *size) {
  int64_t number;
  if (!value || !size) return;
  const halo_shape *shape = halo_leaf_shape(value->shape, leaf);
  if (dynamic_is_number(size, &number) && number == shape->dims[dim]) return;
  if (shape->dims[dim] > INT32_MAX) {
    halo_dynamic_fail(d, d->x.like, "has a dimension whose bound does not fit s32");
    return;
  }
  halo_instr ***leaves = dynamic_leaves(d, value);
  if (!leaves[leaf]) leaves[leaf] = halo_arena_array(dynamic_arena(d), halo_instr *, shape->rank);
  leaves[leaf][dim] = size;
}

void halo_dynamic_set(halo_dynamic *d, const halo_instr *array, int dim, halo_instr *size) {
  halo_dynamic_set_leaf(d, array, 0, dim, size);
}

void halo_dynamic_copy_leaves(halo_dynamic *d, const halo_instr *from, int32_t from_leaf,
                              const halo_instr *to, int32_t to_leaf, int32_t count) {
  halo_instr ***leaves = halo_pointer_map_get(&d->sizes, from);
  for (int32_t l = 0; leaves && l < count; l++) {
    halo_instr **sizes = leaves[from_leaf + l];
    if (!sizes) continue;
    int rank = halo_leaf_shape(from->shape, from_leaf + l)->rank;
    for (int i = 0; i < rank; i++) halo_dynamic_set_leaf(d, to, to_leaf + l, i, sizes[i]);
  }
}

void halo_dynamic_copy(halo_dynamic *d, const halo_instr *from, const halo_instr *to) {
  if (!from || !to) return;
  halo_dynamic_copy_leaves(d, from, 0, to, 0, halo_shape_leaf_count(from->shape));
}

halo_instr *halo_dynamic_fail(halo_dynamic *d, const halo_instr *instr, const char *why) {
  if (d->x.status != HALO_OK) return NULL;
  halo_arena scratch = {0};
  const char *line = instr->line > 0 ? halo_arena_printf(&scratch, "line %d: ", instr->line) : "";
  d->x.status = halo_fail(HALO_UNIMPLEMENTED, "%s%s: %s %s", line, instr->name,
                          halo_opcode_name(instr->opcode), why);
  halo_arena_deinit(&scratch);
  return NULL;
}

/* ---- New instructions ---- */

halo_instr *halo_dynamic_number(halo_dynamic *d, int64_t value) {
  return halo_rewrite_make_scalar(&d->r, d->x.like, HALO_S32, value);
}

static int64_t dynamic_fold(halo_opcode opcode, int64_t a, int64_t b) {
  if (opcode == HALO_OP_ADD) return a + b;
  if (opcode == HALO_OP_SUBTRACT) return a - b;
  if (opcode == HALO_OP_MULTIPLY) return a * b;
  if (opcode == HALO_OP_MAXIMUM) return a > b ? a : b;
  if (opcode == HALO_OP_MINIMUM) return a < b ? a : b;
  return b ? a / b : 0;
}

halo_instr *halo_dynamic_binary(halo_dynamic *d, halo_opcode opcode, halo_instr *a, halo_instr *b) {
  int64_t x, y;
  if (dynamic_is_number(a, &x) && dynamic_is_number(b, &y)) {
    return halo_dynamic_number(d, dynamic_fold(opcode, x, y));
  }
  return halo_expand_binary(&d->x, opcode, a, b);
}

halo_instr *halo_dynamic_iota(halo_dynamic *d, const halo_shape *like, int dim) {
  const halo_shape *shape = halo_shape_new(dynamic_arena(d), HALO_S32, like->rank, like->dims);
  return halo_expand_iota(&d->x, shape, dim);
}

/* Whether each position of the array lies below the sizes; NULL where they hide nothing. */
static halo_instr *dynamic_valid(halo_dynamic *d, halo_instr *array, halo_instr *const *sizes) {
  halo_instr *valid = NULL;
  for (int i = 0; i < array->shape->rank; i++) {
    halo_instr *size = sizes ? sizes[i] : halo_dynamic_size(d, array, i);
    if (!size) continue;
    size = halo_expand_splat(&d->x, size, array->shape);
    halo_instr *within =
        halo_expand_compare(&d->x, halo_dynamic_iota(d, array->shape, i), HALO_LT, size);
    valid = valid ? halo_expand_binary(&d->x, HALO_OP_AND, valid, within) : within;
  }
  return valid;
}

halo_instr *halo_dynamic_choose(halo_dynamic *d, halo_instr *array, halo_instr *const *sizes,
                                halo_instr *other) {
  if (!array || !other) return NULL;
  halo_instr *valid = dynamic_valid(d, array, sizes);
  if (!valid) return array;
  halo_instr *chosen = halo_expand_select(&d->x, valid, array, other);
  halo_dynamic_copy(d, array, chosen);
  return chosen;
}

void halo_dynamic_mask_operand(halo_dynamic *d, halo_instr *instr, int32_t operand,
                               halo_instr *const *sizes, halo_instr *scalar) {
  halo_instr *array = instr->operands[operand];
  bool any = false;
  for (int i = 0; i < array->shape->rank; i++) any |= sizes[i] != NULL;
  if (!any || !scalar) return;
  scalar = halo_expand_convert(&d->x, scalar, array->shape->type);
  halo_instr *other = halo_expand_splat(&d->x, scalar, array->shape);
  halo_instr *masked = halo_dynamic_choose(d, array, sizes, other);
  if (!masked) return;
  instr->operands[operand] = masked;
  d->r.changed = true;
}

halo_instr *halo_dynamic_again(halo_dynamic *d, const halo_instr *instr) {
  return halo_rewrite_make(&d->r, instr, instr->opcode,
                           halo_shape_static(dynamic_arena(d), instr->shape), instr->operands,
                           instr->operand_count, instr->attrs, instr->attr_count);
}

halo_instr *halo_dynamic_shift(halo_dynamic *d, halo_instr *array, halo_instr *const *starts) {
  if (!array) return NULL;
  const halo_shape *shape = array->shape;
  int64_t padding[3 * HALO_MAX_RANK] = {0};
  halo_instr *from[HALO_MAX_RANK];
  for (int i = 0; i < shape->rank; i++) {
    if (starts[i]) padding[3 * i + 1] = shape->dims[i];
    from[i] = starts[i] ? starts[i] : halo_dynamic_number(d, 0);
  }
  halo_instr *zero = halo_rewrite_make_scalar(&d->r, d->x.like, shape->type, 0);
  halo_instr *room = halo_expand_pad(&d->x, array, zero, padding);
  return halo_expand_dynamic_slice(&d->x, room, from, shape->dims);
}

halo_instr *halo_dynamic_spread(halo_dynamic *d, halo_instr *size, int64_t step) {
  if (step == 1) return size;
  halo_instr *spread = halo_dynamic_binary(d, HALO_OP_MULTIPLY, size, halo_dynamic_number(d, step));
  spread = halo_dynamic_binary(d, HALO_OP_SUBTRACT, spread, halo_dynamic_number(d, step - 1));
  return halo_dynamic_binary(d, HALO_OP_MAXIMUM, spread, halo_dynamic_number(d, 0));
}

halo_instr *halo_dynamic_window(halo_dynamic *d, halo_instr *size, const halo_window_dim *window) {
  size = halo_dynamic_spread(d, size, window->base_dilation);
  int64_t width = window->size > 0 ? (window->size - 1) * window->window_dilation + 1 : 0;
  /* (pads + size - width) / stride + 1, or nothing where no window fits */
  int64_t more = window->pad_low + window->pad_high - width + window->stride;
  if (more) size = halo_dynamic_binary(d, HALO_OP_ADD, size, halo_dynamic_number(d, more));
  if (more < 0) size = halo_dynamic_binary(d, HALO_OP_MAXIMUM, size, halo_dynamic_number(d, 0));
  if (window->stride == 1) return size;
  return halo_dynamic_binary(d, HALO_OP_DIVIDE, size, halo_dynamic_number(d, window->stride));
}
