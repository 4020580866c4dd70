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

/* What the table has. */
static struct {
  pthread_mutex_t lock;
  const halo_cl_api *cpu;    /* our own processor device, or NULL */
  bool has_cpu, has_drivers; /* `cpu` is in it; the drivers were looked for */
} api_state = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Whether our own device's handles work with functions that the process had before, as of a program that traces calls or makes
 * them fail: if these find ours by its handles, as an ICD loader does. */
static bool api_is_traced(const halo_cl_api *system, const halo_cl_api *cpu) {
  if (!system->clGetPlatformIDs || !halo_cl_api_is_loaded()) return false;
  cl_platform_id platform;
  char name[sizeof HALO_CPU_PLATFORM + 1] = "";
  cpu->clGetPlatformIDs(1, &platform, NULL);
  cl_int code = system->clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name - 1, name, NULL);
  return code == CL_SUCCESS && strcmp(name, HALO_CPU_PLATFORM) == 0;
}

static void api_add_drivers(const halo_cl_api *system) {
  halo_cl_api turns = {0};
  if (system->clGetPlatformIDs) halo_cl_turn_wrap(system, &turns);
  if (api_state.has_cpu) {
    halo_cl_providers_set_system(&turns);
  } else if (!api_state.cpu) {
    halo_cl = turns;
  } else {
    halo_cl_providers_join(&turns, api_state.cpu, &halo_cl);
    if (!api_is_traced(&turns, api_state.cpu)) return;
    turns.clGetPlatformIDs = halo_cl.clGetPlatformIDs;
    halo_cl = turns;
  }
}

static halo_status api_open_drivers(void) {
  halo_cl_api system = {0};
  char text[512] = ""; /* opening drivers changes it */
  halo_config_share_cache_dir();
  halo_cl_drivers_shield();
  const char *missing = halo_cl_api_load(&system);
  if (missing) snprintf(text, sizeof text, "%s", missing);
  bool has_system = !missing || halo_cl_drivers_direct(&system);
  if (!has_system) system = (halo_cl_api){0};
  if (!has_system && !api_state.cpu) return api_fail(text);
  api_add_drivers(&system);
  api_state.has_cpu = api_state.cpu != NULL;
  api_state.has_drivers = true;
  return HALO_OK;
}

halo_status halo_cl_api_open(bool drivers) {
  halo_status status = HALO_OK;
  pthread_mutex_lock(&api_state.lock);
  bool done = api_state.has_drivers || (api_state.has_cpu && !drivers);
  if (!done && !api_state.cpu) status = api_open_cpu(&api_state.cpu);
  if (!done && status == HALO_OK) {
    bool alone = api_state.cpu && !drivers && !halo_cl_api_is_loaded() && !halo_cl_drivers_matter();
    if (alone) {
      halo_cl_providers_join(&(halo_cl_api){0}, api_state.cpu, &halo_cl);
      api_state.has_cpu = true;
    } else {
      status = api_open_drivers();
    }
  }
  pthread_mutex_unlock(&api_state.lock);
  return status;
}
