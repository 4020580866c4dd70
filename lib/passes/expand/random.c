/* SPDX-License-Identifier: Apache-2.0 */
/* passes/expand/random.c: random numbers. The new state of rng-bit-generator is arithmetic on a few words;
 * the data is left to kernels. */
#include "hlo/random.h"
#include "passes/expand/expand.h"

static halo_instr *random_u64(halo_expander *x, uint64_t value) {
  halo_literal *literal = NULL;
  const int64_t one = 1;
  const halo_shape *shape = halo_shape_new(&x->r->computation->module->arena, HALO_U64, 1, &one);
  halo_status status = halo_literal_create(shape, &literal);
  if (x->status == HALO_OK) x->status = status;
  if (status != HALO_OK) return NULL;
  halo_literal_set_i64(literal, 0, (int64_t)value);
  return halo_rewrite_make_constant(x->r, x->like, literal);
}

/* Word `i` of a state as an array of one. */
static halo_instr *random_word(halo_expander *x, halo_instr *state, int64_t i) {
  return halo_expand_range(x, state, 0, i, i + 1);
}

/* The state after `blocks` more: its counter is the second word, and the third where there is one. */
static halo_instr *random_advance(halo_expander *x, halo_instr *state, int64_t blocks) {
  halo_instr *words[3] = {random_word(x, state, 0), random_word(x, state, 1), NULL};
  halo_instr *low = halo_expand_binary(x, HALO_OP_ADD, words[1], random_u64(x, (uint64_t)blocks));
  if (state->shape->dims[0] == 3 && low) {
    halo_instr *carry = halo_expand_compare(x, low, HALO_LT, words[1]);
    words[2] = halo_expand_binary(x, HALO_OP_ADD, random_word(x, state, 2),
                                  halo_expand_convert(x, carry, HALO_U64));
  }
  words[1] = low;
  return halo_expand_join(x, words, (int32_t)state->shape->dims[0], 0);
}

halo_instr *halo_expand_rng_bit_generator(halo_expander *x, halo_instr *instr) {
  if (instr->operands[0]->shape->type != HALO_U64) {
    x->status = halo_fail(HALO_UNIMPLEMENTED, "%s: rng-bit-generator runs with a state of u64 only",
                          instr->name);
    return NULL;
  }
  if (!halo_shape_is_tuple(instr->shape)) return NULL;
  halo_rng_desc v = halo_rng_desc_of(instr);
  halo_instr *state = instr->operands[0];
  const halo_shape *shape =
      halo_shape_with_default_layout(&x->r->computation->module->arena, v.data);
  const halo_attr *algorithm = halo_instr_attr(instr, HALO_ATTR_RNG_ALGORITHM);
  halo_instr *data = halo_rewrite_make(x->r, instr, HALO_OP_RNG_BIT_GENERATOR, shape, &state, 1,
                                       algorithm, algorithm ? 1 : 0);
  halo_instr *next = random_advance(x, state, v.blocks);
  return halo_expand_tuple(x, (halo_instr *[]){next, data}, 2);
}

/* ---- rng ---- */

#define MUL(a, b) halo_expand_binary(x, HALO_OP_MULTIPLY, a, b)
#define ADD(a, b) halo_expand_binary(x, HALO_OP_ADD, a, b)
#define SUB(a, b) halo_expand_binary(x, HALO_OP_SUBTRACT, a, b)

/* The key of an instruction's numbers: no two of a module, and no two replicas or partitions, share one. */
static halo_instr *random_key(halo_expander *x) {
  halo_module *module = x->r->computation->module;
  const int64_t one = 1;
  const halo_shape *shape = halo_shape_new(&module->arena, HALO_U64, 1, &one);
  halo_instr *key = random_u64(x, ((uint64_t)x->like->id + 1) * 0x9E3779B97F4A7C15u);
  halo_instr *replica = halo_expand_op(x, HALO_OP_REPLICA_ID, NULL, 0, NULL, 0);
  halo_instr *partition = halo_expand_op(x, HALO_OP_PARTITION_ID, NULL, 0, NULL, 0);
  replica = halo_expand_splat(x, halo_expand_convert(x, replica, HALO_U64), shape);
  partition = halo_expand_splat(x, halo_expand_convert(x, partition, HALO_U64), shape);
  partition = halo_expand_binary(x, HALO_OP_SHIFT_LEFT, partition, random_u64(x, 32));
  return ADD(key, ADD(replica, partition));
}

/* Fresh random words, `count` arrays of them: u32 or u64 [count, elements]. */
static halo_instr *random_words(halo_expander *x, halo_type type, int64_t count, int64_t elements) {
  halo_arena *arena = &x->r->computation->module->arena;
  const int64_t dims[] = {count, elements}, two = 2;
  const halo_shape *shape = halo_shape_new(arena, type, 2, dims);
  halo_attr philox = {.id = HALO_ATTR_RNG_ALGORITHM, .i = HALO_RNG_ID_PHILOX};
  halo_attr delta = {.id = HALO_ATTR_DELTA};
  /* The state goes on by the blocks that are used. */
  halo_instr probe = {.opcode = HALO_OP_RNG_BIT_GENERATOR, .shape = shape};
  delta.i = halo_rng_desc_of(&probe).blocks;
  halo_instr *counter =
      halo_rewrite_make(x->r, x->like, HALO_OP_RNG_GET_AND_UPDATE_STATE,
                        halo_shape_new(arena, HALO_U64, 1, &two), NULL, 0, &delta, 1);
  halo_instr *state = halo_expand_join(x, (halo_instr *[]){random_key(x), counter}, 2, 0);
  if (!state) return NULL;
  return halo_rewrite_make(x->r, x->like, HALO_OP_RNG_BIT_GENERATOR, shape, &state, 1, &philox, 1);
}

/* Row `i` of words [count, elements]. */
static halo_instr *random_row(halo_expander *x, halo_instr *words, int64_t i) {
  if (!words) return NULL;
  return halo_expand_reshape(x, halo_expand_range(x, words, 0, i, i + 1), 1,
                             &words->shape->dims[1]);
}

static halo_instr *random_splat(halo_expander *x, double value, const halo_instr *like) {
  return like ? halo_expand_splat(x, halo_expand_scalar(x, like->shape->type, value), like->shape)
              : NULL;
}

/* Words as multiples of 2^-m in [0, 1), of which the float type holds each: the highest m bits count. */
static halo_instr *random_unit(halo_expander *x, halo_instr *words, halo_type type) {
  bool is_double = type == HALO_F64;
  int m = is_double ? 52 : 23, unused = is_double ? 12 : 9;
  halo_instr *high =
      halo_expand_binary(x, HALO_OP_SHIFT_RIGHT_LOGICAL, words, random_splat(x, unused, words));
  halo_instr *whole = halo_expand_convert(x, high, type);
  return MUL(whole, random_splat(x, 1.0 / (double)((uint64_t)1 << m), whole));
}

/* Box and Muller's method. What a logarithm is taken of is in (0, 1]. */
static halo_instr *random_normal(halo_expander *x, halo_type type, int64_t elements) {
  bool is_double = type == HALO_F64;
  halo_instr *words = random_words(x, is_double ? HALO_U64 : HALO_U32, 2, elements);
  halo_instr *u = random_unit(x, random_row(x, words, 0), type);
  halo_instr *v = random_unit(x, random_row(x, words, 1), type);
  halo_instr *log = halo_expand_unary(x, HALO_OP_LOG, SUB(random_splat(x, 1, u), u));
  halo_instr *radius = halo_expand_unary(x, HALO_OP_SQRT, MUL(random_splat(x, -2, log), log));
  halo_instr *angle = MUL(v, random_splat(x, 6.283185307179586, v));
  return MUL(radius, halo_expand_unary(x, HALO_OP_COS, angle));
}

/* Of a range that holds each remainder as often, but for the last part of a turn; an empty range leaves
 * the words as they are. */
static halo_instr *random_whole(halo_expander *x, halo_instr *low, halo_instr *high,
                                int64_t elements) {
  halo_type type = halo_type_bits(low->shape->type) > 32 ? HALO_U64 : HALO_U32;
  halo_instr *words = random_row(x, random_words(x, type, 1, elements), 0);
  if (!words) return NULL;
  halo_instr *from = halo_expand_convert(x, low, type);
  halo_instr *range = SUB(halo_expand_convert(x, high, type), from);
  halo_instr *rest =
      halo_expand_binary(x, HALO_OP_REMAINDER, words, halo_expand_splat(x, range, words->shape));
  return ADD(halo_expand_splat(x, from, words->shape), rest);
}

halo_instr *halo_expand_rng(halo_expander *x, halo_instr *instr) {
  const halo_shape *shape = instr->shape;
  int64_t elements = halo_shape_element_count(shape);
  halo_instr *a = instr->operands[0], *b = instr->operands[1], *flat;
  if (halo_type_is_integral(shape->type)) {
    flat = random_whole(x, a, b, elements);
  } else {
    halo_type type = shape->type == HALO_F64 ? HALO_F64 : HALO_F32;
    bool is_normal = halo_instr_int(instr, HALO_ATTR_DISTRIBUTION, 0) == HALO_RNG_ID_NORMAL;
    halo_instr *first = halo_expand_convert(x, a, type), *second = halo_expand_convert(x, b, type);
    halo_type words = type == HALO_F64 ? HALO_U64 : HALO_U32;
    halo_instr *unit =
        is_normal ? random_normal(x, type, elements)
                  : random_unit(x, random_row(x, random_words(x, words, 1, elements), 0), type);
    if (!unit) return NULL;
    halo_instr *scale = is_normal ? second : SUB(second, first);
    flat = ADD(MUL(unit, halo_expand_splat(x, scale, unit->shape)),
               halo_expand_splat(x, first, unit->shape));
  }
  flat = halo_expand_convert(x, flat, shape->type);
  if (!flat) return NULL;
  halo_arena *arena = &x->r->computation->module->arena;
  return halo_rewrite_make_unary(x->r, instr, HALO_OP_RESHAPE,
                                 halo_shape_new(arena, shape->type, shape->rank, shape->dims),
                                 flat);
}
