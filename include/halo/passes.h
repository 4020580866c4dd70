/* halo/passes.h: the optimisation passes, for tools that want to see or steer them. Compiling a
 * module runs them by itself. */
#ifndef HALO_PASSES_H
#define HALO_PASSES_H

#include "halo/module.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How to run the passes. Zero-initialised is the default: all of them, and the module is verified after each. */
typedef struct halo_pass_options {
  bool no_optimization; /* only the passes that execution cannot do without */
  bool no_fusion;       /* everything but fusion */
  const char *disabled; /* names not to run, separated by commas; NULL: none */
  /* Called with the module after each pass that changed it; NULL: not called. */
  void (*dump)(void *user, const char *pass, const halo_module *module);
  void *user;
  bool no_verify; /* do not verify the module after each pass that changed it */
} halo_pass_options;

/* A copy of `module` after the passes (one reference, released by the caller); `module` itself is not
 * changed. `options` may be NULL. HALO_INVALID_ARGUMENT: `disabled` names no pass; HALO_UNIMPLEMENTED:
 * inlining would make the module too large; HALO_INTERNAL: a pass broke the module. */
HALO_API HALO_MUST_USE halo_status halo_module_optimize(const halo_module *module,
                                                        const halo_pass_options *options,
                                                        halo_module **out);

/* The passes in the order in which they first run, each once: the name of number `index`, or NULL
 * behind the last; and one sentence on what it does. Static. */
HALO_API const char *halo_pass_name(int index);
HALO_API const char *halo_pass_description(int index);

/* How many instructions have an opcode. */
typedef struct halo_opcode_count {
  const char *name; /* static */
  int64_t count;
} halo_opcode_count;

/* How much there is of a module as it stands, over all its computations. */
enum { HALO_SUMMARY_OPCODES = 160 };
typedef struct halo_module_summary {
  int computations;
  int64_t instructions;
  double argument_bytes, result_bytes, constant_bytes;
  /* Of one run: of each elementwise instruction as many as it has elements, of products a multiplication and an
   * addition for each pair, of reductions and their kin what is applied, each time. Of branches the longest counts. */
  double operations;
  bool has_open_loops; /* loops whose rounds are not known; they count as one round */
  int opcode_count;
  halo_opcode_count opcodes[HALO_SUMMARY_OPCODES]; /* the most frequent first */
} halo_module_summary;
HALO_API void halo_module_summarise(const halo_module *module, halo_module_summary *out);

#ifdef __cplusplus
}
#endif
#endif
