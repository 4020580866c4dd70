/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/stablehlo.h: HLO modules of StableHLO programs. */
#ifndef HALO_STABLEHLO_STABLEHLO_H
#define HALO_STABLEHLO_STABLEHLO_H

#include "halo/module.h"
#include "stablehlo/mlir.h"

/* The program as a verified HLO module; the program may be released afterwards. `how` NULL: nothing is given.
 * HALO_INVALID_ARGUMENT and HALO_UNIMPLEMENTED with a message that names the operation, where it came from in the
 * user's source as far as the program says that, and what was expected. Changes the program's scratch members,
 * and its types where dimensions become known. */
halo_status halo_stablehlo_to_module(halo_mlir_program *program, const halo_specialisation *how,
                                     halo_module **out);

/* Likewise, but no more than the parameters: a module whose entry takes them and gives nothing. Extents `?` stay
 * HALO_UNBOUNDED. It cannot run. */
halo_status halo_stablehlo_to_parameters(halo_mlir_program *program, halo_module **out);

/* Whether the bytes are what jax.export's Exported.serialize() gives, and the portable artifact in them if so, which is no
 * copy. */
bool halo_export_artifact(const void *bytes, size_t size, const void **out, size_t *out_size);

/* Whether bytes look like MLIR text rather than HLO text: their first word outside of comments is `module`, `func.func`,
 * `#`, `!`, `"builtin.module"` and the like. */
bool halo_stablehlo_is_text(const char *text, size_t size);

#endif
