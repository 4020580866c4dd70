/* client/layout.c: host copies between row-major order and a shape's layout. */
#include "client/client.h"

#include <string.h>

enum { LAYOUT_TILE = 16 };

/* A plane of the array: `rows` steps along one side's fastest dimension, `columns` along the
 * other's; strides in elements. */
typedef struct layout_plane {
  int64_t rows, columns;
  int64_t row_from, row_to;       /* strides of a step down */
  int64_t column_from, column_to; /* strides of a step right */
} layout_plane;

#define LAYOUT_COPY(name, type)                                                                    \
  static void layout_copy_##name(const layout_plane *p, const void *from, void *to) {              \
    const type *f = from;                                                                          \
    type *t = to;                                                                                  \
    for (int64_t r0 = 0; r0 < p->rows; r0 += LAYOUT_TILE) {                                        \
      int64_t r1 = r0 + LAYOUT_TILE < p->rows ? r0 + LAYOUT_TILE : p->rows;                        \
      for (int64_t c0 = 0; c0 < p->columns; c0 += LAYOUT_TILE) {                                   \
        int64_t c1 = c0 + LAYOUT_TILE < p->columns ? c0 + LAYOUT_TILE : p->columns;                \
        for (int64_t r = r0; r < r1; r++) {                                                        \
          for (int64_t c = c0; c < c1; c++) {                                                      \
            t[r * p->row_to + c * p->column_to] = f[r * p->row_from + c * p->column_from];         \
          }                                                                                        \
        }                                                                                          \
      }                                                                                            \
    }                                                                                              \
  }

typedef struct layout_16 {
  uint64_t part[2];
} layout_16;

LAYOUT_COPY(1, uint8_t)
LAYOUT_COPY(2, uint16_t)
LAYOUT_COPY(4, uint32_t)
LAYOUT_COPY(8, uint64_t)
LAYOUT_COPY(16, layout_16)

static void layout_copy_plane(const layout_plane *p, size_t size, const void *from, void *to) {
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
    if (dims[d] > 1 && (best < 0 || strides[d] < strides[best])) best = d;
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
    layout_copy_plane(&plane, size, from + f * (int64_t)size, to + t * (int64_t)size);
    for (d = shape->rank - 1; d >= 0; d--) {
      if (d == row || d == column) continue;
      if (++at[d] < dims[d]) break;
      at[d] = 0;
    }
  } while (d >= 0);
}

static void layout_host_strides(const halo_shape *shape, int64_t *strides) {
  int64_t step = 1;
  for (int d = shape->rank - 1; d >= 0; d--) {
    strides[d] = step;
    step *= shape->dims[d];
  }
}

static void layout_convert(const halo_shape *shape, const void *from, void *to, bool to_device) {
  int64_t host[HALO_MAX_RANK] = {0}, device[HALO_MAX_RANK] = {0};
  int64_t bytes = halo_shape_byte_size(shape);
  if (bytes == 0) return;
  if (halo_shape_has_default_layout(shape)) {
    memcpy(to, from, (size_t)bytes);
    return;
  }
  layout_host_strides(shape, host);
  halo_shape_strides(shape, device);
  layout_copy(shape, to_device ? host : device, to_device ? device : host, from, to);
}

void halo_layout_to_device(const halo_shape *shape, const void *host, void *device) {
  layout_convert(shape, host, device, true);
}

void halo_layout_to_host(const halo_shape *shape, const void *device, void *host) {
  layout_convert(shape, device, host, false);
}
