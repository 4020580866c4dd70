/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_async_pairs.c: asynchronous starts and dones that stay apart in the plan: their order,
 * their memory, loops around and within them, and runs that fail in between. */
#include "cl_faults.h"
#include "client/executable.h"
#include "run_test.h"
#include "suite.h"

#include <pthread.h>

enum { SIDE = 192, COUNT = SIDE * SIDE };

/* `moved`: three products with a permutation, which take long and are exact. */
#define MOVED                                                                                      \
  "moved {\n  a = f32[192,192] parameter(0)\n  b = f32[192,192] parameter(1)\n"                    \
  "  c = f32[192,192] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"             \
  "  d = f32[192,192] dot(c, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"             \
  "  ROOT e = f32[192,192] dot(d, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n"
#define PAIR "((f32[192,192], f32[192,192]), f32[192,192], u32[])"

static const char beside_text[] =
    "HloModule beside\n" MOVED
    "ENTRY e {\n  x = f32[192,192] parameter(0)\n  p = f32[192,192] parameter(1)\n"
    "  y = f32[192,192] negate(x)\n"
    "  z = f32[192,192] dot(y, p), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "  s = " PAIR " async-start(x, p), calls=moved\n  u = " PAIR
    " async-update(s)\n"
    "  d = f32[192,192] async-done(u)\n  ROOT r = f32[192,192] add(d, z)\n}\n";

/* Each round reads x aside, while the next x is made: five rounds. */
static const char loop_text[] =
    "HloModule loop\n" MOVED
    "body {\n  t = (s32[], f32[192,192], f32[192,192], f32[192,192]) parameter(0)\n"
    "  i = s32[] get-tuple-element(t), index=0\n"
    "  x = f32[192,192] get-tuple-element(t), index=1\n"
    "  p = f32[192,192] get-tuple-element(t), index=2\n"
    "  sum = f32[192,192] get-tuple-element(t), index=3\n"
    "  s = " PAIR
    " async-start(x, p), calls=moved\n"
    "  one = f32[] constant(1)\n  ones = f32[192,192] broadcast(one), dimensions={}\n"
    "  y = f32[192,192] add(x, ones)\n  o = s32[] constant(1)\n  j = s32[] add(i, o)\n"
    "  d = f32[192,192] async-done(s)\n  more = f32[192,192] add(sum, d)\n"
    "  ROOT r = (s32[], f32[192,192], f32[192,192], f32[192,192]) tuple(j, y, p, more)\n}\n"
    "cond {\n  t = (s32[], f32[192,192], f32[192,192], f32[192,192]) parameter(0)\n"
    "  i = s32[] get-tuple-element(t), index=0\n  n = s32[] constant(5)\n"
    "  ROOT r = pred[] compare(i, n), direction=LT\n}\n"
    "ENTRY e {\n  x = f32[192,192] parameter(0)\n  p = f32[192,192] parameter(1)\n"
    "  zero = f32[] constant(0)\n  zeros = f32[192,192] broadcast(zero), dimensions={}\n"
    "  i = s32[] constant(0)\n"
    "  t = (s32[], f32[192,192], f32[192,192], f32[192,192]) tuple(i, x, p, zeros)\n"
    "  w = (s32[], f32[192,192], f32[192,192], f32[192,192]) while(t), condition=cond, body=body\n"
    "  ROOT r = f32[192,192] get-tuple-element(w), index=3\n}\n";

/* Aside is a loop that the host has to look at, and within it another pair. */
static const char nested_text[] =
    "HloModule nested\n" MOVED
    "body {\n  t = (f32[], f32[192,192], f32[192,192]) parameter(0)\n"
    "  i = f32[] get-tuple-element(t), index=0\n"
    "  x = f32[192,192] get-tuple-element(t), index=1\n"
    "  p = f32[192,192] get-tuple-element(t), index=2\n"
    "  s = " PAIR
    " async-start(x, p), calls=moved\n  d = f32[192,192] async-done(s)\n"
    "  h = f32[] constant(2)\n  j = f32[] divide(i, h)\n"
    "  ROOT r = (f32[], f32[192,192], f32[192,192]) tuple(j, d, p)\n}\n"
    "cond {\n  t = (f32[], f32[192,192], f32[192,192]) parameter(0)\n"
    "  i = f32[] get-tuple-element(t), index=0\n  n = f32[] constant(1)\n"
    "  ROOT r = pred[] compare(i, n), direction=GT\n}\n"
    "many {\n  a = f32[192,192] parameter(0)\n  b = f32[192,192] parameter(1)\n"
    "  o = f32[192,192] slice(a), slice={[0:192], [0:192]}\n"
    "  c = f32[1,1] slice(b), slice={[0:1], [0:1]}\n  k = f32[] reshape(c)\n"
    "  four = f32[] constant(4)\n  i = f32[] add(k, four)\n"
    "  t = (f32[], f32[192,192], f32[192,192]) tuple(i, o, b)\n"
    "  w = (f32[], f32[192,192], f32[192,192]) while(t), condition=cond, body=body\n"
    "  ROOT r = f32[192,192] get-tuple-element(w), index=1\n}\n"
    "ENTRY e {\n  x = f32[192,192] parameter(0)\n  p = f32[192,192] parameter(1)\n"
    "  s = " PAIR
    " async-start(x, p), calls=many\n  y = f32[192,192] negate(x)\n"
    "  d = f32[192,192] async-done(s)\n  ROOT r = f32[192,192] add(d, y)\n}\n";

static float input[COUNT], permutation[COUNT];

static int turned(int column) { return (column + 5) % SIDE; }

/* Column c goes to column turned(c). */
static void fill(void) {
  for (int i = 0; i < COUNT; i++) input[i] = (float)(i % 251);
  memset(permutation, 0, sizeof permutation);
  for (int c = 0; c < SIDE; c++) permutation[c * SIDE + turned(c)] = 1;
}

/* The input's element at row r and the column that `times` turns bring to column c. */
static float moved(int r, int c, int times) {
  return input[r * SIDE + ((c - 5 * times) % SIDE + SIDE) % SIDE];
}

static halo_buffer *matrix(halo_client *client, const float *values) {
  halo_shape *shape;
  halo_buffer *buffer;
  ck_ok(halo_shape_create_array(HALO_F32, 2, (const int64_t[]){SIDE, SIDE}, &shape));
  ck_ok(halo_buffer_from_host(client, values, shape, &buffer));
  halo_shape_release(shape);
  return buffer;
}

static halo_status run_once(halo_client *client, halo_executable *e, float *out) {
  halo_buffer *arguments[] = {matrix(client, input), matrix(client, permutation)}, *result;
  halo_status status = halo_executable_execute(e, arguments, 2, NULL, &result);
  if (status == HALO_OK) {
    status = halo_buffer_to_host(result, out, COUNT * sizeof *out);
    halo_buffer_release(result);
  }
  halo_buffer_release(arguments[0]);
  halo_buffer_release(arguments[1]);
  return status;
}

static float expect_beside(int r, int c) { return moved(r, c, 3) - moved(r, c, 1); }
static float expect_loop(int r, int c) { return 5 * moved(r, c, 3) + 10; }
/* 1 comes in for 4 + permutation[0] > 1: 4, 2 and then no more. */
static float expect_nested(int r, int c) { return moved(r, c, 6) - input[r * SIDE + c]; }

static const struct pair_case {
  const char *text;
  float (*expect)(int r, int c);
  int pairs;
} pair_cases[] = {
    {beside_text, expect_beside, 1}, {loop_text, expect_loop, 1}, {nested_text, expect_nested, 2}};

static void check_all(const float *out, float (*expect)(int r, int c)) {
  for (int i = 0; i < COUNT; i++) {
    float expected = expect(i / SIDE, i % SIDE);
    ck_assert_msg(out[i] == expected, "element %d is %g, not %g", i, (double)out[i],
                  (double)expected);
  }
}

START_TEST(values_are_right) {
  const struct pair_case *row = &pair_cases[_i];
  fill();
  halo_client *client = run_client(NULL);
  halo_executable *e = run_compile(client, row->text);
  const char *plan = halo_executable_report(e, HALO_REPORT_PLAN);
  ck_assert_msg(run_count(plan, ": start ") == row->pairs, "%s", plan);
  ck_assert_msg(run_count(plan, ": done ") == row->pairs, "%s", plan);
  float *out = malloc(COUNT * sizeof *out);
  for (int times = 0; times < 5; times++) {
    ck_ok(run_once(client, e, out));
    check_all(out, row->expect);
  }
  free(out);
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

/* The start goes first and the done last, however the text has them. */
START_TEST(pairs_are_spread) {
  halo_client *client = run_client(NULL);
  halo_executable *e = run_compile(client, beside_text);
  const char *plan = halo_executable_report(e, HALO_REPORT_PLAN);
  const char *start = strstr(plan, ": start s"), *done = strstr(plan, ": done d ends 0");
  const char *other = strstr(plan, ": kernel z"), *sum = strstr(plan, ": kernel r");
  ck_assert_msg(start && done && other && sum, "%s", plan);
  ck_assert_msg(start < other && other < done && done < sum, "%s", plan);
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

/* What takes no longer than the queues take to meet is as good as called; so is a start whose value is
 * looked at otherwise than by a done. */
START_TEST(others_are_put_in_place) {
  static const char small[] =
      "HloModule small\nn {\n  a = f32[4] parameter(0)\n  ROOT r = f32[4] negate(a)\n}\n"
      "ENTRY e {\n  x = f32[4] parameter(0)\n"
      "  s = ((f32[4]), f32[4], u32[]) async-start(x), calls=n\n"
      "  ROOT d = f32[4] async-done(s)\n}\n";
  static const char seen[] =
      "HloModule seen\n" MOVED
      "ENTRY e {\n  x = f32[192,192] parameter(0)\n  p = f32[192,192] parameter(1)\n"
      "  s = " PAIR
      " async-start(x, p), calls=moved\n"
      "  g = f32[192,192] get-tuple-element(s), index=1\n"
      "  d = f32[192,192] async-done(s)\n  ROOT r = f32[192,192] add(d, g)\n}\n";
  halo_client *client = run_client(NULL);
  const char *texts[] = {small, seen};
  for (int i = 0; i < 2; i++) {
    halo_executable *e = run_compile(client, texts[i]);
    const char *plan = halo_executable_report(e, HALO_REPORT_PLAN);
    ck_assert_msg(!strstr(plan, ": start"), "%s", plan);
    halo_executable_release(e);
  }
  halo_client_release(client);
}
END_TEST

/* Whichever call fails, the run fails, and the next one is right. */
START_TEST(failures_in_between) {
  fill();
  halo_client *client = run_client(NULL);
  halo_executable *e = run_compile(client, loop_text);
  float *out = malloc(COUNT * sizeof *out);
  ck_ok(run_once(client, e, out));
  static const fault_call calls[] = {FAULT_KERNEL, FAULT_MARKER};
  for (int k = 0; k < 2; k++) {
    int before = atomic_load(&fault_calls[calls[k]]);
    ck_ok(run_once(client, e, out));
    int made = atomic_load(&fault_calls[calls[k]]) - before;
    ck_assert_int_ge(made, 5);
    for (int i = 0; i<made; i += made> 12 ? made / 6 : 1) {
      fault_after(calls[k], i);
      ck_assert_int_ne(run_once(client, e, out), HALO_OK);
      fault_after(calls[k], -1);
      ck_ok(run_once(client, e, out));
      check_all(out, expect_loop);
    }
  }
  free(out);
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

typedef struct shared_run {
  halo_client *client;
  halo_executable *e;
} shared_run;

static void *run_shared(void *data) {
  shared_run *shared = data;
  float *out = malloc(COUNT * sizeof *out);
  for (int times = 0; times < 8; times++) {
    ck_ok(run_once(shared->client, shared->e, out));
    check_all(out, expect_loop);
  }
  free(out);
  return NULL;
}

START_TEST(threads_share_the_queues) {
  fill();
  shared_run shared = {run_client(NULL), NULL};
  shared.e = run_compile(shared.client, loop_text);
  pthread_t threads[3];
  for (int i = 0; i < 3; i++) {
    ck_assert_int_eq(pthread_create(&threads[i], NULL, run_shared, &shared), 0);
  }
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  halo_executable_release(shared.e);
  halo_client_release(shared.client);
}
END_TEST

/* Memory of the steps aside is theirs until the done: no two values alive at once overlap. */
START_TEST(memory_is_held) {
  halo_client *client = run_client(NULL);
  halo_executable *e = run_compile(client, beside_text);
  const halo_plan *plan = halo_program_plan(e->placements[0].program);
  int checked = 0;
  for (int32_t i = 0; i < plan->buffers.count; i++) {
    const halo_plan_buffer *a = &plan->buffers.data[i];
    for (int32_t k = 0; k < i && a->place == HALO_PLACE_TEMP; k++) {
      const halo_plan_buffer *b = &plan->buffers.data[k];
      if (b->place != HALO_PLACE_TEMP || b->index != a->index) continue;
      bool apart = a->offset + a->size <= b->offset || b->offset + b->size <= a->offset;
      ck_assert_msg(apart, "%s and %s", a->name, b->name);
      checked++;
    }
  }
  ck_assert_int_ge(checked, 1);
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("async_pairs");
  TCase *tests = tcase_create("async_pairs");
  tcase_set_timeout(tests, 240);
  tcase_add_loop_test(tests, values_are_right, 0, (int)(sizeof pair_cases / sizeof pair_cases[0]));
  tcase_add_test(tests, pairs_are_spread);
  tcase_add_test(tests, others_are_put_in_place);
  tcase_add_test(tests, failures_in_between);
  tcase_add_test(tests, threads_share_the_queues);
  tcase_add_test(tests, memory_is_held);
  suite_add_tcase(suite, tests);
  return suite_run(suite);
}
