/* SPDX-License-Identifier: Apache-2.0 */
/* base/place.h: failures at places in texts. */
#ifndef HALO_BASE_PLACE_H
#define HALO_BASE_PLACE_H

#include "base/status.h"

#include <stdint.h>

/* Records "name:line:column: error: message", the line that holds `at` (or its neighbourhood) and a caret, and
 * returns `status`. The text begins at `begin` and ends with a NUL; `line` is that of `at`, from 1. */
halo_status halo_fail_at(halo_status status, const char *name, const char *begin, const char *at,
                         int32_t line, const char *message);

#endif
