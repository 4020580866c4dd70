/* SPDX-License-Identifier: Apache-2.0 */
/* os/library_posix.c: dynamic libraries by dlopen. */
#include "os/library.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>

const char halo_os_opencl_library[] = "libOpenCL.so.1";

/* AddressSanitizer refuses RTLD_DEEPBIND, and some systems do not have it. */
#if defined(RTLD_DEEPBIND) && !defined(__SANITIZE_ADDRESS__)
enum { LIBRARY_OWN = RTLD_DEEPBIND };
#else
enum { LIBRARY_OWN = 0 };
#endif

void *halo_os_library_open(const char *name, int how) {
  int flags = how & HALO_OS_LIBRARY_NOW ? RTLD_NOW : RTLD_LAZY;
  flags |= how & HALO_OS_LIBRARY_GLOBAL ? RTLD_GLOBAL : RTLD_LOCAL;
  if (how & HALO_OS_LIBRARY_OWN) flags |= LIBRARY_OWN;
  if (how & HALO_OS_LIBRARY_LOADED) flags |= RTLD_NOLOAD;
  return dlopen(name, flags);
}

void *halo_os_library_symbol(void *library, const char *name) {
  return dlsym(library ? library : RTLD_DEFAULT, name);
}

const char *halo_os_library_error(void) {
  const char *error = dlerror();
  return error ? error : "";
}

bool halo_os_library_path(const void *address, char *out, size_t size) {
  Dl_info info;
  out[0] = '\0';
  if (!dladdr(address, &info) || !info.dli_fname) return false;
  snprintf(out, size, "%s", info.dli_fname);
  return true;
}

static int library_visit(struct dl_phdr_info *info, size_t size, void *data) {
  bool (*const *fits)(const char *) = data;
  (void)size;
  return (*fits)(info->dlpi_name);
}

bool halo_os_library_any(bool (*fits)(const char *path)) {
  return dl_iterate_phdr(library_visit, &fits) != 0;
}
