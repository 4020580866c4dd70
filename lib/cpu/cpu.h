/* SPDX-License-Identifier: Apache-2.0 */
/* cpu/cpu.h: this machine's processor as an OpenCL device of our own: a provider of the table of OpenCL's functions
 * (opencl/api.h).
 *
 * Its queues run commands in the thread that waits for them, or in threads of its own; its memory is the host's; its
 * kernels are machine code that LLVM makes of the bitcode that a front end (front.h) makes of their text. The items of a work
 * group run one after the other, so that groups of kernels with barriers have one item (CL_KERNEL_WORK_GROUP_SIZE says
 * so); the device reports groups of one item for all. */
#ifndef HALO_CPU_CPU_H
#define HALO_CPU_CPU_H

#include "opencl/api.h"

#include <stdbool.h>

/* What CL_PLATFORM_NAME says. */
#define HALO_CPU_PLATFORM "Halocline"

/* As halo_cl_provider.in_caller. */
#define HALO_CPU_QUEUE_IN_CALLER ((cl_command_queue_properties)1 << 40)

/* The provider's functions, or NULL where this machine cannot make kernels: `*missing` then names what is not there
 * (static). Any thread. */
const halo_cl_api *halo_cpu_open(const char **missing);

/* Whether HALO_CPU may name this processor for code to be made for. */
bool halo_cpu_is_processor(const char *name);

/* What all objects begin with. */
extern struct _cl_icd_dispatch halo_cpu_dispatch;

/* The row of opencl/providers.def. */
extern const halo_cl_provider halo_cpu_provider;

#endif
