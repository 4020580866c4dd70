/* SPDX-License-Identifier: Apache-2.0 */
/* base/locale.c: the C locale for a while. */
#include "base/locale.h"

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
