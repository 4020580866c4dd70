/* SPDX-License-Identifier: Apache-2.0 */
/* generate_structural.c: random operations on whole arrays: movement, indices, reductions, and
 * running other computations. */
#include "generator.h"

#include <math.h>
#include <string.h>

static bool gen_keep(generator *g, halo_instr *instr, gen_value from) {
  from.instr = instr;
  gen_push(g, from);
  return instr != NULL;
}

/* A value with the worse bounds of two. */
static gen_value gen_either(gen_value a, gen_value b) {
  a.size = fmax(a.size, b.size);
  a.error = fmax(a.error, b.error);
  a.whole = a.whole && b.whole;
  return a;
}

/* ---- Movement ---- */

static bool gen_broadcast(generator *g, gen_value a) {
  const halo_shape *shape = a.instr->shape;
  int64_t dims[HALO_MAX_RANK], map[HALO_MAX_RANK];
  int at = 0, extra = (int)gen_below(g, (uint32_t)shape->rank + 1);
  int64_t extent = 1 + gen_below(g, 5);
  if (shape->rank >= 7 || halo_shape_element_count(shape) * extent > GEN_MAX_ELEMENTS) return false;
  for (int d = 0; d <= shape->rank; d++) {
    if (d == extra) dims[at++] = extent;
    if (d == shape->rank) break;
    map[d] = at;
    dims[at++] = shape->dims[d];
  }
  halo_attr attr = gen_ints(g, HALO_ATTR_DIMENSIONS, shape->rank, map);
  return gen_keep(
      g, gen_emit(g, HALO_OP_BROADCAST, gen_shape(g, shape->type, at, dims), 1, &a.instr, 1, &attr),
      a);
}

/* Merges two neighbours, splits one dimension, adds a 1, or flattens. */
static bool gen_reshape(generator *g, gen_value a) {
  const halo_shape *shape = a.instr->shape;
  int64_t dims[HALO_MAX_RANK];
  int rank = shape->rank;
  if (rank) memcpy(dims, shape->dims, sizeof *dims * (size_t)rank);
  uint32_t what = gen_below(g, 4);
  int at = rank ? (int)gen_below(g, (uint32_t)rank) : 0;
  if (what == 0 && rank >= 2) {
    if (at == rank - 1) at--;
    dims[at] *= dims[at + 1];
    memmove(dims + at + 1, dims + at + 2, sizeof *dims * (size_t)(rank - at - 2));
    rank--;
  } else if (what == 1 && rank >= 1 && rank < 7 && dims[at] > 3) {
    int64_t factor = dims[at] % 2 == 0 ? 2 : dims[at] % 3 == 0 ? 3 : dims[at];
    memmove(dims + at + 1, dims + at, sizeof *dims * (size_t)(rank - at));
    dims[at] /= factor;
    dims[at + 1] = factor;
    rank++;
  } else if (what == 2 && rank < 7) {
    memmove(dims + at + 1, dims + at, sizeof *dims * (size_t)(rank - at));
    dims[at] = 1;
    rank++;
  } else {
    dims[0] = halo_shape_element_count(shape);
    rank = 1;
  }
  return gen_keep(
      g, gen_emit(g, HALO_OP_RESHAPE, gen_shape(g, shape->type, rank, dims), 1, &a.instr, 0, NULL),
      a);
}

static bool gen_transpose(generator *g, gen_value a) {
  int64_t order[HALO_MAX_RANK];
  int rank = a.instr->shape->rank;
  for (int i = 0; i < rank; i++) order[i] = i;
  for (int i = rank - 1; i > 0; i--) {
    int other = (int)gen_below(g, (uint32_t)i + 1);
    int64_t swap = order[i];
    order[i] = order[other];
    order[other] = swap;
  }
  halo_attr attr = gen_ints(g, HALO_ATTR_DIMENSIONS, rank, order);
  return gen_keep(g, gen_emit(g, HALO_OP_TRANSPOSE, NULL, 1, &a.instr, 1, &attr), a);
}

static bool gen_reverse(generator *g, gen_value a) {
  int64_t dims[HALO_MAX_RANK];
  int count = 0;
  for (int d = 0; d < a.instr->shape->rank; d++) {
    if (gen_chance(g, 50)) dims[count++] = d;
  }
  halo_attr attr = gen_ints(g, HALO_ATTR_DIMENSIONS, count, dims);
  return gen_keep(g, gen_emit(g, HALO_OP_REVERSE, NULL, 1, &a.instr, 1, &attr), a);
}

static bool gen_slice(generator *g, gen_value a) {
  const halo_shape *shape = a.instr->shape;
  int64_t triples[3 * HALO_MAX_RANK];
  for (int d = 0; d < shape->rank; d++) {
    uint32_t extent = (uint32_t)shape->dims[d];
    uint32_t start = gen_chance(g, 50) ? 0 : gen_below(g, extent + 1);
    triples[3 * d] = start;
    triples[3 * d + 1] = gen_chance(g, 50) ? extent : start + gen_below(g, extent - start + 1);
    triples[3 * d + 2] = 1 + (gen_chance(g, 30) ? gen_below(g, 3) : 0);
  }
  halo_attr attr = gen_ints(g, HALO_ATTR_SLICE, 3 * shape->rank, triples);
  return gen_keep(g, gen_emit(g, HALO_OP_SLICE, NULL, 1, &a.instr, 1, &attr), a);
}

static bool gen_pad(generator *g, gen_value a) {
  const halo_shape *shape = a.instr->shape;
  int64_t triples[3 * HALO_MAX_RANK], total = 1;
  if (shape->rank == 0) return false; /* HLO text has no way to write it */
  for (int d = 0; d < shape->rank; d++) {
    int64_t interior = gen_chance(g, 20) ? 1 : 0, n = shape->dims[d];
    int64_t low = gen_chance(g, 40) ? (int64_t)gen_below(g, 5) - 2 : 0;
    int64_t high = gen_chance(g, 40) ? (int64_t)gen_below(g, 5) - 2 : 0;
    int64_t result = n + low + high + (n > 0 ? n - 1 : 0) * interior;
    if (result < 0) low = high = 0, result = n + (n > 0 ? n - 1 : 0) * interior;
    triples[3 * d] = low;
    triples[3 * d + 1] = high;
    triples[3 * d + 2] = interior;
    total *= result;
  }
  if (total > GEN_MAX_ELEMENTS) return false;
  gen_value fill = gen_random_constant(g, shape->type, 0, NULL);
  halo_instr *operands[2] = {a.instr, fill.instr};
  halo_attr attr = gen_ints(g, HALO_ATTR_PADDING, 3 * shape->rank, triples);
  return gen_keep(g, gen_emit(g, HALO_OP_PAD, NULL, 2, operands, 1, &attr), gen_either(a, fill));
}

static bool gen_concatenate(generator *g, gen_value a) {
  const halo_shape *shape = a.instr->shape;
  if (shape->rank == 0 || halo_shape_element_count(shape) * 3 > GEN_MAX_ELEMENTS) return false;
  gen_value b = gen_partner(g, a), c = gen_partner(g, a);
  halo_instr *operands[3] = {a.instr, b.instr, c.instr};
  int64_t dimension = gen_below(g, (uint32_t)shape->rank);
  halo_attr attr = gen_ints(g, HALO_ATTR_DIMENSIONS, 1, &dimension);
  return gen_keep(
      g, gen_emit(g, HALO_OP_CONCATENATE, NULL, 2 + (int)gen_below(g, 2), operands, 1, &attr),
      gen_either(a, gen_either(b, c)));
}

static bool gen_bits(generator *g, gen_value a) {
  static const halo_type same[][2] = {{HALO_S32, HALO_U32},
                                      {HALO_S8, HALO_U8},
                                      {HALO_F32, HALO_U32},
                                      {HALO_BF16, HALO_S16},
                                      {HALO_S64, HALO_U64}};
  const halo_shape *shape = a.instr->shape;
  int64_t dims[HALO_MAX_RANK];
  if (shape->rank) memcpy(dims, shape->dims, sizeof *dims * (size_t)shape->rank);
  if (a.error > 0 || (halo_type_is_float(shape->type) && a.instr->opcode != HALO_OP_PARAMETER)) {
    return false;
  }
  if (shape->type == HALO_U32 && gen_chance(g, 50) && shape->rank < 7) {
    if (halo_shape_element_count(shape) * 4 > GEN_MAX_ELEMENTS) return false;
    dims[shape->rank] = 4;
    return gen_keep(g,
                    gen_emit(g, HALO_OP_BITCAST_CONVERT,
                             gen_shape(g, HALO_U8, shape->rank + 1, dims), 1, &a.instr, 0, NULL),
                    a);
  }
  for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
    if (shape->type != same[i][0]) continue;
    return gen_keep(g,
                    gen_emit(g, HALO_OP_BITCAST_CONVERT,
                             gen_shape(g, same[i][1], shape->rank, dims), 1, &a.instr, 0, NULL),
                    a);
  }
  return false;
}

static bool gen_iota(generator *g, gen_value a) {
  const halo_shape *shape = a.instr->shape;
  if (shape->rank == 0 || shape->type == HALO_PRED) return false;
  halo_attr attr = gen_int(HALO_ATTR_IOTA_DIMENSION, gen_below(g, (uint32_t)shape->rank));
  gen_value value = {.size = 1, .whole = true};
  value.size = (double)shape->dims[attr.i];
  value.instr = gen_emit(g, HALO_OP_IOTA, gen_shape(g, shape->type, shape->rank, shape->dims), 0,
                         NULL, 1, &attr);
  gen_push(g, value);
  return value.instr != NULL;
}

/* ---- Indices ---- */

/* Whole numbers of an integral type, most of them small. */
static halo_instr *gen_indices(generator *g, halo_type type, int rank, const int64_t *dims) {
  if (g->depth == 0 && g->args.count < GEN_MAX_PARAMETERS) {
    return gen_parameter(g, type, rank, dims, gen_chance(g, 80)).instr;
  }
  return gen_random_constant(g, type, rank, dims).instr;
}

static halo_type gen_index_type(generator *g) {
  static const halo_type types[] = {HALO_S32, HALO_S32, HALO_S64, HALO_U32, HALO_S8, HALO_U8};
  return types[gen_below(g, 6)];
}

static bool gen_dynamic_slice(generator *g, gen_value a) {
  const halo_shape *shape = a.instr->shape;
  if (shape->rank == 0 || shape->rank > 4) return false;
  halo_instr *operands[6] = {a.instr};
  int64_t sizes[HALO_MAX_RANK];
  halo_type type = gen_index_type(g);
  for (int d = 0; d < shape->rank; d++) {
    operands[1 + d] = gen_indices(g, type, 0, NULL);
    sizes[d] = gen_below(g, (uint32_t)shape->dims[d] + 1);
  }
  halo_attr attr = gen_ints(g, HALO_ATTR_DYNAMIC_SLICE_SIZES, shape->rank, sizes);
  halo_instr *slice = gen_emit(g, HALO_OP_DYNAMIC_SLICE, NULL, 1 + shape->rank, operands, 1, &attr);
  if (!gen_keep(g, slice, a)) return false;
  if (gen_chance(g, 50)) return true;
  /* And put it, or what was made of it, somewhere else. */
  if (!gen_elementwise(g, g->pool.data[g->pool.count - 1])) return true;
  gen_value update = g->pool.data[g->pool.count - 1];
  if (update.instr->shape->type != shape->type ||
      !halo_shape_same_dims(update.instr->shape, slice->shape)) {
    return true;
  }
  halo_instr *update_operands[7] = {a.instr, update.instr};
  for (int d = 0; d < shape->rank; d++) update_operands[2 + d] = operands[1 + d];
  return gen_keep(
      g, gen_emit(g, HALO_OP_DYNAMIC_UPDATE_SLICE, NULL, 2 + shape->rank, update_operands, 0, NULL),
      gen_either(a, update));
}

/* Slices along one dimension, picked by a vector or matrix of indices. */
typedef struct gen_places {
  int64_t dimension, index_dims[2], offset[8];
  int index_rank, offsets;
} gen_places;

static bool gen_choose_places(generator *g, const halo_shape *shape, gen_places *p) {
  if (shape->rank == 0 || shape->rank > 5) return false;
  *p = (gen_places){.dimension = gen_below(g, (uint32_t)shape->rank),
                    .index_dims = {1 + gen_below(g, 6), 1 + gen_below(g, 3)},
                    .index_rank = 1 + (int)gen_below(g, 2)};
  int64_t extent = shape->dims[p->dimension];
  if (extent == 0 || halo_shape_element_count(shape) / extent * 18 > GEN_MAX_ELEMENTS) return false;
  bool last = gen_chance(g, 50); /* window dimensions behind the batch ones, or before them */
  for (int d = 0; d < shape->rank; d++) {
    if (d == p->dimension) continue;
    p->offset[p->offsets] = p->offsets + (last ? p->index_rank : 0);
    p->offsets++;
  }
  return true;
}

static bool gen_gather_at(generator *g, gen_value a, const gen_places *p) {
  const halo_shape *shape = a.instr->shape;
  int64_t sizes[HALO_MAX_RANK];
  for (int d = 0; d < shape->rank; d++) sizes[d] = d == p->dimension ? 1 : shape->dims[d];
  halo_instr *operands[2] = {a.instr,
                             gen_indices(g, gen_index_type(g), p->index_rank, p->index_dims)};
  halo_attr attrs[5] = {gen_ints(g, HALO_ATTR_OFFSET_DIMS, p->offsets, p->offset),
                        gen_ints(g, HALO_ATTR_COLLAPSED_SLICE_DIMS, 1, &p->dimension),
                        gen_ints(g, HALO_ATTR_START_INDEX_MAP, 1, &p->dimension),
                        gen_int(HALO_ATTR_INDEX_VECTOR_DIM, p->index_rank),
                        gen_ints(g, HALO_ATTR_SLICE_SIZES, shape->rank, sizes)};
  return gen_keep(g, gen_emit(g, HALO_OP_GATHER, NULL, 2, operands, 5, attrs), a);
}

static bool gen_gather(generator *g, gen_value a) {
  gen_places p;
  return gen_choose_places(g, a.instr->shape, &p) && gen_gather_at(g, a, &p);
}

/* ---- Reductions ---- */

/* A body of one operation on two scalars. */
static halo_computation *gen_reducer(generator *g, halo_type type, halo_opcode opcode) {
  halo_computation *body = halo_computation_create(g->module, "reducer");
  halo_computation *outer = g->computation;
  halo_instr *params[2] = {NULL, NULL};
  for (int i = 0; i < 2; i++) {
    halo_instr_spec spec = {
        .opcode = HALO_OP_PARAMETER, .parameter_number = i, .shape = gen_shape(g, type, 0, NULL)};
    if (halo_instr_create(body, &spec, &params[i]) != HALO_OK) g->failed = true;
  }
  g->computation = body;
  body->root = gen_binary(g, opcode, params[0], params[1]);
  g->computation = outer;
  return body;
}

/* Slices picked from an array, or what was made of them, combined into it at other places. */
static bool gen_scatter(generator *g, gen_value a) {
  static const halo_opcode opcodes[] = {HALO_OP_ADD,      HALO_OP_MAXIMUM, HALO_OP_MINIMUM,
                                        HALO_OP_MULTIPLY, HALO_OP_AND,     HALO_OP_XOR};
  halo_type type = a.instr->shape->type;
  bool floating = halo_type_is_float(type), complex_ = halo_type_is_complex(type);
  gen_places p;
  if (!gen_choose_places(g, a.instr->shape, &p) || !gen_gather_at(g, a, &p)) return false;
  gen_value update = g->pool.data[g->pool.count - 1];
  if (gen_chance(g, 60) && gen_elementwise(g, update)) {
    gen_value made = g->pool.data[g->pool.count - 1];
    if (made.instr->shape->type == type &&
        halo_shape_same_dims(made.instr->shape, update.instr->shape)) {
      update = made;
    }
  }
  halo_opcode opcode = opcodes[complex_ ? 0 : gen_below(g, floating ? 3 : 6)];
  halo_instr *operands[3] = {a.instr, gen_indices(g, gen_index_type(g), p.index_rank, p.index_dims),
                             update.instr};
  halo_attr attrs[5] = {gen_ints(g, HALO_ATTR_UPDATE_WINDOW_DIMS, p.offsets, p.offset),
                        gen_ints(g, HALO_ATTR_INSERTED_WINDOW_DIMS, 1, &p.dimension),
                        gen_ints(g, HALO_ATTR_SCATTER_DIMS_TO_OPERAND_DIMS, 1, &p.dimension),
                        gen_int(HALO_ATTR_INDEX_VECTOR_DIM, p.index_rank),
                        gen_comp(g, HALO_ATTR_TO_APPLY, gen_reducer(g, type, opcode))};
  halo_instr *instr = gen_emit(g, HALO_OP_SCATTER, NULL, 3, operands, 5, attrs);
  gen_value result = gen_either(a, update);
  if ((floating || complex_) && opcode == HALO_OP_ADD) {
    double n = 1 + (double)(p.index_dims[0] * p.index_dims[1]), size = n * result.size;
    if (size > 16384) return false; /* f16 could overflow */
    bool exact = result.whole && result.error == 0 && size <= gen_whole_limit(type);
    result.error = exact ? 0 : n * result.error + n * size * gen_epsilon(type);
    result.size = size;
    result.whole = exact;
  }
  return gen_keep(g, instr, result);
}

static bool gen_reduce(generator *g, gen_value a) {
  static const halo_opcode whole[] = {HALO_OP_ADD,     HALO_OP_MULTIPLY, HALO_OP_MAXIMUM,
                                      HALO_OP_MINIMUM, HALO_OP_AND,      HALO_OP_OR,
                                      HALO_OP_XOR};
  static const double identities[] = {0, 1, 0, 0, -1, 0, 0};
  const halo_shape *shape = a.instr->shape;
  halo_type type = shape->type;
  bool floating = halo_type_is_float(type), complex_ = halo_type_is_complex(type);
  uint32_t which = floating ? gen_below(g, 2) * 2 : complex_ ? 0 : gen_below(g, 7);
  int64_t dims[HALO_MAX_RANK];
  int count = 0;
  double n = 1;
  for (int d = 0; d < shape->rank; d++) {
    if (!gen_chance(g, 50)) continue;
    dims[count++] = d;
    n *= (double)shape->dims[d];
  }
  halo_opcode opcode = whole[which];
  gen_value init = gen_constant(g, type, 0, NULL, identities[which]);
  if (opcode == HALO_OP_MAXIMUM || opcode == HALO_OP_MINIMUM) {
    bool largest = opcode == HALO_OP_MINIMUM, is_signed = !halo_type_is_uint(type);
    double bound = floating ? (double)INFINITY : 0x1p70; /* saturates to the type's limit */
    if (type == HALO_PRED) bound = 1, is_signed = false;
    init = gen_constant(g, type, 0, NULL, largest ? bound : is_signed ? -bound : 0);
  }
  halo_instr *operands[2] = {a.instr, init.instr};
  halo_attr attrs[2] = {gen_ints(g, HALO_ATTR_DIMENSIONS, count, dims),
                        gen_comp(g, HALO_ATTR_TO_APPLY, gen_reducer(g, type, opcode))};
  halo_instr *instr = gen_emit(g, HALO_OP_REDUCE, NULL, 2, operands, 2, attrs);
  if ((floating || complex_) && opcode == HALO_OP_ADD) {
    if (n * a.size > 16384) return false; /* f16 could overflow */
    double size = (n > 0 ? n : 1) * a.size;
    bool exact = a.whole && a.error == 0 && size <= gen_whole_limit(type);
    a.error = exact ? 0 : n * a.error + n * size * gen_epsilon(type);
    a.size = size;
    a.whole = exact;
  } else if (floating && n == 0) {
    return false; /* an infinity */
  }
  return gen_keep(g, instr, a);
}

/* The largest value and the first place of it, along one dimension. */
static bool gen_arg_max(generator *g, gen_value a) {
  const halo_shape *shape = a.instr->shape;
  halo_type type = shape->type;
  if (shape->rank == 0 || a.error > 0 || halo_type_is_complex(type) || type == HALO_PRED) {
    return false;
  }
  halo_computation *body = halo_computation_create(g->module, "arg_max"), *outer = g->computation;
  halo_instr *p[4];
  for (int i = 0; i < 4; i++) {
    halo_instr_spec spec = {.opcode = HALO_OP_PARAMETER,
                            .parameter_number = i,
                            .shape = gen_shape(g, i % 2 ? HALO_S32 : type, 0, NULL)};
    if (halo_instr_create(body, &spec, &p[i]) != HALO_OK) g->failed = true;
  }
  g->computation = body;
  halo_attr greater = gen_int(HALO_ATTR_DIRECTION, HALO_GT);
  halo_attr equal = gen_int(HALO_ATTR_DIRECTION, HALO_EQ);
  halo_attr less = gen_int(HALO_ATTR_DIRECTION, HALO_LT);
  halo_instr *values[2] = {p[0], p[2]}, *places[2] = {p[1], p[3]};
  halo_instr *wins = gen_emit(g, HALO_OP_COMPARE, NULL, 2, values, 1, &greater);
  halo_instr *ties = gen_emit(g, HALO_OP_COMPARE, NULL, 2, values, 1, &equal);
  halo_instr *first = gen_emit(g, HALO_OP_COMPARE, NULL, 2, places, 1, &less);
  halo_instr *keep = gen_binary(g, HALO_OP_OR, wins, gen_binary(g, HALO_OP_AND, ties, first));
  halo_instr *value[3] = {keep, p[0], p[2]}, *place[3] = {keep, p[1], p[3]};
  halo_instr *results[2] = {gen_emit(g, HALO_OP_SELECT, NULL, 3, value, 0, NULL),
                            gen_emit(g, HALO_OP_SELECT, NULL, 3, place, 0, NULL)};
  body->root = gen_emit(g, HALO_OP_TUPLE, NULL, 2, results, 0, NULL);
  g->computation = outer;
  int64_t dimension = gen_below(g, (uint32_t)shape->rank);
  if (shape->dims[dimension] == 0) return false;
  halo_attr along = gen_int(HALO_ATTR_IOTA_DIMENSION, dimension);
  halo_instr *operands[4] = {
      a.instr,
      gen_emit(g, HALO_OP_IOTA, gen_shape(g, HALO_S32, shape->rank, shape->dims), 0, NULL, 1,
               &along),
      gen_constant(g, type, 0, NULL, halo_type_is_float(type) ? -(double)INFINITY : -0x1p70).instr,
      gen_constant(g, HALO_S32, 0, NULL, 0x1p70).instr};
  halo_attr attrs[2] = {gen_ints(g, HALO_ATTR_DIMENSIONS, 1, &dimension),
                        gen_comp(g, HALO_ATTR_TO_APPLY, body)};
  halo_instr *both = gen_emit(g, HALO_OP_REDUCE, NULL, 4, operands, 2, attrs);
  bool ok = true;
  for (int i = 0; i < 2; i++) {
    halo_attr index = gen_int(HALO_ATTR_INDEX, i);
    ok &= gen_keep(g, gen_emit(g, HALO_OP_GET_TUPLE_ELEMENT, NULL, 1, &both, 1, &index), a);
  }
  return ok;
}

/* ---- Computations ---- */

static bool gen_map(generator *g, gen_value a) {
  gen_value args[2] = {a, gen_partner(g, a)}, result;
  halo_instr *operands[2] = {args[0].instr, args[1].instr};
  int64_t dims[HALO_MAX_RANK];
  if (!operands[1]) return false;
  for (int d = 0; d < a.instr->shape->rank; d++) dims[d] = d;
  halo_computation *body = gen_body(g, 2, args, true, 1 + (int)gen_below(g, 4), false, &result);
  halo_attr attrs[2] = {gen_ints(g, HALO_ATTR_DIMENSIONS, a.instr->shape->rank, dims),
                        gen_comp(g, HALO_ATTR_TO_APPLY, body)};
  return gen_keep(g, gen_emit(g, HALO_OP_MAP, NULL, 2, operands, 2, attrs), result);
}

static bool gen_call(generator *g, gen_value a) {
  gen_value args[2] = {a, gen_partner(g, a)}, result;
  halo_instr *operands[2] = {args[0].instr, args[1].instr};
  if (!operands[1]) return false;
  halo_computation *body = gen_body(g, 2, args, false, 1 + (int)gen_below(g, 4), false, &result);
  halo_attr attr = gen_comp(g, HALO_ATTR_TO_APPLY, body);
  return gen_keep(g, gen_emit(g, HALO_OP_CALL, NULL, 2, operands, 1, &attr), result);
}

static bool gen_conditional(generator *g, gen_value a) {
  gen_value args[3] = {a, gen_partner(g, a), gen_partner(g, a)}, results[3];
  bool pred = gen_chance(g, 50);
  int branches = pred ? 2 : 1 + (int)gen_below(g, 3);
  halo_computation *bodies[3];
  halo_instr *operands[4] = {gen_indices(g, pred ? HALO_PRED : HALO_S32, 0, NULL)};
  gen_value result = {.whole = true};
  for (int i = 0; i < branches; i++) {
    operands[1 + i] = args[i].instr;
    if (!operands[1 + i]) return false;
    bodies[i] = gen_body(g, 1, &args[i], false, 1 + (int)gen_below(g, 3), true, &results[i]);
    result = gen_either(result, results[i]);
  }
  halo_attr attrs[2] = {{.id = HALO_ATTR_BRANCH_COMPUTATIONS}};
  if (pred) {
    attrs[0] = gen_comp(g, HALO_ATTR_TRUE_COMPUTATION, bodies[0]);
    attrs[1] = gen_comp(g, HALO_ATTR_FALSE_COMPUTATION, bodies[1]);
  } else {
    attrs[0].comps.data =
        halo_arena_copy(&g->module->arena, bodies, sizeof *bodies * (size_t)branches);
    attrs[0].comps.count = branches;
  }
  return gen_keep(
      g, gen_emit(g, HALO_OP_CONDITIONAL, NULL, 1 + branches, operands, pred ? 2 : 1, attrs),
      result);
}

/* The state of a loop is (counter, x, y): the counter goes up to a limit that is a constant or a
 * parameter, x changes, y is there. */
static halo_instr *gen_state(generator *g, const halo_shape *shape, int element) {
  halo_instr *state = g->computation->params.count ? g->computation->params.data[0] : NULL;
  if (!state) {
    halo_instr_spec spec = {.opcode = HALO_OP_PARAMETER, .shape = shape};
    if (halo_instr_create(g->computation, &spec, &state) != HALO_OK) g->failed = true;
  }
  halo_attr index = gen_int(HALO_ATTR_INDEX, element);
  return gen_emit(g, HALO_OP_GET_TUPLE_ELEMENT, NULL, 1, &state, 1, &index);
}

static bool gen_while(generator *g, gen_value a) {
  gen_value y = gen_partner(g, a);
  const halo_shape *shape = a.instr->shape;
  halo_type type = shape->type;
  bool floating = halo_type_is_float(type), complex_ = halo_type_is_complex(type);
  if (!y.instr || complex_) return false;
  int trips = (int)gen_below(g, 5);
  halo_instr *init[3] = {gen_constant(g, HALO_S32, 0, NULL, 0).instr, a.instr, y.instr};
  halo_instr *state = gen_emit(g, HALO_OP_TUPLE, NULL, 3, init, 0, NULL);
  if (!state) return false;
  halo_computation *outer = g->computation;
  halo_computation *condition = halo_computation_create(g->module, "condition");
  halo_attr less = gen_int(HALO_ATTR_DIRECTION, HALO_LT);
  g->computation = condition;
  halo_instr *compared[2] = {gen_state(g, state->shape, 0),
                             gen_constant(g, HALO_S32, 0, NULL, trips).instr};
  condition->root = gen_emit(g, HALO_OP_COMPARE, NULL, 2, compared, 1, &less);
  /* Floats do something that does not grow; integers anything. */
  g->computation = outer;
  gen_value body_params[2] = {a, y}, result = a;
  halo_computation *step = NULL;
  if (!floating) {
    step = gen_body(g, 2, body_params, false, 1 + (int)gen_below(g, 3), true, &result);
  }
  halo_computation *body = g->computation = halo_computation_create(g->module, "loop");
  halo_instr *next[3] = {gen_binary(g, HALO_OP_ADD, gen_state(g, state->shape, 0),
                                    gen_constant(g, HALO_S32, 0, NULL, 1).instr),
                         gen_state(g, state->shape, 1), gen_state(g, state->shape, 2)};
  if (floating) {
    halo_opcode opcode = gen_chance(g, 50) ? HALO_OP_TANH : HALO_OP_COS;
    next[1] = gen_unary(g, opcode, next[1]);
    a.size = fmax(a.size, 1);
    if (trips > 0) a.error += trips * 32 * gen_epsilon(type);
    a.whole = a.whole && trips == 0;
  } else {
    halo_attr attr = gen_comp(g, HALO_ATTR_TO_APPLY, step);
    next[1] = gen_emit(g, HALO_OP_CALL, NULL, 2, next + 1, 1, &attr);
  }
  body->root = gen_emit(g, HALO_OP_TUPLE, NULL, 3, next, 0, NULL);
  g->computation = outer;
  halo_attr attrs[2] = {gen_comp(g, HALO_ATTR_CONDITION, condition),
                        gen_comp(g, HALO_ATTR_BODY, body)};
  halo_instr *loop = gen_emit(g, HALO_OP_WHILE, NULL, 1, &state, 2, attrs);
  halo_attr index = gen_int(HALO_ATTR_INDEX, 1);
  return gen_keep(g, gen_emit(g, HALO_OP_GET_TUPLE_ELEMENT, NULL, 1, &loop, 1, &index), a);
}

bool gen_structural(generator *g, gen_value a) {
  static bool (*const kinds[])(generator *, gen_value) = {
      gen_broadcast, gen_reshape,     gen_transpose,   gen_reverse, gen_slice,
      gen_pad,       gen_concatenate, gen_bits,        gen_iota,    gen_dynamic_slice,
      gen_gather,    gen_scatter,     gen_reduce,      gen_reduce,  gen_arg_max,
      gen_dot,       gen_convolution, gen_map,         gen_call,    gen_conditional,
      gen_while,     gen_fft,         gen_random_bits, gen_sort,    gen_window,
      gen_window};
  if (!a.instr) return false;
  return kinds[gen_below(g, sizeof kinds / sizeof kinds[0])](g, a);
}
