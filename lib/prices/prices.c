/* SPDX-License-Identifier: Apache-2.0 */
/* prices/prices.c: the table of prices, by name. */
#include "prices/prices.h"

#include <string.h>

const halo_price_row halo_price_rows[HALO_PRICE_COUNT] = {
#define HALO_PRICE(name, unit, cpu, gpu, origin, date, meaning)                                    \
  {#name, meaning, HALO_PRICE_##unit, cpu, gpu, HALO_PRICE_##origin, date},
#include "prices/prices.def"
#undef HALO_PRICE
};

const halo_prices halo_prices_cpu = {
#define HALO_PRICE(name, unit, cpu, gpu, origin, date, meaning) .name = (cpu),
#include "prices/prices.def"
#undef HALO_PRICE
};

const halo_prices halo_prices_gpu = {
#define HALO_PRICE(name, unit, cpu, gpu, origin, date, meaning) .name = (gpu),
#include "prices/prices.def"
#undef HALO_PRICE
};

halo_prices halo_prices_of_gpu(const halo_prices_gpu_facts *facts) {
  const double least_clock = 1e8, usual_clock = 1.5e9, stacked = 39e9;
  /* A work item waits for most results of its own: one simple operation takes some cycles. */
  const double bytes_an_operation = 0.05, cycles_an_operation = 8;
  halo_prices prices = halo_prices_gpu;
  if (facts->units <= 0 || facts->lanes <= 0) return prices;
  double clock = facts->clock_hz >= least_clock ? facts->clock_hz : usual_clock;
  prices.rate = facts->units * facts->lanes * clock;
  prices.item_rate = clock / cycles_an_operation;
  prices.bandwidth = bytes_an_operation * prices.rate * (facts->memory_bytes >= stacked ? 2 : 1);
  return prices;
}

const char *halo_price_unit_name(halo_price_unit unit) {
  switch (unit) {
    case HALO_PRICE_SECONDS: return "s";
    case HALO_PRICE_BYTES: return "bytes";
    case HALO_PRICE_BYTES_A_SECOND: return "bytes/s";
    case HALO_PRICE_OPERATIONS: return "operations";
    case HALO_PRICE_OPERATIONS_A_SECOND: return "operations/s";
    case HALO_PRICE_LAUNCHES: return "launches";
    case HALO_PRICE_ELEMENTS: return "elements";
    case HALO_PRICE_TIMES: break;
  }
  return "times";
}

const char *halo_price_origin_name(halo_price_origin origin) {
  switch (origin) {
    case HALO_PRICE_BENCH: return "halo bench costs";
    case HALO_PRICE_TIMED: return "timed";
    case HALO_PRICE_UNMEASURED: break;
  }
  return "unmeasured";
}

int halo_price_find(const char *name) {
  for (int row = 0; row < HALO_PRICE_COUNT; row++) {
    if (strcmp(halo_price_rows[row].name, name) == 0) return row;
  }
  return -1;
}

double *halo_price_of(halo_prices *prices, int row) { return (double *)prices + row; }
