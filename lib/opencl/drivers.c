/* opencl/drivers.c: OpenCL drivers beside programs that bring a compiler of their own.
 *
 * Drivers for CPUs, and some for GPUs, use LLVM as a shared library. What else is in the process may have one too and
 * show its symbols to everybody (TensorFlow does, in another version). Whatever of the driver is bound after that is
 * bound to the other one, which ends the process; and ICD loaders open drivers so that functions are bound when they are
 * first called. So drivers are opened before the ICD loader opens them, and bound at once: to what they were linked with,
 * where another LLVM is there already. The loader is then given what is there. */
#include "base/config.h"
#include "opencl/pocl.h"
#include "opencl/private.h"

#include <CL/cl_icd.h>
#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* AddressSanitizer refuses the former. */
#if defined(RTLD_DEEPBIND) && !defined(__SANITIZE_ADDRESS__)
enum { DRIVERS_TO_THEIR_OWN = RTLD_DEEPBIND };
#else
enum { DRIVERS_TO_THEIR_OWN = 0 };
#endif

/* ---- PoCL's driver for the caller's thread ---- */

/* The version of PoCL that renamed its drivers. From it on only programs that own their process ask. */
enum { DRIVERS_RENAMED = 400 };

static atomic_bool drivers_here_wanted, drivers_here_always;

void halo_cl_drivers_want_here(bool owns_process) {
  if (owns_process) atomic_store(&drivers_here_always, true);
  atomic_store(&drivers_here_wanted, true);
}

/* The version of a driver, without it looking for devices, which PoCL does once; 0: it is not PoCL. */
static int drivers_pocl_version(void *driver) {
  void *(*find)(const char *);
  cl_int (*list)(cl_uint, cl_platform_id *, cl_uint *);
  cl_platform_id platform;
  cl_uint count = 0;
  char version[1024] = "";
  *(void **)&find = dlsym(driver, "clGetExtensionFunctionAddress");
  *(void **)&list = find ? find("clIcdGetPlatformIDsKHR") : NULL;
  if (!list || list(1, &platform, &count) != CL_SUCCESS || !count) return 0;
  /* Where ICD loaders find a platform's functions. */
  const cl_icd_dispatch *functions = *(const cl_icd_dispatch *const *)(const void *)platform;
  functions->clGetPlatformInfo(platform, CL_PLATFORM_VERSION, sizeof version - 1, version, NULL);
  return halo_pocl_version(version);
}

/* Whether PoCL's drivers, which lie in a folder beside it, are the two for processors and no others. */
static bool drivers_are_two(void *pocl) {
  static const char *const two[] = {"libpocl-devices-basic.so", "libpocl-devices-pthread.so"};
  Dl_info about;
  char path[PATH_MAX + 16];
  int found = 0, others = 0;
  void *inside = dlsym(pocl, "clGetExtensionFunctionAddress");
  if (!inside || !dladdr(inside, &about) || !realpath(about.dli_fname, path)) return false;
  strcpy(strrchr(path, '/'), "/pocl");
  DIR *folder = opendir(path);
  for (struct dirent *entry; folder && (entry = readdir(folder));) {
    bool is_one = strcmp(entry->d_name, two[0]) == 0 || strcmp(entry->d_name, two[1]) == 0;
    found += is_one;
    others += !is_one && strncmp(entry->d_name, "libpocl-devices-", 16) == 0;
  }
  if (folder) closedir(folder);
  return found == 2 && others == 0;
}

/* PoCL reads the variable when it is first asked for its devices. */
static void drivers_ask_for_here(void *driver) {
  int version = drivers_pocl_version(driver);
  bool renamed = version >= DRIVERS_RENAMED;
  if (!version || (renamed && !atomic_load(&drivers_here_always))) return;
  if (!drivers_are_two(driver)) return;
  setenv("POCL_DEVICES", renamed ? "cpu cpu-minimal" : "pthread basic", 0);
}

/* ---- Opening ---- */

/* Opens the driver whose library a file of the ICD loader names. What cannot be opened is the loader's to report. */
static void drivers_open(const char *path, int flags) {
  char name[1024];
  FILE *file = fopen(path, "r");
  if (!file) return;
  if (fgets(name, sizeof name, file)) {
    name[strcspn(name, "\r\n")] = 0;
    void *driver = *name ? dlopen(name, flags) : NULL;
    bool is_pocl = driver && strstr(name, "pocl");
    if (is_pocl && atomic_load(&drivers_here_wanted)) drivers_ask_for_here(driver);
  }
  fclose(file);
}

static bool drivers_is_entry(const char *name) {
  size_t length = strlen(name);
  return length > 4 && strcmp(name + length - 4, ".icd") == 0;
}

/* As ICD loaders look for drivers: in a folder, or in one file. */
static void drivers_open_all(const char *place, int flags) {
  struct stat about;
  if (stat(place, &about) != 0) return;
  if (!S_ISDIR(about.st_mode)) {
    drivers_open(place, flags);
    return;
  }
  DIR *folder = opendir(place);
  for (struct dirent *entry; folder && (entry = readdir(folder));) {
    char path[1400];
    if (!drivers_is_entry(entry->d_name)) continue;
    int length = snprintf(path, sizeof path, "%s/%s", place, entry->d_name);
    if (length > 0 && (size_t)length < sizeof path) drivers_open(path, flags);
  }
  if (folder) closedir(folder);
}

void halo_cl_drivers_shield(void) {
  static bool is_done; /* under the lock of who calls */
  if (is_done) return;
  is_done = true;
  bool other = dlsym(RTLD_DEFAULT, "LLVMContextCreate") != NULL;
  drivers_open_all(halo_config_drivers_dir(),
                   RTLD_NOW | RTLD_LOCAL | (other ? DRIVERS_TO_THEIR_OWN : 0));
}
