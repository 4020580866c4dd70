/* SPDX-License-Identifier: Apache-2.0 */
/* tools/graph.h: a module as a picture. */
#ifndef HALO_TOOLS_GRAPH_H
#define HALO_TOOLS_GRAPH_H

#include "halo/module.h"
#include "halo/trace.h"

#include <stdbool.h>

/* The page around the graph and the measured times: tools/graph/view.html. */
extern const char graph_before[], graph_between[], graph_behind[];

/* Whether a file of this name can be written: .html, .dot or .svg. */
bool graph_knows(const char *path);
/* Writes it, .svg by Graphviz's `dot`. A page is coloured by what steps took in the runs that were recorded in `spans`, or
 * where there are none (`count` 0) by what they are predicted to take. False after a message. */
bool graph_write(const halo_module *module, const char *path, const halo_trace_span *spans,
                 int count);

#endif
