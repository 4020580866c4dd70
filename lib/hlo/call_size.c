/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/call_size.c: how large a module is when what is called stands at each place that calls it. */
#include "base/pointer_map.h"
#include "hlo/hlo.h"

/* A short text whose computations call others twice each, again and again, is as large as nobody can write. */
enum { CALL_SIZE_MOST = 1 << 22 };

halo_status halo_module_check_size(const halo_module *module, bool with_control) {
  halo_pointer_map sizes = {0};
  const halo_computation *large = NULL;
  /* Callees come before callers. */
  for (int32_t c = 0; c < module->computations.count && !large; c++) {
    halo_computation *computation = module->computations.data[c];
    int64_t size = 1 + computation->instrs.count;
    halo_call_walk walk = {computation};
    const halo_instr *from;
    for (const halo_computation *called;
         size <= CALL_SIZE_MOST && (called = halo_call_walk_next(&walk, &from)) != NULL;) {
      bool control = from->opcode == HALO_OP_WHILE || from->opcode == HALO_OP_CONDITIONAL;
      if (control && !with_control) continue;
      size += (intptr_t)halo_pointer_map_get(&sizes, called);
    }
    halo_pointer_map_set(&sizes, computation, (void *)(intptr_t)size);
    if (size > CALL_SIZE_MOST) large = computation;
  }
  halo_pointer_map_deinit(&sizes);
  if (!large) return HALO_OK;
  return halo_fail(
      HALO_UNIMPLEMENTED,
      "%s has more than %d instructions, with those of all that it calls at each place "
      "that calls them",
      large->name, CALL_SIZE_MOST);
}
