/* SPDX-License-Identifier: Apache-2.0 */
/* cpu/target.c: the processor that code is made for. */
#include "cpu/target.h"

#include "base/config.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/processor.h"
#include "base/strbuf.h"
#include "cpu/cpu.h"
#include "cpu/llvm.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

static pthread_once_t target_once = PTHREAD_ONCE_INIT;
static cpu_target target_host;

/* What $HALO_CPU may name: processors that have less. Each can do what those before it can. */
static const char *const target_lesser[] = {"x86-64", "haswell"};

static const char *target_named(const char *name) {
  for (size_t i = 0; name && i < sizeof target_lesser / sizeof *target_lesser; i++) {
    if (strcmp(name, target_lesser[i]) == 0) return target_lesser[i];
  }
  return NULL;
}

bool halo_cpu_is_processor(const char *name) { return target_named(name) != NULL; }

/* The processor that $HALO_CPU names; NULL: none. */
static const char *target_wanted(void) { return target_named(halo_config_text(HALO_CONFIG_CPU)); }

const char *cpu_target_check(const char *wanted, bool has_avx2) {
  bool runs = !wanted || strcmp(wanted, "haswell") != 0 || has_avx2;
  return runs ? NULL : "this processor has no AVX2 and FMA, which code for haswell uses";
}

const char *cpu_target_missing(void) {
  return cpu_target_check(target_wanted(), halo_processor_has_avx2());
}

/* LLVM that does not know a processor with vectors of 64 bytes takes it for an older one without; its features are right in any
 * case, which it asks the processor for. */
const char *cpu_target_march(void) {
#if defined(__x86_64__)
  const char *wanted = target_wanted();
  if (wanted) return wanted;
  if (halo_processor_has_avx512()) return "skylake-avx512";
  if (halo_processor_has_avx2()) return "haswell";
  return "x86-64";
#else
  return "native";
#endif
}

uint64_t cpu_target_fingerprint(void) {
  uint32_t words[8] = {0}, a, b, c, d;
#if defined(__x86_64__)
  if (__get_cpuid(1, &a, &b, &c, &d)) words[0] = c, words[1] = d; /* b has the core's number */
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) words[2] = b, words[3] = c, words[4] = d;
  if (__get_cpuid_count(7, 1, &a, &b, &c, &d)) words[5] = a;
  if (__get_cpuid(0x80000001, &a, &b, &c, &d)) words[6] = c, words[7] = d;
#else
  (void)a, (void)b, (void)c, (void)d;
#endif
  return halo_hash(words, sizeof words, 0);
}

static void target_find(void) {
  const halo_llvm *l = halo_llvm_opened();
  halo_strbuf text = {0};
  char *features = l->features_of_host();
  if (!target_wanted()) halo_strbuf_printf(&text, "%s,", features); /* else what the name says */
  l->message_dispose(features);
  /* LLVM 18 crashes over loops with half numbers where it may compute in them. */
  halo_strbuf_append(&text, "-avx512fp16");
  target_host.features = halo_strbuf_take(&text);
#if defined(__x86_64__)
  target_host.cpu = cpu_target_march();
#else
  target_host.cpu = l->name_of_host();
#endif
}

const cpu_target *cpu_target_get(void) {
  pthread_once(&target_once, target_find);
  return &target_host;
}
