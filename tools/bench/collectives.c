/* SPDX-License-Identifier: Apache-2.0 */
/* collectives.c: `halo bench collectives`: what exchanges between replicas take, by operation and size; in
 * one process, or under mpiexec with MPI's own operations on the host's memory beside. */
#include "args.h"
#include "base/json.h"
#include "bench/bench.h"
#include "parts.h"
#include "progress.h"
#include "tool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
  COLLECTIVES_HELP = 1,
  COLLECTIVES_DEVICE,
  COLLECTIVES_REPLICAS,
  COLLECTIVES_ONLY,
  COLLECTIVES_MAX,
  COLLECTIVES_ROUNDS,
  COLLECTIVES_OVERLAP,
  COLLECTIVES_JSON
};

static const tool_option collectives_options[] = {
    {COLLECTIVES_REPLICAS, 0, "replicas", "N",
     "devices that take part (default: 2, or one for each device of the processes)"},
    {COLLECTIVES_ONLY, 0, "only", "NAME", "only the operations whose name contains NAME"},
    {COLLECTIVES_MAX, 0, "max", "BYTES", "the largest size (default 268435456)"},
    {COLLECTIVES_ROUNDS, 0, "rounds", "N",
     "runs of which the median is shown (default 11; large ones 3)"},
    {COLLECTIVES_OVERLAP, 0, "overlap", NULL,
     "instead: how much of an all-reduce is hidden behind a product that takes as long"},
    {COLLECTIVES_DEVICE, 'd', "device", "DEVICE", "which device, as `halo info` lists them"},
    {COLLECTIVES_JSON, 0, "json", "FILE", "write the figures there as well"},
    {COLLECTIVES_HELP, 'h', "help", NULL, "this text"},
    {0}};

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

typedef struct collectives_bench {
  const char *device, *only, *path;
  int64_t most, rounds;
  bool overlap;
  halo_communicator *communicator;
  halo_client *client;
  parts_counts counts;
  halo_json_writer json; /* without a file: not wanted */
} collectives_bench;

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

static bool collectives_compile(const collectives_bench *b, const char *text,
                                halo_executable **out) {
  halo_module *module = NULL;
  bool ok = tool_check(halo_module_parse(text, strlen(text), "collectives", &module)) &&
            tool_check(halo_client_compile(b->client, module, NULL, out));
  halo_module_release(module);
  return ok;
}

typedef struct collectives_row {
  double seconds, reference; /* 0: not measured */
  int64_t wrong;
} collectives_row;

static bool collectives_put(halo_executable *e, int d, int replica, halo_buffer **out) {
  const halo_shape *shape = halo_executable_argument_shape(e, 0);
  int64_t count = halo_shape_element_count(shape);
  float *data = tool_alloc(sizeof *data * (size_t)count);
  for (int64_t i = 0; i < count; i++) data[i] = (float)value_of(i, replica);
  bool ok = tool_check(halo_buffer_put(halo_executable_device(e, d), data, NULL, shape, out, NULL));
  free(data);
  return ok;
}

static bool collectives_check(const collectives_bench *b, const collectives_case *c, int64_t count,
                              int replica, halo_buffer *result, int64_t *wrong) {
  int64_t elements = halo_shape_element_count(halo_buffer_shape(result));
  float *data = tool_alloc(sizeof *data * (size_t)elements);
  int n = b->counts.replicas;
  bool ok = tool_check(halo_buffer_to_host(result, data, sizeof *data * (size_t)elements));
  for (int64_t i = 0; i < elements && ok; i++) {
    *wrong += data[i] != (float)c->expected(i, count / n, replica, n);
  }
  free(data);
  return ok;
}

/* All rounds; the first is not counted. Results are checked where there is a case. */
static bool collectives_time(const collectives_bench *b, halo_executable *e,
                             const collectives_case *c, int64_t count, int rounds,
                             collectives_row *row) {
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
      if (c && r + 1 == rounds)
        ok = collectives_check(b, c, count, replicas[d], out[d], &row->wrong);
      halo_buffer_release(out[d]);
    }
  }
  row->seconds = ok ? bench_median(seconds, rounds) : 0;
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
static double collectives_reference(const collectives_bench *b, const collectives_case *c,
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

static void collectives_print(collectives_bench *b, const collectives_case *c, int64_t bytes,
                              const collectives_row *row) {
  double algorithm = (double)bytes / row->seconds / 1e9;
  double bus = algorithm * c->factor(b->counts.replicas);
  printf("%-15s %10s %10s %9.3f %9.3f %7lld", c->name, tool_bytes((uint64_t)bytes),
         tool_seconds(row->seconds), algorithm, bus, (long long)row->wrong);
  if (row->reference > 0) {
    printf(" %10s %6.2f", tool_seconds(row->reference), row->seconds / row->reference);
  }
  putchar('\n');
  fflush(stdout);
  halo_json_writer *json = &b->json;
  if (!json->file) return;
  halo_json_object(json, NULL);
  halo_json_text(json, "operation", c->name);
  halo_json_integer(json, "bytes", bytes);
  halo_json_integer(json, "replicas", b->counts.replicas);
  halo_json_number(json, "seconds", row->seconds);
  halo_json_number(json, "algorithm_bandwidth", algorithm * 1e9);
  halo_json_number(json, "bus_bandwidth", bus * 1e9);
  halo_json_integer(json, "wrong", row->wrong);
  halo_json_number(json, "mpi_seconds", row->reference);
  halo_json_close(json);
}

static bool collectives_row_of(collectives_bench *b, const collectives_case *c, int64_t bytes) {
  int n = b->counts.replicas;
  int64_t count = bytes / (int64_t)sizeof(float) / n * n;
  if (count == 0) count = n;
  collectives_row row = {0};
  char *text = collectives_text(c, count, n);
  halo_executable *e = NULL;
  progress_measure("%s of %s", c->name, tool_bytes((uint64_t)count * sizeof(float)));
  bool ok = collectives_compile(b, text, &e) &&
            collectives_time(b, e, c, count, (int)(count > 1 << 20 ? 3 : b->rounds), &row);
  if (ok) row.reference = collectives_reference(b, c, count);
  halo_executable_release(e);
  free(text);
  progress_stop();
  if (ok) collectives_print(b, c, count * (int64_t)sizeof(float), &row);
  return ok;
}

/* The time of a program that measures `what`: the median of `rounds`; below 0 after a failure. */
static double collectives_seconds(const collectives_bench *b, const char *what, char *text,
                                  int rounds) {
  halo_executable *e = NULL;
  collectives_row row = {0};
  progress_measure("%s", what);
  bool ok = collectives_compile(b, text, &e) && collectives_time(b, e, NULL, 0, rounds, &row);
  halo_executable_release(e);
  free(text);
  progress_stop();
  return ok ? row.seconds : -1;
}

/* What a run takes that does nothing to speak of. The runtime may do things once, at first, beside it: these
 * must be over. */
static double collectives_launch(const collectives_bench *b) {
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
static char *collectives_overlap_text(const collectives_bench *b, bool all, int side) {
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
static bool collectives_tell(const collectives_bench *b, int *number) {
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

static bool collectives_overlap(collectives_bench *b) {
  enum { FIRST_SIDE = 1024 };
  int rounds = (int)b->rounds;
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

static bool collectives_run(collectives_bench *b) {
  static const int64_t sizes[] = {8,       1 << 10,  1 << 13,  1 << 16,   1 << 19,
                                  1 << 22, 32 << 20, 64 << 20, 128 << 20, 256 << 20};
  halo_device_info info;
  halo_device_get_info(halo_client_device(b->client, 0), &info);
  int processes = halo_client_process_count(b->client);
  printf("%s, %d replicas in %d process%s\n", info.name, b->counts.replicas, processes,
         processes == 1 ? "" : "es");
  if (b->overlap) return collectives_overlap(b);
  double launch = collectives_launch(b);
  if (launch < 0) return false;
  printf("a run of one small kernel takes %s\n\n", tool_seconds(launch));
  bool mpi = b->communicator && b->communicator->reference && processes > 1;
  printf("%-15s %10s %10s %9s %9s %7s%s\n", "operation", "size", "time", "algbw", "busbw", "wrong",
         mpi ? "        MPI   of it" : "");
  printf("%-15s %10s %10s %9s %9s\n", "", "", "", "GB/s", "GB/s");
  bool ok = true;
  for (int c = 0; c < COLLECTIVES_CASES && ok; c++) {
    const collectives_case *one = &collectives_cases[c];
    if (b->only && !strstr(one->name, b->only)) continue;
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0] && ok; s++) {
      if (sizes[s] <= b->most) ok = collectives_row_of(b, one, sizes[s]);
    }
  }
  return ok;
}

static bool collectives_open(collectives_bench *b) {
  if (!parts_connect(&b->communicator)) return false;
  bool spread = b->communicator && b->communicator->process_count > 1;
  if (!b->counts.replicas && !spread) b->counts.replicas = 2;
  halo_client_options options = {.device = b->device, .communicator = b->communicator};
  bool ok = parts_open(NULL, &options, &b->counts, &b->client);
  if (ok && halo_client_process_index(b->client) > 0 && !freopen("/dev/null", "w", stdout)) {
    return tool_error("cannot be silent") == TOOL_OK;
  }
  return ok;
}

static bool collectives_take(const tool_args *args, int id, const char *value,
                             collectives_bench *b) {
  int64_t number;
  switch (id) {
    case COLLECTIVES_DEVICE: b->device = value; return true;
    case COLLECTIVES_ONLY: b->only = value; return true;
    case COLLECTIVES_JSON: b->path = value; return true;
    case COLLECTIVES_OVERLAP: b->overlap = true; return true;
    case COLLECTIVES_MAX: return args_integer(args, "max", value, 8, INT64_C(1) << 32, &b->most);
    case COLLECTIVES_ROUNDS: return args_integer(args, "rounds", value, 1, 10000, &b->rounds);
    case COLLECTIVES_REPLICAS:
      if (!args_integer(args, "replicas", value, 2, 4096, &number)) return false;
      b->counts.replicas = (int)number;
      return true;
    case ARGS_OPERAND: args_usage_error(args, "'%s' has no meaning here", value); return false;
  }
  return false;
}

int bench_collectives(int argc, char **argv) {
  tool_args args = {.command = "bench collectives",
                    .options = collectives_options,
                    .argc = argc,
                    .argv = argv,
                    .next = 1};
  collectives_bench b = {.most = 256 << 20, .rounds = 11};
  const char *value;
  int id;
  while ((id = args_next(&args, &value)) != ARGS_END) {
    if (id == COLLECTIVES_HELP) {
      fputs(
          "Measures XLA's collectives between replicas, in one process or (mpiexec -n N halo "
          "bench\n"
          "collectives) in several, with what MPI's own take on the host's memory beside. "
          "Bandwidths are\n"
          "as nccl-tests has them: of the size, and of what each replica must send and receive.\n\n"
          "Usage: halo bench collectives [OPTIONS]\n",
          stdout);
      args_print_options(stdout, collectives_options);
      return TOOL_OK;
    }
    if (!collectives_take(&args, id, value, &b)) return TOOL_USAGE;
  }
  bool ok = collectives_open(&b);
  if (ok && b.path && halo_client_process_index(b.client) == 0) {
    b.json.file = fopen(b.path, "w");
    if (!b.json.file) ok = tool_error("cannot write %s", b.path) == TOOL_OK;
    if (b.json.file) halo_json_array(&b.json, NULL);
  }
  ok = ok && collectives_run(&b);
  if (b.json.file) {
    halo_json_close(&b.json);
    ok = fclose(b.json.file) == 0 && ok;
  }
  int code = ok ? TOOL_OK : TOOL_FAILED;
  halo_client_release(b.client);
  parts_disconnect(b.communicator, code);
  return code;
}
