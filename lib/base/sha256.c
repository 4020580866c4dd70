/* SPDX-License-Identifier: Apache-2.0 */
/* base/sha256.c: SHA-256 and HMAC. */
#include "base/sha256.h"

#include <string.h>

/* ---- SHA-256 ---- */

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t sha256_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t sha256_turn(uint32_t x, int bits) { return x >> bits | x << (32 - bits); }

static uint32_t sha256_word(const uint8_t *at) {
  return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void sha256_put(uint8_t *at, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; i++) at[i] = (uint8_t)(value >> 8 * (bytes - 1 - i));
}

static void sha256_schedule(const uint8_t *block, uint32_t w[64]) {
  for (int t = 0; t < 16; t++) w[t] = sha256_word(block + 4 * t);
  for (int t = 16; t < 64; t++) {
    uint32_t a = w[t - 15], b = w[t - 2];
    uint32_t small0 = sha256_turn(a, 7) ^ sha256_turn(a, 18) ^ a >> 3;
    uint32_t small1 = sha256_turn(b, 17) ^ sha256_turn(b, 19) ^ b >> 10;
    w[t] = small1 + w[t - 7] + small0 + w[t - 16];
  }
}

static void sha256_block(uint32_t state[8], const uint8_t *block) {
  uint32_t w[64], v[8];
  sha256_schedule(block, w);
  memcpy(v, state, sizeof v);
  for (int t = 0; t < 64; t++) {
    uint32_t a = v[0], e = v[4];
    uint32_t large0 = sha256_turn(a, 2) ^ sha256_turn(a, 13) ^ sha256_turn(a, 22);
    uint32_t large1 = sha256_turn(e, 6) ^ sha256_turn(e, 11) ^ sha256_turn(e, 25);
    uint32_t choice = (e & v[5]) ^ (~e & v[6]);
    uint32_t majority = (a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]);
    uint32_t first = v[7] + large1 + choice + sha256_constants[t] + w[t];
    memmove(v + 1, v, 7 * sizeof *v);
    v[4] += first;
    v[0] = first + large0 + majority;
  }
  for (int i = 0; i < 8; i++) state[i] += v[i];
}

void halo_sha256_init(halo_sha256 *hash) {
  *hash = (halo_sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                                  0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void halo_sha256_add(halo_sha256 *hash, const void *data, size_t size) {
  const uint8_t *at = data;
  while (size > 0) {
    size_t filled = (size_t)(hash->bytes % HALO_SHA256_BLOCK), step = HALO_SHA256_BLOCK - filled;
    if (step > size) step = size;
    memcpy(hash->block + filled, at, step);
    hash->bytes += step;
    at += step;
    size -= step;
    if (filled + step == HALO_SHA256_BLOCK) sha256_block(hash->state, hash->block);
  }
}

/* A bit, zeros, and the length in bits: so that blocks are full. */
void halo_sha256_end(halo_sha256 *hash, uint8_t out[HALO_SHA256_SIZE]) {
  static const uint8_t padding[HALO_SHA256_BLOCK] = {0x80};
  uint8_t length[8];
  size_t filled = (size_t)(hash->bytes % HALO_SHA256_BLOCK),
         end = HALO_SHA256_BLOCK - sizeof length;
  sha256_put(length, hash->bytes * 8, sizeof length);
  halo_sha256_add(hash, padding, filled < end ? end - filled : end + HALO_SHA256_BLOCK - filled);
  halo_sha256_add(hash, length, sizeof length);
  for (int i = 0; i < 8; i++) sha256_put(out + 4 * i, hash->state[i], 4);
}

/* ---- HMAC ---- */

void halo_hmac_init(halo_hmac *hmac, const void *key, size_t size) {
  uint8_t block[HALO_SHA256_BLOCK] = {0};
  if (size > sizeof block) {
    halo_sha256_init(&hmac->hash);
    halo_sha256_add(&hmac->hash, key, size);
    halo_sha256_end(&hmac->hash, block);
  } else if (size) {
    memcpy(block, key, size);
  }
  for (size_t i = 0; i < sizeof block; i++) {
    hmac->outer[i] = block[i] ^ 0x5c;
    block[i] ^= 0x36;
  }
  halo_sha256_init(&hmac->hash);
  halo_sha256_add(&hmac->hash, block, sizeof block);
}

void halo_hmac_add(halo_hmac *hmac, const void *data, size_t size) {
  halo_sha256_add(&hmac->hash, data, size);
}

void halo_hmac_end(halo_hmac *hmac, uint8_t out[HALO_SHA256_SIZE]) {
  uint8_t inner[HALO_SHA256_SIZE];
  halo_sha256_end(&hmac->hash, inner);
  halo_sha256_init(&hmac->hash);
  halo_sha256_add(&hmac->hash, hmac->outer, sizeof hmac->outer);
  halo_sha256_add(&hmac->hash, inner, sizeof inner);
  halo_sha256_end(&hmac->hash, out);
}

bool halo_hmac_same(const uint8_t a[HALO_SHA256_SIZE], const uint8_t b[HALO_SHA256_SIZE]) {
  uint8_t differs = 0;
  for (int i = 0; i < HALO_SHA256_SIZE; i++) differs |= a[i] ^ b[i];
  return differs == 0;
}
