/* SPDX-License-Identifier: Apache-2.0 */
/* text/parse_string.c: strings in quotes, and their escapes. */
#include "text/parser.h"

#include <string.h>

static int string_hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c |= 32;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void string_utf8(halo_strbuf *out, uint32_t code) {
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
static bool string_code(const char **at, int base_bits, int least, int most, uint32_t *out) {
  uint32_t code = 0;
  int digits = 0;
  for (int d; digits < most && (d = string_hex(**at)) >= 0 && d < 1 << base_bits; digits++, ++*at) {
    code = code << base_bits | (uint32_t)d;
  }
  *out = code;
  return digits >= least && code != 0;
}

/* Takes the escape behind a backslash; false when it is not one, or stands for a NUL. */
static bool string_escape(const char **at, halo_strbuf *out) {
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
    if (!string_code(at, 3, 1, 3, &code) || code > 0xff) return false;
    halo_strbuf_char(out, (char)code);
    return true;
  }
  ++*at;
  switch (c) {
    case 'x':
    case 'X':
      if (!string_code(at, 4, 1, 2, &code)) return false;
      halo_strbuf_char(out, (char)code);
      return true;
    case 'u':
    case 'U':
      if (!string_code(at, 4, c == 'u' ? 4 : 8, c == 'u' ? 4 : 8, &code)) return false;
      if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return false;
      string_utf8(out, code);
      return true;
    default: return false;
  }
}

/* Unescapes what stands between two quotes; on a bad escape returns its place, else NULL. */
static const char *string_unescape(const char *at, const char *end, halo_strbuf *out) {
  while (at < end) {
    const char *plain = at;
    while (at < end && *at != '\\') at++;
    halo_strbuf_append_n(out, plain, (size_t)(at - plain));
    if (at == end) break;
    const char *escape = at++;
    if (!string_escape(&at, out)) return escape;
  }
  return NULL;
}

halo_status halo_text_string(halo_text_parser *p, const char *what, const char **out) {
  if (p->tok.kind != TOK_STRING) return halo_text_expected(p, what);
  halo_strbuf text = {0};
  const char *bad = string_unescape(p->tok.start + 1, p->tok.end - 1, &text);
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
