/* SPDX-License-Identifier: Apache-2.0 */
/* base/processor.c: asks the processor itself. __builtin_cpu_supports reads tables of the compiler's own library, and those
 * that zig links, with which the wheel is built, stay empty. */
#include "base/processor.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <stdint.h>

enum { PROCESSOR_AX, PROCESSOR_BX, PROCESSOR_CX, PROCESSOR_DX };
/* Registers that the system saves, as bits of XCR0, with those that they extend. */
enum { PROCESSOR_YMM = 0x6, PROCESSOR_ZMM = 0xe6 };

static bool processor_has(unsigned leaf, unsigned subleaf, unsigned place, unsigned bit) {
  unsigned registers[4];
  return __get_cpuid_count(leaf, subleaf, &registers[0], &registers[1], &registers[2],
                           &registers[3]) &&
         (registers[place] >> bit & 1);
}

static bool processor_saves(uint32_t states) {
  if (!processor_has(1, 0, PROCESSOR_CX, 27)) return false; /* OSXSAVE */
  uint32_t low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & states) == states;
}

bool halo_processor_has_avx2(void) {
  return processor_saves(PROCESSOR_YMM) && processor_has(1, 0, PROCESSOR_CX, 12) &&
         processor_has(7, 0, PROCESSOR_BX, 5);
}

bool halo_processor_has_avx512(void) {
  enum { F = 16, DQ = 17, BW = 30, VL = 31 };
  return processor_saves(PROCESSOR_ZMM) && processor_has(7, 0, PROCESSOR_BX, F) &&
         processor_has(7, 0, PROCESSOR_BX, DQ) && processor_has(7, 0, PROCESSOR_BX, BW) &&
         processor_has(7, 0, PROCESSOR_BX, VL);
}

bool halo_processor_has_avx512vnni(void) {
  return halo_processor_has_avx512() && processor_has(7, 0, PROCESSOR_CX, 11);
}

bool halo_processor_has_avx512bf16(void) {
  return halo_processor_has_avx512() && processor_has(7, 1, PROCESSOR_AX, 5);
}

#else

bool halo_processor_has_avx2(void) { return false; }
bool halo_processor_has_avx512(void) { return false; }
bool halo_processor_has_avx512vnni(void) { return false; }
bool halo_processor_has_avx512bf16(void) { return false; }

#endif
