/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_format.c: texts by formats: what the C library would give, whatever the room; messages of errors on
 * their way up; and names that misspelt ones resemble. */
#include "base/arena.h"
#include "base/format.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "base/suggest.h"
#include "suite.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t ours(char *out, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static size_t ours(char *out, size_t size, const char *format, ...) {
  va_list args;
  va_start(args, format);
  size_t length = halo_format(out, size, format, args);
  va_end(args);
  return length;
}

/* Both ways, with all the room there can be and with ever less. */
#define SAME(...)                                                                                  \
  do {                                                                                             \
    char mine[400], theirs[400];                                                                   \
    int length = snprintf(NULL, 0, __VA_ARGS__);                                                   \
    for (size_t size = 0; size <= (size_t)length + 2; size++) {                                    \
      memset(mine, 'x', sizeof mine);                                                              \
      memset(theirs, 'x', sizeof theirs);                                                          \
      snprintf(theirs, size, __VA_ARGS__);                                                         \
      ck_assert_uint_eq(ours(mine, size, __VA_ARGS__), (size_t)length);                            \
      ck_assert_msg(memcmp(mine, theirs, sizeof mine) == 0, "%s with room for %zu", #__VA_ARGS__,  \
                    size);                                                                         \
    }                                                                                              \
  } while (0)

START_TEST(as_the_c_library) {
  SAME("%s", "");
  SAME("plain");
  SAME("%s and %s", "one", "another");
  SAME("%d %d %d %d", 0, -1, INT_MAX, INT_MIN);
  SAME("%u %u", 0u, UINT_MAX);
  SAME("%lld %lld %lld", 0ll, LLONG_MIN, LLONG_MAX);
  SAME("%llu %zu", ULLONG_MAX, SIZE_MAX);
  SAME("%c%%%c", 'a', 'z');
  SAME("[%.*s] [%.*s] [%.*s]", 2, "abc", 5, "abc", 0, "abc");
  SAME("%5d|%-4s|%04x|%g|%.17g", 42, "ab", 0xbeefu, 0.5, 0.1); /* left to the C library */
  SAME("%s %5d", "mixed", 7);
}
END_TEST

/* A message says where it comes from once, however many say so on its way up. */
START_TEST(contexts) {
  static const struct {
    const char *message, *context, *says;
  } cases[] = {{"too large", "r", "r: too large"},
               {"r: too large", "r", "r: too large"},
               {"r: too large", "compiling r", "compiling r: r: too large"},
               {"row: too large", "r", "r: row: too large"},
               {"r is too large", "r", "r: r is too large"},
               {"", "r", "r: "}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    ck_assert_int_eq(halo_fail(HALO_INTERNAL, "%s", cases[i].message), HALO_INTERNAL);
    ck_assert_int_eq(halo_fail_in(HALO_INTERNAL, "%s", cases[i].context), HALO_INTERNAL);
    ck_assert_str_eq(halo_error_message(), cases[i].says);
    ck_assert_int_eq(halo_fail_in(HALO_OK, "other"), HALO_OK);
    ck_assert_str_eq(halo_error_message(), cases[i].says);
  }
}
END_TEST

/* Slips of every kind, names that are too far, and words that begin a name. */
START_TEST(suggestions) {
  static const char *const names[] = {
      "add",      "and",     "exponential",   "exponential-minus-one",
      "multiply", "reshape", "dynamic-slice", "round-nearest-even"};
  static const struct {
    const char *word, *meant;
  } cases[] = {{"nultiply", "multiply"},
               {"mutliply", "multiply"},
               {"multipl", "multiply"},
               {"multipply", "multiply"},
               {"MULTIPLY", "multiply"},
               {"dynamic_slice", "dynamic-slice"},
               {"ad", "add"},
               {"ann", "and"},
               {"expo", "exponential"},
               {"exponential-minus", "exponential-minus-one"},
               {"round", "round-nearest-even"},
               {"ex", NULL},
               {"", NULL},
               {"shape-of-re", NULL},
               {"frobnicate", NULL}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char word[32]; /* what follows the word does not count */
    snprintf(word, sizeof word, "%s(x)", cases[i].word);
    halo_suggestion s = halo_suggestion_begin(word, strlen(cases[i].word));
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) halo_suggestion_offer(&s, names[k]);
    const char *best = halo_suggestion_best(&s);
    if (cases[i].meant) {
      ck_assert_msg(best && strcmp(best, cases[i].meant) == 0, "%s: %s", cases[i].word,
                    best ? best : "none");
    } else {
      ck_assert_msg(!best, "%s: %s", cases[i].word, best);
    }
  }
  char longer[HALO_SUGGEST_MAX + 2];
  memset(longer, 'a', sizeof longer - 1);
  longer[sizeof longer - 1] = '\0';
  halo_suggestion s = halo_suggestion_begin(longer, strlen(longer));
  halo_suggestion_offer(&s, longer);
  ck_assert_ptr_null(halo_suggestion_best(&s));
}
END_TEST

START_TEST(builders_grow) {
  halo_strbuf text = {0};
  halo_arena arena = {0};
  char *expected = malloc(40000), *at = expected;
  for (int i = 0; i < 1000; i++) {
    halo_strbuf_printf(&text, "%d:%s,%.*s;", i, "value", i % 30, "123456789012345678901234567890");
    at += sprintf(at, "%d:%s,%.*s;", i, "value", i % 30, "123456789012345678901234567890");
  }
  ck_assert_str_eq(text.data, expected);
  ck_assert_str_eq(halo_arena_printf(&arena, "<%s>", text.data) + 1 + text.length, ">");
  ck_assert_str_eq(halo_arena_printf(&arena, "%s", ""), "");
  halo_strbuf_deinit(&text);
  halo_arena_deinit(&arena);
  free(expected);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("format");
  TCase *tests = tcase_create("format");
  tcase_add_test(tests, as_the_c_library);
  tcase_add_test(tests, contexts);
  tcase_add_test(tests, suggestions);
  tcase_add_test(tests, builders_grow);
  suite_add_tcase(suite, tests);
  return suite_run(suite);
}
