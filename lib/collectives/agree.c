/* collectives/agree.c: what processes agree on, all of them or some. */
#include "base/map.h"
#include "base/memory.h"
#include "collectives/post.h"
#include "collectives/schedule.h"

#include <string.h>

/* An agreement that is being made. */
typedef struct agree_call {
  halo_world *world;
  halo_world_group group;
  const char *what;
  char *all; /* [count][bytes]; this process's own lies in its place already */
  int place; /* of this process in the group */
  halo_message_key key;
} agree_call;

static int agree_process(const agree_call *call, int member) {
  return call->group.processes ? call->group.processes[member] : member;
}

static int agree_find_place(const agree_call *call) {
  int place = 0;
  while (place < call->group.count && agree_process(call, place) != call->world->process) place++;
  return place;
}

/* Each group counts its agreements, so that others may have made more or fewer with the same processes. */
static halo_message_key agree_key(const agree_call *call) {
  halo_world *world = call->world;
  const int *processes = call->group.processes;
  uint64_t hash =
      processes ? halo_hash(processes, sizeof *processes * (size_t)call->group.count, 0) : 0;
  pthread_mutex_lock(&world->office->lock);
  int32_t at = 0;
  while (at < world->groups.count && world->groups.data[at].hash != hash) at++;
  if (at == world->groups.count) halo_vec_push(&world->groups, (post_group){.hash = hash});
  uint32_t number = ++world->groups.data[at].agreements;
  pthread_mutex_unlock(&world->office->lock);
  return (halo_message_key){post_program(world, 0, 0), hash, number, 0};
}

/* What is agreed on is small. */
static halo_status agree_round(const agree_call *call, const halo_round *pieces) {
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
                     .what = call->what,
                     .sends = sends,
                     .receives = receives,
                     .send_count = send_count,
                     .receive_count = receive_count};
  halo_status status = post_exchange_patiently(call->world, &x);
  halo_free(sends);
  return status;
}

halo_status halo_world_agree(halo_world *world, halo_world_group group, const char *what,
                             const void *mine, size_t bytes, void *all) {
  agree_call call = {.world = world, .group = group, .what = what, .all = all};
  if (!group.processes) call.group.count = world->process_count;
  call.place = agree_find_place(&call);
  memcpy(call.all + bytes * (size_t)call.place, mine, bytes);
  if (call.group.count == 1) return HALO_OK;
  call.key = agree_key(&call);
  halo_schedule schedule = {HALO_SCHEDULE_GATHER, call.group.count, call.place, bytes};
  halo_round pieces = {0};
  halo_status status = HALO_OK;
  for (int r = 0; r < halo_schedule_rounds(&schedule) && status == HALO_OK; r++) {
    halo_schedule_round(&schedule, r, &pieces);
    call.key.round = (uint32_t)r;
    status = agree_round(&call, &pieces);
  }
  halo_round_deinit(&pieces);
  return status;
}
