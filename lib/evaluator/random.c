/* SPDX-License-Identifier: Apache-2.0 */
/* evaluator/random.c: rng-bit-generator: Threefry2x32 and Philox4x32 with XLA's counter layouts; and
 * stochastic-convert. */
#include "evaluator/eval.h"

#include <math.h>

enum { RANDOM_DEFAULT, RANDOM_THREEFRY, RANDOM_PHILOX }; /* algorithm */

static uint32_t random_rotate(uint32_t x, int by) { return x << by | x >> (32 - by); }

/* The block of a 64-bit counter: the low word is the first. */
static uint64_t random_threefry(uint64_t key, uint64_t counter) {
  static const int distances[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  uint32_t k[3] = {(uint32_t)key, (uint32_t)(key >> 32), 0};
  k[2] = 0x1BD11BDAu ^ k[0] ^ k[1];
  uint32_t x0 = (uint32_t)counter + k[0], x1 = (uint32_t)(counter >> 32) + k[1];
  for (uint32_t group = 1; group <= 5; group++) {
    for (int r = 0; r < 4; r++) {
      x0 += x1;
      x1 = random_rotate(x1, distances[(group + 1) % 2][r]) ^ x0;
    }
    x0 += k[group % 3];
    x1 += k[(group + 1) % 3] + group;
  }
  return (uint64_t)x1 << 32 | x0;
}

static void random_philox(uint64_t key, uint64_t low, uint64_t high, uint32_t words[4]) {
  uint32_t c[4] = {(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high, (uint32_t)(high >> 32)};
  uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
  for (int round = 0; round < 10; round++) {
    uint64_t p0 = (uint64_t)c[0] * 0xD2511F53u, p1 = (uint64_t)c[2] * 0xCD9E8D57u;
    uint32_t next[4] = {(uint32_t)(p1 >> 32) ^ c[1] ^ k0, (uint32_t)p1,
                        (uint32_t)(p0 >> 32) ^ c[3] ^ k1, (uint32_t)p0};
    for (int i = 0; i < 4; i++) c[i] = next[i];
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  for (int i = 0; i < 4; i++) words[i] = c[i];
}

static void random_store(halo_literal *data, int64_t i, uint64_t bits) {
  halo_type type = data->shape->type;
  if (halo_type_is_integral(type)) bits = eval_wrap(type, bits);
  eval_set(data, i, (eval_scalar){bits, 0});
}

/* The dimension whose neighbours share a block: the first even one, else the first largest. */
static int random_split(const halo_shape *shape) {
  int largest = 0;
  for (int d = 0; d < shape->rank; d++) {
    if (shape->dims[d] % 2 == 0) return d;
    if (shape->dims[d] > shape->dims[largest]) largest = d;
  }
  return largest;
}

/* Returns how far the counter went. */
static uint64_t random_fill_threefry(uint64_t key, uint64_t counter, halo_literal *data) {
  const halo_shape *shape = data->shape;
  int64_t total = halo_shape_element_count(shape);
  if (halo_type_bits(shape->type) == 64) {
    for (int64_t i = 0; i < total; i++) {
      random_store(data, i, random_threefry(key, counter + (uint64_t)i));
    }
    return (uint64_t)total;
  }
  if (shape->rank == 0) {
    random_store(data, 0, (uint32_t)random_threefry(key, counter));
    return 1;
  }
  int split = random_split(shape);
  int64_t half[HALO_MAX_RANK], strides[HALO_MAX_RANK], index[HALO_MAX_RANK] = {0};
  for (int d = 0; d < shape->rank; d++) half[d] = shape->dims[d];
  half[split] = (half[split] + 1) / 2;
  eval_strides(shape->rank, half, strides);
  for (int64_t i = 0; i < total; i++) {
    int64_t block = eval_offset(shape->rank, index, strides) -
                    (index[split] - index[split] / 2) * strides[split];
    uint64_t pair = random_threefry(key, counter + (uint64_t)block);
    random_store(data, i, index[split] % 2 ? pair >> 32 : (uint32_t)pair);
    eval_next(shape->rank, shape->dims, index);
  }
  return (uint64_t)eval_count(shape->rank, half);
}

/* Returns how many blocks were used. */
static uint64_t random_fill_philox(uint64_t key, uint64_t low, uint64_t high, halo_literal *data) {
  int64_t total = halo_shape_element_count(data->shape);
  int64_t per_element = halo_type_bits(data->shape->type) == 64 ? 2 : 1;
  int64_t blocks = (total * per_element + 3) / 4;
  for (int64_t b = 0; b < blocks; b++) {
    uint32_t words[4];
    uint64_t at = low + (uint64_t)b;
    random_philox(key, at, high + (at < low), words);
    for (int64_t w = 0; w < 4; w += per_element) {
      int64_t i = (b * 4 + w) / per_element;
      if (i >= total) break;
      uint64_t bits = words[w];
      if (per_element == 2) bits |= (uint64_t)words[w + 1] << 32;
      random_store(data, i, bits);
    }
  }
  return (uint64_t)blocks;
}

halo_status eval_rng_bit_generator(const eval_call *call, halo_literal **out) {
  HALO_TRY(halo_literal_create(call->instr->shape, out));
  const halo_literal *state = call->operands[0];
  bool pair = halo_shape_is_tuple(call->instr->shape);
  halo_literal *next = pair ? (*out)->elements[0] : NULL, *data = pair ? (*out)->elements[1] : *out;
  int64_t words = halo_shape_element_count(state->shape);
  int64_t algorithm = halo_instr_int(call->instr, HALO_ATTR_RNG_ALGORITHM, RANDOM_DEFAULT);
  bool threefry = algorithm == RANDOM_THREEFRY;
  if (state->shape->type != HALO_U64 || words < 2 || words > (threefry ? 2 : 3) ||
      halo_type_bits(data->shape->type) > 64 || halo_type_is_complex(data->shape->type)) {
    return halo_fail(HALO_UNIMPLEMENTED, "%s: this state or element type on the host",
                     call->instr->name);
  }
  uint64_t key = eval_get(state, 0).re, low = eval_get(state, 1).re;
  uint64_t high = words == 3 ? eval_get(state, 2).re : key, after;
  if (threefry) {
    after = low + random_fill_threefry(key, low, data);
  } else {
    after = low + random_fill_philox(key, low, high, data);
  }
  if (!pair) return HALO_OK;
  halo_literal_set_i64(next, 0, (int64_t)key);
  halo_literal_set_i64(next, 1, (int64_t)after);
  if (words == 3) halo_literal_set_i64(next, 2, (int64_t)(high + (after < low)));
  return HALO_OK;
}

/* `random` of so many bits decides whether the fraction counts. */
static int64_t random_round(double value, uint64_t random, int bits, int64_t least) {
  int64_t most = -(least + 1);
  if (isnan(value)) return 0;
  if (value <= (double)least) return least;
  if (value >= (double)most) return most;
  double size = fabs(value), whole = floor(size);
  int64_t result = (int64_t)whole + (random < (uint64_t)ldexp(size - whole, bits));
  return value < 0 ? -result : result;
}

halo_status eval_stochastic_convert(const eval_call *call, halo_literal **out) {
  const halo_literal *values = call->operands[0], *random = call->operands[1];
  halo_type type = call->instr->shape->type, from = values->shape->type;
  if (!halo_type_is_sint(type)) {
    return halo_fail(HALO_UNIMPLEMENTED, "%s: to signed integers only", call->instr->name);
  }
  HALO_TRY(halo_literal_create(call->instr->shape, out));
  int64_t least = (int64_t)(UINT64_MAX << (halo_type_bits(type) - 1));
  int64_t count = halo_shape_element_count(values->shape);
  for (int64_t i = 0; i < count; i++) {
    double value = eval_decode(from, eval_get(values, i).re);
    int64_t rounded = random_round(value, eval_get(random, i).re, halo_type_bits(from), least);
    eval_set(*out, i, (eval_scalar){eval_wrap(type, (uint64_t)rounded), 0});
  }
  return HALO_OK;
}
