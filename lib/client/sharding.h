/* SPDX-License-Identifier: Apache-2.0 */
/* client/sharding.h: partitioned executables. */
#ifndef HALO_CLIENT_SHARDING_H
#define HALO_CLIENT_SHARDING_H

#include "halo/client.h"
#include "hlo/hlo.h"

/* Notes in a module's header what options say of arrays without shardings. */
void halo_sharding_set_free(halo_module *module, const halo_compile_options *options);

#endif
