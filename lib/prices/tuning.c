/* SPDX-License-Identifier: Apache-2.0 */
/* prices/tuning.c: the table of parameters, and prices and parameters as text. */
#include "prices/tuning.h"

#include "base/map.h"
#include "os/locale.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HALO_VALUES(...)                                                                           \
  { __VA_ARGS__ }
#define HALO_PARAMETER(name, implementation, cpu, gpu, values, meaning)                            \
  static const int32_t tuning_##name[] = values;
#include "prices/parameters.def"
#undef HALO_PARAMETER
#undef HALO_VALUES

const halo_parameter_row halo_parameter_rows[HALO_PARAMETER_COUNT] = {
#define HALO_PARAMETER(name, implementation, cpu, gpu, values, meaning)                            \
  {#name,                                                                                          \
   implementation,                                                                                 \
   meaning,                                                                                        \
   cpu,                                                                                            \
   gpu,                                                                                            \
   tuning_##name,                                                                                  \
   sizeof tuning_##name / sizeof *tuning_##name},
#include "prices/parameters.def"
#undef HALO_PARAMETER
};

const halo_parameters halo_parameters_cpu = {
#define HALO_PARAMETER(name, implementation, cpu, gpu, values, meaning) .name = (cpu),
#include "prices/parameters.def"
#undef HALO_PARAMETER
};

const halo_parameters halo_parameters_gpu = {
#define HALO_PARAMETER(name, implementation, cpu, gpu, values, meaning) .name = (gpu),
#include "prices/parameters.def"
#undef HALO_PARAMETER
};

int halo_parameter_find(const char *name) {
  for (int row = 0; row < HALO_PARAMETER_COUNT; row++) {
    if (strcmp(halo_parameter_rows[row].name, name) == 0) return row;
  }
  return -1;
}

int32_t *halo_parameter_of(halo_parameters *parameters, int row) {
  return (int32_t *)parameters + row;
}

static halo_status tuning_set_price(halo_tuning *tuning, int row, const char *number) {
  char *end;
  double value = strtod(number, &end);
  if (end == number || *end || !isfinite(value) || value <= 0) {
    return halo_fail(HALO_INVALID_ARGUMENT, "the price %s must be a positive number, not \"%s\"",
                     halo_price_rows[row].name, number);
  }
  *halo_price_of(&tuning->prices, row) = value;
  tuning->has_price[row] = true;
  return HALO_OK;
}

static halo_status tuning_set_parameter(halo_tuning *tuning, int row, const char *number) {
  const halo_parameter_row *r = &halo_parameter_rows[row];
  char *end, legal[200] = "";
  long value = strtol(number, &end, 10);
  for (int i = 0; i < r->value_count; i++) {
    if (end != number && !*end && value == r->values[i]) {
      *halo_parameter_of(&tuning->parameters, row) = (int32_t)value;
      tuning->has_parameter[row] = true;
      return HALO_OK;
    }
    size_t length = strlen(legal);
    snprintf(legal + length, sizeof legal - length, "%s%d", i ? ", " : "", r->values[i]);
  }
  return halo_fail(HALO_INVALID_ARGUMENT, "%s may be one of %s, not \"%s\"", r->name, legal,
                   number);
}

/* "name = number", which is written over. */
static halo_status tuning_set(halo_tuning *tuning, char *line) {
  char name[64], number[64], more;
  if (sscanf(line, " %63[a-z0-9_] = %63s %c", name, number, &more) != 2) {
    return halo_fail(HALO_INVALID_ARGUMENT, "\"%s\" is not of the form NAME = NUMBER", line);
  }
  int price = halo_price_find(name), parameter = halo_parameter_find(name);
  if (price >= 0) return tuning_set_price(tuning, price, number);
  if (parameter >= 0) return tuning_set_parameter(tuning, parameter, number);
  return halo_fail(HALO_INVALID_ARGUMENT, "there is no price or parameter \"%s\"", name);
}

halo_status halo_tuning_parse(const char *text, halo_tuning *tuning) {
  halo_tuning read = *tuning;
  halo_status status = HALO_OK;
  halo_c_locale locale = halo_c_locale_enter();
  while (*text && status == HALO_OK) {
    char line[256];
    size_t length = strcspn(text, *text == '#' ? "\n" : "\n,"), kept = length;
    if (kept > sizeof line - 1) kept = sizeof line - 1;
    memcpy(line, text, kept);
    line[kept] = '\0';
    if (line[0] != '#' && line[strspn(line, " \t\r")] != '\0') status = tuning_set(&read, line);
    text += length + (text[length] != '\0');
  }
  halo_c_locale_leave(locale);
  if (status == HALO_OK) *tuning = read;
  return status;
}

void halo_tuning_print(const halo_tuning *tuning, halo_strbuf *out) {
  halo_tuning copy = *tuning;
  halo_c_locale locale = halo_c_locale_enter();
  for (int row = 0; row < HALO_PRICE_COUNT; row++) {
    if (!tuning->has_price[row]) continue;
    halo_strbuf_printf(out, "%s = %.6g\n", halo_price_rows[row].name,
                       *halo_price_of(&copy.prices, row));
  }
  for (int row = 0; row < HALO_PARAMETER_COUNT; row++) {
    if (!tuning->has_parameter[row]) continue;
    halo_strbuf_printf(out, "%s = %d\n", halo_parameter_rows[row].name,
                       *halo_parameter_of(&copy.parameters, row));
  }
  halo_c_locale_leave(locale);
}

void halo_tuning_hash(const halo_tuning *tuning, char out[17]) {
  halo_strbuf text = {0};
  uint64_t key[2] = {0};
  halo_tuning_print(tuning, &text);
  out[0] = '\0';
  if (text.length) {
    halo_hash_wide(key, text.data, text.length);
    snprintf(out, 17, "%016llx", (unsigned long long)key[0]);
  }
  halo_strbuf_deinit(&text);
}
