/* SPDX-License-Identifier: Apache-2.0 */
/* custom/config.c: reads the dictionary of attributes of calls with a typed interface, as MLIR writes it:
 * {a = 76 : ui8, b = "text", c = [1, 2], d = array<i64: 1, 2>, e = 1.5 : f32, f = true, unit, g = {h = 1}}. */
#include "base/status.h"
#include "base/vec.h"
#include "custom/custom.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct config_reader {
  halo_arena *arena;
  const char *at, *text;
  int depth; /* of dictionaries in dictionaries */
} config_reader;
enum { CONFIG_DEEPEST = 64 };

static halo_status config_fail(const config_reader *r, const char *what) {
  return halo_fail(HALO_INVALID_ARGUMENT, "backend_config: %s at position %d of %s", what,
                   (int)(r->at - r->text), r->text);
}

static void config_space(config_reader *r) {
  while (isspace((unsigned char)*r->at)) r->at++;
}

static bool config_take(config_reader *r, const char *token) {
  config_space(r);
  size_t length = strlen(token);
  if (strncmp(r->at, token, length) != 0) return false;
  r->at += length;
  return true;
}

static bool config_is_word(char c) { return isalnum((unsigned char)c) || strchr("_.$-", c); }

/* A quoted string, its escapes resolved. */
static halo_status config_string(config_reader *r, const char **out) {
  char *text = halo_arena_alloc(r->arena, strlen(r->at) + 1), *end = text;
  for (r->at++; *r->at && *r->at != '"'; r->at++) {
    if (*r->at == '\\' && isxdigit((unsigned char)r->at[1]) && isxdigit((unsigned char)r->at[2])) {
      char digits[3] = {r->at[1], r->at[2], 0};
      *end++ = (char)strtol(digits, NULL, 16);
      r->at += 2;
    } else {
      if (*r->at == '\\' && r->at[1]) r->at++;
      *end++ = *r->at == 'n' && r->at[-1] == '\\' ? '\n' : *r->at;
    }
  }
  if (*r->at != '"') return config_fail(r, "a string without an end");
  r->at++;
  *end = 0;
  *out = text;
  return HALO_OK;
}

static halo_status config_name(config_reader *r, const char **out) {
  config_space(r);
  if (*r->at == '"') return config_string(r, out);
  const char *start = r->at;
  while (*r->at && config_is_word(*r->at)) r->at++;
  if (r->at == start) return config_fail(r, "a name is expected");
  *out = halo_arena_strndup(r->arena, start, (size_t)(r->at - start));
  return HALO_OK;
}

/* A number, true or false, and the type that it has where none is written. A float may be written as its bits ("0x7FC00000 : f32"). */
static halo_status config_number(config_reader *r, int64_t *integer, double *real,
                                 halo_type *type) {
  config_space(r);
  *type = HALO_PRED;
  if (config_take(r, "true") || config_take(r, "false")) {
    *integer = r->at[-2] == 'u';
    *real = (double)*integer;
    return HALO_OK;
  }
  char *end, *real_end;
  *real = strtod(r->at, &real_end);
  bool negative = *r->at == '-';
  *integer = negative ? (int64_t)strtoll(r->at, &end, 0) : (int64_t)strtoull(r->at, &end, 0);
  if (real_end == r->at) return config_fail(r, "a value is expected");
  *type = end == real_end ? HALO_S64 : HALO_F64;
  r->at = real_end;
  return HALO_OK;
}

/* A type by its name in MLIR: i32, ui8, i1, index, f8E4M3FN. HALO_TYPE_INVALID: no type of numbers. */
static halo_type config_type_name(config_reader *r) {
  char name[32];
  size_t length = 0;
  config_space(r);
  if (config_take(r, "index")) return HALO_S64;
  for (; *r->at && config_is_word(*r->at); r->at++) {
    if (length < sizeof name - 1) name[length++] = (char)tolower((unsigned char)*r->at);
  }
  name[length] = 0;
  if (strcmp(name, "i1") == 0) return HALO_PRED;
  if (name[0] == 'i') name[0] = 's';
  /* Signs are written before the 'i': si8, ui8. */
  if ((name[0] == 's' || name[0] == 'u') && name[1] == 'i') memmove(name + 1, name + 2, length - 1);
  return halo_type_from_name(name);
}

/* The type behind ':', or `otherwise`. */
static halo_type config_type(config_reader *r, halo_type otherwise) {
  return config_take(r, ":") ? config_type_name(r) : otherwise;
}

static bool config_is_float(halo_type type) {
  return halo_type_name(type)[0] == 'f' || type == HALO_BF16;
}

/* What a float is whose bits were written. */
static double config_real(int64_t bits, int width) {
  double wide;
  float narrow;
  uint32_t low = (uint32_t)bits;
  memcpy(&wide, &bits, sizeof wide);
  memcpy(&narrow, &low, sizeof narrow);
  return width == 64 ? wide : (double)narrow;
}

/* A number with the type that follows it, unless all of its list have one. */
static halo_status config_element(config_reader *r, halo_type common, int64_t *integer,
                                  double *real, halo_type *type) {
  config_space(r);
  bool bits = strncmp(r->at, "0x", 2) == 0;
  HALO_TRY(config_number(r, integer, real, type));
  *type = common ? common : config_type(r, *type);
  if (bits && config_is_float(*type)) *real = config_real(*integer, halo_type_bits(*type));
  return HALO_OK;
}

/* [1, 2, 3], or what array<i64: 1, 2, 3> has behind its colon, up to `close`. `type`: of all, if it is known. */
static halo_status config_list(config_reader *r, const char *close, halo_type type,
                               halo_custom_attr *attr) {
  HALO_VEC(int64_t) integers = {0};
  HALO_VEC(double) reals = {0};
  halo_status status = HALO_OK;
  attr->type = type ? type : HALO_S64;
  while (status == HALO_OK && !config_take(r, close)) {
    int64_t integer;
    double value;
    halo_type own;
    status = config_element(r, type, &integer, &value, &own);
    if (status != HALO_OK) break;
    if (!type && (integers.count == 0 || config_is_float(own))) attr->type = own;
    halo_vec_push(&integers, integer);
    halo_vec_push(&reals, value);
    if (!config_take(r, ",") && *r->at != *close) status = config_fail(r, "',' is expected");
  }
  attr->kind = config_is_float(attr->type) ? HALO_CUSTOM_REALS : HALO_CUSTOM_INTEGERS;
  attr->count = integers.count;
  attr->integers =
      halo_arena_copy(r->arena, integers.data, sizeof(int64_t) * (size_t)integers.count);
  attr->reals = halo_arena_copy(r->arena, reals.data, sizeof(double) * (size_t)reals.count);
  halo_vec_deinit(&integers);
  halo_vec_deinit(&reals);
  return status;
}

/* Whatever else there is, to the next comma or the end outside of brackets. */
static halo_status config_other(config_reader *r, halo_custom_attr *attr) {
  const char *start = r->at;
  int depth = 0;
  for (; *r->at && (depth > 0 || (*r->at != ',' && *r->at != '}')); r->at++) {
    if (strchr("{[(<", *r->at)) depth++;
    if (strchr("}])", *r->at) || (*r->at == '>' && r->at[-1] != '-')) depth--;
  }
  if (!*r->at || depth != 0) return config_fail(r, "a value without an end");
  if (r->at == start) return config_fail(r, "a value is expected");
  attr->kind = HALO_CUSTOM_OTHER;
  attr->text = halo_arena_strndup(r->arena, start, (size_t)(r->at - start));
  return HALO_OK;
}

static halo_status config_rows(config_reader *r, const halo_custom_attr **out, int64_t *count);

static halo_status config_value(config_reader *r, halo_custom_attr *attr) {
  config_space(r);
  if (*r->at == '"') {
    attr->kind = HALO_CUSTOM_TEXT;
    return config_string(r, &attr->text);
  }
  if (config_take(r, "{")) {
    attr->kind = HALO_CUSTOM_DICTIONARY;
    if (++r->depth > CONFIG_DEEPEST) return config_fail(r, "dictionaries nested too deeply");
    halo_status status = config_rows(r, &attr->attrs, &attr->count);
    r->depth--;
    return status;
  }
  if (config_take(r, "array<")) {
    halo_type type = config_type_name(r);
    (void)config_take(r, ":");
    return config_list(r, ">", type, attr);
  }
  if (*r->at == '[' && strcspn(r->at, "\"{<") > strcspn(r->at, "]")) {
    r->at++;
    return config_list(r, "]", HALO_TYPE_INVALID, attr);
  }
  bool number = isdigit((unsigned char)*r->at) || *r->at == '-' || *r->at == '+' ||
                strncmp(r->at, "true", 4) == 0 || strncmp(r->at, "false", 5) == 0;
  if (!number) return config_other(r, attr);
  HALO_TRY(config_element(r, HALO_TYPE_INVALID, &attr->integer, &attr->real, &attr->type));
  attr->kind = config_is_float(attr->type) ? HALO_CUSTOM_REAL : HALO_CUSTOM_INTEGER;
  return HALO_OK;
}

/* What stands behind '{', and its end. */
static halo_status config_rows(config_reader *r, const halo_custom_attr **out, int64_t *count) {
  HALO_VEC(halo_custom_attr) attrs = {0};
  halo_status status = HALO_OK;
  while (status == HALO_OK && !config_take(r, "}")) {
    halo_custom_attr attr = {
        .kind = HALO_CUSTOM_INTEGER, .integer = 1, .real = 1, .type = HALO_PRED};
    status = config_name(r, &attr.name);
    if (status == HALO_OK && config_take(r, "=")) status = config_value(r, &attr);
    halo_vec_push(&attrs, attr);
    config_space(r);
    if (status == HALO_OK && !config_take(r, ",") && *r->at != '}') {
      status = config_fail(r, "',' or '}' is expected");
    }
  }
  *count = attrs.count;
  *out = halo_arena_copy(r->arena, attrs.data, sizeof *attrs.data * (size_t)attrs.count);
  halo_vec_deinit(&attrs);
  return status;
}

halo_status halo_custom_config_read(halo_arena *arena, const char *text, halo_custom_frame *call) {
  config_reader r = {arena, text, text, 0};
  int64_t count;
  config_space(&r);
  if (!*r.at) return HALO_OK;
  if (!config_take(&r, "{")) return config_fail(&r, "'{' is expected");
  HALO_TRY(config_rows(&r, &call->attrs, &count));
  call->attr_count = (int)count;
  return HALO_OK;
}

const halo_custom_attr *halo_custom_call_attr(const halo_custom_frame *call, const char *name) {
  for (int i = 0; i < call->attr_count; i++) {
    if (strcmp(call->attrs[i].name, name) == 0) return &call->attrs[i];
  }
  return NULL;
}

int64_t halo_custom_call_integer(const halo_custom_frame *call, const char *name,
                                 int64_t otherwise) {
  const halo_custom_attr *attr = halo_custom_call_attr(call, name);
  return attr && attr->kind == HALO_CUSTOM_INTEGER ? attr->integer : otherwise;
}
