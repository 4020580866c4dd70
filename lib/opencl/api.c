/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/api.c: the table of OpenCL's functions that the library calls. */
#include "opencl/api.h"

#include "base/config.h"
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

/* What the table has. */
static struct {
  pthread_mutex_t lock;
  bool has_own;     /* some provider of our own was opened */
  bool is_joined;   /* these are in the table */
  bool has_drivers; /* the drivers were looked for */
} api_state = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Whether the process had OpenCL's functions before, as of a program that traces calls or makes them fail, and our own
 * providers' objects work with these. */
static bool api_is_traced(const halo_cl_api *system) {
  if (!system->clGetPlatformIDs || !halo_cl_api_is_loaded()) return false;
  return halo_cl_providers_are_found(system);
}

static void api_add_drivers(const halo_cl_api *system) {
  halo_cl_api locked = {0};
  if (system->clGetPlatformIDs) halo_cl_queue_lock_wrap(system, &locked);
  if (api_state.is_joined) {
    halo_cl_providers_set_system(&locked);
  } else if (!api_state.has_own) {
    halo_cl = locked;
  } else {
    halo_cl_providers_join(&locked, &halo_cl);
    if (!api_is_traced(&locked)) return;
    locked.clGetPlatformIDs = halo_cl.clGetPlatformIDs;
    halo_cl = locked;
  }
}

const char *halo_cl_api_system(halo_cl_api *out) {
  static char text[512]; /* opening drivers changes what dlopen says */
  halo_config_share_cache_dir();
  halo_cl_drivers_shield();
  const char *missing = halo_cl_api_load(out);
  if (missing) snprintf(text, sizeof text, "%s", missing);
  if (!missing || halo_cl_drivers_direct(out)) return NULL;
  *out = (halo_cl_api){0};
  return text;
}

static halo_status api_open_drivers(void) {
  halo_cl_api system = {0};
  const char *missing = halo_cl_api_system(&system);
  if (missing && !api_state.has_own) return api_fail(missing);
  api_add_drivers(&system);
  api_state.is_joined = api_state.has_own;
  api_state.has_drivers = true;
  return HALO_OK;
}

halo_status halo_cl_api_open(bool drivers) {
  halo_status status = HALO_OK;
  pthread_mutex_lock(&api_state.lock);
  bool done = api_state.has_drivers || (api_state.is_joined && !drivers);
  if (!done && !api_state.has_own) status = halo_cl_providers_open(&api_state.has_own);
  if (!done && status == HALO_OK) {
    bool suffices =
        api_state.has_own && !drivers && !halo_cl_api_is_loaded() && !halo_cl_drivers_matter();
    if (suffices) {
      halo_cl_providers_join(&(halo_cl_api){0}, &halo_cl);
      api_state.is_joined = true;
    } else {
      status = api_open_drivers();
    }
  }
  pthread_mutex_unlock(&api_state.lock);
  return status;
}
