/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_units.c: equal kernels are one: in a module, and across the modules of a client. */
#include "client/executable.h"
#include "run_test.h"
#include "suite.h"

#include <dlfcn.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

static int kernels_of(halo_executable *e) {
  return run_count(halo_executable_report(e, HALO_REPORT_SOURCE), "__kernel void");
}

static const char layers[] =
    "HloModule layers\n"
    "ENTRY e {\n"
    "  x = f32[96,96] parameter(0)\n"
    "  w = f32[96,96] parameter(1)\n"
    "  a = f32[96,96] dot(x, w), lhs_contracting_dims={1}, "
    "rhs_contracting_dims={0}\n"
    "  b = f32[96,96] sine(a)\n"
    "  c = f32[96,96] dot(b, w), lhs_contracting_dims={1}, "
    "rhs_contracting_dims={0}\n"
    "  d = f32[96,96] sine(c)\n"
    "  f = f32[96,96] dot(d, w), lhs_contracting_dims={1}, "
    "rhs_contracting_dims={0}\n"
    "  ROOT g = f32[96,96] sine(f)\n"
    "}\n";

START_TEST(equal_fusions_are_one_kernel) {
  halo_client *client = run_client("null:" HALO_TEST_DATA "/devices/amd-wave64.caps");
  halo_executable *e = run_compile(client, layers);
  const halo_plan *plan = halo_executable_plan(e);
  ck_assert_int_eq(plan->units.count, 1);
  ck_assert_int_eq(kernels_of(e), 1);
  ck_assert_int_eq(plan->steps.count, 3);
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

/* Products of different sizes that nothing is fused with, and the packing of what they read: one kernel each. */
static const char products[] =
    "HloModule products\n"
    "ENTRY e {\n"
    "  x = f32[200,300] parameter(0)\n"
    "  w = f32[300,150] parameter(1)\n"
    "  v = f32[150,90] parameter(2)\n"
    "  a = f32[200,150] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "  b = f32[200,90] dot(a, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "  ROOT r = (f32[200,150], f32[200,90]) tuple(a, b)\n"
    "}\n";

START_TEST(products_of_all_sizes_are_one_kernel) {
  halo_client *client = run_client("null:" HALO_TEST_DATA "/devices/cpu-two-cores.caps");
  halo_executable *e = run_compile(client, products);
  const halo_plan *plan = halo_executable_plan(e);
  ck_assert_int_eq(plan->steps.count, 4);
  ck_assert_int_eq(plan->units.count, 2);
  ck_assert_int_eq(kernels_of(e), 2);
  ck_assert_int_eq(plan->steps.data[0].unit, plan->steps.data[2].unit);
  ck_assert_int_eq(plan->steps.data[1].unit, plan->steps.data[3].unit);
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

/* A turned left side lies with each step of the contraction on the same few places of the caches where its rows are as long as
 * a page, and is packed then. */
START_TEST(what_collides_is_packed) {
  static const struct {
    int m, k, n;
    bool packed;
  } cases[] = {{1024, 512, 512, true},
               {1040, 512, 512, false},
               {1024, 64, 512, false},
               {1024, 512, 64, false}};
  halo_client *client = run_client("null:" HALO_TEST_DATA "/devices/cpu-two-cores.caps");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[512];
    int m = cases[i].m, k = cases[i].k, n = cases[i].n;
    snprintf(
        text, sizeof text,
        "HloModule m\nENTRY e {\n  a = f32[%d,%d] parameter(0)\n  b = f32[%d,%d] parameter(1)\n"
        "  ROOT r = f32[%d,%d] dot(a, b), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n}\n",
        k, m, k, n, m, n);
    halo_executable *e = run_compile(client, text);
    ck_assert_int_eq(run_count(halo_executable_report(e, HALO_REPORT_PLAN), "pack A"),
                     cases[i].packed);
    halo_executable_release(e);
  }
  halo_client_release(client);
}
END_TEST

/* A device that gives each kernel groups of `group_limit` (0: what it really gives), and the largest group
 * launched. */
static size_t group_limit, group_largest;
static halo_cl_api group_plain; /* the functions that these stand in for */

static cl_int group_info(cl_kernel kernel, cl_device_id device, cl_kernel_work_group_info name,
                         size_t size, void *value, size_t *size_ret) {
  cl_int code = group_plain.clGetKernelWorkGroupInfo(kernel, device, name, size, value, size_ret);
  if (code == CL_SUCCESS && group_limit && name == CL_KERNEL_WORK_GROUP_SIZE && value) {
    *(size_t *)value = group_limit;
  }
  return code;
}

static cl_int group_enqueue(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                            const size_t *offset, const size_t *global, const size_t *local,
                            cl_uint count, const cl_event *list, cl_event *event) {
  size_t group = 1;
  for (cl_uint d = 0; d < dims; d++) group *= local[d];
  if (group > group_largest) group_largest = group;
  return group_plain.clEnqueueNDRangeKernel(queue, kernel, dims, offset, global, local, count, list,
                                            event);
}

static void group_watch(void) {
  ck_ok(halo_cl_api_open(true));
  group_plain = halo_cl;
  halo_cl.clGetKernelWorkGroupInfo = group_info;
  halo_cl.clEnqueueNDRangeKernel = group_enqueue;
}

/* As for GPUs: on some runtimes for CPUs one work item does what a group does. */
START_TEST(groups_fit_the_kernel) {
  group_watch();
  group_limit = 8;
  setenv("HALO_TREAT_AS", "gpu", 1);
  halo_client *client = run_client(NULL);
  unsetenv("HALO_TREAT_AS");
  halo_executable *e = run_compile(client,
                                   "HloModule m\n"
                                   "ENTRY e {\n"
                                   "  x = f32[3] parameter(0)\n"
                                   "  b = f32[900,3] broadcast(x), dimensions={1}\n"
                                   "  ROOT y = f32[900,3] negate(b)\n"
                                   "}\n");
  float in[3] = {1, 2, 3};
  static float out[2700];
  halo_buffer *x = run_buffer(client, 3, in), *y;
  group_largest = 0;
  ck_ok(halo_executable_execute(e, &x, 1, NULL, &y));
  ck_ok(halo_buffer_to_host(y, out, sizeof out));
  ck_assert_int_eq((int)group_largest, 8);
  for (int i = 0; i < 2700; i++) ck_assert(out[i] == -in[i % 3]);
  halo_buffer_release(x);
  halo_buffer_release(y);
  halo_executable_release(e);
  /* Rows of 18 and of 27 in groups of two dimensions. */
  for (int row = 18; row <= 27; row += 9) {
    char text[300];
    snprintf(text, sizeof text,
             "HloModule m\nENTRY e {\n  x = f32[%d] parameter(0)\n"
             "  b = f32[64,%d] broadcast(x), dimensions={1}\n"
             "  ROOT y = f32[64,%d] negate(b)\n}\n",
             row, row, row);
    float line[27];
    for (int i = 0; i < row; i++) line[i] = (float)i;
    e = run_compile(client, text);
    x = run_buffer(client, row, line);
    group_largest = 0;
    ck_ok(halo_executable_execute(e, &x, 1, NULL, &y));
    ck_ok(halo_buffer_to_host(y, out, sizeof(float) * 64 * (size_t)row));
    ck_assert_int_le((int)group_largest, 8);
    for (int i = 0; i < 64 * row; i++) ck_assert(out[i] == -line[i % row]);
    halo_buffer_release(x);
    halo_buffer_release(y);
    halo_executable_release(e);
  }
  halo_client_release(client);
}
END_TEST

/* Programs of one f32[64,64], in [-1, 1], whose kernels have groups. */
static const char *const grouped[] = {
    "  ROOT y = f32[64,64] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n",
    "  z = f32[] constant(0)\n  s = f32[64] reduce(x, z), dimensions={1}, to_apply=add\n"
    "  ROOT y = f32[64,64] broadcast(s), dimensions={0}\n",
    "  z = f32[] constant(0)\n  p = f32[64,64] exponential(x)\n"
    "  s = f32[64] reduce(p, z), dimensions={1}, to_apply=add\n"
    "  b = f32[64,64] broadcast(s), dimensions={0}\n  ROOT y = f32[64,64] divide(p, b)\n",
    "  ROOT y = f32[64,64] sort(x), dimensions={1}, to_apply=less\n",
    "  ROOT y = f32[64,64] transpose(x), dimensions={1,0}\n",
    "  z = s32[] constant(0)\n  s = (s32[], f32[64,64]) tuple(z, x)\n"
    "  w = (s32[], f32[64,64]) while(s), condition=goes_on, body=round\n"
    "  ROOT y = f32[64,64] get-tuple-element(w), index=1\n"};
enum { GROUPED = sizeof grouped / sizeof *grouped, GROUPED_SIZE = 64 * 64 };

static void grouped_text(char *text, size_t size, const char *body) {
  snprintf(text, size,
           "HloModule m\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
           "  ROOT c = f32[] add(a, b)\n}\n"
           "less {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
           "  ROOT c = pred[] compare(a, b), direction=LT\n}\n"
           "goes_on {\n  s = (s32[], f32[64,64]) parameter(0)\n"
           "  i = s32[] get-tuple-element(s), index=0\n  n = s32[] constant(9)\n"
           "  ROOT c = pred[] compare(i, n), direction=LT\n}\n"
           "round {\n  s = (s32[], f32[64,64]) parameter(0)\n"
           "  i = s32[] get-tuple-element(s), index=0\n  one = s32[] constant(1)\n"
           "  j = s32[] add(i, one)\n  x = f32[64,64] get-tuple-element(s), index=1\n"
           "  y = f32[64,64] cosine(x)\n  r = f32[64,64] reverse(y), dimensions={0}\n"
           "  ROOT t = (s32[], f32[64,64]) tuple(j, r)\n}\n"
           "ENTRY e {\n  x = f32[64,64] parameter(0)\n%s}\n",
           body);
}

static void grouped_run(halo_client *client, halo_executable *e, const float *in, float *out) {
  halo_buffer *x, *y;
  ck_ok(halo_buffer_from_host(client, in, halo_executable_argument_shape(e, 0), &x));
  group_largest = 0;
  ck_ok(halo_executable_execute(e, &x, 1, NULL, &y));
  ck_ok(halo_buffer_to_host(y, out, sizeof *out * GROUPED_SIZE));
  halo_buffer_release(x);
  halo_buffer_release(y);
}

/* A driver that gives a kernel smaller groups than it is written for gets another one; a serialised executable too. */
START_TEST(kernels_are_made_for_smaller_groups) {
  static float in[GROUPED_SIZE], expected[GROUPED_SIZE], out[GROUPED_SIZE];
  for (int i = 0; i < GROUPED_SIZE; i++) in[i] = (float)(i * 7919 % 2001 - 1000) / 1000;
  char text[2000];
  grouped_text(text, sizeof text, grouped[_i]);
  group_watch();
  group_limit = 0;
  setenv("HALO_TREAT_AS", "gpu", 1);
  halo_client *client = run_client(NULL);
  unsetenv("HALO_TREAT_AS");
  halo_executable *e = run_compile(client, text);
  grouped_run(client, e, in, expected);
  size_t wanted = group_largest;
  ck_assert_uint_ge(wanted, 32);
  halo_executable_release(e);
  for (group_limit = 128; group_limit >= 16; group_limit /= 2) {
    e = run_compile(client, text);
    grouped_run(client, e, in, out);
    ck_assert_uint_le(group_largest, group_limit);
    for (int i = 0; i < GROUPED_SIZE; i++) {
      ck_assert_msg(fabsf(out[i] - expected[i]) <= 1e-4f * (1 + fabsf(expected[i])),
                    "groups of %zu: element %d is %g, not %g", group_limit, i, out[i], expected[i]);
    }
    char *data;
    size_t size;
    ck_ok(halo_executable_serialize(e, &data, &size));
    halo_executable_release(e);
    ck_ok(halo_client_deserialize(client, data, size, NULL, &e));
    halo_text_release(data);
    grouped_run(client, e, in, expected);
    ck_assert_mem_eq(out, expected, sizeof out);
    halo_executable_release(e);
  }
  group_limit = 0;
  halo_client_release(client);
}
END_TEST

/* Sizes are arguments where the code depends on nothing else of the shape, and groups are the same. */
START_TEST(sizes_are_arguments) {
  static const char text[] =
      "HloModule sizes\n"
      "ENTRY e {\n"
      "  x = f32[5000] parameter(0)\n"
      "  y = f32[3,1901] parameter(1)\n"
      "  z = f32[7001] parameter(2)\n"
      "  s = f32[] parameter(3)\n"
      "  bx = f32[5000] broadcast(s), dimensions={}\n"
      "  by = f32[3,1901] broadcast(s), dimensions={}\n"
      "  bz = f32[7001] broadcast(s), dimensions={}\n"
      "  a = f32[5000] multiply(x, bx)\n"
      "  b = f32[3,1901] multiply(y, by)\n"
      "  c = f32[7001] multiply(z, bz)\n"
      "  ROOT r = (f32[5000], f32[3,1901], f32[7001]) tuple(a, b, c)\n"
      "}\n";
  static const int sizes[3] = {5000, 5703, 7001};
  halo_client *client = run_client(NULL);
  halo_executable *e = run_compile(client, text);
  ck_assert_int_eq(halo_executable_plan(e)->units.count, 1);
  static float in[3][7001], out[7001];
  float factor = 3;
  halo_buffer *arguments[4], *results[3];
  for (int k = 0; k < 3; k++) {
    for (int i = 0; i < sizes[k]; i++) in[k][i] = (float)(k * 10000 + i);
    ck_ok(
        halo_buffer_from_host(client, in[k], halo_executable_argument_shape(e, k), &arguments[k]));
  }
  ck_ok(
      halo_buffer_from_host(client, &factor, halo_executable_argument_shape(e, 3), &arguments[3]));
  ck_ok(halo_executable_execute(e, arguments, 4, NULL, results));
  for (int k = 0; k < 3; k++) {
    ck_ok(halo_buffer_to_host(results[k], out, sizeof *out * (size_t)sizes[k]));
    for (int i = 0; i < sizes[k]; i++) ck_assert(out[i] == 3 * in[k][i]);
    halo_buffer_release(results[k]);
  }
  for (int k = 0; k < 4; k++) halo_buffer_release(arguments[k]);
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

static const char halves[] =
    "HloModule halves\n"
    "ENTRY e {\n"
    "  x = f32[50] parameter(0)\n"
    "  y = f32[60] parameter(1)\n"
    "  a = f32[50] cosine(x)\n"
    "  b = f32[60] sine(y)\n"
    "  ROOT r = (f32[50], f32[60]) tuple(a, b)\n"
    "}\n";
static const char half[] =
    "HloModule half\n"
    "ENTRY other {\n"
    "  named = f32[60] parameter(0)\n"
    "  ROOT otherwise = f32[60] sine(named)\n"
    "}\n";

START_TEST(modules_share_what_is_built) {
  halo_client *client = run_client(NULL);
  halo_executable *first = run_compile(client, halves);
  halo_cl_program_stats before, after;
  halo_cl_program_get_stats(client->devices[0].cl, &before);
  halo_executable *second = run_compile(client, half);
  halo_cl_program_get_stats(client->devices[0].cl, &after);
  ck_assert_int_eq(after.builds, before.builds);
  ck_assert_int_eq(after.disk_hits, before.disk_hits);
  ck_assert_int_eq(after.memory_hits, before.memory_hits + 1);
  /* The kernel has another number in the program it is found in than in its own plan. */
  halo_executable_release(first);
  float in[60], out[60];
  for (int i = 0; i < 60; i++) in[i] = 0;
  halo_buffer *x, *y;
  ck_ok(halo_buffer_from_host(client, in, halo_executable_argument_shape(second, 0), &x));
  ck_ok(halo_executable_execute(second, &x, 1, NULL, &y));
  ck_ok(halo_buffer_to_host(y, out, sizeof out));
  for (int i = 0; i < 60; i++) ck_assert(out[i] == 0); /* the cosine would be 1 */
  halo_buffer_release(x);
  halo_buffer_release(y);
  halo_executable_release(second);
  halo_client_release(client);
}
END_TEST

/* ---- Costs ---- */

START_TEST(costs_are_kept) {
  char folder[] = "/tmp/halo-test-costs.XXXXXX";
  ck_assert(mkdtemp(folder) != NULL);
  halo_client_options options = {.device = "null:" HALO_TEST_DATA "/devices/amd-wave64.caps",
                                 .cache_dir = folder};
  halo_client *client;
  ck_ok(halo_client_create(&options, &client));
  halo_device_costs costs;
  halo_device_get_costs(halo_client_device(client, 0), &costs);
  ck_assert(!costs.measured && costs.launch == halo_prices_gpu.launch);
  halo_device_costs mine = {
      .launch = 1, .bandwidth = 2e9, .rate = 3e9, .item_rate = 4e9, .item_bandwidth = 5e9};
  /* A user's decimal comma has no say, neither in writing nor in reading. */
  bool comma = setlocale(LC_ALL, "de_DE.UTF-8") || setlocale(LC_ALL, "fr_FR.UTF-8");
  mine.launch = 1.5;
  ck_ok(halo_device_store_costs(halo_client_device(client, 0), &mine));
  halo_device_get_costs(halo_client_device(client, 0), &costs);
  ck_assert(costs.measured && costs.launch == 1.5); /* at once, in the same client */
  ck_assert(!comma || localeconv()->decimal_point[0] == ',');
  mine.rate = 0;
  ck_fails(halo_device_store_costs(halo_client_device(client, 0), &mine), HALO_INVALID_ARGUMENT,
           "positive");
  halo_client_release(client);
  ck_ok(halo_client_create(&options, &client));
  halo_device_get_costs(halo_client_device(client, 0), &costs);
  setlocale(LC_ALL, "C");
  ck_assert(costs.measured && costs.launch == 1.5 && costs.bandwidth == 2e9 && costs.rate == 3e9 &&
            costs.item_rate == 4e9 && costs.item_bandwidth == 5e9);
  /* Prices that a user wrote beside them stay. */
  halo_device *device = halo_client_device(client, 0);
  char add[150];
  snprintf(add, sizeof add, "echo 'product_tile = 7' | tee -a %s/tuned-*.txt >/dev/null", folder);
  ck_assert_int_eq(system(add), 0);
  halo_client_release(client);
  ck_ok(halo_client_create(&options, &client));
  device = halo_client_device(client, 0);
  ck_ok(halo_device_store_costs(device, &costs));
  halo_device_price price;
  int prices = 0;
  for (; halo_device_get_price(device, prices, &price); prices++) {
    bool stored = strcmp(price.name, "product_tile") == 0 || prices < 5;
    ck_assert_msg(price.stored == stored, "%s", price.name);
    ck_assert_msg(stored || price.value == price.standard, "%s", price.name);
  }
  ck_assert(prices > 50 && !halo_device_get_price(device, -1, &price));
  halo_target target = halo_target_of_device(&client->devices[0]);
  ck_assert(target.prices.product_tile == 7);
  ck_assert(target.prices.launch == 1.5 && target.max_buffers > 0);
  halo_client_release(client);
  client = run_client(options.device); /* no folder */
  ck_fails(halo_device_store_costs(halo_client_device(client, 0), &costs), HALO_FAILED_PRECONDITION,
           "cache folder");
  halo_client_release(client);
  char command[100];
  snprintf(command, sizeof command, "rm -r %s", folder);
  ck_assert_int_eq(system(command), 0);
}
END_TEST

/* Stored values are for one version of the driver and of the library. */
START_TEST(tuning_is_kept) {
  char folder[] = "/tmp/halo-test-tuning.XXXXXX", command[600];
  ck_assert(mkdtemp(folder) != NULL);
  halo_client_options options = {.device = "null:" HALO_TEST_DATA "/devices/amd-wave64.caps",
                                 .cache_dir = folder};
  halo_client *client;
  halo_device_tuning tuning;
  halo_device_parameter parameter;
  ck_ok(halo_client_create(&options, &client));
  halo_device *device = halo_client_device(client, 0);
  halo_device_get_tuning(device, &tuning);
  ck_assert(strncmp(tuning.path, folder, strlen(folder)) == 0 && !*tuning.hash && !*tuning.refused);
  ck_ok(halo_device_use_tuning(device, "sort_merge_group=64"));
  ck_assert_int_eq(halo_target_of_device(device).parameters.sort_merge_group, 64);
  ck_fails(halo_device_use_tuning(device, "sort_merge_group=65"), HALO_INVALID_ARGUMENT, "256");
  ck_assert_int_eq(halo_target_of_device(device).parameters.sort_merge_group, 64);
  ck_ok(halo_device_use_tuning(device, NULL));
  ck_assert_int_eq(halo_target_of_device(device).parameters.sort_merge_group, 128);
  ck_fails(halo_device_store_tuning(device, "nothing=1"), HALO_INVALID_ARGUMENT, "nothing");
  ck_ok(halo_device_store_tuning(device, "sort_merge_group = 32"));
  ck_ok(halo_device_store_tuning(device, "launch = 1e-5"));
  halo_device_get_tuning(device, &tuning);
  ck_assert(strlen(tuning.hash) == 16);
  halo_client_release(client);
  static const struct {
    const char *edit, *refused;
  } edits[] = {{"s/^$//", ""},
               {"s/^driver: .*/driver: older/", "driver older"},
               {"s/^library: .*/library: 0.0.1/", "version 0.0.1"},
               {"s/^sort_merge_group.*/sort_merge_group = 3/", "may be one of"},
               {"/^driver/d", "does not say"}};
  for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
    halo_device_tuning now;
    snprintf(command, sizeof command, "cp %s/tuned-*.txt %s/kept && sed -i '%s' %s/tuned-*.txt",
             folder, folder, edits[i].edit, folder);
    ck_assert_int_eq(system(command), 0);
    ck_ok(halo_client_create(&options, &client));
    device = halo_client_device(client, 0);
    halo_device_get_tuning(device, &now);
    bool used = !*edits[i].refused;
    ck_assert_msg(strstr(now.refused, edits[i].refused) && used == !*now.refused, "%zu: %s", i,
                  now.refused);
    ck_assert_str_eq(now.hash, used ? tuning.hash : "");
    for (int k = 0; halo_device_get_parameter(device, k, &parameter); k++) {
      bool mine = used && strcmp(parameter.name, "sort_merge_group") == 0;
      ck_assert(parameter.stored == mine);
      ck_assert_int_eq(parameter.value, mine ? 32 : parameter.standard);
    }
    halo_client_release(client);
    snprintf(command, sizeof command, "mv %s/kept %s", folder, tuning.path);
    ck_assert_int_eq(system(command), 0);
  }
  ck_ok(halo_client_create(&options, &client));
  device = halo_client_device(client, 0);
  ck_ok(halo_device_store_tuning(device, NULL));
  halo_device_get_tuning(device, &tuning);
  ck_assert(!*tuning.hash && access(tuning.path, F_OK) != 0);
  ck_ok(halo_device_store_tuning(device, NULL)); /* there is none to remove */
  halo_client_release(client);
  setenv("HALO_TUNING", "sort_merge_group=16", 1);
  ck_ok(halo_client_create(&options, &client));
  ck_assert_int_eq(halo_target_of_device(halo_client_device(client, 0)).parameters.sort_merge_group,
                   16);
  halo_client_release(client);
  setenv("HALO_TUNING", "sort_merge_group=17", 1);
  ck_fails(halo_client_create(&options, &client), HALO_INVALID_ARGUMENT, "HALO_TUNING");
  unsetenv("HALO_TUNING");
  snprintf(command, sizeof command, "rm -r %s", folder);
  ck_assert_int_eq(system(command), 0);
}
END_TEST

int main(void) {
  /* What is looked at here are the kernels by themselves. */
  setenv("HALO_KERNELS", "region:steps,bundle:steps", 1);
  Suite *suite = suite_create("units");
  TCase *c = tcase_create("units");
  tcase_set_timeout(c, 120);
  tcase_add_test(c, equal_fusions_are_one_kernel);
  tcase_add_test(c, products_of_all_sizes_are_one_kernel);
  tcase_add_test(c, what_collides_is_packed);
  tcase_add_test(c, groups_fit_the_kernel);
  tcase_add_loop_test(c, kernels_are_made_for_smaller_groups, 0, GROUPED);
  tcase_add_test(c, sizes_are_arguments);
  tcase_add_test(c, costs_are_kept);
  tcase_add_test(c, tuning_is_kept);
  tcase_add_test(c, modules_share_what_is_built);
  suite_add_tcase(suite, c);
  return suite_run(suite);
}
