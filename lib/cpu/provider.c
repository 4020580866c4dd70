/* SPDX-License-Identifier: Apache-2.0 */
/* cpu/provider.c: the table of this provider's functions. */
#include "base/config.h"
#include "base/log.h"
#include "base/memory.h"
#include "cpu/compile.h"
#include "cpu/objects.h"
#include "cpu/target.h"

#include <CL/cl_icd.h>
#include <string.h>

static const halo_cl_api provider_table = {
#define PROVIDER_ROW(name) .name = cpu_##name,
    HALO_CL_FUNCTIONS(PROVIDER_ROW)
#undef PROVIDER_ROW
        .clSVMAlloc = cpu_clSVMAlloc,
    .clSVMFree = cpu_clSVMFree};

/* ---- The library's own table ---- */

static pthread_once_t provider_once = PTHREAD_ONCE_INIT;

/* The ICD loader finds functions here, by the first word of each object. */
static void provider_fill(void) {
#define PROVIDER_ROW(name) halo_cpu_dispatch.name = cpu_##name;
  HALO_CL_FUNCTIONS(PROVIDER_ROW)
#undef PROVIDER_ROW
  cpu_others_fill(&halo_cpu_dispatch);
}

const halo_cl_api *halo_cpu_open(const char **missing) {
#if defined(__x86_64__)
  *missing = cpu_target_missing();
  if (!*missing) *missing = cpu_front_find();
#else
  *missing = "code is made for x86-64 only";
#endif
  if (*missing) return NULL;
  pthread_once(&provider_once, provider_fill);
  return &provider_table;
}

/* ---- The provider ---- */

/* A misspelt processor must not pass for "on", nor "OFF" for a processor. */
static halo_status provider_check_wish(void) {
  static const char *const others[] = {"on",          "1", "yes", "true", CPU_COMPILE_BY_CLANG,
                                       CPU_FRONT_POCL};
  const char *wish = halo_config_text(HALO_CONFIG_CPU);
  bool good = !wish || halo_config_refused(HALO_CONFIG_CPU) || halo_cpu_is_processor(wish);
  for (size_t i = 0; !good && i < sizeof others / sizeof *others; i++) {
    good = strcmp(wish, others[i]) == 0;
  }
  if (good) return HALO_OK;
  return halo_fail(HALO_INVALID_ARGUMENT,
                   "%s=%s has no meaning: expected on, off, clang, pocl, haswell or x86-64",
                   halo_config_name(HALO_CONFIG_CPU), wish);
}

/* The library's own processor device, if this machine can have it; NULL without an error: it is not wanted, or not needed. */
static halo_status provider_open(const halo_cl_api **out) {
  const char *missing = NULL;
  HALO_TRY(provider_check_wish());
  *out = halo_config_refused(HALO_CONFIG_CPU) ? NULL : halo_cpu_open(&missing);
  if (!missing) return HALO_OK;
  if (halo_config_flag(HALO_CONFIG_CPU)) {
    return halo_fail(HALO_NO_DEVICE, "%s asks for the library's own processor device: %s",
                     halo_config_name(HALO_CONFIG_CPU), missing);
  }
  HALO_LOG(
      HALO_LOG_INFO,
      "device: the library's own processor device is not there: %s. The processor is used through "
      "an OpenCL driver, if there is one, which is slower; `halo doctor` says what to install",
      missing);
  return HALO_OK;
}

const halo_cl_provider halo_cpu_provider = {.platform = HALO_CPU_PLATFORM,
                                            .dispatch = &halo_cpu_dispatch,
                                            .open = provider_open,
                                            .in_caller = HALO_CPU_QUEUE_IN_CALLER,
                                            .is_host = true};
