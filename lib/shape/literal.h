/* shape/literal.h: literals inside the library. */
#ifndef HALO_SHAPE_LITERAL_H
#define HALO_SHAPE_LITERAL_H

#include "halo/literal.h"
#include "shape/shape.h"

#include <stdatomic.h>

struct halo_literal {
  atomic_int references;
  halo_shape *shape; /* heap, owned */
  void *data;        /* arrays: halo_shape_byte_size(shape) bytes, row-major; else NULL */
  halo_literal **elements; /* tuples: [shape->count], each a reference */
  bool elided;       /* text said `{...}`: the data was lost, and is zeros */
};

/* Element `i` (row-major position) of an array of any real type, widened: pred and integers. */
int64_t halo_literal_get_i64(const halo_literal *literal, int64_t i);
/* Float types exactly; integers rounded; complex: the real part. */
double halo_literal_get_f64(const halo_literal *literal, int64_t i);
/* Real and imaginary part (0 for real types). */
void halo_literal_get_c128(const halo_literal *literal, int64_t i, double *re, double *im);
/* Stores with wrapping to the element type; pred stores value != 0; floats round to nearest. */
void halo_literal_set_i64(halo_literal *literal, int64_t i, int64_t value);
/* Stores rounded to nearest even (integers: truncated toward zero and saturated, NaN to 0). */
void halo_literal_set_f64(halo_literal *literal, int64_t i, double value);
void halo_literal_set_c128(halo_literal *literal, int64_t i, double re, double im);

/* Same shape (layouts aside) and same bits. */
bool halo_literal_same_bits(const halo_literal *a, const halo_literal *b);

#endif
