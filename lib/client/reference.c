/* SPDX-License-Identifier: Apache-2.0 */
/* client/reference.c: what results should be, for those outside: the evaluator and the bounds of functions. */
#include "halo/reference.h"

#include "client/executable.h"
#include "evaluator/evaluator.h"
#include "passes/expand/accuracy.h"

halo_status halo_module_evaluate(const halo_module *module, halo_literal *const *arguments,
                                 int argument_count, halo_literal **out) {
  *out = NULL;
  return halo_evaluate(module->entry, arguments, argument_count, out);
}

int halo_device_accuracy(const halo_device *device, const char *opcode, halo_type type) {
  halo_target target = halo_target_of_device(device);
  halo_opcode found;
  return halo_opcode_from_name(opcode, &found) ? halo_accuracy_bound(&target, found, type) : 0;
}
