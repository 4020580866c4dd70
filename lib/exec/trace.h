/* SPDX-License-Identifier: Apache-2.0 */
/* exec/trace.h: noting when steps run, while somebody records it (halo/trace.h). */
#ifndef HALO_EXEC_TRACE_H
#define HALO_EXEC_TRACE_H

#include "exec/run.h"

extern atomic_bool halo_trace_is_on;
/* Whether a run's steps are to be noted. Costs one load. */
static inline bool halo_trace_wants(const halo_run *run) {
  return atomic_load_explicit(&halo_trace_is_on, memory_order_relaxed) &&
         run->program->device->timed;
}
/* Notes a step that was just queued; a reference to its event is added. */
void halo_trace_add(const halo_run *run, const halo_step *step, cl_event event);
/* Notes a run, over now, of which the host did all. */
void halo_trace_add_host(const halo_run *run);

#endif
