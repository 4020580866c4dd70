/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/loop/loop.h: what the forms of loops over elements share: forms.c, which has their table, and loop.c, which
 * writes those that are not in files of their own. */
#ifndef HALO_KERNELS_LOOP_LOOP_H
#define HALO_KERNELS_LOOP_LOOP_H

#include "kernels/families.h"
#include "kernels/kernels.h"

/* Elements that one work item computes in lines: those of a cache line of 4-byte values. */
enum { LOOP_LINE = 16 };

/* How the elements are shared out. */
typedef struct loop_shape {
  int64_t items;
  int64_t row;         /* its elements; 0: no rows */
  bool line;           /* a work item computes LOOP_LINE neighbours and stores them as one */
  bool stream;         /* past the caches */
  int lanes;           /* neighbours that a work item loads and stores as vectors; 1: one element */
  uint64_t transposed; /* inputs of which lines turn rows of 16 words over, by number */
} loop_shape;

/* Bytes of all results together, and of the narrowest element. */
int64_t loop_result_bytes(const halo_lowering *l, size_t *narrowest);
/* Whether everything is done at the position that is written, so that the code depends on no extent: elementwise
 * operations of one shape, and scalars. */
bool loop_is_flat(const halo_computation *body);
/* Whether there is so much arithmetic that compilers find pairs of like operations in one element, as the parts of a
 * complex number are, which keeps them from making vectors of neighbours across work items (LLVM looks for pairs
 * first). In a loop over neighbours they see those first. */
bool loop_has_pairs(const halo_lowering *l, int64_t items);
/* Inputs of rows of 16 words, of which elements read several each: loaded one by one by neighbours, these come from as
 * many lines of memory. */
uint64_t loop_transposed_inputs(const halo_lowering *l, int64_t items);
/* How many neighbours a work item of a GPU takes: its compilers make no vectors across work items, and
 * narrow loads leave most of the bus idle. On CPUs, whose compilers do, it is slower. Buffers begin at
 * places where any vector may (halo_plan_assign), and their sizes are whole vectors. 1: not several. */
int loop_lanes(const halo_lowering *l, int64_t items);

/* All results at a position, which is read everywhere before it is written. */
void loop_emit_element(const halo_lowering *l, halo_emitter *e, const halo_integer *at);
/* The kernel of what was emitted, called `form`, which reports name "loop" and `how`. A work item reads everything before
 * it writes. */
halo_launch *loop_add(halo_lowering *l, halo_emitter *e, const char *form, const char *how);
/* A kernel for elements that are shared out so. */
halo_status loop_lower_shape(halo_lowering *l, const loop_shape *s);

#endif
