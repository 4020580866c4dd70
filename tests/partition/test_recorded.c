/* SPDX-License-Identifier: Apache-2.0 */
/* test_recorded.c: programs of JAX for eight devices, partitioned here, against what XLA made of them, and against
 * themselves unpartitioned; and how much they send. All on the evaluator, the partitions in lock step. record.py
 * makes data/NAME.hlo and data/NAME.npz. */
#include "../ops/spmd.h"
#include "../unit/suite.h"

#include "halo/npy.h"
#include "passes/passes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 64 };

/* A program, and what its partitions may send each other at most: all-gathers, the largest array that one makes,
 * and bytes that each partition receives in all. */
typedef struct recorded_row {
  const char *name;
  int gathers;
  int64_t largest, bytes;
  double bound; /* of a result's difference from XLA's, by its largest element */
} recorded_row;

static const recorded_row rows[] = {
    /* No activation and no weight is gathered: sums of products, of gradients, of losses. */
    {"transformer", 0, 0, 97542, 2e-5},
    {"convolutions", 0, 0, 10703, 2e-5},
    {"convolutions_by_features", 1, 4096, 8846, 2e-5},
    /* Weights are gathered when they are used, and their gradients scattered. */
    {"fully_sharded", 3, 16384, 49158, 2e-5},
    {"fully_sharded_both", 6, 16384, 56327, 2e-5},
    {"manual", 0, 0, 224, 2e-5},
    {"collectives", 1, 128, 288, 2e-5},
    {"partly_manual", 3, 128, 228, 2e-5},
    {"ring", 0, 0, 1606, 2e-5},
    {"uneven", 0, 0, 0, 2e-5},
    /* Borders of tiles; of convolutions, their gradients too. */
    {"stencils", 0, 0, 6020, 2e-5},
    {"images", 0, 0, 16984, 2e-5},
    {"control", 10, 256, 2052, 2e-5},
    {"assorted", 8, 1024, 3207, 2e-5},
    {"assorted_rows", 9, 1024, 3918, 2e-5},
    {"cube", 3, 1024, 2368, 2e-5},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

/* ---- Data ---- */

static halo_module *read_module(const char *name) {
  char path[1024];
  halo_module *module;
  snprintf(path, sizeof path, "%s/%s.hlo", PARTITION_DATA, name);
  ck_assert_msg(halo_module_parse_file(path, &module) == HALO_OK, "%s", halo_error_message());
  return module;
}

/* Arrays called PREFIX0, PREFIX1, ...; how many. */
static int read_arrays(halo_npz *npz, const char *prefix, halo_literal **out) {
  int count = 0;
  for (bool found = true; found; count += found) {
    char name[32];
    snprintf(name, sizeof name, "%s%d", prefix, count);
    found = false;
    for (int i = 0; i < halo_npz_count(npz) && !found; i++) {
      if (strcmp(halo_npz_name(npz, i), name) != 0) continue;
      ck_assert_int_eq(halo_npz_read(npz, i, HALO_TYPE_INVALID, &out[count]), HALO_OK);
      found = true;
    }
  }
  return count;
}

static void release_all(halo_literal **list, int count) {
  for (int i = 0; i < count; i++) halo_literal_release(list[i]);
}

/* The greatest difference, by the largest element; infinite where one is NaN alone. */
static double distance(const halo_literal *a, const halo_literal *b) {
  double largest = 1e-30, most = 0;
  int64_t count = halo_shape_element_count(halo_literal_shape(a));
  ck_assert(halo_shape_compatible(halo_literal_shape(a), halo_literal_shape(b)));
  for (int64_t i = 0; i < count; i++) {
    double x = halo_literal_get_f64(a, i), y = halo_literal_get_f64(b, i);
    if (isfinite(y) && fabs(y) > largest) largest = fabs(y);
    if (x == y || (isnan(x) && isnan(y))) continue;
    double d = fabs(x - y);
    if (!(d <= most)) most = isnan(d) ? INFINITY : d;
  }
  return most / largest;
}

/* ---- Running ---- */

static void run_parts(const halo_module *module, halo_literal *const *inputs, int input_count,
                      spmd_traffic *traffic, halo_literal **joined) {
  int parts = (int)module->num_partitions;
  halo_literal *args[MOST][MOST], *results[MOST], *leaves[MOST];
  halo_literal *const *lists[MOST];
  ck_assert(module->spmd != NULL);
  for (int p = 0; p < parts; p++) {
    for (int i = 0; i < input_count; i++) {
      args[p][i] = spmd_cut(inputs[i], &module->spmd->params->elements[i], p);
      ck_assert(args[p][i] != NULL);
    }
    lists[p] = args[p];
  }
  ck_assert_msg(spmd_evaluate(module->entry, lists, parts, traffic, results) == HALO_OK, "%s",
                halo_error_message());
  int count = halo_shape_leaf_count(module->spmd->whole_result);
  for (int k = 0; k < count; k++) {
    const halo_shape *shape = halo_leaf_shape(module->spmd->whole_result, k);
    unsigned char *seen = calloc((size_t)halo_shape_element_count(shape) + 1, 1);
    ck_assert_int_eq(halo_literal_create(shape, &joined[k]), HALO_OK);
    for (int p = 0; p < parts; p++) {
      spmd_leaves(results[p], leaves, MOST);
      ck_assert_msg(spmd_join(joined[k], leaves[k], &module->spmd->results->elements[k], p, seen),
                    "result %d of partition %d does not fit the others'", k, p);
    }
    free(seen);
  }
  for (int p = 0; p < parts; p++) {
    release_all(args[p], input_count);
    halo_literal_release(results[p]);
  }
}

/* The same module for one partition, where markers are the identity; of programs without manual regions. */
static bool run_whole(const halo_module *module, halo_literal *const *inputs, int count,
                      halo_literal **out) {
  halo_module *whole = halo_module_clone(module);
  bool changed;
  halo_literal *value = NULL;
  whole->num_partitions = 1;
  ck_assert_int_eq(halo_pass_inline_calls(whole, &changed), HALO_OK);
  ck_assert_int_eq(halo_pass_expand(whole, &changed), HALO_OK);
  bool ok = halo_evaluate(whole->entry, inputs, count, &value) == HALO_OK;
  int leaves = ok ? spmd_leaves(value, out, MOST) : 0;
  for (int i = 0; i < leaves; i++) halo_literal_retain(out[i]);
  halo_literal_release(value);
  halo_module_release(whole);
  return ok;
}

START_TEST(recorded_program) {
  const recorded_row *row = &rows[_i];
  char path[1024];
  halo_npz *npz;
  halo_literal *inputs[MOST], *expected[MOST], *got[MOST], *whole[MOST];
  spmd_traffic traffic = {0};
  bool changed;
  snprintf(path, sizeof path, "%s/%s.npz", PARTITION_DATA, row->name);
  ck_assert_int_eq(halo_npz_open(path, &npz), HALO_OK);
  int input_count = read_arrays(npz, "in", inputs), count = read_arrays(npz, "out", expected);
  halo_npz_close(npz);
  halo_module *module = read_module(row->name), *parts = halo_module_clone(module);
  ck_assert_msg(halo_pass_partition(parts, &changed) == HALO_OK, "%s", halo_error_message());
  ck_assert(changed);
  ck_assert_msg(halo_module_verify(parts) == HALO_OK, "%s", halo_error_message());
  ck_assert_int_eq(halo_shape_leaf_count(parts->spmd->whole_result), count);
  run_parts(parts, inputs, input_count, &traffic, got);
  bool alone = run_whole(module, inputs, input_count, whole);
  for (int k = 0; k < count; k++) {
    double far = distance(got[k], expected[k]);
    ck_assert_msg(far <= row->bound, "%s: result %d is %g away from XLA's", row->name, k, far);
    if (!alone) continue;
    far = distance(got[k], whole[k]);
    ck_assert_msg(far <= 5e-6, "%s: result %d is %g away from that of one device", row->name, k,
                  far);
  }
  if (getenv("HALO_TEST_VERBOSE")) {
    printf(
        "%s: %d all-gathers, %d all-reduces, %d reduce-scatters, %d all-to-alls, %d permutes; the "
        "largest "
        "gather has %lld bytes, %lld in all\n",
        row->name, traffic.gathers, traffic.reductions, traffic.scatters, traffic.swaps,
        traffic.permutes, (long long)traffic.largest_gather, (long long)traffic.bytes);
  }
  ck_assert_int_le(traffic.gathers, row->gathers);
  ck_assert_int_le(traffic.largest_gather, row->largest);
  ck_assert_int_le(traffic.bytes, row->bytes);
  if (alone) release_all(whole, count);
  release_all(got, count);
  release_all(expected, count);
  release_all(inputs, input_count);
  halo_module_release(parts);
  halo_module_release(module);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("partition_recorded");
  TCase *tcase = tcase_create("programs");
  tcase_set_timeout(tcase, 300);
  tcase_add_loop_test(tcase, recorded_program, 0, ROWS);
  suite_add_tcase(suite, tcase);
  return suite_run(suite);
}
