/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_regions.c: random programs of nested loops and branches, each as regions, against the evaluator: bit by bit, since
 * all numbers are whole. */
#include "evaluator/evaluator.h"
#include "halo/custom_call.h"
#include "halo/passes.h"
#include "run_test.h"
#include "shape/literal.h"

#include <stdatomic.h>

#define STATE "(s32[], s32[], s32[6], s32[4,3])"

/* ---- Programs ---- */

/* A program that is written: computations that are done, and choices that are made one after the other. */
typedef struct program {
  halo_strbuf done;
  uint32_t seed;
  int computations, most_depth;
  bool calls; /* it calls functions of the host, where others have operations of the same results */
  bool sorts; /* it may have them, which have barriers on a GPU */
} program;

static int choose(program *p, int count) {
  p->seed = p->seed * 1664525u + 1013904223u;
  return (int)((p->seed >> 16) % (uint32_t)count);
}

static int write_computation(program *p, int depth, int statements, bool is_round);

/* A loop of at most four rounds. `known`: compilers can tell how many. */
static int write_condition(program *p, bool known) {
  int number = p->computations++;
  halo_strbuf_printf(&p->done,
                     "c%d { p = " STATE
                     " parameter(0) i = s32[] get-tuple-element(p), index=0 "
                     "n = s32[] constant(%d) ",
                     number, 1 + choose(p, 4));
  if (known) {
    halo_strbuf_append(&p->done, "ROOT r = pred[] compare(i, n), direction=LT }\n");
  } else {
    halo_strbuf_printf(
        &p->done,
        "s = s32[] get-tuple-element(p), index=1 m = s32[] constant(%d) a = s32[] and(s, m) "
        "z = s32[] constant(0) l = pred[] compare(i, n), direction=LT "
        "o = pred[] compare(a, z), direction=NE ROOT r = pred[] and(l, o) }\n",
        choose(p, 2) ? 7 : 1);
  }
  return number;
}

/* Takes the values of a state apart, or puts them together: s, v and m of number `n`. */
static void take_state(halo_strbuf *out, const char *from, int n) {
  halo_strbuf_printf(out,
                     "  s%d = s32[] get-tuple-element(%s), index=1\n"
                     "  v%d = s32[6] get-tuple-element(%s), index=2\n"
                     "  m%d = s32[4,3] get-tuple-element(%s), index=3\n",
                     n, from, n, from, n, from);
}

/* A branch that calls a function of the host: v is doubled. */
static int write_called(program *p) {
  int number = p->computations++;
  halo_strbuf_printf(&p->done,
                     "c%d { p = " STATE " parameter(0) i = s32[] get-tuple-element(p), index=0\n",
                     number);
  take_state(&p->done, "p", 0);
  halo_strbuf_printf(
      &p->done, "  w = s32[6] %s\n  ROOT r = " STATE " tuple(i, s0, w, m0) }\n",
      p->calls ? "custom-call(v0), custom_call_target=\"test_twice\"" : "add(v0, v0)");
  return number;
}

static void write_control(program *p, halo_strbuf *out, int depth, int n) {
  halo_strbuf_printf(out, "  t%d = " STATE " tuple(zero, s%d, v%d, m%d)\n", n, n, n, n);
  if (choose(p, 2)) {
    int branches = 2 + choose(p, 2), first[3];
    for (int b = 0; b < branches; b++) {
      bool called = b > 0 && choose(p, 2);
      first[b] = called ? write_called(p) : write_computation(p, depth + 1, choose(p, 4), false);
    }
    halo_strbuf_printf(out, "  a%d = s32[] and(s%d, three)\n  w%d = " STATE " conditional(a%d", n,
                       n, n, n);
    for (int b = 0; b < branches; b++) halo_strbuf_printf(out, ", t%d", n);
    halo_strbuf_append(out, "), branch_computations={");
    for (int b = 0; b < branches; b++) halo_strbuf_printf(out, "%sc%d", b ? ", " : "", first[b]);
    halo_strbuf_append(out, "}\n");
  } else {
    int condition = write_condition(p, choose(p, 2));
    int body = write_computation(p, depth + 1, 1 + choose(p, 5), true);
    halo_strbuf_printf(out, "  w%d = " STATE " while(t%d), condition=c%d, body=c%d\n", n, n,
                       condition, body);
  }
  char from[16];
  snprintf(from, sizeof from, "w%d", n);
  take_state(out, from, n + 1);
}

/* A statement that makes one of the values of number n + 1; the others are copies. */
static void write_statement(program *p, halo_strbuf *out, int n) {
  int what = choose(p, p->sorts ? 8 : 7), next = n + 1;
  bool s = false, v = false, m = false;
  switch (what) {
    case 0:
      halo_strbuf_printf(out, "  v%d = s32[6] reverse(v%d), dimensions={0}\n", next, n);
      v = true;
      break;
    case 1:
      halo_strbuf_printf(out, "  s%d = s32[] reduce(v%d, zero), dimensions={0}, to_apply=sum\n",
                         next, n);
      s = true;
      break;
    case 2:
      halo_strbuf_printf(out,
                         "  k%d = s32[3,3] slice(m%d), slice={[0:3],[0:3]}\n"
                         "  m%d = s32[4,3] dot(m%d, k%d), lhs_contracting_dims={1}, "
                         "rhs_contracting_dims={0}\n",
                         n, n, next, n, n);
      m = true;
      break;
    case 4:
      halo_strbuf_printf(out,
                         "  a%d = s32[] and(s%d, three)\n  b%d = s32[1] reshape(s%d)\n"
                         "  v%d = s32[6] dynamic-update-slice(v%d, b%d, a%d)\n",
                         n, n, n, n, next, n, n, n);
      v = true;
      break;
    case 5:
      halo_strbuf_printf(out,
                         "  b%d = s32[4,3] broadcast(s%d), dimensions={}\n"
                         "  m%d = s32[4,3] subtract(m%d, b%d)\n",
                         n, n, next, n, n);
      m = true;
      break;
    case 6:
      halo_strbuf_printf(out,
                         "  r%d = s32[4] reduce(m%d, zero), dimensions={1}, to_apply=sum\n"
                         "  q%d = s32[2] slice(v%d), slice={[1:3]}\n"
                         "  v%d = s32[6] concatenate(r%d, q%d), dimensions={0}\n",
                         n, n, n, n, next, n, n);
      v = true;
      break;
    case 3:
      halo_strbuf_printf(out, "  s%d = s32[] add(s%d, i)\n", next, n);
      s = true;
      break;
    default:
      halo_strbuf_printf(out, "  v%d = s32[6] sort(v%d), dimensions={0}, to_apply=less\n", next, n);
      v = true;
      break;
  }
  if (!s) halo_strbuf_printf(out, "  s%d = s32[] copy(s%d)\n", next, n);
  if (!v) halo_strbuf_printf(out, "  v%d = s32[6] copy(v%d)\n", next, n);
  if (!m) halo_strbuf_printf(out, "  m%d = s32[4,3] copy(m%d)\n", next, n);
}

/* A computation from state to state, and its number: a round, which counts itself, or a branch. */
static int write_computation(program *p, int depth, int statements, bool is_round) {
  halo_strbuf out = {0};
  halo_strbuf_append(&out, "  p = " STATE
                           " parameter(0)\n  zero = s32[] constant(0)\n"
                           "  one = s32[] constant(1)\n  three = s32[] constant(3)\n"
                           "  i = s32[] get-tuple-element(p), index=0\n");
  take_state(&out, "p", 0);
  for (int n = 0; n < statements; n++) {
    if (depth < p->most_depth && choose(p, 3) == 0) {
      write_control(p, &out, depth, n);
    } else {
      write_statement(p, &out, n);
    }
  }
  int number = p->computations++, n = statements;
  halo_strbuf_printf(&p->done,
                     "c%d {\n%s  j = s32[] add(i, %s)\n  ROOT r = " STATE
                     " tuple(j, s%d, v%d, m%d)\n}\n",
                     number, halo_strbuf_text(&out), is_round ? "one" : "zero", n, n, n);
  halo_strbuf_deinit(&out);
  return number;
}

static char *write_program(uint32_t seed, int statements, int depth, bool sorts, bool calls) {
  program p = {.seed = seed, .most_depth = depth, .calls = calls, .sorts = sorts};
  halo_strbuf_append(
      &p.done,
      "HloModule loops\n"
      "sum { a = s32[] parameter(0) b = s32[] parameter(1) ROOT c = s32[] add(a, b) }\n"
      "less { a = s32[] parameter(0) b = s32[] parameter(1) "
      "ROOT c = pred[] compare(a, b), direction=LT }\n");
  int body = write_computation(&p, 0, statements, true), condition = write_condition(&p, false);
  halo_strbuf_printf(&p.done,
                     "ENTRY e {\n  s = s32[] parameter(0)\n  v = s32[6] parameter(1)\n"
                     "  m = s32[4,3] parameter(2)\n  z = s32[] constant(0)\n"
                     "  t = " STATE
                     " tuple(z, s, v, m)\n"
                     "  ROOT w = " STATE " while(t), condition=c%d, body=c%d\n}\n",
                     condition, body);
  return p.done.data;
}

/* ---- Runs ---- */

static atomic_int calls;

static void twice(void *out, const void **in) {
  for (int i = 0; i < 6; i++) ((uint32_t *)out)[i] = 2 * ((const uint32_t *)in[0])[i];
  atomic_fetch_add(&calls, 1);
}

static void make_arguments(const halo_module *module, uint32_t seed, halo_literal *out[3]) {
  program p = {.seed = seed};
  for (int a = 0; a < 3; a++) {
    const halo_shape *shape = halo_module_parameter_shape(module, a);
    ck_ok(halo_literal_create(shape, &out[a]));
    int64_t count = halo_shape_element_count(shape);
    for (int64_t i = 0; i < count; i++) {
      halo_literal_set_f64(out[a], i, a == 0 ? 1 + 2 * choose(&p, 50) : choose(&p, 200) - 100);
    }
  }
}

static void check_equal(const halo_literal *got, const halo_literal *expected, const char *how,
                        const char *text) {
  const halo_shape *shape = halo_literal_shape(expected);
  for (int32_t k = 0; k < shape->count; k++) {
    const halo_literal *a = halo_literal_element(got, k), *b = halo_literal_element(expected, k);
    for (int64_t i = 0; i < halo_shape_element_count(shape->elements[k]); i++) {
      double is = halo_literal_get_f64(a, i), should = halo_literal_get_f64(b, i);
      ck_assert_msg(is == should, "%s: element %lld of result %d is %g, not %g\n%s", how,
                    (long long)i, k, is, should, text);
    }
  }
}

/* A way to compile and run a program. */
typedef struct way {
  const char *name, *kernels, *region_time;
  bool no_fusion, in_groups; /* the latter: it is a way for slow devices, too */
} way;

static const way ways[] = {
    {"as chosen", NULL, NULL, false, false},
    {"one region", "region:kernel", NULL, false, true},
    {"one region, unfused", "region:kernel", NULL, true, false},
    {"left at each round", "region:kernel", "0", false, true},
    {"left at each round, unfused", "region:kernel", "0", true, false},
};

/* Runs the program twice, as what is left in memory by the first run must not matter. Returns whether a region of it is packed. */
static bool check_way(halo_client *client, const halo_module *module, halo_literal **arguments,
                      const halo_literal *expected, const way *how, const char *text) {
  const halo_compile_options options = {.no_fusion = how->no_fusion, .kernels = how->kernels};
  if (how->region_time) setenv("HALO_REGION_TIME", how->region_time, 1);
  halo_executable *e;
  halo_literal *got;
  ck_ok(halo_client_compile(client, module, &options, &e));
  unsetenv("HALO_REGION_TIME");
  for (int run = 0; run < 2; run++) {
    ck_ok(halo_executable_run(e, arguments, 3, &got));
    check_equal(got, expected, how->name, text);
    halo_literal_release(got);
  }
  bool packed = strstr(halo_executable_report(e, HALO_REPORT_PLAN), "memory of a region") != NULL;
  halo_executable_release(e);
  return packed;
}

/* Programs of a seed, which one region each is big enough for. Returns how many packed regions there are. */
static int check_program(halo_client *client, uint32_t seed, bool in_groups) {
  int statements = in_groups ? 3 : 10, depth = in_groups ? 2 : 3;
  char *text = write_program(seed, statements, depth, !in_groups, true);
  char *without = write_program(seed, statements, depth, !in_groups, false);
  halo_module *module = run_parse(text), *same = run_parse(without), *plain;
  halo_literal *arguments[3], *expected;
  make_arguments(module, seed, arguments);
  const halo_pass_options as_it_is = {.no_optimization = true, .no_fusion = true};
  ck_ok(halo_module_optimize(same, &as_it_is, &plain));
  ck_ok(halo_evaluate(plain->entry, arguments, 3, &expected));
  int packed = 0;
  for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
    if (in_groups && !ways[w].in_groups) continue;
    packed += check_way(client, module, arguments, expected, &ways[w], text);
  }
  for (int a = 0; a < 3; a++) halo_literal_release(arguments[a]);
  halo_literal_release(expected);
  halo_module_release(plain);
  halo_module_release(module);
  halo_module_release(same);
  halo_free(text);
  halo_free(without);
  return packed;
}

START_TEST(random_loops) {
  halo_client *client = run_client(NULL);
  ck_ok(halo_custom_call_register_plain("test_twice", twice));
  int packed = 0;
  for (uint32_t seed = 1; seed <= 8; seed++) packed += check_program(client, 7919 * seed, false);
  ck_assert_int_gt(atomic_load(&calls), 0);
  ck_assert_msg(packed > 0, "no program has more buffers than a kernel has arguments");
  halo_client_release(client);
}
END_TEST

/* With work items that wait for each other, as on a GPU. */
START_TEST(random_loops_in_groups) {
  setenv("HALO_TREAT_AS", "gpu", 1);
  halo_client *client = run_client(NULL);
  ck_ok(halo_custom_call_register_plain("test_twice", twice));
  for (uint32_t seed = 1; seed <= 2; seed++) check_program(client, 7919 * seed, true);
  halo_client_release(client);
  unsetenv("HALO_TREAT_AS");
}
END_TEST

/* A conditional that calls a function of the host in one of its branches leaves a loop in one region. */
START_TEST(called_branch) {
  static const char text[] =
      "HloModule m\n"
      "yes { x = f32[4] parameter(0) ROOT y = f32[4] custom-call(x), "
      "custom_call_target=\"test_plain\" }\n"
      "no { x = f32[4] parameter(0) ROOT y = f32[4] sine(x) }\n"
      "more { t = (s32[], f32[4]) parameter(0) i = s32[] get-tuple-element(t), index=0 "
      "n = s32[] constant(30) ROOT r = pred[] compare(i, n), direction=LT }\n"
      "body { t = (s32[], f32[4]) parameter(0) i = s32[] get-tuple-element(t), index=0 "
      "x = f32[4] get-tuple-element(t), index=1 one = s32[] constant(1) j = s32[] add(i, one) "
      "seven = s32[] constant(7) at = pred[] compare(i, seven), direction=EQ "
      "y = f32[4] conditional(at, x, x), true_computation=yes, false_computation=%s "
      "ROOT r = (s32[], f32[4]) tuple(j, y) }\n"
      "ENTRY e { x = f32[4] parameter(0) z = s32[] constant(0) s = (s32[], f32[4]) tuple(z, x) "
      "w = (s32[], f32[4]) while(s), condition=more, body=body "
      "ROOT r = f32[4] get-tuple-element(w), index=1 }";
  static const char *const devices[] = {"cpu-two-cores", "amd-wave64"};
  ck_ok(halo_custom_call_register_plain("test_plain", twice));
  for (int i = 0; i < 4; i++) {
    char device[1024], whole[2048];
    snprintf(device, sizeof device, "null:" HALO_TEST_DATA "/devices/%s.caps", devices[i % 2]);
    snprintf(whole, sizeof whole, text, i < 2 ? "no" : "yes");
    halo_client *client = run_client(device);
    halo_executable *e = run_compile(client, whole);
    const char *plan = halo_executable_report(e, HALO_REPORT_PLAN);
    bool one = strstr(plan, "what a region asks for") != NULL;
    /* Where each branch calls, the host does the loop. */
    ck_assert_msg(one == (i < 2), "%s", plan);
    halo_executable_release(e);
    halo_client_release(client);
  }
}
END_TEST

/* A loop with more steps and buffers than a kernel has arguments is one launch on a GPU, too, and another that goes on. */
START_TEST(many_buffers) {
  halo_client *client = run_client("null:" HALO_TEST_DATA "/devices/amd-wave64.caps");
  const halo_compile_options options = {.no_fusion = true};
  char *text = write_program(7919, 24, 2, false, false);
  halo_executable *e;
  ck_ok(run_try_compile(client, text, &options, &e));
  const char *plan = halo_executable_report(e, HALO_REPORT_PLAN);
  ck_assert_msg(run_count(plan, " region:kernel ") == 2 && run_count(plan, ": kernel ") == 2 &&
                    strstr(plan, "memory of a region"),
                "%s", plan);
  halo_free(text);
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("regions");
  TCase *test = tcase_create("regions");
  tcase_add_test(test, random_loops);
  tcase_add_test(test, random_loops_in_groups);
  tcase_add_test(test, many_buffers);
  tcase_add_test(test, called_branch);
  tcase_set_timeout(test, 240);
  suite_add_tcase(suite, test);
  return suite_run(suite);
}
