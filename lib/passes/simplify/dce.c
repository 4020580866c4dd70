/* SPDX-License-Identifier: Apache-2.0 */
/* passes/simplify/dce.c: dead code elimination. */
#include "passes/passes.h"

halo_status halo_pass_dce(halo_module *module, bool *changed) {
  HALO_VEC(halo_computation *) before = {0};
  *changed = false;
  for (int32_t i = 0; i < module->computations.count; i++) {
    halo_computation *computation = module->computations.data[i];
    if (halo_computation_remove_dead(computation)) *changed = true;
    halo_vec_push(&before, computation);
  }
  halo_module_remove_dead(module);
  if (module->computations.count != before.count) *changed = true;
  for (int32_t i = 0; i < before.count && !*changed; i++) {
    if (module->computations.data[i] != before.data[i]) *changed = true;
  }
  halo_vec_deinit(&before);
  return HALO_OK;
}
