/* SPDX-License-Identifier: Apache-2.0 */
/* bench.c: `halo bench`: which rows to measure on which devices, and where the results go. */
#include "bench/bench.h"
#include "args.h"
#include "bench/cases.h"
#include "bench/choices.h"
#include "bench/collectives.h"
#include "bench/comparison.h"
#include "bench/limits.h"
#include "bench/record.h"
#include "bench/report.h"
#include "bench/runner.h"
#include "bench/show.h"
#include "bench/system.h"
#include "tool.h"

#include <fnmatch.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Which rows ---- */

/* Limits come first: the rows are held against them. */
static const char *const bench_quick[] = {
    "limit.copy",       "limit.triad",          "limit.triad.streaming", "limit.multiply-add.f32",
    "limit.round_trip", "elementwise.add.f32",  "reduce.rows.f32",       "transpose.f32",
    "dot.square.f32",   "conv.3x3.f32",         "softmax.f32",           "attention.f32",
    "sort.f32",         "fft.power_of_two.c64", "program.kepler.small"};

static const char *const bench_default[] = {
    "limit.copy",
    "limit.read",
    "limit.triad",
    "limit.triad.streaming",
    "limit.multiply-add.f32",
    "limit.multiply-add.f16",
    "limit.multiply-add.s32",
    "limit.local_memory",
    "limit.launch",
    "limit.round_trip",
    "limit.to_device",
    "limit.from_device",
    "call.wait",
    "call.queue",
    "elementwise.add.f32",
    "elementwise.chain10.f32",
    "reduce.rows.f32",
    "reduce.columns.f32",
    "transpose.f32",
    "scan.full.f32",
    "dot.square.f32",
    "dot.square.f16",
    "dot.square.s8",
    "dot.matrix_vector.f32",
    "conv.3x3.f32",
    "conv.3x3.by_image.f32",
    "conv.3x3.by_kernel.f32",
    "conv.3x3.depthwise.f32",
    "softmax.f32",
    "layer_norm.f32",
    "attention.f32",
    "attention.backward.f32",
    "sort.f32",
    "topk.f32",
    "gather.rows.f32",
    "scatter_add.f32",
    "fft.power_of_two.c64",
    "fft.prime.c64",
    "cholesky.f32",
    "triangular_solve.f32",
    "random.bits",
    "program.digits",
    "program.language_model.small",
    "program.image_classifier.small",
    "program.next_token.medium",
    "program.kepler.small",
    "program.adaptive_pendulum.small",
    "program.reaction_diffusion.small",
};

/* Between replicas, where there are several; --full has all sizes. */
static const char bench_collectives_quick[] = "*.8B,*.64KiB,*.4MiB";
static const char bench_collectives_default[] = "*.8B,*.1KiB,*.64KiB,*.4MiB,*.32MiB";

typedef enum bench_suite { BENCH_SUITE_QUICK, BENCH_SUITE_DEFAULT, BENCH_SUITE_FULL } bench_suite;
static const char *const bench_suite_names[] = {"quick", "default", "full"};

enum { BENCH_DEVICES = 8, BENCH_FILES = 16 };

typedef struct bench_options {
  const char *devices[BENCH_DEVICES], *files[BENCH_FILES], *filter, *fault, *json;
  const char *python, *script, *folder;
  int device_count, file_count, repeat, replicas;
  bench_suite suite;
  bench_sizes sizes;
  bench_format format;
  double min_time, max_time; /* negative: by suite */
  bool device_times, list, all_implementations, reference, no_starts;
} bench_options;

typedef struct bench {
  const bench_options *options;
  bench_cases cases;
  bench_runner runner;
  bench_record record, standard;
} bench;

/* Whether one of the patterns, between commas, fits the name. */
static bool bench_fits(const char *patterns, const char *name) {
  for (const char *at = patterns; *at != '\0';) {
    size_t length = strcspn(at, ",");
    char *pattern = tool_printf("%.*s", (int)length, at);
    bool fits = fnmatch(pattern, name, 0) == 0;
    free(pattern);
    if (fits) return true;
    at += length + (at[length] == ',');
  }
  return false;
}

static bool bench_is_in(const char *const *names, size_t count, const char *name) {
  for (size_t i = 0; i < count; i++) {
    if (strcmp(names[i], name) == 0) return true;
  }
  return false;
}

/* By the options: a filter selects among all rows, a suite lists its own. */
static bool bench_wants(const bench_options *options, const char *name) {
  if (options->filter != NULL) return bench_fits(options->filter, name);
  if (options->file_count > 0) return true;
  switch (options->suite) {
    case BENCH_SUITE_QUICK:
      return bench_is_in(bench_quick, sizeof bench_quick / sizeof *bench_quick, name);
    case BENCH_SUITE_DEFAULT:
      return bench_is_in(bench_default, sizeof bench_default / sizeof *bench_default, name);
    case BENCH_SUITE_FULL: break;
  }
  return true;
}

static bool bench_wants_collective(const char *name, void *user) {
  const bench_options *options = ((const bench *)user)->options;
  if (options->filter != NULL) return bench_fits(options->filter, name);
  return options->suite == BENCH_SUITE_FULL ||
         bench_fits(options->suite == BENCH_SUITE_QUICK ? bench_collectives_quick
                                                        : bench_collectives_default,
                    name);
}

static bool bench_limit_serves(const char *limit, const char *name) {
  static const char *const streams[] = {"limit.copy", "limit.triad", "limit.triad.streaming"};
  if (limit == NULL) return false;
  if (strcmp(limit, "bandwidth") == 0 || strcmp(limit, "read") == 0) {
    return bench_is_in(streams, 3, name) ||
           (strcmp(limit, "read") == 0 && strcmp(name, "limit.read") == 0);
  }
  /* Types that a device does not compute in are held against f32. */
  return strcmp(name + strlen("limit."), limit) == 0 ||
         (strncmp(limit, "multiply-add.", 13) == 0 && strcmp(name, "limit.multiply-add.f32") == 0);
}

/* A limit is measured when it is asked for, or a row that is measured is held against it. */
static bool bench_wants_limit(const char *name, void *user) {
  const bench *b = user;
  if (bench_wants(b->options, name)) return b->options->file_count == 0;
  for (int i = 0; i < b->cases.count; i++) {
    const bench_case *c = &b->cases.data[i];
    if (bench_wants(b->options, c->name) && bench_limit_serves(c->limit, name)) return true;
  }
  return false;
}

/* ---- The cases ---- */

static bool bench_wants_program(const char *name, void *user) {
  const bench_options *options = ((const bench *)user)->options;
  return options->list || bench_wants(options, name);
}

static bool bench_add_programs(bench *b) {
  return bench_cases_add_program(
             "program.digits",
             tool_data("examples/digits/dense/train_step.hlo", "digits/dense/train_step.hlo"),
             &b->cases) &&
         bench_cases_add_folder(b->options->folder, bench_wants_program, b, &b->cases);
}

static bool bench_read_cases(bench *b) {
  const bench_options *options = b->options;
  for (int i = 0; i < options->file_count; i++) {
    char *text;
    size_t size;
    const char *name;
    if (!tool_read_bytes(options->files[i], &text, &size, &name)) return false;
    char *ended = tool_printf("%.*s", (int)size, text);
    bool good;
    if (strncmp(ended, "//! program ", 12) == 0) {
      const char *slash = strrchr(name, '/'), *file = slash != NULL ? slash + 1 : name;
      const char *dot = strrchr(file, '.');
      int length = dot != NULL ? (int)(dot - file) : (int)strlen(file);
      char *row = tool_printf("program.%.*s", length, file);
      good = bench_cases_add_program(row, options->files[i], &b->cases);
      free(row);
    } else {
      good = bench_cases_parse(ended, name, options->sizes, &b->cases);
    }
    free(ended);
    free(text);
    if (!good) return false;
  }
  for (int i = 0; options->file_count == 0 && bench_case_files[i].name != NULL; i++) {
    const bench_case_file *file = &bench_case_files[i];
    if (!bench_cases_parse(file->text, file->name, options->sizes, &b->cases)) return false;
  }
  return options->file_count > 0 || bench_add_programs(b);
}

/* ---- Measuring ---- */

static void bench_show(const bench_row *row, void *user) {
  const bench *b = user;
  bench_show_row(row, b->options->format);
}

/* Which fault is made on purpose in the row: "wrong:GLOB", "missing:GLOB", "slow:GLOB". */
static bench_fault bench_fault_of(const char *fault, const char *name) {
  static const char *const words[] = {"", "wrong:", "missing:", "slow:"};
  for (int i = BENCH_FAULT_WRONG; fault != NULL && i <= BENCH_FAULT_SLOW; i++) {
    size_t length = strlen(words[i]);
    if (strncmp(fault, words[i], length) == 0 && bench_fits(fault + length, name)) {
      return (bench_fault)i;
    }
  }
  return BENCH_NO_FAULT;
}

static void bench_take(bench *b, const bench_case *c, const char *kernels) {
  const char *limit = "";
  double rate = c->limit ? bench_limits_rate(&b->record, c->limit, &limit) : 0;
  char limit_name[32];
  snprintf(limit_name, sizeof limit_name, "%s", limit);
  bench_row *row =
      bench_record_add(&b->record); /* moves the rows, and with them the limit's name */
  snprintf(row->name, sizeof row->name, "%s", c->name);
  snprintf(row->size, sizeof row->size, "%s", c->size);
  strcpy(row->unit, c->unit);
  strcpy(row->limit, limit_name);
  row->limit_rate = rate;
  row->work = c->work;
  row->flops = c->flops;
  row->bytes = c->bytes;
  if (isatty(STDERR_FILENO)) fprintf(stderr, "%-78.78s\r", c->name);
  bench_runner_measure(&b->runner, c, kernels, bench_fault_of(b->options->fault, c->name), row);
  if (isatty(STDERR_FILENO)) fprintf(stderr, "%78s\r", "");
  bench_show(row, b);
}

/* A row for each other implementation that can do one of the case's steps. */
static void bench_take_others(bench *b, const bench_case *c) {
  halo_module *module = NULL;
  halo_executable *executable = NULL;
  choices_program program = {0};
  if (halo_module_read(c->text, strlen(c->text), c->name, NULL, &module) == HALO_OK &&
      halo_client_compile(b->runner.client, module, NULL, &executable) == HALO_OK) {
    choices_read_steps(halo_executable_report(executable, HALO_REPORT_EXPLAIN), &program);
  }
  halo_executable_release(executable);
  halo_module_release(module);
  for (int s = 0; s < program.step_count; s++) {
    const choices_step *step = &program.steps[s];
    for (int e = 0; e < step->entry_count; e++) {
      if (e != step->chosen) bench_take(b, c, step->entries[e].name);
    }
  }
  choices_release(&program);
}

static bool bench_open(bench *b, const char *device) {
  const bench_options *options = b->options;
  const double min_times[] = {0.1, 0.2, 0.3}, max_times[] = {0.5, 1, 3};
  halo_client_options client = {.device = device, .profile = options->device_times};
  b->runner = (bench_runner){
      .device = device,
      .min_time = options->min_time >= 0 ? options->min_time : min_times[options->suite],
      .max_time = options->max_time >= 0 ? options->max_time : max_times[options->suite],
      .repeat = options->repeat > 0 ? options->repeat : 5,
      .device_times = options->device_times,
      .starts = options->suite != BENCH_SUITE_QUICK && !options->no_starts};
  if (!tool_check(halo_client_create(&client, &b->runner.client))) return false;
  const halo_device *first = halo_client_device(b->runner.client, 0);
  b->runner.cache = bench_limits_cache(first);
  bench_system_describe(first, &b->record);
  b->record.min_time = b->runner.min_time;
  b->record.max_time = b->runner.max_time;
  b->record.device_times = options->device_times;
  snprintf(b->record.suite, sizeof b->record.suite, "%s", bench_suite_names[options->suite]);
  snprintf(b->record.filter, sizeof b->record.filter, "%s", options->filter ? options->filter : "");
  if (!bench_make_folder(b->runner.folder)) return false;
  if (options->reference) {
    b->runner.jax = bench_jax_open(options->python, options->script);
    if (b->runner.jax == NULL) return false;
    strcpy(b->record.reference_name, "XLA's CPU backend");
  }
  return true;
}

/* A file in the cache folder says which suites have filled it; to be freed, NULL: there is no folder. */
static char *bench_marker(const bench *b) {
  char *folder = NULL;
  if (b->options->filter != NULL || b->options->file_count > 0) return NULL;
  if (halo_cache_directory(&folder) != HALO_OK || folder == NULL) return NULL;
  unsigned hash = 5381;
  const bench_record *r = &b->record;
  const char *const parts[] = {r->version, r->commit, r->device, r->driver};
  for (int i = 0; i < 4; i++) {
    for (const char *c = parts[i]; *c; c++) hash = hash * 33 + (unsigned char)*c;
  }
  char *path = tool_printf("%s/bench-%s-%08x", folder, r->suite, hash);
  halo_text_release(folder);
  return path;
}

static void bench_announce(const bench *b, const char *marker) {
  if (marker == NULL || access(marker, F_OK) == 0) return;
  fprintf(stderr,
          "halo bench: this version has not run the %s suite on this device yet: its kernels are "
          "compiled first, which takes some minutes\n",
          b->record.suite);
}

static void bench_mark(const char *marker) {
  FILE *file = marker != NULL ? fopen(marker, "w") : NULL;
  if (file != NULL) fclose(file);
}

static bool bench_measure(bench *b) {
  double start = tool_now();
  char *marker = bench_marker(b);
  bench_announce(b, marker);
  bench_show_heading(&b->record, b->options->format);
  bool good = bench_limits_measure(halo_client_device(b->runner.client, 0), bench_wants_limit,
                                   bench_show, b, &b->record);
  const bench_options *options = b->options;
  bool ordered = options->filter == NULL && options->file_count == 0;
  size_t listed = !ordered || options->suite == BENCH_SUITE_FULL ? 0
                  : options->suite == BENCH_SUITE_QUICK
                      ? sizeof bench_quick / sizeof *bench_quick
                      : sizeof bench_default / sizeof *bench_default;
  const char *const *list = options->suite == BENCH_SUITE_QUICK ? bench_quick : bench_default;
  for (size_t i = 0; i < listed && good; i++) {
    const bench_case *c = bench_cases_find(&b->cases, list[i]);
    if (c != NULL) bench_take(b, c, NULL);
    if (c != NULL && options->all_implementations) bench_take_others(b, c);
  }
  for (int i = 0; i < b->cases.count && listed == 0 && good; i++) {
    const bench_case *c = &b->cases.data[i];
    if (!bench_wants(options, c->name)) continue;
    bench_take(b, c, NULL);
    if (options->all_implementations) bench_take_others(b, c);
  }
  b->record.seconds = tool_now() - start;
  bool small = options->sizes != BENCH_MEDIUM;
  if (good) bench_show_end(&b->record, small ? NULL : &b->standard, options->format);
  if (good) bench_mark(marker);
  free(marker);
  return good;
}

/* One device, whose record is kept in *out. */
static bool bench_run_device(bench *b, const char *device, bench_record *out) {
  b->record = (bench_record){0};
  bool good = bench_open(b, device) && bench_measure(b);
  bench_jax_close(b->runner.jax);
  if (b->runner.folder[0] != '\0') bench_remove_folder(b->runner.folder);
  halo_client_release(b->runner.client);
  *out = b->record;
  return good;
}

/* "results.json" of the second device is "results.2.json". */
static char *bench_json_path(const char *path, int device) {
  if (device == 0) return tool_strdup(path);
  const char *dot = strrchr(path, '.');
  int stem = dot != NULL ? (int)(dot - path) : (int)strlen(path);
  return tool_printf("%.*s.%d%s", stem, path, device + 1, dot != NULL ? dot : "");
}

static bool bench_went_wrong(const bench_record *record) {
  for (int i = 0; i < record->row_count; i++) {
    bench_status status = record->rows[i].status;
    if (status == BENCH_WRONG || status == BENCH_FAILED) return true;
  }
  return false;
}

/* Between the replicas of one device, or of the processes that mpiexec started: collectives only. */
static int bench_run_collectives(const bench_options *options, bench_collectives *group) {
  bench b = {.options = options};
  const char *device = options->devices[0];
  double start = tool_now();
  if (options->repeat > 0) group->rounds = options->repeat;
  bool good = bench_collectives_open(group, device, options->replicas);
  if (good) {
    bench_system_describe(halo_client_device(group->client, 0), &b.record);
    snprintf(b.record.suite, sizeof b.record.suite, "%s", bench_suite_names[options->suite]);
    if (bench_collectives_spread(group)) {
      strcpy(b.record.reference_name, "MPI on the host's memory");
    }
    bench_show_heading(&b.record, options->format);
    good = bench_collectives_measure(group, bench_wants_collective, bench_show, &b, &b.record);
    b.record.seconds = tool_now() - start;
    if (good) bench_show_end(&b.record, NULL, options->format);
    bool first = halo_client_process_index(group->client) == 0;
    if (good && first && options->json != NULL) good = bench_record_save(options->json, &b.record);
  }
  int code = good && !bench_went_wrong(&b.record) ? TOOL_OK : TOOL_FAILED;
  bench_record_release(&b.record);
  bench_collectives_close(group, code);
  return code;
}

static int bench_run(const bench_options *options) {
  bench_collectives group;
  if (!bench_collectives_connect(&group)) return TOOL_FAILED;
  if (options->replicas != 0 || bench_collectives_spread(&group)) {
    return bench_run_collectives(options, &group);
  }
  bench_collectives_close(&group, TOOL_OK);
  bench b = {.options = options};
  bench_record records[BENCH_DEVICES] = {0};
  int count = options->device_count ? options->device_count : 1;
  bool good = bench_read_cases(&b) &&
              bench_record_parse(bench_standard, "the reference's results", &b.standard);
  bool wrong = false;
  for (int d = 0; d < count && good; d++) {
    good = bench_run_device(&b, options->devices[d], &records[d]);
    if (good && options->json != NULL) {
      char *path = bench_json_path(options->json, d);
      good = bench_record_save(path, &records[d]);
      free(path);
    }
    wrong |= bench_went_wrong(&records[d]);
  }
  if (good && count > 1 && options->format == BENCH_BLOCK) bench_compare_show(records, count);
  for (int d = 0; d < count; d++) bench_record_release(&records[d]);
  bench_record_release(&b.standard);
  bench_cases_release(&b.cases);
  return good && !wrong ? TOOL_OK : TOOL_FAILED;
}

static void bench_list_row(const bench_options *options, const char *name, const char *size,
                           const char *unit) {
  bool quick = bench_is_in(bench_quick, sizeof bench_quick / sizeof *bench_quick, name);
  bool usual = bench_is_in(bench_default, sizeof bench_default / sizeof *bench_default, name);
  if (options->filter != NULL && !bench_fits(options->filter, name)) return;
  printf("%-44s %-24s %-9s %s\n", name, size, unit, quick ? "quick" : usual ? "default" : "full");
}

static int bench_list(const bench_options *options) {
  bench b = {.options = options};
  bool good = bench_read_cases(&b);
  for (int i = 0; good && options->file_count == 0 && bench_limit_names[i] != NULL; i++) {
    bench_list_row(options, bench_limit_names[i], "", "");
  }
  for (int i = 0; i < b.cases.count && good; i++) {
    const bench_case *c = &b.cases.data[i];
    bench_list_row(options, c->name, c->size, c->unit);
  }
  char name[64];
  for (int i = 0; good && options->file_count == 0 && bench_collectives_name(i, name); i++) {
    bench_list_row(options, name, "between replicas", "");
  }
  bench_cases_release(&b.cases);
  return good ? TOOL_OK : TOOL_FAILED;
}

/* ---- What other files share ---- */

static int bench_order(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

double bench_median(double *values, int count) {
  qsort(values, (size_t)count, sizeof *values, bench_order);
  return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static int bench_remove_entry(const char *path, const struct stat *info, int flag,
                              struct FTW *walk) {
  (void)info, (void)flag, (void)walk;
  return remove(path);
}

bool bench_make_folder(char path[BENCH_FOLDER]) {
  snprintf(path, BENCH_FOLDER, "/tmp/halo-bench.XXXXXX");
  if (mkdtemp(path) != NULL) return true;
  path[0] = '\0';
  tool_error("cannot make a folder in /tmp");
  return false;
}

void bench_remove_folder(const char *path) {
  nftw(path, bench_remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

/* ---- The command ---- */

enum {
  BENCH_QUICK_OPTION = 1,
  BENCH_FULL,
  BENCH_FILTER,
  BENCH_ONLY,
  BENCH_LIST,
  BENCH_SIZES,
  BENCH_DEVICE,
  BENCH_MIN_TIME,
  BENCH_MAX_TIME,
  BENCH_REPEAT,
  BENCH_ROUNDS,
  BENCH_WALL,
  BENCH_DEVICE_TIMES,
  BENCH_NO_STARTS,
  BENCH_ALL_IMPLEMENTATIONS,
  BENCH_REFERENCE,
  BENCH_JAX,
  BENCH_SCRIPT,
  BENCH_JSON,
  BENCH_CSV_OPTION,
  BENCH_MARKDOWN_OPTION,
  BENCH_QUIET_OPTION,
  BENCH_CASES_OPTION,
  BENCH_BREAK,
  BENCH_FIRST_STEP,
  BENCH_PAUSE,
  BENCH_REPLICAS,
  BENCH_HELP
};

static const tool_option bench_options_table[] = {
    {0, 0, NULL, NULL, "What is measured:"},
    {BENCH_QUICK_OPTION, 0, "quick", NULL, "a dozen rows, without first starts"},
    {BENCH_FULL, 0, "full", NULL, "every row there is"},
    {BENCH_FILTER, 0, "filter", "GLOB", "the rows whose names fit, of all; several with commas"},
    {BENCH_ONLY, 0, "only", "NAME", "the rows whose names contain NAME: --filter '*NAME*'"},
    {BENCH_LIST, 0, "list", NULL,
     "names, sizes, units and suites of the rows, and measure nothing"},
    {BENCH_SIZES, 0, "sizes", "SIZE", "small, medium or large (medium)"},
    {BENCH_DEVICE, 'd', "device", "NAME",
     "which device, as `halo info` lists them; several times: one after the other, and compared"},
    {BENCH_ALL_IMPLEMENTATIONS, 0, "all-implementations", NULL,
     "a row for each implementation that can do a step, beside the one that compiling chose"},
    {BENCH_REPLICAS, 0, "replicas", "N",
     "instead: exchanges between N replicas on the device; under mpiexec, between its processes"},
    {BENCH_CASES_OPTION, 0, "cases", "FILE",
     "the rows of this file instead (docs/benchmarks.md), or a program of tools/bench/programs"},
    {0, 0, NULL, NULL, "How:"},
    {BENCH_MIN_TIME, 0, "min-time", "SECONDS", "samples of a row, at least (0.2)"},
    {BENCH_MAX_TIME, 0, "max-time", "SECONDS", "samples of a row, at most, but for four (1)"},
    {BENCH_REPEAT, 0, "repeat", "N", "samples at least, if there is time (5)"},
    {BENCH_ROUNDS, 0, "rounds", "N", "the same"},
    {BENCH_WALL, 0, "wall", NULL, "the clock on the wall (the default)"},
    {BENCH_DEVICE_TIMES, 0, "device-times", NULL, "times of the device's events"},
    {BENCH_NO_STARTS, 0, "no-starts", NULL, "leave out compiling in new processes"},
    {BENCH_REFERENCE, 0, "reference", "xla",
     "the same programs on XLA's CPU backend, in turns, by the Python of --jax"},
    {BENCH_JAX, 0, "jax", "PYTHON",
     "a Python that has jax, for --reference xla, which this implies (default: $HALO_JAX_PYTHON)"},
    {BENCH_SCRIPT, 0, "script", "FILE",
     "where bench_jax.py is (default: the one that comes with halo)"},
    {BENCH_BREAK, 0, "break", "HOW:GLOB",
     "a fault on purpose, to see that it shows: wrong, missing or slow"},
    {0, 0, NULL, NULL, "Where the results go:"},
    {BENCH_JSON, 0, "json", "FILE", "write them there as well (docs/benchmarks.md)"},
    {BENCH_CSV_OPTION, 0, "csv", NULL, "comma-separated values on stdout"},
    {BENCH_MARKDOWN_OPTION, 0, "markdown", NULL, "a Markdown table on stdout"},
    {BENCH_QUIET_OPTION, 'q', "quiet", NULL, "nothing on stdout"},
    {BENCH_HELP, 'h', "help", NULL, "this text"},
    {0},
};

/* Of new processes that the starts are measured with; not in the help. */
static const tool_option bench_start_table[] = {
    {BENCH_FIRST_STEP, 0, "first-step", "FILE", ""},
    {BENCH_PAUSE, 0, "pause", "MS", ""},
    {BENCH_DEVICE, 'd', "device", "NAME", ""},
    {0},
};

static const struct {
  const char *name, *help;
  int (*run)(int argc, char **argv);
} bench_commands[] = {
    {"compare", "A.json B.json ...   results of several devices, drivers or versions",
     bench_compare},
    {"report", "FILE.json ... -o OUT.html   a page of plots and tables", bench_report},
    {"programs", "programs of many fields, and their first starts, against XLA's CPU backend",
     bench_programs},
    {"choices", "[FILE...]   the implementation of each step against others", bench_choices},
    {"costs", "what compiling takes a launch, a byte, an operation to cost", bench_costs},
    {"overlap", "how much of an exchange between replicas is hidden behind other work",
     bench_overlap},
    {"scale", "how long large programs take to compile", bench_scale},
};
enum { BENCH_COMMANDS = sizeof bench_commands / sizeof *bench_commands };

static void bench_help(void) {
  puts("Usage: halo bench [OPTIONS]");
  for (int i = 0; i < BENCH_COMMANDS; i++) {
    printf("       halo bench %-11s %s\n", bench_commands[i].name, bench_commands[i].help);
  }
  puts(
      "\nMeasures what a device can do, what operations and programs make of it, and whether "
      "their\n"
      "answers are right. Takes under two minutes once the kernels are in the cache. Each command\n"
      "has its own --help; docs/benchmarks.md explains the rows.\n");
  args_print_options(stdout, bench_options_table);
}

static int bench_start_command(int argc, char **argv) {
  tool_args args = {
      .command = "bench", .options = bench_start_table, .argc = argc, .argv = argv, .next = 1};
  const char *value, *path = NULL, *device = NULL;
  int64_t pause = 0;
  for (int id; (id = args_next(&args, &value)) != ARGS_END;) {
    if (id == BENCH_FIRST_STEP) path = value;
    if (id == BENCH_DEVICE) device = *value ? value : NULL;
    if (id == BENCH_PAUSE && !args_integer(&args, "pause", value, 0, 60000, &pause)) {
      return TOOL_USAGE;
    }
  }
  return path != NULL ? bench_first_step(device, path, (int)pause) : TOOL_USAGE;
}

static bool bench_take_size(const tool_args *args, const char *value, bench_options *o) {
  static const char *const names[] = {"small", "medium", "large"};
  for (int i = BENCH_SMALL; i <= BENCH_LARGE; i++) {
    if (strcmp(value, names[i]) != 0) continue;
    o->sizes = (bench_sizes)i;
    return true;
  }
  args_usage_error(args, "there is no size '%s'; there are small, medium and large", value);
  return false;
}

/* False after a message. */
static bool bench_take_option(const tool_args *args, int id, const char *value, bench_options *o) {
  int64_t repeat;
  switch (id) {
    case BENCH_QUICK_OPTION: o->suite = BENCH_SUITE_QUICK; break;
    case BENCH_FULL: o->suite = BENCH_SUITE_FULL; break;
    case BENCH_FILTER: o->filter = value; break;
    case BENCH_ONLY: o->filter = tool_printf("*%s*", value); break; /* as long as the process */
    case BENCH_LIST: o->list = true; break;
    case BENCH_SIZES: return bench_take_size(args, value, o);
    case BENCH_DEVICE:
      if (o->device_count == BENCH_DEVICES) {
        args_usage_error(args, "there are at most %d devices", BENCH_DEVICES);
        return false;
      }
      o->devices[o->device_count++] = value;
      break;
    case BENCH_CASES_OPTION:
      if (o->file_count == BENCH_FILES) {
        args_usage_error(args, "there are at most %d files of cases", BENCH_FILES);
        return false;
      }
      o->files[o->file_count++] = value;
      break;
    case BENCH_MIN_TIME: return args_number(args, "min-time", value, &o->min_time);
    case BENCH_MAX_TIME: return args_number(args, "max-time", value, &o->max_time);
    case BENCH_REPEAT:
    case BENCH_ROUNDS:
      if (!args_integer(args, "repeat", value, 1, 1000, &repeat)) return false;
      o->repeat = (int)repeat;
      break;
    case BENCH_REPLICAS:
      if (!args_integer(args, "replicas", value, 2, 4096, &repeat)) return false;
      o->replicas = (int)repeat;
      break;
    case BENCH_WALL: o->device_times = false; break;
    case BENCH_DEVICE_TIMES: o->device_times = true; break;
    case BENCH_NO_STARTS: o->no_starts = true; break;
    case BENCH_ALL_IMPLEMENTATIONS: o->all_implementations = true; break;
    case BENCH_REFERENCE:
      if (strcmp(value, "xla") != 0) {
        args_usage_error(args, "there is no reference '%s'; there is xla", value);
        return false;
      }
      o->reference = true;
      break;
    case BENCH_JAX:
      o->python = value;
      o->reference = true;
      break;
    case BENCH_SCRIPT: o->script = value; break;
    case BENCH_BREAK: o->fault = value; break;
    case BENCH_JSON: o->json = value; break;
    case BENCH_CSV_OPTION: o->format = BENCH_CSV; break;
    case BENCH_MARKDOWN_OPTION: o->format = BENCH_MARKDOWN; break;
    case BENCH_QUIET_OPTION: o->format = BENCH_QUIET; break;
  }
  return true;
}

int tool_bench(int argc, char **argv) {
  for (int i = 0; i < BENCH_COMMANDS && argc > 1; i++) {
    if (strcmp(argv[1], bench_commands[i].name) == 0) {
      return bench_commands[i].run(argc - 1, argv + 1);
    }
  }
  if (argc > 1 && strcmp(argv[1], "--first-step") == 0) return bench_start_command(argc, argv);
  bench_options options = {.python = getenv("HALO_JAX_PYTHON"),
                           .script = tool_data("tools/bench/bench_jax.py", "bench_jax.py"),
                           .folder = tool_data("tools/bench/programs", "programs"),
                           .suite = BENCH_SUITE_DEFAULT,
                           .sizes = BENCH_MEDIUM,
                           .min_time = -1,
                           .max_time = -1};
  tool_args args = {
      .command = "bench", .options = bench_options_table, .argc = argc, .argv = argv, .next = 1};
  const char *value;
  for (int id; (id = args_next(&args, &value)) != ARGS_END;) {
    if (id == BENCH_HELP) return bench_help(), TOOL_OK;
    if (id == ARGS_BAD) return TOOL_USAGE;
    if (id == ARGS_OPERAND) {
      return args_usage_error(&args, "there is no command '%s' (rows are chosen by --filter)",
                              value);
    }
    if (!bench_take_option(&args, id, value, &options)) return TOOL_USAGE;
  }
  if (options.reference && options.python == NULL) options.python = "python3";
  return options.list ? bench_list(&options) : bench_run(&options);
}
