/* SPDX-License-Identifier: Apache-2.0 */
/* Passes: golden modules before and after, exact change reports, unchanged values, the pipeline.
 *
 * tests/golden/passes/NAME.hlo begins with a line "// passes: a, b, c" (or "all": the whole table, or
 * "required": what no_optimization leaves of it); NAME.out holds the module afterwards. With
 * HALO_UPDATE_GOLDEN=1 in the environment the .out files are written instead of compared. */
#include "base/memory.h"
#include "base/strbuf.h"
#include "passes/passes.h"
#include "suite.h"
#include "text/text.h"
#include "values.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GOLDEN_DIR HALO_TEST_DATA "/../golden/passes"

static const struct {
  const char *name;
  halo_pass_fn *run;
} passes[] = {
    {"inline-calls", halo_pass_inline_calls},
    {"canonicalize", halo_pass_canonicalize},
    {"inline-map", halo_pass_inline_map},
    {"drop-barriers", halo_pass_drop_barriers},
    {"tuples", halo_pass_tuples},
    {"while-state", halo_pass_while_state},
    {"loop-sums", halo_pass_loop_sums},
    {"branch-updates", halo_pass_branch_updates},
    {"unroll", halo_pass_unroll},
    {"hoist", halo_pass_hoist},
    {"simplify", halo_pass_simplify},
    {"constant-folding", halo_pass_constant_folding},
    {"cse", halo_pass_cse},
    {"dce", halo_pass_dce},
    {"convs", halo_pass_convs},
    {"split", halo_pass_split},
    {"order", halo_pass_order},
    {"rectify", halo_pass_rectify},
    {"placed-updates", halo_pass_placed_updates},
    {"scores", halo_pass_scores},
    {"accuracy", halo_pass_accuracy},
};

/* ---- Files and text ---- */

static char *read_text(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  halo_strbuf text = {0};
  char block[4096];
  size_t n;
  while ((n = fread(block, 1, sizeof block, file)) > 0) halo_strbuf_append_n(&text, block, n);
  fclose(file);
  return halo_strbuf_take(&text);
}

static halo_module *parse(const char *text, const char *name) {
  halo_module *module = NULL;
  halo_status status = halo_module_parse(text, strlen(text), name, &module);
  ck_assert_msg(status == HALO_OK, "%s", halo_error_message());
  return module;
}

static char *print(const halo_module *module) {
  halo_strbuf text = {0};
  halo_module_print(&text, module, HALO_PRINT_SHORT);
  return halo_strbuf_take(&text);
}

/* ---- Golden modules ---- */

/* Runs the passes that the first line names; each must verify, and change nothing when run again. */
static void run_listed(halo_module *module, const char *text, const char *name) {
  static const char prefix[] = "// passes: ";
  ck_assert_msg(strncmp(text, prefix, strlen(prefix)) == 0, "%s lacks its first line", name);
  size_t length = strcspn(text, "\n");
  const char *end = text + length;
  for (const char *p = text + strlen(prefix); p < end; p += strspn(p, ", ")) {
    size_t item = strcspn(p, ", \n");
    bool all = strncmp(p, "all", item) == 0, required = strncmp(p, "required", item) == 0;
    if (all || required) {
      halo_pass_options options = {.no_optimization = required, .no_fusion = true};
      ck_assert_msg(halo_passes_run(module, &options) == HALO_OK, "%s: %s", name,
                    halo_error_message());
      p += item;
      continue;
    }
    halo_pass_fn *run = NULL;
    for (size_t i = 0; i < sizeof passes / sizeof passes[0]; i++) {
      if (strlen(passes[i].name) == item && strncmp(passes[i].name, p, item) == 0) {
        run = passes[i].run;
      }
    }
    ck_assert_msg(run != NULL, "%s names an unknown pass", name);
    for (int round = 0; round < 20; round++) {
      bool changed;
      char *before = print(module);
      ck_assert_msg(run(module, &changed) == HALO_OK, "%s: %s", name, halo_error_message());
      char *after = print(module);
      ck_assert_msg(changed == (strcmp(before, after) != 0), "%s: %.*s says changed = %d", name,
                    (int)item, p, changed);
      halo_free(before);
      halo_free(after);
      ck_assert_msg(halo_module_verify(module) == HALO_OK, "%s after %.*s: %s", name, (int)item, p,
                    halo_error_message());
      if (!changed) break;
      ck_assert_msg(round < 19, "%s: %.*s does not come to rest", name, (int)item, p);
    }
    p += item;
  }
}

static void check_golden(const char *name) {
  char path[1024];
  snprintf(path, sizeof path, "%s/%s", GOLDEN_DIR, name);
  char *text = read_text(path);
  ck_assert_msg(text != NULL, "cannot read %s", path);
  halo_module *before = parse(text, name), *after = halo_module_clone(before);
  run_listed(after, text, name);
  check_same_meaning(before, after, name, 1e-6);

  halo_module *whole;
  halo_pass_options options = {0};
  ck_assert_msg(halo_module_optimize(before, &options, &whole) == HALO_OK, "%s: %s", name,
                halo_error_message());
  check_same_meaning(before, whole, name, 1e-6);
  halo_module_release(whole);

  char *result = print(after);
  snprintf(path + strlen(path) - 3, 4, "out");
  if (getenv("HALO_UPDATE_GOLDEN")) {
    FILE *file = fopen(path, "wb");
    ck_assert_msg(file != NULL, "cannot write %s", path);
    fputs(result, file);
    fclose(file);
  } else {
    char *expected = read_text(path);
    ck_assert_msg(expected && strcmp(result, expected) == 0,
                  "%s differs from %s (HALO_UPDATE_GOLDEN=1 to accept):\n%s", name, path, result);
    halo_free(expected);
  }
  halo_free(result);
  halo_free(text);
  halo_module_release(before);
  halo_module_release(after);
}

/* Breaks the module behind the passes' back. */
static void break_root(void *user, const char *pass, const halo_module *module) {
  (void)user, (void)pass;
  halo_instr *root = module->entry->root;
  root->shape = module->entry->params.data[1]->shape;
}

/* A broken module is an error, whatever is compiled next. */
START_TEST(broken) {
  static const char text[] =
      "HloModule m\nENTRY e {\n  x = f32[3] parameter(0)\n  y = f16[3] parameter(1)\n"
      "  z = f32[3] copy(x)\n  ROOT s = f32[3] add(z, y)\n}\n";
  halo_module *before = parse(text, "broken"), *after;
  halo_pass_options options = {.dump = break_root};
  ck_assert_int_eq(halo_module_optimize(before, &options, &after), HALO_INTERNAL);
  ck_message_has("the module is broken after pass");
  options.no_verify = true;
  ck_assert_int_eq(halo_module_optimize(before, &options, &after), HALO_OK);
  halo_module_release(after);
  halo_module_release(before);
}
END_TEST

/* Extents that nothing bounds are refused with the place. */
START_TEST(bounds) {
  static const struct {
    const char *text, *why;
  } cases[] = {
      {"HloModule m\nENTRY e {\n  a = f32[?] parameter(0)\n  ROOT r = f32[3] reshape(a)\n}\n",
       "line 3: a: f32[?] has a dimension without a bound"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    halo_module *module = parse(cases[i].text, "bounds"), *after;
    ck_assert_int_eq(halo_module_optimize(module, NULL, &after), HALO_UNIMPLEMENTED);
    ck_message_has(cases[i].why);
    halo_module_release(module);
  }
}
END_TEST

/* What follows a parameter that comes after something comes after that. */
START_TEST(ordered_parameters) {
  halo_module *module = parse(
      "HloModule m\nENTRY e {\n  p0 = f32[4] parameter(0)\n  a = f32[4] negate(p0)\n"
      "  p1 = f32[4] parameter(1), control-predecessors={a}\n  u = f32[4] sine(p1)\n"
      "  v = f32[4] cosine(p0), control-predecessors={p1}\n"
      "  ROOT r = (f32[4], f32[4], f32[4]) tuple(a, u, v)\n}\n",
      "ordered");
  halo_module *after;
  ck_assert_msg(halo_module_optimize(module, NULL, &after) == HALO_OK, "%s", halo_error_message());
  int ordered = 0;
  for (int32_t i = 0; i < after->entry->instrs.count; i++) {
    const halo_instr *instr = after->entry->instrs.data[i];
    if (instr->opcode == HALO_OP_PARAMETER) ck_assert_int_eq(instr->control_pred_count, 0);
    ordered += instr->opcode == HALO_OP_FUSION && instr->control_pred_count > 0;
  }
  ck_assert_int_eq(ordered, 2);
  halo_module_release(after);
  halo_module_release(module);
}
END_TEST

START_TEST(golden_modules) {
  DIR *folder = opendir(GOLDEN_DIR);
  ck_assert_ptr_nonnull(folder);
  int count = 0;
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    size_t length = strlen(entry->d_name);
    if (length < 5 || strcmp(entry->d_name + length - 4, ".hlo") != 0) continue;
    check_golden(entry->d_name);
    count++;
  }
  closedir(folder);
  ck_assert_int_gt(count, 15);
}
END_TEST

/* ---- The pipeline ---- */

static const char small_text[] =
    "HloModule m\n"
    "f { p = f32[4] parameter(0)  one = f32[4] constant({1,1,1,1})  ROOT m = multiply(p, one) }\n"
    "ENTRY e { x = f32[4] parameter(0)  ROOT c = f32[4] call(x), to_apply=f }\n";

static void note_pass(void *user, const char *pass, const halo_module *module) {
  ck_assert_int_eq(halo_module_verify(module), HALO_OK);
  halo_strbuf_printf(user, "%s ", pass);
}

START_TEST(options_choose_passes) {
  static const struct {
    halo_pass_options options;
    const char *ran;
    halo_opcode root;
  } cases[] = {
      {{0}, "inline-calls dce simplify dce ", HALO_OP_PARAMETER},
      {{.no_optimization = true}, "inline-calls dce ", HALO_OP_MULTIPLY},
      {{.disabled = "simplify,cse"}, "inline-calls dce ", HALO_OP_MULTIPLY},
      {{.disabled = "inline-calls, cse"}, "simplify dce ", HALO_OP_CALL},
  };
  halo_module *module = parse(small_text, "small");
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    halo_strbuf ran = {0};
    halo_pass_options options = cases[i].options;
    options.dump = note_pass;
    options.user = &ran;
    options.no_fusion = true;
    halo_module *after;
    ck_assert_int_eq(halo_module_optimize(module, &options, &after), HALO_OK);
    ck_assert_str_eq(halo_strbuf_text(&ran), cases[i].ran);
    ck_assert_int_eq(after->entry->root->opcode, cases[i].root);
    halo_strbuf_deinit(&ran);
    halo_module_release(after);
  }
  ck_assert_int_eq(module->entry->root->opcode, HALO_OP_CALL);
  halo_module_release(module);
}
END_TEST

START_TEST(unknown_pass_names_are_refused) {
  halo_module *module = parse(small_text, "small"), *after;
  halo_pass_options options = {.disabled = "cse,simplfy"};
  ck_assert_int_eq(halo_module_optimize(module, &options, &after), HALO_INVALID_ARGUMENT);
  ck_assert_ptr_null(after);
  ck_assert_ptr_nonnull(strstr(halo_error_message(), "\"simplfy\""));
  ck_assert_ptr_nonnull(strstr(halo_error_message(), "constant-folding"));
  ck_assert_int_eq(halo_module_optimize(NULL, NULL, &after), HALO_INVALID_ARGUMENT);
  halo_module_release(module);
}
END_TEST

START_TEST(passes_are_listed_once) {
  int count = 0;
  for (const char *name; (name = halo_pass_name(count)) != NULL; count++) {
    ck_assert_ptr_nonnull(halo_pass_description(count));
    for (int i = 0; i < count; i++) ck_assert_str_ne(halo_pass_name(i), name);
  }
  ck_assert_int_ge(count, (int)(sizeof passes / sizeof passes[0]));
  ck_assert_ptr_null(halo_pass_name(-1));
  ck_assert_ptr_null(halo_pass_description(count));
}
END_TEST

/* Doubling calls 40 deep would make 2^40 instructions. */
START_TEST(explosive_calls_are_refused) {
  halo_strbuf text = {0};
  halo_strbuf_append(&text, "HloModule m\nf0 { p = f32[] parameter(0)  ROOT n = negate(p) }\n");
  for (int i = 1; i <= 40; i++) {
    halo_strbuf_printf(&text,
                       "f%d { p = f32[] parameter(0)  a = f32[] call(p), to_apply=f%d\n"
                       "  ROOT b = f32[] call(a), to_apply=f%d }\n",
                       i, i - 1, i - 1);
  }
  halo_strbuf_append(&text,
                     "ENTRY e { x = f32[] parameter(0)  ROOT c = f32[] call(x), to_apply=f40 }\n");
  halo_module *module = parse(halo_strbuf_text(&text), "deep"), *after;
  ck_assert_int_eq(halo_module_optimize(module, NULL, &after), HALO_UNIMPLEMENTED);
  ck_assert_ptr_nonnull(strstr(halo_error_message(), "f20 has more than 4194304 instructions"));
  halo_module_release(module);
  halo_strbuf_deinit(&text);
}
END_TEST

/* Conditionals nested 60 deep whose branches are all the same computation: 2^60 paths to walk, and
 * with known selectors 2^60 copies to make. Neither may take long. */
START_TEST(shared_branches_are_quick) {
  for (int known = 0; known < 2; known++) {
    halo_strbuf text = {0};
    halo_strbuf_append(&text, "HloModule m\nf0 { p = f32[] parameter(0)  ROOT n = negate(p) }\n");
    for (int i = 1; i < 60; i++) {
      halo_strbuf_printf(
          &text,
          "f%d { p = f32[] parameter(0)  q = s32[] %s\n"
          "  a = f32[] conditional(q, p, p), branch_computations={f%d, f%d}\n"
          "  ROOT b = f32[] conditional(q, a, a), branch_computations={f%d, f%d} }\n",
          i, known ? "constant(1)" : "convert(p)", i - 1, i - 1, i - 1, i - 1);
    }
    halo_strbuf_append(&text,
                       "ENTRY e { x = f32[] parameter(0)  i = s32[] parameter(1)\n"
                       "  dead = f32[] conditional(i, x, x), branch_computations={f58, f59}\n"
                       "  ROOT c = f32[] call(x), to_apply=f59 }\n");
    halo_module *module = parse(halo_strbuf_text(&text), "shared"), *after;
    halo_pass_options options = {.no_fusion = true};
    ck_assert_msg(halo_module_optimize(module, &options, &after) == HALO_OK, "%s",
                  halo_error_message());
    halo_module_release(after);
    halo_module_release(module);
    halo_strbuf_deinit(&text);
  }
}
END_TEST

/* A long chain with a replacement at each link stays near linear. */
START_TEST(large_modules_are_quick) {
  enum { LINKS = 50000 };
  halo_strbuf text = {0};
  halo_strbuf_append(&text,
                     "HloModule m\nENTRY e {\n x0 = f32[4] parameter(0)\n"
                     " one = f32[] constant(1)\n ones = f32[4] broadcast(one), dimensions={}\n");
  for (int i = 1; i <= LINKS; i++) {
    if (i % 2) {
      halo_strbuf_printf(&text, " x%d = f32[4] multiply(x%d, ones)\n", i, i - 1);
    } else {
      halo_strbuf_printf(&text, " x%d = f32[4] add(x%d, x%d)\n", i, i - 1, i - 2);
    }
  }
  halo_strbuf_append(&text, "}\n");
  halo_module *module = parse(halo_strbuf_text(&text), "long"), *after;
  halo_pass_options options = {.no_fusion = true};
  ck_assert_int_eq(halo_module_optimize(module, &options, &after), HALO_OK);
  ck_assert_int_eq(after->entry->instrs.count, LINKS / 2 + 1);
  halo_module_release(after);
  ck_assert_int_eq(halo_module_optimize(module, NULL, &after), HALO_OK);
  halo_module_release(after);
  halo_module_release(module);
  halo_strbuf_deinit(&text);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("passes");
  TCase *tcase = tcase_create("passes");
  tcase_set_timeout(tcase, 60);
  tcase_add_test(tcase, golden_modules);
  tcase_add_test(tcase, broken);
  tcase_add_test(tcase, bounds);
  tcase_add_test(tcase, ordered_parameters);
  tcase_add_test(tcase, options_choose_passes);
  tcase_add_test(tcase, unknown_pass_names_are_refused);
  tcase_add_test(tcase, passes_are_listed_once);
  tcase_add_test(tcase, explosive_calls_are_refused);
  tcase_add_test(tcase, shared_branches_are_quick);
  tcase_add_test(tcase, large_modules_are_quick);
  suite_add_tcase(suite, tcase);
  return suite_run(suite);
}
