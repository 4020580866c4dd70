/* custom/config.c: the dictionary of attributes of calls with a typed interface, as MLIR writes it:
 * {a = 76 : ui8, b = "text", c = [1, 2], d = array<i64: 1, 2>, e = 1.5 : f32, f = true, unit}. */
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
} config_reader;

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

/* A number, true or false; whether it is whole. A float may be written as its bits ("0x7FC00000 : f32"). */
static halo_status config_number(config_reader *r, int64_t *integer, double *real, bool *whole) {
  config_space(r);
  *whole = true;
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
  *whole = end == real_end;
  r->at = *whole ? end : real_end;
  return HALO_OK;
}

/* The type behind ':'; *bits is the width of a float type, or 0. */
static void config_type(config_reader *r, int *bits) {
  *bits = 0;
  if (!config_take(r, ":")) return;
  config_space(r);
  if (*r->at == 'f' || *r->at == 'b') {
    const char *digits = r->at + (*r->at == 'b' ? 2 : 1);
    *bits = atoi(digits);
  }
  while (*r->at && config_is_word(*r->at)) r->at++;
}

static double config_real(int64_t bits, int width) {
  double wide;
  float narrow;
  uint32_t low = (uint32_t)bits;
  memcpy(&wide, &bits, sizeof wide);
  memcpy(&narrow, &low, sizeof narrow);
  return width == 64 ? wide : (double)narrow;
}

/* [1, 2, 3], or what array<i64: 1, 2, 3> has behind its colon, up to `close`. */
static halo_status config_list(config_reader *r, const char *close, bool real,
                               halo_custom_attr *attr) {
  HALO_VEC(int64_t) integers = {0};
  HALO_VEC(double) reals = {0};
  halo_status status = HALO_OK;
  while (status == HALO_OK && !config_take(r, close)) {
    int64_t integer;
    double value;
    bool whole;
    int bits;
    status = config_number(r, &integer, &value, &whole);
    if (status != HALO_OK) break;
    config_type(r, &bits);
    real |= !whole || bits;
    halo_vec_push(&integers, integer);
    halo_vec_push(&reals, value);
    if (!config_take(r, ",") && *r->at != *close) status = config_fail(r, "',' is expected");
  }
  attr->kind = real ? HALO_CUSTOM_REALS : HALO_CUSTOM_INTEGERS;
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

static halo_status config_value(config_reader *r, halo_custom_attr *attr) {
  config_space(r);
  if (*r->at == '"') {
    attr->kind = HALO_CUSTOM_TEXT;
    return config_string(r, &attr->text);
  }
  if (config_take(r, "array<")) {
    bool real = *r->at == 'f' || *r->at == 'b';
    while (config_is_word(*r->at) && *r->at) r->at++;
    (void)config_take(r, ":");
    return config_list(r, ">", real, attr);
  }
  if (*r->at == '[' && strcspn(r->at, "\"{<") > strcspn(r->at, "]")) {
    r->at++;
    return config_list(r, "]", false, attr);
  }
  bool number = isdigit((unsigned char)*r->at) || *r->at == '-' || *r->at == '+' ||
                strncmp(r->at, "true", 4) == 0 || strncmp(r->at, "false", 5) == 0;
  if (!number) return config_other(r, attr);
  bool whole;
  int bits;
  const char *start = r->at;
  HALO_TRY(config_number(r, &attr->integer, &attr->real, &whole));
  config_type(r, &bits);
  if (bits && whole && strncmp(start, "0x", 2) == 0) attr->real = config_real(attr->integer, bits);
  attr->kind = whole && !bits ? HALO_CUSTOM_INTEGER : HALO_CUSTOM_REAL;
  return HALO_OK;
}

halo_status halo_custom_config_read(halo_arena *arena, const char *text, halo_custom_frame *call) {
  config_reader r = {arena, text, text};
  HALO_VEC(halo_custom_attr) attrs = {0};
  halo_status status = HALO_OK;
  config_space(&r);
  if (!*r.at) return HALO_OK;
  if (!config_take(&r, "{")) return config_fail(&r, "'{' is expected");
  while (status == HALO_OK && !config_take(&r, "}")) {
    halo_custom_attr attr = {.kind = HALO_CUSTOM_INTEGER, .integer = 1, .real = 1};
    status = config_name(&r, &attr.name);
    if (status == HALO_OK && config_take(&r, "=")) status = config_value(&r, &attr);
    halo_vec_push(&attrs, attr);
    config_space(&r);
    if (status == HALO_OK && !config_take(&r, ",") && *r.at != '}') {
      status = config_fail(&r, "',' or '}' is expected");
    }
  }
  call->attr_count = attrs.count;
  call->attrs = halo_arena_copy(arena, attrs.data, sizeof *attrs.data * (size_t)attrs.count);
  halo_vec_deinit(&attrs);
  return status;
}
