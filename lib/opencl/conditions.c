/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/conditions.c: what the preprocessor would leave out of a kernel's text, as far as the text decides it. */
#include "opencl/conditions.h"

#include "base/memory.h"
#include "base/vec.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A piece of the source, which is not copied. */
typedef struct cond_text {
  const char *text;
  size_t length;
} cond_text;

typedef struct cond_macro {
  cond_text name, value;
  bool is_defined,
      is_known; /* not known: it depends on what was not decided, or takes parameters */
} cond_macro;

typedef enum cond_truth { COND_FALSE, COND_TRUE, COND_UNKNOWN } cond_truth;

/* One #if and what belongs to it, with the branch at hand. */
typedef struct cond_level {
  cond_truth
      branch; /* whether the lines of this branch are there, given that those around it are */
  cond_truth before; /* whether one of the branches before is */
  bool kept;         /* its directives stay */
} cond_level;

typedef struct cond_state {
  HALO_VEC(cond_macro) macros;
  HALO_VEC(cond_level) levels;
} cond_state;

static size_t cond_word(const char *at, const char *end) {
  const char *from = at;
  while (at < end && (isalnum((unsigned char)*at) || *at == '_')) at++;
  return (size_t)(at - from);
}

static const char *cond_skip(const char *at, const char *end) {
  while (at < end && (isspace((unsigned char)*at) || *at == '\\')) at++;
  return at;
}

/* ---- Macros ---- */

static cond_macro *cond_find(cond_state *s, cond_text name) {
  for (int32_t i = s->macros.count; i-- > 0;) {
    cond_macro *m = &s->macros.data[i];
    if (m->name.length == name.length && memcmp(m->name.text, name.text, name.length) == 0) {
      return m;
    }
  }
  return NULL;
}

/* Whether names like this one are defined by the text or not at all. */
static bool cond_is_own(cond_text name) {
  return name.length > 2 && (name.text[0] == 'H' || name.text[0] == 'h') && name.text[1] == '_';
}

static void cond_set(cond_state *s, cond_macro macro) {
  cond_macro *found = cond_find(s, macro.name);
  if (found) {
    *found = macro;
  } else {
    halo_vec_push(&s->macros, macro);
  }
}

/* ---- Expressions ---- */

/* An expression that is being read; `ok` is false once it is not understood. */
typedef struct cond_reader {
  cond_state *state;
  const char *at, *end;
  int depth; /* of macros within macros */
  bool ok;
} cond_reader;

enum { COND_DEPTH = 16 };

static long long cond_binary(cond_reader *r, int level);

static long long cond_macro_value(cond_reader *r, cond_text name) {
  cond_macro *macro = cond_find(r->state, name);
  if (!macro) {
    r->ok = r->ok && cond_is_own(name);
    return 0;
  }
  if (!macro->is_defined && macro->is_known) return 0;
  if (!macro->is_known || r->depth >= COND_DEPTH) {
    r->ok = false;
    return 0;
  }
  cond_reader inner = {r->state, macro->value.text, macro->value.text + macro->value.length,
                       r->depth + 1, true};
  long long value = cond_binary(&inner, 0);
  r->ok = r->ok && inner.ok && cond_skip(inner.at, inner.end) == inner.end;
  return value;
}

static long long cond_defined(cond_reader *r) {
  r->at = cond_skip(r->at, r->end);
  bool bracket = r->at < r->end && *r->at == '(';
  if (bracket) r->at = cond_skip(r->at + 1, r->end);
  cond_text name = {r->at, cond_word(r->at, r->end)};
  r->at = cond_skip(r->at + name.length, r->end);
  if (bracket) {
    r->ok = r->ok && r->at < r->end && *r->at == ')';
    r->at++;
  }
  const cond_macro *macro = cond_find(r->state, name);
  if (!macro) {
    r->ok = r->ok && cond_is_own(name);
    return 0;
  }
  /* What takes parameters is defined though its value is not known. */
  r->ok = r->ok && (macro->is_known || macro->is_defined);
  return macro->is_defined;
}

static long long cond_unary(cond_reader *r) {
  r->at = cond_skip(r->at, r->end);
  if (!r->ok || r->at >= r->end) {
    r->ok = false;
    return 0;
  }
  char c = *r->at;
  if (c == '!' || c == '-') {
    r->at++;
    long long value = cond_unary(r);
    return c == '!' ? !value : -value;
  }
  if (c == '(') {
    r->at++;
    long long value = cond_binary(r, 0);
    r->at = cond_skip(r->at, r->end);
    r->ok = r->ok && r->at < r->end && *r->at == ')';
    r->at++;
    return value;
  }
  cond_text word = {r->at, cond_word(r->at, r->end)};
  r->at += word.length;
  if (word.length == 7 && memcmp(word.text, "defined", 7) == 0) return cond_defined(r);
  if (word.length > 0 && !isdigit((unsigned char)*word.text)) return cond_macro_value(r, word);
  char *stop = NULL;
  long long value = word.length ? strtoll(word.text, &stop, 0) : 0;
  r->ok = r->ok && word.length > 0 && stop == word.text + word.length;
  return value;
}

/* The operators, the weakest first; the longer of two that begin alike stands first. */
static const struct {
  const char *text;
  int level;
} cond_operators[] = {{"||", 0}, {"&&", 1}, {"==", 2}, {"!=", 2}, {"<=", 3}, {">=", 3}, {"<", 3},
                      {">", 3},  {"+", 4},  {"-", 4},  {"*", 5},  {"/", 5},  {"%", 5}};
enum { COND_OPERATORS = sizeof cond_operators / sizeof cond_operators[0], COND_LEVELS = 6 };

static long long cond_apply(cond_reader *r, const char *op, long long a, long long b) {
  switch (op[0]) {
    case '|': return a || b;
    case '&': return a && b;
    case '=': return a == b;
    case '!': return a != b;
    case '<': return op[1] ? a <= b : a < b;
    case '>': return op[1] ? a >= b : a > b;
    case '+': return a + b;
    case '-': return a - b;
    case '*': return a * b;
    default: break;
  }
  if (b == 0) {
    r->ok = false;
    return 0;
  }
  return op[0] == '/' ? a / b : a % b;
}

/* A row of operands with operators of at least `level` between them. */
static long long cond_binary(cond_reader *r, int level) {
  if (level == COND_LEVELS) return cond_unary(r);
  long long value = cond_binary(r, level + 1);
  while (r->ok) {
    r->at = cond_skip(r->at, r->end);
    const char *op = NULL;
    for (int i = 0; i < COND_OPERATORS && !op; i++) {
      size_t length = strlen(cond_operators[i].text);
      if (cond_operators[i].level != level || (size_t)(r->end - r->at) < length) continue;
      if (memcmp(r->at, cond_operators[i].text, length) == 0) op = cond_operators[i].text;
    }
    if (!op) break;
    r->at += strlen(op);
    value = cond_apply(r, op, value, cond_binary(r, level + 1));
  }
  return value;
}

static cond_truth cond_evaluate(cond_state *s, const char *at, const char *end) {
  cond_reader r = {s, at, end, 0, true};
  long long value = cond_binary(&r, 0);
  if (!r.ok || cond_skip(r.at, end) != end) return COND_UNKNOWN;
  return value ? COND_TRUE : COND_FALSE;
}

static cond_truth cond_evaluate_defined(cond_state *s, const char *at, const char *end, bool no) {
  cond_reader r = {s, at, end, 0, true};
  long long value = cond_defined(&r);
  if (!r.ok) return COND_UNKNOWN;
  return (value != 0) != no ? COND_TRUE : COND_FALSE;
}

/* ---- Lines ---- */

/* Whether the lines at hand are there. */
static cond_truth cond_here(const cond_state *s) {
  cond_truth here = COND_TRUE;
  for (int32_t i = 0; i < s->levels.count; i++) {
    if (s->levels.data[i].branch == COND_FALSE) return COND_FALSE;
    if (s->levels.data[i].branch == COND_UNKNOWN) here = COND_UNKNOWN;
  }
  return here;
}

static bool cond_is(cond_text word, const char *text) {
  return word.length == strlen(text) && memcmp(word.text, text, word.length) == 0;
}

static void cond_define(cond_state *s, const char *at, const char *end, bool defines) {
  cond_text name = {at, cond_word(at, end)};
  at += name.length;
  bool is_plain = at == end || *at != '(';
  cond_set(s, (cond_macro){.name = name,
                           .value = {at, (size_t)(end - at)},
                           .is_defined = defines && cond_here(s) == COND_TRUE,
                           .is_known = is_plain && cond_here(s) == COND_TRUE});
}

static void cond_begin(cond_state *s, cond_truth truth) {
  cond_level level = {truth, truth, truth == COND_UNKNOWN};
  halo_vec_push(&s->levels, level);
}

/* The next branch of the last #if: one that is there if `truth` is and none before it. */
static void cond_turn(cond_level *level, cond_truth truth) {
  if (level->before == COND_TRUE) {
    level->branch = COND_FALSE;
  } else if (level->before == COND_UNKNOWN) {
    level->branch = truth == COND_FALSE ? COND_FALSE : COND_UNKNOWN;
  } else {
    level->branch = truth;
    level->before = truth;
  }
}

/* Takes a directive about; gives whether its line stays. */
static bool cond_directive(cond_state *s, cond_text word, const char *at, const char *end) {
  bool absent = cond_here(s) == COND_FALSE;
  cond_level *last = s->levels.count ? &s->levels.data[s->levels.count - 1] : NULL;
  if (cond_is(word, "if") || cond_is(word, "ifdef") || cond_is(word, "ifndef")) {
    if (absent) {
      cond_begin(s, COND_FALSE);
      s->levels.data[s->levels.count - 1].before = COND_TRUE;
    } else if (word.length == 2) {
      cond_begin(s, cond_evaluate(s, at, end));
    } else {
      cond_begin(s, cond_evaluate_defined(s, at, end, cond_is(word, "ifndef")));
    }
    return s->levels.data[s->levels.count - 1].kept;
  }
  bool is_else = cond_is(word, "else");
  if (last && (is_else || cond_is(word, "elif"))) {
    bool open = last->before != COND_TRUE;
    last->branch = COND_TRUE; /* what is around it decides whether its condition is looked at */
    bool around = cond_here(s) != COND_FALSE;
    cond_truth truth = is_else ? COND_TRUE : COND_FALSE;
    if (!is_else && open && around) truth = cond_evaluate(s, at, end);
    cond_turn(last, truth);
    /* Where the first directive is gone, all branches from the first that is not decided on stay without any. */
    return last->kept;
  }
  if (last && cond_is(word, "endif")) {
    bool kept = last->kept;
    s->levels.count--;
    return kept;
  }
  if (!absent && (cond_is(word, "define") || cond_is(word, "undef"))) {
    cond_define(s, at, end, word.length == 6);
  }
  return !absent;
}

void halo_conditions_resolve(halo_strbuf *out, const char *source) {
  cond_state state = {0};
  for (const char *line = source, *next; *line; line = next) {
    const char *end = line;
    while (*end && (*end != '\n' || (end > line && end[-1] == '\\'))) end++;
    next = *end ? end + 1 : end;
    const char *at = cond_skip(line, end);
    bool stays;
    if (at < end && *at == '#') {
      at = cond_skip(at + 1, end);
      cond_text word = {at, cond_word(at, end)};
      stays = cond_directive(&state, word, cond_skip(at + word.length, end), end);
    } else {
      stays = cond_here(&state) != COND_FALSE;
    }
    if (stays) halo_strbuf_append_n(out, line, (size_t)(next - line));
  }
  halo_vec_deinit(&state.macros);
  halo_vec_deinit(&state.levels);
}
