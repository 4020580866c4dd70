/* SPDX-License-Identifier: Apache-2.0 */
/* json_read.h: reads JSON texts. */
#ifndef HALO_TOOLS_BENCH_JSON_READ_H
#define HALO_TOOLS_BENCH_JSON_READ_H

#include <stdbool.h>

typedef enum json_kind {
  JSON_NULL,
  JSON_BOOL,
  JSON_NUMBER,
  JSON_TEXT,
  JSON_ARRAY,
  JSON_OBJECT
} json_kind;

typedef struct json_value {
  json_kind kind;
  double number;            /* a bool: 0 or 1 */
  char *text;               /* UTF-8; NULL unless it is a text */
  int count;                /* of an array or object */
  char **keys;              /* of an object */
  struct json_value *items; /* of an array or object */
} json_value;

/* Reads one value, which must be the whole text. NULL for what is not JSON, with the place of the error, in bytes, in *error. The
 * caller releases the value. Arrays and objects nest up to 64 deep. */
json_value *json_parse(const char *text, int *error);
void json_release(json_value *value);
/* A member of an object; NULL where there is none, or no object. */
const json_value *json_member(const json_value *object, const char *key);
/* A member that is a text or a number; else the value of `none`. */
const char *json_text(const json_value *object, const char *key, const char *none);
double json_number(const json_value *object, const char *key, double none);

#endif
