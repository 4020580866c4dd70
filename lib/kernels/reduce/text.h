/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/reduce/text.h: the text of the kernels of reductions (reduce.c), and how their work is cut (cut.c). */
#ifndef HALO_KERNELS_REDUCE_TEXT_H
#define HALO_KERNELS_REDUCE_TEXT_H

#include "hlo/reduction.h"
#include "kernels/accumulator.h"

typedef struct halo_reduce_text {
  halo_lowering *l;
  halo_reduce_desc v;
  const char *name; /* of the last kernel; prefix of the names of all of them */
  halo_accumulator a;
} halo_reduce_text;

/* How the work of one stage is cut: an [outer, n, inner] array, summed over n. */
typedef struct halo_reduce_cut {
  int64_t outer, n, inner, chunk, chunks;
  int lanes, local;
  bool columns;
  int rows;          /* that a work item takes side by side */
  int line;          /* neighbours whose sums are a vector, or 0: `lanes` is a multiple */
  bool within_lines; /* of rows: elements are counted within their chunk, whose number "c" is */
  bool transposed;   /* the columns are rows of the input */
  int wide; /* columns of a work group of a GPU, whose items share the rows; 0: an item takes a column */
  int beside; /* rows, or chunks of rows, that a work group takes, each by `local` of its items */
} halo_reduce_cut;

/* How a stage that sums [outer, n, inner] over n is cut. `first`: it reads the input, which may be cut; the other reads
 * what that left in the caches. It depends on the shape and the class of device alone, and on GPUs on
 * the largest group and the local memory. */
halo_reduce_cut halo_reduce_cut_of(const halo_reduce_text *t, int64_t outer, int64_t n,
                                   int64_t inner, bool first);

/* Simple operations that one of `count` elements takes: of the instructions whose results are as many. */
int64_t halo_reduce_cost_each(const halo_lowering *l, int64_t count);
/* Pieces into which so many elements of so many results are cut on GPUs, where there are not results enough. */
int64_t halo_reduce_pieces(int64_t elements, int64_t results);
/* Simple operations that an element of the input takes before it is combined. */
int64_t halo_reduce_cost_before(const halo_reduce_text *t);

#endif
