/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_accuracy.c: result_accuracy: the table of bounds, what is refused, and that what asks for more
 * gets it. tests/golden/passes/accuracy.hlo has what is rewritten and what is not. */
#include "passes/expand/accuracy.h"
#include "passes/passes.h"
#include "run_test.h"
#include "suite.h"

#include <math.h>

START_TEST(table_is_whole) {
  halo_target exact = halo_target_cpu(), loose = halo_target_cpu();
  loose.exact_division = false;
  for (int op = 0; op < HALO_OPCODE_COUNT; op++) {
    const char *name = halo_attr_name(HALO_ATTR_RESULT_ACCURACY);
    bool takes = halo_attr_from_name((halo_opcode)op, name) == HALO_ATTR_RESULT_ACCURACY;
    int32_t bound = halo_accuracy_bound(&exact, (halo_opcode)op, HALO_F32);
    ck_assert_msg((bound > 0) == takes, "%s", halo_opcode_name((halo_opcode)op));
    ck_assert_int_ge(halo_accuracy_bound(&loose, (halo_opcode)op, HALO_F32), bound);
    ck_assert_int_eq(halo_accuracy_bound(&loose, (halo_opcode)op, HALO_F64) > 0, takes);
    ck_assert_int_eq(halo_accuracy_bound(&exact, (halo_opcode)op, HALO_BF16), takes);
    ck_assert_int_eq(halo_accuracy_bound(&exact, (halo_opcode)op, HALO_C64), 0);
  }
  ck_assert_int_eq(halo_accuracy_bound(&exact, HALO_OP_SQRT, HALO_F32), 1);
  ck_assert_int_eq(halo_accuracy_bound(&loose, HALO_OP_SQRT, HALO_F32), 3);
}
END_TEST

/* Runs the pass on one operation, on a device with or without double precision. */
static halo_status try_pass(const char *type, const char *tolerance, bool has_f64) {
  char text[400];
  snprintf(text, sizeof text,
           "HloModule m\nENTRY e {\n  x = %s[4] parameter(0)\n"
           "  ROOT y = %s[4] exponential(x), result_accuracy={%s}\n}\n",
           type, type, tolerance);
  halo_module *module = run_parse(text);
  module->target.has_f64 = has_f64;
  bool changed;
  halo_status status = halo_pass_accuracy(module, &changed);
  halo_module_release(module);
  return status;
}

START_TEST(refused) {
  static const struct {
    const char *type, *accuracy;
    bool has_f64;
    const char *says; /* NULL: runs */
  } cases[] = {
      {"f32", "tolerance={ulps=1}", true, NULL},
      {"f32", "tolerance={ulps=0}", true, "within 1 ULP"},
      {"f32", "tolerance={}", true, "within 1 ULP"},
      {"f32", "tolerance={ulps=1}", false, NULL},
      {"f32", "tolerance={ulps=0}", false, "within 1 ULP"},
      {"f32", "mode=highest", false, NULL},
      {"f32", "tolerance={atol=1}", true, "within 1 ULP"}, /* results may be of any size */
      {"f32", "tolerance={rtol=1e-9}", true, "within 1 ULP"},
      {"f64", "tolerance={ulps=2}", true, NULL},
      {"f64", "tolerance={ulps=1}", true, "within 2 ULP"},
      {"f64", "tolerance={rtol=5e-16}", true, NULL},
      {"f64", "tolerance={rtol=4e-16}", true, "within 2 ULP"},
      {"bf16", "tolerance={ulps=1}", false, NULL},
      {"bf16", "tolerance={ulps=0}", true, "within 1 ULP"},
      {"c64", "mode=highest", true, NULL},
      {"c64", "tolerance={ulps=1}", true, NULL},
      {"c64", "tolerance={atol=1e-5,ulps=1}", true, NULL},
      {"c64", "tolerance={rtol=1e-6}", true, NULL},
      {"c64", "tolerance={ulps=0}", true, "within 1 ULP"},
      {"c64", "tolerance={atol=1}", true, "within 1 ULP"}, /* parts may be of any size */
      {"c64", "tolerance={ulps=100}", false, "complex"},
      {"c128", "tolerance={ulps=100}", true, "complex"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    halo_status status = try_pass(cases[i].type, cases[i].accuracy, cases[i].has_f64);
    ck_assert_msg((status == HALO_OK) == !cases[i].says, "%s %s: %s", cases[i].type,
                  cases[i].accuracy, status ? halo_error_message() : "runs");
    if (!cases[i].says) continue;
    ck_assert_int_eq(status, HALO_UNIMPLEMENTED);
    ck_message_has("line 4");
    ck_message_has(cases[i].says);
  }
  ck_fails(try_pass("f32", "tolerance={ulps=-1}", true), HALO_INVALID_ARGUMENT, "negative");
}
END_TEST

/* ---- On the device ---- */

enum { POINTS = 2000 };

static double true_logistic(double x) { return 1 / (1 + exp(-x)); }

/* Each function in f32 at the highest accuracy is what double precision rounds to. */
START_TEST(highest) {
  static const struct {
    const char *name;
    double (*function)(double);
  } cases[] = {{"exponential", exp}, {"log", log},     {"tanh", tanh},
               {"sine", sin},        {"tan", tan},     {"erf", erf},
               {"cbrt", cbrt},       {"acosh", acosh}, {"logistic", true_logistic}};
  halo_client *client = run_client(NULL);
  halo_device_info info;
  halo_device_get_info(halo_client_device(client, 0), &info);
  for (size_t i = 0; info.has_f64 && i < sizeof cases / sizeof cases[0]; i++) {
    char text[400];
    snprintf(text, sizeof text,
             "HloModule m\nENTRY e {\n  x = f32[%d] parameter(0)\n"
             "  ROOT y = f32[%d] %s(x), result_accuracy={mode=highest}\n}\n",
             POINTS, POINTS, cases[i].name);
    float x[POINTS], y[POINTS];
    for (int k = 0; k < POINTS; k++) x[k] = 1 + (float)k * 0.01372549f;
    halo_buffer *in = run_buffer(client, POINTS, x), *out;
    halo_executable *e = run_compile(client, text);
    ck_ok(halo_executable_execute(e, &in, 1, NULL, &out));
    ck_ok(halo_buffer_to_host(out, y, sizeof y));
    halo_buffer_release(in);
    halo_buffer_release(out);
    halo_executable_release(e);
    for (int k = 0; k < POINTS; k++) {
      float right = (float)cases[i].function(x[k]);
      ck_assert_msg(y[k] == right, "%s(%.9g) is %.9g, not %.9g", cases[i].name, x[k], y[k], right);
    }
  }
  halo_client_release(client);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("accuracy");
  TCase *tcase = tcase_create("accuracy");
  tcase_add_test(tcase, table_is_whole);
  tcase_add_test(tcase, refused);
  tcase_add_test(tcase, highest);
  tcase_set_timeout(tcase, 120);
  suite_add_tcase(suite, tcase);
  return suite_run(suite);
}
