/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/dot/tile.h: products in tiles of local memory for GPUs, gemm_tile.cl: what dot:tile and conv:tile share. */
#ifndef HALO_KERNELS_DOT_TILE_H
#define HALO_KERNELS_DOT_TILE_H

#include "kernels/helpers.h"

/* The numbers of a tile. A work group computes `rows` x `columns` results, a work item `item_rows` x `item_columns` of them; `step`
 * terms lie in local memory at a time. `slots`: instructions of the inner loop for an FMA, as compilers for NVIDIA's GPUs make it
 * of aligned arrays of f32. */
typedef struct halo_tile_shape {
  int rows, columns, item_rows, item_columns, step;
  double slots;
} halo_tile_shape;

/* A product as the tiles see it: `count` products of rows x terms by terms x columns, added up as `type` (4 or 8 bytes). */
typedef struct halo_tile_product {
  halo_type type;
  int64_t count, rows, columns, terms;
  bool whole; /* the terms are not to be divided among work groups */
} halo_tile_product;

/* How a product is computed: in tiles of this shape; its terms are divided into `parts` of `share` each but the last, which the step
 * divides. 1 part: they are not divided. */
typedef struct halo_tile {
  halo_tile_shape shape;
  int64_t parts, share;
  double seconds; /* expected, with adding up the parts: for the comparison of tiles */
} halo_tile;

/* For `works_on`: the device has work groups of some tile. */
bool halo_tile_works_on(const halo_caps *caps, const char **why);
/* Whether its local memory holds a tile of such a type. */
bool halo_tile_fits(const halo_lowering *l, halo_type type, const char **why);
/* The tile and division that are expected to take least, where halo_tile_fits. They follow from the sizes, the device's limits and
 * its prices. */
halo_tile halo_tile_choose(const halo_lowering *l, const halo_tile_product *p);

/* Seconds of it for the comparison with other implementations: as if all tiles were small, since no card has measured large ones yet,
 * and small products decide what steps a region holds. */
double halo_tile_price(const halo_lowering *l, const halo_tile_product *p);

/* Neighbours that a work item reads at once: 16 bytes as they are added up. */
int halo_tile_vector(halo_type type);

/* How a tile's operand is read, by the helper `suffix`(b, line, k), `vector_suffix` of halo_tile_vector neighbours (NULL: one by
 * one); `k_fast`: along k, not along its lines. */
typedef struct halo_tile_side {
  const char *suffix, *vector_suffix;
  bool k_fast;
} halo_tile_side;

/* Begins an instance of the kernel, with all holes but those of results, H_OUT, H_OUTW and H_OUTV. a: of rows; b: of columns. */
void halo_tile_template(halo_helpers *helpers, halo_template *k, const halo_tile *tile,
                        const halo_tile_product *p, halo_tile_side a, halo_tile_side b);
/* Results go one by one, or in vectors, to the helpers `suffix` and `vector_suffix` (NULL: one by one); `turned`: these take the
 * column before the row. */
void halo_tile_results(halo_helpers *helpers, halo_template *k, const halo_tile_product *p,
                       bool turned, const char *suffix, const char *vector_suffix);
/* Results go in `parts` to the argument `scratch`, each where the helper "_at" says, among `elements`; `vectors`: neighbours of a row
 * are neighbours there. */
void halo_tile_partial_results(halo_helpers *helpers, halo_template *k, const halo_tile_product *p,
                               bool turned, const char *scratch, int64_t elements, bool vectors);
/* Finishes the kernel and adds its launch. */
void halo_tile_launch(halo_helpers *helpers, halo_template *k, const halo_tile *tile,
                      const halo_tile_product *p, const char *label);

#endif
