/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/window/text.h: what the kernels of a reduce-window have in common: its accumulator, and the
 * helpers that read elements and store results, both by row-major positions. */
#ifndef HALO_KERNELS_WINDOW_TEXT_H
#define HALO_KERNELS_WINDOW_TEXT_H

#include "kernels/accumulator.h"
#include "kernels/helpers.h"

typedef struct halo_window_text {
  halo_lowering *l; /* once declared */
  const halo_instr *instr;
  int32_t count; /* arrays, and values of the accumulator */
  halo_reduce_value values[HALO_REDUCE_VALUES];
  bool from_end;    /* rows are read from their ends */
  bool is_inlined;  /* the combination of one value is put in place: loops of it become vectors */
  const char *name; /* prefix of what is declared */
  halo_accumulator a;
} halo_window_text;

/* A scan of rows or columns (scan.c). */
typedef struct halo_scan_desc halo_scan_desc;

/* The description of a reduce-window. */
typedef struct halo_window_desc {
  halo_window_text parts; /* but `l`, `name` and `a` */
  const char *why_not;    /* there are too many arrays for it; NULL: there are not */
  int body_cost;          /* of combining two elements, in additions */
  const halo_scan_desc *scan;
  const char *why_no_scan; /* where that is NULL */
} halo_window_desc;
/* NULL: it is none, and *why says why not. */
const halo_scan_desc *halo_scan_describe(const halo_lowering *l, const halo_window_desc *desc,
                                         const char **why);

/* Declares accumulator and combination in the program's text. `out` must stay where it is. */
halo_status halo_window_declare(halo_window_text *w, halo_lowering *l, const char *suffix);
/* "_in(p)" gives element p of the operands, "_start(p)" the initial values, "_out(p, v)" rounds and stores
 * result p. */
void halo_window_emit_in(const halo_window_text *w, halo_helpers *p);
void halo_window_emit_start(const halo_window_text *w, halo_helpers *p);
void halo_window_emit_out(const halo_window_text *w, halo_helpers *p);
/* Results that are stored together where they are stored past the caches. */
enum { HALO_WINDOW_LINE = 16 };
/* Whether they may be, where lines of them begin at multiples of a line: large ones of a CPU that are stored as
 * they are combined. */
bool halo_window_streams(const halo_window_text *w, int line);
/* The holes H_STREAM and, where it is 1, H_OUTV(p, line). */
void halo_window_stream_holes(const halo_window_text *w, halo_helpers *p, halo_template *k,
                              bool stream);
/* Neighbours that are combined as a vector, of 64 bytes, where the body is one operation that has a form for its
 * numbers and few instructions compute them; else 0. */
int halo_window_line(const halo_window_text *w, const halo_lowering *l);
/* "NAME_line(a, b)" combines two lines of `width` neighbours, element by element, as the body does it. */
void halo_window_emit_line(const halo_window_text *w, int width);
/* The holes for lines, H_WIDTH, H_LINE, H_MASK, H_LINE_OP, H_LOADS, H_INV, H_STORES and H_OUTV: they are loaded and, as
 * `results`, stored together where memory has their elements together, past the caches if they `stream`. */
void halo_window_line_holes(const halo_window_text *w, halo_helpers *p, halo_template *k, int width,
                            bool results, bool stream);
/* The holes H_T, H_OP, H_IN, H_START and H_OUT. */
void halo_window_holes(const halo_window_text *w, halo_helpers *p, halo_template *k);

#endif
