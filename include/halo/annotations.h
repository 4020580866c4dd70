/* halo/annotations.h: what instructions and modules say beside what they compute: where they come from
 * and how their data is spread over devices (docs/partitioning.md). Results do not depend on it. */
#ifndef HALO_ANNOTATIONS_H
#define HALO_ANNOTATIONS_H

#include "halo/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Numbers; `data` may be NULL when count is 0. */
typedef struct halo_int_list {
  const int64_t *data;
  int32_t count;
} halo_int_list;

/* Where an instruction comes from (xla::OpMetadata). A text that is not known is NULL, a number 0. */
typedef struct halo_metadata {
  const char *op_type, *op_name; /* of the front end's operation */
  const char *source_file;
  int64_t source_line, source_end_line, source_column, source_end_column; /* from 1 */
  halo_int_list profile_type;
  const char *deduplicated_name; /* of the instruction that this one repeats */
  bool preserve_layout;          /* old dumps only */
  const char *scheduling_name;
  int64_t stack_frame_id; /* row of the module's StackFrames, from 1 */
  const char *payload;    /* the front end's business */
  /* Fields that are not known here: a name and its value as HLO text, in turns. */
  const char *const *unknown;
  int32_t unknown_count; /* of both */
} halo_metadata;

/* How exact the results of an elementwise function are to be (xla::ResultAccuracy): docs/accuracy.md. */
typedef enum halo_accuracy_mode {
  HALO_ACCURACY_DEFAULT,  /* what OpenCL promises */
  HALO_ACCURACY_HIGHEST,  /* as exact as the device can */
  HALO_ACCURACY_TOLERANCE /* within one of the limits below, or refused when compiled */
} halo_accuracy_mode;

/* Zero-initialise what is not used. */
typedef struct halo_accuracy {
  halo_accuracy_mode mode;
  double atol, rtol; /* absolute error, and error by the true value */
  int64_t ulps;      /* units in the last place */
} halo_accuracy;

/* How an array lies on several devices (xla::OpSharding). */
typedef enum halo_sharding_kind {
  HALO_SHARDING_REPLICATED, /* each device has all of it */
  HALO_SHARDING_MAXIMAL,    /* one device has all of it */
  HALO_SHARDING_MANUAL,     /* the program says by itself */
  HALO_SHARDING_UNKNOWN,
  HALO_SHARDING_UNREDUCED, /* each device has a summand */
  HALO_SHARDING_TILED,     /* each device has a tile */
  HALO_SHARDING_TUPLE,     /* one sharding for each leaf of a tuple */
  HALO_SHARDING_NAMED      /* by axes of a mesh; held as text */
} halo_sharding_kind;

/* Whether shardings that share an id are to be equal. */
typedef enum halo_shard_group { HALO_SHARD_ALONE, HALO_SHARD_AS, HALO_SHARD_LIKE } halo_shard_group;

/* How one array, or each leaf of a tuple, lies on the devices. */
typedef struct halo_sharding {
  halo_sharding_kind kind;
  int64_t device; /* MAXIMAL */
  /* TILED: into how many tiles each dimension is cut. Behind those of the array may stand further
   * dimensions, over which the devices of one tile are spread. */
  halo_int_list tiles;
  /* TILED: which device has each tile, row-major: either a list, or (count 0) the numbers from 0 in an
   * array of the dimensions `reshape`, transposed by `transpose` (count 0 when there is one dimension). */
  halo_int_list devices, reshape, transpose;
  bool replicate_last; /* TILED: over the last dimension of `tiles` all have the same */
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

/* Which part of an array of `whole` a device (a partition's number) has: along dimension d the elements from
 * starts[d] on, sizes[d] of them, [rank] each. All devices have equally many: where tiles do not divide a
 * dimension, sizes are rounded up, and what lies behind the array is padding (starts[d] may lie behind it too). All
 * of the array where it is not tiled. HALO_INVALID_ARGUMENT for shardings that do not fit the shape, for
 * those of tuples or by axes of a mesh, and for devices that the sharding does not speak of. */
HALO_API HALO_MUST_USE halo_status halo_sharding_piece(const halo_sharding *sharding,
                                                       const halo_shape *whole, int64_t device,
                                                       int64_t *starts, int64_t *sizes);

#ifdef __cplusplus
}
#endif

#endif
