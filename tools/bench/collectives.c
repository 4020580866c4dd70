/* SPDX-License-Identifier: Apache-2.0 */
/* collectives.c: exchanges between replicas, by operation and size: rows "collective.OPERATION.SIZE"; in one process, or under mpiexec
 * with MPI's own operations on the host's memory beside. */
#include "bench/collectives.h"
#include "args.h"
#include "bench/bench.h"
#include "bench/runner.h"
#include "progress.h"
#include "tool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* An operation on x, f32[n / in]; its result has n / out elements. Expected is a function of the place, of the
 * replica and of how many there are, where replica d has (i + d) % 8 at place i of its own x. */
typedef struct collectives_case {
  const char *name, *op, *attrs;
  bool in_parts, out_parts; /* has a part of the size for each replica, else all of it */
  halo_reference reference;
  /* Bytes over the wire, of the size, for n replicas: what nccl-tests calls the bus factor. */
  double (*factor)(int n);
  int (*expected)(int64_t i, int64_t part, int me, int n);
} collectives_case;

static double factor_twice(int n) { return 2.0 * (n - 1) / n; }
static double factor_once(int n) { return (double)(n - 1) / n; }
static double factor_one(int n) {
  (void)n;
  return 1;
}

static int value_of(int64_t i, int replica) { return (int)((i + replica) % 8); }
static int sum_of(int64_t i, int n) {
  int sum = 0;
  for (int d = 0; d < n; d++) sum += value_of(i, d);
  return sum;
}
static int expect_sum(int64_t i, int64_t part, int me, int n) {
  (void)part;
  (void)me;
  return sum_of(i, n);
}
static int expect_gathered(int64_t i, int64_t part, int me, int n) {
  (void)me;
  (void)n;
  return value_of(i % part, (int)(i / part));
}
static int expect_scattered(int64_t i, int64_t part, int me, int n) {
  return sum_of(i + part * me, n);
}
static int expect_swapped(int64_t i, int64_t part, int me, int n) {
  (void)n;
  return value_of(i % part + part * me, (int)(i / part));
}
static int expect_left(int64_t i, int64_t part, int me, int n) {
  (void)part;
  return value_of(i, (me + n - 1) % n);
}
static int expect_first(int64_t i, int64_t part, int me, int n) {
  (void)part;
  (void)me;
  (void)n;
  return value_of(i, 0);
}

static const collectives_case collectives_cases[] = {
    {"all-reduce", "all-reduce", "replica_groups={}, to_apply=add", false, false,
     HALO_REFERENCE_ALL_REDUCE, factor_twice, expect_sum},
    {"all-gather", "all-gather", "replica_groups={}, dimensions={0}", true, false,
     HALO_REFERENCE_ALL_GATHER, factor_once, expect_gathered},
    {"reduce-scatter", "reduce-scatter", "replica_groups={}, dimensions={0}, to_apply=add", false,
     true, HALO_REFERENCE_REDUCE_SCATTER, factor_once, expect_scattered},
    {"all-to-all", "all-to-all", "replica_groups={}, dimensions={0}", false, false,
     HALO_REFERENCE_ALL_TO_ALL, factor_once, expect_swapped},
    {"permute", "collective-permute", NULL, false, false, HALO_REFERENCE_PERMUTE, factor_one,
     expect_left},
    {"broadcast", "collective-broadcast", NULL, false, false, HALO_REFERENCE_BROADCAST, factor_one,
     expect_first},
};
enum { COLLECTIVES_CASES = sizeof collectives_cases / sizeof collectives_cases[0] };

/* The program for `count` elements in all. To be freed. */
static char *collectives_text(const collectives_case *c, int64_t count, int n) {
  int64_t in = c->in_parts ? count / n : count, out = c->out_parts ? count / n : count;
  char *attrs = tool_strdup(c->attrs ? c->attrs : "");
  if (!c->attrs) {
    free(attrs);
    bool ring = c->reference == HALO_REFERENCE_PERMUTE;
    attrs = tool_strdup(ring ? "source_target_pairs={" : "replica_groups={{");
    for (int d = 0; d < n; d++) {
      char *more = ring ? tool_printf("%s%s{%d,%d}", attrs, d ? "," : "", d, (d + 1) % n)
                        : tool_printf("%s%s%d", attrs, d ? "," : "", d);
      free(attrs);
      attrs = more;
    }
    char *more = tool_printf("%s%s", attrs, ring ? "}" : "}}");
    free(attrs);
    attrs = more;
  }
  char *text = tool_printf(
      "HloModule %s, replica_count=%d\n"
      "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }\n"
      "ENTRY e {\n  x = f32[%lld] parameter(0)\n  ROOT r = f32[%lld] %s(x), %s\n}\n",
      c->op, n, (long long)in, (long long)out, c->op, attrs);
  for (char *p = text; *p && *p != ','; p++) {
    if (*p == '-') *p = '_';
  }
  free(attrs);
  return text;
}

static bool collectives_compile(const bench_collectives *b, const char *text,
                                halo_executable **out) {
  halo_module *module = NULL;
  bool ok = tool_check(halo_module_parse(text, strlen(text), "collectives", &module)) &&
            tool_check(halo_client_compile(b->client, module, NULL, out));
  halo_module_release(module);
  return ok;
}

static bool collectives_put(halo_executable *e, int d, int replica, halo_buffer **out) {
  const halo_shape *shape = halo_executable_argument_shape(e, 0);
  int64_t count = halo_shape_element_count(shape);
  float *data = tool_alloc(sizeof *data * (size_t)count);
  for (int64_t i = 0; i < count; i++) data[i] = (float)value_of(i, replica);
  bool ok = tool_check(halo_buffer_put(halo_executable_device(e, d), data, NULL, shape, out, NULL));
  free(data);
  return ok;
}

static bool collectives_check(const bench_collectives *b, const collectives_case *c, int64_t count,
                              int replica, halo_buffer *result, bench_row *row) {
  int64_t elements = halo_shape_element_count(halo_buffer_shape(result));
  float *data = tool_alloc(sizeof *data * (size_t)elements);
  int n = b->counts.replicas;
  bool ok = tool_check(halo_buffer_to_host(result, data, sizeof *data * (size_t)elements));
  for (int64_t i = 0; i < elements && ok; i++) {
    row->wrong += data[i] != (float)c->expected(i, count / n, replica, n);
  }
  row->checked += elements;
  row->elements += elements;
  free(data);
  return ok;
}

/* All rounds, behind one that is checked where there is a case, and not counted. */
static bool collectives_time(const bench_collectives *b, halo_executable *e,
                             const collectives_case *c, int64_t count, int rounds, bench_row *row) {
  int devices = halo_executable_device_count(e);
  halo_buffer **in = tool_alloc(sizeof *in * (size_t)devices),
              **out = tool_alloc(sizeof *out * (size_t)devices);
  halo_buffer *const **arguments = tool_alloc(sizeof *arguments * (size_t)devices);
  halo_buffer ***results = tool_alloc(sizeof *results * (size_t)devices);
  int *replicas = tool_alloc(sizeof *replicas * (size_t)devices);
  double *seconds = tool_alloc(sizeof *seconds * (size_t)rounds);
  bool ok = true;
  for (int d = 0; d < devices && ok; d++) {
    int partition;
    halo_executable_part(e, d, &replicas[d], &partition);
    ok = collectives_put(e, d, replicas[d], &in[d]);
    arguments[d] = &in[d];
    results[d] = &out[d];
  }
  for (int r = -1; r < rounds && ok; r++) {
    double start = tool_now();
    ok = tool_check(halo_executable_execute_all(e, arguments, 1, NULL, results));
    for (int d = 0; d < devices && ok; d++) {
      halo_event *ready;
      ok =
          tool_check(halo_buffer_ready_event(out[d], &ready)) && tool_check(halo_event_wait(ready));
      if (ok) halo_event_release(ready);
    }
    if (ok && r >= 0) seconds[r] = tool_now() - start;
    for (int d = 0; d < devices && ok; d++) {
      if (c && r < 0) ok = collectives_check(b, c, count, replicas[d], out[d], row);
      halo_buffer_release(out[d]);
    }
  }
  if (ok) bench_summarize(seconds, rounds, row);
  for (int d = 0; d < devices; d++) halo_buffer_release(in[d]);
  free(seconds);
  free(replicas);
  free(results);
  free(arguments);
  free(out);
  free(in);
  return ok;
}

/* MPI's own, where there is one: the median. */
static double collectives_reference(const bench_collectives *b, const collectives_case *c,
                                    int64_t count) {
  const halo_communicator *comm = b->communicator;
  if (!comm || !comm->reference || comm->process_count < 2) return 0;
  enum { MOST = 3 };
  double seconds[MOST];
  for (int r = 0; r < MOST; r++) {
    const char *trouble =
        comm->reference(comm->user, c->reference, (size_t)count * sizeof(float), &seconds[r]);
    if (trouble) return 0;
  }
  return bench_median(seconds, MOST);
}

/* "64KiB": powers of two only. */
static const char *collectives_size(int64_t bytes) {
  static char text[32];
  bool mega = bytes >= 1 << 20, kilo = bytes >= 1 << 10;
  snprintf(text, sizeof text, "%lld%s",
           (long long)(mega   ? bytes >> 20
                       : kilo ? bytes >> 10
                              : bytes),
           mega   ? "MiB"
           : kilo ? "KiB"
                  : "B");
  return text;
}

static void collectives_measure_row(bench_collectives *b, const collectives_case *c, int64_t bytes,
                                    bench_row *row) {
  int n = b->counts.replicas;
  int64_t count = bytes / (int64_t)sizeof(float) / n * n;
  if (count == 0) count = n;
  snprintf(row->size, sizeof row->size, "%d replicas", n);
  /* A row that takes no longer with more bytes is a time; the others are the bandwidth that each replica needs. */
  enum { LATENCY = 1024 };
  strcpy(row->unit, bytes <= LATENCY ? "s" : "GB/s");
  strcpy(row->check, "pattern");
  row->work = row->bytes = (double)count * sizeof(float) * c->factor(n);
  row->runs = 1;
  row->waited = true;
  char *text = collectives_text(c, count, n);
  halo_executable *e = NULL;
  progress_measure("%s of %s", c->name, tool_bytes((uint64_t)count * sizeof(float)));
  bool ok = collectives_compile(b, text, &e) &&
            collectives_time(b, e, c, count, count > 1 << 20 ? 3 : b->rounds, row);
  if (ok) row->reference = collectives_reference(b, c, count);
  halo_executable_release(e);
  free(text);
  progress_stop();
  if (!ok) {
    bench_row_fail(row, BENCH_FAILED, NULL);
  } else if (row->wrong > 0) {
    row->median = row->minimum = 0;
    bench_row_fail(row, BENCH_WRONG, "elements are wrong");
  }
}

/* The time of a program that measures `what`: the median of `rounds`; below 0 after a failure. */
static double collectives_seconds(const bench_collectives *b, const char *what, char *text,
                                  int rounds) {
  halo_executable *e = NULL;
  bench_row row = {0};
  progress_measure("%s", what);
  bool ok = collectives_compile(b, text, &e) && collectives_time(b, e, NULL, 0, rounds, &row);
  halo_executable_release(e);
  free(text);
  progress_stop();
  return ok ? row.median : -1;
}

/* What a run takes that does nothing to speak of. The runtime may do things once, at first, beside it: these
 * must be over. */
static double collectives_launch(const bench_collectives *b) {
  enum { LAUNCHES = 301 };
  double seconds = 0;
  for (int i = 0; i < 2 && seconds >= 0; i++) {
    if (i) nanosleep(&(struct timespec){1, 0}, NULL);
    seconds = collectives_seconds(
        b, "a launch",
        tool_printf("HloModule launch, replica_count=%d\nENTRY e {\n  x = f32[2] parameter(0)\n"
                    "  ROOT r = f32[2] add(x, x)\n}\n",
                    b->counts.replicas),
        LAUNCHES);
  }
  return seconds;
}

/* The all-reduce alone (no `side`), the product alone (no `all`), or both at once. */
static char *collectives_overlap_text(const bench_collectives *b, bool all, int side) {
  enum { FLOATS = 4 << 20 }; /* 16 MiB */
  char *start = tool_strdup("  d = f32[] constant(0)\n"), *end = tool_strdup("");
  char *product = tool_strdup("  m = f32[] constant(0)\n");
  if (all) {
    free(start);
    free(end);
    start = tool_printf(
        "  y = f32[%d] broadcast(x), dimensions={}\n"
        "  s = f32[%d] all-reduce-start(y), replica_groups={}, to_apply=add\n",
        FLOATS, FLOATS);
    end = tool_printf(
        "  t = f32[%d] all-reduce-done(s)\n  u = f32[1] slice(t), slice={[7:8]}\n"
        "  d = f32[] reshape(u)\n",
        FLOATS);
  }
  if (side) {
    free(product);
    product = tool_printf(
        "  k = f32[%d,%d] broadcast(x), dimensions={}\n"
        "  p = f32[%d,%d] dot(k, k), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
        "  q = f32[1,1] slice(p), slice={[3:4], [3:4]}\n  m = f32[] reshape(q)\n",
        side, side, side, side);
  }
  char *text = tool_printf(
      "HloModule overlap, replica_count=%d\n"
      "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }\n"
      "ENTRY e {\n  x = f32[] parameter(0)\n%s%s%s  ROOT r = f32[] add(m, d)\n}\n",
      b->counts.replicas, start, product, end);
  free(start);
  free(product);
  free(end);
  return text;
}

/* The first process's number, for all: they time the same program. */
static bool collectives_tell(const bench_collectives *b, int *number) {
  halo_communicator *c = b->communicator;
  for (int p = 1; c && p < c->process_count; p++) {
    void *request = NULL;
    const char *trouble = NULL;
    bool done = false;
    if (c->process != 0 && c->process != p) continue;
    trouble = c->process == 0 ? c->send(c->user, p, 1, number, sizeof *number, &request)
                              : c->receive(c->user, 0, 1, number, sizeof *number, &request);
    while (!trouble && !done) trouble = c->test(c->user, request, &done);
    if (trouble) return tool_error("%s", trouble) == TOOL_OK;
  }
  return true;
}

static bool collectives_overlap(bench_collectives *b) {
  enum { FIRST_SIDE = 1024 };
  int rounds = b->rounds;
  if (collectives_launch(b) < 0) return false;
  double alone =
      collectives_seconds(b, "an all-reduce", collectives_overlap_text(b, true, 0), rounds);
  double product =
      collectives_seconds(b, "a product", collectives_overlap_text(b, false, FIRST_SIDE), rounds);
  if (alone < 0 || product <= 0) return false;
  int side = (int)(FIRST_SIDE * cbrt(alone / product) / 32) * 32;
  if (side < 32) side = 32;
  if (!collectives_tell(b, &side)) return false;
  product = collectives_seconds(b, "a product", collectives_overlap_text(b, false, side), rounds);
  double both =
      collectives_seconds(b, "both at once", collectives_overlap_text(b, true, side), rounds);
  alone = collectives_seconds(b, "an all-reduce", collectives_overlap_text(b, true, 0), rounds);
  if (alone < 0 || product < 0 || both < 0) return false;
  double less = alone < product ? alone : product;
  printf("%-44s %10s\n", "all-reduce of 16 MiB", tool_seconds(alone));
  printf("product of %4d x %-4d matrices %13s %10s\n", side, side, "", tool_seconds(product));
  printf("%-44s %10s\n", "both, one between the other's start and done", tool_seconds(both));
  printf("%-44s %9.0f%%\n", "hidden, of the shorter one", 100 * (alone + product - both) / less);
  return true;
}

/* ---- All of it ---- */

static const int64_t collectives_sizes[] = {8,       1 << 10,  1 << 13,  1 << 16,   1 << 19,
                                            1 << 22, 32 << 20, 64 << 20, 128 << 20, 256 << 20};
enum { COLLECTIVES_SIZES = sizeof collectives_sizes / sizeof *collectives_sizes };

static void collectives_name(const collectives_case *c, int64_t bytes, char name[64]) {
  snprintf(name, 64, "collective.%s.%s", c->name, collectives_size(bytes));
}

bool bench_collectives_name(int index, char name[64]) {
  if (index >= COLLECTIVES_CASES * COLLECTIVES_SIZES) return false;
  collectives_name(&collectives_cases[index / COLLECTIVES_SIZES],
                   collectives_sizes[index % COLLECTIVES_SIZES], name);
  return true;
}

bool bench_collectives_measure(bench_collectives *b, bool (*wanted)(const char *name, void *user),
                               void (*show)(const bench_row *row, void *user), void *user,
                               bench_record *record) {
  if (b->communicator && b->communicator->reference && b->communicator->process_count > 1) {
    strcpy(record->reference_name, "MPI on the host's memory");
  }
  if (collectives_launch(b) < 0) return false; /* what the runtime does once is over */
  for (int i = 0; i < COLLECTIVES_CASES * COLLECTIVES_SIZES; i++) {
    char name[64];
    bench_collectives_name(i, name);
    if (!wanted(name, user)) continue;
    bench_row *row = bench_record_add(record);
    strcpy(row->name, name);
    collectives_measure_row(b, &collectives_cases[i / COLLECTIVES_SIZES],
                            collectives_sizes[i % COLLECTIVES_SIZES], row);
    show(row, user);
  }
  return true;
}

bool bench_collectives_connect(bench_collectives *b) {
  *b = (bench_collectives){.rounds = 11};
  return parts_connect(&b->communicator);
}

bool bench_collectives_spread(const bench_collectives *b) {
  return b->communicator != NULL && b->communicator->process_count > 1;
}

bool bench_collectives_open(bench_collectives *b, const char *device, int replicas) {
  b->counts.replicas = replicas ? replicas : bench_collectives_spread(b) ? 0 : 2;
  halo_client_options options = {.device = device, .communicator = b->communicator};
  bool ok = parts_open(NULL, &options, &b->counts, &b->client);
  if (ok && halo_client_process_index(b->client) > 0 && !freopen("/dev/null", "w", stdout)) {
    return tool_error("cannot be silent") == TOOL_OK;
  }
  return ok;
}

void bench_collectives_close(bench_collectives *b, int code) {
  halo_client_release(b->client);
  parts_disconnect(b->communicator, code);
}

/* ---- `halo bench overlap` ---- */

enum { COLLECTIVES_HELP = 1, COLLECTIVES_DEVICE, COLLECTIVES_REPLICAS, COLLECTIVES_ROUNDS };

static const tool_option collectives_options[] = {
    {COLLECTIVES_REPLICAS, 0, "replicas", "N",
     "devices that take part (default: 2, or one for each device of the processes)"},
    {COLLECTIVES_ROUNDS, 0, "rounds", "N", "runs of which the median is shown (default 11)"},
    {COLLECTIVES_DEVICE, 'd', "device", "DEVICE", "which device, as `halo info` lists them"},
    {COLLECTIVES_HELP, 'h', "help", NULL, "this text"},
    {0}};

int bench_overlap(int argc, char **argv) {
  tool_args args = {.command = "bench overlap",
                    .options = collectives_options,
                    .argc = argc,
                    .argv = argv,
                    .next = 1};
  const char *value, *device = NULL;
  int64_t replicas = 0, rounds = 11;
  for (int id; (id = args_next(&args, &value)) != ARGS_END;) {
    switch (id) {
      case COLLECTIVES_DEVICE: device = value; break;
      case COLLECTIVES_ROUNDS:
        if (!args_integer(&args, "rounds", value, 1, 10000, &rounds)) return TOOL_USAGE;
        break;
      case COLLECTIVES_REPLICAS:
        if (!args_integer(&args, "replicas", value, 2, 4096, &replicas)) return TOOL_USAGE;
        break;
      case COLLECTIVES_HELP:
        puts(
            "Usage: halo bench overlap [OPTIONS]\n\n"
            "How much of an all-reduce is hidden behind a product that takes as long, in one "
            "process or\n"
            "(mpiexec -n N halo bench overlap) in several.\n");
        args_print_options(stdout, collectives_options);
        return TOOL_OK;
      case ARGS_OPERAND: return args_usage_error(&args, "there is no use for '%s'", value);
      default: return TOOL_USAGE;
    }
  }
  bench_collectives b;
  if (!bench_collectives_connect(&b)) return TOOL_FAILED;
  b.rounds = (int)rounds;
  bool ok = bench_collectives_open(&b, device, (int)replicas);
  if (ok) {
    halo_device_info info;
    halo_device_get_info(halo_client_device(b.client, 0), &info);
    printf("%s, %d replicas in %d process%s\n", info.name, b.counts.replicas,
           halo_client_process_count(b.client),
           halo_client_process_count(b.client) == 1 ? "" : "es");
    ok = collectives_overlap(&b);
  }
  bench_collectives_close(&b, ok ? TOOL_OK : TOOL_FAILED);
  return ok ? TOOL_OK : TOOL_FAILED;
}
