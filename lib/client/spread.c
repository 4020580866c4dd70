/* client/spread.c: executables on several devices: who has which part, and that all processes have the same
 * program. */
#include "base/map.h"
#include "base/memory.h"
#include "client/executable.h"
#include "collectives/world.h"

#include <string.h>

static halo_status spread_check_counts(const halo_executable *e, int replicas, int partitions) {
  int count = halo_client_global_device_count(e->client);
  if (replicas >= 1 && partitions >= 1 && replicas <= count && partitions <= count / replicas) {
    return HALO_OK;
  }
  return halo_fail(
      HALO_INVALID_ARGUMENT,
      "%d replica%s of %d partition%s do not fit the %d device%s there %s: a list or a "
      "multiple (\"NAME*%d\") opens more, and so do several processes",
      replicas, replicas == 1 ? "" : "s", partitions, partitions == 1 ? "" : "s", count,
      count == 1 ? "" : "s", count == 1 ? "is" : "are",
      replicas > 0 && partitions > 0 && replicas < 1000 && partitions < 1000 ? replicas * partitions
                                                                             : 2);
}

halo_status halo_executable_place(halo_executable *e, const int *devices, int replicas,
                                  int partitions) {
  halo_client *client = e->client;
  HALO_TRY(spread_check_counts(e, replicas, partitions));
  int parts = replicas * partitions, total = halo_client_global_device_count(client);
  void *memory;
  HALO_TRY(halo_try_alloc((sizeof *e->placements + sizeof *e->devices) * (size_t)parts,
                          "the devices of an executable", &memory));
  e->placements = memory;
  e->replica_count = replicas;
  e->partition_count = partitions;
  e->devices = (int *)(e->placements + parts); /* behind them */
  int first = halo_device_id(&client->devices[0]);
  for (int i = 0; i < parts; i++) {
    /* What needs one device runs here. */
    int id = devices ? devices[i] : parts == 1 ? first : i;
    if (id < 0 || id >= total) {
      return halo_fail(HALO_INVALID_ARGUMENT, "the client has no device %d to compile for", id);
    }
    for (int k = 0; k < i; k++) {
      if (e->devices[k] != id) continue;
      return halo_fail(HALO_INVALID_ARGUMENT, "device %d is given two parts of one program", id);
    }
    e->devices[i] = id;
    halo_device *device = halo_client_device(client, id - first);
    if (!device) continue;
    e->placements[e->placement_count++] = (halo_placement){.device = device, .part = i};
  }
  e->team = (halo_team){
      .world = client->world, .partitions = partitions, .count = parts, .devices = e->devices};
  return HALO_OK;
}

bool halo_executable_is_spread(const halo_executable *e) {
  return e->placement_count < e->team.count;
}

/* Programs with parts in some processes only would leave the others waiting. */
static halo_status spread_check_processes(const halo_executable *e) {
  const halo_world *world = e->client->world;
  int count = halo_world_process_count(world);
  for (int p = 0; p < count; p++) {
    bool there = false;
    for (int i = 0; i < e->team.count; i++) {
      there |= halo_world_process_of(world, e->devices[i]) == p;
    }
    if (there) continue;
    return halo_fail(HALO_INVALID_ARGUMENT,
                     "none of the program's %d parts is for process %d: each process must have one",
                     e->team.count, p);
  }
  return HALO_OK;
}

halo_status halo_executable_agree(halo_executable *e) {
  typedef struct spread_note {
    uint64_t program[2], place[2];
  } spread_note;
  halo_world *world = e->client->world;
  if (!halo_executable_is_spread(e)) {
    e->team.program = halo_world_local_program(world);
    return HALO_OK;
  }
  HALO_TRY(spread_check_processes(e));
  spread_note mine = {{e->key[0], e->key[1]}, {0}};
  int32_t counts[2] = {e->replica_count, e->partition_count};
  halo_hash_wide(mine.program, HALO_VERSION_TEXT, strlen(HALO_VERSION_TEXT));
  halo_hash_wide(mine.place, counts, sizeof counts);
  halo_hash_wide(mine.place, e->devices, sizeof *e->devices * (size_t)e->team.count);
  int count = halo_world_process_count(world), other = -1;
  spread_note *all = halo_alloc(sizeof *all * (size_t)count);
  halo_status status = halo_world_agree(world, "compiling a program together", &mine, sizeof mine,
                                        all, &e->team.program);
  for (int p = 0; p < count && status == HALO_OK && other < 0; p++) {
    if (memcmp(&all[p], &mine, sizeof mine) != 0) other = p;
  }
  if (other >= 0) {
    bool same = memcmp(all[other].program, mine.program, sizeof mine.program) == 0;
    status = halo_fail(HALO_FAILED_PRECONDITION,
                       same ? "processes %d and %d give the program other devices"
                            : "processes %d and %d compile different programs",
                       halo_world_process(world), other);
  }
  halo_free(all);
  return status;
}

halo_status halo_executable_confirm(halo_executable *e, halo_status status) {
  halo_world *world = e->client->world;
  if (!halo_executable_is_spread(e)) return status;
  char *message = status == HALO_OK ? NULL : halo_error_save();
  int count = halo_world_process_count(world), other = -1;
  unsigned char mine = status == HALO_OK, *all = halo_alloc((size_t)count);
  halo_status told =
      halo_world_agree(world, "waiting for others to compile", &mine, sizeof mine, all, NULL);
  for (int p = 0; p < count; p++) {
    if (!all[p] && p != halo_world_process(world)) other = p;
  }
  halo_free(all);
  halo_error_restore(message);
  if (status != HALO_OK || told != HALO_OK) return status != HALO_OK ? status : told;
  if (other < 0) return HALO_OK;
  return halo_fail(HALO_ABORTED, "process %d could not compile it", other);
}
