/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/pocl.h: what is done for one implementation of OpenCL, PoCL, alone. */
#ifndef HALO_OPENCL_POCL_H
#define HALO_OPENCL_POCL_H

#include "opencl/caps.h"

bool halo_pocl_is(const halo_caps *caps);
/* 100 times the major version, and the minor one, as 301, of a platform's version; 0 where that names no PoCL. */
int halo_pocl_version(const char *platform_version);

/* PoCL before 7.0 ends the process where it does not find its linker, and looks for it in $PATH, which a process may have
 * been started without, or may have cleared since. HALO_FAILED_PRECONDITION in such a process; HALO_OK on other
 * implementations. To be called before PoCL compiles a kernel, as it does at the first launch. Any thread. */
halo_status halo_pocl_check_linker(const halo_caps *caps);
/* PoCL ends the process, too, where there is no room on the disk of its cache. HALO_IO_ERROR then; HALO_OK on other
 * implementations. To be called before it builds a program or compiles a kernel. Any thread. */
halo_status halo_pocl_check_cache(const halo_caps *caps);

#endif
