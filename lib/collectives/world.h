/* SPDX-License-Identifier: Apache-2.0 */
/* collectives/world.h: all devices that a client's programs may run on, of this process and of others, and
 * messages between them.
 *
 * A message goes from one device to another under a key, which says what it is for. Sender and receiver
 * meet by key, whoever comes first, so that runs which are in progress at once do not mix. Within a process
 * the receiver copies from the sender's memory; between processes a communicator carries the bytes, small
 * ones with the announcement, others once the receiver has said where to. */
#ifndef HALO_COLLECTIVES_WORLD_H
#define HALO_COLLECTIVES_WORLD_H

#include "base/status.h"
#include "halo/communicator.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct halo_world halo_world;

/* `communicator` (NULL: this process is alone) outlives the world. `devices`: of this process. Waits for the
 * other processes, which do the same. `timeout`: seconds that something may take to come forth, here and in
 * exchanges. */
halo_status halo_world_create(halo_communicator *communicator, int devices, double timeout,
                              halo_world **out);
/* The two halves of that, where who has how many devices is known: without devices, and devices by process. */
halo_world *halo_world_make(halo_communicator *communicator, double timeout);
void halo_world_place(halo_world *world, const int32_t *devices);
/* No exchange is in progress any more. */
void halo_world_release(halo_world *world);

int halo_world_process(const halo_world *world);
int halo_world_process_count(const halo_world *world);
/* Devices of all processes, numbered from 0, those of a process one after the other. */
int halo_world_device_count(const halo_world *world);
/* The first device of a process; that of process_count is the device count. */
int halo_world_first_device(const halo_world *world, int process);
int halo_world_process_of(const halo_world *world, int device);

/* What a message is for: an operation of a run of a program, the round'th time it is done in it. */
typedef struct halo_message_key {
  uint64_t program, run;
  uint32_t op, round;
} halo_message_key;

typedef struct halo_message {
  int peer;     /* device that it goes to or comes from */
  int lane;     /* several between the same two devices have different ones, from 0 */
  void *data;   /* of a send only read */
  size_t bytes; /* the same on both sides */
} halo_message;

/* One device's part of an operation. */
typedef struct halo_exchange {
  halo_message_key key;
  int device;
  const char *what; /* for messages to people: "all-reduce sum.3 (channel 1)" */
  const halo_message *sends, *receives;
  int send_count, receive_count;
  /* How many exchanges of the same operation come before it, 0 or more: the later, the longer it waits, so that
   * those who miss a device speak before those who wait for them. */
  int stage;
  /* May be NULL: asked whether the memory of a send is ready to be read, until it is; and told that a receive has
   * come, once. By the thread that looks; a failure is the exchange's. */
  halo_status (*ready)(void *user, int send, bool *ready);
  halo_status (*came)(void *user, int receive);
  /* May be NULL: asked for each receive that has not come, each time when for half of the world's timeout nothing has; a
   * failure is the exchange's. */
  halo_status (*doubt)(void *user, int receive);
  void *user;
} halo_exchange;

/* Sends and receives in steps, of which one thread at a time takes one; what the exchange names stays as it is until the
 * end. */
typedef struct halo_exchange_state halo_exchange_state;
halo_exchange_state *halo_world_begin(halo_world *world, const halo_exchange *exchange);
/* Looks once, without waiting: whether it is over, well or not. */
bool halo_world_look(halo_exchange_state *state);
/* Whether that look, or the beginning, found something to do. */
bool halo_world_moved(const halo_exchange_state *state);
/* Whether all that is missing comes from other processes, as of the last look. */
bool halo_world_is_far(const halo_exchange_state *state);
/* Waits until all of it is done, when the senders' memory is free again, and frees the state.
 * HALO_DEADLINE when for the world's timeout nothing comes from some device, which the message names;
 * the failure of another device's part of the same run; HALO_INVALID_ARGUMENT when sizes differ. After a
 * failure the run has failed for all. */
halo_status halo_world_end(halo_exchange_state *state);

/* Says to all devices that a run fails on `device`, so that nobody waits for it: what waits in this run's
 * exchanges, now or later, fails with HALO_ABORTED and this text. */
void halo_world_fail(halo_world *world, uint64_t program, uint64_t run, int device,
                     const char *message);

/* Some of the processes, in ascending order. */
typedef struct halo_world_group {
  const int *processes; /* NULL: all there are, and `count` is not read */
  int count;
} halo_world_group;

/* A value that the processes of a group agree on. Agreements meet by `about` and `what`, so that threads of a process may make
 * several at once, in any order; those about the same thing meet in any order as well. */
typedef struct halo_agreement {
  halo_world_group group;
  uint64_t about;
  const char *what; /* as above */
  /* May be NULL: the failure where this process and `process` wait for each other with agreements of the same kind (`what`)
   * about different things, as `mine` and `theirs` say. */
  halo_status (*differ)(const halo_world *world, int process, const void *mine, const void *theirs);
} halo_agreement;

/* Each process of the group, of which this is one, gives `bytes`, at most HALO_AGREEMENT_MOST, and gets those of all,
 * [count][bytes]. */
enum { HALO_AGREEMENT_MOST = 256 };
halo_status halo_world_agree(halo_world *world, const halo_agreement *agreement, const void *mine,
                             size_t bytes, void *all);
/* A number for a program of this process alone, which no other process gives and this one gives once. */
uint64_t halo_world_program(halo_world *world);
/* The number of a program that processes have in common: equal programs have equal ones in all of them. */
uint64_t halo_world_common_program(const halo_world *world, const uint64_t key[2]);
/* How often something was done that has a number, such as runs of a program. It lives as long as the world. */
atomic_uint_least64_t *halo_world_counter(halo_world *world, uint64_t number);

#endif
