/* SPDX-License-Identifier: Apache-2.0 */
/* text/parse_list.c: numbers, names out of a list, and lists of them, of which attributes are made. */
#include "text/parser.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

halo_status halo_text_double(halo_text_parser *p, double *out) {
  const char *at = p->tok.start;
  halo_text_number number;
  if (p->tok.kind != TOK_INT && p->tok.kind != TOK_DECIMAL && p->tok.kind != TOK_WORD) {
    return halo_text_expected(p, "a number");
  }
  const char *fault = halo_text_scan_number(&at, &number);
  uint64_t bits;
  if (!fault) fault = halo_text_encode_float(&number, HALO_F64, &bits);
  if (fault) return halo_text_error(p, p->tok.start, "%s", fault);
  memcpy(out, &bits, sizeof *out);
  halo_text_resume(p, at);
  return HALO_OK;
}

halo_status halo_text_enum(halo_text_parser *p, const char *const *names, bool loose,
                           int64_t *out) {
  size_t length = (size_t)(p->tok.end - p->tok.start);
  for (int i = 0; names[i] && p->tok.kind == TOK_WORD; i++) {
    if (strlen(names[i]) != length) continue;
    if (loose ? strncasecmp(names[i], p->tok.start, length) == 0
              : memcmp(names[i], p->tok.start, length) == 0) {
      *out = i;
      halo_text_advance(p);
      return HALO_OK;
    }
  }
  halo_strbuf list = {0};
  halo_strbuf_append(&list, names[1] ? "one of " : "");
  for (int i = 0; names[i]; i++) {
    halo_strbuf_printf(&list, "%s%s", i ? ", " : "", names[i]);
  }
  halo_status status = halo_text_expected(p, halo_strbuf_text(&list));
  halo_strbuf_deinit(&list);
  return status;
}

typedef HALO_VEC(int64_t) list_ints;

/* Moves a list into the arena and frees it. */
static void list_keep_ints(halo_text_parser *p, list_ints *from, halo_attr *attr) {
  attr->ints.count = from->count;
  attr->ints.data = halo_arena_copy(p->arena, from->data, sizeof(int64_t) * (size_t)from->count);
  halo_vec_deinit(from);
}

/* A list in braces: how its opening brace, an element, and what follows an element are called when they are missing. */
typedef struct list_form {
  const char *open, *element, *behind;
  halo_status (*take)(halo_text_parser *p, const char *element, list_ints *out);
} list_form;

static halo_status list_read(halo_text_parser *p, const list_form *form, list_ints *out) {
  HALO_TRY(halo_text_expect(p, '{', form->open));
  while (p->tok.kind != '}') {
    HALO_TRY(form->take(p, form->element, out));
    HALO_TRY(halo_text_separator(p, '}', form->behind));
  }
  halo_text_advance(p);
  return HALO_OK;
}

static halo_status list_take_int(halo_text_parser *p, const char *element, list_ints *out) {
  int64_t value;
  HALO_TRY(halo_text_int(p, element, &value));
  halo_vec_push(out, value);
  return HALO_OK;
}

halo_status halo_text_ints(halo_text_parser *p, const char *what, halo_attr *attr) {
  list_ints ints = {0};
  const list_form form = {"'{' to open a list of numbers", what, "',' or '}' after a number",
                          list_take_int};
  halo_status status = list_read(p, &form, &ints);
  list_keep_ints(p, &ints, attr);
  return status;
}

/* Takes "[0:4]" or "[1:9:2]" as a triple. */
static halo_status list_take_slice(halo_text_parser *p, const char *element, list_ints *out) {
  int64_t start, limit, stride = 1;
  HALO_TRY(halo_text_expect(p, '[', element));
  HALO_TRY(halo_text_int(p, "the slice's start", &start));
  HALO_TRY(halo_text_expect(p, ':', "':' after the slice's start"));
  HALO_TRY(halo_text_int(p, "the slice's limit", &limit));
  if (halo_text_accept(p, ':')) HALO_TRY(halo_text_int(p, "the slice's stride", &stride));
  HALO_TRY(halo_text_expect(p, ']', "']' after the slice"));
  halo_vec_push(out, start);
  halo_vec_push(out, limit);
  halo_vec_push(out, stride);
  return HALO_OK;
}

/* Takes "{0,1}". */
static halo_status list_take_pair(halo_text_parser *p, const char *element, list_ints *out) {
  int64_t first, second;
  HALO_TRY(halo_text_expect(p, '{', element));
  HALO_TRY(halo_text_int(p, "the pair's first number", &first));
  HALO_TRY(halo_text_expect(p, ',', "',' in the pair"));
  HALO_TRY(halo_text_int(p, "the pair's second number", &second));
  HALO_TRY(halo_text_expect(p, '}', "'}' after the pair"));
  halo_vec_push(out, first);
  halo_vec_push(out, second);
  return HALO_OK;
}

static halo_status list_take_bool(halo_text_parser *p, const char *element, list_ints *out) {
  bool value;
  HALO_TRY(halo_text_bool(p, element, &value));
  halo_vec_push(out, value);
  return HALO_OK;
}

static halo_status list_take_precision(halo_text_parser *p, const char *element, list_ints *out) {
  int64_t value;
  (void)element; /* the message lists the names */
  HALO_TRY(halo_text_enum(p, halo_precision_names, true, &value));
  halo_vec_push(out, value);
  return HALO_OK;
}

halo_status halo_text_list(halo_text_parser *p, halo_attr_kind kind, halo_attr *attr) {
  static const list_form slices = {"'{' to open the slices", "a slice such as [0:4] or [1:9:2]",
                                   "',' or '}' after a slice", list_take_slice};
  static const list_form pairs = {"'{' to open the pairs", "a pair such as {0,1}",
                                  "',' or '}' after a pair", list_take_pair};
  static const list_form bools = {"'{' to open a list of true and false", "true or false",
                                  "',' or '}' after true or false", list_take_bool};
  static const list_form precisions = {"'{' to open the precisions", NULL,
                                       "',' or '}' after a precision", list_take_precision};
  list_ints ints = {0};
  halo_status status = list_read(p,
                                 kind == HALO_KIND_SLICES  ? &slices
                                 : kind == HALO_KIND_PAIRS ? &pairs
                                 : kind == HALO_KIND_BOOLS ? &bools
                                                           : &precisions,
                                 &ints);
  list_keep_ints(p, &ints, attr);
  return status;
}

typedef HALO_VEC(const char *) list_strings;

/* Takes "{name="value", name={json}}"; JSON is kept as it is written. */
static halo_status list_strings_list(halo_text_parser *p, list_strings *out) {
  HALO_TRY(halo_text_expect(p, '{', "'{' to open the list of names and values"));
  while (p->tok.kind != '}') {
    const char *name, *value;
    HALO_TRY(halo_text_name(p, "a name, or '}'", &name));
    HALO_TRY(halo_text_expect(p, '=', "'=' after the name"));
    if (p->tok.kind == TOK_STRING) {
      HALO_TRY(halo_text_string(p, "a string in quotes", &value));
    } else {
      HALO_TRY(halo_text_raw(p, 1, &value));
    }
    halo_vec_push(out, name);
    halo_vec_push(out, value);
    HALO_TRY(halo_text_separator(p, '}', "',' or '}' after a value"));
  }
  halo_text_advance(p);
  return HALO_OK;
}

typedef struct list_pair {
  const char *name, *value;
  int32_t at; /* in the text */
} list_pair;

static int list_compare_pairs(const void *a, const void *b) {
  const list_pair *x = a, *y = b;
  int order = strcmp(x->name, y->name);
  return order ? order : (x->at > y->at) - (x->at < y->at);
}

/* Sorts the pairs by name, as XLA has them; of those of one name the last stays. */
static void list_sort_strings(list_strings *strings) {
  int32_t count = strings->count / 2;
  if (count < 2) return;
  list_pair *pairs = halo_alloc(sizeof *pairs * (size_t)count);
  for (int32_t i = 0; i < count; i++) {
    pairs[i] = (list_pair){strings->data[2 * i], strings->data[2 * i + 1], i};
  }
  qsort(pairs, (size_t)count, sizeof *pairs, list_compare_pairs);
  strings->count = 0;
  for (int32_t i = 0; i < count; i++) {
    if (i + 1 < count && strcmp(pairs[i].name, pairs[i + 1].name) == 0) continue;
    strings->data[strings->count++] = pairs[i].name;
    strings->data[strings->count++] = pairs[i].value;
  }
  halo_free(pairs);
}

halo_status halo_text_strings_value(halo_text_parser *p, halo_attr *attr) {
  list_strings strings = {0};
  halo_status status = list_strings_list(p, &strings);
  list_sort_strings(&strings);
  attr->strings.data =
      halo_arena_copy(p->arena, strings.data, sizeof *strings.data * (size_t)strings.count);
  attr->strings.count = strings.count;
  halo_vec_deinit(&strings);
  return status;
}
