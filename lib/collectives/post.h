/* SPDX-License-Identifier: Apache-2.0 */
/* collectives/post.h: messages that have come and are not yet wanted, and those on their way between
 * processes. Private to this room. */
#ifndef HALO_COLLECTIVES_POST_H
#define HALO_COLLECTIVES_POST_H

#include "base/map.h"
#include "base/vec.h"
#include "collectives/world.h"

#include <pthread.h>
#include <stdbool.h>

enum { POST_BUCKETS = 256, POST_FAILURES = 256, POST_LETTER = 4096 };

/* Where the pieces of one exchange stand that others may touch; under the world's lock. */
typedef struct post_sender {
  int untaken; /* local messages that their receivers have not copied */
} post_sender;

/* A message that waits to be taken. */
typedef struct post_entry {
  struct post_entry *next;
  halo_message_key key;
  int from, to, lane;
  size_t bytes;
  const void *data;    /* the sender's memory, or `owned`; NULL: its process has it still, */
  int process, tag;    /* and gives it when this is received */
  post_sender *sender; /* of this process */
  void *owned;         /* a small one that came with its announcement */
} post_entry;

/* A run that failed somewhere. */
typedef struct post_failure {
  uint64_t program, run;
  int device;
  char *message;
} post_failure;

/* A device's part of a run waits for another one. */
typedef struct post_wait {
  uint64_t program, run;
  int device, awaits;
  double
      when; /* on the clock: when that was told; what was told before does not count for who asks */
} post_wait;

/* A request whose memory nobody else keeps. */
typedef struct post_orphan {
  void *request, *memory;
} post_orphan;

/* How often something was done. */
typedef struct post_counter {
  struct post_counter *next;
  atomic_uint_least64_t count;
} post_counter;

/* What all worlds on one communicator share, since messages of any of them come to whoever looks. */
typedef struct post_office {
  int worlds; /* that hold it, and how many there ever were: under the list's lock, in world.c */
  uint64_t worlds_so_far;
  pthread_mutex_t comm_lock; /* around the communicator's functions, where it wants that */
  pthread_mutex_t poll_lock; /* who holds it looks for what has come */
  pthread_mutex_t lock;      /* of what follows */
  pthread_cond_t changed;
  post_entry *buckets[POST_BUCKETS];
  post_failure failures[POST_FAILURES]; /* the newest, in a ring */
  uint64_t failure_count;
  HALO_VEC(post_wait *) waiting; /* of this process, for some time already */
  post_wait told[POST_FAILURES]; /* what other processes said, in a ring */
  uint64_t told_count;
  HALO_VEC(post_orphan) orphans;
  int next_tag;
  bool broken;
  char *broken_by; /* what went wrong then */
} post_office;

struct halo_world {
  halo_communicator *comm; /* NULL: alone */
  post_office *office;
  int process, process_count;
  int *first; /* [process_count + 1] */
  double timeout;
  uint64_t number; /* among those of the communicator, the same in all processes */
  uint64_t
      programs; /* of this process alone, numbered so far: under the office's lock, and likewise: */
  halo_map counters; /* post_counter by number */
  post_counter *all_counters;
  double watch_until; /* what comes for runs that failed is taken so long, */
  bool watched;       /* by a thread, while there is one */
  bool unwatched;     /* there will be none again */
};

/* A program's number among those of all worlds of a communicator. That of one process's own: the process, and which of its
 * own it is, from 1. Those that processes have in common, programs and agreements, are hashes. */
static inline uint64_t post_program(const halo_world *world, int process, uint64_t number) {
  return world->number << 48 | (uint64_t)(uint32_t)process << 28 | number;
}
static inline uint64_t post_common(uint64_t hash) { return hash | UINT64_C(1) << 63; }

/* Messages to processes have addresses below the devices': that of process p. */
static inline int post_desk(int process) { return -1 - process; }
int post_process_of(const halo_world *world, int address);

/* ---- With the lock held ---- */

/* Whether the message for this key and way has come. */
bool post_has(halo_world *world, const halo_message_key *key, int from, int to, int lane);
/* The same message, taken out; NULL: it has not come. */
post_entry *post_take(halo_world *world, const halo_message_key *key, int from, int to, int lane);
void post_put(halo_world *world, post_entry *entry);
/* The first message from `from` to `to` under a key with this op and round, in any order; NULL: there is none. */
const post_entry *post_any(halo_world *world, int from, int to, uint32_t op, uint32_t round);
/* Takes back what a sender's exchange had put there and nobody has taken. */
void post_take_back(halo_world *world, post_sender *sender);
/* The failure of a run, or NULL. */
const post_failure *post_failed(const halo_world *world, uint64_t program, uint64_t run);

/* Follows the chain of waits from `device`, which the device of `wait` waits for, to its end; `device` itself if it waits
 * for nobody. */
int post_follow(const halo_world *world, const post_wait *wait, int device);

/* ---- Without the lock ---- */

/* Has others know of a wait, whose `awaits` changes under the lock, and no more. */
void post_register(halo_world *world, post_wait *wait);
void post_unregister(halo_world *world, const post_wait *wait);
/* Asks the process of `device` what that waits for in the run; its answer is noted when it comes. */
void post_ask(halo_world *world, const post_wait *wait, int device);
void post_note_wait(halo_world *world, const post_wait *wait);
/* The wait of a device of this process; false: it waits for nothing, or not for long. */
bool post_find_wait(halo_world *world, uint64_t program, uint64_t run, int device, post_wait *out);

void post_entry_release(post_entry *entry);
/* Begins to send a message to another process: one or two requests, NULL where there is none, and `*letter`,
 * the memory of the first. */
halo_status post_send(halo_world *world, const halo_exchange *x, const halo_message *message,
                      void *requests[2], void **letter);
/* A whole exchange, from halo_world_begin to halo_world_end, but it waits ten times as long: others may be compiling still. */
halo_status post_exchange_patiently(halo_world *world, const halo_exchange *exchange);
/* Begins to receive the rest of a message that was announced. */
halo_status post_receive(halo_world *world, const post_entry *entry, void *data, void **request);
halo_status post_test(halo_world *world, void *request, bool *done);
/* Looks for what has come from other processes; *any: something has. */
halo_status post_poll(halo_world *world, bool *any);
/* Notes a failure, here only, and throws away what has come for the run. */
void post_note_failure(halo_world *world, uint64_t program, uint64_t run, int device,
                       const char *message);
/* Tells the other processes. */
void post_tell_failure(halo_world *world, uint64_t program, uint64_t run, int device,
                       const char *message);
/* From now on, for the world's timeout, what comes is taken even if nobody exchanges anything. */
void post_watch(halo_world *world);
/* No longer, and never again, since the world is about to end. Returns when it would have ended, by halo_clock; 0: it was
 * not wanted. */
double post_unwatch(halo_world *world);
/* Leaves a request to be done some time, with memory that is then freed. */
void post_abandon(halo_world *world, void *request, void *memory);
/* Leaves a request whose memory somebody else owns: it goes on with other memory. False: that cannot be done. */
bool post_leave(halo_world *world, void *request, size_t bytes);
/* Requests are left that will never be done: nothing more can be exchanged. */
void post_break(halo_world *world, const char *message);

#endif
