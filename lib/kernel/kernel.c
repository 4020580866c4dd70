/* SPDX-License-Identifier: Apache-2.0 */
/* kernel/kernel.c: kernels as objects, and their text in its forms. */
#include "kernel/kernel.h"

#include <string.h>

/* ---- Text with holes ---- */

enum { HOLE_COUNT = 32 };

static const char *const hole_texts[HOLE_COUNT][4] = {
#define HALO_HOLE(NAME, byte, kernel, function, single_item, in_group)                             \
  [byte] = {kernel, function, single_item, in_group},
#include "kernel/holes.def"
#undef HALO_HOLE
};

void halo_text_render(halo_strbuf *out, const char *text, size_t length, halo_kernel_form form,
                      const char *unit) {
  const char *end = text + length, *from = text;
  for (const char *at = text; at < end; at++) {
    unsigned char byte = (unsigned char)*at;
    bool is_unit = unit && byte == HALO_UNIT[0];
    if (!is_unit && (byte >= HOLE_COUNT || !hole_texts[byte][form])) continue;
    halo_strbuf_append_n(out, from, (size_t)(at - from));
    halo_strbuf_append(out, is_unit ? unit : hole_texts[byte][form]);
    from = at + 1;
  }
  halo_strbuf_append_n(out, from, (size_t)(end - from));
}

/* ---- Launches ---- */

halo_grid halo_grid_line(int64_t items, size_t local) {
  return (halo_grid){.dims = 1,
                     .global = {((size_t)items + local - 1) / local * local},
                     .local = {local},
                     .items = (size_t)items};
}

size_t halo_grid_width(const halo_grid *grid) {
  return grid->items ? grid->items : grid->global[0];
}

size_t halo_grid_height(const halo_grid *grid) { return grid->dims > 1 ? grid->global[1] : 1; }

double halo_grid_count(const halo_grid *grid) {
  double count = 1;
  for (uint32_t d = 0; d < grid->dims; d++) count *= (double)grid->global[d];
  return count;
}

double halo_grid_groups(const halo_grid *grid) {
  double groups = 1;
  for (uint32_t d = 0; d < grid->dims; d++) {
    size_t along = grid->global[d] / grid->local[d];
    groups *= (double)along;
  }
  return groups;
}

double halo_grid_pieces(const halo_grid *grid) {
  double pieces = halo_grid_groups(grid);
  size_t across = grid->global[0] / grid->local[0];
  return grid->any_x ? pieces : pieces / (double)across;
}

bool halo_grid_has_single_items(const halo_grid *grid) {
  bool apart = true;
  for (uint32_t d = 0; d < grid->dims; d++) apart &= grid->local[d] == 1;
  return apart;
}

bool halo_grid_next(const halo_grid *grid, const size_t local[3], const uint64_t most[3],
                    halo_grid_part *part) {
  bool first = part->global[0] == 0, carry = !first, within = false;
  for (uint32_t d = 0; d < 3; d++) {
    size_t all = d < grid->dims ? grid->global[d] : 1;
    bool cut = d < grid->dims && (d > 0 || grid->any_x) && most[d] && all / local[d] > most[d];
    size_t step = cut ? most[d] * local[d] : all;
    if (carry) part->offset[d] += part->global[d];
    carry = carry && part->offset[d] == all;
    if (carry) part->offset[d] = 0;
    size_t left = all - part->offset[d];
    /* A launch that began with so many along this axis goes on with as many. */
    if (!within) part->global[d] = left < step ? left : step;
    within |= part->offset[d] > 0;
  }
  return !carry;
}

void halo_grid_most(const halo_grid *grid, const size_t local[3], double groups, uint64_t most[3]) {
  for (uint32_t d = 0; d < grid->dims; d++) {
    size_t along = grid->global[d] / local[d];
    uint64_t fit = groups < 1 ? 1 : groups < (double)along ? (uint64_t)groups : along;
    if (!most[d] || most[d] > fit) most[d] = fit;
    groups /= (double)along;
  }
}

/* ---- Kernels ---- */

void halo_kernel_declare(halo_strbuf *out, const halo_kernel_param *params, int32_t count) {
  for (int32_t p = 0; p < count; p++) {
    const halo_kernel_param *param = &params[p];
    const char *comma = p ? ", " : "";
    if (param->is_value) {
      halo_strbuf_printf(out, "%sconst %s %s", comma, param->type, param->name);
      continue;
    }
    halo_strbuf_printf(out, "%s__global %s%s *%s%s_", comma, param->is_const ? "const " : "",
                       param->type, param->is_restrict ? "restrict " : "", param->name);
    if (!param->is_whole) halo_strbuf_printf(out, ", ulong %so", param->name);
  }
}

void halo_kernel_pass(halo_strbuf *out, const halo_kernel_param *params, int32_t count) {
  for (int32_t p = 0; p < count; p++) {
    const halo_kernel_param *param = &params[p];
    halo_strbuf_printf(out, "%s%s", p ? ", " : "", param->name);
    if (param->is_value) continue;
    halo_strbuf_char(out, '_');
    if (!param->is_whole) halo_strbuf_printf(out, ", %so", param->name);
  }
}

int64_t halo_kernel_argument_bytes(const halo_kernel *kernel, uint32_t address_bits) {
  enum { NUMBER = 8 };
  int64_t bytes = 0;
  for (int32_t p = 0; p < kernel->param_count; p++) {
    const halo_kernel_param *param = &kernel->params[p];
    if (!param->is_value) bytes += address_bits / 8;
    if (param->is_value || !param->is_whole) bytes += NUMBER;
  }
  return bytes;
}

bool halo_kernel_takes_any_group(const halo_kernel *kernel) { return kernel->facts.group[0] == 0; }

/* A text as part of a kernel of a program. Its launches may be cut into parts along x, each with a global offset, which
 * get_group_id does not count. */
static void kernel_render_part(halo_strbuf *out, const halo_kernel *kernel, const char *text,
                               size_t length, const char *unit) {
  const char *end = text + length, *from = text;
  size_t group = kernel->facts.group[0];
  for (const char *at = text; at < end; at++) {
    if (*at != HALO_HOLE_GROUP_ID_0) continue;
    halo_text_render(out, from, (size_t)(at - from), HALO_FORM_KERNEL, unit);
    if (group > 1) {
      halo_strbuf_printf(out, "(get_group_id(0) + get_global_offset(0) / %zu)", group);
    } else {
      halo_strbuf_append(out, "get_global_id(0)");
    }
    from = at + 1;
  }
  halo_text_render(out, from, (size_t)(end - from), HALO_FORM_KERNEL, unit);
}

void halo_kernel_render(halo_strbuf *out, const halo_kernel *kernel, halo_kernel_form form,
                        const char *unit) {
  const char *text = kernel->text, *head = text;
  if (form != HALO_FORM_KERNEL || halo_kernel_takes_any_group(kernel)) {
    halo_text_render(out, text, strlen(text), form, unit);
    return;
  }
  const size_t *group = kernel->facts.group;
  while (*head && *head != HALO_HOLE_HEAD) head++;
  kernel_render_part(out, kernel, text, (size_t)(head - text), unit);
  halo_strbuf_printf(out, "__attribute__((reqd_work_group_size(%zu, %zu, %zu))) ", group[0],
                     group[1], group[2]);
  kernel_render_part(out, kernel, head, strlen(head), unit);
}

const halo_kernel *halo_kernel_make(halo_arena *arena, const halo_kernel *kernel) {
  halo_kernel *made = halo_arena_copy(arena, kernel, sizeof *kernel);
  halo_strbuf text = {0};
  halo_kernel_render(&text, kernel, HALO_FORM_KERNEL, NULL);
  made->text = halo_arena_strdup(arena, kernel->text);
  made->bytes = text.length;
  for (const char *at = kernel->text; *at; at++) {
    /* Forms of a template in which groups of any size will do leave theirs out. */
    made->facts.has_barriers |= *at == HALO_HOLE_BARRIER && !halo_kernel_takes_any_group(kernel);
    made->facts.asks_x |= *at == HALO_HOLE_GLOBAL_SIZE_0;
  }
  halo_strbuf_deinit(&text);
  return made;
}

const halo_kernel *halo_kernel_copy(halo_arena *arena, const halo_kernel *kernel) {
  halo_kernel *copy = halo_arena_copy(arena, kernel, sizeof *kernel);
  halo_kernel_param *params =
      halo_arena_copy(arena, kernel->params, sizeof *params * (size_t)kernel->param_count);
  for (int32_t p = 0; p < kernel->param_count; p++) {
    params[p].name = halo_arena_strdup(arena, params[p].name);
    params[p].type = halo_arena_strdup(arena, params[p].type);
  }
  copy->params = params;
  copy->name = halo_arena_strdup(arena, kernel->name);
  copy->text = halo_arena_strdup(arena, kernel->text);
  return copy;
}
