/* SPDX-License-Identifier: Apache-2.0 */
/* custom/lapack.c: LAPACK by the names under which JAX calls it on CPUs, lapack_sgetrf_ffi and its kin: batches
 * are walked over, and arrays of any layout brought into columns. */
#include "custom/lapack.h"

#include "base/memory.h"
#include "base/status.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#ifdef HALO_HAVE_LAPACKE

/* ---- Parts of arrays ---- */

static int64_t lapack_batch(const halo_custom_array *array, int rank) {
  int64_t batch = 1;
  for (int d = 0; d < array->rank - rank; d++) batch *= array->dims[d];
  return batch;
}

/* Elements between neighbours along a dimension. */
static int64_t lapack_stride(const halo_custom_array *array, int dim) {
  int64_t stride = 1;
  for (int i = 0; array->minor_to_major[i] != dim; i++) {
    stride *= array->dims[array->minor_to_major[i]];
  }
  return stride;
}

/* Where the part of problem `number` begins in its array. */
static char *lapack_place(const lapack_part *part, int64_t number) {
  const halo_custom_array *array = part->array;
  int64_t start = 0;
  for (int d = array->rank - part->rank - 1; d >= 0; d--) {
    start += number % array->dims[d] * lapack_stride(array, d);
    number /= array->dims[d];
  }
  return (char *)array->data + (size_t)start * halo_type_size(array->type);
}

/* Elements between neighbours of a column, and of a row. */
static void lapack_steps(const lapack_part *part, int64_t *row, int64_t *column) {
  const halo_custom_array *array = part->array;
  *row = part->rank >= 1 ? lapack_stride(array, array->rank - part->rank) : 0;
  *column = part->rank == 2 ? lapack_stride(array, array->rank - 1) : 0;
}

/* Whether the part lies in its array as LAPACK wants it. */
static bool lapack_is_dense(const lapack_part *part) {
  int64_t row, column;
  lapack_steps(part, &row, &column);
  return part->array->bytes > 0 && (part->rows == 1 || row == 1) &&
         (part->columns == 1 || column == part->rows);
}

/* Copies the part of problem `number` out of its array, or into it. */
static void lapack_copy(const lapack_part *part, int64_t number, bool out) {
  const halo_custom_array *array = part->array;
  if (array->bytes == 0) return;
  size_t size = halo_type_size(array->type);
  int64_t row, column;
  lapack_steps(part, &row, &column);
  char *start = lapack_place(part, number);
  for (int64_t c = 0; c < part->columns; c++) {
    char *dense = (char *)part->data + (size_t)(c * part->rows) * size;
    char *there = start + (size_t)(c * column) * size;
    if (row == 1 || part->rows == 1) {
      memcpy(out ? there : dense, out ? dense : there, size * (size_t)part->rows);
      continue;
    }
    for (int64_t r = 0; r < part->rows; r++) {
      char *a = dense + (size_t)r * size, *b = there + (size_t)(r * row) * size;
      memcpy(out ? b : a, out ? a : b, size);
    }
  }
}

/* ---- Problems ---- */

static bool lapack_overlaps(const halo_custom_array *a, const halo_custom_array *b) {
  const char *of_a = a->data, *of_b = b->data;
  return of_a < of_b + b->bytes && of_b < of_a + a->bytes;
}

/* Whether a result's part is its operand's, element by element. */
static bool lapack_is_same(const halo_custom_array *a, const halo_custom_array *b) {
  return a->data == b->data && a->type == b->type && a->rank == b->rank &&
         memcmp(a->dims, b->dims, sizeof *a->dims * (size_t)a->rank) == 0 &&
         memcmp(a->minor_to_major, b->minor_to_major,
                sizeof *a->minor_to_major * (size_t)a->rank) == 0;
}

/* Describes the parts, and gives memory to those that do not lie as LAPACK wants them, and to operands that it
 * must not write over. That arrays are as declared was checked when the call was inferred. */
static halo_status lapack_parts(const char *declared, int count, const halo_custom_array *arrays,
                                const halo_custom_frame *call, bool kept, lapack_part *parts) {
  for (int i = 0; i < count; i++) {
    const halo_custom_array *a = &arrays[i];
    int rank = lapack_rank(declared);
    declared = lapack_next(declared);
    lapack_part *part = &parts[i];
    *part = (lapack_part){.array = a,
                          .rank = rank,
                          .rows = rank ? a->dims[a->rank - rank] : 1,
                          .columns = rank == 2 ? a->dims[a->rank - 1] : 1};
    part->in_place = lapack_is_dense(part) && kept;
    for (int r = 0; r < call->result_count && arrays == call->operands; r++) {
      const halo_custom_array *b = &call->results[r];
      part->in_place &= !lapack_overlaps(a, b) || (r == i && lapack_is_same(a, b));
    }
    int64_t elements = part->rows * part->columns;
    if (part->in_place) continue;
    HALO_TRY(
        halo_try_alloc((size_t)(elements + 1) * halo_type_size(a->type), "a matrix", &part->data));
  }
  return HALO_OK;
}

/* Has `data` of operands or results be that of problem `number`. */
static void lapack_go_to(lapack_part *parts, int count, int64_t number, bool read) {
  for (int i = 0; i < count; i++) {
    if (parts[i].in_place) parts[i].data = lapack_place(&parts[i], number);
    if (!parts[i].in_place && read) lapack_copy(&parts[i], number, false);
  }
}

static halo_status lapack_solve(lapack_job *job, const lapack_routine *routine, int type) {
  const halo_custom_frame *call = job->call;
  int64_t batch = lapack_batch(&call->results[0], lapack_rank(routine->out));
  for (int64_t b = 0; b < batch && job->status == HALO_OK; b++) {
    lapack_go_to(job->in, call->operand_count, b, true);
    lapack_go_to(job->out, call->result_count, b, false);
    for (int i = 0; i < call->result_count; i++) {
      size_t size = halo_type_size(job->out[i].array->type);
      size_t bytes = (size_t)(job->out[i].rows * job->out[i].columns) * size;
      bool same = i < call->operand_count && job->in[i].rows == job->out[i].rows &&
                  job->in[i].columns == job->out[i].columns &&
                  job->in[i].array->type == job->out[i].array->type;
      if (same && job->out[i].data == job->in[i].data) continue;
      if (same) {
        memcpy(job->out[i].data, job->in[i].data, bytes);
      } else {
        memset(job->out[i].data, 0, bytes);
      }
    }
    routine->run[type](job);
    for (int i = 0; i < call->result_count && job->status == HALO_OK; i++) {
      if (!job->out[i].in_place) lapack_copy(&job->out[i], b, true);
    }
  }
  return job->status;
}

/* What the target's `user` points to. */
typedef struct lapack_user {
  const lapack_routine *routine;
  int type;
} lapack_user;

static halo_status lapack_run(const halo_custom_frame *call, void *user) {
  const lapack_user *u = user;
  const char *out = lapack_out(u->routine, u->type);
  lapack_job job = {.call = call};
  halo_status status = lapack_parts(u->routine->in, call->operand_count, call->operands, call,
                                    !u->routine->spoils, job.in);
  if (status == HALO_OK) {
    status = lapack_parts(out, call->result_count, call->results, call, true, job.out);
  }
  lapack_threads_enter();
  if (status == HALO_OK) status = lapack_solve(&job, u->routine, u->type);
  lapack_threads_leave();
  for (int i = 0; i < LAPACK_MOST; i++) {
    if (!job.in[i].in_place) halo_free(job.in[i].data);
    if (!job.out[i].in_place) halo_free(job.out[i].data);
  }
  halo_free(job.work);
  return status;
}

/* ---- Names ---- */

enum { LAPACK_TARGETS = 64 };

static halo_custom_target lapack_targets[LAPACK_TARGETS];
static lapack_user lapack_users[LAPACK_TARGETS];
static char lapack_names[LAPACK_TARGETS][LAPACK_NAME];
static pthread_once_t lapack_once = PTHREAD_ONCE_INIT;

/* Whether the installed library has the routine. */
static bool lapack_is_there(const lapack_routine *routine, int kind) {
  const char *name = kind >= 2 && routine->complex_name ? routine->complex_name : routine->name;
  char function[40];
  snprintf(function, sizeof function, "LAPACKE_%c%s_work", "sdcz"[kind], name);
  return lapack_function(function) != NULL;
}

static void lapack_fill(void) {
  int count = 0;
  for (const lapack_routine *r = lapack_routines; r->name; r++) {
    for (int type = 0; type < LAPACK_KINDS && count < LAPACK_TARGETS; type++) {
      if (!r->run[type] || !lapack_is_there(r, type)) continue;
      lapack_name(r, type, lapack_names[count]);
      lapack_users[count] = (lapack_user){r, type};
      lapack_targets[count] = (halo_custom_target){.name = lapack_names[count],
                                                   .host = lapack_run,
                                                   .user = &lapack_users[count],
                                                   .computes = true};
      count++;
    }
  }
}

const halo_custom_target *halo_custom_lapack_find(const char *name) {
  if (strncmp(name, "lapack_", 7) != 0) return NULL; /* without opening LAPACK */
  pthread_once(&lapack_once, lapack_fill);
  for (int i = 0; i < LAPACK_TARGETS && lapack_targets[i].name; i++) {
    if (strcmp(lapack_targets[i].name, name) == 0) return &lapack_targets[i];
  }
  return NULL;
}

#else

const halo_custom_target *halo_custom_lapack_find(const char *name) {
  (void)name;
  return NULL;
}

#endif
