/* halo/reference.h: what results should be: an interpreter of programs, and the error bounds of functions. */
#ifndef HALO_REFERENCE_H
#define HALO_REFERENCE_H

#include "halo/annotations.h"
#include "halo/client.h"
#include "halo/literal.h"
#include "halo/module.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Runs a module on the host, without a device and without optimisation: slow, plain, and sharing no code with the kernels.
 * Functions of f32 and narrower types are computed in double precision and rounded once. `arguments` holds one literal for
 * each parameter of the entry (HALO_INVALID_ARGUMENT otherwise); they are borrowed. *out is a new reference: a tuple if the
 * module's result is one. HALO_UNIMPLEMENTED names an instruction that cannot be interpreted: collectives, infeed,
 * outfeed, host callbacks, rng. A loop that never ends never returns. Any thread. */
HALO_API HALO_MUST_USE halo_status halo_module_evaluate(const halo_module *module,
                                                        halo_literal *const *arguments,
                                                        int argument_count, halo_literal **out);

/* How far the result of an elementwise function may be from its true value on this device, in ULP (docs/accuracy.md).
 * `opcode` is its name in HLO text ("tanh"). 0: no bound is promised, or there is no such function. Any thread. */
HALO_API int halo_device_accuracy(const halo_device *device, const char *opcode, halo_type type);

#ifdef __cplusplus
}
#endif

#endif
