/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_other_compiler.c: a program is compiled and runs though the process shows another LLVM's symbols to
 * everybody, as it does once TensorFlow is imported; before OpenCL is
 * first used, or after it. */
#include "run_test.h"

#include "base/memory.h"
#include "opencl/opencl.h"
#include "suite.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* What a driver has compiled once it does not compile again: so each test has a folder of its own for that. */
static char folder[] = "/tmp/halo-test-compiler-XXXXXX";

static void setup(void) {
  ck_assert_ptr_nonnull(mkdtemp(folder));
  ck_assert_int_eq(setenv("POCL_CACHE_DIR", folder, 1), 0);
}

static void teardown(void) {
  char command[128];
  snprintf(command, sizeof command, "rm -r %s", folder);
  ck_assert_int_eq(system(command), 0);
}

static void show_other(void) {
  ck_assert_msg(dlopen(HALO_TEST_COMPILER, RTLD_NOW | RTLD_GLOBAL) != NULL, "%s", dlerror());
  ck_assert_ptr_nonnull(dlsym(RTLD_DEFAULT, "LLVMContextCreate"));
}

static void run_square(halo_client *client) {
  halo_executable *program = run_compile(client,
                                         "HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n"
                                         "  ROOT y = f32[4] multiply(x, x)\n}\n");
  halo_buffer *in = run_buffer(client, 4, (float[]){1, 2, 3, 4}), *out;
  ck_ok(halo_executable_execute(program, &in, 1, NULL, &out));
  run_check(out, "{1, 4, 9, 16}");
  halo_buffer_release(out);
  halo_buffer_release(in);
  halo_executable_release(program);
}

START_TEST(one_that_was_there_before) {
  show_other();
  halo_client *client = run_client(NULL);
  run_square(client);
  halo_client_release(client);
}
END_TEST

START_TEST(one_that_comes_later) {
  halo_cl_listing *listings;
  int count;
  ck_ok(halo_cl_enumerate(NULL, &listings, &count));
  halo_free(listings);
  show_other();
  halo_client *client = run_client(NULL);
  run_square(client);
  halo_client_release(client);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("other_compiler");
  TCase *tc = tcase_create("other_compiler");
  tcase_set_timeout(tc, 120);
  tcase_add_checked_fixture(tc, setup, teardown);
  tcase_add_test(tc, one_that_was_there_before);
  tcase_add_test(tc, one_that_comes_later);
  suite_add_tcase(suite, tc);
  return suite_run(suite);
}
