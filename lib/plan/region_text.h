/* SPDX-License-Identifier: Apache-2.0 */
/* plan/region_text.h: the kernel of a region. Private to this room. */
#ifndef HALO_PLAN_REGION_TEXT_H
#define HALO_PLAN_REGION_TEXT_H

#include "plan/lowering.h"

/* What one step costs within a region. */
typedef struct region_price {
  const char *why;            /* it cannot be in a region; NULL: it can */
  bool endless;               /* nobody knows how long it takes */
  int32_t steps, loops;       /* itself and within */
  int32_t depth;              /* of loops */
  double as_steps, in_region; /* seconds: as single steps, and within one work group */
  double rounds;              /* of loops that a work item does together: at most, by estimate */
} region_price;

typedef struct region_state {
  lower_state *s;
  const halo_target *target;
  /* By unit: work items of its kernels share nothing, in whatever groups, or are alone in theirs, as is that
   * of the region. */
  bool *unit_is_plain;
  size_t group;   /* work items of the one group */
  double cores;   /* of a CPU */
  double longest; /* seconds that a kernel may take */
  /* Of the region at hand, all 0 between regions. From 1, in the order of use: equal regions have equal
   * texts. */
  int32_t *number_of_unit, *arg_of_buffer;
  int32_t depth;        /* of the list at hand in loops and branches */
  bool forced;          /* by the user: regions wherever they can be */
  int32_t most_buffers; /* of a kernel */
  int32_t *stamps, stamp;
} region_state;

/* More steps make long kernels, which take long to build: it is worth more where there are rounds. */
enum { REGION_STEPS = 64 };

/* ---- Prices of steps: region_price.c ---- */

region_price region_price_step(const region_state *e, const halo_step *step);
region_price region_price_list(const region_state *e, const halo_steps *steps);
/* Adds the price of a step to that of the steps before it. */
void region_add_price(region_price *sum, const region_price *one);
/* Seconds until the host knows what the device has found out. */
double region_wait(const region_state *e);

/* ---- The kernel: region_text.c ---- */

/* Steps that are to become a region. */
typedef struct region_run {
  const halo_step *steps;
  int32_t count;
  int32_t place; /* buffer that says where to go on; -1: it always runs to its end */
} region_run;

/* Bytes of the buffer: first a byte that is 1 when the region has not come to its end, at 4 the number of
 * the loop to go on with, then the rounds that this one and those around it have done. */
enum { REGION_DEPTH = 6, REGION_PLACE_BYTES = 8 + 8 * REGION_DEPTH };

typedef struct region_kernel {
  const char *name;
  int32_t unit, arg_count;
  halo_plan_arg *args;
} region_kernel;

/* The kernel, and a unit of the plan for it. With a place it has one argument more, by value: whether it goes
 * on (an int). */
region_kernel region_make_kernel(const region_state *e, const region_run *run);

#endif
