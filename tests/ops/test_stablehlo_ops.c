/* SPDX-License-Identifier: Apache-2.0 */
/* test_stablehlo_ops.c: the recorded cases as StableHLO (record_stablehlo.py), text and artifacts, give the bits of
 * their HLO text: all on the evaluator, one of each family on the device too. */
#include "evaluator/evaluator.h"
#include "harness.h"
#include "shape/literal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct stablehlo_run {
  halo_client *client;
  ops_family family; /* of the member at hand */
  bool on_device;    /* the next one of this family runs there */
  int good, skipped, bad;
} stablehlo_run;

static bool stablehlo_fail(stablehlo_run *run, const char *member, const char *what) {
  fprintf(stderr, "%s: %s\n", member, what);
  run->bad++;
  return false;
}

/* ---- The two values of a case ---- */

/* A tuple of one array is that array. */
static const halo_literal *stablehlo_leaf(const halo_literal *value) {
  bool tuple = halo_shape_type(value->shape) == HALO_TUPLE;
  return tuple && halo_shape_tuple_count(value->shape) == 1 ? value->elements[0] : value;
}

static bool stablehlo_evaluate(const halo_module *module, const ops_values *values,
                               halo_literal **out) {
  return halo_evaluate(module->entry, values->arguments, values->argument_count, out) == HALO_OK;
}

/* Runs on the device; the results' literals in a tuple. */
static halo_status stablehlo_execute(stablehlo_run *run, halo_module *module,
                                     const ops_values *values, halo_literal **out) {
  enum { MOST = 64 };
  halo_executable *executable = NULL;
  halo_buffer *arguments[MOST] = {NULL}, *results[MOST] = {NULL};
  halo_literal *literals[MOST] = {NULL};
  halo_status status = halo_client_compile(run->client, module, NULL, &executable);
  int count = status == HALO_OK ? halo_executable_result_count(executable) : 0;
  for (int i = 0; i < values->argument_count && status == HALO_OK; i++) {
    status = halo_buffer_from_literal(run->client, values->arguments[i], &arguments[i]);
  }
  if (status == HALO_OK) {
    status = halo_executable_execute(executable, arguments, values->argument_count, NULL, results);
  }
  for (int i = 0; i < count && status == HALO_OK; i++) {
    status = halo_buffer_to_literal(results[i], &literals[i]);
  }
  if (status == HALO_OK) status = halo_literal_create_tuple(count, literals, out);
  for (int i = 0; i < MOST; i++) {
    halo_buffer_release(arguments[i]);
    halo_buffer_release(results[i]);
    halo_literal_release(literals[i]);
  }
  halo_executable_release(executable);
  return status;
}

static bool stablehlo_compare_device(stablehlo_run *run, const char *member,
                                     const ops_values *values, halo_module *module) {
  halo_literal *expected = NULL, *got = NULL;
  bool good = true;
  /* StableHLO has no layouts. */
  for (int i = 0; i < values->argument_count; i++) {
    if (!halo_shape_equal(module->entry_params[i], values->module->entry_params[i])) return true;
  }
  /* What the device refuses, it refuses from HLO text too. */
  if (stablehlo_execute(run, values->module, values, &expected) == HALO_OK) {
    if (stablehlo_execute(run, module, values, &got) != HALO_OK) {
      good = stablehlo_fail(run, member, halo_error_message());
    } else if (!halo_literal_same_bits(got, expected)) {
      good = stablehlo_fail(run, member, "other bits on the device");
    }
  }
  halo_literal_release(expected);
  halo_literal_release(got);
  return good;
}

static void stablehlo_compare(stablehlo_run *run, const char *member, const ops_values *values,
                              halo_module *module) {
  halo_literal *expected = NULL, *got = NULL;
  bool good = true;
  if (!stablehlo_evaluate(values->module, values, &expected)) {
    run->skipped++; /* not the evaluator's: what several devices do */
    return;
  }
  if (!stablehlo_evaluate(module, values, &got)) {
    good = stablehlo_fail(run, member, halo_error_message());
  } else if (!halo_literal_same_bits(stablehlo_leaf(got), stablehlo_leaf(expected))) {
    good = stablehlo_fail(run, member, "other bits");
  }
  halo_literal_release(expected);
  halo_literal_release(got);
  if (good && run->on_device) good = stablehlo_compare_device(run, member, values, module);
  run->on_device = false;
  run->good += good;
}

/* ---- The members ---- */

static const ops_case *stablehlo_case(const ops_family *family, const char *name, size_t length) {
  for (int i = 0; i < family->case_count; i++) {
    const ops_case *one = &family->cases[i];
    if (strlen(one->name) == length && strncmp(one->name, name, length) == 0) return one;
  }
  return NULL;
}

/* FAMILY/CASE.mlir or .vhlo; members of one family stand together. */
static bool stablehlo_member(stablehlo_run *run, const char *member, halo_literal *data) {
  const char *slash = strchr(member, '/'), *dot = strrchr(member, '.');
  if (!slash || !dot || dot < slash) return stablehlo_fail(run, member, "this is no case's name");
  char *family = strndup(member, (size_t)(slash - member));
  bool loaded = run->family.name && strcmp(run->family.name, family) == 0;
  if (!loaded) {
    ops_family_free(&run->family);
    memset(&run->family, 0, sizeof run->family);
    loaded = ops_family_load(OPS_DATA, family, &run->family);
    run->on_device = true;
  }
  free(family);
  const ops_case *one =
      loaded ? stablehlo_case(&run->family, slash + 1, (size_t)(dot - slash - 1)) : NULL;
  if (!one) return stablehlo_fail(run, member, "there is no such recorded case");
  ops_values values;
  halo_module *module = NULL;
  if (!ops_case_open(&run->family, one, &values)) return stablehlo_fail(run, member, "unreadable");
  size_t size = (size_t)halo_shape_element_count(halo_literal_shape(data));
  if (halo_module_read(halo_literal_data(data), size, member, NULL, &module) != HALO_OK) {
    stablehlo_fail(run, member, halo_error_message());
  } else if (module->entry->params.count != values.argument_count) {
    stablehlo_fail(run, member, "other parameters");
  } else {
    stablehlo_compare(run, member, &values, module);
  }
  halo_module_release(module);
  ops_values_free(&values);
  return true;
}

int main(void) {
  stablehlo_run run = {.on_device = false};
  halo_npz *npz = NULL;
  if (halo_client_create(NULL, &run.client) != HALO_OK ||
      halo_npz_open(OPS_DATA "/stablehlo.npz", &npz) != HALO_OK) {
    fprintf(stderr, "test_stablehlo_ops: %s\n", halo_error_message());
    return EXIT_FAILURE;
  }
  for (int i = 0; i < halo_npz_count(npz); i++) {
    halo_literal *data = NULL;
    if (halo_npz_read(npz, i, HALO_U8, &data) != HALO_OK) {
      stablehlo_fail(&run, halo_npz_name(npz, i), halo_error_message());
    } else {
      stablehlo_member(&run, halo_npz_name(npz, i), data);
    }
    halo_literal_release(data);
  }
  halo_npz_close(npz);
  ops_family_free(&run.family);
  halo_client_release(run.client);
  int all = run.good + run.bad;
  printf("%d%%: Checks: %d, Failures: %d, Errors: 0 (%d not evaluated)\n",
         all ? 100 * run.good / all : 0, all, run.bad, run.skipped);
  return run.bad || !run.good ? EXIT_FAILURE : EXIT_SUCCESS;
}
