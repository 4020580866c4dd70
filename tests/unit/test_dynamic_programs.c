/* SPDX-License-Identifier: Apache-2.0 */
/* test_dynamic_programs.c: the programs in tests/data/dynamic on parameters of any sizes up to their bounds: on the
 * device, where what lies behind a size is hidden, against the evaluator, where arrays are as long as they are.
 * Dimensions of equal bounds have equal sizes. A first line `// error X` allows a relative error. */
#include "run_test.h"

#include "client/client.h"
#include "evaluator/evaluator.h"
#include "hlo/hlo.h"
#include "suite.h"

#include <glob.h>
#include <math.h>

enum { PROGRAM_MOST = 16, PROGRAM_SIZES = 64, PROGRAM_RUNS = 24 };

typedef struct program_run {
  uint64_t random;
  int64_t sizes[PROGRAM_SIZES]; /* by bound */
  halo_buffer *buffers[PROGRAM_MOST];
  int count;
} program_run;

static uint32_t program_next(program_run *run) {
  run->random = run->random * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(run->random >> 33);
}

/* ---- Arguments ---- */

/* All of the memory: small whole numbers, and behind the sizes what must not be seen. */
static void program_fill(program_run *run, const halo_shape *shape, const int64_t *sizes,
                         halo_literal *all, halo_literal *valid) {
  int64_t at[HALO_MAX_RANK] = {0}, next = 0, count = halo_shape_element_count(shape);
  bool real = halo_type_is_float(shape->type);
  for (int64_t i = 0; i < count; i++) {
    bool inside = true;
    for (int64_t d = shape->rank - 1, rest = i; d >= 0; d--) {
      at[d] = rest % shape->dims[d];
      rest /= shape->dims[d];
      inside &= at[d] < sizes[d];
    }
    int64_t number = (int64_t)(program_next(run) % 13) - 3;
    if (!inside && real) {
      halo_literal_set_f64(all, i, i % 2 ? NAN : INFINITY);
    } else {
      halo_literal_set_i64(all, i, inside ? number : 0x55555555);
    }
    if (inside) halo_literal_set_i64(valid, next++, number);
  }
}

/* A buffer of full memory that says it holds less. */
static halo_buffer *program_buffer(halo_client *client, const halo_shape *shape,
                                   const int64_t *sizes, const halo_literal *all,
                                   halo_literal *valid) {
  halo_device *device = halo_client_device(client, 0);
  halo_buffer *full, *part;
  ck_ok(halo_buffer_put(device, all->data, NULL, shape, &full, NULL));
  ck_ok(halo_buffer_put_sized(device, valid->data, NULL, shape, sizes, &part));
  halo_device_value **swapped = full->sizes;
  full->sizes = part->sizes;
  part->sizes = swapped;
  halo_buffer_release(part);
  return full;
}

static halo_literal *program_argument(program_run *run, halo_client *client,
                                      const halo_shape *shape) {
  halo_literal *valid, *all, *parts[PROGRAM_MOST];
  int64_t sizes[HALO_MAX_RANK];
  if (halo_shape_is_tuple(shape)) {
    for (int i = 0; i < shape->count; i++) {
      parts[i] = program_argument(run, client, shape->elements[i]);
    }
    ck_ok(halo_literal_create_tuple(shape->count, parts, &valid));
    for (int i = 0; i < shape->count; i++) halo_literal_release(parts[i]);
    return valid;
  }
  for (int d = 0; d < shape->rank; d++) {
    bool dynamic = halo_shape_dim_is_dynamic(shape, d);
    sizes[d] = dynamic ? run->sizes[shape->dims[d]] : shape->dims[d];
  }
  halo_shape *extents;
  ck_ok(halo_shape_create_array(shape->type, shape->rank, sizes, &extents));
  ck_ok(halo_literal_create(extents, &valid));
  ck_ok(halo_literal_create(shape, &all));
  program_fill(run, shape, sizes, all, valid);
  run->buffers[run->count++] = program_buffer(client, shape, sizes, all, valid);
  halo_shape_release(extents);
  halo_literal_release(all);
  return valid;
}

/* ---- Results ---- */

static bool program_near(double got, double expected, double error) {
  if (isnan(expected)) return isnan(got);
  return got == expected || fabs(got - expected) <= error * (1 + fabs(expected));
}

static void program_compare(const char *name, const program_run *run, halo_buffer **results,
                            const halo_literal *expected, double error, int *next) {
  const halo_shape *shape = halo_literal_shape(expected);
  for (int i = 0; i < shape->count; i++) {
    program_compare(name, run, results, halo_literal_element(expected, i), error, next);
  }
  if (halo_shape_is_tuple(shape)) return;
  int number = (*next)++;
  halo_literal *got;
  ck_ok(halo_buffer_to_literal(results[number], &got));
  char text[128], wanted[128];
  halo_shape_to_text(halo_literal_shape(got), false, text, sizeof text);
  halo_shape_to_text(shape, false, wanted, sizeof wanted);
  ck_assert_msg(halo_shape_compatible(halo_literal_shape(got), shape),
                "%s: result %d is %s, not %s", name, number, text, wanted);
  for (int64_t i = 0; i < halo_shape_element_count(shape); i++) {
    double re, im, other_re, other_im;
    halo_literal_get_c128(got, i, &re, &im);
    halo_literal_get_c128(expected, i, &other_re, &other_im);
    ck_assert_msg(program_near(re, other_re, error) && program_near(im, other_im, error),
                  "%s: result %d, %s: element %lld is %g%+gi, not %g%+gi", name, number, text,
                  (long long)i, re, im, other_re, other_im);
  }
  halo_literal_release(got);
}

/* False when there is no element where the program takes one for granted: then nothing is right. */
static bool program_run_once(const char *name, const halo_module *module, halo_client *client,
                             halo_executable *e, double error, program_run *run) {
  halo_literal *arguments[PROGRAM_MOST], *expected;
  halo_buffer *results[PROGRAM_MOST];
  int count = halo_module_parameter_count(module), next = 0;
  run->count = 0;
  for (int p = 0; p < count; p++) {
    arguments[p] = program_argument(run, client, halo_module_parameter_shape(module, p));
  }
  bool judged = halo_evaluate(module->entry, arguments, count, &expected) == HALO_OK;
  if (!judged) ck_message_has("does not fit dimension");
  ck_ok(halo_executable_execute(e, run->buffers, run->count, NULL, results));
  if (judged) {
    program_compare(name, run, results, expected, error, &next);
    ck_assert_int_eq(next, halo_executable_result_count(e));
    halo_literal_release(expected);
  }
  next = halo_executable_result_count(e);
  for (int r = 0; r < next; r++) halo_buffer_release(results[r]);
  for (int b = 0; b < run->count; b++) halo_buffer_release(run->buffers[b]);
  for (int p = 0; p < count; p++) halo_literal_release(arguments[p]);
  return judged;
}

/* ---- Programs ---- */

static glob_t program_files;

static char *program_read(const char *path) {
  FILE *file = fopen(path, "r");
  ck_assert_ptr_nonnull(file);
  char *text = calloc(1, 1 << 16);
  ck_assert_uint_lt(fread(text, 1, (1 << 16) - 1, file), (1 << 16) - 1);
  fclose(file);
  return text;
}

START_TEST(dynamic_program) {
  const char *path = program_files.gl_pathv[_i];
  char *text = program_read(path);
  double error = 0;
  sscanf(text, "// error %lf", &error);
  halo_module *module = run_parse(text);
  halo_client *client = run_client(NULL);
  halo_executable *e;
  ck_assert_msg(halo_client_compile(client, module, NULL, &e) == HALO_OK, "%s: %s", path,
                halo_error_message());
  program_run run = {.random = 20251122};
  int judged = 0;
  for (int r = 0; r < PROGRAM_RUNS; r++) {
    for (int64_t bound = 1; bound < PROGRAM_SIZES; bound++) {
      /* First everything, then nothing, then some. */
      int64_t some = (int64_t)(program_next(&run) % (uint32_t)(bound + 1));
      run.sizes[bound] = r == 0 ? bound : r == 1 ? 0 : some;
    }
    judged += program_run_once(path, module, client, e, error, &run);
  }
  ck_assert_int_ge(judged, PROGRAM_RUNS / 2);
  halo_executable_release(e);
  halo_client_release(client);
  halo_module_release(module);
  free(text);
}
END_TEST

int main(void) {
  if (glob(HALO_TEST_DATA "/dynamic/*.hlo", 0, NULL, &program_files) != 0) return EXIT_FAILURE;
  Suite *suite = suite_create("dynamic_programs");
  TCase *tc = tcase_create("dynamic_programs");
  tcase_set_timeout(tc, 300);
  tcase_add_loop_test(tc, dynamic_program, 0, (int)program_files.gl_pathc);
  suite_add_tcase(suite, tc);
  int failed = suite_run(suite);
  globfree(&program_files);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
