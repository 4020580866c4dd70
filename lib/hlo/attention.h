/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/attention.h: computations of the form softmax(f(Q K)) V: a product that makes rows of scores, anything
 * elementwise that is done to these (a scale, a mask, a bias), the softmax of each row, and a product of these weights
 * with values. Scores, and all that is made of them, are row-major arrays of `rows.outer` rows, whatever their
 * dimensions are. */
#ifndef HALO_HLO_ATTENTION_H
#define HALO_HLO_ATTENTION_H

#include "base/pointer_map.h"
#include "hlo/rows.h"

typedef struct halo_attention_desc {
  const halo_instr *scores;  /* the first product: of queries, its left operand, and keys */
  const halo_instr *product; /* the second one */
  int weights; /* the number of its operand that the weights are; values are the other */
  const halo_instr *logits; /* what the softmax is of: f32, bf16 or f16 */
  const halo_instr *exponential;
  halo_rows rows;
  int64_t group; /* neighbouring rows that have the same keys and values */
  int64_t depth; /* elements of a query and of a key */
  int64_t width; /* elements of a value */
  /* The logit of every key behind a query's own place is this constant; NULL: nothing is known. */
  const halo_instr *behind;
} halo_attention_desc;

/* Whether a dot is the second product of an attention. The set `inner` receives what is computed of the scores,
 * and they themselves; the product is not among them. */
bool halo_attention_match(const halo_instr *product, halo_attention_desc *out,
                          halo_pointer_map *inner, const char **why);
/* Whether a body is an attention, whose result is only moved afterwards (transposed, reshaped). */
bool halo_attention_describe(const halo_computation *body, halo_attention_desc *out,
                             const char **why);
/* Whether what follows an attention only gives its results other places. */
bool halo_attention_moves(const halo_instr *instr);

#endif
