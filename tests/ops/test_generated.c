/* SPDX-License-Identifier: Apache-2.0 */
/* test_generated: random programs on the device, fused and unfused, against the evaluator; and that
 * they mean the same when printed and read back, and after the passes.
 *
 * usage: test_generated [SEED]
 *
 * HALO_TEST_SEEDS: how many seeds (default 12), or which: "100-199". HALO_TEST_DEVICE chooses the
 * device; "none": no device at all. With SEED, only that one, and its program is printed. The
 * last line is "N passed, N failed"; the exit code is 1 when something failed. */
#include "generate.h"

#include "evaluator/evaluator.h"
#include "halo/client.h"
#include "halo/passes.h"
#include "shape/literal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The leaves of a value, in order. */
static int generated_leaves(halo_literal *value, halo_literal **leaves, int most) {
  if (!halo_shape_is_tuple(value->shape)) {
    if (most > 0) leaves[0] = value;
    return 1;
  }
  int count = 0;
  for (int i = 0; i < value->shape->count; i++) {
    count += generated_leaves(value->elements[i], leaves + count, most - count);
  }
  return count;
}

static bool generated_close(double a, double b, double tolerance) {
  if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
  return a == b || fabs(a - b) <= tolerance;
}

/* Whether two results agree within the program's tolerances; prints the first place where not. */
static bool generated_agree(const halo_test_program *program, halo_literal *got,
                            halo_literal *expected, const char *what) {
  halo_literal *a[16], *b[16];
  int count = generated_leaves(expected, b, 16);
  if (count != program->leaf_count || generated_leaves(got, a, 16) != count) {
    printf("%s: another number of results\n", what);
    return false;
  }
  for (int leaf = 0; leaf < count; leaf++) {
    if (!halo_shape_compatible(a[leaf]->shape, b[leaf]->shape)) {
      printf("%s: result %d has another shape\n", what, leaf);
      return false;
    }
    int64_t total = halo_shape_element_count(b[leaf]->shape);
    for (int64_t i = 0; i < total; i++) {
      double p[2], q[2], tolerance = program->tolerances[leaf];
      halo_literal_get_c128(a[leaf], i, &p[0], &p[1]);
      halo_literal_get_c128(b[leaf], i, &q[0], &q[1]);
      bool same =
          halo_type_is_integral(b[leaf]->shape->type)
              ? halo_literal_get_i64(a[leaf], i) == halo_literal_get_i64(b[leaf], i)
              : generated_close(p[0], q[0], tolerance) && generated_close(p[1], q[1], tolerance);
      if (same) continue;
      printf("%s: result %d, element %lld: %.17g %.17g, expected %.17g %.17g, tolerance %g\n", what,
             leaf, (long long)i, p[0], p[1], q[0], q[1], tolerance);
      return false;
    }
  }
  return true;
}

/* The module read back from its own text gives the same bits. */
static bool generated_round_trip(const halo_test_program *program, const char *text,
                                 halo_literal *expected) {
  halo_module *again = NULL;
  halo_literal *value = NULL;
  bool ok = halo_module_parse(text, strlen(text), "generated", &again) == HALO_OK &&
            halo_evaluate(again->entry, program->args, program->arg_count, &value) == HALO_OK;
  if (!ok) {
    printf("reading it back: %s\n", halo_error_message());
  } else if (!halo_literal_same_bits(value, expected)) {
    printf("reading it back gives another value\n");
    ok = false;
  }
  halo_literal_release(value);
  halo_module_release(again);
  return ok;
}

/* The module after the passes, each of them verified, still means the same. */
static bool generated_optimized(const halo_test_program *program, halo_literal *expected) {
  bool ok = true;
  for (int fusion = 0; fusion < 2 && ok; fusion++) {
    halo_pass_options options = {.no_fusion = !fusion};
    halo_module *after = NULL;
    halo_literal *value = NULL;
    ok = halo_module_optimize(program->module, &options, &after) == HALO_OK &&
         halo_evaluate(after->entry, program->args, program->arg_count, &value) == HALO_OK;
    if (!ok) {
      printf("the passes: %s\n", halo_error_message());
    } else {
      ok = generated_agree(program, value, expected, "the passes");
    }
    halo_literal_release(value);
    halo_module_release(after);
  }
  return ok;
}

static halo_client *generated_client; /* NULL: no device */
static bool generated_has_f64 = true;

/* Runs it in one way; NULL when that fails. */
static halo_literal *generated_run(const halo_test_program *program, const char *how,
                                   const halo_compile_options *options) {
  halo_executable *executable = NULL;
  halo_literal *value = NULL;
  halo_status status = halo_client_compile(generated_client, program->module, options, &executable);
  if (status == HALO_OK) {
    status = halo_executable_run(executable, program->args, program->arg_count, &value);
  }
  halo_executable_release(executable);
  if (status != HALO_OK) printf("%s: %s\n", how, halo_error_message());
  return status == HALO_OK ? value : NULL;
}

static bool generated_on_device(const halo_test_program *program, halo_literal *expected) {
  static const struct {
    const char *name;
    halo_compile_options options;
  } ways[] = {{"fused", {.no_fusion = false}},
              {"unfused", {.no_fusion = true}},
              {"unoptimized", {.no_optimization = true}}};
  halo_literal *values[3] = {NULL, NULL, NULL};
  bool ok = true;
  for (int i = 0; i < 3; i++) {
    values[i] = generated_run(program, ways[i].name, &ways[i].options);
    ok = ok && values[i] && generated_agree(program, values[i], expected, ways[i].name);
  }
  if (ok) ok = generated_agree(program, values[0], values[1], "fused against unfused");
  for (int i = 0; i < 3; i++) halo_literal_release(values[i]);
  return ok;
}

static bool generated_try(uint64_t seed, bool show) {
  halo_test_options options = {.whole = seed % 3 == 0, .has_f64 = generated_has_f64};
  halo_test_program *program = halo_test_generate(seed, &options);
  if (!program) {
    printf("FAIL seed %llu: %s\n", (unsigned long long)seed, halo_error_message());
    return false;
  }
  char *text = NULL;
  halo_literal *expected = NULL;
  bool ok = halo_module_to_text(program->module, 0, &text) == HALO_OK &&
            halo_evaluate(program->module->entry, program->args, program->arg_count, &expected) ==
                HALO_OK;
  if (!ok) {
    printf("evaluating: %s\n", halo_error_message());
  } else {
    ok = generated_round_trip(program, text, expected) && generated_optimized(program, expected) &&
         (!generated_client || generated_on_device(program, expected));
  }
  if (!ok) printf("FAIL seed %llu\n", (unsigned long long)seed);
  if (text && (!ok || show)) printf("%s\n", text);
  halo_text_release(text);
  halo_literal_release(expected);
  halo_test_program_release(program);
  return ok;
}

int main(int argc, char **argv) {
  const char *seeds = getenv("HALO_TEST_SEEDS");
  uint64_t first = 1, count = seeds ? strtoull(seeds, NULL, 10) : 12;
  long passed = 0, failed = 0;
  const char *dash = seeds ? strchr(seeds, '-') : NULL;
  if (dash) first = count, count = strtoull(dash + 1, NULL, 10) - first + 1;
  if (argc > 1) first = strtoull(argv[1], NULL, 10), count = 1;
  const char *device = getenv("HALO_TEST_DEVICE");
  if (!device || strcmp(device, "none") != 0) {
    halo_client_options options = {.device = device,
                                   .cache_dir = getenv("HALO_CACHE_DIR") ? NULL : ""};
    if (halo_client_create(&options, &generated_client) != HALO_OK) {
      fprintf(stderr, "test_generated: %s\n", halo_error_message());
      return 1;
    }
    halo_device_info info;
    halo_device_get_info(halo_client_device(generated_client, 0), &info);
    generated_has_f64 = info.has_f64;
  }
  for (uint64_t seed = first; seed < first + count; seed++) {
    if (generated_try(seed, argc > 1)) {
      passed++;
    } else {
      failed++;
    }
    fflush(stdout);
  }
  halo_client_release(generated_client);
  printf("%ld passed, %ld failed\n", passed, failed);
  return failed ? 1 : 0;
}
