/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/probe_kernels.h: the kernels of probes, and what their results should be. */
#ifndef HALO_OPENCL_PROBE_KERNELS_H
#define HALO_OPENCL_PROBE_KERNELS_H

#include "opencl/probe.h"

/* A context with one program, which has the kernels of some probes. */
typedef struct halo_probe_session {
  const halo_cl_device *device;
  uint64_t local_memory; /* bytes that the kernel for local memory has */
  bool flushes_f16;      /* noted by the probe of arithmetic in f16 */
  cl_context context;    /* this and the rest is probe_kernels.c's */
  cl_command_queue queue;
  cl_program program;
} halo_probe_session;

/* Builds the kernels of the kinds of `asked`, a bit each; `device` and `local_memory` are set. False: that cannot be done. To be
 * closed in either case. */
bool halo_probe_session_open(halo_probe_session *session, unsigned asked);
/* Runs the kernels of one of these kinds, and checks what they give. */
halo_probe_verdict halo_probe_session_ask(halo_probe_session *session, halo_probe_kind kind);
void halo_probe_session_close(halo_probe_session *session);

#endif
