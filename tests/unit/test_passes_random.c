/* SPDX-License-Identifier: Apache-2.0 */
/* Random programs mean the same before and after the passes. A failure prints seed and programs;
 * HALO_TEST_SEED=n runs that one alone. */
#include "passes/passes.h"
#include "rewrite/rewrite.h"
#include "suite.h"
#include "values.h"

#include <stdio.h>
#include <stdlib.h>

enum { PROGRAMS = 500, STEPS = 40, POOL_MAX = 256, ELEMENTS_MAX = 600 };

typedef struct program {
  halo_module *module;
  halo_computation *entry;
  halo_instr *pool[POOL_MAX]; /* array values made so far */
  int count;
} program;

static const halo_type program_types[] = {HALO_F32, HALO_F32,  HALO_S32, HALO_S32, HALO_PRED,
                                          HALO_F16, HALO_BF16, HALO_S8,  HALO_U8,  HALO_U32,
                                          HALO_S64, HALO_F64,  HALO_C64};

static int below(int n) { return (int)(random_bits() % (uint64_t)n); }

static halo_type pick_type(void) {
  return program_types[below((int)(sizeof program_types / sizeof program_types[0]))];
}

/* Illegal combinations are simply not made. */
static halo_instr *emit_in(halo_computation *computation, halo_opcode opcode,
                           const halo_shape *shape, halo_instr *const *operands, int count,
                           const halo_attr *attrs, int attr_count) {
  halo_instr_spec spec = {.opcode = opcode,
                          .shape = shape,
                          .operands = operands,
                          .operand_count = count,
                          .attrs = attrs,
                          .attr_count = attr_count};
  halo_instr *instr;
  return halo_instr_create(computation, &spec, &instr) == HALO_OK ? instr : NULL;
}

static void keep(program *p, halo_instr *instr) {
  if (!instr || p->count == POOL_MAX || !halo_shape_is_array(instr->shape)) return;
  if (halo_shape_element_count(instr->shape) <= ELEMENTS_MAX) p->pool[p->count++] = instr;
}

static halo_instr *emit(program *p, halo_opcode opcode, const halo_shape *shape,
                        halo_instr *const *operands, int count, const halo_attr *attrs,
                        int attr_count) {
  halo_instr *instr = emit_in(p->entry, opcode, shape, operands, count, attrs, attr_count);
  keep(p, instr);
  return instr;
}

static halo_instr *emit_listed(program *p, halo_opcode opcode, const halo_shape *shape,
                               halo_instr *x, halo_attr_id id, const int64_t *list, int count) {
  halo_attr attr = halo_rewrite_list_attr(p->module, id, list, count);
  return emit(p, opcode, shape, &x, 1, &attr, 1);
}

static halo_instr *pick(program *p) { return p->pool[below(p->count)]; }

/* ---- Constants and operands of a given shape ---- */

static halo_instr *make_constant(program *p, const halo_shape *shape, bool uniform) {
  halo_literal *literal;
  ck_assert_int_eq(halo_literal_create(shape, &literal), HALO_OK);
  static const double values[] = {0.0, -0.0, 1, -1, 2, 0.5, INFINITY, -INFINITY, NAN, 3};
  int choice = below(10);
  for (int64_t i = 0; i < halo_shape_element_count(shape); i++) {
    double value = values[uniform ? choice : below(10)];
    if (halo_type_is_complex(shape->type) || halo_type_is_float(shape->type)) {
      halo_literal_set_c128(literal, i, value, halo_type_is_complex(shape->type) ? 0.0 : 0.0);
    } else {
      halo_literal_set_i64(literal, i, isfinite(value) ? (int64_t)value : INT64_MIN);
    }
  }
  halo_instr_spec spec = {.opcode = HALO_OP_CONSTANT,
                          .literal = literal,
                          .shape = halo_shape_clone(&p->module->arena, shape)};
  halo_instr *instr;
  ck_assert_int_eq(halo_instr_create(p->entry, &spec, &instr), HALO_OK);
  halo_literal_release(literal);
  keep(p, instr);
  return instr;
}

static halo_instr *operand_like(program *p, const halo_shape *shape) {
  if (below(3) == 0) {
    const halo_shape *scalar = halo_shape_new(&p->module->arena, shape->type, 0, NULL);
    halo_instr *constant = make_constant(p, scalar, true);
    if (shape->rank == 0) return constant;
    return emit_listed(p, HALO_OP_BROADCAST, shape, constant, HALO_ATTR_DIMENSIONS, NULL, 0);
  }
  int start = below(p->count);
  for (int i = 0; i < p->count; i++) {
    halo_instr *candidate = p->pool[(start + i) % p->count];
    if (halo_shape_compatible(candidate->shape, shape) && below(3)) return candidate;
  }
  return make_constant(p, shape, below(2));
}

/* ---- Steps ---- */

static void step_elementwise(program *p) {
  static const halo_opcode unary[] = {HALO_OP_NEGATE, HALO_OP_NOT,  HALO_OP_ABS,   HALO_OP_REAL,
                                      HALO_OP_IMAG,   HALO_OP_SIGN, HALO_OP_FLOOR, HALO_OP_COPY};
  static const halo_opcode binary[] = {HALO_OP_ADD,
                                       HALO_OP_SUBTRACT,
                                       HALO_OP_MULTIPLY,
                                       HALO_OP_DIVIDE,
                                       HALO_OP_REMAINDER,
                                       HALO_OP_MAXIMUM,
                                       HALO_OP_MINIMUM,
                                       HALO_OP_AND,
                                       HALO_OP_OR,
                                       HALO_OP_XOR,
                                       HALO_OP_SHIFT_LEFT,
                                       HALO_OP_SHIFT_RIGHT_LOGICAL,
                                       HALO_OP_SHIFT_RIGHT_ARITHMETIC,
                                       HALO_OP_COMPLEX};
  halo_instr *x = pick(p);
  halo_arena *arena = &p->module->arena;
  switch (below(6)) {
    case 0: emit(p, unary[below(8)], NULL, &x, 1, NULL, 0); break;
    case 1:
    case 2: {
      halo_instr *y = below(8) ? operand_like(p, x->shape) : x;
      halo_instr *operands[] = {below(2) ? x : y, y};
      if (operands[0] == y) operands[1] = x;
      emit(p, binary[below(14)], NULL, operands, 2, NULL, 0);
      break;
    }
    case 3: {
      halo_attr attrs[] = {{.id = HALO_ATTR_DIRECTION, .i = below(6)},
                           {.id = HALO_ATTR_COMPARE_TYPE, .i = HALO_COMPARE_TOTALORDER}};
      halo_instr *operands[] = {x, below(6) ? operand_like(p, x->shape) : x};
      bool total = halo_type_is_float(x->shape->type) && below(4) == 0;
      emit(p, HALO_OP_COMPARE, NULL, operands, 2, attrs, total ? 2 : 1);
      break;
    }
    case 4: {
      halo_instr *mask = operand_like(p, halo_shape_with_type(arena, x->shape, HALO_PRED));
      halo_instr *operands[] = {mask, x, operand_like(p, x->shape)};
      emit(p, HALO_OP_SELECT, NULL, operands, 3, NULL, 0);
      break;
    }
    default: {
      halo_type type = pick_type();
      if (halo_type_is_complex(x->shape->type) && !halo_type_is_complex(type)) break;
      emit(p, HALO_OP_CONVERT, halo_shape_with_type(arena, x->shape, type), &x, 1, NULL, 0);
      break;
    }
  }
}

static void shuffle(int64_t *list, int count) {
  for (int i = 0; i < count; i++) list[i] = i;
  for (int i = count - 1; i > 0; i--) {
    int j = below(i + 1);
    int64_t t = list[i];
    list[i] = list[j];
    list[j] = t;
  }
}

static void step_reshape(program *p, halo_instr *x) {
  int64_t dims[HALO_MAX_RANK];
  int rank = 0;
  bool flatten = below(3) == 0;
  if (flatten) dims[rank++] = halo_shape_element_count(x->shape);
  for (int d = 0; d < x->shape->rank && !flatten; d++) {
    if (below(3) == 0) dims[rank++] = 1;
    if (x->shape->dims[d] != 1 || below(2)) dims[rank++] = x->shape->dims[d];
  }
  const halo_shape *shape = halo_shape_new(&p->module->arena, x->shape->type, rank, dims);
  emit(p, HALO_OP_RESHAPE, shape, &x, 1, NULL, 0);
}

static void step_broadcast(program *p, halo_instr *x) {
  int64_t dims[HALO_MAX_RANK], places[HALO_MAX_RANK], order[HALO_MAX_RANK];
  int rank = x->shape->rank + below(3);
  shuffle(order, rank);
  for (int d = 0; d < rank; d++) dims[d] = 1 + below(3);
  for (int d = 0; d < x->shape->rank; d++) {
    places[d] = order[d];
    dims[order[d]] = x->shape->dims[d];
  }
  const halo_shape *shape = halo_shape_new(&p->module->arena, x->shape->type, rank, dims);
  emit_listed(p, HALO_OP_BROADCAST, shape, x, HALO_ATTR_DIMENSIONS, places, x->shape->rank);
}

static void step_slice(program *p, halo_instr *x) {
  int64_t range[3 * HALO_MAX_RANK];
  for (int d = 0; d < x->shape->rank; d++) {
    int extent = (int)x->shape->dims[d];
    int start = below(3) ? 0 : below(extent + 1);
    range[3 * d] = start;
    range[3 * d + 1] = start + (below(3) ? extent - start : below(extent - start + 1));
    range[3 * d + 2] = below(3) ? 1 : 1 + below(3);
  }
  emit_listed(p, HALO_OP_SLICE, NULL, x, HALO_ATTR_SLICE, range, 3 * x->shape->rank);
}

static void step_pad(program *p, halo_instr *x) {
  int64_t padding[3 * HALO_MAX_RANK];
  for (int d = 0; d < x->shape->rank; d++) {
    padding[3 * d] = below(2) ? 0 : below(4) - 2;
    padding[3 * d + 1] = below(2) ? 0 : below(4) - 2;
    padding[3 * d + 2] = below(4) ? 0 : below(2);
  }
  const halo_shape *scalar = halo_shape_new(&p->module->arena, x->shape->type, 0, NULL);
  halo_instr *operands[] = {x, operand_like(p, scalar)};
  halo_attr attr =
      halo_rewrite_list_attr(p->module, HALO_ATTR_PADDING, padding, 3 * x->shape->rank);
  emit(p, HALO_OP_PAD, NULL, operands, 2, &attr, 1);
}

static void step_move(program *p) {
  halo_instr *x = pick(p);
  int64_t list[HALO_MAX_RANK];
  int rank = x->shape->rank;
  if (rank > 4) return;
  switch (below(8)) {
    case 0: step_reshape(p, x); break;
    case 1:
      shuffle(list, rank);
      emit_listed(p, HALO_OP_TRANSPOSE, NULL, x, HALO_ATTR_DIMENSIONS, list, rank);
      break;
    case 2: step_broadcast(p, x); break;
    case 3: step_slice(p, x); break;
    case 4: step_pad(p, x); break;
    case 5:
      shuffle(list, rank);
      emit_listed(p, HALO_OP_REVERSE, NULL, x, HALO_ATTR_DIMENSIONS, list, below(rank + 1));
      break;
    case 6: {
      if (rank == 0) break;
      halo_instr *operands[] = {x, operand_like(p, x->shape), x};
      const int64_t dim = below(rank);
      halo_attr attr = halo_rewrite_list_attr(p->module, HALO_ATTR_DIMENSIONS, &dim, 1);
      emit(p, HALO_OP_CONCATENATE, NULL, operands, 1 + below(3), &attr, 1);
      break;
    }
    default: {
      if (rank == 0 || x->shape->type == HALO_PRED) break;
      halo_attr attr = {.id = HALO_ATTR_IOTA_DIMENSION, .i = below(rank)};
      emit(p, HALO_OP_IOTA, x->shape, NULL, 0, &attr, 1);
      break;
    }
  }
}

static void step_dynamic(program *p) {
  halo_instr *x = pick(p);
  int rank = x->shape->rank;
  if (rank == 0 || rank > 4) return;
  int64_t sizes[4];
  halo_instr *operands[6] = {x};
  bool update = below(2);
  int first = update ? 2 : 1;
  const halo_shape *index = halo_shape_new(&p->module->arena, HALO_S32, 0, NULL);
  for (int d = 0; d < rank; d++) {
    sizes[d] = below(3) ? x->shape->dims[d] : below((int)x->shape->dims[d] + 1);
    operands[first + d] = operand_like(p, index);
  }
  if (update) {
    operands[1] = operand_like(p, halo_shape_new(&p->module->arena, x->shape->type, rank, sizes));
    emit(p, HALO_OP_DYNAMIC_UPDATE_SLICE, NULL, operands, 2 + rank, NULL, 0);
  } else {
    halo_attr attr = halo_rewrite_list_attr(p->module, HALO_ATTR_DYNAMIC_SLICE_SIZES, sizes, rank);
    emit(p, HALO_OP_DYNAMIC_SLICE, NULL, operands, 1 + rank, &attr, 1);
  }
}

/* ---- Computations ---- */

static halo_instr *make_param(halo_computation *computation, const halo_shape *shape, int number) {
  halo_instr_spec spec = {.opcode = HALO_OP_PARAMETER, .shape = shape, .parameter_number = number};
  halo_instr *instr;
  ck_assert_int_eq(halo_instr_create(computation, &spec, &instr), HALO_OK);
  return instr;
}

static halo_attr comp_attr(program *p, halo_attr_id id, halo_computation *computation) {
  halo_attr attr = {.id = id};
  attr.comps.data = halo_arena_array(&p->module->arena, halo_computation *, 1);
  attr.comps.data[0] = computation;
  attr.comps.count = 1;
  return attr;
}

/* One that takes `count` values of a shape and returns another of it. */
static halo_computation *make_function(program *p, const halo_shape *shape, int count) {
  static const halo_opcode ops[] = {HALO_OP_ADD, HALO_OP_MAXIMUM, HALO_OP_SUBTRACT,
                                    HALO_OP_MULTIPLY};
  halo_computation *function = halo_computation_create(p->module, "function");
  halo_instr *operands[2];
  for (int i = 0; i < count; i++) operands[i] = make_param(function, shape, i);
  if (count == 1) operands[1] = operands[0];
  halo_instr *root = NULL;
  if (below(6)) root = emit_in(function, ops[below(4)], NULL, operands, 2, NULL, 0);
  function->root = root ? root : operands[below(count)];
  return function;
}

static void step_reduce(program *p) {
  halo_instr *x = pick(p);
  const halo_shape *scalar = halo_shape_new(&p->module->arena, x->shape->type, 0, NULL);
  int64_t dims[HALO_MAX_RANK];
  shuffle(dims, x->shape->rank);
  halo_instr *operands[] = {x, operand_like(p, scalar)};
  halo_attr attrs[] = {
      halo_rewrite_list_attr(p->module, HALO_ATTR_DIMENSIONS, dims, below(x->shape->rank + 1)),
      comp_attr(p, HALO_ATTR_TO_APPLY, make_function(p, scalar, 2))};
  emit(p, HALO_OP_REDUCE, NULL, operands, 2, attrs, 2);
}

/* (counter, x, y) with x = f(x), y handed on or unused, for 0 to 3 rounds. */
static void step_while(program *p) {
  halo_arena *arena = &p->module->arena;
  halo_instr *x = pick(p), *y = pick(p);
  const halo_shape *counter = halo_shape_new(arena, HALO_S32, 0, NULL);
  const halo_shape *parts[] = {counter, x->shape, y->shape};
  const halo_shape *state = halo_shape_new_tuple(arena, 3, parts);
  halo_computation *f = make_function(p, x->shape, 1), *g = make_function(p, y->shape, 1);
  halo_computation *condition = halo_computation_create(p->module, "condition");
  halo_computation *body = halo_computation_create(p->module, "body");
  halo_computation *entry = p->entry;
  halo_instr *read[2][3], *limit, *one;
  for (int c = 0; c < 2; c++) {
    halo_instr *param = make_param(c ? body : condition, state, 0);
    for (int i = 0; i < 3; i++) {
      halo_attr attr = {.id = HALO_ATTR_INDEX, .i = i};
      read[c][i] = emit_in(param->parent, HALO_OP_GET_TUPLE_ELEMENT, NULL, &param, 1, &attr, 1);
    }
  }
  int old_count = p->count;
  p->entry = condition;
  limit = make_constant(p, counter, true);
  halo_literal_set_i64(limit->literal, 0, below(4));
  p->entry = body;
  one = make_constant(p, counter, true);
  halo_literal_set_i64(one->literal, 0, 1);
  p->entry = entry;
  p->count = old_count;
  halo_attr less = {.id = HALO_ATTR_DIRECTION, .i = HALO_LT};
  halo_instr *compared[] = {read[0][0], limit}, *added[] = {read[1][0], one};
  condition->root = emit_in(condition, HALO_OP_COMPARE, NULL, compared, 2, &less, 1);
  halo_attr call_f = comp_attr(p, HALO_ATTR_TO_APPLY, f),
            call_g = comp_attr(p, HALO_ATTR_TO_APPLY, g);
  halo_instr *next[] = {emit_in(body, HALO_OP_ADD, NULL, added, 2, NULL, 0),
                        emit_in(body, HALO_OP_CALL, NULL, &read[1][1], 1, &call_f, 1), read[1][2]};
  if (below(2)) next[2] = emit_in(body, HALO_OP_CALL, NULL, &read[1][2], 1, &call_g, 1);
  body->root = emit_in(body, HALO_OP_TUPLE, NULL, next, 3, NULL, 0);
  int32_t zero_at = p->count;
  halo_instr *zero = make_constant(p, counter, true);
  p->count = zero_at;
  halo_literal_set_i64(zero->literal, 0, below(3) ? 0 : 2);
  halo_instr *start[] = {zero, x, y};
  halo_instr *init = emit(p, HALO_OP_TUPLE, NULL, start, 3, NULL, 0);
  halo_attr attrs[] = {comp_attr(p, HALO_ATTR_CONDITION, condition),
                       comp_attr(p, HALO_ATTR_BODY, body)};
  halo_instr *loop = emit(p, HALO_OP_WHILE, NULL, &init, 1, attrs, 2);
  ck_assert_ptr_nonnull(loop);
  for (int i = 0; i < 3; i++) {
    halo_attr attr = {.id = HALO_ATTR_INDEX, .i = i};
    if (below(2)) emit(p, HALO_OP_GET_TUPLE_ELEMENT, NULL, &loop, 1, &attr, 1);
  }
}

static void step_control(program *p) {
  halo_instr *x = pick(p);
  if (below(2)) {
    halo_attr attr = comp_attr(p, HALO_ATTR_TO_APPLY, make_function(p, x->shape, 1));
    emit(p, below(2) ? HALO_OP_CALL : HALO_OP_OPT_BARRIER, NULL, &x, 1, &attr, 1);
    return;
  }
  const halo_shape *index = halo_shape_new(&p->module->arena, HALO_S32, 0, NULL);
  halo_attr attr = {.id = HALO_ATTR_BRANCH_COMPUTATIONS};
  attr.comps.count = 1 + below(3);
  attr.comps.data = halo_arena_array(&p->module->arena, halo_computation *, attr.comps.count);
  halo_instr *operands[] = {operand_like(p, index), x, x, x};
  for (int i = 0; i < attr.comps.count; i++) {
    attr.comps.data[i] = make_function(p, x->shape, 1);
  }
  emit(p, HALO_OP_CONDITIONAL, NULL, operands, 1 + attr.comps.count, &attr, 1);
}

/* ---- Whole programs ---- */

static halo_module *make_program(void) {
  program p = {.module = halo_module_create("random")};
  halo_arena *arena = &p.module->arena;
  p.entry = halo_computation_create(p.module, "main");
  int params = 2 + below(4);
  for (int i = 0; i < params; i++) {
    int64_t dims[3];
    int rank = below(4);
    for (int d = 0; d < rank; d++) dims[d] = below(12) ? 1 + below(3) : 0;
    keep(&p, make_param(p.entry, halo_shape_new(arena, pick_type(), rank, dims), i));
  }
  for (int i = 0; i < STEPS; i++) {
    int choice = below(20);
    if (choice < 9)
      step_elementwise(&p);
    else if (choice < 14)
      step_move(&p);
    else if (choice < 16)
      step_dynamic(&p);
    else if (choice < 18)
      step_reduce(&p);
    else if (choice < 19)
      step_control(&p);
    else
      step_while(&p);
  }
  halo_instr *results[8];
  for (int i = 0; i < 8; i++) results[i] = i < 4 ? p.pool[p.count - 1 - i % p.count] : pick(&p);
  p.entry->root = emit_in(p.entry, HALO_OP_TUPLE, NULL, results, 8, NULL, 0);
  p.module->entry = p.entry;
  p.module->entry_params = halo_arena_array(arena, const halo_shape *, params);
  for (int i = 0; i < params; i++) p.module->entry_params[i] = p.entry->params.data[i]->shape;
  p.module->entry_result = p.entry->root->shape;
  halo_module_remove_dead(p.module); /* puts callees first */
  return p.module;
}

static void check_seed(uint64_t seed) {
  random_state = (seed + 1) * 0x9e3779b97f4a7c15u;
  for (int i = 0; i < 4; i++) random_bits();
  char name[64];
  snprintf(name, sizeof name, "HALO_TEST_SEED=%llu", (unsigned long long)seed);
  halo_module *before = make_program();
  ck_assert_msg(halo_module_verify(before) == HALO_OK, "%s: %s", name, halo_error_message());
  ck_assert_msg(can_evaluate(before), "%s cannot be evaluated", name);
  for (int fusion = 0; fusion < 2; fusion++) {
    halo_pass_options options = {.no_fusion = !fusion};
    halo_module *after, *again;
    ck_assert_msg(halo_module_optimize(before, &options, &after) == HALO_OK, "%s: %s", name,
                  halo_error_message());
    check_same_meaning(before, after, name, 0);
    /* Simplified modules are at rest. */
    if (!fusion) {
      ck_assert_int_eq(halo_module_optimize(after, &options, &again), HALO_OK);
      ck_assert_msg(again->entry->instrs.count == after->entry->instrs.count,
                    "%s: %d instructions become %d in a second run", name,
                    after->entry->instrs.count, again->entry->instrs.count);
      halo_module_release(again);
    }
    halo_module_release(after);
  }
  halo_module_release(before);
}

START_TEST(random_programs) {
  const char *seed = getenv("HALO_TEST_SEED");
  if (seed) {
    check_seed(strtoull(seed, NULL, 10));
    return;
  }
  for (uint64_t s = 0; s < PROGRAMS; s++) check_seed(s);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("passes_random");
  TCase *tcase = tcase_create("passes_random");
  tcase_set_timeout(tcase, 250);
  tcase_add_test(tcase, random_programs);
  suite_add_tcase(suite, tcase);
  return suite_run(suite);
}
