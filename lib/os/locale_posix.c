/* SPDX-License-Identifier: Apache-2.0 */
/* os/locale_posix.c: the C locale for a while, by uselocale. */
#include "os/locale.h"

#include <locale.h>

halo_c_locale halo_c_locale_enter(void) {
  halo_c_locale locale = {.c = newlocale(LC_ALL_MASK, "C", (locale_t)0)};
  if (locale.c) locale.old = uselocale(locale.c);
  return locale;
}

void halo_c_locale_leave(halo_c_locale locale) {
  if (!locale.c) return;
  uselocale(locale.old);
  freelocale(locale.c);
}

void *halo_c_locale_mark(void) { return uselocale((locale_t)0); }

void halo_c_locale_return(void *mark) { uselocale(mark); }
