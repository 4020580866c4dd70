/* SPDX-License-Identifier: Apache-2.0 */
/* builder/movement.c: tuples and ops that rearrange elements. */
#include "builder/build.h"

#include <string.h>

/* ---- Tuples, iota ---- */

halo_op halo_tuple(halo_builder *builder, int count, const halo_op *elements) {
  build_call call = halo_build_begin(builder, "halo_tuple");
  return halo_build_nary(&call, HALO_OP_TUPLE, count, elements, 0, NULL);
}

halo_op halo_get_tuple_element(halo_op tuple, int64_t index) {
  build_call call = halo_build_begin_with("halo_get_tuple_element", 1, &tuple);
  halo_attr attr = halo_build_int(HALO_ATTR_INDEX, index);
  return halo_build_nary(&call, HALO_OP_GET_TUPLE_ELEMENT, 1, &tuple, 1, &attr);
}

halo_op halo_iota_array(halo_builder *builder, halo_type type, int rank, const int64_t *dims,
                        int64_t iota_dimension) {
  build_call call = halo_build_begin(builder, "halo_iota_array");
  if (!halo_build_check_list(&call, rank, dims, "dims")) return halo_build_result(&call, NULL);
  halo_status status = halo_shape_check_array(type, rank, dims);
  if (status != HALO_OK) {
    halo_build_record(&call, status);
    return halo_build_result(&call, NULL);
  }
  halo_attr attr = halo_build_int(HALO_ATTR_IOTA_DIMENSION, iota_dimension);
  const halo_shape *shape = halo_shape_new(halo_build_arena(&call), type, rank, dims);
  return halo_build_result(
      &call, halo_build_op(&call, HALO_OP_IOTA, shape, (halo_instr *[3]){NULL}, 1, &attr));
}

halo_op halo_iota(halo_builder *builder, halo_type type, int64_t size) {
  return halo_iota_array(builder, type, 1, &size, 0);
}

/* ---- Broadcasts ---- */

/* Extents that a caller gives for a result. */
static bool movement_check_dims(build_call *call, int rank, const int64_t *dims, const char *what) {
  if (!halo_build_check_list(call, rank, dims, what)) return false;
  for (int i = 0; i < rank && call->ok; i++) {
    if (dims[i] < 0) halo_build_fail(call, "%s entry %d is negative", what, i);
  }
  return call->ok;
}

halo_op halo_broadcast(halo_op operand, int count, const int64_t *sizes) {
  build_call call = halo_build_begin_with("halo_broadcast", 1, &operand);
  halo_instr *x = halo_build_array(&call, operand);
  if (!x || !movement_check_dims(&call, count, sizes, "sizes")) {
    return halo_build_result(&call, NULL);
  }
  int rank = count + x->shape->rank;
  if (rank > HALO_MAX_RANK) {
    halo_build_fail(&call, "the result's rank %d is above %d", rank, HALO_MAX_RANK);
    return halo_build_result(&call, NULL);
  }
  int64_t dims[HALO_MAX_RANK], mapping[HALO_MAX_RANK];
  for (int i = 0; i < rank; i++) dims[i] = i < count ? sizes[i] : x->shape->dims[i - count];
  for (int i = 0; i < x->shape->rank; i++) mapping[i] = count + i;
  return halo_build_result(&call, halo_build_expand(&call, x, rank, dims, mapping));
}

halo_op halo_broadcast_in_dim(halo_op operand, int rank, const int64_t *dims, int count,
                              const int64_t *broadcast_dims) {
  build_call call = halo_build_begin_with("halo_broadcast_in_dim", 1, &operand);
  halo_instr *x = halo_build_array(&call, operand);
  if (!x || !movement_check_dims(&call, rank, dims, "dims") ||
      !halo_build_check_list(&call, count, broadcast_dims, "broadcast_dims")) {
    return halo_build_result(&call, NULL);
  }
  if (count != x->shape->rank) {
    halo_build_fail(&call, "broadcast_dims has %d entr%s, but the operand has rank %d", count,
                    count == 1 ? "y" : "ies", x->shape->rank);
  }
  for (int i = 0; i < count && call.ok; i++) {
    int64_t to = broadcast_dims[i];
    if (to < 0 || to >= rank || (i > 0 && to <= broadcast_dims[i - 1])) {
      halo_build_fail(&call, "broadcast_dims must be strictly increasing and within 0 to %d",
                      rank - 1);
    } else if (x->shape->dims[i] != 1 && x->shape->dims[i] != dims[to]) {
      halo_build_fail(&call, "operand dimension %d is %lld, but must be 1 or %lld", i,
                      (long long)x->shape->dims[i], (long long)dims[to]);
    }
  }
  return halo_build_result(
      &call, call.ok ? halo_build_expand(&call, x, rank, dims, broadcast_dims) : NULL);
}

/* ---- Reshapes ---- */

static halo_instr *movement_reshape(build_call *call, halo_instr *x, const halo_shape *shape) {
  return halo_build_op(call, HALO_OP_RESHAPE, shape, (halo_instr *[3]){x}, 0, NULL);
}

static halo_instr *movement_reshape_dims(build_call *call, halo_instr *x, int rank,
                                         const int64_t *dims) {
  if (!x || !movement_check_dims(call, rank, dims, "dims")) return NULL;
  const halo_shape *shape = halo_shape_new(halo_build_arena(call), x->shape->type, rank, dims);
  return movement_reshape(call, x, shape);
}

halo_op halo_reshape(halo_op operand, int rank, const int64_t *dims) {
  build_call call = halo_build_begin_with("halo_reshape", 1, &operand);
  halo_instr *x = halo_build_array(&call, operand);
  return halo_build_result(&call, movement_reshape_dims(&call, x, rank, dims));
}

halo_op halo_reshape_to(halo_op operand, const halo_shape *shape) {
  build_call call = halo_build_begin_with("halo_reshape_to", 1, &operand);
  halo_instr *x = halo_build_array(&call, operand);
  if (call.ok && !shape) halo_build_fail(&call, "the shape is NULL");
  if (!call.ok) return halo_build_result(&call, NULL);
  return halo_build_result(
      &call, movement_reshape(&call, x, halo_shape_clone(halo_build_arena(&call), shape)));
}

static halo_instr *movement_transpose(build_call *call, halo_instr *x, int count,
                                      const int64_t *permutation) {
  if (!x || !halo_build_check_list(call, count, permutation, "permutation")) return NULL;
  halo_attr attr = halo_build_ints(call, HALO_ATTR_DIMENSIONS, count, permutation);
  return halo_build_op(call, HALO_OP_TRANSPOSE, NULL, (halo_instr *[3]){x}, 1, &attr);
}

halo_op halo_reshape_permuted(halo_op operand, int count, const int64_t *permutation, int rank,
                              const int64_t *dims) {
  build_call call = halo_build_begin_with("halo_reshape_permuted", 1, &operand);
  halo_instr *x = halo_build_array(&call, operand);
  x = movement_transpose(&call, x, count, permutation);
  return halo_build_result(&call, movement_reshape_dims(&call, x, rank, dims));
}

halo_op halo_transpose(halo_op operand, int count, const int64_t *permutation) {
  build_call call = halo_build_begin_with("halo_transpose", 1, &operand);
  halo_instr *x = halo_build_operand(&call, operand);
  return halo_build_result(&call, movement_transpose(&call, x, count, permutation));
}

halo_op halo_collapse(halo_op operand, int count, const int64_t *dims) {
  build_call call = halo_build_begin_with("halo_collapse", 1, &operand);
  halo_instr *x = halo_build_array(&call, operand);
  if (!x || !halo_build_check_list(&call, count, dims, "dims")) {
    return halo_build_result(&call, NULL);
  }
  int64_t result[HALO_MAX_RANK];
  int rank = 0;
  for (int i = 0; i < count && call.ok; i++) {
    if (dims[i] < 0 || dims[i] >= x->shape->rank || dims[i] != dims[0] + i) {
      halo_build_fail(&call, "dims must be consecutive dimensions of the operand's %d",
                      x->shape->rank);
    }
  }
  if (!call.ok || count <= 1) return halo_build_result(&call, x);
  for (int i = 0; i < x->shape->rank; i++) {
    if (i > dims[0] && i < dims[0] + count) {
      /* The size of the whole array fits, but the product may pass a zero extent on its way. */
      if (!halo_mul_i64(result[rank - 1], x->shape->dims[i], &result[rank - 1])) {
        halo_build_fail(&call, "the merged size does not fit 63 bits");
        return halo_build_result(&call, NULL);
      }
    } else {
      result[rank++] = x->shape->dims[i];
    }
  }
  return halo_build_result(&call, movement_reshape_dims(&call, x, rank, result));
}

/* ---- Slices ---- */

halo_op halo_slice(halo_op operand, int count, const int64_t *starts, const int64_t *limits,
                   const int64_t *strides) {
  build_call call = halo_build_begin_with("halo_slice", 1, &operand);
  halo_instr *x = halo_build_operand(&call, operand);
  if (!x || !halo_build_check_list(&call, count, starts, "starts") ||
      !halo_build_check_list(&call, count, limits, "limits")) {
    return halo_build_result(&call, NULL);
  }
  int64_t triples[3 * HALO_MAX_RANK];
  for (int i = 0; i < count; i++) {
    triples[3 * i] = starts[i];
    triples[3 * i + 1] = limits[i];
    triples[3 * i + 2] = strides ? strides[i] : 1;
  }
  halo_attr attr = halo_build_ints(&call, HALO_ATTR_SLICE, 3 * count, triples);
  return halo_build_result(
      &call, halo_build_op(&call, HALO_OP_SLICE, NULL, (halo_instr *[3]){x}, 1, &attr));
}

halo_op halo_slice_in_dim(halo_op operand, int64_t start, int64_t limit, int64_t stride,
                          int64_t dimension) {
  build_call call = halo_build_begin_with("halo_slice_in_dim", 1, &operand);
  halo_instr *x = halo_build_array(&call, operand);
  if (x && (dimension < 0 || dimension >= x->shape->rank)) {
    halo_build_fail(&call, "dimension %lld is outside the operand's %d", (long long)dimension,
                    x->shape->rank);
  }
  if (!call.ok) return halo_build_result(&call, NULL);
  int64_t triples[3 * HALO_MAX_RANK];
  for (int i = 0; i < x->shape->rank; i++) {
    bool chosen = i == dimension;
    triples[3 * i] = chosen ? start : 0;
    triples[3 * i + 1] = chosen ? limit : x->shape->dims[i];
    triples[3 * i + 2] = chosen ? stride : 1;
  }
  halo_attr attr = halo_build_ints(&call, HALO_ATTR_SLICE, 3 * x->shape->rank, triples);
  return halo_build_result(
      &call, halo_build_op(&call, HALO_OP_SLICE, NULL, (halo_instr *[3]){x}, 1, &attr));
}

/* Fixed operands and then the starts. */
static halo_op movement_dynamic(build_call *call, halo_opcode opcode, int fixed,
                                const halo_op *first, int count, const halo_op *starts,
                                int attr_count, const halo_attr *attrs) {
  halo_op ops[HALO_MAX_RANK + 2];
  if (!halo_build_check_list(call, count, starts, "starts")) return halo_build_result(call, NULL);
  memcpy(ops, first, sizeof *ops * (size_t)fixed);
  if (count) memcpy(ops + fixed, starts, sizeof *ops * (size_t)count);
  return halo_build_nary(call, opcode, fixed + count, ops, attr_count, attrs);
}

static halo_op movement_dynamic_slice(build_call *call, halo_op operand, int count,
                                      const halo_op *starts, int size_count, const int64_t *sizes) {
  if (!halo_build_check_list(call, size_count, sizes, "sizes")) {
    return halo_build_result(call, NULL);
  }
  halo_attr attr = halo_build_ints(call, HALO_ATTR_DYNAMIC_SLICE_SIZES, size_count, sizes);
  return movement_dynamic(call, HALO_OP_DYNAMIC_SLICE, 1, &operand, count, starts, 1, &attr);
}

halo_op halo_dynamic_slice(halo_op operand, int count, const halo_op *starts,
                           const int64_t *sizes) {
  build_call call = halo_build_begin_with("halo_dynamic_slice", 1, &operand);
  return movement_dynamic_slice(&call, operand, count, starts, count, sizes);
}

halo_op halo_dynamic_slice_vector(halo_op operand, halo_op starts, int count,
                                  const int64_t *sizes) {
  build_call call =
      halo_build_begin_with("halo_dynamic_slice_vector", 2, (halo_op[]){operand, starts});
  return movement_dynamic_slice(&call, operand, 1, &starts, count, sizes);
}

halo_op halo_dynamic_update_slice(halo_op operand, halo_op update, int count,
                                  const halo_op *starts) {
  halo_op first[] = {operand, update};
  build_call call = halo_build_begin_with("halo_dynamic_update_slice", 2, first);
  return movement_dynamic(&call, HALO_OP_DYNAMIC_UPDATE_SLICE, 2, first, count, starts, 0, NULL);
}

halo_op halo_dynamic_update_slice_vector(halo_op operand, halo_op update, halo_op starts) {
  halo_op first[] = {operand, update};
  build_call call = halo_build_begin_with("halo_dynamic_update_slice_vector", 2, first);
  return movement_dynamic(&call, HALO_OP_DYNAMIC_UPDATE_SLICE, 2, first, 1, &starts, 0, NULL);
}

/* ---- Pad, concatenate, reverse ---- */

static halo_instr *movement_pad(build_call *call, halo_instr *x, halo_instr *value, int count,
                                const halo_padding *padding) {
  int64_t triples[3 * HALO_MAX_RANK];
  for (int i = 0; i < count; i++) {
    triples[3 * i] = padding[i].low;
    triples[3 * i + 1] = padding[i].high;
    triples[3 * i + 2] = padding[i].interior;
  }
  halo_attr attr = halo_build_ints(call, HALO_ATTR_PADDING, 3 * count, triples);
  return halo_build_op(call, HALO_OP_PAD, NULL, (halo_instr *[3]){x, value}, 1, &attr);
}

halo_op halo_pad(halo_op operand, halo_op value, int count, const halo_padding *padding) {
  build_call call = halo_build_begin_with("halo_pad", 2, (halo_op[]){operand, value});
  halo_instr *x = halo_build_operand(&call, operand), *v = halo_build_operand(&call, value);
  if (!halo_build_check_list(&call, count, padding, "padding")) {
    return halo_build_result(&call, NULL);
  }
  return halo_build_result(&call, movement_pad(&call, x, v, count, padding));
}

halo_op halo_pad_in_dim(halo_op operand, halo_op value, int64_t dimension, int64_t low,
                        int64_t high) {
  build_call call = halo_build_begin_with("halo_pad_in_dim", 2, (halo_op[]){operand, value});
  halo_instr *x = halo_build_array(&call, operand), *v = halo_build_operand(&call, value);
  if (call.ok && (dimension < 0 || dimension >= x->shape->rank)) {
    halo_build_fail(&call, "dimension %lld is outside the operand's %d", (long long)dimension,
                    x->shape->rank);
  }
  if (!call.ok) return halo_build_result(&call, NULL);
  halo_padding padding[HALO_MAX_RANK] = {{0}};
  padding[dimension] = (halo_padding){.low = low, .high = high};
  return halo_build_result(&call, movement_pad(&call, x, v, x->shape->rank, padding));
}

halo_op halo_concat_in_dim(halo_builder *builder, int count, const halo_op *operands,
                           int64_t dimension) {
  build_call call = halo_build_begin(builder, "halo_concat_in_dim");
  halo_attr attr = halo_build_ints(&call, HALO_ATTR_DIMENSIONS, 1, &dimension);
  return halo_build_nary(&call, HALO_OP_CONCATENATE, count, operands, 1, &attr);
}

halo_op halo_rev(halo_op operand, int count, const int64_t *dims) {
  build_call call = halo_build_begin_with("halo_rev", 1, &operand);
  if (!halo_build_check_list(&call, count, dims, "dims")) return halo_build_result(&call, NULL);
  halo_attr attr = halo_build_ints(&call, HALO_ATTR_DIMENSIONS, count, dims);
  return halo_build_nary(&call, HALO_OP_REVERSE, 1, &operand, 1, &attr);
}

/* ---- Shuffles ---- */

halo_op halo_shuffle_rotate(halo_op operand, int count, const int64_t *dims,
                            const int64_t *shifts) {
  build_call call = halo_build_begin_with("halo_shuffle_rotate", 1, &operand);
  if (!halo_build_check_list(&call, count, dims, "dims") ||
      !halo_build_check_list(&call, count, shifts, "shifts")) {
    return halo_build_result(&call, NULL);
  }
  const halo_attr attrs[] = {halo_build_ints(&call, HALO_ATTR_DIMENSIONS, count, dims),
                             {.id = HALO_ATTR_SHUFFLE_MODE, .text = "rotate"},
                             halo_build_ints(&call, HALO_ATTR_SHIFTS, count, shifts)};
  return halo_build_nary(&call, HALO_OP_SHUFFLE, 1, &operand, 3, attrs);
}

halo_op halo_shuffle_permute(halo_op operand, int count, const int64_t *dims,
                             halo_literal *indices) {
  build_call call = halo_build_begin_with("halo_shuffle_permute", 1, &operand);
  if (!halo_build_check_list(&call, count, dims, "dims")) return halo_build_result(&call, NULL);
  if (call.ok && (!indices || !halo_shape_is_array(indices->shape))) {
    halo_build_fail(&call, "the indices are no array");
  }
  if (!call.ok) return halo_build_result(&call, NULL);
  halo_module *module = call.builder->top->module;
  halo_vec_push(&module->literals, indices);
  halo_literal_retain(indices);
  const halo_attr attrs[] = {halo_build_ints(&call, HALO_ATTR_DIMENSIONS, count, dims),
                             {.id = HALO_ATTR_SHUFFLE_MODE, .text = "permute"},
                             {.id = HALO_ATTR_INDICES, .literal = indices}};
  return halo_build_nary(&call, HALO_OP_SHUFFLE, 1, &operand, 3, attrs);
}
