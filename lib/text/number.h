/* SPDX-License-Identifier: Apache-2.0 */
/* text/number.h: numbers between text and bits, for readers of any text. A thread that calls these has the C
 * locale (os/locale.h). */
#ifndef HALO_TEXT_NUMBER_H
#define HALO_TEXT_NUMBER_H

#include "base/strbuf.h"
#include "halo/types.h"

typedef struct halo_text_number {
  enum { HALO_NUMBER_INT, HALO_NUMBER_DECIMAL, HALO_NUMBER_INF, HALO_NUMBER_NAN } kind;
  bool negative;
  bool too_big;       /* an int beyond 64 bits, or a decimal beyond f64 */
  uint64_t magnitude; /* of an int */
  double value;       /* signed; of every kind but NaN */
  bool has_payload;
  uint64_t payload; /* all mantissa bits of a NaN */
} halo_text_number;

/* Scans a number at *at and moves *at behind it; NULL on success, else what was expected. */
const char *halo_text_scan_number(const char **at, halo_text_number *out);
/* Appends the shortest text that reads back to the same double. */
void halo_text_print_double(halo_strbuf *out, double value);
/* The same for an encoded float of any type. */
void halo_text_print_float(halo_strbuf *out, halo_type type, uint64_t bits);
/* The encoding of a number in a float type; NULL on success, else the fault. */
const char *halo_text_encode_float(const halo_text_number *number, halo_type type, uint64_t *bits);

#endif
