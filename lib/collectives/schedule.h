/* SPDX-License-Identifier: Apache-2.0 */
/* collectives/schedule.h: which pieces of memory go between the members of a group, and when: what a member does,
 * from its place and the sizes alone, so that all members agree without a word.
 *
 * Up to HALO_SCHEDULE_FEW members, and where pieces are large, everybody sends to everybody: who is missing is
 * then named by all. Small pieces of large groups go in as many rounds as the group's size has bits, after Bruck: a
 * gather moves no more bytes for it, a swap half as many again for each round. Large broadcasts are cut: each member
 * gets a part from the first one, and hands it on to all. */
#ifndef HALO_COLLECTIVES_SCHEDULE_H
#define HALO_COLLECTIVES_SCHEDULE_H

#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  HALO_SCHEDULE_FEW = 16, /* members that all speak to each other */
  HALO_SCHEDULE_SMALL_GATHER =
      16 << 10, /* bytes of a piece, up to which rounds are fewer; likewise: */
  HALO_SCHEDULE_SMALL_SWAP = 1 << 10,
  HALO_SCHEDULE_CUT = 64 << 10, /* bytes from which a broadcast is cut */
  HALO_SCHEDULE_CHUNK = 4 << 20 /* messages are not larger */
};

typedef enum halo_schedule_kind {
  HALO_SCHEDULE_GATHER,   /* [bytes] of each -> [members][bytes] */
  HALO_SCHEDULE_SWAP,     /* piece i of [members][bytes] goes to member i -> likewise */
  HALO_SCHEDULE_BROADCAST /* [bytes] of the first -> [bytes] */
} halo_schedule_kind;

typedef struct halo_schedule {
  halo_schedule_kind kind;
  int32_t count, place; /* members, and which of them this is */
  size_t bytes;         /* of a piece, as above */
} halo_schedule;

typedef enum halo_space { HALO_SPACE_SENT, HALO_SPACE_RESULT, HALO_SPACE_SCRATCH } halo_space;

/* A piece of memory that goes to a member or comes from it. */
typedef struct halo_piece {
  int32_t member, lane;
  halo_space space;
  size_t at, bytes;
} halo_piece;

/* When a member copies within its own memory: before it sends, while messages are on their way, or when all
 * of the round have come. */
typedef enum halo_copy_time { HALO_COPY_BEFORE, HALO_COPY_BESIDE, HALO_COPY_BEHIND } halo_copy_time;
typedef struct halo_piece_copy {
  halo_copy_time time;
  halo_space from_space, to_space;
  size_t from, to, bytes;
} halo_piece_copy;

typedef struct halo_round {
  HALO_VEC(halo_piece) sends;
  HALO_VEC(halo_piece) receives;
  HALO_VEC(halo_piece_copy) copies;
} halo_round;

/* How many rounds there are, at least 1; at most 64. */
int halo_schedule_rounds(const halo_schedule *schedule);
/* Bytes of scratch memory that it needs. */
size_t halo_schedule_scratch(const halo_schedule *schedule);
/* Puts what happens in a round in the place of what `out` held. */
void halo_schedule_round(const halo_schedule *schedule, int round, halo_round *out);
/* A piece and its like on the other side, cut into chunks with lanes of their own. */
void halo_schedule_add(halo_round *round, bool receive, int32_t member, halo_space space, size_t at,
                       size_t bytes);
void halo_round_clear(halo_round *round);
void halo_round_deinit(halo_round *round);

#endif
