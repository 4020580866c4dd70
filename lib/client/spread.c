/* SPDX-License-Identifier: Apache-2.0 */
/* client/spread.c: executables on several devices: who has which part, and that all processes have the same
 * program. */
#include "base/map.h"
#include "base/memory.h"
#include "client/executable.h"
#include "collectives/world.h"
#include "opencl/probe.h"

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
      replicas, halo_plural(replicas), partitions, halo_plural(partitions), count,
      halo_plural(count), count == 1 ? "is" : "are",
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
  halo_cl_probe(halo_executable_home(e)->cl);
  for (int i = 1; i < e->placement_count; i++) halo_cl_probe(e->placements[i].device->cl);
  return HALO_OK;
}

bool halo_executable_is_shared(const halo_executable *e) {
  return e->placement_count > 0 && e->placement_count < e->team.count;
}

/* The processes that have parts, in a list that is the caller's to free. */
static int *spread_processes(const halo_executable *e, int *out_count) {
  const halo_world *world = e->client->world;
  int count = halo_world_process_count(world);
  bool *there = halo_alloc(sizeof *there * (size_t)count);
  for (int i = 0; i < e->team.count; i++) {
    there[halo_world_process_of(world, e->devices[i])] = true;
  }
  int *processes = halo_alloc(sizeof *processes * (size_t)count);
  *out_count = 0;
  for (int p = 0; p < count; p++) {
    if (there[p]) processes[(*out_count)++] = p;
  }
  halo_free(there);
  return processes;
}

/* Each process's description of a program that it is to compile with others. Processes that agree have the same. */
typedef struct spread_note {
  uint64_t program[2], place[2];
} spread_note;

static halo_status spread_differ(const halo_world *world, int process, const void *mine,
                                 const void *theirs) {
  const spread_note *a = mine;
  spread_note b;
  memcpy(&b, theirs, sizeof b);
  return halo_fail(HALO_FAILED_PRECONDITION,
                   memcmp(a->program, b.program, sizeof b.program) == 0
                       ? "processes %d and %d give the program other devices"
                       : "processes %d and %d compile different programs",
                   halo_world_process(world), process);
}

static spread_note spread_note_of(const halo_executable *e) {
  spread_note note = {{e->key[0], e->key[1]}, {0}};
  int32_t counts[2] = {e->replica_count, e->partition_count};
  halo_hash_wide(note.program, HALO_VERSION_TEXT, strlen(HALO_VERSION_TEXT));
  halo_hash_wide(note.place, counts, sizeof counts);
  halo_hash_wide(note.place, e->devices, sizeof *e->devices * (size_t)e->team.count);
  return note;
}

/* Equal programs of one placement are one program to those who exchange messages, whichever executables they are in:
 * threads of the processes may have compiled them in any order. */
halo_status halo_executable_agree(halo_executable *e) {
  halo_world *world = e->client->world;
  e->runs = &e->own_runs;
  if (!halo_executable_is_shared(e)) {
    e->team.program = halo_world_program(world);
    return HALO_OK;
  }
  spread_note mine = spread_note_of(e);
  uint64_t key[2] = {0};
  halo_hash_wide(key, &mine, sizeof mine);
  e->team.program = halo_world_common_program(world, key);
  e->runs = halo_world_counter(world, e->team.program);
  int count, *processes = spread_processes(e, &count);
  halo_agreement agreement = {.group = {processes, count},
                              .about = e->team.program,
                              .what = "compiling a program together",
                              .differ = spread_differ};
  spread_note *all = halo_alloc(sizeof *all * (size_t)count);
  halo_status status = halo_world_agree(world, &agreement, &mine, sizeof mine, all);
  halo_free(all);
  halo_free(processes);
  return status;
}

halo_status halo_executable_confirm(halo_executable *e, halo_status status) {
  halo_world *world = e->client->world;
  if (!halo_executable_is_shared(e)) return status;
  char *message = status == HALO_OK ? NULL : halo_error_save();
  int count, *processes = spread_processes(e, &count);
  halo_agreement agreement = {.group = {processes, count},
                              .about = e->team.program,
                              .what = "waiting for others to compile"};
  int other = -1;
  unsigned char mine = status == HALO_OK, *all = halo_alloc((size_t)count);
  halo_status told = halo_world_agree(world, &agreement, &mine, sizeof mine, all);
  for (int m = 0; m < count; m++) {
    if (!all[m] && processes[m] != halo_world_process(world)) other = processes[m];
  }
  halo_free(all);
  halo_free(processes);
  halo_error_restore(message);
  if (status != HALO_OK || told != HALO_OK) return status != HALO_OK ? status : told;
  if (other < 0) return HALO_OK;
  return halo_fail(HALO_ABORTED, "process %d could not compile it", other);
}
