/* opencl/drivers.c: OpenCL drivers beside programs that bring a compiler of their own.
 *
 * Drivers for CPUs, and some for GPUs, use LLVM as a shared library. What else is in the process may have one too and
 * show its symbols to everybody (TensorFlow does, in another version), and then the loader binds the driver to that, which
 * ends the process at the first kernel. So, where there is such a thing, drivers are opened before the ICD loader opens
 * them, bound to what they were linked with; the loader is then given what is there. */
#include "base/config.h"
#include "opencl/private.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* AddressSanitizer refuses that way of opening. */
#if defined(RTLD_DEEPBIND) && !defined(__SANITIZE_ADDRESS__)

/* Opens the driver whose library a file of the ICD loader names. What cannot be opened is the loader's to report. */
static void drivers_open(const char *path) {
  char name[1024];
  FILE *file = fopen(path, "r");
  if (!file) return;
  if (fgets(name, sizeof name, file)) {
    name[strcspn(name, "\r\n")] = 0;
    if (*name) (void)dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  }
  fclose(file);
}

static bool drivers_is_entry(const char *name) {
  size_t length = strlen(name);
  return length > 4 && strcmp(name + length - 4, ".icd") == 0;
}

/* As ICD loaders look for drivers: in a folder, or in one file. */
static void drivers_open_all(const char *place) {
  struct stat about;
  if (stat(place, &about) != 0) return;
  if (!S_ISDIR(about.st_mode)) {
    drivers_open(place);
    return;
  }
  DIR *folder = opendir(place);
  for (struct dirent *entry; folder && (entry = readdir(folder));) {
    char path[1400];
    if (!drivers_is_entry(entry->d_name)) continue;
    int length = snprintf(path, sizeof path, "%s/%s", place, entry->d_name);
    if (length > 0 && (size_t)length < sizeof path) drivers_open(path);
  }
  if (folder) closedir(folder);
}

void halo_cl_drivers_shield(void) {
  if (!dlsym(RTLD_DEFAULT, "LLVMContextCreate")) return;
  drivers_open_all(halo_config_drivers_dir());
}

#else

void halo_cl_drivers_shield(void) {}

#endif
