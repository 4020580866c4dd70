/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_environment.c: which variables of the environment the library writes, for PoCL alone: POCL_CACHE_DIR
 * where HALO_CACHE_DIR is set. */
#include "run_test.h"
#include "suite.h"

#include "client/client.h"
#include "opencl/pocl.h"

#include <string.h>

extern char **environ;

/* Runs a program, and gives the names of variables that are new or changed, with spaces between; but those of hwloc,
 * which PoCL itself sets. */
static void run_and_compare(char names[256], int *version) {
  char *before[1024];
  int count = 0;
  for (char **at = environ; *at && count < 1024; at++) before[count++] = strdup(*at);
  halo_client *client = run_client(NULL);
  const halo_caps *caps = &halo_client_device(client, 0)->cl->caps;
  *version = halo_pocl_is(caps) ? halo_pocl_version(caps->platform_version) : 0;
  halo_executable *e = run_compile(client,
                                   "HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n"
                                   "  ROOT s = f32[4] add(x, x)\n}\n");
  halo_buffer *x = run_buffer(client, 4, (float[]){1, 2, 3, 4}), *y;
  ck_ok(halo_executable_execute(e, &x, 1, NULL, &y));
  run_check(y, "{2, 4, 6, 8}");
  halo_buffer_release(y);
  halo_buffer_release(x);
  halo_executable_release(e);
  halo_client_release(client);
  names[0] = 0;
  for (char **at = environ; *at; at++) {
    bool known = strncmp(*at, "HWLOC_", 6) == 0;
    for (int i = 0; i < count; i++) known |= strcmp(*at, before[i]) == 0;
    size_t used = strlen(names);
    if (!known) snprintf(names + used, 256 - used, "%.*s ", (int)strcspn(*at, "="), *at);
  }
  for (int i = 0; i < count; i++) free(before[i]);
}

START_TEST(untouched) {
  char names[256];
  int version;
  unsetenv("HALO_CACHE_DIR");
  unsetenv("POCL_CACHE_DIR");
  unsetenv("POCL_DEVICES");
  run_and_compare(names, &version);
  ck_assert_str_eq(names, "");
}
END_TEST

START_TEST(cache_folder) {
  char names[256], folder[] = "/tmp/halo-test-environment.XXXXXX", expected[64], remove[64];
  int version;
  ck_assert_ptr_nonnull(mkdtemp(folder));
  setenv("HALO_CACHE_DIR", folder, 1);
  setenv("HALO_CPU", "off", 1); /* else drivers may stay closed */
  unsetenv("POCL_CACHE_DIR");
  unsetenv("POCL_DEVICES");
  run_and_compare(names, &version);
  ck_assert_str_eq(names, "POCL_CACHE_DIR ");
  snprintf(expected, sizeof expected, "%s/pocl", folder);
  ck_assert_str_eq(getenv("POCL_CACHE_DIR"), expected);
  snprintf(remove, sizeof remove, "rm -r %s", folder);
  ck_assert_int_eq(system(remove), 0);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("environment");
  TCase *cases = tcase_create("environment");
  tcase_add_test(cases, untouched);
  tcase_add_test(cases, cache_folder);
  tcase_set_timeout(cases, 120);
  suite_add_tcase(suite, cases);
  return suite_run(suite);
}
