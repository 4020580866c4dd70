/* SPDX-License-Identifier: Apache-2.0 */
/* client/layout.c: host copies between row-major order and a shape's layout. */
#include "client/client.h"

#include <stdlib.h>
#include <string.h>

enum { LAYOUT_TILE = 16 };

/* A plane of the array: `rows` steps along one side's fastest dimension, `columns` along the
 * other's; strides in bytes. */
typedef struct layout_plane {
  int64_t rows, columns;
  int64_t row_from, row_to;       /* strides of a step down */
  int64_t column_from, column_to; /* strides of a step right */
} layout_plane;

/* The host's elements may lie at any address: they are moved as bytes, whose number is known. */
#define LAYOUT_COPY(size)                                                                          \
  static void layout_copy_##size(const layout_plane *p, const char *from, char *to) {              \
    for (int64_t r0 = 0; r0 < p->rows; r0 += LAYOUT_TILE) {                                        \
      int64_t r1 = r0 + LAYOUT_TILE < p->rows ? r0 + LAYOUT_TILE : p->rows;                        \
      for (int64_t c0 = 0; c0 < p->columns; c0 += LAYOUT_TILE) {                                   \
        int64_t c1 = c0 + LAYOUT_TILE < p->columns ? c0 + LAYOUT_TILE : p->columns;                \
        for (int64_t r = r0; r < r1; r++) {                                                        \
          for (int64_t c = c0; c < c1; c++) {                                                      \
            memcpy(to + r * p->row_to + c * p->column_to,                                          \
                   from + r * p->row_from + c * p->column_from, size);                             \
          }                                                                                        \
        }                                                                                          \
      }                                                                                            \
    }                                                                                              \
  }

LAYOUT_COPY(1)
LAYOUT_COPY(2)
LAYOUT_COPY(4)
LAYOUT_COPY(8)
LAYOUT_COPY(16)

static void layout_copy_plane(const layout_plane *p, size_t size, const char *from, char *to) {
  switch (size) {
    case 1: layout_copy_1(p, from, to); break;
    case 2: layout_copy_2(p, from, to); break;
    case 4: layout_copy_4(p, from, to); break;
    case 8: layout_copy_8(p, from, to); break;
    case 16: layout_copy_16(p, from, to); break;
  }
}

/* The dimension of more than one step with the smallest stride. */
static int layout_fastest(int rank, const int64_t *dims, const int64_t *strides) {
  int best = -1;
  for (int d = 0; d < rank; d++) {
    if (dims[d] > 1 && (best < 0 || llabs(strides[d]) < llabs(strides[best]))) best = d;
  }
  return best;
}

/* Walks all dimensions but the plane's two, and copies a plane at each place. */
static void layout_copy(const halo_shape *shape, const int64_t *from_strides,
                        const int64_t *to_strides, const char *from, char *to) {
  size_t size = halo_type_size(shape->type);
  const int64_t *dims = shape->dims;
  int row = layout_fastest(shape->rank, dims, to_strides);
  int column = layout_fastest(shape->rank, dims, from_strides);
  if (row < 0) {
    memcpy(to, from, size);
    return;
  }
  layout_plane plane = {
      .rows = dims[row], .row_from = from_strides[row], .row_to = to_strides[row], .columns = 1};
  if (column != row) {
    plane.columns = dims[column];
    plane.column_from = from_strides[column];
    plane.column_to = to_strides[column];
  }
  int64_t at[HALO_MAX_RANK] = {0};
  int d;
  do {
    int64_t f = 0, t = 0;
    for (int i = 0; i < shape->rank; i++) {
      f += at[i] * from_strides[i];
      t += at[i] * to_strides[i];
    }
    layout_copy_plane(&plane, size, from + f, to + t);
    for (d = shape->rank - 1; d >= 0; d--) {
      if (d == row || d == column) continue;
      if (++at[d] < dims[d]) break;
      at[d] = 0;
    }
  } while (d >= 0);
}

/* Of dense row-major elements, in bytes. */
static void layout_dense_strides(const halo_shape *shape, int64_t *strides) {
  int64_t step = (int64_t)halo_type_size(shape->type);
  for (int d = shape->rank - 1; d >= 0; d--) {
    strides[d] = step;
    step *= shape->dims[d];
  }
}

bool halo_layout_is_same(const halo_shape *shape, const int64_t *strides) {
  int64_t dense[HALO_MAX_RANK] = {0};
  if (!halo_shape_has_default_layout(shape)) return false;
  if (!strides || halo_shape_byte_size(shape) == 0) return true;
  layout_dense_strides(shape, dense);
  for (int d = 0; d < shape->rank; d++) {
    if (shape->dims[d] > 1 && strides[d] != dense[d]) return false;
  }
  return true;
}

/* Host strides, and those of the shape's layout, in bytes; false when there is nothing to copy. */
static bool layout_prepare(const halo_shape *shape, const int64_t *strides, int64_t *host,
                           int64_t *device) {
  if (halo_shape_byte_size(shape) == 0) return false;
  layout_dense_strides(shape, host);
  for (int d = 0; strides && d < shape->rank; d++) host[d] = strides[d];
  halo_shape_strides(shape, device);
  for (int d = 0; d < shape->rank; d++) device[d] *= (int64_t)halo_type_size(shape->type);
  return true;
}

void halo_layout_to_device(const halo_shape *shape, const void *host, const int64_t *strides,
                           void *device) {
  int64_t from[HALO_MAX_RANK] = {0}, to[HALO_MAX_RANK] = {0};
  if (halo_layout_is_same(shape, strides)) {
    memcpy(device, host, (size_t)halo_shape_byte_size(shape));
  } else if (layout_prepare(shape, strides, from, to)) {
    layout_copy(shape, from, to, host, device);
  }
}

void halo_layout_to_host(const halo_shape *shape, const void *device, void *host,
                         const int64_t *strides) {
  int64_t from[HALO_MAX_RANK] = {0}, to[HALO_MAX_RANK] = {0};
  if (halo_layout_is_same(shape, strides)) {
    memcpy(host, device, (size_t)halo_shape_byte_size(shape));
  } else if (layout_prepare(shape, strides, to, from)) {
    layout_copy(shape, from, to, device, host);
  }
}

/* The part's shape, and strides of the host's elements and of the dense array's; false when it is empty. */
static bool layout_prepare_part(const halo_shape *shape, const int64_t *extents,
                                const int64_t *strides, halo_shape *part, int64_t *host,
                                int64_t *dense) {
  *part = (halo_shape){.type = shape->type, .rank = shape->rank, .dims = extents};
  if (halo_shape_byte_size(part) == 0) return false;
  layout_dense_strides(part, host);
  for (int d = 0; strides && d < shape->rank; d++) host[d] = strides[d];
  layout_dense_strides(shape, dense);
  return true;
}

void halo_layout_part_in(const halo_shape *shape, const int64_t *extents, const void *host,
                         const int64_t *strides, void *dense) {
  int64_t from[HALO_MAX_RANK] = {0}, to[HALO_MAX_RANK] = {0};
  halo_shape part;
  if (!layout_prepare_part(shape, extents, strides, &part, from, to)) return;
  layout_copy(&part, from, to, host, dense);
}

void halo_layout_part_out(const halo_shape *shape, const int64_t *extents, const void *dense,
                          void *host, const int64_t *strides) {
  int64_t from[HALO_MAX_RANK] = {0}, to[HALO_MAX_RANK] = {0};
  halo_shape part;
  if (!layout_prepare_part(shape, extents, strides, &part, to, from)) return;
  layout_copy(&part, from, to, dense, host);
}
