/* SPDX-License-Identifier: Apache-2.0 */
/* programs.c: `halo bench programs`: the programs of tools/bench/programs on the device and on XLA's CPU
 * backend, in turns, and their first starts. */
#include "bench/programs.h"
#include "args.h"
#include "tool.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PROGRAMS_PAUSE = 1000 /* ms from when a client is there until it has its first program */ };

typedef struct programs_options {
  const char *device, *jax, *script, *folder, *only, *json;
  int rounds;
  bool cold, warm; /* which times to measure */
} programs_options;

typedef struct programs_bench {
  programs_options options;
  halo_client *client, *profiling;       /* for the program at hand */
  struct bench_jax *jax;                 /* NULL: none */
  char scratch[BENCH_FOLDER], cache[96]; /* folders; what is compiled for the program at hand */
  char **names;                          /* of the files, without folder */
  programs_row *rows;
  int count;
} programs_bench;

/* ---- Which programs ---- */

static int programs_is_module(const struct dirent *entry) {
  return tool_ends_with(entry->d_name, ".hlo");
}

/* Whether --only means it: a part of its name, or its field, or its size. */
static bool programs_is_wanted(const programs_options *options, const programs_row *row) {
  const char *only = options->only;
  return only == NULL || strstr(row->name, only) != NULL || strcmp(row->field, only) == 0 ||
         strcmp(row->size, only) == 0;
}

static bool programs_path(const programs_bench *b, const char *name, char *path, size_t size) {
  return snprintf(path, size, "%s/%s", b->options.folder, name) < (int)size;
}

static bool programs_find(programs_bench *b) {
  struct dirent **entries;
  int found = scandir(b->options.folder, &entries, programs_is_module, alphasort);
  if (found < 0) return tool_error("cannot read the folder %s", b->options.folder), false;
  b->names = tool_alloc(sizeof *b->names * (size_t)found);
  b->rows = tool_alloc(sizeof *b->rows * (size_t)found);
  for (int i = 0; i < found; i++) {
    char path[4096];
    bench_heading heading;
    programs_row row = {0};
    if (programs_path(b, entries[i]->d_name, path, sizeof path)) {
      bench_heading_read(path, &heading);
      snprintf(row.name, sizeof row.name, "%.*s", (int)strlen(entries[i]->d_name) - 4,
               entries[i]->d_name);
      strcpy(row.field, heading.field);
      strcpy(row.size, heading.size);
      row.has_loop = heading.has_loop;
      bench_heading_release(&heading);
      if (programs_is_wanted(&b->options, &row)) {
        b->names[b->count] = tool_strdup(entries[i]->d_name);
        b->rows[b->count++] = row;
      }
    }
    free(entries[i]);
  }
  free(entries);
  if (b->count == 0) return tool_error("no program is called %s", b->options.only), false;
  return true;
}

/* ---- What the plan says ---- */

/* Kernels have names such as u3_k0_row in a plan; several steps may launch one. */
static int programs_count_kernels(const char *plan) {
  int count = 0;
  for (const char *at = plan; (at = strstr(at, " u")) != NULL;) {
    at++;
    size_t length = strcspn(at, " \n");
    int unit, kernel;
    if (sscanf(at, "u%d_k%d_", &unit, &kernel) != 2) continue;
    bool seen = false;
    for (const char *k = strstr(plan, " u"); k != NULL && k + 1 < at && !seen;
         k = strstr(k + 1, " u")) {
      seen = strncmp(k + 1, at, length) == 0 && strcspn(k + 1, " \n") == length;
    }
    count += !seen;
  }
  return count;
}

static halo_status programs_count(programs_bench *b, const char *path, programs_row *row) {
  bench_program program;
  const halo_profile_row *steps;
  double seconds;
  int count = 0;
  halo_status status = bench_program_open(b->profiling, path, NULL, &program);
  if (status == HALO_OK) status = bench_program_run(&program, 1, BENCH_WAITED, &seconds);
  if (status == HALO_OK) status = halo_executable_profile(program.executable, &steps, &count);
  for (int i = 0; i < count && status == HALO_OK; i++) {
    row->commands += steps[i].runs;
    if (strcmp(steps[i].kind, "kernel") == 0) row->launches += steps[i].runs;
  }
  if (status == HALO_OK) {
    const char *plan = halo_executable_report(program.executable, HALO_REPORT_PLAN);
    row->kernels = programs_count_kernels(plan);
  }
  bench_program_close(&program);
  return status;
}

/* ---- Measuring ---- */

static programs_time programs_summarize(double *seconds, int count) {
  programs_time time = {.median = bench_median(seconds, count)};
  time.low = seconds[0];
  time.high = seconds[count - 1];
  return time;
}

/* How many runs make up a round. */
static int programs_runs(double seconds) {
  const double round = 0.02;
  enum { MOST = 500 };
  if (seconds >= round) return 1;
  return seconds * MOST <= round ? MOST : (int)(round / seconds);
}

/* Ours and XLA's in turns. */
static halo_status programs_measure(programs_bench *b, const char *path, programs_row *row) {
  enum { FEW_ROUNDS = 3, SECONDS = 2 };
  int most = b->options.rounds, rounds = 0;
  double *ours = tool_alloc(sizeof *ours * 2 * (size_t)most), *xla = ours + most;
  bench_program program;
  halo_status status = bench_program_open(b->client, path, NULL, &program);
  if (status == HALO_OK) status = bench_program_run(&program, 1, BENCH_WAITED, &ours[0]);
  if (status == HALO_OK) status = bench_program_run(&program, 1, BENCH_WAITED, &ours[0]);
  int runs = status == HALO_OK ? programs_runs(ours[0]) : 0, xla_runs = 0;
  if (b->jax != NULL && status == HALO_OK) {
    double seconds = bench_jax_run(b->jax, path, 1, BENCH_WAITED);
    if (seconds > 0) xla_runs = programs_runs(seconds);
  }
  double start = tool_now();
  while (status == HALO_OK && rounds < most &&
         (rounds < FEW_ROUNDS || tool_now() - start < SECONDS)) {
    status = bench_program_run(&program, runs, BENCH_WAITED, &ours[rounds]);
    if (xla_runs > 0) xla[rounds] = bench_jax_run(b->jax, path, xla_runs, BENCH_WAITED);
    rounds++;
  }
  if (status == HALO_OK) {
    row->ours = programs_summarize(ours, rounds);
    if (xla_runs > 0) row->xla = programs_summarize(xla, rounds);
  }
  bench_program_close(&program);
  free(ours);
  return status;
}

static void programs_fail(programs_row *row, const char *why) {
  snprintf(row->failure, sizeof row->failure, "%.*s", (int)strcspn(why, "\n"), why);
}

/* With clients that find what the first start compiled. */
static void programs_run_warm(programs_bench *b, const char *path, programs_row *row) {
  halo_client_options options = {.device = b->options.device, .cache_dir = ""};
  halo_status status = halo_client_create(&options, &b->client);
  options.profile = true;
  if (status == HALO_OK) status = halo_client_create(&options, &b->profiling);
  if (status == HALO_OK) status = programs_count(b, path, row);
  if (status == HALO_OK) status = programs_measure(b, path, row);
  if (status != HALO_OK) {
    const char *why = halo_error_message();
    programs_fail(row, *why ? why : "the recipes do not fit");
  }
  halo_client_release(b->client);
  halo_client_release(b->profiling);
  b->client = b->profiling = NULL;
}

/* The folder stays: what runs here was told of it once and for all. */
static bool programs_empty_cache(const programs_bench *b) {
  bench_remove_folder(b->cache);
  return mkdir(b->cache, 0700) == 0;
}

/* What the second process compiles is kept. */
static bool programs_start(const programs_bench *b, const char *path, programs_row *row) {
  bench_start running, start;
  bool good = bench_start_process(b->options.device, path, b->cache, PROGRAMS_PAUSE, &running) &&
              programs_empty_cache(b) &&
              bench_start_process(b->options.device, path, b->cache, 0, &start);
  if (!good) return false;
  row->running = running.first;
  row->client = start.client;
  row->cold = start.first;
  return true;
}

static void programs_take(programs_bench *b, int index) {
  programs_row *row = &b->rows[index];
  char path[4096];
  programs_path(b, b->names[index], path, sizeof path);
  if (b->jax != NULL && b->options.cold) {
    double seconds = bench_jax_run(b->jax, path, 0, BENCH_WAITED);
    if (seconds > 0) row->xla_cold = seconds;
  }
  if (b->options.cold && !programs_start(b, path, row)) programs_fail(row, "a first start failed");
  if (b->options.warm && row->failure[0] == '\0') programs_run_warm(b, path, row);
  programs_empty_cache(b);
}

/* Writes what is known so far, so that it is there when somebody loses patience. */
static bool programs_keep(const programs_bench *b, int count) {
  if (b->options.json == NULL) return true;
  FILE *file = fopen(b->options.json, "w");
  if (file != NULL) programs_write_json(file, b->rows, count);
  bool good = file != NULL && fclose(file) == 0;
  if (!good) tool_error("cannot write %s", b->options.json);
  return good;
}

static int programs_run(programs_bench *b) {
  if (!bench_make_folder(b->scratch)) return TOOL_FAILED;
  snprintf(b->cache, sizeof b->cache, "%s/cache", b->scratch);
  setenv("HALO_CACHE_DIR", b->cache, 1);
  setenv("POCL_CACHE_DIR", b->cache, 1);
  bool good = programs_empty_cache(b) && programs_find(b);
  if (good && b->options.jax != NULL) b->jax = bench_jax_open(b->options.jax, b->options.script);
  if (good) programs_print_heading();
  int failed = 0;
  for (int i = 0; i < b->count && good; i++) {
    programs_take(b, i);
    programs_print_row(&b->rows[i]);
    failed += b->rows[i].failure[0] != '\0';
    good = programs_keep(b, i + 1);
  }
  if (good && b->jax != NULL) programs_print_groups(b->rows, b->count);
  bench_jax_close(b->jax);
  bench_remove_folder(b->scratch);
  return good && failed == 0 ? TOOL_OK : TOOL_FAILED;
}

/* ---- The command ---- */

enum {
  PROGRAMS_ONLY = 1,
  PROGRAMS_ROUNDS,
  PROGRAMS_DEVICE,
  PROGRAMS_JAX,
  PROGRAMS_SCRIPT,
  PROGRAMS_FOLDER,
  PROGRAMS_JSON,
  PROGRAMS_NO_COLD,
  PROGRAMS_NO_WARM,
  PROGRAMS_HELP
};

static const tool_option programs_option_table[] = {
    {PROGRAMS_ONLY, 0, "only", "NAME",
     "only programs whose name contains NAME, or whose field or size it is"},
    {PROGRAMS_ROUNDS, 0, "rounds", "N", "how often each is measured, less if it is slow (11)"},
    {PROGRAMS_DEVICE, 'd', "device", "NAME", "which device, as `halo info` lists them"},
    {PROGRAMS_JAX, 0, "jax", "PYTHON", "a Python that has jax (default: $HALO_JAX_PYTHON)"},
    {PROGRAMS_SCRIPT, 0, "script", "FILE",
     "where bench_jax.py is (default: the one that comes with halo)"},
    {PROGRAMS_FOLDER, 0, "folder", "FOLDER",
     "where the programs are (default: those that come with halo)"},
    {PROGRAMS_JSON, 0, "json", "FILE", "write the figures there as well"},
    {PROGRAMS_NO_COLD, 0, "no-cold", NULL, "leave first starts out"},
    {PROGRAMS_NO_WARM, 0, "no-warm", NULL, "measure first starts only"},
    {PROGRAMS_HELP, 'h', "help", NULL, "this text"},
    {0},
};

static void programs_help(void) {
  puts(
      "Usage: halo bench programs [OPTIONS]\n\n"
      "Runs programs of many fields, as JAX lowered them, here and on XLA's CPU backend in turns:\n"
      "medians of a run that is waited for, how far the rounds lie apart, first starts (compiling\n"
      "and the first run, in a new process with empty caches, at once and when its client has "
      "been\n"
      "there for a second, as XLA's has), different kernels and launches.\n");
  args_print_options(stdout, programs_option_table);
}

int bench_programs(int argc, char **argv) {
  tool_args args = {.command = "bench programs",
                    .options = programs_option_table,
                    .argc = argc,
                    .argv = argv,
                    .next = 1};
  programs_bench b = {.options = {.jax = getenv("HALO_JAX_PYTHON"),
                                  .script = tool_data("tools/bench/bench_jax.py", "bench_jax.py"),
                                  .folder = tool_data("tools/bench/programs", "programs"),
                                  .cold = true,
                                  .warm = true}};
  const char *value;
  int64_t rounds = 11;
  for (int id; (id = args_next(&args, &value)) != ARGS_END;) {
    switch (id) {
      case PROGRAMS_ONLY: b.options.only = value; break;
      case PROGRAMS_ROUNDS:
        if (!args_integer(&args, "rounds", value, 1, 10000, &rounds)) return TOOL_USAGE;
        break;
      case PROGRAMS_DEVICE: b.options.device = value; break;
      case PROGRAMS_JAX: b.options.jax = value; break;
      case PROGRAMS_SCRIPT: b.options.script = value; break;
      case PROGRAMS_FOLDER: b.options.folder = value; break;
      case PROGRAMS_JSON: b.options.json = value; break;
      case PROGRAMS_NO_COLD: b.options.cold = false; break;
      case PROGRAMS_NO_WARM: b.options.warm = false; break;
      case PROGRAMS_HELP: programs_help(); return TOOL_OK;
      case ARGS_OPERAND: return args_usage_error(&args, "there is no use for '%s'", value);
      default: return TOOL_USAGE;
    }
  }
  b.options.rounds = (int)rounds;
  int code = programs_run(&b);
  for (int i = 0; i < b.count; i++) free(b.names[i]);
  free(b.names);
  free(b.rows);
  return code;
}
