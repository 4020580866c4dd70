/* SPDX-License-Identifier: Apache-2.0 */
/* test_partition.c: the recorded modules with random shardings on their arrays, partitioned, against the same
 * modules as they are. Both run on the evaluator, the partitions in lock step.
 *
 * usage: test_partition --family NAME [--seed N] [WORD...]
 *
 * Only cases whose names contain all words are tried. HALO_TEST_SEEDS says how many shardings each case is tried
 * with (2). The last line is "N passed, N failed, N skipped"; the exit code is 1 when something failed. */
#include "harness.h"
#include "spmd.h"

#include "passes/passes.h"
#include "text/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARTITION_MOST_ELEMENTS = 6000, PARTITION_MOST_LEAVES = 64 };

static struct {
  const char *program, *family;
  char **words;
  int word_count;
  uint64_t seed;
  int seeds;
  long passed, failed, skipped;
} test;

/* ---- Random shardings ---- */

static uint64_t random_next(uint64_t *state) {
  *state = *state * 6364136223846793005ull + 1442695040888963407ull;
  return *state >> 33;
}

static int64_t random_below(uint64_t *state, int64_t n) {
  return (int64_t)(random_next(state) % (uint64_t)n);
}

/* Splits the partitions' prime factors among the dimensions of an array; most of the time so that tiles divide
 * them. Sometimes devices are listed in an order of their own. */
static halo_sharding random_array(halo_arena *arena, uint64_t *state, const halo_shape *shape,
                                  int64_t devices) {
  int64_t radix[16], order[16], tiles[HALO_MAX_RANK + 1];
  int axes = 0, dim_of[16], count = 0;
  halo_sharding out = {0};
  if (!halo_shape_is_array(shape) || shape->rank == 0 || random_below(state, 8) == 0) return out;
  for (int64_t left = devices, prime = 2; left > 1; prime++) {
    for (; left % prime == 0; left /= prime) radix[axes++] = prime;
  }
  bool uneven = random_below(state, 6) == 0;
  for (int d = 0; d <= shape->rank; d++) tiles[d] = 1;
  for (int a = 0; a < axes; a++) {
    int d = (int)random_below(state, shape->rank + 1);
    for (int tries = 0; tries < 4 && d < shape->rank && !uneven; tries++) {
      if (shape->dims[d] % (tiles[d] * radix[a]) == 0) break;
      d = (int)random_below(state, shape->rank + 1);
    }
    bool fits = d == shape->rank || uneven || shape->dims[d] % (tiles[d] * radix[a]) == 0;
    if (!fits || (d < shape->rank && shape->dynamic && shape->dynamic[d])) d = shape->rank;
    dim_of[a] = d;
    tiles[d] *= radix[a];
  }
  if (tiles[shape->rank] == devices) return out;
  for (int d = 0; d <= shape->rank; d++) {
    int first = count;
    for (int a = 0; a < axes; a++) {
      if (dim_of[a] != d) continue;
      int at = first + (int)random_below(state, count - first + 1);
      memmove(order + at + 1, order + at, sizeof *order * (size_t)(count - at));
      order[at] = a;
      count++;
    }
  }
  out.kind = HALO_SHARDING_TILED;
  out.replicate_last = tiles[shape->rank] > 1;
  out.tiles = halo_int_list_clone(arena, (halo_int_list){tiles, shape->rank + out.replicate_last});
  out.reshape = halo_int_list_clone(arena, (halo_int_list){radix, axes});
  if (axes > 1) out.transpose = halo_int_list_clone(arena, (halo_int_list){order, axes});
  if (random_below(state, 8) == 0) {
    int64_t *list = halo_arena_array(arena, int64_t, devices);
    for (int64_t i = 0; i < devices; i++) {
      int64_t at = random_below(state, i + 1);
      list[i] = list[at];
      list[at] = i;
    }
    out.reshape = out.transpose = (halo_int_list){0};
    out.devices = (halo_int_list){list, (int32_t)devices};
  }
  return out;
}

/* Of an array within the program each partition may have a summand, where it would have the same as others. */
static bool random_summands(halo_arena *arena, uint64_t *state, const halo_shape *shape,
                            halo_sharding *sharding) {
  bool sums = halo_shape_is_array(shape) && shape->type != HALO_PRED && !shape->dynamic &&
              halo_type_bits(shape->type) >= 16;
  if (!sums || sharding->devices.count || random_below(state, 2)) return false;
  if (sharding->kind != HALO_SHARDING_TILED) {
    *sharding = (halo_sharding){.kind = HALO_SHARDING_UNREDUCED};
    return true;
  }
  if (!sharding->replicate_last) return false;
  static const int64_t kind = HALO_SHARDING_UNREDUCED;
  sharding->replicate_last = false;
  sharding->last_kinds = halo_int_list_clone(arena, (halo_int_list){(int64_t *)&kind, 1});
  return true;
}

/* `inside`: not at the edges of the program. Whether something is left in summands. */
static bool random_annotate(uint64_t *state, halo_instr *instr, int64_t devices, bool inside) {
  bool summands = false;
  halo_arena *arena = &instr->parent->module->arena;
  halo_sharding *sharding = halo_arena_new(arena, halo_sharding);
  if (halo_shape_is_array(instr->shape)) {
    *sharding = random_array(arena, state, instr->shape, devices);
    if (inside) summands |= random_summands(arena, state, instr->shape, sharding);
  } else if (halo_shape_is_tuple(instr->shape)) {
    int32_t count = halo_shape_leaf_count(instr->shape);
    halo_sharding *elements = halo_arena_array(arena, halo_sharding, count + 1);
    for (int32_t k = 0; k < count; k++) {
      const halo_shape *leaf = halo_leaf_shape(instr->shape, k);
      elements[k] = random_array(arena, state, leaf, devices);
      if (inside) summands |= random_summands(arena, state, leaf, &elements[k]);
    }
    *sharding =
        (halo_sharding){.kind = HALO_SHARDING_TUPLE, .elements = elements, .element_count = count};
  } else {
    return false;
  }
  halo_attr attr = {.id = HALO_ATTR_SHARDING, .sharding = sharding};
  halo_instr_set_attr(instr, &attr);
  return summands;
}

/* Computations that are called by what runs them on arrays, so that shardings mean something in them. */
static bool random_annotate_computation(uint64_t *state, halo_computation *computation,
                                        int64_t devices, int depth) {
  bool summands = false;
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    halo_instr *instr = computation->instrs.data[i];
    bool entry = computation == computation->module->entry;
    bool edge = entry && (instr->opcode == HALO_OP_PARAMETER || instr == computation->root);
    if (random_below(state, 8) < (edge ? 6 : 2)) {
      summands |= random_annotate(state, instr, devices, !edge);
    }
    bool control = instr->opcode == HALO_OP_WHILE || instr->opcode == HALO_OP_CONDITIONAL ||
                   instr->opcode == HALO_OP_CALL;
    for (int32_t c = 0; control && depth < 10 && c < halo_instr_called_count(instr); c++) {
      summands |=
          random_annotate_computation(state, halo_instr_called(instr, c), devices, depth + 1);
    }
  }
  return summands;
}

static void random_shardings(halo_module *module, uint64_t seed) {
  static const int64_t counts[] = {2, 4, 8, 4, 8, 6};
  uint64_t state = seed * 0x9e3779b97f4a7c15ull + 12345;
  random_next(&state);
  module->num_partitions = counts[random_below(&state, 6)];
  bool summands = random_annotate_computation(&state, module->entry, module->num_partitions, 0);
  if (module->entry->params.count) {
    random_annotate(&state, module->entry->params.data[0], module->num_partitions, false);
  } else {
    random_annotate(&state, module->entry->root, module->num_partitions, false);
  }
  /* Results in summands would have to be summed up here. */
  if (random_below(&state, 2) && !summands) {
    halo_header_attr free_results = {"allow_spmd_sharding_propagation_to_output", "{true}"};
    halo_vec_push(&module->header, free_results);
  }
}

/* ---- Judging ---- */

/* How far sums of parts may lie from the sum of all, by the largest element. */
static double judge_bound(halo_type type) {
  switch ((int)type) {
    case HALO_F64:
    case HALO_C128: return 1e-13;
    case HALO_F32:
    case HALO_C64: return 2e-5;
    case HALO_F16: return 4e-3;
    case HALO_BF16: return 3e-2;
    default: return halo_type_is_float(type) ? 0.3 : 0;
  }
}

/* The first element that differs too much; -1: none does. */
static int64_t judge_array(const halo_literal *got, const halo_literal *expected) {
  const halo_shape *shape = halo_literal_shape(expected);
  int64_t count = halo_shape_element_count(shape);
  double largest = 0, bound = judge_bound(shape->type);
  size_t size = halo_type_size(shape->type);
  for (int64_t i = 0; i < count && bound > 0; i++) {
    double re, im;
    halo_literal_get_c128(expected, i, &re, &im);
    if (isfinite(re) && fabs(re) > largest) largest = fabs(re);
    if (isfinite(im) && fabs(im) > largest) largest = fabs(im);
  }
  for (int64_t i = 0; i < count; i++) {
    const char *a = (const char *)halo_literal_data((halo_literal *)got) + (size_t)i * size;
    const char *b = (const char *)halo_literal_data((halo_literal *)expected) + (size_t)i * size;
    double x[2], y[2];
    if (memcmp(a, b, size) == 0) continue;
    if (bound == 0) return i;
    halo_literal_get_c128(got, i, &x[0], &x[1]);
    halo_literal_get_c128(expected, i, &y[0], &y[1]);
    for (int k = 0; k < 2; k++) {
      if (isnan(x[k]) && isnan(y[k])) continue;
      if (x[k] == y[k]) continue;
      if (!(fabs(x[k] - y[k]) <= bound * largest)) return i;
    }
  }
  return -1;
}

static void judge_fail(const char *name, uint64_t seed, const halo_module *module,
                       const char *what) {
  printf("FAIL %s %s: %s\n  again: %s --family %s --seed %llu =%s\n", test.family, name, what,
         test.program, test.family, (unsigned long long)seed, name);
  if (getenv("HALO_TEST_VERBOSE")) {
    char *text;
    if (halo_module_to_text(module, HALO_PRINT_SHORT, &text) == HALO_OK) puts(text);
  }
  test.failed++;
}

/* ---- One case ---- */

typedef struct partition_case {
  const char *name;
  uint64_t seed;
  halo_module *whole, *parts; /* with shardings; partitioned */
  halo_literal **arguments;
  int argument_count;
} partition_case;

static halo_literal *cut_value(const halo_literal *value, const halo_sharding *shardings,
                               int32_t *next, int part) {
  const halo_shape *shape = halo_literal_shape(value);
  if (!halo_shape_is_tuple(shape)) return spmd_cut(value, &shardings[(*next)++], part);
  halo_literal **elements = calloc((size_t)shape->count + 1, sizeof *elements), *tuple = NULL;
  for (int i = 0; i < shape->count; i++) {
    elements[i] = cut_value(halo_literal_element(value, i), shardings, next, part);
  }
  if (halo_literal_create_tuple(shape->count, elements, &tuple) != HALO_OK) tuple = NULL;
  for (int i = 0; i < shape->count; i++) halo_literal_release(elements[i]);
  free(elements);
  return tuple;
}

static void judge_results(const partition_case *c, halo_literal *expected, halo_literal **results) {
  halo_literal *want[PARTITION_MOST_LEAVES], *got[PARTITION_MOST_LEAVES];
  int count = spmd_leaves(expected, want, PARTITION_MOST_LEAVES);
  int parts = (int)c->parts->num_partitions;
  char what[200];
  for (int k = 0; k < count && k < PARTITION_MOST_LEAVES; k++) {
    if (!halo_shape_is_array(halo_literal_shape(want[k]))) continue;
    halo_literal *joined;
    unsigned char *seen =
        calloc((size_t)halo_shape_element_count(halo_literal_shape(want[k])) + 1, 1);
    if (halo_literal_create(halo_literal_shape(want[k]), &joined) != HALO_OK) abort();
    for (int p = 0; p < parts; p++) {
      spmd_leaves(results[p], got, PARTITION_MOST_LEAVES);
      if (spmd_join(joined, got[k], &c->parts->spmd->results->elements[k], p, seen)) continue;
      snprintf(what, sizeof what,
               "result %d of partition %d has another shape, or differs from others'", k, p);
      judge_fail(c->name, c->seed, c->parts, what);
      halo_literal_release(joined);
      free(seen);
      return;
    }
    int64_t wrong = judge_array(joined, want[k]);
    if (wrong >= 0) {
      snprintf(what, sizeof what, "element %lld of result %d is %.9g, not %.9g", (long long)wrong,
               k, halo_literal_get_f64(joined, wrong), halo_literal_get_f64(want[k], wrong));
      judge_fail(c->name, c->seed, c->parts, what);
    }
    halo_literal_release(joined);
    free(seen);
    if (wrong >= 0) return;
  }
  test.passed++;
}

static void run_case(const partition_case *c, halo_literal *expected) {
  int parts = (int)c->parts->num_partitions, count = c->argument_count;
  halo_literal ***args = calloc((size_t)parts, sizeof *args);
  halo_literal **results = calloc((size_t)parts, sizeof *results);
  for (int p = 0; p < parts; p++) {
    args[p] = calloc((size_t)count + 1, sizeof **args);
    int32_t next = 0;
    for (int i = 0; i < count; i++) {
      args[p][i] = cut_value(c->arguments[i], c->parts->spmd->params->elements, &next, p);
    }
  }
  halo_status status =
      spmd_evaluate(c->parts->entry, (halo_literal *const *const *)args, parts, NULL, results);
  if (status == HALO_OK) {
    judge_results(c, expected, results);
  } else {
    judge_fail(c->name, c->seed, c->parts, halo_error_message());
  }
  for (int p = 0; p < parts; p++) {
    for (int i = 0; i < count; i++) halo_literal_release(args[p][i]);
    halo_literal_release(results[p]);
    free(args[p]);
  }
  free(results);
  free(args);
}

static void try_seed(const ops_case *one, const ops_values *values, halo_literal *expected,
                     uint64_t seed) {
  partition_case c = {.name = one->name,
                      .seed = seed,
                      .whole = halo_module_clone(values->module),
                      .arguments = values->arguments,
                      .argument_count = values->argument_count};
  bool changed;
  random_shardings(c.whole, seed);
  c.parts = halo_module_clone(c.whole);
  halo_status status = halo_pass_partition(c.parts, &changed);
  if (status == HALO_OK && changed) status = halo_module_verify(c.parts);
  if (status == HALO_UNIMPLEMENTED) {
    printf("skip %s %s: %s\n", test.family, one->name, halo_error_message());
    test.skipped++;
  } else if (status != HALO_OK) {
    judge_fail(c.name, seed, c.whole, halo_error_message());
  } else if (!changed) {
    test.skipped++;
  } else {
    run_case(&c, expected);
  }
  halo_module_release(c.parts);
  halo_module_release(c.whole);
}

static bool is_wanted(const char *name) {
  for (int i = 0; i < test.word_count; i++) {
    if (test.words[i][0] == '=' ? strcmp(name, test.words[i] + 1) != 0
                                : strstr(name, test.words[i]) == NULL) {
      return false;
    }
  }
  return true;
}

static int64_t count_elements(const ops_values *values) {
  int64_t count = 0;
  for (int32_t i = 0; i < values->module->entry->instrs.count; i++) {
    const halo_shape *shape = values->module->entry->instrs.data[i]->shape;
    for (int32_t k = 0; k < halo_shape_leaf_count(shape); k++) {
      const halo_shape *leaf = halo_leaf_shape(shape, k);
      int64_t elements = halo_shape_is_array(leaf) ? halo_shape_element_count(leaf) : 0;
      if (elements > count) count = elements;
    }
  }
  return count;
}

static void try_case(const ops_family *family, const ops_case *one) {
  ops_values values;
  halo_literal *expected = NULL;
  if (!is_wanted(one->name)) return;
  if (!ops_case_open(family, one, &values)) {
    test.failed++;
  } else if (values.device_count > 1 || count_elements(&values) > PARTITION_MOST_ELEMENTS ||
             halo_evaluate(values.module->entry, values.arguments, values.argument_count,
                           &expected) != HALO_OK) {
    test.skipped++;
  } else {
    for (int s = 0; s < test.seeds; s++) try_seed(one, &values, expected, test.seed + (uint64_t)s);
  }
  halo_literal_release(expected);
  ops_values_free(&values);
}

int main(int argc, char **argv) {
  const char *seeds = getenv("HALO_TEST_SEEDS");
  bool one_seed = false;
  test.program = argv[0];
  test.seed = 1;
  test.words = calloc((size_t)argc, sizeof *test.words);
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--family") == 0 && i + 1 < argc) {
      test.family = argv[++i];
    } else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
      test.seed = strtoull(argv[++i], NULL, 10);
      one_seed = true;
    } else {
      test.words[test.word_count++] = argv[i];
    }
  }
  test.seeds = one_seed ? 1 : seeds ? atoi(seeds) : 2;
  ops_family family;
  if (!test.family || !ops_family_load(OPS_DATA, test.family, &family)) return 2;
  for (int i = 0; i < family.case_count; i++) try_case(&family, &family.cases[i]);
  ops_family_free(&family);
  free(test.words);
  printf("%ld passed, %ld failed, %ld skipped\n", test.passed, test.failed, test.skipped);
  return test.failed > 0 || test.passed == 0;
}
