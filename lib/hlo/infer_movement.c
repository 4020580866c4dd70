/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/infer_movement.c: inference of ops that make, tuple or rearrange values. */
#include "hlo/infer_util.h"

#include <string.h>

halo_status halo_infer_declared(const halo_instr *instr, halo_arena *arena,
                                const halo_shape **out) {
  (void)arena;
  if (!instr->shape) return halo_infer_fail(instr, "the result shape must be written");
  *out = instr->shape;
  return HALO_OK;
}

halo_status halo_infer_constant(const halo_instr *instr, halo_arena *arena,
                                const halo_shape **out) {
  if (!instr->literal) return halo_infer_fail(instr, "the literal is missing");
  *out = halo_shape_clone(arena, instr->literal->shape);
  return HALO_OK;
}

halo_status halo_infer_iota(const halo_instr *instr, halo_arena *arena, const halo_shape **out) {
  (void)arena;
  HALO_TRY(halo_infer_need_written(instr));
  int64_t dim = halo_instr_int(instr, HALO_ATTR_IOTA_DIMENSION, 0);
  if (instr->shape->type == HALO_PRED) {
    return halo_infer_fail(instr, "the element type must be a number, not pred");
  }
  if (dim < 0 || dim >= instr->shape->rank) {
    return halo_infer_fail(instr, "iota_dimension %lld is outside the result's %d dimension%s",
                           (long long)dim, instr->shape->rank, halo_plural(instr->shape->rank));
  }
  *out = instr->shape;
  return HALO_OK;
}

halo_status halo_infer_id(const halo_instr *instr, halo_arena *arena, const halo_shape **out) {
  (void)instr;
  *out = halo_shape_new(arena, HALO_U32, 0, NULL);
  return HALO_OK;
}

halo_status halo_infer_identity(const halo_instr *instr, halo_arena *arena,
                                const halo_shape **out) {
  (void)arena;
  *out = halo_infer_operand(instr, 0);
  return HALO_OK;
}

halo_status halo_infer_after_all(const halo_instr *instr, halo_arena *arena,
                                 const halo_shape **out) {
  for (int32_t i = 0; i < instr->operand_count; i++) {
    if (!halo_shape_is_token(halo_infer_operand(instr, i))) {
      return halo_infer_fail(instr, "operand %d must be a token", i);
    }
  }
  *out = halo_shape_new_token(arena);
  return HALO_OK;
}

halo_status halo_infer_add_dependency(const halo_instr *instr, halo_arena *arena,
                                      const halo_shape **out) {
  (void)arena;
  if (!halo_shape_is_token(halo_infer_operand(instr, 1))) {
    return halo_infer_fail(instr, "operand 1 must be a token");
  }
  *out = halo_infer_operand(instr, 0);
  return HALO_OK;
}

halo_status halo_infer_tuple(const halo_instr *instr, halo_arena *arena, const halo_shape **out) {
  const halo_shape **elements = halo_arena_array(arena, const halo_shape *, instr->operand_count);
  for (int32_t i = 0; i < instr->operand_count; i++) elements[i] = halo_infer_operand(instr, i);
  *out = halo_shape_new_tuple(arena, instr->operand_count, elements);
  return HALO_OK;
}

halo_status halo_infer_get_tuple_element(const halo_instr *instr, halo_arena *arena,
                                         const halo_shape **out) {
  (void)arena;
  const halo_shape *tuple = halo_infer_operand(instr, 0);
  int64_t index = halo_instr_int(instr, HALO_ATTR_INDEX, -1);
  if (!halo_shape_is_tuple(tuple)) return halo_infer_fail(instr, "the operand must be a tuple");
  if (index < 0 || index >= tuple->count) {
    return halo_infer_fail(instr, "index %lld is outside the tuple's %d element%s",
                           (long long)index, tuple->count, halo_plural(tuple->count));
  }
  *out = tuple->elements[index];
  return HALO_OK;
}

halo_status halo_infer_broadcast(const halo_instr *instr, halo_arena *arena,
                                 const halo_shape **out) {
  HALO_TRY(halo_infer_need_arrays(instr, 0));
  HALO_TRY(halo_infer_need_written(instr));
  const halo_shape *from = halo_infer_operand(instr, 0), *to = instr->shape;
  int32_t count;
  const int64_t *dims = halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &count);
  if (count != from->rank) {
    return halo_infer_fail(instr, "dimensions has %d entr%s, but the operand has rank %d", count,
                           count == 1 ? "y" : "ies", from->rank);
  }
  HALO_TRY(halo_infer_check_dims(instr, HALO_ATTR_DIMENSIONS, to->rank, false, NULL));
  bool dynamic[HALO_MAX_RANK] = {false};
  for (int i = 0; i < from->rank; i++) {
    if (from->dims[i] != to->dims[dims[i]]) {
      return halo_infer_fail(
          instr, "operand dimension %d is %lld, but result dimension %lld is %lld", i,
          (long long)from->dims[i], (long long)dims[i], (long long)to->dims[dims[i]]);
    }
    dynamic[dims[i]] = halo_shape_dim_is_dynamic(from, i);
  }
  *out = halo_shape_new_full(arena, from->type, to->rank, to->dims, dynamic, NULL);
  return HALO_OK;
}

halo_status halo_infer_reshape(const halo_instr *instr, halo_arena *arena, const halo_shape **out) {
  HALO_TRY(halo_infer_need_arrays(instr, 0));
  HALO_TRY(halo_infer_need_written(instr));
  const halo_shape *from = halo_infer_operand(instr, 0), *to = instr->shape;
  if (halo_shape_element_count(from) != halo_shape_element_count(to)) {
    return halo_infer_fail(instr, "the operand has %lld element%s, but the result %lld",
                           (long long)halo_shape_element_count(from),
                           halo_plural(halo_shape_element_count(from)),
                           (long long)halo_shape_element_count(to));
  }
  *out = halo_shape_new_full(arena, from->type, to->rank, to->dims, to->dynamic, NULL);
  return HALO_OK;
}

halo_status halo_infer_dynamic_reshape(const halo_instr *instr, halo_arena *arena,
                                       const halo_shape **out) {
  HALO_TRY(halo_infer_reshape(instr, arena, out));
  if (instr->operand_count != 1 + instr->shape->rank) {
    return halo_infer_fail(instr, "expects one size for each of the result's %d dimension%s",
                           instr->shape->rank, halo_plural(instr->shape->rank));
  }
  for (int32_t i = 1; i < instr->operand_count; i++) {
    if (!halo_shape_is_scalar_of(halo_infer_operand(instr, i), HALO_S32)) {
      return halo_infer_fail(instr, "size operand %d must be an s32 scalar", i);
    }
  }
  return HALO_OK;
}

halo_status halo_infer_transpose(const halo_instr *instr, halo_arena *arena,
                                 const halo_shape **out) {
  HALO_TRY(halo_infer_need_arrays(instr, 0));
  const halo_shape *from = halo_infer_operand(instr, 0);
  int32_t count;
  const int64_t *permutation = halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &count);
  if (count != from->rank) {
    return halo_infer_fail(instr, "dimensions is not a permutation of the operand's %d dimension%s",
                           from->rank, halo_plural(from->rank));
  }
  HALO_TRY(halo_infer_check_dims(instr, HALO_ATTR_DIMENSIONS, from->rank, false, NULL));
  int64_t dims[HALO_MAX_RANK];
  bool dynamic[HALO_MAX_RANK];
  for (int i = 0; i < from->rank; i++) {
    dims[i] = from->dims[permutation[i]];
    dynamic[i] = halo_shape_dim_is_dynamic(from, (int)permutation[i]);
  }
  *out = halo_shape_new_full(arena, from->type, from->rank, dims, dynamic, NULL);
  return HALO_OK;
}

halo_status halo_infer_reverse(const halo_instr *instr, halo_arena *arena, const halo_shape **out) {
  HALO_TRY(halo_infer_need_arrays(instr, 0));
  const halo_shape *from = halo_infer_operand(instr, 0);
  HALO_TRY(halo_infer_check_dims(instr, HALO_ATTR_DIMENSIONS, from->rank, false, NULL));
  *out = halo_shape_with_default_layout(arena, from);
  return HALO_OK;
}

halo_status halo_infer_slice(const halo_instr *instr, halo_arena *arena, const halo_shape **out) {
  HALO_TRY(halo_infer_need_arrays(instr, 0));
  const halo_shape *from = halo_infer_operand(instr, 0);
  int32_t count;
  const int64_t *slices = halo_instr_ints(instr, HALO_ATTR_SLICE, &count);
  if (count != 3 * from->rank) {
    return halo_infer_fail(instr, "slice has %d entr%s, but the operand has rank %d", count / 3,
                           count / 3 == 1 ? "y" : "ies", from->rank);
  }
  int64_t dims[HALO_MAX_RANK];
  bool dynamic[HALO_MAX_RANK];
  for (int i = 0; i < from->rank; i++) {
    int64_t start = slices[3 * i], limit = slices[3 * i + 1], stride = slices[3 * i + 2];
    if (start < 0 || start > limit || limit > from->dims[i] || stride <= 0) {
      return halo_infer_fail(instr,
                             "slice [%lld:%lld:%lld] of dimension %d of size %lld needs 0 <= start "
                             "<= limit <= size and a positive stride",
                             (long long)start, (long long)limit, (long long)stride, i,
                             (long long)from->dims[i]);
    }
    dims[i] = limit == start ? 0 : (limit - start - 1) / stride + 1;
    dynamic[i] = halo_shape_dim_is_dynamic(from, i) && dims[i] != 1;
  }
  *out = halo_shape_new_full(arena, from->type, from->rank, dims, dynamic, NULL);
  return HALO_OK;
}

halo_status halo_infer_pad(const halo_instr *instr, halo_arena *arena, const halo_shape **out) {
  HALO_TRY(halo_infer_need_arrays(instr, 0));
  const halo_shape *from = halo_infer_operand(instr, 0), *value = halo_infer_operand(instr, 1);
  if (value->rank != 0) return halo_infer_fail(instr, "the padding value must be a scalar");
  if (!halo_infer_types_agree(from->type, value->type)) {
    return halo_infer_fail(instr, "the padding value must have the operand's element type");
  }
  int32_t count;
  const int64_t *padding = halo_instr_ints(instr, HALO_ATTR_PADDING, &count);
  if (count != 3 * from->rank) {
    return halo_infer_fail(instr, "padding has %d entr%s, but the operand has rank %d", count / 3,
                           count / 3 == 1 ? "y" : "ies", from->rank);
  }
  int64_t dims[HALO_MAX_RANK];
  bool dynamic[HALO_MAX_RANK];
  for (int i = 0; i < from->rank; i++) {
    int64_t low = padding[3 * i], high = padding[3 * i + 1], interior = padding[3 * i + 2];
    if (interior < 0) return halo_infer_fail(instr, "interior padding must not be negative");
    __int128 holes = from->dims[i] > 1 ? (__int128)(from->dims[i] - 1) * interior : 0;
    __int128 size = from->dims[i] + holes + low + high;
    if (size < 0) {
      return halo_infer_fail(instr, "padding results in a negative size of dimension %d", i);
    }
    if (size > INT64_MAX) {
      return halo_infer_fail(instr, "the padded size of dimension %d does not fit 64 bits", i);
    }
    dims[i] = (int64_t)size;
    dynamic[i] = halo_shape_dim_is_dynamic(from, i);
  }
  *out = halo_shape_new_full(arena, halo_infer_result_type(instr, from->type, value->type),
                             from->rank, dims, dynamic, NULL);
  return HALO_OK;
}

halo_status halo_infer_concatenate(const halo_instr *instr, halo_arena *arena,
                                   const halo_shape **out) {
  HALO_TRY(halo_infer_need_arrays(instr, 0));
  const halo_shape *first = halo_infer_operand(instr, 0);
  int along;
  HALO_TRY(halo_infer_one_dim(instr, first->rank, &along));
  int64_t dims[HALO_MAX_RANK];
  bool dynamic[HALO_MAX_RANK] = {false};
  memcpy(dims, first->dims, sizeof *dims * (size_t)first->rank);
  halo_type type = first->type;
  for (int32_t o = 0; o < instr->operand_count; o++) {
    const halo_shape *shape = halo_infer_operand(instr, o);
    if (shape->rank != first->rank) {
      return halo_infer_fail(instr, "operands 0 and %d must have the same rank", o);
    }
    if (!halo_infer_types_agree(type, shape->type)) {
      return halo_infer_fail(instr, "operands 0 and %d must have the same element type", o);
    }
    for (int i = 0; i < shape->rank; i++) {
      if (i != along && shape->dims[i] != first->dims[i]) {
        return halo_infer_fail(instr, "operands 0 and %d differ in dimension %d", o, i);
      }
      dynamic[i] |= halo_shape_dim_is_dynamic(shape, i);
    }
    if (o > 0 && __builtin_add_overflow(dims[along], shape->dims[along], &dims[along])) {
      return halo_infer_fail(instr, "the result's size does not fit 64 bits");
    }
    type = halo_infer_result_type(instr, type, shape->type);
  }
  *out = halo_shape_new_full(arena, type, first->rank, dims, dynamic, NULL);
  return HALO_OK;
}

halo_status halo_infer_get_dimension_size(const halo_instr *instr, halo_arena *arena,
                                          const halo_shape **out) {
  HALO_TRY(halo_infer_need_arrays(instr, 0));
  const halo_shape *from = halo_infer_operand(instr, 0);
  int dim;
  HALO_TRY(halo_infer_one_dim(instr, from->rank, &dim));
  if (from->dims[dim] > INT32_MAX) {
    return halo_infer_fail(instr, "the size of dimension %d does not fit s32", dim);
  }
  *out = halo_shape_new(arena, HALO_S32, 0, NULL);
  return HALO_OK;
}

halo_status halo_infer_set_dimension_size(const halo_instr *instr, halo_arena *arena,
                                          const halo_shape **out) {
  HALO_TRY(halo_infer_need_arrays(instr, 0));
  const halo_shape *from = halo_infer_operand(instr, 0);
  int dim;
  HALO_TRY(halo_infer_one_dim(instr, from->rank, &dim));
  if (!halo_shape_is_scalar_of(halo_infer_operand(instr, 1), HALO_S32)) {
    return halo_infer_fail(instr, "the size must be an s32 scalar");
  }
  bool dynamic[HALO_MAX_RANK];
  for (int i = 0; i < from->rank; i++) {
    dynamic[i] = i == dim || halo_shape_dim_is_dynamic(from, i);
  }
  *out = halo_shape_new_full(arena, from->type, from->rank, from->dims, dynamic, NULL);
  return HALO_OK;
}

/* The indices of a permute have the operand's dimensions, or 1 where elements share them, and then one index
 * for each dimension of the list; that last dimension may be missing where there is one. */
static halo_status movement_check_indices(const halo_instr *instr, const halo_shape *from,
                                          int32_t count) {
  const halo_attr *attr = halo_instr_attr(instr, HALO_ATTR_INDICES);
  if (!attr) return halo_infer_fail(instr, "mode=permute needs indices");
  const halo_shape *indices = attr->literal->shape;
  if (!halo_type_is_integral(indices->type)) {
    return halo_infer_fail(instr, "the indices must be integers");
  }
  bool single = count == 1 && indices->rank == from->rank;
  if (!single && indices->rank != from->rank + 1) {
    return halo_infer_fail(instr, "the indices have rank %d, but the operand has rank %d",
                           indices->rank, from->rank);
  }
  if (!single && indices->dims[from->rank] != count) {
    return halo_infer_fail(instr, "an index has %lld component%s, but dimensions has %d entr%s",
                           (long long)indices->dims[from->rank],
                           halo_plural(indices->dims[from->rank]), count, count == 1 ? "y" : "ies");
  }
  for (int d = 0; d < from->rank; d++) {
    if (indices->dims[d] == 1 || indices->dims[d] == from->dims[d]) continue;
    return halo_infer_fail(instr, "dimension %d of the indices is %lld, neither 1 nor %lld", d,
                           (long long)indices->dims[d], (long long)from->dims[d]);
  }
  return HALO_OK;
}

halo_status halo_infer_shuffle(const halo_instr *instr, halo_arena *arena, const halo_shape **out) {
  HALO_TRY(halo_infer_need_arrays(instr, 0));
  const halo_shape *from = halo_infer_operand(instr, 0);
  int32_t count, shifts;
  HALO_TRY(halo_infer_check_dims(instr, HALO_ATTR_DIMENSIONS, from->rank, false, NULL));
  halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &count);
  halo_instr_ints(instr, HALO_ATTR_SHIFTS, &shifts);
  const char *mode = halo_instr_attr(instr, HALO_ATTR_SHUFFLE_MODE)->text;
  if (strcmp(mode, "rotate") == 0 && shifts != count) {
    return halo_infer_fail(instr, "shifts has %d entr%s, but dimensions has %d", shifts,
                           shifts == 1 ? "y" : "ies", count);
  }
  if (strcmp(mode, "permute") == 0) HALO_TRY(movement_check_indices(instr, from, count));
  *out = halo_shape_with_default_layout(arena, from);
  return HALO_OK;
}
