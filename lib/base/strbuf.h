/* SPDX-License-Identifier: Apache-2.0 */
/* base/strbuf.h: a string builder. */
#ifndef HALO_BASE_STRBUF_H
#define HALO_BASE_STRBUF_H

#include <stdarg.h>
#include <stddef.h>

/* Zero-initialised is a valid empty builder. `data` is NULL or NUL-terminated. Not thread-safe. */
typedef struct halo_strbuf {
  char *data;
  size_t length, capacity;
} halo_strbuf;

void halo_strbuf_append(halo_strbuf *s, const char *text);
void halo_strbuf_append_n(halo_strbuf *s, const char *text, size_t length);
void halo_strbuf_char(halo_strbuf *s, char c);
void halo_strbuf_printf(halo_strbuf *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void halo_strbuf_vprintf(halo_strbuf *s, const char *format, va_list args);
/* The text so far; "" when empty; owned by the builder. */
const char *halo_strbuf_text(const halo_strbuf *s);
/* Hands the text over (free with halo_free) and leaves the builder empty; never NULL. */
char *halo_strbuf_take(halo_strbuf *s);
void halo_strbuf_deinit(halo_strbuf *s);

#endif
