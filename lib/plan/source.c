/* SPDX-License-Identifier: Apache-2.0 */
/* plan/source.c: the OpenCL C of a plan's units, and what groups a device gave them. */
#include "plan/plan.h"

#include <stdio.h>
#include <string.h>

/* A unit's number in a text. */
typedef struct source_number {
  char text[16];
} source_number;

static source_number source_number_of(int32_t number) {
  source_number digits;
  snprintf(digits.text, sizeof digits.text, "%d", number);
  return digits;
}

void halo_plan_kernel_name(halo_strbuf *out, const char *kernel, int32_t number) {
  halo_text_render(out, kernel, strlen(kernel), HALO_FORM_KERNEL, source_number_of(number).text);
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
      halo_kernel_render(out, unit->kernels[k], HALO_FORM_KERNEL, source_number_of(i).text);
    }
  }
}

/* ---- Limits ---- */

static halo_plan_limit *source_find_limit(const halo_plan_limits *limits, const uint64_t key[2]) {
  for (int32_t u = 0; u < limits->units.count; u++) {
    halo_plan_limit *limit = &limits->units.data[u];
    if (memcmp(limit->key, key, sizeof limit->key) == 0) return limit;
  }
  return NULL;
}

bool halo_plan_limits_add(halo_plan_limits *limits, const halo_plan_unit *unit, size_t most) {
  size_t *known = &limits->regions;
  if (!unit->of_steps) {
    halo_plan_limit *limit = source_find_limit(limits, unit->key);
    if (!limit) {
      halo_vec_push(&limits->units, (halo_plan_limit){{unit->key[0], unit->key[1]}, 0});
      limit = &limits->units.data[limits->units.count - 1];
    }
    known = &limit->most;
  }
  if (*known && *known <= most) return false;
  *known = most;
  limits->grew = true;
  return true;
}

size_t halo_plan_limits_find(const halo_plan_limits *limits, const uint64_t key[2]) {
  const halo_plan_limit *limit = source_find_limit(limits, key);
  return limit ? limit->most : 0;
}

void halo_plan_limits_deinit(halo_plan_limits *limits) { halo_vec_deinit(&limits->units); }
