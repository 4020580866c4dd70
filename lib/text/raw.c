/* text/raw.c: strings, and values that are kept as they were written. */
#include "text/parser.h"

#include <string.h>

/* ---- Strings ---- */

static int raw_hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c |= 32;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void raw_utf8(halo_strbuf *out, uint32_t code) {
  if (code < 0x80) {
    halo_strbuf_char(out, (char)code);
    return;
  }
  int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  static const unsigned char lead[] = {0, 0xc0, 0xe0, 0xf0};
  halo_strbuf_char(out, (char)(lead[more] | code >> 6 * more));
  while (more--) halo_strbuf_char(out, (char)(0x80 | (code >> 6 * more & 0x3f)));
}

/* A number of `most` digits at most in an escape; false when there is none or it is not a code. */
static bool raw_code(const char **at, int base_bits, int least, int most, uint32_t *out) {
  uint32_t code = 0;
  int digits = 0;
  for (int d; digits < most && (d = raw_hex(**at)) >= 0 && d < 1 << base_bits; digits++, ++*at) {
    code = code << base_bits | (uint32_t)d;
  }
  *out = code;
  return digits >= least && code != 0;
}

/* Takes the escape behind a backslash; false when it is not one, or stands for a NUL. */
static bool raw_escape(const char **at, halo_strbuf *out) {
  static const char letters[] = "nrtabfv\\\"'?", values[] = "\n\r\t\a\b\f\v\\\"'?";
  char c = **at;
  const char *letter = c ? strchr(letters, c) : NULL;
  if (letter) {
    halo_strbuf_char(out, values[letter - letters]);
    ++*at;
    return true;
  }
  uint32_t code;
  if (c >= '0' && c <= '7') {
    if (!raw_code(at, 3, 1, 3, &code) || code > 0xff) return false;
    halo_strbuf_char(out, (char)code);
    return true;
  }
  ++*at;
  switch (c) {
    case 'x':
    case 'X':
      if (!raw_code(at, 4, 1, 2, &code)) return false;
      halo_strbuf_char(out, (char)code);
      return true;
    case 'u':
    case 'U':
      if (!raw_code(at, 4, c == 'u' ? 4 : 8, c == 'u' ? 4 : 8, &code)) return false;
      if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return false;
      raw_utf8(out, code);
      return true;
    default: return false;
  }
}

/* Unescapes what stands between two quotes; on a bad escape returns its place, else NULL. */
static const char *raw_unescape(const char *at, const char *end, halo_strbuf *out) {
  while (at < end) {
    const char *plain = at;
    while (at < end && *at != '\\') at++;
    halo_strbuf_append_n(out, plain, (size_t)(at - plain));
    if (at == end) break;
    const char *escape = at++;
    if (!raw_escape(&at, out)) return escape;
  }
  return NULL;
}

halo_status halo_text_string(halo_text_parser *p, const char *what, const char **out) {
  if (p->tok.kind != TOK_STRING) return halo_text_expected(p, what);
  halo_strbuf text = {0};
  const char *bad = raw_unescape(p->tok.start + 1, p->tok.end - 1, &text);
  *out = halo_arena_strdup(p->arena, halo_strbuf_text(&text));
  halo_strbuf_deinit(&text);
  if (bad) {
    return halo_text_error(p, bad,
                           "expected an escape such as \\n, \\\", \\303 or \\x2f (and not "
                           "of a NUL byte)");
  }
  halo_text_advance(p);
  return HALO_OK;
}

const char *halo_text_unquote(halo_arena *arena, const char *raw) {
  size_t length = strlen(raw);
  if (length < 2 || (*raw != '"' && *raw != '\'') || raw[length - 1] != *raw) return raw;
  halo_strbuf text = {0};
  const char *bad = raw_unescape(raw + 1, raw + length - 1, &text);
  const char *copy = bad ? raw : halo_arena_strdup(arena, halo_strbuf_text(&text));
  halo_strbuf_deinit(&text);
  return copy;
}

/* ---- Raw values ---- */

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
