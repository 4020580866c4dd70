/* SPDX-License-Identifier: Apache-2.0 */
/* base/status.h: making and passing on failures inside the library. */
#ifndef HALO_BASE_STATUS_H
#define HALO_BASE_STATUS_H

#include "halo/status.h"

#include <stdarg.h>
#include <stdint.h>

/* Records a message for this thread (replacing an older one) and returns `status`. The message is
 * cut at HALO_MESSAGE_MAX bytes. */
halo_status halo_fail(halo_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Puts "context: " before the recorded message, unless that begins with it, and returns `status` unchanged;
 * does nothing for HALO_OK. Used on the way up, to say where the failure happened. */
halo_status halo_fail_in(halo_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The ending of the noun behind a number in a message: "%d argument%s". */
static inline const char *halo_plural(int64_t count) { return count == 1 ? "" : "s"; }

/* Saves and restores the message around clean-up that may itself fail, so that a cleanup error
 * never hides the first one. `saved` is heap memory owned by the caller; restore frees it. */
char *halo_error_save(void);
void halo_error_restore(char *saved);

enum { HALO_MESSAGE_MAX = 16384 };

#define HALO_TRY(expr)                                                                             \
  do {                                                                                             \
    halo_status try_status_ = (expr);                                                              \
    if (try_status_ != HALO_OK) return try_status_;                                                \
  } while (0)

#endif
