/* SPDX-License-Identifier: Apache-2.0 */
/* passes/expand/collective.c: collectives of a program with one replica and one partition, whose only
 * participant has id 0: what comes in goes out. Programs of more: exchange.c. */
#include "hlo/collective.h"
#include "passes/expand/expand.h"

/* Who takes part, by replica_groups. */
typedef enum collective_part {
  COLLECTIVE_ALONE,
  COLLECTIVE_OUTSIDE,
  COLLECTIVE_MANY
} collective_part;

/* Without groups all take part. */
static collective_part collective_part_of(const halo_instr *instr) {
  const halo_module *module = instr->parent->module;
  if (halo_collective_world(module) != 1) return COLLECTIVE_MANY;
  const halo_attr *attr = halo_instr_attr(instr, HALO_ATTR_REPLICA_GROUPS);
  if (!attr || attr->groups->count == 0) return COLLECTIVE_ALONE;
  const halo_groups *groups = attr->groups;
  int32_t total = groups->starts[groups->count];
  for (int32_t i = 0; i < total; i++) {
    if (groups->ids[i] == 0) return total == 1 ? COLLECTIVE_ALONE : COLLECTIVE_MANY;
  }
  return total == 1 ? COLLECTIVE_OUTSIDE : COLLECTIVE_MANY;
}

static bool collective_is_shared(const halo_expander *x) {
  return halo_collective_world(x->r->computation->module) > 1;
}

/* A value with the shape that the text gave it. */
static halo_instr *collective_as(halo_expander *x, halo_instr *value, const halo_shape *shape) {
  if (!value || halo_shape_equal(value->shape, shape)) return value;
  return halo_rewrite_make_unary(x->r, x->like, HALO_OP_COPY, shape, value);
}

/* The first `count` operands as they are: one by itself, or as many in a tuple. */
static halo_instr *collective_operands(halo_expander *x, halo_instr *instr, int32_t count,
                                       const halo_shape *shape) {
  if (!halo_shape_is_tuple(shape)) {
    bool fits = count == 1 && halo_shape_compatible(instr->operands[0]->shape, shape);
    return fits ? collective_as(x, instr->operands[0], shape) : NULL;
  }
  if (shape->count != count) return NULL;
  HALO_VEC(halo_instr *) parts = {0};
  bool fits = true;
  for (int32_t i = 0; i < count && fits; i++) {
    fits = halo_shape_compatible(instr->operands[i]->shape, shape->elements[i]);
    if (fits) halo_vec_push(&parts, collective_as(x, instr->operands[i], shape->elements[i]));
  }
  halo_instr *tuple =
      fits ? halo_rewrite_make(x->r, instr, HALO_OP_TUPLE, shape, parts.data, count, NULL, 0)
           : NULL;
  halo_vec_deinit(&parts);
  return tuple;
}

static halo_instr *collective_zeros(halo_expander *x, const halo_shape *shape) {
  return collective_as(x, halo_expand_splat(x, halo_expand_scalar(x, shape->type, 0), shape),
                       shape);
}

halo_instr *halo_expand_collective(halo_expander *x, halo_instr *instr) {
  if (collective_is_shared(x)) return halo_expand_exchange(x, instr);
  if (collective_part_of(instr) != COLLECTIVE_ALONE) return NULL;
  return collective_operands(x, instr, instr->operand_count, instr->shape);
}

/* One sends to all: whoever is in no group gets zeros. The root that is chosen at run time can only be
 * the one there is. */
halo_instr *halo_expand_collective_root(halo_expander *x, halo_instr *instr) {
  if (collective_is_shared(x)) return halo_expand_exchange_root(x, instr);
  collective_part part = collective_part_of(instr);
  bool dynamic = halo_instr_int(instr, HALO_ATTR_HAS_DYNAMIC_ROOT, 0) != 0;
  int32_t count = instr->operand_count - dynamic;
  if (part == COLLECTIVE_ALONE) return collective_operands(x, instr, count, instr->shape);
  if (part == COLLECTIVE_MANY || !halo_shape_is_array(instr->shape)) return NULL;
  return collective_zeros(x, instr->shape);
}

/* Whether id 0 sends to itself; *alone: nobody else is spoken of. */
static bool collective_sends(const halo_instr *instr, bool *alone) {
  int32_t count;
  const int64_t *pairs = halo_instr_ints(instr, HALO_ATTR_SOURCE_TARGET_PAIRS, &count);
  const halo_module *module = instr->parent->module;
  *alone = halo_collective_world(module) == 1;
  for (int32_t i = 0; i < count; i++) *alone &= pairs[i] == 0;
  return count > 0;
}

halo_instr *halo_expand_collective_permute(halo_expander *x, halo_instr *instr) {
  if (collective_is_shared(x)) return halo_expand_exchange_permute(x, instr);
  bool alone, sends = collective_sends(instr, &alone);
  const halo_shape *shape = instr->shape;
  /* What writes slices is left, and refused. */
  if (!alone || instr->operand_count != 1 || !halo_shape_is_array(shape)) return NULL;
  return sends ? collective_operands(x, instr, 1, shape) : collective_zeros(x, shape);
}

/* ---- Start and done ---- */

/* (operands, results, contexts): with nobody to wait for, the start has it all. */
static halo_instr *collective_start(halo_expander *x, halo_instr *start, bool sends) {
  const halo_shape *shape = start->shape;
  HALO_VEC(halo_instr *) parts = {0};
  halo_instr *tuple = NULL;
  for (int32_t i = 0; i < shape->count; i++) {
    const halo_shape *part = shape->elements[i];
    halo_instr *value = NULL;
    if (i == 0 || (i == 1 && sends)) {
      value = collective_operands(x, start, start->operand_count, part);
    } else if (halo_shape_is_array(part)) {
      value = collective_zeros(x, part);
    }
    if (!value) goto done;
    halo_vec_push(&parts, value);
  }
  tuple = halo_rewrite_make(x->r, start, HALO_OP_TUPLE, shape, parts.data, parts.count, NULL, 0);
done:
  halo_vec_deinit(&parts);
  return tuple;
}

halo_instr *halo_expand_all_gather_start(halo_expander *x, halo_instr *start) {
  return collective_part_of(start) == COLLECTIVE_ALONE ? collective_start(x, start, true) : NULL;
}

halo_instr *halo_expand_collective_permute_start(halo_expander *x, halo_instr *start) {
  bool alone, sends = collective_sends(start, &alone);
  return alone && start->operand_count == 1 ? collective_start(x, start, sends) : NULL;
}

halo_instr *halo_expand_all_reduce_start(halo_expander *x, halo_instr *start) {
  if (halo_collective_result(start) == start->shape) return halo_expand_collective(x, start);
  return collective_part_of(start) == COLLECTIVE_ALONE ? collective_start(x, start, true) : NULL;
}

/* Element 1 of what the start half became; an all-reduce-start may have nothing but the result. */
halo_instr *halo_expand_collective_done(halo_expander *x, halo_instr *done) {
  halo_instr *start = done->operands[0];
  if (halo_opcode_exec(start->opcode) == HALO_EXEC_COLLECTIVE) return NULL;
  if (halo_shape_compatible(start->shape, done->shape)) return collective_as(x, start, done->shape);
  if (start->opcode != HALO_OP_TUPLE || start->operand_count < 2) return NULL;
  return collective_as(x, start->operands[1], done->shape);
}

/* ---- Ragged ---- */

/* Entry `q` of the offsets or sizes, [1] or [1, updates], as s64. */
static halo_instr *ragged_number(halo_expander *x, halo_instr *list, int64_t q) {
  int64_t last = list->shape->rank - 1;
  if (last == 0) q = 0;
  halo_instr *one = halo_expand_range(x, list, last, q, q + 1);
  return halo_expand_convert(x, halo_expand_reshape(x, one, 0, NULL), HALO_S64);
}

/* Row rows[i] of `from` for each i; numbers outside are clamped. */
static halo_instr *ragged_rows(halo_expander *x, halo_instr *from, halo_instr *rows) {
  halo_module *module = x->r->computation->module;
  int64_t zero = 0, sizes[HALO_MAX_RANK], offsets[HALO_MAX_RANK];
  for (int d = 0; d < from->shape->rank; d++) {
    sizes[d] = d == 0 ? 1 : from->shape->dims[d];
    if (d > 0) offsets[d - 1] = d;
  }
  int32_t rank = from->shape->rank;
  halo_attr attrs[] = {halo_rewrite_list_attr(module, HALO_ATTR_OFFSET_DIMS, offsets, rank - 1),
                       halo_rewrite_list_attr(module, HALO_ATTR_COLLAPSED_SLICE_DIMS, &zero, 1),
                       halo_rewrite_list_attr(module, HALO_ATTR_START_INDEX_MAP, &zero, 1),
                       {.id = HALO_ATTR_INDEX_VECTOR_DIM, .i = 1},
                       halo_rewrite_list_attr(module, HALO_ATTR_SLICE_SIZES, sizes, rank)};
  return halo_expand_op(x, HALO_OP_GATHER, (halo_instr *[]){from, rows}, 2, attrs, 5);
}

/* Rows input[offset .. + size) go to rows out[to .. + size), once for each update: out[r] is
 * input[r - to + offset] where 0 <= r - to < size. */
halo_instr *halo_expand_ragged_all_to_all(halo_expander *x, halo_instr *instr) {
  if (collective_is_shared(x)) return halo_expand_exchange_ragged(x, instr);
  enum { RAGGED_MAX_UPDATES = 64 };
  halo_instr *input = instr->operands[0], *value = instr->operands[1];
  const halo_shape *lists = instr->operands[2]->shape, *shape = value->shape;
  int64_t updates = lists->rank == 2 ? lists->dims[1] : 1;
  if (collective_part_of(instr) != COLLECTIVE_ALONE || lists->dims[0] != 1) return NULL;
  if (updates > RAGGED_MAX_UPDATES) return NULL;
  bool empty = halo_shape_element_count(input->shape) == 0;
  const halo_shape *rows =
      halo_shape_new(&x->r->computation->module->arena, HALO_S64, 1, shape->dims);
  for (int64_t q = 0; q < updates && !empty; q++) {
    halo_instr *row = halo_expand_iota(x, rows, 0);
    halo_instr *to = ragged_number(x, instr->operands[4], q);
    halo_instr *size = ragged_number(x, instr->operands[3], q);
    halo_instr *offset = ragged_number(x, instr->operands[2], q);
    halo_instr *at = halo_expand_binary(x, HALO_OP_SUBTRACT, row, halo_expand_splat(x, to, rows));
    halo_instr *zero = halo_expand_splat(x, halo_expand_scalar(x, HALO_S64, 0), rows);
    halo_instr *inside =
        halo_expand_binary(x, HALO_OP_AND, halo_expand_compare(x, at, HALO_GE, zero),
                           halo_expand_compare(x, at, HALO_LT, halo_expand_splat(x, size, rows)));
    halo_instr *source = halo_expand_binary(x, HALO_OP_ADD, at, halo_expand_splat(x, offset, rows));
    int64_t first = 0;
    inside = halo_expand_broadcast(x, inside, &first, shape);
    value = halo_expand_select(x, inside, ragged_rows(x, input, source), value);
    if (!value) return NULL;
  }
  return collective_as(x, value, instr->shape);
}
