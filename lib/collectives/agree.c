/* SPDX-License-Identifier: Apache-2.0 */
/* collectives/agree.c: what processes agree on, all of them or some. */
#include "base/map.h"
#include "base/memory.h"
#include "collectives/post.h"
#include "collectives/schedule.h"

#include <assert.h>
#include <string.h>

/* An agreement that is being made. */
typedef struct agree_call {
  halo_world *world;
  halo_agreement of;
  size_t bytes;
  char *all; /* [count][bytes]; this process's own lies in its place already */
  int place; /* of this process in the group */
  halo_message_key key;
  halo_round pieces;
  halo_message_key *strange; /* [processes] what others waited with at the last doubt */
} agree_call;

static int agree_process(const agree_call *call, int member) {
  return call->of.group.processes ? call->of.group.processes[member] : member;
}

static int agree_find_place(const agree_call *call) {
  int place = 0;
  while (place < call->of.group.count && agree_process(call, place) != call->world->process) {
    place++;
  }
  return place;
}

/* An agreement is to its messages what a program is to those of its runs: the n'th about something meets the n'th. What
 * agreements of one kind and group have in common is their `op`. */
static halo_message_key agree_key(const agree_call *call) {
  const halo_world_group *group = &call->of.group;
  uint64_t kind = halo_hash(&call->world->number, sizeof call->world->number, 0);
  kind = halo_hash(call->of.what, strlen(call->of.what), kind);
  if (group->processes) {
    kind = halo_hash(group->processes, sizeof *group->processes * (size_t)group->count, kind);
  }
  uint64_t number = post_common(halo_hash(&call->of.about, sizeof call->of.about, kind));
  uint64_t times = 1 + atomic_fetch_add(halo_world_counter(call->world, number), 1);
  return (halo_message_key){number, times, (uint32_t)kind, 0};
}

/* ---- Doubts ---- */

/* A message of the process that no thread here has taken: the process waits in an agreement that this one has no part
 * in. False: there is none. */
static bool agree_find_strange(agree_call *call, int process, halo_message_key *key, void *theirs) {
  halo_world *world = call->world;
  pthread_mutex_lock(&world->office->lock);
  const post_entry *entry =
      post_any(world, post_desk(process), post_desk(world->process), call->key.op, 0);
  bool found = entry && entry->data && entry->bytes == call->bytes;
  if (found) {
    *key = entry->key;
    memcpy(theirs, entry->data, call->bytes);
  }
  pthread_mutex_unlock(&world->office->lock);
  return found;
}

/* Threads of one process may come to their agreements in another order than those of another, so that something strange
 * counts when it is still there the next time. Then both agreements fail, on all that take part in either. */
static halo_status agree_doubt(void *user, int receive) {
  agree_call *call = user;
  halo_world *world = call->world;
  int process = agree_process(call, call->pieces.receives.data[receive].member);
  char theirs[HALO_AGREEMENT_MOST];
  halo_message_key key = {0}, before = call->strange[process];
  bool found = agree_find_strange(call, process, &key, theirs);
  call->strange[process] = key;
  if (!found || key.program != before.program || key.run != before.run) return HALO_OK;
  const char *mine = call->all + call->bytes * (size_t)call->place;
  halo_status status = call->of.differ(world, process, mine, theirs);
  char *message = halo_error_save();
  halo_world_fail(world, key.program, key.run, post_desk(world->process), message);
  halo_error_restore(message);
  return status;
}

/* ---- Messages ---- */

/* What is agreed on is small. */
static halo_status agree_round(agree_call *call) {
  const halo_round *pieces = &call->pieces;
  int32_t send_count = pieces->sends.count, receive_count = pieces->receives.count;
  halo_message *sends = halo_alloc(sizeof *sends * (size_t)(send_count + receive_count + 1));
  halo_message *receives = sends + send_count;
  for (int32_t i = 0; i < send_count; i++) {
    const halo_piece *p = &pieces->sends.data[i];
    size_t at = p->space == HALO_SPACE_SENT ? p->bytes * (size_t)call->place : p->at;
    sends[i] = (halo_message){post_desk(agree_process(call, p->member)), p->lane, call->all + at,
                              p->bytes};
  }
  for (int32_t i = 0; i < receive_count; i++) {
    const halo_piece *p = &pieces->receives.data[i];
    receives[i] = (halo_message){post_desk(agree_process(call, p->member)), p->lane,
                                 call->all + p->at, p->bytes};
  }
  halo_exchange x = {.key = call->key,
                     .device = post_desk(call->world->process),
                     .what = call->of.what,
                     .sends = sends,
                     .receives = receives,
                     .send_count = send_count,
                     .receive_count = receive_count,
                     .doubt = call->of.differ ? agree_doubt : NULL,
                     .user = call};
  halo_status status = post_exchange_patiently(call->world, &x);
  halo_free(sends);
  return status;
}

halo_status halo_world_agree(halo_world *world, const halo_agreement *agreement, const void *mine,
                             size_t bytes, void *all) {
  agree_call call = {.world = world, .of = *agreement, .bytes = bytes, .all = all};
  if (!call.of.group.processes) call.of.group.count = world->process_count;
  int count = call.of.group.count;
  assert(bytes <= HALO_AGREEMENT_MOST);
  call.place = agree_find_place(&call);
  memcpy(call.all + bytes * (size_t)call.place, mine, bytes);
  if (count == 1) return HALO_OK;
  call.key = agree_key(&call);
  call.strange = halo_alloc(sizeof *call.strange * (size_t)world->process_count);
  halo_schedule schedule = {HALO_SCHEDULE_GATHER, count, call.place, bytes};
  halo_status status = HALO_OK;
  for (int r = 0; r < halo_schedule_rounds(&schedule) && status == HALO_OK; r++) {
    halo_schedule_round(&schedule, r, &call.pieces);
    call.key.round = (uint32_t)r;
    status = agree_round(&call);
  }
  halo_round_deinit(&call.pieces);
  halo_free(call.strange);
  return status;
}
