/* SPDX-License-Identifier: Apache-2.0 */
/* kernel/kernel.c: kernels as objects, their text in its forms, and groups as loops. */
#include "kernel/kernel.h"

#include <string.h>

/* ---- Text with holes ---- */

enum { HOLE_COUNT = 32 };

static const char *const hole_texts[HOLE_COUNT][3] = {
#define HALO_HOLE(NAME, byte, kernel, function, alone) [byte] = {kernel, function, alone},
#include "kernel/holes.def"
#undef HALO_HOLE
};

/* Behind the sizes of a group that a kernel asks for, which are no business of functions. */
static const char *text_skip_sizes(const char *at, const char *end) {
  while (at < end && *at != HALO_HOLE_SIZES_END) at++;
  return at;
}

void halo_text_render(halo_strbuf *out, const char *text, size_t length, halo_kernel_form form,
                      const char *unit) {
  const char *end = text + length, *from = text;
  for (const char *at = text; at < end; at++) {
    unsigned char byte = (unsigned char)*at;
    bool is_unit = unit && byte == HALO_UNIT[0];
    if (!is_unit && (byte >= HOLE_COUNT || !hole_texts[byte][form])) continue;
    halo_strbuf_append_n(out, from, (size_t)(at - from));
    halo_strbuf_append(out, is_unit ? unit : hole_texts[byte][form]);
    if (byte == HALO_HOLE_SIZES && form != HALO_FORM_KERNEL) at = text_skip_sizes(at, end);
    from = at + 1;
  }
  halo_strbuf_append_n(out, from, (size_t)(end - from));
}

uint32_t halo_text_holes(const char *text) {
  uint32_t holes = 0;
  for (; *text; text++) {
    unsigned char byte = (unsigned char)*text;
    if (byte < HOLE_COUNT && hole_texts[byte][0]) holes |= 1u << byte;
  }
  return holes;
}

/* ---- Kernels ---- */

const halo_kernel *halo_kernel_make(halo_arena *arena, const halo_kernel *kernel) {
  halo_kernel *made = halo_arena_copy(arena, kernel, sizeof *kernel);
  halo_strbuf text = {0};
  halo_text_render(&text, kernel->text, strlen(kernel->text), HALO_FORM_KERNEL, NULL);
  made->text = halo_arena_strdup(arena, kernel->text);
  made->bytes = text.length;
  made->holes = halo_text_holes(kernel->text);
  halo_strbuf_deinit(&text);
  return made;
}

const halo_kernel *halo_kernel_copy(halo_arena *arena, const halo_kernel *kernel) {
  halo_kernel *copy = halo_arena_copy(arena, kernel, sizeof *kernel);
  halo_kernel_param *params =
      halo_arena_copy(arena, kernel->params, sizeof *params * (size_t)kernel->param_count);
  for (int32_t p = 0; p < kernel->param_count; p++) {
    params[p].name = halo_arena_strdup(arena, params[p].name);
  }
  copy->params = params;
  copy->name = halo_arena_strdup(arena, kernel->name);
  copy->signature = halo_arena_strdup(arena, kernel->signature);
  copy->passed = halo_arena_strdup(arena, kernel->passed);
  copy->text = halo_arena_strdup(arena, kernel->text);
  return copy;
}
