/* SPDX-License-Identifier: Apache-2.0 */
/* passes/simplify/inline_calls.c: call, fusion and the asynchronous wrappers become what they wrap; asynchronous
 * work that is long stays apart, for the plan to run beside the rest. */
#include "passes/passes.h"
#include "passes/simplify/async_pairs.h"
#include "rewrite/rewrite.h"

typedef struct inline_state {
  halo_rewriter r;
  halo_pointer_map kept; /* the computation's starts that stay */
} inline_state;

/* Copies `callee` into the computation and gives the result. The copies are ordered as the call was. */
static halo_instr *inline_body(inline_state *s, halo_instr *call, const halo_computation *callee) {
  halo_computation *computation = s->r.computation;
  int32_t first = computation->instrs.count;
  halo_instr *result = halo_computation_inline(computation, callee, call->operands);
  for (int32_t i = first; i < computation->instrs.count; i++) {
    /* Whether it stays was decided where it stood. */
    halo_instr *copy = computation->instrs.data[i];
    if (copy->opcode == HALO_OP_ASYNC_START) halo_pointer_map_set(&s->kept, copy, copy);
  }
  if (!halo_rewrite_pinned(call)) return result;

  int32_t preds = call->control_pred_count;
  halo_instr **before = call->control_preds;
  bool fresh = false;
  for (int32_t i = first; i < computation->instrs.count; i++) {
    fresh |= computation->instrs.data[i] == result;
  }
  if (fresh) {
    /* The result itself carries the order on, so users need not inherit it. */
    call->control_preds = NULL;
    call->control_pred_count = 0;
  }
  for (int32_t i = first; i < computation->instrs.count; i++) {
    halo_instr *copy = computation->instrs.data[i];
    bool effect = halo_instr_has_side_effect(copy);
    if (!effect && copy != result) continue;
    for (int32_t p = 0; p < preds; p++) halo_rewrite_add_control_pred(copy, before[p]);
    /* What came after the call comes after each of its effects. */
    if (effect && copy != result) halo_rewrite_add_control_pred(call, copy);
  }
  return result;
}

/* A value for the context elements of an async-start: nothing reads them. NULL for opaque shapes. */
static halo_instr *inline_context(inline_state *s, const halo_instr *like,
                                  const halo_shape *shape) {
  if (halo_shape_is_token(shape)) {
    return halo_rewrite_make(&s->r, like, HALO_OP_AFTER_ALL, shape, NULL, 0, NULL, 0);
  }
  if (!halo_shape_is_array(shape)) return NULL;
  halo_instr *zero = halo_rewrite_make_scalar(&s->r, like, shape->type, 0);
  return halo_rewrite_make_splat(&s->r, like, zero, shape);
}

/* tuple(first, second, contexts...) in the shape of the start instruction; NULL when it cannot be. */
static halo_instr *inline_start_tuple(inline_state *s, const halo_instr *start, halo_instr *first,
                                      halo_instr *second) {
  const halo_shape *shape = start->shape;
  halo_instr *result = NULL;
  HALO_VEC(halo_instr *) parts = {0};
  halo_vec_push(&parts, first);
  halo_vec_push(&parts, second);
  for (int32_t i = 2; i < shape->count; i++) {
    halo_instr *context = inline_context(s, start, shape->elements[i]);
    if (!context) goto done;
    halo_vec_push(&parts, context);
  }
  result = halo_rewrite_make(&s->r, start, HALO_OP_TUPLE, shape, parts.data, parts.count, NULL, 0);
done:
  halo_vec_deinit(&parts);
  return result;
}

/* async-start((operands) , calls=C) -> tuple(tuple(operands), C(operands), contexts). */
static void inline_async_start(inline_state *s, halo_instr *start) {
  if (halo_pointer_map_get(&s->kept, start)) return;
  halo_computation *callee = halo_instr_comp(start, HALO_ATTR_CALLS);
  const halo_shape *shape = start->shape;
  for (int32_t i = 2; i < shape->count; i++) {
    const halo_shape *context = shape->elements[i];
    if (!halo_shape_is_array(context) && !halo_shape_is_token(context)) return;
  }
  halo_instr *result = inline_body(s, start, callee);
  halo_instr *inputs = halo_rewrite_make(&s->r, start, HALO_OP_TUPLE, shape->elements[0],
                                         start->operands, start->operand_count, NULL, 0);
  halo_rewrite_replace(&s->r, start, inline_start_tuple(s, start, inputs, result));
}

/* copy-start(x) -> tuple(copy(x), x, contexts). */
static void inline_copy_start(inline_state *s, halo_instr *start) {
  const halo_shape *shape = start->shape;
  halo_instr *source = start->operands[0];
  halo_instr *copy =
      halo_rewrite_make_unary(&s->r, start, HALO_OP_COPY, shape->elements[0], source);
  halo_instr *tuple = inline_start_tuple(s, start, copy, source);
  if (tuple) halo_rewrite_replace(&s->r, start, tuple);
}

/* The done half picks element `index` of what its start half became. */
static void inline_done(inline_state *s, halo_instr *done, int32_t index) {
  halo_instr *start = done->operands[0];
  if (start->opcode != HALO_OP_TUPLE || start->operand_count <= index) return;
  if (!halo_shape_compatible(start->operands[index]->shape, done->shape)) return;
  halo_rewrite_replace(&s->r, done, start->operands[index]);
}

static void inline_async_update(inline_state *s, halo_instr *update) {
  halo_instr *before = update->operands[0];
  if (before->opcode == HALO_OP_TUPLE || halo_pointer_map_get(&s->kept, before)) {
    halo_rewrite_replace(&s->r, update, before);
  }
}

static void inline_async_done(inline_state *s, halo_instr *done) { inline_done(s, done, 1); }

static void inline_copy_done(inline_state *s, halo_instr *done) { inline_done(s, done, 0); }

static void inline_callee(inline_state *s, halo_instr *instr) {
  halo_attr_id attr = instr->opcode == HALO_OP_CALL ? HALO_ATTR_TO_APPLY : HALO_ATTR_CALLS;
  halo_computation *callee = halo_instr_comp(instr, attr);
  if (!callee) return;
  halo_rewrite_replace(&s->r, instr, inline_body(s, instr, callee));
}

typedef void inline_rule(inline_state *s, halo_instr *instr);
static inline_rule *const inline_rules[HALO_OPCODE_COUNT] = {
    [HALO_OP_CALL] = inline_callee,
    [HALO_OP_FUSION] = inline_callee,
    [HALO_OP_ASYNC_START] = inline_async_start,
    [HALO_OP_ASYNC_UPDATE] = inline_async_update,
    [HALO_OP_ASYNC_DONE] = inline_async_done,
    [HALO_OP_COPY_START] = inline_copy_start,
    [HALO_OP_COPY_DONE] = inline_copy_done,
};

halo_status halo_pass_inline_calls(halo_module *module, bool *changed) {
  inline_state s = {0};
  *changed = false;
  /* Callees come before callers, so what is copied contains no calls any more. */
  for (int32_t c = 0; c < module->computations.count; c++) {
    halo_async_pairs_keep(module->computations.data[c], &s.kept);
    halo_rewrite_begin(&s.r, module->computations.data[c]);
    for (int32_t i = 0; i < s.r.computation->instrs.count; i++) {
      halo_instr *instr = halo_rewrite_next(&s.r, i);
      inline_rule *rule = instr ? inline_rules[instr->opcode] : NULL;
      if (rule) rule(&s, instr);
    }
    halo_pointer_map_deinit(&s.kept);
    HALO_TRY(halo_rewrite_end(&s.r, changed));
  }
  return HALO_OK;
}
