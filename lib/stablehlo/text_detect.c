/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/text_detect.c: telling MLIR text from HLO text. */
#include "stablehlo/stablehlo.h"

#include <string.h>

typedef struct detect_scan {
  const char *at, *end;
} detect_scan;

static void detect_skip_blank(detect_scan *scan) {
  for (;;) {
    while (scan->at < scan->end && memchr(" \t\r\n", *scan->at, 4)) scan->at++;
    if (scan->end - scan->at < 2 || memcmp(scan->at, "//", 2) != 0) return;
    while (scan->at < scan->end && *scan->at != '\n') scan->at++;
  }
}

/* The character at hand, or NUL at the end. */
static char detect_char(const detect_scan *scan) { return scan->at < scan->end ? *scan->at : '\0'; }

/* Takes a name, which may be empty, and what blank follows it. */
static size_t detect_word(detect_scan *scan, const char **out) {
  *out = scan->at;
  for (char c; (c = detect_char(scan)); scan->at++) {
    bool is_name = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                   memchr("_.-$", c, 4);
    if (!is_name) break;
  }
  size_t length = (size_t)(scan->at - *out);
  detect_skip_blank(scan);
  return length;
}

static bool detect_is(const char *word, size_t length, const char *name) {
  return strlen(name) == length && memcmp(word, name, length) == 0;
}

bool halo_stablehlo_is_text(const char *text, size_t size) {
  static const char byte_order_mark[] = "\xef\xbb\xbf";
  detect_scan scan = {text, text + size};
  if (size >= 3 && memcmp(text, byte_order_mark, 3) == 0) scan.at += 3;
  detect_skip_blank(&scan);
  char first = detect_char(&scan);
  if (first == '#' || first == '!' || first == '"') return true;
  const char *word;
  size_t length = detect_word(&scan, &word);
  char next = detect_char(&scan);
  /* Computations and instructions of HLO may have any name; behind it stand other things. */
  if (detect_is(word, length, "func.func")) return next == '@' || next == 'p' || next == 'n';
  if (detect_is(word, length, "sdy.mesh")) return next == '@';
  if (!detect_is(word, length, "module") && !detect_is(word, length, "builtin.module"))
    return false;
  if (next == '@') return true;
  if (next != '{') {
    length = detect_word(&scan, &word);
    return detect_is(word, length, "attributes") || detect_is(word, length, "private");
  }
  scan.at++;
  detect_skip_blank(&scan);
  if (memchr("#!\"}", detect_char(&scan), 4)) return true;
  length = detect_word(&scan, &word);
  return detect_is(word, length, "func.func") || detect_is(word, length, "sdy.mesh") ||
         (detect_is(word, length, "module") && detect_char(&scan) != '=');
}
