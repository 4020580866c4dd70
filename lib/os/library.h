/* SPDX-License-Identifier: Apache-2.0 */
/* os/library.h: dynamic libraries. Each function may be called from any thread. */
#ifndef HALO_OS_LIBRARY_H
#define HALO_OS_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

/* The file name of OpenCL's ICD loader. */
extern const char halo_os_opencl_library[];

/* How a library is opened; any of them together. Windows always binds at once and shows no library's symbols to others. */
enum {
  HALO_OS_LIBRARY_NOW = 1,    /* bind its functions at once, not when each is first called */
  HALO_OS_LIBRARY_GLOBAL = 2, /* libraries that are opened later may bind to its symbols */
  HALO_OS_LIBRARY_OWN =
      4, /* bind it to what it was linked with, whatever else the process shows (not under AddressSanitizer) */
  HALO_OS_LIBRARY_LOADED = 8, /* only if it is in the process already */
};

/* Opens a library by its file name, which the system looks for, or by its path; NULL as the name: the program itself. It stays
 * open as long as the process. NULL: it cannot be had, and halo_os_library_error says why. */
void *halo_os_library_open(const char *name, int how);

/* The address of a library's function or variable. NULL as the library: of whichever library shows this symbol to the whole
 * process (Windows: the program's own). NULL: there is none. */
void *halo_os_library_symbol(void *library, const char *name);

/* Why this thread's last halo_os_library_open failed. Valid until the thread calls a function of this header again. */
const char *halo_os_library_error(void);

/* The path of the library or program that has this address, with '/' between folders; cut off at `size` bytes. False: none has. */
bool halo_os_library_path(const void *address, char *out, size_t size);

/* Whether `fits` says so of the path of any library in the process. Windows: false. */
bool halo_os_library_any(bool (*fits)(const char *path));

#endif
