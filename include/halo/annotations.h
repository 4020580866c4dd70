/* SPDX-License-Identifier: Apache-2.0 */
/* halo/annotations.h: what instructions and modules say beside what they compute: their origin,
 * and how their data is distributed over devices (docs/partitioning.md). Results do not depend
 * on it. */
#ifndef HALO_ANNOTATIONS_H
#define HALO_ANNOTATIONS_H

#include "halo/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A list of integers; `data` may be NULL if count is 0. */
typedef struct halo_int_list {
  const int64_t *data;
  int32_t count;
} halo_int_list;

/* The origin of an instruction (xla::OpMetadata). Unknown texts are NULL, unknown numbers 0. */
typedef struct halo_metadata {
  const char *op_type, *op_name; /* of the front end's operation */
  const char *source_file;
  int64_t source_line, source_end_line, source_column, source_end_column; /* from 1 */
  halo_int_list profile_type;
  const char *deduplicated_name; /* the instruction that this one repeats */
  bool preserve_layout;          /* old dumps only */
  const char *scheduling_name;
  int64_t stack_frame_id; /* row of the module's StackFrames, from 1 */
  const char *payload;    /* for the front end */
  /* Other fields: names and values as HLO text, alternating. */
  const char *const *unknown;
  int32_t unknown_count; /* of names and values */
} halo_metadata;

/* The required accuracy of an elementwise function's results (xla::ResultAccuracy;
 * docs/accuracy.md). */
typedef enum halo_accuracy_mode {
  HALO_ACCURACY_DEFAULT,  /* the bounds in docs/accuracy.md */
  HALO_ACCURACY_HIGHEST,  /* as accurate as the device allows */
  HALO_ACCURACY_TOLERANCE /* within one of the limits below, or rejected when compiled */
} halo_accuracy_mode;

/* The required accuracy, with limits for HALO_ACCURACY_TOLERANCE, one of which must hold.
 * Zero-initialise unused fields. */
typedef struct halo_accuracy {
  halo_accuracy_mode mode;
  double atol, rtol; /* absolute and relative error */
  int64_t ulps;      /* units in the last place */
} halo_accuracy;

/* How an array is distributed over several devices (xla::OpSharding). */
typedef enum halo_sharding_kind {
  HALO_SHARDING_REPLICATED, /* each device has all of it */
  HALO_SHARDING_MAXIMAL,    /* one device has all of it */
  HALO_SHARDING_MANUAL,     /* the program distributes it itself */
  HALO_SHARDING_UNKNOWN,
  HALO_SHARDING_UNREDUCED, /* each device has a summand */
  HALO_SHARDING_TILED,     /* each device has a tile */
  HALO_SHARDING_TUPLE,     /* one sharding for each leaf of a tuple */
  HALO_SHARDING_NAMED      /* over axes of a mesh; kept as text */
} halo_sharding_kind;

/* Whether shardings with the same id must be equal. */
typedef enum halo_shard_group { HALO_SHARD_ALONE, HALO_SHARD_AS, HALO_SHARD_LIKE } halo_shard_group;

/* How an array, or each leaf of a tuple, is distributed over devices. Members apply to the kinds
 * that their comments name. */
typedef struct halo_sharding {
  halo_sharding_kind kind;
  int64_t device; /* MAXIMAL */
  /* TILED: the number of tiles along each dimension. Further dimensions may follow those of the array; the
   * devices of one tile are spread over them. */
  halo_int_list tiles;
  /* TILED: the device of each tile, in row-major order: either a list, or (count 0) the numbers from 0 in
   * an array of the dimensions `reshape`, transposed by `transpose` (count 0 for one dimension). */
  halo_int_list devices, reshape, transpose;
  bool replicate_last; /* TILED: replicated over the last dimension of `tiles` */
  /* TILED: the halo_sharding_kind (REPLICATED, MANUAL or UNREDUCED) over each of the last dimensions. */
  halo_int_list last_kinds;
  halo_shard_group group;
  int64_t group_id;
  const halo_metadata *metadata;
  int32_t metadata_count;
  const struct halo_sharding *elements; /* TUPLE */
  int32_t element_count;
  const char *text; /* NAMED: HLO text with its braces */
} halo_sharding;

/* The part of an array of shape `whole` that a device (a partition's number) holds: along dimension
 * d, sizes[d] elements from starts[d] on; both have room for the rank. All devices hold equally
 * many: if tiles do not divide a dimension, sizes are rounded up, and elements beyond the array are
 * padding (starts[d] may lie beyond it too). An array that is not tiled is one piece. Returns
 * HALO_INVALID_ARGUMENT for shardings that do not fit the shape, for those of tuples or over axes
 * of a mesh, and for devices that the sharding does not mention. */
HALO_API HALO_MUST_USE halo_status halo_sharding_piece(const halo_sharding *sharding,
                                                       const halo_shape *whole, int64_t device,
                                                       int64_t *starts, int64_t *sizes);

#ifdef __cplusplus
}
#endif

#endif
