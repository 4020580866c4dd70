/* SPDX-License-Identifier: Apache-2.0 */
/* passes/memory/order_updates.c: puts what reads an array before what updates the array in place, where the two do not depend on
 * each other. Behind the update, the plan would have to keep a copy of the array for it. */
#include "passes/memory/order.h"
#include "rewrite/users.h"

#include <string.h>

bool order_is_fixed(const halo_instr *array) {
  const halo_module *module = array->parent->module;
  if (array->opcode == HALO_OP_CONSTANT) return true;
  return array->opcode == HALO_OP_PARAMETER && array->parent == module->entry &&
         module->aliases.count == 0 && module->donors.count == 0;
}

enum {
  UPDATES_FAR = 4096, /* positions between the two */
  UPDATES_MOST = 64   /* instructions that are moved for one reader */
};

typedef struct updates_state {
  halo_computation *computation;
  halo_users users;
  int32_t *order,
      *places; /* instruction (by its mark) at each place, and place of each instruction */
  int32_t moved[UPDATES_MOST]; /* what is to be put before an update */
  int32_t moved_count;
} updates_state;

static halo_instr *updates_instr(const updates_state *u, int32_t mark) {
  return u->computation->instrs.data[mark];
}

static int32_t updates_place(const updates_state *u, const halo_instr *instr) {
  return u->places[instr->mark];
}

static bool updates_is_moved(const updates_state *u, int32_t mark) {
  for (int32_t i = 0; i < u->moved_count; i++) {
    if (u->moved[i] == mark) return true;
  }
  return false;
}

/* Adds an instruction that has to come first, unless it does; false when it cannot be moved. */
static bool updates_add(updates_state *u, const halo_instr *instr, const halo_instr *update) {
  if (instr == update || order_is_seen(instr)) return false;
  if (updates_place(u, instr) < updates_place(u, update)) return true;
  if (updates_is_moved(u, instr->mark)) return true;
  if (u->moved_count == UPDATES_MOST) return false;
  u->moved[u->moved_count++] = instr->mark;
  return true;
}

/* Collects a reader and all that it needs from behind the update. */
static bool updates_collect(updates_state *u, const halo_instr *reader, const halo_instr *update) {
  u->moved_count = 0;
  if (!updates_add(u, reader, update)) return false;
  for (int32_t i = 0; i < u->moved_count; i++) {
    const halo_instr *instr = updates_instr(u, u->moved[i]);
    for (int32_t o = 0; o < instr->operand_count; o++) {
      if (!updates_add(u, instr->operands[o], update)) return false;
    }
    for (int32_t c = 0; c < instr->control_pred_count; c++) {
      if (!updates_add(u, instr->control_preds[c], update)) return false;
    }
  }
  return true;
}

/* Whether nothing that is moved would write over what others, which it would overtake, read. */
static bool updates_overtakes_none(const updates_state *u, const halo_instr *update) {
  for (int32_t i = 0; i < u->moved_count; i++) {
    const halo_instr *instr = updates_instr(u, u->moved[i]);
    uint64_t over = order_updated(instr);
    for (int32_t o = 0; o < instr->operand_count && o < 64; o++) {
      if (!(over >> o & 1)) continue;
      int32_t array = instr->operands[o]->mark;
      for (int32_t k = u->users.first[array]; k < u->users.first[array + 1]; k++) {
        int32_t place = u->places[u->users.list[k]];
        if (place >= updates_place(u, update) && place < u->places[u->moved[i]] &&
            !updates_is_moved(u, u->users.list[k])) {
          return false;
        }
      }
    }
  }
  return true;
}

static int64_t updates_bytes(const halo_shape *shape) {
  int64_t bytes = 0;
  for (int32_t l = 0; l < halo_shape_leaf_count(shape); l++) {
    const halo_shape *leaf = halo_leaf_shape(shape, l);
    if (halo_shape_is_array(leaf)) bytes += halo_shape_byte_size(leaf);
  }
  return bytes;
}

/* Whether keeping what is moved takes no more memory than the copy would. */
static bool updates_is_worth(const updates_state *u, const halo_instr *array) {
  int64_t most = updates_bytes(array->shape);
  for (int32_t i = 0; i < u->moved_count; i++) {
    const halo_instr *instr = updates_instr(u, u->moved[i]);
    if (halo_opcode_exec(instr->opcode) == HALO_EXEC_VALUE) continue;
    int64_t bytes = updates_bytes(instr->shape);
    if (bytes > most) return false;
    most -= bytes;
  }
  return true;
}

static void updates_move(updates_state *u, const halo_instr *reader, const halo_instr *update) {
  int32_t from = updates_place(u, update), to = updates_place(u, reader);
  int32_t *order = halo_alloc(sizeof *order * (size_t)(to - from + 1));
  int32_t first = 0, second = u->moved_count;
  for (int32_t i = from; i <= to; i++) {
    order[updates_is_moved(u, u->order[i]) ? first++ : second++] = u->order[i];
  }
  memcpy(u->order + from, order, sizeof *order * (size_t)(to - from + 1));
  for (int32_t i = from; i <= to; i++) u->places[u->order[i]] = i;
  halo_free(order);
}

static bool updates_before(updates_state *u, const halo_instr *update, const halo_instr *array) {
  bool changed = false;
  for (int32_t k = u->users.first[array->mark]; k < u->users.first[array->mark + 1]; k++) {
    const halo_instr *reader = updates_instr(u, u->users.list[k]);
    int32_t behind = updates_place(u, reader) - updates_place(u, update);
    bool kernel = halo_shape_is_array(reader->shape) || reader->opcode == HALO_OP_FUSION;
    if (behind <= 0 || behind > UPDATES_FAR || !kernel) continue;
    if (!updates_collect(u, reader, update) || !updates_overtakes_none(u, update)) continue;
    if (!updates_is_worth(u, array)) continue;
    updates_move(u, reader, update);
    changed = true;
  }
  return changed;
}

bool order_is_plain(const halo_computation *computation) {
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    halo_opcode opcode = computation->instrs.data[i]->opcode;
    if (opcode == HALO_OP_ASYNC_START || opcode == HALO_OP_ASYNC_DONE) return false;
  }
  return true;
}

bool order_read_before_updates(halo_computation *computation) {
  if (!order_is_plain(computation)) return false;
  int32_t count = computation->instrs.count;
  size_t bytes = sizeof(int32_t) * ((size_t)count + 1);
  updates_state u = {
      .computation = computation, .order = halo_alloc(bytes), .places = halo_alloc(bytes)};
  for (int32_t i = 0; i < count; i++) {
    computation->instrs.data[i]->mark = u.order[i] = u.places[i] = i;
  }
  halo_users_collect(&u.users, computation, false);
  bool changed = false;
  for (int32_t i = 0; i < count; i++) {
    const halo_instr *update = computation->instrs.data[i];
    if (update->opcode == HALO_OP_WHILE || !halo_shape_is_array(update->shape)) continue;
    uint64_t over = order_updated(update);
    for (int32_t o = 0; o < update->operand_count && o < 64; o++) {
      const halo_instr *array = update->operands[o];
      if (!(over >> o & 1) || order_is_fixed(array)) continue;
      changed |= updates_before(&u, update, array);
    }
  }
  if (changed) order_apply(computation, u.order);
  halo_users_deinit(&u.users);
  halo_free(u.order);
  halo_free(u.places);
  return changed;
}
