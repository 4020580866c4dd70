/* SPDX-License-Identifier: Apache-2.0 */
/* evaluator/movement.c: operations that only put elements elsewhere. */
#include "base/memory.h"
#include "evaluator/eval.h"

#include <string.h>

halo_status eval_iota(const eval_call *call, halo_literal **out) {
  HALO_TRY(halo_literal_create(call->instr->shape, out));
  const halo_shape *shape = call->instr->shape;
  int64_t dimension = halo_instr_int(call->instr, HALO_ATTR_IOTA_DIMENSION, 0);
  int64_t strides[HALO_MAX_RANK], total = halo_shape_element_count(shape);
  eval_strides(shape->rank, shape->dims, strides);
  for (int64_t i = 0; i < total; i++) {
    eval_scalar at = {(uint64_t)(i / strides[dimension] % shape->dims[dimension]), 0};
    eval_set(*out, i, eval_convert(HALO_S64, shape->type, at));
  }
  return HALO_OK;
}

/* Fills the result from the operand's element at base + the sum of index * stride. */
static halo_status movement_gather(const eval_call *call, int64_t base, const int64_t *strides,
                                   halo_literal **out) {
  HALO_TRY(halo_literal_create(call->instr->shape, out));
  const halo_shape *shape = call->instr->shape;
  size_t size = halo_type_size(shape->type);
  int64_t to_strides[HALO_MAX_RANK];
  eval_strides(shape->rank, shape->dims, to_strides);
  const char *from = call->operands[0]->data;
  eval_move(size, shape->rank, shape->dims, (*out)->data, to_strides, from + base * (int64_t)size,
            strides);
  return HALO_OK;
}

halo_status eval_broadcast(const eval_call *call, halo_literal **out) {
  const halo_shape *from = call->operands[0]->shape;
  int32_t count;
  const int64_t *dims = halo_instr_ints(call->instr, HALO_ATTR_DIMENSIONS, &count);
  int64_t own[HALO_MAX_RANK], strides[HALO_MAX_RANK] = {0};
  eval_strides(from->rank, from->dims, own);
  for (int32_t d = 0; d < count; d++) {
    if (from->dims[d] != 1) strides[dims[d]] = own[d];
  }
  return movement_gather(call, 0, strides, out);
}

halo_status eval_reshape(const eval_call *call, halo_literal **out) {
  HALO_TRY(halo_literal_create(call->instr->shape, out));
  size_t size = (size_t)halo_shape_byte_size(call->instr->shape);
  if (size) memcpy((*out)->data, call->operands[0]->data, size);
  return HALO_OK;
}

halo_status eval_transpose(const eval_call *call, halo_literal **out) {
  const halo_shape *from = call->operands[0]->shape;
  int32_t count;
  const int64_t *permutation = halo_instr_ints(call->instr, HALO_ATTR_DIMENSIONS, &count);
  int64_t own[HALO_MAX_RANK], strides[HALO_MAX_RANK];
  eval_strides(from->rank, from->dims, own);
  for (int32_t d = 0; d < count; d++) strides[d] = own[permutation[d]];
  return movement_gather(call, 0, strides, out);
}

halo_status eval_reverse(const eval_call *call, halo_literal **out) {
  const halo_shape *from = call->operands[0]->shape;
  int32_t count;
  const int64_t *dims = halo_instr_ints(call->instr, HALO_ATTR_DIMENSIONS, &count);
  int64_t strides[HALO_MAX_RANK], base = 0;
  eval_strides(from->rank, from->dims, strides);
  for (int32_t i = 0; i < count; i++) {
    base += (from->dims[dims[i]] - 1) * strides[dims[i]];
    strides[dims[i]] = -strides[dims[i]];
  }
  return movement_gather(call, base, strides, out);
}

halo_status eval_slice(const eval_call *call, halo_literal **out) {
  const halo_shape *from = call->operands[0]->shape;
  int32_t count;
  const int64_t *triples = halo_instr_ints(call->instr, HALO_ATTR_SLICE, &count);
  int64_t strides[HALO_MAX_RANK], base = 0;
  eval_strides(from->rank, from->dims, strides);
  for (int d = 0; d < from->rank; d++) {
    base += triples[3 * d] * strides[d];
    strides[d] *= triples[3 * d + 2];
  }
  return movement_gather(call, base, strides, out);
}

static int64_t movement_ceil_div(int64_t a, int64_t b) { return a <= 0 ? 0 : (a + b - 1) / b; }

halo_status eval_pad(const eval_call *call, halo_literal **out) {
  HALO_TRY(halo_literal_create(call->instr->shape, out));
  const halo_shape *from = call->operands[0]->shape, *to = call->instr->shape;
  int64_t total = halo_shape_element_count(to);
  eval_scalar value = eval_get(call->operands[1], 0);
  for (int64_t i = 0; i < total; i++) eval_set(*out, i, value);
  int32_t count;
  const int64_t *triples = halo_instr_ints(call->instr, HALO_ATTR_PADDING, &count);
  int64_t from_strides[HALO_MAX_RANK], to_strides[HALO_MAX_RANK], box[HALO_MAX_RANK];
  int64_t from_base = 0, to_base = 0;
  eval_strides(from->rank, from->dims, from_strides);
  eval_strides(to->rank, to->dims, to_strides);
  for (int d = 0; d < from->rank; d++) {
    /* Element i lands at low + i * step; first .. last - 1 land inside. */
    int64_t low = triples[3 * d], step = triples[3 * d + 2] + 1;
    int64_t first = movement_ceil_div(-low, step);
    int64_t last = movement_ceil_div(to->dims[d] - low, step);
    if (last > from->dims[d]) last = from->dims[d];
    if (first >= last) return HALO_OK;
    box[d] = last - first;
    from_base += first * from_strides[d];
    to_base += (low + first * step) * to_strides[d];
    to_strides[d] *= step;
  }
  int64_t size = (int64_t)halo_type_size(to->type);
  eval_move((size_t)size, to->rank, box, (char *)(*out)->data + to_base * size, to_strides,
            (const char *)call->operands[0]->data + from_base * size, from_strides);
  return HALO_OK;
}

halo_status eval_concatenate(const eval_call *call, halo_literal **out) {
  HALO_TRY(halo_literal_create(call->instr->shape, out));
  const halo_shape *to = call->instr->shape;
  int32_t count;
  int64_t dimension = halo_instr_ints(call->instr, HALO_ATTR_DIMENSIONS, &count)[0], at = 0;
  int64_t from_strides[HALO_MAX_RANK], to_strides[HALO_MAX_RANK];
  int64_t size = (int64_t)halo_type_size(to->type);
  eval_strides(to->rank, to->dims, to_strides);
  for (int32_t k = 0; k < call->instr->operand_count; k++) {
    const halo_shape *from = call->operands[k]->shape;
    eval_strides(from->rank, from->dims, from_strides);
    eval_move((size_t)size, from->rank, from->dims,
              (char *)(*out)->data + at * to_strides[dimension] * size, to_strides,
              call->operands[k]->data, from_strides);
    at += from->dims[dimension];
  }
  return HALO_OK;
}

static int movement_bit(const unsigned char *data, size_t size, int bits, int64_t position) {
  int64_t element = position / bits, bit = position % bits;
  return data[(size_t)element * size + (size_t)bit / 8] >> (bit % 8) & 1;
}

/* The bits of an array as those of `total` elements of another type, both as one stream of bits, least significant
 * first. `result` is zeros. */
static void movement_reinterpret(halo_type from, const unsigned char *data, halo_type to,
                                 unsigned char *result, int64_t total) {
  size_t from_size = halo_type_size(from), to_size = halo_type_size(to);
  int from_bits = halo_type_stored_bits(from), to_bits = halo_type_stored_bits(to);
  bool dense = (size_t)from_bits == from_size * 8 && (size_t)to_bits == to_size * 8;
  if (dense && total) memcpy(result, data, (size_t)total * to_size);
  for (int64_t i = 0; i < total && !dense; i++) {
    for (int b = 0; b < to_bits; b++) {
      int bit = movement_bit(data, from_size, from_bits, i * to_bits + b);
      result[(size_t)i * to_size + (size_t)b / 8] |= (unsigned char)(bit << (b % 8));
    }
  }
}

/* Narrow integers are extended by the type's signedness. */
static void movement_extend(halo_literal *literal) {
  int64_t total = halo_shape_element_count(literal->shape);
  for (int64_t i = 0; i < total; i++) eval_set(literal, i, eval_get(literal, i));
}

halo_status eval_identity(const eval_call *call, halo_literal **out) {
  halo_literal_retain(call->operands[0]);
  *out = call->operands[0];
  return HALO_OK;
}

/* The buffer as it lies in the operand's layout, read as the result's type in the result's. */
halo_status eval_bitcast(const eval_call *call, halo_literal **out) {
  const halo_shape *from = call->instr->operands[0]->shape, *to = call->instr->shape;
  if (!halo_shape_is_array(from) || !halo_shape_is_array(to)) {
    if (!halo_shape_compatible(from, to)) {
      return halo_fail(HALO_UNIMPLEMENTED, "%s: bitcast of a tuple", call->instr->name);
    }
    return eval_identity(call, out);
  }
  size_t from_bytes = (size_t)halo_shape_byte_size(from),
         to_bytes = (size_t)halo_shape_byte_size(to);
  HALO_TRY(halo_literal_create(to, out));
  void *buffer;
  HALO_TRY(halo_try_alloc(from_bytes + to_bytes, "a bitcast's buffer", &buffer));
  char *before = buffer, *after = before + from_bytes;
  int64_t dense[HALO_MAX_RANK], laid[HALO_MAX_RANK];
  eval_strides(from->rank, from->dims, dense);
  halo_shape_strides(from, laid);
  eval_move(halo_type_size(from->type), from->rank, from->dims, before, laid,
            call->operands[0]->data, dense);
  memset(after, 0, to_bytes);
  movement_reinterpret(from->type, (unsigned char *)before, to->type, (unsigned char *)after,
                       halo_shape_element_count(to));
  eval_strides(to->rank, to->dims, dense);
  halo_shape_strides(to, laid);
  eval_move(halo_type_size(to->type), to->rank, to->dims, (*out)->data, dense, after, laid);
  halo_free(buffer);
  movement_extend(*out);
  return HALO_OK;
}

/* The minor dimension that appears or goes is contiguous. */
halo_status eval_bitcast_convert(const eval_call *call, halo_literal **out) {
  HALO_TRY(halo_literal_create(call->instr->shape, out));
  movement_reinterpret(call->operands[0]->shape->type, call->operands[0]->data,
                       call->instr->shape->type, (*out)->data,
                       halo_shape_element_count(call->instr->shape));
  movement_extend(*out);
  return HALO_OK;
}

/* Where the element at a position comes from, along each dimension. */
static void movement_shuffle_from(const halo_instr *instr, const halo_shape *shape, int64_t *at) {
  int32_t count;
  const int64_t *dims = halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &count);
  const halo_attr *indices = halo_instr_attr(instr, HALO_ATTR_INDICES);
  int64_t strides[HALO_MAX_RANK], base = 0;
  if (!indices) {
    const int64_t *shifts = halo_instr_ints(instr, HALO_ATTR_SHIFTS, &count);
    for (int32_t i = 0; i < count; i++) {
      int64_t size = shape->dims[dims[i]];
      at[dims[i]] = ((at[dims[i]] + shifts[i] % size) % size + size) % size;
    }
    return;
  }
  const halo_literal *table = indices->literal;
  eval_strides(table->shape->rank, table->shape->dims, strides);
  for (int d = 0; d < shape->rank; d++) {
    if (table->shape->dims[d] > 1) base += at[d] * strides[d];
  }
  for (int32_t i = 0; i < count; i++) {
    at[dims[i]] = eval_clamped_index(table, base + i, shape->dims[dims[i]] - 1);
  }
}

halo_status eval_shuffle(const eval_call *call, halo_literal **out) {
  const char *mode = halo_instr_attr(call->instr, HALO_ATTR_SHUFFLE_MODE)->text;
  bool permutes = strcmp(mode, "permute") == 0;
  const halo_attr *indices = halo_instr_attr(call->instr, HALO_ATTR_INDICES);
  if (permutes ? indices->literal->elided : strcmp(mode, "rotate") != 0) {
    return halo_fail(HALO_UNIMPLEMENTED, "%s: a shuffle in mode %s cannot be evaluated",
                     call->instr->name, mode);
  }
  const halo_shape *shape = call->operands[0]->shape;
  int64_t strides[HALO_MAX_RANK], index[HALO_MAX_RANK] = {0}, total = 0;
  HALO_TRY(halo_literal_create(call->instr->shape, out));
  eval_strides(shape->rank, shape->dims, strides);
  if (halo_shape_element_count(shape) == 0) return HALO_OK;
  do {
    int64_t from[HALO_MAX_RANK];
    memcpy(from, index, sizeof from);
    movement_shuffle_from(call->instr, shape, from);
    eval_set(*out, total++, eval_get(call->operands[0], eval_offset(shape->rank, from, strides)));
  } while (eval_next(shape->rank, shape->dims, index));
  return HALO_OK;
}
