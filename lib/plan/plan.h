/* SPDX-License-Identifier: Apache-2.0 */
/* plan/plan.h: a compiled program as data: an ordered list of steps over buffers. It knows no HLO.
 *
 * Buffers are numbered. Arguments and results are caller-visible blocks; temporaries are offsets in a
 * few arenas that live for one execution; constants are offsets in one block that lives as long as
 * the program. */
#ifndef HALO_PLAN_PLAN_H
#define HALO_PLAN_PLAN_H

#include "base/arena.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "kernel/kernel.h"
#include "kernel/prelude.h"
#include "shape/literal.h"

#include <stdatomic.h>

typedef enum halo_place {
  HALO_PLACE_NONE,     /* no elements, or never used */
  HALO_PLACE_ARGUMENT, /* number `index` of the flat arguments */
  HALO_PLACE_RESULT,   /* number `index` of the flat results */
  HALO_PLACE_TEMP,     /* `offset` in arena `index` */
  HALO_PLACE_CONSTANT  /* `offset` in the constants */
} halo_place;

typedef struct halo_plan_buffer {
  halo_place place;
  int32_t index;
  int64_t offset, size; /* bytes */
  /* Steps (numbered in execution order, nested ones included) between which it is used; only while
   * the plan is being made. */
  int32_t first, last;
  bool moves;       /* it changes places with another: see halo_plan_exchange */
  const char *name; /* of the value, for people */
} halo_plan_buffer;

typedef struct halo_step halo_step;
typedef struct halo_steps {
  halo_step *data;
  int32_t count, capacity;
  const char *label; /* of a list within a step, for people: "body", "branch 0" */
} halo_steps;

typedef enum halo_step_kind {
#define HALO_STEP(KIND, name, is_command) HALO_STEP_##KIND,
#include "plan/steps.def"
#undef HALO_STEP
} halo_step_kind;

typedef struct halo_plan_arg {
  int32_t buffer;
  int32_t element_size; /* offsets are handed to kernels in elements */
  bool written;
} halo_plan_arg;

/* What a kernel gets by value; these come behind the buffers. */
typedef struct halo_plan_value {
  halo_argument_value what;
  int32_t size;   /* bytes: 4 or 8 */
  int64_t number; /* of HALO_VALUE_NUMBER and HALO_VALUE_TIME */
} halo_plan_value;

/* A value that a loop carries on, and what a round makes of it. */
typedef struct halo_plan_exchange {
  int32_t state, next; /* buffers */
  int64_t bytes;       /* of each */
} halo_plan_exchange;

struct halo_step {
  halo_step_kind kind;
  int32_t number; /* position in execution order; also its row in profiles */
  const char *label;
  halo_plan_arg *args; /* all that the step itself reads and writes */
  int32_t arg_count;
  int32_t
      whole_count; /* of the last args: buffers that begin at offset 0, and have none as an argument */
  halo_steps *lists; /* steps within the step, in the order of their numbers */
  int32_t list_count;
  /* kernel */
  int32_t unit;       /* that holds the kernel; -1 when the step has none */
  const char *kernel; /* its name there, "u@_k0_row": see halo_plan_unit */
  halo_grid grid;     /* of a kernel */
  bool
      ordered; /* others are to come before or behind it that share nothing with it: it keeps its place */
  halo_plan_value *values;
  int32_t value_count;
  uint64_t in_place;                     /* bit i: args[i] may share the output's buffer */
  const struct halo_gemm *gemm;          /* of kernels/dot/gemm.h */
  const struct halo_custom_site *custom; /* of custom/custom.h */
  int64_t delta;                         /* random: the state goes on by so much */
  double seconds;                        /* that a launch is expected to take */
  double operations;                     /* simple ones, of an elementwise kernel; -1: not known */
  int64_t bytes;                         /* read and written at least; of a copy, what it copies */
  int64_t flops;                         /* this and bytes: INT64_MAX when that is not enough */
  /* while: the lists are condition and body, args[0] is the predicate that the condition leaves behind;
   * trips >= 0: known beforehand, then there is neither predicate nor condition.
   * conditional: the lists are the branches, args[0] is the selector. */
  int64_t trips;
  bool goes_on; /* while: mostly no round is needed, of what is begun before it */
  /* while: at the end of a round these buffers change places, with what is in them; behind the loop, all are
   * where they were before, and what is in `next` is not needed. */
  halo_plan_exchange *exchanges;
  int32_t exchange_count;
  bool selector_is_pred;
  /* done: the number of the start that it ends. Until then the start's steps may run, whatever their
   * numbers say, so that all they use stays as it is. */
  int32_t ends;
  /* in, out: what is exchanged, by which channel; -1: the device's queue. */
  const halo_shape *host_shape;
  int64_t channel;
  const struct halo_plan_collective *collective;
};

/* Whether a launch is of a region that leaves after some time, and by which budget of the plan, in nanoseconds (NULL: whatever). */
bool halo_step_leaves(const halo_step *step, int64_t *budget);

typedef struct halo_plan_constant {
  int64_t offset;
  halo_literal *literal; /* reference held by the plan */
} halo_plan_constant;

/* The kernels of one fusion, which equal fusions share. The hole HALO_UNIT in their texts and names stands for the unit's
 * number in whatever program it becomes a part of. */
typedef struct halo_plan_unit {
  const halo_kernel *const *kernels;
  int32_t kernel_count;
  halo_sections sections; /* of the prelude that they need */
  uint64_t key[2];        /* of the kernels and these */
  bool of_steps;          /* its kernel is a region or a bundle */
} halo_plan_unit;

/* Work items of a group that a device gives the kernels of a fusion's unit. */
typedef struct halo_plan_limit {
  uint64_t key[2]; /* of the unit */
  size_t most;
} halo_plan_limit;

/* Smaller groups than kernels are written for, which a device turned out to give them when they were built. All zeros: none. */
typedef struct halo_plan_limits {
  HALO_VEC(halo_plan_limit) units;
  size_t regions; /* work items of a group of regions; 0: any number */
  bool grew;      /* halo_plan_limits_add sets it */
  bool again;     /* a plan was made before */
} halo_plan_limits;

/* How bytes move between the devices that run a program, which are numbered replica by replica. A group is
 * members[starts[g]] to members[starts[g + 1] - 1]; each device is in one at most. */
typedef enum halo_collective_kind {
  HALO_COLLECTIVE_GATHER,    /* args[1] is the members' args[0], one behind the other */
  HALO_COLLECTIVE_SWAP,      /* piece i of args[0] goes to member i, args[1] is what they send */
  HALO_COLLECTIVE_BROADCAST, /* args[1] is the first member's args[0] */
  HALO_COLLECTIVE_PERMUTE, /* groups are pairs of a sender and a receiver; a device may be in two */
  HALO_COLLECTIVE_RAGGED /* args: rows sent and result, then s64 [members, updates]: from which row, how
                            * many, to which row of the receiver's */
} halo_collective_kind;
/* What the host does with the pieces that a member has from all: it combines elements in the group's order, one
 * after the other; `HALO_FOLD_NONE`: nothing, they lie one behind the other. */
typedef enum halo_fold_op {
  HALO_FOLD_NONE,
  HALO_FOLD_ADD,
  HALO_FOLD_MULTIPLY,
  HALO_FOLD_MAXIMUM,
  HALO_FOLD_MINIMUM,
  HALO_FOLD_AND,
  HALO_FOLD_OR,
  HALO_FOLD_XOR
} halo_fold_op;

/* The result is zeros for a device that nothing is sent to by a broadcast or a permutation. */
typedef struct halo_plan_collective {
  halo_collective_kind kind;
  halo_fold_op fold;   /* of a gather or swap: args[1] is what that makes of the members' pieces */
  halo_type fold_type; /* of their elements */
  bool fold_pairs;     /* pairs of neighbours are combined first, then pairs of these and so on */
  uint32_t op;         /* its number, the same on all devices */
  const char *what;    /* for people: "all-reduce sum.3 (channel 1)" */
  const int32_t *starts, *members;
  int32_t group_count;
  int64_t row_bytes, row_count, result_rows, updates; /* ragged */
} halo_plan_collective;

/* Memory for temporaries. */
typedef struct halo_plan_arena {
  int64_t size; /* bytes */
  int32_t
      result; /* in whose memory it lies before that is written, where that is the result's own; -1: none */
} halo_plan_arena;

/* Does not change once it is made. */
typedef struct halo_plan {
  halo_arena arena;
  atomic_int owners; /* besides the first */
  const char *name;
  HALO_VEC(halo_plan_unit) units; /* OpenCL C of all kernels */
  halo_steps steps;
  /* Seconds that a run is expected to take beside launching, less what it would wait for where the device has
   * threads of its own; < 0: nobody knows, or it needs the host for more than computing. What may go on after a
   * while counts only until then. */
  double work;
  int32_t step_count; /* nested ones included: numbers run from 0 */
  HALO_VEC(halo_plan_buffer) buffers;
  HALO_VEC(halo_plan_arena) arenas;
  HALO_VEC(halo_plan_constant) constants;
  int64_t constant_bytes;
  HALO_VEC(const struct halo_custom_site *) calls; /* of steps, whose states are the plan's */
  const halo_shape **arguments;                    /* flat, layouts included; tokens left out */
  int32_t argument_count;
  const halo_shape **results;
  int32_t result_count;
  /* The last arguments and results, which callers do not see: s32 scalars, the sizes of the dynamic
   * dimensions of those before them, in order. */
  int32_t size_argument_count, size_result_count;
  bool is_shared;          /* some step is a collective of several devices */
  int32_t *result_buffers; /* buffer of each result: a RESULT of its own, or an ARGUMENT to share */
  int32_t *result_alias;   /* argument that a donated result may take over, or -1 */
  bool *result_offered;    /* whether the module itself offers that argument */
  const char *explain;
} halo_plan;

/* The arguments and results that callers see. */
static inline int32_t halo_plan_visible_arguments(const halo_plan *plan) {
  return plan->argument_count - plan->size_argument_count;
}
static inline int32_t halo_plan_visible_results(const halo_plan *plan) {
  return plan->result_count - plan->size_result_count;
}

/* "kernel", "library", "copy", ...: the names in steps.def. Static. */
const char *halo_step_kind_name(halo_step_kind kind);
/* Whether the step is one command to the device, and so can be timed. */
bool halo_step_is_command(const halo_step *step);

halo_plan *halo_plan_create(void);
void halo_plan_retain(halo_plan *plan);
void halo_plan_release(halo_plan *plan);
/* Appends the OpenCL C of `count` units (all of the plan's when `units` is NULL) as one program. */
void halo_plan_source(halo_strbuf *out, const halo_plan *plan, const int32_t *units, int32_t count);
/* The kernel that a step launches, or NULL. */
const halo_kernel *halo_plan_kernel(const halo_plan *plan, const halo_step *step);
/* Appends a kernel's name in a program in which its unit has this number. */
void halo_plan_kernel_name(halo_strbuf *out, const char *kernel, int32_t number);
/* Notes that a unit's kernels get groups of `most` work items. False: this was known. */
bool halo_plan_limits_add(halo_plan_limits *limits, const halo_plan_unit *unit, size_t most);
/* The groups that the kernels of the unit of this key get; 0: nothing is known. */
size_t halo_plan_limits_find(const halo_plan_limits *limits, const uint64_t key[2]);
void halo_plan_limits_deinit(halo_plan_limits *limits);
/* Bytes of a unit's text. */
size_t halo_plan_unit_bytes(const halo_plan_unit *unit);
/* The plan as text: buffers, then steps. */
void halo_plan_print(halo_strbuf *out, const halo_plan *plan);

/* What a run takes: floating-point operations, which are simple operations where a kernel has neither products nor
 * sums, and bytes read and written. */
typedef struct halo_plan_work {
  double flops, traffic;
} halo_plan_work;
/* Of a step with all that is in it: of a loop as many rounds as are known beforehand, or one, and of a conditional
 * the branch that takes most. */
halo_plan_work halo_step_work(const halo_step *step);

/* Puts each step, nested ones included, at its number; other places are left alone. */
void halo_plan_index_steps(halo_steps *steps, halo_step **by_number);

/* Assigns offsets to temporaries (assign.c): values that are never alive together share memory.
 * `max_arena` limits one arena's size, but that of a value which alone is larger: the driver may give as much nevertheless.
 * HALO_OUT_OF_MEMORY when one is larger than all the device's `memory`. */
halo_status halo_plan_assign(halo_plan *plan, int64_t alignment, int64_t max_arena, int64_t memory);
/* Assigns offsets to `count` of the temporaries within one piece of memory, and returns its bytes. */
int64_t halo_plan_assign_part(halo_plan *plan, const int32_t *buffers, int32_t count,
                              int64_t alignment);

#endif
