/* SPDX-License-Identifier: Apache-2.0 */
/* evaluator/dynamic.c: operations on arrays of fewer elements than their shapes' bounds. A value has the
 * extents that it has at run time, and the operation is evaluated as if its text had been written for these. */
#include "evaluator/eval.h"
#include "hlo/infer.h"

#include <string.h>

/* The operation as written for the extents at hand. */
typedef struct dynamic_call {
  halo_instr instr;
  halo_instr **shapes;     /* stand-ins for its operands, which have their extents */
  halo_literal **operands; /* references */
  halo_arena arena;
} dynamic_call;

/* ---- Cutting operands to one size ---- */

static halo_status dynamic_crop(const halo_literal *from, const int64_t *dims, halo_literal **out) {
  const halo_shape *shape = from->shape;
  int64_t from_strides[HALO_MAX_RANK], to_strides[HALO_MAX_RANK];
  halo_shape cropped = *shape;
  cropped.dims = dims;
  HALO_TRY(halo_literal_create(&cropped, out));
  if (halo_shape_byte_size(&cropped) == 0) return HALO_OK;
  eval_strides(shape->rank, shape->dims, from_strides);
  eval_strides(shape->rank, dims, to_strides);
  eval_move(halo_type_size(shape->type), shape->rank, dims, (*out)->data, to_strides, from->data,
            from_strides);
  return HALO_OK;
}

/* Cuts an operand to `size` along a dimension, if it is longer. */
static halo_status dynamic_cut(dynamic_call *c, int32_t operand, int64_t dim, int64_t size) {
  halo_literal *whole = c->operands[operand], *part;
  int64_t dims[HALO_MAX_RANK];
  if (whole->shape->dims[dim] <= size) return HALO_OK;
  memcpy(dims, whole->shape->dims, sizeof *dims * (size_t)whole->shape->rank);
  dims[dim] = size;
  HALO_TRY(dynamic_crop(whole, dims, &part));
  halo_literal_release(whole);
  c->operands[operand] = part;
  c->shapes[operand]->shape = part->shape;
  return HALO_OK;
}

/* Cuts two dimensions of two operands to the smaller of their sizes. */
static halo_status dynamic_agree(dynamic_call *c, int32_t a, int64_t a_dim, int32_t b,
                                 int64_t b_dim) {
  HALO_TRY(dynamic_cut(c, a, a_dim, c->operands[b]->shape->dims[b_dim]));
  return dynamic_cut(c, b, b_dim, c->operands[a]->shape->dims[a_dim]);
}

/* The same for all dimensions of the operands of the first one's rank, among the first `count`. */
static halo_status dynamic_agree_all(dynamic_call *c, int32_t count) {
  int32_t first = 0;
  while (first < count - 1 && c->operands[first]->shape->rank == 0) first++;
  int rank = c->operands[first]->shape->rank;
  for (int round = 0; round < 2; round++) {
    for (int32_t o = first + 1; o < count; o++) {
      if (c->operands[o]->shape->rank != rank) continue;
      for (int d = 0; d < rank; d++) HALO_TRY(dynamic_agree(c, first, d, o, d));
    }
  }
  return HALO_OK;
}

/* Dimensions that two attributes list pair by pair. */
static halo_status dynamic_agree_lists(dynamic_call *c, halo_attr_id a, halo_attr_id b) {
  int32_t count, other;
  const int64_t *first = halo_instr_ints(&c->instr, a, &count);
  const int64_t *second = halo_instr_ints(&c->instr, b, &other);
  for (int32_t i = 0; i < count; i++) HALO_TRY(dynamic_agree(c, 0, first[i], 1, second[i]));
  return HALO_OK;
}

/* ---- Attributes and written shapes ---- */

static int64_t *dynamic_list(dynamic_call *c, halo_attr_id id, int32_t *count) {
  const halo_attr *old = halo_instr_attr(&c->instr, id);
  halo_attr attr = *old;
  size_t size = sizeof(int64_t) * (size_t)old->ints.count;
  int64_t *list = halo_arena_copy(&c->arena, old->ints.data, size);
  attr.ints.data = list;
  for (int32_t i = 0; i < c->instr.attr_count; i++) {
    if (c->instr.attrs[i].id == id) c->instr.attrs[i] = attr;
  }
  *count = attr.ints.count;
  return list;
}

/* Slices of all that a dimension has take all that there is. */
static void dynamic_full_slices(dynamic_call *c, halo_attr_id id, const halo_shape *bounds) {
  int32_t count;
  int64_t *sizes = dynamic_list(c, id, &count);
  for (int32_t d = 0; d < count; d++) {
    if (sizes[d] == bounds->dims[d]) sizes[d] = c->operands[0]->shape->dims[d];
  }
}

static void dynamic_clip_slices(dynamic_call *c) {
  int32_t count;
  int64_t *slices = dynamic_list(c, HALO_ATTR_SLICE, &count);
  for (int32_t d = 0; d < count / 3; d++) {
    int64_t size = c->operands[0]->shape->dims[d];
    if (slices[3 * d + 1] > size) slices[3 * d + 1] = size;
    if (slices[3 * d] > slices[3 * d + 1]) slices[3 * d] = slices[3 * d + 1];
  }
}

static void dynamic_write_shape(dynamic_call *c, const int64_t *dims) {
  const halo_shape *to = c->instr.shape;
  c->instr.shape = halo_shape_new(&c->arena, to->type, to->rank, dims);
}

static void dynamic_write_broadcast(dynamic_call *c) {
  int32_t count;
  int64_t sizes[HALO_MAX_RANK];
  const int64_t *dims = halo_instr_ints(&c->instr, HALO_ATTR_DIMENSIONS, &count);
  memcpy(sizes, c->instr.shape->dims, sizeof *sizes * (size_t)c->instr.shape->rank);
  for (int32_t i = 0; i < count; i++) sizes[dims[i]] = c->operands[0]->shape->dims[i];
  dynamic_write_shape(c, sizes);
}

/* Runs of dimensions of equal product are of equal product at run time too: in each the dynamic dimension of
 * the result, or else the first of any extent, takes what the others leave. */
static void dynamic_write_reshape(dynamic_call *c, const halo_shape *bounds) {
  const halo_shape *to = c->instr.shape, *now = c->operands[0]->shape;
  int64_t sizes[HALO_MAX_RANK];
  memcpy(sizes, to->dims, sizeof *sizes * (size_t)to->rank);
  for (int from_end = 0, end = 0; from_end < bounds->rank || end < to->rank;) {
    int begin = end, free = -1;
    int64_t left = 1, right = 1, actual = 1, others = 1;
    do {
      if (from_end < bounds->rank && (left <= right || end == to->rank)) {
        left *= bounds->dims[from_end];
        actual *= now->dims[from_end++];
      } else {
        right *= to->dims[end++];
      }
    } while (left != right && (from_end < bounds->rank || end < to->rank));
    for (int d = begin; d < end; d++) {
      bool plain = free < 0 && to->dims[d] != 1;
      if (halo_shape_dim_is_dynamic(to, d) || plain) free = d;
    }
    for (int d = begin; d < end; d++) others *= d == free ? 1 : to->dims[d];
    if (free >= 0) sizes[free] = others ? actual / others : 0;
  }
  dynamic_write_shape(c, sizes);
}

/* ---- Operations ---- */

static halo_status dynamic_adapt(dynamic_call *c, const halo_shape *bounds) {
  halo_opcode opcode = c->instr.opcode;
  int32_t count = c->instr.operand_count;
  if (halo_opcode_has_trait(opcode, HALO_TRAIT_EW) || opcode == HALO_OP_MAP ||
      opcode == HALO_OP_SORT) {
    HALO_TRY(dynamic_agree_all(c, count));
    bool converts = opcode == HALO_OP_CONVERT || opcode == HALO_OP_STOCHASTIC_CONVERT;
    if (converts) dynamic_write_shape(c, c->operands[0]->shape->dims);
  } else if (opcode == HALO_OP_REDUCE) {
    return dynamic_agree_all(c, count / 2);
  } else if (opcode == HALO_OP_DOT) {
    HALO_TRY(dynamic_agree_lists(c, HALO_ATTR_LHS_BATCH_DIMS, HALO_ATTR_RHS_BATCH_DIMS));
    return dynamic_agree_lists(c, HALO_ATTR_LHS_CONTRACTING_DIMS, HALO_ATTR_RHS_CONTRACTING_DIMS);
  } else if (opcode == HALO_OP_DYNAMIC_UPDATE_SLICE) {
    const halo_shape *all = c->operands[0]->shape;
    for (int d = 0; d < all->rank; d++) HALO_TRY(dynamic_cut(c, 1, d, all->dims[d]));
  } else if (opcode == HALO_OP_SLICE) {
    dynamic_clip_slices(c);
  } else if (opcode == HALO_OP_DYNAMIC_SLICE) {
    dynamic_full_slices(c, HALO_ATTR_DYNAMIC_SLICE_SIZES, bounds);
  } else if (opcode == HALO_OP_GATHER) {
    dynamic_full_slices(c, HALO_ATTR_SLICE_SIZES, bounds);
  } else if (opcode == HALO_OP_BROADCAST) {
    dynamic_write_broadcast(c);
  } else if (opcode == HALO_OP_RESHAPE) {
    dynamic_write_reshape(c, bounds);
  }
  return HALO_OK;
}

static halo_status dynamic_evaluate(dynamic_call *c, const eval_call *call, halo_literal **out) {
  const halo_shape *bounds = call->instr->operand_count ? call->instr->operands[0]->shape : NULL;
  HALO_TRY(dynamic_adapt(c, bounds));
  const halo_shape *shape;
  HALO_TRY(halo_infer_shape(&c->instr, &c->arena, &shape));
  c->instr.shape = shape;
  eval_call inner = {.instr = &c->instr, .operands = c->operands, .depth = call->depth};
  return eval_fn_of(c->instr.opcode)(&inner, out);
}

halo_status eval_dynamic(const eval_call *call, halo_literal **out) {
  const halo_instr *instr = call->instr;
  int32_t count = instr->operand_count;
  dynamic_call c = {.instr = *instr};
  c.shapes = halo_arena_array(&c.arena, halo_instr *, count);
  c.operands = halo_arena_array(&c.arena, halo_literal *, count);
  c.instr.operands = c.shapes;
  c.instr.attrs =
      halo_arena_copy(&c.arena, instr->attrs, sizeof *instr->attrs * (size_t)instr->attr_count);
  for (int32_t o = 0; o < count; o++) {
    halo_instr *shape = halo_arena_new(&c.arena, halo_instr);
    *shape = *instr->operands[o];
    shape->shape = call->operands[o]->shape;
    c.shapes[o] = shape;
    c.operands[o] = call->operands[o];
    halo_literal_retain(c.operands[o]);
  }
  halo_status status = dynamic_evaluate(&c, call, out);
  for (int32_t o = 0; o < count; o++) halo_literal_release(c.operands[o]);
  halo_arena_deinit(&c.arena);
  return status;
}

/* ---- The operations that know of sizes ---- */

halo_status eval_get_dimension_size(const eval_call *call, halo_literal **out) {
  int32_t count;
  const int64_t *dims = halo_instr_ints(call->instr, HALO_ATTR_DIMENSIONS, &count);
  HALO_TRY(halo_literal_create(call->instr->shape, out));
  halo_literal_set_i64(*out, 0, call->operands[0]->shape->dims[dims[0]]);
  return HALO_OK;
}

halo_status eval_set_dimension_size(const eval_call *call, halo_literal **out) {
  int32_t count;
  const halo_literal *from = call->operands[0];
  int64_t dim = halo_instr_ints(call->instr, HALO_ATTR_DIMENSIONS, &count)[0];
  int64_t size = halo_literal_get_i64(call->operands[1], 0), dims[HALO_MAX_RANK];
  if (size < 0 || size > from->shape->dims[dim]) {
    return halo_fail(HALO_UNIMPLEMENTED, "%s: a size of %lld for %lld elements cannot be evaluated",
                     call->instr->name, (long long)size, (long long)from->shape->dims[dim]);
  }
  memcpy(dims, from->shape->dims, sizeof *dims * (size_t)from->shape->rank);
  dims[dim] = size;
  return dynamic_crop(from, dims, out);
}

halo_status eval_dynamic_reshape(const eval_call *call, halo_literal **out) {
  const halo_shape *from = call->operands[0]->shape, *to = call->instr->shape;
  int64_t dims[HALO_MAX_RANK];
  for (int d = 0; d < to->rank; d++) dims[d] = halo_literal_get_i64(call->operands[1 + d], 0);
  const halo_shape shape = {
      .type = to->type, .rank = to->rank, .dims = dims, .minor_to_major = to->minor_to_major};
  if (halo_shape_element_count(&shape) != halo_shape_element_count(from)) {
    return halo_fail(HALO_UNIMPLEMENTED, "%s: the sizes do not give the operand's %lld elements",
                     call->instr->name, (long long)halo_shape_element_count(from));
  }
  HALO_TRY(halo_literal_create(&shape, out));
  size_t size = (size_t)halo_shape_byte_size(&shape);
  if (size) memcpy((*out)->data, call->operands[0]->data, size);
  return HALO_OK;
}
