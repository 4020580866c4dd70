/* SPDX-License-Identifier: Apache-2.0 */
/* passes/loops/trip_count.c: counted loops. */
#include "passes/loops/trip_count.h"

/* Wide enough for differences of any two 64-bit values, signed or not. */
typedef __int128 trip_wide;

/* Which state element an instruction of the condition or body reads; -1: none. A state that is no
 * tuple is its only element. */
static int64_t trip_element(const halo_instr *instr, const halo_instr *param) {
  if (instr == param) return halo_shape_is_tuple(param->shape) ? -1 : 0;
  if (instr->opcode != HALO_OP_GET_TUPLE_ELEMENT || instr->operands[0] != param) return -1;
  return halo_instr_int(instr, HALO_ATTR_INDEX, -1);
}

static bool trip_constant(const halo_instr *instr, trip_wide *value) {
  if (instr->opcode != HALO_OP_CONSTANT || instr->literal->elided) return false;
  if (!halo_shape_is_scalar(instr->shape) || !halo_type_is_integral(instr->shape->type)) {
    return false;
  }
  int64_t bits = halo_literal_get_i64(instr->literal, 0);
  *value = halo_type_is_uint(instr->shape->type) ? (trip_wide)(uint64_t)bits : bits;
  return true;
}

/* What the body makes of a state element, or its initial value; NULL when that cannot be seen. */
static const halo_instr *trip_part(const halo_instr *state, int64_t element) {
  if (!halo_shape_is_tuple(state->shape)) return state;
  return state->opcode == HALO_OP_TUPLE ? state->operands[element] : NULL;
}

/* A constant of the condition or body: written there, or in the initial state and never changed. */
static bool trip_invariant(const halo_instr *while_, const halo_computation *in,
                           const halo_instr *instr, trip_wide *value) {
  if (trip_constant(instr, value)) return true;
  int64_t element = trip_element(instr, in->params.data[0]);
  if (element < 0) return false;
  const halo_computation *body = halo_instr_comp(while_, HALO_ATTR_BODY);
  const halo_instr *next = trip_part(body->root, element);
  const halo_instr *init = trip_part(while_->operands[0], element);
  if (!next || !init || trip_element(next, body->params.data[0]) != element) return false;
  return trip_constant(init, value);
}

/* The constant that the body adds to a state element in each round. */
static bool trip_step(const halo_instr *while_, int64_t element, trip_wide *step) {
  const halo_computation *body = halo_instr_comp(while_, HALO_ATTR_BODY);
  const halo_instr *next = trip_part(body->root, element);
  if (!next || (next->opcode != HALO_OP_ADD && next->opcode != HALO_OP_SUBTRACT)) return false;
  const halo_instr *param = body->params.data[0];
  const halo_instr *x = next->operands[0], *y = next->operands[1];
  if (next->opcode == HALO_OP_ADD && trip_element(x, param) != element) {
    x = next->operands[1];
    y = next->operands[0];
  }
  if (trip_element(x, param) != element || !trip_invariant(while_, body, y, step)) return false;
  /* Adding a large unsigned number counts down. */
  int bits = halo_type_bits(next->shape->type);
  if (*step >= (trip_wide)1 << (bits - 1)) *step -= (trip_wide)1 << bits;
  if (next->opcode == HALO_OP_SUBTRACT) *step = -*step;
  return true;
}

/* Rounds of: for (v = init; v < limit; v += step), in unbounded numbers. */
static bool trip_count_up(trip_wide init, trip_wide limit, trip_wide step, trip_wide *trips) {
  if (init >= limit) {
    *trips = 0;
    return true;
  }
  if (step <= 0) return false;
  *trips = (limit - init + step - 1) / step;
  return true;
}

static bool trip_solve(halo_direction direction, trip_wide init, trip_wide limit, trip_wide step,
                       trip_wide *trips) {
  switch (direction) {
    case HALO_LT: return trip_count_up(init, limit, step, trips);
    case HALO_LE: return trip_count_up(init, limit + 1, step, trips);
    case HALO_GT: return trip_count_up(-init, -limit, -step, trips);
    case HALO_GE: return trip_count_up(-init, -limit + 1, -step, trips);
    case HALO_NE:
      if (init == limit) {
        *trips = 0;
        return true;
      }
      if (step == 0 || (limit - init) % step != 0 || (limit - init) / step < 0) return false;
      *trips = (limit - init) / step;
      return true;
    case HALO_EQ: *trips = init == limit ? 1 : 0; return init != limit || step != 0;
  }
  return false;
}

static halo_direction trip_mirrored(halo_direction direction) {
  static const halo_direction mirrored[] = {
      [HALO_EQ] = HALO_EQ, [HALO_NE] = HALO_NE, [HALO_GE] = HALO_LE,
      [HALO_GT] = HALO_LT, [HALO_LE] = HALO_GE, [HALO_LT] = HALO_GT,
  };
  return mirrored[direction];
}

bool halo_while_trip_count(const halo_instr *while_, int64_t *trips) {
  const halo_computation *condition = halo_instr_comp(while_, HALO_ATTR_CONDITION);
  const halo_instr *compare = condition->root, *param = condition->params.data[0];
  if (compare->opcode != HALO_OP_COMPARE) return false;
  halo_direction direction = (halo_direction)halo_instr_int(compare, HALO_ATTR_DIRECTION, HALO_EQ);
  const halo_instr *counters[] = {compare->operands[0], compare->operands[1]};
  halo_type type = counters[0]->shape->type;
  halo_compare_type natural = halo_type_is_sint(type) ? HALO_COMPARE_SIGNED : HALO_COMPARE_UNSIGNED;
  if (!halo_shape_is_scalar(counters[0]->shape) || !halo_type_is_integral(type)) return false;
  if (halo_compare_type_of(compare) != natural) return false;
  for (int side = 0; side < 2; side++) {
    trip_wide init, limit, step, count;
    int64_t element = trip_element(counters[side], param);
    if (element < 0 || !trip_invariant(while_, condition, counters[1 - side], &limit)) continue;
    const halo_instr *start = trip_part(while_->operands[0], element);
    if (!start || !trip_constant(start, &init) || !trip_step(while_, element, &step)) continue;
    if (side == 1) direction = trip_mirrored(direction);
    if (!trip_solve(direction, init, limit, step, &count)) return false;
    /* The value that ends the loop must be reached without wrapping around. */
    int bits = halo_type_bits(type);
    bool is_signed = halo_type_is_sint(type);
    trip_wide low = is_signed ? -((trip_wide)1 << (bits - 1)) : 0;
    trip_wide high = ((trip_wide)1 << (is_signed ? bits - 1 : bits)) - 1;
    if (count > INT64_MAX) return false;
    trip_wide last = init + count * step;
    if (direction != HALO_EQ && (last < low || last > high)) return false;
    *trips = (int64_t)count;
    return true;
  }
  return false;
}
