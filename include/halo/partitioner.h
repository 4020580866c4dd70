/* SPDX-License-Identifier: Apache-2.0 */
/* halo/partitioner.h: custom calls that define their own partitioning (docs/partitioning.md).
 *
 * When a program over whole arrays is partitioned, the partitioner of a custom call's target sees how
 * the operands and results are distributed, and answers with a program for one partition. */
#ifndef HALO_PARTITIONER_H
#define HALO_PARTITIONER_H

#include "halo/annotations.h"
#include "halo/module.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One call. Inputs belong to the library and are valid during the call. */
typedef struct halo_partition_call {
  const char *target;
  const char *config; /* the backend_config as written, without quotes; "" if there is none */
  bool is_tuple;      /* the result is a tuple of result_count arrays */
  int operand_count, result_count;   /* arrays */
  const halo_shape *const *operands; /* [operand_count] of the whole arrays */
  const halo_shape *const *results;  /* [result_count] */
  /* In: how operands are distributed, and how results are wanted. Out: how the program takes and returns
   * them; the library reshards accordingly. Values put here must live until `release`. */
  const halo_sharding **operand_shardings; /* [operand_count] */
  const halo_sharding **result_shardings;  /* [result_count] */
  /* Out: the program of one partition. Its parameters are the operands' pieces (halo_sharding_piece); its
   * result is the tuple of the results' pieces, or the piece itself for one result. Ids in its collectives
   * are partitions. The library takes over the reference. NULL: the call is the identity, for as many
   * operands as results of the same shapes. */
  halo_module *program;
  /* Out, or NULL: called once after the outputs have been read, also after a failure. */
  void (*release)(struct halo_partition_call *call);
  void *data; /* for `release` */
} halo_partition_call;

/* A partitioner. Returns HALO_OK, or the status from halo_custom_call_fail, which rejects the
 * program. May be called from several threads at once. */
typedef halo_status halo_partition_fn(halo_partition_call *call, void *user);

/* Registers the partitioner of calls of `target`, replacing an older one for programs compiled from
 * then on. The frontend attribute xla.sdy.sharding_rule of a call says which dimensions correspond,
 * so that shardings propagate along it. Returns HALO_INVALID_ARGUMENT for NULL or an empty name.
 * Any thread. */
HALO_API halo_status halo_partitioner_register(const char *target, halo_partition_fn *function,
                                               void *user);

/* Declares that functions of `target` treat each problem of a batch separately. A call's frontend
 * attribute num_batch_dims is the number of leading dimensions of all operands and results that
 * form the batch; each partition calls the function for its part. Replaces a partitioner. Returns
 * HALO_INVALID_ARGUMENT for NULL or an empty name. Any thread. */
HALO_API halo_status halo_partitioner_register_batched(const char *target);

#ifdef __cplusplus
}
#endif
#endif
