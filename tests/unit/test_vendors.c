/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_vendors.c: programs on a driver that has another vendor's limits. */
#include "client/executable.h"
#include "exec/watch.h"
#include "halo/custom_call.h"
#include "run_test.h"
#include "suite.h"
#include "vendor_limits.h"

#include <pthread.h>
#include <stdlib.h>

static void set_up(void) {
  setenv("HALO_CPU", "off", 1);
  setenv("HALO_TREAT_AS", "gpu", 1);
  setenv("HALO_PROBES", "off", 1); /* test_probes.c has these */
  unsetenv("HALO_KERNELS");
  setenv("HALO_SEPARATE_MEMORY", "1", 1);
}

/* ---- Groups along y and z ---- */

/* A few more groups along y, or z, than CUDA has. */
#define MANY "65540"
static const struct {
  const char *kernels, *text;
  int64_t operands[2], results; /* elements */
  bool lies_along_x;            /* its groups do, of which there may be any number */
} grids[] = {
    {"loop:turn",
     "HloModule turn\nENTRY e {\n  x = f32[" MANY ",16,16] parameter(0)\n"
     "  ROOT t = f32[" MANY ",16,16] transpose(x), dimensions={0,2,1}\n}\n",
     {65540 * 256},
     65540 * 256},
    {"dot:tile",
     "HloModule batches\nENTRY e {\n  a = f32[" MANY ",2,3] parameter(0)\n  b = f32[" MANY
     ",3,2] parameter(1)\n"
     "  ROOT d = f32[" MANY ",2,2] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0},\n"
     "    lhs_contracting_dims={2}, rhs_contracting_dims={1}\n}\n",
     {65540 * 6, 65540 * 6},
     65540 * 4},
    {"conv:tile",
     "HloModule conv\nENTRY e {\n  x = f32[64,65540,2] parameter(0)\n  k = f32[3,2,5] "
     "parameter(1)\n"
     "  ROOT c = f32[64,65540,5] convolution(x, k), window={size=3 pad=1_1},\n"
     "    dim_labels=b0f_0io->b0f\n}\n",
     {65540 * 128, 30},
     65540 * 320,
     true},
    /* Arrays that a computation that is applied makes, 2400 bytes a work item. */
    {"loop:generic",
     "HloModule arrays\nless {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n"
     "  ROOT l = pred[] compare(x, y), direction=LT\n}\n"
     "each {\n  x = f32[] parameter(0)\n  xs = f32[600] broadcast(x), dimensions={}\n"
     "  n = f32[600] iota(), iota_dimension=0\n  p = f32[600] multiply(xs, n)\n"
     "  s = f32[600] sine(p)\n"
     "  r = f32[600] sort(s), dimensions={0}, is_stable=true, to_apply=less\n"
     "  v = f32[1] slice(r), slice={[123:124]}\n  ROOT e = f32[] reshape(v)\n}\n"
     "ENTRY e {\n  x = f32[6000] parameter(0)\n"
     "  ROOT m = f32[6000] map(x), dimensions={0}, to_apply=each\n}\n",
     {6000},
     6000},
};
enum { GRID_ARRAYS = sizeof grids / sizeof *grids - 1, GRID_COUNT = GRID_ARRAYS };

static float *grid_run(int which) {
  halo_client *client = run_client(NULL);
  halo_executable *executable = run_compile(client, grids[which].text);
  halo_buffer *operands[2] = {0}, *result;
  int count = 0;
  for (; count < 2 && grids[which].operands[count]; count++) {
    int64_t elements = grids[which].operands[count];
    float *values = malloc(sizeof *values * (size_t)elements);
    for (int64_t i = 0; i < elements; i++) values[i] = (float)(i % 1009);
    /* The module's shape has more dimensions than this one. */
    const halo_shape *shape = halo_executable_argument_shape(executable, count);
    ck_ok(halo_buffer_from_host(client, values, shape, &operands[count]));
    free(values);
  }
  ck_ok(halo_executable_execute(executable, operands, count, NULL, &result));
  size_t bytes = sizeof(float) * (size_t)grids[which].results;
  float *values = malloc(bytes);
  ck_ok(halo_buffer_to_host(result, values, bytes));
  halo_buffer_release(result);
  for (int i = 0; i < count; i++) halo_buffer_release(operands[i]);
  halo_executable_release(executable);
  halo_client_release(client);
  return values;
}

START_TEST(many_groups) {
  set_up();
  setenv("HALO_KERNELS", grids[_i].kernels, 1);
  float *expected = grid_run(_i);
  int launches = vendor_launches;
  ck_assert_int_eq(vendor_with_offset, 0);
  vendor_name = "NVIDIA Corporation";
  vendor_groups_most = 65535;
  float *values = grid_run(_i);
  int cut = !grids[_i].lies_along_x; /* a launch of the second run, which is then in two parts */
  ck_assert_int_eq(vendor_launches, 2 * launches + cut);
  ck_assert_int_eq(vendor_with_offset, cut);
  for (int64_t i = 0; i < grids[_i].results; i++) {
    if (values[i] != expected[i]) ck_abort_msg("element %lld differs", (long long)i);
  }
  free(values);
  free(expected);
}
END_TEST

/* ---- Launches that take long ---- */

#define LONG_ROWS "4096"
enum { LONG_COUNT = 4096 };
#define LONG_SUM                                                                                   \
  "HloModule m\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"                       \
  "  ROOT s = f32[] add(a, b)\n}\nENTRY e {\n  x = f32[" LONG_ROWS                                 \
  ",512] parameter(0)\n"                                                                           \
  "  z = f32[] constant(0)\n  r = f32[" LONG_ROWS "] reduce(x, z), dimensions={1}, to_apply=add\n"

/* Sums rows, a group each, and gives how many launches that took. */
static int long_run(halo_executable *executable, halo_buffer *x, float *sums) {
  int before = vendor_launches;
  halo_buffer *result;
  ck_ok(halo_executable_execute(executable, &x, 1, NULL, &result));
  ck_ok(halo_buffer_to_host(result, sums, sizeof *sums * LONG_COUNT));
  halo_buffer_release(result);
  return vendor_launches - before;
}

/* A program that sums rows, of which x has numbers, in launches that may be cut. */
typedef struct long_case {
  halo_client *client;
  halo_executable *executable;
  halo_buffer *x;
} long_case;

/* With `rest` behind the sum r. Element i of x is i / 512. */
static long_case long_open(const char *rest) {
  char text[1024];
  long_case c;
  set_up();
  setenv("HALO_LAUNCH_TIME", "200", 1);
  setenv("HALO_KERNELS", "reduce:row", 1);
  c.client = run_client(NULL);
  snprintf(text, sizeof text, LONG_SUM "%s}\n", rest);
  c.executable = run_compile(c.client, text);
  float *values = malloc(sizeof *values * LONG_COUNT * 512);
  for (int i = 0; i < LONG_COUNT * 512; i++) values[i] = (float)(i / 512);
  const halo_shape *shape = halo_executable_argument_shape(c.executable, 0);
  ck_ok(halo_buffer_from_host(c.client, values, shape, &c.x));
  free(values);
  return c;
}

static void long_close(long_case *c) {
  halo_buffer_release(c->x);
  halo_executable_release(c->executable);
  halo_client_release(c->client);
}

#define LONG_ROOT "  ROOT t = (f32[" LONG_ROWS "]) tuple(r)\n"

/* A launch that takes much longer than its estimate is cut by what its parts took, before the watchdog sees it. Parts along x know
 * their groups. Where the whole is known to be short, it is launched as one. */
START_TEST(long_launch) {
  long_case c = long_open(LONG_ROOT);
  float *sums = malloc(sizeof *sums * LONG_COUNT);
  vendor_group_seconds = 5e-5; /* all of it: 0.2 s */
  vendor_watchdog = 0.05;
  for (int run = 0; run < 2; run++) {
    int offsets = vendor_with_offset, launches = long_run(c.executable, c.x, sums);
    ck_assert_int_ge(launches, 20);
    ck_assert_int_eq(vendor_with_offset - offsets, launches - 1);
    for (int i = 0; i < LONG_COUNT; i++) ck_assert_float_eq(sums[i], (float)i * 512);
  }
  ck_assert_double_le(vendor_longest, 0.02);
  vendor_group_seconds = 0;
  const halo_step *step = &c.executable->plan->steps.data[0];
  ck_assert(halo_watch_may_cut(c.executable->placements[0].program, step));
  halo_watch_note(c.executable->placements[0].program, step, LONG_COUNT, 1e-4);
  ck_assert_int_eq(long_run(c.executable, c.x, sums), 1);
  for (int i = 0; i < LONG_COUNT; i++) ck_assert_float_eq(sums[i], (float)i * 512);
  long_close(&c);
  free(sums);
}
END_TEST

/* A part that fails is named as a whole launch is. */
START_TEST(long_launch_fails) {
  long_case c = long_open(LONG_ROOT);
  halo_buffer *result;
  vendor_deadly_launch = vendor_launches + 2;
  halo_status status = halo_executable_execute(c.executable, &c.x, 1, NULL, &result);
  if (status == HALO_OK) {
    float sums[LONG_COUNT];
    status = halo_buffer_to_host(result, sums, sizeof sums);
    halo_buffer_release(result);
  }
  ck_assert_int_ne(status, HALO_OK);
  ck_message_has("kernel r reduce");
  long_close(&c);
}
END_TEST

/* Of two runs that overlap, the one that was started first has the first state of random numbers, though it waits for the device
 * longer. */
START_TEST(long_launch_random) {
  long_case c = long_open(
      "  s = u64[2] rng-get-and-update-state(), delta=1, control-predecessors={r}\n"
      "  ROOT t = (f32[" LONG_ROWS "], u64[2]) tuple(r, s)\n");
  const halo_steps *steps = &c.executable->plan->steps;
  ck_assert_int_eq(steps->data[0].kind, HALO_STEP_KERNEL);
  ck_assert_int_eq(steps->data[1].kind, HALO_STEP_RANDOM);
  halo_buffer *results[2][2];
  halo_cl_device *device = c.client->devices[0].cl;
  cl_int code;
  cl_event held = clCreateUserEvent(device->context, &code);
  ck_assert_int_eq(code, CL_SUCCESS);
  ck_assert_int_eq(halo_cl.clEnqueueBarrierWithWaitList(device->queue, 1, &held, NULL), CL_SUCCESS);
  int launches = vendor_launches;
  ck_ok(halo_executable_execute(c.executable, &c.x, 1, NULL, results[0]));
  usleep(200000);
  ck_assert_int_eq(vendor_launches, launches); /* its thread waits until the queue is empty */
  halo_watch_note(c.executable->placements[0].program, &steps->data[0], LONG_COUNT, 1e-6);
  ck_ok(halo_executable_execute(c.executable, &c.x, 1, NULL, results[1]));
  ck_assert_int_ge(vendor_launches, launches + 1);
  clSetUserEventStatus(held, CL_COMPLETE);
  for (uint64_t run = 0; run < 2; run++) {
    uint64_t state[2];
    ck_ok(halo_buffer_to_host(results[run][1], state, sizeof state));
    ck_assert_uint_eq(state[0], 117515157 + run);
    for (int i = 0; i < 2; i++) halo_buffer_release(results[run][i]);
  }
  halo_cl.clReleaseEvent(held);
  long_close(&c);
}
END_TEST

/* ---- Regions that take long ---- */

/* Counts from its argument to 20,000, negating 64 numbers each time; at the rounds of `called`, a condition, by the host. */
#define REGION(called)                                                                             \
  "HloModule m\n"                                                                                  \
  "host {\n  x = f32[64] parameter(0)\n"                                                           \
  "  ROOT y = f32[64] custom-call(x), custom_call_target=\"test_negate\"\n}\n"                     \
  "here {\n  x = f32[64] parameter(0)\n  ROOT y = f32[64] negate(x)\n}\n"                          \
  "more {\n  p = (s32[], f32[64]) parameter(0)\n"                                                  \
  "  i = s32[] get-tuple-element(p), index=0\n  n = s32[] constant(20000)\n"                       \
  "  ROOT c = pred[] compare(i, n), direction=LT\n}\n"                                             \
  "next {\n  p = (s32[], f32[64]) parameter(0)\n"                                                  \
  "  i = s32[] get-tuple-element(p), index=0\n  k = s32[] constant(1)\n"                           \
  "  x = f32[64] get-tuple-element(p), index=1\n  j = s32[] add(i, k)\n" called                    \
  "  ROOT t = (s32[], f32[64]) tuple(j, y)\n}\n"                                                   \
  "ENTRY e {\n  i = s32[] parameter(0)\n  x = f32[64] parameter(1)\n"                              \
  "  t = (s32[], f32[64]) tuple(i, x)\n"                                                           \
  "  w = (s32[], f32[64]) while(t), condition=more, body=next\n"                                   \
  "  ROOT y = f32[64] get-tuple-element(w), index=1\n}\n"
#define REGION_CALL(direction, round)                                                              \
  "  seven = s32[] constant(" round                                                                \
  ")\n"                                                                                            \
  "  at = pred[] compare(i, seven), direction=" direction                                          \
  "\n"                                                                                             \
  "  y = f32[64] conditional(at, x, x), true_computation=host, false_computation=here\n"
static const char region_plain[] = REGION("  y = f32[64] negate(x)\n");
static const char region_once[] = REGION(REGION_CALL("EQ", "19000"));
static const char region_often[] = REGION(REGION_CALL("GE", "19980"));

static halo_executable *region_compile(halo_client *client, const char *text) {
  const halo_compile_options options = {.kernels = "region:kernel"};
  halo_executable *executable;
  ck_ok(run_try_compile(client, text, &options, &executable));
  return executable;
}

/* Runs the last rounds of a region, and gives how many launches that took. */
static int region_run(halo_client *client, halo_executable *executable, int rounds) {
  int before = vendor_launches;
  int32_t start = 20000 - rounds;
  float values[64];
  for (int i = 0; i < 64; i++) values[i] = (float)i;
  halo_buffer *operands[2], *result;
  ck_ok(halo_buffer_from_host(client, &start, halo_executable_argument_shape(executable, 0),
                              &operands[0]));
  operands[1] = run_buffer(client, 64, values);
  ck_ok(halo_executable_execute(executable, operands, 2, NULL, &result));
  ck_ok(halo_buffer_to_host(result, values, sizeof values));
  for (int i = 0; i < 64; i++) ck_assert_float_eq(values[i], rounds % 2 ? -(float)i : (float)i);
  halo_buffer_release(result);
  for (int i = 0; i < 2; i++) halo_buffer_release(operands[i]);
  return vendor_launches - before;
}

/* Nanoseconds, as launches have turned out; 0: as planned. */
static int64_t region_budget(halo_executable *executable) {
  const halo_step *launch = &executable->plan->steps.data[0];
  ck_assert(halo_step_leaves(launch, NULL));
  return halo_watch_budget(executable->placements[0].program, launch);
}

/* A region whose rounds take longer than its text counts leaves by the time that its launches took. */
START_TEST(long_region) {
  static const double factors[] = {0.1, 200};
  set_up();
  if (!_i) setenv("HALO_LAUNCH_TIME", "1000000", 1);
  halo_client *client = run_client(NULL);
  halo_executable *executable = region_compile(client, region_plain);
  vendor_factor = factors[_i];
  int launches = region_run(client, executable, 19999);
  ck_assert_int_gt(launches, 2);
  ck_assert(!_i || vendor_longest > 0.3);
  vendor_longest = 0;
  int fewer = region_run(client, executable, 19999);
  ck_assert_double_le(vendor_longest, 0.2);
  if (!_i) ck_assert_int_lt(fewer, launches);
  halo_executable_release(executable);
  halo_client_release(client);
}
END_TEST

/* A launch with which a region ends may be short because little was left: the budget does not grow by that. */
START_TEST(region_ends) {
  set_up();
  setenv("HALO_LAUNCH_TIME", "100000000", 1);
  halo_client *client = run_client(NULL);
  halo_executable *executable = region_compile(client, region_plain);
  /* Enough for a second launch. The first one of a program is not measured, as the driver may prepare it then. */
  for (int rounds = 100; region_run(client, executable, rounds) < 2; rounds += 100) {
    halo_executable_release(executable);
    executable = region_compile(client, region_plain);
  }
  int64_t planned;
  const halo_step *launch = &executable->plan->steps.data[0];
  ck_assert(halo_step_leaves(launch, &planned));
  ck_assert_int_eq(planned, 2000000);
  ck_assert_int_eq(region_budget(executable), 0);
  halo_program *program = executable->placements[0].program;
  halo_watch_note_region(program, launch, 10, false, true);
  halo_watch_note_region(program, launch, 400, true, false);
  ck_assert_int_eq(region_budget(executable), 0);
  halo_watch_note_region(program, launch, 10, true, false);
  ck_assert_int_eq(region_budget(executable), 4 * planned);
  halo_watch_note_region(program, launch, 200, false, true);
  ck_assert_int_eq(region_budget(executable), 2 * planned);
  halo_executable_release(executable);
  halo_client_release(client);
}
END_TEST

/* A region's first launch counts, too, though the region does not go on behind it. */
START_TEST(region_begins) {
  set_up();
  halo_client *client = run_client(NULL);
  halo_executable *executable = region_compile(client, region_plain);
  ck_assert_int_eq(region_run(client, executable, 10), 1);
  ck_assert_int_eq(region_budget(executable), 0);
  vendor_factor = 200;
  vendor_later = CL_TRUE;
  ck_assert_int_eq(region_run(client, executable, 10), 1);
  ck_assert_double_gt(vendor_longest, 0.35);
  ck_assert_int_gt(region_budget(executable), 0);
  ck_assert_int_lt(region_budget(executable), 600000);
  halo_executable_release(executable);
  halo_client_release(client);
}
END_TEST

static atomic_int region_calls;

static void region_negate(void *out, const void **in) {
  atomic_fetch_add(&region_calls, 1);
  usleep(100000);
  for (int i = 0; i < 64; i++) ((float *)out)[i] = -((const float *)in[0])[i];
}

/* Regions that ask the host for something adapt as all others do. The host's own time does not count, and a launch that stops for it
 * says nothing of the budget. */
START_TEST(region_asks) {
  set_up();
  setenv("HALO_LAUNCH_TIME", "100000000", 1);
  ck_ok(halo_custom_call_register_plain("test_negate", region_negate));
  halo_client *client = run_client(NULL);
  halo_executable *executable = region_compile(client, region_once);
  vendor_factor = 0.1;
  ck_assert_int_gt(region_run(client, executable, 19999), 2);
  ck_assert_int_eq(region_calls, 1);
  ck_assert_int_ge(region_budget(executable), 8000000);
  halo_executable_release(executable);
  region_calls = 0;
  executable = region_compile(client, region_often);
  ck_assert_int_ge(region_run(client, executable, 10), 10);
  ck_assert_int_eq(region_calls, 10);
  ck_assert_int_eq(region_budget(executable), 0);
  halo_executable_release(executable);
  halo_client_release(client);
}
END_TEST

/* ---- Queues ---- */

/* Without a limit of launches a region has as much time as on other devices. */
START_TEST(region_unlimited) {
  set_up();
  if (_i) setenv("HALO_LAUNCH_TIME", "0", 1);
  halo_client *client = run_client(NULL);
  halo_executable *executable = region_compile(client, region_plain);
  int64_t planned = 0;
  ck_assert(halo_step_leaves(&executable->plan->steps.data[0], &planned));
  ck_assert_int_eq((planned + 1) / 1000000, _i ? 50 : 2);
  halo_executable_release(executable);
  halo_client_release(client);
}
END_TEST

static void *ahead_free(void *event) {
  usleep(50000);
  clSetUserEventStatus(event, CL_COMPLETE);
  return NULL;
}

/* The queue is limited: a caller that would add to it waits until the device has done a part. */
START_TEST(long_queue) {
  set_up();
  halo_cl_device *device;
  ck_ok(halo_cl_device_open(NULL, &device));
  cl_int code;
  cl_event held = clCreateUserEvent(device->context, &code);
  ck_assert_int_eq(code, CL_SUCCESS);
  ck_assert_int_eq(halo_cl.clEnqueueBarrierWithWaitList(device->queue, 1, &held, NULL), CL_SUCCESS);
  for (int i = 0; i < 4; i++) {
    ck_assert(!halo_cl_ahead_is_full(device));
    halo_cl_ahead_add(device, device->queue, 0.003);
    ck_assert(!halo_cl_ahead_is_full(device));
    halo_cl_ahead_add(device, device->queue, 0.003);
  }
  ck_assert(halo_cl_ahead_is_full(device));
  pthread_t thread;
  ck_assert_int_eq(pthread_create(&thread, NULL, ahead_free, held), 0);
  halo_cl_ahead_limit(device);
  ck_assert(!halo_cl_ahead_is_full(device));
  pthread_join(thread, NULL);
  halo_cl.clReleaseEvent(held);
  halo_cl_device_release(device);
  /* Nothing counts where nothing is limited. */
  setenv("HALO_LAUNCH_TIME", "0", 1);
  ck_ok(halo_cl_device_open(NULL, &device));
  for (int i = 0; i < 100; i++) halo_cl_ahead_add(device, device->queue, 1);
  ck_assert(!halo_cl_ahead_is_full(device));
  halo_cl_ahead_limit(device);
  halo_cl_device_release(device);
}
END_TEST

/* ---- Memory ---- */

/* Memory that drivers would have to set aside for all work items at once lies in a scratch of 8 MiB, of which 3495 work
 * items have a piece each: 13 groups of 256 are one part of the launch, and there are two parts. */
START_TEST(arrays_of_work_items) {
  set_up();
  setenv("HALO_KERNELS", grids[GRID_ARRAYS].kernels, 1);
  float *expected = grid_run(GRID_ARRAYS);
  int launches = vendor_launches;
  ck_assert_int_eq(vendor_with_offset, 0);
  vendor_memory = 512 << 20;
  float *values = grid_run(GRID_ARRAYS);
  ck_assert_int_eq(vendor_launches, 2 * launches + 1);
  ck_assert_int_eq(vendor_with_offset, 1);
  size_t bytes = sizeof(float) * (size_t)grids[GRID_ARRAYS].results;
  ck_assert_mem_eq(values, expected, bytes);
  free(values);
  free(expected);
}
END_TEST

enum { SIDE = 2048, ELEMENTS = SIDE * SIDE }; /* 16 MiB of f32 */

/* Adds an array to its transpose: with an argument, a temporary and a result of 16 MiB each. */
static halo_status memory_run(void) {
  halo_client *client = run_client(NULL);
  const halo_compile_options apart = {.no_fusion = true};
  halo_executable *executable = NULL;
  halo_buffer *x = NULL, *result = NULL;
  static float values[ELEMENTS];
  for (int i = 0; i < ELEMENTS; i++) values[i] = (float)(i % 8191);
  halo_status status = run_try_compile(client,
                                       "HloModule m\nENTRY e {\n  x = f32[2048,2048] parameter(0)\n"
                                       "  t = f32[2048,2048] transpose(x), dimensions={1,0}\n"
                                       "  ROOT s = f32[2048,2048] add(x, t)\n}\n",
                                       &apart, &executable);
  if (status == HALO_OK) {
    status =
        halo_buffer_from_host(client, values, halo_executable_argument_shape(executable, 0), &x);
  }
  if (status == HALO_OK) status = halo_executable_execute(executable, &x, 1, NULL, &result);
  if (status == HALO_OK) status = halo_buffer_to_host(result, values, sizeof values);
  for (int i = 0; i < ELEMENTS && status == HALO_OK; i += 997) {
    int turned = i % SIDE * SIDE + i / SIDE;
    ck_assert_float_eq(values[i], (float)(i % 8191 + turned % 8191));
  }
  if (result) halo_buffer_release(result);
  if (x) halo_buffer_release(x);
  if (executable) halo_executable_release(executable);
  halo_client_release(client);
  return status;
}

/* NVIDIA's driver states a quarter of the memory as the largest block, and gives larger ones. */
START_TEST(more_than_stated) {
  set_up();
  vendor_allocation = 8 << 20;
  ck_ok(memory_run());
}
END_TEST

START_TEST(no_more_than_stated) {
  set_up();
  vendor_allocation = 8 << 20;
  vendor_enforces = CL_TRUE;
  ck_fails(memory_run(), HALO_OUT_OF_MEMORY, "in one piece");
  ck_message_has("8.0 MiB and refused more (CL_INVALID_BUFFER_SIZE)");
}
END_TEST

/* Intel's flag without its option for compilers gives wrong results. */
START_TEST(intel) {
  set_up();
  vendor_name = "Intel(R) Corporation";
  vendor_allocation = 8 << 20;
  vendor_enforces = vendor_is_intel = CL_TRUE;
  vendor_option = "-cl-intel-greater-than-4GB-buffer-required";
  ck_ok(memory_run());
  ck_assert_int_eq(vendor_with_flag, 3);
  ck_assert_int_ge(vendor_with_option, 1);
  vendor_with_flag = vendor_with_option = 0;
  vendor_allocation = 64 << 20;
  ck_ok(memory_run());
  ck_assert_int_eq(vendor_with_flag, 0);
  ck_assert_int_eq(vendor_with_option, 0);
}
END_TEST

/* A program of less is not built with the option: it gets no block that has the flag, used or new. */
START_TEST(intel_reuse) {
  set_up();
  vendor_name = "Intel(R) Corporation";
  vendor_allocation = 17 << 20;
  vendor_enforces = vendor_is_intel = CL_TRUE;
  vendor_option = "-cl-intel-greater-than-4GB-buffer-required";
  halo_client *client = run_client(NULL);
  halo_cl_device *device = client->devices[0].cl;
  halo_cl_block *block;
  /* Rounded up, all three are of one class. */
  ck_ok(halo_cl_alloc(device, (17 << 20) + 1000, "more", &block));
  halo_cl_free(block);
  ck_assert_int_eq(vendor_with_flag, 1);
  ck_ok(halo_cl_alloc(device, (17 << 20) - 1000, "less", &block));
  ck_assert(!halo_cl_is_large(device, block->capacity));
  halo_cl_free(block);
  ck_ok(halo_cl_alloc(device, (17 << 20) + 500, "more again", &block));
  ck_assert(halo_cl_is_large(device, block->capacity));
  halo_cl_free(block);
  ck_assert_int_eq(vendor_with_flag, 1);
  halo_client_release(client);
}
END_TEST

/* The driver finds out that there is no memory when a block is first used. */
START_TEST(lazy) {
  set_up();
  ck_ok(memory_run());
  ck_assert_int_eq(vendor_touches, 3);
  vendor_touch_state = CL_MEM_OBJECT_ALLOCATION_FAILURE;
  ck_fails(memory_run(), HALO_OUT_OF_MEMORY, "buffer f32[2048,2048] asks for 16.0 MiB");
  ck_message_has("CL_MEM_OBJECT_ALLOCATION_FAILURE");
}
END_TEST

/* ---- CLBlast ---- */

/* On a GPU its first product is checked, and it is left out where that is wrong. */
START_TEST(clblast) {
  set_up();
  unsetenv("HALO_SEPARATE_MEMORY");
  static const char text[] =
      "HloModule p\nENTRY e {\n  a = f32[64,64] parameter(0)\n"
      "  ROOT d = f32[64,64] dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n";
  const halo_compile_options forced = {.kernels = "dot:clblast"};
  halo_client *client = run_client(NULL);
  halo_executable *executable;
  halo_status status = run_try_compile(client, text, &forced, &executable);
  if (status != HALO_OK && strstr(halo_error_message(), "CLBlast is not installed")) {
    run_skip("clblast", halo_error_message());
    halo_client_release(client);
    return;
  }
  ck_assert_msg(status == HALO_OK, "%s", halo_error_message());
  halo_executable_release(executable);
  halo_client_release(client);
  if (_i) vendor_spoils = 520 * 516 * sizeof(float);
  client = run_client(NULL);
  if (_i) {
    ck_fails(run_try_compile(client, text, &forced, &executable), HALO_INVALID_ARGUMENT,
             "CLBlast computes wrong products on it");
  } else {
    ck_ok(run_try_compile(client, text, &forced, &executable));
    halo_executable_release(executable);
  }
  ck_ok(run_try_compile(client, text, NULL, &executable));
  halo_executable_release(executable);
  halo_client_release(client);
}
END_TEST

/* ---- Compilers ---- */

/* NVIDIA's driver without its compiler library gives an empty log. */
START_TEST(silent_compiler) {
  set_up();
  vendor_builds_nothing = CL_TRUE;
  ck_assert_int_ne(memory_run(), HALO_OK);
  ck_message_has("The driver says no more; 'halo doctor'");
  vendor_name = "NVIDIA Corporation";
  ck_assert_int_ne(memory_run(), HALO_OK);
  ck_message_has("libnvidia-nvvm.so.4");
}
END_TEST

/* ---- Copies to the host ---- */

/* The host reads conditions of loops and branches into memory that is pinned and mapped once. */
START_TEST(pinned_answers) {
  set_up();
  setenv("HALO_KERNELS", "-region:kernel", 1);
  halo_client *client = run_client(NULL);
  halo_executable *executable = run_compile(
      client,
      "HloModule host\n"
      "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b)\n}\n"
      "more {\n  x = f32[1024] parameter(0)\n  z = f32[] constant(0)\n"
      "  s = f32[] reduce(x, z), dimensions={0}, to_apply=add\n  n = f32[] constant(1e6)\n"
      "  ROOT c = pred[] compare(s, n), direction=LT\n}\n"
      "twice {\n  x = f32[1024] parameter(0)\n  ROOT y = f32[1024] add(x, x)\n}\n"
      "same {\n  x = f32[1024] parameter(0)\n  ROOT y = f32[1024] multiply(x, x)\n}\n"
      "next {\n  x = f32[1024] parameter(0)\n  z = f32[] constant(0)\n"
      "  s = f32[] reduce(x, z), dimensions={0}, to_apply=add\n  n = f32[] constant(1e5)\n"
      "  c = pred[] compare(s, n), direction=LT\n"
      "  ROOT y = f32[1024] conditional(c, x, x), true_computation=twice, "
      "false_computation=same\n}\n"
      "ENTRY e {\n  x = f32[1024] parameter(0)\n"
      "  ROOT w = f32[1024] while(x), condition=more, body=next\n}\n");
  float values[1024];
  for (int i = 0; i < 1024; i++) values[i] = 1;
  halo_buffer *x = run_buffer(client, 1024, values), *result;
  ck_ok(halo_executable_execute(executable, &x, 1, NULL, &result));
  ck_ok(halo_buffer_to_host(result, values, sizeof values));
  ck_assert_float_eq(values[7], 128 * 128); /* seven rounds that double, and one that squares */
  ck_assert_int_ge(vendor_short_reads, 9 + 8);
  ck_assert_int_eq(vendor_pinned, vendor_short_reads);
  ck_assert_int_lt(vendor_maps, 8);
  halo_buffer_release(result);
  halo_buffer_release(x);
  halo_executable_release(executable);
  halo_client_release(client);
}
END_TEST

/* Large copies are those of several threads. */
START_TEST(large_copies) {
  set_up();
  enum { COUNT = (67 << 18) + 12345 }; /* f32: 67 MiB and a little */
  float *values = malloc(sizeof *values * COUNT), *back = malloc(sizeof *back * COUNT);
  for (int i = 0; i < COUNT; i++) values[i] = (float)(i % 16777213);
  halo_client *client = run_client(NULL);
  halo_buffer *buffer = run_buffer(client, COUNT, values);
  ck_ok(halo_buffer_to_host(buffer, back, sizeof *back * COUNT));
  for (int i = 0; i < COUNT; i++) {
    if (values[i] != back[i]) ck_abort_msg("element %d: %g instead of %g", i, back[i], values[i]);
  }
  halo_buffer_release(buffer);
  halo_client_release(client);
  free(values);
  free(back);
}
END_TEST

/* ---- Contexts that a kernel ends ---- */

/* The launch of the second kernel is the last one that the driver does. */
START_TEST(context_dies) {
  set_up();
  if (_i) setenv("HALO_WAIT_EACH", "1", 1);
  vendor_deadly_launch = 2;
  halo_status status = memory_run();
  ck_assert_int_ne(status, HALO_OK);
  if (_i) {
    ck_message_has("kernel s loop");
    ck_message_has("CL_OUT_OF_RESOURCES");
  }
  ck_message_has("a new client gets another");
  ck_ok(memory_run());
}
END_TEST

/* Told only when the results are fetched: which program it was. */
START_TEST(context_dies_later) {
  set_up();
  halo_client *client = run_client(NULL);
  halo_executable *executable = run_compile(client, RUN_TWICE);
  float values[1024] = {0};
  halo_buffer *x = run_buffer(client, 1024, values), *result;
  ck_ok(halo_executable_execute(executable, &x, 1, NULL, &result));
  ck_ok(halo_buffer_to_host(result, values, sizeof values));
  halo_buffer_release(result);
  vendor_deadly_launch = 2;
  halo_status status = halo_executable_execute(executable, &x, 1, NULL, &result);
  if (status == HALO_OK) {
    status = halo_buffer_to_host(result, values, sizeof values);
    halo_buffer_release(result);
  }
  ck_assert_int_ne(status, HALO_OK);
  ck_message_has("twice");
  ck_message_has("a new client gets another");
  halo_buffer_release(x);
  halo_executable_release(executable);
  halo_client_release(client);
  ck_ok(memory_run());
}
END_TEST

static Suite *vendor_suite(void) {
  Suite *suite = suite_create("vendors");
  TCase *limits = tcase_create("grids");
  tcase_set_timeout(limits, 240);
  tcase_add_loop_test(limits, many_groups, 0, GRID_COUNT);
  suite_add_tcase(suite, limits);
  TCase *times = tcase_create("times");
  tcase_set_timeout(times, 120);
  tcase_add_test(times, long_launch);
  tcase_add_test(times, long_launch_fails);
  tcase_add_test(times, long_launch_random);
  tcase_add_loop_test(times, long_region, 0, 2);
  tcase_add_test(times, region_ends);
  tcase_add_test(times, region_begins);
  tcase_add_test(times, region_asks);
  tcase_add_loop_test(times, region_unlimited, 0, 2);
  tcase_add_test(times, long_queue);
  suite_add_tcase(suite, times);
  TCase *memory = tcase_create("memory");
  tcase_set_timeout(memory, 120);
  tcase_add_test(memory, arrays_of_work_items);
  tcase_add_test(memory, more_than_stated);
  tcase_add_test(memory, no_more_than_stated);
  tcase_add_test(memory, intel);
  tcase_add_test(memory, intel_reuse);
  tcase_add_test(memory, lazy);
  suite_add_tcase(suite, memory);
  TCase *compilers = tcase_create("compilers");
  tcase_add_test(compilers, silent_compiler);
  suite_add_tcase(suite, compilers);
  TCase *libraries = tcase_create("libraries");
  tcase_set_timeout(libraries, 120);
  tcase_add_loop_test(libraries, clblast, 0, 2);
  suite_add_tcase(suite, libraries);
  TCase *copies = tcase_create("copies");
  tcase_set_timeout(copies, 120);
  tcase_add_test(copies, pinned_answers);
  tcase_add_test(copies, large_copies);
  suite_add_tcase(suite, copies);
  TCase *contexts = tcase_create("contexts");
  tcase_set_timeout(contexts, 120);
  tcase_add_loop_test(contexts, context_dies, 0, 2);
  tcase_add_test(contexts, context_dies_later);
  suite_add_tcase(suite, contexts);
  return suite;
}

int main(void) { return suite_run(vendor_suite()); }
