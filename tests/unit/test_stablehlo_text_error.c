/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_stablehlo_text_error.c: MLIR text that is not right: what is said, and where. */
#include "halo/module.h"
#include "stablehlo_text_test.h"
#include "suite.h"

/* Reads a text that must be refused with a message that starts and goes on like this. */
static void refuse(const char *text, const char *place, const char *part) {
  halo_mlir_program *program = NULL;
  halo_status status = halo_mlir_read_text(text, strlen(text), "t", &program);
  ck_assert_msg(status != HALO_OK, "accepted: %s", text);
  ck_assert_ptr_null(program);
  const char *message = halo_error_message();
  ck_assert_msg(strncmp(message, place, strlen(place)) == 0, "not at %s: %s", place, message);
  ck_assert_msg(strstr(message, part) != NULL, "no '%s' in: %s", part, message);
}

/* An operation between arguments (text_form_text), refused at this column. */
static void refuse_op(const char *op, int column, const char *part) {
  char *text = text_form_text(op), place[32];
  snprintf(place, sizeof place, "t:2:%d: error: ", column);
  refuse(text, place, part);
  free(text);
}

START_TEST(messages_show_the_place) {
  const char *text =
      "func.func @main(%a: tensor<2xf32>) {\n  %0 = stablehlo.abs %b : tensor<2xf32>\n}\n";
  halo_mlir_program *program;
  ck_assert_int_eq(halo_mlir_read_text(text, strlen(text), "f.mlir", &program),
                   HALO_INVALID_ARGUMENT);
  ck_assert_str_eq(
      halo_error_message(),
      "f.mlir:2:22: error: '%b' is not defined: expected a value that is defined before\n"
      "  %0 = stablehlo.abs %b : tensor<2xf32>\n"
      "                     ^");
}
END_TEST

/* The advice to write the generic form leads to a form that is read. */
START_TEST(generic_form) {
  static const char *const names[] = {
#define HALO_MLIR_OP(id, name, version, attrs) name,
#define HALO_MLIR_OLD(id, version, attrs)
#include "stablehlo/ops.def"
#undef HALO_MLIR_OP
#undef HALO_MLIR_OLD
  };
  int advised = 0;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char text[512];
    halo_module *module = NULL;
    static const char *const forms[] = {"%%0 = %s %%x : tensor<2xf32>",
                                        "%%0 = \"%s\"(%%x) : (tensor<2xf32>) -> tensor<2xf32>"};
    for (int form = 0; form < 2; form++) {
      char line[256];
      snprintf(line, sizeof line, forms[form], names[i]);
      snprintf(text, sizeof text,
               "func.func @main(%%x: tensor<2xf32>) -> tensor<2xf32> {\n  %s\n"
               "  return %%0 : tensor<2xf32>\n}\n",
               line);
      halo_status status = halo_module_read(text, strlen(text), "f.mlir", NULL, &module);
      if (status == HALO_OK) halo_module_release(module);
      bool generic = status != HALO_OK && strstr(halo_error_message(), "the generic form");
      if (form == 0 && !generic) break;
      advised++;
      ck_assert_msg(status == HALO_OK || !strstr(halo_error_message(), "is not supported"),
                    "%s: %s", names[i], halo_error_message());
    }
  }
  ck_assert_int_gt(advised, 20);
}
END_TEST

/* Operations that have not what they need are refused, in a function without any other operation, too. */
START_TEST(bare_operations) {
  static const char *const lines[] = {
      "\"stablehlo.infeed\"(%x) : (tensor<2xf32>) -> ()", "\"stablehlo.infeed\"() : () -> ()",
      "%0 = \"stablehlo.recv\"(%x) : (tensor<2xf32>) -> tensor<2xf32>",
      "%0 = \"builtin.unrealized_conversion_cast\"(%x) : (tensor<2xf32>) -> tensor<2xf32>"};
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
    char text[512];
    halo_module *module = NULL;
    snprintf(text, sizeof text,
             "func.func @main(%%x: tensor<2xf32>) -> tensor<2xf32> {\n  %s\n"
             "  return %%x : tensor<2xf32>\n}\n",
             lines[i]);
    halo_status status = halo_module_read(text, strlen(text), "f.mlir", NULL, &module);
    ck_assert_msg((status == HALO_OK) == (i == 3), "%s: %s", lines[i], halo_error_message());
    if (status == HALO_OK) halo_module_release(module);
  }
}
END_TEST

START_TEST(operations) {
  refuse_op(
      "stablehlo.unheard %f : tensor<4xf32>", 1,
      "operation 'stablehlo.unheard' is not known: expected one of StableHLO, CHLO or Shardy");
  refuse_op("%r = stablehlo.expo %f : tensor<4xf32>", 6,
            "operation 'stablehlo.expo' is not known: did you mean 'stablehlo.exponential'?");
  refuse_op("%r = stablehlo.mutliply %f, %f : tensor<4xf32>", 6,
            "did you mean 'stablehlo.multiply'?");
  refuse_op("%r = stablehlo.erf %f : tensor<4xf32>", 6, "did you mean 'chlo.erf'?");
  refuse_op("%r = stabelhlo.abs %f : tensor<4xf32>", 6, "did you mean 'stablehlo.abs'?");
  refuse_op("%r = arith.addf %f, %f : tensor<4xf32>", 6, "did you mean 'stablehlo.add'?");
  refuse_op("%r = stablehlo.gather %f, %f : tensor<4xf32>", 6,
            "operation 'stablehlo.gather' is not known in this form: expected the generic form");
  refuse_op("%r = stablehlo.abs %f : tensor<5xf32>", 20,
            "this value is a tensor<4xf32>: expected a tensor<5xf32>");
  refuse_op("%r = stablehlo.add %f : tensor<4xf32>", 23, "expected ',', found ':'");
  refuse_op("%r:2 = stablehlo.abs %f : tensor<4xf32>", 1, "expected names of 1 result, found 2");
  refuse_op("%r:0 = stablehlo.abs %f : tensor<4xf32>", 4, "expected a number of results from 1 on");
  refuse_op("%f = stablehlo.abs %g : tensor<4xf32>", 1,
            "'%f' is defined twice: it is on line 1 already");
  refuse_op("%r = stablehlo.abs %f#1 : tensor<4xf32>", 22, "'%f' has 1 result");
  refuse_op("%r = stablehlo.abs f : tensor<4xf32>", 20, "expected a value, found 'f'");
  refuse_op("%r = stablehlo.select %p, %f, %g : tensor<4xi1>", 36, "expected 2 types, found 1");
  refuse_op("%r = stablehlo.reshape %m : (tensor<2x3xf32>, i1) -> tensor<6xf32>", 29,
            "expected types of 1 operand, found 2");
  refuse_op("%r = stablehlo.iota dim = x : tensor<4xi32>", 27, "expected an integer, found 'x'");
  refuse_op("%r = stablehlo.iota dim = 99999999999999999999 : tensor<4xi32>", 27,
            "does not fit 64 bits");
  refuse_op("%r = stablehlo.slice %m [0:1, 2] : (tensor<2x3xf32>) -> tensor<1x2xf32>", 32,
            "expected ':' and the end of a range");
  refuse_op("%r = stablehlo.reduce_precision %f, format = m5 : tensor<4xf32>", 46,
            "expected a format such as e5m10");
  refuse_op(
      "%r = stablehlo.pad %f, %s, low = [1], interior = [0] : (tensor<4xf32>, tensor<f32>) -> "
      "tensor<5xf32>",
      39, "expected 'high', found 'interior'");
  refuse_op("%r = stablehlo.constant 1 : i32", 25,
            "expected a constant such as dense<0> : tensor<i32>");
  refuse_op("%r = stablehlo.constant dense<1> : vector<2xi32>", 25,
            "constants of this type are not supported");
  refuse_op(
      "%r = stablehlo.convolution(%image, %kernel) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, "
      "1, f], window = {stride = [1], stride = [1]} : (tensor<1x8x8x4xf32>, tensor<3x3x2x6xf32>) "
      "-> tensor<1x6x6x6xf32>",
      124, "stride stands here twice");
  refuse_op(
      "%r = stablehlo.convolution(%image, %kernel) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, "
      "1, f], window = {step = [1]} : (tensor<1x8x8x4xf32>, tensor<3x3x2x6xf32>) -> "
      "tensor<1x6x6x6xf32>",
      110, "expected stride, pad, lhs_dilate, rhs_dilate, reverse or '}', found 'step'");
  refuse_op(
      "%r = stablehlo.reduce(%f init: %s), (%g init: %s) applies stablehlo.add across dimensions = "
      "[0] : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, "
      "tensor<f32>)",
      59, "expected one input");
  refuse_op(
      "%r = stablehlo.reduce(%f init: %s) across dimensions = [0] : (tensor<4xf32>, tensor<f32>) "
      "-> tensor<f32> reducer(%a: tensor<f32>) { stablehlo.return %a : tensor<f32> }",
      106, "expected 1 pair of arguments");
  refuse_op(
      "%r = stablehlo.while(%a = %i) : tensor<f32> cond { stablehlo.return %pred : tensor<i1> } do "
      "{ stablehlo.return %a : tensor<i32> }",
      27, "this value is a tensor<i32>: expected a tensor<f32>");
  refuse_op("\"stablehlo.abs\"(%f)[^bb1] : (tensor<4xf32>) -> ()", 20,
            "operations with successors are not supported");
  refuse_op("cf.br ^bb1", 1, "branches between blocks (cf.br) are not supported");
  refuse_op("\"\"() : () -> ()", 1, "expected the name of an operation");
  refuse_op("\"a\\00b\"() : () -> ()", 1, "expected the name of an operation");
  refuse_op("\"a.b\"() ({ ^bb0: \"c.d\"() : () -> () ^bb1: \"c.d\"() : () -> () }) : () -> ()", 37,
            "regions of several blocks are not supported");
  refuse_op(
      "\"stablehlo.if\"(%pred) ({ %x = stablehlo.abs %f : tensor<4xf32> }) : (tensor<i1>) -> ()",
      64, "expected stablehlo.return at the end of the region, found '}'");
  refuse_op("\"stablehlo.if\"(%pred) ({ stablehlo.return %x = }) : (tensor<i1>) -> ()", 43,
            "'%x' is not defined");
  refuse_op(
      "\"stablehlo.if\"(%pred) ({ stablehlo.return call @f() : () -> () }) : (tensor<i1>) -> ()",
      43, "expected '}' after the operation that ends its block, found 'call'");
  refuse_op("%r = call f(%f) : (tensor<4xf32>) -> tensor<4xf32>", 11,
            "expected a name such as @main, found 'f'");
  refuse_op("%r = stablehlo.abs %f : tensor<4xf32> loc(bogus)", 43,
            "expected a location, found 'bogus'");
  refuse_op("%r = stablehlo.abs %f : tensor<4xf32> loc(#nowhere)", 43, "'#nowhere' is not defined");
  refuse_op("%r = sdy.sharding_constraint %f <mesh, []> : tensor<4xf32>", 38,
            "expected '<' and a mesh, found ','");
  refuse_op("/* no comment */", 1, "expected a comment after '/'");
  refuse_op("%r = 'x'", 6, "this byte has no meaning in MLIR text");
}
END_TEST

START_TEST(programs) {
  refuse("func.func @f(%a: i1) {\n%r = stablehlo.abs %a\nreturn }",
         "t:3:1: error: ", "expected ':' and types, found 'return'");
  refuse("func.func @f(%a: tensor<f32>) {\n%r = stablehlo.reshape %a : tensor<1xf32>\nreturn }",
         "t:3:1: error: ", "expected '->' and the types of results, found 'return'");
  refuse("func.func @f(%a: tensor<f32>) {\n%r = \"stablehlo.abs\"(%a) : tensor<f32>\nreturn }",
         "t:3:1: error: ", "expected '->' and the types of results, found 'return'");
  refuse("", "t:1:1: error: ", "expected module or an operation, found the end of the text");
  refuse("// nothing\n",
         "t:2:1: error: ", "expected module or an operation, found the end of the text");
  refuse("module {", "t:1:9: error: ", "expected an operation or '}', found the end of the text");
  refuse("module {} module {}", "t:1:", "expected one module in a text");
  refuse("func.func @f(%a: i1, tensor<f32>) { return }",
         "t:1:22: error: ", "expected the name of an argument");
  refuse("func.func @f(tensor<f32>) { return }",
         "t:1:27: error: ", "expected names of the arguments");
  refuse("func.func @f(%a: i1) { \"a.b\"() : () -> () }",
         "t:1:43: error: ", "expected a return at the end of the function");
  refuse("func.func @f(%a: i1) { return }\nfunc.func @g() { return %a : i1 }",
         "t:2:25: error: ", "'%a' is not defined");
  refuse("func.func f()",
         "t:1:11: error: ", "expected the name of the function, such as @main, found 'f'");
  refuse("#a = #b\n#b = #a\nmodule attributes {k = #a} {}",
         "t:1:6: error: ", "'#b' is defined by itself");
  refuse("#a = 1\n#a = 2\nmodule {}", "t:1:1: error: ", "'#a' is defined twice");
  refuse("#a : 1\nmodule {}", "t:1:4: error: ", "expected '=' after the name of an alias");
  refuse(
      "module attributes {k = dense_resource<r> : tensor<1xi8>} {}\n{-#\n dialect_resources: { "
      "builtin: { r: 5 } }\n#-}",
      "t:3:37: error: ", "expected the bytes of a resource, found '5'");
}
END_TEST

START_TEST(a_nul_byte_is_found) {
  halo_mlir_program *program;
  ck_assert_int_eq(halo_mlir_read_text("module \0{}", 10, "t", &program), HALO_INVALID_ARGUMENT);
  ck_assert_ptr_nonnull(
      strstr(halo_error_message(), "t:1:8: error: a NUL byte cannot stand in MLIR text"));
}
END_TEST

/* Nests a bracketed form so often. */
static void refuse_nested(const char *before, const char *open, const char *middle,
                          const char *close, const char *after) {
  enum { LEVELS = 100000 };
  halo_strbuf text = {0};
  halo_strbuf_append(&text, before);
  for (int i = 0; i < LEVELS; i++) halo_strbuf_append(&text, open);
  halo_strbuf_append(&text, middle);
  for (int i = 0; i < LEVELS; i++) halo_strbuf_append(&text, close);
  halo_strbuf_append(&text, after);
  refuse(halo_strbuf_text(&text), "t:1:", "nested more than 500 deep");
  halo_strbuf_deinit(&text);
}

START_TEST(nesting_is_bounded) {
  refuse_nested("", "module {", "", "}", "");
  refuse_nested("module attributes {a = ", "[", "", "]", "} {}");
  refuse_nested("module attributes {a = ", "{a = ", "1", "}", "} {}");
  refuse_nested("module attributes {a = ", "tuple<", "", ">", "} {}");
  refuse_nested("module attributes {a = ", "#stablehlo.mesh<a = [", "", "]>", "} {}");
  refuse_nested("module attributes {a = ", "#x.y<", "", ">", "} {}");
  refuse_nested("module {} loc(", "\"a\"(", "\"a\"", ")", ")");
  refuse_nested("", "\"a.b\"() ({", "", "}) : () -> ()", "");
}
END_TEST

/* Every beginning of a good text is a text that is read or refused. */
START_TEST(cut_texts_are_refused_or_read) {
  char *text = text_form_text(
      "%r:2 = stablehlo.reduce(%f init: %s), (%k init: %i) across dimensions = [0] : "
      "(tensor<4xf32>, "
      "tensor<4xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>) reducer(%a: "
      "tensor<f32> "
      "loc(\"x\"), %c: tensor<f32>) (%d: tensor<i32>, %e: tensor<i32>) { stablehlo.return %a, %d : "
      "tensor<f32>, tensor<i32> } loc(callsite(\"a\" at \"f\":1:2))\n"
      "%v = stablehlo.constant dense<[[(1.0, 2.0)], [(0x7FC00000, -1.0)]]> : "
      "tensor<2x1xcomplex<f32>>");
  size_t size = strlen(text);
  for (size_t cut = 0; cut <= size; cut++) {
    halo_mlir_program *program = NULL;
    halo_status status = halo_mlir_read_text(text, cut, "t", &program);
    ck_assert_int_eq(status == HALO_OK, program != NULL);
    halo_mlir_program_release(program);
  }
  free(text);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("stablehlo_text_error");
  TCase *tests = tcase_create("errors");
  tcase_set_timeout(tests, 120);
  tcase_add_test(tests, messages_show_the_place);
  tcase_add_test(tests, operations);
  tcase_add_test(tests, generic_form);
  tcase_add_test(tests, bare_operations);
  tcase_add_test(tests, programs);
  tcase_add_test(tests, a_nul_byte_is_found);
  tcase_add_test(tests, nesting_is_bounded);
  tcase_add_test(tests, cut_texts_are_refused_or_read);
  suite_add_tcase(suite, tests);
  return suite_run(suite);
}
