/* SPDX-License-Identifier: Apache-2.0 */
/* base/sha256.h: SHA-256 (FIPS 180-4), and by it what a message is authenticated with (HMAC, RFC 2104). */
#ifndef HALO_BASE_SHA256_H
#define HALO_BASE_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HALO_SHA256_SIZE = 32, HALO_SHA256_BLOCK = 64 };

/* A hash in the making. */
typedef struct halo_sha256 {
  uint32_t state[8];
  uint64_t bytes;                   /* so far */
  uint8_t block[HALO_SHA256_BLOCK]; /* the last ones, which do not fill a block */
} halo_sha256;

void halo_sha256_init(halo_sha256 *hash);
void halo_sha256_add(halo_sha256 *hash, const void *data, size_t size);
void halo_sha256_end(halo_sha256 *hash, uint8_t out[HALO_SHA256_SIZE]);

/* The code of a message in the making. */
typedef struct halo_hmac {
  halo_sha256 hash;
  uint8_t outer[HALO_SHA256_BLOCK]; /* the key for the outer hash */
} halo_hmac;

/* Keys have any length. */
void halo_hmac_init(halo_hmac *hmac, const void *key, size_t size);
void halo_hmac_add(halo_hmac *hmac, const void *data, size_t size);
void halo_hmac_end(halo_hmac *hmac, uint8_t out[HALO_SHA256_SIZE]);

/* Whether two codes are the same. How long it takes does not depend on where they differ. */
bool halo_hmac_same(const uint8_t a[HALO_SHA256_SIZE], const uint8_t b[HALO_SHA256_SIZE]);

#endif
