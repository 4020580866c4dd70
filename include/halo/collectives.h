/* halo/collectives.h: builder calls for what goes on between replicas and partitions (docs/collectives.md). A
 * program's counts are given when it is compiled (halo_compile_options). Shapes are those of one replica's arrays. */
#ifndef HALO_COLLECTIVES_H
#define HALO_COLLECTIVES_H

#include "halo/builder.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Who takes part: `groups` lists of `size` ids, one behind the other; 0 groups: all are one. Without a channel
 * ids are replicas, and each partition has groups of its own. With one (a number above 0) they are, of
 * all-reduce, all-gather and reduce-scatter, replicas that bring all their partitions along, or with
 * `global_ids` replica * partition_count + partition; of the others, partitions. XLA: ReplicaGroup,
 * ChannelHandle, use_global_device_ids. NULL in its place means zeros.
 *
 * `layout` (NULL: row-major) is the result's shape with the layout that the result is to have: XLA's arguments layout
 * and shape_with_layout. Values do not depend on it. Calls that have no such argument in XLA refuse it. */
typedef struct halo_replica_groups {
  int groups, size;
  const int64_t *ids;
  int64_t channel;
  bool global_ids;
  const halo_shape *layout;
} halo_replica_groups;

/* u32[]: which replica, and which partition of it, runs. (XLA's PartitionId takes a shape, which can only be u32[].) */
HALO_API halo_op halo_replica_id(halo_builder *builder);
HALO_API halo_op halo_partition_id(halo_builder *builder);

/* Operands of these calls are arrays. Where a tuple of arrays is given to all-reduce, all-gather, reduce-scatter,
 * collective-broadcast, collective-reduce or collective-permute, each array is treated like a single one, and the result is a
 * tuple of as many: XLA's AllReduceTuple, AllGatherTuple and MultiCollectivePermute. */

/* The members' arrays combined, element by element, in the group's order; for every member. */
HALO_API halo_op halo_all_reduce(halo_op operand, halo_comp reducer,
                                 const halo_replica_groups *who);
/* The members' arrays one behind the other along a dimension. `members`: of a group. */
HALO_API halo_op halo_all_gather(halo_op operand, int64_t dimension, int64_t members,
                                 const halo_replica_groups *who);
/* As halo_all_reduce, of which the i-th member keeps the i-th part along a dimension. */
HALO_API halo_op halo_reduce_scatter(halo_op operand, halo_comp reducer, int64_t dimension,
                                     int64_t members, const halo_replica_groups *who);
/* The array is cut along `split` into as many parts as there are members; each gets one from every member, in the
 * group's order, put together along `concat`. */
HALO_API halo_op halo_all_to_all(halo_op operand, int64_t split, int64_t concat, int64_t members,
                                 const halo_replica_groups *who);
/* The operand is a tuple of as many arrays of one shape as a group has members: its i-th array goes to the i-th member.
 * The result is the tuple of what came, in the members' order. XLA: AllToAllTuple. */
HALO_API halo_op halo_all_to_all_tuple(halo_op operand, const halo_replica_groups *who);
/* The first member's array, for all of the group; zeros for who is in none. */
HALO_API halo_op halo_collective_broadcast(halo_op operand, const halo_replica_groups *who);
/* As halo_all_reduce for the first member, zeros for the others. */
HALO_API halo_op halo_collective_reduce(halo_op operand, halo_comp reducer,
                                        const halo_replica_groups *who);
/* pairs[2 i] sends its array to pairs[2 i + 1]; zeros for whom nobody sends to. Replicas, or with a channel
 * (above 0) partitions. */
HALO_API halo_op halo_collective_permute(halo_op operand, int pairs, const int64_t *ids,
                                         int64_t channel);
/* Rows of `input` go to rows of the other members' results, which otherwise are their `output`. The lists are
 * integers, [members] or [members, updates], or the latter's rows one behind the other: to member i go `sizes` rows
 * from `offsets` on, to rows from `to` on there; `received` are the sizes that come from each. */
HALO_API halo_op halo_ragged_all_to_all(halo_op input, halo_op offsets, halo_op sizes,
                                        halo_op output, halo_op to, halo_op received,
                                        const halo_replica_groups *who);

#ifdef __cplusplus
}
#endif

#endif
