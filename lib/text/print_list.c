/* SPDX-License-Identifier: Apache-2.0 */
/* text/print_list.c: strings in quotes, and lists of numbers. */
#include "text/print.h"

#include <string.h>

void halo_text_print_string(halo_strbuf *out, const char *text) {
  static const char plain[] = "\n\r\t\"'\\", letters[] = "nrt\"'\\";
  halo_strbuf_char(out, '"');
  for (const char *c = text; *c; c++) {
    const char *special = strchr(plain, *c);
    if (special) {
      halo_strbuf_char(out, '\\');
      halo_strbuf_char(out, letters[special - plain]);
    } else if ((unsigned char)*c < 0x20 || (unsigned char)*c > 0x7e) {
      halo_strbuf_printf(out, "\\%03o", (unsigned char)*c);
    } else {
      halo_strbuf_char(out, *c);
    }
  }
  halo_strbuf_char(out, '"');
}

void halo_text_print_ints(halo_strbuf *out, const int64_t *ints, int32_t count) {
  halo_strbuf_char(out, '{');
  for (int32_t i = 0; i < count; i++) {
    halo_strbuf_printf(out, "%s%lld", i ? "," : "", (long long)ints[i]);
  }
  halo_strbuf_char(out, '}');
}
