/* SPDX-License-Identifier: Apache-2.0 */
/* tools/info_prices.c: `halo info --prices`: what the library takes things to cost on a device, and the parameters of its kernels. */
#include "info_prices.h"

#include "tool.h"

#include "halo/client.h"

#include <stdio.h>

/* The parameters of kernels, and their values. */
static void info_parameters(const halo_device *device) {
  halo_device_parameter p;
  printf("\nParameters of kernels, which `halo tune` measures:\n\n%-22s %10s %-16s %s\n", "name",
         "value", "implementation", "what (other values)");
  for (int i = 0; halo_device_get_parameter(device, i, &p); i++) {
    printf("%-22s %10d %-16s %s (", p.name, p.value, p.implementation, p.meaning);
    for (int k = 0, others = 0; k < p.value_count; k++) {
      if (p.values[k] != p.value) printf("%s%d", others++ ? ", " : "", p.values[k]);
    }
    if (p.stored) printf("; stored, the default is %d", p.standard);
    puts(")");
  }
}

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
  info_parameters(device);
  halo_device_tuning tuning;
  halo_device_get_tuning(device, &tuning);
  if (changed) printf("Stored prices are lines 'NAME = VALUE' of %s.\n", tuning.path);
  halo_client_release(client);
  return TOOL_OK;
}
