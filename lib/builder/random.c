/* SPDX-License-Identifier: Apache-2.0 */
/* builder/random.c: random numbers. */
#include "builder/build.h"

/* The shape that a caller gives for a result; NULL, and an error, where there is no such shape. */
static const halo_shape *random_shape(build_call *call, halo_type type, int rank,
                                      const int64_t *dims) {
  if (!call->ok || !halo_build_check_list(call, rank, dims, "dims")) return NULL;
  halo_status status = halo_shape_check_array(type, rank, dims);
  if (status == HALO_OK) return halo_shape_new(halo_build_arena(call), type, rank, dims);
  halo_build_record(call, status);
  return NULL;
}

halo_op halo_rng_bit_generator(halo_op initial_state, halo_rng_algorithm algorithm, halo_type type,
                               int rank, const int64_t *dims) {
  build_call call = halo_build_begin_with("halo_rng_bit_generator", 1, &initial_state);
  halo_instr *state = halo_build_array(&call, initial_state);
  const halo_shape *data = random_shape(&call, type, rank, dims);
  if (!state || !data) return halo_build_result(&call, NULL);
  halo_arena *arena = halo_build_arena(&call);
  const halo_shape *parts[] = {halo_shape_with_default_layout(arena, state->shape), data};
  halo_attr attr = halo_build_int(HALO_ATTR_RNG_ALGORITHM, algorithm);
  return halo_build_result(
      &call, halo_build_op(&call, HALO_OP_RNG_BIT_GENERATOR, halo_shape_new_tuple(arena, 2, parts),
                           (halo_instr *[3]){state}, 1, &attr));
}

static halo_op random_rng(const char *function, int64_t distribution, halo_op first, halo_op second,
                          int rank, const int64_t *dims) {
  build_call call = halo_build_begin_with(function, 2, (halo_op[]){first, second});
  halo_instr *a = halo_build_array(&call, first), *b = halo_build_array(&call, second);
  const halo_shape *shape = a && b ? random_shape(&call, a->shape->type, rank, dims) : NULL;
  if (!shape) return halo_build_result(&call, NULL);
  halo_attr attr = halo_build_int(HALO_ATTR_DISTRIBUTION, distribution);
  return halo_build_result(
      &call, halo_build_op(&call, HALO_OP_RNG, shape, (halo_instr *[3]){a, b}, 1, &attr));
}

halo_op halo_rng_uniform(halo_op a, halo_op b, int rank, const int64_t *dims) {
  return random_rng("halo_rng_uniform", 0, a, b, rank, dims);
}

halo_op halo_rng_normal(halo_op mu, halo_op sigma, int rank, const int64_t *dims) {
  return random_rng("halo_rng_normal", 1, mu, sigma, rank, dims);
}

halo_op halo_rng_bernoulli(halo_op mean, int rank, const int64_t *dims) {
  halo_op zero = halo_constant_f32(mean.builder, 0), one = halo_constant_f32(mean.builder, 1);
  halo_op uniform = halo_rng_uniform(zero, one, rank, dims);
  return halo_convert(halo_lt(uniform, halo_broadcast(mean, rank, dims)), HALO_U32);
}

halo_op halo_stochastic_convert_type(halo_op operand, halo_op random, halo_type type) {
  halo_op ops[] = {operand, random};
  build_call call = halo_build_begin_with("halo_stochastic_convert_type", 2, ops);
  halo_instr *x = halo_build_array(&call, operand), *r = halo_build_array(&call, random);
  const halo_shape *shape =
      x && r ? random_shape(&call, type, x->shape->rank, x->shape->dims) : NULL;
  if (!shape) return halo_build_result(&call, NULL);
  return halo_build_result(&call, halo_build_op(&call, HALO_OP_STOCHASTIC_CONVERT, shape,
                                                (halo_instr *[3]){x, r}, 0, NULL));
}
