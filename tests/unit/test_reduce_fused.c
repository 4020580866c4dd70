/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_reduce_fused.c: what one kernel computes of a fused computation that ends in reductions. */
#include "plan/lower.h"
#include "reduce_test.h"

#include <math.h>
#include <stdlib.h>

/* ---- Fused computations ---- */

/* Text with the shapes of a case: $i the input's, $o the results', $d the dimensions. */
static char *filled(const char *text, const reduce_case *c) {
  halo_strbuf out = {0};
  for (; *text; text++) {
    if (*text != '$') {
      halo_strbuf_char(&out, *text);
      continue;
    }
    text++;
    halo_strbuf_append(&out, *text == 'i' ? c->in : *text == 'o' ? c->out : c->dimensions);
  }
  return halo_strbuf_take(&out);
}

#define FUSED_HEAD                                                                                 \
  "HloModule m, halo_strict_order=true\n"                                                          \
  "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT r = f32[] add(a, b)\n}\n"     \
  "max {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT r = f32[] maximum(a, b)\n}\n" \
  "sub {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT r = f32[] subtract(a, b)\n}"  \
  "\nadds {\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n  ROOT r = s32[] add(a, b)\n}\n"  \
  "addb {\n  a = bf16[] parameter(0)\n  b = bf16[] parameter(1)\n  ROOT r = bf16[] add(a, b)\n}\n" \
  "or {\n  a = pred[] parameter(0)\n  b = pred[] parameter(1)\n  ROOT r = pred[] or(a, b)\n}\n"    \
  "first {\n  a = f32[] parameter(0)\n  i = s32[] parameter(1)\n  b = f32[] parameter(2)\n"        \
  "  j = s32[] parameter(3)\n  g = pred[] compare(a, b), direction=GE\n"                           \
  "  v = f32[] select(g, a, b)\n  w = s32[] select(g, i, j)\n"                                     \
  "  ROOT t = (f32[], s32[]) tuple(v, w)\n}\n"                                                     \
  "fused {\n  x = f32[$i] parameter(0)\n  y = f32[$o] parameter(1)\n"                              \
  "  z = f32[] constant(0)\n  one = f32[] constant(1)\n  low = f32[] constant(-inf)\n"
#define SUMS                                                                                       \
  "  xx = f32[$i] multiply(x, x)\n  s = f32[$o] reduce(x, z), dimensions={$d}, "                   \
  "to_apply=add\n  ss = f32[$o] reduce(xx, one), dimensions={$d}, to_apply=add\n"

typedef struct fused_case {
  const char *body, *result;
  const char *refused; /* by the parallel implementations, and why; NULL: one serves */
} fused_case;

static const fused_case fused[] = {
    /* what follows a reduction */
    {SUMS "  ROOT r = f32[$o] multiply(s, y)\n", "f32[$o]", NULL},
    {SUMS "  h = f32[$o] add(s, s)\n  ROOT r = pred[$o] compare(h, y), direction=GT\n", "pred[$o]",
     NULL},
    {SUMS "  c = s32[$o] convert(s)\n  w = f32[$o] convert(c)\n  k = f32[$o] subtract(y, w)\n"
          "  ROOT r = f32[$o] negate(k)\n",
     "f32[$o]", NULL},
    {"  b = bf16[$i] convert(x)\n  q = bf16[] constant(0.5)\n"
     "  s = bf16[$o] reduce(b, q), dimensions={$d}, to_apply=addb\n  t = bf16[$o] multiply(s, s)\n"
     "  ROOT r = f32[$o] convert(t)\n",
     "f32[$o]", NULL},
    {"  g = pred[$i] convert(x)\n  n = pred[] constant(false)\n"
     "  s = pred[$o] reduce(g, n), dimensions={$d}, to_apply=or\n"
     "  ROOT r = f32[$o] select(s, y, y)\n",
     "f32[$o]", NULL},
    /* several reductions of one array, and what follows them */
    {SUMS "  ROOT r = (f32[$o], f32[$o]) tuple(ss, s)\n", "(f32[$o], f32[$o])", NULL},
    {SUMS "  d = f32[$o] subtract(s, ss)\n  m = f32[$o] reduce(x, low), dimensions={$d}, "
          "to_apply=max\n  ROOT r = (f32[$o], f32[$o], f32[$o]) tuple(d, s, m)\n",
     "(f32[$o], f32[$o], f32[$o])", NULL},
    {SUMS "  d = f32[$o] multiply(s, ss)\n  ROOT r = f32[$o] add(d, y)\n", "f32[$o]", NULL},
    {SUMS "  n = f32[$o] negate(y)\n  ROOT r = (f32[$o], f32[$o]) tuple(n, s)\n",
     "(f32[$o], f32[$o])", NULL},
    {SUMS "  c = s32[$i] convert(x)\n  q = s32[] constant(3)\n"
          "  i = s32[$o] reduce(c, q), dimensions={$d}, to_apply=adds\n"
          "  ROOT r = (f32[$o], s32[$o]) tuple(s, i)\n",
     "(f32[$o], s32[$o])", NULL},
    /* with a reduction of two values */
    {"  c = s32[$i] convert(x)\n  q = s32[] constant(-7)\n"
     "  p = (f32[$o], s32[$o]) reduce(x, c, low, q), dimensions={$d}, to_apply=first\n"
     "  v = f32[$o] get-tuple-element(p), index=0\n  w = s32[$o] get-tuple-element(p), index=1\n"
     "  u = f32[$o] convert(w)\n  k = f32[$o] add(u, v)\n"
     "  s = f32[$o] reduce(x, z), dimensions={$d}, to_apply=add\n"
     "  ROOT r = (f32[$o], s32[$o], f32[$o]) tuple(k, w, s)\n",
     "(f32[$o], s32[$o], f32[$o])", NULL},
    /* what must be done one element after the other, or in two kernels */
    {SUMS "  d = f32[$o] reduce(x, one), dimensions={$d}, to_apply=sub\n"
          "  ROOT r = (f32[$o], f32[$o]) tuple(s, d)\n",
     "(f32[$o], f32[$o])", "may depend on the order"},
    {"  d = f32[$o] reduce(x, one), dimensions={$d}, to_apply=sub\n"
     "  ROOT r = f32[$o] multiply(d, y)\n",
     "f32[$o]", "may depend on the order"},
};
enum { FUSED_COUNT = sizeof fused / sizeof fused[0] };

static const reduce_case fused_shapes[] = {
    {"5,300", "5", "1"},        {"64,96", "64", "1"},      {"3,70000", "3", "1"},
    {"70,33", "33", "0"},       {"600,1000", "1000", "0"}, {"4,50,6", "4,6", "1"},
    {"3,4,1,20", "3,4", "2,3"}, {"40,30", "", "0,1"},      {"200000", "", "0"},
    {"20000,16", "16", "0"},    {"130,40", "130", "1"},
};
enum { FUSED_SHAPE_COUNT = sizeof fused_shapes / sizeof fused_shapes[0] };

/* An executable that runs the module's own fusions, which the passes would put in place and form anew. `kernels` are those
 * of HALO_KERNELS. */
static halo_executable *fused_compile(halo_client *client, halo_module *module, const char *kernels,
                                      char **explain) {
  halo_executable *e;
  halo_plan *plan;
  halo_cl_device *device = client->devices[0].cl;
  ck_ok(halo_client_compile(client, module, NULL, &e));
  ck_ok(halo_plan_lower(module, &device->caps, kernels, NULL, &plan));
  *explain = halo_strdup(plan->explain);
  halo_program_release(e->placements[0].program);
  halo_program_site site = {0};
  ck_ok(halo_program_create(device, plan, &site, NULL, &e->placements[0].program));
  return e;
}

static void check_near(const halo_literal *got, const halo_literal *expected, double tolerance,
                       const char *text) {
  const halo_shape *shape = halo_literal_shape(expected);
  for (int p = 0; p < shape->count; p++) {
    check_near(halo_literal_element(got, p), halo_literal_element(expected, p), tolerance, text);
  }
  if (halo_shape_is_tuple(shape)) return;
  int64_t count = halo_shape_element_count(shape);
  for (int64_t i = 0; i < count; i++) {
    double a = halo_literal_get_f64(got, i), b = halo_literal_get_f64(expected, i);
    ck_assert_msg(a == b || fabs(a - b) <= tolerance * fabs(b),
                  "element %lld is %.9g, not %.9g\n%s", (long long)i, a, b, text);
  }
}

/* Small whole numbers, of which all sums are exact in f32. */
static void check_fused(const fused_case *f, const reduce_case *c) {
  halo_strbuf whole = {0};
  halo_strbuf_printf(&whole,
                     FUSED_HEAD
                     "%s}\nENTRY e {\n  x = f32[$i] parameter(0)\n"
                     "  y = f32[$o] parameter(1)\n  ROOT f = %s fusion(x, y), kind=kInput, "
                     "calls=fused\n}\n",
                     f->body, f->result);
  char *text = filled(halo_strbuf_text(&whole), c), *explain;
  halo_strbuf_deinit(&whole);
  halo_module *module = run_parse(text);
  halo_client *client = run_client(NULL);
  /* Which of several is cheaper for these few elements does not matter. */
  const char *apart = "region:steps,bundle:steps",
             *others = "region:steps,bundle:steps,-reduce:loop";
  halo_executable *e = fused_compile(client, module, f->refused ? apart : others, &explain);
  if (f->refused) {
    ck_assert_msg(strstr(explain, f->refused) && strstr(explain, "-> reduce:loop"), "%s\n%s",
                  explain, text);
  } else {
    ck_assert_msg(!strstr(explain, "-> reduce:loop"), "%s\n%s", explain, text);
  }
  halo_literal *x[2], *expected, *got;
  for (int n = 0; n < 2; n++) {
    ck_ok(halo_literal_create(halo_module_parameter_shape(module, n), &x[n]));
    int64_t count = halo_shape_element_count(halo_literal_shape(x[n]));
    for (int64_t i = 0; i < count; i++) {
      halo_literal_set_f64(x[n], i, (double)((i * 7 + i / 11) % 5 - 2));
    }
  }
  ck_ok(halo_evaluate(module->entry, x, 2, &expected));
  ck_ok(halo_executable_run(e, x, 2, &got));
  check_near(got, expected, 0, text);
  for (int n = 0; n < 2; n++) halo_literal_release(x[n]);
  halo_literal_release(expected);
  halo_literal_release(got);
  halo_executable_release(e);
  halo_client_release(client);
  halo_module_release(module);
  halo_free(explain);
  halo_free(text);
}

/* Each body in some of the shapes on a CPU, in others as on a GPU. */
START_TEST(fused_shape) {
  if (_i >= FUSED_COUNT) setenv("HALO_TREAT_AS", "gpu", 1);
  for (int s = 0; s < 3; s++) {
    int shape = (_i + s * FUSED_SHAPE_COUNT / 3) % FUSED_SHAPE_COUNT;
    check_fused(&fused[_i % FUSED_COUNT], &fused_shapes[shape]);
  }
}
END_TEST

/* Forms of which one shape is enough: in its own words. */
static const struct {
  fused_case f;
  reduce_case c;
} fused_forms[] = {
    {{SUMS "  ROOT r = f32[6,1,4] reshape(s)\n", "f32[6,1,4]", NULL}, {"6,50,4", "6,4", "1"}},
    {{SUMS "  h = f32[24] reshape(ss)\n  n = f32[24] negate(h)\n"
           "  ROOT r = (f32[24], f32[6,4]) tuple(n, s)\n",
      "(f32[24], f32[6,4])", NULL},
     {"6,4,50", "6,4", "2"}},
    {{SUMS "  ROOT r = f32[6,4]{0,1} add(s, y)\n", "f32[6,4]{0,1}", NULL}, {"6,4,50", "6,4", "2"}},
    {{SUMS "  ROOT r = f32[6,4]{0,1} reduce(x, z), dimensions={1}, to_apply=add\n", "f32[6,4]{0,1}",
      NULL},
     {"6,50,4", "6,4", "1"}},
    {{SUMS "  w = f32[6,50] broadcast(s), dimensions={0}\n  v = f32[6,50] subtract(x, w)\n"
           "  ROOT r = f32[6] reduce(v, z), dimensions={1}, to_apply=add\n",
      "f32[6]", NULL},
     {"6,50", "6", "1"}},
    {{SUMS "  w = f32[6,50] broadcast(s), dimensions={0}\n  v = f32[6,50] subtract(x, w)\n"
           "  k = f32[6] reduce(v, z), dimensions={1}, to_apply=add\n"
           "  ROOT r = (f32[6], f32[6]) tuple(s, k)\n",
      "(f32[6], f32[6])", NULL},
     {"6,50", "6", "1"}},
    {{SUMS "  w = f32[50,6] broadcast(s), dimensions={1}\n  v = f32[50,6] subtract(x, w)\n"
           "  k = f32[6] reduce(v, z), dimensions={0}, to_apply=add\n"
           "  ROOT r = (f32[6], f32[6]) tuple(s, k)\n",
      "(f32[6], f32[6])", "at another position"},
     {"50,6", "6", "0"}},
    {{SUMS "  t = f32[8,8] transpose(s), dimensions={1,0}\n  ROOT r = f32[8,8] add(s, t)\n",
      "f32[8,8]", "at another position"},
     {"8,8,50", "8,8", "2"}},
    {{SUMS "  o = f32[6] reduce(x, z), dimensions={1}, to_apply=add\n"
           "  ROOT r = (f32[6], f32[6]) tuple(o, s)\n",
      "(f32[6], f32[6])", NULL},
     {"6,6", "6", "0"}},
    {{SUMS "  o = f32[70] reduce(x, z), dimensions={1}, to_apply=add\n"
           "  ROOT r = (f32[70], f32[70]) tuple(o, s)\n",
      "(f32[70], f32[70])", "over different dimensions"},
     {"70,70", "70", "0"}},
};
enum { FORM_COUNT = sizeof fused_forms / sizeof fused_forms[0] };

START_TEST(fused_form) {
  if (_i >= FORM_COUNT) setenv("HALO_TREAT_AS", "gpu", 1);
  check_fused(&fused_forms[_i % FORM_COUNT].f, &fused_forms[_i % FORM_COUNT].c);
}
END_TEST

/* ---- Whole programs ---- */

/* Entry instructions on x and y, and how many kernels they take. */
static const struct {
  const char *body;
  int kernels;
} wholes[] = {
    /* one pass over an array for its mean and variance */
    {"  xx = f32[64,128] multiply(x, x)\n  s = f32[64] reduce(x, z), dimensions={1}, to_apply=add\n"
     "  q = f32[64] reduce(xx, z), dimensions={1}, to_apply=add\n"
     "  k = f32[] constant(0.0104166669)\n  p = f32[64] broadcast(k), dimensions={}\n"
     "  m = f32[64] multiply(s, p)\n  n = f32[64] multiply(q, p)\n  mm = f32[64] multiply(m, m)\n"
     "  v = f32[64] subtract(n, mm)\n  ROOT t = (f32[64], f32[64]) tuple(m, v)\n",
     1},
    /* the same where nobody wants the mean */
    {"  xx = f32[64,128] multiply(x, x)\n  s = f32[64] reduce(x, z), dimensions={1}, to_apply=add\n"
     "  q = f32[64] reduce(xx, z), dimensions={1}, to_apply=add\n  mm = f32[64] multiply(s, s)\n"
     "  ROOT v = f32[64] subtract(q, mm)\n",
     1},
    /* what follows uses the result several times */
    {"  s = f32[] reduce(x, z), dimensions={0,1}, to_apply=add\n  h = f32[] tanh(s)\n"
     "  ROOT v = f32[] multiply(h, s)\n",
     1},
    {"  d = f32[64,64] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n"
     "  h = f32[64,64] tanh(d)\n  ROOT v = f32[64,64] multiply(h, d)\n",
     1},
    /* rows and columns; two arrays; a reduction of another's result, by rows and by columns; one that keeps
     * its order */
    {"  s = f32[64] reduce(x, z), dimensions={1}, to_apply=add\n"
     "  q = f32[128] reduce(x, z), dimensions={0}, to_apply=add\n"
     "  ROOT t = (f32[64], f32[128]) tuple(s, q)\n",
     2},
    {"  s = f32[64] reduce(x, z), dimensions={1}, to_apply=add\n"
     "  q = f32[64] reduce(y, z), dimensions={1}, to_apply=add\n"
     "  ROOT t = (f32[64], f32[64]) tuple(s, q)\n",
     2},
    {"  s = f32[64] reduce(x, z), dimensions={1}, to_apply=add\n"
     "  w = f32[64,128] broadcast(s), dimensions={0}\n  v = f32[64,128] subtract(x, w)\n"
     "  q = f32[64] reduce(v, z), dimensions={1}, to_apply=add\n"
     "  ROOT t = (f32[64], f32[64]) tuple(s, q)\n",
     1},
    {"  s = f32[128] reduce(x, z), dimensions={0}, to_apply=add\n"
     "  w = f32[64,128] broadcast(s), dimensions={1}\n  v = f32[64,128] subtract(x, w)\n"
     "  q = f32[128] reduce(v, z), dimensions={0}, to_apply=add\n"
     "  ROOT t = (f32[128], f32[128]) tuple(s, q)\n",
     2},
    {"  s = f32[64] reduce(x, z), dimensions={1}, to_apply=add\n"
     "  q = f32[64] reduce(x, z), dimensions={1}, to_apply=sub\n"
     "  ROOT t = (f32[64], f32[64]) tuple(s, q)\n",
     2},
};
enum { WHOLE_COUNT = sizeof wholes / sizeof wholes[0] };

/* Those that only prepare something for another are not counted. */
static int whole_kernels(const char *plan) {
  int count = 0;
  for (; (plan = strstr(plan, ": kernel ")) != NULL; plan++) {
    char *line = strndup(plan, strcspn(plan, "\n"));
    count += !strstr(line, "_parts ") && !strstr(line, " pack ");
    free(line);
  }
  return count;
}

/* Rows of 128: where 64 lanes do not divide a row, kernels of their own in a region are cheaper on a CPU. */
START_TEST(whole) {
  if (_i >= WHOLE_COUNT) setenv("HALO_TREAT_AS", "gpu", 1);
  halo_strbuf text = {0};
  halo_strbuf_append(&text, "HloModule m, halo_strict_order=true\n");
  append_reducer(&text, "add", "f32", false, "ROOT s = f32[] add(a, b)");
  append_reducer(&text, "sub", "f32", false, "ROOT s = f32[] subtract(a, b)");
  halo_strbuf_printf(&text,
                     "ENTRY e {\n  x = f32[64,128] parameter(0)\n  y = f32[64,128] parameter(1)\n"
                     "  z = f32[] constant(0)\n%s}\n",
                     wholes[_i % WHOLE_COUNT].body);
  halo_module *module = run_parse(halo_strbuf_text(&text));
  halo_client *client = run_client(NULL);
  halo_executable *e;
  ck_ok(halo_client_compile(client, module, NULL, &e));
  const char *plan = halo_executable_report(e, HALO_REPORT_PLAN);
  int expected_kernels = wholes[_i % WHOLE_COUNT].kernels;
  ck_assert_msg(whole_kernels(plan) == expected_kernels, "not %d kernels:\n%s\n%.3000s",
                expected_kernels, halo_strbuf_text(&text), plan);
  halo_literal *x[2], *expected, *got;
  for (int n = 0; n < 2; n++) {
    ck_ok(halo_literal_create(halo_module_parameter_shape(module, n), &x[n]));
    for (int64_t i = 0; i < 64 * 128; i++) {
      halo_literal_set_f64(x[n], i, (double)((i * 7 + i / 11 + n) % 5 - 2) / 4);
    }
  }
  ck_ok(halo_evaluate(module->entry, x, 2, &expected));
  ck_ok(halo_executable_run(e, x, 2, &got));
  check_near(got, expected, 1e-6, halo_strbuf_text(&text));
  for (int n = 0; n < 2; n++) halo_literal_release(x[n]);
  halo_literal_release(expected);
  halo_literal_release(got);
  halo_executable_release(e);
  halo_client_release(client);
  halo_module_release(module);
  halo_strbuf_deinit(&text);
}
END_TEST

/* The kernel behind a reduction reads a loop's state where it writes the next one: no copy, no buffer. */
START_TEST(state_in_place) {
  if (_i) setenv("HALO_TREAT_AS", "gpu", 1);
  /* The sum is the same in each round. */
  setenv("HALO_DISABLE_PASSES", "hoist,unroll", 1);
  static const char text[] =
      "HloModule m\n"
      "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}\n"
      "body {\n  s = (s32[], f32[64], f32[64,96]) parameter(0)\n"
      "  i = s32[] get-tuple-element(s), index=0\n  b = f32[64] get-tuple-element(s), index=1\n"
      "  x = f32[64,96] get-tuple-element(s), index=2\n  one = s32[] constant(1)\n"
      "  j = s32[] add(i, one)\n  z = f32[] constant(0)\n"
      "  g = f32[64] reduce(x, z), dimensions={1}, to_apply=add\n"
      "  n = f32[64] subtract(b, g)\n  ROOT t = (s32[], f32[64], f32[64,96]) tuple(j, n, x)\n}\n"
      "more {\n  s = (s32[], f32[64], f32[64,96]) parameter(0)\n"
      "  i = s32[] get-tuple-element(s), index=0\n  k = s32[] constant(5)\n"
      "  ROOT r = pred[] compare(i, k), direction=LT\n}\n"
      "ENTRY e {\n  x = f32[64,96] parameter(0)\n  b = f32[64] parameter(1)\n"
      "  i = s32[] constant(0)\n  s = (s32[], f32[64], f32[64,96]) tuple(i, b, x)\n"
      "  w = (s32[], f32[64], f32[64,96]) while(s), condition=more, body=body\n"
      "  ROOT r = f32[64] get-tuple-element(w), index=1\n}\n";
  halo_client *client = run_client(NULL);
  halo_executable *e;
  halo_compile_options options = {.kernels = "region:steps"};
  ck_ok(run_try_compile(client, text, &options, &e));
  const char *plan = halo_executable_report(e, HALO_REPORT_PLAN);
  const char *body = strstr(plan, "  body:");
  ck_assert_ptr_nonnull(body);
  ck_assert_msg(!strstr(body, ": copy ") && strstr(body, "reduce:row"), "%s", plan);
  halo_literal *x[2], *got;
  for (int n = 0; n < 2; n++) {
    ck_ok(halo_literal_create(halo_executable_argument_shape(e, n), &x[n]));
    int64_t count = halo_shape_element_count(halo_literal_shape(x[n]));
    for (int64_t i = 0; i < count; i++) halo_literal_set_f64(x[n], i, n ? (double)i : 0.5);
  }
  ck_ok(halo_executable_run(e, x, 2, &got));
  for (int64_t i = 0; i < 64; i++) {
    ck_assert_double_eq(halo_literal_get_f64(got, i), (double)i - 5 * 48);
  }
  halo_literal_release(x[0]);
  halo_literal_release(x[1]);
  halo_literal_release(got);
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

/* A processor does what follows one result at a time: much of it is a kernel of its own, in vectors. */
START_TEST(much_behind) {
  static const struct {
    const char *shape, *result;
    int kernels;
  } cases[] = {{"f32[65536,8]", "f32[65536]", 2}, {"f32[64,8192]", "f32[64]", 1}};
  halo_client *client = run_client(NULL);
  for (int i = 0; i < 2; i++) {
    halo_strbuf text = {0};
    halo_strbuf_append(&text, "HloModule m\n");
    append_reducer(&text, "add", "f32", false, "ROOT s = f32[] add(a, b)");
    halo_strbuf_printf(&text,
                       "ENTRY e {\n  x = %s parameter(0)\n  z = f32[] constant(0)\n"
                       "  s = %s reduce(x, z), dimensions={1}, to_apply=add\n"
                       "  t = %s tanh(s)\n  ROOT r = %s exponential(t)\n}\n",
                       cases[i].shape, cases[i].result, cases[i].result, cases[i].result);
    halo_executable *e = run_compile(client, halo_strbuf_text(&text));
    const char *plan = halo_executable_report(e, HALO_REPORT_PLAN);
    ck_assert_msg(whole_kernels(plan) == cases[i].kernels, "%s", plan);
    halo_executable_release(e);
    halo_strbuf_deinit(&text);
  }
  halo_client_release(client);
}
END_TEST

/* The sum of two lines put together, of which one is computed: cut at the ends of lines on CPUs. All numbers and
 * sums are whole, so that no order of summation shows. */
START_TEST(cut_at_lines) {
  static const char text[] =
      "HloModule m\n"
      "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }\n"
      "ENTRY e {\n"
      "  x = f32[24000] parameter(0)\n"
      "  zero = f32[] constant(0)\n"
      "  low = f32[12000] slice(x), slice={[0:12000]}\n"
      "  l = f32[1,12000] reshape(low)\n"
      "  high = f32[12000] slice(x), slice={[12000:24000]}\n"
      "  h = f32[1,12000] reshape(high)\n"
      "  s = f32[1,12000] multiply(l, l)\n"
      "  d = f32[1,12000] subtract(s, h)\n"
      "  t = f32[2,12000] concatenate(h, d), dimensions={0}\n"
      "  n = f32[2,12000] negate(t)\n"
      "  u = f32[2,12000] maximum(t, n)\n"
      "  ROOT r = f32[] reduce(u, zero), dimensions={0,1}, to_apply=add\n"
      "}\n";
  enum { COUNT = 24000 };
  float *values = malloc(sizeof *values * COUNT);
  double sum = 0;
  for (int i = 0; i < COUNT; i++) values[i] = (float)(i * 7 % 13);
  for (int i = 0; i < COUNT / 2; i++) {
    double low = values[i], high = values[COUNT / 2 + i];
    sum += high + fabs(low * low - high);
  }
  halo_client *client = run_client(NULL);
  halo_executable *e = run_compile(client, text);
  halo_buffer *x = run_buffer(client, COUNT, values), *y;
  ck_ok(halo_executable_execute(e, &x, 1, NULL, &y));
  char expected[32];
  snprintf(expected, sizeof expected, "%.0f", sum);
  run_check(y, expected);
  halo_device_info info;
  halo_device_get_info(halo_client_device(client, 0), &info);
  if (strcmp(info.kind, "cpu") == 0) {
    ck_assert_int_eq(run_count(halo_executable_report(e, HALO_REPORT_PLAN), "reduce:row_parts"), 1);
  }
  halo_buffer_release(y);
  halo_buffer_release(x);
  halo_executable_release(e);
  halo_client_release(client);
  free(values);
}
END_TEST

int main(void) {
  /* This looks at the kernels by themselves. */
  setenv("HALO_KERNELS", "region:steps,bundle:steps", 1);
  Suite *suite = suite_create("reduce_fused");
  TCase *together = tcase_create("together");
  tcase_add_loop_test(together, fused_shape, 0, 2 * FUSED_COUNT);
  tcase_add_loop_test(together, fused_form, 0, 2 * FORM_COUNT);
  tcase_add_loop_test(together, whole, 0, 2 * WHOLE_COUNT);
  tcase_add_loop_test(together, state_in_place, 0, 2);
  tcase_add_test(together, much_behind);
  tcase_add_test(together, cut_at_lines);
  tcase_set_timeout(together, 240);
  suite_add_tcase(suite, together);
  return suite_run(suite);
}
