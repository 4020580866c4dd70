/* SPDX-License-Identifier: Apache-2.0 */
/* generate_transform.c: random transforms, random bits and grouped products. */
#include "generator.h"

/* An fft of the last dimensions in either direction; of real numbers one along the last. */
bool gen_fft(generator *g, gen_value a) {
  const halo_shape *shape = a.instr->shape;
  bool is_complex = halo_type_is_complex(shape->type);
  bool is_real = shape->type == HALO_F32 || shape->type == HALO_F64;
  if ((!is_complex && !is_real) || shape->rank == 0 || g->options.whole) return false;
  if (halo_shape_element_count(shape) == 0) return false;
  int most = shape->rank < 3 ? shape->rank : 3;
  int count = is_real ? 1 : 1 + (int)gen_below(g, (uint32_t)most);
  bool inverse = is_complex && gen_chance(g, 50);
  double terms = 1;
  for (int i = 0; i < count; i++) terms *= (double)shape->dims[shape->rank - count + i];
  halo_attr attrs[] = {gen_int(HALO_ATTR_FFT_TYPE, is_real ? 2 : inverse),
                       gen_ints(g, HALO_ATTR_FFT_LENGTH, count, shape->dims + shape->rank - count)};
  halo_instr *fft = gen_emit(g, HALO_OP_FFT, NULL, 1, &a.instr, 2, attrs);
  double scale = inverse ? 1 : terms; /* an inverse divides by the number of terms */
  gen_value out = {.instr = fft, .size = a.size * scale};
  out.error = scale * (a.error + 16 * gen_epsilon(shape->type) * a.size);
  gen_push(g, out);
  return fft != NULL;
}

/* Random bits of a state that is given or known, and the new state, of both the lowest bits. */
bool gen_random_bits(generator *g, gen_value a) {
  static const halo_type types[] = {HALO_U32, HALO_S32, HALO_U64, HALO_U8, HALO_S16};
  const halo_shape *like = a.instr->shape;
  int64_t algorithm = gen_below(g, 3), words = algorithm == 1 ? 2 : 2 + gen_below(g, 2);
  bool is_given = g->depth == 0 && gen_chance(g, 50);
  gen_value state = is_given ? gen_parameter(g, HALO_U64, 1, &words, false)
                             : gen_random_constant(g, HALO_U64, 1, &words);
  const halo_shape *parts[] = {gen_shape(g, HALO_U64, 1, &words),
                               gen_shape(g, types[gen_below(g, 5)], like->rank, like->dims)};
  if (!state.instr) return false;
  halo_attr attr = gen_int(HALO_ATTR_RNG_ALGORITHM, algorithm);
  halo_instr *pair =
      gen_emit(g, HALO_OP_RNG_BIT_GENERATOR, halo_shape_new_tuple(&g->module->arena, 2, parts), 1,
               &state.instr, 1, &attr);
  for (int i = 0; i < 2 && pair; i++) {
    halo_attr index = gen_int(HALO_ATTR_INDEX, i);
    halo_instr *part = gen_emit(g, HALO_OP_GET_TUPLE_ELEMENT, NULL, 1, &pair, 1, &index);
    if (!part) return false;
    const halo_shape *shape = part->shape;
    gen_value seven = gen_constant(g, shape->type, shape->rank, shape->dims, 7);
    gen_push(g,
             (gen_value){
                 .instr = gen_binary(g, HALO_OP_AND, part, seven.instr), .size = 7, .whole = true});
  }
  return pair != NULL;
}
