/* halo/partitioner.h: custom calls that know themselves how they are partitioned (docs/partitioning.md).
 *
 * When a program of whole arrays is made into that of one partition, calls of a target with a partitioner are
 * shown how their operands and results lie on the devices, and answer with a program for one partition. */
#ifndef HALO_PARTITIONER_H
#define HALO_PARTITIONER_H

#include "halo/annotations.h"
#include "halo/module.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One call. What comes in belongs to the library and is valid during the call. */
typedef struct halo_partition_call {
  const char *target;
  const char
      *config;   /* the backend_config as it is written, without quotes; "" when there is none */
  bool is_tuple; /* the result is a tuple, of result_count arrays */
  int operand_count, result_count;   /* arrays */
  const halo_shape *const *operands; /* [operand_count] the whole arrays' */
  const halo_shape *const *results;  /* [result_count] */
  /* In: how they lie, or are wanted. Out: how the program takes and gives them; operands are brought to
   * that, and results go on from there. What is put here must live until `release`. */
  const halo_sharding **operand_shardings; /* [operand_count] */
  const halo_sharding **result_shardings;  /* [result_count] */
  /* Out: what one partition computes: as many parameters as there are operands, each with the shape of a
   * piece (halo_sharding_piece), and the results' pieces, as a tuple or, if there is one result, by itself. Its
   * collectives speak of partitions. One reference, which the library takes over. NULL: the call is the identity,
   * of operands that are as many as its results and have their shapes. */
  halo_module *program;
  /* Out, or NULL: called once when all of the above has been read, also after a failure. */
  void (*release)(struct halo_partition_call *call);
  void *data; /* for it */
} halo_partition_call;

/* Anything but HALO_OK, which halo_custom_call_fail returns, refuses the program. May be called from several
 * threads at once. */
typedef halo_status halo_partition_fn(halo_partition_call *call, void *user);

/* Makes `function` the partitioner of calls of `target`, in place of an older one for programs compiled from then
 * on. Which dimensions go together, so that shardings travel along the call, a call says by itself: by the frontend
 * attribute xla.sdy.sharding_rule. HALO_INVALID_ARGUMENT for NULL or an empty name. Any thread. */
HALO_API halo_status halo_partitioner_register(const char *target, halo_partition_fn *function,
                                               void *user);

/* Says that functions of `target` treat each problem of a batch by itself: a call's frontend attribute num_batch_dims
 * is the number of leading dimensions of all its operands and results that are the batch, and partitions call the
 * function for their part of it. Takes the place of a partitioner. HALO_INVALID_ARGUMENT for NULL or an empty name. Any
 * thread. */
HALO_API halo_status halo_partitioner_register_batched(const char *target);

#ifdef __cplusplus
}
#endif
#endif
