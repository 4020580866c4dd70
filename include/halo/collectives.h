/* SPDX-License-Identifier: Apache-2.0 */
/* halo/collectives.h: builder calls for exchanges between replicas and partitions
 * (docs/collectives.md). The numbers of replicas and partitions are given at compilation
 * (halo_compile_options). Shapes are those of one replica's arrays. */
#ifndef HALO_COLLECTIVES_H
#define HALO_COLLECTIVES_H

#include "halo/builder.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The participants: `groups` lists of `size` ids, one after the other; 0 groups: all belong to one
 * group. XLA: ReplicaGroup, ChannelHandle and use_global_device_ids. A NULL pointer means all
 * zeros.
 *
 * Without a channel, ids are replicas, and each partition has its own groups. With a channel (a
 * number above 0), the ids of all-reduce, all-gather and reduce-scatter are replicas together with
 * all their partitions, or with `global_ids` replica * partition_count + partition; the ids of
 * other operations are partitions.
 *
 * `layout` (NULL: row-major) is the result's shape with the wanted layout: XLA's arguments layout
 * and shape_with_layout. Values do not depend on it. Calls without such an argument in XLA reject
 * it. */
typedef struct halo_replica_groups {
  int groups, size;
  const int64_t *ids;
  int64_t channel;
  bool global_ids;
  const halo_shape *layout;
} halo_replica_groups;

/* u32[]: the number of the replica that runs. */
HALO_API halo_op halo_replica_id(halo_builder *builder);
/* u32[]: the number of the partition that runs. (XLA's PartitionId takes a shape, which can only be
 * u32[].) */
HALO_API halo_op halo_partition_id(halo_builder *builder);

/* Combines the members' arrays element by element, in the group's order; every member gets the
 * result. The operand of this and the following calls is an array. All-reduce, all-gather,
 * reduce-scatter, collective-broadcast, collective-reduce and collective-permute also take a tuple
 * of arrays and treat each separately; the result is then a tuple (XLA's AllReduceTuple,
 * AllGatherTuple and MultiCollectivePermute). */
HALO_API halo_op halo_all_reduce(halo_op operand, halo_comp reducer,
                                 const halo_replica_groups *who);
/* Concatenates the members' arrays along a dimension, in the group's order. `members` is the size
 * of a group. */
HALO_API halo_op halo_all_gather(halo_op operand, int64_t dimension, int64_t members,
                                 const halo_replica_groups *who);
/* As halo_all_reduce, but the i-th member keeps only the i-th part along a dimension. */
HALO_API halo_op halo_reduce_scatter(halo_op operand, halo_comp reducer, int64_t dimension,
                                     int64_t members, const halo_replica_groups *who);
/* Cuts the array along `split` into as many parts as there are members. Each member receives one
 * part from every member and concatenates them along `concat`, in the group's order. */
HALO_API halo_op halo_all_to_all(halo_op operand, int64_t split, int64_t concat, int64_t members,
                                 const halo_replica_groups *who);
/* The operand is a tuple of arrays of one shape, one for each member: the i-th array goes to the
 * i-th member. The result is the tuple of the received arrays, in the members' order. XLA:
 * AllToAllTuple. */
HALO_API halo_op halo_all_to_all_tuple(halo_op operand, const halo_replica_groups *who);
/* The first member's array, for the whole group; zeros for devices in no group. */
HALO_API halo_op halo_collective_broadcast(halo_op operand, const halo_replica_groups *who);
/* As halo_all_reduce for the first member; zeros for the others. */
HALO_API halo_op halo_collective_reduce(halo_op operand, halo_comp reducer,
                                        const halo_replica_groups *who);
/* ids[2 i] sends its array to ids[2 i + 1], for `pairs` pairs; zeros where nobody sends. The ids
 * are replicas, or with a channel (above 0) partitions. */
HALO_API halo_op halo_collective_permute(halo_op operand, int pairs, const int64_t *ids,
                                         int64_t channel);
/* Sends rows of `input` to rows of the other members' results; other rows of a result are those of
 * its `output`. The remaining operands are integers, [members] or [members, updates], or the
 * latter's rows concatenated: `sizes` rows from row `offsets` on go to member i, to its rows from
 * `to` on; `received` has the sizes that arrive from each member. */
HALO_API halo_op halo_ragged_all_to_all(halo_op input, halo_op offsets, halo_op sizes,
                                        halo_op output, halo_op to, halo_op received,
                                        const halo_replica_groups *who);

#ifdef __cplusplus
}
#endif

#endif
