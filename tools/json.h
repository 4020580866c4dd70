/* SPDX-License-Identifier: Apache-2.0 */
/* tools/json.h: writes JSON to a file, so that any text is escaped and any number is valid. */
#ifndef HALO_TOOLS_JSON_H
#define HALO_TOOLS_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Zero-initialised but for `file` it is ready for one value. Objects and arrays nest up to 32 deep. Objects inside of arrays
 * begin on lines of their own. The caller checks ferror and fclose. Not thread-safe. */
typedef struct json_writer {
  FILE *file;
  int depth;
  uint32_t arrays; /* bit d: what is open at depth d is an array */
  bool any;        /* what is open has a value already */
} json_writer;

/* In these, `key` is the value's name in an object, and NULL in an array and for the outermost value. */
void json_object(json_writer *json, const char *key);
void json_array(json_writer *json, const char *key);
/* Closes the innermost object or array; behind the outermost one comes a newline. */
void json_close(json_writer *json);
/* Bytes that are not UTF-8 become U+FFFD. */
void json_text(json_writer *json, const char *key, const char *text);
/* With 12 significant digits; null for infinities and NaN, which JSON lacks. */
void json_number(json_writer *json, const char *key, double number);
void json_integer(json_writer *json, const char *key, int64_t number);
void json_bool(json_writer *json, const char *key, bool value);

#endif
