/* SPDX-License-Identifier: Apache-2.0 */
/* prices/prices.h: what things take on a device, in one table (prices.def). Passes, kernels and plan read a price as
 * a field of halo_prices; nobody else keeps numbers that say how long something takes. */
#ifndef HALO_PRICES_PRICES_H
#define HALO_PRICES_PRICES_H

#include <stdbool.h>

/* All prices of one device, a field for each row. */
typedef struct halo_prices {
#define HALO_PRICE(name, unit, cpu, gpu, origin, date, meaning) double name;
#include "prices/prices.def"
#undef HALO_PRICE
} halo_prices;

enum { HALO_PRICE_COUNT = sizeof(halo_prices) / sizeof(double) };

/* Units and origins, as prices.def explains them. */
typedef enum halo_price_unit {
  HALO_PRICE_SECONDS,
  HALO_PRICE_BYTES,
  HALO_PRICE_BYTES_A_SECOND,
  HALO_PRICE_OPERATIONS,
  HALO_PRICE_OPERATIONS_A_SECOND,
  HALO_PRICE_LAUNCHES,
  HALO_PRICE_ELEMENTS,
  HALO_PRICE_TIMES
} halo_price_unit;

typedef enum halo_price_origin {
  HALO_PRICE_BENCH,
  HALO_PRICE_TIMED,
  HALO_PRICE_UNMEASURED
} halo_price_origin;

typedef struct halo_price_row {
  const char *name, *meaning;
  halo_price_unit unit;
  double cpu, gpu; /* defaults by kind of device */
  halo_price_origin origin;
  const char *date; /* of the defaults: "2026-11-22" */
} halo_price_row;

/* The rows in the order of the fields. */
extern const halo_price_row halo_price_rows[HALO_PRICE_COUNT];

/* The defaults by kind of device; GPUs of which nothing else is known have the latter. */
extern const halo_prices halo_prices_cpu, halo_prices_gpu;

/* A GPU, as far as drivers describe it. */
typedef struct halo_prices_gpu_facts {
  double units;        /* CL_DEVICE_MAX_COMPUTE_UNITS */
  double lanes;        /* f32 operations that a unit begins in a cycle */
  double clock_hz;     /* below 100 MHz, as of drivers that say 0 or 1: unknown */
  double memory_bytes; /* CL_DEVICE_GLOBAL_MEM_SIZE */
} halo_prices_gpu_facts;

/* The defaults of such a GPU. Drivers do not report bandwidth: it follows from the peak rate by the ratio that most GPUs
 * have, twice that for those with as much memory as only stacked memory gives. That is within a factor of 2.1 of the
 * published bandwidth of A100, H100, RTX 3060, 3090, 4060, 4090, 5090, MI210, MI300X, RX 6700 XT, 7900 XTX and Arc A770.
 * halo_prices_gpu where `units` or `lanes` is 0. */
halo_prices halo_prices_of_gpu(const halo_prices_gpu_facts *facts);

/* "s", "bytes/s", "operations", ... */
const char *halo_price_unit_name(halo_price_unit unit);
/* "halo bench costs", "timed", "unmeasured". */
const char *halo_price_origin_name(halo_price_origin origin);

/* The number of the row of this name; -1: there is none. */
int halo_price_find(const char *name);
/* The price of row `row`, for those who walk the table. */
double *halo_price_of(halo_prices *prices, int row);

#endif
