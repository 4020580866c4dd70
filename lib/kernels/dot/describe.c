/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/dot/describe.c: a dot-general seen as batched matrix products. */
#include "kernels/dot/describe.h"

#include "codegen/ctype.h"

static void dot_group_add(halo_dot_group *group, const halo_shape *shape, int64_t dim) {
  group->dims[group->count++] = (int)dim;
  group->size *= shape->dims[dim];
}

static int64_t dot_group_stride(const halo_dot_group *group, const halo_shape *shape,
                                const int64_t *strides) {
  int64_t stride = 0, next = 0; /* next: what the stride of the next slower dimension must be */
  for (int i = group->count - 1; i >= 0; i--) {
    int d = group->dims[i];
    if (shape->dims[d] == 1) continue;
    if (stride == 0) {
      stride = strides[d];
    } else if (strides[d] != next) {
      return -1;
    }
    next = strides[d] * shape->dims[d];
  }
  return stride;
}

static void dot_describe_side(halo_dot_side *side, const halo_instr *operand, const int64_t *batch,
                              int32_t n_batch, const int64_t *contract, int32_t n_contract) {
  const halo_shape *shape = operand->shape;
  bool used[HALO_MAX_RANK] = {false};
  side->operand = operand;
  side->is_parameter = operand->opcode == HALO_OP_PARAMETER;
  side->batch = side->free = side->contract = (halo_dot_group){.size = 1, .stride = -1};
  for (int32_t i = 0; i < n_batch; i++) {
    dot_group_add(&side->batch, shape, batch[i]);
    used[batch[i]] = true;
  }
  for (int32_t i = 0; i < n_contract; i++) {
    dot_group_add(&side->contract, shape, contract[i]);
    used[contract[i]] = true;
  }
  for (int d = 0; d < shape->rank; d++) {
    if (!used[d]) dot_group_add(&side->free, shape, d);
  }
  if (!side->is_parameter) return;
  int64_t strides[HALO_MAX_RANK];
  halo_shape_strides(shape, strides);
  side->batch.stride = dot_group_stride(&side->batch, shape, strides);
  side->free.stride = dot_group_stride(&side->free, shape, strides);
  side->contract.stride = dot_group_stride(&side->contract, shape, strides);
}

void halo_dot_describe(const halo_instr *dot, halo_dot_desc *v) {
  int32_t lb, rb, lc, rc;
  const int64_t *l_batch = halo_instr_ints(dot, HALO_ATTR_LHS_BATCH_DIMS, &lb);
  const int64_t *r_batch = halo_instr_ints(dot, HALO_ATTR_RHS_BATCH_DIMS, &rb);
  const int64_t *l_contract = halo_instr_ints(dot, HALO_ATTR_LHS_CONTRACTING_DIMS, &lc);
  const int64_t *r_contract = halo_instr_ints(dot, HALO_ATTR_RHS_CONTRACTING_DIMS, &rc);
  v->dot = dot;
  dot_describe_side(&v->lhs, dot->operands[0], l_batch, lb, l_contract, lc);
  dot_describe_side(&v->rhs, dot->operands[1], r_batch, rb, r_contract, rc);
  v->batch = v->lhs.batch.size;
  v->m = v->lhs.free.size;
  v->n = v->rhs.free.size;
  v->k = v->lhs.contract.size;
  v->result = dot->shape->type;
  v->accumulator = halo_dot_accumulator(v->result);
  v->made_real = false;
}

void halo_dot_make_real(halo_dot_desc *v) {
  if (v->made_real || !halo_type_is_complex(v->accumulator)) return;
  v->made_real = true;
  v->accumulator = halo_type_real_part(v->accumulator);
  v->n *= 2;
  v->k *= 2;
  for (int side = 0; side < 2; side++) {
    halo_dot_side *s = side ? &v->rhs : &v->lhs;
    halo_dot_group *groups[] = {&s->batch, &s->free, &s->contract};
    bool plain = side == 0 && s->is_parameter && s->contract.stride == 1;
    for (int g = 0; g < 3; g++) {
      if (plain && groups[g] != &s->contract && groups[g]->stride > 0) groups[g]->stride *= 2;
      if (!plain) groups[g]->stride = -1;
    }
  }
}

/* Coordinates along a group's dimensions from the position in it. */
static void dot_place(halo_emitter *e, const halo_dot_group *group, const halo_shape *shape,
                      const halo_integer *position, const halo_integer **at) {
  const halo_integer *rest = position;
  int first = 0;
  while (first < group->count && shape->dims[group->dims[first]] == 1) first++;
  for (int i = group->count - 1; i >= 0; i--) {
    int64_t size = shape->dims[group->dims[i]];
    if (size == 1) {
      at[group->dims[i]] = halo_integer_constant(&e->integers, 0);
      continue;
    }
    at[group->dims[i]] = i == first ? rest : halo_integer_mod(&e->integers, rest, size);
    if (i != first) rest = halo_integer_div(&e->integers, rest, size);
  }
}

/* One part of a complex element: of the rows of A by k, of the squares of B by row and column. */
static halo_value dot_part(halo_emitter *e, const halo_dot_desc *v, bool rhs, halo_value z,
                           const halo_integer *line, const halo_integer *k) {
  const char *lower = halo_emit_integer(e, halo_integer_mod(&e->integers, k, 2));
  halo_emit_line(e, "const %s z = %s;", halo_ctype_compute(v->result), z.text);
  const char *text = halo_arena_printf(e->arena, "%s ? z.y : z.x", lower);
  if (rhs) {
    const char *right = halo_emit_integer(e, halo_integer_mod(&e->integers, line, 2));
    text = halo_arena_printf(e->arena, "%s ? (%s ? z.x : -z.y) : (%s ? z.y : z.x)", lower, right,
                             right);
  }
  return halo_value_expression(v->accumulator, text);
}

halo_value halo_dot_element(halo_emitter *e, emit_frame *frame, const halo_dot_desc *v, bool rhs,
                            const halo_integer *batch, const halo_integer *line,
                            const halo_integer *k) {
  const halo_integer *whole_line = line, *whole_k = k;
  if (v->made_real) {
    k = halo_integer_div(&e->integers, k, 2);
    if (rhs) line = halo_integer_div(&e->integers, line, 2);
  }
  const halo_dot_side *side = rhs ? &v->rhs : &v->lhs;
  const halo_shape *shape = side->operand->shape;
  const halo_integer *at[HALO_MAX_RANK];
  dot_place(e, &side->batch, shape, batch, at);
  dot_place(e, &side->free, shape, line, at);
  dot_place(e, &side->contract, shape, k, at);
  halo_value value =
      halo_emit_value(e, frame, side->operand, 0, halo_index_of(e, shape->rank, shape->dims, at));
  if (!v->made_real) return halo_emit_convert(e, value, v->accumulator);
  return dot_part(e, v, rhs, halo_emit_convert(e, value, v->result), whole_line, whole_k);
}

/* The result's dimensions are batch, lhs free, rhs free, in this order. */
static void dot_result_groups(const halo_dot_desc *v, halo_dot_group groups[3]) {
  groups[0] = v->lhs.batch, groups[1] = v->lhs.free, groups[2] = v->rhs.free;
  int next = 0;
  for (int g = 0; g < 3; g++) {
    for (int i = 0; i < groups[g].count; i++) groups[g].dims[i] = next++;
  }
}

halo_dot_strides halo_dot_result_strides(const halo_dot_desc *v) {
  halo_dot_group groups[3];
  int64_t strides[HALO_MAX_RANK];
  dot_result_groups(v, groups);
  halo_shape_strides(v->dot->shape, strides);
  return (halo_dot_strides){dot_group_stride(&groups[1], v->dot->shape, strides),
                            dot_group_stride(&groups[2], v->dot->shape, strides)};
}

emit_index *halo_dot_result_index(halo_emitter *e, const halo_dot_desc *v,
                                  const halo_integer *batch, const halo_integer *row,
                                  const halo_integer *column) {
  const halo_shape *shape = v->dot->shape;
  const halo_integer *at[HALO_MAX_RANK], *position[3] = {batch, row, column};
  halo_dot_group groups[3];
  dot_result_groups(v, groups);
  for (int g = 0; g < 3; g++) dot_place(e, &groups[g], shape, position[g], at);
  return halo_index_of(e, shape->rank, shape->dims, at);
}

bool halo_dot_is_strided(const halo_dot_side *side) {
  return side->is_parameter && side->batch.stride >= 0 && side->free.stride >= 0 &&
         side->contract.stride >= 0;
}

bool halo_dot_steps_collide(const halo_dot_desc *v, const halo_dot_side *side) {
  enum { APART = 4096 };
  int64_t step = side->contract.stride * (int64_t)halo_type_size(v->accumulator);
  return step > 0 && step % APART == 0;
}
