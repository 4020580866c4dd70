/* SPDX-License-Identifier: Apache-2.0 */
/* base/suggest.c: the distance between two words, as typing slips make it. */
#include "base/suggest.h"

#include <stdbool.h>
#include <string.h>

/* Names are ASCII; ctype.h would ask the locale. */
static char suggest_plain(char c) {
  if (c >= 'A' && c <= 'Z') return (char)(c + ('a' - 'A'));
  return c == '_' ? '-' : c;
}

static size_t suggest_least(size_t a, size_t b) { return a < b ? a : b; }

/* How many letters are wrong, missing, added or swapped with their neighbour between two words. */
static size_t suggest_distance(const char *a, size_t a_length, const char *b, size_t b_length) {
  size_t rows[3][HALO_SUGGEST_MAX + 1];
  size_t *before = rows[0], *above = rows[1], *row = rows[2];
  for (size_t j = 0; j <= b_length; j++) row[j] = j;
  for (size_t i = 1; i <= a_length; i++) {
    size_t *free_row = before;
    before = above;
    above = row;
    row = free_row;
    row[0] = i;
    for (size_t j = 1; j <= b_length; j++) {
      char x = suggest_plain(a[i - 1]), y = suggest_plain(b[j - 1]);
      row[j] = suggest_least(above[j - 1] + (x != y), suggest_least(above[j], row[j - 1]) + 1);
      if (i > 1 && j > 1 && x == suggest_plain(b[j - 2]) && suggest_plain(a[i - 2]) == y) {
        row[j] = suggest_least(row[j], before[j - 2] + 1);
      }
    }
  }
  return row[b_length];
}

halo_suggestion halo_suggestion_begin(const char *word, size_t length) {
  return (halo_suggestion){.word = word, .length = length};
}

void halo_suggestion_offer(halo_suggestion *s, const char *name) {
  size_t length = strlen(name), most = (s->length + 1) / 3;
  if (s->length > HALO_SUGGEST_MAX || length > HALO_SUGGEST_MAX) return;
  size_t distance = suggest_distance(s->word, s->length, name, length);
  if (distance <= most && (!s->best || distance < s->distance)) {
    s->best = name;
    s->distance = distance;
  }
  enum { CONTINUED = 3 }; /* letters from which on a word's beginning says which it is */
  bool begins = s->length >= CONTINUED && length > s->length &&
                suggest_distance(s->word, s->length, name, s->length) == 0;
  if (begins && !s->continued) s->continued = name;
}

const char *halo_suggestion_best(const halo_suggestion *s) {
  return s->best ? s->best : s->continued;
}
