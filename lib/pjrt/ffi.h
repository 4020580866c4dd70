/* SPDX-License-Identifier: Apache-2.0 */
/* pjrt/ffi.h: typed handlers of custom calls from inside: what stands behind the pointers of ffi_abi.h. */
#ifndef HALO_PJRT_FFI_H
#define HALO_PJRT_FFI_H

#include "halo/custom_call.h"
#include "pjrt/ffi_abi.h"
#include "pjrt/pjrt.h"

/* The functions of one target; all but `execute` may be NULL. */
typedef struct ffi_bundle {
  XLA_FFI_Handler *instantiate; /* once an instruction, when its program is compiled */
  XLA_FFI_Handler *prepare, *initialize, *execute; /* each run */
} ffi_bundle;

/* An object that a stage left for later ones. */
typedef struct ffi_state {
  int64_t type;
  void *object;
} ffi_state;
enum { FFI_STATES = XLA_FFI_ExecutionStage_EXECUTE };

/* What a handler asks through: of one call. States of `kept` live as long as the program. */
struct XLA_FFI_ExecutionContext {
  const halo_custom_frame *call;
  ffi_state *kept;
  ffi_state own[FFI_STATES]; /* by stage; that of instantiating is not used */
};

/* ---- What handlers call (ffi_api.c) ---- */

extern const XLA_FFI_Api pjrt_ffi_api;

XLA_FFI_Error *ffi_error(PJRT_Error_Code code, const char *message);
/* Fails with the error, which it frees; HALO_OK for NULL. */
halo_status ffi_fail(XLA_FFI_Error *error);
/* Waits for a handler that goes on, and frees the future; NULL: there is nothing to wait for. */
XLA_FFI_Error *ffi_future_wait(XLA_FFI_Future *future);
/* Makes a type known under its name. *id: 0 asks for a number. `deleter` frees objects of it, or NULL. */
PJRT_Error *ffi_type_register(const char *name, size_t size, int64_t *id, void (*deleter)(void *));
/* Frees the object, if there is one. */
void ffi_state_clear(ffi_state *state);

/* ---- What callers leave for handlers (ffi_context.c) ---- */

/* Puts data, which stays the caller's, under a type; each has one: ALREADY_EXISTS. */
PJRT_Error *ffi_context_add(PJRT_ExecuteContext *context, int64_t type, void *data);
/* Whether there is data of the type. */
bool ffi_context_find(PJRT_ExecuteContext *context, int64_t type, void **out);

/* ---- Calling handlers (ffi_call.c) ---- */

/* Makes the handlers what calls of the target run on this platform, for programs compiled from then on. With
 * `of_host` they were written for the host's own platform, and do not take the place of what the library has:
 * ALREADY_EXISTS. */
PJRT_Error *ffi_register(const char *name, size_t size, ffi_bundle bundle, bool of_host);

#endif
