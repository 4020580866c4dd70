/* SPDX-License-Identifier: Apache-2.0 */
/* plan/lowering.h: what the files of lowering share: its state, and the makers of buffers, steps and
 * values. Private to this room. */
#ifndef HALO_PLAN_LOWERING_H
#define HALO_PLAN_LOWERING_H

#include "base/map.h"
#include "base/pointer_map.h"
#include "hlo/hlo.h"
#include "kernels/kernels.h"
#include "plan/plan.h"

typedef struct lower_state {
  halo_plan *plan;
  const halo_caps *caps;
  const char *kernels;
  const halo_plan_limits *limits; /* or NULL */
  halo_strbuf explain;
  halo_map units;           /* text and sections of a unit -> its number + 1 */
  halo_arena texts;         /* of all units, until lower_keep_texts */
  halo_map constants;       /* literal -> its number in plan->constants + 1 */
  halo_pointer_map starts;  /* async-start -> the number of its step + 1 */
  halo_pointer_map reads;   /* while -> which elements of its state are read behind it */
  halo_pointer_map ordered; /* instructions with control edges */
  int32_t clock;
  int32_t *bundle_sizes; /* of launches, by step, or NULL: see lower_bundle_sizes */
  halo_target one_group; /* of the device, within a region: see lower_begin_regions */
  bool has_regions;      /* which are worth having implementations that they can hold */
} lower_state;

enum { LOWER_NO_BUFFER = -1 };

/* ---- lower_buffer.c: buffers and the values of instructions ---- */

int32_t lower_buffer(lower_state *s, halo_place place, int32_t index, int64_t size,
                     const char *name);
int32_t lower_temp(lower_state *s, const halo_shape *shape, const char *name);
/* Notes that a step uses a buffer. */
void lower_touch(lower_state *s, int32_t buffer, int32_t step);
/* Buffers of an instruction's leaves live in its `data` while its computation is walked: makes room
 * for them, and reads them. */
int32_t *lower_leaves(lower_state *s, halo_instr *instr);
static inline const int32_t *lower_value(const halo_instr *instr) { return instr->data; }
/* The leaves of a shape, in the plan's arena; tokens included. */
const halo_shape **lower_leaf_shapes(lower_state *s, const halo_shape *shape, int32_t *count);
/* The buffer of an array constant, and those of a constant of any shape (their number is given). */
int32_t lower_constant_leaf(lower_state *s, halo_literal *literal, const char *name);
int32_t lower_constant(lower_state *s, halo_literal *literal, const char *name, int32_t *leaves);

/* ---- lower_step.c: steps ---- */

/* A new step at the end of a list; the pointer is good until the next one is added to it. */
halo_step *lower_step(lower_state *s, halo_steps *steps, halo_step_kind kind, const char *label);
/* The name of the value that a step makes: its label without what makes it. */
const char *lower_value_name(const lower_state *s, const halo_step *step);
/* Gives a step empty lists of steps. */
halo_steps *lower_lists(lower_state *s, halo_step *step, int32_t count);
void lower_set_args(lower_state *s, halo_step *step, int32_t count);
void lower_arg(lower_state *s, halo_step *step, int32_t i, int32_t buffer, size_t element,
               bool written);
/* The step that puts the random state into the instruction's value. */
void lower_random(lower_state *s, halo_instr *instr, halo_steps *steps);
/* Nothing where nothing has to be copied. */
void lower_copy(lower_state *s, halo_steps *steps, int32_t from, int32_t to, const char *label);

/* A count as a whole number; INT64_MAX when that is not enough. */
static inline int64_t lower_saturated(double count) {
  return count < 9223372036854775807.0 ? (int64_t)count : INT64_MAX;
}

enum { LOWER_ROUNDS = 16 /* of a loop of unknown length, as a guess */ };

/* Work items of a kernel or copy. */
double lower_items(const halo_step *step);

/* Seconds of a step's work itself, without its launch, if `items` of its work items run side by side: all of them when it
 * is launched on its own, those of a group within a region. The target's figures are those of memory and of one
 * operation after the other: what lies in the caches of a CPU is moved several times as fast, and compilers make
 * vectors of what is computed element by element. */
double lower_work(const halo_target *target, const halo_caps *caps, const halo_step *step,
                  double items);

/* ---- One kind of instruction each ---- */

/* lower_kernel.c: what kernels compute: fusions, and instructions that fusion left alone. */
halo_status lower_compute(lower_state *s, halo_instr *instr, halo_steps *steps);
/* ---- lower_units.c: units as parts of others, and numbers ---- */

/* The unit of these kernels: an equal one that is there, or a new one. */
int32_t lower_unit(lower_state *s, const halo_kernel *const *kernels, int32_t count,
                   halo_sections sections);
/* The key of such a unit; `key` is zero before. */
void lower_unit_key(uint64_t key[2], const halo_kernel *const *kernels, int32_t count,
                    const halo_sections *sections);
/* The unit of a kernel that is no part of others, a region or a bundle, of which all is filled in but what halo_kernel_make
 * does. */
int32_t lower_own_unit(lower_state *s, const halo_kernel *kernel, halo_sections sections);
/* Appends the kernels of a unit as functions of a work item's place, whose groups are of one work item if it is `alone`;
 * `number` stands for the unit's. The caller's facts include their private memory, and the largest of their blocks of local memory. */
void lower_unit_functions(halo_strbuf *out, const halo_plan_unit *unit, const char *number,
                          bool single_items, halo_kernel_facts *facts);
/* A name of a unit among such functions. */
void lower_unit_name(halo_strbuf *out, const char *name, const char *number);
/* By unit: work items of its kernels share nothing, in whatever groups, or, on CPUs, are alone in theirs; or, elsewhere, the kernels are
 * for groups of `group` work items, which get their local memory from outside (lower_is_in_group); 0: there are no such groups. To
 * be freed. */
bool *lower_plain_units(const lower_state *s, size_t group);
/* Whether the step's kernel has all its local memory in a block, so that as a function it is one of HALO_FORM_IN_GROUP. */
bool lower_is_in_group(const lower_state *s, const halo_step *step);
/* Whether a kernel step can be such a function: known numbers are all it gets by value. */
bool lower_is_plain(const bool *plain_units, const halo_step *step);
/* Whether all that the kernel writes is so narrow that loops over its items begin with a hidden 0 (h_zero in scalar.cl). */
bool lower_is_narrow(const halo_step *step);
/* Whether the code of the step's unit has loops. */
bool lower_has_loops(const lower_state *s, const halo_step *step);
/* Leaves out units that no step has any more. No units can be added behind this. */
void lower_drop_units(halo_plan *plan);
/* Copies the texts of the plan's units from the lowering's memory into the plan's. */
void lower_keep_texts(halo_plan *plan);
/* Numbers all steps anew, in the order of execution: for when no buffer's lifetime is needed any more. */
void lower_number_steps(halo_plan *plan);
/* lower_touched.c: bytes of a fusion's operands, leaf by leaf, that it reads at most; and of a result that it
 * writes over an operand's memory. INT64_MAX where that may be all of them. */
const int64_t *lower_inputs_touched(lower_state *s, const halo_computation *body);
int64_t lower_output_touched(const halo_computation *body, int32_t leaf);
/* lower_control.c */
halo_status lower_while(lower_state *s, halo_instr *instr, halo_steps *steps);
halo_status lower_conditional(lower_state *s, halo_instr *instr, halo_steps *steps);
/* lower_custom_call.c */
halo_status lower_custom_call(lower_state *s, halo_instr *instr, halo_steps *steps);
/* The host's call of `call`, the root of the body of the fusion `instr`, whose operands are parameters of that body. */
halo_status lower_host_call(lower_state *s, halo_instr *instr, const halo_instr *call,
                            halo_steps *steps);
/* lower_async.c: asynchronous pairs. */
halo_status lower_async(lower_state *s, halo_instr *instr, halo_steps *steps);
/* HALO_UNIMPLEMENTED, with a name, where something other than a done uses a start. */
halo_status lower_check_pairs(const halo_computation *computation);
/* Puts starts as early and dones as late in a computation as their operands and users allow. */
void lower_spread_pairs(halo_computation *computation);
/* What steps of a start use is theirs until its done: to be called when no steps go any more. */
void lower_hold_pairs(halo_plan *plan);
/* lower_host.c: exchange with the host. */
halo_status lower_host(lower_state *s, halo_instr *instr, halo_steps *steps);

/* lower_collective.c: what moves between devices. */
halo_status lower_collective(lower_state *s, halo_instr *instr, halo_steps *steps);

/* ---- lower_dead.c: what loops of known length need not compute ---- */

/* To be called of a computation before its loops are walked. */
void lower_note_reads(lower_state *s, const halo_computation *computation);
/* Which elements of the state anybody needs when the condition is not asked, NULL: all; what of the body nobody
 * needs is dead until it has been walked. Uses the `mark` and `data` of the body. */
const bool *lower_find_live(lower_state *s, const halo_instr *loop);
bool lower_is_dead(const halo_instr *instr);
/* Instead of walking it: its value has no buffers. */
void lower_dead(lower_state *s, halo_instr *instr);

/* ---- exchange.c: loops whose state is not copied ---- */

/* Copies at the end of a round, of what nobody needs otherwise, become exchanges of places. To be called when
 * buffers have been merged. */
void lower_exchanges(lower_state *s);
/* The last number in a step. */
int32_t lower_last_number(const halo_step *step);

/* ---- lower.c: the walk ---- */

/* Appends the steps of a computation whose parameters' leaves are `params`; *out_root receives the
 * leaves of its root. */
halo_status lower_computation(lower_state *s, halo_computation *computation, const int32_t *params,
                              halo_steps *steps, const int32_t **out_root);

/* ---- lower_entry.c: what the caller of a program sees ---- */

/* Buffers of the entry's parameters, one a leaf. */
void lower_arguments(lower_state *s, const halo_module *module, int32_t **out);
void lower_results(lower_state *s, const halo_module *module, const int32_t *root);

/* ---- limits.c ---- */

/* HALO_UNIMPLEMENTED, naming the step, the rule and the device, where its driver would refuse a launch of the plan. */
halo_status lower_check_limits(const halo_plan *plan, const halo_caps *caps);

#endif
