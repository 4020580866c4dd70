/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_serialize.c: executables as bytes and back: the same plans and results, refusals of what
 * is damaged or foreign, fingerprints. */
#include "run_test.h"
#include "suite.h"

#include <glob.h>
#include <time.h>

#define DEVICE(name) "null:" HALO_TEST_DATA "/devices/" name ".caps"

static const char loop_text[] =
    "HloModule loop\n"
    "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] add(a, b) }\n"
    "c { p = (s32[], f32[40]) parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n"
    "  n = s32[] constant(5)\n  ROOT c = pred[] compare(i, n), direction=LT }\n"
    "b { p = (s32[], f32[40]) parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n"
    "  x = f32[40] get-tuple-element(p), index=1\n  one = s32[] constant(1)\n"
    "  j = s32[] add(i, one)\n  t = f32[40] sine(x)\n  u = f32[40] add(t, x)\n"
    "  ROOT t2 = (s32[], f32[40]) tuple(j, u) }\n"
    "ENTRY e {\n  x = f32[40] parameter(0)\n  z = s32[] constant(0)\n  f = f32[] constant(0.1)\n"
    "  i = (s32[], f32[40]) tuple(z, x)\n  w = (s32[], f32[40]) while(i), condition=c, body=b\n"
    "  y = f32[40] get-tuple-element(w), index=1\n"
    "  r = f32[] reduce(y, f), dimensions={0}, to_apply=add\n"
    "  ROOT t = (f32[40], f32[]) tuple(y, r)\n}\n";

typedef struct bytes {
  char *data;
  size_t size;
} bytes;

static bytes serialized(halo_executable *e) {
  bytes b;
  ck_ok(halo_executable_serialize(e, &b.data, &b.size));
  return b;
}

static void expect_same(halo_client *client, halo_executable *e, const char *name) {
  bytes b = serialized(e);
  halo_executable *again;
  ck_assert_msg(halo_client_deserialize(client, b.data, b.size, NULL, &again) == HALO_OK, "%s: %s",
                name, halo_error_message());
  for (int r = HALO_REPORT_EXPLAIN; r <= HALO_REPORT_MODULE; r++) {
    ck_assert_msg(strcmp(halo_executable_report(e, (halo_report)r),
                         halo_executable_report(again, (halo_report)r)) == 0,
                  "%s: report %d differs\n%s\n%s", name, r,
                  halo_executable_report(e, (halo_report)r),
                  halo_executable_report(again, (halo_report)r));
  }
  ck_assert_str_eq(halo_executable_fingerprint(e), halo_executable_fingerprint(again));
  bytes twice = serialized(again);
  ck_assert_uint_eq(b.size, twice.size);
  ck_assert_int_eq(memcmp(b.data, twice.data, b.size), 0);
  halo_text_release(twice.data);
  halo_text_release(b.data);
  halo_executable_release(again);
}

/* What is loaded has the plan that compiling made, for every module that is at hand. */
START_TEST(same_plans) {
  static const char *const patterns[] = {HALO_TEST_DATA "/../golden/plan/*.hlo",
                                         HALO_TEST_DATA "/../golden/real/*.hlo",
                                         HALO_TEST_DATA "/../../examples/digits/*/*.hlo"};
  /* Four, for programs of several partitions. */
  static const char *const devices[] = {DEVICE("amd-wave64") "," DEVICE("amd-wave64") "," DEVICE(
                                            "amd-wave64") "," DEVICE("amd-wave64"),
                                        NULL};
  int count = 0;
  for (size_t d = 0; d < 2; d++) {
    halo_client *client = run_client(devices[d]);
    for (size_t p = 0; p < sizeof patterns / sizeof patterns[0]; p++) {
      glob_t found;
      if (glob(patterns[p], 0, NULL, &found) != 0) continue;
      for (size_t i = 0; i < found.gl_pathc; i++) {
        halo_module *module;
        halo_executable *e;
        ck_ok(halo_module_parse_file(found.gl_pathv[i], &module));
        /* On the device itself only what is quickly built, and for one. */
        if (!devices[d] && (p > 0 || halo_module_replica_count(module) > 1)) {
          halo_module_release(module);
          continue;
        }
        ck_ok(halo_client_compile(client, module, NULL, &e));
        expect_same(client, e, found.gl_pathv[i]);
        halo_executable_release(e);
        halo_module_release(module);
        count++;
      }
      globfree(&found);
    }
    halo_client_release(client);
  }
  ck_assert_int_ge(count, 10);
}
END_TEST

static void run_loop(halo_executable *e, float out[41]) {
  float in[40];
  for (int i = 0; i < 40; i++) in[i] = (float)i / 7;
  halo_buffer *x, *results[2];
  ck_ok(halo_buffer_put(halo_executable_device(e, 0), in, NULL,
                        halo_executable_argument_shape(e, 0), &x, NULL));
  ck_ok(halo_executable_execute(e, &x, 1, NULL, results));
  ck_ok(halo_buffer_to_host(results[0], out, sizeof in));
  ck_ok(halo_buffer_to_host(results[1], out + 40, sizeof *out));
  halo_buffer_release(x);
  halo_buffer_release(results[0]);
  halo_buffer_release(results[1]);
}

/* In another client, after the first is gone. */
START_TEST(same_results) {
  halo_client *client = run_client(NULL);
  halo_executable *e = run_compile(client, loop_text);
  float expected[41], got[41];
  bytes b = serialized(e);
  run_loop(e, expected);
  halo_executable_release(e);
  halo_client_release(client);
  client = run_client("cpu*2");
  const int second = 1, beyond = 2;
  ck_ok(halo_client_deserialize(client, b.data, b.size, &second, &e));
  ck_assert_ptr_eq(halo_executable_device(e, 0), halo_client_device(client, 1));
  run_loop(e, got);
  ck_assert_int_eq(memcmp(expected, got, sizeof got), 0);
  halo_executable_release(e);
  ck_fails(halo_client_deserialize(client, b.data, b.size, &beyond, &e), HALO_INVALID_ARGUMENT,
           "no device 2");
  ck_assert_ptr_null(e);
  halo_text_release(b.data);
  halo_client_release(client);
}
END_TEST

START_TEST(replicas) {
  halo_client *client = run_client("0:0*2"), *single = run_client(NULL);
  halo_executable *e, *again;
  ck_ok(run_try_compile(client, loop_text, &(halo_compile_options){.replica_count = 2}, &e));
  bytes b = serialized(e);
  ck_ok(halo_client_deserialize(client, b.data, b.size, NULL, &again));
  ck_assert_int_eq(halo_executable_device_count(again), 2);
  halo_executable_release(again);
  ck_fails(halo_client_deserialize(single, b.data, b.size, NULL, &again), HALO_INVALID_ARGUMENT,
           "2 replicas");
  halo_text_release(b.data);
  halo_executable_release(e);
  halo_client_release(client);
  halo_client_release(single);
}
END_TEST

/* Every byte changed, every length cut: a status, and no more. */
START_TEST(damaged) {
  halo_client *client = run_client(DEVICE("amd-wave64"));
  halo_executable *e = run_compile(client, loop_text), *again;
  bytes b = serialized(e);
  for (size_t i = 0; i < b.size; i++) {
    ck_assert_int_eq(halo_client_deserialize(client, b.data, i, NULL, &again),
                     HALO_INVALID_ARGUMENT);
    ck_assert_ptr_null(again);
    for (int bit = 0; bit < 8; bit += 3) {
      b.data[i] ^= (char)(1 << bit);
      halo_status status = halo_client_deserialize(client, b.data, b.size, NULL, &again);
      ck_assert_msg(status == HALO_INVALID_ARGUMENT || status == HALO_FAILED_PRECONDITION,
                    "byte %zu: %s", i, halo_status_name(status));
      b.data[i] ^= (char)(1 << bit);
    }
  }
  ck_fails(halo_client_deserialize(client, "HloModule m", 11, NULL, &again), HALO_INVALID_ARGUMENT,
           "not a serialised executable");
  ck_fails(halo_client_deserialize(client, b.data, b.size - 1, NULL, &again), HALO_INVALID_ARGUMENT,
           "damaged");
  ck_ok(halo_client_deserialize(client, b.data, b.size, NULL, &again));
  halo_executable_release(again);
  halo_text_release(b.data);
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

START_TEST(foreign) {
  halo_client *client = run_client(DEVICE("amd-wave64")), *other = run_client(NULL);
  halo_executable *e = run_compile(client, loop_text), *f = run_compile(other, loop_text), *again;
  bytes b = serialized(e);
  ck_fails(halo_client_deserialize(other, b.data, b.size, NULL, &again), HALO_FAILED_PRECONDITION,
           "another kind of device");
  ck_assert_str_ne(halo_executable_fingerprint(e), halo_executable_fingerprint(f));
  ck_assert_int_eq((int)strlen(halo_executable_fingerprint(e)), 32);
  halo_text_release(b.data);
  halo_executable_release(e);
  ck_ok(run_try_compile(client, loop_text, &(halo_compile_options){.kernels = "-reduce:row"}, &e));
  halo_executable *plain = run_compile(client, loop_text);
  ck_assert_str_ne(halo_executable_fingerprint(e), halo_executable_fingerprint(plain));
  expect_same(client, e, "without reduce:row");
  halo_executable_release(plain);
  halo_executable_release(e);
  halo_executable_release(f);
  halo_client_release(client);
  halo_client_release(other);
}
END_TEST

/* A program with a constant of so many numbers, of which one is said. */
static halo_executable *with_constant(halo_client *client, int count, const char *last) {
  size_t room = (size_t)count * 16 + 256;
  char *text = malloc(room), *at = text;
  at += snprintf(at, room, "HloModule c\nENTRY e {\n  x = f32[%d] parameter(0)\n", count);
  at += sprintf(at, "  c = f32[%d] constant({", count);
  for (int i = 0; i < count - 1; i++) at += sprintf(at, "%d.%d,", i % 977, i % 91 + 1);
  sprintf(at, "%s})\n  ROOT s = f32[%d] add(x, c)\n}\n", last, count);
  halo_executable *e = run_compile(client, text);
  free(text);
  return e;
}

static double thread_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Each number of a constant counts, and none is printed for it. */
START_TEST(constants) {
  enum { MANY = 1 << 18 };
  static const char *const last[] = {"0", "-0", "1", "0"};
  halo_client *client = run_client(DEVICE("amd-wave64"));
  halo_executable *e[4];
  double hashing = 0, printing = 0;
  for (int i = 0; i < 4; i++) {
    e[i] = with_constant(client, MANY, last[i]);
    double start = thread_seconds();
    ck_assert_ptr_nonnull(halo_executable_fingerprint(e[i]));
    hashing += thread_seconds() - start;
    start = thread_seconds();
    halo_text_release(serialized(e[i]).data);
    printing += thread_seconds() - start;
  }
  for (int i = 1; i < 4; i++) {
    bool same = strcmp(halo_executable_fingerprint(e[0]), halo_executable_fingerprint(e[i])) == 0;
    ck_assert_msg(same == (i == 3), "%s and %s", last[0], last[i]);
  }
  ck_assert_msg(hashing < printing / 4, "%g s of hashing, %g s of printing", hashing, printing);
  for (int i = 0; i < 4; i++) halo_executable_release(e[i]);
  halo_client_release(client);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("serialize");
  TCase *all = tcase_create("all");
  tcase_set_timeout(all, 240);
  tcase_add_test(all, same_plans);
  tcase_add_test(all, same_results);
  tcase_add_test(all, replicas);
  tcase_add_test(all, damaged);
  tcase_add_test(all, foreign);
  tcase_add_test(all, constants);
  suite_add_tcase(suite, all);
  return suite_run(suite);
}
