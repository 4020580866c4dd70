/* SPDX-License-Identifier: Apache-2.0 */
/* passes/expand/accuracy.c: result_accuracy. The default is what was measured of our own functions. An operation on f32 (c64)
 * that asks for more is computed in f64 (c128) and rounded, where the device has that; what asks for more than there is,
 * is refused. */
#include "passes/expand/accuracy.h"

#include "passes/passes.h"
#include "rewrite/rewrite.h"

#include <math.h>
#include <stdio.h>

/* A result that is computed with some thirty bits more and rounded once. */
enum { ACCURACY_ROUNDED = 1 };

int32_t halo_accuracy_bound(const halo_target *target, halo_opcode opcode, halo_type type) {
  const halo_op_accuracy *row = &halo_op_info_of(opcode)->accuracy;
  if (!row->single || halo_type_is_complex(type)) return 0;
  if (type != HALO_F32 && type != HALO_F64) return ACCURACY_ROUNDED; /* computed in f32 */
  if (type == HALO_F64) return row->wide;
  return row->loose && !target->exact_division ? row->loose : row->single;
}

/* Whether a bound is within a tolerance: any of its three parts will do. */
static bool accuracy_is_met(const halo_accuracy *asked, const halo_instr *instr, int32_t bound) {
  int mantissa = halo_type_mantissa_bits(instr->shape->type);
  bool is_real = !halo_type_is_complex(instr->shape->type);
  int32_t magnitude = is_real ? halo_op_info_of(instr->opcode)->accuracy.magnitude : 0;
  if (asked->ulps >= bound || asked->rtol >= ldexp(bound, -mantissa)) return true;
  return magnitude && asked->atol >= ldexp((double)bound * magnitude, -mantissa - 1);
}

static halo_status accuracy_refuse(const halo_instr *instr, const char *why) {
  halo_arena scratch = {0};
  halo_status status = halo_fail(HALO_UNIMPLEMENTED, "line %d: %s asks for more than there is: %s",
                                 instr->line, halo_instr_text(&scratch, instr), why);
  halo_arena_deinit(&scratch);
  return status;
}

/* Whether an operation must be computed in wider numbers than its own. */
static halo_status accuracy_choose(const halo_instr *instr, const halo_target *target,
                                   bool can_widen, bool *widen) {
  const halo_accuracy *asked = halo_instr_attr(instr, HALO_ATTR_RESULT_ACCURACY)->accuracy;
  halo_type type = instr->operands[0]->shape->type;
  int32_t bound = halo_accuracy_bound(target, instr->opcode, type);
  if (asked->mode == HALO_ACCURACY_HIGHEST) {
    bool rounded = instr->opcode == HALO_OP_SQRT && target->exact_division;
    *widen = can_widen && !rounded;
  }
  if (asked->mode != HALO_ACCURACY_TOLERANCE) return HALO_OK;
  if (asked->atol < 0 || asked->rtol < 0 || asked->ulps < 0) {
    return halo_fail(HALO_INVALID_ARGUMENT, "line %d: %s: a tolerance cannot be negative",
                     instr->line, instr->name);
  }
  if (bound == 0 && !can_widen) {
    return accuracy_refuse(instr,
                           "of complex numbers a bound is known only for c64 where it can "
                           "be computed in c128");
  }
  if (bound && accuracy_is_met(asked, instr, bound)) return HALO_OK;
  *widen = can_widen && accuracy_is_met(asked, instr, ACCURACY_ROUNDED);
  if (*widen) return HALO_OK;
  char why[80];
  snprintf(why, sizeof why, "results are within %d ULP",
           (int)(can_widen ? ACCURACY_ROUNDED : bound));
  return accuracy_refuse(instr, why);
}

static halo_instr *accuracy_widen(halo_rewriter *r, const halo_instr *instr, halo_type wide) {
  halo_arena *arena = &r->computation->module->arena;
  const halo_instr *operand = instr->operands[0];
  halo_instr *x = halo_rewrite_make_unary(r, instr, HALO_OP_CONVERT,
                                          halo_shape_with_type(arena, operand->shape, wide),
                                          instr->operands[0]);
  x = halo_rewrite_make_unary(r, instr, instr->opcode,
                              halo_shape_with_type(arena, instr->shape, wide), x);
  return halo_rewrite_make_unary(r, instr, HALO_OP_CONVERT, instr->shape, x);
}

static halo_status accuracy_computation(halo_computation *computation, bool *changed) {
  const halo_target *target = &computation->module->target;
  halo_rewriter r;
  halo_rewrite_begin(&r, computation);
  halo_status status = HALO_OK;
  int32_t count = computation->instrs.count;
  for (int32_t i = 0; i < count && status == HALO_OK; i++) {
    halo_instr *instr = halo_rewrite_next(&r, i);
    if (!instr || !halo_instr_attr(instr, HALO_ATTR_RESULT_ACCURACY)) continue;
    halo_type type = instr->operands[0]->shape->type;
    bool widen = false, single = type == HALO_F32 || type == HALO_C64;
    status = accuracy_choose(instr, target, single && target->has_f64, &widen);
    if (status != HALO_OK || !widen) continue;
    halo_rewrite_replace(&r, instr,
                         accuracy_widen(&r, instr, type == HALO_F32 ? HALO_F64 : HALO_C128));
  }
  halo_status ended = halo_rewrite_end(&r, changed);
  return status != HALO_OK ? status : ended;
}

halo_status halo_pass_accuracy(halo_module *module, bool *changed) {
  return halo_rewrite_computations(module, accuracy_computation, changed);
}
