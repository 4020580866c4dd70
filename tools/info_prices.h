/* SPDX-License-Identifier: Apache-2.0 */
/* tools/info_prices.h: `halo info --prices`. */
#ifndef HALO_TOOLS_INFO_PRICES_H
#define HALO_TOOLS_INFO_PRICES_H

/* Prints the prices of the device that `selector` means; NULL: of the default one. A TOOL_ code. */
int info_prices(const char *selector);

#endif
