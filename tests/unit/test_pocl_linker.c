/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_pocl_linker.c: PoCL before 7.0 ends the process where $PATH has no linker; that is an error instead.
 * Other implementations take no notice. */
#include "run_test.h"
#include "suite.h"

#include "client/client.h"
#include "opencl/pocl.h"

#include <string.h>
#include <unistd.h>

START_TEST(versions) {
  static const struct {
    const char *text;
    int version;
  } cases[] = {
      {"OpenCL 3.0 PoCL 3.1+debian  Linux, None+Asserts, RELOC, SPIR, LLVM 15.0.6", 301},
      {"OpenCL 3.0 PoCL 6.0  Linux", 600},
      {"OpenCL 3.0 PoCL 7.10-pre", 710},
      {"OpenCL 3.0 PoCL HSTR", 0},
      {"OpenCL 3.0 LINUX", 0},
      {"", 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ck_assert_int_eq(halo_pocl_version(cases[i].text), cases[i].version);
  }
}
END_TEST

/* Whether a PoCL that is a package of the system is the default, which has no linker of its own. */
static int systems_pocl(halo_client *client, halo_caps *caps) {
  *caps = halo_client_device(client, 0)->cl->caps;
  return halo_pocl_is(caps) ? halo_pocl_version(caps->platform_version) : 0;
}

START_TEST(where_it_is) {
  halo_client *client = run_client(NULL);
  char folder[] = "/tmp/halo-test-linker.XXXXXX", linker[64], path[64];
  halo_caps caps, other = {.platform = "X", .is_cpu = true};
  int version = systems_pocl(client, &caps);
  ck_assert_ptr_nonnull(mkdtemp(folder));
  snprintf(linker, sizeof linker, "%s/ld", folder);
  snprintf(path, sizeof path, "/no/such:%s", folder);
  ck_assert_int_eq(symlink("/bin/sh", linker), 0);
  unsetenv("COMPILER_PATH");
  setenv("PATH", path, 1);
  ck_ok(halo_pocl_check_linker(&caps));
  setenv("PATH", "/no/such:", 1);
  ck_ok(halo_pocl_check_linker(&other));
  if (version && version < 700) {
    ck_assert_int_eq(halo_pocl_check_linker(&caps), HALO_FAILED_PRECONDITION);
    ck_assert_ptr_nonnull(strstr(halo_error_message(), "/no/such:"));
    unsetenv("PATH");
    ck_assert_int_eq(halo_pocl_check_linker(&caps), HALO_FAILED_PRECONDITION);
    setenv("COMPILER_PATH", folder, 1);
  }
  ck_ok(halo_pocl_check_linker(&caps));
  unlink(linker);
  rmdir(folder);
  halo_client_release(client);
}
END_TEST

/* The variable goes between compilation and the first launch, which is when PoCL compiles. */
START_TEST(without_linker) {
  static const char text[] =
      "HloModule m\nENTRY e {\n  x = f32[313] parameter(0)\n"
      "  ROOT s = f32[313] sine(x)\n}\n";
  char folder[] = "/tmp/halo-test-linker.XXXXXX", remove[128];
  halo_caps caps;
  ck_assert_ptr_nonnull(mkdtemp(folder));
  setenv("HALO_CACHE_DIR", folder, 1);
  unsetenv("POCL_CACHE_DIR");
  unsetenv("COMPILER_PATH");
  setenv("HALO_CPU", "off", 1);
  halo_client *client = run_client(NULL);
  int version = systems_pocl(client, &caps);
  halo_executable *e = run_compile(client, text);
  float values[313] = {[312] = 1}, got[313];
  halo_buffer *x = run_buffer(client, 313, values), *y;
  unsetenv("PATH");
  halo_status status = halo_executable_execute(e, &x, 1, NULL, &y);
  bool needs = version && version < 700;
  ck_assert_int_eq(status, needs ? HALO_FAILED_PRECONDITION : HALO_OK);
  setenv("PATH", "/usr/bin:/bin", 1);
  if (needs) ck_ok(halo_executable_execute(e, &x, 1, NULL, &y));
  ck_ok(halo_buffer_to_host(y, got, sizeof got));
  ck_assert_float_eq_tol(got[312], 0.84147098f, 1e-6f);
  halo_buffer_release(x);
  halo_buffer_release(y);
  halo_executable_release(e);
  halo_client_release(client);
  snprintf(remove, sizeof remove, "rm -r %s", folder);
  ck_assert_int_eq(system(remove), 0);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("PoCL's linker");
  TCase *cases = tcase_create("linker");
  tcase_add_test(cases, versions);
  tcase_add_test(cases, where_it_is);
  tcase_add_test(cases, without_linker);
  tcase_set_timeout(cases, 120);
  suite_add_tcase(suite, cases);
  return suite_run(suite);
}
