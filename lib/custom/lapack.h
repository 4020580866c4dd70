/* SPDX-License-Identifier: Apache-2.0 */
/* custom/lapack.h: one matrix of a batch at a time, in column-major order, for LAPACK. Private to lapack*.c. */
#ifndef HALO_CUSTOM_LAPACK_H
#define HALO_CUSTOM_LAPACK_H

#include "custom/custom.h"

enum { LAPACK_MOST = 6 }; /* operands, or results */

/* A vector, a matrix or a number of one problem. */
typedef struct lapack_part {
  const halo_custom_array *array;
  int rank; /* 0 to 2: the last dimensions of the array, of which the others are the batch */
  int64_t rows, columns; /* 1 where there is no such dimension */
  bool in_place;         /* `data` is the array's own memory; else a copy, which is the part's */
  void *data;            /* dense, columns one after the other */
} lapack_part;

/* One problem. Results whose operand of the same number has their size begin as its copy. Operands are read only,
 * unless the routine says that it spoils them. */
typedef struct lapack_job {
  const halo_custom_frame *call;
  lapack_part in[LAPACK_MOST], out[LAPACK_MOST];
  void *work; /* grows */
  size_t work_size;
  halo_status status;
} lapack_job;

enum { LAPACK_KINDS = 4 /* s, d, c, z */, LAPACK_NAME = 24 };

/* The extents that the letters of a routine's declaration stand for, from 'a' on; -1: not met yet. */
typedef struct lapack_extents {
  int64_t of[26];
} lapack_extents;

/* A routine in the four types. Its operands and results are declared as "t[m,n] i[k] i": first the type, which is the
 * routine's (t), real (r), complex (c) or s32 (i), then the extents behind those of the batch, which all arrays have. The
 * first place of a letter says what it stands for; k is the lesser of m and n. */
typedef struct lapack_routine {
  const char *name, *complex_name; /* "getrf"; NULL: the same for complex numbers */
  const char *in, *out;
  const char *complex_out; /* NULL: the same */
  /* Checks extents and attributes further: NULL, or the rule that is broken. */
  const char *(*rule)(const lapack_extents *extents, const halo_custom_frame *call);
  void (*run[LAPACK_KINDS])(lapack_job *job); /* NULL: no function */
  bool spoils;                                /* writes over its operands, which are copies then */
} lapack_routine;

static inline const char *lapack_out(const lapack_routine *routine, int kind) {
  return kind >= 2 && routine->complex_out ? routine->complex_out : routine->out;
}

/* lapack_shapes.c. The number of extents of the declaration that comes first, and the rest behind it. */
int lapack_rank(const char *declared);
const char *lapack_next(const char *declared);
/* The name of a custom call, "lapack_sgetrf_ffi". */
void lapack_name(const lapack_routine *routine, int kind, char out[LAPACK_NAME]);

/* lapack_library.c: a function of LAPACKE by its name; NULL where no library with it is installed. From any thread. */
void *lapack_function(const char *name);
/* Around calls of routines, which a BLAS of several threads does in one from the first of these
 * that is in progress to the last. From any thread. */
void lapack_threads_enter(void);
void lapack_threads_leave(void);

extern const lapack_routine lapack_routines[]; /* lapack_routines.c; a NULL name ends the list */

#endif
