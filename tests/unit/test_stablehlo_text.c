/* tests/unit/test_stablehlo_text.c: reading MLIR text. */
#include "mlir_print.h"
#include "stablehlo/stablehlo.h"
#include "suite.h"

START_TEST(functions_call_each_other) {
  const char *text =
      "module @m attributes {mhlo.num_partitions = 1 : i32} {\n"
      "  func.func public @main(%arg0: tensor<4xf32>) -> (tensor<4xf32> {jax.result_info = \"r\"}) "
      "{\n"
      "    %0:2 = call @g(%arg0) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)\n"
      "    %1 = stablehlo.add %0, %0#1 : tensor<4xf32>\n"
      "    return %1 : tensor<4xf32>\n"
      "  }\n"
      "  func.func private @g(%arg0: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {\n"
      "    return %arg0, %arg0 : tensor<4xf32>, tensor<4xf32>\n"
      "  }\n"
      "}\n";
  halo_mlir_program *program;
  ck_assert_msg(halo_mlir_read_text(text, strlen(text), "t", &program) == HALO_OK, "%s",
                halo_error_message());
  char *got = mlir_print(program, false);
  ck_assert_str_eq(
      got,
      "builtin.module() {mhlo.num_partitions = 1 : i32, sym_name = \"m\"}\n"
      "{\n"
      "  func.func() {function_type = (tensor<4xf32>) -> (tensor<4xf32>), res_attrs = "
      "[{jax.result_info = \"r\"}], sym_name = \"main\", sym_visibility = \"public\"}\n"
      "  { %0: tensor<4xf32>\n"
      "    %1, %2 = func.call(%0) {callee = @\"g\"} : tensor<4xf32>, tensor<4xf32>\n"
      "    %3 = stablehlo.add(%1, %2) : tensor<4xf32>\n"
      "    func.return(%3)\n"
      "  }\n"
      "  func.func() {function_type = (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>), sym_name "
      "= "
      "\"g\", sym_visibility = \"private\"}\n"
      "  { %4: tensor<4xf32>\n"
      "    func.return(%4, %4)\n"
      "  }\n"
      "}\n");
  halo_free(got);
  halo_mlir_program_release(program);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("stablehlo_text");
  TCase *tests = tcase_create("text");
  tcase_add_test(tests, functions_call_each_other);
  suite_add_tcase(suite, tests);
  return suite_run(suite);
}
