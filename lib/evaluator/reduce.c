/* SPDX-License-Identifier: Apache-2.0 */
/* evaluator/reduce.c: map and reduce. */
#include "base/memory.h"
#include "evaluator/eval.h"

#include <string.h>

halo_status eval_map(const eval_call *call, halo_literal **out) {
  int32_t n = call->instr->operand_count;
  HALO_TRY(halo_literal_create(call->instr->shape, out));
  halo_arena arena = {0};
  halo_type *types = halo_arena_array(&arena, halo_type, n);
  eval_scalar *args = halo_arena_array(&arena, eval_scalar, n);
  for (int32_t k = 0; k < n; k++) types[k] = call->operands[k]->shape->type;
  eval_function function;
  halo_status status = eval_function_init(
      &function, halo_instr_comp(call->instr, HALO_ATTR_TO_APPLY), types, n, call->depth);
  int64_t total = halo_shape_element_count(call->instr->shape);
  for (int64_t i = 0; i < total && status == HALO_OK; i++) {
    for (int32_t k = 0; k < n; k++) {
      args[k] = eval_get(call->operands[k], call->operands[k]->shape->rank ? i : 0);
    }
    eval_scalar result;
    status = eval_function_call(&function, args, &result);
    if (status == HALO_OK) eval_set(*out, i, result);
  }
  eval_function_deinit(&function);
  halo_arena_deinit(&arena);
  return status;
}

/* ---- Reducers ---- */

halo_status eval_reducer_init(eval_reducer *reducer, const eval_call *call, halo_attr_id body,
                              int32_t count, halo_literal *out) {
  *reducer = (eval_reducer){.count = count};
  halo_type *types = halo_arena_array(&reducer->arena, halo_type, 2 * count);
  reducer->values = halo_arena_array(&reducer->arena, eval_scalar, 2 * count);
  reducer->results = halo_arena_array(&reducer->arena, eval_scalar, count);
  reducer->init = halo_arena_array(&reducer->arena, eval_scalar, count);
  reducer->outs = halo_arena_array(&reducer->arena, halo_literal *, count);
  const halo_computation *computation = halo_instr_comp(call->instr, body);
  if (computation->params.count != 2 * count) {
    return halo_fail(HALO_INVALID_ARGUMENT, "%s does not take %d parameter%s", computation->name,
                     2 * count, halo_plural(2 * count));
  }
  for (int32_t k = 0; k < count; k++) {
    /* The accumulator has its parameter's type throughout. */
    types[k] = computation->params.data[k]->shape->type;
    types[count + k] = call->operands[k]->shape->type;
    const halo_literal *init = call->operands[count + k];
    reducer->init[k] = eval_convert(init->shape->type, types[k], eval_get(init, 0));
    reducer->outs[k] = halo_shape_is_tuple(out->shape) ? out->elements[k] : out;
  }
  HALO_TRY(eval_function_init(&reducer->function, computation, types, 2 * count, call->depth));
  if (reducer->function.result_count != count) {
    return halo_fail(HALO_INVALID_ARGUMENT, "%s does not return %d value%s", computation->name,
                     count, halo_plural(count));
  }
  halo_type type = types[0];
  bool fractional = halo_type_is_float(type) || halo_type_is_complex(type);
  reducer->sums = count == 1 && fractional && types[1] == type &&
                  eval_function_binary(&reducer->function) == HALO_OP_ADD;
  return HALO_OK;
}

void eval_reducer_deinit(eval_reducer *reducer) {
  eval_function_deinit(&reducer->function);
  halo_arena_deinit(&reducer->arena);
}

void eval_reducer_start(eval_reducer *reducer) {
  memcpy(reducer->values, reducer->init, sizeof *reducer->init * (size_t)reducer->count);
  if (!reducer->sums) return;
  halo_type part = halo_type_real_part(reducer->function.param_types[0]);
  reducer->re = eval_decode(part, reducer->init[0].re);
  reducer->im = eval_decode(part, reducer->init[0].im);
}

halo_status eval_reducer_add(eval_reducer *reducer, halo_literal *const *operands, int64_t i) {
  int32_t count = reducer->count;
  if (reducer->sums) {
    halo_type part = halo_type_real_part(reducer->function.param_types[0]);
    eval_scalar value = eval_get(operands[0], i);
    reducer->re += eval_decode(part, value.re);
    reducer->im += eval_decode(part, value.im);
    return HALO_OK;
  }
  for (int32_t k = 0; k < count; k++) reducer->values[count + k] = eval_get(operands[k], i);
  HALO_TRY(eval_function_call(&reducer->function, reducer->values, reducer->results));
  for (int32_t k = 0; k < count; k++) {
    reducer->values[k] = eval_convert(reducer->function.result_types[k],
                                      reducer->function.param_types[k], reducer->results[k]);
  }
  return HALO_OK;
}

void eval_reducer_finish(eval_reducer *reducer, int64_t i) {
  if (reducer->sums) {
    halo_type part = halo_type_real_part(reducer->function.param_types[0]);
    reducer->values[0].re = eval_encode_long(part, reducer->re);
    if (halo_type_is_complex(reducer->function.param_types[0])) {
      reducer->values[0].im = eval_encode_long(part, reducer->im);
    }
  }
  for (int32_t k = 0; k < reducer->count; k++) {
    halo_literal *out = reducer->outs[k];
    eval_set(out, i,
             eval_convert(reducer->function.param_types[k], out->shape->type, reducer->values[k]));
  }
}

/* ---- Reduce ---- */

/* The operand's dimensions split into those that stay and those that go, each in order. */
typedef struct reduce_dims {
  int kept, gone;
  int64_t kept_dims[HALO_MAX_RANK], kept_strides[HALO_MAX_RANK];
  int64_t gone_dims[HALO_MAX_RANK], gone_strides[HALO_MAX_RANK];
} reduce_dims;

static void reduce_split(const eval_call *call, reduce_dims *split) {
  const halo_shape *shape = call->operands[0]->shape;
  int32_t count;
  const int64_t *dims = halo_instr_ints(call->instr, HALO_ATTR_DIMENSIONS, &count);
  int64_t strides[HALO_MAX_RANK];
  bool goes[HALO_MAX_RANK] = {false};
  for (int32_t i = 0; i < count; i++) goes[dims[i]] = true;
  eval_strides(shape->rank, shape->dims, strides);
  split->kept = split->gone = 0;
  for (int d = 0; d < shape->rank; d++) {
    if (goes[d]) {
      split->gone_dims[split->gone] = shape->dims[d];
      split->gone_strides[split->gone++] = strides[d];
    } else {
      split->kept_dims[split->kept] = shape->dims[d];
      split->kept_strides[split->kept++] = strides[d];
    }
  }
}

static halo_status reduce_one(eval_reducer *reducer, const eval_call *call,
                              const reduce_dims *split, int64_t base) {
  int64_t index[HALO_MAX_RANK] = {0};
  if (eval_count(split->gone, split->gone_dims) == 0) return HALO_OK;
  do {
    int64_t at = base + eval_offset(split->gone, index, split->gone_strides);
    HALO_TRY(eval_reducer_add(reducer, call->operands, at));
  } while (eval_next(split->gone, split->gone_dims, index));
  return HALO_OK;
}

halo_status eval_reduce(const eval_call *call, halo_literal **out) {
  HALO_TRY(halo_literal_create(call->instr->shape, out));
  reduce_dims split;
  reduce_split(call, &split);
  eval_reducer reducer;
  halo_status status =
      eval_reducer_init(&reducer, call, HALO_ATTR_TO_APPLY, call->instr->operand_count / 2, *out);
  int64_t index[HALO_MAX_RANK] = {0}, total = eval_count(split.kept, split.kept_dims);
  for (int64_t i = 0; i < total && status == HALO_OK; i++) {
    eval_reducer_start(&reducer);
    status = reduce_one(&reducer, call, &split, eval_offset(split.kept, index, split.kept_strides));
    eval_reducer_finish(&reducer, i);
    eval_next(split.kept, split.kept_dims, index);
  }
  eval_reducer_deinit(&reducer);
  return status;
}
