/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/bounds.c: extents that nothing bounds are refused by name: no pass, and no plan, knows what they are. */
#include "base/pointer_map.h"
#include "hlo/hlo.h"

static bool bounds_lacks(const halo_shape *shape) {
  for (int32_t i = 0; i < shape->rank; i++) {
    if (shape->dims[i] == HALO_UNBOUNDED) return true;
  }
  for (int32_t i = 0; i < shape->count && shape->has_dynamic; i++) {
    if (bounds_lacks(shape->elements[i])) return true;
  }
  return false;
}

static halo_status bounds_check(const halo_instr *instr) {
  if (!bounds_lacks(instr->shape)) return HALO_OK;
  halo_arena scratch = {0};
  const char *line = instr->line > 0 ? halo_arena_printf(&scratch, "line %d: ", instr->line) : "";
  halo_status status =
      halo_fail(HALO_UNIMPLEMENTED, "%s%s: %s has a dimension without a bound, which cannot run",
                line, instr->name, halo_shape_text(&scratch, instr->shape, false));
  halo_arena_deinit(&scratch);
  return status;
}

halo_status halo_module_check_bounds(const halo_module *module) {
  /* What the entry does not reach does not run. */
  halo_pointer_map reached = {0};
  halo_pointer_map_set(&reached, module->entry, module->entry);
  halo_status status = HALO_OK;
  for (int32_t c = module->computations.count - 1; c >= 0 && status == HALO_OK; c--) {
    halo_computation *computation = module->computations.data[c];
    if (!halo_pointer_map_get(&reached, computation)) continue;
    for (int32_t i = 0; i < computation->instrs.count && status == HALO_OK; i++) {
      const halo_instr *instr = computation->instrs.data[i];
      status = bounds_check(instr);
      int32_t called = halo_instr_called_count(instr);
      for (int32_t k = 0; k < called; k++) {
        halo_computation *callee = halo_instr_called(instr, k);
        halo_pointer_map_set(&reached, callee, callee);
      }
    }
  }
  halo_pointer_map_deinit(&reached);
  return status;
}
