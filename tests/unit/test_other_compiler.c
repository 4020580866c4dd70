/* tests/unit/test_other_compiler.c: a program is compiled and runs though the process shows another LLVM's symbols to
 * everybody, as it does once TensorFlow is imported. */
#include "run_test.h"

#include "suite.h"

#include <dlfcn.h>

START_TEST(drivers_have_their_own_compiler) {
  ck_assert_msg(dlopen(HALO_TEST_COMPILER, RTLD_NOW | RTLD_GLOBAL) != NULL, "%s", dlerror());
  ck_assert_ptr_nonnull(dlsym(RTLD_DEFAULT, "LLVMContextCreate"));
  halo_client *client = run_client(NULL);
  halo_executable *program = run_compile(client,
                                         "HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n"
                                         "  ROOT y = f32[4] multiply(x, x)\n}\n");
  halo_buffer *in = run_buffer(client, 4, (float[]){1, 2, 3, 4}), *out;
  ck_ok(halo_executable_execute(program, &in, 1, NULL, &out));
  run_check(out, "{1, 4, 9, 16}");
  halo_buffer_release(out);
  halo_buffer_release(in);
  halo_executable_release(program);
  halo_client_release(client);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("other_compiler");
  TCase *tc = tcase_create("other_compiler");
  tcase_set_timeout(tc, 120);
  tcase_add_test(tc, drivers_have_their_own_compiler);
  suite_add_tcase(suite, tc);
  return suite_run(suite);
}
