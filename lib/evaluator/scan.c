/* SPDX-License-Identifier: Apache-2.0 */
/* evaluator/scan.c: scan: a computation applied to slices one after the other, with carries. */
#include "base/memory.h"
#include "evaluator/eval.h"

/* Copies between slice `at` of `whole` along `dim` and an array of the other dimensions. */
static void scan_copy(halo_literal *whole, int64_t dim, int64_t at, halo_literal *part, bool out) {
  const halo_shape *shape = whole->shape;
  int64_t outer = 1, inner = 1, length = shape->dims[dim];
  for (int64_t d = 0; d < dim; d++) outer *= shape->dims[d];
  for (int64_t d = dim + 1; d < shape->rank; d++) inner *= shape->dims[d];
  for (int64_t i = 0; i < outer * inner; i++) {
    int64_t there = (i / inner * length + at) * inner + i % inner;
    if (out) {
      eval_set(part, i, eval_get(whole, there));
    } else {
      eval_set(whole, there, eval_get(part, i));
    }
  }
}

/* Value `i` of what a computation or the scan gives: one may stand outside of a tuple. */
static halo_literal *scan_value(halo_literal *results, int32_t i) {
  return halo_shape_is_tuple(results->shape) ? results->elements[i] : results;
}

static int32_t scan_outputs(const halo_instr *scan, int32_t carries) {
  return (halo_shape_is_tuple(scan->shape) ? scan->shape->count : 1) - carries;
}

/* One round: `args` has room for the slices, which results may share, and then the carries, which become the
 * new ones. */
static halo_status scan_round(const eval_call *call, int64_t dim, int64_t at, int32_t inputs,
                              halo_literal **args, halo_literal *out) {
  const halo_instr *instr = call->instr;
  const halo_computation *body = halo_instr_comp(instr, HALO_ATTR_TO_APPLY);
  int32_t carries = instr->operand_count - inputs, outputs = scan_outputs(instr, carries);
  for (int32_t i = 0; i < inputs; i++) {
    halo_literal_release(args[i]);
    args[i] = NULL;
    HALO_TRY(halo_literal_create(body->params.data[i]->shape, &args[i]));
    scan_copy(call->operands[i], dim, at, args[i], true);
  }
  halo_literal *results = NULL;
  HALO_TRY(eval_computation(body, args, instr->operand_count, call->depth + 1, &results));
  for (int32_t i = 0; i < outputs; i++) {
    scan_copy(scan_value(out, i), dim, at, scan_value(results, i), false);
  }
  for (int32_t i = 0; i < carries; i++) {
    halo_literal_release(args[inputs + i]);
    args[inputs + i] = scan_value(results, outputs + i);
    halo_literal_retain(args[inputs + i]);
  }
  halo_literal_release(results);
  return HALO_OK;
}

halo_status eval_scan(const eval_call *call, halo_literal **out) {
  const halo_instr *instr = call->instr;
  int32_t count, carries = (int32_t)halo_instr_int(instr, HALO_ATTR_NUM_CARRIES, 0);
  int32_t inputs = instr->operand_count - carries, outputs = scan_outputs(instr, carries);
  int64_t dim = halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &count)[0];
  int64_t length = call->operands[0]->shape->dims[dim];
  bool reverse = halo_instr_bool(instr, HALO_ATTR_IS_REVERSE, false);
  HALO_TRY(halo_literal_create(instr->shape, out));
  halo_arena arena = {0};
  halo_literal **args = halo_arena_array(&arena, halo_literal *, instr->operand_count);
  halo_status status = HALO_OK;
  for (int32_t i = inputs; i < instr->operand_count; i++) {
    args[i] = call->operands[i];
    halo_literal_retain(args[i]);
  }
  for (int64_t i = 0; i < length && status == HALO_OK; i++) {
    status = scan_round(call, dim, reverse ? length - 1 - i : i, inputs, args, *out);
  }
  for (int32_t i = 0; i < carries && status == HALO_OK; i++) {
    halo_literal *carry = args[inputs + i], *to = scan_value(*out, outputs + i);
    int64_t total = halo_shape_element_count(carry->shape);
    for (int64_t k = 0; k < total; k++) eval_set(to, k, eval_get(carry, k));
  }
  for (int32_t i = 0; i < instr->operand_count; i++) halo_literal_release(args[i]);
  halo_arena_deinit(&arena);
  return status;
}
