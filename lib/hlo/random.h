/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/random.h: how rng-bit-generator numbers its elements. */
#ifndef HALO_HLO_RANDOM_H
#define HALO_HLO_RANDOM_H

#include "hlo/hlo.h"

/* Values of the attribute `algorithm`: positions in its list of names. */
enum { HALO_RNG_ID_DEFAULT, HALO_RNG_ID_THREEFRY, HALO_RNG_ID_PHILOX };
/* Likewise of `distribution`. */
enum { HALO_RNG_ID_UNIFORM, HALO_RNG_ID_NORMAL };

/* Blocks of random words by counter: two words of 32 bits (Threefry) or four (Philox). */
typedef struct halo_rng_desc {
  const halo_shape *data; /* of the elements */
  bool threefry;
  int64_t words;  /* that an element takes: 2 for 64 bits, else 1 */
  int64_t blocks; /* the counter goes on by so much */
  /* Threefry, elements of one word: neighbours along this dimension, of half its extent, share a block;
   * blocks are numbered row-major in the array of these halves. -1: an element has a block of its own. */
  int split;
} halo_rng_desc;

/* For an rng-bit-generator whose result is (state, data), or the data alone. */
halo_rng_desc halo_rng_desc_of(const halo_instr *instr);

#endif
