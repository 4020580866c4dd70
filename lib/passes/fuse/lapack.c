/* SPDX-License-Identifier: Apache-2.0 */
/* passes/fuse/lapack.c: factorisations of small matrices, which programs for CPUs call LAPACK for: each call becomes a
 * fusion of its own, whose family is lapack (kernels/linalg/lapack.c): kernels, and the host's LAPACK. */
#include "hlo/lapack.h"

#include "base/pointer_map.h"
#include "passes/fuse/fusion.h"
#include "passes/passes.h"
#include "rewrite/rewrite.h"

static bool lapack_is_plain(const halo_shape *shape) {
  for (int32_t i = 0; i < shape->count; i++) {
    if (!lapack_is_plain(shape->elements[i])) return false;
  }
  return !halo_shape_is_array(shape) || halo_shape_has_default_layout(shape);
}

/* Whether all arrays of a call are row-major, in the call's eyes too. */
static bool lapack_is_row_major(const halo_instr *call) {
  const halo_attr *wanted = halo_instr_attr(call, HALO_ATTR_OPERAND_LAYOUT_CONSTRAINTS);
  bool plain = lapack_is_plain(call->shape) && !halo_instr_attr(call, HALO_ATTR_CUSTOM_CALL_RESULT);
  for (int32_t i = 0; i < call->operand_count && plain; i++) {
    plain = lapack_is_plain(call->operands[i]->shape) &&
            (!wanted || lapack_is_plain(wanted->shapes.data[i]));
  }
  return plain;
}

static halo_instr *lapack_wrap(halo_rewriter *r, halo_instr *call) {
  halo_module *module = r->computation->module;
  halo_computation **calls = halo_arena_new(&module->arena, halo_computation *);
  *calls = halo_fusion_wrap(call);
  const halo_attr attrs[2] = {{.id = HALO_ATTR_FUSION_KIND, .i = HALO_FUSION_CUSTOM},
                              {.id = HALO_ATTR_CALLS, .comps = {calls, 1}}};
  halo_instr *fusion = halo_rewrite_make(r, call, HALO_OP_FUSION, call->shape, call->operands,
                                         call->operand_count, attrs, 2);
  fusion->name = halo_arena_printf(&module->arena, "lapack.%s", call->name);
  return fusion;
}

/* Bodies of fusions, where what there is to be done has been done. */
static void lapack_note_bodies(const halo_module *module, halo_pointer_map *bodies) {
  for (int32_t c = 0; c < module->computations.count; c++) {
    const halo_computation *computation = module->computations.data[c];
    for (int32_t i = 0; i < computation->instrs.count; i++) {
      const halo_instr *instr = computation->instrs.data[i];
      if (instr->opcode != HALO_OP_FUSION) continue;
      halo_computation *body = halo_instr_comp(instr, HALO_ATTR_CALLS);
      halo_pointer_map_set(bodies, body, body);
    }
  }
}

static halo_status lapack_run(halo_computation *computation, bool *changed) {
  halo_rewriter r;
  halo_rewrite_begin(&r, computation);
  int32_t count = computation->instrs.count; /* fusions need not be looked at again */
  for (int32_t i = 0; i < count; i++) {
    halo_instr *call = halo_rewrite_next(&r, i);
    halo_lapack_desc v;
    if (!call || !halo_lapack_describe(call, &v) || !lapack_is_row_major(call)) continue;
    if (!halo_lapack_is_small(&v, &computation->module->target)) continue;
    halo_rewrite_replace(&r, call, lapack_wrap(&r, call));
  }
  return halo_rewrite_end(&r, changed);
}

halo_status halo_pass_lapack(halo_module *module, bool *changed) {
  *changed = false;
  int32_t count = module->computations.count;
  halo_pointer_map bodies = {0};
  lapack_note_bodies(module, &bodies);
  halo_status status = HALO_OK;
  for (int32_t c = 0; c < count && status == HALO_OK; c++) {
    halo_computation *computation = module->computations.data[c];
    if (!halo_pointer_map_get(&bodies, computation)) status = lapack_run(computation, changed);
  }
  halo_pointer_map_deinit(&bodies);
  if (module->computations.count > count) halo_module_remove_dead(module);
  return status;
}
