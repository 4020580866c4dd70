/* SPDX-License-Identifier: Apache-2.0 */
/* os/locale_windows.c: the C locale for a while, by setlocale for one thread. */
#include "os/locale.h"

#include <locale.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Calls of enter without their leave; and before the first: whether setlocale was this thread's alone, and its locale (NULL: it
 * was C, or could not be kept). */
static _Thread_local intptr_t locale_depth;
static _Thread_local int locale_mode;
static _Thread_local char *locale_before;

halo_c_locale halo_c_locale_enter(void) {
  if (locale_depth++ > 0) return (halo_c_locale){0};
  const char *now = setlocale(LC_NUMERIC, NULL);
  locale_before = now && strcmp(now, "C") != 0 ? strdup(now) : NULL;
  if (locale_before) {
    locale_mode = _configthreadlocale(_ENABLE_PER_THREAD_LOCALE);
    setlocale(LC_NUMERIC, "C");
  }
  return (halo_c_locale){0};
}

void halo_c_locale_leave(halo_c_locale locale) {
  (void)locale;
  if (--locale_depth > 0 || !locale_before) return;
  setlocale(LC_NUMERIC, locale_before);
  _configthreadlocale(locale_mode);
  free(locale_before);
  locale_before = NULL;
}

void *halo_c_locale_mark(void) { return (void *)locale_depth; }

void halo_c_locale_return(void *mark) {
  while (locale_depth > (intptr_t)mark) halo_c_locale_leave((halo_c_locale){0});
}
