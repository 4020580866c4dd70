/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/comparator.h: what a sort's comparator compares. */
#ifndef HALO_HLO_COMPARATOR_H
#define HALO_HLO_COMPARATOR_H

#include "hlo/hlo.h"

enum { HALO_COMPARATOR_KEYS = 4 };

/* One key: a scalar computed from the values at one place alone. */
typedef struct halo_sort_key {
  const halo_instr
      *value; /* in the comparator; `side` says which parameters it reads: 0 even, 1 odd */
  int side;
  bool descending;
  halo_compare_type compare;
} halo_sort_key;

/* Whether the comparator says that the keys of one place come, lexicographically, before the same keys of
 * the other: "f(a) < f(b)" or, of several, "f(a) < f(b) or f(a) = f(b) and g(a) < g(b)". `keys`
 * [HALO_COMPARATOR_KEYS] are from the most significant one on; their number is returned, 0 when the
 * comparator is none of this kind. Keys are real numbers or pred. */
int32_t halo_comparator_keys(const halo_computation *comparator, halo_sort_key *keys);

/* Whether anything in the comparator reads parameter `number`. */
bool halo_comparator_reads(const halo_computation *comparator, int64_t number);

#endif
