/* SPDX-License-Identifier: Apache-2.0 */
/* tools/pieces.c: cutting arrays into pieces, and putting pieces together. */
#include "pieces.h"

#include "tool.h"

#include <stdlib.h>
#include <string.h>

/* Copies the part of a piece that lies within the array, row by row, one way or the other. */
static void pieces_copy(const halo_shape *whole, char *all, char *piece, const int64_t *starts,
                        const int64_t *sizes, bool cut) {
  int rank = halo_shape_rank(whole);
  size_t element = halo_type_size(halo_shape_type(whole));
  int64_t *index = tool_alloc(sizeof *index * (size_t)(rank + 1)), rows = 1, width = 1;
  for (int d = 0; d + 1 < rank; d++) rows *= sizes[d];
  if (rank) {
    int64_t room = halo_shape_dim(whole, rank - 1) - starts[rank - 1];
    width = sizes[rank - 1] < room ? sizes[rank - 1] : room;
  }
  for (int64_t r = 0; r < rows && width > 0; r++) {
    int64_t at = 0;
    bool inside = true;
    for (int d = 0; d < rank; d++) {
      int64_t i = starts[d] + (d + 1 < rank ? index[d] : 0);
      inside = inside && i < halo_shape_dim(whole, d);
      at = at * halo_shape_dim(whole, d) + i;
    }
    char *in_all = all + (size_t)at * element;
    char *in_piece = piece + (size_t)(rank ? r * sizes[rank - 1] : 0) * element;
    if (inside && cut) memcpy(in_piece, in_all, (size_t)width * element);
    if (inside && !cut) memcpy(in_all, in_piece, (size_t)width * element);
    for (int d = rank - 2; d >= 0; d--) {
      if (++index[d] < sizes[d]) break;
      index[d] = 0;
    }
  }
  free(index);
}

halo_literal *pieces_cut(halo_literal *whole, const halo_sharding *sharding, int partition) {
  const halo_shape *shape = halo_literal_shape(whole);
  size_t rank = (size_t)halo_shape_rank(shape);
  int64_t *starts = tool_alloc(sizeof *starts * (2 * rank + 1)), *sizes = starts + rank;
  halo_shape *small = NULL;
  halo_literal *piece = NULL;
  bool ok = tool_check(halo_sharding_piece(sharding, shape, partition, starts, sizes)) &&
            tool_check(halo_shape_create_array(halo_shape_type(shape), (int)rank, sizes, &small)) &&
            tool_check(halo_literal_create(small, &piece));
  if (ok) {
    pieces_copy(shape, halo_literal_data(whole), halo_literal_data(piece), starts, sizes, true);
  }
  halo_shape_release(small);
  free(starts);
  return piece;
}

halo_literal *pieces_whole(const halo_shape *shape, const halo_literal *piece) {
  halo_shape *sized = NULL;
  halo_literal *whole = NULL;
  int rank = halo_shape_rank(shape);
  bool sizes = false;
  for (int d = 0; d < rank; d++) sizes |= halo_shape_dim_is_dynamic(shape, d);
  if (!sizes) return tool_check(halo_literal_create(shape, &whole)) ? whole : NULL;
  int64_t *dims = tool_alloc(sizeof *dims * (size_t)(rank + 1));
  for (int d = 0; d < rank; d++) {
    bool cut = !halo_shape_dim_is_dynamic(shape, d);
    dims[d] = halo_shape_dim(cut ? shape : halo_literal_shape(piece), d);
  }
  bool ok = tool_check(halo_shape_create_array(halo_shape_type(shape), rank, dims, &sized)) &&
            tool_check(halo_literal_create(sized, &whole));
  halo_shape_release(sized);
  free(dims);
  return ok ? whole : NULL;
}

bool pieces_join(halo_literal *whole, halo_literal *piece, const halo_sharding *sharding,
                 int partition) {
  const halo_shape *shape = halo_literal_shape(whole);
  size_t rank = (size_t)halo_shape_rank(shape);
  int64_t *starts = tool_alloc(sizeof *starts * (2 * rank + 1)), *sizes = starts + rank;
  bool ok = tool_check(halo_sharding_piece(sharding, shape, partition, starts, sizes));
  if (ok) {
    pieces_copy(shape, halo_literal_data(whole), halo_literal_data(piece), starts, sizes, false);
  }
  free(starts);
  return ok;
}
