/* passes/trip_counts.c: notes on counted loops, as an attribute `known_trip_count=N` that is printed and
 * read back like any other. Only what this pass finds itself is trusted: a note that came with the text
 * is replaced or removed. */
#include "passes/passes.h"
#include "passes/trip_count.h"

#include <stdlib.h>
#include <string.h>

static const char trip_counts_name[] = "known_trip_count";

static const halo_attr *trip_counts_find(const halo_instr *instr) {
  for (int32_t i = 0; i < instr->attr_count; i++) {
    const halo_attr *attr = &instr->attrs[i];
    if (attr->id == HALO_ATTR_UNKNOWN && strcmp(attr->name, trip_counts_name) == 0) return attr;
  }
  return NULL;
}

int64_t halo_noted_trip_count(const halo_instr *while_) {
  const halo_attr *attr = trip_counts_find(while_);
  return attr ? strtoll(attr->text, NULL, 10) : -1;
}

static void trip_counts_remove(halo_instr *instr, const halo_attr *attr) {
  int32_t at = (int32_t)(attr - instr->attrs);
  for (int32_t i = at; i + 1 < instr->attr_count; i++) instr->attrs[i] = instr->attrs[i + 1];
  instr->attr_count--;
}

static bool trip_counts_note(halo_instr *instr) {
  int64_t trips = -1;
  bool known = halo_while_trip_count(instr, &trips);
  const halo_attr *old = trip_counts_find(instr);
  if (!known && !old) return false;
  if (known && old && strtoll(old->text, NULL, 10) == trips) return false;
  if (old) trip_counts_remove(instr, old);
  if (known) {
    halo_arena *arena = &instr->parent->module->arena;
    halo_attr attr = {.id = HALO_ATTR_UNKNOWN,
                      .name = trip_counts_name,
                      .text = halo_arena_printf(arena, "%lld", (long long)trips)};
    halo_instr_set_attr(instr, &attr);
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
