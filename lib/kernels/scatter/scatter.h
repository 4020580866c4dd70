/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/scatter/scatter.h: what the implementations of scatter share. */
#ifndef HALO_KERNELS_SCATTER_SCATTER_H
#define HALO_KERNELS_SCATTER_SCATTER_H

#include "kernels/helpers.h"

/* A dimension that is walked: of the indices (which window), or of windows (where in it). */
typedef struct halo_scatter_dim {
  int64_t size;
  int updates; /* its number in the updates, */
  int other;   /* and in the indices; for one of windows in the array */
  bool free;   /* at different positions along it, different elements of the array are met */
} halo_scatter_dim;

/* What a scatter's attributes say. */
typedef struct halo_scatter_desc {
  const halo_instr *scatter;
  int32_t arity; /* arrays, updates and results */
  const halo_shape *array, *indices, *updates;
  halo_scatter_dim batch[HALO_MAX_RANK], window[HALO_MAX_RANK];
  int batch_rank, window_rank, vector_dim;
  int64_t extent[HALO_MAX_RANK]; /* of a window along the array's dimensions */
  const int64_t *map, *array_batching, *indices_batching;
  int32_t map_count, batching_count;
  int split; /* the dimension of the array, indexed and one element thick, that is cut into parts; -1 */
  int64_t groups, steps; /* windows: products of free and of other dimensions */
  int64_t strip, inner;  /* elements of a window, likewise */
} halo_scatter_desc;

/* The updates of scatter:sorted, and their order (sorted.c). */
typedef struct halo_scatter_sorted halo_scatter_sorted;

/* The description of a scatter. */
typedef struct halo_scatter_descs {
  halo_scatter_desc ordered; /* windows may meet, and are applied in order */
  halo_scatter_desc unique;  /* no element is met twice */
  const halo_scatter_sorted *sorted;
} halo_scatter_descs;
/* `unique`: no element is met twice. */
halo_scatter_desc halo_scatter_describe(const halo_lowering *l, bool unique);

/* ---- Text ---- */

halo_value halo_scatter_convert(halo_emitter *e, halo_value value, halo_type to);
/* Coordinates along the dimensions that are free, or along the others, from a position among them. */
void halo_scatter_digits(halo_emitter *e, const halo_scatter_dim *dims, int rank, bool free,
                         const halo_integer *position, const halo_integer **at);
/* Where a window starts in the array, behind the test that all of it lies inside (else nothing of it is
 * used), which opens a scope. `parts`: and that it starts in the part from "low" to "high". */
void halo_scatter_emit_starts(halo_emitter *e, emit_frame *frame, const halo_scatter_desc *v,
                              bool parts, const halo_integer **batch, const halo_integer **starts);

/* Launches that compute operands where the results are to be. *out_updates is what the first launch that writes
 * the results needs as `updates`; NULL: there are no updates, and nothing is left to do. */
halo_status halo_scatter_lower_operands(halo_lowering *l, const halo_scatter_desc *v,
                                        const int32_t **out_updates);

/* sorted.c: scatter:sorted. */
const halo_scatter_sorted *halo_scatter_sorted_describe(const halo_lowering *l,
                                                        const halo_scatter_desc *v);
bool halo_scatter_sorted_supports(const halo_lowering *l, const char **why);
double halo_scatter_sorted_cost(const halo_lowering *l);
halo_status halo_scatter_sorted_lower(halo_lowering *l);

/* private.c: scatter:private. */
bool halo_scatter_private_works_on(const halo_caps *caps, const char **why);
bool halo_scatter_private_supports(const halo_lowering *l, const char **why);
double halo_scatter_private_cost(const halo_lowering *l);
halo_status halo_scatter_private_lower(halo_lowering *l);

#endif
