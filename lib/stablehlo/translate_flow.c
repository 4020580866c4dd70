/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/translate_flow.c: loops and branches. HLO's computations see their parameters only, so that values
 * of outside that a region uses go in with them; constants are copied instead. */
#include "stablehlo/translate.h"

/* Values of outside that regions use, each once. */
typedef struct flow_captures {
  HALO_VEC(halo_mlir_value *) values;    /* that go in as parameters */
  HALO_VEC(halo_mlir_value *) constants; /* that are copied */
  halo_pointer_map seen;
} flow_captures;

static void flow_captures_deinit(flow_captures *captures) {
  halo_vec_deinit(&captures->values);
  halo_vec_deinit(&captures->constants);
  halo_pointer_map_deinit(&captures->seen);
}

static void flow_collect(halo_translator *t, const halo_mlir_region *top,
                         const halo_mlir_region *region, flow_captures *out) {
  for (int32_t i = 0; region->block && i < region->block->ops.count; i++) {
    const halo_mlir_op *op = region->block->ops.data[i];
    for (int32_t o = 0; o < op->operand_count && halo_translate_ok(t); o++) {
      halo_mlir_value *value = op->operands[o];
      if (halo_translate_is_inside(value, top) || halo_pointer_map_set(&out->seen, value, value))
        continue;
      const halo_instr *instr = halo_translate_value(t, value);
      if (!instr) return;
      if (halo_translate_is_constant(instr)) {
        halo_vec_push(&out->constants, value);
      } else {
        halo_vec_push(&out->values, value);
      }
    }
    for (int32_t r = 0; r < op->region_count; r++) flow_collect(t, top, &op->regions[r], out);
  }
}

/* ---- A region as a computation of one parameter ---- */

/* What the parameter holds: values of outside, behind what the region itself takes. */
typedef struct flow_state {
  halo_instr **parts; /* outside */
  int32_t count, own; /* all; what the region itself takes */
} flow_state;

static flow_state flow_state_create(halo_translator *t, const halo_mlir_op *op, int32_t own,
                                    const flow_captures *captures) {
  flow_state state = {.own = own, .count = own + captures->values.count};
  state.parts = halo_arena_array(t->arena, halo_instr *, state.count + 1);
  for (int32_t i = 0; i < own; i++) state.parts[i] = halo_translate_operand(t, op, i);
  for (int32_t i = own; i < state.count; i++) {
    state.parts[i] = halo_translate_value(t, captures->values.data[i - own]);
  }
  return state;
}

/* The parameter of the computation under way, taken apart. */
static halo_instr **flow_parameter(halo_translator *t, const flow_state *state) {
  halo_instr **inside = halo_arena_array(t->arena, halo_instr *, state->count + 1);
  if (!halo_translate_ok(t)) return inside;
  const halo_shape *shape;
  if (state->count == 1) {
    shape = state->parts[0]->shape;
  } else {
    const halo_shape **parts = halo_arena_array(t->arena, const halo_shape *, state->count + 1);
    for (int32_t i = 0; i < state->count; i++) parts[i] = state->parts[i]->shape;
    shape = halo_shape_new_tuple(t->arena, state->count, parts);
  }
  halo_instr *parameter = halo_translate_parameter(t, 0, shape, NULL);
  if (state->count == 1) {
    inside[0] = parameter;
    return inside;
  }
  for (int32_t i = 0; i < state->count; i++) inside[i] = halo_translate_element(t, parameter, i);
  return inside;
}

/* Makes the captured values stand for what is inside, and gives what they stood for. */
static void **flow_enter(halo_translator *t, const flow_captures *captures, const flow_state *state,
                         halo_instr *const *inside) {
  int32_t values = captures->values.count, constants = captures->constants.count;
  void **saved = halo_arena_array(t->arena, void *, values + constants + 1);
  for (int32_t i = 0; i < values; i++) {
    saved[i] = captures->values.data[i]->data;
    captures->values.data[i]->data = inside[state->own + i];
  }
  for (int32_t i = 0; i < constants; i++) {
    halo_mlir_value *value = captures->constants.data[i];
    saved[values + i] = value->data;
    value->data = halo_translate_copy(t, value->data);
  }
  return saved;
}

static void flow_leave(const flow_captures *captures, void **saved) {
  int32_t values = captures->values.count;
  for (int32_t i = 0; i < values; i++) captures->values.data[i]->data = saved[i];
  for (int32_t i = 0; i < captures->constants.count; i++) {
    captures->constants.data[i]->data = saved[values + i];
  }
}

/* `returned` values come back; with `pass` the captured ones behind them, as a loop's state needs them. */
static halo_computation *flow_computation(halo_translator *t, halo_mlir_region *region,
                                          const char *name, const flow_captures *captures,
                                          const flow_state *state, int32_t returned, bool pass) {
  if (!halo_translate_ok(t)) return NULL;
  halo_mlir_block *block = region->block;
  if (!block || block->arg_count != state->own) {
    halo_translate_wrong(t, "a region takes %d argument%s: expected %d",
                         block ? block->arg_count : 0, block && block->arg_count == 1 ? "" : "s",
                         state->own);
    return NULL;
  }
  halo_computation *outer, *body = halo_translate_begin(t, name, &outer);
  halo_instr **inside = flow_parameter(t, state);
  for (int32_t i = 0; i < state->own; i++) block->args[i].data = inside[i];
  void **saved = flow_enter(t, captures, state, inside);
  int32_t passed = pass ? state->count - state->own : 0;
  halo_instr **results = halo_arena_array(t->arena, halo_instr *, returned + passed + 1);
  halo_translate_block(t, block, results, returned);
  for (int32_t i = 0; i < passed; i++) results[returned + i] = inside[state->own + i];
  halo_translate_end(t, halo_translate_pack(t, results, returned + passed), outer);
  flow_leave(captures, saved);
  return halo_translate_ok(t) ? body : NULL;
}

/* ---- Loops ---- */

void halo_translate_op_while(halo_translator *t, halo_mlir_op *op) {
  int32_t own = op->operand_count;
  flow_captures captures = {0};
  flow_collect(t, &op->regions[0], &op->regions[0], &captures);
  flow_collect(t, &op->regions[1], &op->regions[1], &captures);
  flow_state state = {0};
  if (halo_translate_ok(t)) state = flow_state_create(t, op, own, &captures);
  halo_computation *condition =
      flow_computation(t, &op->regions[0], "condition", &captures, &state, 1, false);
  halo_computation *body =
      flow_computation(t, &op->regions[1], "body", &captures, &state, own, true);
  flow_captures_deinit(&captures);
  if (!body) return;
  halo_instr *start = halo_translate_pack(t, state.parts, state.count);
  halo_attr attrs[] = {halo_translate_comp(t, HALO_ATTR_CONDITION, condition),
                       halo_translate_comp(t, HALO_ATTR_BODY, body)};
  halo_instr *loop = halo_translate_emit(t, HALO_OP_WHILE, NULL, &start, 1, attrs, 2);
  for (int32_t i = 0; i < own; i++) {
    halo_translate_result(t, op, i, state.count == 1 ? loop : halo_translate_element(t, loop, i));
  }
}

/* ---- Branches ---- */

/* The branch that is known to be taken is put in place. */
static void flow_take(halo_translator *t, halo_mlir_op *op, int32_t branch) {
  halo_instr **results = halo_arena_array(t->arena, halo_instr *, op->result_count + 1);
  halo_translate_block(t, op->regions[branch].block, results, op->result_count);
  for (int32_t i = 0; i < op->result_count; i++) halo_translate_result(t, op, i, results[i]);
}

static bool flow_has_blocks(halo_translator *t, const halo_mlir_op *op) {
  for (int32_t i = 0; i < op->region_count; i++) {
    if (!op->regions[i].block) halo_translate_wrong(t, "branch %d is empty", i);
  }
  return halo_translate_ok(t);
}

static void flow_conditional(halo_translator *t, halo_mlir_op *op, bool pred) {
  int32_t count = op->region_count;
  halo_computation **branches = halo_arena_array(t->arena, halo_computation *, count + 1);
  halo_instr **operands = halo_arena_array(t->arena, halo_instr *, count + 2);
  operands[0] = halo_translate_operand(t, op, 0);
  for (int32_t i = 0; i < count && halo_translate_ok(t); i++) {
    flow_captures captures = {0};
    flow_collect(t, &op->regions[i], &op->regions[i], &captures);
    flow_state state = {0};
    if (halo_translate_ok(t)) state = flow_state_create(t, op, 0, &captures);
    branches[i] =
        flow_computation(t, &op->regions[i], "branch", &captures, &state, op->result_count, false);
    if (branches[i]) operands[1 + i] = halo_translate_pack(t, state.parts, state.count);
    flow_captures_deinit(&captures);
  }
  if (!halo_translate_ok(t)) return;
  halo_attr attrs[2];
  int32_t attr_count = 1;
  if (pred) {
    attrs[0] = halo_translate_comp(t, HALO_ATTR_TRUE_COMPUTATION, branches[0]);
    attrs[attr_count++] = halo_translate_comp(t, HALO_ATTR_FALSE_COMPUTATION, branches[1]);
  } else {
    attrs[0] = (halo_attr){.id = HALO_ATTR_BRANCH_COMPUTATIONS};
    attrs[0].comps.data = branches;
    attrs[0].comps.count = count;
  }
  halo_instr *taken =
      halo_translate_emit(t, HALO_OP_CONDITIONAL, NULL, operands, count + 1, attrs, attr_count);
  halo_translate_results(t, op, taken);
}

void halo_translate_op_if(halo_translator *t, halo_mlir_op *op) {
  const halo_instr *pred = halo_translate_operand(t, op, 0);
  int32_t count;
  if (!pred || !flow_has_blocks(t, op)) return;
  const int64_t *known = t->fold ? halo_translate_known(t, pred, &count) : NULL;
  if (known && count == 1) {
    flow_take(t, op, known[0] ? 0 : 1);
  } else {
    flow_conditional(t, op, true);
  }
}

void halo_translate_op_case(halo_translator *t, halo_mlir_op *op) {
  const halo_instr *index = halo_translate_operand(t, op, 0);
  int32_t count;
  if (!index || !flow_has_blocks(t, op)) return;
  const int64_t *known = t->fold ? halo_translate_known(t, index, &count) : NULL;
  if (known && count == 1) {
    bool inside = known[0] >= 0 && known[0] < op->region_count;
    flow_take(t, op, inside ? (int32_t)known[0] : op->region_count - 1);
  } else if (op->region_count == 1) {
    flow_take(t, op, 0);
  } else {
    flow_conditional(t, op, false);
  }
}
