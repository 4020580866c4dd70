/* SPDX-License-Identifier: Apache-2.0 */
/* builder/collective.c: what goes on between replicas and partitions. */
#include "halo/collectives.h"

#include "builder/build.h"

enum { COLLECTIVE_ATTRS = 6 };

/* replica_groups of one size; none is all together. */
static halo_attr collective_groups(build_call *call, int groups, int size, const int64_t *ids) {
  halo_attr attr = {.id = HALO_ATTR_REPLICA_GROUPS};
  if (groups < 0 || (groups > 0 && (size < 1 || size > INT32_MAX / groups || !ids))) {
    halo_build_fail(call, "%d groups of %d replicas are no list", groups, size);
    groups = 0;
  }
  if (!call->ok) return attr;
  halo_arena *arena = halo_build_arena(call);
  halo_groups *made = halo_arena_new(arena, halo_groups);
  int32_t *starts = halo_arena_array(arena, int32_t, groups + 1);
  for (int g = 0; g <= groups; g++) starts[g] = g * size;
  made->count = groups;
  made->starts = starts;
  made->ids = halo_arena_copy(arena, ids, sizeof *ids * (size_t)groups * (size_t)size);
  attr.groups = made;
  return attr;
}

/* A call's attributes as they come together. */
typedef struct collective_attrs {
  halo_attr data[COLLECTIVE_ATTRS];
  int count;
} collective_attrs;

static void collective_add(collective_attrs *attrs, halo_attr attr) {
  attrs->data[attrs->count++] = attr;
}

static void collective_who(build_call *call, collective_attrs *attrs,
                           const halo_replica_groups *who) {
  static const halo_replica_groups everybody;
  if (!who) who = &everybody;
  collective_add(attrs, collective_groups(call, who->groups, who->size, who->ids));
  if (who->channel > 0) {
    collective_add(attrs, halo_build_int(HALO_ATTR_CHANNEL_ID, who->channel));
  }
  if (who->global_ids) collective_add(attrs, halo_build_int(HALO_ATTR_USE_GLOBAL_DEVICE_IDS, 1));
}

static void collective_reducer(build_call *call, collective_attrs *attrs, halo_comp reducer) {
  halo_computation *computation = halo_build_comp(call, reducer);
  if (computation) {
    collective_add(attrs, halo_build_comps(call, HALO_ATTR_TO_APPLY, 1, &computation));
  }
}

static void collective_along(build_call *call, collective_attrs *attrs, int64_t dimension) {
  collective_add(attrs, halo_build_ints(call, HALO_ATTR_DIMENSIONS, 1, &dimension));
}

/* The operands of a collective: an array, or the arrays of a tuple. */
typedef struct collective_values {
  int32_t count;
  halo_instr **data; /* NULL after a failure */
  bool tuple;
} collective_values;

static collective_values collective_take(build_call *call, halo_op operand) {
  collective_values values = {0};
  halo_instr *x = halo_build_operand(call, operand);
  if (!x) return values;
  values.tuple = halo_shape_is_tuple(x->shape);
  if (!values.tuple) x = halo_build_array(call, operand);
  if (!x) return values;
  values.count = values.tuple ? x->shape->count : 1;
  if (values.count == 0) halo_build_fail(call, "the tuple has no elements");
  if (!call->ok) return values;
  values.data = halo_arena_array(halo_build_arena(call), halo_instr *, values.count);
  values.data[0] = x;
  for (int32_t i = 0; values.tuple && i < values.count; i++) {
    const halo_shape *part = x->shape->elements[i];
    halo_attr attr = halo_build_int(HALO_ATTR_INDEX, i);
    if (!halo_shape_is_array(part)) halo_build_fail(call, "element %d is no array", (int)i);
    if (!call->ok) break;
    values.data[i] =
        halo_build_op(call, HALO_OP_GET_TUPLE_ELEMENT, part, (halo_instr *[3]){x}, 1, &attr);
  }
  if (!call->ok) values.data = NULL;
  return values;
}

/* An array's shape in the default layout; or `members` times as long along a dimension, or a part of that. NULL after a
 * failure. */
static const halo_shape *collective_same(const build_call *call, const halo_instr *x) {
  return halo_shape_with_default_layout(halo_build_arena(call), x->shape);
}

static const halo_shape *collective_shape(build_call *call, const halo_instr *x, int64_t dimension,
                                          int64_t members, bool gather) {
  int64_t dims[HALO_MAX_RANK];
  if (dimension < 0 || dimension >= x->shape->rank || members < 1) {
    halo_build_fail(call, "dimension %lld of %d and %lld members make no shape",
                    (long long)dimension, x->shape->rank, (long long)members);
    return NULL;
  }
  for (int d = 0; d < x->shape->rank; d++) dims[d] = x->shape->dims[d];
  bool whole = gather ? halo_mul_i64(dims[dimension], members, &dims[dimension])
                      : dims[dimension] % members == 0;
  if (!whole) {
    halo_build_fail(call, "extent %lld of dimension %lld does not go with %lld members",
                    (long long)x->shape->dims[dimension], (long long)dimension, (long long)members);
    return NULL;
  }
  if (!gather) dims[dimension] /= members;
  return halo_shape_new(halo_build_arena(call), x->shape->type, x->shape->rank, dims);
}

static bool collective_takes_layout(halo_opcode opcode) {
  for (const halo_attr_spec *spec = halo_op_info_of(opcode)->attrs; spec->used; spec++) {
    if (spec->id == HALO_ATTR_CONSTRAIN_LAYOUT) return true;
  }
  return false;
}

/* The result has the layout that the caller asks for. */
static const halo_shape *collective_layout(build_call *call, halo_opcode opcode,
                                           const halo_shape *shape, const halo_replica_groups *who,
                                           collective_attrs *attrs) {
  if (!who || !who->layout) return shape;
  if (!collective_takes_layout(opcode)) {
    halo_build_fail(call, "the operation takes no layout");
    return NULL;
  }
  if (!halo_shape_compatible(who->layout, shape)) {
    halo_build_fail(call, "the layout is of another shape than the result");
    return NULL;
  }
  collective_add(attrs, halo_build_int(HALO_ATTR_CONSTRAIN_LAYOUT, 1));
  return halo_shape_clone(halo_build_arena(call), who->layout);
}

/* Ends a call: `shapes` are those of the results, one for each value. */
static halo_op collective_op(build_call *call, halo_opcode opcode, const collective_values *values,
                             const halo_shape *const *shapes, const halo_replica_groups *who,
                             collective_attrs *attrs) {
  if (!call->ok || !values->data) return halo_build_result(call, NULL);
  const halo_shape *shape =
      values->tuple ? halo_shape_new_tuple(halo_build_arena(call), values->count, shapes)
                    : shapes[0];
  halo_instr_spec spec = {.opcode = opcode,
                          .shape = collective_layout(call, opcode, shape, who, attrs),
                          .operands = values->data,
                          .operand_count = values->count,
                          .attrs = attrs->data,
                          .attr_count = attrs->count};
  return halo_build_result(call, call->ok ? halo_build_add(call, &spec) : NULL);
}

static const halo_shape **collective_shapes(build_call *call, const collective_values *values) {
  const halo_shape **shapes =
      halo_arena_array(halo_build_arena(call), const halo_shape *, values->count + 1);
  for (int32_t i = 0; i < values->count; i++) shapes[i] = collective_same(call, values->data[i]);
  return shapes;
}

static halo_op collective_id(halo_builder *builder, const char *function, halo_opcode opcode) {
  build_call call = halo_build_begin(builder, function);
  if (!call.ok) return halo_build_result(&call, NULL);
  const halo_shape *shape = halo_shape_new(halo_build_arena(&call), HALO_U32, 0, NULL);
  return halo_build_result(&call,
                           halo_build_op(&call, opcode, shape, (halo_instr *[3]){NULL}, 0, NULL));
}

halo_op halo_replica_id(halo_builder *builder) {
  return collective_id(builder, "halo_replica_id", HALO_OP_REPLICA_ID);
}

halo_op halo_partition_id(halo_builder *builder) {
  return collective_id(builder, "halo_partition_id", HALO_OP_PARTITION_ID);
}

/* Collectives whose results have the shapes of their operands; with a reducer or without (NULL). */
static halo_op collective_keep(const char *function, halo_opcode opcode, halo_op operand,
                               const halo_comp *reducer, const halo_replica_groups *who) {
  build_call call = halo_build_begin_with(function, 1, &operand);
  collective_attrs attrs = {.count = 0};
  collective_values values = collective_take(&call, operand);
  if (!values.data) return halo_build_result(&call, NULL);
  collective_who(&call, &attrs, who);
  if (reducer) collective_reducer(&call, &attrs, *reducer);
  return collective_op(&call, opcode, &values, collective_shapes(&call, &values), who, &attrs);
}

halo_op halo_all_reduce(halo_op operand, halo_comp reducer, const halo_replica_groups *who) {
  return collective_keep("halo_all_reduce", HALO_OP_ALL_REDUCE, operand, &reducer, who);
}

halo_op halo_collective_reduce(halo_op operand, halo_comp reducer, const halo_replica_groups *who) {
  return collective_keep("halo_collective_reduce", HALO_OP_COLLECTIVE_REDUCE, operand, &reducer,
                         who);
}

/* What changes the extent of a dimension; with a reducer or without (NULL). */
static halo_op collective_resize(const char *function, halo_opcode opcode, halo_op operand,
                                 const halo_comp *reducer, int64_t dimension, int64_t members,
                                 const halo_replica_groups *who) {
  build_call call = halo_build_begin_with(function, 1, &operand);
  collective_attrs attrs = {.count = 0};
  collective_values values = collective_take(&call, operand);
  const halo_shape **shapes = values.data ? collective_shapes(&call, &values) : NULL;
  for (int32_t i = 0; values.data && call.ok && i < values.count; i++) {
    shapes[i] = collective_shape(&call, values.data[i], dimension, members, reducer == NULL);
  }
  if (!call.ok) return halo_build_result(&call, NULL);
  collective_who(&call, &attrs, who);
  collective_along(&call, &attrs, dimension);
  if (reducer) collective_reducer(&call, &attrs, *reducer);
  return collective_op(&call, opcode, &values, shapes, who, &attrs);
}

halo_op halo_all_gather(halo_op operand, int64_t dimension, int64_t members,
                        const halo_replica_groups *who) {
  return collective_resize("halo_all_gather", HALO_OP_ALL_GATHER, operand, NULL, dimension, members,
                           who);
}

halo_op halo_reduce_scatter(halo_op operand, halo_comp reducer, int64_t dimension, int64_t members,
                            const halo_replica_groups *who) {
  return collective_resize("halo_reduce_scatter", HALO_OP_REDUCE_SCATTER, operand, &reducer,
                           dimension, members, who);
}

/* Along one dimension it is one operation; else what came is cut once more, and put together elsewhere. */
halo_op halo_all_to_all(halo_op operand, int64_t split, int64_t concat, int64_t members,
                        const halo_replica_groups *who) {
  build_call call = halo_build_begin_with("halo_all_to_all", 1, &operand);
  collective_attrs attrs = {.count = 0};
  halo_instr *x = halo_build_array(&call, operand);
  if (!x) return halo_build_result(&call, NULL);
  const halo_shape *part = collective_shape(&call, x, split, members, false);
  if (!part || !collective_shape(&call, x, concat, members, true)) {
    return halo_build_result(&call, NULL);
  }
  collective_who(&call, &attrs, who);
  collective_along(&call, &attrs, split);
  collective_values values = {.count = 1, .data = &x};
  const halo_shape *shape = collective_same(&call, x);
  /* Where parts are put together elsewhere, the result has its layout by a copy. */
  const halo_replica_groups *laid = split == concat ? who : NULL;
  halo_op swapped = collective_op(&call, HALO_OP_ALL_TO_ALL, &values, &shape, laid, &attrs);
  if (split == concat || !call.ok) return swapped;
  int rank = part->rank;
  int64_t start[HALO_MAX_RANK] = {0}, limit[HALO_MAX_RANK], stride[HALO_MAX_RANK];
  halo_op *parts = halo_arena_array(halo_build_arena(&call), halo_op, members);
  for (int d = 0; d < rank; d++) {
    limit[d] = part->dims[d];
    stride[d] = 1;
  }
  for (int64_t m = 0; m < members; m++) {
    start[split] = m * part->dims[split];
    limit[split] = start[split] + part->dims[split];
    parts[m] = halo_slice(swapped, rank, start, limit, stride);
  }
  halo_op result = halo_concat_in_dim(call.builder, (int)members, parts, concat);
  if (!who || !who->layout) return result;
  halo_instr *joined = halo_build_operand(&call, result);
  if (!joined || !halo_shape_compatible(joined->shape, who->layout)) {
    halo_build_fail(&call, "the layout is of another shape than the result");
    return halo_build_result(&call, NULL);
  }
  return halo_build_result(
      &call,
      halo_build_op(&call, HALO_OP_COPY, halo_shape_clone(halo_build_arena(&call), who->layout),
                    (halo_instr *[3]){joined}, 0, NULL));
}

halo_op halo_all_to_all_tuple(halo_op operand, const halo_replica_groups *who) {
  return collective_keep("halo_all_to_all_tuple", HALO_OP_ALL_TO_ALL, operand, NULL, who);
}

halo_op halo_collective_broadcast(halo_op operand, const halo_replica_groups *who) {
  return collective_keep("halo_collective_broadcast", HALO_OP_COLLECTIVE_BROADCAST, operand, NULL,
                         who);
}

halo_op halo_collective_permute(halo_op operand, int pairs, const int64_t *ids, int64_t channel) {
  build_call call = halo_build_begin_with("halo_collective_permute", 1, &operand);
  collective_attrs attrs = {.count = 0};
  collective_values values = collective_take(&call, operand);
  if (!values.data) return halo_build_result(&call, NULL);
  if (pairs < 0 || pairs > INT32_MAX / 2 || (pairs > 0 && !ids)) {
    halo_build_fail(&call, "%d pairs are no list", pairs);
    return halo_build_result(&call, NULL);
  }
  collective_add(&attrs, halo_build_ints(&call, HALO_ATTR_SOURCE_TARGET_PAIRS, 2 * pairs, ids));
  if (channel > 0) collective_add(&attrs, halo_build_int(HALO_ATTR_CHANNEL_ID, channel));
  return collective_op(&call, HALO_OP_COLLECTIVE_PERMUTE, &values,
                       collective_shapes(&call, &values), NULL, &attrs);
}

halo_op halo_ragged_all_to_all(halo_op input, halo_op offsets, halo_op sizes, halo_op output,
                               halo_op to, halo_op received, const halo_replica_groups *who) {
  halo_op ops[] = {input, output, offsets, sizes, to, received};
  build_call call = halo_build_begin_with("halo_ragged_all_to_all", 6, ops);
  collective_attrs attrs = {.count = 0};
  halo_instr **operands = halo_build_operands(&call, 6, ops);
  halo_instr *x = halo_build_array(&call, output);
  if (!operands || !x) return halo_build_result(&call, NULL);
  collective_who(&call, &attrs, who);
  halo_instr_spec spec = {.opcode = HALO_OP_RAGGED_ALL_TO_ALL,
                          .shape = collective_layout(&call, HALO_OP_RAGGED_ALL_TO_ALL,
                                                     collective_same(&call, x), who, &attrs),
                          .operands = operands,
                          .operand_count = 6,
                          .attrs = attrs.data,
                          .attr_count = attrs.count};
  return halo_build_result(&call, call.ok ? halo_build_add(&call, &spec) : NULL);
}
