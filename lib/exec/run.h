/* SPDX-License-Identifier: Apache-2.0 */
/* exec/run.h: programs and runs from inside: for the files of this room. */
#ifndef HALO_EXEC_RUN_H
#define HALO_EXEC_RUN_H

#include "exec/executor.h"
#include "exec/profile.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct halo_aside halo_aside; /* steps that go on in another thread: step_async.c */
typedef struct halo_run_set halo_run_set;

/* How steps of one kind run: the interface between the executor and lib/exec/step_*.c. A step's `state` is
 * what one run at a time needs of it (a kernel with its arguments); a program has as many sets of states
 * as it has had runs in progress at once. */
typedef struct halo_step_runner {
  /* Makes a state; `*state` is NULL before. NULL: the kind needs none. */
  halo_status (*prepare)(halo_program *program, const halo_step *step, void **state);
  void (*release)(void *state);
  /* Whether the host must wait while this step runs. NULL: no. Steps that hold steps which do are asked
   * no more. */
  bool (*asks_host)(const halo_program *program, const halo_step *step);
  /* Queues all that can be queued without waiting. */
  halo_status (*start)(halo_run *run, const halo_step *step, void *state);
  /* Whether a step that asks the host, and was started, is known to be over but for `finish`, which does not wait
   * then. NULL: no. *moved: something of it happened while that was seen. */
  bool (*is_over)(void *state, bool *moved);
  /* Does the rest, and may wait; then comes what follows the step. Runs on a worker's thread where the
   * step asks the host. NULL: there is no rest. */
  halo_status (*finish)(halo_run *run, const halo_step *step, void *state);
} halo_step_runner;

/* By kind of step. */
extern const halo_step_runner *const halo_step_runners[];

/* What one run at a time needs of all steps, by step number. */
struct halo_run_set {
  halo_run_set *next; /* of the free ones */
  void *states[];
};

/* So many groups of a launch took so many seconds, by themselves; zeros: nobody knows. */
typedef struct halo_watch_speed {
  double groups, seconds;
} halo_watch_speed;

/* The state of a step's random numbers, low word first. */
typedef struct halo_random {
  uint64_t state[2];
  uint64_t advance[2]; /* by a run; zeros: by how much is not known before the step runs */
} halo_random;

struct halo_program {
  atomic_int references; /* the executable's, and each run's */
  halo_cl_device *device;
  halo_plan *plan;
  halo_program_site site;
  _Atomic(halo_built_unit *) units; /* by unit of the plan; NULL: not built so far */
  pthread_mutex_t building;
  halo_cl_block *constants;
  halo_plan_limits *limits; /* while it is made: of halo_program_create */
  bool *asks_host;          /* by step number */
  bool synchronous;         /* the caller's thread may wait */
  bool waits_each;          /* each kernel is waited for, so that a failure names it */
  bool has_random;          /* runs know beforehand by how much some random states advance */
  bool takes_turns; /* it may wait for the device, and exchanges begin there and go on in turn */
  bool
      may_use_sync_queue; /* it runs on the device's `sync_queue` when nothing else is in its way */
  pthread_mutex_t lock;   /* of what follows; never held while anything is waited for */
  halo_random *random;    /* by step number */
  halo_watch_speed *speeds; /* by step number */
  int64_t *budgets;         /* of regions (watch.h), by unit */
  halo_run_set *free_sets;
  halo_profile profile;
  atomic_bool ran;
};

/* program.c: sets of states, of a program that is built then if that was not done. */
halo_status halo_run_set_create(halo_program *program, halo_run_set **out);
void halo_run_set_release(halo_program *program, halo_run_set *set);
/* Whether a list of steps needs the host. */
bool halo_steps_ask_host(const halo_program *program, const halo_steps *steps);
/* What was built. */
static inline const halo_built_unit *halo_program_units(halo_program *p) {
  return atomic_load(&p->units);
}

/* One run: it lives until all its work is queued. */
struct halo_run {
  halo_program *program;
  halo_device_value **arguments; /* a reference each; NULL once given up */
  bool *donated;
  halo_device_value **results; /* a reference each */
  halo_cl_block **arenas;
  halo_run_set *set;
  halo_random *random;    /* by step number: states that are the run's own; NULL: none is */
  int32_t *moved;         /* by buffer: whose place it has; NULL while each has its own */
  halo_cl_event *done;    /* the results' */
  cl_command_queue queue; /* that steps are put on */
  bool on_sync_queue;     /* `queue` is the device's sync_queue */
  cl_event *wanted;   /* where the step that is started puts its command's event; NULL: nowhere */
  cl_event last;      /* of the last step, if that was a command of its own */
  uint64_t number;    /* of all runs of the program */
  int device;         /* of the client */
  void *context;      /* of who started it, for custom calls */
  halo_aside *asides; /* whose done has not come */
  halo_aside *aside;  /* that this run is of; NULL: it is the program's own */
  int32_t next;       /* of the plan's steps */
  bool began;         /* a command was queued */
  bool idle;          /* nothing was on the queue when it began, as far as is known */
  bool strayed;       /* something was put on the second queue */
  uint64_t noted;     /* halo_cl_timeline_last before the first command */
  int64_t ahead;      /* commands queued since the host last waited for all */
  bool behind;        /* its first command waits for copies */
  int32_t branch;     /* that the last conditional took */
  double launched;    /* when the last region was launched, on an empty queue; 0: on another */
  double created;     /* when; with profiling or a log of runs, as all times here */
  double since;       /* when putting a command on the queue began */
  halo_host_time host[HALO_HOST_WORKS]; /* with profiling */
  atomic_int waits_for;                 /* values and events that are pending */
  HALO_VEC(halo_cl_event *) after;      /* that it was told to wait for; a reference each */
  HALO_VEC(halo_channel) channels;      /* of its own, which come before the device's */
};

/* ---- step.c: for the runners ---- */

/* Where a buffer lies; `mem` is NULL for one without a place. */
typedef struct halo_place_at {
  cl_mem mem;
  uint64_t serial;
  cl_ulong offset; /* bytes */
  char *host; /* where the host finds it while no command uses it, without mapping; NULL: nowhere */
} halo_place_at;
halo_place_at halo_run_resolve(const halo_run *run, int32_t buffer);
/* Two buffers change places, for the rest of the run or until they do so again. */
void halo_run_exchange(halo_run *run, int32_t a, int32_t b);

/* The time, or 0 without profiling and a log of runs; and that a piece of the host's work that began then is done. */
double halo_run_clock(const halo_run *run);
void halo_run_spent(halo_run *run, halo_host_work work, double since);

/* Around each command: where its event shall go, and that it was queued. What the host does in between is
 * a launch. */
cl_event *halo_run_event(halo_run *run, cl_event *storage);
void halo_run_queued(halo_run *run, const halo_step *step, cl_event *storage);

/* A state of random numbers goes on. */
static inline void halo_random_add(uint64_t state[2], const uint64_t by[2]) {
  uint64_t low = state[0];
  state[0] += by[0];
  state[1] += by[1] + (state[0] < low);
}
/* random.c: by how much a run of the program advances the states of random numbers. */
void halo_random_survey(halo_program *program);
/* Takes the states that the run will need, as far as that is known. */
void halo_run_take_random(halo_run *run);

/* A list from start to end, waiting where steps wait. */
halo_status halo_run_steps(halo_run *run, const halo_steps *steps);
/* Waits for the commands queued so far. `what`: which work this belongs to, for the message of a failure. */
halo_status halo_run_await_queue(halo_run *run, const char *what);
/* Waits for the commands queued so far when there are many, so that they do not pile up. */
halo_status halo_run_limit_ahead(halo_run *run);
/* Whether a step queues so many commands that it has to wait in between. */
bool halo_run_is_long(const halo_step *step);

/* step_async.c: says that the run, if it goes on beside another one, has begun to exchange something, so that the
 * other one need not hold back its kernels any more. */
void halo_run_note_open(halo_run *run);
/* Waits until nothing of the run goes on in other threads. */
void halo_run_settle(halo_run *run);

#endif
