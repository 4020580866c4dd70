/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/rows/text.h: the text of a kernel that goes over rows (rows.c). */
#ifndef HALO_KERNELS_ROWS_TEXT_H
#define HALO_KERNELS_ROWS_TEXT_H

#include "base/pointer_map.h"
#include "hlo/rows.h"
#include "kernels/accumulator.h"

enum {
  HALO_ROWS_KEPT = 8,
  HALO_ROWS_LINE = 16, /* elements that are stored together */
  HALO_ROWS_LANES = 64 /* that a work item accumulates side by side */
};

/* An array of elements of a row that is needed in several phases. */
typedef struct halo_rows_kept {
  const halo_instr *instr;
  const char *name;
  int phase; /* that makes it */
} halo_rows_kept;

typedef struct halo_rows_text {
  halo_lowering *l;
  halo_rows_desc v;
  const char *name; /* of the kernel */
  int local;        /* work items a row; 1: one, with lanes */
  bool lines;       /* results with elements are stored HALO_ROWS_LINE together */
  bool stream;      /* and past a CPU's caches */
  halo_accumulator accumulators[HALO_ROWS_HEROES]; /* named NAME_0, NAME_1, ... */
  /* filled on the way */
  halo_emitter e; /* has the body, and the kernel's arguments */
  emit_frame *frame;
  halo_pointer_map needs; /* of elements and spreading broadcasts: the phases that need them */
  halo_rows_kept kept[HALO_ROWS_KEPT];
  int32_t kept_count;
} halo_rows_text;

/* Decides what is kept of a row, in so many bytes, and writes the body. What takes more than `dear` simple
 * operations is worth keeping. */
void halo_rows_write(halo_rows_text *t, int64_t bytes, int dear);
/* Writes the body of a work item that has all of a short row in registers. `guard`: there may be more work items
 * than rows. */
void halo_rows_write_few(halo_rows_text *t, bool guard);
void halo_rows_text_deinit(halo_rows_text *t);

/* ---- For the two ---- */

/* The place of row "o" in an array of one element a row, and that of its element `r` in one of elements. */
emit_index *halo_rows_index(halo_rows_text *t, const halo_shape *shape, const halo_integer *r);
/* Binds reduction h to what has been combined, with its initial value, rounded. */
void halo_rows_bind_total(halo_rows_text *t, int32_t h, const char *combined);

#endif
