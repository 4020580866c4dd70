/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/probe.h: what a device really does, as opposed to what its driver states. Small kernels, whose results are checked, say
 * whether fma() rounds once, whether a * b + c rounds twice where FP_CONTRACT is off, whether conversions to and from f16, and
 * arithmetic in f16 where there is any, are right, and how much local memory a work group gets. */
#ifndef HALO_OPENCL_PROBE_H
#define HALO_OPENCL_PROBE_H

#include "opencl/opencl.h"

/* The verdict of a probe. */
typedef enum halo_probe_verdict {
  HALO_PROBE_NONE, /* not asked: the driver does not claim it, or probes are off */
  HALO_PROBE_RIGHT,
  HALO_PROBE_WRONG, /* other values than expected */
  HALO_PROBE_FAILS  /* it does not build, a call fails, or the process ended meanwhile */
} halo_probe_verdict;

typedef enum halo_probe_kind {
  HALO_PROBE_FMA,         /* WRONG or FAILS: caps.fma_f32 becomes false */
  HALO_PROBE_CONTRACTION, /* WRONG: caps.contracts becomes true */
  HALO_PROBE_CONVERSION,  /* of f16; WRONG or FAILS: caps.converts_f16 becomes false */
  HALO_PROBE_ARITHMETIC,  /* in f16; WRONG or FAILS: caps.has_f16 and converts_f16 become false */
  HALO_PROBE_LOCAL,       /* WRONG or FAILS: caps.local_memory becomes what works */
  HALO_PROBE_KINDS
} halo_probe_kind;

/* The facts known of a device. Plain data, kept on disk. */
typedef struct halo_probe_facts {
  uint64_t local_memory; /* bytes a work group that work */
  uint32_t attempts;     /* processes that began to ask */
  uint8_t is_done;       /* the rest is known */
  uint8_t flushes_f16;   /* arithmetic in f16 takes subnormal numbers for zero */
  uint8_t verdicts[HALO_PROBE_KINDS];
  uint8_t padding;
} halo_probe_facts;

/* Corrects the device's capabilities by its probes: the first call asks the device, or the cache folder, where the answers of one
 * driver version are kept; later calls cost nothing. Nothing is done on processors and null devices, or where HALO_PROBES is off. Where even
 * the plainest kernel fails, nothing is concluded. A process that ended while it asked is noted on disk: after the second
 * one, all that was asked counts as failing. To be called before a plan is made for the device. Any thread. */
void halo_cl_probe(halo_cl_device *device);

/* Corrects capabilities by what the cache folder (may be NULL) knows of the device; false: nothing. */
bool halo_cl_probe_recall(const char *directory, halo_caps *caps, halo_probe_facts *out);

/* The facts in words: "fma exact; ...". Free with halo_free. */
char *halo_cl_probe_text(const halo_probe_facts *facts);

#endif
