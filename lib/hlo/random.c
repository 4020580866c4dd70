/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/random.c: how rng-bit-generator numbers its elements. */
#include "hlo/random.h"

/* The first even extent, or else the first of the largest. */
static int random_split(const halo_shape *shape) {
  int split = 0;
  for (int d = 0; d < shape->rank; d++) {
    if (shape->dims[d] % 2 == 0) return d;
    if (shape->dims[d] > shape->dims[split]) split = d;
  }
  return split;
}

halo_rng_desc halo_rng_desc_of(const halo_instr *instr) {
  const halo_shape *data = instr->shape;
  if (halo_shape_is_tuple(data)) data = data->elements[1];
  int64_t algorithm = halo_instr_int(instr, HALO_ATTR_RNG_ALGORITHM, HALO_RNG_ID_DEFAULT);
  halo_rng_desc v = {.data = data,
                     .threefry = algorithm == HALO_RNG_ID_THREEFRY,
                     .words = halo_type_bits(data->type) == 64 ? 2 : 1,
                     .split = -1};
  int64_t count = halo_shape_element_count(data);
  if (!v.threefry) {
    v.blocks = v.words == 2 ? count / 2 + count % 2 : count / 4 + (count % 4 != 0);
  } else if (v.words == 2 || data->rank == 0) {
    v.blocks = count;
  } else {
    v.split = random_split(data);
    int64_t extent = data->dims[v.split];
    v.blocks = extent == 0 ? 0 : count / extent * ((extent + 1) / 2);
  }
  return v;
}
