/* SPDX-License-Identifier: Apache-2.0 */
/* base/strbuf.c: a string builder. */
#include "base/strbuf.h"

#include "base/format.h"
#include "base/memory.h"

#include <string.h>

static void strbuf_reserve(halo_strbuf *s, size_t more) {
  if (s->capacity - s->length > more) return;
  size_t want = s->capacity ? s->capacity * 2 : 64;
  while (want - s->length <= more) want *= 2;
  s->data = halo_realloc(s->data, want);
  s->capacity = want;
}

void halo_strbuf_append_n(halo_strbuf *s, const char *text, size_t length) {
  strbuf_reserve(s, length);
  if (length) memcpy(s->data + s->length, text, length);
  s->length += length;
  s->data[s->length] = '\0';
}

void halo_strbuf_append(halo_strbuf *s, const char *text) {
  halo_strbuf_append_n(s, text, strlen(text));
}

void halo_strbuf_char(halo_strbuf *s, char c) { halo_strbuf_append_n(s, &c, 1); }

void halo_strbuf_vprintf(halo_strbuf *s, const char *format, va_list args) {
  enum { LIKELY = 64 };
  strbuf_reserve(s, LIKELY);
  for (;;) {
    size_t room = s->capacity - s->length;
    va_list copy;
    va_copy(copy, args);
    size_t length = halo_format(s->data + s->length, room, format, copy);
    va_end(copy);
    if (length < room) {
      s->length += length;
      return;
    }
    strbuf_reserve(s, length);
  }
}

void halo_strbuf_printf(halo_strbuf *s, const char *format, ...) {
  va_list args;
  va_start(args, format);
  halo_strbuf_vprintf(s, format, args);
  va_end(args);
}

const char *halo_strbuf_text(const halo_strbuf *s) { return s->data ? s->data : ""; }

char *halo_strbuf_take(halo_strbuf *s) {
  char *text = s->data ? s->data : halo_strdup("");
  *s = (halo_strbuf){0};
  return text;
}

void halo_strbuf_deinit(halo_strbuf *s) {
  halo_free(s->data);
  *s = (halo_strbuf){0};
}
