/* SPDX-License-Identifier: Apache-2.0 */
/* passes/loops/trip_counts.c: notes on counted loops, as an attribute that is printed and read back like any
 * other. Only what this pass finds itself is trusted: a note that came with the text is replaced or
 * removed. */
#include "passes/loops/trip_count.h"
#include "passes/passes.h"

int64_t halo_noted_trip_count(const halo_instr *while_) {
  return halo_instr_int(while_, HALO_ATTR_TRIP_COUNT, -1);
}

static bool trip_counts_note(halo_instr *instr) {
  int64_t trips = -1;
  bool known = halo_while_trip_count(instr, &trips);
  const halo_attr *old = halo_instr_attr(instr, HALO_ATTR_TRIP_COUNT);
  if (known ? old && old->i == trips : !old) return false;
  if (known) {
    const halo_attr attr = {.id = HALO_ATTR_TRIP_COUNT, .i = trips};
    halo_instr_set_attr(instr, &attr);
  } else {
    halo_instr_remove_attr(instr, HALO_ATTR_TRIP_COUNT);
  }
  return true;
}

halo_status halo_pass_trip_counts(halo_module *module, bool *changed) {
  *changed = false;
  for (int32_t c = 0; c < module->computations.count; c++) {
    halo_computation *computation = module->computations.data[c];
    for (int32_t i = 0; i < computation->instrs.count; i++) {
      halo_instr *instr = computation->instrs.data[i];
      if (instr->opcode == HALO_OP_WHILE) *changed |= trip_counts_note(instr);
    }
  }
  return HALO_OK;
}
