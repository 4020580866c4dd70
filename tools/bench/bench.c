/* SPDX-License-Identifier: Apache-2.0 */
/* bench.c: `halo bench`: what the machine can do, what this library makes of it, and the ratio. */
#include "bench/bench.h"
#include "args.h"
#include "base/json.h"
#include "tool.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int bench_compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

double bench_median(double *values, int count) {
  qsort(values, (size_t)count, sizeof *values, bench_compare);
  return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

void bench_check_cl(cl_int code, const char *what) {
  if (code == CL_SUCCESS) return;
  fprintf(stderr, "halo bench: %s failed with OpenCL's code %d\n", what, (int)code);
  exit(1);
}

static int bench_remove_entry(const char *path, const struct stat *info, int flag,
                              struct FTW *walk) {
  (void)info, (void)flag, (void)walk;
  return remove(path);
}

bool bench_make_folder(char path[BENCH_FOLDER]) {
  snprintf(path, BENCH_FOLDER, "/tmp/halo-bench.XXXXXX");
  if (mkdtemp(path) != NULL) return true;
  tool_error("cannot make a folder in /tmp");
  return false;
}

void bench_remove_folder(const char *path) {
  nftw(path, bench_remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

/* ---- Rows ---- */

bool bench_goes_on(const bench *b, int done, double start) {
  enum { FEW_ROUNDS = 3, SECONDS = 5 };
  if (done >= b->options.rounds) return false;
  return done < FEW_ROUNDS || tool_now() - start < SECONDS;
}

bench_row *bench_add_row(bench *b, const char *name, const char *size, bench_kind kind,
                         double target) {
  if (b->options.only != NULL && strstr(name, b->options.only) == NULL) return NULL;
  if (b->row_count == (int)(sizeof b->rows / sizeof *b->rows)) return NULL;
  bench_row *row = &b->rows[b->row_count++];
  memset(row, 0, sizeof *row);
  snprintf(row->name, sizeof row->name, "%s", name);
  snprintf(row->size, sizeof row->size, "%s", size);
  row->kind = kind;
  row->target = target;
  if (isatty(STDERR_FILENO)) fprintf(stderr, "measuring %s, %s\n", name, size);
  return row;
}

void bench_fail_row(bench_row *row, halo_status status) {
  snprintf(row->failure, sizeof row->failure, "%s: %s", halo_status_name(status),
           halo_error_message());
  char *line_end = strchr(row->failure, '\n');
  if (line_end != NULL) *line_end = '\0';
}

/* What the target is compared with: a ratio, or seconds. */
static double bench_score(const bench_row *row) {
  switch (row->kind) {
    case BENCH_BANDWIDTH:
    case BENCH_STREAMING:
    case BENCH_FLOPS: return row->work / row->seconds / row->limit;
    case BENCH_ABOVE: return row->seconds - row->limit;
    case BENCH_WITHIN: return row->seconds;
    case BENCH_AGAINST_XLA: return row->xla > 0 ? row->xla / row->seconds : 0;
  }
  return 0;
}

static bool bench_is_ratio(const bench_row *row) {
  return row->kind != BENCH_ABOVE && row->kind != BENCH_WITHIN;
}

/* "met", "missed", or "" when there is nothing to say. */
static const char *bench_verdict(const bench_row *row) {
  if (row->target == 0 || (row->kind == BENCH_AGAINST_XLA && row->xla == 0)) return "";
  double score = bench_score(row);
  return (bench_is_ratio(row) ? score >= row->target : score <= row->target) ? "met" : "missed";
}

static void bench_print_row(const bench_row *row) {
  char rate[32] = "", limit[32] = "", score[32] = "", target[32] = "", xla[32] = "";
  printf("%-18s %-19s ", row->name, row->size);
  if (row->failure[0] != '\0') {
    printf("%s\n", row->failure);
    return;
  }
  if (bench_is_ratio(row) && row->kind != BENCH_AGAINST_XLA) {
    const char *unit = row->kind == BENCH_FLOPS ? "GFLOP/s" : "GB/s";
    snprintf(rate, sizeof rate, "%.1f %s", row->work / row->seconds * 1e-9, unit);
    snprintf(limit, sizeof limit, "%.1f %s", row->limit * 1e-9, unit);
    snprintf(score, sizeof score, "%.1f %%", bench_score(row) * 100);
  } else if (row->kind == BENCH_ABOVE) {
    snprintf(limit, sizeof limit, "%s", tool_seconds(row->limit));
    snprintf(score, sizeof score, "%+.1f us", bench_score(row) * 1e6);
  }
  if (row->target > 0) {
    if (bench_is_ratio(row)) {
      snprintf(target, sizeof target, ">= %.0f %%", row->target * 100);
    } else {
      snprintf(target, sizeof target, "<= %s", tool_seconds(row->target));
    }
  }
  if (row->xla > 0) snprintf(xla, sizeof xla, "%.0f %%", row->xla / row->seconds * 100);
  printf("%11s %14s %14s %9s %10s %-6s %11s %7s\n", tool_seconds(row->seconds), rate, limit, score,
         target, bench_verdict(row), row->xla > 0 ? tool_seconds(row->xla) : "", xla);
}

static void bench_print(const bench *b) {
  const bench_machine *m = &b->machine;
  printf("device    %s (%s), %u compute unit%s\n", b->info.name, b->info.platform,
         b->info.compute_units, b->info.compute_units == 1 ? "" : "s");
  printf("triad     %s\nfma       %s\n", m->triad.form, m->fma.form);
  printf("\n%-18s %-19s %11s %14s %14s %9s %10s %-6s %11s %7s\n", "benchmark", "size", "time",
         "rate", "limit", "ratio", "target", "", "XLA", "of XLA");
  for (int i = 0; i < b->row_count; i++) bench_print_row(&b->rows[i]);
}

static void bench_write_row(halo_json_writer *json, const bench_row *row) {
  halo_json_object(json, NULL);
  halo_json_text(json, "name", row->name);
  halo_json_text(json, "size", row->size);
  if (row->failure[0] != '\0') {
    halo_json_bool(json, "failed", true);
  } else {
    halo_json_number(json, "seconds", row->seconds);
    halo_json_number(json, "work", row->work);
    halo_json_number(json, "limit", row->limit);
    halo_json_number(json, "score", bench_score(row));
    halo_json_number(json, "target", row->target);
    halo_json_number(json, "xla_seconds", row->xla);
    halo_json_text(json, "verdict", bench_verdict(row));
  }
  halo_json_close(json);
}

static void bench_write_json(const bench *b) {
  FILE *file = fopen(b->options.json, "w");
  if (file == NULL) {
    perror(b->options.json);
    exit(1);
  }
  halo_json_writer json = {.file = file};
  halo_json_object(&json, NULL);
  halo_json_text(&json, "device", b->info.name);
  halo_json_text(&json, "platform", b->info.platform);
  halo_json_integer(&json, "compute_units", b->info.compute_units);
  halo_json_array(&json, "rows");
  for (int i = 0; i < b->row_count; i++) bench_write_row(&json, &b->rows[i]);
  halo_json_close(&json);
  halo_json_close(&json);
  if (fclose(file) != 0) {
    perror(b->options.json);
    exit(1);
  }
}

/* ---- The machine's own row ---- */

static void bench_limits(bench *b) {
  const struct {
    const char *name, *size;
    bench_kind kind;
    const bench_yardstick *yardstick, *reference;
  } limits[] = {
      {"triad", "3 x 16M f32", BENCH_BANDWIDTH, &b->machine.triad, &b->machine.triad},
      {"streaming triad", "3 x 16M f32", BENCH_BANDWIDTH, &b->machine.streaming, &b->machine.triad},
      {"multiply-add", "in registers", BENCH_FLOPS, &b->machine.fma, &b->machine.fma},
  };
  double *t = calloc((size_t)b->options.rounds * 2, sizeof *t), *reference = t + b->options.rounds;
  for (size_t k = 0; k < sizeof limits / sizeof *limits; k++) {
    if (limits[k].yardstick->kernel == NULL) continue;
    bench_row *row = bench_add_row(b, limits[k].name, limits[k].size, limits[k].kind, 0);
    if (row == NULL) continue;
    for (int i = 0; i < b->options.rounds; i++) {
      t[i] = bench_yardstick_run(limits[k].yardstick);
      reference[i] = bench_yardstick_run(limits[k].reference);
    }
    row->seconds = bench_median(t, b->options.rounds);
    row->work = limits[k].yardstick->work;
    row->limit = limits[k].reference->work / bench_median(reference, b->options.rounds);
  }
  free(t);
}

/* ---- The command ---- */

static int bench_run(bench *b) {
  halo_client_options options = {.device = b->options.device};
  if (!tool_check(halo_client_create(&options, &b->client))) return TOOL_FAILED;
  halo_device_get_info(halo_client_device(b->client, 0), &b->info);
  if (!bench_make_folder(b->folder)) return TOOL_FAILED;
  bench_machine_open(&b->machine, halo_client_device(b->client, 0));
  if (b->options.jax != NULL) b->jax = bench_jax_open(b->options.jax, b->options.script);
  bench_limits(b);
  bench_arrays(b);
  bench_digits(b);
  bench_dispatch(b);
  bench_print(b);
  if (b->options.json != NULL) bench_write_json(b);
  bench_jax_close(b->jax);
  bench_machine_close(&b->machine);
  halo_client_release(b->client);
  bench_remove_folder(b->folder);
  return TOOL_OK;
}

enum {
  BENCH_ONLY = 1,
  BENCH_ROUNDS,
  BENCH_DEVICE,
  BENCH_JAX,
  BENCH_SCRIPT,
  BENCH_DIGITS,
  BENCH_JSON,
  BENCH_FIRST_STEP,
  BENCH_PAUSE,
  BENCH_HELP
};

static const tool_option bench_options_table[] = {
    {BENCH_ONLY, 0, "only", "NAME", "only the benchmarks whose name contains NAME"},
    {BENCH_ROUNDS, 0, "rounds", "N", "how often each is measured (15)"},
    {BENCH_DEVICE, 'd', "device", "NAME", "which device, as `halo info` lists them"},
    {BENCH_JAX, 0, "jax", "PYTHON",
     "a Python that has jax: the same programs on XLA's CPU backend too (default: "
     "$HALO_JAX_PYTHON)"},
    {BENCH_SCRIPT, 0, "script", "FILE",
     "where bench_jax.py is (default: the one that comes with halo)"},
    {BENCH_DIGITS, 0, "digits", "FOLDER",
     "where train_step.hlo is (default: the one that comes with halo)"},
    {BENCH_JSON, 0, "json", "FILE", "write the figures there as well"},
    {BENCH_FIRST_STEP, 0, "first-step", "FILE",
     "compile this module, run it once, and end: what the starts are measured with"},
    {BENCH_PAUSE, 0, "pause", "MS", "before --first-step compiles, its client being there (0)"},
    {BENCH_HELP, 'h', "help", NULL, "this text"},
    {0},
};

#define BENCH_PARTS "choices, collectives, costs, elementwise, programs, scale"

static void bench_help(void) {
  puts(
      "Usage: halo bench [OPTIONS]\n"
      "       halo bench choices [OPTIONS] [FILE...]   the implementation of each step against "
      "others\n"
      "       halo bench collectives [OPTIONS]   exchanges between replicas, by size\n"
      "       halo bench costs [OPTIONS]   what compiling takes a launch, a byte, an operation to "
      "cost\n"
      "       halo bench elementwise [OPTIONS]   each elementwise operation by type and size, "
      "against XLA\n"
      "       halo bench programs [OPTIONS]  programs of many fields against XLA's CPU backend\n"
      "       halo bench scale [OPTIONS]   how long large programs take to compile (each has its "
      "own "
      "--help)\n\n"
      "Measures in one run what the device can do and what compiled programs reach of it. Ours "
      "and\n"
      "the yardstick take turns; medians are compared.\n");
  args_print_options(stdout, bench_options_table);
}

int tool_bench(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "scale") == 0) return bench_scale(argc - 1, argv + 1);
  if (argc > 1 && strcmp(argv[1], "collectives") == 0) {
    return bench_collectives(argc - 1, argv + 1);
  }
  if (argc > 1 && strcmp(argv[1], "choices") == 0) return bench_choices(argc - 1, argv + 1);
  if (argc > 1 && strcmp(argv[1], "costs") == 0) return bench_costs(argc - 1, argv + 1);
  if (argc > 1 && strcmp(argv[1], "programs") == 0) return bench_programs(argc - 1, argv + 1);
  if (argc > 1 && strcmp(argv[1], "elementwise") == 0) return bench_elementwise(argc - 1, argv + 1);
  static bench b; /* too large for the stack to hold with ease */
  b.options = (bench_options){.jax = getenv("HALO_JAX_PYTHON"),
                              .script = tool_data("tools/bench/bench_jax.py", "bench_jax.py"),
                              .digits = tool_data("examples/digits/dense", "digits/dense"),
                              .rounds = 15};
  tool_args args = {
      .command = "bench", .options = bench_options_table, .argc = argc, .argv = argv, .next = 1};
  const char *value, *first_step = NULL;
  int64_t rounds = b.options.rounds, pause = 0;
  for (int id; (id = args_next(&args, &value)) != ARGS_END;) {
    switch (id) {
      case BENCH_ONLY: b.options.only = value; break;
      case BENCH_ROUNDS:
        if (!args_integer(&args, "rounds", value, 1, 10000, &rounds)) return TOOL_USAGE;
        break;
      case BENCH_DEVICE: b.options.device = value; break;
      case BENCH_JAX: b.options.jax = value; break;
      case BENCH_SCRIPT: b.options.script = value; break;
      case BENCH_DIGITS: b.options.digits = value; break;
      case BENCH_JSON: b.options.json = value; break;
      case BENCH_FIRST_STEP: first_step = value; break;
      case BENCH_PAUSE:
        if (!args_integer(&args, "pause", value, 0, 60000, &pause)) return TOOL_USAGE;
        break;
      case BENCH_HELP: bench_help(); return TOOL_OK;
      case ARGS_OPERAND:
        return args_usage_error(&args, "there is no part '%s'; there are %s", value, BENCH_PARTS);
      default: return TOOL_USAGE;
    }
  }
  b.options.rounds = (int)rounds;
  if (first_step != NULL) return bench_first_step(b.options.device, first_step, (int)pause);
  return bench_run(&b);
}
