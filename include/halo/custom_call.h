/* halo/custom_call.h: functions of your own for custom-call instructions, by the name of their target.
 *
 * There are three forms. A plain one has the C signature that XLA's semantics pages give for the API version which
 * the instruction names. A host one is told shapes, layouts and attributes, and can fail. A device one queues work
 * of its own on buffers of the device.
 *
 *   static halo_status scale(const halo_custom_frame *call, void *user) {
 *     const float *x = call->operands[0].data;
 *     float *y = call->results[0].data;
 *     ...
 *     return HALO_OK;
 *   }
 *   halo_custom_call_register_host("scale", scale, NULL);
 *   halo_op y = halo_custom_call(builder, "scale", 1, &x, shape, NULL);
 *
 * Names are of the process. Targets are looked up when a program is compiled: one that is not there refuses
 * the program. A function shall depend on its operands alone and write all of its results; it may be called
 * any number of times, from any thread and from several at once, unless the instruction has a side effect:
 * then it is called once a run, in order. It must not call the client that runs it.
 *
 * Calls that only mark something for programs of several devices (Sharding, SPMDFullToShardShape and their
 * kin) are the identity and need no function. LAPACK's targets of JAX (lapack_sgetrf_ffi, ...) are there where
 * LAPACKE is installed (halo_custom_call_find says so); to register one of these names takes
 * its place. */
#ifndef HALO_CUSTOM_CALL_H
#define HALO_CUSTOM_CALL_H

#include "halo/types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An array that is an operand, a result, or a part of such a tuple. Tokens have rank 0, no bytes and no data. */
typedef struct halo_custom_array {
  halo_type type;
  int rank;
  const int64_t *dims;       /* [rank] */
  const int *minor_to_major; /* [rank] how it lies in memory: dimensions, the fastest first */
  int64_t elements;
  size_t bytes;
  void *data;    /* host forms: dense memory, not to be written of operands; NULL without bytes */
  void *mem;     /* device form: a cl_mem; NULL without bytes */
  size_t offset; /* in it, in bytes */
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
  /* Of a number, or of the elements of a list: as it is written, else HALO_S64, HALO_F64 or HALO_PRED. */
  halo_type type;
  const struct halo_custom_attr *attrs; /* [count] of a dictionary */
} halo_custom_attr;

/* One call. All of it belongs to the library and is valid during the call. */
typedef struct halo_custom_frame {
  const char *target;
  int operand_count, result_count;   /* arrays: tuples count by their parts */
  const halo_custom_array *operands; /* [operand_count] */
  const halo_custom_array
      *results; /* [result_count] one that is aliased with an operand holds its data */
  const char
      *config; /* the backend_config as it is written, without quotes; "" when there is none */
  size_t config_size;
  int attr_count;
  const halo_custom_attr *attrs; /* [attr_count] */
  void *queue;                   /* device form: the cl_command_queue, in order */
  int api_version; /* that the instruction names: 1 to 4, as XLA counts them; 1 where it names none */
  int device; /* number of the client's device that runs it; -1 while it is compiled, or evaluated */
  int64_t run;   /* number of the program's run, the same on all of its devices; 0 as above */
  void *context; /* halo_execute_options.context of the run; NULL: none */
  void *state;   /* what `open` of the target gave for this call of the program */
} halo_custom_frame;

/* out: the result's memory, or an array of pointers, one an element of a tuple (again so for tuples in it);
 * in: likewise, one an operand. Of instructions of API_VERSION_STATUS_RETURNING it has another parameter, an
 * XlaCustomCallStatus *, and of API_VERSION_STATUS_RETURNING_UNIFIED three: const char *config, size_t config_size,
 * XlaCustomCallStatus *. XLA's functions for such a status, of the C++ library that GCC and Clang use on Linux, fail
 * the run with its message. */
typedef void halo_custom_plain_fn(void *out, const void **in);
/* Computes results from operands in host memory. Anything but HALO_OK, which halo_custom_call_fail returns,
 * fails the run. */
typedef halo_status halo_custom_host_fn(const halo_custom_frame *call, void *user);
/* Queues commands that read the operands and write the results; must not wait for them. */
typedef halo_status halo_custom_device_fn(const halo_custom_frame *call, void *user);
/* Prepares an instruction when its program is compiled: `call` has shapes and attributes, and no memory. What is
 * put into *out_state, which is NULL, comes with each run of the instruction. A failure refuses the program. */
typedef halo_status halo_custom_open_fn(const halo_custom_frame *call, void *user,
                                        void **out_state);
/* Frees a state that is not NULL, when the program is released. */
typedef void halo_custom_close_fn(void *state, void *user);

/* Makes `function` what calls of `target` run, in place of an older one for programs compiled from then on.
 * HALO_INVALID_ARGUMENT for NULL or an empty name. Any thread. */
HALO_API halo_status halo_custom_call_register_plain(const char *target,
                                                     halo_custom_plain_fn *function);
HALO_API halo_status halo_custom_call_register_host(const char *target,
                                                    halo_custom_host_fn *function, void *user);
/* A host form whose instructions have a state each. `open` and `close` may be NULL. */
HALO_API halo_status halo_custom_call_register_stateful(const char *target,
                                                        halo_custom_host_fn *function,
                                                        halo_custom_open_fn *open,
                                                        halo_custom_close_fn *close, void *user);
HALO_API halo_status halo_custom_call_register_device(const char *target,
                                                      halo_custom_device_fn *function, void *user);
/* Whether calls of the target can run. */
HALO_API bool halo_custom_call_find(const char *target);

/* For functions: records a message for the failure and returns `status`. */
HALO_API halo_status halo_custom_call_fail(halo_status status, const char *message);
/* The attribute of that name, or NULL. */
HALO_API const halo_custom_attr *halo_custom_call_attr(const halo_custom_frame *call,
                                                       const char *name);
/* An integer attribute, or `otherwise`. */
HALO_API int64_t halo_custom_call_integer(const halo_custom_frame *call, const char *name,
                                          int64_t otherwise);

#ifdef __cplusplus
}
#endif
#endif
