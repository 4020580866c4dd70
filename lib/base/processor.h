/* SPDX-License-Identifier: Apache-2.0 */
/* base/processor.h: instructions of this processor beyond its architecture's baseline, where the system saves their
 * registers. */
#ifndef HALO_BASE_PROCESSOR_H
#define HALO_BASE_PROCESSOR_H

#include <stdbool.h>

/* Each is false on processors other than x86-64. */
bool halo_processor_has_avx2(void);   /* AVX2 and FMA */
bool halo_processor_has_avx512(void); /* F, VL, BW and DQ: what Skylake has of it */
bool halo_processor_has_avx512vnni(void);
bool halo_processor_has_avx512bf16(void);

#endif
