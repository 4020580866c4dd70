/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/dot/panels.h: products from packed panels on CPUs, gemm_panels.cl: what the families that use it
 * share. */
#ifndef HALO_KERNELS_DOT_PANELS_H
#define HALO_KERNELS_DOT_PANELS_H

#include "kernels/helpers.h"

/* The block of the result that a work item keeps in registers: mr rows of nv vectors of w elements, nr
 * columns. */
typedef struct halo_panels {
  int w, nv, mr, nr;
  /* Steps of k that are packed in one element: 1; or of 32-bit integers 2, as s16, or 4, as bytes; or of f32 2, as bf16. */
  int group;
  /* Of bytes: those of A, or of B, are signed and are packed with 128 added, since the processor's instruction takes bytes
   * without signs times bytes with signs: A's are the former, unless `swapped`. */
  bool biased, swapped;
} halo_panels;

/* For a device's registers and a result of so many columns. */
halo_panels halo_panels_choose(const halo_lowering *l, halo_type accumulator, int64_t columns);

/* Steps that a sum over k takes. */
int64_t halo_panels_steps(int group, int64_t k);

/* An operand that is packed: lines (rows of A, columns of B) of k elements, `panel` lines side by side. */
typedef struct halo_panels_pack {
  halo_type type;
  int64_t batch, lines, k;
  int panel;
  int group; /* neighbours in k that are one element of `type`, parts of 32 bits; those beyond the last are 0 */
  bool biased;       /* bytes with 128 added */
  bool k_fast;       /* neighbours in k are neighbours in memory, and neighbouring lines are not */
  bool shared;       /* sizes are arguments: see halo_panels_number */
  bool in_stretches; /* the lines are one stretch of several, which begins at `first` */
  int64_t first;
} halo_panels_pack;

/* A number in a kernel's text: itself, or, where kernels of several products are to share a text, an argument. Before
 * halo_helpers_template. */
const char *halo_panels_number(halo_helpers *helpers, bool shared, int64_t number);

/* How many columns of B are packed at a time, so that a large B does not need memory for all of it once more. `bytes`: of a
 * packed column. */
int64_t halo_panels_stretch(const halo_lowering *l, const halo_panels *b, int64_t rows,
                            int64_t columns, int64_t bytes);

/* Elements that it takes. */
int64_t halo_panels_pack_size(const halo_panels_pack *p);
/* The kernel that packs into a scratch. `helpers` has the helper "_in"(b, x, k) for an element, and is
 * ended. */
halo_status halo_panels_pack_lower(halo_helpers *helpers, const halo_panels_pack *p,
                                   int32_t scratch, const char *label);

/* H_T, H_V, H_LOADV, H_W: the vectors. */
void halo_panels_vector_holes(halo_helpers *helpers, halo_template *k, const halo_panels *b,
                              halo_type type);
/* A product: rows, columns, how many of them, each cut into how many parts, and how many products are summed up. */
typedef struct halo_panels_sizes {
  int64_t rows, columns, batch, cuts, k;
  bool shared; /* sizes are arguments */
  /* Columns that one launch computes, from `first` on; 0: all. What differs from launch to launch is an argument. */
  int64_t stretch, first;
  /* Of halo_panels_begin: their texts. */
  const char *rows_text, *columns_text, *batch_text, *items_each_text, *panels_text, *first_text;
} halo_panels_sizes;

/* The texts of the sizes; before halo_panels_template. */
void halo_panels_begin(halo_helpers *helpers, const halo_panels *b, halo_panels_sizes *sizes);
/* Begins an instance of the product's kernel: blocks, types, sizes and numbers of panels. Left to the
 * caller: H_ROW, H_LOOPS, H_KA, H_KB, H_BBATCH, H_BPANEL, results, H_VECTORS and, where it is 1, H_OUTV. */
void halo_panels_template(halo_helpers *helpers, halo_template *k, const halo_panels *b,
                          halo_type type, const halo_panels_sizes *sizes, const char *pointers);
/* H_SPLIT, and, from the helpers "_value" and "_put", or "_out", what belongs to it. */
void halo_panels_result(halo_helpers *helpers, halo_template *k, bool split);
/* The launch. */
void halo_panels_launch(halo_helpers *helpers, const char *label, const halo_panels *b,
                        const halo_panels_sizes *sizes);

/* A scratch for parts of `count` elements together, the fusion's next one, and its argument of the kernel. */
const char *halo_panels_parts_scratch(halo_helpers *helpers, halo_type type, int64_t count);
/* Seconds of adding them up. */
double halo_panels_finish_seconds(const halo_lowering *l, halo_type type, int64_t cuts,
                                  double elements);

/* Kernels that add up the `cuts` parts of a product that lie in a scratch, each as the result's memory
 * will be, and do what is fused behind it. */
halo_status halo_panels_finish(halo_lowering *l, const halo_instr *product, halo_type type,
                               int32_t scratch, int64_t cuts, const char *label);

int64_t halo_panels_round_up(int64_t x, int64_t by);

#endif
