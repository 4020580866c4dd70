/* SPDX-License-Identifier: Apache-2.0 */
/* pjrt/error.c: failures as objects of the interface. */
#include "pjrt/pjrt.h"

#include <stdlib.h>
#include <string.h>

/* Begins with the pointer to a table of functions that newer callers may look for. None is given: all of it
 * is in the plugin's own table, where they look too. */
struct PJRT_Error {
  const void *functions;
  PJRT_Error_Code code;
  char *message;
};

static PJRT_Error *error_create(PJRT_Error_Code code, char *message) {
  PJRT_Error *error = pjrt_alloc(sizeof *error);
  error->code = code;
  error->message = message;
  return error;
}

PJRT_Error *pjrt_error(PJRT_Error_Code code, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char *message = pjrt_vformat(format, arguments);
  va_end(arguments);
  return error_create(code, message);
}

static PJRT_Error_Code error_code(halo_status status) {
  switch (status) {
    case HALO_OK: return PJRT_Error_Code_OK;
    case HALO_INVALID_ARGUMENT: return PJRT_Error_Code_INVALID_ARGUMENT;
    case HALO_UNIMPLEMENTED: return PJRT_Error_Code_UNIMPLEMENTED;
    case HALO_NOT_FOUND: return PJRT_Error_Code_NOT_FOUND;
    case HALO_OUT_OF_MEMORY: return PJRT_Error_Code_RESOURCE_EXHAUSTED;
    case HALO_IO_ERROR: return PJRT_Error_Code_INTERNAL;
    case HALO_NO_DEVICE: return PJRT_Error_Code_FAILED_PRECONDITION;
    case HALO_DEVICE_ERROR: return PJRT_Error_Code_INTERNAL;
    case HALO_FAILED_PRECONDITION: return PJRT_Error_Code_FAILED_PRECONDITION;
    case HALO_DEADLINE_EXCEEDED: return PJRT_Error_Code_DEADLINE_EXCEEDED;
    case HALO_INTERNAL: return PJRT_Error_Code_INTERNAL;
    case HALO_ABORTED: return PJRT_Error_Code_ABORTED;
  }
  return PJRT_Error_Code_UNKNOWN;
}

halo_status pjrt_status_of(PJRT_Error_Code code) {
  for (int status = HALO_INVALID_ARGUMENT; status <= HALO_ABORTED; status++) {
    if (error_code((halo_status)status) == code) return (halo_status)status;
  }
  return HALO_INTERNAL;
}

PJRT_Error *pjrt_error_with(halo_status status, const char *message) {
  if (status == HALO_OK) return NULL;
  return error_create(error_code(status), pjrt_copy(message, strlen(message)));
}

PJRT_Error *pjrt_error_of(halo_status status) {
  return pjrt_error_with(status, status == HALO_OK ? "" : halo_error_message());
}

/* ---- The interface ---- */

void pjrt_Error_Destroy(PJRT_Error_Destroy_Args *args) {
  if (!args->error) return;
  free(args->error->message);
  free(args->error);
}

void pjrt_Error_Message(PJRT_Error_Message_Args *args) {
  args->message = args->error ? args->error->message : "";
  args->message_size = strlen(args->message);
}

PJRT_Error *pjrt_Error_GetCode(PJRT_Error_GetCode_Args *args) {
  args->code = args->error->code;
  return NULL;
}

/* Nothing is ever attached to an error. */
PJRT_Error *pjrt_Error_ForEachPayload(PJRT_Error_ForEachPayload_Args *args) {
  (void)args;
  return NULL;
}
