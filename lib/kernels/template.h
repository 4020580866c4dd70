/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/template.h: instances of the templates in cl_kernels/ in a program's text. */
#ifndef HALO_KERNELS_TEMPLATE_H
#define HALO_KERNELS_TEMPLATE_H

#include "base/strbuf.h"
#include "base/vec.h"

/* A file of cl_kernels/ as it is embedded, without comments. Of a template: the defaults of its macros, behind them its text
 * with holes (kernel/kernel.h), and the kernel that the defaults make; else nothing, the text, NULL. */
typedef struct halo_cl_file {
  const char *name, *defaults, *text, *kernel;
} halo_cl_file;
/* All of them; a NULL name ends the list. */
extern const halo_cl_file halo_cl_files[];

/* The holes of one instance. */
typedef struct halo_template {
  const char *text; /* of the file in cl_kernels/ */
  HALO_VEC(const char *) names;
  halo_strbuf defines;
} halo_template;

void halo_template_init(halo_template *t, const char *text);
/* `name` is the macro's name without parameters; `definition` what follows "#define " altogether, so
 * that "H_OP(a, b) ((a) + (b))" is one. */
void halo_template_define(halo_template *t, const char *name, const char *definition);
void halo_template_define_int(halo_template *t, const char *name, long long value);
/* Appends the instance (defines, text, undefines) and empties the template. */
void halo_template_finish(halo_template *t, halo_strbuf *out);

#endif
