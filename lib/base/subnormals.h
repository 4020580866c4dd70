/* SPDX-License-Identifier: Apache-2.0 */
/* base/subnormals.h: how the processor takes subnormal numbers, in the calling thread. */
#ifndef HALO_BASE_SUBNORMALS_H
#define HALO_BASE_SUBNORMALS_H

#include <stdint.h>

/* From here to the end f32 and f64 that are subnormal count as zero, and are zero where they would be results, as in
 * kernels that flush them. Gives what the end takes. On processors other than x86-64 and AArch64 nothing changes. */
uint64_t halo_subnormals_flush(void);
void halo_subnormals_restore(uint64_t before);

#endif
