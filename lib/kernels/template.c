/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/template.c: instances of the templates in cl_kernels/ in a program's text. */
#include "kernels/template.h"

void halo_template_init(halo_template *t, const char *text) { *t = (halo_template){.text = text}; }

void halo_template_define(halo_template *t, const char *name, const char *definition) {
  halo_vec_push(&t->names, name);
  halo_strbuf_append(&t->defines, "#define ");
  /* A definition of several lines stays one macro. */
  for (const char *c = definition; *c; c++) {
    if (*c == '\n') halo_strbuf_append(&t->defines, " \\");
    halo_strbuf_char(&t->defines, *c);
  }
  halo_strbuf_char(&t->defines, '\n');
}

void halo_template_define_int(halo_template *t, const char *name, long long value) {
  halo_strbuf text = {0};
  halo_strbuf_printf(&text, "%s %lld", name, value);
  halo_template_define(t, name, halo_strbuf_text(&text));
  halo_strbuf_deinit(&text);
}

void halo_template_finish(halo_template *t, halo_strbuf *out) {
  halo_strbuf_append_n(out, halo_strbuf_text(&t->defines), t->defines.length);
  halo_strbuf_append(out, t->text);
  for (int32_t i = 0; i < t->names.count; i++) {
    halo_strbuf_printf(out, "#undef %s\n", t->names.data[i]);
  }
  halo_vec_deinit(&t->names);
  halo_strbuf_deinit(&t->defines);
}
