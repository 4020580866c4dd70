/* SPDX-License-Identifier: Apache-2.0 */
/* cpu/target.h: the processor that code is made for, in LLVM's words. */
#ifndef HALO_CPU_TARGET_H
#define HALO_CPU_TARGET_H

#include <stdbool.h>
#include <stdint.h>

typedef struct cpu_target {
  const char *cpu;      /* for costs */
  const char *features; /* "+avx2,..." */
} cpu_target;

/* LLVM must be open. It stays. Any thread. */
const cpu_target *cpu_target_get(void);
/* The name that front ends know the processor by. */
const char *cpu_target_march(void);

/* Why code for a processor that $HALO_CPU may name (NULL: none) does not run on one that has AVX2 or has not; NULL: it does.
 * Static. */
const char *cpu_target_check(const char *wanted, bool has_avx2);
/* The same for this processor, and what $HALO_CPU names. */
const char *cpu_target_missing(void);

/* A number for the instructions that the processor has: code for one may not run on another. */
uint64_t cpu_target_fingerprint(void);

#endif
