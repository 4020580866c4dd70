/* SPDX-License-Identifier: Apache-2.0 */
/* pjrt/processes.c: the processes of one job. They find each other at the key-value store of the framework, and what
 * their programs send each other goes over MPI where mpiexec started them, else over TCP. */
#include "pjrt/pjrt.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* As long as frameworks wait for processes to start. */
enum { PROCESSES_TIMEOUT = 300000 }; /* milliseconds */

/* MPI starts once in the life of a process, and so what was connected serves all clients that are made one after the
 * other. */
static pthread_mutex_t processes_lock = PTHREAD_MUTEX_INITIALIZER;
static halo_communicator *processes_communicator;
static unsigned processes_clients; /* so far */

/* ---- The end ---- */

/* Whoever does not finalise MPI has failed in the eyes of mpiexec, and who goes without a word in those of the others. */
static void processes_close(void) {
  pthread_mutex_lock(&processes_lock);
  halo_communicator *communicator = processes_communicator;
  processes_communicator = NULL;
  pthread_mutex_unlock(&processes_lock);
  halo_communicator_close(communicator);
}

/* ---- The key-value store ---- */

static PJRT_Error *processes_error(PJRT_Error_Code code, const char *message, size_t size) {
  return pjrt_error(code, "the processes' key-value store: %.*s", (int)size, message);
}

static PJRT_CallbackError processes_callback_error = processes_error;

static char *processes_key(const pjrt_job *job, const char *what, int process) {
  return pjrt_format("halo/%u/%s/%d", job->client, what, process);
}

static PJRT_Error *processes_put(const pjrt_job *job, const char *what, const pjrt_writer *value) {
  char *key = processes_key(job, what, job->process);
  PJRT_KeyValuePutCallback_Args args = {.struct_size = sizeof args,
                                        .key = key,
                                        .key_size = strlen(key),
                                        .value = (const char *)value->data,
                                        .value_size = value->size,
                                        .callback_error = &processes_callback_error,
                                        .user_arg = job->put_user};
  PJRT_Error *error = job->put(&args);
  free(key);
  return error;
}

static PJRT_Error *processes_get(const pjrt_job *job, const char *what, int process,
                                 pjrt_writer *out) {
  char *key = processes_key(job, what, process);
  PJRT_KeyValueGetCallback_Args args = {.struct_size = sizeof args,
                                        .key = key,
                                        .key_size = strlen(key),
                                        .timeout_in_ms = PROCESSES_TIMEOUT,
                                        .callback_error = &processes_callback_error,
                                        .user_arg = job->get_user};
  PJRT_Error *error = job->get(&args);
  free(key);
  if (error) return error;
  *out = (pjrt_writer){(uint8_t *)pjrt_copy(args.value, args.value_size), args.value_size,
                       args.value_size};
  if (args.value_deleter_callback) args.value_deleter_callback(args.value);
  return NULL;
}

PJRT_Error *pjrt_job_exchange(const pjrt_job *job, const char *what, const pjrt_writer *mine,
                              pjrt_writer *all) {
  PJRT_PASS(processes_put(job, what, mine));
  for (int p = 0; p < job->count; p++) PJRT_PASS(processes_get(job, what, p, &all[p]));
  return NULL;
}

/* ---- Connecting ---- */

/* What a process says of the way in which it would be connected. */
typedef enum processes_way { PROCESSES_NUMBER = 1, PROCESSES_NAME } processes_way;

/* Whether the process wants to be connected as this one does. */
static PJRT_Error *processes_compare(int process, const char *name, const pjrt_writer *told) {
  pjrt_message message = {told->data, told->data + told->size};
  pjrt_field field;
  while (pjrt_message_next(&message, &field)) {
    size_t length = (size_t)(field.bytes.end - field.bytes.at);
    if (field.number != PROCESSES_NAME) continue;
    if (length == strlen(name) && memcmp(field.bytes.at, name, length) == 0) return NULL;
    return pjrt_error(
        PJRT_Error_Code_FAILED_PRECONDITION,
        "process %d is to be connected over %.*s, and this one over %s: mpiexec started "
        "some, or HALO_COMMUNICATOR differs",
        process, (int)length, (const char *)field.bytes.at, name);
  }
  return pjrt_error(PJRT_Error_Code_FAILED_PRECONDITION,
                    "process %d has another version of the plugin", process);
}

/* Processes may make their clients minutes apart; what comes after this waits less. */
static PJRT_Error *processes_meet(const pjrt_job *job, const char *name) {
  pjrt_writer mine = {0}, *all = pjrt_alloc(sizeof *all * (size_t)job->count);
  pjrt_write_number(&mine, PROCESSES_NUMBER, (uint64_t)job->process);
  pjrt_write_bytes(&mine, PROCESSES_NAME, name, strlen(name));
  PJRT_Error *error = pjrt_job_exchange(job, "here", &mine, all);
  for (int p = 0; p < job->count; p++) {
    if (!error) error = processes_compare(p, name, &all[p]);
    pjrt_writer_deinit(&all[p]);
  }
  pjrt_writer_deinit(&mine);
  free(all);
  return error;
}

/* A job for whose processes addresses are exchanged. */
typedef struct processes_exchange {
  const pjrt_job *job;
  PJRT_Error *error;
} processes_exchange;

static const char *processes_tell(void *user, const void *mine, size_t bytes, void *out) {
  processes_exchange *x = user;
  const pjrt_job *job = x->job;
  pjrt_writer own = {(uint8_t *)mine, bytes, bytes};
  pjrt_writer *all = pjrt_alloc(sizeof *all * (size_t)job->count);
  bool same = true;
  x->error = pjrt_job_exchange(job, "tcp", &own, all);
  for (int p = 0; p < job->count; p++) {
    same = same && !x->error && all[p].size == bytes;
    if (same) memcpy((uint8_t *)out + bytes * (size_t)p, all[p].data, bytes);
    pjrt_writer_deinit(&all[p]);
  }
  free(all);
  return same ? NULL : "what a process says of where it is cannot be read: do all run one version?";
}

static PJRT_Error *processes_connect_tcp(const pjrt_job *job) {
  processes_exchange x = {.job = job};
  halo_tcp_options options = {
      .process = job->process, .process_count = job->count, .exchange = processes_tell, .user = &x};
  PJRT_Error *error = pjrt_error_of(halo_communicator_connect(&options, &processes_communicator));
  if (!x.error) return error;
  pjrt_Error_Destroy(&(PJRT_Error_Destroy_Args){.error = error});
  return x.error;
}

/* Launchers that are not MPI's may look like it. */
static PJRT_Error *processes_connect_by(const char *name) {
  halo_status status = halo_communicator_open(name, &processes_communicator);
  if (status != HALO_NOT_FOUND) return pjrt_error_of(status);
  return pjrt_error(PJRT_Error_Code_NOT_FOUND,
                    "%s; HALO_COMMUNICATOR=tcp connects the processes without it",
                    halo_error_message());
}

static PJRT_Error *processes_connect(pjrt_job *job, const char *name) {
  PJRT_Error *error = NULL;
  pthread_mutex_lock(&processes_lock);
  if (!processes_communicator) {
    error = strcmp(name, "tcp") == 0 ? processes_connect_tcp(job) : processes_connect_by(name);
    if (!error) atexit(processes_close);
  }
  job->communicator = processes_communicator;
  pthread_mutex_unlock(&processes_lock);
  return error;
}

static PJRT_Error *processes_check(const pjrt_job *job) {
  const halo_communicator *communicator = job->communicator;
  const char *joined =
      strcmp(communicator->name, "mpi") == 0 ? "mpiexec started" : "were connected";
  if (communicator->process_count != job->count) {
    return pjrt_error(
        PJRT_Error_Code_FAILED_PRECONDITION,
        "jax.distributed.initialize was called for %d processes, and there are %d that %s "
        "together",
        job->count, communicator->process_count, joined);
  }
  if (communicator->process == job->process) return NULL;
  return pjrt_error(PJRT_Error_Code_FAILED_PRECONDITION,
                    "process %d of jax.distributed.initialize is number %d of those that %s: its "
                    "process_id must be that number",
                    job->process, communicator->process, joined);
}

/* ---- Jobs ---- */

PJRT_Error *pjrt_job_open(const PJRT_Client_Create_Args *args, int64_t process, int64_t count,
                          pjrt_job *out) {
  *out = (pjrt_job){.process = (int)process, .count = (int)count};
  if (count <= 1) return NULL;
  if (process < 0 || process >= count || count > INT_MAX) {
    return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT,
                      "the client's options: there is no process %lld of %lld", (long long)process,
                      (long long)count);
  }
  if (!args->kv_get_callback || !args->kv_put_callback) {
    return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT,
                      "a client of %lld processes needs the key-value store's callbacks",
                      (long long)count);
  }
  const char *name = halo_communicator_default();
  if (!name) name = "tcp";
  out->get = args->kv_get_callback;
  out->get_user = args->kv_get_user_arg;
  out->put = args->kv_put_callback;
  out->put_user = args->kv_put_user_arg;
  pthread_mutex_lock(&processes_lock);
  out->client = processes_clients++;
  pthread_mutex_unlock(&processes_lock);
  PJRT_PASS(processes_meet(out, name));
  PJRT_PASS(processes_connect(out, name));
  return processes_check(out);
}
