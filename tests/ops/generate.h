/* SPDX-License-Identifier: Apache-2.0 */
/* generate.h: seeded random programs, with arguments and how far a result may be off. */
#ifndef TESTS_OPS_GENERATE_H
#define TESTS_OPS_GENERATE_H

#include "hlo/hlo.h"

typedef struct halo_test_options {
  int steps;    /* operations to try; 0: chosen by the seed */
  bool whole;   /* only integers and pred: every result exact */
  bool has_f64; /* may use F64 and C128 */
} halo_test_options;

typedef struct halo_test_program {
  halo_module *module; /* verified */
  halo_literal **args; /* [arg_count] */
  int arg_count;
  /* For each leaf of the result, in order, the largest absolute difference (by part, when complex)
   * between two correct evaluations; 0: none, values are equal. Computed while the program is made:
   * each float has a bound of its size and of its error. */
  double *tolerances;
  int leaf_count;
} halo_test_program;

/* The program of a seed; the same for the same seed and options. The module need not be kept with
 * it. NULL with a message (halo_error_message) when the generator made something illegal: a bug of
 * the generator, or of inference. */
halo_test_program *halo_test_generate(uint64_t seed, const halo_test_options *options);
void halo_test_program_release(halo_test_program *program);

#endif
