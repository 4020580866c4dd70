/* SPDX-License-Identifier: Apache-2.0 */
/* text/parse_window.c: windows, paddings and convolution dimension labels. */
#include "text/parser.h"

#include <string.h>

/* The words of these values ("3x3", "0_1x2_-1", "b01f_01io->b01f") are no tokens elsewhere: they are
 * scanned from the current token on. */

static bool window_scan_int(const char **at, int64_t *out) {
  bool negative = **at == '-';
  const char *c = *at + negative;
  if (!halo_text_is_digit(*c)) return false;
  int64_t value = 0;
  for (; halo_text_is_digit(*c); c++) {
    if (__builtin_mul_overflow(value, (int64_t)10, &value) ||
        __builtin_add_overflow(value, (int64_t)(*c - '0'), &value)) {
      return false;
    }
  }
  *out = negative ? -value : value;
  *at = c;
  return true;
}

/* Takes "3x3": *count numbers joined by x. */
static halo_status window_sizes(halo_text_parser *p, int64_t *values, int *count) {
  const char *at = p->tok.start;
  *count = 0;
  for (;;) {
    if (*count == HALO_MAX_RANK) {
      return halo_text_error(p, at, "at most %d numbers can stand here, one for each dimension",
                             HALO_MAX_RANK);
    }
    if (!window_scan_int(&at, &values[*count])) {
      return halo_text_error(p, at, "expected numbers joined by 'x', such as 3x3");
    }
    ++*count;
    if (*at != 'x') break;
    at++;
  }
  if (halo_text_is_name_char(*at)) {
    return halo_text_error(p, at, "expected numbers joined by 'x', such as 3x3");
  }
  halo_text_resume(p, at);
  return HALO_OK;
}

halo_status halo_text_sizes(halo_text_parser *p, halo_attr *attr) {
  int64_t sizes[HALO_MAX_RANK];
  int count;
  HALO_TRY(window_sizes(p, sizes, &count));
  attr->ints.data = halo_arena_copy(p->arena, sizes, sizeof *sizes * (size_t)count);
  attr->ints.count = count;
  return HALO_OK;
}

/* Takes "0_1x2_-1_3": triples of low, high and interior. */
static halo_status window_pads(halo_text_parser *p, int64_t (*pads)[3], int *count, bool interior) {
  const char *at = p->tok.start;
  *count = 0;
  for (;;) {
    if (*count == HALO_MAX_RANK) {
      return halo_text_error(p, at, "a padding has at most %d dimensions", HALO_MAX_RANK);
    }
    int64_t *pad = pads[*count];
    pad[2] = 0;
    bool good =
        window_scan_int(&at, &pad[0]) && *at == '_' && (at++, window_scan_int(&at, &pad[1]));
    if (good && interior && *at == '_') good = (at++, window_scan_int(&at, &pad[2]));
    if (!good) {
      return halo_text_error(p, at,
                             "expected a padding low_high%s for each dimension, joined by "
                             "'x', such as 0_1x2_-1",
                             interior ? " or low_high_interior" : "");
    }
    ++*count;
    if (*at != 'x') break;
    at++;
  }
  if (halo_text_is_name_char(*at)) {
    return halo_text_error(p, at, "expected 'x' and the next dimension, or the end of the padding");
  }
  halo_text_resume(p, at);
  return HALO_OK;
}

halo_status halo_text_padding(halo_text_parser *p, halo_attr *attr) {
  int64_t pads[HALO_MAX_RANK][3];
  int count = 0;
  /* A scalar is padded by nothing at all: the value may be missing. */
  if (halo_text_is_digit(*p->tok.start) || *p->tok.start == '-') {
    HALO_TRY(window_pads(p, pads, &count, true));
  } else if (p->tok.kind != ',' && p->tok.kind != '}' && p->tok.kind != TOK_NAME &&
             p->tok.kind != TOK_WORD && p->tok.kind != TOK_END) {
    return halo_text_expected(p, "a padding such as 0_1x2_-1");
  }
  attr->ints.count = 3 * count;
  attr->ints.data = halo_arena_copy(p->arena, pads, sizeof pads[0] * (size_t)count);
  return HALO_OK;
}

typedef enum window_field {
  WINDOW_SIZE,
  WINDOW_STRIDE,
  WINDOW_PAD,
  WINDOW_LHS_DILATE,
  WINDOW_RHS_DILATE,
  WINDOW_REVERSAL,
  WINDOW_FIELDS
} window_field;

static const char *const window_names[WINDOW_FIELDS] = {"size",       "stride",     "pad",
                                                        "lhs_dilate", "rhs_dilate", "rhs_reversal"};

/* Takes "name=value" into the dimensions; returns which it was and how many dimensions it had. */
static halo_status window_take_field(halo_text_parser *p, halo_window_dim *dims, int *which,
                                     int *count) {
  int field = 0;
  while (field < WINDOW_FIELDS && !halo_text_is_word(p, window_names[field])) field++;
  if (field == WINDOW_FIELDS) {
    return halo_text_expected(p, "size, stride, pad, lhs_dilate, rhs_dilate, rhs_reversal or '}'");
  }
  halo_text_advance(p);
  if (p->tok.kind != '=') return halo_text_expected(p, "'=' in the window");
  halo_text_advance(p);
  int64_t values[HALO_MAX_RANK], pads[HALO_MAX_RANK][3];
  *which = field;
  if (field == WINDOW_PAD) {
    HALO_TRY(window_pads(p, pads, count, false));
  } else {
    HALO_TRY(window_sizes(p, values, count));
  }
  for (int i = 0; i < *count; i++) {
    switch ((window_field)field) {
      case WINDOW_SIZE: dims[i].size = values[i]; break;
      case WINDOW_STRIDE: dims[i].stride = values[i]; break;
      case WINDOW_PAD:
        dims[i].pad_low = pads[i][0];
        dims[i].pad_high = pads[i][1];
        break;
      case WINDOW_LHS_DILATE: dims[i].base_dilation = values[i]; break;
      case WINDOW_RHS_DILATE: dims[i].window_dilation = values[i]; break;
      case WINDOW_REVERSAL: dims[i].reversal = values[i] != 0; break;
      case WINDOW_FIELDS: break;
    }
  }
  return HALO_OK;
}

halo_status halo_text_window(halo_text_parser *p, halo_attr *attr) {
  halo_window_dim dims[HALO_MAX_RANK];
  for (int i = 0; i < HALO_MAX_RANK; i++) {
    dims[i] = (halo_window_dim){.size = 1, .stride = 1, .base_dilation = 1, .window_dilation = 1};
  }
  const char *start = p->tok.start, *places[WINDOW_FIELDS] = {0};
  int counts[WINDOW_FIELDS] = {0};
  HALO_TRY(halo_text_expect(p, '{', "'{' to open the window"));
  while (p->tok.kind != '}') {
    const char *at = p->tok.start;
    int which = 0, count = 0;
    HALO_TRY(window_take_field(p, dims, &which, &count));
    if (places[which]) {
      return halo_text_error(p, at, "%s stands twice in this window", window_names[which]);
    }
    places[which] = at;
    counts[which] = count;
    halo_text_accept(p, ',');
  }
  halo_text_advance(p);
  int rank = counts[WINDOW_SIZE];
  for (int i = 0; i < WINDOW_FIELDS; i++) {
    /* XLA takes any number of reversals: what is missing is none, and what is too much counts for nothing. */
    bool loose = i == WINDOW_REVERSAL && places[WINDOW_SIZE];
    if (!places[i] || counts[i] == rank || loose) continue;
    if (!places[WINDOW_SIZE]) return halo_text_error(p, start, "expected size= in the window");
    return halo_text_error(p, places[i], "%s has %d dimension%s, but size has %d", window_names[i],
                           counts[i], halo_plural(counts[i]), rank);
  }
  attr->window.count = rank;
  attr->window.data = halo_arena_copy(p->arena, dims, sizeof dims[0] * (size_t)rank);
  return HALO_OK;
}

/* ---- Dimension labels ---- */

/* Reads one of the three sides: two letters and the spatial digits, each once. */
static halo_status labels_side(halo_text_parser *p, const char **at, const char letters[2],
                               int *first, int *second, int *spatial, int *count) {
  const char *start = *at;
  *first = *second = -1;
  for (int i = 0; i < HALO_MAX_RANK; i++) spatial[i] = -1;
  int position = 0, digits = 0;
  for (;; ++*at, position++) {
    char c = **at;
    int *slot = NULL;
    if (c == letters[0]) slot = first;
    if (c == letters[1]) slot = second;
    if (halo_text_is_digit(c)) {
      slot = &spatial[c - '0'];
      digits++;
    }
    if (c == '?' && position < HALO_MAX_RANK) continue;
    if (!slot) break;
    if (*slot >= 0) return halo_text_error(p, *at, "'%c' stands twice in these dim_labels", c);
    *slot = position;
  }
  if (position == 0) {
    return halo_text_error(p, start, "expected dim_labels such as b01f_01io->b01f");
  }
  if (*first < 0 || *second < 0) {
    return halo_text_error(p, start, "expected '%c' and '%c' in this part of dim_labels",
                           letters[0], letters[1]);
  }
  for (int i = 0; i < digits; i++) {
    if (spatial[i] < 0) {
      return halo_text_error(p, start,
                             "expected the spatial dimensions 0 to %d in this part of "
                             "dim_labels",
                             digits - 1);
    }
  }
  *count = digits;
  return HALO_OK;
}

halo_status halo_text_dim_labels(halo_text_parser *p, halo_attr *attr) {
  const char *start = p->tok.start, *at = start;
  halo_conv_dims *conv = halo_arena_new(p->arena, halo_conv_dims);
  int lhs, rhs, result;
  HALO_TRY(
      labels_side(p, &at, "bf", &conv->lhs_batch, &conv->lhs_feature, conv->lhs_spatial, &lhs));
  if (*at != '_') return halo_text_error(p, at, "expected '_' and the right side's dim_labels");
  at++;
  HALO_TRY(labels_side(p, &at, "io", &conv->rhs_input, &conv->rhs_output, conv->rhs_spatial, &rhs));
  if (at[0] != '-' || at[1] != '>') {
    return halo_text_error(p, at, "expected '->' and the result's dim_labels");
  }
  at += 2;
  HALO_TRY(
      labels_side(p, &at, "bf", &conv->out_batch, &conv->out_feature, conv->out_spatial, &result));
  if (halo_text_is_name_char(*at)) {
    return halo_text_error(p, at, "expected b, f, '?' or a spatial dimension");
  }
  if (lhs != rhs || lhs != result) {
    return halo_text_error(p, start,
                           "the three parts of dim_labels have %d, %d and %d spatial "
                           "dimensions: expected the same number",
                           lhs, rhs, result);
  }
  conv->spatial = lhs;
  conv->text = halo_arena_strndup(p->arena, start, (size_t)(at - start));
  attr->conv = conv;
  halo_text_resume(p, at);
  return HALO_OK;
}
