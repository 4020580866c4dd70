/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_stress.c: programs of a hundred thousand instructions from text to plan, on a device
 * that is not there: that it works, and that the time grows with the size and no faster. */
#include "../../tools/bench/scale_forms.h"
#include "halo/passes.h"
#include "run_test.h"
#include "suite.h"

#include <time.h>

/* A file that says nothing describes a plain device. */
#define PLAIN_DEVICE "null:/dev/null"

/* Of the processor: tests run beside each other. */
static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static halo_executable *compile_form(halo_client *client, const char *form, int count) {
  size_t length;
  char *text = scale_form_text(form, count, &length);
  halo_module *module;
  halo_executable *executable;
  ck_assert_ptr_nonnull(text);
  ck_assert_msg(halo_module_parse(text, length, form, &module) == HALO_OK, "%s",
                halo_error_message());
  ck_assert_msg(halo_client_compile(client, module, NULL, &executable) == HALO_OK, "%s: %s", form,
                halo_error_message());
  halo_module_release(module);
  free(text);
  return executable;
}

/* ---- Growth ---- */

static double seconds_of(halo_client *client, const char *form, int count) {
  double best = 1e9;
  for (int i = 0; i < 2; i++) {
    double start = seconds_now();
    halo_executable_release(compile_form(client, form, count));
    double seconds = seconds_now() - start;
    if (seconds < best) best = seconds;
  }
  return best;
}

/* Four times the size takes sixteen times as long where something is quadratic, and little more than
 * four times where nothing is; the constant is for what caches do. */
START_TEST(grows_with_size) {
  halo_client *client = run_client(PLAIN_DEVICE);
  const char *form = scale_form_at(_i)->name;
  double small = seconds_of(client, form, 8000), large = seconds_of(client, form, 32000);
  ck_assert_msg(large < 8 * small + 0.1, "%s: %.3f s for 8000 instructions, %.3f s for 32000", form,
                small, large);
  halo_client_release(client);
}
END_TEST

/* ---- Sizes that took minutes once, or did not end well ---- */

static const struct {
  const char *form;
  int count;   /* instructions */
  int results; /* that the program then has */
} large_programs[] = {
    {"equal", 200000, 200000}, {"different", 75000, 25000}, {"state", 100000, 25000},
    {"tape", 30000, 29999},    {"chain", 100000, 1},        {"concat", 8000, 1},
};

START_TEST(large_program) {
  halo_client *client = run_client(PLAIN_DEVICE);
  halo_executable *e = compile_form(client, large_programs[_i].form, large_programs[_i].count);
  ck_assert_int_eq(halo_executable_result_count(e), large_programs[_i].results);
  ck_assert_ptr_nonnull(strstr(halo_executable_report(e, HALO_REPORT_PLAN), "plan scale: "));
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

/* What is printed is read again, and is the same. */
START_TEST(large_text) {
  size_t length;
  char *text = scale_form_text("wide", 30000, &length), *printed, *again;
  halo_module *module, *read;
  ck_ok(halo_module_parse(text, length, "wide", &module));
  ck_ok(halo_module_to_text(module, 0, &printed));
  ck_ok(halo_module_parse(printed, strlen(printed), "again", &read));
  ck_ok(halo_module_to_text(read, 0, &again));
  ck_assert_int_eq(strcmp(printed, again), 0);
  halo_text_release(printed);
  halo_text_release(again);
  halo_module_release(module);
  halo_module_release(read);
  free(text);
}
END_TEST

/* ---- Depth ---- */

/* Loops in one another, of which the inner ones fit a kernel and the outer ones are steps: x + depth. */
static char *nested_loops(int depth) {
  char *text;
  size_t length;
  FILE *out = open_memstream(&text, &length);
  fputs(
      "HloModule nested\n"
      "b0 {\n  p = (s32[], s32[]) parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n"
      "  x = s32[] get-tuple-element(p), index=1\n  one = s32[] constant(1)\n"
      "  n = s32[] add(i, one)\n  y = s32[] add(x, one)\n"
      "  ROOT r = (s32[], s32[]) tuple(n, y)\n}\n"
      /* i < x + 1 - x, which nobody finds out beforehand */
      "c {\n  p = (s32[], s32[]) parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n"
      "  x = s32[] get-tuple-element(p), index=1\n  one = s32[] constant(1)\n"
      "  m = s32[] add(x, one)\n  s = s32[] subtract(m, x)\n"
      "  ROOT r = pred[] compare(i, s), direction=LT\n}\n",
      out);
  for (int i = 1; i < depth; i++) {
    fprintf(out,
            "b%d {\n  p = (s32[], s32[]) parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n"
            "  x = s32[] get-tuple-element(p), index=1\n  one = s32[] constant(1)\n"
            "  zero = s32[] constant(0)\n  t = (s32[], s32[]) tuple(zero, x)\n"
            "  w = (s32[], s32[]) while(t), condition=c, body=b%d\n  n = s32[] add(i, one)\n"
            "  y = s32[] get-tuple-element(w), index=1\n  z = s32[] add(y, one)\n"
            "  ROOT r = (s32[], s32[]) tuple(n, z)\n}\n",
            i, i - 1);
  }
  fprintf(out,
          "ENTRY e {\n  x = s32[] parameter(0)\n  zero = s32[] constant(0)\n"
          "  t = (s32[], s32[]) tuple(zero, x)\n"
          "  w = (s32[], s32[]) while(t), condition=c, body=b%d\n"
          "  ROOT y = s32[] get-tuple-element(w), index=1\n}\n",
          depth - 1);
  fclose(out);
  return text;
}

START_TEST(nested_loops_run) {
  static const int depths[] = {30, 400};
  char *text = nested_loops(depths[_i]);
  const int32_t x = 7;
  halo_client *client = run_client(NULL);
  halo_executable *e = run_compile(client, text);
  halo_literal *argument, *result;
  ck_ok(halo_literal_create_array(HALO_S32, 0, NULL, &x, &argument));
  ck_ok(halo_executable_run(e, &argument, 1, &result));
  ck_assert_int_eq(halo_literal_get_i64(result, 0), 7 + depths[_i]);
  halo_literal_release(argument);
  halo_literal_release(result);
  halo_executable_release(e);
  halo_client_release(client);
  free(text);
}
END_TEST

START_TEST(too_deep) {
  char *text = nested_loops(600);
  halo_module *module;
  ck_fails(halo_module_parse(text, strlen(text), "deep", &module), HALO_INVALID_ARGUMENT,
           "computations call each other more than 500 deep");
  free(text);
}
END_TEST

/* Computations that call the one before them twice: a short text, and 2^depth places. */
static const struct {
  const char *first, *next; /* `next`: with its own number and twice that of the one before */
} shared_forms[] = {
    /* branches over arrays, which are steps */
    {"f0 {\n  ROOT x = f32[64] parameter(0)\n}\n",
     "f%d {\n  x = f32[64] parameter(0)\n  s = f32[1] slice(x), slice={[0:1]}\n"
     "  f = f32[] reshape(s)\n  c = pred[] is-finite(f)\n  y = f32[64] sine(x)\n"
     "  ROOT r = f32[64] conditional(c, x, y), true_computation=f%d, false_computation=f%d\n}\n"},
    /* branches over scalars, which are parts of a kernel */
    {"f0 {\n  ROOT x = f32[] parameter(0)\n}\n",
     "f%d {\n  x = f32[] parameter(0)\n  c = pred[] is-finite(x)\n  y = f32[] sine(x)\n"
     "  ROOT r = f32[] conditional(c, x, y), true_computation=f%d, false_computation=f%d\n}\n"},
    {"f0 {\n  x = f32[] parameter(0)\n  ROOT y = f32[] sine(x)\n}\n",
     "f%d {\n  x = f32[] parameter(0)\n  y = f32[] map(x), to_apply=f%d\n"
     "  ROOT r = f32[] map(y), to_apply=f%d\n}\n"},
    {"f0 {\n  x = f32[] parameter(0)\n  ROOT y = f32[] sine(x)\n}\n",
     "f%d {\n  x = f32[] parameter(0)\n  y = f32[] call(x), to_apply=f%d\n"
     "  ROOT r = f32[] call(y), to_apply=f%d\n}\n"},
};
enum { SHARED_ARRAYS, SHARED_SCALARS, SHARED_FORMS = sizeof shared_forms / sizeof *shared_forms };

static halo_status compile_shared(halo_client *client, int form, int depth, halo_executable **out) {
  char *text;
  size_t length;
  FILE *file = open_memstream(&text, &length);
  fprintf(file, "HloModule shared\n%s", shared_forms[form].first);
  for (int i = 1; i <= depth; i++) fprintf(file, shared_forms[form].next, i, i - 1, i - 1);
  const char *type = form == SHARED_ARRAYS ? "f32[64]" : "f32[]";
  fprintf(file, "ENTRY e {\n  x = %s parameter(0)\n  ROOT r = %s call(x), to_apply=f%d\n}\n", type,
          type, depth);
  fclose(file);
  halo_status status = run_try_compile(client, text, NULL, out);
  free(text);
  return status;
}

START_TEST(too_many_places) {
  halo_client *client = run_client(PLAIN_DEVICE);
  halo_executable *e;
  ck_fails(compile_shared(client, _i, 40, &e), HALO_UNIMPLEMENTED,
           "more than 4194304 instructions");
  halo_client_release(client);
}
END_TEST

/* A kernel has no more of these branches than compilers bear: those around it are steps. */
START_TEST(branches_in_kernels_are_few) {
  halo_client *client = run_client(PLAIN_DEVICE);
  halo_executable *e;
  ck_ok(compile_shared(client, SHARED_SCALARS, 14, &e));
  ck_assert_uint_lt(strlen(halo_executable_report(e, HALO_REPORT_SOURCE)), 1 << 20);
  halo_executable_release(e);
  halo_client_release(client);
}
END_TEST

int main(void) {
  int forms = 0;
  while (scale_form_at(forms)) forms++;
  Suite *suite = suite_create("stress");
  TCase *growth = tcase_create("growth"), *large = tcase_create("large");
  tcase_set_timeout(growth, 240);
  tcase_set_timeout(large, 240);
  tcase_add_loop_test(growth, grows_with_size, 0, forms);
  tcase_add_loop_test(large, large_program, 0,
                      (int)(sizeof large_programs / sizeof large_programs[0]));
  tcase_add_test(large, large_text);
  tcase_add_loop_test(large, nested_loops_run, 0, 2);
  tcase_add_test(large, too_deep);
  tcase_add_loop_test(large, too_many_places, 0, SHARED_FORMS);
  tcase_add_test(large, branches_in_kernels_are_few);
  suite_add_tcase(suite, growth);
  suite_add_tcase(suite, large);
  return suite_run(suite);
}
