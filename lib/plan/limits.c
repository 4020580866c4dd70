/* SPDX-License-Identifier: Apache-2.0 */
/* plan/limits.c: launches held against what the device's driver takes. */
#include "plan/lowering.h"

#include <string.h>

static halo_status limits_refuse(const halo_step *step, const halo_caps *caps, const char *what,
                                 uint64_t wanted, uint64_t most) {
  return halo_fail(HALO_UNIMPLEMENTED, "%s needs %llu %s; the device %s allows %llu", step->label,
                   (unsigned long long)wanted, what, caps->name, (unsigned long long)most);
}

/* Groups of any size become smaller when the kernel is built (exec/build.c); parts make up for too many groups. */
static halo_status limits_check_grid(const halo_step *step, const halo_caps *caps) {
  const halo_grid *grid = &step->grid;
  static const char *const items[] = {"work items of a group along x",
                                      "work items of a group along y",
                                      "work items of a group along z"};
  uint64_t group = 1;
  for (uint32_t d = 0; d < grid->dims; d++) {
    group *= grid->local[d];
    if (!grid->any_local && grid->local[d] > caps->max_items[d]) {
      return limits_refuse(step, caps, items[d], grid->local[d], caps->max_items[d]);
    }
  }
  if (!grid->any_local && group > caps->max_work_group) {
    return limits_refuse(step, caps, "work items in a group", group, caps->max_work_group);
  }
  uint64_t across = grid->global[0] / grid->local[0];
  uint64_t most = halo_caps_most_groups(caps, 0, grid->local[0]);
  if (!grid->any_x && most && across > most) {
    return limits_refuse(step, caps, "work groups along x", across, most);
  }
  return HALO_OK;
}

/* The smallest part of a launch that is cut as far as it can be, by estimate. */
static halo_status limits_check_time(const halo_step *step, const halo_caps *caps) {
  int64_t budget;
  double seconds = step->seconds / halo_grid_pieces(&step->grid);
  if (halo_step_leaves(step, &budget)) seconds = (double)budget * 1e-9;
  if (!caps->watchdog_ms || seconds * 1e3 <= (double)caps->watchdog_ms) return HALO_OK;
  return limits_refuse(step, caps, "milliseconds in one piece", (uint64_t)(seconds * 1e3),
                       caps->watchdog_ms);
}

static halo_status limits_check_steps(const halo_plan *plan, const halo_steps *steps,
                                      const halo_caps *caps) {
  for (int32_t i = 0; i < steps->count; i++) {
    const halo_step *step = &steps->data[i];
    for (int32_t l = 0; l < step->list_count; l++) {
      HALO_TRY(limits_check_steps(plan, &step->lists[l], caps));
    }
    if (step->kind != HALO_STEP_KERNEL) continue;
    HALO_TRY(limits_check_grid(step, caps));
    HALO_TRY(limits_check_time(step, caps));
    const halo_kernel *kernel = halo_plan_kernel(plan, step);
    int64_t bytes = kernel ? halo_kernel_argument_bytes(kernel, caps->address_bits) : 0;
    if (caps->max_parameters && bytes > (int64_t)caps->max_parameters) {
      return limits_refuse(step, caps, "bytes of arguments", (uint64_t)bytes, caps->max_parameters);
    }
    uint64_t local = kernel ? (uint64_t)kernel->facts.local_bytes : 0;
    if (local > caps->local_memory) {
      return limits_refuse(step, caps, "bytes of local memory", local, caps->local_memory);
    }
  }
  return HALO_OK;
}

halo_status lower_check_limits(const halo_plan *plan, const halo_caps *caps) {
  return limits_check_steps(plan, &plan->steps, caps);
}
