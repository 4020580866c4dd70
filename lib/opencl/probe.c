/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/probe.c: what a device really does: asked once for each driver version, and kept. */
#include "opencl/probe.h"

#include "base/clock.h"
#include "base/config.h"
#include "base/folder.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "opencl/private.h"
#include "opencl/probe_kernels.h"
#include "os/file.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

/* To be changed with what is asked, or how answers are kept. */
static const char probe_about[] = "probes 1";

enum {
  PROBE_ATTEMPTS = 2, /* processes that may end while they ask */
  PROBE_LOCAL_MOST =
      256 << 10 /* bytes of local memory; what processors state beyond is memory like any other */
};

/* ---- Asking ---- */

static bool probe_is_claimed(const halo_caps *caps, halo_probe_kind kind) {
  switch (kind) {
    case HALO_PROBE_FMA: return caps->fma_f32;
    case HALO_PROBE_CONTRACTION:
    case HALO_PROBE_CONVERSION: return true;
    case HALO_PROBE_ARITHMETIC: return caps->has_f16;
    case HALO_PROBE_LOCAL: return caps->local_memory > 0;
    case HALO_PROBE_KINDS: break;
  }
  return false;
}

/* Asks for the kinds of `asked` by one program and in a context of its own, which a kernel may spoil. */
static void probe_ask(const halo_cl_device *device, unsigned asked, halo_probe_facts *facts) {
  halo_probe_session session = {.device = device, .local_memory = facts->local_memory};
  bool works = halo_probe_session_open(&session, asked);
  for (int kind = 0; kind < HALO_PROBE_KINDS; kind++) {
    if (!(asked >> kind & 1)) continue;
    halo_probe_verdict verdict = HALO_PROBE_FAILS;
    if (works) verdict = halo_probe_session_ask(&session, (halo_probe_kind)kind);
    facts->verdicts[kind] = (uint8_t)verdict;
  }
  if (asked >> HALO_PROBE_ARITHMETIC & 1) facts->flushes_f16 = session.flushes_f16;
  halo_probe_session_close(&session);
}

static bool probe_any_fails(const halo_probe_facts *facts) {
  bool fails = false;
  for (int kind = 0; kind < HALO_PROBE_KINDS; kind++)
    fails |= facts->verdicts[kind] == HALO_PROBE_FAILS;
  return fails;
}

/* The largest part of what is stated that works; 0: none. */
static void probe_local(const halo_cl_device *device, uint64_t stated, halo_probe_facts *facts) {
  static const uint64_t sixteenths[] = {15, 14, 12, 8, 4, 2, 1};
  halo_probe_verdict first = facts->verdicts[HALO_PROBE_LOCAL];
  facts->local_memory = stated;
  if (first == HALO_PROBE_RIGHT || first == HALO_PROBE_NONE) return;
  bool works = false;
  for (size_t i = 0; i < sizeof sixteenths / sizeof *sixteenths && !works; i++) {
    facts->local_memory = stated / 16 * sixteenths[i] & ~(uint64_t)15;
    probe_ask(device, 1u << HALO_PROBE_LOCAL, facts);
    works = facts->verdicts[HALO_PROBE_LOCAL] == HALO_PROBE_RIGHT;
  }
  facts->verdicts[HALO_PROBE_LOCAL] = (uint8_t)first;
  if (!works) facts->local_memory = 0;
}

/* False: nothing can be concluded, as even the plainest kernel fails. */
static bool probe_run(const halo_cl_device *device, halo_probe_facts *facts) {
  const halo_caps *caps = &device->caps;
  unsigned asked = 0;
  uint64_t stated = caps->local_memory;
  for (int kind = 0; kind < HALO_PROBE_KINDS; kind++)
    asked |= (unsigned)probe_is_claimed(caps, (halo_probe_kind)kind) << kind;
  facts->local_memory = stated < PROBE_LOCAL_MOST ? stated : PROBE_LOCAL_MOST;
  probe_ask(device, asked, facts);
  /* A probe that fails may have taken the others along. */
  for (int kind = 0; probe_any_fails(facts) && kind < HALO_PROBE_KINDS; kind++)
    if (asked >> kind & 1) probe_ask(device, 1u << kind, facts);
  probe_local(device, facts->local_memory, facts);
  if (facts->local_memory == PROBE_LOCAL_MOST) facts->local_memory = stated;
  if (probe_any_fails(facts)) probe_ask(device, 1u << HALO_PROBE_CONTRACTION, facts);
  return facts->verdicts[HALO_PROBE_CONTRACTION] != HALO_PROBE_FAILS;
}

/* ---- Keeping ---- */

/* Other processes wait until this one knows the answers; -1: they do not. */
static int probe_lock_folder(const char *directory) {
  if (!directory) return -1;
  halo_folder_make(directory);
  if (!halo_folder_is_trusted(directory)) return -1;
  return halo_os_lock_folder(directory);
}

static bool probe_load(const char *directory, const halo_caps *caps, halo_probe_facts *facts) {
  bool found = halo_cl_fact_load(directory, caps, probe_about, facts, sizeof *facts);
  if (!found) memset(facts, 0, sizeof *facts);
  return found && facts->is_done;
}

/* False: nothing is known. */
static bool probe_find(halo_cl_device *device, const char *directory, halo_probe_facts *facts) {
  const halo_caps *caps = &device->caps;
  if (probe_load(directory, caps, facts)) return true;
  uint32_t attempts = facts->attempts;
  bool known = true;
  memset(facts, 0, sizeof *facts);
  facts->attempts = attempts + 1;
  if (directory && attempts >= PROBE_ATTEMPTS) {
    for (int kind = 0; kind < HALO_PROBE_KINDS; kind++) {
      bool claimed = probe_is_claimed(caps, (halo_probe_kind)kind);
      if (claimed) facts->verdicts[kind] = HALO_PROBE_FAILS;
    }
    facts->local_memory = caps->local_memory / 2;
  } else {
    halo_cl_fact_save(directory, caps, probe_about, facts, sizeof *facts);
    known = probe_run(device, facts);
  }
  facts->is_done = known;
  if (!known) facts->attempts = attempts;
  halo_cl_fact_save(directory, caps, probe_about, facts, sizeof *facts);
  return known;
}

/* ---- What follows ---- */

/* Other threads may ask for a device's description meanwhile. */
static void probe_apply(const halo_probe_facts *facts, halo_caps *caps) {
  const uint8_t *verdicts = facts->verdicts;
#define PROBE_IS_BAD(kind)                                                                         \
  (verdicts[kind] == HALO_PROBE_WRONG || verdicts[kind] == HALO_PROBE_FAILS)
  if (PROBE_IS_BAD(HALO_PROBE_FMA)) caps->fma_f32 = false;
  if (verdicts[HALO_PROBE_CONTRACTION] == HALO_PROBE_WRONG) caps->contracts = true;
  /* Compilers do in f16 what is converted there and back: half.cl. */
  if (PROBE_IS_BAD(HALO_PROBE_CONVERSION) || PROBE_IS_BAD(HALO_PROBE_ARITHMETIC) ||
      facts->flushes_f16) {
    caps->converts_f16 = false;
  }
  if (PROBE_IS_BAD(HALO_PROBE_ARITHMETIC))
    __atomic_store_n(&caps->has_f16, false, __ATOMIC_RELAXED);
  if (facts->flushes_f16) caps->denormals_f16 = false;
  if (PROBE_IS_BAD(HALO_PROBE_LOCAL))
    __atomic_store_n(&caps->local_memory, facts->local_memory, __ATOMIC_RELAXED);
#undef PROBE_IS_BAD
}

static bool probe_is_wanted(const halo_caps *caps) {
  return !caps->is_null && !caps->is_cpu && !halo_config_refused(HALO_CONFIG_PROBES);
}

bool halo_cl_probe_recall(const char *directory, halo_caps *caps, halo_probe_facts *out) {
  halo_probe_facts facts;
  if (!probe_is_wanted(caps) || !probe_load(directory, caps, &facts)) return false;
  probe_apply(&facts, caps);
  *out = facts;
  return true;
}

void halo_cl_probe(halo_cl_device *device) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  if (!probe_is_wanted(&device->caps) || atomic_load(&device->probed)) return;
  pthread_mutex_lock(&lock);
  if (!atomic_load(&device->probed)) {
    halo_probe_facts facts;
    double start = halo_clock();
    const char *directory = halo_cl_programs_directory(device);
    char *message = halo_error_save();
    int folder = probe_lock_folder(directory);
    bool known = probe_find(device, directory, &facts);
    if (folder >= 0) close(folder);
    halo_error_restore(message);
    if (known) probe_apply(&facts, &device->caps);
    char *text = halo_cl_probe_text(&facts);
    HALO_LOG(HALO_LOG_INFO, "probes of %s: %s; %.3f s", device->caps.name,
             known ? text : "no kernel works", halo_clock() - start);
    halo_free(text);
    atomic_store(&device->probed, true);
  }
  pthread_mutex_unlock(&lock);
}

char *halo_cl_probe_text(const halo_probe_facts *facts) {
  static const char *const words[HALO_PROBE_KINDS][4] = {
      [HALO_PROBE_FMA] = {NULL, "fma exact", "fma wrong: not used", "fma fails: not used"},
      [HALO_PROBE_CONTRACTION] = {NULL, "a*b+c rounded twice",
                                  "a*b+c rounded once, though FP_CONTRACT is off", NULL},
      [HALO_PROBE_CONVERSION] = {NULL, "f16 conversions right",
                                 "f16 conversions wrong: done in whole numbers",
                                 "f16 conversions fail: done in whole numbers"},
      [HALO_PROBE_ARITHMETIC] = {NULL, "f16 arithmetic right", "f16 arithmetic wrong: not used",
                                 "f16 arithmetic fails: not used"},
      [HALO_PROBE_LOCAL] = {NULL, "local memory as stated", "less local memory than stated",
                            "less local memory than stated"}};
  halo_strbuf text = {0};
  for (int kind = 0; kind < HALO_PROBE_KINDS; kind++) {
    const char *said = words[kind][facts->verdicts[kind] & 3];
    if (said) halo_strbuf_printf(&text, "%s%s", text.length ? "; " : "", said);
    bool is_less = kind == HALO_PROBE_LOCAL && facts->verdicts[kind] >= HALO_PROBE_WRONG;
    if (is_less) halo_strbuf_printf(&text, ": %" PRIu64 " bytes", facts->local_memory);
  }
  return halo_strbuf_take(&text);
}
