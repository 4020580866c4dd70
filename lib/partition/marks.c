/* SPDX-License-Identifier: Apache-2.0 */
/* partition/marks.c: what single instructions, and the module's header, say to the partitioner: markers of shardings,
 * frontend attributes, rotations. */
#include "partition/spmd.h"

#include <string.h>

static const char *marks_target(const halo_instr *instr) {
  const halo_attr *target = halo_instr_attr(instr, HALO_ATTR_CUSTOM_CALL_TARGET);
  return instr->opcode == HALO_OP_CUSTOM_CALL && target ? target->text : "";
}

halo_spmd_marker halo_spmd_marker_of(const halo_instr *instr) {
  static const char *const same[] = {"Sharding", "xla.sdy.FuncResultSharding", "LayoutConstraint",
                                     "annotate_device_placement"};
  const char *target = marks_target(instr);
  if (instr->opcode == HALO_OP_DOMAIN) return HALO_SPMD_SAME;
  if (strcmp(target, "SPMDFullToShardShape") == 0) return HALO_SPMD_TO_PART;
  if (strcmp(target, "SPMDShardToFullShape") == 0) return HALO_SPMD_TO_ALL;
  for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
    if (strcmp(target, same[i]) != 0 || instr->operand_count != 1) continue;
    return halo_shape_compatible(instr->shape, instr->operands[0]->shape) ? HALO_SPMD_SAME
                                                                          : HALO_SPMD_NO_MARKER;
  }
  return HALO_SPMD_NO_MARKER;
}

const char *halo_spmd_frontend(const halo_instr *instr, const char *name) {
  const halo_attr *attr = halo_instr_attr(instr, HALO_ATTR_FRONTEND_ATTRIBUTES);
  for (int32_t i = 0; attr && i + 1 < attr->strings.count; i += 2) {
    if (strcmp(attr->strings.data[i], name) == 0) return attr->strings.data[i + 1];
  }
  return NULL;
}

bool halo_spmd_is_rotation(const halo_instr *instr, int *dim, int64_t *by) {
  const halo_attr *target = halo_instr_attr(instr, HALO_ATTR_CUSTOM_CALL_TARGET);
  if (instr->opcode != HALO_OP_CUSTOM_CALL || !target || !target->text ||
      strcmp(target->text, HALO_SPMD_ROTATION) != 0) {
    return false;
  }
  int32_t count;
  const int64_t *list = halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &count);
  if (count != 2) return false;
  *dim = (int)list[0];
  *by = list[1];
  return true;
}

bool halo_spmd_is_free(const halo_module *module, bool result, int32_t index) {
  const char *name = result ? "allow_spmd_sharding_propagation_to_output"
                            : "allow_spmd_sharding_propagation_to_parameters";
  for (int32_t i = 0; i < module->header.count; i++) {
    if (strcmp(module->header.data[i].name, name) != 0) continue;
    const char *at = module->header.data[i].text;
    bool several = strchr(at, ',') != NULL;
    for (int32_t skip = several ? index : 0; skip > 0 && at; skip--) {
      at = strchr(at, ',');
      if (at) at++;
    }
    if (!at) return false;
    at += strspn(at, "{ ");
    return strncmp(at, "true", 4) == 0;
  }
  return false;
}
