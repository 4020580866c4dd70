/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_stablehlo_text.c: MLIR text: every form of an operation, whole programs, names and regions. */
#include "base/memory.h"
#include "stablehlo/stablehlo.h"
#include "stablehlo_text_test.h"
#include "suite.h"

#include <dirent.h>
#include <time.h>

static char *slurp(const char *name) {
  char path[1024];
  snprintf(path, sizeof path, "%s/stablehlo/%s", HALO_TEST_DATA, name);
  FILE *file = fopen(path, "rb");
  ck_assert_msg(file != NULL, "%s", path);
  fseek(file, 0, SEEK_END);
  size_t size = (size_t)ftell(file);
  rewind(file);
  char *text = calloc(1, size + 1);
  ck_assert_uint_eq(fread(text, 1, size, file), size);
  fclose(file);
  return text;
}

static char *printed(const halo_mlir_program *program, unsigned flags) {
  halo_strbuf out = {0};
  mlir_print(&out, program, flags);
  return halo_strbuf_take(&out);
}

/* ---- Forms ---- */

/* Takes four blanks from the beginning of each line. */
static void dedent(char *text) {
  char *to = text;
  for (char *from = text; *from;) {
    if (strncmp(from, "    ", 4) == 0) from += 4;
    while (*from && *from != '\n') *to++ = *from++;
    if (*from) *to++ = *from++;
  }
  *to = '\0';
}

START_TEST(each_form_is_read) {
  char *rows = slurp("text_forms.txt");
  int count = 0;
  for (char *row = strstr(rows, "\n= "); row; count++) {
    char *op = row + 3, *next = strstr(op, "\n= "), *want = strchr(op, '\n');
    *want++ = '\0';
    if (next) *next = '\0';
    while (*want && want[strlen(want) - 1] == '\n') want[strlen(want) - 1] = '\0';
    char *text = text_form_text(op);
    halo_mlir_program *program = text_program(text);
    char *got = text_form_printed(program);
    dedent(got);
    ck_assert_msg(strcmp(got, want) == 0, "%s\nis read as\n%s\nnot\n%s", op, got, want);
    free(got);
    halo_mlir_program_release(program);
    free(text);
    row = next;
  }
  ck_assert_int_ge(count, 115);
  free(rows);
}
END_TEST

/* What the reader of artifacts makes of the same programs, but for what HLO has no types for (foreign), which text says
 * and an artifact is not asked for. */
START_TEST(text_and_artifact_are_one_program) {
  char path[1024];
  snprintf(path, sizeof path, "%s/stablehlo", HALO_TEST_DATA);
  DIR *dir = opendir(path);
  ck_assert_ptr_nonnull(dir);
  int count = 0;
  for (struct dirent *entry; (entry = readdir(dir));) {
    char name[300];
    snprintf(name, sizeof name, "%s", entry->d_name);
    char *end = strstr(name, ".mlir");
    if (!end || strcmp(end, ".mlir") != 0) continue;
    *end = '\0';
    if (strcmp(name, "foreign") == 0) continue;
    char *text = slurp(entry->d_name);
    strcat(name, ".expected");
    char *want = slurp(name);
    ck_assert(halo_stablehlo_is_text(text, strlen(text)));
    halo_mlir_program *program = text_program(text);
    char *got = printed(program, 0);
    ck_assert_msg(strcmp(got, want) == 0, "%s is read as\n%s\nnot\n%s", entry->d_name, got, want);
    halo_free(got);
    halo_mlir_program_release(program);
    free(text);
    free(want);
    count++;
  }
  closedir(dir);
  ck_assert_int_ge(count, 25);
}
END_TEST

/* ---- Programs ---- */

static void expect_program(const char *text, unsigned flags, const char *want) {
  halo_mlir_program *program = text_program(text);
  char *got = printed(program, flags);
  ck_assert_str_eq(got, want);
  halo_free(got);
  halo_mlir_program_release(program);
}

START_TEST(modules_and_functions) {
  expect_program(
      "module @m attributes {mhlo.num_partitions = 1 : i32} {\n"
      "  func.func public @main(%arg0: tensor<4xf32> {jax.arg_info = \"x\", tf.aliasing_output = 0 "
      ": "
      "i32}, %arg1: tensor<4xf32>) -> (tensor<4xf32> {jax.result_info = \"r\"}) attributes {k = 1 "
      ": "
      "i64} {\n"
      "    %0:2 = call @g(%arg0) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)\n"
      "    %1 = stablehlo.add %0, %0#1 : tensor<4xf32>\n"
      "    return %1 : tensor<4xf32>\n"
      "  }\n"
      "  func.func private @g(%arg0: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {\n"
      "    return %arg0, %arg0 : tensor<4xf32>, tensor<4xf32>\n"
      "  }\n"
      "  func.func private @h(tensor<f32>, i1) -> tensor<f32>\n"
      "  sdy.mesh @mesh = <[\"x\"=2]> {a.b}\n"
      "}\n",
      0,
      "\"builtin.module\"() ({\n"
      "  \"func.func\"() ({\n"
      "  ^bb0(%0: tensor<4xf32>, %1: tensor<4xf32>):\n"
      "    %2, %3 = \"func.call\"(%0) {callee = @g} : (tensor<4xf32>) -> (tensor<4xf32>, "
      "tensor<4xf32>)\n"
      "    %4 = \"stablehlo.add\"(%2, %3) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>\n"
      "    \"func.return\"(%4) : (tensor<4xf32>) -> ()\n"
      "  }) {arg_attrs = [{jax.arg_info = \"x\", tf.aliasing_output = 0 : i32}, {}], function_type "
      "= (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>), k = 1 : i64, res_attrs = "
      "[{jax.result_info = \"r\"}], sym_name = \"main\", sym_visibility = \"public\"} : () -> ()\n"
      "  \"func.func\"() ({\n"
      "  ^bb0(%5: tensor<4xf32>):\n"
      "    \"func.return\"(%5, %5) : (tensor<4xf32>, tensor<4xf32>) -> ()\n"
      "  }) {function_type = (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>), sym_name = \"g\", "
      "sym_visibility = \"private\"} : () -> ()\n"
      "  \"func.func\"() ({\n"
      "  }) {function_type = (tensor<f32>, i1) -> (tensor<f32>), sym_name = \"h\", sym_visibility "
      "= "
      "\"private\"} : () -> ()\n"
      "  \"sdy.mesh\"() {a.b, mesh = #sdy.mesh<axes = [#sdy.mesh_axis<name = \"x\", size = 2>]>, "
      "sym_name = \"mesh\"} : () -> ()\n"
      "}) {mhlo.num_partitions = 1 : i32, sym_name = \"m\"} : () -> ()\n");
}
END_TEST

/* The same program as a file of functions, in generic form, and with a module in quotes. */
START_TEST(forms_of_modules) {
  static const char *const texts[] = {
      "func.func @main() {\n  return\n}\n", "module { func.func @main() { func.return } }",
      "// a comment\nmodule {\n  func.func @main() { \"func.return\"() : () -> () } }\n",
      "\"builtin.module\"() ({\n^bb0:\n  \"func.func\"() <{function_type = () -> (), sym_name = "
      "\"main\"}> ({\n  ^bb0:\n    \"func.return\"() : () -> ()\n  }) : () -> ()\n}) : () -> ()\n",
      "builtin.module {\n\"func.func\"() ({ return }) {function_type = () -> (), sym_name = "
      "\"main\"} "
      ": () -> () }"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    ck_assert(halo_stablehlo_is_text(texts[i], strlen(texts[i])));
    expect_program(texts[i], 0,
                   "\"builtin.module\"() ({\n"
                   "  \"func.func\"() ({\n"
                   "    \"func.return\"() : () -> ()\n"
                   "  }) {function_type = () -> (), sym_name = \"main\"} : () -> ()\n"
                   "}) : () -> ()\n");
  }
}
END_TEST

START_TEST(other_texts_are_told_apart) {
  static const char *const mlir[] = {"module @m {",
                                     "module attributes {a} {",
                                     "#loc = loc(unknown)",
                                     "!t = tensor<f32>",
                                     " // x\n\nfunc.func @f()",
                                     "\"builtin.module\"() ({",
                                     "module {\n  func.func @main() {"};
  static const char *const hlo[] = {"HloModule m\n",
                                    "ENTRY main { ROOT x = f32[] parameter(0) }",
                                    "module { a = f32[] parameter(0) }",
                                    "module = f32[] parameter(0)",
                                    "module (a: f32[]) -> f32[] { a = f32[] parameter(0) }",
                                    "module.1 { a = f32[] parameter(0) }",
                                    "%add.1 = f32[] add(a, b)",
                                    "",
                                    "// nothing"};
  for (size_t i = 0; i < sizeof mlir / sizeof *mlir; i++)
    ck_assert_msg(halo_stablehlo_is_text(mlir[i], strlen(mlir[i])), "%s", mlir[i]);
  for (size_t i = 0; i < sizeof hlo / sizeof *hlo; i++)
    ck_assert_msg(!halo_stablehlo_is_text(hlo[i], strlen(hlo[i])), "%s", hlo[i]);
}
END_TEST

/* Sibling regions may have the same names; inner regions see outer ones. */
START_TEST(names_belong_to_regions) {
  char *text = text_form_text(
      "%r = \"stablehlo.if\"(%pred) ({ %x = stablehlo.add %f, %g : tensor<4xf32> stablehlo.return "
      "%x "
      ": tensor<4xf32> }, { %x = stablehlo.add %g, %g : tensor<4xf32> stablehlo.return %x : "
      "tensor<4xf32> }) : (tensor<i1>) -> tensor<4xf32>\n"
      "%x = stablehlo.add %r, %r : tensor<4xf32>\n"
      "%a:2, %b0 = \"my.op\"(%a_, %x) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, "
      "tensor<i32>, tensor<i1>)\n"
      "\"my.op\"(%a, %a#0, %a#1, %b0) : (tensor<4xf32>, tensor<4xf32>, tensor<i32>, tensor<i1>) -> "
      "()");
  char *use = strstr(text, "%a_");
  memcpy(use, "%f ", 3);
  halo_mlir_program *program = text_program(text);
  char *got = text_form_printed(program);
  ck_assert_ptr_nonnull(strstr(got, "%23 = \"stablehlo.add\"(%20, %20)"));
  ck_assert_ptr_nonnull(strstr(got, "%24, %25, %26 = \"my.op\"(%0, %23)"));
  ck_assert_ptr_nonnull(strstr(got, "\"my.op\"(%24, %24, %25, %26)"));
  free(got);
  halo_mlir_program_release(program);
  free(text);
}
END_TEST

START_TEST(locations_and_aliases) {
  expect_program(
      "#loc1 = loc(\"x\")\n"
      "!t = tensor<2xf32>\n"
      "func.func @main(%a: !t loc(#loc1)) -> !t {\n"
      "  %0 = stablehlo.negate %a : !t loc(#loc5)\n"
      "  %1 = stablehlo.negate %0 : !t loc(\"f.py\":3:7 to :9)\n"
      "  %2 = stablehlo.negate %1 {k = #k} : !t loc(fused<\"meta\">[#loc1, \"g.py\":1:2 to 3:4])\n"
      "  %3 = stablehlo.negate %2 : !t loc(\"n\"(callsite(#loc1 at #loc2)))\n"
      "  %4 = stablehlo.negate %3 : !t loc(unknown)\n"
      "  return %4 : !t loc(#unknown)\n"
      "} loc(#loc2)\n"
      "#k = array<i64: 1>\n"
      "#unknown = loc(unknown)\n"
      "#loc2 = loc(\"f.py\":2:1)\n"
      "#loc5 = loc(\"jit(f)/neg\"(#loc2))\n",
      MLIR_PRINT_LOCATIONS,
      "\"builtin.module\"() ({\n"
      "  \"func.func\"() ({\n"
      "  ^bb0(%0: tensor<2xf32> loc(\"x\")):\n"
      "    %1 = \"stablehlo.negate\"(%0) : (tensor<2xf32>) -> tensor<2xf32> "
      "loc(\"jit(f)/neg\"(\"f.py\":2:1))\n"
      "    %2 = \"stablehlo.negate\"(%1) : (tensor<2xf32>) -> tensor<2xf32> loc(\"f.py\":3:7)\n"
      "    %3 = \"stablehlo.negate\"(%2) {k = array<i64: 1>} : (tensor<2xf32>) -> tensor<2xf32> "
      "loc(\"x\"(\"g.py\":1:2))\n"
      "    %4 = \"stablehlo.negate\"(%3) : (tensor<2xf32>) -> tensor<2xf32> "
      "loc(\"n\"(\"f.py\":2:1))\n"
      "    %5 = \"stablehlo.negate\"(%4) : (tensor<2xf32>) -> tensor<2xf32>\n"
      "    \"func.return\"(%5) : (tensor<2xf32>) -> ()\n"
      "  }) {function_type = (tensor<2xf32>) -> (tensor<2xf32>), sym_name = \"main\"} : () -> () "
      "loc(\"f.py\":2:1)\n"
      "}) : () -> ()\n");
}
END_TEST

START_TEST(operations_know_their_lines) {
  halo_mlir_program *program = text_program(
      "module {\n  func.func @main() {\n\n    %0 =\n stablehlo.replica_id : "
      "tensor<ui32>\n return }\n}\n");
  halo_mlir_op *function = mlir_function(program, "main");
  ck_assert_int_eq(function->line, 2);
  ck_assert_int_eq(function->regions[0].block->ops.data[0]->line, 5);
  ck_assert_int_eq(function->regions[0].block->ops.data[1]->line, 6);
  halo_mlir_program_release(program);
}
END_TEST

/* ---- Size and memory ---- */

START_TEST(long_programs_take_linear_time) {
  halo_strbuf text = {0};
  halo_strbuf_append(&text,
                     "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n%0 = "
                     "stablehlo.negate %x : tensor<4xf32>\n");
  enum { OPS = 100000 };
  for (int i = 1; i < OPS; i++)
    halo_strbuf_printf(&text, "%%%d = stablehlo.add %%%d, %%%d : tensor<4xf32> loc(#loc%d)\n", i,
                       i - 1, i / 2, i % 1000);
  halo_strbuf_printf(&text, "return %%%d : tensor<4xf32>\n}\n", OPS - 1);
  for (int i = 0; i < 1000; i++) halo_strbuf_printf(&text, "#loc%d = loc(\"f.py\":%d:1)\n", i, i);
  clock_t start = clock();
  halo_mlir_program *program = text_program(halo_strbuf_text(&text));
  double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
  ck_assert_int_eq(mlir_function(program, "main")->regions[0].block->ops.count, OPS + 1);
  ck_assert_double_lt(seconds, 10); /* a fraction of a second without sanitizers */
  halo_mlir_program_release(program);
  halo_strbuf_deinit(&text);
}
END_TEST

START_TEST(no_memory_is_a_status) {
  char *text = slurp("reductions.mlir");
  size_t size = strlen(text);
  halo_status status = HALO_OUT_OF_MEMORY;
  for (int64_t n = 1; status != HALO_OK; n++) {
    halo_mlir_program *program = NULL;
    halo_memory_fail(n);
    status = halo_mlir_read_text(text, size, "t", &program);
    halo_memory_fail(0);
    if (status == HALO_OK) {
      halo_mlir_program_release(program);
    } else {
      ck_assert_int_eq(status, HALO_OUT_OF_MEMORY);
      ck_assert_ptr_null(program);
    }
  }
  free(text);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("stablehlo_text");
  TCase *tests = tcase_create("text");
  tcase_set_timeout(tests, 300);
  tcase_add_test(tests, each_form_is_read);
  tcase_add_test(tests, text_and_artifact_are_one_program);
  tcase_add_test(tests, modules_and_functions);
  tcase_add_test(tests, forms_of_modules);
  tcase_add_test(tests, other_texts_are_told_apart);
  tcase_add_test(tests, names_belong_to_regions);
  tcase_add_test(tests, locations_and_aliases);
  tcase_add_test(tests, operations_know_their_lines);
  tcase_add_test(tests, long_programs_take_linear_time);
  tcase_add_test(tests, no_memory_is_a_status);
  suite_add_tcase(suite, tests);
  return suite_run(suite);
}
