/* SPDX-License-Identifier: Apache-2.0 */
/* text/parse_raw.c: values that are kept as they were written. */
#include "text/parser.h"

#include <string.h>

typedef struct raw_scan {
  const char *at;
  HALO_VEC(char) closers; /* of the brackets that are open */
  HALO_VEC(const char *) openers;
  int json_depth;
} raw_scan;

/* Moves over one string; false when it does not end. */
static bool raw_skip_string(const char **at) {
  char quote = *(*at)++;
  for (; **at; ++*at) {
    if (**at == quote) {
      ++*at;
      return true;
    }
    if (**at == '\\' && !*++*at) return false;
  }
  return false;
}

/* Moves over one bracketed group, whatever is in it. */
static halo_status raw_skip_group(halo_text_parser *p, raw_scan *scan) {
  do {
    char c = *scan->at;
    bool json = scan->closers.count >= scan->json_depth;
    /* In JSON mode only braces count. */
    if (c == '{' || (!json && (c == '[' || c == '('))) {
      halo_vec_push(&scan->openers, scan->at);
      halo_vec_push(&scan->closers, c == '{' ? '}' : c == '[' ? ']' : ')');
      scan->at++;
    } else if (c == '}' || (!json && (c == ']' || c == ')'))) {
      char want = scan->closers.data[scan->closers.count - 1];
      if (c != want) {
        return halo_text_error(p, scan->at, "expected '%c' before this '%c'", want, c);
      }
      scan->closers.count--;
      scan->openers.count--;
      scan->at++;
    } else if (c == '"' || (c == '\'' && !json)) {
      const char *start = scan->at;
      if (!raw_skip_string(&scan->at)) {
        return halo_text_error(p, start, "this string does not end: expected a closing quote");
      }
    } else if (c == '/' && !json) {
      const char *bad = scan->at;
      const char *next = halo_text_skip_blank(p, scan->at, &bad);
      if (!next) return halo_text_error(p, bad, "%s", p->lex_error);
      scan->at = next > scan->at ? next : scan->at + 1;
    } else if (c == '\0') {
      if (scan->at != p->end) {
        return halo_text_error(p, scan->at, "a NUL byte cannot stand in HLO text");
      }
      int32_t last = scan->openers.count - 1;
      return halo_text_error(p, scan->openers.data[last],
                             "this '%c' is never closed: expected '%c'", *scan->openers.data[last],
                             scan->closers.data[last]);
    } else {
      scan->at++;
    }
  } while (scan->closers.count);
  return HALO_OK;
}

static bool raw_is_plain(char c) { return c && !halo_text_is_blank(c) && !strchr(",{}[]()\"'", c); }

/* Moves over one item: a group, a string or a run of plain bytes. */
static halo_status raw_skip_item(halo_text_parser *p, raw_scan *scan) {
  char c = *scan->at;
  if (c == '{' || c == '[' || c == '(') return raw_skip_group(p, scan);
  if (c == '"' || c == '\'') {
    const char *start = scan->at;
    if (!raw_skip_string(&scan->at)) {
      return halo_text_error(p, start, "this string does not end: expected a closing quote");
    }
    return HALO_OK;
  }
  const char *start = scan->at;
  while (raw_is_plain(*scan->at)) {
    if (scan->at[0] == '/' && (scan->at[1] == '/' || scan->at[1] == '*')) break;
    scan->at++;
  }
  if (scan->at == start) return halo_text_expected(p, "a value");
  return HALO_OK;
}

halo_status halo_text_raw(halo_text_parser *p, int json_depth, const char **out) {
  if (p->tok.kind == TOK_END || p->tok.kind == ',') return halo_text_expected(p, "a value");
  raw_scan scan = {.at = p->tok.kind == TOK_NAME ? p->tok.start - 1 : p->tok.start,
                   .json_depth = json_depth};
  const char *start = scan.at;
  /* What follows a value at this level is a comma, a closing bracket or a name, so brackets and
   * bytes that touch go on with it. */
  halo_status status;
  for (;;) {
    status = raw_skip_item(p, &scan);
    if (status != HALO_OK) break;
    if (raw_is_plain(*scan.at) && *scan.at != '/') continue;
    const char *bad, *next = halo_text_skip_blank(p, scan.at, &bad);
    if (!next || !strchr("{[(\"", *next) || !*next) break;
    scan.at = next;
  }
  if (status == HALO_OK) {
    *out = halo_arena_strndup(p->arena, start, (size_t)(scan.at - start));
    halo_text_resume(p, scan.at);
  }
  halo_vec_deinit(&scan.closers);
  halo_vec_deinit(&scan.openers);
  return status;
}
