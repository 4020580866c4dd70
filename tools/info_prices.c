/* SPDX-License-Identifier: Apache-2.0 */
/* tools/info_prices.c: `halo info --prices`: what the library takes things to cost on a device. */
#include "info_prices.h"

#include "tool.h"

#include "halo/client.h"

#include <stdio.h>

int info_prices(const char *selector) {
  halo_client_options options = {.device = selector};
  halo_client *client;
  if (!tool_check(halo_client_create(&options, &client))) return TOOL_FAILED;
  halo_device *device = halo_client_device(client, 0);
  halo_device_info info;
  halo_device_get_info(device, &info);
  printf("Prices on %s (%s)\n\n%-22s %10s %-13s %-17s %-11s %s\n", info.name, info.kind, "name",
         "value", "unit", "origin", "date", "what");
  bool changed = false;
  halo_device_price price;
  for (int i = 0; halo_device_get_price(device, i, &price); i++) {
    printf("%-22s %10.4g %-13s %-17s %-11s %s", price.name, price.value, price.unit,
           price.stored ? "stored" : price.origin, price.stored ? "" : price.date, price.meaning);
    if (price.stored) printf(" (default: %.4g)", price.standard);
    changed |= price.stored;
    putchar('\n');
  }
  puts(
      "\nOrigin: 'halo bench costs' measures the price, and with --store keeps it for this device; "
      "'timed'\nconstants were timed on a CPU when they were chosen, and are guesses for GPUs; "
      "'unmeasured' ones are\nguesses.");
  if (changed) puts("Stored prices are lines 'NAME = VALUE' of costs-*.txt in the cache folder.");
  halo_client_release(client);
  return TOOL_OK;
}
