/* SPDX-License-Identifier: Apache-2.0 */
/* passes/dynamic/walk.c: the walk over one computation, in which each instruction's rule runs. */
#include "passes/dynamic/dynamic.h"

bool halo_dynamic_makes_sizes(halo_opcode opcode) {
  return opcode == HALO_OP_GET_DIMENSION_SIZE || opcode == HALO_OP_SET_DIMENSION_SIZE ||
         opcode == HALO_OP_DYNAMIC_RESHAPE;
}

/* Whether a computation has something dynamic in it. */
static bool walk_is_touched(const halo_dynamic *d, const halo_computation *computation) {
  return halo_pointer_map_get(&d->all->touched, computation) != NULL;
}

static bool walk_concern(const halo_dynamic *d, const halo_instr *instr) {
  if (halo_dynamic_makes_sizes(instr->opcode)) return true;
  for (int32_t o = 0; o < instr->operand_count; o++) {
    if (halo_dynamic_any(d, instr->operands[o])) return true;
  }
  for (int32_t c = 0; c < halo_instr_called_count(instr); c++) {
    if (walk_is_touched(d, halo_instr_called(instr, c))) return true;
  }
  return halo_shape_is_dynamic(instr->shape);
}

static void walk_visit(halo_dynamic *d, halo_instr *instr) {
  if (!walk_concern(d, instr)) return;
  halo_dynamic_rule *rule = d->all->rule_of(instr->opcode);
  d->x.like = instr;
  if (!rule) {
    halo_dynamic_fail(d, instr, "cannot run on dimensions that are known at run time only");
    return;
  }
  halo_instr *value = rule(d, instr);
  if (d->x.status == HALO_OK && value != instr) halo_rewrite_replace(&d->r, instr, value);
}

void halo_dynamic_begin(halo_dynamic *d, halo_dynamic_module *all, halo_computation *computation) {
  *d = (halo_dynamic){.all = all};
  halo_rewrite_begin(&d->r, computation);
  d->x.r = &d->r;
}

void halo_dynamic_walk_from(halo_dynamic *d, int32_t first) {
  const halo_instr *like = d->x.like;
  int32_t count = d->r.computation->instrs.count; /* what rules make is finished */
  for (int32_t i = first; i < count && d->x.status == HALO_OK; i++) {
    halo_instr *instr = halo_rewrite_next(&d->r, i);
    if (instr) walk_visit(d, instr);
  }
  d->x.like = like;
}

halo_instr *halo_dynamic_walk(halo_dynamic *d) {
  halo_dynamic_walk_from(d, 0);
  return halo_rewrite_resolve(d->r.computation->root);
}

halo_status halo_dynamic_end(halo_dynamic *d) {
  halo_computation *computation = d->r.computation;
  bool changed;
  halo_status ended = halo_rewrite_end(&d->r, &changed);
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    halo_instr *instr = computation->instrs.data[i];
    instr->shape = halo_shape_static(&computation->module->arena, instr->shape);
  }
  halo_pointer_map_deinit(&d->sizes);
  return d->x.status != HALO_OK ? d->x.status : ended;
}
