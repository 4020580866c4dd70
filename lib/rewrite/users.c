/* SPDX-License-Identifier: Apache-2.0 */
/* rewrite/users.c: who uses each instruction of a computation. */
#include "rewrite/users.h"

#include "base/memory.h"

void halo_users_collect(halo_users *users, const halo_computation *computation, bool control) {
  int32_t count = computation->instrs.count;
  users->first = halo_alloc(sizeof *users->first * ((size_t)count + 2));
  /* How many each has, two places on; where those of each begin, one place on; then who they are, while
   * each place becomes that of the next one's first. */
  for (int pass = 0; pass < 2; pass++) {
    for (int32_t i = 0; i < count; i++) {
      const halo_instr *instr = computation->instrs.data[i];
      int32_t uses = instr->operand_count + (control ? instr->control_pred_count : 0);
      for (int32_t o = 0; o < uses; o++) {
        const halo_instr *used = o < instr->operand_count
                                     ? instr->operands[o]
                                     : instr->control_preds[o - instr->operand_count];
        if (pass == 0) {
          users->first[used->mark + 2]++;
        } else {
          users->list[users->first[used->mark + 1]++] = i;
        }
      }
    }
    if (pass == 1) return;
    for (int32_t i = 2; i < count + 2; i++) users->first[i] += users->first[i - 1];
    users->list = halo_alloc(sizeof *users->list * ((size_t)users->first[count + 1] + 1));
  }
}

void halo_users_deinit(halo_users *users) {
  halo_free(users->first);
  halo_free(users->list);
  *users = (halo_users){0};
}
