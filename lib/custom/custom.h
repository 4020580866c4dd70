/* SPDX-License-Identifier: Apache-2.0 */
/* custom/custom.h: what custom-calls run: the registries of targets and of partitioners, and the site of a call. */
#ifndef HALO_CUSTOM_CUSTOM_H
#define HALO_CUSTOM_CUSTOM_H

#include "base/arena.h"
#include "halo/custom_call.h"
#include "halo/partitioner.h"
#include "shape/shape.h"

/* API versions that are not the plain one, as XLA counts them. */
enum { HALO_CUSTOM_PLAIN = 1, HALO_CUSTOM_STATUS, HALO_CUSTOM_UNIFIED, HALO_CUSTOM_TYPED };

/* Lives as long as the process. */
typedef struct halo_custom_target {
  const char *name;
  halo_custom_plain_fn *plain; /* one of these three */
  halo_custom_host_fn *host;
  halo_custom_device_fn *device;
  halo_custom_open_fn *open; /* of a host form; NULL: none */
  halo_custom_close_fn *close;
  void *user;
  bool computes; /* its host function computes results from operands, and waits for nobody */
  struct halo_custom_target *next;
} halo_custom_target;

/* NULL when there is none. */
const halo_custom_target *halo_custom_target_find(const char *name);
/* JAX's name for BLAS's triangular systems, which the library has an operation for, in place of a function. */
bool halo_custom_is_solve(const char *name);

/* Lives as long as the process. */
typedef struct halo_custom_partitioner {
  const char *target;
  halo_partition_fn *function; /* NULL: calls treat each problem of a batch by itself */
  void *user;
  struct halo_custom_partitioner *next;
} halo_custom_partitioner;

/* NULL when there is none. */
const halo_custom_partitioner *halo_custom_partitioner_find(const char *target);

/* A call as compiling leaves it, without memory: all in one arena. */
typedef struct halo_custom_site {
  const halo_custom_target *target;
  int operand_count;               /* of the instruction: arrays and tuples */
  const halo_shape *const *shapes; /* of these */
  const halo_shape *result;        /* likewise */
  halo_custom_frame call;          /* arrays without data */
  int32_t
      *places; /* of the step's arguments, one an array; -1 for tokens. Set by who plans the call */
} halo_custom_site;

/* Which call of a program it is. */
typedef struct halo_custom_run {
  void *queue;    /* of device forms */
  int device;     /* of the client; -1: none */
  int64_t number; /* of the run */
  void *context;  /* of who started it */
} halo_custom_run;

/* Describes a call and opens its state. `operands` and `result` are shapes with layouts and are kept; `config` is the
 * attribute backend_config as HLO text has it, or NULL; `version` is the API version as XLA counts them, with the last
 * of which that is a dictionary. HALO_INVALID_ARGUMENT when that cannot be read; what `open` says. */
halo_status halo_custom_site_create(halo_arena *arena, const halo_custom_target *target,
                                    int operand_count, const halo_shape *const *operands,
                                    const halo_shape *result, const char *config, int version,
                                    halo_custom_site **out);
/* Calls the function. `arrays` are the call's operands, then its results, with their memory. */
halo_status halo_custom_site_call(const halo_custom_site *site, const halo_custom_array *arrays,
                                  const halo_custom_run *run);

/* Closes the state; the rest is the arena's. NULL is allowed. */
void halo_custom_site_deinit(const halo_custom_site *site);

/* config.c: reads "{name = value : type, ...}" into the call's attributes. */
halo_status halo_custom_config_read(halo_arena *arena, const char *text, halo_custom_frame *call);

/* lapack.c: LAPACK by the names of JAX; NULL without LAPACKE. */
const halo_custom_target *halo_custom_lapack_find(const char *name);
/* lapack_shapes.c: HALO_INVALID_ARGUMENT where the name is one of these and the operands, the result (an array or a
 * tuple of arrays), or the attributes in `config` (as HLO text has backend_config; NULL: none) are not as the routine has them; HALO_OK for other names. With or without LAPACKE. */
halo_status halo_custom_lapack_check(const char *name, int operand_count,
                                     const halo_shape *const *operands, const halo_shape *result,
                                     const char *config);
/* The rank of the first operand of one problem, where the name is one of these; -1 for other names. With or without
 * LAPACKE. */
int halo_custom_lapack_rank(const char *name);

#endif
