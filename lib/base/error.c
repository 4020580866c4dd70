/* SPDX-License-Identifier: Apache-2.0 */
/* base/error.c: the message of a failure, kept while cleaning up makes others. */
#include "base/memory.h"
#include "base/status.h"

char *halo_error_save(void) { return halo_strdup(halo_error_message()); }

void halo_error_restore(char *saved) {
  if (!saved) return;
  (void)halo_fail(HALO_INTERNAL, "%s", saved); /* for its message */
  halo_free(saved);
}
