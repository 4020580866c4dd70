/* SPDX-License-Identifier: Apache-2.0 */
/* template.c: texts with parameters. */
#include "bench/template.h"
#include "tool.h"

#include "halo/types.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *template_value(const template_bindings *bindings, const char *name) {
  for (int i = 0; i < bindings->count; i++) {
    if (strcmp(bindings->data[i].name, name) == 0) return bindings->data[i].value;
  }
  return NULL;
}

static bool template_set(template_bindings *bindings, const char *name, const char *value) {
  int i = 0;
  while (i < bindings->count && strcmp(bindings->data[i].name, name) != 0) i++;
  if (i == TEMPLATE_BINDINGS || strlen(name) >= sizeof bindings->data[i].name ||
      strlen(value) >= sizeof bindings->data[i].value) {
    return false;
  }
  strcpy(bindings->data[i].name, name);
  strcpy(bindings->data[i].value, value);
  if (i == bindings->count) bindings->count++;
  return true;
}

bool template_bind(template_bindings *bindings, const char *name, const char *value) {
  static const struct {
    const char *type, *bytes;
  } sizes[] = {{"pred", "1"}, {"s8", "1"},   {"u8", "1"},  {"s16", "2"}, {"u16", "2"},
               {"f16", "2"},  {"bf16", "2"}, {"s32", "4"}, {"u32", "4"}, {"f32", "4"},
               {"s64", "8"},  {"u64", "8"},  {"f64", "8"}, {"c64", "8"}, {"c128", "16"}};
  for (size_t i = 0; strcmp(name, "T") == 0 && i < sizeof sizes / sizeof *sizes; i++) {
    if (strcmp(sizes[i].type, value) == 0 && !template_set(bindings, "B", sizes[i].bytes)) {
      return false;
    }
  }
  return template_set(bindings, name, value);
}

bool template_bind_all(template_bindings *bindings, const char *text) {
  char name[16], value[64];
  int length;
  while (sscanf(text, " %15[A-Za-z0-9_]=%63[^ \n]%n", name, value, &length) == 2) {
    if (!template_bind(bindings, name, value)) return false;
    text += length;
  }
  return text[strspn(text, " ")] == '\0';
}

/* ---- Expressions ---- */

typedef struct template_reader {
  const template_bindings *bindings;
  const char *at;
  bool bad;
} template_reader;

static double template_sum(template_reader *reader);

static bool template_takes(template_reader *reader, char c) {
  reader->at += strspn(reader->at, " ");
  if (*reader->at != c) return false;
  reader->at++;
  return true;
}

static double template_name(template_reader *reader) {
  char name[16];
  int length = 0;
  if (sscanf(reader->at, "%15[A-Za-z0-9_]%n", name, &length) != 1) return reader->bad = true, 0;
  reader->at += length;
  if (strcmp(name, "log2") == 0 && *reader->at == '(') {
    reader->at++;
    double value = template_sum(reader);
    reader->bad |= !template_takes(reader, ')');
    return log2(value);
  }
  const char *value = template_value(reader->bindings, name);
  char *end = NULL;
  double number = value ? strtod(value, &end) : 0;
  reader->bad |= value == NULL || *end != '\0';
  return number;
}

static double template_factor(template_reader *reader) {
  if (template_takes(reader, '(')) {
    double value = template_sum(reader);
    reader->bad |= !template_takes(reader, ')');
    return value;
  }
  if (!isdigit((unsigned char)*reader->at)) return template_name(reader);
  char *end;
  double value = strtod(reader->at, &end);
  reader->at = end;
  return value;
}

static double template_product(template_reader *reader) {
  double value = template_factor(reader);
  while (!reader->bad) {
    if (template_takes(reader, '*')) {
      value *= template_factor(reader);
    } else if (template_takes(reader, '/')) {
      value /= template_factor(reader);
    } else {
      break;
    }
  }
  return value;
}

static double template_sum(template_reader *reader) {
  double value = template_product(reader);
  while (!reader->bad) {
    if (template_takes(reader, '+')) {
      value += template_product(reader);
    } else if (template_takes(reader, '-')) {
      value -= template_product(reader);
    } else {
      break;
    }
  }
  return value;
}

bool template_evaluate(const template_bindings *bindings, const char *expression, double *out) {
  template_reader reader = {.bindings = bindings, .at = expression};
  *out = template_sum(&reader);
  reader.at += strspn(reader.at, " ");
  return !reader.bad && *reader.at == '\0';
}

/* ---- Texts ---- */

/* The name behind a '$', with its value in *out; NULL: that is unknown. */
static const char *template_take(const template_bindings *bindings, const char *at, char *out,
                                 size_t size) {
  char name[80];
  int length = 0;
  double number;
  if (*at == '(') {
    const char *end = at;
    int depth = 0;
    do {
      depth += (*end == '(') - (*end == ')');
      if (*end == '\0') return NULL;
      end++;
    } while (depth > 0);
    snprintf(name, sizeof name, "%.*s", (int)(end - at), at);
    if (!template_evaluate(bindings, name, &number)) return NULL;
    snprintf(out, size, "%.0f", number);
    return end;
  }
  if (sscanf(at, "%15[A-Z]%n", name, &length) != 1) return NULL;
  const char *value = template_value(bindings, name);
  if (value == NULL) return NULL;
  snprintf(out, size, "%s", value);
  return at + length;
}

char *template_expand(const template_bindings *bindings, const char *text) {
  char *out = NULL, value[64];
  size_t size = 0;
  FILE *file = open_memstream(&out, &size);
  if (file == NULL) return NULL;
  while (text != NULL && *text != '\0') {
    size_t length = strcspn(text, "$");
    fwrite(text, 1, length, file);
    text += length;
    if (*text == '\0') break;
    text = template_take(bindings, text + 1, value, sizeof value);
    if (text != NULL) fputs(value, file);
  }
  fclose(file);
  if (text != NULL) return out;
  free(out);
  return NULL;
}
