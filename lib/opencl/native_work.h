/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/native_work.h: what the files that make kernels machine code share. Private to native*.c. */
#ifndef HALO_OPENCL_NATIVE_WORK_H
#define HALO_OPENCL_NATIVE_WORK_H

#include "opencl/llvm.h"
#include "opencl/native.h"

enum {
  NATIVE_PARTS = 8,                                  /* of a kernel, at most */
  NATIVE_OBJECTS = NATIVE_PARTS + HALO_NATIVE_SHARED /* of a kernel's library */
};

struct halo_native_work {
  const halo_llvm *llvm;
  const halo_native_kernel *kernel;
  llvm_context *context;
  llvm_module *module;
  llvm_machine *machine;
  llvm_value *group; /* the function that runs a group; of a shared function itself */
  /* The group of accesses that its loop's rounds do not share; NULL: there is none. */
  llvm_value *access;
};

/* False: LLVM does not know one of the passes. */
bool native_run(const halo_native_work *w, const char *passes);

/* ---- native_parts.c ---- */

/* Leaves the functions of one part; those of others, and shared ones, are declared. The first part has the group. */
void native_keep_part(const halo_native_work *w, int part, int parts);

#endif
