/* SPDX-License-Identifier: Apache-2.0 */
/* text/lexer.c: tokens, places and messages. */
#include "base/place.h"
#include "text/parser.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- Begin and end ---- */

halo_status halo_text_begin(halo_text_parser *p, const char *text, size_t length,
                            const char *name) {
  void *copy;
  p->name = name && *name ? name : "hlo";
  static const char byte_order_mark[] = "\xef\xbb\xbf";
  if (length >= 3 && memcmp(text, byte_order_mark, 3) == 0) { /* some editors begin UTF-8 with it */
    text += 3;
    length -= 3;
  }
  if (length >= INT32_MAX) {
    return halo_fail(HALO_INVALID_ARGUMENT, "%s:1:1: error: the text is longer than 2 GiB",
                     p->name);
  }
  HALO_TRY(halo_try_alloc(length + 1, "a copy of the HLO text", &copy));
  if (length) memcpy(copy, text, length);
  p->begin = p->counted = copy;
  p->end = p->begin + length;
  p->line = 1;
  p->at = p->begin;
  p->locale = halo_c_locale_enter();
  halo_text_advance(p);
  return HALO_OK;
}

void halo_text_finish(halo_text_parser *p) {
  halo_c_locale_leave(p->locale);
  halo_map_deinit(&p->computations);
  halo_map_deinit(&p->groups);
  halo_free((void *)p->begin);
}

/* ---- Tokens ---- */

const char *halo_text_skip_blank(halo_text_parser *p, const char *at, const char **bad) {
  for (;;) {
    while (halo_text_is_blank(*at)) at++;
    if (at[0] == '/' && at[1] == '/') {
      while (*at && *at != '\n') at++;
    } else if (at[0] == '/' && at[1] == '*') {
      const char *close = strstr(at + 2, "*/");
      if (!close) {
        p->lex_error = "this comment does not end: expected '*/'";
        *bad = at;
        return NULL;
      }
      at = close + 2;
    } else {
      return at;
    }
  }
}

static const char *lexer_name_end(const char *at) {
  while (halo_text_is_name_char(*at)) at++;
  return at;
}

/* The end of a string that starts at `at`, or NULL. */
static const char *lexer_string_end(const char *at) {
  char quote = *at++;
  for (; *at; at++) {
    if (*at == quote) return at + 1;
    if (*at == '\\' && !*++at) return NULL;
  }
  return NULL;
}

static halo_text_token lexer_fail(halo_text_parser *p, const char *at, const char *message) {
  p->lex_error = message;
  return (halo_text_token){TOK_ERROR, at, at};
}

static halo_text_token lexer_number(halo_text_parser *p, const char *at) {
  if (at[0] == '-' && !halo_text_is_digit(at[1]) && at[1] != '.' && strncmp(at, "-inf", 4) != 0 &&
      strncmp(at, "-nan", 4) != 0) {
    return lexer_fail(p, at, "expected a number after '-'");
  }
  halo_text_number number;
  const char *end = at;
  const char *fault = halo_text_scan_number(&end, &number);
  if (fault) return lexer_fail(p, at, fault);
  return (halo_text_token){number.kind == HALO_NUMBER_INT ? TOK_INT : TOK_DECIMAL, at, end};
}

static halo_text_token lexer_token(halo_text_parser *p, const char *at) {
  const char *bad = at;
  at = halo_text_skip_blank(p, at, &bad);
  if (!at) return (halo_text_token){TOK_ERROR, bad, bad};
  char c = *at;
  if (halo_text_is_name_start(c)) return (halo_text_token){TOK_WORD, at, lexer_name_end(at)};
  switch (c) {
    case '\0':
      if (at != p->end) return lexer_fail(p, at, "a NUL byte cannot stand in HLO text");
      return (halo_text_token){TOK_END, at, at};
    case '%':
      if (!halo_text_is_name_start(at[1])) {
        return lexer_fail(p, at,
                          "expected a name after '%': a letter or '_', then letters, "
                          "digits, '_', '.' and '-'");
      }
      return (halo_text_token){TOK_NAME, at + 1, lexer_name_end(at + 1)};
    case '"':
    case '\'': {
      const char *end = lexer_string_end(at);
      if (!end) return lexer_fail(p, at, "this string does not end: expected a closing quote");
      return (halo_text_token){TOK_STRING, at, end};
    }
    case '=':
    case ',':
    case ':':
    case '*':
    case '?':
    case '#':
    case '+':
    case '~':
    case '[':
    case ']':
    case '{':
    case '}':
    case '(':
    case ')': return (halo_text_token){c, at, at + 1};
    case '<':
      if (at[1] == '=') return (halo_text_token){TOK_LEQ, at, at + 2};
      return lexer_fail(p, at, "expected '=' after '<'");
    case '.':
      if (at[1] == '.' && at[2] == '.') return (halo_text_token){TOK_ELLIPSIS, at, at + 3};
      return lexer_fail(p, at, "a number cannot start with '.', and a name neither");
    case '-':
      if (at[1] == '>') return (halo_text_token){TOK_ARROW, at, at + 2};
      return lexer_number(p, at);
    default: break;
  }
  if (halo_text_is_digit(c)) return lexer_number(p, at);
  return lexer_fail(
      p, at, c == '/' ? "expected a comment after '/'" : "this byte has no meaning in HLO text");
}

void halo_text_resume(halo_text_parser *p, const char *at) {
  p->behind = at;
  p->tok = lexer_token(p, at);
  p->at = p->tok.end;
}

void halo_text_advance(halo_text_parser *p) { halo_text_resume(p, p->at); }

halo_text_token halo_text_peek(halo_text_parser *p) {
  const char *saved = p->lex_error;
  halo_text_token tok = lexer_token(p, p->at);
  p->lex_error = saved;
  return tok;
}

bool halo_text_token_is(const halo_text_token *tok, const char *word) {
  size_t length = strlen(word);
  return tok->kind == TOK_WORD && (size_t)(tok->end - tok->start) == length &&
         memcmp(tok->start, word, length) == 0;
}

bool halo_text_is_word(const halo_text_parser *p, const char *word) {
  return halo_text_token_is(&p->tok, word);
}

/* ---- Messages ---- */

int32_t halo_text_line_of(halo_text_parser *p, const char *at) {
  if (at < p->counted) {
    p->counted = p->begin;
    p->line = 1;
  }
  const char *from = p->counted;
  while ((from = memchr(from, '\n', (size_t)(at - from)))) {
    p->line++;
    from++;
  }
  p->counted = at;
  return p->line;
}

halo_status halo_text_error_as(halo_text_parser *p, halo_status status, const char *at,
                               const char *format, ...) {
  if (at > p->begin && at[-1] == '%') at--;
  va_list args;
  va_start(args, format);
  char message[2048];
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  return halo_fail_at(status, p->name, p->begin, at, halo_text_line_of(p, at), message);
}

halo_status halo_text_expected(halo_text_parser *p, const char *what) {
  const halo_text_token *tok = &p->tok;
  if (tok->kind == TOK_ERROR) return halo_text_error(p, tok->start, "%s", p->lex_error);
  if (tok->kind == TOK_END) {
    return halo_text_error(p, tok->start, "expected %s, found the end of the text", what);
  }
  const char *start = tok->kind == TOK_NAME ? tok->start - 1 : tok->start;
  long length = (long)(tok->end - start);
  bool cut = length > 60;
  return halo_text_error(p, start, "expected %s, found '%.*s%s'", what, cut ? 60 : (int)length,
                         start, cut ? "..." : "");
}

halo_status halo_text_expect(halo_text_parser *p, int kind, const char *what) {
  if (p->tok.kind != kind) return halo_text_expected(p, what);
  halo_text_advance(p);
  return HALO_OK;
}

bool halo_text_accept(halo_text_parser *p, int kind) {
  if (p->tok.kind != kind) return false;
  halo_text_advance(p);
  return true;
}

halo_status halo_text_separator(halo_text_parser *p, int closer, const char *what) {
  if (p->tok.kind == closer) return HALO_OK;
  HALO_TRY(halo_text_expect(p, ',', what));
  return p->tok.kind == closer ? halo_text_expected(p, "another element after ','") : HALO_OK;
}

halo_status halo_text_enter(halo_text_parser *p) {
  if (p->depth >= HALO_TEXT_MAX_DEPTH) {
    return halo_text_error(p, p->tok.start, "nested more than %d deep", HALO_TEXT_MAX_DEPTH);
  }
  p->depth++;
  return HALO_OK;
}

/* ---- Simple values ---- */

halo_status halo_text_name(halo_text_parser *p, const char *what, const char **out) {
  if (p->tok.kind != TOK_WORD && p->tok.kind != TOK_NAME) return halo_text_expected(p, what);
  *out = halo_arena_strndup(p->arena, p->tok.start, (size_t)(p->tok.end - p->tok.start));
  bool colon = p->tok.kind == TOK_WORD && *p->tok.end == ':';
  halo_text_advance(p);
  if (colon) halo_text_advance(p);
  return HALO_OK;
}

halo_status halo_text_int(halo_text_parser *p, const char *what, int64_t *out) {
  if (p->tok.kind != TOK_INT) return halo_text_expected(p, what);
  halo_text_number number;
  const char *at = p->tok.start;
  halo_text_scan_number(&at, &number);
  uint64_t most = (uint64_t)INT64_MAX + number.negative;
  if (number.too_big || number.magnitude > most) {
    return halo_text_error(p, p->tok.start, "this number does not fit 64 bits: expected %s", what);
  }
  *out = (int64_t)(number.negative ? 0 - number.magnitude : number.magnitude);
  halo_text_advance(p);
  return HALO_OK;
}

halo_status halo_text_bool(halo_text_parser *p, const char *what, bool *out) {
  bool yes = halo_text_is_word(p, "true");
  if (!yes && !halo_text_is_word(p, "false")) return halo_text_expected(p, what);
  *out = yes;
  halo_text_advance(p);
  return HALO_OK;
}
