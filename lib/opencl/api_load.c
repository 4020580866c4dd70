/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/api_load.c: a table of OpenCL's functions from the system's ICD loader. The program `halo` uses it, too. */
#include "opencl/api.h"

#include "os/library.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct {
  const char *name;
  size_t place; /* in the table */
  bool required;
} load_functions[] = {
#define LOAD_ROW(name) {#name, offsetof(halo_cl_api, name), true},
    HALO_CL_FUNCTIONS(LOAD_ROW)
#undef LOAD_ROW
        {"clSVMAlloc", offsetof(halo_cl_api, clSVMAlloc), false},
    {"clSVMFree", offsetof(halo_cl_api, clSVMFree), false},
};

bool halo_cl_api_is_loaded(void) {
  return halo_os_library_symbol(NULL, "clGetPlatformIDs") != NULL;
}

const char *halo_cl_api_load(halo_cl_api *out) {
  bool is_here = halo_cl_api_is_loaded();
  void *library = is_here ? NULL : halo_os_library_open(halo_os_opencl_library, 0);
  if (!is_here && !library) return halo_os_library_error();
  *out = (halo_cl_api){0};
  for (size_t i = 0; i < sizeof load_functions / sizeof *load_functions; i++) {
    void *function = halo_os_library_symbol(library, load_functions[i].name);
    if (!function && load_functions[i].required) {
      static _Thread_local char text[64];
      snprintf(text, sizeof text, "it has no function %s", load_functions[i].name);
      return text;
    }
    *(void **)((char *)out + load_functions[i].place) = function;
  }
  return NULL;
}

/* dlopen names the file that it could not read, or what that file needs, or says that it found none. It passes over files
 * for other processors, and then says that as well. */
const char *halo_cl_api_find_broken(const char *error, const char *folders, char *out,
                                    size_t size) {
  size_t named = strcspn(error, ":"), own = strlen(halo_os_opencl_library);
  if (named > own && error[named] == ':' && error[named - own - 1] == '/' &&
      memcmp(error + named - own, halo_os_opencl_library, own) == 0) {
    snprintf(out, size, "%.*s", (int)named, error);
    return error + named + 1 + strspn(error + named + 1, " ");
  }
  for (const char *at = folders ? folders : ""; *at; at += strspn(at, ":;")) {
    size_t length = strcspn(at, ":;");
    snprintf(out, size, "%.*s/%s", (int)length, at, halo_os_opencl_library);
    if (length && access(out, F_OK) == 0) return error;
    at += length;
  }
  snprintf(out, size, "%s", halo_os_opencl_library);
  return strstr(error, halo_os_opencl_library) ? NULL : error;
}
