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
#include "os/file.h"
#include "os/library.h"

#include <CL/cl_icd.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

typedef cl_int drivers_list_fn(cl_uint, cl_platform_id *, cl_uint *);

/* How the driver lists its platforms for ICD loaders (cl_khr_icd), and its first one; NULL: it has none. */
static drivers_list_fn *drivers_platform(void *driver, cl_platform_id *out) {
  void *(*find)(const char *);
  drivers_list_fn *list;
  cl_uint count = 0;
  *(void **)&find = halo_os_library_symbol(driver, "clGetExtensionFunctionAddress");
  *(void **)&list = find ? find("clIcdGetPlatformIDsKHR") : NULL;
  return list && list(1, out, &count) == CL_SUCCESS && count ? list : NULL;
}

/* Where ICD loaders find a platform's functions. */
static const cl_icd_dispatch *drivers_functions(cl_platform_id platform) {
  return *(const cl_icd_dispatch *const *)(const void *)platform;
}

/* Whether the driver has a device; `platform` gets its first one. */
static drivers_list_fn *drivers_with_device(void *driver, cl_platform_id *platform) {
  cl_uint count = 0;
  drivers_list_fn *list = drivers_platform(driver, platform);
  if (!list) return NULL;
  const cl_icd_dispatch *functions = drivers_functions(*platform);
  cl_int code = functions->clGetDeviceIDs(*platform, CL_DEVICE_TYPE_ALL, 0, NULL, &count);
  return code == CL_SUCCESS && count ? list : NULL;
}

/* ---- Opening ---- */

/* What is done with each driver that an .icd file names; the ICD loader reports libraries that cannot be opened. */
typedef void drivers_visit_fn(const char *library, void *data);

static void drivers_bind(const char *library, void *data) {
  halo_os_library_open(library, *(const int *)data);
}

static void drivers_visit_file(const char *path, drivers_visit_fn *visit, void *data) {
  char name[1024];
  FILE *file = fopen(path, "r");
  if (!file) return;
  if (fgets(name, sizeof name, file)) {
    name[strcspn(name, "\r\n")] = 0;
    if (*name) visit(name, data);
  }
  fclose(file);
}

static bool drivers_is_entry(const char *name) {
  size_t length = strlen(name);
  return length > 4 && strcmp(name + length - 4, ".icd") == 0;
}

/* As ICD loaders look for drivers: in a folder, or in one file. */
static void drivers_visit(const char *place, drivers_visit_fn *visit, void *data) {
  halo_os_file_info about;
  if (!halo_os_find_file(place, &about)) return;
  if (about.kind != HALO_OS_FOLDER) {
    drivers_visit_file(place, visit, data);
    return;
  }
  DIR *folder = opendir(place);
  for (struct dirent *entry; folder && (entry = readdir(folder));) {
    char path[1400];
    if (!drivers_is_entry(entry->d_name)) continue;
    int length = snprintf(path, sizeof path, "%s/%s", place, entry->d_name);
    if (length > 0 && (size_t)length < sizeof path) drivers_visit_file(path, visit, data);
  }
  if (folder) closedir(folder);
}

static int drivers_flags(void) {
  bool other = halo_os_library_symbol(NULL, "LLVMContextCreate") != NULL;
  return HALO_OS_LIBRARY_NOW | (other ? HALO_OS_LIBRARY_OWN : 0);
}

void halo_cl_drivers_shield(void) {
  static bool is_done; /* under the lock of who calls */
  if (is_done) return;
  is_done = true;
  int flags = drivers_flags();
  drivers_visit(halo_config_drivers_dir(), drivers_bind, &flags);
}

/* ---- Without an ICD loader ---- */

/* Takes the functions of the first driver that has a device. */
static void drivers_take(const char *library, void *data) {
  halo_cl_api *out = data;
  void *driver = out->clGetPlatformIDs ? NULL : halo_os_library_open(library, drivers_flags());
  cl_platform_id platform;
  drivers_list_fn *list = driver ? drivers_with_device(driver, &platform) : NULL;
  if (!list) return;
  const cl_icd_dispatch *functions = drivers_functions(platform);
#define TAKE(name) out->name = functions->name;
  HALO_CL_FUNCTIONS(TAKE)
#undef TAKE
  *(void **)&out->clSVMAlloc = *(void *const *)&functions->clSVMAlloc;
  *(void **)&out->clSVMFree = *(void *const *)&functions->clSVMFree;
  out->clGetPlatformIDs = list;
}

bool halo_cl_drivers_direct(halo_cl_api *out) {
  *out = (halo_cl_api){0};
  drivers_visit(halo_config_drivers_dir(), drivers_take, out);
  return out->clGetPlatformIDs != NULL;
}

/* ---- Whether they are needed ---- */

/* Whether a file of PoCL's serves devices other than the processor that it runs on. */
static bool drivers_is_pocl_for_others(const char *file) {
  static const char start[] = "libpocl-devices-";
  static const char *const own[] = {"basic", "pthread", "tbb", "remote", "ttasim", "almaif"};
  if (strncmp(file, start, sizeof start - 1) != 0) return false;
  for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
    size_t length = strlen(own[i]);
    const char *kind = file + sizeof start - 1;
    if (strncmp(kind, own[i], length) == 0 && strcmp(kind + length, ".so") == 0) return false;
  }
  return true;
}

/* Whether PoCL in a library of this folder ("": in one of the system's) may have more than the processor. It looks for its parts for
 * kinds of devices in a folder beside its library. */
static bool drivers_pocl_has_others(const char *beside) {
  static const char *const usual[] = {"/usr/lib/x86_64-linux-gnu/", "/usr/lib64/", "/usr/lib/",
                                      "/usr/local/lib/"};
  bool any = halo_config_pocl_devices() != NULL; /* somebody has wishes */
  size_t count = *beside ? 1 : sizeof usual / sizeof *usual;
  for (size_t i = 0; i < count && !any; i++) {
    char path[1100];
    snprintf(path, sizeof path, "%spocl", *beside ? beside : usual[i]);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && !any && (entry = readdir(folder));) {
      any = drivers_is_pocl_for_others(entry->d_name);
    }
    if (folder) closedir(folder);
  }
  return any;
}

static void drivers_weigh(const char *library, void *data) {
  bool *matter = data;
  const char *slash = strrchr(library, '/'), *file = slash ? slash + 1 : library;
  if (*matter) return;
  if (strncmp(file, "libpocl", strlen("libpocl")) == 0) {
    char beside[1024];
    snprintf(beside, sizeof beside, "%.*s", (int)(file - library), library);
    *matter = drivers_pocl_has_others(beside);
    return;
  }
  void *driver = halo_os_library_open(library, drivers_flags());
  cl_platform_id platform;
  *matter = driver && drivers_with_device(driver, &platform);
}

bool halo_cl_drivers_matter(void) {
  bool matter = halo_config_more_drivers() != NULL;
  if (!matter) drivers_visit(halo_config_drivers_dir(), drivers_weigh, &matter);
  return matter;
}
