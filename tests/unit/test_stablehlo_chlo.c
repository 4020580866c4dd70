/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_stablehlo_chlo.c: operations of CHLO and of the dialects that come with it: what they compute, by XLA's
 * results, and what is refused. */
#include "stablehlo_test.h"
#include "suite.h"

/* ---- Operands that are stretched ---- */

static const struct {
  const char *name, *type, *out; /* element types of operands and result */
  const char *attrs, *plain;     /* of the form that is stretched, and the plain operation */
} stretched[] = {
    {"add", "f32", "f32", "", "stablehlo.add %x, %y"},
    {"and", "i32", "i32", "", "stablehlo.and %x, %y"},
    {"atan2", "f32", "f32", "", "stablehlo.atan2 %x, %y"},
    {"compare", "f32", "i1",
     " {comparison_direction = #chlo<comparison_direction LT>, compare_type = "
     "#chlo<comparison_type TOTALORDER>}",
     "stablehlo.compare LT, %x, %y, TOTALORDER"},
    {"complex", "f32", "complex<f32>", "", "stablehlo.complex %x, %y"},
    {"divide", "f32", "f32", "", "stablehlo.divide %x, %y"},
    {"maximum", "f32", "f32", "", "stablehlo.maximum %x, %y"},
    {"minimum", "f32", "f32", "", "stablehlo.minimum %x, %y"},
    {"multiply", "f32", "f32", "", "stablehlo.multiply %x, %y"},
    {"next_after", "f32", "f32", "", "chlo.next_after %x, %y"},
    {"or", "i32", "i32", "", "stablehlo.or %x, %y"},
    {"polygamma", "f32", "f32", "", "chlo.polygamma %x, %y"},
    {"power", "f32", "f32", "", "stablehlo.power %x, %y"},
    {"remainder", "f32", "f32", "", "stablehlo.remainder %x, %y"},
    {"shift_left", "i32", "i32", "", "stablehlo.shift_left %x, %y"},
    {"shift_right_arithmetic", "i32", "i32", "", "stablehlo.shift_right_arithmetic %x, %y"},
    {"shift_right_logical", "i32", "i32", "", "stablehlo.shift_right_logical %x, %y"},
    {"subtract", "f32", "f32", "", "stablehlo.subtract %x, %y"},
    {"xor", "i32", "i32", "", "stablehlo.xor %x, %y"},
    {"zeta", "f32", "f32", "", "chlo.zeta %x, %y"},
};
enum { STRETCHED = sizeof stretched / sizeof stretched[0] };

static char *result_of(const char *text, const char *const *args) {
  halo_module *module = read_text(text);
  halo_literal *values[2], *result;
  for (int i = 0; i < 2; i++) values[i] = value_of(args[i], module->entry_params[i]);
  ck_assert_int_eq(halo_evaluate(module->entry, values, 2, &result), HALO_OK);
  char *out;
  ck_assert_int_eq(halo_literal_to_text(result, &out), HALO_OK);
  for (int i = 0; i < 2; i++) halo_literal_release(values[i]);
  halo_literal_release(result);
  halo_module_release(module);
  return out;
}

/* Each is the plain operation on operands that are broadcast. */
START_TEST(stretching) {
  const char *type = stretched[_i].type, *out = stretched[_i].out;
  char first[1024], second[2048];
  snprintf(first, sizeof first,
           "func.func @main(%%a: tensor<2x1x%s>, %%b: tensor<3x%s>) -> tensor<2x3x%s> {\n"
           "%%0 = chlo.broadcast_%s %%a, %%b%s : (tensor<2x1x%s>, tensor<3x%s>) -> tensor<2x3x%s>\n"
           "return %%0 : tensor<2x3x%s>\n}\n",
           type, type, out, stretched[_i].name, stretched[_i].attrs, type, type, out, out);
  snprintf(second, sizeof second,
           "func.func @main(%%a: tensor<2x1x%s>, %%b: tensor<3x%s>) -> tensor<2x3x%s> {\n"
           "%%x = stablehlo.broadcast_in_dim %%a, dims = [0, 1] : (tensor<2x1x%s>) -> "
           "tensor<2x3x%s>\n"
           "%%y = stablehlo.broadcast_in_dim %%b, dims = [1] : (tensor<3x%s>) -> tensor<2x3x%s>\n"
           "%%0 = %s : (tensor<2x3x%s>, tensor<2x3x%s>) -> tensor<2x3x%s>\n"
           "return %%0 : tensor<2x3x%s>\n}\n",
           type, type, out, type, type, type, type, stretched[_i].plain, type, type, out, out);
  const char *args[] = {"{{5},{2}}", "{1,3,4}"};
  char *got = result_of(first, args), *expected = result_of(second, args);
  ck_assert_msg(strcmp(got, expected) == 0, "%s: %s, not %s", stretched[_i].name, got, expected);
  halo_text_release(got);
  halo_text_release(expected);
}
END_TEST

/* ---- Values ---- */

static const value_case value_cases[] = {
    {"dimensions that are said",
     MAIN("%a: tensor<2x3xf32>, %b: tensor<3xf32>", "tensor<2x3xf32>",
          "%0 = chlo.broadcast_add %a, %b {broadcast_dimensions = array<i64: 1>} : "
          "(tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>\nreturn %0 : tensor<2x3xf32>\n"),
     {"{{0, 1, 2}, {3, 4, 5}}", "{100, 200, 300}"},
     "{ { 100, 201, 302 }, { 103, 204, 305 } }"},
    {"dimensions that are not the last ones",
     MAIN("%a: tensor<2xf32>, %b: tensor<2x3xf32>", "tensor<2x3xf32>",
          "%0 = \"chlo.broadcast_subtract\"(%a, %b) <{broadcast_dimensions = array<i64: 0>}> : "
          "(tensor<2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>\nreturn %0 : tensor<2x3xf32>\n"),
     {"{100, 200}", "{{0, 1, 2}, {3, 4, 5}}"},
     "{ { 100, 99, 98 }, { 197, 196, 195 } }"},
    {"a scalar and an empty array",
     MAIN("%a: tensor<f32>, %b: tensor<0x2xf32>", "tensor<0x2xf32>",
          "%0 = chlo.broadcast_add %a, %b {broadcast_dimensions = array<i64>} : (tensor<f32>, "
          "tensor<0x2xf32>) -> tensor<0x2xf32>\nreturn %0 : tensor<0x2xf32>\n"),
     {"1", "{}"},
     "{ }"},
    {"nothing to stretch, whatever dimensions are said",
     MAIN("%a: tensor<2x2xi32>, %b: tensor<2x2xi32>", "tensor<2x2xi32>",
          "%0 = chlo.broadcast_subtract %a, %b {broadcast_dimensions = array<i64: 1, 0>} : "
          "(tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>\nreturn %0 : tensor<2x2xi32>\n"),
     {"{{5, 6}, {7, 8}}", "{{1, 2}, {3, 4}}"},
     "{ { 4, 4 }, { 4, 4 } }"},
    {"three that are stretched",
     MAIN("%p: tensor<2x1x1xi1>, %a: tensor<3x1xf32>, %b: tensor<2xf32>", "tensor<2x3x2xf32>",
          "%0 = chlo.broadcast_select %p, %a, %b : (tensor<2x1x1xi1>, tensor<3x1xf32>, "
          "tensor<2xf32>) -> tensor<2x3x2xf32>\nreturn %0 : tensor<2x3x2xf32>\n"),
     {"{{{true}}, {{false}}}", "{{1}, {2}, {3}}", "{100, 200}"},
     "{ { { 1, 1 }, { 2, 2 }, { 3, 3 } }, { { 100, 200 }, { 100, 200 }, { 100, 200 } } }"},
    {"one predicate",
     MAIN("%p: tensor<i1>, %a: tensor<2x1xf32>, %b: tensor<2xf32>", "tensor<2x2xf32>",
          "%0 = chlo.broadcast_select %p, %a, %b : (tensor<i1>, tensor<2x1xf32>, tensor<2xf32>) -> "
          "tensor<2x2xf32>\nreturn %0 : tensor<2x2xf32>\n"),
     {"true", "{{1}, {2}}", "{100, 200}"},
     "{ { 1, 1 }, { 2, 2 } }"},
    {"functions of two numbers",
     MAIN("%a: tensor<1x1xf32>, %b: tensor<2xf32>", "tensor<1x2xf32>",
          "%0 = chlo.broadcast_zeta %a, %b : (tensor<1x1xf32>, tensor<2xf32>) -> tensor<1x2xf32>\n"
          "return %0 : tensor<1x2xf32>\n"),
     {"{{2}}", "{100, 200}"},
     "{ { 0.0100501664, 0.00501252059 } }"},
    {"squares that nearly overflow",
     MAIN("%a: tensor<2xcomplex<f32>>", "tensor<2xcomplex<f32>>",
          "%0 = chlo.square %a : tensor<2xcomplex<f32>> -> tensor<2xcomplex<f32>>\n"
          "return %0 : tensor<2xcomplex<f32>>\n"),
     {"{(1, 2), (1e+19, 1e+19)}"},
     "{(-3, 4), (0, 2e+38)}"},
    {"constants like an array",
     MAIN("%a: tensor<2x2xf32>", "tensor<2x2xf32>, tensor<2x2xi8>, tensor<2x2xui8>, tensor<2x2xi1>",
          "%0 = \"chlo.constant_like\"(%a) {value = 3.2 : f32} : (tensor<2x2xf32>) -> "
          "tensor<2x2xf32>\n"
          "%1 = \"chlo.constant_like\"(%a) {value = -3 : i8} : (tensor<2x2xf32>) -> "
          "tensor<2x2xi8>\n"
          "%2 = \"chlo.constant_like\"(%a) {value = 200 : ui8} : (tensor<2x2xf32>) -> "
          "tensor<2x2xui8>\n"
          "%3 = \"chlo.constant_like\"(%a) {value = true} : (tensor<2x2xf32>) -> tensor<2x2xi1>\n"
          "return %0, %1, %2, %3 : tensor<2x2xf32>, tensor<2x2xi8>, tensor<2x2xui8>, "
          "tensor<2x2xi1>\n"),
     {"{{1, 2}, {3, 4}}"},
     "( { { 3.2, 3.2 }, { 3.2, 3.2 } }, { { -3, -3 }, { -3, -3 } }, { { 200, 200 }, { 200, 200 } "
     "}, { { 1, 1 }, { 1, 1 } } )"},
    {"constants of other dialects",
     MAIN("", "tensor<2xi8>, tensor<2xi8>, tensor<2xf32>",
          "%0 = arith.constant dense<[1, 2]> : tensor<2xi8>\n"
          "%1 = \"arith.constant\"() <{value = dense<3> : tensor<2xi8>}> : () -> tensor<2xi8>\n"
          "%2 = arith.constant {a.b = 1 : i32} dense<2.5> : tensor<2xf32>\n"
          "return %0, %1, %2 : tensor<2xi8>, tensor<2xi8>, tensor<2xf32>\n"),
     {NULL},
     "( {1, 2}, {3, 3}, {2.5, 2.5} )"},
    {"constant shapes and casts of types",
     MAIN("%a: tensor<2xf32>", "tensor<3x2xf32>, tensor<1x2xf32>, tensor<2xf32>",
          "%s = shape.const_shape [3, 2] : tensor<2xindex>\n"
          "%0 = stablehlo.dynamic_broadcast_in_dim %a, %s, dims = [1] : (tensor<2xf32>, "
          "tensor<2xindex>) -> tensor<3x2xf32>\n"
          "%q = \"shape.const_shape\"() <{shape = dense<[1, 2]> : tensor<2xindex>}> : () -> "
          "tensor<2xindex>\n"
          "%1 = stablehlo.dynamic_reshape %a, %q : (tensor<2xf32>, tensor<2xindex>) -> "
          "tensor<?x?xf32>\n"
          "%2 = tensor.cast %1 : tensor<?x?xf32> to tensor<1x2xf32>\n"
          "%3 = \"tensor.cast\"(%a) : (tensor<2xf32>) -> tensor<?xf32>\n"
          "%4 = tensor.cast %3 : tensor<?xf32> to tensor<2xf32>\n"
          "return %0, %2, %4 : tensor<3x2xf32>, tensor<1x2xf32>, tensor<2xf32>\n"),
     {"{1, 2}"},
     "( { { 1, 2 }, { 1, 2 }, { 1, 2 } }, { { 1, 2 } }, {1, 2} )"},
    {"a scan",
     MAIN("%a: tensor<3x2xf32>, %b: tensor<3xf32>", "tensor<3x2xf32>, tensor<3xf32>",
          "%0:2 = chlo.scan(%a) inits (%b) dimension=1 attributes {is_reverse = true} {\n"
          "^bb0(%i: tensor<3xf32>, %c: tensor<3xf32>):\n"
          "  %1 = stablehlo.add %i, %c : tensor<3xf32>\n"
          "  stablehlo.return %c, %1 : tensor<3xf32>, tensor<3xf32>\n"
          "} : (tensor<3x2xf32>, tensor<3xf32>) -> (tensor<3x2xf32>, tensor<3xf32>)\n"
          "return %0#0, %0#1 : tensor<3x2xf32>, tensor<3xf32>\n"),
     {"{{0, 1}, {2, 3}, {4, 5}}", "{0, 10, 20}"},
     "( { { 1, 0 }, { 13, 10 }, { 25, 20 } }, {1, 15, 29} )"},
    {"a scan in generic form",
     MAIN("%a: tensor<4xi32>, %b: tensor<4xi32>, %c: tensor<i32>", "tensor<4xi32>, tensor<i32>",
          "%0:2 = \"chlo.scan\"(%a, %b, %c) <{dimension = 0 : i64, operandSegmentSizes = "
          "array<i32: 2, 1>, resultSegmentSizes = array<i32: 1, 1>}> ({\n"
          "^bb0(%i: tensor<i32>, %j: tensor<i32>, %k: tensor<i32>):\n"
          "  %1 = stablehlo.multiply %i, %j : tensor<i32>\n"
          "  %2 = stablehlo.add %1, %k : tensor<i32>\n"
          "  stablehlo.return %2, %2 : tensor<i32>, tensor<i32>\n"
          "}) : (tensor<4xi32>, tensor<4xi32>, tensor<i32>) -> (tensor<4xi32>, tensor<i32>)\n"
          "return %0#0, %0#1 : tensor<4xi32>, tensor<i32>\n"),
     {"{1, 2, 3, 4}", "{1, 2, 3, 4}", "100"},
     "( {101, 105, 114, 130}, 130 )"},
    {"a scan without inputs",
     MAIN("%a: tensor<f32>", "tensor<5xf32>, tensor<f32>",
          "%0:2 = chlo.scan() inits (%a) dimension=0 attributes {scan_dim_size = 5 : i64} {\n"
          "^bb0(%c: tensor<f32>):\n"
          "  %1 = stablehlo.add %c, %c : tensor<f32>\n"
          "  stablehlo.return %c, %1 : tensor<f32>, tensor<f32>\n"
          "} : (tensor<f32>) -> (tensor<5xf32>, tensor<f32>)\n"
          "return %0#0, %0#1 : tensor<5xf32>, tensor<f32>\n"),
     {"1"},
     "( {1, 2, 4, 8, 16}, 32 )"},
    {"a scan that hands nothing on, and one that gives nothing else",
     MAIN("%a: tensor<4xf32>, %b: tensor<f32>", "tensor<4xf32>, tensor<f32>",
          "%0 = chlo.scan(%a) inits () dimension=0 {\n"
          "^bb0(%c: tensor<f32>):\n"
          "  %1 = stablehlo.add %c, %c : tensor<f32>\n  stablehlo.return %1 : tensor<f32>\n"
          "} : (tensor<4xf32>) -> tensor<4xf32>\n"
          "%2 = chlo.scan(%a) inits (%b) dimension=0 {\n"
          "^bb0(%c: tensor<f32>, %d: tensor<f32>):\n"
          "  %1 = stablehlo.add %c, %d : tensor<f32>\n  stablehlo.return %1 : tensor<f32>\n"
          "} : (tensor<4xf32>, tensor<f32>) -> tensor<f32>\n"
          "return %0, %2 : tensor<4xf32>, tensor<f32>\n"),
     {"{0, 1, 2, 3}", "4"},
     "( {0, 2, 4, 6}, 10 )"},
};
enum { VALUE_CASES = sizeof value_cases / sizeof value_cases[0] };

START_TEST(values) { check_case(&value_cases[_i]); }
END_TEST

/* Of asin and acos: XLA has 2.19736838 + 1.52857089 i and 1.39857495 + 0.897367179 i. */
START_TEST(kernel_of_asin_and_acos) {
  static const double expected[] = {2.19736838, 1.52857089, 1.39857495, 0.897367179};
  halo_module *module =
      read_text(MAIN("%a: tensor<2xcomplex<f32>>", "tensor<2xcomplex<f32>>",
                     "%0 = \"chlo._asin_acos_kernel\"(%a) : (tensor<2xcomplex<f32>>) -> "
                     "tensor<2xcomplex<f32>>\nreturn %0 : tensor<2xcomplex<f32>>\n"));
  halo_literal *value = value_of("{(1, 2), (0.3, 1)}", module->entry_params[0]), *result;
  ck_assert_int_eq(halo_evaluate(module->entry, &value, 1, &result), HALO_OK);
  const float *numbers = result->data;
  for (int i = 0; i < 4; i++) ck_assert_double_eq_tol(numbers[i], expected[i], 1e-6);
  halo_literal_release(value);
  halo_literal_release(result);
  halo_module_release(module);
}
END_TEST

/* ---- Refused ---- */

#define SCAN(attrs, body, results)                                                                 \
  MAIN("%a: tensor<4xi32>, %b: tensor<i32>", results,                                              \
       "%0 = \"chlo.scan\"(%a, %b) <{" attrs                                                       \
       "}> ({\n"                                                                                   \
       "^bb0(%i: tensor<i32>, %c: tensor<i32>):\n" body                                            \
       "}) : (tensor<4xi32>, tensor<i32>) -> (" results ")\nreturn %0 : " results "\n")

static const struct {
  const char *text, *part;
} refused[] = {
    {MAIN("%a: tensor<3xf32>, %b: tensor<2x4xf32>", "tensor<2x4xf32>",
          "%0 = chlo.broadcast_add %a, %b : (tensor<3xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>\n"
          "return %0 : tensor<2x4xf32>\n"),
     "t:2: error: chlo.broadcast_add: extents 3 and 4 of dimension 1 do not fit"},
    {MAIN("%a: tensor<3xf32>, %b: tensor<2x3xf32>", "tensor<2x3xf32>",
          "%0 = chlo.broadcast_add %a, %b {broadcast_dimensions = array<i64: 2>} : "
          "(tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>\nreturn %0 : tensor<2x3xf32>\n"),
     "broadcast_dimensions must be dimensions of the result that grow"},
    {MAIN("%a: tensor<1x3xf32>, %b: tensor<2x3xf32>", "tensor<2x3xf32>",
          "%0 = chlo.broadcast_add %a, %b {broadcast_dimensions = array<i64: 1, 0>} : "
          "(tensor<1x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>\nreturn %0 : tensor<2x3xf32>\n"),
     "broadcast_dimensions of operands of one rank must be 0, 1, ..."},
    {MAIN("%a: tensor<3xf32>, %b: tensor<2x3xf32>", "tensor<2x3xf32>",
          "%0 = \"chlo.broadcast_add\"(%a, %a, %b) : (tensor<3xf32>, tensor<3xf32>, "
          "tensor<2x3xf32>) -> tensor<2x3xf32>\nreturn %0 : tensor<2x3xf32>\n"),
     "it has 3 operands: expected 2"},
    {MAIN("%a: tensor<3xf32>, %b: tensor<2x3xi32>", "tensor<2x3xf32>",
          "%0 = chlo.broadcast_zeta %a, %b : (tensor<3xf32>, tensor<2x3xi32>) -> tensor<2x3xf32>\n"
          "return %0 : tensor<2x3xf32>\n"),
     "chlo.broadcast_zeta: the operands must be floats of one type, not f32 and s32"},
    {MAIN("%a: tensor<2xf32>", "tensor<2xf32>",
          "%0 = \"chlo.constant_like\"(%a) {value = \"1\"} : (tensor<2xf32>) -> tensor<2xf32>\n"
          "return %0 : tensor<2xf32>\n"),
     "the attribute value, a number, is missing"},
    {MAIN("%a: tensor<2xf32>", "tensor<2xf32>",
          "%0 = \"chlo._asin_acos_kernel\"(%a) : (tensor<2xf32>) -> tensor<2xf32>\n"
          "return %0 : tensor<2xf32>\n"),
     "the operand must be of complex numbers, not f32"},
    {SCAN("dimension = 0 : i64", "  stablehlo.return %c : tensor<i32>\n", "tensor<i32>"),
     "chlo.scan: the attribute operandSegmentSizes, a list of whole numbers, is missing"},
    {SCAN("dimension = 0 : i64, operandSegmentSizes = array<i32: 1, 2>",
          "  stablehlo.return %c : tensor<i32>\n", "tensor<i32>"),
     "operandSegmentSizes must be the numbers of inputs and of inits"},
    {SCAN("dimension = 0 : i64, operandSegmentSizes = array<i32: 1, 1>",
          "  stablehlo.return %c, %c : tensor<i32>, tensor<i32>\n", "tensor<i32>"),
     "the region returns 2 values: expected 1"},
    {SCAN("dimension = 3 : i64, operandSegmentSizes = array<i32: 1, 1>",
          "  stablehlo.return %c : tensor<i32>\n", "tensor<i32>"),
     "chlo.scan: scan(s32[4], s32[]): "},
    {MAIN("%a: tensor<i32>", "tensor<i32>",
          "%0 = chlo.scan() inits (%a) dimension=0 {\n^bb0(%c: tensor<i32>):\n"
          "  stablehlo.return %c : tensor<i32>\n} : (tensor<i32>) -> tensor<i32>\n"
          "return %0 : tensor<i32>\n"),
     "the attribute scan_dim_size, a whole number, is missing"},
};
enum { REFUSED = sizeof refused / sizeof refused[0] };

START_TEST(refusals) { refuse(refused[_i].text, NULL, HALO_INVALID_ARGUMENT, refused[_i].part); }
END_TEST

/* How operands are compared follows from their type; the only choice is that of floats. */
START_TEST(kinds_of_comparisons) {
  static const struct {
    const char *type, *good; /* words, with a blank behind each */
  } rows[] = {{"i1", "UNSIGNED "},
              {"i32", "SIGNED "},
              {"i4", "SIGNED "},
              {"ui8", "UNSIGNED "},
              {"bf16", "FLOAT TOTALORDER "},
              {"complex<f32>", "FLOAT "}};
  static const char *const kinds[] = {"FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"};
  for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
    for (int k = 0; k < 4; k++) {
      char text[512], word[16], part[64];
      snprintf(text, sizeof text,
               "func.func @main(%%a: tensor<2x%s>) -> tensor<2xi1> {\n"
               "%%0 = stablehlo.compare EQ, %%a, %%a, %s : (tensor<2x%s>, tensor<2x%s>) -> "
               "tensor<2xi1>\nreturn %%0 : tensor<2xi1>\n}\n",
               rows[r].type, kinds[k], rows[r].type, rows[r].type);
      snprintf(word, sizeof word, "%s ", kinds[k]);
      snprintf(part, sizeof part, "is %s: expected ", kinds[k]);
      const char *found = strstr(rows[r].good, word);
      if (found && (found == rows[r].good || found[-1] == ' ')) {
        halo_module_release(read_text(text));
      } else {
        refuse(text, NULL, HALO_INVALID_ARGUMENT, part);
        refuse(text, NULL, HALO_INVALID_ARGUMENT, "t:2: error: stablehlo.compare: compare_type");
      }
    }
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("stablehlo_chlo");
  TCase *tests = tcase_create("translation");
  tcase_add_loop_test(tests, stretching, 0, STRETCHED);
  tcase_add_loop_test(tests, values, 0, VALUE_CASES);
  tcase_add_test(tests, kernel_of_asin_and_acos);
  tcase_add_loop_test(tests, refusals, 0, REFUSED);
  tcase_add_test(tests, kinds_of_comparisons);
  suite_add_tcase(suite, tests);
  return suite_run(suite);
}
