/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_vendor_programs.c: plans of all programs of `halo bench programs` for devices with the limits of each vendor. The
 * library refuses launches outside of a device's limits (plan/limits.c); a refusal is a failure here. */
#include "client/executable.h"
#include "plan/plan.h"
#include "run_test.h"
#include "suite.h"

#include <dirent.h>
#include <unistd.h>

static const char *const devices[] = {"nvidia-h100", "nvidia-a100", "amd-mi210", "amd-gfx1100",
                                      "intel-arc",   "apple-m2",    "mali-g78",  "adreno-740"};
enum { DEVICE_COUNT = sizeof devices / sizeof *devices };

/* Drivers end what takes some seconds, and a desktop stands still meanwhile. A kernel of many steps leaves by itself. */
static const double launch_most = 0.5;

typedef struct tally {
  const char *device, *program;
  int launches, long_ones;
} tally;

static void count_launches(tally *t, const halo_plan *plan, const halo_steps *steps) {
  for (int32_t i = 0; i < steps->count; i++) {
    const halo_step *step = &steps->data[i];
    for (int32_t l = 0; l < step->list_count; l++) count_launches(t, plan, &step->lists[l]);
    if (step->kind != HALO_STEP_KERNEL) continue;
    t->launches++;
    bool leaves = strstr(step->label, "region") != NULL;
    if (leaves || step->seconds <= launch_most) continue;
    t->long_ones++;
    printf("%s: %s: %s is expected to take %.2f s\n", t->device, t->program, step->label,
           step->seconds);
  }
}

static void check_program(halo_client *client, tally *t, const char *name) {
  char path[512];
  halo_module *module;
  halo_executable *executable;
  snprintf(path, sizeof path, "%s/%s", HALO_TEST_PROGRAMS, name);
  ck_ok(halo_module_parse_file(path, &module));
  halo_status status = halo_client_compile(client, module, NULL, &executable);
  ck_assert_msg(status == HALO_OK, "%s on %s: %s", name, t->device, halo_error_message());
  const halo_plan *plan = halo_executable_plan(executable);
  t->program = name;
  count_launches(t, plan, &plan->steps);
  for (int32_t a = 0; a < plan->arenas.count; a++) {
    halo_device_info info;
    halo_device_get_info(halo_client_device(client, 0), &info);
    ck_assert_msg((uint64_t)plan->arenas.data[a].size <= info.max_allocation, "%s on %s", name,
                  t->device);
  }
  halo_executable_release(executable);
  halo_module_release(module);
}

START_TEST(programs) {
  char device[256];
  snprintf(device, sizeof device, "null:%s/devices/%s.caps", HALO_TEST_DATA, devices[_i]);
  halo_client *client = run_client(device);
  tally t = {.device = devices[_i]};
  DIR *folder = opendir(HALO_TEST_PROGRAMS);
  ck_assert_ptr_nonnull(folder);
  int count = 0;
  for (struct dirent *entry; (entry = readdir(folder));) {
    size_t length = strlen(entry->d_name);
    if (length < 4 || strcmp(entry->d_name + length - 4, ".hlo") != 0) continue;
    check_program(client, &t, entry->d_name);
    count++;
  }
  closedir(folder);
  halo_client_release(client);
  ck_assert_int_gt(count, 50);
  ck_assert_int_gt(t.launches, count);
  ck_assert_int_eq(t.long_ones, 0);
}
END_TEST

/* A device with few groups along x: launches are cut, those of kernels that ask for the number of their group, too. */
START_TEST(narrow) {
  char path[] = "/tmp/halo-caps.XXXXXX", device[64];
  FILE *file = fdopen(mkstemp(path), "w");
  /* By the number of groups, and by that of their work items. */
  fputs(_i ? "name = narrow\nmax_launch = 1024\nmax_work_group = 256\nlocal_memory = 32K\n"
           : "name = narrow\nmax_groups = 4 4 4\nmax_work_group = 256\nlocal_memory = 32K\n",
        file);
  fclose(file);
  snprintf(device, sizeof device, "null:%s", path);
  halo_client *client = run_client(device);
  halo_executable *executable;
  ck_ok(run_try_compile(client,
                        "HloModule m\nENTRY e {\n  x = f32[1000000] parameter(0)\n"
                        "  ROOT y = f32[1000000] negate(x)\n}\n",
                        NULL, &executable));
  halo_executable_release(executable);
  /* Rows, too, which are groups. */
  const halo_compile_options row = {.kernels = "reduce:row"};
  ck_ok(run_try_compile(client,
                        "HloModule m\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
                        "  ROOT s = f32[] add(a, b)\n}\n"
                        "ENTRY e {\n  x = f32[100,4096] parameter(0)\n  z = f32[] constant(0)\n"
                        "  ROOT r = f32[100] reduce(x, z), dimensions={1}, to_apply=add\n}\n",
                        &row, &executable));
  halo_executable_release(executable);
  ck_ok(run_try_compile(client,
                        "HloModule m\nlt {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
                        "  ROOT c = pred[] compare(a, b), direction=LT\n}\n"
                        "ENTRY e {\n  x = f32[100,2000] parameter(0)\n"
                        "  ROOT s = f32[100,2000] sort(x), dimensions={1}, to_apply=lt\n}\n",
                        NULL, &executable));
  halo_executable_release(executable);
  halo_client_release(client);
  unlink(path);
}
END_TEST

/* A device that ends what takes long: what cannot be cut into parts that are short enough is refused. */
START_TEST(too_long) {
  char path[] = "/tmp/halo-caps.XXXXXX", device[64];
  FILE *file = fdopen(mkstemp(path), "w");
  fputs("name = quick\nmax_work_group = 256\nlocal_memory = 32K\nwatchdog_ms = 1\n", file);
  fclose(file);
  snprintf(device, sizeof device, "null:%s", path);
  halo_client *client = run_client(device);
  halo_executable *executable;
  /* 20 ms in all, in many groups. */
  ck_ok(run_try_compile(client,
                        "HloModule m\nENTRY e {\n  x = f32[20000,30000] parameter(0)\n"
                        "  ROOT y = f32[20000,30000] negate(x)\n}\n",
                        NULL, &executable));
  halo_executable_release(executable);
  const halo_compile_options region = {.kernels = "region:kernel"};
  setenv("HALO_REGION_TIME", "5000", 1);
  ck_fails(run_try_compile(client,
                           "HloModule m\nmore {\n  x = f32[64] parameter(0)\n"
                           "  y = f32[1] slice(x), slice={[0:1]}\n  s = f32[] reshape(y)\n"
                           "  n = f32[] constant(1e6)\n"
                           "  ROOT c = pred[] compare(s, n), direction=LT\n}\n"
                           "next {\n  x = f32[64] parameter(0)\n  ROOT y = f32[64] add(x, x)\n}\n"
                           "ENTRY e {\n  x = f32[64] parameter(0)\n"
                           "  ROOT w = f32[64] while(x), condition=more, body=next\n}\n",
                           &region, &executable),
           HALO_UNIMPLEMENTED, "needs 5 milliseconds in one piece; the device quick allows 1");
  halo_client_release(client);
  unlink(path);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("vendor programs");
  TCase *tests = tcase_create("programs");
  tcase_set_timeout(tests, 280);
  tcase_add_loop_test(tests, programs, 0, DEVICE_COUNT);
  tcase_add_loop_test(tests, narrow, 0, 2);
  tcase_add_test(tests, too_long);
  suite_add_tcase(suite, tests);
  return suite_run(suite);
}
