/* SPDX-License-Identifier: Apache-2.0 */
/* exec/collective.h: one device's part of a collective as it is done. Private to step_collective.c and
 * collective_memory.c. */
#ifndef HALO_EXEC_COLLECTIVE_H
#define HALO_EXEC_COLLECTIVE_H

#include "collectives/schedule.h"
#include "exec/run.h"

/* An argument's bytes where the host sees them: in their place or mapped where the device shares the host's memory,
 * else an image of it. */
typedef struct collective_span {
  halo_place_at at;
  size_t size;
  bool written, mapped;
  char *data;
  halo_cl_stream
      *stream; /* to and from the image while messages are on their way; NULL: all at once */
} collective_span;

enum { COLLECTIVE_SPANS = 5 };

typedef struct collective_part {
  halo_run *run;
  const halo_plan_collective *collective;
  const halo_team *team;
  int me; /* among the devices of the program */
  collective_span spans[COLLECTIVE_SPANS];
  int span_count;
  char *scratch;
  size_t
      rows; /* bytes of it that stand for the result, until the host has combined them; 0: none */
  halo_schedule schedule;
  const int32_t *group; /* the members, by place; NULL: in none */
  int rounds, round;
  halo_round pieces; /* of the round */
  HALO_VEC(halo_message) sends;
  HALO_VEC(halo_message) receives;
  halo_message_key key; /* of the first round */
  halo_exchange exchange;
  halo_exchange_state *state; /* of a round that has begun */
  size_t there;               /* bytes of spans[0] in its image */
  bool opened, moved;         /* something has come or gone since that was asked */
  double since;               /* when the first round began; with profiling */
} collective_part;

/* Makes the step's arguments visible to the host. Waits for all that is on the run's queue, unless they come in
 * a stream, which is so where `streamed` is set and the device does not share the host's memory. `idle`: nothing
 * is on that queue, and memory may be used as it is. */
halo_status collective_open(collective_part *part, const halo_step *step, bool streamed, bool idle);
/* Gives them back to the device, with what came if `good`. */
halo_status collective_close(collective_part *part, bool good);
/* Hooks of a halo_exchange whose user is the part. */
halo_status collective_ready(void *part, int send, bool *ready);
halo_status collective_came(void *part, int receive);
/* Copies within the device's own memory that belong to a time of the round. */
halo_status collective_copy(collective_part *part, halo_copy_time time);
/* Zeros in all of the result. */
halo_status collective_clear(collective_part *part);
char *collective_at(collective_part *part, halo_space space, size_t at);

#endif
