/* SPDX-License-Identifier: Apache-2.0 */
/* cpu/absent.c: the provider where the library has no processor device of its own. */
#include "base/config.h"
#include "base/log.h"
#include "cpu/cpu.h"

#include <CL/cl_icd.h>

struct _cl_icd_dispatch halo_cpu_dispatch;

static const char absent[] =
    "it loads code as Linux on x86-64 does, and is not there on this system";

const halo_cl_api *halo_cpu_open(const char **missing) {
  *missing = absent;
  return NULL;
}

static halo_status absent_open(const halo_cl_api **out) {
  *out = NULL;
  if (halo_config_flag(HALO_CONFIG_CPU)) {
    return halo_fail(HALO_NO_DEVICE, "%s asks for the library's own processor device: %s",
                     halo_config_name(HALO_CONFIG_CPU), absent);
  }
  HALO_LOG(HALO_LOG_INFO, "device: no processor device of the library's own: %s", absent);
  return HALO_OK;
}

const halo_cl_provider halo_cpu_provider = {.platform = HALO_CPU_PLATFORM,
                                            .dispatch = &halo_cpu_dispatch,
                                            .open = absent_open,
                                            .is_host = true};
