/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_cpu_front.c: what the library's own processor device needs before it can compile: a processor for the code, and a
 * front end that answers. Each test is a process of its own, in which clang was not looked for yet. */
#include "cpu/compile.h"
#include "cpu/cpu.h"
#include "cpu/llvm.h"
#include "cpu/target.h"
#include "suite.h"

#include <check.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- The processor ---- */

START_TEST(processors) {
  ck_assert_ptr_null(cpu_target_check(NULL, false));
  ck_assert_ptr_null(cpu_target_check("x86-64", false));
  ck_assert_ptr_null(cpu_target_check("haswell", true));
  const char *why = cpu_target_check("haswell", false);
  ck_assert_msg(why && strstr(why, "AVX2") && strstr(why, "haswell"), "%s", why ? why : "NULL");
}
END_TEST

/* ---- Programs that stand for clang ---- */

static char folder[] = "/tmp/halo-test-front-XXXXXX";

static void make_folder(void) { ck_assert_ptr_nonnull(mkdtemp(folder)); }

static void remove_folder(void) {
  char command[128];
  snprintf(command, sizeof command, "/bin/rm -r %s", folder);
  ck_assert_int_eq(system(command), 0);
}

/* Builds a program by the clang that is found: the log. `*status`: as clBuildProgram returns it. */
static char *build(cl_int *status) {
  enum { LOG = 1 << 17 };
  char *log = calloc(LOG, 1);
  const char *missing, *source = "__kernel void k(__global int *x) { x[0] = 1; }\n";
  const halo_cl_api *cl = halo_cpu_open(&missing);
  ck_assert_msg(cl != NULL, "%s", missing);
  cl_platform_id platform;
  cl_device_id device;
  cl_int code;
  cl->clGetPlatformIDs(1, &platform, NULL);
  cl->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
  cl_context context = cl->clCreateContext(NULL, 1, &device, NULL, NULL, &code);
  cl_program program = cl->clCreateProgramWithSource(context, 1, &source, NULL, &code);
  *status = cl->clBuildProgram(program, 1, &device, "", NULL, NULL);
  cl->clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, LOG, log, NULL);
  cl->clReleaseProgram(program);
  cl->clReleaseContext(context);
  return log;
}

/* What comes of building a program by a clang-15 that is this script: the log. */
static char *build_by(const char *script) {
  char path[128], text[4096];
  cl_int status;
  snprintf(path, sizeof path, "%s/clang-15", folder);
  FILE *file = fopen(path, "w");
  fprintf(file, "#!/bin/sh\n%s\n", script);
  fclose(file);
  chmod(path, 0755);
  snprintf(text, sizeof text, "%s:%s", folder, getenv("PATH"));
  setenv("PATH", text, 1);
  cpu_front_patience = 0.1;
  char *log = build(&status);
  ck_assert_int_eq(status, CL_BUILD_PROGRAM_FAILURE);
  return log;
}

static void check_log(char *log, const char *part) {
  ck_assert_msg(strstr(log, part) && strstr(log, "/clang-15"), "%s", log);
  free(log);
}

START_TEST(one_that_sleeps) { check_log(build_by("exec sleep 600"), "it did nothing for"); }
END_TEST

/* It has closed its output, so that nothing more can come. */
START_TEST(one_that_does_not_end) {
  check_log(build_by("exec >/dev/null 2>&1 </dev/null; exec sleep 600"), "it did nothing for");
}
END_TEST

START_TEST(one_that_works_for_ever) {
  check_log(build_by("while :; do :; done"),
            "was ended: it "); /* both limits fit where others use the machine */
}
END_TEST

/* Output is no sign of progress towards an end; a part of it is kept. */
START_TEST(one_that_talks_for_ever) {
  check_log(build_by("while :; do echo again >&2; done"), "was ended: it ");
}
END_TEST

/* A program whose name tells no version, as conda has it: the file that it really is tells it, and where its libraries are. */
START_TEST(one_without_version) {
  char path[128], command[512];
  cl_int status;
  snprintf(path, sizeof path, "%s/clang", folder);
  snprintf(command, sizeof command,
           "for v in $(seq 15 40); do c=$(command -v clang-$v) && ln -s $(readlink -f $c) %s && "
           "exit 0; done; "
           "exit 1",
           path);
  if (system(command) != 0) {
    printf("skipped: one_without_version: no clang is in PATH\n");
    return;
  }
  char *before = strdup(getenv("PATH"));
  setenv("PATH", folder, 1);
  const char *missing = cpu_clang_find();
  setenv("PATH", before, 1);
  free(before);
  ck_assert_msg(!missing, "%s", missing);
  ck_assert_msg(strstr(cpu_clang_folder(), "/../lib") != NULL, "%s", cpu_clang_folder());
  char *real = realpath(path, NULL), version[16];
  snprintf(version, sizeof version, "-%d", cpu_clang_version());
  ck_assert_msg(strstr(real, version) != NULL, "%s is not of version %d", real,
                cpu_clang_version());
  free(real);
  char *log = build(&status);
  ck_assert_msg(status == CL_SUCCESS, "%s", log);
  free(log);
}
END_TEST

/* ---- No libLLVM ---- */

static bool hides_llvm;

/* In the place of the C library's: a system without libLLVM. */
void *dlopen(const char *name, int how) {
  void *(*real)(const char *, int);
  *(void **)&real = dlsym(RTLD_NEXT, "dlopen");
  return hides_llvm && name && strstr(name, "libLLVM") ? NULL : real(name, how);
}

/* Builds and runs a program: the values are right. */
static void run_twice(void) {
  cl_int status, values[2] = {0};
  const char *missing;
  const halo_cl_api *cl = halo_cpu_open(&missing);
  cl_platform_id platform;
  cl_device_id device;
  const size_t global = 2;
  const char *source =
      "static int twice(int x) { return 2 * x + (int)get_global_id(0); }\n"
      "__kernel void k(__global int *x, int y) { x[get_global_id(0)] = twice(y); }\n";
  const cl_int y = 20;
  cl->clGetPlatformIDs(1, &platform, NULL);
  cl->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
  cl_context context = cl->clCreateContext(NULL, 1, &device, NULL, NULL, &status);
  cl_command_queue queue = cl->clCreateCommandQueue(context, device, 0, &status);
  cl_program program = cl->clCreateProgramWithSource(context, 1, &source, NULL, &status);
  ck_assert_int_eq(cl->clBuildProgram(program, 1, &device, "", NULL, NULL), CL_SUCCESS);
  cl_kernel kernel = cl->clCreateKernel(program, "k", &status);
  cl_mem x = cl->clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof values, NULL, &status);
  cl->clSetKernelArg(kernel, 0, sizeof x, &x);
  cl->clSetKernelArg(kernel, 1, sizeof y, &y);
  cl->clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL);
  cl->clEnqueueReadBuffer(queue, x, CL_TRUE, 0, sizeof values, values, 0, NULL, NULL);
  ck_assert_int_eq(values[0], 40);
  ck_assert_int_eq(values[1], 41);
  cl->clReleaseMemObject(x);
  cl->clReleaseKernel(kernel);
  cl->clReleaseProgram(program);
  cl->clReleaseCommandQueue(queue);
  cl->clReleaseContext(context);
}

/* The program clang makes the machine code then. */
START_TEST(no_library) {
  cl_int status;
  hides_llvm = true;
  char *log = build(&status);
  ck_assert_msg(status == CL_SUCCESS, "%s", log);
  ck_assert_ptr_null(halo_llvm_opened());
  free(log);
  run_twice();
}
END_TEST

/* ---- No clang ---- */

/* Whether PoCL is installed; else why a test is skipped. */
static bool has_pocl(const char *test) {
  bool has = access("/etc/OpenCL/vendors/pocl.icd", R_OK) == 0;
  if (!has) printf("skipped: %s: PoCL is not installed\n", test);
  return has;
}

/* PoCL makes the bitcode then. */
START_TEST(no_clang) {
  setenv("PATH", folder, 1);
  if (!has_pocl("no_clang")) return;
  const char *missing = cpu_front_find();
  ck_assert_msg(!missing, "%s", missing);
  ck_assert_msg(strncmp(cpu_front_get()->name, "PoCL ", strlen("PoCL ")) == 0, "%s",
                cpu_front_get()->name);
  run_twice();
}
END_TEST

START_TEST(no_clang_and_an_error) {
  cl_int status;
  const char *missing;
  setenv("PATH", folder, 1);
  if (!has_pocl("no_clang_and_an_error")) return;
  const char *source = "__kernel void k(__global int *x) {\n  x[0] = undeclared;\n}\n";
  halo_strbuf log = {0};
  unsigned char *code = NULL;
  size_t size;
  ck_assert_ptr_nonnull(halo_cpu_open(&missing));
  ck_assert(!cpu_front_compile(source, "", false, &code, &size, &log));
  ck_assert_msg(strstr(log.data, ":2:10: use of undeclared identifier"), "%s", log.data);
  halo_strbuf_deinit(&log);
  char *good = build(&status);
  ck_assert_msg(status == CL_SUCCESS, "%s", good);
  free(good);
}
END_TEST

/* The compilers that are there, and those that are missing. */
START_TEST(no_clang_and_no_library) {
  const char *missing;
  setenv("PATH", folder, 1);
  if (!has_pocl("no_clang_and_no_library")) return;
  hides_llvm = true;
  ck_assert_ptr_null(halo_cpu_open(&missing));
  ck_assert_msg(strstr(missing, "no clang") && strstr(missing, "no libLLVM of that version"), "%s",
                missing);
}
END_TEST

START_TEST(no_clang_and_no_driver) {
  const char *missing;
  setenv("PATH", folder, 1);
  setenv("OCL_ICD_VENDORS", folder, 1);
  ck_assert_ptr_null(halo_cpu_open(&missing));
  ck_assert_msg(strstr(missing, "no clang") && strstr(missing, "nor can PoCL"), "%s", missing);
  setenv("HALO_CPU", "clang", 1);
  ck_assert_ptr_null(halo_cpu_open(&missing));
  ck_assert_msg(strstr(missing, "no clang") && !strstr(missing, "PoCL"), "%s", missing);
  setenv("HALO_CPU", "pocl", 1);
  ck_assert_ptr_null(halo_cpu_open(&missing));
  ck_assert_msg(!strstr(missing, "clang") && strstr(missing, "PoCL"), "%s", missing);
}
END_TEST

START_TEST(one_that_fails) { check_log(build_by("exit 3"), "ended with status 3"); }
END_TEST

int main(void) {
#if !defined(__x86_64__)
  printf("skipped: cpu_front: code is made for x86-64 only\n");
  return 77;
#endif
  Suite *suite = suite_create("cpu_front");
  TCase *all = tcase_create("cpu_front");
  tcase_add_checked_fixture(all, make_folder, remove_folder);
  tcase_set_timeout(all, 120);
  tcase_add_test(all, processors);
  tcase_add_test(all, one_that_sleeps);
  tcase_add_test(all, one_that_does_not_end);
  tcase_add_test(all, one_that_works_for_ever);
  tcase_add_test(all, one_that_fails);
  tcase_add_test(all, one_that_talks_for_ever);
  tcase_add_test(all, one_without_version);
  tcase_add_test(all, no_library);
  tcase_add_test(all, no_clang);
  tcase_add_test(all, no_clang_and_an_error);
  tcase_add_test(all, no_clang_and_no_library);
  tcase_add_test(all, no_clang_and_no_driver);
  suite_add_tcase(suite, all);
  return suite_run(suite);
}
