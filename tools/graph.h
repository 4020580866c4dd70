/* SPDX-License-Identifier: Apache-2.0 */
/* tools/graph.h: a module as a picture. */
#ifndef HALO_TOOLS_GRAPH_H
#define HALO_TOOLS_GRAPH_H

#include "halo/module.h"

#include <stdbool.h>

/* The page around the graph: tools/graph/view.html. */
extern const char graph_before[], graph_behind[];

/* Whether a file of this name can be written: .html, .dot or .svg. */
bool graph_knows(const char *path);
/* Writes it, .svg by Graphviz's `dot`. False after a message. */
bool graph_write(const halo_module *module, const char *path);

#endif
