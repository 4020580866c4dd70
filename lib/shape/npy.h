/* SPDX-License-Identifier: Apache-2.0 */
/* shape/npy.h: the .npy format over any source or sink of bytes; npz.c puts it into archives. */
#ifndef HALO_SHAPE_NPY_H
#define HALO_SHAPE_NPY_H

#include "halo/npy.h"

/* Where bytes come from. `read` fills `data` completely or fails; `size` is how many bytes there are
 * in all, which is checked before anything is allocated. */
typedef struct halo_npy_source {
  halo_status (*read)(void *context, void *data, size_t size);
  void *context;
  uint64_t size;
} halo_npy_source;

/* Reads one array that must take up the whole source. Messages do not name the file; the caller adds
 * that. */
halo_status halo_npy_decode(const halo_npy_source *source, halo_type expected, halo_literal **out);

/* The shape of that array, from the source's first bytes. */
halo_status halo_npy_decode_shape(const halo_npy_source *source, halo_type expected,
                                  halo_shape **out);

typedef halo_status (*halo_npy_sink)(void *context, const void *data, size_t size);

/* Writes an array literal; the same bytes each time. */
halo_status halo_npy_encode(const halo_literal *literal, halo_npy_sink sink, void *context);
/* How many bytes halo_npy_encode will write. */
uint64_t halo_npy_encoded_size(const halo_literal *literal);
/* HALO_INVALID_ARGUMENT unless the literal is an array. */
halo_status halo_npy_check_writable(const halo_literal *literal);

#endif
