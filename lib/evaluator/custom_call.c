/* SPDX-License-Identifier: Apache-2.0 */
/* evaluator/custom_call.c: calls of registered functions, on row-major data. */
#include "custom/custom.h"
#include "evaluator/eval.h"

static void custom_data(halo_literal *literal, halo_custom_array *arrays, int *next) {
  if (!halo_shape_is_tuple(literal->shape)) {
    halo_custom_array *array = &arrays[(*next)++];
    if (array->bytes) array->data = literal->data;
    return;
  }
  for (int32_t i = 0; i < literal->shape->count; i++) {
    custom_data(literal->elements[i], arrays, next);
  }
}

static halo_status custom_call(const eval_call *call, const halo_custom_target *target,
                               halo_arena *scratch, halo_literal *out) {
  const halo_instr *instr = call->instr;
  const halo_attr *config = halo_instr_attr(instr, HALO_ATTR_BACKEND_CONFIG);
  const halo_shape **shapes =
      halo_arena_array(scratch, const halo_shape *, instr->operand_count + 1);
  for (int32_t i = 0; i < instr->operand_count; i++) {
    shapes[i] = halo_shape_with_default_layout(scratch, call->operands[i]->shape);
  }
  halo_custom_site *site;
  HALO_TRY(halo_custom_site_create(
      scratch, target, instr->operand_count, shapes,
      halo_shape_with_default_layout(scratch, instr->shape), config ? config->text : NULL,
      HALO_CUSTOM_PLAIN + (int)halo_instr_int(instr, HALO_ATTR_API_VERSION, 0), &site));
  int count = site->call.operand_count + site->call.result_count, next = 0;
  halo_custom_array *arrays =
      halo_arena_copy(scratch, site->call.operands, sizeof *arrays * (size_t)count);
  for (int32_t i = 0; i < instr->operand_count; i++) {
    custom_data(call->operands[i], arrays, &next);
  }
  custom_data(out, arrays, &next);
  halo_status status = halo_custom_site_call(site, arrays, &(halo_custom_run){.device = -1});
  halo_custom_site_deinit(site);
  return status;
}

/* Only what does not care where its data lies: aliased results would not begin as the operand's copy. */
halo_status eval_custom_call(const eval_call *call, halo_literal **out) {
  const halo_attr *name = halo_instr_attr(call->instr, HALO_ATTR_CUSTOM_CALL_TARGET);
  const halo_custom_target *target = halo_custom_target_find(name->text);
  if (!target || !target->host) {
    return halo_fail(HALO_UNIMPLEMENTED, "%s: no host function is registered for \"%s\"",
                     call->instr->name, name->text);
  }
  HALO_TRY(halo_literal_create(call->instr->shape, out));
  halo_arena scratch = {0};
  halo_status status = custom_call(call, target, &scratch, *out);
  halo_arena_deinit(&scratch);
  return status;
}
