/* SPDX-License-Identifier: Apache-2.0 */
/* client/executable.h: compiled modules from inside. */
#ifndef HALO_CLIENT_EXECUTABLE_H
#define HALO_CLIENT_EXECUTABLE_H

#include "client/client.h"
#include "exec/executor.h"
#include "hlo/hlo.h"

/* A device that the executable runs on, and the program there. */
typedef struct halo_placement {
  halo_device *device;
  int part; /* replica * partition_count + partition */
  halo_program *program;
} halo_placement;

struct halo_executable {
  atomic_int references;
  halo_client *client;
  halo_module *module;      /* after the passes, as for the first device */
  halo_module *partitioned; /* what each of several partitions computes, before other passes */
  halo_placement *placements;
  int placement_count; /* those of this process, in the order of parts; 0: others have them all */
  halo_plan *plan;     /* of halo_executable_home: arguments and results are the same on all */
  int replica_count, partition_count;
  halo_team team;
  int *devices; /* of all parts, by id */
  atomic_uint_least64_t *runs,
      own_runs; /* of all equal programs that processes have in common, or of this one */
  char *
      kernels; /* which implementations it was compiled with: HALO_KERNELS or the option; or NULL */
  uint64_t key[2];    /* of the module that several processes compiled; zero for others */
  halo_shape *result; /* of the module, tuples as they were */
  halo_shape **parameters;
  int parameter_count;
  pthread_mutex_t lock; /* of what follows */
  char *reports[HALO_REPORT_PARTITION + 1];
  char *fingerprint;      /* NULL until somebody asks */
  halo_profile_row *rows; /* as last asked for */
};

/* What things cost on a device, stored or by its kind, and how many buffers a kernel may have. */
halo_target halo_target_of_device(const halo_device *device);

/* compile.c: an executable that looks to callers like the module's entry, which is to be placed and
 * planned (`module` of it is still NULL, `kernels` are copied); then its devices. `devices` NULL: 0, 1, 2, ... */
halo_status halo_executable_create(halo_client *client, const halo_module *module,
                                   const char *kernels, halo_executable **out);
halo_status halo_executable_place(halo_executable *e, const int *devices, int replicas,
                                  int partitions);
/* spread.c: gives the program its number. Where other processes have parts of it, all must have come here with
 * the same key. */
halo_status halo_executable_agree(halo_executable *e);
/* Whether the parts of all processes are ready, if this one's are (`status`). */
halo_status halo_executable_confirm(halo_executable *e, halo_status status);
/* Makes the program of placement `index` (halo_program_create); takes over one owner's share of the plan. NULL: that of an earlier
 * device of the same kind, or HALO_NOT_FOUND (without a message) when there is none. */
halo_status halo_executable_load(halo_executable *e, int index, halo_plan *plan,
                                 halo_plan_limits *limits);
/* Releases programs and the plan. */
void halo_executable_unload(halo_executable *e);
/* Calls `make`, which plans and loads the executable with `limits`, which halo_program_create adds to; again as long as they grow by
 * that, after halo_executable_unload. */
typedef halo_status halo_executable_make(void *user, halo_plan_limits *limits);
halo_status halo_executable_fit(halo_executable *e, halo_executable_make *make, void *user);

/* Whether this process has parts of it, and others have too. */
bool halo_executable_is_shared(const halo_executable *e);

static inline const halo_plan *halo_executable_plan(const halo_executable *e) { return e->plan; }

/* The first device that it runs on, or one like it, where this process has no part of it. */
static inline halo_device *halo_executable_home(const halo_executable *e) {
  return e->placement_count > 0 ? e->placements[0].device : &e->client->devices[0];
}

#endif
