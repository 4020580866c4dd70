/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/infer_collective.c: inference of operations between replicas and partitions. Their shapes are
 * written, since they depend on how many take part; here what is written is checked. */
#include "hlo/collective.h"
#include "hlo/infer_util.h"

#include <stdlib.h>

static int collective_compare(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return x < y ? -1 : x > y;
}

/* ids[0], ids[stride], ...: `count` numbers that are not negative and come once. */
static halo_status collective_check_ids(const halo_instr *instr, const char *what,
                                        const int64_t *ids, int32_t count, int32_t stride) {
  halo_arena scratch = {0};
  halo_status status = HALO_OK;
  int64_t *sorted = halo_arena_array(&scratch, int64_t, count);
  for (int32_t i = 0; i < count; i++) sorted[i] = ids[(int64_t)i * stride];
  if (count) qsort(sorted, (size_t)count, sizeof *sorted, collective_compare);
  for (int32_t i = 0; i < count && status == HALO_OK; i++) {
    if (sorted[i] < 0) {
      status = halo_infer_fail(instr, "%s have the negative id %lld", what, (long long)sorted[i]);
    } else if (i > 0 && sorted[i] == sorted[i - 1]) {
      status = halo_infer_fail(instr, "%s have %lld twice", what, (long long)sorted[i]);
    }
  }
  halo_arena_deinit(&scratch);
  return status;
}

/* Groups have members, which come once. *size: that of each group; 0: not said, or they differ. */
static halo_status collective_read(const halo_instr *instr, int64_t *out) {
  const halo_attr *attr = halo_instr_attr(instr, HALO_ATTR_REPLICA_GROUPS);
  *out = 0;
  if (!attr || attr->groups->count == 0) return HALO_OK;
  const halo_groups *groups = attr->groups;
  HALO_TRY(
      collective_check_ids(instr, "replica_groups", groups->ids, groups->starts[groups->count], 1));
  int64_t size = groups->starts[1] - groups->starts[0];
  for (int32_t g = 0; g < groups->count; g++) {
    int64_t members = groups->starts[g + 1] - groups->starts[g];
    if (members == 0) return halo_infer_fail(instr, "replica_groups have an empty group");
    if (members != size) size = 0;
  }
  *out = size;
  return HALO_OK;
}

/* The results of a collective for its first `count` operands (the others choose places or a root) are an array for one, or
 * as many in a tuple. This is the part for operand i. */
static const halo_shape *collective_part(const halo_shape *result, int32_t i) {
  return halo_shape_is_tuple(result) ? result->elements[i] : result;
}

/* The elements of a float type may be exchanged as another, unless a start and a done are between which they would
 * have to be converted. */
static bool collective_types_fit(const halo_instr *instr, halo_type from, halo_type to) {
  bool loose = !halo_opcode_has_trait(instr->opcode, HALO_TRAIT_ASYNC);
  return loose ? halo_infer_types_agree(from, to) : from == to;
}

static halo_status collective_check_parts(const halo_instr *instr, int32_t count,
                                          const halo_shape *result) {
  if (!result) return halo_infer_fail(instr, "the result shape must be written");
  bool single = count == 1 && halo_shape_is_array(result);
  if (!single && (!halo_shape_is_tuple(result) || result->count != count)) {
    return halo_infer_fail(instr, "the result must be a tuple of %d array%s", count,
                           halo_plural(count));
  }
  for (int32_t i = 0; i < count; i++) {
    const halo_shape *from = halo_infer_operand(instr, i), *to = collective_part(result, i);
    if (!halo_shape_is_array(to) || to->rank != from->rank ||
        !collective_types_fit(instr, from->type, to->type)) {
      return halo_infer_fail(instr, "result %d must be an array of operand %d's type and rank", i,
                             i);
    }
  }
  return HALO_OK;
}

static halo_status collective_check_same(const halo_instr *instr, int32_t count,
                                         const halo_shape *result) {
  HALO_TRY(collective_check_parts(instr, count, result));
  for (int32_t i = 0; i < count; i++) {
    if (halo_shape_same_dims(halo_infer_operand(instr, i), collective_part(result, i))) {
      continue;
    }
    return halo_infer_fail(instr, "result %d must have the dimensions of operand %d", i, i);
  }
  return HALO_OK;
}

/* `larger` is `smaller` a whole number of times along one dimension. Whether the groups have so many members shows
 * when the program is compiled for its replicas and partitions. */
static halo_status collective_check_times(const halo_instr *instr, const halo_shape *smaller,
                                          const halo_shape *larger, int dim) {
  for (int d = 0; d < smaller->rank; d++) {
    if (d != dim && smaller->dims[d] != larger->dims[d]) {
      return halo_infer_fail(instr, "only dimension %d may differ between operand and result", dim);
    }
  }
  int64_t one = smaller->dims[dim], all = larger->dims[dim];
  bool whole = one == 0 ? all == 0 : all % one == 0;
  if (!whole || (one != 0 && all == 0)) {
    return halo_infer_fail(instr, "extents %lld and %lld of dimension %d are no multiples",
                           (long long)one, (long long)all, dim);
  }
  return HALO_OK;
}

static halo_status collective_check_reducer(const halo_instr *instr) {
  const halo_computation *computation;
  HALO_TRY(halo_infer_comp(instr, HALO_ATTR_TO_APPLY, &computation));
  HALO_TRY(halo_infer_scalar_params(instr, computation, 2));
  if (halo_shape_is_scalar(computation->root->shape)) return HALO_OK;
  return halo_infer_fail(instr, "the computation %s must return a scalar", computation->name);
}

/* The written shape, once it has been checked. */
static halo_status collective_written(const halo_instr *instr, const halo_shape **out) {
  *out = instr->shape;
  return HALO_OK;
}

/* The written shape of a start that gives (operands, results): part 0 is an operand, or the tuple of `count`. */
static halo_status collective_check_start(const halo_instr *instr, int32_t count) {
  if (!instr->shape || !halo_shape_is_tuple(instr->shape) || instr->shape->count < 2) {
    return halo_infer_fail(instr, "the result must be a tuple of the operands and the results");
  }
  return collective_check_same(instr, count, instr->shape->elements[0]);
}

halo_status halo_infer_all_reduce(const halo_instr *instr, halo_arena *arena,
                                  const halo_shape **out) {
  (void)arena;
  int64_t size;
  HALO_TRY(halo_infer_need_arrays(instr, 0));
  HALO_TRY(collective_read(instr, &size));
  HALO_TRY(collective_check_reducer(instr));
  const halo_shape *result = halo_collective_result(instr);
  if (result != instr->shape) HALO_TRY(collective_check_start(instr, instr->operand_count));
  HALO_TRY(collective_check_same(instr, instr->operand_count, result));
  return collective_written(instr, out);
}

/* One member sends to all, or all are reduced to one: which one may be a further operand. */
halo_status halo_infer_collective_root(const halo_instr *instr, halo_arena *arena,
                                       const halo_shape **out) {
  (void)arena;
  int64_t size;
  HALO_TRY(halo_infer_need_arrays(instr, 0));
  HALO_TRY(collective_read(instr, &size));
  if (instr->opcode == HALO_OP_COLLECTIVE_REDUCE) HALO_TRY(collective_check_reducer(instr));
  int32_t count = instr->operand_count;
  if (halo_instr_int(instr, HALO_ATTR_HAS_DYNAMIC_ROOT, 0)) {
    count--;
    if (count == 0 || !halo_type_is_integral(halo_infer_operand(instr, count)->type)) {
      return halo_infer_fail(instr, "the last operand, the root, must be an integer");
    }
  }
  HALO_TRY(collective_check_same(instr, count, instr->shape));
  return collective_written(instr, out);
}

/* Along `dimensions` the result is the group's operands (gather) or a part of one (scatter). */
static halo_status collective_along(const halo_instr *instr, const halo_shape *result,
                                    bool gather) {
  int64_t size;
  HALO_TRY(halo_infer_need_arrays(instr, 0));
  HALO_TRY(collective_read(instr, &size));
  HALO_TRY(collective_check_parts(instr, instr->operand_count, result));
  for (int32_t i = 0; i < instr->operand_count; i++) {
    const halo_shape *from = halo_infer_operand(instr, i);
    const halo_shape *to = collective_part(result, i);
    int dim;
    HALO_TRY(halo_infer_one_dim(instr, from->rank, &dim));
    HALO_TRY(collective_check_times(instr, gather ? from : to, gather ? to : from, dim));
  }
  return HALO_OK;
}

halo_status halo_infer_all_gather(const halo_instr *instr, halo_arena *arena,
                                  const halo_shape **out) {
  (void)arena;
  HALO_TRY(collective_along(instr, instr->shape, true));
  return collective_written(instr, out);
}

/* (operands, results), and optional contexts. */
halo_status halo_infer_all_gather_start(const halo_instr *instr, halo_arena *arena,
                                        const halo_shape **out) {
  (void)arena;
  HALO_TRY(halo_infer_need_arrays(instr, 0));
  HALO_TRY(collective_check_start(instr, instr->operand_count));
  HALO_TRY(collective_along(instr, instr->shape->elements[1], true));
  return collective_written(instr, out);
}

halo_status halo_infer_reduce_scatter(const halo_instr *instr, halo_arena *arena,
                                      const halo_shape **out) {
  (void)arena;
  HALO_TRY(collective_check_reducer(instr));
  HALO_TRY(collective_along(instr, instr->shape, false));
  return collective_written(instr, out);
}

/* Without `dimensions` there is an operand for each member of the group, all alike, and the result is a
 * tuple of as many; with it, one array is cut along a dimension and put together again. */
halo_status halo_infer_all_to_all(const halo_instr *instr, halo_arena *arena,
                                  const halo_shape **out) {
  (void)arena;
  int64_t size;
  HALO_TRY(halo_infer_need_arrays(instr, 0));
  HALO_TRY(collective_read(instr, &size));
  HALO_TRY(collective_check_same(instr, instr->operand_count, instr->shape));
  if (halo_instr_attr(instr, HALO_ATTR_DIMENSIONS)) {
    const halo_shape *shape = halo_infer_operand(instr, 0);
    int dim;
    HALO_TRY(halo_infer_one_dim(instr, shape->rank, &dim));
    if (instr->operand_count != 1) return halo_infer_fail(instr, "dimensions go with one operand");
    if (size && shape->dims[dim] % size != 0) {
      return halo_infer_fail(instr,
                             "extent %lld of dimension %d is no multiple of the %lld members",
                             (long long)shape->dims[dim], dim, (long long)size);
    }
    return collective_written(instr, out);
  }
  for (int32_t i = 1; i < instr->operand_count; i++) {
    if (!halo_shape_compatible(halo_infer_operand(instr, 0), halo_infer_operand(instr, i))) {
      return halo_infer_fail(instr, "operands 0 and %d must have the same shape", i);
    }
  }
  if (size && instr->operand_count != size) {
    return halo_infer_fail(instr, "a group of %lld member%s needs as many operands, not %d",
                           (long long)size, halo_plural(size), instr->operand_count);
  }
  return collective_written(instr, out);
}

/* (input, output, input offsets, send sizes, output offsets, receive sizes) -> output's shape. */
halo_status halo_infer_ragged_all_to_all(const halo_instr *instr, halo_arena *arena,
                                         const halo_shape **out) {
  (void)arena;
  int64_t size;
  HALO_TRY(halo_infer_need_arrays(instr, 0));
  HALO_TRY(collective_read(instr, &size));
  const halo_shape *input = halo_infer_operand(instr, 0), *output = halo_infer_operand(instr, 1);
  bool alike = input->type == output->type && input->rank == output->rank && input->rank > 0;
  for (int d = 1; alike && d < input->rank; d++) alike = input->dims[d] == output->dims[d];
  if (!alike) return halo_infer_fail(instr, "input and output may differ in dimension 0 only");
  const halo_shape *offsets = halo_infer_operand(instr, 2);
  for (int32_t i = 2; i < 6; i++) {
    const halo_shape *shape = halo_infer_operand(instr, i);
    if (!halo_type_is_integral(shape->type) || shape->rank < 1 || shape->rank > 2 ||
        !halo_shape_same_dims(shape, offsets)) {
      return halo_infer_fail(instr,
                             "offsets and sizes must be integers of one shape, [members] or "
                             "[members, updates]");
    }
  }
  if (size && offsets->dims[0] % size != 0) {
    return halo_infer_fail(instr, "%lld offsets do not go with %lld members",
                           (long long)offsets->dims[0], (long long)size);
  }
  if (!instr->shape || !halo_shape_compatible(instr->shape, output)) {
    return halo_infer_fail(instr, "the result must have the shape of operand 1");
  }
  return collective_written(instr, out);
}

/* Pairs of ids: nobody sends twice, nobody receives twice. */
static halo_status collective_check_pairs(const halo_instr *instr) {
  int32_t count;
  const int64_t *pairs = halo_instr_ints(instr, HALO_ATTR_SOURCE_TARGET_PAIRS, &count);
  HALO_TRY(collective_check_ids(instr, "the sources of source_target_pairs", pairs, count / 2, 2));
  return collective_check_ids(instr, "the targets of source_target_pairs", pairs + 1, count / 2, 2);
}

/* With slice sizes the operands are (inputs, outputs, places in these, places in those), and the result has the
 * shape of the outputs. */
static bool collective_writes_slices(const halo_instr *instr) {
  return halo_instr_attr(instr, HALO_ATTR_PERMUTE_SLICE_SIZES) != NULL;
}

static halo_status collective_check_slices(const halo_instr *instr, const halo_shape *result) {
  if (instr->operand_count != 4) {
    return halo_infer_fail(instr, "slice sizes go with 4 operands");
  }
  if (result && halo_shape_compatible(result, halo_infer_operand(instr, 1))) return HALO_OK;
  return halo_infer_fail(instr, "the result must have the shape of operand 1");
}

halo_status halo_infer_collective_permute(const halo_instr *instr, halo_arena *arena,
                                          const halo_shape **out) {
  (void)arena;
  HALO_TRY(collective_check_pairs(instr));
  if (collective_writes_slices(instr)) {
    HALO_TRY(collective_check_slices(instr, instr->shape));
    return collective_written(instr, out);
  }
  HALO_TRY(halo_infer_need_arrays(instr, 0));
  HALO_TRY(collective_check_same(instr, instr->operand_count, instr->shape));
  return collective_written(instr, out);
}

/* (operands, results), and optional contexts. */
halo_status halo_infer_collective_permute_start(const halo_instr *instr, halo_arena *arena,
                                                const halo_shape **out) {
  (void)arena;
  HALO_TRY(collective_check_pairs(instr));
  if (collective_writes_slices(instr)) {
    const halo_shape *shape = instr->shape;
    bool pair = shape && halo_shape_is_tuple(shape) && shape->count >= 2;
    HALO_TRY(collective_check_slices(instr, pair ? shape->elements[1] : NULL));
    if (!halo_shape_compatible(shape->elements[0], halo_infer_operand(instr, 0))) {
      return halo_infer_fail(instr, "part 0 of the result must have the shape of operand 0");
    }
    return collective_written(instr, out);
  }
  HALO_TRY(halo_infer_need_arrays(instr, 0));
  HALO_TRY(collective_check_start(instr, instr->operand_count));
  HALO_TRY(collective_check_same(instr, instr->operand_count, instr->shape->elements[1]));
  return collective_written(instr, out);
}
