/* SPDX-License-Identifier: Apache-2.0 */
/* mpi/mpi.c: a communicator over MPI, in a library of its own (libhalo-mpi), so that nothing else knows of
 * MPI and which one it is. Point-to-point messages on a copy of MPI_COMM_WORLD. */
#include "halo/communicator.h"

#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Counts of MPI are ints: larger messages go in pieces. */
enum { MPI_PIECE = 1 << 30 };

typedef struct mpi_user {
  halo_communicator communicator;
  MPI_Comm comm;
  int owns; /* MPI was initialised here */
} mpi_user;

typedef struct mpi_request {
  int count;
  MPI_Request pieces[];
} mpi_request;

static const char *mpi_trouble(int code) {
  static _Thread_local char text[MPI_MAX_ERROR_STRING + 1];
  int length = 0;
  if (code == MPI_SUCCESS) return NULL;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS)
    snprintf(text, sizeof text, "error %d", code);
  return text;
}

/* Sends or receives in pieces, one behind the other with one tag. */
static const char *mpi_begin(mpi_user *user, int send, int peer, int tag, void *data, size_t bytes,
                             void **out) {
  size_t count = bytes / MPI_PIECE + 1;
  mpi_request *request = malloc(sizeof *request + sizeof *request->pieces * count);
  if (!request) return "out of memory";
  request->count = 0;
  for (size_t i = 0; i < count; i++) {
    size_t at = i * MPI_PIECE, left = bytes - at;
    int size = left < MPI_PIECE ? (int)left : MPI_PIECE;
    if (size == 0 && i > 0) break;
    MPI_Request *piece = &request->pieces[request->count];
    int code = send ? MPI_Isend((char *)data + at, size, MPI_BYTE, peer, tag, user->comm, piece)
                    : MPI_Irecv((char *)data + at, size, MPI_BYTE, peer, tag, user->comm, piece);
    if (code != MPI_SUCCESS) return mpi_trouble(code); /* what began keeps its request */
    request->count++;
  }
  *out = request;
  return NULL;
}

static const char *mpi_send(void *user, int to, int tag, const void *data, size_t bytes,
                            void **request) {
  return mpi_begin(user, 1, to, tag, (void *)data, bytes, request);
}

static const char *mpi_receive(void *user, int from, int tag, void *data, size_t bytes,
                               void **request) {
  return mpi_begin(user, 0, from, tag, data, bytes, request);
}

static const char *mpi_test(void *user, void *data, bool *done) {
  mpi_request *request = data;
  int all = 0;
  (void)user;
  int code = MPI_Testall(request->count, request->pieces, &all, MPI_STATUSES_IGNORE);
  *done = all != 0;
  if (code != MPI_SUCCESS) return mpi_trouble(code);
  if (all) free(request);
  return NULL;
}

static const char *mpi_poll(void *data, void *buffer, size_t room, int *from, size_t *bytes) {
  mpi_user *user = data;
  int there = 0, size = 0;
  MPI_Message message;
  MPI_Status status;
  *from = -1;
  int code = MPI_Improbe(MPI_ANY_SOURCE, 0, user->comm, &there, &message, &status);
  if (code != MPI_SUCCESS || !there) return mpi_trouble(code);
  code = MPI_Get_count(&status, MPI_BYTE, &size);
  if (code != MPI_SUCCESS) return mpi_trouble(code);
  if ((size_t)size > room) return "a message is too long";
  code = MPI_Mrecv(buffer, size, MPI_BYTE, &message, MPI_STATUS_IGNORE);
  *from = status.MPI_SOURCE;
  *bytes = (size_t)size;
  return mpi_trouble(code);
}

/* One operation of MPI's own on zeros; the size is that of the whole array. */
static int mpi_operate(mpi_user *user, halo_reference what, float *from, float *to, size_t bytes) {
  int n = user->communicator.process_count, me = user->communicator.process;
  int count = (int)(bytes / sizeof(float)), part = count / n;
  switch (what) {
    case HALO_REFERENCE_ALL_REDUCE:
      return MPI_Allreduce(from, to, count, MPI_FLOAT, MPI_SUM, user->comm);
    case HALO_REFERENCE_ALL_GATHER:
      return MPI_Allgather(from, part, MPI_FLOAT, to, part, MPI_FLOAT, user->comm);
    case HALO_REFERENCE_REDUCE_SCATTER:
      return MPI_Reduce_scatter_block(from, to, part, MPI_FLOAT, MPI_SUM, user->comm);
    case HALO_REFERENCE_ALL_TO_ALL:
      return MPI_Alltoall(from, part, MPI_FLOAT, to, part, MPI_FLOAT, user->comm);
    case HALO_REFERENCE_PERMUTE:
      return MPI_Sendrecv(from, count, MPI_FLOAT, (me + 1) % n, 1, to, count, MPI_FLOAT,
                          (me + n - 1) % n, 1, user->comm, MPI_STATUS_IGNORE);
    case HALO_REFERENCE_BROADCAST: return MPI_Bcast(to, count, MPI_FLOAT, 0, user->comm);
  }
  return MPI_ERR_ARG;
}

static const char *mpi_reference(void *data, halo_reference what, size_t bytes, double *seconds) {
  mpi_user *user = data;
  float *from = calloc(bytes + 1, 1), *to = calloc(bytes + 1, 1);
  if (!from || !to || bytes / sizeof(float) > INT_MAX) {
    free(from);
    free(to);
    return "out of memory";
  }
  memset(from, 1, bytes); /* pages are there before the time begins */
  memset(to, 1, bytes);
  int code = MPI_Barrier(user->comm);
  double start = MPI_Wtime();
  if (code == MPI_SUCCESS) code = mpi_operate(user, what, from, to, bytes);
  *seconds = MPI_Wtime() - start;
  free(from);
  free(to);
  return mpi_trouble(code);
}

static void mpi_close(halo_communicator *communicator) {
  mpi_user *user = communicator->user;
  int over = 0;
  MPI_Finalized(&over);
  /* Finalizing waits for everybody: not for those that are gone. The launcher ends what is left. */
  if (!over && !communicator->broken) {
    MPI_Comm_free(&user->comm);
    if (user->owns) MPI_Finalize();
  }
  free(user);
}

/* MPI, unless the program has initialised it. */
static const char *mpi_start(mpi_user *user, int *level) {
  int done = 0, over = 0;
  if (MPI_Finalized(&over) != MPI_SUCCESS || over) return "MPI has been finalized";
  MPI_Initialized(&done);
  if (done) return mpi_trouble(MPI_Query_thread(level));
  user->owns = 1;
  return mpi_trouble(MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, level));
}

/* The place among the processes that share this machine's memory. */
static const char *mpi_local(MPI_Comm comm, int *out) {
  MPI_Comm machine;
  int code = MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
  if (code == MPI_SUCCESS) code = MPI_Comm_rank(machine, out);
  if (code == MPI_SUCCESS) code = MPI_Comm_free(&machine);
  return mpi_trouble(code);
}

HALO_API halo_communicator_make_fn halo_communicator_make;
const char *halo_communicator_make(halo_communicator **out) {
  int level = MPI_THREAD_SINGLE, there = 0, *limit = NULL;
  mpi_user *user = calloc(1, sizeof *user);
  if (!user) return "out of memory";
  const char *trouble = mpi_start(user, &level);
  if (!trouble && level < MPI_THREAD_SERIALIZED) {
    trouble =
        "MPI was initialized for one thread: MPI_Init_thread with MPI_THREAD_MULTIPLE (or "
        "_SERIALIZED) is needed";
  }
  halo_communicator *c = &user->communicator;
  if (!trouble) trouble = mpi_trouble(MPI_Comm_dup(MPI_COMM_WORLD, &user->comm));
  if (!trouble) trouble = mpi_trouble(MPI_Comm_set_errhandler(user->comm, MPI_ERRORS_RETURN));
  if (!trouble) trouble = mpi_trouble(MPI_Comm_rank(user->comm, &c->process));
  if (!trouble) trouble = mpi_trouble(MPI_Comm_size(user->comm, &c->process_count));
  if (!trouble) trouble = mpi_local(user->comm, &c->local);
  if (!trouble) trouble = mpi_trouble(MPI_Comm_get_attr(user->comm, MPI_TAG_UB, &limit, &there));
  if (trouble) {
    free(user);
    return trouble;
  }
  c->name = "mpi";
  c->max_tag = there ? *limit : 32767; /* what the standard promises */
  c->concurrent = level == MPI_THREAD_MULTIPLE;
  c->user = user;
  c->send = mpi_send;
  c->receive = mpi_receive;
  c->test = mpi_test;
  c->poll = mpi_poll;
  c->close = mpi_close;
  c->reference = mpi_reference;
  *out = c;
  return NULL;
}
