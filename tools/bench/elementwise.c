/* SPDX-License-Identifier: Apache-2.0 */
/* elementwise.c: `halo bench elementwise`: each elementwise operation by itself, by type and size, against
 * XLA's CPU backend and the bandwidth of the triad. */
#include "args.h"
#include "bench/bench.h"
#include "tool.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ELEMENTWISE_MAX_ROUNDS = 100, ELEMENTWISE_WORST = 10, ELEMENTWISE_MAX_ROWS = 1000 };

/* Sets of element types. */
enum {
  ON_FLOATS = 1,
  ON_INTEGERS = 2,
  ON_COMPLEX = 4,
  ON_REALS = ON_FLOATS | ON_INTEGERS,
  ON_FIELDS = ON_FLOATS | ON_COMPLEX,
  ON_ALL = ON_REALS | ON_COMPLEX
};

typedef struct elementwise_op {
  const char *name; /* of the row */
  int operands;
  int types; /* those of its operands */
  const char
      *text; /* the instruction behind "ROOT r = ", with %s for each shape; NULL: name(x, ...) */
} elementwise_op;

static const elementwise_op elementwise_ops[] = {
    {"abs", 1, ON_REALS},
    {"acos", 1, ON_FLOATS},
    {"acosh", 1, ON_FLOATS},
    {"add", 2, ON_ALL},
    {"and", 2, ON_INTEGERS},
    {"asin", 1, ON_FLOATS},
    {"asinh", 1, ON_FLOATS},
    {"atan2", 2, ON_FIELDS},
    {"atanh", 1, ON_FLOATS},
    {"cbrt", 1, ON_FLOATS},
    {"ceil", 1, ON_FLOATS},
    {"clamp", 3, ON_REALS},
    {"compare", 2, ON_REALS, "pred[%s] compare(x, y), direction=LT"},
    {"convert to f32", 1, ON_REALS, "f32[%s] convert(x)"},
    {"convert to s32", 1, ON_REALS, "s32[%s] convert(x)"},
    {"convert to f16", 1, ON_REALS, "f16[%s] convert(x)"},
    {"convert to bf16", 1, ON_REALS, "bf16[%s] convert(x)"},
    {"cosh", 1, ON_FLOATS},
    {"cosine", 1, ON_FIELDS},
    {"count-leading-zeros", 1, ON_INTEGERS},
    {"divide", 2, ON_ALL},
    {"erf", 1, ON_FLOATS},
    {"exponential", 1, ON_FIELDS},
    {"exponential-minus-one", 1, ON_FIELDS},
    {"floor", 1, ON_FLOATS},
    {"is-finite", 1, ON_FLOATS, "pred[%s] is-finite(x)"},
    {"log", 1, ON_FIELDS},
    {"log-plus-one", 1, ON_FIELDS},
    {"logistic", 1, ON_FIELDS},
    {"maximum", 2, ON_REALS},
    {"minimum", 2, ON_REALS},
    {"multiply", 2, ON_ALL},
    {"negate", 1, ON_ALL},
    {"not", 1, ON_INTEGERS},
    {"or", 2, ON_INTEGERS},
    {"popcnt", 1, ON_INTEGERS},
    {"power", 2, ON_ALL},
    {"remainder", 2, ON_REALS},
    {"round-nearest-afz", 1, ON_FLOATS},
    {"round-nearest-even", 1, ON_FLOATS},
    {"rsqrt", 1, ON_FIELDS},
    {"shift-left", 2, ON_INTEGERS},
    {"shift-right-arithmetic", 2, ON_INTEGERS},
    {"shift-right-logical", 2, ON_INTEGERS},
    {"sign", 1, ON_ALL},
    {"sine", 1, ON_FIELDS},
    {"sinh", 1, ON_FLOATS},
    {"sqrt", 1, ON_FIELDS},
    {"subtract", 2, ON_ALL},
    {"tan", 1, ON_FIELDS},
    {"tanh", 1, ON_FIELDS},
    {"xor", 2, ON_INTEGERS},
};

typedef struct elementwise_type {
  const char *name;
  int set, size;
} elementwise_type;

static const elementwise_type elementwise_types[] = {
    {"f32", ON_FLOATS, 4},   {"f64", ON_FLOATS, 8},   {"f16", ON_FLOATS, 2}, {"bf16", ON_FLOATS, 2},
    {"s32", ON_INTEGERS, 4}, {"s64", ON_INTEGERS, 8}, {"c64", ON_COMPLEX, 8}};

typedef struct elementwise_row {
  char name[64];
  double ratio; /* ours to XLA's */
} elementwise_row;

typedef struct elementwise_run {
  const char *device, *only, *type, *size, *jax_python, *script;
  int64_t rounds;
  halo_client *client;
  bench_machine machine;
  struct bench_jax *jax;
  char folder[BENCH_FOLDER],
      path[96]; /* of the program at hand: a name of its own, since XLA's side keeps it */
  elementwise_row rows[ELEMENTWISE_MAX_ROWS];
  int row_count;
} elementwise_run;

static void elementwise_write(elementwise_run *r, const elementwise_op *op, const char *type,
                              int count) {
  snprintf(r->path, sizeof r->path, "%s/%s-%s-%d.hlo", r->folder, op->name, type, count);
  char shape[16], made[80];
  snprintf(shape, sizeof shape, "%d", count);
  snprintf(made, sizeof made, op->text ? op->text : "", shape);
  FILE *file = fopen(r->path, "w");
  if (!file) {
    perror(r->path);
    exit(1);
  }
  fprintf(file, "HloModule elementwise\n\nENTRY e {\n");
  for (int i = 0; i < op->operands; i++) {
    fprintf(file, "  %c = %s[%s] parameter(%d)\n", "xyz"[i], type, shape, i);
  }
  fprintf(file, "  ROOT r = ");
  if (op->text) fprintf(file, "%s", made);
  if (!op->text) {
    fprintf(file, "%s[%s] %s(%s)", type, shape, op->name,
            op->operands == 1   ? "x"
            : op->operands == 2 ? "x, y"
                                : "x, y, z");
  }
  fprintf(file, "\n}\n");
  fclose(file);
}

/* Bytes read and written an element. */
static int elementwise_bytes(const elementwise_op *op, const elementwise_type *type) {
  int result = type->size;
  if (op->text && strncmp(op->text, "pred", 4) == 0) result = 1;
  for (size_t i = 0; op->text && i < sizeof elementwise_types / sizeof *elementwise_types; i++) {
    size_t length = strlen(elementwise_types[i].name);
    if (strncmp(op->text, elementwise_types[i].name, length) == 0 && op->text[length] == '[') {
      result = elementwise_types[i].size;
    }
  }
  return op->operands * type->size + result;
}

/* Times and prints one row; false where the program does not compile. */
static bool elementwise_measure(elementwise_run *r, const elementwise_op *op,
                                const elementwise_type *type, int count, const char *size) {
  double ours[ELEMENTWISE_MAX_ROUNDS], xla[ELEMENTWISE_MAX_ROUNDS], bare[ELEMENTWISE_MAX_ROUNDS];
  bench_program program;
  elementwise_write(r, op, type->name, count);
  bool ok = tool_check(bench_program_open(r->client, r->path, NULL, &program));
  if (!ok) unlink(r->path);
  if (!ok) return false;
  int runs = count < 4 << 20 ? 10 : 1;
  bool has_xla = r->jax != NULL;
  ok = tool_check(bench_program_run(&program, 1, 0, &ours[0]));
  for (int i = 0; ok && i < r->rounds; i++) {
    ok = tool_check(bench_program_run(&program, runs, 0, &ours[i]));
    bare[i] = bench_yardstick_run(&r->machine.triad);
    if (has_xla) xla[i] = bench_jax_run(r->jax, r->path, runs, 0);
    if (has_xla && xla[i] < 0) has_xla = false;
  }
  bench_program_close(&program);
  unlink(r->path);
  if (!ok) return false;
  int rounds = (int)r->rounds;
  double seconds = bench_median(ours, rounds);
  double triad = r->machine.triad.work / bench_median(bare, rounds);
  double rate = (double)count * elementwise_bytes(op, type) / seconds;
  printf("%-24s %-5s %4s %10s %7.0f %%", op->name, type->name, size, tool_seconds(seconds),
         100 * rate / triad);
  if (has_xla) {
    double theirs = bench_median(xla, rounds);
    printf(" %10s %7.2f", tool_seconds(theirs), seconds / theirs);
    if (r->row_count < ELEMENTWISE_MAX_ROWS) {
      elementwise_row *row = &r->rows[r->row_count++];
      snprintf(row->name, sizeof row->name, "%s %s %s", op->name, type->name, size);
      row->ratio = seconds / theirs;
    }
  }
  puts("");
  fflush(stdout);
  return true;
}

static int elementwise_compare(const void *a, const void *b) {
  double x = ((const elementwise_row *)a)->ratio, y = ((const elementwise_row *)b)->ratio;
  return x > y ? -1 : x < y;
}

static void elementwise_summarise(elementwise_run *r) {
  double sum = 0;
  int slower = 0;
  for (int i = 0; i < r->row_count; i++) {
    sum += log(r->rows[i].ratio);
    slower += r->rows[i].ratio > 1;
  }
  if (!r->row_count) return;
  qsort(r->rows, (size_t)r->row_count, sizeof *r->rows, elementwise_compare);
  printf("\n%d rows, ours to XLA's: geometric mean %.2f, %d above 1; worst:\n", r->row_count,
         exp(sum / r->row_count), slower);
  for (int i = 0; i < r->row_count && i < ELEMENTWISE_WORST; i++) {
    printf("  %-40s %7.2f\n", r->rows[i].name, r->rows[i].ratio);
  }
}

static bool elementwise_takes(const char *chosen, const char *name) {
  return !chosen || strcmp(chosen, name) == 0;
}

/* Every row that was asked for; false when one failed. */
static bool elementwise_rows(elementwise_run *r) {
  static const struct {
    const char *name;
    int count;
  } sizes[] = {{"1M", 1 << 20}, {"16M", 16 << 20}};
  bool ok = true;
  printf("%-24s %-5s %4s %10s %9s %10s %7s\n", "operation", "type", "size", "ours", "triad", "XLA",
         "ratio");
  for (size_t t = 0; t < sizeof elementwise_types / sizeof *elementwise_types; t++) {
    const elementwise_type *type = &elementwise_types[t];
    if (!elementwise_takes(r->type, type->name)) continue;
    for (size_t i = 0; i < sizeof elementwise_ops / sizeof *elementwise_ops; i++) {
      const elementwise_op *op = &elementwise_ops[i];
      if (!(op->types & type->set) || (r->only && !strstr(op->name, r->only))) continue;
      for (int s = 0; s < 2; s++) {
        if (!elementwise_takes(r->size, sizes[s].name)) continue;
        ok = elementwise_measure(r, op, type, sizes[s].count, sizes[s].name) && ok;
      }
    }
  }
  elementwise_summarise(r);
  return ok;
}

static int elementwise_start(elementwise_run *r) {
  halo_client_options options = {.device = r->device};
  if (!bench_make_folder(r->folder)) return TOOL_FAILED;
  bool ok = tool_check(halo_client_create(&options, &r->client));
  if (ok) {
    bench_machine_open(&r->machine, halo_client_device(r->client, 0));
    if (r->jax_python) r->jax = bench_jax_open(r->jax_python, r->script);
    ok = elementwise_rows(r);
    bench_jax_close(r->jax);
    bench_machine_close(&r->machine);
    halo_client_release(r->client);
  }
  rmdir(r->folder);
  return ok ? TOOL_OK : TOOL_FAILED;
}

enum {
  ELEMENTWISE_ONLY = 1,
  ELEMENTWISE_TYPE,
  ELEMENTWISE_SIZE,
  ELEMENTWISE_ROUNDS,
  ELEMENTWISE_DEVICE,
  ELEMENTWISE_JAX,
  ELEMENTWISE_SCRIPT,
  ELEMENTWISE_HELP
};

static const tool_option elementwise_options[] = {
    {ELEMENTWISE_ONLY, 0, "only", "NAME", "only the operations whose name contains NAME"},
    {ELEMENTWISE_TYPE, 0, "type", "TYPE", "only this type: f32, f64, f16, bf16, s32, s64, c64"},
    {ELEMENTWISE_SIZE, 0, "size", "SIZE", "only this size: 1M, 16M"},
    {ELEMENTWISE_ROUNDS, 0, "rounds", "N", "how often each is measured (7)"},
    {ELEMENTWISE_DEVICE, 'd', "device", "NAME", "which device, as `halo info` lists them"},
    {ELEMENTWISE_JAX, 0, "jax", "PYTHON",
     "a Python that has jax: the same programs on XLA's CPU backend too (default: "
     "$HALO_JAX_PYTHON)"},
    {ELEMENTWISE_SCRIPT, 0, "script", "FILE",
     "where bench_jax.py is (default: the one that comes with halo)"},
    {ELEMENTWISE_HELP, 'h', "help", NULL, "this text"},
    {0},
};

int bench_elementwise(int argc, char **argv) {
  static elementwise_run r; /* too large for the stack to hold with ease */
  r = (elementwise_run){.jax_python = getenv("HALO_JAX_PYTHON"),
                        .script = tool_data("tools/bench/bench_jax.py", "bench_jax.py"),
                        .rounds = 7};
  tool_args args = {.command = "bench elementwise",
                    .options = elementwise_options,
                    .argc = argc,
                    .argv = argv,
                    .next = 1};
  const char *value;
  for (int id; (id = args_next(&args, &value)) != ARGS_END;) {
    switch (id) {
      case ELEMENTWISE_ONLY: r.only = value; break;
      case ELEMENTWISE_TYPE: r.type = value; break;
      case ELEMENTWISE_SIZE: r.size = value; break;
      case ELEMENTWISE_ROUNDS:
        if (!args_integer(&args, "rounds", value, 1, ELEMENTWISE_MAX_ROUNDS, &r.rounds)) {
          return TOOL_USAGE;
        }
        break;
      case ELEMENTWISE_DEVICE: r.device = value; break;
      case ELEMENTWISE_JAX: r.jax_python = value; break;
      case ELEMENTWISE_SCRIPT: r.script = value; break;
      case ELEMENTWISE_HELP:
        puts(
            "Usage: halo bench elementwise [OPTIONS]\n\n"
            "Measures each elementwise operation by itself, on arrays of 1M and 16M elements: the "
            "time, the\n"
            "bytes read and written to the triad's bandwidth, and the ratio to XLA's CPU "
            "backend.\n");
        args_print_options(stdout, elementwise_options);
        return TOOL_OK;
      case ARGS_OPERAND: return args_usage_error(&args, "there is no use for '%s'", value);
      default: return TOOL_USAGE;
    }
  }
  return elementwise_start(&r);
}
