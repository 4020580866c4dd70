/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/text_alias.c: `#name = attribute` and `!name = type`, which may stand anywhere at the top level. */
#include "stablehlo/text_reader.h"

#include <string.h>

/* The end of "#name =" at `at`, or NULL. */
static const char *alias_value(const char *at, const char **name_end) {
  const char *c = at + 1;
  while ((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || halo_mlir_is_digit(*c) ||
         *c == '_' || *c == '$' || *c == '-')
    c++;
  *name_end = c;
  if (c == at + 1) return NULL;
  while (*c == ' ' || *c == '\t') c++;
  return *c == '=' ? c + 1 : NULL;
}

void halo_mlir_text_find_aliases(halo_mlir_reader *r) {
  for (const char *line = r->begin; line; line = strchr(line, '\n')) {
    while (*line == '\n' || *line == ' ' || *line == '\t' || *line == '\r') line++;
    if (*line == '{' && line[1] == '-' && line[2] == '#') r->resources = line + 3;
    if (*line != '#' && *line != '!') continue;
    const char *name_end, *value = alias_value(line, &name_end);
    if (!value) continue;
    halo_mlir_alias *alias = halo_arena_new(r->arena, halo_mlir_alias);
    alias->value = value;
    halo_map_set(&r->aliases, line, (size_t)(name_end - line), alias);
  }
}

typedef halo_status (*alias_read)(halo_mlir_reader *r, halo_mlir_alias *alias);

static halo_status alias_read_attr(halo_mlir_reader *r, halo_mlir_alias *alias) {
  return halo_mlir_text_attr(r, &alias->attr);
}

static halo_status alias_read_type(halo_mlir_reader *r, halo_mlir_alias *alias) {
  return halo_mlir_text_type(r, &alias->type);
}

static halo_status alias_read_loc(halo_mlir_reader *r, halo_mlir_alias *alias) {
  return halo_mlir_text_loc_value(r, &alias->loc);
}

/* Finds the alias at the current token and, unless `known`, reads what stands behind its `=`. */
static halo_status alias_use(halo_mlir_reader *r, alias_read read, size_t known,
                             halo_mlir_alias **out) {
  halo_mlir_token tok = r->tok;
  const char *name = tok.start - 1;
  halo_mlir_alias *alias = halo_map_get(&r->aliases, name, (size_t)(tok.end - name));
  *out = alias;
  if (!alias) {
    return halo_mlir_text_error(r, tok.start,
                                "'%.*s' is not defined: expected '%.*s = ...' on a line of its own",
                                (int)(tok.end - name), name, (int)(tok.end - name), name);
  }
  if (alias->open)
    return halo_mlir_text_error(r, tok.start, "'%.*s' is defined by itself", (int)(tok.end - name),
                                name);
  if (!*(const void *const *)((const char *)alias + known)) {
    HALO_TRY(halo_mlir_text_enter(r));
    alias->open = true;
    halo_mlir_text_resume(r, alias->value);
    HALO_TRY(read(r, alias));
    alias->end = halo_mlir_text_here(r);
    alias->open = false;
    halo_mlir_text_leave(r);
  }
  halo_mlir_text_resume(r, tok.end);
  return HALO_OK;
}

halo_status halo_mlir_text_attr_alias(halo_mlir_reader *r, const halo_mlir_attr **out) {
  halo_mlir_alias *alias;
  HALO_TRY(alias_use(r, alias_read_attr, offsetof(halo_mlir_alias, attr), &alias));
  *out = alias->attr;
  return HALO_OK;
}

halo_status halo_mlir_text_type_alias(halo_mlir_reader *r, const halo_mlir_type **out) {
  halo_mlir_alias *alias;
  HALO_TRY(alias_use(r, alias_read_type, offsetof(halo_mlir_alias, type), &alias));
  *out = alias->type;
  return HALO_OK;
}

halo_status halo_mlir_text_loc_alias(halo_mlir_reader *r, const halo_mlir_loc **out) {
  halo_mlir_alias *alias;
  HALO_TRY(alias_use(r, alias_read_loc, offsetof(halo_mlir_alias, loc), &alias));
  *out = alias->loc;
  return HALO_OK;
}

halo_status halo_mlir_text_alias_definition(halo_mlir_reader *r) {
  bool is_type = r->tok.kind == TOK_BANG;
  const char *name = r->tok.start - 1;
  size_t length = (size_t)(r->tok.end - name);
  halo_mlir_text_advance(r);
  if (r->tok.kind != '=') return halo_mlir_text_expected(r, "'=' after the name of an alias");
  const char *value = r->tok.end;
  halo_mlir_alias *known = halo_map_get(&r->aliases, name, length);
  if (known && known->value != value)
    return halo_mlir_text_error(r, name + 1, "'%.*s' is defined twice", (int)length, name);
  if (!known) { /* not at the beginning of its line */
    known = halo_arena_new(r->arena, halo_mlir_alias);
    known->value = value;
    halo_map_set(&r->aliases, name, length, known);
  }
  if (known->end) {
    halo_mlir_text_resume(r, known->end);
    return HALO_OK;
  }
  halo_mlir_text_advance(r);
  if (is_type) return halo_mlir_text_type(r, &known->type);
  if (halo_mlir_text_is(r, "loc")) return halo_mlir_text_loc_value(r, &known->loc);
  return halo_mlir_text_attr(r, &known->attr);
}
