/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/api_load.c: a table of OpenCL's functions from the system's ICD loader. The program `halo` uses it, too. */
#include "opencl/api.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

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

const char *halo_cl_api_load(halo_cl_api *out) {
  bool is_here = dlsym(RTLD_DEFAULT, "clGetPlatformIDs") != NULL;
  void *library = is_here ? RTLD_DEFAULT : dlopen("libOpenCL.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (!is_here && !library) return dlerror();
  *out = (halo_cl_api){0};
  for (size_t i = 0; i < sizeof load_functions / sizeof *load_functions; i++) {
    void *function = dlsym(library, load_functions[i].name);
    if (!function && load_functions[i].required) return load_functions[i].name;
    *(void **)((char *)out + load_functions[i].place) = function;
  }
  return NULL;
}
