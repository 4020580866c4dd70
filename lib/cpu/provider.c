/* SPDX-License-Identifier: Apache-2.0 */
/* cpu/provider.c: the table of this provider's functions. */
#include "base/memory.h"
#include "cpu/compile.h"
#include "cpu/objects.h"
#include "cpu/target.h"

#include <stdio.h>

static const halo_cl_api provider_table = {
#define PROVIDER_ROW(name) .name = cpu_##name,
    HALO_CL_FUNCTIONS(PROVIDER_ROW)
#undef PROVIDER_ROW
        .clSVMAlloc = cpu_clSVMAlloc,
    .clSVMFree = cpu_clSVMFree};

const halo_cl_api *halo_cpu_open(const halo_cl_api *system, const char **missing) {
#if defined(__x86_64__)
  *missing = cpu_front_find(system);
#else
  (void)system;
  *missing = "code is made for x86-64 only";
#endif
  return *missing ? NULL : &provider_table;
}

void cpu_describe_driver(char *out, size_t size) {
  snprintf(out, size, "%s, %s", cpu_front_name(), cpu_target_march());
}
