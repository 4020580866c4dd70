/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_stablehlo_attr.c: types, attributes and constants of MLIR text. */
#include "halo/literal.h"
#include "stablehlo_text_test.h"
#include "suite.h"

#include <math.h>

/* The attribute `a` that a module has. */
static const halo_mlir_attr *attr_of(const char *value, halo_mlir_program **program) {
  char text[4096];
  snprintf(text, sizeof text,
           "#alias = [1, 2]\nmodule attributes {a = %s} {\nfunc.func @main() { return }\n}\n",
           value);
  *program = text_program(text);
  const halo_mlir_attr *attr = halo_mlir_attr_of((*program)->module, "a");
  ck_assert_msg(attr != NULL, "%s", value);
  return attr;
}

/* The text refused as that attribute, with a message that has this part at a column of the value. */
static void refuse_attr(const char *value, int column, const char *part) {
  static const char head[] = "module attributes {a = ";
  char text[4096], place[32];
  snprintf(text, sizeof text, "%s%s} {}\n", head, value);
  halo_mlir_program *program = NULL;
  halo_status status = halo_mlir_read_text(text, strlen(text), "t", &program);
  ck_assert_msg(status != HALO_OK, "accepted: %s", value);
  ck_assert_ptr_null(program);
  snprintf(place, sizeof place, "t:1:%d: error: ", (int)sizeof head - 1 + column);
  const char *message = halo_error_message();
  ck_assert_msg(strncmp(message, place, strlen(place)) == 0, "not at %s: %s", place, message);
  ck_assert_msg(strstr(message, part) != NULL, "no '%s' in: %s", part, message);
}

/* ---- Attributes ---- */

START_TEST(attributes_print_alike) {
  static const char *const rows[][2] = {
      {"1", "1 : i64"},
      {"-3 : i8", "-3 : i8"},
      {"255 : i8", "-1 : i8"},
      {"255 : ui8", "255 : ui8"},
      {"0x10 : i32", "16 : i32"},
      {"-0x1 : i32", "-1 : i32"},
      {"3 : index", "3 : i64"},
      {"18446744073709551615 : ui64", "-1 : ui64"},
      {"-9223372036854775808", "-9223372036854775808 : i64"},
      {"true", "true"},
      {"1 : i1", "true"},
      {"unit", NULL},
      {"2.0", "2.0 : f64"},
      {"1.", "1.0 : f64"},
      {"1.5e3 : f32", "1500.0 : f32"},
      {"-0.000000e+00 : f32", "-0.0 : f32"},
      {"0x7FC00000 : f32", "0x7FC00000 : f32"},
      {"0x3F800000 : f32", "1.0 : f32"},
      {"\"a\\22b\\5C\\n\\t\\\\\\\"\"", "\"a\\\"b\\\\\\0A\\09\\\\\\\"\""},
      {"@f", "@f"},
      {"@\"a b\"", "@\"a b\""},
      {"i32", "i32"},
      {"tensor<4x?xf32>", "tensor<4x?xf32>"},
      {"(tensor<f32>, i1) -> tensor<2xf32>", "(tensor<f32>, i1) -> (tensor<2xf32>)"},
      {"() -> ()", "() -> ()"},
      {"[1, \"s\", []]", "[1 : i64, \"s\", []]"},
      {"{b = 1 : i32, \"odd name\" = 2.0, a}", "{a, b = 1 : i32, \"odd name\" = 2.0 : f64}"},
      {"array<i64: 1, -2>", "array<i64: 1, -2>"},
      {"array<i64>", "array<i64>"},
      {"array<i1: true, false>", "array<i1: true, false>"},
      {"array<f32: 1.5, 0x7F800000>", "dense<[1.5, 0x7F800000]> : tensor<2xf32>"},
      {"dense<1> : tensor<2xi64>", "array<i64: 1, 1>"},
      {"#alias", "array<i64: 1, 2>"},
      {"#stablehlo<precision HIGH>", "#stablehlo<a HIGH>"},
      {"#stablehlo.channel_handle<handle = 1, type = 0>",
       "#stablehlo.channel_handle<handle = 1, type = 0>"},
      {"#stablehlo.result_accuracy_mode<HIGHEST>", "#stablehlo<a HIGHEST>"},
      {"#other.thing<[a, <b>], \"x>\">", "#other.thing<[a, <b>], \"x>\">"},
      {"#other.thing", "#other.thing"},
      {"affine_map<(d0) -> (d0)>", "affine_map<(d0) -> (d0)>"},
      {"loc(\"x\"(\"f\":1:1))", "loc(\"x\"(\"f\":1:1))"},
      {"1 : i128", "1 : i128"},
      {"dense<1> : vector<2xi32>", "dense<1> : vector<2xi32>"},
      {"none", "none"},
      {"!quant.uniform<i8:f32, 0.5:3>", "!quant.uniform<i8:f32, 0.5:3>"},
      {"tensor<4x!quant.uniform<i8:f32, 0.5:3>>", "tensor<4x!quant.uniform<i8:f32, 0.5:3>>"},
      {"tensor<*xf32>", "tensor<*xf32>"},
      {"tensor<0x4xf32>", "tensor<0x4xf32>"},
      {"tensor<2xcomplex<f32>>", "tensor<2xcomplex<f32>>"},
      {"tensor<complex<i32>>", "tensor<complex<i32>>"},
      {"tensor<?x4xf32, #stablehlo.type_extensions<bounds = [8, ?]>>",
       "tensor<?x4xf32, #stablehlo.bounds<8, ?>>"},
      {"tensor<?xf32, #stablehlo.bounds<8>>", "tensor<?xf32, #stablehlo.bounds<8>>"},
      {"tuple<tensor<f32>, tuple<>>", "tuple<tensor<f32>, tuple<>>"},
      {"!stablehlo.token", "!stablehlo.token"},
      {"memref<4xf32>", "memref<4xf32>"},
      {"tensor<f8E4M3B11FNUZ>", "tensor<f8E4M3B11FNUZ>"},
      {"#sdy.sharding<@mesh, [{\"x\", ?}, {}p1], replicated={\"y\"}>",
       "#sdy.sharding<mesh_or_ref = @mesh, dim_shardings = [#sdy.dimension_sharding<axes = "
       "[#sdy.axis_ref<name = \"x\">], is_closed = false>, #sdy.dimension_sharding<is_closed = "
       "true, "
       "priority = 1>], replicated_axes = [#sdy.axis_ref<name = \"y\">]>"},
      {"#sdy.sharding_per_value<[<@mesh, []>]>", "[#sdy.sharding<mesh_or_ref = @mesh>]"},
      {"#sdy<manual_axes{\"x\", \"y\"}>", "[\"x\", \"y\"]"},
      {"#sdy.op_sharding_rule<([i, j])->([i]) {i=2, j=3}>",
       "#sdy.op_sharding_rule<([i, j])->([i]) {i=2, j=3}>"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    halo_mlir_program *program;
    attr_of(rows[i][0], &program);
    halo_strbuf out = {0};
    char want[1024];
    mlir_print(&out, program, 0);
    if (rows[i][1])
      snprintf(want, sizeof want, "\n}) {a = %s} : () -> ()\n", rows[i][1]);
    else
      snprintf(want, sizeof want, "\n}) {a} : () -> ()\n");
    const char *got = strstr(halo_strbuf_text(&out), "\n}) {");
    ck_assert_msg(got && strcmp(got, want) == 0, "%s gives %s", rows[i][0], got);
    halo_strbuf_deinit(&out);
    halo_mlir_program_release(program);
  }
}
END_TEST

START_TEST(faulty_attributes_are_refused) {
  refuse_attr("256 : i8", 1, "this number does not fit its type, s8");
  refuse_attr("-129 : i8", 1, "this number does not fit its type, s8");
  refuse_attr("-1 : ui8", 1, "this number does not fit its type, u8");
  refuse_attr("18446744073709551616", 1, "this number does not fit 64 bits");
  refuse_attr("1 : f32", 1, "expected a number with a point");
  refuse_attr("1.0 : i32", 1, "a number with a point cannot be of this type");
  refuse_attr("1.0e300 : f32", 1, "too large");
  refuse_attr("1 : tensor<f32>", 5, "expected the type of a number");
  refuse_attr("0x1FFFFFFFF : f32", 1, "these bits do not fit f32");
  refuse_attr("\"a\\q\"", 3, "expected an escape");
  refuse_attr("\"a", 1, "this string does not end");
  refuse_attr("[1, ]", 5, "expected another element after ','");
  refuse_attr("[1 2]", 4, "expected ',' or ']' after an element, found '2'");
  refuse_attr("tensor<4xf32", 13, "expected '>' after the element type, found '}'");
  refuse_attr("tensor<4f32>", 9, "expected 'x' after a dimension");
  refuse_attr("tensor<99999999999999999999xf32>", 8, "this dimension does not fit 64 bits");
  refuse_attr("tensor<9999999999x9999999999xf32>", 30, "has too many elements");
  refuse_attr("tensor<?xf32, #stablehlo.bounds<1, 2>>", 33, "expected 1 bounds");
  refuse_attr("#missing", 1, "'#missing' is not defined");
  refuse_attr("!missing", 1, "'!missing' is not defined");
  refuse_attr("bogus", 1, "expected an attribute, found 'bogus'");
  refuse_attr("#stablehlo.conv<[b, 0]x[i, o]->[b, f]>", 17, "expected 'f' in this list");
  refuse_attr("#stablehlo.conv<[b, b, f]x[i, o]->[b, f]>", 21, "this dimension was named before");
  refuse_attr("#stablehlo.conv<[b, 1, f]x[1, i, o]->[b, 1, f]>", 17,
              "expected spatial dimension 0 in this list");
  refuse_attr("#other.thing<(>", 15, "expected ')', found '>'");
}
END_TEST

/* ---- Constants ---- */

typedef struct constant_row {
  const char *text;
  int64_t kept;
  double values[4];
} constant_row;

START_TEST(constants_have_their_values) {
  static const constant_row rows[] = {
      {"dense<> : tensor<0xf32>", 0, {0}},
      {"dense<> : tensor<2x0xf32>", 0, {0}},
      {"dense<[[], []]> : tensor<2x0xf32>", 0, {0}},
      {"dense<[]> : tensor<0xf32>", 0, {0}},
      {"dense<1.5> : tensor<2xf32>", 2, {1.5, 1.5}},
      {"dense<1.5> : tensor<f32>", 1, {1.5}},
      {"dense<7> : tensor<8x8xi32>", 64, {7, 7, 7, 7}},
      {"dense<7> : tensor<65xi32>", 1, {7}},
      {"dense<7> : tensor<1000000x1000000xi32>", 1, {7}},
      {"dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>", 4, {1, 2, 3, 4}},
      {"dense< [ // one\n [1],[ 2] ] > : tensor<2x1xi8>", 2, {1, 2}},
      {"dense<[255, -128]> : tensor<2xi8>", 2, {-1, -128}},
      {"dense<[0xFF, 0x7F]> : tensor<2xui8>", 2, {255, 127}},
      {"dense<[true, false, 1, -1]> : tensor<4xi1>", 4, {1, 0, 1, 1}},
      {"dense<[-8, 7, 15]> : tensor<3xi4>", 3, {-8, 7, -1}},
      {"dense<[3, 1]> : tensor<2xui2>", 2, {3, 1}},
      {"dense<[0x7F800000, -0.5, 1.000000e+00]> : tensor<3xf32>", 3, {INFINITY, -0.5, 1}},
      {"dense<[0x7C00, 6.5536e4]> : tensor<2xbf16>", 2, {0x1p121, 65536}},
      {"dense<[1.0, 0x40]> : tensor<2xf8E4M3FN>", 2, {1, 2}},
      {"dense<0.1> : tensor<f64>", 1, {0.1}},
      {"dense<0x3FF0000000000000> : tensor<f64>", 1, {1}},
      {"dense<\"0x0000803F00000040\"> : tensor<2xf32>", 2, {1, 2}},
      {"dense<\"0x0000803F\"> : tensor<3xf32>", 3, {1, 1, 1}},
      {"dense<\"0x0000803F\"> : tensor<1000xf32>", 1, {1}},
      {"dense<\"0x0E0207\"> : tensor<3xi4>", 3, {-2, 2, 7}},
      {"dense<\"0x0002\"> : tensor<1xi16>", 1, {512}},
      {"dense<\"0xFF\"> : tensor<100xi1>", 1, {1}},
      {"dense<\"0x01\"> : tensor<3xi1>", 3, {1, 1, 1}},
      {"dense<\"0x05\"> : tensor<4xi1>", 4, {1, 0, 1, 0}},
      {"dense<\"0xFF03\"> : tensor<10xi1>", 10, {1, 1, 1, 1}},
      {"dense<\"0x01000100\"> : tensor<4xi1>", 4, {1, 0, 1, 0}},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    halo_mlir_program *program;
    const halo_mlir_attr *attr = attr_of(rows[i].text, &program);
    ck_assert_msg(attr->kind == HALO_MLIR_DENSE, "%s", rows[i].text);
    const halo_shape *shape = halo_literal_shape(attr->literal);
    ck_assert_msg(halo_shape_element_count(shape) == rows[i].kept, "%s keeps %lld", rows[i].text,
                  (long long)halo_shape_element_count(shape));
    ck_assert_int_eq(attr->type->element, shape->type);
    for (int64_t k = 0; k < rows[i].kept && k < 4; k++) {
      double value = halo_literal_get_f64(attr->literal, k);
      ck_assert_msg(value == rows[i].values[k], "%s has %g at %lld", rows[i].text, value,
                    (long long)k);
    }
    halo_mlir_program_release(program);
  }
}
END_TEST

START_TEST(complex_constants) {
  static const char *const texts[] = {
      "dense<[(1.0,-2.0), (0x7F800000, 0.5)]> : tensor<2xcomplex<f32>>",
      "dense<\"0x0000803F000000C00000807F0000003F\"> : tensor<2xcomplex<f32>>"};
  for (int i = 0; i < 2; i++) {
    halo_mlir_program *program;
    const halo_mlir_attr *attr = attr_of(texts[i], &program);
    double re, im;
    halo_literal_get_c128(attr->literal, 0, &re, &im);
    ck_assert(re == 1 && im == -2);
    halo_literal_get_c128(attr->literal, 1, &re, &im);
    ck_assert(re == INFINITY && im == 0.5);
    halo_mlir_program_release(program);
  }
}
END_TEST

START_TEST(faulty_constants_are_refused) {
  refuse_attr("dense<[1, 2]> : tensor<3xi32>", 12, "expected 3 elements in this list, found 2");
  refuse_attr("dense<[1, 2, 3]> : tensor<2xi32>", 14, "expected ']': dimension 0 has 2 elements");
  refuse_attr("dense<[1, 2]> : tensor<2x1xi32>", 8, "expected '[': this constant has 2 dimensions");
  refuse_attr("dense<[[1, 2]]> : tensor<2xi32>", 8, "expected an integer");
  refuse_attr("dense<[1]> : tensor<i32>", 7,
              "expected an element: this constant has no dimensions");
  refuse_attr("dense<[1]> : tensor<1000000000xi32>", 7, "expected 1000000000 elements");
  refuse_attr("dense<1.0> : tensor<2xi32>", 7, "expected an integer");
  refuse_attr("dense<1> : tensor<2xf32>", 7, "expected a number with a point");
  refuse_attr("dense<1e5> : tensor<2xf32>", 7, "expected a number with a point");
  refuse_attr("dense<256> : tensor<2xi8>", 7, "this number does not fit s8");
  refuse_attr("dense<-1> : tensor<2xui8>", 7, "this number does not fit u8");
  refuse_attr("dense<0x1FF> : tensor<f8E4M3FN>", 7, "these bits do not fit f8e4m3fn");
  refuse_attr("dense<> : tensor<2xi32>", 7, "expected 2 elements");
  refuse_attr("dense<1> : tensor<?xi32>", 1, "a constant's dimensions must be known");
  refuse_attr("dense<\"0x0000\"> : tensor<2xf32>", 10,
              "expected 8 bytes of tensor<2xf32>, found 2");
  refuse_attr("dense<\"0x000\"> : tensor<2xi8>", 8,
              "expected two hexadecimal digits for each byte");
  refuse_attr("dense<\"0x0g\"> : tensor<1xi8>", 11, "expected a hexadecimal digit");
  refuse_attr("dense<\"00\"> : tensor<1xi8>", 8, "expected bytes as \"0x...\"");
  refuse_attr("dense<[1, 2> : tensor<2xi8>", 12, "expected ','");
  refuse_attr("dense<(1.0, 2.0> : tensor<complex<f32>>", 16, "expected ')'");
  refuse_attr("sparse<1> : tensor<2xi8>", 1, "sparse constants are not supported");
  refuse_attr("dense_resource<__elided__> : tensor<2xi8>", 16,
              "this constant was left out when the text was printed");
  refuse_attr("dense_resource<r> : tensor<2xi8>", 16, "there is no resource 'r'");
  refuse_attr("array<i64: 1, x>", 15, "expected an integer");
}
END_TEST

START_TEST(resources_stand_behind_the_module) {
  static const char head[] =
      "func.func @main() {\n"
      "  %0 = stablehlo.constant dense_resource<blob1> : tensor<2xf32>\n"
      "  %1 = stablehlo.constant dense_resource<\"b 2\"> : tensor<3xi1>\n"
      "  return\n}\n"
      "{-#\n  dialect_resources: {\n    other: { x: \"0x04000000\" },\n    builtin: {\n"
      "      blob1: \"0x040000000000803F00000040\",\n      \"b 2\": \"0x04000000010001\"\n    }\n  "
      "},\n"
      "  external_resources: { mlir_reproducer: { pipeline: \"}\", verify: true } }\n#-}\n";
  halo_mlir_program *program = text_program(head);
  const halo_mlir_block *block = mlir_function(program, "main")->regions[0].block;
  const halo_mlir_attr *floats = halo_mlir_attr_of(block->ops.data[0], "value");
  const halo_mlir_attr *flags = halo_mlir_attr_of(block->ops.data[1], "value");
  ck_assert_double_eq(halo_literal_get_f64(floats->literal, 1), 2);
  ck_assert_int_eq(halo_literal_get_i64(flags->literal, 0), 1);
  ck_assert_int_eq(halo_literal_get_i64(flags->literal, 1), 0);
  halo_mlir_program_release(program);
}
END_TEST

/* 100 numbers of each sort that floats have, against what C reads. */
START_TEST(floats_round_to_nearest) {
  char text[4096], numbers[2000] = "";
  float want[100];
  for (int i = 0; i < 100; i++) {
    char number[64];
    snprintf(number, sizeof number, "%s%.*e", i ? ", " : "", i % 20, sin(i) * pow(10, i % 60 - 30));
    if (!strchr(number, '.')) snprintf(number, sizeof number, "%s%d.0", i ? ", " : "", i);
    want[i] = strtof(number + (i ? 2 : 0), NULL);
    strcat(numbers, number);
    ck_assert_uint_lt(strlen(numbers), sizeof numbers - 64);
  }
  snprintf(text, sizeof text, "dense<[%s]> : tensor<100xf32>", numbers);
  halo_mlir_program *program;
  const halo_mlir_attr *attr = attr_of(text, &program);
  const float *got = halo_literal_data(attr->literal);
  for (int i = 0; i < 100; i++)
    ck_assert_msg(got[i] == want[i], "%d: %.9g is not %.9g", i, (double)got[i], (double)want[i]);
  halo_mlir_program_release(program);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("stablehlo_attr");
  TCase *tests = tcase_create("attributes");
  tcase_add_test(tests, attributes_print_alike);
  tcase_add_test(tests, faulty_attributes_are_refused);
  tcase_add_test(tests, constants_have_their_values);
  tcase_add_test(tests, complex_constants);
  tcase_add_test(tests, faulty_constants_are_refused);
  tcase_add_test(tests, resources_stand_behind_the_module);
  tcase_add_test(tests, floats_round_to_nearest);
  suite_add_tcase(suite, tests);
  return suite_run(suite);
}
