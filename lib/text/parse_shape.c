/* SPDX-License-Identifier: Apache-2.0 */
/* text/parse_shape.c: shapes and layouts. */
#include "text/parser.h"

#include <string.h>

/* The type a word names, or HALO_TYPE_INVALID. */
static halo_type shape_type_of(const halo_text_token *tok) {
  char name[24];
  size_t length = (size_t)(tok->end - tok->start);
  if (tok->kind != TOK_WORD || length >= sizeof name) return HALO_TYPE_INVALID;
  memcpy(name, tok->start, length);
  name[length] = '\0';
  return halo_type_from_name(name);
}

static char shape_next_byte(halo_text_parser *p) {
  const char *bad, *next = halo_text_skip_blank(p, p->tok.end, &bad);
  return next ? *next : '\0';
}

bool halo_text_at_shape(halo_text_parser *p) {
  if (p->tok.kind == '(') return true;
  if (p->tok.kind != TOK_WORD) return false;
  char next = shape_next_byte(p);
  return next == '[' || (next == '(' && halo_text_is_word(p, "b"));
}

/* Takes the extras of a layout, from behind its colon to its closing brace, as they are. */
static halo_status shape_extras(halo_text_parser *p, const char **out) {
  const char *start = p->tok.start;
  const char *at = start;
  while (*at != '}') {
    /* "T(8,128)(2,1)", "S(1)", "#(u32)", "*(u32)": letters or a sign, then groups. */
    const char *letters = at;
    while ((*at >= 'A' && *at <= 'Z') || *at == '#' || *at == '*') at++;
    if (at == letters || *at != '(') {
      return halo_text_error(p, at,
                             "expected a layout property such as T(8,128), E(4) or S(1), or "
                             "the layout's '}'");
    }
    while (*at == '(') {
      int depth = 0;
      const char *open = at;
      do {
        depth += *at == '(';
        depth -= *at == ')';
        if (!*at || *at == '"' || *at == '/') {
          return halo_text_error(p, open, "this '(' is never closed: expected ')'");
        }
        at++;
      } while (depth);
    }
  }
  if (at > start) *out = halo_arena_strndup(p->arena, start, (size_t)(at - start));
  halo_text_resume(p, at);
  return HALO_OK;
}

/* Takes a layout when one follows; `m2m` holds the default before. */
static halo_status shape_layout(halo_text_parser *p, int rank, int32_t *m2m, const char **extras) {
  if (p->tok.kind != '{') return HALO_OK;
  char next = shape_next_byte(p);
  if (!halo_text_is_digit(next) && next != ':') return HALO_OK;
  const char *start = p->tok.start;
  halo_text_advance(p);
  int count = 0;
  while (p->tok.kind == TOK_INT) {
    int64_t d;
    const char *at = p->tok.start;
    HALO_TRY(halo_text_int(p, "a dimension", &d));
    if (count == rank) {
      return halo_text_error(p, at, "the layout has more entries than the %d dimension%s", rank,
                             halo_plural(rank));
    }
    if (d < 0 || d >= rank) {
      return halo_text_error(p, at, "expected a dimension from 0 to %d in the layout", rank - 1);
    }
    for (int i = 0; i < count; i++) {
      if (m2m[i] == d) return halo_text_error(p, at, "this dimension stands twice in the layout");
    }
    m2m[count++] = (int32_t)d;
    if (p->tok.kind != ',') break;
    halo_text_advance(p);
    if (p->tok.kind != TOK_INT) return halo_text_expected(p, "a dimension");
  }
  if (count != rank) {
    return halo_text_error(p, start, "expected %d dimension%s in the layout, found %d", rank,
                           halo_plural(rank), count);
  }
  if (p->tok.kind == ':') {
    halo_text_advance(p);
    HALO_TRY(shape_extras(p, extras));
  }
  return halo_text_expect(p, '}', "'}' at the end of the layout");
}

/* Takes one dimension. */
static halo_status shape_dim(halo_text_parser *p, int64_t *dim, bool *dynamic) {
  if (halo_text_accept(p, '?')) {
    *dim = HALO_UNBOUNDED;
    *dynamic = true;
    return HALO_OK;
  }
  *dynamic = halo_text_accept(p, TOK_LEQ);
  const char *at = p->tok.start;
  HALO_TRY(halo_text_int(p, "a dimension: a number, <=number or ?", dim));
  if (*dim < 0) return halo_text_error(p, at, "expected a dimension that is not negative");
  return HALO_OK;
}

static halo_status shape_array(halo_text_parser *p, halo_type type, const char *start,
                               const halo_shape **out) {
  int64_t dims[HALO_MAX_RANK];
  bool dynamic[HALO_MAX_RANK];
  int32_t m2m[HALO_MAX_RANK];
  const char *extras = NULL;
  int rank = 0;
  halo_text_advance(p); /* the bracket */
  while (p->tok.kind != ']') {
    if (rank == HALO_MAX_RANK) {
      return halo_text_error(p, p->tok.start, "a shape has at most %d dimensions", HALO_MAX_RANK);
    }
    HALO_TRY(shape_dim(p, &dims[rank], &dynamic[rank]));
    rank++;
    HALO_TRY(halo_text_separator(p, ']', "',' or ']' after a dimension"));
  }
  halo_text_advance(p);
  bool array = halo_type_is_array(type);
  if (!array && rank) {
    return halo_text_error(p, start, "%s has no dimensions: expected %s[]", halo_type_name(type),
                           halo_type_name(type));
  }
  if (array && halo_shape_check_array(type, rank, dims) != HALO_OK) {
    return halo_text_error(p, start, "%s", halo_error_message());
  }
  for (int i = 0; i < rank; i++) m2m[i] = rank - 1 - i;
  HALO_TRY(shape_layout(p, rank, m2m, &extras));
  halo_shape *shape = (halo_shape *)halo_shape_new_full(p->arena, type, rank, dims, dynamic, m2m);
  shape->layout_extras = extras;
  *out = shape;
  return HALO_OK;
}

static halo_status shape_read(halo_text_parser *p, int64_t *bytes, const halo_shape **out);

/* `bytes` grows by the size of all leaves, so that no sum over a tuple overflows later. */
static halo_status shape_tuple(halo_text_parser *p, int64_t *bytes, const halo_shape **out) {
  HALO_VEC(const halo_shape *) elements = {0};
  halo_status status = halo_text_enter(p);
  if (status != HALO_OK) return status;
  halo_text_advance(p);
  while (p->tok.kind != ')' && status == HALO_OK) {
    const halo_shape *element = NULL;
    status = shape_read(p, bytes, &element);
    if (status != HALO_OK) break;
    halo_vec_push(&elements, element);
    status = halo_text_separator(p, ')', "',' or ')' after a tuple's element");
  }
  if (status == HALO_OK) {
    halo_text_advance(p);
    *out = halo_shape_new_tuple(p->arena, elements.count, elements.data);
    halo_text_leave(p);
  }
  halo_vec_deinit(&elements);
  return status;
}

/* "b(f32[2])": an array that stays where it is. That is no matter of values: the array's shape. */
static halo_status shape_buffer(halo_text_parser *p, int64_t *bytes, const halo_shape **out) {
  halo_text_advance(p);
  halo_text_advance(p);
  HALO_TRY(halo_text_enter(p));
  const char *at = p->tok.start;
  HALO_TRY(shape_read(p, bytes, out));
  if (!halo_shape_is_array(*out)) {
    return halo_text_error(p, at, "expected the shape of an array in b(...)");
  }
  halo_text_leave(p);
  return halo_text_expect(p, ')', "')' after the buffer's shape");
}

static halo_status shape_read(halo_text_parser *p, int64_t *bytes, const halo_shape **out) {
  const char *start = p->tok.start;
  if (p->tok.kind == '(') return shape_tuple(p, bytes, out);
  if (p->tok.kind != TOK_WORD) return halo_text_expected(p, "a shape such as f32[2,3]");
  char next = shape_next_byte(p);
  if (next == '(' && halo_text_is_word(p, "b")) return shape_buffer(p, bytes, out);
  halo_type type = shape_type_of(&p->tok);
  if (type == HALO_TYPE_INVALID || type == HALO_TUPLE) {
    int length = (int)(p->tok.end - start);
    return halo_text_error(p, start,
                           "unknown element type '%.*s': expected a shape such as "
                           "f32[2,3]",
                           length > 60 ? 60 : length, start);
  }
  halo_text_advance(p);
  if (p->tok.kind != '[') return halo_text_expected(p, "'[' after the element type");
  HALO_TRY(shape_array(p, type, start, out));
  if (__builtin_add_overflow(*bytes, halo_shape_byte_size(*out), bytes)) {
    return halo_text_error(p, start, "the shape's size in bytes does not fit 63 bits");
  }
  return HALO_OK;
}

halo_status halo_text_shape(halo_text_parser *p, const halo_shape **out) {
  int64_t bytes = 0;
  return shape_read(p, &bytes, out);
}

halo_status halo_text_parse_shape(const char *text, halo_arena *arena, const halo_shape **out) {
  halo_text_parser p = {.arena = arena};
  *out = NULL;
  HALO_TRY(halo_text_begin(&p, text, strlen(text), "shape"));
  halo_status status = halo_text_shape(&p, out);
  if (status == HALO_OK && p.tok.kind != TOK_END) {
    status = halo_text_expected(&p, "the end of the shape");
  }
  if (status != HALO_OK) *out = NULL;
  halo_text_finish(&p);
  return status;
}
