/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/translate_fail.c: why a program cannot be translated, and at which operation. */
#include "stablehlo/translate.h"

/* "name:12: error: stablehlo.add (jit(f)/add at f.py:3)", as much of it as is known. */
static const char *fail_place(const halo_translator *t, halo_arena *arena) {
  const halo_mlir_op *op = t->op;
  if (!op) return halo_arena_printf(arena, "%s: error", t->program->name);
  halo_strbuf text = {0};
  halo_strbuf_append(&text, t->program->name);
  if (op->line) halo_strbuf_printf(&text, ":%d", op->line);
  halo_strbuf_printf(&text, ": error: %s", op->name);
  const halo_mlir_loc *loc = op->loc;
  if (loc && (loc->name || loc->file)) {
    halo_strbuf_append(&text, " (");
    if (loc->name) halo_strbuf_append(&text, loc->name);
    if (loc->file) {
      halo_strbuf_printf(&text, "%s%s:%d", loc->name ? " at " : "", loc->file, loc->line);
    }
    halo_strbuf_append(&text, ")");
  }
  const char *copy = halo_arena_strdup(arena, halo_strbuf_text(&text));
  halo_strbuf_deinit(&text);
  return copy;
}

void halo_translate_failed(halo_translator *t, halo_status status) {
  if (status == HALO_OK || t->status != HALO_OK) return;
  halo_arena scratch = {0};
  t->status = halo_fail_in(status, "%s", fail_place(t, &scratch));
  halo_arena_deinit(&scratch);
}

void halo_translate_fail(halo_translator *t, halo_status status, const char *format, ...) {
  if (t->status != HALO_OK) return;
  halo_arena scratch = {0};
  va_list args;
  va_start(args, format);
  const char *message = halo_arena_vprintf(&scratch, format, args);
  va_end(args);
  halo_translate_failed(t, halo_fail(status, "%s", message));
  halo_arena_deinit(&scratch);
}
