/* SPDX-License-Identifier: Apache-2.0 */
/* text/value.c: single values as text, for users of the library. */
#include "text/text.h"

halo_status halo_literal_from_text(const char *text, const halo_shape *shape, halo_literal **out) {
  if (!text || !shape || !out) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_literal_from_text: NULL argument");
  }
  *out = NULL;
  return halo_text_parse_literal(text, shape, out);
}

typedef struct value_request {
  const halo_literal *literal;
  char *text;
} value_request;

static halo_status value_run(void *user) {
  value_request *request = user;
  halo_strbuf text = {0};
  halo_literal_print(&text, request->literal);
  request->text = halo_strbuf_take(&text);
  return HALO_OK;
}

halo_status halo_literal_to_text(const halo_literal *literal, char **out) {
  if (!literal || !out) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_literal_to_text: NULL argument");
  }
  *out = NULL;
  value_request request = {.literal = literal};
  HALO_TRY(halo_memory_guard(value_run, &request));
  *out = request.text;
  return HALO_OK;
}
