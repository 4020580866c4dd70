/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_reduce.c: reductions: how they are cut, and which bodies may be reordered. */
#include "reduce_test.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* Numbers of many magnitudes and both signs, so that another order of summation shows. */
static halo_literal *uneven(const halo_shape *shape) {
  halo_literal *literal;
  ck_ok(halo_literal_create(shape, &literal));
  uint64_t state = 88172645463325252u;
  for (int64_t i = 0; i < halo_shape_element_count(shape); i++) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    double value = (double)(state >> 40) / (double)(1 << 24) - 0.5;
    halo_literal_set_f64(literal, i, i % 97 == 0 ? value * 1000 : value);
  }
  return literal;
}
/* ---- Modules ---- */

/* Reduction `n`, of parameter `n`; a pair goes along with the positions on the first dimension that is
 * reduced. */
static void append_reduction(halo_strbuf *out, const reduce_case *c, int n, const char *type,
                             bool pair, const char *reducer) {
  halo_strbuf_printf(out, "  x%d = %s[%s] parameter(%d)\n", n, type, c->in, n);
  if (!pair) {
    halo_strbuf_printf(out, "  r%d = %s[%s] reduce(x%d, z), dimensions={%s}, to_apply=%s\n", n,
                       type, c->out, n, c->dimensions, reducer);
    return;
  }
  halo_strbuf_printf(out,
                     "  i%d = s32[%s] iota(), iota_dimension=%c\n"
                     "  r%d = (%s[%s], s32[%s]) reduce(x%d, i%d, z, q), dimensions={%s}, "
                     "to_apply=%s\n",
                     n, c->in, c->dimensions[0], n, type, c->out, c->out, n, n, c->dimensions,
                     reducer);
}

static void append_root(halo_strbuf *out, int count) {
  halo_strbuf_append(out, "  ROOT t = tuple(");
  for (int n = 0; n < count; n++) halo_strbuf_printf(out, "%sr%d", n ? ", " : "", n);
  halo_strbuf_append(out, ")\n}\n");
}

/* ---- One cut on any number of cores ---- */

/* Small ones, those of which the parts make a second stage, and those between. */
static const reduce_case cuts[] = {
    {"7,300", "7", "1"},      {"1000000", "", "0"},      {"3,400000", "3", "1"},
    {"12,400000", "12", "1"}, {"70,33", "33", "0"},      {"1500,300", "300", "0"},
    {"40000,16", "16", "0"},  {"100,9000", "9000", "0"}, {"2,3000,200", "2,200", "1"},
    {"1000,700", "", "0,1"},  {"9,300,500", "9", "1,2"},
};
enum { CUT_COUNT = sizeof cuts / sizeof cuts[0] };

/* All of them, as sums or as argmaxes. */
static char *cut_module(bool pair) {
  halo_strbuf text = {0};
  halo_strbuf_append(&text, "HloModule m\n");
  append_reducer(&text, "f", "f32", pair,
                 pair ? "g = pred[] compare(a, b), direction=GE\n  v = f32[] select(g, a, b)\n"
                        "  w = s32[] select(g, i, j)\n  ROOT t = (f32[], s32[]) tuple(v, w)"
                      : "ROOT s = f32[] add(a, b)");
  halo_strbuf_append(&text, "ENTRY e {\n  z = f32[] constant(0)\n  q = s32[] constant(0)\n");
  for (int n = 0; n < CUT_COUNT; n++) append_reduction(&text, &cuts[n], n, "f32", pair, "f");
  append_root(&text, CUT_COUNT);
  return halo_strbuf_take(&text);
}

/* Plan and text on a device that is not there. */
static char *cut_reports(const char *kind, int units, const char *module) {
  char facts[300];
  snprintf(facts, sizeof facts,
           "name = made up\nkind = %s\ncompute_units = %d\nsimd_width = 8\n"
           "max_work_group = 1024\nmax_items = 1024 1024 64\nhas_f64 = true\n",
           kind, units);
  halo_executable *e = run_compile_for(facts, module);
  halo_strbuf text = {0};
  halo_strbuf_append(&text, halo_executable_report(e, HALO_REPORT_PLAN));
  halo_strbuf_append(&text, halo_executable_report(e, HALO_REPORT_SOURCE));
  halo_executable_release(e);
  return halo_strbuf_take(&text);
}

START_TEST(one_cut) {
  static const char *const kinds[] = {"cpu", "gpu"};
  static const int units[] = {2, 4, 64, 200};
  char *module = cut_module(_i % 2);
  char *one = cut_reports(kinds[_i / 2], 1, module);
  ck_assert_ptr_nonnull(strstr(one, "reduce:row_parts"));
  ck_assert_ptr_nonnull(strstr(one, "reduce:column_parts"));
  for (int u = 0; u < 4; u++) {
    char *other = cut_reports(kinds[_i / 2], units[u], module);
    ck_assert_msg(strcmp(one, other) == 0, "1 and %d units:\n%.1500s\n%.1500s", units[u], one,
                  other);
    halo_free(other);
  }
  halo_free(one);
  halo_free(module);
}
END_TEST

/* A digest of the results of `text` for uneven numbers. */
static uint64_t bits_here(char *text) {
  halo_module *module = run_parse(text);
  halo_literal *x[CUT_COUNT], *got;
  for (int n = 0; n < CUT_COUNT; n++) x[n] = uneven(halo_module_parameter_shape(module, n));
  halo_client *client = run_client(NULL);
  halo_executable *e;
  ck_ok(halo_client_compile(client, module, NULL, &e));
  ck_ok(halo_executable_run(e, x, CUT_COUNT, &got));
  char *said;
  ck_ok(halo_literal_to_text(got, &said));
  uint64_t hash = 1469598103934665603u;
  for (const char *t = said; *t; t++) hash = (hash ^ (unsigned char)*t) * 1099511628211u;
  halo_text_release(said);
  halo_literal_release(got);
  for (int n = 0; n < CUT_COUNT; n++) halo_literal_release(x[n]);
  halo_executable_release(e);
  halo_client_release(client);
  halo_module_release(module);
  halo_free(text);
  return hash;
}

/* The same in a process of its own that gives PoCL so many threads. */
static uint64_t bits_with(const char *threads, bool pair) {
  int ends[2], status;
  ck_assert_int_eq(pipe(ends), 0);
  pid_t child = fork();
  ck_assert_int_ge(child, 0);
  if (child == 0) {
    setenv("POCL_MAX_PTHREAD_COUNT", threads, 1);
    uint64_t hash = bits_here(cut_module(pair));
    _exit(write(ends[1], &hash, sizeof hash) == sizeof hash ? 0 : 1);
  }
  close(ends[1]);
  uint64_t hash = 0;
  ck_assert_int_eq(read(ends[0], &hash, sizeof hash), sizeof hash);
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert_int_eq(status, 0);
  close(ends[0]);
  return hash;
}

START_TEST(same_bits) {
  if (_i / 2) setenv("HALO_TREAT_AS", "gpu", 1);
  bool pair = _i % 2;
  uint64_t one = bits_with("1", pair), two = bits_with("2", pair), four = bits_with("4", pair);
  ck_assert_uint_eq(one, two);
  ck_assert_uint_eq(one, four);
}
END_TEST

/* ---- Bodies that may depend on the order ---- */

static const reduce_case ordered_shapes[] = {
    {"5,300", "5", "1"}, {"70,33", "33", "0"},  {"40,30", "", "0,1"},     {"4,50,6", "4,6", "1"},
    {"100000", "", "0"}, {"2,70000", "2", "1"}, {"3000,100", "100", "0"}, {"4,3,50", "3", "0,2"},
};
/* Each body has every other shape, the even ones or the odd ones: kernels take long to compile. */
enum { ORDERED_SHAPES = sizeof ordered_shapes / sizeof ordered_shapes[0], SHAPE_COUNT = 4 };

/* Each would give something else if neighbours were combined first, or changed places. */
typedef struct ordered_case {
  bool pair;
  const char *body;
} ordered_case;
static const ordered_case ordered[] = {
    {false, "ROOT r = s32[] subtract(a, b)"},
    {false, "n = s32[] negate(b)\n  ROOT r = s32[] add(a, n)"},
    {false, "t = s32[] add(b, b)\n  ROOT r = s32[] add(a, t)"},
    {false, "ROOT r = s32[] add(b, b)"},
    {false, "ROOT r = s32[] subtract(b, a)"},
    {false, "n = s32[] negate(b)\n  ROOT r = s32[] maximum(a, n)"},
    {false, "c = s32[] constant(3)\n  t = s32[] multiply(a, c)\n  ROOT r = s32[] add(t, b)"},
    {true,
     "s = s32[] subtract(a, b)\n  m = s32[] maximum(i, j)\n"
     "  ROOT r = (s32[], s32[]) tuple(s, m)"},
    {true,
     "s = s32[] subtract(a, b)\n  m = s32[] subtract(i, j)\n"
     "  ROOT r = (s32[], s32[]) tuple(s, m)"},
    {true,
     "g = pred[] compare(a, b), direction=GE\n  s = s32[] select(g, a, b)\n"
     "  m = s32[] subtract(i, j)\n  ROOT r = (s32[], s32[]) tuple(s, m)"},
};
enum { ORDERED_COUNT = sizeof ordered / sizeof ordered[0] };

/* Neighbours may be combined first, but must not change places. Initial values are no identities. */
static const ordered_case associative[] = {
    {false, "t = s32[] add(a, b)\n  ROOT r = s32[] subtract(t, a)"},
    {false, "s = s32[] add(a, b)\n  p = s32[] multiply(a, b)\n  ROOT r = s32[] subtract(s, p)"},
    {true,
     "p = s32[] multiply(a, b)\n  t = s32[] multiply(i, b)\n  s = s32[] add(t, j)\n"
     "  ROOT r = (s32[], s32[]) tuple(p, s)"},
    {true,
     "t = s32[] add(i, j)\n  s = s32[] subtract(t, j)\n  m = s32[] minimum(a, b)\n"
     "  ROOT r = (s32[], s32[]) tuple(m, s)"},
};
enum { ASSOCIATIVE_COUNT = sizeof associative / sizeof associative[0] };

/* Few elements are combined in order whatever the body is, as by XLA's CPU backend. */
static const reduce_case few_shapes[] = {
    {"100,32", "100", "1"}, {"32,70", "70", "0"}, {"3,32,32", "3", "1,2"}, {"20,7,30", "7", "0,2"}};

static char *ordered_module(const ordered_case *body, const reduce_case *shapes, int first) {
  halo_strbuf text = {0};
  halo_strbuf_append(&text, "HloModule m\n");
  append_reducer(&text, "f", "s32", body->pair, body->body);
  halo_strbuf_append(&text, "ENTRY e {\n  z = s32[] constant(10)\n  q = s32[] constant(0)\n");
  for (int n = 0; n < SHAPE_COUNT; n++) {
    const reduce_case *shape =
        shapes == few_shapes ? &shapes[n] : &shapes[(first + 2 * n) % ORDERED_SHAPES];
    append_reduction(&text, shape, n, "s32", body->pair, "f");
  }
  append_root(&text, SHAPE_COUNT);
  return halo_strbuf_take(&text);
}

static char *in_order_run(const halo_module *module, const char *forced, bool strict,
                          halo_literal *const *x) {
  halo_client *client = run_client(NULL);
  halo_executable *e;
  halo_literal *got;
  char *said;
  const halo_compile_options options = {.kernels = forced, .strict_order = strict};
  ck_ok(halo_client_compile(client, module, &options, &e));
  ck_ok(halo_executable_run(e, x, SHAPE_COUNT, &got));
  ck_ok(halo_literal_to_text(got, &said));
  halo_literal_release(got);
  halo_executable_release(e);
  halo_client_release(client);
  return said;
}

/* Whether it gives what the evaluator does, with implementations as they are chosen and with others forced. */
static void check_in_order(const char *text, bool strict, const char *const forced[2]) {
  char *right;
  halo_module *module = run_parse(text);
  halo_literal *x[SHAPE_COUNT], *expected;
  for (int n = 0; n < SHAPE_COUNT; n++) {
    ck_ok(halo_literal_create(halo_module_parameter_shape(module, n), &x[n]));
    int64_t count = halo_shape_element_count(halo_literal_shape(x[n]));
    for (int64_t i = 0; i < count; i++) halo_literal_set_i64(x[n], i, i * 7 % 11 - 3);
  }
  ck_ok(halo_evaluate(module->entry, x, SHAPE_COUNT, &expected));
  ck_ok(halo_literal_to_text(expected, &right));
  for (int f = 0; f < 2; f++) {
    char *said = in_order_run(module, forced[f], strict, x);
    ck_assert_msg(strcmp(said, right) == 0, "%.500s instead of\n%.500s\n%s", said, right, text);
    halo_text_release(said);
  }
  halo_text_release(right);
  for (int n = 0; n < SHAPE_COUNT; n++) halo_literal_release(x[n]);
  halo_literal_release(expected);
  halo_module_release(module);
}

/* With strict order, by the option or by the variable, a parallel implementation must refuse, wanted or not. */
START_TEST(in_order) {
  static const char *const forced[2] = {NULL, "reduce:row,reduce:column"};
  if (_i >= ORDERED_COUNT) setenv("HALO_TREAT_AS", "gpu", 1);
  int which = _i % ORDERED_COUNT;
  if (which % 2) setenv("HALO_STRICT_ORDER", "1", 1);
  char *text = ordered_module(&ordered[which], ordered_shapes, which);
  check_in_order(text, which % 2 == 0, forced);
  halo_free(text);
}
END_TEST

START_TEST(few_in_order) {
  static const char *const forced[2] = {NULL, "reduce:row,reduce:column"};
  if (_i % 2) setenv("HALO_TREAT_AS", "gpu", 1);
  char *text = ordered_module(&ordered[_i], few_shapes, 0);
  check_in_order(text, false, forced);
  halo_free(text);
}
END_TEST

START_TEST(neighbours_first) {
  static const char *const forced[2] = {"reduce:row,reduce:column", "reduce:loop"};
  if (_i >= 2 * ASSOCIATIVE_COUNT) setenv("HALO_TREAT_AS", "gpu", 1);
  char *text = ordered_module(&associative[_i / 2 % ASSOCIATIVE_COUNT], ordered_shapes, _i % 2);
  check_in_order(text, false, forced);
  halo_free(text);
}
END_TEST

/* Products of many terms keep their digits: 65536 times 0.1, in tenths; one sum of all would give 65576. */
START_TEST(long_products) {
  static const char text[] =
      "HloModule m\n"
      "max { a = s32[] parameter(0)  b = s32[] parameter(1)  ROOT c = s32[] maximum(a, b) }\n"
      "ENTRY e {\n"
      "  x = f32[16] parameter(0)\n"
      "  a = f32[65536,16] broadcast(x), dimensions={1}\n"
      "  one = f32[] constant(1)\n"
      "  b = f32[8,65536] broadcast(one), dimensions={}\n"
      "  d = f32[8,16] dot(b, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      "  ten = f32[] constant(10)\n"
      "  h = f32[8,16] broadcast(ten), dimensions={}\n"
      "  p = f32[8,16] multiply(d, h)\n"
      "  r = f32[8,16] round-nearest-even(p)\n"
      "  i = s32[8,16] convert(r)\n"
      "  least = s32[] constant(0)\n"
      "  ROOT m = s32[] reduce(i, least), dimensions={0,1}, to_apply=max\n"
      "}\n";
  float values[16];
  for (int i = 0; i < 16; i++) values[i] = 0.1f;
  halo_client *client = run_client(NULL);
  halo_executable *e = run_compile(client, text);
  /* Others than panels add up in their own order. */
  if (run_count(halo_executable_report(e, HALO_REPORT_PLAN), "dot:panels") > 0) {
    halo_buffer *x = run_buffer(client, 16, values), *y;
    ck_ok(halo_executable_execute(e, &x, 1, NULL, &y));
    run_check(y, "65536");
    halo_buffer_release(y);
    halo_buffer_release(x);
  }
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

int main(void) {
  /* What is looked at here are the kernels by themselves. */
  setenv("HALO_KERNELS", "region:steps,bundle:steps", 1);
  Suite *suite = suite_create("reduce");
  TCase *cut = tcase_create("cut"), *order = tcase_create("order");
  tcase_add_loop_test(cut, one_cut, 0, 4);
  tcase_add_loop_test(cut, same_bits, 0, 4);
  tcase_add_loop_test(order, in_order, 0, 2 * ORDERED_COUNT);
  tcase_add_loop_test(order, few_in_order, 0, ORDERED_COUNT);
  tcase_add_loop_test(order, neighbours_first, 0, 4 * ASSOCIATIVE_COUNT);
  tcase_add_test(order, long_products);
  tcase_set_timeout(cut, 240);
  tcase_set_timeout(order, 240);
  suite_add_tcase(suite, cut);
  suite_add_tcase(suite, order);
  return suite_run(suite);
}
