/* SPDX-License-Identifier: Apache-2.0 */
/* text/parse_literal.c: values. They are scanned byte by byte, since constants can hold millions of
 * numbers. */
#include "text/parser.h"

#include <limits.h>
#include <math.h>
#include <string.h>

typedef struct literal_scan {
  halo_text_parser *p;
  const char *at;
  halo_literal *literal; /* the array being filled */
  halo_type type;
  size_t size; /* of one element */
  char *next;  /* where the next element goes */
} literal_scan;

static halo_status literal_blank(literal_scan *s) {
  if (!halo_text_is_blank(*s->at) && *s->at != '/') return HALO_OK;
  const char *bad, *next = halo_text_skip_blank(s->p, s->at, &bad);
  if (!next) return halo_text_error(s->p, bad, "%s", s->p->lex_error);
  s->at = next;
  return HALO_OK;
}

static halo_status literal_expected(literal_scan *s, const char *what) {
  if (s->at == s->p->end) {
    return halo_text_error(s->p, s->at, "expected %s, found the end of the text", what);
  }
  return halo_text_error(s->p, s->at, "expected %s", what);
}

static bool literal_word(literal_scan *s, const char *word) {
  size_t length = strlen(word);
  if (strncmp(s->at, word, length) != 0 || halo_text_is_name_char(s->at[length])) return false;
  s->at += length;
  return true;
}

/* ---- Elements ---- */

static halo_status literal_integer(literal_scan *s, const char *start,
                                   const halo_text_number *number) {
  bool sign = halo_type_is_sint(s->type);
  int bits = halo_type_bits(s->type);
  if (number->kind != HALO_NUMBER_INT) {
    return halo_text_error(s->p, start, "expected an integer for element type %s",
                           halo_type_name(s->type));
  }
  uint64_t most = UINT64_MAX >> (64 - bits);
  if (sign) most = (most >> 1) + number->negative;
  /* XLA reads 64 bits with a sign or without: -1 is the greatest u64. */
  if (!sign && number->negative) most = bits == 64 ? (uint64_t)INT64_MAX + 1 : 0;
  if (number->too_big || number->magnitude > most) {
    return halo_text_error(s->p, start, "this number is out of range for element type %s",
                           halo_type_name(s->type));
  }
  uint64_t value = number->negative ? 0 - number->magnitude : number->magnitude;
  memcpy(s->next, &value, s->size); /* the storage of narrow types is sign-extended */
  return HALO_OK;
}

/* A real number of a float type into `size` bytes. */
static halo_status literal_float(literal_scan *s, halo_type type, char *to) {
  const char *start = s->at;
  halo_text_number number;
  const char *fault = halo_text_scan_number(&s->at, &number);
  if (fault)
    return halo_text_error(s->p, start, "%s for element type %s", fault, halo_type_name(s->type));
  uint64_t bits;
  fault = halo_text_encode_float(&number, type, &bits);
  if (fault) return halo_text_error(s->p, start, "%s (%s)", fault, halo_type_name(s->type));
  memcpy(to, &bits, halo_type_size(type));
  return HALO_OK;
}

static halo_status literal_complex(literal_scan *s) {
  halo_type part = halo_type_real_part(s->type);
  if (*s->at != '(') return literal_expected(s, "a complex number such as (1, -2)");
  s->at++;
  HALO_TRY(literal_blank(s));
  HALO_TRY(literal_float(s, part, s->next));
  HALO_TRY(literal_blank(s));
  if (*s->at != ',') return literal_expected(s, "',' between the parts of a complex number");
  s->at++;
  HALO_TRY(literal_blank(s));
  HALO_TRY(literal_float(s, part, s->next + halo_type_size(part)));
  HALO_TRY(literal_blank(s));
  if (*s->at != ')') return literal_expected(s, "')' after a complex number");
  s->at++;
  return HALO_OK;
}

static halo_status literal_element(literal_scan *s) {
  halo_type_class class_ = halo_type_class_of(s->type);
  switch (class_) {
    case HALO_CLASS_FLOAT: HALO_TRY(literal_float(s, s->type, s->next)); break;
    case HALO_CLASS_COMPLEX: HALO_TRY(literal_complex(s)); break;
    case HALO_CLASS_PRED:
    case HALO_CLASS_SINT:
    case HALO_CLASS_UINT:
    case HALO_CLASS_OTHER: {
      bool pred = class_ == HALO_CLASS_PRED;
      if (pred && literal_word(s, "true")) {
        *s->next = 1;
      } else if (!pred || !literal_word(s, "false")) {
        const char *start = s->at;
        halo_text_number number;
        if (halo_text_scan_number(&s->at, &number)) {
          s->at = start;
          return literal_expected(s, pred ? "true, false or an integer" : "an integer");
        }
        if (!pred) {
          HALO_TRY(literal_integer(s, start, &number));
        } else if (number.kind != HALO_NUMBER_INT) {
          return halo_text_error(s->p, start, "expected true, false or an integer");
        } else {
          *s->next = number.magnitude != 0 || number.too_big;
        }
      }
      break;
    }
  }
  s->next += s->size;
  return HALO_OK;
}

/* ---- Arrays ---- */

/* Takes dimension `d` and all inside it; the recursion is no deeper than a shape's rank. */
static halo_status literal_nested(literal_scan *s, int d) {
  const halo_shape *shape = s->literal->shape;
  if (d == shape->rank) return literal_element(s);
  if (*s->at != '{') {
    return halo_text_error(s->p, s->at, "expected '{' to open dimension %d of the value", d);
  }
  const char *open = s->at++;
  HALO_TRY(literal_blank(s));
  for (int64_t i = 0; i < shape->dims[d]; i++) {
    if (i && *s->at == ',') {
      s->at++;
      HALO_TRY(literal_blank(s));
    }
    if (*s->at == '}') {
      return halo_text_error(s->p, open, "expected %lld element%s in dimension %d, found %lld",
                             (long long)shape->dims[d], halo_plural(shape->dims[d]), d,
                             (long long)i);
    }
    HALO_TRY(literal_nested(s, d + 1));
    HALO_TRY(literal_blank(s));
  }
  if (*s->at != '}') {
    return halo_text_error(s->p, s->at, "expected '}' after the %lld element%s of dimension %d",
                           (long long)shape->dims[d], halo_plural(shape->dims[d]), d);
  }
  s->at++;
  return HALO_OK;
}

/* In programs XLA takes a lone number for an array: it is the first element, and the others are 0. */
static bool literal_is_first_element(const literal_scan *s, const halo_shape *shape) {
  return s->p->module && shape->rank > 0 && *s->at != '{' && !halo_type_is_complex(shape->type) &&
         halo_shape_element_count(shape) > 0;
}

/* The least number of bytes an array's text can have: a value that is far too short for its shape
 * must not make us ask for the shape's memory first. */
static bool literal_can_fit(const halo_shape *shape, int64_t bytes) {
  int64_t braces = 1;
  for (int i = 0; i < shape->rank; i++) {
    if (shape->dims[i] == HALO_UNBOUNDED) return true;
    if (__builtin_mul_overflow(braces, shape->dims[i], &braces) || braces > bytes) return false;
  }
  return true;
}

/* Takes "{...}" when it is there. */
static bool literal_elision(literal_scan *s) {
  if (*s->at != '{') return false;
  const char *at = s->at + 1;
  while (halo_text_is_blank(*at)) at++;
  if (strncmp(at, "...", 3) != 0) return false;
  at += 3;
  while (halo_text_is_blank(*at)) at++;
  if (*at != '}') return false;
  s->at = at + 1;
  return true;
}

static void literal_mark_elided(halo_literal *literal) {
  literal->elided = literal->elements || halo_shape_element_count(literal->shape) > 0;
  for (int i = 0; i < literal->shape->count; i++) literal_mark_elided(literal->elements[i]);
}

static halo_status literal_value(literal_scan *s, const halo_shape *shape, halo_literal **out);

static halo_status literal_tuple(literal_scan *s, const halo_shape *shape, halo_literal **out) {
  halo_literal **elements = halo_alloc(sizeof(halo_literal *) * (size_t)shape->count);
  halo_status status = HALO_OK;
  const char *open = s->at;
  int count = 0;
  if (*s->at == '(') {
    s->at++;
    status = literal_blank(s);
  } else {
    status = literal_expected(s, "'(' to open a tuple value");
  }
  while (status == HALO_OK && count < shape->count) {
    if (count) {
      if (*s->at == ')') {
        status = halo_text_error(s->p, open, "expected %d element%s in this tuple, found %d",
                                 shape->count, halo_plural(shape->count), count);
        break;
      }
      if (*s->at == ',') s->at++;
      status = literal_blank(s);
      if (status != HALO_OK) break;
    }
    status = literal_value(s, shape->elements[count], &elements[count]);
    if (status == HALO_OK) {
      count++;
      status = literal_blank(s);
    }
  }
  if (status == HALO_OK && *s->at != ')') status = literal_expected(s, "')' after the tuple value");
  if (status == HALO_OK) {
    s->at++;
    status = halo_literal_create_tuple(count, elements, out);
  }
  for (int i = 0; i < count; i++) halo_literal_release(elements[i]);
  halo_free(elements);
  return status;
}

static halo_status literal_create(literal_scan *s, const halo_shape *shape, halo_literal **out) {
  halo_status status = halo_literal_create(shape, out);
  if (status == HALO_OK) return status;
  return halo_text_error_as(s->p, status, s->at, "%s", halo_error_message());
}

/* Takes one value; the recursion is no deeper than the shape, which the parser has bounded. */
static halo_status literal_value(literal_scan *s, const halo_shape *shape, halo_literal **out) {
  *out = NULL;
  bool elided = shape->rank > 0 || shape->type == HALO_TUPLE ? literal_elision(s) : false;
  if (elided) {
    HALO_TRY(literal_create(s, shape, out));
    literal_mark_elided(*out);
    return HALO_OK;
  }
  if (shape->type == HALO_TUPLE) return literal_tuple(s, shape, out);
  bool first_only = halo_shape_is_array(shape) && literal_is_first_element(s, shape);
  if (halo_shape_is_array(shape) && !first_only && !literal_can_fit(shape, s->p->end - s->at)) {
    halo_arena scratch = {0};
    halo_status status = halo_text_error(s->p, s->at,
                                         "expected a value of shape %s, and the text "
                                         "ends before one could",
                                         halo_shape_text(&scratch, shape, false));
    halo_arena_deinit(&scratch);
    return status;
  }
  HALO_TRY(literal_create(s, shape, out));
  halo_status status;
  if (shape->type == HALO_TOKEN) {
    status = literal_word(s, "token") ? HALO_OK : literal_expected(s, "token");
  } else {
    s->literal = *out;
    s->type = shape->type;
    s->size = halo_type_size(shape->type);
    s->next = (*out)->data;
    status = first_only ? literal_element(s) : literal_nested(s, 0);
  }
  if (status != HALO_OK) {
    halo_literal_release(*out);
    *out = NULL;
  }
  return status;
}

halo_status halo_text_literal(halo_text_parser *p, const halo_shape *shape, halo_literal **out) {
  literal_scan s = {.p = p, .at = p->tok.start};
  if (p->tok.kind == TOK_END) return halo_text_expected(p, "a value");
  HALO_TRY(literal_value(&s, shape, out));
  halo_text_resume(p, s.at);
  return HALO_OK;
}

typedef struct literal_request {
  const char *text;
  const halo_shape *shape;
  halo_literal *out;
} literal_request;

static halo_status literal_run(void *user) {
  literal_request *request = user;
  halo_text_parser p = {0};
  HALO_TRY(halo_text_begin(&p, request->text, strlen(request->text), "literal"));
  halo_status status = halo_text_literal(&p, request->shape, &request->out);
  if (status == HALO_OK && p.tok.kind != TOK_END) {
    status = halo_text_expected(&p, "the end of the value");
    halo_literal_release(request->out);
  }
  halo_text_finish(&p);
  return status;
}

halo_status halo_text_parse_literal(const char *text, const halo_shape *shape, halo_literal **out) {
  literal_request request = {.text = text, .shape = shape};
  *out = NULL;
  HALO_TRY(halo_memory_guard(literal_run, &request));
  *out = request.out;
  return HALO_OK;
}
