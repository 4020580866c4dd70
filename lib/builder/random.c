/* builder/random.c: random numbers. */
#include "builder/build.h"

halo_op halo_rng_bit_generator(halo_op initial_state, halo_rng_algorithm algorithm, halo_type type,
                               int rank, const int64_t *dims) {
  build_call call = halo_build_begin_with("halo_rng_bit_generator", 1, &initial_state);
  halo_instr *state = halo_build_array(&call, initial_state);
  if (!state || !halo_build_check_list(&call, rank, dims, "dims")) {
    return halo_build_result(&call, NULL);
  }
  halo_status status = halo_shape_check_array(type, rank, dims);
  if (status != HALO_OK) {
    halo_build_record(&call, status);
    return halo_build_result(&call, NULL);
  }
  halo_arena *arena = halo_build_arena(&call);
  const halo_shape *parts[] = {halo_shape_with_default_layout(arena, state->shape),
                               halo_shape_new(arena, type, rank, dims)};
  halo_attr attr = halo_build_int(HALO_ATTR_RNG_ALGORITHM, algorithm);
  return halo_build_result(
      &call, halo_build_op(&call, HALO_OP_RNG_BIT_GENERATOR, halo_shape_new_tuple(arena, 2, parts),
                           (halo_instr *[3]){state}, 1, &attr));
}
