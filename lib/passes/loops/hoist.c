/* SPDX-License-Identifier: Apache-2.0 */
/* passes/loops/hoist.c: what each round of a loop would compute anew from what never changes is computed once before it:
 * sums, products, collectives, and what such things read from memory. What kernels compute on their way stays inside. */
#include "base/pointer_map.h"
#include "base/vec.h"
#include "passes/loops/loop_state.h"
#include "passes/loops/trip_count.h"
#include "passes/passes.h"
#include "rewrite/rewrite.h"

typedef struct hoist_state {
  halo_instr *loop;
  halo_computation *body, *condition;
  halo_pointer_map same;   /* instructions of the body that are the same in each round */
  halo_pointer_map worth;  /* those of them that are worth a place in the state */
  halo_pointer_map copies; /* those that are needed in front of the loop -> what they are there */
  HALO_VEC(halo_instr *) moved;
} hoist_state;

/* ---- What is worth it ---- */

static bool hoist_is_in(const halo_pointer_map *map, const halo_instr *instr) {
  return halo_pointer_map_get(map, instr) != NULL;
}

/* Which part of the state an instruction of the body is, if the body hands it on; else -1. */
static int64_t hoist_part(const hoist_state *s, const halo_instr *instr) {
  const halo_instr *param = s->body->params.data[0];
  if (instr->opcode != HALO_OP_GET_TUPLE_ELEMENT || instr->operands[0] != param) return -1;
  int64_t index = halo_instr_int(instr, HALO_ATTR_INDEX, 0);
  const halo_instr *next = s->body->root->operands[index];
  bool handed_on = next->opcode == HALO_OP_GET_TUPLE_ELEMENT && next->operands[0] == param &&
                   halo_instr_int(next, HALO_ATTR_INDEX, 0) == index;
  return handed_on ? index : -1;
}

/* Devices that exchange something run the same loop, equally often: they may do it once before that. */
static bool hoist_is_collective(const halo_instr *instr) {
  return halo_opcode_exec(instr->opcode) == HALO_EXEC_COLLECTIVE &&
         !halo_opcode_has_trait(instr->opcode, HALO_TRAIT_ASYNC);
}

static bool hoist_is_costly(const halo_instr *instr) {
  halo_exec_class exec = halo_opcode_exec(instr->opcode);
  return exec == HALO_EXEC_REDUCTION || exec == HALO_EXEC_STRUCTURED || hoist_is_collective(instr);
}

static bool hoist_can_move(const halo_instr *instr) {
  bool effect = halo_instr_has_side_effect(instr) && !hoist_is_collective(instr);
  if (effect || halo_rewrite_pinned(instr)) return false;
  halo_exec_class exec = halo_opcode_exec(instr->opcode);
  return halo_shape_is_array(instr->shape) &&
         (hoist_is_costly(instr) || exec == HALO_EXEC_ELEMENTWISE || exec == HALO_EXEC_MOVEMENT);
}

static int64_t hoist_bytes(const halo_instr *instr) {
  return halo_shape_is_array(instr->shape) ? halo_shape_byte_size(instr->shape) : 0;
}

/* What collectives give stays in memory as long as the loop runs: as much as the rest of its state takes, or the largest of
 * these, which a round has anyway. Weights that each layer gathers for itself are not all gathered at once. */
static int64_t hoist_room(const hoist_state *s) {
  const halo_instr *init = s->loop->operands[0];
  int64_t room = 0, used = 0;
  for (int32_t i = 0; i < init->operand_count; i++) {
    bool moved = hoist_is_collective(init->operands[i]);
    *(moved ? &used : &room) += hoist_bytes(init->operands[i]);
  }
  for (int32_t i = 0; i < s->body->instrs.count; i++) {
    const halo_instr *instr = s->body->instrs.data[i];
    if (hoist_is_collective(instr) && hoist_bytes(instr) > room) room = hoist_bytes(instr);
  }
  return room - used;
}

static void hoist_find_same(hoist_state *s) {
  int64_t room = hoist_room(s);
  for (int32_t i = 0; i < s->body->instrs.count; i++) {
    halo_instr *instr = s->body->instrs.data[i];
    bool same = instr->opcode == HALO_OP_CONSTANT || hoist_part(s, instr) >= 0;
    if (!same && hoist_can_move(instr)) {
      same = true;
      for (int32_t o = 0; o < instr->operand_count && same; o++) {
        same = hoist_is_in(&s->same, instr->operands[o]);
      }
    }
    if (same && hoist_is_collective(instr)) {
      same = hoist_bytes(instr) <= room;
      room -= same ? hoist_bytes(instr) : 0;
    }
    if (same) halo_pointer_map_set(&s->same, instr, instr);
  }
}

/* What has to be put together for a kernel that reads it from memory; what is only turned, cut or spread is
 * read as it lies. */
static bool hoist_is_put_together(const halo_instr *instr, const halo_instr *user,
                                  int32_t operand) {
  halo_reading reading = halo_opcode_reading(user->opcode, operand);
  return (reading == HALO_READ_REPEATED || reading == HALO_READ_MEMORY) &&
         (instr->opcode == HALO_OP_CONCATENATE ||
          halo_opcode_exec(instr->opcode) == HALO_EXEC_ELEMENTWISE);
}

static void hoist_choose(hoist_state *s) {
  const halo_computation *body = s->body;
  hoist_find_same(s);
  for (int32_t i = 0; i < body->instrs.count; i++) {
    halo_instr *user = body->instrs.data[i];
    for (int32_t o = 0; o < user->operand_count; o++) {
      halo_instr *operand = user->operands[o];
      bool worth = hoist_is_costly(operand) || hoist_is_put_together(operand, user, o);
      if (worth && hoist_is_in(&s->same, operand))
        halo_pointer_map_set(&s->worth, operand, operand);
    }
  }
  halo_pointer_map chosen = {0};
  for (int32_t i = 0; i < body->instrs.count; i++) {
    halo_instr *user = body->instrs.data[i];
    bool moves = hoist_is_in(&s->worth, user);
    for (int32_t o = 0; o < user->operand_count; o++) {
      halo_instr *operand = user->operands[o];
      /* A collective that was only copied would remain. */
      if (!hoist_is_in(&s->worth, operand) || (moves && !hoist_is_collective(operand))) continue;
      if (!halo_pointer_map_set(&chosen, operand, operand)) halo_vec_push(&s->moved, operand);
    }
  }
  halo_pointer_map_deinit(&chosen);
}

/* ---- Moving ---- */

/* The same instruction in front of the loop; its operands are there. */
static halo_instr *hoist_copy(hoist_state *s, halo_rewriter *outside, halo_instr *instr) {
  int64_t part = hoist_part(s, instr);
  if (part >= 0) return s->loop->operands[0]->operands[part];
  if (instr->opcode == HALO_OP_CONSTANT) {
    return halo_rewrite_make_shared_constant(outside, instr, instr->literal);
  }
  HALO_VEC(halo_instr *) operands = {0};
  for (int32_t o = 0; o < instr->operand_count; o++) {
    halo_vec_push(&operands, halo_pointer_map_get(&s->copies, instr->operands[o]));
  }
  halo_instr *copy = halo_rewrite_make(outside, instr, instr->opcode, instr->shape, operands.data,
                                       operands.count, instr->attrs, instr->attr_count);
  halo_vec_deinit(&operands);
  return copy;
}

static void hoist_copy_all(hoist_state *s, halo_rewriter *outside) {
  const halo_computation *body = s->body;
  halo_pointer_map needed = {0};
  for (int32_t m = 0; m < s->moved.count; m++) {
    halo_pointer_map_set(&needed, s->moved.data[m], s->moved.data[m]);
  }
  for (int32_t i = body->instrs.count - 1; i >= 0; i--) {
    halo_instr *instr = body->instrs.data[i];
    if (!hoist_is_in(&needed, instr) || hoist_part(s, instr) >= 0) continue;
    for (int32_t o = 0; o < instr->operand_count; o++) {
      halo_pointer_map_set(&needed, instr->operands[o], instr->operands[o]);
    }
  }
  for (int32_t i = 0, count = body->instrs.count; i < count; i++) {
    halo_instr *instr = body->instrs.data[i];
    if (!hoist_is_in(&needed, instr)) continue;
    halo_pointer_map_set(&s->copies, instr, hoist_copy(s, outside, instr));
  }
  halo_pointer_map_deinit(&needed);
}

/* A tuple with the moved values behind its own. */
static halo_instr *hoist_extend(hoist_state *s, halo_rewriter *r, halo_instr *tuple,
                                const halo_shape *shape, halo_instr *const *more) {
  HALO_VEC(halo_instr *) parts = {0};
  for (int32_t i = 0; i < tuple->operand_count; i++) halo_vec_push(&parts, tuple->operands[i]);
  for (int32_t m = 0; m < s->moved.count; m++) halo_vec_push(&parts, more[m]);
  halo_instr *longer =
      halo_rewrite_make(r, tuple, HALO_OP_TUPLE, shape, parts.data, parts.count, NULL, 0);
  halo_vec_deinit(&parts);
  return longer;
}

static halo_status hoist_move(hoist_state *s, halo_rewriter *outside) {
  halo_instr *loop = s->loop, *param = s->body->params.data[0];
  halo_arena *arena = &s->body->module->arena;
  int32_t count = loop->shape->count, moved = s->moved.count;
  hoist_copy_all(s, outside);
  const halo_shape **elements = halo_arena_array(arena, const halo_shape *, count + moved);
  halo_instr **before = halo_arena_array(arena, halo_instr *, moved);
  halo_instr **inside = halo_arena_array(arena, halo_instr *, moved);
  for (int32_t i = 0; i < count; i++) elements[i] = loop->shape->elements[i];
  for (int32_t m = 0; m < moved; m++) {
    elements[count + m] = s->moved.data[m]->shape;
    before[m] = halo_pointer_map_get(&s->copies, s->moved.data[m]);
  }
  const halo_shape *shape = halo_shape_new_tuple(arena, count + moved, elements);
  loop->operands[0] = hoist_extend(s, outside, loop->operands[0], shape, before);
  loop->shape = param->shape = s->condition->params.data[0]->shape = shape;

  halo_rewriter r;
  bool changed = false;
  halo_rewrite_begin(&r, s->body);
  for (int32_t m = 0; m < moved; m++) {
    inside[m] = halo_rewrite_make_gte(&r, s->moved.data[m], param, count + m);
  }
  halo_instr *root = hoist_extend(s, &r, s->body->root, shape, inside);
  halo_rewrite_replace(&r, s->body->root, root);
  for (int32_t m = 0; m < moved; m++) halo_rewrite_replace(&r, s->moved.data[m], inside[m]);
  outside->changed = true;
  return halo_rewrite_end(&r, &changed);
}

/* ---- The pass ---- */

/* Whether a loop has the form that can be changed, and is known to run more than once. */
static bool hoist_match(halo_instr *instr, hoist_state *s) {
  int64_t rounds;
  if (instr->opcode != HALO_OP_WHILE || !halo_shape_is_tuple(instr->shape)) return false;
  *s = (hoist_state){.loop = instr,
                     .body = halo_instr_comp(instr, HALO_ATTR_BODY),
                     .condition = halo_instr_comp(instr, HALO_ATTR_CONDITION)};
  return instr->operands[0]->opcode == HALO_OP_TUPLE && !halo_rewrite_pinned(instr) &&
         s->body->mark == 1 && s->condition->mark == 1 && s->body->root->opcode == HALO_OP_TUPLE &&
         halo_loop_unpacked(s->body) && halo_loop_unpacked(s->condition) &&
         halo_while_trip_count(instr, &rounds) && rounds > 1;
}

/* Whether only parts of the loop's result are used, which keep their places. */
static bool hoist_is_unpacked(const halo_computation *computation, const halo_instr *loop) {
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    const halo_instr *user = computation->instrs.data[i];
    for (int32_t o = 0; o < user->operand_count; o++) {
      if (user->operands[o] == loop && user->opcode != HALO_OP_GET_TUPLE_ELEMENT) return false;
    }
  }
  return computation->root != loop;
}

static halo_status hoist_run(halo_computation *computation, bool *changed) {
  halo_status status = HALO_OK;
  halo_rewriter r;
  halo_rewrite_begin(&r, computation);
  for (int32_t i = 0, count = computation->instrs.count; i < count && status == HALO_OK; i++) {
    hoist_state s;
    if (!hoist_match(computation->instrs.data[i], &s)) continue;
    hoist_choose(&s);
    if (s.moved.count > 0 && hoist_is_unpacked(computation, s.loop)) status = hoist_move(&s, &r);
    halo_pointer_map_deinit(&s.same);
    halo_pointer_map_deinit(&s.worth);
    halo_pointer_map_deinit(&s.copies);
    halo_vec_deinit(&s.moved);
  }
  halo_status ended = halo_rewrite_end(&r, changed);
  return status == HALO_OK ? ended : status;
}

halo_status halo_pass_hoist(halo_module *module, bool *changed) {
  halo_loop_count_callers(module);
  return halo_rewrite_computations(module, hoist_run, changed);
}
