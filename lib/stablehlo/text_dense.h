/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/text_dense.h: a dense literal while it is read; shared by text_dense.c and text_blob.c. */
#ifndef HALO_STABLEHLO_TEXT_DENSE_H
#define HALO_STABLEHLO_TEXT_DENSE_H

#include "stablehlo/text_reader.h"

typedef struct halo_mlir_dense {
  const char *at; /* of the keyword, for messages */
  const halo_mlir_type *type;
  int64_t count;         /* of elements that the type has */
  int64_t kept;          /* of elements that the literal has: 1 for large splats */
  halo_literal *literal; /* the program's */
} halo_mlir_dense;

/* ---- text_dense.c ---- */

/* Makes the literal, of zeros. */
halo_status halo_mlir_text_dense_alloc(halo_mlir_reader *r, halo_mlir_dense *dense, bool splat);
/* Copies the first element to all others. */
void halo_mlir_text_dense_spread(halo_mlir_dense *dense);

/* ---- text_blob.c ---- */

/* The literal of "0x..." whose opening quote is before `at`: little-endian elements, or, where `may_splat`, one. `limit`
 * is behind the closing quote. */
halo_status halo_mlir_text_dense_hex(halo_mlir_reader *r, halo_mlir_dense *dense, const char *at,
                                     const char *limit, bool may_splat);
/* A name of a resource, with or without quotes. */
halo_status halo_mlir_text_resource_key(halo_mlir_reader *r, const char **out, size_t *length);
/* The literal of a resource. */
halo_status halo_mlir_text_dense_blob(halo_mlir_reader *r, halo_mlir_dense *dense, const char *at,
                                      const char *key, size_t length);

#endif
