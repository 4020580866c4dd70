/* SPDX-License-Identifier: Apache-2.0 */
/* prices/tuning.h: what was measured for one device: prices (prices.def) and parameters of kernels (parameters.def), and
 * the lines that both are kept in. */
#ifndef HALO_PRICES_TUNING_H
#define HALO_PRICES_TUNING_H

#include "base/status.h"
#include "base/strbuf.h"
#include "prices/prices.h"

#include <stdint.h>

/* All parameters of one device, a field for each row of parameters.def. */
typedef struct halo_parameters {
#define HALO_PARAMETER(name, implementation, cpu, gpu, values, meaning) int32_t name;
#include "prices/parameters.def"
#undef HALO_PARAMETER
} halo_parameters;

enum { HALO_PARAMETER_COUNT = sizeof(halo_parameters) / sizeof(int32_t) };

typedef struct halo_parameter_row {
  const char *name, *implementation, *meaning;
  int32_t cpu, gpu;      /* defaults by kind of device */
  const int32_t *values; /* that it may have, ascending */
  int value_count;
} halo_parameter_row;

/* The rows in the order of the fields. */
extern const halo_parameter_row halo_parameter_rows[HALO_PARAMETER_COUNT];

/* The defaults by kind of device. */
extern const halo_parameters halo_parameters_cpu, halo_parameters_gpu;

/* The number of the row of this name; -1: there is none. */
int halo_parameter_find(const char *name);
/* The parameter of row `row`, for those who walk the table. */
int32_t *halo_parameter_of(halo_parameters *parameters, int row);

/* A device's prices and parameters, and which of them are its own, not defaults. */
typedef struct halo_tuning {
  halo_prices prices;
  halo_parameters parameters;
  bool has_price[HALO_PRICE_COUNT], has_parameter[HALO_PARAMETER_COUNT];
} halo_tuning;

/* Sets prices and parameters from "name = number", one a line or with commas between. A line that begins with # is a
 * comment. HALO_INVALID_ARGUMENT, with *tuning as it was, for a name in neither table, a price that is not a positive number, a value that a
 * parameter may not have, and any other form. */
halo_status halo_tuning_parse(const char *text, halo_tuning *tuning);
/* Adds those that are the device's own, a line each, in the form above. Values are the same when they are read again. */
void halo_tuning_print(const halo_tuning *tuning, halo_strbuf *out);
/* Stands for all that is the device's own: 16 digits, or "" where everything is a default. */
void halo_tuning_hash(const halo_tuning *tuning, char out[17]);

#endif
