/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/text_lexer.c: tokens, places and messages of MLIR text. */
#include "base/place.h"
#include "stablehlo/text_reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- Begin and end ---- */

halo_status halo_mlir_text_begin(halo_mlir_reader *r, const char *text, size_t size,
                                 const char *name) {
  void *copy;
  r->name = name && *name ? name : "mlir";
  static const char byte_order_mark[] = "\xef\xbb\xbf";
  if (size >= 3 && memcmp(text, byte_order_mark, 3) == 0) {
    text += 3;
    size -= 3;
  }
  if (size >= INT32_MAX) {
    return halo_fail(HALO_INVALID_ARGUMENT, "%s:1:1: error: the text is longer than 2 GiB",
                     r->name);
  }
  HALO_TRY(halo_try_alloc(size + 1, "a copy of the MLIR text", &copy));
  if (size) memcpy(copy, text, size);
  r->begin = r->counted = r->at = copy;
  r->end = r->begin + size;
  r->line = 1;
  r->locale = halo_c_locale_enter();
  halo_mlir_text_advance(r);
  return HALO_OK;
}

void halo_mlir_text_finish(halo_mlir_reader *r) {
  halo_c_locale_leave(r->locale);
  halo_map_deinit(&r->strings);
  halo_map_deinit(&r->types);
  halo_map_deinit(&r->op_names);
  halo_map_deinit(&r->aliases);
  halo_map_deinit(&r->blobs);
  halo_map_deinit(&r->values);
  halo_vec_deinit(&r->undo);
  halo_free((void *)r->begin);
}

/* ---- Tokens ---- */

const char *halo_mlir_text_skip_blank(const char *at) {
  for (;;) {
    while (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r') at++;
    if (at[0] != '/' || at[1] != '/') return at;
    while (*at && *at != '\n') at++;
  }
}

static bool lexer_is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static const char *lexer_word_end(const char *at) {
  while (lexer_is_letter(*at) || halo_mlir_is_digit(*at) || *at == '$' || *at == '.') at++;
  return at;
}

/* The end of a name behind `%`, `@`, `^`, `#` or `!`: digits, or a letter and more; `at` when there is none. */
static const char *lexer_suffix_end(const char *at) {
  if (halo_mlir_is_digit(*at)) {
    while (halo_mlir_is_digit(*at)) at++;
    return at;
  }
  while (lexer_is_letter(*at) || halo_mlir_is_digit(*at) || *at == '$' || *at == '.' ||
         (*at == '-' && at[1] != '>'))
    at++;
  return at;
}

const char *halo_mlir_text_string_end(const char *at) {
  for (at++; *at && *at != '\n'; at++) {
    if (*at == '"') return at + 1;
    if (*at == '\\' && at[1] && at[1] != '\n') at++;
  }
  return NULL;
}

int halo_mlir_hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c |= 32;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Digits; with a point, and then perhaps an exponent, a float. */
static halo_mlir_token lexer_number(const char *start) {
  const char *at = start;
  if (at[0] == '0' && at[1] == 'x' && halo_mlir_hex_digit(at[2]) >= 0) {
    for (at += 2; halo_mlir_hex_digit(*at) >= 0; at++) {}
    return (halo_mlir_token){TOK_INT, start, at};
  }
  while (halo_mlir_is_digit(*at)) at++;
  if (*at != '.') return (halo_mlir_token){TOK_INT, start, at};
  for (at++; halo_mlir_is_digit(*at); at++) {}
  if ((*at == 'e' || *at == 'E') && (halo_mlir_is_digit(at[1]) || ((at[1] == '+' || at[1] == '-') &&
                                                                   halo_mlir_is_digit(at[2])))) {
    for (at += 2; halo_mlir_is_digit(*at); at++) {}
  }
  return (halo_mlir_token){TOK_FLOAT, start, at};
}

typedef struct lexer_result {
  halo_mlir_token tok;
  const char *error;
} lexer_result;

static lexer_result lexer_fail(const char *at, const char *message) {
  return (lexer_result){{TOK_ERROR, at, at}, message};
}

static lexer_result lexer_prefixed(const char *at) {
  static const struct {
    char mark;
    int kind;
    const char *fault;
  } marks[] = {
      {'%', TOK_VALUE, "expected the name of a value after '%'"},
      {'@', TOK_SYMBOL, "expected the name of a symbol after '@'"},
      {'^', TOK_BLOCK, "expected the name of a block after '^'"},
      {'#', TOK_HASH, "expected the name of an attribute after '#'"},
      {'!', TOK_BANG, "expected the name of a type after '!'"},
  };
  int i = 0;
  while (marks[i].mark != *at) i++;
  const char *start = at + 1, *end = lexer_suffix_end(start);
  if (*at == '@' && *start == '"') {
    end = halo_mlir_text_string_end(start);
    if (!end) return lexer_fail(at, "this string does not end: expected a closing quote");
  }
  if (end == start) return lexer_fail(at, marks[i].fault);
  return (lexer_result){{marks[i].kind, start, end}, NULL};
}

static lexer_result lexer_token(const char *at, const char *text_end) {
  at = halo_mlir_text_skip_blank(at);
  char c = *at;
  if (lexer_is_letter(c)) return (lexer_result){{TOK_WORD, at, lexer_word_end(at)}, NULL};
  if (halo_mlir_is_digit(c)) return (lexer_result){lexer_number(at), NULL};
  switch (c) {
    case '\0':
      if (at != text_end) return lexer_fail(at, "a NUL byte cannot stand in MLIR text");
      return (lexer_result){{TOK_END, at, at}, NULL};
    case '%':
    case '@':
    case '^':
    case '!': return lexer_prefixed(at);
    case '#':
      if (at[1] == '-') return (lexer_result){{c, at, at + 1}, NULL}; /* of `#-}` */
      return lexer_prefixed(at);
    case '"': {
      const char *end = halo_mlir_text_string_end(at);
      if (!end) return lexer_fail(at, "this string does not end: expected a closing quote");
      return (lexer_result){{TOK_STRING, at, end}, NULL};
    }
    case '-':
      if (at[1] == '>') return (lexer_result){{TOK_ARROW, at, at + 2}, NULL};
      return (lexer_result){{c, at, at + 1}, NULL};
    case '{':
      if (at[1] == '-' && at[2] == '#') return (lexer_result){{TOK_RESOURCES, at, at + 3}, NULL};
      return (lexer_result){{c, at, at + 1}, NULL};
    default: break;
  }
  if (strchr("}()[]<>,:=+*?|", c)) return (lexer_result){{c, at, at + 1}, NULL};
  return lexer_fail(
      at, c == '/' ? "expected a comment after '/'" : "this byte has no meaning in MLIR text");
}

void halo_mlir_text_resume(halo_mlir_reader *r, const char *at) {
  lexer_result result = lexer_token(at, r->end);
  r->tok = result.tok;
  r->lex_error = result.error;
  r->at = r->tok.end;
}

void halo_mlir_text_advance(halo_mlir_reader *r) { halo_mlir_text_resume(r, r->at); }

halo_mlir_token halo_mlir_text_peek(const halo_mlir_reader *r) {
  return lexer_token(r->at, r->end).tok;
}

bool halo_mlir_token_is(const halo_mlir_token *tok, const char *word) {
  size_t length = strlen(word);
  return tok->kind == TOK_WORD && (size_t)(tok->end - tok->start) == length &&
         memcmp(tok->start, word, length) == 0;
}

/* ---- Messages ---- */

int32_t halo_mlir_text_line_of(halo_mlir_reader *r, const char *at) {
  if (at < r->counted) {
    r->counted = r->begin;
    r->line = 1;
  }
  const char *from = r->counted;
  while ((from = memchr(from, '\n', (size_t)(at - from)))) {
    r->line++;
    from++;
  }
  r->counted = at;
  return r->line;
}

halo_status halo_mlir_text_error_as(halo_mlir_reader *r, halo_status status, const char *at,
                                    const char *format, ...) {
  if (at > r->begin && strchr("%@^#!", at[-1])) at--;
  va_list args;
  va_start(args, format);
  char message[2048];
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  return halo_fail_at(status, r->name, r->begin, at, halo_mlir_text_line_of(r, at), message);
}

halo_status halo_mlir_text_error_here(halo_mlir_reader *r, halo_status status, const char *at) {
  char *message = halo_error_save();
  status = halo_mlir_text_error_as(r, status, at, "%s", message);
  halo_free(message);
  return status;
}

halo_status halo_mlir_text_expected(halo_mlir_reader *r, const char *what) {
  const halo_mlir_token *tok = &r->tok;
  if (tok->kind == TOK_ERROR) return halo_mlir_text_error(r, tok->start, "%s", r->lex_error);
  if (tok->kind == TOK_END) {
    return halo_mlir_text_error(r, tok->start, "expected %s, found the end of the text", what);
  }
  const char *start = halo_mlir_text_here(r);
  long length = (long)(tok->end - start);
  bool cut = length > 60;
  return halo_mlir_text_error(r, tok->start, "expected %s, found '%.*s%s'", what,
                              cut ? 60 : (int)length, start, cut ? "..." : "");
}

halo_status halo_mlir_text_expect(halo_mlir_reader *r, int kind, const char *what) {
  if (r->tok.kind != kind) return halo_mlir_text_expected(r, what);
  halo_mlir_text_advance(r);
  return HALO_OK;
}

halo_status halo_mlir_text_expect_word(halo_mlir_reader *r, const char *word) {
  if (halo_mlir_text_accept_word(r, word)) return HALO_OK;
  char what[64];
  snprintf(what, sizeof what, "'%s'", word);
  return halo_mlir_text_expected(r, what);
}

bool halo_mlir_text_accept(halo_mlir_reader *r, int kind) {
  if (r->tok.kind != kind) return false;
  halo_mlir_text_advance(r);
  return true;
}

bool halo_mlir_text_accept_word(halo_mlir_reader *r, const char *word) {
  if (!halo_mlir_text_is(r, word)) return false;
  halo_mlir_text_advance(r);
  return true;
}

halo_status halo_mlir_text_separator(halo_mlir_reader *r, int closer, const char *what) {
  if (r->tok.kind == closer) return HALO_OK;
  HALO_TRY(halo_mlir_text_expect(r, ',', what));
  return r->tok.kind == closer ? halo_mlir_text_expected(r, "another element after ','") : HALO_OK;
}

halo_status halo_mlir_text_enter(halo_mlir_reader *r) {
  if (r->depth >= HALO_MLIR_TEXT_MAX_DEPTH) {
    return halo_mlir_text_error(r, r->tok.start, "nested more than %d deep",
                                HALO_MLIR_TEXT_MAX_DEPTH);
  }
  r->depth++;
  return HALO_OK;
}

halo_status halo_mlir_text_skip_brackets(halo_mlir_reader *r) {
  char closers[HALO_MLIR_TEXT_MAX_DEPTH];
  int depth = 0;
  const char *at = r->tok.start;
  do {
    at = halo_mlir_text_skip_blank(at);
    if (strchr("<([{", *at) && *at) {
      if (depth == HALO_MLIR_TEXT_MAX_DEPTH)
        return halo_mlir_text_error(r, at, "nested more than %d deep", HALO_MLIR_TEXT_MAX_DEPTH);
      closers[depth++] = *at == '(' ? ')' : (char)(*at + 2);
    } else if (at[0] == '-' && at[1] == '>') {
      at++;
    } else if (*at == '"') {
      const char *end = halo_mlir_text_string_end(at);
      if (!end)
        return halo_mlir_text_error(r, at, "this string does not end: expected a closing quote");
      at = end - 1;
    } else if (*at == '\0') {
      return halo_mlir_text_error(r, r->tok.start, "this bracket is not closed: expected '%c'",
                                  closers[depth - 1]);
    } else if (strchr(">)]}", *at)) {
      if (*at != closers[depth - 1])
        return halo_mlir_text_error(r, at, "expected '%c', found '%c'", closers[depth - 1], *at);
      depth--;
    }
    at++;
  } while (depth > 0);
  halo_mlir_text_resume(r, at);
  return HALO_OK;
}

/* ---- Simple values ---- */

const char *halo_mlir_text_intern(halo_mlir_reader *r, const char *start, size_t length) {
  char *known = halo_map_get(&r->strings, start, length);
  if (known) return known;
  known = halo_arena_strndup(r->arena, start, length);
  halo_map_set(&r->strings, start, length, known);
  return known;
}

/* Unescapes what stands between two quotes. */
static halo_status lexer_unquote(halo_mlir_reader *r, const char *at, const char *end,
                                 const char **out, size_t *length) {
  char *text = halo_arena_alloc(r->arena, (size_t)(end - at) + 1);
  size_t n = 0;
  while (at < end) {
    if (*at != '\\') {
      text[n++] = *at++;
      continue;
    }
    int high = halo_mlir_hex_digit(at[1]), low = high < 0 ? -1 : halo_mlir_hex_digit(at[2]);
    if (low >= 0) {
      text[n++] = (char)(high << 4 | low);
      at += 3;
      continue;
    }
    if (!at[1] || !strchr("\"\\nt", at[1])) {
      return halo_mlir_text_error(
          r, at, "expected an escape: \\\", \\\\, \\n, \\t or two hexadecimal digits");
    }
    text[n++] = at[1] == 'n' ? '\n' : at[1] == 't' ? '\t' : at[1];
    at += 2;
  }
  *out = text;
  *length = n;
  return HALO_OK;
}

halo_status halo_mlir_text_string(halo_mlir_reader *r, const char *what, const char **out,
                                  size_t *length) {
  if (r->tok.kind != TOK_STRING) return halo_mlir_text_expected(r, what);
  HALO_TRY(lexer_unquote(r, r->tok.start + 1, r->tok.end - 1, out, length));
  halo_mlir_text_advance(r);
  return HALO_OK;
}

halo_status halo_mlir_text_symbol(halo_mlir_reader *r, const char *what, const char **out,
                                  size_t *length) {
  if (r->tok.kind != TOK_SYMBOL) return halo_mlir_text_expected(r, what);
  if (*r->tok.start == '"') {
    HALO_TRY(lexer_unquote(r, r->tok.start + 1, r->tok.end - 1, out, length));
  } else {
    *length = (size_t)(r->tok.end - r->tok.start);
    *out = halo_mlir_text_intern(r, r->tok.start, *length);
  }
  halo_mlir_text_advance(r);
  return HALO_OK;
}

halo_status halo_mlir_text_int(halo_mlir_reader *r, const char *what, int64_t *out) {
  const char *at = r->tok.start;
  bool minus = halo_mlir_text_accept(r, '-');
  if (r->tok.kind != TOK_INT) return halo_mlir_text_expected(r, what);
  const char *c = r->tok.start;
  bool hex = r->tok.end - c > 2 && c[1] == 'x', fits = true;
  uint64_t value = 0, most = (uint64_t)INT64_MAX + minus;
  for (c += hex ? 2 : 0; c < r->tok.end; c++) {
    fits = fits && !__builtin_mul_overflow(value, hex ? 16u : 10u, &value) &&
           !__builtin_add_overflow(value, (uint64_t)halo_mlir_hex_digit(*c), &value);
  }
  if (!fits || value > most)
    return halo_mlir_text_error(r, at, "this number does not fit 64 bits: expected %s", what);
  *out = (int64_t)(minus ? 0 - value : value);
  halo_mlir_text_advance(r);
  return HALO_OK;
}
