/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/drivers.c: OpenCL drivers beside programs that bring a compiler of their own.
 *
 * Drivers for CPUs, and some for GPUs, use LLVM as a shared library. What else is in the process may have one too and
 * show its symbols to everybody (TensorFlow does, in another version). Whatever of the driver is bound after that is
 * bound to the other one, which ends the process; and ICD loaders open drivers so that functions are bound when they are
 * first called. So drivers are opened before the ICD loader opens them, and bound at once: to what they were linked with,
 * where another LLVM is there already. The loader is then given what is there. */
#include "base/config.h"
#include "opencl/private.h"

#include <CL/cl_icd.h>
#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* AddressSanitizer refuses the former. */
#if defined(RTLD_DEEPBIND) && !defined(__SANITIZE_ADDRESS__)
enum { DRIVERS_TO_THEIR_OWN = RTLD_DEEPBIND };
#else
enum { DRIVERS_TO_THEIR_OWN = 0 };
#endif

typedef cl_int drivers_list_fn(cl_uint, cl_platform_id *, cl_uint *);

/* How the driver lists its platforms for ICD loaders (cl_khr_icd), and its first one; NULL: it has none. */
static drivers_list_fn *drivers_platform(void *driver, cl_platform_id *out) {
  void *(*find)(const char *);
  drivers_list_fn *list;
  cl_uint count = 0;
  *(void **)&find = dlsym(driver, "clGetExtensionFunctionAddress");
  *(void **)&list = find ? find("clIcdGetPlatformIDsKHR") : NULL;
  return list && list(1, out, &count) == CL_SUCCESS && count ? list : NULL;
}

/* Where ICD loaders find a platform's functions. */
static const cl_icd_dispatch *drivers_functions(cl_platform_id platform) {
  return *(const cl_icd_dispatch *const *)(const void *)platform;
}

/* ---- Without an ICD loader ---- */

/* Takes the functions of a driver that has a device. */
static void drivers_take(void *driver, halo_cl_api *out) {
  cl_platform_id platform;
  cl_uint count = 0;
  drivers_list_fn *list = drivers_platform(driver, &platform);
  if (!list) return;
  const cl_icd_dispatch *functions = drivers_functions(platform);
  if (functions->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &count) || !count) return;
#define TAKE(name) out->name = functions->name;
  HALO_CL_FUNCTIONS(TAKE)
#undef TAKE
  *(void **)&out->clSVMAlloc = *(void *const *)&functions->clSVMAlloc;
  *(void **)&out->clSVMFree = *(void *const *)&functions->clSVMFree;
  out->clGetPlatformIDs = list;
}

/* ---- Opening ---- */

/* Opens the driver whose library a file of the ICD loader names. The loader reports libraries that cannot be opened. The first
 * with a device fills `out`, unless that is NULL. */
static void drivers_open(const char *path, int flags, halo_cl_api *out) {
  char name[1024];
  FILE *file = fopen(path, "r");
  if (!file) return;
  if (fgets(name, sizeof name, file)) {
    name[strcspn(name, "\r\n")] = 0;
    void *driver = *name ? dlopen(name, flags) : NULL;
    if (driver && out && !out->clGetPlatformIDs) drivers_take(driver, out);
  }
  fclose(file);
}

static bool drivers_is_entry(const char *name) {
  size_t length = strlen(name);
  return length > 4 && strcmp(name + length - 4, ".icd") == 0;
}

/* As ICD loaders look for drivers: in a folder, or in one file. */
static void drivers_open_all(const char *place, int flags, halo_cl_api *out) {
  struct stat about;
  if (stat(place, &about) != 0) return;
  if (!S_ISDIR(about.st_mode)) {
    drivers_open(place, flags, out);
    return;
  }
  DIR *folder = opendir(place);
  for (struct dirent *entry; folder && (entry = readdir(folder));) {
    char path[1400];
    if (!drivers_is_entry(entry->d_name)) continue;
    int length = snprintf(path, sizeof path, "%s/%s", place, entry->d_name);
    if (length > 0 && (size_t)length < sizeof path) drivers_open(path, flags, out);
  }
  if (folder) closedir(folder);
}

static int drivers_flags(void) {
  bool other = dlsym(RTLD_DEFAULT, "LLVMContextCreate") != NULL;
  return RTLD_NOW | RTLD_LOCAL | (other ? DRIVERS_TO_THEIR_OWN : 0);
}

void halo_cl_drivers_shield(void) {
  static bool is_done; /* under the lock of who calls */
  if (is_done) return;
  is_done = true;
  drivers_open_all(halo_config_drivers_dir(), drivers_flags(), NULL);
}

bool halo_cl_drivers_direct(halo_cl_api *out) {
  *out = (halo_cl_api){0};
  drivers_open_all(halo_config_drivers_dir(), drivers_flags(), out);
  return out->clGetPlatformIDs != NULL;
}
