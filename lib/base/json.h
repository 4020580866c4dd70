/* SPDX-License-Identifier: Apache-2.0 */
/* base/json.h: writes JSON to a file, so that any text is escaped and any number is valid. */
#ifndef HALO_BASE_JSON_H
#define HALO_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The bytes of the UTF-8 character that the text begins with; 0: there is none. */
size_t halo_utf8_character(const char *text);

/* Zero-initialised but for `file` it is ready for one value. Objects and arrays nest up to 32 deep. Objects inside of arrays
 * begin on lines of their own. The caller checks ferror and fclose. Not thread-safe. */
typedef struct halo_json_writer {
  FILE *file;
  int depth;
  uint32_t arrays; /* bit d: what is open at depth d is an array */
  uint32_t lines;  /* bit d: what is open at depth d has values on lines of their own */
  bool any;        /* what is open has a value already */
} halo_json_writer;

/* In these, `key` is the value's name in an object, and NULL in an array and for the outermost value. */
void halo_json_object(halo_json_writer *json, const char *key);
void halo_json_array(halo_json_writer *json, const char *key);
/* Closes the innermost object or array; behind the outermost one comes a newline. */
void halo_json_close(halo_json_writer *json);
/* Bytes that are not UTF-8 become U+FFFD. */
void halo_json_text(halo_json_writer *json, const char *key, const char *text);
/* With 12 significant digits; null for infinities and NaN, which JSON lacks. */
void halo_json_number(halo_json_writer *json, const char *key, double number);
void halo_json_integer(halo_json_writer *json, const char *key, int64_t number);
void halo_json_bool(halo_json_writer *json, const char *key, bool value);

#endif
