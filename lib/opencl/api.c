/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/api.c: the table of OpenCL's functions that the library calls. */
#include "opencl/api.h"

#include "base/config.h"
#include "base/log.h"
#include "cpu/cpu.h"
#include "opencl/private.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

halo_cl_api halo_cl;

static halo_status api_fail(const char *error) {
  char file[256];
  const char *why = halo_cl_api_find_broken(error, halo_config_library_path(), file, sizeof file);
  if (why) {
    return halo_fail(HALO_NO_DEVICE,
                     "the OpenCL loader %s cannot be loaded: %s. Remove or replace this "
                     "file" HALO_CL_DOCTOR,
                     file, why);
  }
  return halo_fail(HALO_NO_DEVICE,
                   "no OpenCL loader: %s. An x86-64 processor needs clang-15 or newer instead. For "
                   "other devices, install the package ocl-icd-libopencl1 (Debian, Ubuntu) or "
                   "ocl-icd (Fedora, Arch, conda-forge), and the device's driver" HALO_CL_DOCTOR,
                   error);
}

/* A misspelt processor must not pass for "on", nor "OFF" for a processor. */
static halo_status api_check_wish(void) {
  static const char *const others[] = {"on", "1", "yes", "true"};
  const char *wish = halo_config_text(HALO_CONFIG_CPU);
  bool good = !wish || halo_config_refused(HALO_CONFIG_CPU) || halo_cpu_is_processor(wish);
  for (size_t i = 0; !good && i < sizeof others / sizeof *others; i++) {
    good = strcmp(wish, others[i]) == 0;
  }
  if (good) return HALO_OK;
  return halo_fail(HALO_INVALID_ARGUMENT,
                   "%s=%s has no meaning: expected on, off, haswell or x86-64",
                   halo_config_name(HALO_CONFIG_CPU), wish);
}

/* The library's own processor device, if this machine can have it; NULL without an error: it is not wanted, or not needed. */
static halo_status api_open_cpu(const halo_cl_api **out) {
  const char *missing = NULL;
  HALO_TRY(api_check_wish());
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

/* Puts the tables together. Functions that the process had before, as a program that traces calls or makes them fail has, see the calls
 * for all devices, if they find ours by its handles, as an ICD loader does. */
static void api_join(const halo_cl_api *system, const halo_cl_api *cpu) {
  halo_cl_api turns = {0};
  if (system->clGetPlatformIDs) halo_cl_turn_wrap(system, &turns);
  if (!cpu) {
    halo_cl = turns;
    return;
  }
  halo_cl_providers_join(&turns, cpu, &halo_cl);
  if (!turns.clGetPlatformIDs || !halo_cl_api_is_loaded()) return;
  cl_platform_id platform;
  char name[sizeof HALO_CPU_PLATFORM + 1] = "";
  cpu->clGetPlatformIDs(1, &platform, NULL);
  cl_int code = turns.clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name - 1, name, NULL);
  if (code != CL_SUCCESS || strcmp(name, HALO_CPU_PLATFORM) != 0) return;
  turns.clGetPlatformIDs = halo_cl.clGetPlatformIDs;
  halo_cl = turns;
}

halo_status halo_cl_api_open(void) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static bool is_open;
  halo_status status = HALO_OK;
  pthread_mutex_lock(&lock);
  if (!is_open) {
    halo_cl_api system = {0};
    const halo_cl_api *cpu = NULL;
    const char *missing = halo_cl_api_load(&system);
    char text[512] = ""; /* opening drivers changes it */
    if (missing) snprintf(text, sizeof text, "%s", missing);
    bool has_system = !missing || halo_cl_drivers_direct(&system);
    if (!has_system) system = (halo_cl_api){0};
    status = api_open_cpu(&cpu);
    if (status == HALO_OK && !has_system && !cpu) status = api_fail(text);
    is_open = status == HALO_OK;
    if (is_open) api_join(&system, cpu);
  }
  pthread_mutex_unlock(&lock);
  return status;
}
