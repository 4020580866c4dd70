/* SPDX-License-Identifier: Apache-2.0 */
/* cpu/provider.c: the table of this provider's functions. */
#include "base/memory.h"
#include "cpu/compile.h"
#include "cpu/objects.h"
#include "cpu/target.h"

#include <CL/cl_icd.h>

static const halo_cl_api provider_table = {
#define PROVIDER_ROW(name) .name = cpu_##name,
    HALO_CL_FUNCTIONS(PROVIDER_ROW)
#undef PROVIDER_ROW
        .clSVMAlloc = cpu_clSVMAlloc,
    .clSVMFree = cpu_clSVMFree};

/* ---- The library's own table ---- */

static pthread_once_t provider_once = PTHREAD_ONCE_INIT;

/* The ICD loader finds functions here, by the first word of each object. */
static void provider_fill(void) {
#define PROVIDER_ROW(name) halo_cpu_dispatch.name = cpu_##name;
  HALO_CL_FUNCTIONS(PROVIDER_ROW)
#undef PROVIDER_ROW
  cpu_others_fill(&halo_cpu_dispatch);
}

const halo_cl_api *halo_cpu_open(const char **missing) {
#if defined(__x86_64__)
  *missing = cpu_target_missing();
  if (!*missing) *missing = cpu_front_find();
#else
  *missing = "code is made for x86-64 only";
#endif
  if (*missing) return NULL;
  pthread_once(&provider_once, provider_fill);
  return &provider_table;
}
