/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/text_spec.c: reads what a row of text_forms.def describes. */
#include "stablehlo/text_reader.h"

#include <stdio.h>
#include <string.h>

/* ---- Parts with a grammar of their own ---- */

/* e5m10 */
static halo_status spec_precision_format(halo_mlir_reader *r, halo_mlir_draft *draft) {
  const char *c = r->tok.start;
  int bits[2] = {0, 0};
  bool good = r->tok.kind == TOK_WORD;
  for (int i = 0; i < 2 && good; i++) {
    good = *c++ == "em"[i] && halo_mlir_is_digit(*c);
    for (; halo_mlir_is_digit(*c) && bits[i] < 1000; c++) bits[i] = bits[i] * 10 + (*c - '0');
  }
  if (!good || c != r->tok.end) return halo_mlir_text_expected(r, "a format such as e5m10");
  halo_mlir_text_add(draft, "exponent_bits", halo_mlir_text_new_int(r, bits[0], HALO_S32));
  halo_mlir_text_add(draft, "mantissa_bits", halo_mlir_text_new_int(r, bits[1], HALO_S32));
  halo_mlir_text_advance(r);
  return HALO_OK;
}

/* [1:7, 0:9:3] */
static halo_status spec_slice(halo_mlir_reader *r, halo_mlir_draft *draft) {
  int64_t lists[3][HALO_MAX_RANK];
  int32_t rank = 0;
  const char *at = r->tok.start;
  HALO_TRY(halo_mlir_text_expect(r, '[', "'[' and ranges"));
  for (; r->tok.kind != ']'; rank++) {
    if (rank == HALO_MAX_RANK)
      return halo_mlir_text_error(r, r->tok.start, "expected at most %d ranges", HALO_MAX_RANK);
    HALO_TRY(halo_mlir_text_int(r, "the start of a range", &lists[0][rank]));
    HALO_TRY(halo_mlir_text_expect(r, ':', "':' and the end of a range"));
    HALO_TRY(halo_mlir_text_int(r, "the end of a range", &lists[1][rank]));
    lists[2][rank] = 1;
    if (halo_mlir_text_accept(r, ':'))
      HALO_TRY(halo_mlir_text_int(r, "the step of a range", &lists[2][rank]));
    HALO_TRY(halo_mlir_text_separator(r, ']', "',' or ']' after a range"));
  }
  halo_mlir_text_advance(r);
  static const char *const names[] = {"start_indices", "limit_indices", "strides"};
  for (int i = 0; i < 3; i++) {
    const halo_mlir_attr *value;
    HALO_TRY(halo_mlir_text_new_list(r, at, lists[i], rank, &value));
    halo_mlir_text_add(draft, names[i], value);
  }
  return HALO_OK;
}

static halo_status spec_conv(halo_mlir_reader *r, halo_mlir_draft *draft) {
  return halo_mlir_text_conv(r, &draft->attrs);
}

/* [[1, 1], [0, 2]] as one tensor of two columns. */
static halo_status spec_pairs(halo_mlir_reader *r, const halo_mlir_attr **out) {
  int64_t pairs[HALO_MAX_RANK][2];
  int32_t rank = 0;
  const char *at = r->tok.start;
  HALO_TRY(halo_mlir_text_expect(r, '[', "'[' and pairs"));
  for (; r->tok.kind != ']'; rank++) {
    if (rank == HALO_MAX_RANK)
      return halo_mlir_text_error(r, r->tok.start, "expected at most %d pairs", HALO_MAX_RANK);
    HALO_TRY(halo_mlir_text_expect(r, '[', "'[' and a pair"));
    HALO_TRY(halo_mlir_text_int(r, "an integer", &pairs[rank][0]));
    HALO_TRY(halo_mlir_text_expect(r, ',', "',' and the second integer of a pair"));
    HALO_TRY(halo_mlir_text_int(r, "an integer", &pairs[rank][1]));
    HALO_TRY(halo_mlir_text_expect(r, ']', "']' after a pair"));
    HALO_TRY(halo_mlir_text_separator(r, ']', "',' or ']' after a pair"));
  }
  halo_mlir_text_advance(r);
  return halo_mlir_text_new_pairs(r, at, &pairs[0][0], rank, out);
}

/* [true, false] or [1, 0] */
static halo_status spec_flags(halo_mlir_reader *r, const halo_mlir_attr **out) {
  uint8_t flags[HALO_MAX_RANK];
  int32_t rank = 0;
  const char *at = r->tok.start;
  HALO_TRY(halo_mlir_text_expect(r, '[', "'[' and flags"));
  for (; r->tok.kind != ']'; rank++) {
    int64_t value = halo_mlir_text_is(r, "true");
    if (rank == HALO_MAX_RANK)
      return halo_mlir_text_error(r, r->tok.start, "expected at most %d flags", HALO_MAX_RANK);
    if (value || halo_mlir_text_is(r, "false")) {
      halo_mlir_text_advance(r);
    } else {
      HALO_TRY(halo_mlir_text_int(r, "true, false or an integer", &value));
    }
    flags[rank] = value != 0;
    HALO_TRY(halo_mlir_text_separator(r, ']', "',' or ']' after a flag"));
  }
  halo_mlir_text_advance(r);
  return halo_mlir_text_new_flags(r, at, flags, rank, out);
}

/* {stride = [2, 1], pad = [[1, 1], [0, 2]], lhs_dilate = [1, 2], rhs_dilate = [1, 1], reverse = [true, false]} */
static halo_status spec_window(halo_mlir_reader *r, halo_mlir_draft *draft) {
  static const struct {
    const char *word, *name;
    halo_status (*read)(halo_mlir_reader *r, const halo_mlir_attr **out);
  } rows[] = {{"stride", "window_strides", halo_mlir_text_ints},
              {"pad", "padding", spec_pairs},
              {"lhs_dilate", "lhs_dilation", halo_mlir_text_ints},
              {"rhs_dilate", "rhs_dilation", halo_mlir_text_ints},
              {"reverse", "window_reversal", spec_flags}};
  enum { ROWS = sizeof rows / sizeof *rows };
  bool seen[ROWS] = {false};
  HALO_TRY(halo_mlir_text_expect(r, '{', "'{' and a window"));
  while (r->tok.kind != '}') {
    int i = 0;
    while (i < ROWS && !halo_mlir_text_is(r, rows[i].word)) i++;
    if (i == ROWS)
      return halo_mlir_text_expected(r, "stride, pad, lhs_dilate, rhs_dilate, reverse or '}'");
    if (seen[i]) return halo_mlir_text_error(r, r->tok.start, "%s stands here twice", rows[i].word);
    seen[i] = true;
    halo_mlir_text_advance(r);
    HALO_TRY(halo_mlir_text_expect(r, '=', "'=' and a list"));
    const halo_mlir_attr *value;
    HALO_TRY(rows[i].read(r, &value));
    halo_mlir_text_add(draft, rows[i].name, value);
    HALO_TRY(halo_mlir_text_separator(r, '}', "',' or '}' after a part of the window"));
  }
  halo_mlir_text_advance(r);
  return HALO_OK;
}

static halo_status spec_regions(halo_mlir_reader *r, halo_mlir_draft *draft) {
  return r->tok.kind == '(' ? halo_mlir_text_regions(r, draft) : HALO_OK;
}

/* ": T to U" of a cast; the result's type is left for the colon's turn. */
static halo_status spec_cast(halo_mlir_reader *r, halo_mlir_draft *draft) {
  HALO_TRY(halo_mlir_text_expect(r, ':', "':' and types"));
  for (int32_t i = 0; i < draft->operands.count; i++) {
    const halo_mlir_type *type;
    if (i) HALO_TRY(halo_mlir_text_expect(r, ',', "',' and a type"));
    HALO_TRY(halo_mlir_text_type(r, &type));
    HALO_TRY(halo_mlir_text_check_operand(r, &draft->operands.data[i], type));
  }
  if (!halo_mlir_text_is(r, "to"))
    return halo_mlir_text_expected(r, "'to' and the types of results");
  r->tok.kind = ':'; /* the results' types follow the word as they would follow a colon */
  return HALO_OK;
}

static halo_status spec_attrs(halo_mlir_reader *r, halo_mlir_draft *draft) {
  return halo_mlir_text_attrs(r, draft);
}

static halo_status spec_mesh(halo_mlir_reader *r, halo_mlir_draft *draft) {
  const halo_mlir_attr *value;
  HALO_TRY(halo_mlir_text_mesh(r, &value));
  halo_mlir_text_add(draft, "mesh", value);
  return HALO_OK;
}

static halo_status spec_sharding_as(halo_mlir_reader *r, halo_mlir_draft *draft, const char *name) {
  const halo_mlir_attr *value;
  HALO_TRY(halo_mlir_text_sharding(r, &value));
  halo_mlir_text_add(draft, name, value);
  return HALO_OK;
}

static halo_status spec_sharding(halo_mlir_reader *r, halo_mlir_draft *draft) {
  return spec_sharding_as(r, draft, "sharding");
}

static halo_status spec_out_sharding(halo_mlir_reader *r, halo_mlir_draft *draft) {
  return spec_sharding_as(r, draft, "out_sharding");
}

/* [{"x"}, {}]: axes for each dimension. */
static halo_status spec_axis_lists(halo_mlir_reader *r, halo_mlir_draft *draft, const char *name) {
  HALO_VEC(const halo_mlir_attr *) lists = {0};
  halo_status status = halo_mlir_text_expect(r, '[', "'[' and lists of axes");
  while (status == HALO_OK && r->tok.kind != ']') {
    const halo_mlir_attr *list = NULL;
    status = halo_mlir_text_axes(r, '}', &list);
    halo_vec_push(&lists, list);
    if (status == HALO_OK) status = halo_mlir_text_separator(r, ']', "',' or ']' after axes");
  }
  if (status == HALO_OK) {
    halo_mlir_text_add(draft, name, halo_mlir_text_new_array(r, lists.data, lists.count));
    halo_mlir_text_advance(r);
  }
  halo_vec_deinit(&lists);
  return status;
}

static halo_status spec_gathering_axes(halo_mlir_reader *r, halo_mlir_draft *draft) {
  return spec_axis_lists(r, draft, "gathering_axes");
}

static halo_status spec_slicing_axes(halo_mlir_reader *r, halo_mlir_draft *draft) {
  return spec_axis_lists(r, draft, "slicing_axes");
}

static halo_status spec_reduce_scatter_axes(halo_mlir_reader *r, halo_mlir_draft *draft) {
  return spec_axis_lists(r, draft, "reduce_scatter_axes");
}

static halo_status spec_reduction_axes(halo_mlir_reader *r, halo_mlir_draft *draft) {
  const halo_mlir_attr *value;
  HALO_TRY(halo_mlir_text_axes(r, '}', &value));
  halo_mlir_text_add(draft, "reduction_axes", value);
  return HALO_OK;
}

/* [{"x"}: 0->1] */
static halo_status spec_params(halo_mlir_reader *r, halo_mlir_draft *draft) {
  const char *start = r->tok.start;
  if (r->tok.kind != '[') return halo_mlir_text_expected(r, "'[' and parameters");
  HALO_TRY(halo_mlir_text_skip_brackets(r));
  halo_mlir_text_add(draft, "params", halo_mlir_text_opaque(r, start, halo_mlir_text_here(r)));
  return HALO_OK;
}

static const struct {
  const char *word;
  halo_status (*read)(halo_mlir_reader *r, halo_mlir_draft *draft);
} spec_words[] = {
    {"precision_format", spec_precision_format},
    {"slice", spec_slice},
    {"conv", spec_conv},
    {"window", spec_window},
    {"regions", spec_regions},
    {"attrs", spec_attrs},
    {"cast", spec_cast},
    {"mesh", spec_mesh},
    {"sharding", spec_sharding},
    {"out_sharding", spec_out_sharding},
    {"gathering_axes", spec_gathering_axes},
    {"slicing_axes", spec_slicing_axes},
    {"reduction_axes", spec_reduction_axes},
    {"reduce_scatter_axes", spec_reduce_scatter_axes},
    {"params", spec_params},
};

/* ---- Attributes by kind ---- */

static halo_status spec_enum(halo_mlir_reader *r, const halo_mlir_attr **out) {
  if (r->tok.kind == TOK_HASH) return halo_mlir_text_attr(r, out);
  if (r->tok.kind != TOK_WORD) return halo_mlir_text_expected(r, "a keyword");
  size_t length = (size_t)(r->tok.end - r->tok.start);
  const char *text = halo_mlir_text_intern(r, r->tok.start, length);
  *out = halo_mlir_text_new_string(r, HALO_MLIR_ENUM, text, length);
  halo_mlir_text_advance(r);
  return HALO_OK;
}

static halo_status spec_enums(halo_mlir_reader *r, const halo_mlir_attr **out) {
  enum { MOST = 16 };
  const halo_mlir_attr *list[MOST];
  int32_t count = 0;
  HALO_TRY(halo_mlir_text_expect(r, '[', "'[' and keywords"));
  for (; r->tok.kind != ']'; count++) {
    if (count == MOST) return halo_mlir_text_expected(r, "']'");
    HALO_TRY(spec_enum(r, &list[count]));
    HALO_TRY(halo_mlir_text_separator(r, ']', "',' or ']' after a keyword"));
  }
  halo_mlir_text_advance(r);
  *out = halo_mlir_text_new_array(r, list, count);
  return HALO_OK;
}

static halo_status spec_text(halo_mlir_reader *r, halo_mlir_attr_kind kind, bool symbol,
                             const halo_mlir_attr **out) {
  const char *text;
  size_t length;
  if (symbol) {
    HALO_TRY(halo_mlir_text_symbol(r, "a name such as @main", &text, &length));
  } else {
    HALO_TRY(halo_mlir_text_string(r, "a string", &text, &length));
  }
  *out = halo_mlir_text_new_string(r, kind, text, length);
  return HALO_OK;
}

static halo_status spec_int(halo_mlir_reader *r, halo_type type, const halo_mlir_attr **out) {
  int64_t value;
  HALO_TRY(halo_mlir_text_int(r, "an integer", &value));
  *out = halo_mlir_text_new_int(r, value, type);
  return HALO_OK;
}

static bool spec_kind_is(const char *word, size_t length, const char *kind) {
  return strlen(kind) == length && memcmp(word, kind, length) == 0;
}

/* "kind:name" of `length` bytes, of which `kind` come before the colon. */
static halo_status spec_attr(halo_mlir_reader *r, halo_mlir_draft *draft, const char *word,
                             size_t kind, size_t length) {
  const halo_mlir_attr *value = NULL;
  const char *name = word + kind + 1;
  size_t name_length = length - kind - 1;
  if (spec_kind_is(word, kind, "word")) {
    for (size_t i = 0; i < sizeof spec_words / sizeof *spec_words; i++)
      if (spec_kind_is(name, name_length, spec_words[i].word)) return spec_words[i].read(r, draft);
  } else if (spec_kind_is(word, kind, "ints")) {
    HALO_TRY(halo_mlir_text_ints(r, &value));
  } else if (spec_kind_is(word, kind, "int")) {
    HALO_TRY(spec_int(r, HALO_S64, &value));
  } else if (spec_kind_is(word, kind, "int32")) {
    HALO_TRY(spec_int(r, HALO_S32, &value));
  } else if (spec_kind_is(word, kind, "enum")) {
    HALO_TRY(spec_enum(r, &value));
  } else if (spec_kind_is(word, kind, "enums")) {
    HALO_TRY(spec_enums(r, &value));
  } else if (spec_kind_is(word, kind, "string")) {
    HALO_TRY(spec_text(r, HALO_MLIR_STRING, false, &value));
  } else if (spec_kind_is(word, kind, "symbol")) {
    HALO_TRY(spec_text(r, HALO_MLIR_SYMBOL, true, &value));
  } else if (spec_kind_is(word, kind, "name")) {
    HALO_TRY(spec_text(r, HALO_MLIR_STRING, true, &value));
  } else {
    HALO_TRY(halo_mlir_text_attr(r, &value));
  }
  halo_mlir_text_add(draft, halo_mlir_text_intern(r, name, name_length), value);
  return HALO_OK;
}

/* ---- The words of a row ---- */

static size_t spec_length(const char *word) { return strcspn(word, " "); }

static const char *spec_next(const char *word) {
  word += spec_length(word);
  return *word ? word + 1 : word;
}

static bool spec_matches(const halo_mlir_token *tok, const char *word) {
  size_t length = spec_length(word);
  if (tok->kind == TOK_WORD)
    return (size_t)(tok->end - tok->start) == length && memcmp(tok->start, word, length) == 0;
  return length == 1 && tok->kind == *word;
}

/* Whether the optional part that begins here is in the text. */
static bool spec_has(const halo_mlir_reader *r, const char *word) {
  if (!spec_matches(&r->tok, word)) return false;
  const char *second = spec_next(word);
  halo_mlir_token next = halo_mlir_text_peek(r);
  if (*word != ',') return true;
  if (strncmp(second, "enum:", 5) == 0) return next.kind == TOK_WORD;
  return spec_matches(&next, second);
}

static halo_status spec_literal(halo_mlir_reader *r, const char *word) {
  if (spec_matches(&r->tok, word)) {
    halo_mlir_text_advance(r);
    return HALO_OK;
  }
  char what[64];
  snprintf(what, sizeof what, "'%.*s'", (int)spec_length(word), word);
  return halo_mlir_text_expected(r, what);
}

/* Operands with a comma behind each. One that stands alone, of dynamic_slice without indices, may have two. */
static halo_status spec_listed_operands(halo_mlir_reader *r, halo_mlir_draft *draft) {
  while (r->tok.kind == TOK_VALUE) {
    HALO_TRY(halo_mlir_text_operand(r, draft));
    HALO_TRY(halo_mlir_text_expect(r, ',', "',' after a value"));
  }
  halo_mlir_text_accept(r, ',');
  return HALO_OK;
}

halo_status halo_mlir_text_spec(halo_mlir_reader *r, halo_mlir_draft *draft, const char *spec) {
  for (const char *word = spec; *word; word = spec_next(word)) {
    size_t length = spec_length(word);
    const char *colon = memchr(word, ':', length);
    if (spec_kind_is(word, length, "$")) {
      HALO_TRY(halo_mlir_text_operand(r, draft));
    } else if (spec_kind_is(word, length, "$*")) {
      HALO_TRY(halo_mlir_text_operands(r, draft));
    } else if (spec_kind_is(word, length, "$*,")) {
      HALO_TRY(spec_listed_operands(r, draft));
    } else if (spec_kind_is(word, length, "{")) {
      if (!spec_has(r, spec_next(word)))
        while (*word != '}' && *word != '|') word = spec_next(word);
    } else if (spec_kind_is(word, length, "|")) {
      while (*word != '}') word = spec_next(word);
    } else if (spec_kind_is(word, length, "}")) {
      continue;
    } else if (colon) {
      HALO_TRY(spec_attr(r, draft, word, (size_t)(colon - word), length));
    } else {
      HALO_TRY(spec_literal(r, word));
    }
  }
  return HALO_OK;
}
