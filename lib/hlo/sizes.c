/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/sizes.c: what is visible of an entry whose run-time sizes are values. */
#include "hlo/hlo.h"

#include <string.h>

static const char sizes_note[] = "halo_dynamic_sizes", sizes_values[] = "values";

bool halo_module_sizes_are_values(const halo_module *module) {
  for (int32_t i = 0; i + 1 < module->frontend_count; i += 2) {
    if (strcmp(module->frontend[i], sizes_note) != 0) continue;
    return strcmp(module->frontend[i + 1], sizes_values) == 0;
  }
  return false;
}

void halo_module_set_sizes_are_values(halo_module *module) {
  if (halo_module_sizes_are_values(module)) return;
  int32_t count = module->frontend_count;
  const char **list = halo_arena_array(&module->arena, const char *, count + 2);
  for (int32_t i = 0; i < count; i++) list[i] = module->frontend[i];
  list[count] = sizes_note;
  list[count + 1] = sizes_values;
  module->frontend = list;
  module->frontend_count = count + 2;
}

int32_t halo_module_visible_params(const halo_module *module) {
  int32_t visible = module->entry->params.count, hidden = 0;
  if (!halo_module_sizes_are_values(module)) return visible;
  for (int32_t p = 0; p < visible; p++) hidden += halo_shape_dynamic_count(module->entry_params[p]);
  return visible - hidden;
}

const halo_shape *halo_module_visible_result(const halo_module *module) {
  const halo_shape *result = module->entry_result;
  bool wrapped = halo_module_sizes_are_values(module) && halo_shape_is_dynamic(result);
  return wrapped ? result->elements[0] : result;
}
