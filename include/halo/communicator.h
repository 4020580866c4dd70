/* halo/communicator.h: how the processes that run one program together reach each other.
 *
 * A client is given a communicator when it is made (halo_client_options.communicator). The devices of all
 * processes' clients are then numbered through, process by process, and programs may be compiled for any of
 * them. MPI is one communicator, in a library of its own: halo_communicator_open loads it. Another one is a
 * structure of the functions below. */
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
  const char *name; /* "mpi" */
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
  /* Does an operation on `bytes` of memory of its own, with all processes, and says how long it took; NULL:
   * there is nothing to compare with. It waits, and must not be called while programs run. */
  const char *(*reference)(void *user, halo_reference what, size_t bytes, double *seconds);
} halo_communicator;

/* Loads libhalo-NAME.so ("mpi": libhalo-mpi.so), first from beside this library, and has it make its
 * communicator, of all processes that were started together. *out is closed with halo_communicator_close,
 * after the clients that it was given to were released.
 * MPI: initialised here unless the program did so before; who initialised it finalises it. HALO_NOT_FOUND
 * when there is no such library, HALO_FAILED_PRECONDITION when it cannot be used. */
HALO_API HALO_MUST_USE halo_status halo_communicator_open(const char *name,
                                                          halo_communicator **out);
HALO_API void halo_communicator_close(halo_communicator *communicator);

/* Whether this process was started by mpiexec or a launcher like it, as one of several or the only one
 * (by the variables that Open MPI, MPICH and PMI set). */
HALO_API bool halo_is_launched(void);

/* What such a library exports, as `halo_communicator_make`: NULL, or what went wrong. */
typedef const char *halo_communicator_make_fn(halo_communicator **out);

#ifdef __cplusplus
}
#endif

#endif
