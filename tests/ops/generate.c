/* SPDX-License-Identifier: Apache-2.0 */
/* generate.c: the program generator: values, parameters, constants, and the whole program. */
#include "generator.h"

#include "shape/floats.h"

#include <math.h>
#include <string.h>

/* ---- Chance ---- */

static uint64_t gen_next(generator *g) {
  uint64_t z = g->state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

uint32_t gen_below(generator *g, uint32_t n) { return (uint32_t)(gen_next(g) >> 33) % n; }
double gen_unit(generator *g) { return (double)(gen_next(g) >> 11) * 0x1p-53; }

double gen_epsilon(halo_type type) {
  return ldexp(1, -1 - halo_type_mantissa_bits(halo_type_real_part(type)));
}

double gen_whole_limit(halo_type type) {
  return ldexp(1, 1 + halo_type_mantissa_bits(halo_type_real_part(type)));
}

halo_type gen_random_type(generator *g) {
  static const halo_type whole[] = {HALO_S32, HALO_U32, HALO_S64, HALO_U64, HALO_S8,  HALO_U8,
                                    HALO_S16, HALO_U16, HALO_S4,  HALO_U4,  HALO_PRED};
  static const halo_type fractional[] = {HALO_F32,  HALO_F32, HALO_F32, HALO_F16,
                                         HALO_BF16, HALO_C64, HALO_F64, HALO_C128};
  if (g->options.whole || gen_chance(g, 40)) return whole[gen_below(g, 11)];
  return fractional[gen_below(g, g->options.has_f64 ? 8 : 6)];
}

/* ---- Instructions ---- */

const halo_shape *gen_shape(generator *g, halo_type type, int rank, const int64_t *dims) {
  return halo_shape_new(&g->module->arena, type, rank, dims);
}

halo_attr gen_ints(generator *g, halo_attr_id id, int count, const int64_t *values) {
  halo_attr attr = {.id = id};
  attr.ints.data = halo_arena_copy(&g->module->arena, values, sizeof *values * (size_t)count);
  attr.ints.count = count;
  return attr;
}

halo_attr gen_int(halo_attr_id id, int64_t value) { return (halo_attr){.id = id, .i = value}; }

halo_attr gen_comp(generator *g, halo_attr_id id, halo_computation *computation) {
  halo_attr attr = {.id = id};
  attr.comps.data = halo_arena_copy(&g->module->arena, &computation, sizeof computation);
  attr.comps.count = 1;
  return attr;
}

halo_instr *gen_emit(generator *g, halo_opcode opcode, const halo_shape *shape, int operand_count,
                     halo_instr *const *operands, int attr_count, const halo_attr *attrs) {
  halo_instr_spec spec = {.opcode = opcode,
                          .shape = shape,
                          .operands = operands,
                          .operand_count = operand_count,
                          .attrs = attrs,
                          .attr_count = attr_count};
  halo_instr *instr = NULL;
  for (int i = 0; i < operand_count; i++) {
    if (!operands[i]) return NULL; /* an earlier failure */
  }
  if (g->failed) return NULL;
  if (halo_instr_create(g->computation, &spec, &instr) != HALO_OK) g->failed = true;
  return instr;
}

void gen_push(generator *g, gen_value value) {
  if (!value.instr) return;
  halo_type type = value.instr->shape->type;
  bool fractional = halo_type_is_float(type) || halo_type_is_complex(type);
  if (fractional && value.size > GEN_LARGEST) {
    int down = ilogb(value.size);
    double factor = ldexp(1, -down);
    gen_value scale =
        gen_constant(g, type, value.instr->shape->rank, value.instr->shape->dims, factor);
    value.instr = gen_binary(g, HALO_OP_MULTIPLY, value.instr, scale.instr);
    /* Exact, but for numbers that become denormal, and complex products of non-zero parts. */
    value.size *= factor;
    value.error = value.error * factor + gen_epsilon(type) * 0x1p-10;
    value.whole = false;
    if (!value.instr) return;
  }
  halo_vec_push(&g->pool, value);
}

gen_value gen_pick(generator *g) {
  /* The newer half more often, so that programs grow deep. */
  uint32_t count = (uint32_t)g->pool.count;
  uint32_t from = gen_chance(g, 60) ? count / 2 : 0;
  return g->pool.data[from + gen_below(g, count - from)];
}

/* ---- Leaves ---- */

/* A random element: extremes now and then. */
static void gen_fill_element(generator *g, halo_literal *literal, int64_t i, bool small,
                             bool whole) {
  halo_type type = literal->shape->type;
  if (halo_type_is_float(type) || halo_type_is_complex(type)) {
    double parts[2];
    for (int p = 0; p < 2; p++) {
      parts[p] = whole ? (double)gen_below(g, 17) - 8 : gen_unit(g) * 4 - 2;
    }
    halo_literal_set_c128(literal, i, parts[0], parts[1]);
  } else if (small) {
    halo_literal_set_i64(literal, i, (int64_t)gen_below(g, 16) - (halo_type_is_sint(type) ? 4 : 0));
  } else if (gen_chance(g, 15)) {
    static const int64_t extremes[] = {0, 1, -1, INT64_MAX, INT64_MIN, 127, -128, 31};
    halo_literal_set_i64(literal, i, extremes[gen_below(g, 8)]);
  } else if (type == HALO_PRED) {
    halo_literal_set_i64(literal, i, (int64_t)gen_below(g, 2));
  } else {
    halo_literal_set_i64(literal, i, (int64_t)(gen_next(g) >> gen_below(g, 64)));
  }
}

static gen_value gen_leaf(halo_instr *instr, bool whole) {
  return (gen_value){.instr = instr, .size = whole ? 8 : 2, .error = 0, .whole = whole};
}

/* A shape with these extents and, often, another layout than the default one. */
static const halo_shape *gen_laid_out(generator *g, halo_type type, int rank, const int64_t *dims) {
  int32_t layout[HALO_MAX_RANK];
  for (int i = 0; i < rank; i++) layout[i] = rank - 1 - i;
  if (gen_chance(g, 50)) {
    for (int i = rank - 1; i > 0; i--) {
      int other = (int)gen_below(g, (uint32_t)i + 1);
      int32_t swap = layout[i];
      layout[i] = layout[other];
      layout[other] = swap;
    }
  }
  return halo_shape_new_full(&g->module->arena, type, rank, dims, NULL, layout);
}

gen_value gen_parameter(generator *g, halo_type type, int rank, const int64_t *dims, bool small) {
  halo_instr_spec spec = {.opcode = HALO_OP_PARAMETER,
                          .parameter_number = g->args.count,
                          .shape = gen_laid_out(g, type, rank, dims)};
  halo_instr *instr = NULL;
  halo_literal *literal = NULL;
  bool whole = gen_chance(g, 30);
  if (halo_instr_create(g->computation, &spec, &instr) != HALO_OK ||
      halo_literal_create(spec.shape, &literal) != HALO_OK) {
    g->failed = true;
    return (gen_value){.instr = NULL};
  }
  int64_t total = halo_shape_element_count(spec.shape);
  for (int64_t i = 0; i < total; i++) gen_fill_element(g, literal, i, small, whole);
  halo_vec_push(&g->args, literal);
  return gen_leaf(instr, whole);
}

static int gen_random_dims(generator *g, int64_t *dims);

/* A parameter that is a tuple of two arrays, which go to the pool. */
static void gen_tuple_parameter(generator *g) {
  const halo_shape *shapes[2];
  for (int i = 0; i < 2; i++) {
    int64_t dims[HALO_MAX_RANK];
    int rank = gen_random_dims(g, dims);
    shapes[i] = gen_laid_out(g, gen_random_type(g), rank, dims);
  }
  halo_instr_spec spec = {.opcode = HALO_OP_PARAMETER,
                          .parameter_number = g->args.count,
                          .shape = halo_shape_new_tuple(&g->module->arena, 2, shapes)};
  halo_instr *instr = NULL;
  halo_literal *literal = NULL;
  if (halo_instr_create(g->computation, &spec, &instr) != HALO_OK ||
      halo_literal_create(spec.shape, &literal) != HALO_OK) {
    g->failed = true;
    return;
  }
  halo_vec_push(&g->args, literal);
  for (int i = 0; i < 2; i++) {
    halo_attr index = gen_int(HALO_ATTR_INDEX, i);
    int64_t total = halo_shape_element_count(shapes[i]);
    for (int64_t k = 0; k < total; k++) {
      gen_fill_element(g, literal->elements[i], k, false, true);
    }
    gen_push(g, gen_leaf(gen_emit(g, HALO_OP_GET_TUPLE_ELEMENT, NULL, 1, &instr, 1, &index), true));
  }
}

static gen_value gen_constant_of(generator *g, halo_literal *literal, int rank, const int64_t *dims,
                                 gen_value value) {
  value.instr = halo_instr_constant(g->computation, literal);
  halo_literal_release(literal);
  if (rank > 0) {
    halo_attr none = gen_ints(g, HALO_ATTR_DIMENSIONS, 0, NULL);
    value.instr = gen_emit(g, HALO_OP_BROADCAST, gen_shape(g, value.instr->shape->type, rank, dims),
                           1, &value.instr, 1, &none);
  }
  return value;
}

gen_value gen_constant(generator *g, halo_type type, int rank, const int64_t *dims, double number) {
  halo_literal *literal;
  if (halo_literal_create(gen_shape(g, type, 0, NULL), &literal) != HALO_OK) {
    g->failed = true;
    return (gen_value){.instr = NULL};
  }
  halo_literal_set_c128(literal, 0, number, 0);
  gen_value value = {.size = fabs(number), .whole = number == trunc(number)};
  return gen_constant_of(g, literal, rank, dims, value);
}

gen_value gen_random_constant(generator *g, halo_type type, int rank, const int64_t *dims) {
  halo_literal *literal;
  bool whole = gen_chance(g, 50);
  const halo_shape *whole_shape = gen_shape(g, type, rank, dims);
  /* Small arrays in full, others as a broadcast scalar. */
  bool full = rank > 0 && halo_shape_element_count(whole_shape) <= 8 && gen_chance(g, 50);
  const halo_shape *shape = gen_shape(g, type, full ? rank : 0, dims);
  if (halo_literal_create(shape, &literal) != HALO_OK) {
    g->failed = true;
    return (gen_value){.instr = NULL};
  }
  int64_t count = halo_shape_element_count(shape);
  for (int64_t i = 0; i < count; i++) gen_fill_element(g, literal, i, false, whole);
  return gen_constant_of(g, literal, full ? 0 : rank, dims, gen_leaf(NULL, whole));
}

static bool gen_same_kind(const halo_instr *a, const halo_instr *b) {
  return a->shape->type == b->shape->type && halo_shape_same_dims(a->shape, b->shape);
}

gen_value gen_partner(generator *g, gen_value like) {
  const halo_shape *shape = like.instr->shape;
  int32_t start = (int32_t)gen_below(g, (uint32_t)g->pool.count);
  for (int32_t k = 0; k < g->pool.count && gen_chance(g, 95); k++) {
    gen_value *value = &g->pool.data[(start + k) % g->pool.count];
    if (gen_same_kind(value->instr, like.instr)) return *value;
  }
  if (g->depth == 0 && g->args.count < GEN_MAX_PARAMETERS && gen_chance(g, 50)) {
    return gen_parameter(g, shape->type, shape->rank, shape->dims, false);
  }
  return gen_random_constant(g, shape->type, shape->rank, shape->dims);
}

gen_value gen_pred_like(generator *g, gen_value like) {
  const halo_shape *shape = like.instr->shape;
  for (int32_t k = g->pool.count - 1; k >= 0; k--) {
    const halo_shape *other = g->pool.data[k].instr->shape;
    if (other->type == HALO_PRED && halo_shape_same_dims(other, shape)) return g->pool.data[k];
  }
  if (g->depth == 0 && g->args.count < GEN_MAX_PARAMETERS) {
    return gen_parameter(g, HALO_PRED, shape->rank, shape->dims, false);
  }
  return gen_random_constant(g, HALO_PRED, shape->rank, shape->dims);
}

/* ---- Bodies and programs ---- */

halo_computation *gen_body(generator *g, int count, const gen_value *params, bool scalar, int steps,
                           bool same, gen_value *result) {
  generator inner = *g;
  inner.computation = halo_computation_create(g->module, "body");
  inner.depth = g->depth + 1;
  memset(&inner.pool, 0, sizeof inner.pool);
  for (int i = 0; i < count; i++) {
    const halo_shape *shape = params[i].instr->shape;
    halo_instr_spec spec = {
        .opcode = HALO_OP_PARAMETER,
        .parameter_number = i,
        .shape = gen_shape(g, shape->type, scalar ? 0 : shape->rank, shape->dims)};
    gen_value value = params[i];
    if (halo_instr_create(inner.computation, &spec, &value.instr) != HALO_OK) inner.failed = true;
    halo_vec_push(&inner.pool, value);
  }
  *result = inner.pool.data[0];
  for (int s = 0; s < steps && !inner.failed; s++) {
    if (!gen_elementwise(&inner, same ? *result : gen_pick(&inner))) continue;
    gen_value last = inner.pool.data[inner.pool.count - 1];
    if (!same || gen_same_kind(last.instr, result->instr)) *result = last;
  }
  inner.computation->root = result->instr;
  g->state = inner.state;
  g->failed = inner.failed;
  halo_vec_deinit(&inner.pool);
  return inner.computation;
}

static int gen_random_dims(generator *g, int64_t *dims) {
  static const int64_t extents[] = {1, 1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 33, 64, 100};
  int rank = (int)gen_below(g, 5);
  if (gen_chance(g, 8)) rank = 5 + (int)gen_below(g, 3);
  int64_t total = 1;
  for (int d = 0; d < rank; d++) {
    do {
      dims[d] = extents[gen_below(g, 14)];
    } while (total * dims[d] > GEN_MAX_ELEMENTS);
    total *= dims[d];
    if (gen_chance(g, 2)) dims[d] = 0;
  }
  return rank;
}

/* The newest value before *from that nothing uses; else any. */
static gen_value gen_loose_end(generator *g, int32_t *from) {
  for (; *from >= 0; (*from)--) {
    const halo_instr *instr = g->pool.data[*from].instr;
    bool used = false;
    for (int32_t i = 0; i < g->computation->instrs.count && !used; i++) {
      const halo_instr *user = g->computation->instrs.data[i];
      for (int32_t k = 0; k < user->operand_count; k++) used |= user->operands[k] == instr;
    }
    if (!used) return g->pool.data[(*from)--];
  }
  return gen_pick(g);
}

static void gen_finish(generator *g, halo_test_program *program) {
  halo_instr *leaves[4];
  int count = 1 + (int)gen_below(g, 4);
  program->tolerances = halo_alloc(sizeof(double) * 4);
  int32_t from = g->pool.count - 1;
  for (int i = 0; i < count; i++) {
    gen_value value = gen_loose_end(g, &from);
    leaves[i] = value.instr;
    program->tolerances[i] = value.error * 4;
  }
  program->leaf_count = count;
  halo_computation *entry = g->computation;
  entry->root = leaves[0];
  const halo_shape *result =
      gen_laid_out(g, leaves[0]->shape->type, leaves[0]->shape->rank, leaves[0]->shape->dims);
  bool nested = count > 2 && gen_chance(g, 30);
  if (count > 1) {
    const halo_shape *shapes[4] = {result};
    for (int i = 1; i < count; i++) {
      shapes[i] =
          gen_laid_out(g, leaves[i]->shape->type, leaves[i]->shape->rank, leaves[i]->shape->dims);
    }
    if (nested) { /* ((0, 1), 2, ...) */
      leaves[1] = gen_emit(g, HALO_OP_TUPLE, NULL, 2, leaves, 0, NULL);
      shapes[1] = halo_shape_new_tuple(&g->module->arena, 2, shapes);
    }
    entry->root = gen_emit(g, HALO_OP_TUPLE, NULL, count - nested, leaves + nested, 0, NULL);
    result = halo_shape_new_tuple(&g->module->arena, count - nested, shapes + nested);
  }
  if (g->failed) return;
  g->module->entry = entry;
  g->module->entry_result = result;
  g->module->entry_params =
      halo_arena_array(&g->module->arena, const halo_shape *, entry->params.count);
  for (int32_t i = 0; i < entry->params.count; i++) {
    g->module->entry_params[i] = entry->params.data[i]->shape;
  }
  halo_module_remove_dead(g->module);
  if (halo_module_verify(g->module) != HALO_OK) g->failed = true;
}

halo_test_program *halo_test_generate(uint64_t seed, const halo_test_options *options) {
  generator g = {.state = seed * 2 + 1, .options = *options};
  halo_test_program *program = halo_alloc(sizeof *program);
  program->module = g.module = halo_module_create("generated");
  g.computation = halo_computation_create(g.module, "main");
  int params = 1 + (int)gen_below(&g, 3), steps = g.options.steps;
  if (!steps) steps = 1 + (int)gen_below(&g, 25);
  for (int i = 0; i < params; i++) {
    int64_t dims[HALO_MAX_RANK];
    int rank = gen_random_dims(&g, dims);
    gen_push(&g, gen_parameter(&g, gen_random_type(&g), rank, dims, false));
  }
  if (gen_chance(&g, 20)) gen_tuple_parameter(&g);
  for (int s = 0; s < steps && !g.failed; s++) {
    gen_value a = gen_pick(&g);
    if (gen_chance(&g, 50)) {
      gen_elementwise(&g, a);
    } else {
      gen_structural(&g, a);
    }
  }
  if (!g.failed) gen_finish(&g, program);
  program->args = g.args.data;
  program->arg_count = g.args.count;
  halo_vec_deinit(&g.pool);
  if (!g.failed) return program;
  halo_test_program_release(program);
  return NULL;
}

void halo_test_program_release(halo_test_program *program) {
  if (!program) return;
  for (int i = 0; i < program->arg_count; i++) halo_literal_release(program->args[i]);
  halo_free(program->args);
  halo_free(program->tolerances);
  halo_module_release(program->module);
  halo_free(program);
}
