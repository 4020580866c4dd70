/* SPDX-License-Identifier: Apache-2.0 */
/* tools/ranks.h: which process of several has which devices. */
#ifndef HALO_TOOLS_RANKS_H
#define HALO_TOOLS_RANKS_H

#include "halo/communicator.h"

/* All processes call this; the first one prints. `selector`: as halo_client_options.device. An exit code, after a
 * message where it is not TOOL_OK. */
int ranks_show(const char *selector, halo_communicator *communicator);

#endif
