/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/infer_random.c: inference of random numbers. */
#include "hlo/infer_util.h"
#include "hlo/random.h"

/* The written shape is (new state, data), or, as XLA allows, the data alone. */
halo_status halo_infer_rng_bit_generator(const halo_instr *instr, halo_arena *arena,
                                         const halo_shape **out) {
  (void)arena;
  const halo_shape *state = halo_infer_operand(instr, 0), *data = instr->shape;
  if (!data) return halo_infer_fail(instr, "the result shape must be written");
  if (halo_shape_is_tuple(data)) {
    bool pair = data->count == 2 && halo_shape_is_array(data->elements[0]) &&
                data->elements[0]->type == state->type &&
                halo_shape_same_dims(data->elements[0], state);
    if (!pair) return halo_infer_fail(instr, "the result must be the new state and the data");
    data = data->elements[1];
  }
  if (!halo_shape_is_array(data) || halo_type_is_complex(data->type) || data->type == HALO_PRED) {
    return halo_infer_fail(instr, "the data must be an array of integers or floats");
  }
  bool threefry =
      halo_instr_int(instr, HALO_ATTR_RNG_ALGORITHM, HALO_RNG_ID_DEFAULT) == HALO_RNG_ID_THREEFRY;
  bool fits = state->rank == 1 && (state->dims[0] == 2 || (state->dims[0] == 3 && !threefry));
  /* XLA reads states of other types; it cannot run them either. */
  if (state->type == HALO_U64 && !fits) {
    return halo_infer_fail(instr, "the state must be %s", threefry ? "u64[2]" : "u64[2] or u64[3]");
  }
  *out = instr->shape;
  return HALO_OK;
}

/* Two scalars of the result's type: bounds, or mean and deviation. */
halo_status halo_infer_rng(const halo_instr *instr, halo_arena *arena, const halo_shape **out) {
  (void)arena;
  HALO_TRY(halo_infer_need_written(instr));
  HALO_TRY(halo_infer_need_arrays(instr, 0));
  halo_type type = instr->shape->type;
  for (int32_t i = 0; i < 2; i++) {
    const halo_shape *parameter = halo_infer_operand(instr, i);
    if (parameter->rank == 0 && parameter->type == type) continue;
    return halo_infer_fail(instr, "the parameters must be scalars of the result's type, %s",
                           halo_type_name(type));
  }
  bool normal = halo_instr_int(instr, HALO_ATTR_DISTRIBUTION, 0) == HALO_RNG_ID_NORMAL;
  if (normal && !halo_type_is_float(type)) {
    return halo_infer_fail(instr, "a normal distribution needs a float type");
  }
  *out = instr->shape;
  return HALO_OK;
}

halo_status halo_infer_rng_state(const halo_instr *instr, halo_arena *arena,
                                 const halo_shape **out) {
  (void)arena;
  HALO_TRY(halo_infer_need_written(instr));
  const halo_shape *shape = instr->shape;
  if (shape->type != HALO_U64 || shape->rank != 1 || shape->dims[0] != 2) {
    return halo_infer_fail(instr, "the result must be u64[2]");
  }
  *out = shape;
  return HALO_OK;
}
