/* SPDX-License-Identifier: Apache-2.0 */
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

/* Runs a module on the host, without a device and without optimisation: slow and simple, and
 * sharing no code with the kernels. Functions of f32 and narrower types are computed in double
 * precision and rounded once. `arguments` has one literal for each parameter of the entry
 * (HALO_INVALID_ARGUMENT otherwise); they are borrowed. The caller releases *out, a tuple if the
 * module's result is one. Returns HALO_UNIMPLEMENTED, with the instruction's name, for what cannot
 * be interpreted: collectives, infeed, outfeed, host callbacks and rng. An endless loop does not
 * return. Any thread. */
HALO_API HALO_MUST_USE halo_status halo_module_evaluate(const halo_module *module,
                                                        halo_literal *const *arguments,
                                                        int argument_count, halo_literal **out);

/* The error bound of an elementwise function on this device, in ULP (docs/accuracy.md). `opcode` is
 * the function's name in HLO text ("tanh"). 0: no bound is guaranteed, or there is no such
 * function. Any thread. */
HALO_API int halo_device_accuracy(const halo_device *device, const char *opcode, halo_type type);

#ifdef __cplusplus
}
#endif

#endif
