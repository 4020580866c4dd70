/* SPDX-License-Identifier: Apache-2.0 */
/* exec/executor.h: runs a plan on a device. It knows plans and OpenCL, and no HLO. */
#ifndef HALO_EXEC_EXECUTOR_H
#define HALO_EXEC_EXECUTOR_H

#include "collectives/world.h"
#include "exec/build.h"
#include "exec/feed.h"
#include "exec/profile.h"
#include "exec/value.h"
#include "opencl/opencl.h"
#include "plan/plan.h"

/* A plan made ready: programs built, constants on the device. Several runs may be in progress at once,
 * from any threads: each has kernels and temporaries of its own. */
typedef struct halo_program halo_program;
typedef struct halo_run halo_run;

/* The devices that run parts of one program together. */
typedef struct halo_team {
  halo_world *world;
  uint64_t program;   /* its number, the same in all processes */
  int partitions;     /* of each replica */
  int count;          /* of devices */
  const int *devices; /* in the world, replica by replica */
} halo_team;

/* Where a program stands. */
typedef struct halo_program_site {
  halo_run_ids ids; /* which replica and partition it is */
  const halo_team
      *team; /* copied, but for its world, which outlives the program's runs; NULL: it is alone */
  halo_feeds *feeds; /* its host, which does likewise; or NULL */
} halo_program_site;

/* Takes over one owner's share of the plan (also when it fails). HALO_DEVICE_ERROR with the build log,
 * HALO_OUT_OF_MEMORY. HALO_UNIMPLEMENTED where the device gives kernels smaller groups than they are written for; `limits`, unless
 * NULL, grow by these, and a plan that knows them may do better. On a null device nothing is built and the program cannot run. */
halo_status halo_program_create(halo_cl_device *device, halo_plan *plan,
                                const halo_program_site *site, halo_plan_limits *limits,
                                halo_program **out);
/* Runs in progress go on to their end. */
void halo_program_release(halo_program *program);
const halo_plan *halo_program_plan(const halo_program *program);

/* What else a run may be given. */
typedef struct halo_run_options {
  halo_cl_event *const *after; /* that must be over before it begins; those may be NULL */
  int after_count;
  uint64_t number; /* of the run, the same for all parts of it */
  int device;      /* of the client, and what is the caller's, for custom calls */
  void *context;
  /* Functions of channels that hold for this run alone, before those of the device; copied. */
  const halo_channel *channels;
  int channel_count;
  halo_cl_event **done; /* NULL, or where a reference to the event of all its results is put */
  /* NULL, or where a run is put that has to wait for something, which a thread of the library would do else: parts of one
   * program that are started one after the other may wait for each other only. NULL is put there otherwise. */
  halo_run **held;
} halo_run_options;

/* A held run goes on as far as it need not wait. True: it is over, as one that a thread has done, and gone. *moved: it
 * has gone on, or something that it waits for has come. */
bool halo_run_go_on(halo_run *run, bool *moved);
/* Gives a held run to a thread. */
void halo_run_let_go(halo_run *run);

/* One run. `arguments`: a value for each flat argument, on the program's device; borrowed, but for those
 * with donated[i] (NULL: none), whose reference is taken over and whose memory may become a result's.
 * The run begins when no argument is pending any more and the events of `options` are over. `results`
 * receives a value for each flat result.
 *
 * Returns without waiting. A failure is returned, with no results, when it happens before this
 * returns; later ones, and failures of what the run depends on, are those of the results. Donated
 * arguments are the caller's again only when a failure is returned before anything was queued:
 * `*began` tells. */
halo_status halo_program_run(halo_program *program, halo_device_value *const *arguments,
                             const bool *donated, const halo_run_options *options,
                             halo_device_value **results, bool *began);

/* Random numbers of runs that are started from now on begin anew, as `seed` says; 0 at first. */
void halo_program_seed(halo_program *program, uint64_t seed);

/* Waits, then gives one row a step that can be timed; NULL and 0 without profiling. Owned by the
 * program until the next call. */
halo_status halo_program_profile(halo_program *program, const halo_step_time **rows, int *count);

/* What the host did in the runs that have ended, by halo_host_work; zeros without profiling. */
void halo_program_profile_host(halo_program *program, halo_host_time times[HALO_HOST_WORKS]);

#endif
