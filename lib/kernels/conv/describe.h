/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/conv/describe.h: a convolution seen as products of matrices, one for each group (and phase, see below): a row
 * for each image of the batch and place in the result, a column for each output feature, and a k for each place
 * in the window and input feature. */
#ifndef HALO_KERNELS_CONV_DESCRIBE_H
#define HALO_KERNELS_CONV_DESCRIBE_H

#include "kernels/helpers.h"

typedef struct halo_conv_desc {
  const halo_instr *conv, *lhs, *rhs;
  const halo_conv_dims *dims;
  halo_window_dim window[HALO_MAX_RANK]; /* a spatial dimension each */
  /* Places of the result and elements of the kernel, along each dimension. All of them; or, of an image with holes,
   * those of a phase u: result i is at i * phases + first - u (which may be outside of it), element k is at
   * k * phases + u (which may be beyond the kernel's end). */
  int64_t results[HALO_MAX_RANK], taps[HALO_MAX_RANK], phases[HALO_MAX_RANK], first[HALO_MAX_RANK];
  int64_t groups;                 /* of features or of the batch */
  bool by_batch;                  /* which of the two */
  int64_t batch, inputs, outputs; /* of one group */
  int64_t products;               /* one for each group and phase */
  int64_t m, n, k;
  halo_type result;      /* element type */
  halo_type accumulator; /* f32 for narrower floats, 32 bits for narrower integers */
} halo_conv_desc;

void halo_conv_describe(const halo_instr *conv, halo_conv_desc *out);

/* An image with holes, of `base_dilation` d, meets different elements of the kernel at places of the result
 * that differ modulo d, and none of the others. So many phases are products of their own, without holes, of the same
 * rows of the image. Dimensions with strides or dilated windows keep their holes. */
void halo_conv_fill_holes(halo_conv_desc *v);
/* Multiplications of all products, those with holes and with padding among them. */
double halo_conv_work(const halo_conv_desc *v);
/* Whether a phase's place may lie outside of the result, or its element outside of the kernel, along dimension s. */
bool halo_conv_has_edges(const halo_conv_desc *v, int s);
bool halo_conv_has_short_phases(const halo_conv_desc *v, int s);
/* Code for the number of a product's group, and for its phase along each spatial dimension. */
const halo_integer *halo_conv_group(halo_emitter *e, const halo_conv_desc *v,
                                    const halo_integer *product);

/* A dimension of the rows or of k. */
typedef struct halo_conv_axis {
  int64_t size;
  int part; /* HALO_CONV_BATCH, HALO_CONV_FEATURE, or the number of a spatial dimension */
  int64_t a,
      b; /* distances in memory, in lhs and in rhs; of an axis of the rows in lhs and in the result */
} halo_conv_axis;
enum { HALO_CONV_BATCH = -1, HALO_CONV_FEATURE = -2 };

typedef struct halo_conv_axes {
  int count;
  halo_conv_axis axis[HALO_MAX_RANK]; /* slowest first */
} halo_conv_axes;

/* Axes of the rows, in the order of the result's memory; and of k in row-major order of the window, input
 * features last. Those of extent 1 are left out. Distances: 0. */
halo_conv_axes halo_conv_rows(const halo_conv_desc *v);
halo_conv_axes halo_conv_window(const halo_conv_desc *v);

/* Coordinates along axes from a position among them, by part: at[part] for spatial ones, `*other` for
 * batch or features; 0 for those left out. */
void halo_conv_place(halo_emitter *e, const halo_conv_axes *axes, const halo_integer *position,
                     const halo_integer **at, const halo_integer **other);

/* Along spatial dimension s: the place in the image, its holes included, that place k of the window meets
 * for place y of the result. */
const halo_integer *halo_conv_meets(halo_emitter *e, const halo_conv_desc *v, int s,
                                    const halo_integer *y, const halo_integer *k);
/* The coordinate in lhs of a place in the image; writes what returns `nothing` where that is padding or
 * a hole. */
const halo_integer *halo_conv_place_in_image(halo_emitter *e, const halo_conv_desc *v, int s,
                                             const halo_integer *t, const char *nothing);
/* The coordinate in rhs of a place in the window, and of phase u; writes what returns `nothing` where there is none. */
const halo_integer *halo_conv_place_in_kernel(halo_emitter *e, const halo_conv_desc *v, int s,
                                              const halo_integer *k, const halo_integer *u,
                                              const char *nothing);

/* What lhs holds at image `n` of a group and input feature `f` of it, at places `t` of the image with its
 * holes (and without its padding), as an accumulator: writes what returns 0 where there is nothing, and
 * then the value's code. */
halo_value halo_conv_lhs(halo_emitter *e, emit_frame *frame, const halo_conv_desc *v,
                         const halo_integer *group, const halo_integer *n, const halo_integer *f,
                         const halo_integer *const *t);
/* The element of rhs for an output feature of a product, an input feature and a place in the window. */
halo_value halo_conv_rhs(halo_emitter *e, emit_frame *frame, const halo_conv_desc *v,
                         const halo_integer *product, const halo_integer *column,
                         const halo_integer *f, const halo_integer *const *k);
/* An element of the result, of a row and a column of a product; writes what returns `outside` ("": no value) where there
 * is none. */
emit_index *halo_conv_result_index(halo_emitter *e, const halo_conv_desc *v,
                                   const halo_conv_axes *rows, const halo_integer *product,
                                   const halo_integer *row, const halo_integer *column,
                                   const char *outside);

#endif
