/* SPDX-License-Identifier: Apache-2.0 */
/* partition/ops.h: writing single operations for one partition. */
#ifndef HALO_PARTITION_OPS_H
#define HALO_PARTITION_OPS_H

#include "partition/spmd.h"

/* Axes for each factor of a rule: over which an operation is computed. In the pass's arena. */
halo_spmd_assignment *halo_spmd_assign(halo_spmd *p, const halo_instr *instr);
/* How a tensor must lie for that. */
halo_spmd_sharding halo_spmd_needed(halo_spmd *p, const halo_spmd_rule *rule, int32_t tensor,
                                    const halo_spmd_assignment *axes);
/* The axes over which summands are spread. */
uint32_t halo_spmd_summed(const halo_spmd_rule *rule, const halo_spmd_assignment *axes);

/* One operation while it is written. */
typedef struct halo_spmd_site {
  halo_spmd *p;
  halo_instr *instr; /* as it was */
  const halo_spmd_rule *rule;
  const halo_spmd_assignment *axes;
  halo_instr **operands;   /* each partition's part; may be replaced */
  const halo_shape *shape; /* of the result, likewise */
  halo_attr *attrs;        /* a copy, without the sharding; payloads may be replaced */
  int32_t attr_count;
  uint32_t summed;
} halo_spmd_site;

/* Writes the operation from what the site holds; NULL after a failure. */
typedef halo_instr *halo_spmd_op_fn(halo_spmd_site *s);
halo_spmd_op_fn halo_spmd_plain, halo_spmd_iota, halo_spmd_slice, halo_spmd_dynamic_slice,
    halo_spmd_reduce;                           /* ops.c */
halo_spmd_op_fn halo_spmd_gather;               /* indexed.c */
halo_spmd_op_fn halo_spmd_scatter;              /* scatter.c */
halo_spmd_op_fn halo_spmd_dynamic_update_slice; /* windows.c */
halo_spmd_op_fn halo_spmd_convolution, halo_spmd_reduce_window, halo_spmd_pad,
    halo_spmd_rotate;              /* borders.c */
halo_spmd_op_fn halo_spmd_batched; /* batch.c */

/* A window of the site's first operand while it is written over. */
typedef struct halo_spmd_window {
  halo_spmd_site *s;
  halo_instr *operand; /* this partition's part */
  /* The window, with as many dimensions: all of it along those of which it has a part. */
  halo_instr *update;
  const int64_t *extents; /* [rank] of all of the window */
  halo_instr **starts;    /* [rank] where it begins in all of the array: s32[] or s64[] */
  halo_instr *valid;      /* pred[]: whether there is a window at all; NULL: there is */
  halo_opcode combiner;   /* of what is there and the update; HALO_OP_COPY: the update alone */
} halo_spmd_window;

/* This partition's part with what of the window lies in it, which begins where dynamic-update-slice would have it. The window is
 * cut along one dimension at least of which it has a part. windows.c */
halo_instr *halo_spmd_write_window(halo_spmd_window *w);
/* Indices as numbers from which others can be taken away: wide enough, and signed. */
halo_instr *halo_spmd_widen(halo_spmd *p, halo_instr *indices);
/* An integer as often as `like` has elements, in its type; and whether `low` <= a <= `high`, element by element. */
halo_instr *halo_spmd_splat(halo_spmd *p, const halo_shape *like, int64_t value);
halo_instr *halo_spmd_between(halo_spmd *p, halo_instr *a, int64_t low, int64_t high);

/* The part along a dimension of a tensor that is this partition's: where it begins, s32[] or s64[]. */
halo_instr *halo_spmd_begin(halo_spmd_site *s, int32_t tensor, int dim);
/* A scalar that changes nothing when combined by the root of `combiner`. */
halo_instr *halo_spmd_identity(halo_spmd *p, const halo_computation *combiner);
/* Whether an instruction (as it was) is that scalar, or an array of it. */
bool halo_spmd_is_identity(const halo_instr *instr, const halo_computation *combiner);
/* Sums up what the partitions have, into the sharding of the result's leaf if possible. */
void halo_spmd_define_sum(halo_spmd_site *s, halo_instr *value, halo_computation *combiner);

#endif
