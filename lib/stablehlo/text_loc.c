/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/text_loc.c: locations, of which a name and a place in a file are kept. */
#include "stablehlo/text_reader.h"

static halo_status loc_inner(halo_mlir_reader *r, halo_mlir_loc *out);

/* What `from` knows and `out` does not. */
static void loc_merge(halo_mlir_loc *out, const halo_mlir_loc *from) {
  if (!out->name) out->name = from->name;
  if (!out->file) {
    out->file = from->file;
    out->line = from->line;
    out->column = from->column;
  }
}

/* A number that does not count: of the end of a range. */
static halo_status loc_skip_number(halo_mlir_reader *r) {
  int64_t ignored;
  return halo_mlir_text_int(r, "a number of a line or column", &ignored);
}

/* "f.py":3:7, "f.py":3:7 to :9, "f.py":3:7 to 5:2 behind the name. */
static halo_status loc_file(halo_mlir_reader *r, const char *file, halo_mlir_loc *out) {
  int64_t line, column;
  HALO_TRY(halo_mlir_text_expect(r, ':', "':' and a line"));
  HALO_TRY(halo_mlir_text_int(r, "a line", &line));
  HALO_TRY(halo_mlir_text_expect(r, ':', "':' and a column"));
  HALO_TRY(halo_mlir_text_int(r, "a column", &column));
  if (halo_mlir_text_accept_word(r, "to")) {
    if (r->tok.kind != ':') HALO_TRY(loc_skip_number(r));
    HALO_TRY(halo_mlir_text_expect(r, ':', "':' and a column"));
    HALO_TRY(loc_skip_number(r));
  }
  if (out->file) return HALO_OK;
  out->file = file;
  out->line = line > 0 && line < INT32_MAX ? (int32_t)line : 0;
  out->column = column > 0 && column < INT32_MAX ? (int32_t)column : 0;
  return HALO_OK;
}

static halo_status loc_string(halo_mlir_reader *r, halo_mlir_loc *out) {
  const char *text;
  size_t length;
  HALO_TRY(halo_mlir_text_string(r, "a name", &text, &length));
  if (r->tok.kind == ':') return loc_file(r, text, out);
  if (!out->name) out->name = text;
  if (!halo_mlir_text_accept(r, '(')) return HALO_OK;
  HALO_TRY(loc_inner(r, out));
  return halo_mlir_text_expect(r, ')', "')' after a location");
}

static halo_status loc_fused(halo_mlir_reader *r, halo_mlir_loc *out) {
  if (r->tok.kind == '<') HALO_TRY(halo_mlir_text_skip_brackets(r));
  HALO_TRY(halo_mlir_text_expect(r, '[', "'[' and locations"));
  while (r->tok.kind != ']') {
    HALO_TRY(loc_inner(r, out));
    HALO_TRY(halo_mlir_text_separator(r, ']', "',' or ']' after a location"));
  }
  halo_mlir_text_advance(r);
  return HALO_OK;
}

static halo_status loc_read(halo_mlir_reader *r, halo_mlir_loc *out) {
  const halo_mlir_loc *known = NULL;
  if (r->tok.kind == TOK_STRING) return loc_string(r, out);
  if (halo_mlir_text_accept_word(r, "unknown")) return HALO_OK;
  if (halo_mlir_text_accept_word(r, "fused")) return loc_fused(r, out);
  if (halo_mlir_text_accept_word(r, "callsite")) {
    HALO_TRY(halo_mlir_text_expect(r, '(', "'(' and a location"));
    HALO_TRY(loc_inner(r, out));
    HALO_TRY(halo_mlir_text_expect_word(r, "at"));
    HALO_TRY(loc_inner(r, out));
    return halo_mlir_text_expect(r, ')', "')' after a location");
  }
  if (r->tok.kind != TOK_HASH && !halo_mlir_text_is(r, "loc"))
    return halo_mlir_text_expected(r, "a location");
  HALO_TRY(halo_mlir_text_loc_value(r, &known));
  loc_merge(out, known);
  return HALO_OK;
}

static halo_status loc_inner(halo_mlir_reader *r, halo_mlir_loc *out) {
  HALO_TRY(halo_mlir_text_enter(r));
  HALO_TRY(loc_read(r, out));
  halo_mlir_text_leave(r);
  return HALO_OK;
}

/* As halo_mlir_text_loc, of an alias or a place where "loc" stands; never NULL. */
static halo_status loc_parenthesised(halo_mlir_reader *r, const halo_mlir_loc **out) {
  HALO_TRY(halo_mlir_text_expect(r, '(', "'(' and a location"));
  if (r->tok.kind == TOK_HASH) { /* shared by all that came from the same place */
    HALO_TRY(halo_mlir_text_loc_alias(r, out));
  } else {
    halo_mlir_loc *loc = halo_arena_new(r->arena, halo_mlir_loc);
    HALO_TRY(loc_inner(r, loc));
    *out = loc;
  }
  return halo_mlir_text_expect(r, ')', "')' after a location");
}

halo_status halo_mlir_text_loc(halo_mlir_reader *r, const halo_mlir_loc **out) {
  if (!halo_mlir_text_accept_word(r, "loc")) return HALO_OK;
  const halo_mlir_loc *loc;
  HALO_TRY(loc_parenthesised(r, &loc));
  *out = loc->name || loc->file ? loc : NULL;
  return HALO_OK;
}

halo_status halo_mlir_text_loc_value(halo_mlir_reader *r, const halo_mlir_loc **out) {
  if (r->tok.kind == TOK_HASH) return halo_mlir_text_loc_alias(r, out);
  HALO_TRY(halo_mlir_text_expect_word(r, "loc"));
  return loc_parenthesised(r, out);
}
