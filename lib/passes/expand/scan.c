/* SPDX-License-Identifier: Apache-2.0 */
/* passes/expand/scan.c: scan as a loop that counts: each round takes a slice of every input, applies the computation,
 * and puts what it gives into the outputs. */
#include "passes/expand/expand.h"

#include <string.h>

typedef struct scan_parts {
  halo_instr *instr;
  const halo_computation *body;
  int64_t dim, length;
  int32_t inputs, carries, outputs;
  bool reverse;
  const halo_shape *state; /* of the loop: round, inputs, carries, outputs */
} scan_parts;

static halo_arena *scan_arena(const halo_expander *x) { return &x->r->computation->module->arena; }

static halo_instr *scan_part(halo_expander *x, halo_instr *tuple, int64_t i) {
  return tuple ? halo_rewrite_make_gte(x->r, x->like, tuple, i) : NULL;
}

/* Likewise of what the computation gives: one value may stand outside of a tuple. */
static halo_instr *scan_given(halo_expander *x, halo_instr *results, int64_t i) {
  return results && halo_shape_is_tuple(results->shape) ? scan_part(x, results, i) : results;
}

/* The shape of the scan's result `i`. */
static const halo_shape *scan_result(const halo_instr *scan, int32_t i) {
  return halo_shape_is_tuple(scan->shape) ? scan->shape->elements[i] : scan->shape;
}

/* A computation of the loop's state; `x` then writes into it. */
static halo_instr *scan_begin(halo_expander *x, const scan_parts *s, const char *name) {
  halo_module *module = x->r->computation->module;
  halo_computation *computation = halo_computation_create(module, NULL);
  computation->name = halo_module_fresh_name(module, name);
  x->r->computation = computation;
  halo_instr_spec spec = {
      .opcode = HALO_OP_PARAMETER, .name = "state", .shape = s->state, .line = x->like->line};
  return halo_instr_create_unchecked(computation, &spec);
}

/* Start indices of the slice at `at` in an array of `rank` dimensions, behind the first `before` operands. */
static void scan_starts(halo_expander *x, const scan_parts *s, int rank, halo_instr *at,
                        halo_instr **starts) {
  for (int d = 0; d < rank; d++) {
    starts[d] = d == s->dim ? at : halo_rewrite_make_scalar(x->r, x->like, HALO_S64, 0);
  }
}

/* The slice of an input, without the dimension. */
static halo_instr *scan_take(halo_expander *x, const scan_parts *s, halo_instr *input,
                             halo_instr *at, const halo_shape *slice) {
  int rank = input->shape->rank;
  halo_instr *starts[HALO_MAX_RANK];
  int64_t sizes[HALO_MAX_RANK];
  scan_starts(x, s, rank, at, starts);
  for (int d = 0; d < rank; d++) sizes[d] = d == s->dim ? 1 : input->shape->dims[d];
  halo_instr *thick = halo_expand_dynamic_slice(x, input, starts, sizes);
  return thick ? halo_rewrite_make_unary(x->r, x->like, HALO_OP_RESHAPE, slice, thick) : NULL;
}

/* An output with a slice put in. */
static halo_instr *scan_put(halo_expander *x, const scan_parts *s, halo_instr *output,
                            halo_instr *slice, halo_instr *at) {
  if (!output || !slice) return NULL;
  int rank = output->shape->rank;
  int64_t dims[HALO_MAX_RANK];
  for (int d = 0; d < rank; d++) dims[d] = d == s->dim ? 1 : output->shape->dims[d];
  const halo_shape *thick = halo_shape_new(scan_arena(x), output->shape->type, rank, dims);
  halo_instr *operands[2 + HALO_MAX_RANK] = {
      output, halo_rewrite_make_unary(x->r, x->like, HALO_OP_RESHAPE, thick, slice)};
  scan_starts(x, s, rank, at, operands + 2);
  return halo_expand_op(x, HALO_OP_DYNAMIC_UPDATE_SLICE, operands, rank + 2, NULL, 0);
}

static halo_computation *scan_condition(halo_expander *x, const scan_parts *s) {
  halo_instr *state = scan_begin(x, s, "scan_condition");
  halo_instr *round = scan_part(x, state, 0),
             *length = halo_rewrite_make_scalar(x->r, x->like, HALO_S64, s->length);
  x->r->computation->root = halo_expand_compare(x, round, HALO_LT, length);
  return x->r->computation;
}

static halo_computation *scan_body(halo_expander *x, const scan_parts *s) {
  halo_instr *state = scan_begin(x, s, "scan_body");
  halo_arena *arena = scan_arena(x);
  int32_t given = s->inputs + s->carries;
  halo_instr **args = halo_arena_array(arena, halo_instr *, given);
  halo_instr **next = halo_arena_array(arena, halo_instr *, 1 + given + s->outputs);
  halo_instr *round = scan_part(x, state, 0), *at = round;
  next[0] = halo_expand_binary(x, HALO_OP_ADD, round,
                               halo_rewrite_make_scalar(x->r, x->like, HALO_S64, 1));
  if (s->reverse) {
    halo_instr *last = halo_rewrite_make_scalar(x->r, x->like, HALO_S64, s->length - 1);
    at = halo_expand_binary(x, HALO_OP_SUBTRACT, last, round);
  }
  for (int32_t i = 0; i < given; i++) {
    halo_instr *part = args[i] = next[1 + i] = scan_part(x, state, 1 + i);
    if (i < s->inputs) args[i] = scan_take(x, s, part, at, s->body->params.data[i]->shape);
    if (!args[i]) return NULL;
  }
  halo_instr *results = halo_computation_inline(x->r->computation, s->body, args);
  for (int32_t i = 0; i < s->carries; i++) {
    next[1 + s->inputs + i] = scan_given(x, results, s->outputs + i);
  }
  for (int32_t i = 0; i < s->outputs; i++) {
    next[1 + given + i] =
        scan_put(x, s, scan_part(x, state, 1 + given + i), scan_given(x, results, i), at);
  }
  x->r->computation->root = halo_expand_tuple(x, next, 1 + given + s->outputs);
  return x->r->computation;
}

/* The loop's state at first: outputs are zeros. */
static halo_instr *scan_start(halo_expander *x, const scan_parts *s) {
  int32_t given = s->inputs + s->carries;
  halo_instr **parts = halo_arena_array(scan_arena(x), halo_instr *, 1 + given + s->outputs);
  parts[0] = halo_rewrite_make_scalar(x->r, x->like, HALO_S64, 0);
  memcpy(parts + 1, s->instr->operands, sizeof *parts * (size_t)given);
  for (int32_t i = 0; i < s->outputs; i++) {
    const halo_shape *shape = scan_result(s->instr, i);
    parts[1 + given + i] = halo_expand_splat(x, halo_expand_scalar(x, shape->type, 0), shape);
  }
  return halo_expand_tuple(x, parts, 1 + given + s->outputs);
}

halo_instr *halo_expand_scan(halo_expander *x, halo_instr *instr) {
  int32_t count;
  scan_parts s = {.instr = instr,
                  .body = halo_instr_comp(instr, HALO_ATTR_TO_APPLY),
                  .dim = halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &count)[0],
                  .carries = (int32_t)halo_instr_int(instr, HALO_ATTR_NUM_CARRIES, 0),
                  .reverse = halo_instr_bool(instr, HALO_ATTR_IS_REVERSE, false)};
  s.length = instr->operands[0]->shape->dims[s.dim];
  s.inputs = instr->operand_count - s.carries;
  bool single = !halo_shape_is_tuple(instr->shape);
  s.outputs = (single ? 1 : instr->shape->count) - s.carries;
  halo_instr *state = scan_start(x, &s);
  if (!state) return NULL;
  s.state = state->shape;
  if (s.length > 0) {
    halo_rewriter inner = {0};
    halo_rewriter *outer = x->r;
    inner.computation = outer->computation;
    x->r = &inner;
    halo_computation *body = scan_body(x, &s), *condition = scan_condition(x, &s);
    x->r = outer;
    if (x->status != HALO_OK || !body) return NULL;
    halo_attr attrs[2] = {{.id = HALO_ATTR_CONDITION}, {.id = HALO_ATTR_BODY}};
    attrs[0].comps.data = halo_arena_copy(scan_arena(x), &condition, sizeof condition);
    attrs[1].comps.data = halo_arena_copy(scan_arena(x), &body, sizeof body);
    attrs[0].comps.count = attrs[1].comps.count = 1;
    state = halo_expand_op(x, HALO_OP_WHILE, &state, 1, attrs, 2);
  }
  int32_t given = s.inputs + s.carries;
  halo_instr **results = halo_arena_array(scan_arena(x), halo_instr *, s.outputs + s.carries);
  for (int32_t i = 0; i < s.outputs; i++) results[i] = scan_part(x, state, 1 + given + i);
  for (int32_t i = 0; i < s.carries; i++) {
    results[s.outputs + i] = scan_part(x, state, 1 + s.inputs + i);
  }
  return single ? results[0] : halo_expand_tuple(x, results, s.outputs + s.carries);
}
