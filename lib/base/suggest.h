/* SPDX-License-Identifier: Apache-2.0 */
/* base/suggest.h: "did you mean": the known name that a misspelt one resembles most. */
#ifndef HALO_BASE_SUGGEST_H
#define HALO_BASE_SUGGEST_H

#include <stddef.h>

/* Names longer than this resemble none. */
enum { HALO_SUGGEST_MAX = 63 };

/* A search among known names. Begin it, offer every name, then ask for the best:
 *
 *   halo_suggestion s = halo_suggestion_begin(word, length);
 *   for (...) halo_suggestion_offer(&s, names[i]);
 *   const char *name = halo_suggestion_best(&s);
 *
 * Letters compare whatever their case, and '-' and '_' are the same. Up to a third of the letters
 * may be wrong, missing, added or swapped with their neighbour. If no name is that near, the first
 * one offered that begins with the word counts ("expo" is exponential). */
typedef struct halo_suggestion {
  const char *word; /* not owned */
  size_t length;
  const char *best;      /* of those that are near enough; NULL: none yet */
  size_t distance;       /* its distance */
  const char *continued; /* the first that begins with the word; NULL: none yet */
} halo_suggestion;

/* The word needs no NUL behind it; it must outlive the search. */
halo_suggestion halo_suggestion_begin(const char *word, size_t length);
/* The name must outlive the search. Of equally near ones the first offered wins. */
void halo_suggestion_offer(halo_suggestion *s, const char *name);
/* One of the names offered, or NULL. */
const char *halo_suggestion_best(const halo_suggestion *s);

#endif
