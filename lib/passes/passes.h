/* SPDX-License-Identifier: Apache-2.0 */
/* passes/passes.h: the passes of passes.def.
 *
 * Each pass changes a verified module in place and leaves a verified one; each can run alone and any
 * number of times. *changed is exact: false means that nothing was touched, and a second run of a
 * pass straight after the first reports false. A pass allocates in the module's arena; it is for one
 * thread at a time. Failures are rare (HALO_OUT_OF_MEMORY, HALO_UNIMPLEMENTED, HALO_INTERNAL) and leave
 * a module that may only be released.
 *
 * Control edges keep order between instructions; instructions that have one, or are the source of
 * one, are left as they are by the simplifying passes. */
#ifndef HALO_PASSES_PASSES_H
#define HALO_PASSES_PASSES_H

#include "halo/passes.h"
#include "hlo/hlo.h"

/* The whole table, in order. `options` may be NULL. Errors as halo_module_optimize. */
halo_status halo_passes_run(halo_module *module, const halo_pass_options *options);

typedef halo_status halo_pass_fn(halo_module *module, bool *changed);

#define PASS(id, name, file, need, text) halo_pass_fn halo_pass_##id;
#include "passes/passes.def"

#endif
