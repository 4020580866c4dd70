/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/helpers.h: kernels made of a template. Helper functions of the kernel's text read or write elements and
 * take all of the kernel's arguments ("inline T name_in(args, p)"); halo_helpers collects them, fills the template's holes
 * with calls of them, and makes the launch.
 *
 * In order: begin; open, write a body, close, once for each helper; template, holes, finish; launch, as often as it
 * is launched; end. The emitter's first error sticks and is what `end` returns. */
#ifndef HALO_KERNELS_HELPERS_H
#define HALO_KERNELS_HELPERS_H

#include "kernels/kernels.h"
#include "kernels/template.h"

/* A helper: "static inline `returns` NAME`suffix`(ARGUMENTS, `parameters`) {`body`}". */
typedef struct halo_helper {
  const char *returns, *suffix, *parameters, *body;
} halo_helper;

typedef struct halo_helpers {
  halo_lowering *l;
  halo_emitter e;    /* writes one body at a time and collects the kernel's arguments */
  const char *name;  /* of the kernel; prefix of its helpers */
  const char *itype; /* of indices: "int" or "long" */
  uint64_t in_place; /* as in halo_launch; set it before halo_helpers_template */
  HALO_VEC(halo_helper) helpers;
  halo_arg_texts texts;      /* from halo_helpers_template on */
  const halo_kernel *kernel; /* from halo_helpers_finish on */
} halo_helpers;

/* `wide`: indices of 64 bits even where the arrays do not need them. */
void halo_helpers_begin(halo_helpers *p, halo_lowering *l, const char *name, bool wide);

/* Starts the body of a helper, which p->e writes; gives the frame of the fused computation. */
emit_frame *halo_helpers_open(halo_helpers *p);
/* Ends it. It takes all of the kernel's arguments, then indices (their names, as "b, x, y") and, unless
 * `value` is NULL, v of that type. */
void halo_helpers_close(halo_helpers *p, const char *returns, const char *suffix,
                        const char *indices, const char *value);
/* Writes what stores all the root's results at an index of an array of `shape`, each where its memory has
 * it; a result of other dimensions has the same row-major position there. Whatever is fused behind what
 * the frame has bound is computed on the way. */
void halo_helpers_store(halo_helpers *p, emit_frame *frame, const halo_shape *shape,
                        emit_index *index);

/* Whether the root is one array of `shape`'s dimensions. Then what `halo_helpers_store` writes may be written as two
 * helpers: one that returns the root's element at an index, and one that stores v there. */
bool halo_helpers_can_split(const halo_lowering *l, const halo_shape *shape);
void halo_helpers_value(halo_helpers *p, emit_frame *frame, emit_index *index);
void halo_helpers_put(halo_helpers *p, emit_index *index);

/* All arguments are known now: puts the helpers into the program's text and begins an instance of a
 * template, with the holes that all have: H_NAME, H_PARAMS, H_POINTERS (and `pointers` behind them),
 * H_INT. */
void halo_helpers_template(halo_helpers *p, halo_template *k, const char *text,
                           const char *pointers);
/* Holes for a function that does an item of the kernel: its name H_BLOCK, H_BLOCK_PARAMS, and H_ARGUMENTS of calls. */
void halo_helpers_block_holes(const halo_helpers *p, halo_template *k);
/* "hole(parameters)" calls the helper `suffix` with these parameters. */
void halo_helpers_call(const halo_helpers *p, halo_template *k, const char *hole,
                       const char *suffix, const char *parameters);
/* Any other hole: "name" and what it stands for. */
void halo_helpers_hole(const halo_helpers *p, halo_template *k, const char *name,
                       const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The kernel is complete. */
void halo_helpers_finish(halo_helpers *p, halo_template *k);
/* The record of the kernel's launch, of one dimension and no sizes yet. */
halo_launch *halo_helpers_launch(halo_helpers *p, const char *label);
halo_status halo_helpers_end(halo_helpers *p);

#endif
