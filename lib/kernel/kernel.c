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

/* ---- Groups as loops ---- */

bool halo_kernel_can_loop(const halo_kernel *kernel) {
  static const halo_hole others[] = {
      HALO_HOLE_LOCAL_ID_0, HALO_HOLE_LOCAL_ID_1, HALO_HOLE_GROUP_ID_0,
      HALO_HOLE_GROUP_ID_1, HALO_HOLE_GROUP_ID_2, HALO_HOLE_GLOBAL_SIZE_0,
      HALO_HOLE_BARRIER,    HALO_HOLE_LOCAL,      HALO_HOLE_NOT_INLINED};
  bool can = kernel->body > 0 && halo_kernel_asks(kernel, HALO_HOLE_GLOBAL_ID_0) &&
             !(kernel->facts & HALO_FACT_RETURNS);
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    can = can && !halo_kernel_asks(kernel, others[i]);
  }
  bool rows = halo_kernel_asks(kernel, HALO_HOLE_GLOBAL_ID_1);
  return can && !(rows && kernel->facts & HALO_FACT_TESTS);
}

/* The function of a group. The work item's code stands in the loop itself: what is said of a call in one is lost where
 * compilers change the called function's parameters. */
static void loop_put_function(halo_strbuf *out, const halo_kernel *kernel, const size_t local[2],
                              bool parallel) {
  halo_strbuf_printf(out,
                     "static " HALO_NOT_INLINED
                     "void %s_group(const int h_i, const int h_j, %s) {\n"
                     "for (int h_b = 0; h_b < %zu; ++h_b) {\n",
                     kernel->name, kernel->signature, local[1]);
  /* All items of a group have one place in memory for an array: compilers which believe that they do not depend on each
   * other mix up what they keep there. */
  if (parallel && !(kernel->facts & HALO_FACT_ARRAYS)) {
    halo_strbuf_append(out, "#pragma clang loop vectorize(assume_safety)\n");
  }
  halo_strbuf_printf(out,
                     "for (int h_a = 0; h_a < %zu; ++h_a) {\n"
                     "  const size_t h_x = h_i + h_a, h_y = h_j + h_b;",
                     local[0]);
  halo_text_render(out, kernel->text + kernel->body, kernel->end - kernel->body, HALO_FORM_FUNCTION,
                   NULL);
  halo_strbuf_append(out, "\n}\n}\n");
}

const halo_kernel *halo_kernel_loop(halo_arena *arena, const halo_kernel *kernel,
                                    const size_t local[2], bool parallel) {
  halo_strbuf text = {0};
  halo_strbuf_append_n(&text, kernel->text, kernel->head);
  loop_put_function(&text, kernel, local, parallel);
  halo_strbuf_printf(&text,
                     HALO_HEAD "%s(" HALO_PLACES "%s) { %s_group((int)" HALO_GLOBAL_ID_0
                               " * %zu, (int)" HALO_GLOBAL_ID_1 " * %zu, %s); }",
                     kernel->name, kernel->signature, kernel->name, local[0], local[1],
                     kernel->passed);
  halo_strbuf_append(&text, kernel->text + kernel->end);
  halo_kernel made = *kernel;
  made.text = halo_strbuf_text(&text);
  made.head = made.body = made.end = 0;
  made.facts |= HALO_FACT_LOOPS;
  const halo_kernel *loop = halo_kernel_make(arena, &made);
  halo_strbuf_deinit(&text);
  return loop;
}
