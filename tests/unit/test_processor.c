/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_processor.c: what is found of the processor is what Linux says of it. */
#include "base/processor.h"
#include "suite.h"

#include <stdbool.h>
#include <stdio.h>

/* Whether the first processor of /proc/cpuinfo has the flag. */
static bool listed(const char *flag) {
  char line[16384], *rest = line;
  bool found = false;
  FILE *file = fopen("/proc/cpuinfo", "r");
  ck_assert_ptr_nonnull(file);
  do {
    ck_assert_ptr_nonnull(fgets(line, sizeof line, file));
  } while (strncmp(line, "flags", 5) != 0);
  fclose(file);
  for (char *word; (word = strtok_r(rest, " \t\n", &rest));) found |= strcmp(word, flag) == 0;
  return found;
}

START_TEST(as_the_system_says) {
#if defined(__x86_64__) && defined(__linux__)
  ck_assert_int_eq(halo_processor_has_avx2(), listed("avx2") && listed("fma"));
  bool wide = listed("avx512f") && listed("avx512vl") && listed("avx512bw") && listed("avx512dq");
  ck_assert_int_eq(halo_processor_has_avx512(), wide);
  ck_assert_int_eq(halo_processor_has_avx512vnni(), listed("avx512_vnni"));
  ck_assert_int_eq(halo_processor_has_avx512bf16(), listed("avx512_bf16"));
#else
  (void)listed;
  ck_assert(!halo_processor_has_avx2());
#endif
}
END_TEST

int main(void) {
  Suite *suite = suite_create("processor");
  TCase *tests = tcase_create("processor");
  tcase_add_test(tests, as_the_system_says);
  suite_add_tcase(suite, tests);
  return suite_run(suite);
}
