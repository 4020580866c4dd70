/* SPDX-License-Identifier: Apache-2.0 */
/* codegen/random.c: elements of rng-bit-generator: each computes its block and takes its word of it. */
#include "hlo/random.h"
#include "codegen/ctype.h"
#include "codegen/emitter_private.h"

/* Word `i` of the state as an atom. */
static const char *random_state(halo_emitter *e, emit_frame *frame, const halo_instr *state,
                                int64_t i) {
  const halo_integer *at = halo_integer_constant(&e->integers, i);
  emit_index *index = halo_index_of(e, 1, state->shape->dims, &at);
  return emit_declare(e, halo_emit_value(e, frame, state, 0, index)).text;
}

/* Which block an element's words come from, and which of the block's elements it is. */
static void random_place(halo_emitter *e, const halo_rng_desc *v, emit_index *index,
                         const halo_integer **block, const halo_integer **part) {
  halo_integers *pool = &e->integers;
  const halo_integer *at[HALO_MAX_RANK + 1];
  int64_t dims[HALO_MAX_RANK];
  for (int d = 0; d < v->data->rank; d++) {
    at[d] = halo_index_at(index, d);
    dims[d] = v->data->dims[d];
  }
  *part = halo_integer_constant(pool, 0);
  if (v->split >= 0) {
    *part = halo_integer_mod(pool, at[v->split], 2);
    at[v->split] = halo_integer_div(pool, at[v->split], 2);
    dims[v->split] = (dims[v->split] + 1) / 2;
  }
  const halo_shape *blocks = halo_shape_new(e->arena, HALO_U32, v->data->rank, dims);
  *block = halo_index_position(e, halo_index_of(e, v->data->rank, dims, at), blocks);
  if (v->threefry) return;
  int64_t elements = 4 / v->words;
  *part = halo_integer_mod(pool, *block, elements);
  *block = halo_integer_div(pool, *block, elements);
}

/* Random words as a value: wrapped to an integer type, or the bits of a float. */
static halo_value random_value(halo_emitter *e, halo_type type, halo_type words, const char *text) {
  halo_value value = emit_declare(e, halo_value_expression(words, text));
  if (halo_type_is_integral(type)) return halo_emit_convert(e, value, type);
  if (halo_type_bits(type) >= 32) {
    text = halo_arena_printf(e->arena, "as_%s(%s)", halo_ctype_compute(type), value.text);
  } else {
    unsigned mask = (1u << halo_type_bits(type)) - 1;
    text =
        halo_arena_printf(e->arena, "(%s)(%s & %uu)", halo_ctype_storage(type), value.text, mask);
    text = halo_ctype_load(e->arena, type, text);
  }
  return emit_declare(e, halo_value_expression(type, text));
}

halo_value emit_random_bits(halo_emitter *e, emit_frame *frame, const halo_instr *instr,
                            emit_index *index) {
  halo_rng_desc v = halo_rng_desc_of(instr);
  const halo_instr *state = instr->operands[0];
  const halo_integer *block, *part;
  halo_type words = v.words == 2 ? HALO_U64 : HALO_U32;
  const char *type = halo_type_name(words), *text;
  const char *key = random_state(e, frame, state, 0), *low = random_state(e, frame, state, 1);
  random_place(e, &v, index, &block, &part);
  const char *number = emit_integer_atom(e, block), *word = emit_integer_atom(e, part);
  if (v.threefry) {
    halo_sections_add(&e->sections, "threefry");
    text = halo_arena_printf(e->arena, "h_threefry_%s(%s, %s + (ulong)%s, %s)", type, key, low,
                             number, word);
  } else {
    /* Two words of state: the key is the counter's high half too. */
    const char *high = state->shape->dims[0] > 2 ? random_state(e, frame, state, 2) : key;
    halo_sections_add(&e->sections, "philox");
    text = halo_arena_printf(e->arena, "h_philox_%s(%s, %s, %s, (ulong)%s, %s)", type, key, low,
                             high, number, word);
  }
  return random_value(e, instr->shape->type, words, text);
}
