/* SPDX-License-Identifier: Apache-2.0 */
/* base/place.c: failures at places in texts. */
#include "base/place.h"

#include "base/strbuf.h"

#include <stdbool.h>
#include <string.h>

enum { PLACE_WINDOW = 100 }; /* bytes of a long line shown around the caret */

halo_status halo_fail_at(halo_status status, const char *name, const char *begin, const char *at,
                         int32_t line, const char *message) {
  const char *start = at, *end = strchr(at, '\n');
  while (start > begin && start[-1] != '\n') start--;
  if (!end) end = at + strlen(at);
  if (end > start && end[-1] == '\r' && end > at) end--;
  long column = (long)(at - start) + 1;
  halo_strbuf text = {0};
  halo_strbuf_printf(&text, "%s:%d:%ld: error: ", name, line, column);
  halo_strbuf_append(&text, message);
  if (start == end) { /* there is nothing to point at */
    halo_fail(status, "%s", halo_strbuf_text(&text));
    halo_strbuf_deinit(&text);
    return status;
  }
  halo_strbuf_char(&text, '\n');
  /* A module may be one line of megabytes: show the neighbourhood only. */
  const char *from = start, *to = end;
  if (to - from > 2 * PLACE_WINDOW) {
    if (at - from > PLACE_WINDOW) from = at - PLACE_WINDOW;
    if (to - at > PLACE_WINDOW) to = at + PLACE_WINDOW;
    while (from < at && (*from & 0xc0) == 0x80) from++;
    while (to > at && (*to & 0xc0) == 0x80) to--;
  }
  if (from > start) halo_strbuf_append(&text, "...");
  for (const char *c = from; c < to; c++) {
    bool control = (unsigned char)*c < ' ' || *c == 0x7f; /* terminals would obey it */
    halo_strbuf_char(&text, control && *c != '\t' ? '?' : *c);
  }
  if (to < end) halo_strbuf_append(&text, "...");
  halo_strbuf_char(&text, '\n');
  if (from > start) halo_strbuf_append(&text, "   ");
  for (const char *c = from; c < at; c++) {
    if ((*c & 0xc0) == 0x80) continue;
    halo_strbuf_char(&text, *c == '\t' ? '\t' : ' ');
  }
  halo_strbuf_append(&text, "^");
  halo_fail(status, "%s", halo_strbuf_text(&text));
  halo_strbuf_deinit(&text);
  return status;
}
