/* SPDX-License-Identifier: Apache-2.0 */
/* template.h: texts with parameters: "$N" and "$(2*N)" stand for values that are bound to names of
 * capital letters. */
#ifndef HALO_TOOLS_BENCH_TEMPLATE_H
#define HALO_TOOLS_BENCH_TEMPLATE_H

#include <stdbool.h>

enum { TEMPLATE_BINDINGS = 24 };

/* Values of names. Zero-initialise; the texts are copied into it. */
typedef struct template_bindings {
  struct {
    char name[16], value[64];
  } data[TEMPLATE_BINDINGS];
  int count;
} template_bindings;

/* Binds a name, in the place of what it was bound to. With the name T, an element type, B becomes its size in bytes. False:
 * there are too many names, or a text is too long. */
bool template_bind(template_bindings *bindings, const char *name, const char *value);
/* Binds "N=4 M=5 ...", up to the end of the text; false when it is not of that form. */
bool template_bind_all(template_bindings *bindings, const char *text);
/* The value of a name, or NULL. */
const char *template_value(const template_bindings *bindings, const char *name);
/* The value of an expression of numbers, names, + - * / ( ) and log2(...). False: it is none, or a name has no number. */
bool template_evaluate(const template_bindings *bindings, const char *expression, double *out);
/* The text with its parameters replaced, to be freed; NULL when one is unknown. */
char *template_expand(const template_bindings *bindings, const char *text);

#endif
