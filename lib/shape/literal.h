/* SPDX-License-Identifier: Apache-2.0 */
/* shape/literal.h: literals inside the library. */
#ifndef HALO_SHAPE_LITERAL_H
#define HALO_SHAPE_LITERAL_H

#include "halo/literal.h"
#include "shape/shape.h"

#include <stdatomic.h>

struct halo_literal {
  atomic_int references;
  halo_shape *shape;       /* heap, owned */
  void *data;              /* arrays: halo_shape_byte_size(shape) bytes, row-major; else NULL */
  halo_literal **elements; /* tuples: [shape->count], each a reference */
  bool elided;             /* text said `{...}`: the data was lost, and is zeros */
};

/* An array of one element, zero, of a type that arrays can have. Memory as by halo_alloc: none left is no
 * status. */
halo_literal *halo_literal_new_scalar(halo_type type);

/* Same shape (layouts aside) and same bits. */
bool halo_literal_same_bits(const halo_literal *a, const halo_literal *b);

#endif
