/* SPDX-License-Identifier: Apache-2.0 */
/* passes/fuse/updates.c: parts of an array that are read before the array is updated in place.
 *
 * A kernel that updates an array and reads other parts of it may meet what it has written. So may a kernel that
 * comes after the update and reads what was there before. The plan then updates a copy of the array, in a loop in
 * each round. So the parts get kernels of their own, which come first. */
#include "base/memory.h"
#include "passes/fuse/state.h"
#include "passes/memory/order.h"

enum {
  UPDATES_LESS = 2,    /* a part is at most one of so many of its array */
  UPDATES_ROOM = 4096, /* instructions that are looked at for one read */
  UPDATES_KERNELS = 64 /* users that are followed to kernels */
};

typedef struct updates_state {
  fusion_state *s;
  HALO_VEC(halo_instr *) list; /* what was reached, each once */
  HALO_VEC(halo_instr *) others;
  HALO_VEC(halo_instr *) down; /* users, and users of these */
} updates_state;

/* ---- What is reached ---- */

static void updates_begin(updates_state *u) {
  u->s->asked++;
  u->list.count = 0;
}

static void updates_reach(updates_state *u, halo_instr *instr) {
  fusion_node *node = fusion_node_of(u->s, instr);
  if (node->asked == u->s->asked) return;
  node->asked = u->s->asked;
  halo_vec_push(&u->list, instr);
}

static bool updates_is_stored(const updates_state *u, const halo_instr *instr) {
  return fusion_node_of(u->s, instr)->materialised;
}

/* ---- Updates ---- */

/* The arrays that an instruction writes over where they die are its first operands. */
static int32_t updates_array_count(const halo_instr *instr) {
  int32_t count = 0;
  while (count < instr->operand_count &&
         halo_opcode_reading(instr->opcode, count) == HALO_READ_UPDATED) {
    count++;
  }
  return count;
}

static bool updates_is_update(const updates_state *u, const halo_instr *instr) {
  const fusion_node *node = fusion_node_of(u->s, instr);
  return node->materialised && node->possible && updates_array_count(instr) > 0;
}

/* Whether not copying an array is worth a kernel, which takes no longer to start than the copy. The entry's parameters are
 * copied anyway, unless the caller gives them away. */
static bool updates_is_worth(const halo_instr *array) {
  return halo_shape_is_array(array->shape) && !order_is_fixed(array) &&
         halo_shape_byte_size(array->shape) >= ORDER_SMALL;
}

static bool updates_is_part(const halo_instr *instr, const halo_instr *array) {
  if (!halo_shape_is_array(instr->shape)) return false;
  return halo_shape_element_count(instr->shape) <=
         halo_shape_element_count(array->shape) / UPDATES_LESS;
}

static void updates_store(updates_state *u, halo_instr *instr) {
  fusion_node *node = fusion_node_of(u->s, instr);
  node->materialised = node->at_root = true;
  node->root = instr;
}

/* ---- What an update's own kernel reads ---- */

/* Whether an operand is the array, or computed from it in the same kernel. */
static bool updates_reads(updates_state *u, halo_instr *operand, const halo_instr *array) {
  updates_begin(u);
  updates_reach(u, operand);
  for (int32_t i = 0; i < u->list.count; i++) {
    halo_instr *instr = u->list.data[i];
    if (instr == array) return true;
    if (updates_is_stored(u, instr)) continue;
    for (int32_t o = 0; o < instr->operand_count; o++) updates_reach(u, instr->operands[o]);
  }
  return false;
}

/* Whether of the array each element of the window needs the one in its own place at most. */
static bool updates_keeps_place(updates_state *u, const halo_instr *update) {
  const halo_instr *array = update->operands[0];
  u->others.count = 0;
  updates_begin(u);
  updates_reach(u, update->operands[1]);
  for (int32_t i = 0; i < u->list.count; i++) {
    const halo_instr *instr = u->list.data[i];
    if (updates_is_stored(u, instr)) continue;
    bool elementwise = halo_opcode_has_trait(instr->opcode, HALO_TRAIT_EW);
    for (int32_t o = 0; o < instr->operand_count; o++) {
      halo_instr *operand = instr->operands[o];
      if (operand == array && o == 0 && halo_update_reads_window(update, instr)) continue;
      if (elementwise && halo_shape_same_dims(operand->shape, instr->shape)) {
        updates_reach(u, operand);
      } else {
        halo_vec_push(&u->others, operand);
      }
    }
  }
  for (int32_t i = 0; i < u->others.count; i++) {
    if (updates_reads(u, u->others.data[i], array)) return false;
  }
  return true;
}

static void updates_own(updates_state *u, const halo_instr *update, const halo_instr *array) {
  int32_t arrays = updates_array_count(update);
  bool slice = update->opcode == HALO_OP_DYNAMIC_UPDATE_SLICE;
  /* One element is computed before it is stored. */
  if (slice && halo_shape_element_count(update->operands[1]->shape) == 1) return;
  for (int32_t o = arrays; o < update->operand_count; o++) {
    halo_instr *operand = update->operands[o];
    if (updates_is_stored(u, operand) || !updates_is_part(operand, array)) continue;
    bool safe =
        slice && o == arrays ? updates_keeps_place(u, update) : !updates_reads(u, operand, array);
    if (!safe) updates_store(u, operand);
  }
}

/* ---- What other kernels read ---- */

/* Reaches the kernels in which an instruction is computed. */
static void updates_reach_kernels(updates_state *u, halo_instr *instr) {
  const halo_users *users = &u->s->users;
  u->down.count = 0;
  halo_vec_push(&u->down, instr);
  for (int32_t i = 0; i < u->down.count && i < UPDATES_KERNELS; i++) {
    instr = u->down.data[i];
    if (updates_is_stored(u, instr)) {
      updates_reach(u, instr);
      continue;
    }
    for (int32_t k = users->first[instr->mark]; k < users->first[instr->mark + 1]; k++) {
      halo_vec_push(&u->down, u->s->nodes[users->list[k]].instr);
    }
  }
}

/* Reaches what reads the arrays that an update writes over. */
static void updates_reach_readers(updates_state *u, const halo_instr *update) {
  const halo_users *users = &u->s->users;
  int32_t arrays = updates_is_update(u, update) ? updates_array_count(update) : 0;
  for (int32_t o = 0; o < arrays; o++) {
    const halo_instr *array = update->operands[o];
    if (!updates_is_worth(array)) continue;
    for (int32_t k = users->first[array->mark]; k < users->first[array->mark + 1]; k++) {
      halo_instr *reader = u->s->nodes[users->list[k]].instr;
      if (reader != update) updates_reach_kernels(u, reader);
    }
  }
}

/* Whether an update comes before a kernel: the kernel needs it, or needs another update that comes behind what
 * needs it. Of two updates that read each other's arrays neither comes first. */
static bool updates_is_before(updates_state *u, const halo_instr *update, halo_instr *kernel) {
  updates_begin(u);
  updates_reach(u, kernel);
  for (int32_t i = 0; i < u->list.count && i < UPDATES_ROOM; i++) {
    halo_instr *instr = u->list.data[i];
    if (instr == update) return true;
    for (int32_t o = 0; o < instr->operand_count; o++) updates_reach(u, instr->operands[o]);
    updates_reach_readers(u, instr);
  }
  return false;
}

/* The kernels in which an instruction is computed, into `others`. */
static void updates_find_kernels(updates_state *u, halo_instr *instr) {
  const halo_users *users = &u->s->users;
  u->others.count = 0;
  updates_begin(u);
  updates_reach(u, instr);
  for (int32_t i = 0; i < u->list.count && i < UPDATES_ROOM; i++) {
    instr = u->list.data[i];
    if (updates_is_stored(u, instr)) {
      halo_vec_push(&u->others, instr);
      continue;
    }
    for (int32_t k = users->first[instr->mark]; k < users->first[instr->mark + 1]; k++) {
      updates_reach(u, u->s->nodes[users->list[k]].instr);
    }
  }
}

/* Whether a part of an array is read in a kernel that cannot come before the array's update. */
static bool updates_is_late(updates_state *u, halo_instr *part, halo_instr *update) {
  updates_find_kernels(u, part);
  for (int32_t k = 0; k < u->others.count; k++) {
    halo_instr *kernel = u->others.data[k];
    if (kernel != update && updates_is_before(u, update, kernel)) return true;
  }
  return false;
}

static void updates_others(updates_state *u, halo_instr *update, const halo_instr *array) {
  const halo_users *users = &u->s->users;
  for (int32_t i = users->first[array->mark]; i < users->first[array->mark + 1]; i++) {
    halo_instr *part = u->s->nodes[users->list[i]].instr;
    if (updates_is_stored(u, part) || part->operands[0] != array) continue;
    bool takes = part->opcode == HALO_OP_SLICE || part->opcode == HALO_OP_DYNAMIC_SLICE ||
                 part->opcode == HALO_OP_GATHER;
    if (takes && updates_is_part(part, array) && updates_is_late(u, part, update)) {
      updates_store(u, part);
    }
  }
}

void halo_fusion_read_before_updates(fusion_state *s) {
  updates_state u = {.s = s};
  for (int32_t i = 0; i < s->count; i++) {
    halo_instr *update = s->nodes[i].instr;
    if (!updates_is_update(&u, update)) continue;
    for (int32_t o = 0; o < updates_array_count(update); o++) {
      const halo_instr *array = update->operands[o];
      if (!updates_is_worth(array)) continue;
      updates_own(&u, update, array);
      updates_others(&u, update, array);
    }
  }
  halo_vec_deinit(&u.list);
  halo_vec_deinit(&u.others);
  halo_vec_deinit(&u.down);
}
