/* passes/expand_random.c: random numbers. The new state of rng-bit-generator is arithmetic on a few words;
 * the data is left to kernels. */
#include "hlo/random.h"
#include "passes/expander.h"

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
  const int64_t bounds[] = {i, i + 1, 1};
  halo_attr attr = halo_rewrite_list_attr(x->r->computation->module, HALO_ATTR_SLICE, bounds, 3);
  return halo_expand_op(x, HALO_OP_SLICE, &state, 1, &attr, 1);
}

static halo_instr *random_join(halo_expander *x, halo_instr *const *words, int32_t count) {
  const int64_t dim = 0;
  halo_attr attr = halo_rewrite_list_attr(x->r->computation->module, HALO_ATTR_DIMENSIONS, &dim, 1);
  return halo_expand_op(x, HALO_OP_CONCATENATE, words, count, &attr, 1);
}

/* The state after `blocks` more: its counter is the second word, and the third where there is one. */
static halo_instr *random_advance(halo_expander *x, halo_instr *state, int64_t blocks) {
  halo_instr *words[3] = {random_word(x, state, 0), random_word(x, state, 1), NULL};
  halo_instr *low = halo_expand_binary(x, HALO_OP_ADD, words[1], random_u64(x, (uint64_t)blocks));
  if (state->shape->dims[0] == 3 && low) {
    halo_attr direction = {.id = HALO_ATTR_DIRECTION, .i = HALO_LT};
    halo_instr *carry =
        halo_expand_op(x, HALO_OP_COMPARE, (halo_instr *[]){low, words[1]}, 2, &direction, 1);
    if (!carry) return NULL;
    carry = halo_rewrite_make_unary(x->r, x->like, HALO_OP_CONVERT, low->shape, carry);
    words[2] = halo_expand_binary(x, HALO_OP_ADD, random_word(x, state, 2), carry);
  }
  words[1] = low;
  return random_join(x, words, (int32_t)state->shape->dims[0]);
}

halo_instr *halo_expand_rng_bit_generator(halo_expander *x, halo_instr *instr) {
  if (!halo_shape_is_tuple(instr->shape)) return NULL;
  halo_rng_view v = halo_rng_view_of(instr);
  halo_instr *state = instr->operands[0];
  const halo_shape *shape =
      halo_shape_with_default_layout(&x->r->computation->module->arena, v.data);
  const halo_attr *algorithm = halo_instr_attr(instr, HALO_ATTR_RNG_ALGORITHM);
  halo_instr *data = halo_rewrite_make(x->r, instr, HALO_OP_RNG_BIT_GENERATOR, shape, &state, 1,
                                       algorithm, algorithm ? 1 : 0);
  halo_instr *next = random_advance(x, state, v.blocks);
  return halo_expand_tuple(x, (halo_instr *[]){next, data}, 2);
}
