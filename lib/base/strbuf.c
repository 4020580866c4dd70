/* base/strbuf.c: a string builder. */
#include "base/strbuf.h"

#include "base/memory.h"

#include <stdarg.h>
#include <stdio.h>
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

void halo_strbuf_printf(halo_strbuf *s, const char *format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int length = vsnprintf(NULL, 0, format, args);
  va_end(args);
  if (length > 0) {
    strbuf_reserve(s, (size_t)length);
    vsnprintf(s->data + s->length, (size_t)length + 1, format, again);
    s->length += (size_t)length;
  }
  va_end(again);
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
