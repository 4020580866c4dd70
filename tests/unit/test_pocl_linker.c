/* tests/unit/test_pocl_linker.c: PoCL ends the process where $PATH has no linker; other implementations take no notice. */
#include "run_test.h"
#include "suite.h"

#include "opencl/pocl.h"

#include <string.h>
#include <unistd.h>

static const halo_caps pocl = {.platform = "Portable Computing Language"},
                       other = {.platform = "X"};

START_TEST(system_is_appended) {
  char system[256];
  ck_assert_uint_gt(confstr(_CS_PATH, system, sizeof system), 0);
  unsetenv("PATH");
  halo_pocl_find_linker(&other);
  ck_assert_ptr_null(getenv("PATH"));
  halo_pocl_find_linker(&pocl);
  ck_assert_str_eq(getenv("PATH"), system);

  setenv("PATH", "/no/such:", 1); /* what the caller wants comes first still */
  halo_pocl_find_linker(&pocl);
  ck_assert_int_eq(strncmp(getenv("PATH"), "/no/such::", 10), 0);
  ck_assert_str_eq(getenv("PATH") + 10, system);
}
END_TEST

START_TEST(path_with_linker_is_left) {
  char folder[] = "/tmp/halo-test-linker.XXXXXX", linker[64], path[64];
  ck_assert_ptr_nonnull(mkdtemp(folder));
  snprintf(linker, sizeof linker, "%s/ld", folder);
  snprintf(path, sizeof path, "/no/such:%s", folder);
  ck_assert_int_eq(symlink("/bin/sh", linker), 0);
  for (int again = 0; again < 2; again++) {
    setenv("PATH", path, 1);
    halo_pocl_find_linker(&pocl);
    ck_assert_str_eq(getenv("PATH"), path);
    setenv("PATH", "", 1);
    halo_pocl_find_linker(&pocl);
    ck_assert_str_ne(getenv("PATH"), "");
  }
  unlink(linker);
  rmdir(folder);
}
END_TEST

/* The variable goes between compilation and the first launch, which is when PoCL compiles. */
START_TEST(kernels_are_linked) {
  static const char text[] =
      "HloModule m\nENTRY e {\n  x = f32[313] parameter(0)\n"
      "  ROOT s = f32[313] sine(x)\n}\n";
  char folder[] = "/tmp/halo-test-linker.XXXXXX", remove[128];
  ck_assert_ptr_nonnull(mkdtemp(folder));
  setenv("HALO_CACHE_DIR", folder, 1);
  unsetenv("POCL_CACHE_DIR");
  setenv("HALO_COMPILE_PROCESSES", "0", 1);
  setenv("HALO_COMPILE_THREADS", "0", 1);
  halo_client *client = run_client(NULL);
  halo_executable *e = run_compile(client, text);
  float values[313] = {[312] = 1}, got[313];
  halo_buffer *x = run_buffer(client, 313, values), *y;
  unsetenv("PATH");
  ck_ok(halo_executable_execute(e, &x, 1, NULL, &y));
  ck_ok(halo_buffer_to_host(y, got, sizeof got));
  ck_assert_float_eq_tol(got[312], 0.84147098f, 1e-6f);
  halo_buffer_release(x);
  halo_buffer_release(y);
  halo_executable_release(e);
  halo_client_release(client);
  setenv("PATH", "/usr/bin:/bin", 1);
  snprintf(remove, sizeof remove, "rm -r %s", folder);
  ck_assert_int_eq(system(remove), 0);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("PoCL's linker");
  TCase *cases = tcase_create("linker");
  tcase_add_test(cases, system_is_appended);
  tcase_add_test(cases, path_with_linker_is_left);
  tcase_add_test(cases, kernels_are_linked);
  tcase_set_timeout(cases, 120);
  suite_add_tcase(suite, cases);
  return suite_run(suite);
}
