/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/template.h: instances of the templates in cl_kernels/ in a program's text. */
#ifndef HALO_KERNELS_TEMPLATE_H
#define HALO_KERNELS_TEMPLATE_H

#include "base/strbuf.h"
#include "base/vec.h"

/* A file of cl_kernels/ as it is embedded: its name, its text without comments, and the kernel that the
 * defaults of its holes make; NULL: it is no template. */
typedef struct halo_cl_file {
  const char *name, *text, *kernel;
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
/* A file's text without the holes' defaults, "#ifndef H_NAME ... #endif" at its start. */
const char *halo_template_body(const char *text);
/* Appends the instance (defines, text, undefines) and empties the template. */
void halo_template_finish(halo_template *t, halo_strbuf *out);

#endif
