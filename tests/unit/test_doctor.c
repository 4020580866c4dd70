/* SPDX-License-Identifier: Apache-2.0 */
/* test_doctor.c: what `halo doctor` concludes from devices that are not here, and that it knows the devices of
 * docs/portability.md. (tests/cli/doctor.sh has made-up files.) */
#include "../../tools/doctor.h"
#include "../../tools/tool.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* A system with a loader, of a user who may do everything. */
static doctor *doctor_begin(void) {
  static const char *const variables[] = {"HALO_DEVICE",    "OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH",
                                          "RUSTICL_ENABLE", "POCL_DEVICES",    "HALO_CACHE_DIR"};
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) unsetenv(variables[i]);
  doctor *d = tool_alloc(sizeof *d);
  d->root = "";
  d->loader = tool_strdup("/usr/lib/libOpenCL.so.1");
  d->asked = d->has_compiler = true;
  d->distribution = DOCTOR_DEBIAN;
  return d;
}

static void doctor_end(doctor *d) {
  for (int i = 0; i < d->finding_count; i++) {
    free(d->findings[i].text);
    free(d->findings[i].command);
  }
  free(d->loader);
  free(d);
}

static void doctor_give_gpu(doctor *d, doctor_vendor maker, const char *kernel_driver, char *file) {
  doctor_gpu gpu = {.address = "0000:01:00.0", .vendor = 1, .maker = maker};
  snprintf(gpu.kernel_driver, sizeof gpu.kernel_driver, "%s", kernel_driver);
  d->gpus[d->gpu_count++] = gpu;
  d->files[d->file_count++] = (doctor_file){file, "render", true};
}

static void doctor_give_driver(doctor *d, char *library, char *error) {
  d->drivers[d->driver_count++] = (doctor_driver){"/etc/OpenCL/vendors/x.icd", library, error};
}

static doctor_device *doctor_give_device(doctor *d, char *kind, char *platform, char *vendor,
                                         char *driver, char *name) {
  doctor_device *device = &d->devices[d->device_count];
  *device = (doctor_device){.number = d->device_count ? "0:1" : "0:0",
                            .kind = kind,
                            .name = name,
                            .platform = platform,
                            .vendor = vendor,
                            .driver = driver,
                            .version = "OpenCL 3.0",
                            .usable = true,
                            .chosen = d->device_count == 0};
  d->device_count++;
  return device;
}

/* There is exactly one finding, with this in its text and its command (NULL: none). */
static void doctor_expect(const doctor *d, bool is_problem, const char *text, const char *command) {
  for (int i = 0; i < d->finding_count; i++) printf("finding: %s\n", d->findings[i].text);
  ck_assert_int_eq(d->finding_count, 1);
  ck_assert_int_eq(d->findings[0].is_problem, is_problem);
  ck_assert_ptr_nonnull(strstr(d->findings[0].text, text));
  if (command) ck_assert_ptr_nonnull(strstr(d->findings[0].command, command));
  if (!command) ck_assert_ptr_null(d->findings[0].command);
}

static char pocl[] = "Portable Computing Language", nvidia[] = "NVIDIA Corporation";

START_TEST(test_all_is_well) {
  doctor *d = doctor_begin();
  doctor_give_driver(d, "libpocl.so.2", NULL);
  doctor_give_device(d, "cpu", pocl, "AuthenticAMD", "3.1+debian", "pthread-AMD EPYC");
  doctor_conclude(d);
  ck_assert_int_eq(d->finding_count, 0);
  doctor_end(d);
}
END_TEST

START_TEST(test_untested_is_to_be_checked) {
  doctor *d = doctor_begin();
  doctor_give_driver(d, "libpocl.so.2", NULL);
  doctor_give_device(d, "cpu", pocl, "AuthenticAMD", "3.10", "pthread-AMD EPYC");
  doctor_conclude(d);
  doctor_expect(d, false, "no results of pthread-AMD EPYC with the driver 3.10",
                "halo check --device 0:0");
  doctor_end(d);
}
END_TEST

/* Where the library's own device is not there, a compiler for it is. */
START_TEST(test_processor_without_clang) {
  doctor *d = doctor_begin();
  doctor_give_driver(d, "libpocl.so.2", NULL);
  doctor_give_device(d, "cpu", pocl, "AuthenticAMD", "3.1", "pthread-AMD EPYC");
  d->wants_own = true;
  d->distribution = DOCTOR_FEDORA;
  doctor_conclude(d);
  doctor_expect(d, false, "No program clang-15 or newer is in PATH", "sudo dnf install clang");
  doctor_end(d);
}
END_TEST

/* PoCL and a libLLVM are enough. */
START_TEST(test_processor_by_pocl) {
  doctor *d = doctor_begin();
  doctor_give_driver(d, "libpocl.so.2", NULL);
  doctor_give_device(d, "cpu", "Halocline", "", "PoCL 3.1 and libLLVM 15, haswell", "AMD EPYC");
  d->wants_own = true;
  doctor_conclude(d);
  ck_assert_int_eq(d->finding_count, 0);
  doctor_end(d);
}
END_TEST

/* Where there is no OpenCL at all, clang is enough. */
START_TEST(test_processor_alone) {
  for (int has_own = 0; has_own < 2; has_own++) {
    doctor *d = doctor_begin();
    free(d->loader);
    d->loader = NULL;
    d->loader_error = "libOpenCL.so.1: cannot open shared object file: No such file or directory";
    d->wants_own = true;
    if (has_own) doctor_give_device(d, "cpu", "Halocline", "", "clang-15, haswell", "AMD EPYC");
    doctor_conclude(d);
    if (has_own) ck_assert_int_eq(d->finding_count, 0);
    if (!has_own)
      doctor_expect(d, true, "The program clang-15 or newer makes", "apt install clang");
    doctor_end(d);
  }
}
END_TEST

START_TEST(test_gpu_beside_a_processor) {
  doctor *d = doctor_begin();
  doctor_give_gpu(d, DOCTOR_NVIDIA, "nvidia", "/dev/nvidia0");
  doctor_give_driver(d, "libnvidia-opencl.so.1", NULL);
  doctor_give_driver(d, "libpocl.so.2", NULL);
  doctor_give_device(d, "cpu", pocl, "AuthenticAMD", "3.1", "pthread-AMD EPYC");
  doctor_conclude(d);
  doctor_expect(d, true,
                "The OpenCL driver of the NVIDIA GPU 0000:01:00.0 loads, but does not offer",
                "nvidia-smi");
  doctor_end(d);
}
END_TEST

START_TEST(test_gpu_that_is_offered) {
  doctor *d = doctor_begin();
  doctor_give_gpu(d, DOCTOR_NVIDIA, "nvidia", "/dev/nvidia0");
  doctor_give_driver(d, "libnvidia-opencl.so.1", NULL);
  doctor_device *device =
      doctor_give_device(d, "gpu", "NVIDIA CUDA", nvidia, "580.95.05", "NVIDIA H200");
  doctor_conclude(d);
  doctor_expect(d, false, "no results of NVIDIA H200", "halo check");
  ck_assert_ptr_null(doctor_tested_as(device));
  doctor_end(d);
}
END_TEST

START_TEST(test_compiler_of_nvidia_is_missing) {
  doctor *d = doctor_begin();
  doctor_give_gpu(d, DOCTOR_NVIDIA, "nvidia", "/dev/nvidia0");
  doctor_give_driver(d, "libnvidia-opencl.so.1", NULL);
  doctor_give_device(d, "gpu", "NVIDIA CUDA", nvidia, "580.95.05", "NVIDIA H200")->chosen = false;
  d->devices[0].chosen = false;
  doctor_give_device(d, "cpu", pocl, "AuthenticAMD", "3.1", "pthread-AMD EPYC")->chosen = true;
  d->has_compiler = false;
  d->container = DOCTOR_DOCKER;
  doctor_conclude(d);
  doctor_expect(d, true, "libnvidia-nvvm.so.4", "--gpus all");
  doctor_end(d);
}
END_TEST

START_TEST(test_nothing_can_be_used) {
  doctor *d = doctor_begin();
  doctor_give_driver(d, "libold.so", NULL);
  doctor_device *device = doctor_give_device(d, "cpu", "Old", "Old", "1", "Old processor");
  device->usable = device->chosen = false;
  doctor_conclude(d);
  doctor_expect(d, true, "None of the devices can be used", NULL);
  doctor_end(d);
}
END_TEST

START_TEST(test_devices_that_pocl_may_not_have) {
  doctor *d = doctor_begin();
  doctor_give_driver(d, "libpocl.so.2", NULL);
  setenv("POCL_DEVICES", "cuda", 1);
  doctor_conclude(d);
  doctor_expect(d, true, "\"cuda\"", "unset POCL_DEVICES");
  doctor_end(d);
}
END_TEST

/* Each row of the table of tested implementations is a row there. */
START_TEST(test_tested_devices_are_documented) {
  static const char *const devices[][4] = {
      /* platform, driver, name, as docs/portability.md has it */
      {"Portable Computing Language", "3.1+debian", "pthread-AMD EPYC", "PoCL 3.1"},
      {"Portable Computing Language", "6.0", "cpu-AMD EPYC", "PoCL 6.0"},
      {"Portable Computing Language", "7.1", "cpu-AMD EPYC", "PoCL 7.1"},
      {"Intel(R) OpenCL", "2026.22.10.0.17_160000", "AMD EPYC", "Intel OpenCL 2026.22.10"},
      {"rusticl", "22.3.6", "llvmpipe (LLVM 15.0.6, 256 bits)", "Mesa 22.3.6, llvmpipe"},
      {"Oclgrind", "Oclgrind 21.10", "Oclgrind Simulator", "Oclgrind 21.10"}};
  char *text;
  const char *name;
  size_t size;
  ck_assert(tool_read_bytes(HALO_TEST_PORTABILITY, &text, &size, &name));
  text = tool_realloc(text, size + 1);
  text[size] = 0;
  for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
    doctor_device device = {.platform = (char *)devices[i][0],
                            .driver = (char *)devices[i][1],
                            .name = (char *)devices[i][2]};
    const char *row = doctor_tested_as(&device);
    ck_assert_ptr_nonnull(row);
    ck_assert_str_eq(row, devices[i][3]);
    char *cell = tool_printf("| %s", row);
    ck_assert_msg(strstr(text, cell), "docs/portability.md has no row of %s", row);
    free(cell);
  }
  free(text);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("doctor");
  TCase *tests = tcase_create("conclusions");
  tcase_add_test(tests, test_all_is_well);
  tcase_add_test(tests, test_untested_is_to_be_checked);
  tcase_add_test(tests, test_processor_without_clang);
  tcase_add_test(tests, test_processor_by_pocl);
  tcase_add_test(tests, test_processor_alone);
  tcase_add_test(tests, test_gpu_beside_a_processor);
  tcase_add_test(tests, test_gpu_that_is_offered);
  tcase_add_test(tests, test_compiler_of_nvidia_is_missing);
  tcase_add_test(tests, test_nothing_can_be_used);
  tcase_add_test(tests, test_devices_that_pocl_may_not_have);
  tcase_add_test(tests, test_tested_devices_are_documented);
  suite_add_tcase(suite, tests);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}
