/* SPDX-License-Identifier: Apache-2.0 */
/* plan/region_text.h: the kernel of a region. Private to this room. */
#ifndef HALO_PLAN_REGION_TEXT_H
#define HALO_PLAN_REGION_TEXT_H

#include "plan/lowering.h"

/* What one step costs within a region. */
typedef struct region_price {
  const char *why;            /* it cannot be in a region; NULL: it can */
  bool endless;               /* nobody knows how long it takes */
  int32_t steps;              /* itself and within */
  int32_t loops;              /* places within where it may go on: loops, and what the host does */
  int32_t calls;              /* of these: see region_is_hosted */
  int32_t depth;              /* of loops */
  int64_t private_bytes;      /* arrays that a work item of the kernels has, all together */
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
  bool *is_own; /* by buffer: it lies in the memory of a region's own ones, at its offset */
} region_state;

/* More steps make long kernels, which take long to build: it is worth more where there are rounds. */
enum { REGION_STEPS = 256 };

/* Buffers that a region has beside those of its steps: what says where it goes on, and what the host is to do; and that it adds to
 * a plan, with its own memory and the constants. */
enum { REGION_PLACES = 2, REGION_ADDED = 4 };

/* ---- Prices of steps: region_price.c ---- */

/* Whether the region leaves this branch of a conditional to the host, and goes on behind the conditional: it calls a function,
 * as for an error that mostly does not happen. Another branch must not. */
bool region_is_hosted(const halo_step *conditional, int32_t branch);
region_price region_price_step(const region_state *e, const halo_step *step);
region_price region_price_list(const region_state *e, const halo_steps *steps);
/* Adds the price of a step to that of the steps before it. */
void region_add_price(region_price *sum, const region_price *one);
/* Seconds until the host knows what the device has found out. */
double region_wait(const region_state *e);

/* Steps that are to become a region. */
typedef struct region_run {
  const halo_step *steps;
  int32_t count;
  int32_t place; /* buffer that says where to go on; -1: it always runs to its end */
  int32_t
      called; /* with `calls`: buffer with the number of the branch that the host is to do (s32, from 1); 0: none */
  /* Buffers with what is packed, -1 where nothing is: temporaries that only the region uses, and all constants. */
  int32_t own, constants;
} region_run;

/* ---- Buffers: region_pack.c ---- */

/* Buffers of a run of steps, which is put together from its last step on. */
typedef struct region_buffers {
  int32_t last;  /* number at which what belongs to the run ends */
  int32_t all;   /* distinct ones */
  int32_t fixed; /* that have to be arguments of their own, however far the run reaches back */
  int32_t
      packed; /* that need not be, of the run as it is: temporaries that it alone uses, and constants */
} region_buffers;

/* Begins to count those of a run that ends with steps->data[end]; no other may be begun until it is counted. */
void region_begin_buffers(region_state *e, region_buffers *sum, const halo_steps *steps,
                          int32_t end);
/* Adds those of the step before. */
void region_add_buffers(region_state *e, region_buffers *sum, const halo_step *step);
/* Whether a kernel has room for the buffers; `exceed`: neither for those of a longer run with the same end. */
bool region_buffers_fit(const region_state *e, const region_buffers *sum);
bool region_buffers_exceed(const region_state *e, const region_buffers *sum);
/* Whether that takes packing. */
bool region_is_packed(const region_state *e, const region_buffers *sum);
/* Packs the buffers of the run that was counted last: sets its `own` and `constants`. */
void region_pack(region_state *e, region_run *run);

/* ---- The kernel: region_text.c ---- */

/* Bytes of the buffer: first a byte that is 1 when the region has not come to its end, at 4 the number of
 * the loop to go on with, then the rounds that this one and those around it have done. */
enum { REGION_DEPTH = 6, REGION_PLACE_BYTES = 8 + 8 * REGION_DEPTH };

typedef struct region_kernel {
  const char *name;
  int32_t unit, arg_count;
  halo_plan_arg *args;
} region_kernel;

/* The kernel, and a unit of the plan for it. With a place it has two arguments more, by value: whether it goes
 * on (an int), and after how many nanoseconds by its own count it leaves (a long). */
region_kernel region_make_kernel(const region_state *e, const region_run *run);

#endif
