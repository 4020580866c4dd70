/* SPDX-License-Identifier: Apache-2.0 */
/* base/status.c: the per-thread message behind halo_status. */
#include "base/status.h"

#include <stdio.h>
#include <string.h>

static _Thread_local char status_message[HALO_MESSAGE_MAX];

const char *halo_version(void) { return HALO_VERSION_TEXT; }

const char *halo_status_name(halo_status status) {
  switch (status) {
    case HALO_OK: return "OK";
    case HALO_INVALID_ARGUMENT: return "INVALID_ARGUMENT";
    case HALO_UNIMPLEMENTED: return "UNIMPLEMENTED";
    case HALO_NOT_FOUND: return "NOT_FOUND";
    case HALO_OUT_OF_MEMORY: return "OUT_OF_MEMORY";
    case HALO_IO_ERROR: return "IO_ERROR";
    case HALO_NO_DEVICE: return "NO_DEVICE";
    case HALO_DEVICE_ERROR: return "DEVICE_ERROR";
    case HALO_FAILED_PRECONDITION: return "FAILED_PRECONDITION";
    case HALO_DEADLINE_EXCEEDED: return "DEADLINE_EXCEEDED";
    case HALO_INTERNAL: return "INTERNAL";
    case HALO_ABORTED: return "ABORTED";
  }
  return "UNKNOWN";
}

const char *halo_error_message(void) { return status_message; }

halo_status halo_fail(halo_status status, const char *format, ...) {
  /* The arguments may point into the old message, so format beside it first. */
  char fresh[HALO_MESSAGE_MAX];
  va_list args;
  va_start(args, format);
  vsnprintf(fresh, sizeof fresh, format, args);
  va_end(args);
  memcpy(status_message, fresh, strlen(fresh) + 1);
  return status;
}

halo_status halo_fail_in(halo_status status, const char *format, ...) {
  if (status == HALO_OK) return status;
  char fresh[HALO_MESSAGE_MAX];
  va_list args;
  va_start(args, format);
  int used = vsnprintf(fresh, sizeof fresh, format, args);
  va_end(args);
  if (used < 0) return status;
  size_t room = sizeof fresh - 1, length = (size_t)used < room ? (size_t)used : room;
  if (strncmp(status_message, fresh, length) == 0 && status_message[length] == ':') return status;
  const char *parts[] = {": ", status_message};
  for (int i = 0; i < 2; i++) {
    size_t add = strlen(parts[i]);
    if (add > room - length) add = room - length;
    memcpy(fresh + length, parts[i], add);
    length += add;
  }
  fresh[length] = '\0';
  memcpy(status_message, fresh, length + 1);
  return status;
}
