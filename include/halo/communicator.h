/* halo/communicator.h: how the processes that run one program together reach each other.
 *
 * A client is given a communicator when it is made (halo_client_options.communicator). The devices of all
 * processes' clients are then numbered through, process by process, and programs may be compiled for any of
 * them. One communicator is over MPI, in a library of its own, another over TCP, in this one: halo_communicator_open
 * makes them. Any other is a structure of the functions below. */
#ifndef HALO_COMMUNICATOR_H
#define HALO_COMMUNICATOR_H

#include "halo/status.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Operations whose time on the host's memory a communicator may tell, to compare with. */
typedef enum halo_reference {
  HALO_REFERENCE_ALL_REDUCE, /* sums of f32 */
  HALO_REFERENCE_ALL_GATHER,
  HALO_REFERENCE_REDUCE_SCATTER,
  HALO_REFERENCE_ALL_TO_ALL,
  HALO_REFERENCE_PERMUTE, /* each to the next */
  HALO_REFERENCE_BROADCAST
} halo_reference;

/* Messages between processes, none of which waits. Each function gives NULL, or what went wrong, as a text
 * that is good until the thread's next call. Messages from one process to another with one tag arrive in
 * the order in which they were sent. */
typedef struct halo_communicator {
  const char *name; /* "mpi", "tcp" */
  int process, process_count;
  int local; /* which of the processes of this machine this is, from 0; -1: not known */
  /* Tags are 0 to this, at least 1000. */
  int max_tag;
  /* Whether several threads may be in these functions at once; else the library calls from one at a
   * time, from any. */
  bool concurrent;
  bool broken;   /* set by the library: requests are left that will never be done */
  void *user;    /* handed to all functions */
  void *library; /* the library's own; NULL at first */
  /* Begins to send. `data` stays as it is until the request is done. */
  const char *(*send)(void *user, int to, int tag, const void *data, size_t bytes, void **request);
  /* Begins to receive exactly `bytes`; tag is never 0. */
  const char *(*receive)(void *user, int from, int tag, void *data, size_t bytes, void **request);
  /* Whether a request is done; then it is gone. */
  const char *(*test)(void *user, void *request, bool *done);
  /* Receives a message with tag 0 from any process, if one has come: `data` has room for any of them (the
   * library sends none above 4096 bytes with this tag). *from is -1 if none has. */
  const char *(*poll)(void *user, void *data, size_t room, int *from, size_t *bytes);
  /* Ends it, and frees this structure if it was made for the call. If it is broken, since other processes
   * are gone or stuck, it must not wait for them. */
  void (*close)(struct halo_communicator *communicator);
  /* NULL, or has a request that is not done go on with other memory, of as many bytes: what the request was begun with is
   * not used any more when this returns. Of a send the bytes are copied there. */
  void (*move)(void *user, void *request, void *memory);
  /* Does an operation on `bytes` of memory of its own, with all processes, and says how long it took; NULL:
   * there is nothing to compare with. It waits, and must not be called while programs run. */
  const char *(*reference)(void *user, halo_reference what, size_t bytes, double *seconds);
} halo_communicator;

/* Makes a communicator of all processes that were started together, and waits for them. *out is closed with
 * halo_communicator_close, after the clients that it was given to were released.
 * "tcp": the processes meet at the address that HALO_TCP_COORDINATOR names, see docs/switches.md; one that waits for
 * more than two seconds says so to stderr. Any other name:
 * libhalo-NAME.so makes it ("mpi": libhalo-mpi.so), which is loaded, first from beside this library.
 * MPI: initialised here unless the program did so before; who initialised it finalises it. HALO_NOT_FOUND
 * when there is no such library, HALO_FAILED_PRECONDITION when it cannot be used. */
HALO_API HALO_MUST_USE halo_status halo_communicator_open(const char *name,
                                                          halo_communicator **out);

/* How processes are joined over TCP where the caller has a way to tell them of each other. */
typedef struct halo_tcp_options {
  int process, process_count;
  /* Gives what each process says of itself, `bytes`, to all: [process_count][bytes], and waits for that; called
   * once. It holds secrets, by which the processes know each other. NULL, or what went wrong, as a text that is
   * good until the thread's next call. */
  const char *(*exchange)(void *user, const void *mine, size_t bytes, void *all);
  void *user;
  double timeout; /* seconds for connecting after that; 0: 60 */
} halo_tcp_options;

/* Connects each process to each, over TCP, or by other sockets where they are on one machine; needs no MPI. All of
 * the processes call it. What goes over the connections is not encrypted. A process listens, until all have connected,
 * at all its addresses, or at that which HALO_TCP_ADDRESS names. HALO_FAILED_PRECONDITION, after all the time, when some process
 * cannot be reached: it is named. *out as above; closing it waits for messages to be sent, 5 seconds at most, and
 * for no other process. */
HALO_API HALO_MUST_USE halo_status halo_communicator_connect(const halo_tcp_options *options,
                                                             halo_communicator **out);
HALO_API void halo_communicator_close(halo_communicator *communicator);

/* Whether this process was started by mpiexec or a launcher like it, as one of several or the only one
 * (by the variables that Open MPI, MPICH and PMI set). */
HALO_API bool halo_is_launched(void);

/* The name, for halo_communicator_open, of the communicator that connects this process to others: that of HALO_COMMUNICATOR (NULL where that
 * is "none"); else "mpi" where halo_is_launched, "tcp" where HALO_TCP_COORDINATOR is set or Slurm started several tasks,
 * and NULL where the process was started alone. */
HALO_API const char *halo_communicator_default(void);

/* What such a library exports, as `halo_communicator_make`: NULL, or what went wrong. */
typedef const char *halo_communicator_make_fn(halo_communicator **out);

#ifdef __cplusplus
}
#endif

#endif
