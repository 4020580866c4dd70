/* SPDX-License-Identifier: Apache-2.0 */
/* plan/lower_dead.c: what a loop of known length computes for its condition alone, such as its counter: nobody asks
 * the condition, so it becomes no steps. */
#include "passes/loops/loop_state.h"
#include "plan/lowering.h"

/* The value of an instruction that is not to become steps, until its turn comes. */
static int32_t dead_value;

/* Which elements of a loop's state are read behind it; NULL: none was. */
static bool *dead_reads(lower_state *s, const halo_instr *loop) {
  return halo_pointer_map_get(&s->reads, loop);
}

static void dead_note_read(lower_state *s, const halo_instr *loop, const halo_instr *user) {
  int32_t count = loop->shape->count;
  bool *reads = dead_reads(s, loop);
  if (!reads) {
    reads = halo_arena_array(&s->plan->arena, bool, count + 1);
    halo_pointer_map_set(&s->reads, loop, reads);
  }
  if (user && user->opcode == HALO_OP_GET_TUPLE_ELEMENT) {
    reads[halo_instr_int(user, HALO_ATTR_INDEX, 0)] = true;
  } else {
    for (int32_t i = 0; i < count; i++) reads[i] = true;
  }
}

static bool dead_is_loop(const halo_instr *instr) {
  return instr->opcode == HALO_OP_WHILE && halo_shape_is_tuple(instr->shape);
}

void lower_note_reads(lower_state *s, const halo_computation *computation) {
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    const halo_instr *user = computation->instrs.data[i];
    for (int32_t o = 0; o < user->operand_count; o++) {
      if (dead_is_loop(user->operands[o])) dead_note_read(s, user->operands[o], user);
    }
  }
  if (dead_is_loop(computation->root)) dead_note_read(s, computation->root, NULL);
}

/* Asynchronous pairs are put in order by means of `data`, which would forget what is dead. */
static bool dead_has_pairs(const halo_computation *body) {
  for (int32_t i = 0; i < body->instrs.count; i++) {
    if (body->instrs.data[i]->opcode == HALO_OP_ASYNC_START) return true;
  }
  return false;
}

const bool *lower_find_live(lower_state *s, const halo_instr *loop) {
  halo_computation *body = halo_instr_comp(loop, HALO_ATTR_BODY);
  if (!dead_is_loop(loop) || body->root->opcode != HALO_OP_TUPLE || !halo_loop_unpacked(body)) {
    return NULL;
  }
  if (dead_has_pairs(body)) return NULL;
  const bool *reads = dead_reads(s, loop);
  bool *live = halo_arena_array(&s->plan->arena, bool, loop->shape->count + 1);
  for (int32_t i = 0; i < loop->shape->count && reads; i++) live[i] = reads[i];
  halo_loop_close(body, live);
  body->root->mark = body->params.data[0]->mark = 1;
  for (int32_t i = 0; i < body->instrs.count; i++) {
    halo_instr *instr = body->instrs.data[i];
    instr->data = instr->mark ? NULL : &dead_value;
  }
  return live;
}

bool lower_is_dead(const halo_instr *instr) { return instr->data == &dead_value; }

void lower_dead(lower_state *s, halo_instr *instr) {
  int32_t *leaves = lower_leaves(s, instr), count = halo_shape_leaf_count(instr->shape);
  for (int32_t l = 0; l < count; l++) leaves[l] = LOWER_NO_BUFFER;
}
