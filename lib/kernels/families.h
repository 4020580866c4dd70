/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/families.h: loops over elements, which other families have as their last implementation. */
#ifndef HALO_KERNELS_FAMILIES_H
#define HALO_KERNELS_FAMILIES_H

#include "kernels/kernels.h"

/* Results of at least this many bytes are written past a CPU's caches: whoever reads them next will
 * not find them there anyway, and a plain store would first read the line it overwrites. */
enum { HALO_STREAM_BYTES = 8 << 20 };
/* Whether this holds of results of `written` bytes: not where the last cache has them and what they are made of. */
bool halo_loop_leaves_caches(const halo_lowering *l, int64_t written);

/* Always. */
bool halo_loop_supports(const halo_lowering *l, const char **why);
/* Seconds of the simplest loop, by the elements of the result. */
double halo_loop_cost(const halo_lowering *l);
/* In the form that is cheapest, tiles left out (loop/forms.c). */
halo_status halo_loop_lower(halo_lowering *l);
/* Whether this does a convolution as a stencil, of a small window, in vectors along rows. */
bool halo_loop_is_stencil(const halo_lowering *l);
/* For others that compute elements of a shape, in row-major order, one by one at places of their own: on CPUs
 * their rows, whose place is worked out once. How many of the fastest elements make a row; 0: no rows. */
int64_t halo_loop_row(const halo_lowering *l, const halo_shape *shape);
/* Whether work items would have to ask whether they are within a row of this many elements, as no size of group goes
 * into it: compilers make no vectors then of what reads places that the row decides at run time. */
bool halo_loop_row_is_guarded(const halo_lowering *l, int64_t columns);
/* The buffer of the first result where no result is wider than HALO_NARROW: h_zero of it is to be added to the counters of loops
 * that write the results. NULL: some result is. */
const char *halo_loop_zero(const halo_lowering *l, halo_emitter *e);
/* All results at a position of memory, one value for each: their shapes may differ (a reduction, and that reshaped),
 * their numbers of elements do not. */
void halo_loop_values(const halo_lowering *l, halo_emitter *e, emit_frame *frame,
                      const halo_integer *at, halo_value *values);
/* Declares where a work item is, as `c` in row `r`, or as `i` where there are no rows, and gives its position
 * among all items. Items with c >= row, or i >= items, are to do nothing. */
const halo_integer *halo_loop_start(halo_emitter *e, int64_t items, int64_t row);
/* Sizes the launch for these: as many items, at least one. */
void halo_loop_launch(const halo_lowering *l, halo_launch *launch, int64_t items, int64_t row);

/* kernels/loop/spans.c: rows cut into spans within which all neighbours do the same (compilers call it index-set
 * splitting). */
/* Emits what is done for the element at a position among all items, its stores with it. */
typedef void halo_loop_body(const halo_lowering *l, halo_emitter *e, const halo_integer *at);
typedef struct halo_loop_spans {
  halo_loop_body *emit;
  int64_t rows, columns;
  int count, bands;
  int64_t begin[8]; /* columns, the first of which is 0 */
  int64_t band[8];  /* rows where bands begin, in each of which all rows do the same; first 0 */
} halo_loop_spans;
/* Whether elements of a shape, in row-major order, are better computed so: on CPUs, where there is more than one span,
 * or rows come from several places. */
bool halo_loop_find_spans(const halo_lowering *l, const halo_shape *shape, halo_loop_body *emit,
                          halo_loop_spans *s);
/* An emitter for that; the body of a work item, which does a row; and the launch's sizes. */
void halo_loop_begin_spans(halo_emitter *e, const halo_lowering *l);
void halo_loop_emit_spans(const halo_lowering *l, halo_emitter *e, const halo_loop_spans *s);
void halo_loop_launch_spans(const halo_lowering *l, halo_launch *launch, const halo_loop_spans *s);

/* kernels/loop/short.c: whole rows of a short last dimension. */
typedef struct halo_loop_short {
  int64_t rows, length; /* the elements of a row */
  bool moves;           /* more than vectors are made of, and only put in other places */
} halo_loop_short;
/* Whether the results of a fused computation are better computed so: on CPUs, where the elements of a row differ in
 * what they do. */
bool halo_loop_find_short(const halo_lowering *l, halo_loop_short *s);
/* The body of a work item, of an emitter as for spans; and the launch's sizes. */
void halo_loop_emit_short(const halo_lowering *l, halo_emitter *e, const halo_loop_short *s);
void halo_loop_launch_short(const halo_lowering *l, halo_launch *launch, const halo_loop_short *s);

/* turn.c: loop:turn. */
bool halo_transpose_supports(const halo_lowering *l, const char **why);
bool halo_transpose_works_on(const halo_caps *caps, const char **why);
double halo_transpose_cost(const halo_lowering *l);
halo_status halo_transpose_lower(halo_lowering *l);

/* scan.c: window:scan. */
bool halo_scan_supports(const halo_lowering *l, const char **why);
double halo_scan_cost(const halo_lowering *l);
halo_status halo_scan_lower(halo_lowering *l);

#endif
