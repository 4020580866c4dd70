/* SPDX-License-Identifier: Apache-2.0 */
/* unit/values.h: random arguments, and whether a module means the same after the passes. */
#ifndef HALO_TESTS_UNIT_VALUES_H
#define HALO_TESTS_UNIT_VALUES_H

#include "base/memory.h"
#include "base/strbuf.h"
#include "evaluator/evaluator.h"
#include "text/text.h"

#include <check.h>
#include <math.h>

static uint64_t random_state;

static uint64_t random_bits(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state;
}

static double random_value(void) {
  static const double special[] = {0.0, -0.0, 1, -1, INFINITY, -INFINITY, NAN, 1e-40, 65504};
  uint64_t pick = random_bits() % 24;
  if (pick < sizeof special / sizeof special[0]) return special[pick];
  return (double)(int64_t)(random_bits() % 2001) / 100 - 10;
}

static halo_literal *random_literal(const halo_shape *shape) {
  halo_literal *literal;
  ck_assert_int_eq(halo_literal_create(shape, &literal), HALO_OK);
  for (int32_t i = 0; i < shape->count; i++) {
    halo_literal_release(literal->elements[i]);
    literal->elements[i] = random_literal(shape->elements[i]);
  }
  if (!halo_shape_is_array(shape)) return literal;
  for (int64_t i = 0; i < halo_shape_element_count(shape); i++) {
    if (halo_type_is_complex(shape->type)) {
      halo_literal_set_c128(literal, i, random_value(), random_value());
    } else if (halo_type_is_float(shape->type)) {
      halo_literal_set_f64(literal, i, random_value());
    } else {
      int64_t small = (int64_t)(random_bits() % 7) - 3;
      halo_literal_set_i64(literal, i, random_bits() % 2 ? small : (int64_t)random_bits());
    }
  }
  return literal;
}

static bool close_enough(double a, double b, double tolerance) {
  if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
  if (a == b) return signbit(a) == signbit(b);
  return fabs(a - b) <= tolerance * fmax(fabs(a), fabs(b));
}

static bool same_value(const halo_literal *a, const halo_literal *b, double tolerance) {
  if (!halo_shape_compatible(a->shape, b->shape)) return false;
  for (int32_t i = 0; i < a->shape->count; i++) {
    if (!same_value(a->elements[i], b->elements[i], tolerance)) return false;
  }
  if (!halo_shape_is_array(a->shape)) return true;
  for (int64_t i = 0; i < halo_shape_element_count(a->shape); i++) {
    double re[2], im[2];
    halo_literal_get_c128(a, i, &re[0], &im[0]);
    halo_literal_get_c128(b, i, &re[1], &im[1]);
    if (!close_enough(re[0], re[1], tolerance) || !close_enough(im[0], im[1], tolerance)) {
      return false;
    }
    bool exact = !halo_type_is_float(a->shape->type) && !halo_type_is_complex(a->shape->type);
    if (exact && halo_literal_get_i64(a, i) != halo_literal_get_i64(b, i)) return false;
  }
  return true;
}

/* Whether the evaluator can run the module at all: effects and unknown values cannot be compared. */
static bool can_evaluate(const halo_module *module) {
  for (int32_t c = 0; c < module->computations.count; c++) {
    const halo_computation *computation = module->computations.data[c];
    for (int32_t i = 0; i < computation->instrs.count; i++) {
      const halo_instr *instr = computation->instrs.data[i];
      if (instr->opcode == HALO_OP_PARAMETER) continue;
      if (instr->opcode == HALO_OP_CONSTANT && instr->literal->elided) return false;
      if (halo_shape_byte_size(instr->shape) > 1 << 20) return false;
      if (!halo_evaluator_supports(instr)) return false;
    }
  }
  return true;
}

static void check_same_meaning(const halo_module *before, const halo_module *after,
                               const char *name, double tolerance) {
  if (!can_evaluate(before)) return;
  for (uint64_t seed = 1; seed <= 8; seed++) {
    random_state = seed * 0x9e3779b97f4a7c15u;
    int32_t count = before->entry->params.count;
    halo_literal **args = halo_alloc(sizeof *args * (size_t)count);
    for (int32_t i = 0; i < count; i++) {
      args[i] = random_literal(before->entry->params.data[i]->shape);
    }
    halo_literal *values[2];
    ck_assert_msg(halo_evaluate(before->entry, args, count, &values[0]) == HALO_OK, "%s: %s", name,
                  halo_error_message());
    ck_assert_msg(halo_evaluate(after->entry, args, count, &values[1]) == HALO_OK, "%s: %s", name,
                  halo_error_message());
    if (!same_value(values[0], values[1], tolerance)) {
      halo_strbuf text = {0};
      halo_literal_print(&text, values[0]);
      halo_strbuf_append(&text, "\nafterwards\n");
      halo_literal_print(&text, values[1]);
      halo_strbuf_append(&text, "\nprograms\n");
      halo_module_print(&text, before, HALO_PRINT_SHORT);
      halo_module_print(&text, after, HALO_PRINT_SHORT);
      ck_abort_msg("%s: values differ, seed %llu: before\n%s", name, (unsigned long long)seed,
                   halo_strbuf_text(&text));
    }
    for (int32_t i = 0; i < count; i++) halo_literal_release(args[i]);
    halo_free(args);
    halo_literal_release(values[0]);
    halo_literal_release(values[1]);
  }
}

#endif
