/* SPDX-License-Identifier: Apache-2.0 */
/* plan/source.c: the OpenCL C of a plan's units. */
#include "plan/plan.h"

#include <string.h>

/* Appends a unit's text, or a name in it, as that of unit `number`. */
void halo_plan_kernel_name(halo_strbuf *out, const char *text, int32_t number) {
  for (const char *at; (at = strchr(text, '@')); text = at + 1) {
    halo_strbuf_append_n(out, text, (size_t)(at - text));
    halo_strbuf_printf(out, "%d", number);
  }
  halo_strbuf_append(out, text);
}

void halo_plan_source(halo_strbuf *out, const halo_plan *plan, const int32_t *units,
                      int32_t count) {
  halo_sections sections = {0};
  halo_sections_add(&sections, "all");
  if (!units) count = plan->units.count;
  for (int32_t i = 0; i < count; i++) {
    halo_sections_join(&sections, &plan->units.data[units ? units[i] : i].sections);
  }
  halo_strbuf code = {0};
  for (int32_t i = 0; i < count; i++) {
    halo_plan_kernel_name(&code, plan->units.data[units ? units[i] : i].text, i);
  }
  halo_sections_print(out, &sections, halo_strbuf_text(&code));
  halo_strbuf_append(out, halo_strbuf_text(&code));
  halo_strbuf_deinit(&code);
}
