/* SPDX-License-Identifier: Apache-2.0 */
/* halo/communicator.h: how the processes that run one program together reach each other.
 *
 * A client is given a communicator when it is created (halo_client_options.communicator). The devices
 * of all processes' clients are then numbered process by process, and programs may be compiled for any
 * of them. The library has a communicator over TCP; another over MPI is a library of its own.
 * halo_communicator_open creates both. Any other is a structure of the functions below. */
#ifndef HALO_COMMUNICATOR_H
#define HALO_COMMUNICATOR_H

#include "halo/status.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Operations that a communicator may time on host memory, for comparison. */
typedef enum halo_reference {
  HALO_REFERENCE_ALL_REDUCE, /* sums of f32 */
  HALO_REFERENCE_ALL_GATHER,
  HALO_REFERENCE_REDUCE_SCATTER,
  HALO_REFERENCE_ALL_TO_ALL,
  HALO_REFERENCE_PERMUTE, /* each process to the next */
  HALO_REFERENCE_BROADCAST
} halo_reference;

/* Messages between processes. No function waits. Each returns NULL, or an error message that is
 * valid until the thread's next call. Messages from one process to another with the same tag arrive
 * in the order in which they were sent. */
typedef struct halo_communicator {
  const char *name; /* "mpi", "tcp" */
  int process, process_count;
  int local; /* index among the processes of this machine; -1: unknown */
  /* The largest tag, at least 1000; the smallest is 0. */
  int max_tag;
  /* Whether several threads may call these functions at once; otherwise the library calls them from one
   * thread at a time, but from any. */
  bool concurrent;
  bool broken;   /* set by the library: some requests will never complete */
  void *user;    /* passed to all functions */
  void *library; /* for the library; initially NULL */
  /* Starts sending. `data` stays unchanged until the request is done. */
  const char *(*send)(void *user, int to, int tag, const void *data, size_t bytes, void **request);
  /* Starts receiving exactly `bytes`; the tag is never 0. */
  const char *(*receive)(void *user, int from, int tag, void *data, size_t bytes, void **request);
  /* Whether a request is done; if so, it is freed. */
  const char *(*test)(void *user, void *request, bool *done);
  /* Receives a message with tag 0 from any process, if one has arrived; otherwise *from is -1. `data` has
   * room for any of them: the library sends at most 4096 bytes with this tag. */
  const char *(*poll)(void *user, void *data, size_t room, int *from, size_t *bytes);
  /* Closes the communicator, and frees this structure if it was allocated. If it is broken, because other
   * processes are gone or stuck, it must not wait for them. */
  void (*close)(struct halo_communicator *communicator);
  /* NULL, or moves a request that is not done to other memory of the same size: the old memory is not used
   * any more when this returns. The bytes of a send are copied. */
  void (*move)(void *user, void *request, void *memory);
  /* Performs an operation on `bytes` of its own memory, with all processes, and reports how long it took;
   * NULL: not available. It waits, and must not be called while programs run. */
  const char *(*reference)(void *user, halo_reference what, size_t bytes, double *seconds);
} halo_communicator;

/* Creates a communicator of all processes that were started together, and waits for them. The
 * caller closes *out with halo_communicator_close, after it has released the clients that use it.
 *
 * "tcp": the processes meet at the address in HALO_TCP_COORDINATOR (docs/switches.md); a process
 * that waits for more than two seconds says so on stderr. Any other name is created by
 * libhalo-NAME.so ("mpi": libhalo-mpi.so), which is searched beside this library first. MPI is
 * initialised here unless the program did so before; whoever initialised it finalises it. Returns
 * HALO_NOT_FOUND if there is no such library, and HALO_FAILED_PRECONDITION if it cannot be used. */
HALO_API HALO_MUST_USE halo_status halo_communicator_open(const char *name,
                                                          halo_communicator **out);

/* How processes are connected over TCP if the caller has a way to tell them about each other. */
typedef struct halo_tcp_options {
  int process, process_count;
  /* Distributes `bytes` of each process to all, as [process_count][bytes], and waits for that; called once.
   * The data contains secrets by which the processes recognise each other. Returns NULL, or an error
   * message that is valid until the thread's next call. */
  const char *(*exchange)(void *user, const void *mine, size_t bytes, void *all);
  void *user;
  double timeout; /* seconds for connecting afterwards; 0: 60 */
} halo_tcp_options;

/* Connects all processes with each other, over TCP, or over other sockets between processes of one
 * machine; does not need MPI. All processes call it. Connections are not encrypted. Until all are
 * connected, a process listens at all its addresses, or at the one in HALO_TCP_ADDRESS. Returns
 * HALO_FAILED_PRECONDITION when the time limit expires before a process was reached; the message
 * names it. The caller closes *out, which waits at most 5 seconds for messages to be sent, and for
 * no other process. */
HALO_API HALO_MUST_USE halo_status halo_communicator_connect(const halo_tcp_options *options,
                                                             halo_communicator **out);
/* Closes a communicator; see halo_communicator_open. */
HALO_API void halo_communicator_close(halo_communicator *communicator);

/* Whether mpiexec or a similar launcher started this process, as one of several or the only one (by
 * the variables of Open MPI, MPICH and PMI). */
HALO_API bool halo_is_launched(void);

/* The name, for halo_communicator_open, of the communicator that connects this process to others:
 * $HALO_COMMUNICATOR (NULL if that is "none"); otherwise "mpi" if halo_is_launched, "tcp" if
 * HALO_TCP_COORDINATOR is set or Slurm started several tasks, and NULL if the process was started
 * alone. */
HALO_API const char *halo_communicator_default(void);

/* The function that a library libhalo-NAME.so exports as `halo_communicator_make`. Returns NULL or
 * an error message. */
typedef const char *halo_communicator_make_fn(halo_communicator **out);

#ifdef __cplusplus
}
#endif

#endif
