/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/api.c: the table of OpenCL's functions that the library calls. */
#include "opencl/api.h"

#include "base/config.h"
#include "cpu/cpu.h"
#include "opencl/private.h"

#include <pthread.h>
#include <stdio.h>

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
                   "no OpenCL loader: %s. Install the package ocl-icd-libopencl1 (Debian, "
                   "Ubuntu), ocl-icd (Fedora, Arch, conda-forge), and your device's "
                   "driver" HALO_CL_DOCTOR,
                   error);
}

halo_status halo_cl_api_open(void) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static bool is_open;
  halo_cl_api plain = {0};
  halo_status status = HALO_OK;
  pthread_mutex_lock(&lock);
  const char *missing = is_open ? NULL : halo_cl_api_load(&plain), *no_cpu = NULL;
  char text[512]; /* opening drivers changes it */
  if (missing) snprintf(text, sizeof text, "%s", missing);
  bool has_system = !missing || halo_cl_drivers_direct(&plain);
  if (!has_system) plain = (halo_cl_api){0};
  bool wanted = !is_open && halo_config_flag(HALO_CONFIG_CPU);
  const halo_cl_api *cpu = wanted ? halo_cpu_open(&no_cpu) : NULL;
  if (wanted && !cpu) {
    status = halo_fail(HALO_NO_DEVICE, "%s asks for the library's own processor device: %s",
                       halo_config_name(HALO_CONFIG_CPU), no_cpu);
  } else if (!is_open && !has_system && !cpu) {
    status = api_fail(text);
  } else if (!is_open) {
    halo_cl_api turns = {0};
    if (has_system) halo_cl_turn_wrap(&plain, &turns);
    if (cpu) {
      halo_cl_providers_join(&turns, cpu, &halo_cl);
    } else {
      halo_cl = turns;
    }
    is_open = true;
  }
  pthread_mutex_unlock(&lock);
  return status;
}
