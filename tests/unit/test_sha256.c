/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_sha256.c: the examples of FIPS 180-4 (SHA-256) and of RFC 4231 (HMAC-SHA-256, RFC 2104). */
#include "base/sha256.h"
#include "suite.h"

#include <stdio.h>

static void check_code(const uint8_t code[HALO_SHA256_SIZE], const char *want) {
  char text[2 * HALO_SHA256_SIZE + 1];
  for (int i = 0; i < HALO_SHA256_SIZE; i++) snprintf(text + 2 * i, 3, "%02x", code[i]);
  ck_assert_str_eq(text, want);
}

START_TEST(hashes) {
  static const struct {
    const char *text, *want;
  } cases[] = {
      {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
      {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlm"
       "nopqrsmnopqrstnopqrstu",
       "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"}};
  halo_sha256 hash;
  uint8_t code[HALO_SHA256_SIZE];
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    /* In one piece, and byte by byte. */
    halo_sha256_init(&hash);
    halo_sha256_add(&hash, cases[i].text, strlen(cases[i].text));
    halo_sha256_end(&hash, code);
    check_code(code, cases[i].want);
    halo_sha256_init(&hash);
    for (const char *c = cases[i].text; *c; c++) halo_sha256_add(&hash, c, 1);
    halo_sha256_end(&hash, code);
    check_code(code, cases[i].want);
  }
}
END_TEST

START_TEST(million) {
  halo_sha256 hash;
  uint8_t code[HALO_SHA256_SIZE], piece[1000];
  memset(piece, 'a', sizeof piece);
  halo_sha256_init(&hash);
  for (int i = 0; i < 1000; i++) halo_sha256_add(&hash, piece, sizeof piece);
  halo_sha256_end(&hash, code);
  check_code(code, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}
END_TEST

static void check_hmac(const void *key, size_t key_size, const void *data, size_t size,
                       const char *want) {
  halo_hmac hmac;
  uint8_t code[HALO_SHA256_SIZE];
  halo_hmac_init(&hmac, key, key_size);
  halo_hmac_add(&hmac, data, size);
  halo_hmac_end(&hmac, code);
  check_code(code, want);
}

START_TEST(codes) {
  uint8_t key[131], data[50];
  memset(key, 0x0b, sizeof key);
  check_hmac(key, 20, "Hi There", 8,
             "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  check_hmac("Jefe", 4, "what do ya want for nothing?", 28,
             "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  memset(key, 0xaa, sizeof key);
  memset(data, 0xdd, sizeof data);
  check_hmac(key, 20, data, sizeof data,
             "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
  for (int i = 0; i < 25; i++) key[i] = (uint8_t)(i + 1);
  memset(data, 0xcd, sizeof data);
  check_hmac(key, 25, data, sizeof data,
             "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b");
  memset(key, 0xaa, sizeof key);
  static const char large_key[] = "Test Using Larger Than Block-Size Key - Hash Key First",
                    large_data[] =
                        "This is a test using a larger than block-size key and a larger than "
                        "block-size data. The key needs to be hashed before being used by the HMAC "
                        "algorithm.";
  check_hmac(key, sizeof key, large_key, sizeof large_key - 1,
             "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
  check_hmac(key, sizeof key, large_data, sizeof large_data - 1,
             "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
}
END_TEST

START_TEST(same) {
  uint8_t a[HALO_SHA256_SIZE] = {1}, b[HALO_SHA256_SIZE] = {1};
  ck_assert(halo_hmac_same(a, b));
  b[HALO_SHA256_SIZE - 1] = 1;
  ck_assert(!halo_hmac_same(a, b));
}
END_TEST

int main(void) {
  Suite *suite = suite_create("sha256");
  TCase *tests = tcase_create("sha256");
  tcase_add_test(tests, hashes);
  tcase_add_test(tests, million);
  tcase_add_test(tests, codes);
  tcase_add_test(tests, same);
  suite_add_tcase(suite, tests);
  return suite_run(suite);
}
