/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_stablehlo_einsum.c: sums that einsum writes down, by XLA's results, and those that are refused. */
#include "stablehlo_test.h"
#include "suite.h"

#include <stdlib.h>

/* Shapes of the operands, which hold 1, 2, 3, ..., and of the result. */
static const struct {
  const char *config, *lhs, *rhs, *out, *expected;
} rows[] = {
    {"...ij,...jk->...ik", "2x1x2x", "2x2x2x", "2x1x2x", "{ { { 7, 10 } }, { { 43, 50 } } }"},
    {"...ij,jk->...ik", "2x1x2x", "2x2x", "2x1x2x", "{ { { 7, 10 } }, { { 15, 22 } } }"},
    {"...ij,...jk->...ik", "1x2x", "2x2x1x", "2x1x1x", "{ { {5} }, { {11} } }"},
    {"...ij,...jk->ik...", "1x1x2x", "3x2x2x", "1x2x3x", "{ { { 7, 19, 31 }, { 10, 22, 34 } } }"},
    {"...,...->...", "2x3x", "3x", "2x3x", "{ { 1, 4, 9 }, { 4, 10, 18 } }"},
    {"ij,jk->k", "2x2x", "2x3x", "3x", "{28, 38, 48}"},
    {"ij,kl->il", "2x3x", "3x2x", "2x2x", "{ { 54, 72 }, { 135, 180 } }"},
    {"ii,i->i", "2x2x", "2x", "2x", "{1, 8}"},
    {"iii,i->i", "2x2x2x", "2x", "2x", "{1, 16}"},
    {"ij,jk", "1x2x", "2x3x", "1x3x", "{ { 9, 12, 15 } }"},
    {"ba,b", "2x3x", "2x", "3x", "{9, 12, 15}"},
    {"ij,jk->iik", "2x2x", "2x1x", "2x2x1x", "{ { {5}, {0} }, { {0}, {11} } }"},
    {"ij,ij->j", "2x3x", "1x3x", "3x", "{5, 14, 27}"},
    {"ij,ij->i", "2x1x", "2x3x", "2x", "{6, 30}"},
    {"iji,j->iij", "2x2x2x", "2x", "2x2x2x", "{ { { 1, 6 }, { 0, 0 } }, { { 0, 0 }, { 6, 16 } } }"},
    {"ij,jk->ki", "2x2x", "2x2x", "2x2x", "{ { 7, 15 }, { 10, 22 } }"},
    {",ij->ji", "", "2x3x", "3x2x", "{ { 1, 4 }, { 2, 5 }, { 3, 6 } }"},
    {"Ij,jK->IK", "1x2x", "2x2x", "1x2x", "{ { 7, 10 } }"},
    {"ij,jk->", "2x2x", "2x2x", "", "54"},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static char *program(const char *config, const char *lhs, const char *rhs, const char *type,
                     const char *out, const char *made) {
  enum { ROOM = 1024 };
  char *text = malloc(ROOM);
  snprintf(text, ROOM,
           "func.func @main(%%a: tensor<%s%s>, %%b: tensor<%s%s>) -> tensor<%s%s> {\n"
           "%%0 = stablehlo.einsum %%a, %%b, config = \"%s\" : (tensor<%s%s>, tensor<%s%s>) -> "
           "tensor<%s%s>\nreturn %%0 : tensor<%s%s>\n}\n",
           lhs, type, rhs, type, out, made, config, lhs, type, rhs, type, out, made, out, made);
  return text;
}

START_TEST(sums) {
  char *text = program(rows[_i].config, rows[_i].lhs, rows[_i].rhs, "i32", rows[_i].out, "i32");
  halo_module *module = read_text(text);
  free(text);
  halo_literal *values[2], *result;
  for (int i = 0; i < 2; i++) {
    ck_assert_int_eq(halo_literal_create(module->entry_params[i], &values[i]), HALO_OK);
    int64_t count = halo_shape_element_count(values[i]->shape);
    for (int64_t e = 0; e < count; e++) halo_literal_set_i64(values[i], e, e + 1);
  }
  ck_assert_int_eq(halo_evaluate(module->entry, values, 2, &result), HALO_OK);
  ck_assert_int_eq(halo_literal_to_text(result, &text), HALO_OK);
  ck_assert_msg(strcmp(text, rows[_i].expected) == 0, "%s: %s, not %s", rows[_i].config, text,
                rows[_i].expected);
  halo_text_release(text);
  halo_literal_release(result);
  for (int i = 0; i < 2; i++) halo_literal_release(values[i]);
  halo_module_release(module);
}
END_TEST

/* The product has the type that is declared, not that of its operands. */
START_TEST(wider_results) {
  static const char *const types[][2] = {{"i4", "i8"}, {"i8", "i16"}, {"bf16", "f32"}};
  static const char *const args[] = {"{ { 1, 7 } }", "{ { 1 }, { 7 } }"};
  for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
    char *text = program("ab,bc->ac", "1x2x", "2x1x", types[i][0], "1x1x", types[i][1]);
    halo_module *module = read_text(text);
    check_result(module, args, "{ {50} }", types[i][0]);
    halo_module_release(module);
    free(text);
  }
}
END_TEST

START_TEST(refusals) {
  static const struct {
    const char *config, *lhs, *rhs, *out, *part;
  } bad[] = {
      {"ij,jk->iz", "2x2x", "2x2x", "2x2x", "names a dimension of the result that no operand has"},
      {"ijk,jk->i", "2x2x", "2x2x", "2x", "does not fit the operands"},
      {"ij jk->ik", "2x2x", "2x2x", "2x2x", "does not fit the operands"},
      {"ij,j1->i1", "2x2x", "2x2x", "2x2x", "does not fit the operands"},
      {"ij...,jk->ik", "2x", "2x2x", "2x2x", "does not fit the operands"},
      {"......ij,jk->ik", "2x2x", "2x2x", "2x2x", "does not fit the operands"},
      {"ii,i->i", "2x3x", "2x", "2x", "extents 2 and 3 have one label"},
      {"ij,jk->ik", "2x2x", "3x2x", "2x2x", "dot(s32[2,2], s32[3,2])"},
      {"", "2x2x", "2x2x", "2x2x", "does not fit the operands"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    char *text = program(bad[i].config, bad[i].lhs, bad[i].rhs, "i32", bad[i].out, "i32");
    refuse(text, NULL, HALO_INVALID_ARGUMENT, bad[i].part);
    free(text);
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("stablehlo_einsum");
  TCase *tests = tcase_create("translation");
  tcase_add_loop_test(tests, sums, 0, ROWS);
  tcase_add_test(tests, wider_results);
  tcase_add_test(tests, refusals);
  suite_add_tcase(suite, tests);
  return suite_run(suite);
}
