/* SPDX-License-Identifier: Apache-2.0 */
/* passes/loops/while_state.c: elements of a loop's state that never change are taken from before the loop,
 * and those that nothing needs are dropped. */
#include "base/map.h"
#include "base/memory.h"
#include "passes/loops/loop_state.h"
#include "passes/passes.h"
#include "rewrite/rewrite.h"

/* What is known of one while instruction of the computation at hand. */
typedef struct state_loop {
  halo_instr *instr;
  halo_computation *condition, *body;
  int32_t count; /* state elements */
  bool whole;    /* the state is used other than through get-tuple-element: leave it */
  bool *live;    /* [count] */
  int64_t
      *renumbered; /* [count]: new position of a live element; NULL until elements are dropped */
} state_loop;

/* Instructions outside that read the loop's result are noted in `live`, through the loops' `data`. */
static void state_note_uses(halo_computation *computation) {
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    halo_instr *user = computation->instrs.data[i];
    for (int32_t o = 0; o < user->operand_count; o++) {
      state_loop *loop = user->operands[o]->data;
      if (!loop) continue;
      if (user->opcode == HALO_OP_GET_TUPLE_ELEMENT) {
        loop->live[halo_instr_int(user, HALO_ATTR_INDEX, 0)] = true;
      } else {
        loop->whole = true;
      }
    }
    for (int32_t p = 0; p < user->control_pred_count; p++) {
      state_loop *loop = user->control_preds[p]->data;
      if (loop) loop->whole = true;
    }
  }
  state_loop *root = computation->root->data;
  if (root) root->whole = true;
}

/* Which elements the condition reads. */
static void state_note_condition(state_loop *loop) {
  const halo_instr *param = loop->condition->params.data[0];
  for (int32_t i = 0; i < loop->condition->instrs.count; i++) {
    const halo_instr *user = loop->condition->instrs.data[i];
    if (user->opcode == HALO_OP_GET_TUPLE_ELEMENT && user->operands[0] == param) {
      loop->live[halo_instr_int(user, HALO_ATTR_INDEX, 0)] = true;
    }
  }
}

/* ---- Dropping dead elements ---- */

static void state_renumber(halo_instr *user, const int64_t *renumbered) {
  int64_t index = renumbered[halo_instr_int(user, HALO_ATTR_INDEX, 0)];
  halo_attr attr = {.id = HALO_ATTR_INDEX, .i = index};
  /* What reads a dropped element is dead and about to be removed. */
  if (index >= 0) halo_instr_set_attr(user, &attr);
}

static void state_renumber_inside(halo_computation *computation, const int64_t *renumbered) {
  const halo_instr *param = computation->params.data[0];
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    halo_instr *user = computation->instrs.data[i];
    if (user->opcode == HALO_OP_GET_TUPLE_ELEMENT && user->operands[0] == param) {
      state_renumber(user, renumbered);
    }
  }
}

static void state_pack(halo_instr *tuple, const halo_shape *shape, const bool *live) {
  int32_t kept = 0;
  for (int32_t i = 0; i < tuple->operand_count; i++) {
    if (live[i]) tuple->operands[kept++] = tuple->operands[i];
  }
  tuple->operand_count = kept;
  tuple->shape = shape;
}

static void state_drop(halo_rewriter *r, state_loop *loop, int32_t kept) {
  const int64_t *renumbered = loop->renumbered;
  halo_instr *instr = loop->instr;
  halo_arena *arena = &r->computation->module->arena;
  const halo_shape **elements = halo_arena_array(arena, const halo_shape *, kept);
  halo_instr **parts = halo_arena_array(arena, halo_instr *, kept);
  halo_instr *init = instr->operands[0];
  for (int32_t i = 0; i < loop->count; i++) {
    if (!loop->live[i]) continue;
    elements[renumbered[i]] = instr->shape->elements[i];
    parts[renumbered[i]] = init->opcode == HALO_OP_TUPLE ? init->operands[i]
                                                         : halo_rewrite_make_gte(r, instr, init, i);
  }
  const halo_shape *shape = halo_shape_new_tuple(arena, kept, elements);
  instr->operands[0] = halo_rewrite_make(r, instr, HALO_OP_TUPLE, shape, parts, kept, NULL, 0);
  instr->shape = shape;
  halo_computation *inside[] = {loop->condition, loop->body};
  for (int32_t c = 0; c < 2; c++) {
    state_renumber_inside(inside[c], renumbered);
    inside[c]->params.data[0]->shape = shape;
  }
  state_pack(loop->body->root, shape, loop->live);
  halo_computation_remove_dead(loop->body);
  halo_computation_remove_dead(loop->condition);
  r->changed = true;
}

/* ---- The pass ---- */

/* Whether the loop has the form that this pass can change; fills `loop`. */
static bool state_match(halo_instr *instr, state_loop *loop) {
  if (instr->opcode != HALO_OP_WHILE || !halo_shape_is_tuple(instr->shape)) return false;
  if (instr->control_pred_count > 0) return false;
  loop->instr = instr;
  loop->condition = halo_instr_comp(instr, HALO_ATTR_CONDITION);
  loop->body = halo_instr_comp(instr, HALO_ATTR_BODY);
  loop->count = instr->shape->count;
  if (loop->condition->mark != 1 || loop->body->mark != 1) return false;
  return loop->body->root->opcode == HALO_OP_TUPLE && halo_loop_unpacked(loop->body) &&
         halo_loop_unpacked(loop->condition);
}

/* Reads of elements that the body hands on unchanged read the initial value instead. */
static void state_forward_invariants(halo_rewriter *r, state_loop *loop, halo_instr *user) {
  if (halo_rewrite_pinned(user)) return;
  int64_t index = halo_instr_int(user, HALO_ATTR_INDEX, 0);
  const halo_instr *next = loop->body->root->operands[index];
  if (next->opcode != HALO_OP_GET_TUPLE_ELEMENT ||
      next->operands[0] != loop->body->params.data[0] ||
      halo_instr_int(next, HALO_ATTR_INDEX, 0) != index) {
    return;
  }
  halo_instr *init = halo_rewrite_resolve(loop->instr->operands[0]);
  halo_instr *value = init->opcode == HALO_OP_TUPLE ? halo_rewrite_resolve(init->operands[index])
                                                    : halo_rewrite_make_gte(r, user, init, index);
  if (halo_shape_equal(value->shape, user->shape)) halo_rewrite_replace(r, user, value);
}

static halo_status state_run(halo_computation *computation, bool *changed) {
  HALO_VEC(state_loop) loops = {0};
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    state_loop loop = {0};
    computation->instrs.data[i]->data = NULL;
    if (state_match(computation->instrs.data[i], &loop)) halo_vec_push(&loops, loop);
  }
  if (!loops.count) return HALO_OK;

  /* First the reads that can bypass the loop. */
  halo_rewriter r;
  halo_map by_instr = {0};
  halo_rewrite_begin(&r, computation);
  for (int32_t l = 0; l < loops.count; l++) {
    halo_map_set(&by_instr, &loops.data[l].instr, sizeof(halo_instr *), &loops.data[l]);
  }
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    halo_instr *user = halo_rewrite_next(&r, i);
    if (!user || user->opcode != HALO_OP_GET_TUPLE_ELEMENT) continue;
    state_loop *loop = halo_map_get(&by_instr, &user->operands[0], sizeof(halo_instr *));
    if (loop) state_forward_invariants(&r, loop, user);
  }
  halo_status status = halo_rewrite_end(&r, changed);

  /* Then what nothing reads any more. */
  for (int32_t i = 0; i < computation->instrs.count; i++) computation->instrs.data[i]->data = NULL;
  for (int32_t l = 0; l < loops.count; l++) {
    loops.data[l].live = halo_alloc(sizeof(bool) * (size_t)loops.data[l].count);
    loops.data[l].instr->data = &loops.data[l];
  }
  if (status == HALO_OK) state_note_uses(computation);
  halo_rewrite_begin(&r, computation);
  for (int32_t l = 0; l < loops.count && status == HALO_OK; l++) {
    state_loop *loop = &loops.data[l];
    if (loop->whole) continue;
    state_note_condition(loop);
    halo_loop_close(loop->body, loop->live);
    int32_t kept = 0;
    for (int32_t i = 0; i < loop->count; i++) kept += loop->live[i];
    if (kept == loop->count) continue;
    loop->renumbered = halo_alloc(sizeof(int64_t) * (size_t)loop->count);
    kept = 0;
    for (int32_t i = 0; i < loop->count; i++) loop->renumbered[i] = loop->live[i] ? kept++ : -1;
    state_drop(&r, loop, kept);
  }
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    halo_instr *user = computation->instrs.data[i];
    if (user->opcode != HALO_OP_GET_TUPLE_ELEMENT) continue;
    const state_loop *loop = halo_map_get(&by_instr, &user->operands[0], sizeof(halo_instr *));
    if (loop && loop->renumbered) state_renumber(user, loop->renumbered);
  }
  halo_map_deinit(&by_instr);
  if (status == HALO_OK) status = halo_rewrite_end(&r, changed);
  for (int32_t l = 0; l < loops.count; l++) {
    halo_free(loops.data[l].live);
    halo_free(loops.data[l].renumbered);
  }
  halo_vec_deinit(&loops);
  return status;
}

halo_status halo_pass_while_state(halo_module *module, bool *changed) {
  halo_loop_count_callers(module);
  return halo_rewrite_computations(module, state_run, changed);
}
