/* SPDX-License-Identifier: Apache-2.0 */
/* tools/bench/scale_forms.h: programs of any size in several forms, as HLO text: for measuring that the way
 * from text to plan takes time in proportion. */
#ifndef HALO_TOOLS_SCALE_FORMS_H
#define HALO_TOOLS_SCALE_FORMS_H

#include <stddef.h>

typedef struct scale_form {
  const char *name, *description;
} scale_form;

/* The forms in order; NULL behind the last. Static. */
const scale_form *scale_form_at(int index);
/* A module of about `count` instructions in a form, and its length; NULL for a name that is no form's.
 * The caller frees it with free(). */
char *scale_form_text(const char *form, int count, size_t *length);

#endif
