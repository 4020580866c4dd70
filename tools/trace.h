/* SPDX-License-Identifier: Apache-2.0 */
/* tools/trace.h: a recorded trace as a file for viewers such as Perfetto. */
#ifndef HALO_TOOLS_TRACE_H
#define HALO_TOOLS_TRACE_H

#include "halo/trace.h"

/* Writes what halo_trace_collect gave as JSON, in the format of Chrome's traces. False after a message. */
bool trace_write(const char *path, const halo_trace_span *spans, int count);

#endif
