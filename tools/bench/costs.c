/* SPDX-License-Identifier: Apache-2.0 */
/* costs.c: `halo bench costs`: what a launch, a byte and an operation cost on a device, and keeping
 * that for compiling. */
#include "args.h"
#include "bench/bench.h"
#include "progress.h"
#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COSTS_ROUNDS = 9, COSTS_ELEMENTS = 4 << 20, COSTS_CHAIN = 100, COSTS_TURNS = 200000 };

/* Median seconds of one run of a program, which measures `what`; `runs` are queued one after another. Negative: it failed,
 * and the reason was printed. */
static double costs_time(halo_client *client, const char *what, const char *text, int runs) {
  halo_module *module = NULL;
  halo_executable *executable = NULL;
  halo_buffer *argument = NULL;
  double times[COSTS_ROUNDS], result = -1;
  progress_measure("%s", what);
  bool ok = tool_check(halo_module_parse(text, strlen(text), "costs", &module)) &&
            tool_check(halo_client_compile(client, module, NULL, &executable));
  if (ok) {
    const halo_shape *shape = halo_executable_argument_shape(executable, 0);
    void *zeros = calloc(1, (size_t)halo_shape_byte_size(shape) + 1);
    ok = tool_check(halo_buffer_from_host(client, zeros, shape, &argument));
    free(zeros);
  }
  for (int round = -1; ok && round < COSTS_ROUNDS; round++) { /* the first compiles */
    double start = tool_now();
    halo_buffer *out = NULL;
    for (int i = 0; ok && i < runs; i++) {
      halo_buffer_release(out);
      ok = tool_check(halo_executable_execute(executable, &argument, 1, NULL, &out));
    }
    halo_event *ready = NULL;
    ok = ok && tool_check(halo_buffer_ready_event(out, &ready));
    ok = ok && tool_check(halo_event_wait(ready));
    halo_event_release(ready);
    halo_buffer_release(out);
    if (round >= 0) times[round] = (tool_now() - start) / runs;
  }
  progress_stop();
  if (ok) result = bench_median(times, COSTS_ROUNDS);
  halo_buffer_release(argument);
  halo_executable_release(executable);
  halo_module_release(module);
  return result;
}

/* Elements whose sum with themselves is taken: one array read, one written. */
static double costs_of_bytes(halo_client *client) {
  char text[300];
  snprintf(text, sizeof text,
           "HloModule bytes\nENTRY e {\n  x = f32[%d] parameter(0)\n"
           "  ROOT y = f32[%d] add(x, x)\n}\n",
           COSTS_ELEMENTS, COSTS_ELEMENTS);
  return costs_time(client, "moving bytes (2 of 5)", text, 4);
}

/* The same, with a chain of operations in between. */
static double costs_of_chain(halo_client *client) {
  size_t size = 100 * (COSTS_CHAIN + 4);
  char *text = malloc(size), *at = text;
  at += sprintf(at, "HloModule chain\nENTRY e {\n  y0 = f32[%d] parameter(0)\n", COSTS_ELEMENTS);
  for (int i = 1; i <= COSTS_CHAIN; i++) {
    at += sprintf(at, "  %sy%d = f32[%d] %s(y%d, y%d)\n", i == COSTS_CHAIN ? "ROOT " : "", i,
                  COSTS_ELEMENTS,
                  i % 2   ? "add"
                  : i % 4 ? "multiply"
                          : "maximum",
                  i - 1, i > 1 ? i - 2 : 0);
  }
  strcpy(at, "}\n");
  double seconds = costs_time(client, "operations (3 of 5)", text, 1);
  free(text);
  return seconds;
}

/* A loop over a scalar, which one work item runs: two operations a turn, one of the counter. */
static double costs_of_item(halo_client *client) {
  char text[700];
  snprintf(text, sizeof text,
           "HloModule item\n"
           "body {\n  s = (s32[], f32[]) parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n"
           "  v = f32[] get-tuple-element(s), index=1\n  one = s32[] constant(1)\n"
           "  half = f32[] constant(0.5)\n  n = s32[] add(i, one)\n  w = f32[] multiply(v, half)\n"
           "  u = f32[] add(w, half)\n  ROOT r = (s32[], f32[]) tuple(n, u)\n}\n"
           "cond {\n  s = (s32[], f32[]) parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n"
           "  m = s32[] constant(%d)\n  ROOT c = pred[] compare(i, m), direction=LT\n}\n"
           "ENTRY e {\n  x = f32[] parameter(0)\n  z = s32[] constant(0)\n"
           "  t = (s32[], f32[]) tuple(z, x)\n"
           "  l = (s32[], f32[]) while(t), condition=cond, body=body\n"
           "  ROOT y = f32[] get-tuple-element(l), index=1\n}\n",
           COSTS_TURNS);
  return costs_time(client, "one work item (4 of 5)", text, 1);
}

/* The same over an array, of which each turn adds the next element. */
static double costs_of_item_bytes(halo_client *client) {
  char text[1200];
  snprintf(text, sizeof text,
           "HloModule item_bytes\n"
           "body {\n  s = (s32[], f32[], f32[%d]) parameter(0)\n"
           "  i = s32[] get-tuple-element(s), index=0\n"
           "  v = f32[] get-tuple-element(s), index=1\n"
           "  a = f32[%d] get-tuple-element(s), index=2\n  one = s32[] constant(1)\n"
           "  n = s32[] add(i, one)\n"
           "  e1 = f32[1] dynamic-slice(a, i), dynamic_slice_sizes={1}\n"
           "  e = f32[] reshape(e1)\n  u = f32[] add(v, e)\n"
           "  ROOT r = (s32[], f32[], f32[%d]) tuple(n, u, a)\n}\n"
           "cond {\n  s = (s32[], f32[], f32[%d]) parameter(0)\n"
           "  i = s32[] get-tuple-element(s), index=0\n  m = s32[] constant(%d)\n"
           "  ROOT c = pred[] compare(i, m), direction=LT\n}\n"
           "ENTRY e {\n  x = f32[%d] parameter(0)\n  z = s32[] constant(0)\n"
           "  f = f32[] constant(0)\n  t = (s32[], f32[], f32[%d]) tuple(z, f, x)\n"
           "  l = (s32[], f32[], f32[%d]) while(t), condition=cond, body=body\n"
           "  ROOT y = f32[] get-tuple-element(l), index=1\n}\n",
           COSTS_ELEMENTS, COSTS_ELEMENTS, COSTS_ELEMENTS, COSTS_ELEMENTS, COSTS_TURNS,
           COSTS_ELEMENTS, COSTS_ELEMENTS, COSTS_ELEMENTS);
  return costs_time(client, "one work item's bytes (5 of 5)", text, 1);
}

static double costs_of_launch(halo_client *client) {
  return costs_time(client, "launches (1 of 5)",
                    "HloModule launch\nENTRY e {\n  x = f32[64] parameter(0)\n"
                    "  ROOT y = f32[64] negate(x)\n}\n",
                    200);
}

static bool costs_measure(halo_client *client, halo_device_costs *out) {
  double launch = costs_of_launch(client), bytes = costs_of_bytes(client);
  double chain = costs_of_chain(client), item = costs_of_item(client);
  double item_bytes = costs_of_item_bytes(client);
  if (launch <= 0 || bytes <= 0 || chain <= 0 || item <= 0 || item_bytes <= 0) return false;
  double work = (double)COSTS_CHAIN * COSTS_ELEMENTS;
  *out = (halo_device_costs){
      .launch = launch,
      .bandwidth = 8.0 * COSTS_ELEMENTS / bytes,
      .rate = work / (chain > 2 * bytes ? chain - bytes : chain / 2),
      .item_rate = 4.0 * COSTS_TURNS / (item > 2 * launch ? item - launch : item),
      .item_bandwidth =
          4.0 * COSTS_TURNS / (item_bytes > 2 * launch ? item_bytes - launch : item_bytes)};
  return true;
}

static void costs_print(const char *what, const halo_device_costs *c) {
  printf(
      "%-10s launch %7.1f us   bandwidth %7.1f GB/s   rate %8.1f G/s   work item %6.2f G/s, "
      "%6.2f GB/s\n",
      what, c->launch * 1e6, c->bandwidth * 1e-9, c->rate * 1e-9, c->item_rate * 1e-9,
      c->item_bandwidth * 1e-9);
}

enum { COSTS_DEVICE = 1, COSTS_STORE, COSTS_HELP };

static const tool_option costs_options[] = {
    {COSTS_DEVICE, 'd', "device", "NAME", "which device, as `halo info` lists them"},
    {COSTS_STORE, 0, "store", NULL,
     "keep them in the cache folder; compiling uses them from then on"},
    {COSTS_HELP, 'h', "help", NULL, "this text"},
    {0},
};

int bench_costs(int argc, char **argv) {
  tool_args args = {
      .command = "bench costs", .options = costs_options, .argc = argc, .argv = argv, .next = 1};
  halo_client_options options = {0};
  const char *value;
  bool store = false;
  for (int id; (id = args_next(&args, &value)) != ARGS_END;) {
    switch (id) {
      case COSTS_DEVICE: options.device = value; break;
      case COSTS_STORE: store = true; break;
      case COSTS_HELP:
        puts(
            "Usage: halo bench costs [OPTIONS]\n\n"
            "Measures what starting a kernel, moving a byte and an operation cost on a device: "
            "what\n"
            "compiling weighs against each other.\n");
        args_print_options(stdout, costs_options);
        return TOOL_OK;
      case ARGS_OPERAND: return args_usage_error(&args, "there is no use for '%s'", value);
      default: return TOOL_USAGE;
    }
  }
  halo_client *client;
  halo_device_costs used, measured;
  if (!tool_check(halo_client_create(&options, &client))) return TOOL_FAILED;
  halo_device *device = halo_client_device(client, 0);
  halo_device_get_costs(device, &used);
  costs_print(used.measured ? "stored" : "assumed", &used);
  bool ok = costs_measure(client, &measured);
  if (ok) costs_print("measured", &measured);
  if (ok && store) ok = tool_check(halo_device_store_costs(device, &measured));
  if (ok && store) puts("stored");
  halo_client_release(client);
  return ok ? TOOL_OK : TOOL_FAILED;
}
