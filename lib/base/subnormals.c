/* SPDX-License-Identifier: Apache-2.0 */
/* base/subnormals.c: the processor's control register for floats. */
#include "base/subnormals.h"

#if defined(__x86_64__)
#include <xmmintrin.h>

enum { MXCSR_FLUSH_TO_ZERO = 1 << 15, MXCSR_SUBNORMALS_ARE_ZERO = 1 << 6 };

uint64_t halo_subnormals_flush(void) {
  unsigned before = _mm_getcsr();
  _mm_setcsr(before | MXCSR_FLUSH_TO_ZERO | MXCSR_SUBNORMALS_ARE_ZERO);
  return before;
}

void halo_subnormals_restore(uint64_t before) { _mm_setcsr((unsigned)before); }

#elif defined(__aarch64__)

enum { FPCR_FLUSH = 1 << 24 };

uint64_t halo_subnormals_flush(void) {
  uint64_t before;
  __asm__ volatile("mrs %0, fpcr" : "=r"(before));
  __asm__ volatile("msr fpcr, %0" : : "r"(before | FPCR_FLUSH) : "memory");
  return before;
}

void halo_subnormals_restore(uint64_t before) {
  __asm__ volatile("msr fpcr, %0" : : "r"(before) : "memory");
}

#else

uint64_t halo_subnormals_flush(void) { return 0; }
void halo_subnormals_restore(uint64_t before) { (void)before; }

#endif
