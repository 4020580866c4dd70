/* SPDX-License-Identifier: Apache-2.0 */
/* unit/test_mixed.c: operands of several float types, which HLO allows: every rule that an operation has gives what the
 * same operation gives on operands that the program converts itself, and leaves a module that verifies. */
#include "base/strbuf.h"
#include "evaluator/evaluator.h"
#include "halo/passes.h"
#include "run_test.h"
#include "suite.h"

#include <math.h>

static const char *const pairs[][3] = {{"f16", "f32", "f32"},  {"f32", "f16", "f32"},
                                       {"bf16", "f16", "f32"}, {"f16", "bf16", "f32"},
                                       {"f64", "f32", "f64"},  {"f32", "f64", "f64"}};
enum { PAIRS = sizeof pairs / sizeof *pairs };

/* Types of x and of y, of the result, and one that has all values of both. */
typedef struct types {
  const char *x, *y, *result, *common;
} types;

/* A program with or without the conversions. */
typedef struct program {
  halo_strbuf text, results, names;
  types t;
  bool plain;
  int count;
} program;

/* A value converted where the program is to have no mixed types. */
static void operand(program *p, const char *name, const char *value, const char *type, int elements,
                    const char *to) {
  halo_strbuf_printf(&p->text, "  %s%d = %s[%d] ", name, p->count, p->plain ? to : type, elements);
  halo_strbuf_printf(&p->text, p->plain ? "convert(%s)\n" : "copy(%s)\n", value);
}

static void result(program *p, const char *type, int elements) {
  halo_strbuf_printf(&p->results, "%s%s[%d]", p->count ? ", " : "", type, elements);
  halo_strbuf_printf(&p->names, "%sr%d", p->count ? ", " : "", p->count);
  p->count++;
}

/* An operation that computes in the common type and rounds to the result's. */
static void computed(program *p, const char *opcode, const char *x, const char *x_type,
                     const char *y, const char *y_type) {
  int n = p->count;
  operand(p, "a", x, x_type, 6, p->t.common);
  operand(p, "b", y, y_type, 6, p->t.common);
  if (p->plain) {
    halo_strbuf_printf(&p->text, "  m%d = %s[6] %s(a%d, b%d)\n  r%d = %s[6] convert(m%d)\n", n,
                       p->t.common, opcode, n, n, n, p->t.result, n);
  } else {
    halo_strbuf_printf(&p->text, "  r%d = %s[6] %s(a%d, b%d)\n", n, p->t.result, opcode, n, n);
  }
  result(p, p->t.result, 6);
}

/* An operation that moves elements: its text behind the result's type, with operands a and b. */
static void moved(program *p, int elements, const char *format) {
  int n = p->count;
  operand(p, "a", "x", p->t.x, 6, p->t.result);
  operand(p, "b", "y", p->t.y, 6, p->t.result);
  halo_strbuf_printf(&p->text,
                     "  z%d = %s[] constant(0)\n  w%d = %s[2] slice(b%d), slice={[0:2]}\n", n,
                     p->plain ? p->t.result : p->t.y, n, p->plain ? p->t.result : p->t.y, n);
  halo_strbuf_printf(&p->text, "  r%d = %s[%d] ", n, p->t.result, elements);
  for (const char *c = format; *c; c++) {
    if (*c == '$') {
      halo_strbuf_printf(&p->text, "%d", n);
    } else {
      halo_strbuf_char(&p->text, *c);
    }
  }
  halo_strbuf_char(&p->text, '\n');
  result(p, p->t.result, elements);
}

static const char *const opcodes[] = {"add",     "subtract", "multiply",  "divide", "power",
                                      "maximum", "minimum",  "remainder", "atan2"};
static const char *const constants[] = {"1", "0", "-0", "-1", "2", "inf", "-inf", "0.5"};
enum {
  OPCODES = sizeof opcodes / sizeof *opcodes,
  CONSTANTS = sizeof constants / sizeof *constants
};

/* Each operation on both, and with each constant that a rule may know on either side. */
static void write_computed(program *p) {
  for (int o = 0; o < OPCODES; o++) {
    computed(p, opcodes[o], "x", p->t.x, "y", p->t.y);
    for (int c = 0; c < CONSTANTS; c++) {
      char name[16];
      snprintf(name, sizeof name, "k%d.%d", o, c);
      halo_strbuf_printf(&p->text,
                         "  c%d.%d = %s[] constant(%s)\n  %s = %s[6] broadcast(c%d.%d), "
                         "dimensions={}\n",
                         o, c, p->t.y, constants[c], name, p->t.y, o, c);
      computed(p, opcodes[o], "x", p->t.x, name, p->t.y);
      computed(p, opcodes[o], name, p->t.y, "x", p->t.x);
    }
  }
}

static void write_moved(program *p) {
  halo_strbuf_append(&p->text,
                     "  yes = pred[] constant(true)\n  no = pred[] constant(false)\n"
                     "  some = pred[6] constant({1, 0, 0, 1, 1, 0})\n  two = s32[] constant(2)\n");
  moved(p, 6, "select(yes, a$, b$)");
  moved(p, 6, "select(no, a$, b$)");
  moved(p, 6, "select(some, a$, b$)");
  moved(p, 6, "pad(a$, z$), padding=0_0");
  moved(p, 9, "pad(a$, z$), padding=1_2");
  moved(p, 3, "pad(a$, z$), padding=-1_-2");
  moved(p, 12, "concatenate(a$, b$), dimensions={0}");
  moved(p, 6, "dynamic-update-slice(a$, b$, two)");
  moved(p, 6, "dynamic-update-slice(a$, w$, two)");
}

static halo_module *make(types t, bool plain) {
  program p = {.t = t, .plain = plain};
  halo_strbuf_printf(&p.text,
                     "HloModule mixed\nENTRY e {\n  x = %s[6] parameter(0)\n"
                     "  y = %s[6] parameter(1)\n",
                     t.x, t.y);
  write_computed(&p);
  write_moved(&p);
  halo_strbuf_printf(&p.text, "  ROOT t = (%s) tuple(%s)\n}\n", halo_strbuf_text(&p.results),
                     halo_strbuf_text(&p.names));
  halo_module *module = run_parse(halo_strbuf_text(&p.text));
  halo_strbuf *const texts[] = {&p.text, &p.results, &p.names};
  for (int i = 0; i < 3; i++) halo_strbuf_deinit(texts[i]);
  return module;
}

static halo_literal *evaluate(const halo_module *module, bool optimised) {
  const halo_pass_options options = {.no_optimization = !optimised, .no_fusion = true};
  halo_module *after;
  ck_ok(halo_module_optimize(module, &options, &after));
  halo_literal *arguments[2], *out;
  for (int i = 0; i < 2; i++) {
    ck_ok(halo_literal_create(halo_module_parameter_shape(module, i), &arguments[i]));
    for (int k = 0; k < 6; k++) halo_literal_set_f64(arguments[i], k, (k - 2.25) * (i ? 1.3 : 0.7));
  }
  ck_ok(halo_evaluate(after->entry, arguments, 2, &out));
  for (int i = 0; i < 2; i++) halo_literal_release(arguments[i]);
  halo_module_release(after);
  return out;
}

static void check(types t, bool optimised) {
  halo_module *mixed = make(t, false), *plain = make(t, true);
  halo_literal *got = evaluate(mixed, optimised), *expected = evaluate(plain, optimised);
  const halo_shape *shape = halo_literal_shape(expected);
  for (int32_t k = 0; k < shape->count; k++) {
    const halo_literal *a = halo_literal_element(got, k), *b = halo_literal_element(expected, k);
    for (int64_t i = 0; i < halo_shape_element_count(shape->elements[k]); i++) {
      double is = halo_literal_get_f64(a, i), should = halo_literal_get_f64(b, i);
      ck_assert_msg(is == should || (isnan(is) && isnan(should)),
                    "%s and %s, result %s, %s: element %lld of result %d is %g, not %g", t.x, t.y,
                    t.result, optimised ? "optimised" : "as it is", (long long)i, k, is, should);
    }
  }
  halo_literal_release(got);
  halo_literal_release(expected);
  halo_module_release(mixed);
  halo_module_release(plain);
}

START_TEST(every_rule) {
  const char *const *pair = pairs[_i];
  for (int side = 0; side < 2; side++) {
    check((types){pair[0], pair[1], pair[side], pair[2]}, false);
    check((types){pair[0], pair[1], pair[side], pair[2]}, true);
  }
}
END_TEST

/* Comparisons, bounds, and what applies computations, which take types of their own. */
static const struct {
  const char *text, *expected;
} worked[] = {
    /* 2049 is no f16: compared as f32, it is more than 2048. */
    {"  x = f16[2] constant({2048, 1})\n  y = f32[2] constant({2049, 1})\n"
     "  ROOT r = pred[2] compare(x, y), direction=LT\n",
     "{true, false}"},
    /* Neither f16 nor bf16 has the other's: 257 is no bf16, 1e9 no f16. */
    {"  x = f16[2] constant({257, 1})\n  y = bf16[2] constant({256, 1e9})\n"
     "  ROOT r = pred[2] compare(x, y), direction=LE\n",
     "{false, true}"},
    {"  x = f32[3] constant({-3, 0.1, 3})\n  l = f16[] constant(-1)\n  h = bf16[] constant(2)\n"
     "  ROOT r = f32[3] clamp(l, x, h)\n",
     "{-1, 0.1, 2}"},
    {"  x = f16[2,2] constant({{1, 2}, {3, 2048}})\n  z = f32[] constant(0.5)\n"
     "  ROOT r = f32[2] reduce(x, z), dimensions={1}, to_apply=add\n",
     "{3.5, 2051.5}"},
    {"  x = f16[2] constant({1, 2048})\n  y = bf16[2] constant({0.5, 1})\n"
     "  ROOT r = f32[2] map(x, y), dimensions={0}, to_apply=add\n",
     "{1.5, 2049}"},
    {"  x = f16[3] constant({1, 2048, 3})\n  i = s32[1] constant({1})\n  u = bf16[] constant(1)\n"
     "  ROOT r = f32[3] scatter(x, i, u), update_window_dims={}, inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={0}, index_vector_dim=0, to_apply=add\n",
     "{1, 2049, 3}"},
    {"  x = f32[2] constant({1.75, 2.5})\n  y = f32[2] constant({1.75, 1.5})\n"
     "  ROOT r = s32[] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n",
     "6"},
    {"  x = f32[2] constant({-1.75, -2.5})\n  y = s32[2] constant({2, 3})\n"
     "  ROOT r = s8[] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n",
     "-11"},
    {"  x = f64[2] constant({16777217, -16777216})\n  y = f64[2] constant({1, 1})\n"
     "  ROOT r = f32[] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n",
     "1"},
    {"  x = c64[2] constant({(2.5,0), (-2,1)})\n  y = c64[2] constant({(1.5,0), (1,0)})\n"
     "  ROOT r = f32[] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n",
     "1.75"},
    {"  x = f32[1,2,1] constant({{{1.75}, {2.5}}})\n  k = f32[2,1,1] constant({{{1.75}}, "
     "{{1.5}}})\n"
     "  ROOT r = s32[1,1,1] convolution(x, k), window={size=2}, dim_labels=b0f_0io->b0f\n",
     "{{{6}}}"},
};
enum { WORKED = sizeof worked / sizeof *worked };

/* As the passes leave it, with and without optimisation, and on the device. */
START_TEST(as_worked) {
  halo_strbuf text = {0};
  halo_strbuf_printf(&text,
                     "HloModule m\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
                     "  ROOT c = f32[] add(a, b)\n}\nENTRY e {\n%s}\n",
                     worked[_i].text);
  halo_client *client = run_client(NULL);
  for (int way = 0; way < 2; way++) {
    halo_module *module = run_parse(halo_strbuf_text(&text));
    const halo_compile_options options = {.no_optimization = way};
    halo_executable *e;
    halo_literal *out;
    ck_ok(halo_client_compile(client, module, &options, &e));
    ck_ok(halo_executable_run(e, NULL, 0, &out));
    halo_literal *expected = run_literal(halo_literal_shape(out), worked[_i].expected);
    char *is, *should;
    ck_ok(halo_literal_to_text(out, &is));
    ck_ok(halo_literal_to_text(expected, &should));
    ck_assert_str_eq(is, should);
    halo_text_release(is);
    halo_text_release(should);
    halo_literal_release(out);
    halo_literal_release(expected);
    halo_executable_release(e);
    halo_module_release(module);
  }
  halo_client_release(client);
  halo_strbuf_deinit(&text);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("mixed");
  TCase *test = tcase_create("mixed");
  tcase_add_loop_test(test, every_rule, 0, PAIRS);
  tcase_add_loop_test(test, as_worked, 0, WORKED);
  tcase_set_timeout(test, 240);
  suite_add_tcase(suite, test);
  return suite_run(suite);
}
