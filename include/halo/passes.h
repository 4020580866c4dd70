/* SPDX-License-Identifier: Apache-2.0 */
/* halo/passes.h: the optimisation passes, for tools that inspect or control them. Compiling a
 * module runs them anyway. */
#ifndef HALO_PASSES_H
#define HALO_PASSES_H

#include "halo/module.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How to run the passes. By default (zero-initialised) all passes run, and the module is verified
 * after each. */
typedef struct halo_pass_options {
  bool no_optimization; /* only the passes that execution requires */
  bool no_fusion;       /* everything but fusion */
  const char *disabled; /* names not to run, separated by commas; NULL: none */
  /* Called with the module after each pass that changed it; NULL: not called. */
  void (*dump)(void *user, const char *pass, const halo_module *module);
  void *user;
  bool no_verify; /* do not verify the module after each pass that changed it */
} halo_pass_options;

/* A copy of `module` after the passes, released by the caller; `module` is not changed. `options`
 * may be NULL. Returns HALO_INVALID_ARGUMENT if `disabled` names no pass or the environment has a
 * misspelt variable (HALO_DISABEL_PASSES), HALO_UNIMPLEMENTED if
 * inlining would make the module too large, and HALO_INTERNAL if a pass broke the module. */
HALO_API HALO_MUST_USE halo_status halo_module_optimize(const halo_module *module,
                                                        const halo_pass_options *options,
                                                        halo_module **out);

/* The name of pass number `index`, in the order in which passes first run, each once; NULL after
 * the last. Static. */
HALO_API const char *halo_pass_name(int index);
/* One sentence about what the pass does; NULL after the last. Static. */
HALO_API const char *halo_pass_description(int index);

/* The number of instructions with an opcode. */
typedef struct halo_opcode_count {
  const char *name; /* static */
  int64_t count;
} halo_opcode_count;

/* The size of the list of opcodes in a summary. */
enum { HALO_SUMMARY_OPCODES = 160 };
/* The size of a module as it stands, over all its computations. */
typedef struct halo_module_summary {
  int computations;
  int64_t instructions;
  double argument_bytes, result_bytes, constant_bytes;
  /* Operations of one run: one per element of an elementwise instruction; a multiplication and an addition
   * per pair of a product; each application in reductions and similar operations. Of a conditional, the
   * most expensive branch counts. */
  double operations;
  bool has_open_loops; /* loops of unknown trip count, which count as one round */
  int opcode_count;
  halo_opcode_count opcodes[HALO_SUMMARY_OPCODES]; /* the most frequent first */
} halo_module_summary;
/* Fills in *out. */
HALO_API void halo_module_summarise(const halo_module *module, halo_module_summary *out);

/* How halo_module_to_graph writes a module. */
typedef enum halo_graph_format {
  HALO_GRAPH_JSON, /* for viewers: lists of computations and of their instructions */
  HALO_GRAPH_DOT   /* for Graphviz: called computations are clusters */
} halo_graph_format;
/* The module as a graph: instructions with their operands' shapes on the edges, and with what each computes, moves and
 * is predicted to take. To be freed with halo_text_release. */
HALO_API HALO_MUST_USE halo_status halo_module_to_graph(const halo_module *module,
                                                        halo_graph_format format, char **out);

#ifdef __cplusplus
}
#endif
#endif
