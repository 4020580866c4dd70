/* SPDX-License-Identifier: Apache-2.0 */
/* base/locale.h: numbers as C writes them, whatever locale a user has set. */
#ifndef HALO_BASE_LOCALE_H
#define HALO_BASE_LOCALE_H

#include <locale.h>

/* The C locale for this thread between enter and leave: a user's must not decide what a decimal point is. */
typedef struct halo_c_locale {
  locale_t c, old;
} halo_c_locale;

halo_c_locale halo_c_locale_enter(void);
void halo_c_locale_leave(halo_c_locale locale);

#endif
