/* opencl/drivers.c: OpenCL drivers beside programs that bring a compiler of their own.
 *
 * Drivers for CPUs, and some for GPUs, use LLVM as a shared library. What else is in the process may have one too and
 * show its symbols to everybody (TensorFlow does, in another version). Whatever of the driver is bound after that is
 * bound to the other one, which ends the process; and ICD loaders open drivers so that functions are bound when they are
 * first called. So drivers are opened before the ICD loader opens them, and bound at once: to what they were linked with,
 * where another LLVM is there already. The loader is then given what is there. */
#include "base/config.h"
#include "opencl/private.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* AddressSanitizer refuses the former. */
#if defined(RTLD_DEEPBIND) && !defined(__SANITIZE_ADDRESS__)
enum { DRIVERS_TO_THEIR_OWN = RTLD_DEEPBIND };
#else
enum { DRIVERS_TO_THEIR_OWN = 0 };
#endif

/* Opens the driver whose library a file of the ICD loader names. What cannot be opened is the loader's to report. */
static void drivers_open(const char *path, int flags) {
  char name[1024];
  FILE *file = fopen(path, "r");
  if (!file) return;
  if (fgets(name, sizeof name, file)) {
    name[strcspn(name, "\r\n")] = 0;
    if (*name) (void)dlopen(name, flags);
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
