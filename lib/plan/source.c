/* SPDX-License-Identifier: Apache-2.0 */
/* plan/source.c: the OpenCL C of a plan's units. */
#include "plan/plan.h"

#include <stdio.h>
#include <string.h>

void halo_plan_kernel_name(halo_strbuf *out, const char *kernel, int32_t number) {
  char digits[16];
  snprintf(digits, sizeof digits, "%d", number);
  halo_text_render(out, kernel, strlen(kernel), HALO_FORM_KERNEL, digits);
}

size_t halo_plan_unit_bytes(const halo_plan_unit *unit) {
  size_t bytes = 0;
  for (int32_t k = 0; k < unit->kernel_count; k++) bytes += unit->kernels[k]->bytes;
  return bytes;
}

void halo_plan_source(halo_strbuf *out, const halo_plan *plan, const int32_t *units,
                      int32_t count) {
  halo_sections sections = {0};
  halo_sections_add(&sections, "all");
  if (!units) count = plan->units.count;
  for (int32_t i = 0; i < count; i++) {
    halo_sections_join(&sections, &plan->units.data[units ? units[i] : i].sections);
  }
  halo_sections_print(out, &sections);
  for (int32_t i = 0; i < count; i++) {
    const halo_plan_unit *unit = &plan->units.data[units ? units[i] : i];
    for (int32_t k = 0; k < unit->kernel_count; k++) {
      halo_plan_kernel_name(out, unit->kernels[k]->text, i);
    }
  }
}
