/* SPDX-License-Identifier: Apache-2.0 */
/* tools/check.h: the programs that `halo check` runs; tools/check/ has their text. */
#ifndef HALO_TOOLS_CHECK_H
#define HALO_TOOLS_CHECK_H

/* The difference that a result may have, unless it is a function's. */
typedef enum check_differences {
  CHECK_RELATIVE,   /* a little, relative to each element */
  CHECK_BY_LARGEST, /* the same, relative to the largest element of the result: where terms cancel */
  CHECK_EQUAL,      /* nothing */
} check_differences;

typedef struct check_program {
  const char *file, *title; /* "reduce", "reductions" */
  const char *inputs;       /* what the parameters are, as recipes ("random:-1:1"), in order */
  const char *
      functions; /* NULL, or the function that each result is, which is judged by docs/accuracy.md */
  check_differences differences;
  const char *text; /* HLO; its result is a tuple */
} check_program;

/* Ends with a row of zeros. */
extern const check_program check_programs[];

#endif
