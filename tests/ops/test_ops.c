/* SPDX-License-Identifier: Apache-2.0 */
/* test_ops: every op against what XLA's CPU backend gave, and the documentation's worked examples.
 *
 * usage: test_ops [--family NAME] [--mode fused|unfused|evaluator] [--device WHICH] [WORD...]
 *
 * A result is tried when each WORD is its case's name or a part of it (parts are between dots), or
 * its label or a part of that: `test_ops add f32`; `=NAME` means that case alone, `^NAME` leaves that
 * case out. HALO_TEST_DEVICE chooses the device when --device does not; HALO_TEST_SMALL leaves out large
 * cases; HALO_CACHE_DIR lets programs be cached on disk. The last line is "N passed, N failed"; the exit code is 1 when
 * something failed. */
#include "harness.h"

#include "evaluator/evaluator.h"
#include "text/text.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum ops_mode { OPS_FUSED, OPS_UNFUSED, OPS_EVALUATOR } ops_mode;
enum { OPS_MODE_COUNT = 3, OPS_SMALL_ELEMENTS = 20000 };
static const char *const ops_mode_names[OPS_MODE_COUNT] = {"fused", "unfused", "evaluator"};

static struct {
  const char *program, *family, *device;
  bool modes[OPS_MODE_COUNT];
  char **words, **without;
  int word_count, without_count;
  halo_client *client;
  halo_communicator *communicator; /* of the processes that mpiexec started; NULL: alone */
  long passed, failed, skipped;
} ops;

/* Whether `word` is `text` or one of its parts between dots; "=text" must be all of it. */
static bool ops_is_part(const char *text, const char *word) {
  if (*word == '=') {
    return strcmp(text, word + 1) == 0;
  }
  size_t length = strlen(word);
  if (strcmp(text, word) == 0) {
    return true;
  }
  for (const char *at = text; at != NULL; at = strchr(at, '.')) {
    at += at != text;
    if (strncmp(at, word, length) == 0 && (at[length] == '.' || at[length] == 0)) {
      return true;
    }
  }
  return false;
}

static bool ops_is_wanted(const ops_case *one, const char *label) {
  for (int i = 0; i < ops.word_count; i++) {
    if (!ops_is_part(one->name, ops.words[i]) && !ops_is_part(label, ops.words[i])) {
      return false;
    }
  }
  return true;
}

/* Whether a case has results that are wanted, if only their types are the right ones. */
static bool ops_may_be_wanted(const ops_case *one) {
  for (int i = 0; i < ops.word_count; i++) {
    if (!ops_is_part(one->name, ops.words[i]) &&
        halo_type_from_name(ops.words[i]) == HALO_TYPE_INVALID) {
      return false;
    }
  }
  return true;
}

static const char *ops_label(const ops_case *one, const ops_values *values, int i) {
  return one->bound_count > 0
             ? one->bounds[i].label
             : halo_type_name(halo_shape_type(halo_literal_shape(values->expected[i])));
}

/* The elements at `index` of the operands that result `i` was computed from, where that is so
 * simple: parameters of the result's size, or scalars. */
static void ops_print_inputs(const ops_values *values, int i, int64_t index) {
  const halo_instr *root = values->module->entry->root;
  const halo_instr *op = root->opcode == HALO_OP_TUPLE ? root->operands[i] : root;
  int64_t count = halo_shape_element_count(halo_literal_shape(values->expected[i]));
  for (int32_t k = 0; k < op->operand_count; k++) {
    const halo_instr *operand = op->operands[k];
    if (operand->opcode != HALO_OP_PARAMETER) {
      continue;
    }
    const halo_literal *literal = values->arguments[operand->parameter_number];
    int64_t size = halo_shape_element_count(halo_literal_shape(literal));
    if (size == count || size == 1) {
      char text[100];
      ops_element_text(literal, size == 1 ? 0 : index, text, sizeof text);
      printf("  %s %s\n", k == 0 ? "inputs  " : "        ", text);
    }
  }
}

static void ops_print_failure(const ops_family *family, const ops_case *one, ops_mode mode,
                              const ops_values *values, int k, const halo_literal *got,
                              ops_verdict verdict) {
  int i = k % values->expected_count;
  const char *label = ops_label(one, values, i);
  char text[100];
  halo_strbuf line = {0};
  const halo_instr *root = values->module->entry->root;
  halo_instr_print(&line, root->opcode == HALO_OP_TUPLE ? root->operands[i] : root, 0);
  printf("FAIL %s %s %s (%s): %lld of %lld elements are wrong\n  %s\n", family->name, one->name,
         label, ops_mode_names[mode], (long long)verdict.wrong,
         (long long)halo_shape_element_count(halo_literal_shape(got)), halo_strbuf_text(&line));
  halo_strbuf_deinit(&line);
  printf("  index    %lld (row-major)\n", (long long)verdict.first);
  ops_print_inputs(values, i, verdict.first);
  ops_element_text(values->expected[k], verdict.first, text, sizeof text);
  if (values->device_count > 1) {
    printf("  device   %d\n", k / values->expected_count);
  }
  printf("  expected %s\n", text);
  ops_element_text(got, verdict.first, text, sizeof text);
  printf("  got      %s\n", text);
  if (verdict.worst == UINT64_MAX) {
    printf("  NaN or infinite on one side only; the bound is ");
  } else {
    printf("  up to %llu ULP away; the bound is ", (unsigned long long)verdict.worst);
  }
  printf("%llu\n  again: %s --family %s --mode %s %s %s\n",
         one->bound_count > 0 ? (unsigned long long)one->bounds[i].ulp : 0ULL, ops.program,
         family->name, ops_mode_names[mode], one->name, one->bound_count > 0 ? label : "");
}

/* The client with so many devices, all of them the one that was asked for. */
static halo_status ops_take_client(int devices) {
  static int opened;
  if (ops.client != NULL && opened == devices) {
    return HALO_OK;
  }
  halo_client_release(ops.client);
  ops.client = NULL;
  opened = devices;
  halo_device_entry *list;
  int count, chosen = 0, processes = ops.communicator ? ops.communicator->process_count : 1;
  int mine = (devices + processes - 1) / processes;
  char text[64];
  halo_status status = halo_device_list(ops.device, &list, &count);
  if (status != HALO_OK) {
    return status;
  }
  while (chosen + 1 < count && !list[chosen].chosen) {
    chosen++;
  }
  snprintf(text, sizeof text, "%d:%d*%d", list[chosen].platform, list[chosen].device, mine);
  halo_device_list_release(list);
  halo_client_options options = {.device = devices > 1 ? text : ops.device,
                                 .cache_dir = getenv("HALO_CACHE_DIR") != NULL ? NULL : "",
                                 .communicator = ops.communicator};
  return halo_client_create(&options, &ops.client);
}

/* Which of the devices' inputs and results are those of this process's device `d`. */
static int ops_part(const halo_executable *executable, const halo_module *module, int d) {
  int replica, partition;
  halo_executable_part(executable, d, &replica, &partition);
  return replica * (int)module->num_partitions + partition;
}

/* All devices of this process at once. `results` are of all devices; those of other processes stay NULL. */
static halo_status ops_execute_all(halo_executable *executable, const ops_values *values,
                                   halo_literal **results) {
  int devices = halo_executable_device_count(executable), inputs = values->argument_count;
  int outputs = halo_executable_result_count(executable);
  halo_buffer **buffers = calloc((size_t)((inputs + outputs) * devices) + 1, sizeof(*buffers));
  halo_buffer *const **arguments = calloc((size_t)devices, sizeof(*arguments));
  halo_buffer ***received = calloc((size_t)devices, sizeof(*received));
  halo_status status = HALO_OK;
  for (int d = 0; d < devices; d++) {
    halo_buffer **mine = buffers + (ptrdiff_t)(inputs + outputs) * d;
    int part = ops_part(executable, values->module, d);
    arguments[d] = mine;
    received[d] = mine + inputs;
    for (int i = 0; i < inputs && status == HALO_OK; i++) {
      halo_literal *literal = values->arguments[part * inputs + i];
      status = halo_buffer_put(halo_executable_device(executable, d), halo_literal_data(literal),
                               NULL, halo_executable_argument_shape(executable, i), &mine[i], NULL);
    }
  }
  if (status == HALO_OK) {
    status = halo_executable_execute_all(executable, arguments, inputs, NULL, received);
  }
  for (int i = 0; i < outputs * devices && status == HALO_OK; i++) {
    int part = ops_part(executable, values->module, i / outputs);
    status = halo_buffer_to_literal(received[i / outputs][i % outputs],
                                    &results[part * outputs + i % outputs]);
  }
  for (int i = 0; i < (inputs + outputs) * devices; i++) {
    halo_buffer_release(buffers[i]);
  }
  free(received);
  free(arguments);
  free(buffers);
  return status;
}

/* A result is a tuple of all devices' results, which are empty arrays where the device is another
 * process's. */
static halo_status ops_run_shared(ops_mode mode, const ops_values *values, halo_literal **result) {
  halo_compile_options options = {.no_fusion = mode == OPS_UNFUSED};
  halo_executable *executable;
  halo_status status = halo_client_compile(ops.client, values->module, &options, &executable);
  if (status != HALO_OK) {
    return status;
  }
  int count = halo_executable_result_count(executable) * values->device_count;
  halo_literal **results = calloc((size_t)count + 1, sizeof(*results));
  status = ops_execute_all(executable, values, results);
  for (int i = 0; i < count && status == HALO_OK; i++) {
    halo_shape *nothing;
    if (results[i] == NULL) {
      status = halo_shape_create_array(HALO_PRED, 1, (const int64_t[]){0}, &nothing);
      if (status == HALO_OK) {
        status = halo_literal_create(nothing, &results[i]);
        halo_shape_release(nothing);
      }
    }
  }
  if (status == HALO_OK) {
    status = halo_literal_create_tuple(count, results, result);
  }
  for (int i = 0; i < count; i++) {
    halo_literal_release(results[i]);
  }
  free(results);
  halo_executable_release(executable);
  return status;
}

/* Whether device `d` of a case is another process's. */
static bool ops_is_elsewhere(int devices, int d) {
  if (ops.communicator == NULL || devices == 1) {
    return false;
  }
  int processes = ops.communicator->process_count, mine = (devices + processes - 1) / processes;
  return d / mine != ops.communicator->process;
}

static halo_status ops_run(ops_mode mode, const ops_values *values, halo_literal **result) {
  const halo_module *module = values->module;
  if (mode != OPS_EVALUATOR) {
    halo_status ready = ops_take_client(values->device_count);
    if (ready != HALO_OK) {
      return ready;
    }
  }
  if (values->device_count > 1) {
    return ops_run_shared(mode, values, result);
  }
  if (mode == OPS_EVALUATOR) {
    return halo_evaluate(module->entry, values->arguments, values->argument_count, result);
  }
  halo_compile_options options = {.no_fusion = mode == OPS_UNFUSED};
  halo_executable *executable;
  halo_status status = halo_client_compile(ops.client, module, &options, &executable);
  if (status == HALO_OK) {
    status = halo_executable_run(executable, values->arguments, values->argument_count, result);
    halo_executable_release(executable);
  }
  return status;
}

static void ops_judge_results(const ops_family *family, const ops_case *one, ops_mode mode,
                              const ops_values *values, halo_literal *result) {
  bool is_tuple = halo_shape_type(halo_literal_shape(result)) == HALO_TUPLE;
  for (int k = 0; k < values->expected_count * values->device_count; k++) {
    int i = k % values->expected_count;
    if (!ops_is_wanted(one, ops_label(one, values, i)) ||
        ops_is_elsewhere(values->device_count, k / values->expected_count)) {
      continue;
    }
    const halo_literal *got = is_tuple ? halo_literal_element(result, k) : result;
    ops_verdict verdict = {.wrong = 1, .worst = UINT64_MAX};
    if (!halo_shape_compatible(halo_literal_shape(got), halo_literal_shape(values->expected[k]))) {
      printf("FAIL %s %s (%s): result %d has another shape\n", family->name, one->name,
             ops_mode_names[mode], i);
      ops.failed++;
      continue;
    }
    verdict = ops_judge(got, values->expected[k], one->bound_count > 0 ? one->bounds[i].ulp : 0);
    if (verdict.wrong == 0) {
      ops.passed++;
    } else {
      ops.failed++;
      ops_print_failure(family, one, mode, values, k, got, verdict);
    }
  }
}

static void ops_skip(const ops_family *family, const ops_case *one, const char *mode,
                     const char *reason) {
  printf("skip %s %s (%s): %s\n", family->name, one->name, mode, reason);
  ops.skipped++;
}

static int64_t ops_element_count(const ops_values *values) {
  int64_t count = 0;
  for (int i = 0; i < values->argument_count; i++) {
    count += halo_shape_element_count(halo_literal_shape(values->arguments[i]));
  }
  for (int i = 0; i < values->expected_count; i++) {
    count += halo_shape_element_count(halo_literal_shape(values->expected[i]));
  }
  return count;
}

static bool ops_needs_double(const ops_values *values) {
  for (int i = 0; i < values->argument_count + values->expected_count; i++) {
    const halo_literal *literal = i < values->argument_count
                                      ? values->arguments[i]
                                      : values->expected[i - values->argument_count];
    halo_type type = halo_shape_type(halo_literal_shape(literal));
    if (type == HALO_F64 || type == HALO_C128) {
      return true;
    }
  }
  return false;
}

/* Why a case cannot be tried this way, or NULL. */
static const char *ops_why_not(ops_mode mode, const ops_values *values) {
  if (getenv("HALO_TEST_SMALL") != NULL && ops_element_count(values) > OPS_SMALL_ELEMENTS) {
    return "HALO_TEST_SMALL is set and the case is large";
  }
  if (mode == OPS_EVALUATOR) {
    return values->device_count > 1 ? "the evaluator is one device" : NULL;
  }
  halo_device_info info;
  halo_device_get_info(halo_client_device(ops.client, 0), &info);
  return !info.has_f64 && ops_needs_double(values) ? "the device has no double precision" : NULL;
}

static void ops_try_case(const ops_family *family, const ops_case *one) {
  for (int i = 0; i < ops.without_count; i++) {
    if (strcmp(one->name, ops.without[i]) == 0) {
      return;
    }
  }
  /* The labels of a worked example are its results' types, not known yet. */
  bool wanted = ops.word_count == 0 || (one->bound_count == 0 && ops_may_be_wanted(one));
  for (int i = 0; i < one->bound_count && !wanted; i++) {
    wanted = ops_is_wanted(one, one->bounds[i].label);
  }
  if (!wanted) {
    return;
  }
  ops_values values;
  if (!ops_case_open(family, one, &values)) {
    ops.failed++;
    ops_values_free(&values);
    return;
  }
  for (int mode = 0; mode < OPS_MODE_COUNT; mode++) {
    const char *why_not = ops.modes[mode] ? ops_why_not(mode, &values) : "";
    if (why_not != NULL) {
      if (why_not[0] != 0) {
        ops_skip(family, one, ops_mode_names[mode], why_not);
      }
      continue;
    }
    halo_literal *result;
    halo_status status = ops_run(mode, &values, &result);
    if (status == HALO_OK) {
      ops_judge_results(family, one, mode, &values, result);
      halo_literal_release(result);
    } else if (mode == OPS_EVALUATOR && status == HALO_UNIMPLEMENTED) {
      ops_skip(family, one, ops_mode_names[mode], halo_error_message());
    } else {
      printf("FAIL %s %s (%s): %s\n  again: %s --family %s --mode %s %s\n", family->name, one->name,
             ops_mode_names[mode], halo_error_message(), ops.program, family->name,
             ops_mode_names[mode], one->name);
      ops.failed += values.expected_count;
    }
    fflush(stdout);
  }
  ops_values_free(&values);
}

static bool ops_try_family(const char *name) {
  ops_family family;
  bool good = ops_family_load(OPS_DATA, name, &family);
  for (int i = 0; good && i < family.case_count; i++) {
    ops_try_case(&family, &family.cases[i]);
  }
  ops_family_free(&family);
  return good;
}

static int ops_compare_names(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool ops_try_all_families(void) {
  enum { FAMILIES = 256 };
  char *names[FAMILIES];
  size_t count = 0;
  DIR *folder = opendir(OPS_DATA);
  for (struct dirent *entry; folder && count < FAMILIES && (entry = readdir(folder));) {
    char *end = strrchr(entry->d_name, '.');
    if (!end || strcmp(end, ".hlo") != 0) continue;
    *end = 0;
    names[count++] = strdup(entry->d_name);
  }
  if (folder) closedir(folder);
  qsort(names, count, sizeof *names, ops_compare_names);
  bool good = count > 0;
  for (size_t i = 0; i < count; i++) {
    good = good && ops_try_family(names[i]);
    free(names[i]);
  }
  return good;
}

static bool ops_read_arguments(int argc, char **argv) {
  bool any = false;
  ops.program = argv[0];
  ops.device = getenv("HALO_TEST_DEVICE");
  ops.words = calloc((size_t)argc, sizeof(*ops.words));
  ops.without = calloc((size_t)argc, sizeof(*ops.without));
  for (int i = 1; i < argc; i++) {
    if (argv[i][0] == '^') {
      ops.without[ops.without_count++] = argv[i] + 1;
    } else if (argv[i][0] != '-') {
      ops.words[ops.word_count++] = argv[i];
    } else if (i + 1 < argc && strcmp(argv[i], "--family") == 0) {
      ops.family = argv[++i];
    } else if (i + 1 < argc && strcmp(argv[i], "--device") == 0) {
      ops.device = argv[++i];
    } else if (i + 1 < argc && strcmp(argv[i], "--mode") == 0) {
      i++;
      for (int mode = 0; mode < OPS_MODE_COUNT; mode++) {
        bool named = strcmp(argv[i], ops_mode_names[mode]) == 0;
        ops.modes[mode] = ops.modes[mode] || named;
        any = any || named;
      }
      if (!any) {
        return false;
      }
    } else {
      return false;
    }
  }
  for (int mode = 0; mode < OPS_MODE_COUNT && !any; mode++) {
    ops.modes[mode] = true;
  }
  return true;
}

/* Families of subnormal numbers say themselves what becomes of them. The evaluator keeps them. */
static void ops_choose_denormals(void) {
  if (ops.family && strcmp(ops.family, "denormal") == 0) {
    putenv((char *)"HALO_DENORMALS=keep");
  } else if (ops.family && strcmp(ops.family, "flushed") == 0) {
    putenv((char *)"HALO_DENORMALS=flush");
    ops.modes[OPS_EVALUATOR] = false;
  }
}

int main(int argc, char **argv) {
  if (!ops_read_arguments(argc, argv)) {
    fprintf(
        stderr,
        "usage: %s [--family NAME] [--mode fused|unfused|evaluator] [--device WHICH] [WORD...]\n",
        argv[0]);
    return 2;
  }
  ops_choose_denormals();
  const char *communicator = halo_communicator_default();
  if (communicator && halo_communicator_open(communicator, &ops.communicator) != HALO_OK) {
    fprintf(stderr, "test_ops: %s\n", halo_error_message());
    return 1;
  }
  if ((ops.modes[OPS_FUSED] || ops.modes[OPS_UNFUSED]) && ops_take_client(1) != HALO_OK) {
    fprintf(stderr, "test_ops: %s\n", halo_error_message());
    return 1;
  }
  bool good = ops.family != NULL ? ops_try_family(ops.family) : ops_try_all_families();
  halo_client_release(ops.client);
  halo_communicator_close(ops.communicator);
  free(ops.words);
  free(ops.without);
  if (ops.skipped > 0) {
    printf("%ld skipped\n", ops.skipped);
  }
  if (ops.passed + ops.failed + ops.skipped == 0) {
    fprintf(stderr, "test_ops: no case matches\n");
    good = false;
  }
  printf("%ld passed, %ld failed\n", ops.passed, ops.failed);
  return good && ops.failed == 0 ? 0 : 1;
}
