/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/llvm.h: the LLVM that PoCL has loaded. */
#ifndef HALO_OPENCL_LLVM_H
#define HALO_OPENCL_LLVM_H

#include "cpu/llvm.h"

/* NULL where PoCL is not loaded, or has no LLVM with all functions of the table that others may call. It stays. Any thread;
 * to be called first when PoCL has a device. */
const halo_llvm *halo_llvm_find(void);

#endif
