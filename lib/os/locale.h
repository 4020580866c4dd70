/* SPDX-License-Identifier: Apache-2.0 */
/* os/locale.h: numbers as C writes them, whatever locale a user has set. */
#ifndef HALO_OS_LOCALE_H
#define HALO_OS_LOCALE_H

/* The C locale for this thread between enter and leave: a user's must not decide what a decimal point is. */
typedef struct halo_c_locale {
  void *c, *old; /* locale_t of POSIX; Windows: unused */
} halo_c_locale;

halo_c_locale halo_c_locale_enter(void);
void halo_c_locale_leave(halo_c_locale locale);

/* For who leaves functions by longjmp: which locale this thread has, and the way back to that. */
void *halo_c_locale_mark(void);
void halo_c_locale_return(void *mark);

#endif
