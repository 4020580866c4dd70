/* text/value.c: single values as text, for users of the library. */
#include "text/text.h"

halo_status halo_literal_from_text(const char *text, const halo_shape *shape, halo_literal **out) {
  if (!text || !shape || !out) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_literal_from_text: NULL argument");
  }
  *out = NULL;
  return halo_text_parse_literal(text, shape, out);
}

halo_status halo_literal_to_text(const halo_literal *literal, char **out) {
  if (!literal || !out) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_literal_to_text: NULL argument");
  }
  halo_strbuf text = {0};
  halo_literal_print(&text, literal);
  *out = halo_strbuf_take(&text);
  return HALO_OK;
}
