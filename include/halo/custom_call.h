/* SPDX-License-Identifier: Apache-2.0 */
/* halo/custom_call.h: your own functions for custom-call instructions, by the name of their target.
 *
 * There are three forms. A plain function has the C signature that XLA documents for the API version
 * that the instruction names. A host function receives shapes, layouts and attributes, and can fail. A
 * device function queues its own work on buffers of the device.
 *
 *     static halo_status scale(const halo_custom_frame *call, void *user) {
 *       const float *x = call->operands[0].data;
 *       float *y = call->results[0].data;
 *       ...
 *       return HALO_OK;
 *     }
 *     halo_custom_call_register_host("scale", scale, NULL);
 *     halo_op y = halo_custom_call(builder, "scale", 1, &x, shape, NULL);
 *
 * Names are global to the process. Targets are looked up when a program is compiled; an unknown target
 * rejects the program. A function must depend only on its operands and must write all its results. It
 * may be called any number of times, from any thread and from several at once, unless the instruction
 * has a side effect: then it is called once per run, in order. It must not call the client that runs it.
 *
 * Calls that only mark something in programs for several devices (Sharding, SPMDFullToShardShape and
 * the like) are the identity and need no function. JAX's LAPACK targets (lapack_sgetrf_ffi, ...) exist
 * if LAPACKE is installed (see halo_custom_call_find); registering one of these names replaces it. */
#ifndef HALO_CUSTOM_CALL_H
#define HALO_CUSTOM_CALL_H

#include "halo/types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An array that is an operand or a result, or an element of such a tuple. Tokens have rank 0, no
 * bytes and no data. */
typedef struct halo_custom_array {
  halo_type type;
  int rank;
  const int64_t *dims;       /* [rank] */
  const int *minor_to_major; /* [rank] the layout: dimensions, the fastest varying first */
  int64_t elements;
  size_t bytes;
  void *data;    /* host forms: dense memory, read-only for operands; NULL if empty */
  void *mem;     /* device form: a cl_mem; NULL if empty */
  size_t offset; /* into mem, in bytes */
} halo_custom_array;

/* Which members of a halo_custom_attr hold its value. */
typedef enum halo_custom_attr_kind {
  HALO_CUSTOM_INTEGER, /* integer; true and false are 1 and 0 */
  HALO_CUSTOM_REAL,    /* real */
  HALO_CUSTOM_TEXT,    /* text */
  HALO_CUSTOM_INTEGERS,
  HALO_CUSTOM_REALS,
  HALO_CUSTOM_OTHER,     /* text, as written */
  HALO_CUSTOM_DICTIONARY /* attrs */
} halo_custom_attr_kind;

/* An entry of the dictionary of an API_VERSION_TYPED_FFI call. */
typedef struct halo_custom_attr {
  const char *name;
  halo_custom_attr_kind kind;
  int64_t integer;
  double real;
  const char *text;
  int64_t count; /* of a list or a dictionary */
  const int64_t *integers;
  const double *reals;
  /* The type of a number or of a list's elements: as written, otherwise HALO_S64, HALO_F64 or HALO_PRED. */
  halo_type type;
  const struct halo_custom_attr *attrs; /* [count] of a dictionary */
} halo_custom_attr;

/* One call. All of it belongs to the library and is valid during the call. */
typedef struct halo_custom_frame {
  const char *target;
  int operand_count, result_count;   /* arrays: a tuple counts once per element */
  const halo_custom_array *operands; /* [operand_count] */
  const halo_custom_array
      *results;       /* [result_count] a result aliased with an operand holds its data */
  const char *config; /* the backend_config as written, without quotes; "" if there is none */
  size_t config_size;
  int attr_count;
  const halo_custom_attr *attrs; /* [attr_count] */
  void *queue;                   /* device form: the in-order cl_command_queue */
  int api_version;               /* of the instruction, 1 to 4 as XLA counts them; 1 by default */
  int device;    /* index of the client's device; -1 during compilation or evaluation */
  int64_t run;   /* number of the program's run, equal on all its devices; 0 as above */
  void *context; /* halo_execute_options.context of the run, or NULL */
  void *state;   /* from the target's `open` for this instruction */
} halo_custom_frame;

/* A plain function. `out` is the result's memory, or for a tuple an array of pointers, one per
 * element (recursively); `in` likewise, one pointer per operand. Instructions of
 * API_VERSION_STATUS_RETURNING pass another parameter, an XlaCustomCallStatus *; those of
 * API_VERSION_STATUS_RETURNING_UNIFIED pass three: const char *config, size_t config_size,
 * XlaCustomCallStatus *. XLA's functions for such a status, with the C++ library of GCC and Clang
 * on Linux, make the run fail with its message. */
typedef void halo_custom_plain_fn(void *out, const void **in);
/* Computes results from operands in host memory. Returns HALO_OK, or the status from
 * halo_custom_call_fail, which makes the run fail. */
typedef halo_status halo_custom_host_fn(const halo_custom_frame *call, void *user);
/* Queues commands that read the operands and write the results; must not wait for them. */
typedef halo_status halo_custom_device_fn(const halo_custom_frame *call, void *user);
/* Prepares an instruction when its program is compiled. `call` has shapes and attributes, but no
 * memory. *out_state, initially NULL, is passed to each run of the instruction. A failure rejects
 * the program. */
typedef halo_status halo_custom_open_fn(const halo_custom_frame *call, void *user,
                                        void **out_state);
/* Frees a state that is not NULL, when the program is released. */
typedef void halo_custom_close_fn(void *state, void *user);

/* Registers a plain function for calls of `target`, replacing an older one for programs compiled
 * from then on. Returns HALO_INVALID_ARGUMENT for NULL or an empty name. Any thread. */
HALO_API halo_status halo_custom_call_register_plain(const char *target,
                                                     halo_custom_plain_fn *function);
/* Registers a host function; otherwise as halo_custom_call_register_plain. `user` is passed to the
 * function. */
HALO_API halo_status halo_custom_call_register_host(const char *target,
                                                    halo_custom_host_fn *function, void *user);
/* Registers a host function whose instructions have a state each. `open` and `close` may be
 * NULL. */
HALO_API halo_status halo_custom_call_register_stateful(const char *target,
                                                        halo_custom_host_fn *function,
                                                        halo_custom_open_fn *open,
                                                        halo_custom_close_fn *close, void *user);
/* Registers a device function; otherwise as halo_custom_call_register_host. */
HALO_API halo_status halo_custom_call_register_device(const char *target,
                                                      halo_custom_device_fn *function, void *user);
/* Whether calls of the target can run. */
HALO_API bool halo_custom_call_find(const char *target);

/* For functions: records a message for the failure and returns `status`. */
HALO_API halo_status halo_custom_call_fail(halo_status status, const char *message);
/* The attribute of that name, or NULL. Owned by the call. */
HALO_API const halo_custom_attr *halo_custom_call_attr(const halo_custom_frame *call,
                                                       const char *name);
/* The value of an integer attribute, or `otherwise` if there is none. */
HALO_API int64_t halo_custom_call_integer(const halo_custom_frame *call, const char *name,
                                          int64_t otherwise);

#ifdef __cplusplus
}
#endif
#endif
