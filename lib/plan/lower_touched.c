/* SPDX-License-Identifier: Apache-2.0 */
/* plan/lower_touched.c: how much of its buffers a fusion touches. A round of a loop that reads one row of an array,
 * or writes one, costs no more for the array's length. */
#include "plan/lowering.h"

/* The updates that a scatter combines with one of its arrays: as much of the array is met at most. */
static const halo_shape *touched_updates(const halo_instr *scatter, int32_t array) {
  return scatter->operands[scatter->operand_count / 2 + 1 + array]->shape;
}

/* Bytes of an operand that an instruction reads at most. What is written over is not read. */
static int64_t touched_by(const halo_instr *user, int32_t operand) {
  bool part = user->opcode == HALO_OP_SLICE || user->opcode == HALO_OP_DYNAMIC_SLICE ||
              user->opcode == HALO_OP_GATHER;
  if (operand == 0 && part) return halo_shape_byte_size(user->shape);
  if (operand == 0 && user->opcode == HALO_OP_DYNAMIC_UPDATE_SLICE) return 0;
  if (user->opcode == HALO_OP_SCATTER && operand < user->operand_count / 2) {
    return halo_shape_byte_size(touched_updates(user, operand));
  }
  return INT64_MAX;
}

const int64_t *lower_inputs_touched(lower_state *s, const halo_computation *body) {
  int32_t count = body->params.count, total = 0;
  int32_t *first = halo_arena_array(&s->plan->arena, int32_t, count + 1);
  for (int32_t p = 0; p < count; p++) {
    first[p] = total;
    total += halo_shape_leaf_count(body->params.data[p]->shape);
  }
  int64_t *touched = halo_arena_array(&s->plan->arena, int64_t, total + 1);
  for (int32_t i = 0; i < body->instrs.count; i++) {
    const halo_instr *user = body->instrs.data[i];
    for (int32_t o = 0; o < user->operand_count; o++) {
      const halo_instr *parameter = user->operands[o];
      if (parameter->opcode != HALO_OP_PARAMETER) continue;
      int64_t bytes = touched_by(user, o);
      int32_t leaves = halo_shape_leaf_count(parameter->shape);
      for (int32_t l = 0; l < leaves; l++) {
        int64_t *sum = &touched[first[parameter->parameter_number] + l];
        if (__builtin_add_overflow(*sum, bytes, sum)) *sum = INT64_MAX;
      }
    }
  }
  return touched;
}

int64_t lower_output_touched(const halo_computation *body, int32_t leaf) {
  const halo_instr *result = body->root;
  if (result->opcode == HALO_OP_SCATTER) return halo_shape_byte_size(touched_updates(result, leaf));
  if (result->opcode == HALO_OP_TUPLE) {
    if (result->operand_count != halo_shape_leaf_count(result->shape)) return INT64_MAX;
    result = result->operands[leaf];
  }
  if (result->opcode != HALO_OP_DYNAMIC_UPDATE_SLICE) return INT64_MAX;
  return halo_shape_byte_size(result->operands[1]->shape);
}
