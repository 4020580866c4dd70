/* SPDX-License-Identifier: Apache-2.0 */
/* passes/dynamic/moves.c: run-time sizes through operations that put elements elsewhere. Valid elements stay
 * together at the front. */
#include "passes/dynamic/dynamic.h"

/* ---- Reverse, concatenate, slice, pad ---- */

/* All of the dimension is reversed, so that the padding comes first: then the rest moves to the front. */
halo_instr *halo_sized_reverse(halo_dynamic *d, halo_instr *instr) {
  const halo_instr *array = instr->operands[0];
  halo_instr *starts[HALO_MAX_RANK] = {NULL};
  int32_t count;
  const int64_t *dims = halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &count);
  bool any = false;
  for (int32_t i = 0; i < count; i++) {
    halo_instr *size = halo_dynamic_size(d, array, (int)dims[i]);
    if (!size) continue;
    halo_instr *bound = halo_dynamic_number(d, array->shape->dims[dims[i]]);
    starts[dims[i]] = halo_dynamic_binary(d, HALO_OP_SUBTRACT, bound, size);
    any = true;
  }
  halo_instr *value = any ? halo_dynamic_shift(d, halo_dynamic_again(d, instr), starts) : instr;
  halo_dynamic_copy(d, array, value);
  return value;
}

/* `array` with `part` put at `at` along a dimension. */
static halo_instr *moves_put(halo_dynamic *d, halo_instr *array, halo_instr *part, int dim,
                             halo_instr *at) {
  halo_instr *operands[2 + HALO_MAX_RANK] = {array, part};
  for (int i = 0; i < part->shape->rank; i++) {
    operands[2 + i] = i == dim ? at : halo_dynamic_number(d, 0);
  }
  return halo_expand_op(&d->x, HALO_OP_DYNAMIC_UPDATE_SLICE, operands, 2 + part->shape->rank, NULL,
                        0);
}

/* Operands behind a dynamic one are put where its valid elements end, each over the padding before it. */
halo_instr *halo_sized_concatenate(halo_dynamic *d, halo_instr *instr) {
  int32_t count;
  int dim = (int)halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &count)[0];
  halo_instr *at = halo_dynamic_number(d, 0), *value = NULL;
  bool dynamic = false;
  for (int32_t o = 0; o < instr->operand_count; o++) {
    if (dynamic) {
      if (!value) value = halo_dynamic_again(d, instr);
      value = moves_put(d, value, instr->operands[o], dim, at);
    }
    at = halo_dynamic_binary(d, HALO_OP_ADD, at, halo_dynamic_extent(d, instr->operands[o], dim));
    dynamic |= halo_dynamic_size(d, instr->operands[o], dim) != NULL;
  }
  if (!value) value = instr;
  for (int i = 0; i < instr->shape->rank; i++) {
    halo_instr *size = i == dim && dynamic ? at : NULL;
    for (int32_t o = 0; o < instr->operand_count && i != dim && !size; o++) {
      size = halo_dynamic_size(d, instr->operands[o], i);
    }
    halo_dynamic_set(d, value, i, size);
  }
  return value;
}

halo_instr *halo_sized_slice(halo_dynamic *d, halo_instr *instr) {
  const halo_instr *array = instr->operands[0];
  int32_t count;
  const int64_t *slices = halo_instr_ints(instr, HALO_ATTR_SLICE, &count);
  for (int i = 0; i < array->shape->rank; i++) {
    int64_t start = slices[3 * i], limit = slices[3 * i + 1], stride = slices[3 * i + 2];
    halo_instr *size = halo_dynamic_size(d, array, i);
    /* One element is taken to be there. */
    if (!size || instr->shape->dims[i] == 1) continue;
    if (limit < array->shape->dims[i]) {
      size = halo_dynamic_binary(d, HALO_OP_MINIMUM, size, halo_dynamic_number(d, limit));
    }
    halo_instr *more = halo_dynamic_number(d, stride - 1 - start);
    if (stride - 1 - start != 0) size = halo_dynamic_binary(d, HALO_OP_ADD, size, more);
    size = halo_dynamic_binary(d, HALO_OP_MAXIMUM, size, halo_dynamic_number(d, 0));
    if (stride != 1) {
      size = halo_dynamic_binary(d, HALO_OP_DIVIDE, size, halo_dynamic_number(d, stride));
    }
    halo_dynamic_set(d, instr, i, size);
  }
  return instr;
}

/* Padding at the end follows upon the valid elements: what is there instead becomes such. */
halo_instr *halo_sized_pad(halo_dynamic *d, halo_instr *instr) {
  const halo_instr *array = instr->operands[0];
  halo_instr *seen[HALO_MAX_RANK] = {NULL};
  int32_t count;
  const int64_t *padding = halo_instr_ints(instr, HALO_ATTR_PADDING, &count);
  for (int i = 0; i < array->shape->rank; i++) {
    int64_t low = padding[3 * i], high = padding[3 * i + 1];
    halo_instr *size = halo_dynamic_size(d, array, i);
    if (!size) continue;
    if (high > 0) seen[i] = size;
    size = halo_dynamic_spread(d, size, padding[3 * i + 2] + 1);
    size = halo_dynamic_binary(d, HALO_OP_ADD, size, halo_dynamic_number(d, low + high));
    size = halo_dynamic_binary(d, HALO_OP_MAXIMUM, size, halo_dynamic_number(d, 0));
    halo_dynamic_set(d, instr, i, size);
  }
  halo_dynamic_mask_operand(d, instr, 0, seen, instr->operands[1]);
  return instr;
}

/* Elements become several along a last dimension, or several become one. */
halo_instr *halo_sized_bitcast_convert(halo_dynamic *d, halo_instr *instr) {
  const halo_instr *array = instr->operands[0];
  int from = array->shape->rank, to = instr->shape->rank;
  if (from > to && halo_dynamic_size(d, array, to)) {
    return halo_dynamic_fail(d, instr,
                             "of parts whose number is known at run time only cannot run");
  }
  for (int i = 0; i < from && i < to; i++) {
    halo_dynamic_set(d, instr, i, halo_dynamic_size(d, array, i));
  }
  return instr;
}

/* ---- Reshape ---- */

/* A run of the operand's dimensions and one of the result's of equal extent: the smallest there are. */
typedef struct moves_run {
  int from, from_end, to, to_end;
} moves_run;

static int64_t moves_extent(const halo_shape *shape, int from, int end) {
  int64_t extent = 1;
  for (int i = from; i < end; i++) extent *= shape->dims[i];
  return extent;
}

/* Moves on to the next run; false after the last. Extents are not 0. */
static bool moves_next_run(const halo_shape *from, const halo_shape *to, moves_run *run) {
  run->from = run->from_end;
  run->to = run->to_end;
  if (run->from == from->rank && run->to == to->rank) return false;
  int64_t left = 1, right = 1;
  if (run->from_end < from->rank) left = from->dims[run->from_end++];
  if (run->to_end < to->rank) right = to->dims[run->to_end++];
  while (left != right) {
    if (left < right) {
      left *= from->dims[run->from_end++];
    } else {
      right *= to->dims[run->to_end++];
    }
  }
  /* Dimensions of one element belong to what comes before them. */
  while (run->from_end < from->rank && from->dims[run->from_end] == 1) run->from_end++;
  while (run->to_end < to->rank && to->dims[run->to_end] == 1) run->to_end++;
  return true;
}

/* The result's dimension that takes the run's dynamic size; -1: none, *many: it cannot be told. */
static int moves_target(const halo_instr *reshape, const moves_run *run, bool *many) {
  const halo_shape *to = reshape->shape;
  int64_t inferred = halo_instr_int(reshape, HALO_ATTR_INFERRED_DIMENSION, -1);
  int marked = -1, large = -1, marks = 0, larges = 0;
  for (int i = run->to; i < run->to_end; i++) {
    if (i == inferred) return i;
    if (halo_shape_dim_is_dynamic(to, i)) {
      marked = i;
      marks++;
    }
    if (to->dims[i] != 1) {
      large = i;
      larges++;
    }
  }
  *many = marks > 1 || (marks == 0 && larges > 1);
  if (marks) return marked;
  return larges || run->to == run->to_end ? large : run->to;
}

/* Whether the valid elements are the first ones of the run: dynamic is only its first dimension of several
 * elements. */
static bool moves_in_front(const halo_shape *shape, int from, int end, halo_instr *const *sizes) {
  int64_t before = 1;
  for (int i = from; i < end; i++) {
    if (sizes[i] && before != 1) return false;
    before *= shape->dims[i];
  }
  return true;
}

static void moves_sizes(const halo_dynamic *d, const halo_instr *array, halo_instr **sizes) {
  for (int i = 0; i < array->shape->rank; i++) sizes[i] = halo_dynamic_size(d, array, i);
}

/* Whether a reshape leaves the valid elements where they are. */
static bool moves_nothing(const halo_dynamic *d, const halo_instr *array, const halo_shape *to,
                          halo_instr *const *sizes) {
  halo_instr *old[HALO_MAX_RANK];
  moves_run run = {0};
  moves_sizes(d, array, old);
  while (moves_next_run(array->shape, to, &run)) {
    bool same = run.from_end - run.from == 1 && run.to_end - run.to == 1;
    if (same) continue;
    if (!moves_in_front(array->shape, run.from, run.from_end, old) ||
        !moves_in_front(to, run.to, run.to_end, sizes)) {
      return false;
    }
  }
  return true;
}

/* `at` counts the valid elements of an array: where each lies in memory. */
static halo_instr *moves_places(halo_dynamic *d, const halo_instr *array, halo_instr *at) {
  const halo_shape *shape = array->shape;
  halo_instr *place = NULL;
  int64_t stride = 1;
  for (int i = shape->rank - 1; i >= 0 && at; i--) {
    halo_instr *extent = halo_dynamic_extent(d, array, i), *index = at;
    if (i > 0) {
      extent = halo_dynamic_binary(d, HALO_OP_MAXIMUM, extent, halo_dynamic_number(d, 1));
      extent = halo_expand_splat(&d->x, extent, at->shape);
      index = halo_expand_binary(&d->x, HALO_OP_REMAINDER, at, extent);
      at = halo_expand_binary(&d->x, HALO_OP_DIVIDE, at, extent);
    }
    halo_instr *step = halo_dynamic_number(d, stride);
    step = index ? halo_expand_splat(&d->x, step, index->shape) : NULL;
    index = halo_expand_binary(&d->x, HALO_OP_MULTIPLY, index, step);
    place = place ? halo_expand_binary(&d->x, HALO_OP_ADD, place, index) : index;
    stride *= shape->dims[i];
  }
  return place;
}

/* For each element of the result its number among the valid ones. */
static halo_instr *moves_count(halo_dynamic *d, const halo_shape *to, halo_instr *const *sizes) {
  halo_instr *at = NULL;
  for (int i = 0; i < to->rank; i++) {
    halo_instr *index = halo_dynamic_iota(d, to, i);
    if (at) {
      halo_instr *extent = sizes[i] ? sizes[i] : halo_dynamic_number(d, to->dims[i]);
      extent = halo_expand_splat(&d->x, extent, to);
      at = halo_expand_binary(&d->x, HALO_OP_MULTIPLY, at, extent);
    }
    at = at ? halo_expand_binary(&d->x, HALO_OP_ADD, at, index) : index;
  }
  return at;
}

/* The elements of an array at places of its memory. */
static halo_instr *moves_fetch(halo_dynamic *d, halo_instr *array, halo_instr *places) {
  halo_module *module = d->all->module;
  if (!places) return NULL;
  const int64_t count = halo_shape_element_count(array->shape), one = 1, first = 0;
  const halo_shape *line = halo_shape_new(&module->arena, array->shape->type, 1, &count);
  halo_instr *flat = halo_rewrite_make_unary(&d->r, d->x.like, HALO_OP_RESHAPE, line, array);
  const halo_attr attrs[] = {
      halo_rewrite_list_attr(module, HALO_ATTR_OFFSET_DIMS, NULL, 0),
      halo_rewrite_list_attr(module, HALO_ATTR_COLLAPSED_SLICE_DIMS, &first, 1),
      halo_rewrite_list_attr(module, HALO_ATTR_START_INDEX_MAP, &first, 1),
      {.id = HALO_ATTR_INDEX_VECTOR_DIM, .i = places->shape->rank},
      halo_rewrite_list_attr(module, HALO_ATTR_SLICE_SIZES, &one, 1)};
  return halo_expand_op(&d->x, HALO_OP_GATHER, (halo_instr *[]){flat, places}, 2, attrs, 5);
}

/* A reshape whose result has these sizes. */
static halo_instr *moves_reshape(halo_dynamic *d, halo_instr *instr, halo_instr *const *sizes) {
  halo_arena *arena = &d->all->module->arena;
  halo_instr *array = instr->operands[0], *value;
  const halo_shape *to = halo_shape_static(arena, instr->shape);
  if (halo_shape_element_count(to) == 0 || moves_nothing(d, array, to, sizes)) {
    value = halo_rewrite_make_unary(&d->r, instr, HALO_OP_RESHAPE, to, array);
  } else if (halo_shape_element_count(to) > INT32_MAX) {
    return halo_dynamic_fail(d, instr, "of so many elements cannot put valid ones together");
  } else {
    value = moves_fetch(d, array, moves_places(d, array, moves_count(d, to, sizes)));
  }
  for (int i = 0; i < to->rank; i++) halo_dynamic_set(d, value, i, sizes[i]);
  return value;
}

halo_instr *halo_sized_reshape(halo_dynamic *d, halo_instr *instr) {
  const halo_instr *array = instr->operands[0];
  const halo_shape *from = array->shape, *to = instr->shape;
  halo_instr *sizes[HALO_MAX_RANK] = {NULL};
  moves_run run = {0};
  bool empty = halo_shape_element_count(from) == 0;
  while (!empty && moves_next_run(from, to, &run)) {
    bool dynamic = false, many = false;
    halo_instr *size = halo_dynamic_number(d, 1);
    for (int i = run.from; i < run.from_end; i++) {
      dynamic |= halo_dynamic_size(d, array, i) != NULL;
      size = halo_dynamic_binary(d, HALO_OP_MULTIPLY, size, halo_dynamic_extent(d, array, i));
    }
    if (!dynamic) continue;
    int target = moves_target(instr, &run, &many);
    if (many) {
      return halo_dynamic_fail(d, instr,
                               "does not tell which dimension of the result takes a size that is "
                               "known at run time only");
    }
    if (target < 0) continue; /* of a single element, which is taken to be there */
    int64_t others = moves_extent(to, run.to, run.to_end) / to->dims[target];
    size = halo_dynamic_binary(d, HALO_OP_DIVIDE, size, halo_dynamic_number(d, others));
    sizes[target] = size;
  }
  return moves_reshape(d, instr, sizes);
}

halo_instr *halo_sized_dynamic_reshape(halo_dynamic *d, halo_instr *instr) {
  halo_instr *sizes[HALO_MAX_RANK] = {NULL};
  for (int i = 0; i < instr->shape->rank; i++) {
    if (halo_shape_dim_is_dynamic(instr->shape, i)) sizes[i] = instr->operands[1 + i];
  }
  return moves_reshape(d, instr, sizes);
}
