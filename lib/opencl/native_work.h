/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/native_work.h: what the files that make kernels machine code share. Private to native*.c. */
#ifndef HALO_OPENCL_NATIVE_WORK_H
#define HALO_OPENCL_NATIVE_WORK_H

#include "cpu/module.h"
#include "opencl/llvm.h"
#include "opencl/native.h"

enum {
  NATIVE_PARTS = 8,                                  /* of a kernel, at most */
  NATIVE_OBJECTS = NATIVE_PARTS + HALO_NATIVE_SHARED /* of a kernel's library */
};

struct halo_native_work {
  cpu_module m; /* its entry: the function that runs a group; of a shared function itself */
  const halo_native_kernel *kernel;
  /* The group of accesses that its loop's rounds do not share; NULL: there is none. */
  llvm_value *access;
};

/* ---- native_parts.c ---- */

/* Leaves the functions of one part; those of others, and shared ones, are declared. The first part has the group. */
void native_keep_part(const halo_native_work *w, int part, int parts);

#endif
