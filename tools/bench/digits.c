/* SPDX-License-Identifier: Apache-2.0 */
/* digits.c: the digits training step, a second process with a warm cache, and what a launch
 * costs the host. */
#include "bench/bench.h"
#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS_STATE = 19, DIGITS_STEPS = 20, DIGITS_STARTS = 5, DISPATCH_RUNS = 2000 };

static void digits_path(const bench *b, char *path, size_t size) {
  snprintf(path, size, "%s/train_step.hlo", b->options.digits);
}

static void digits_step(bench *b) {
  char path[4096];
  digits_path(b, path, sizeof path);
  bench_row *row = bench_add_row(b, "digits step", "batch of 256", BENCH_AGAINST_XLA, 1.0);
  if (row == NULL) return;
  bench_program program;
  int rounds = 0, most = b->options.rounds;
  double *ours = calloc((size_t)most * 2, sizeof *ours), *xla = ours + most, start = tool_now();
  bool has_xla = b->jax != NULL;
  halo_status status = bench_program_open(b->client, path, NULL, &program);
  if (status == HALO_OK) status = bench_program_run(&program, 2, DIGITS_STATE, ours); /* warm */
  while (status == HALO_OK && bench_goes_on(b, rounds, start)) {
    status = bench_program_run(&program, DIGITS_STEPS, DIGITS_STATE, &ours[rounds]);
    if (has_xla) {
      xla[rounds] = bench_jax_run(b->jax, path, DIGITS_STEPS, DIGITS_STATE);
      has_xla = xla[rounds] >= 0;
    }
    rounds++;
  }
  if (status == HALO_OK) {
    row->seconds = bench_median(ours, rounds);
    if (has_xla) row->xla = bench_median(xla, rounds);
  } else {
    bench_fail_row(row, status);
  }
  bench_program_close(&program);
  free(ours);
}

static void digits_second_start(bench *b) {
  char path[4096], cache[128];
  double seconds[DIGITS_STARTS];
  bench_start start;
  digits_path(b, path, sizeof path);
  bench_row *cold = bench_add_row(b, "first start", "digits step", BENCH_WITHIN, 0);
  bench_row *warm = bench_add_row(b, "second start", "digits step", BENCH_WITHIN, 0.3);
  if (cold == NULL || warm == NULL) return;
  snprintf(cache, sizeof cache, "%s/cache", b->folder);
  bool good = bench_start_process(b->options.device, path, cache, 0, &start);
  cold->seconds = start.whole;
  for (int i = 0; i < DIGITS_STARTS && good; i++) {
    good = bench_start_process(b->options.device, path, cache, 0, &start);
    seconds[i] = start.whole;
  }
  if (!good) {
    snprintf(cold->failure, sizeof cold->failure, "the process failed");
    snprintf(warm->failure, sizeof warm->failure, "the process failed");
  } else {
    warm->seconds = bench_median(seconds, DIGITS_STARTS);
  }
}

void bench_digits(bench *b) {
  digits_step(b);
  digits_second_start(b);
}

static const char dispatch_text[] =
    "HloModule increment\n"
    "ENTRY main {\n"
    "  x = f32[1024] parameter(0)\n"
    "  one = f32[] constant(1)\n"
    "  ones = f32[1024] broadcast(one), dimensions={}\n"
    "  ROOT y = f32[1024] add(x, ones)\n"
    "}\n";

/* One run, as a user would do it: the whole of it, and the part until execute returns. */
static halo_status dispatch_once(bench_program *p, double *whole, double *queueing) {
  halo_event *event;
  double start = tool_now();
  halo_status status =
      halo_executable_execute(p->executable, p->arguments, p->argument_count, NULL, p->results);
  *queueing = tool_now() - start;
  if (status != HALO_OK) return status;
  status = halo_buffer_ready_event(p->results[0], &event);
  if (status == HALO_OK) {
    status = halo_event_wait(event);
    halo_event_release(event);
  }
  *whole = tool_now() - start;
  halo_buffer_release(p->results[0]);
  p->results[0] = NULL;
  return status;
}

void bench_dispatch(bench *b) {
  bench_row *whole = bench_add_row(b, "dispatch and wait", "1024 f32", BENCH_ABOVE, 10e-6);
  bench_row *queueing = bench_add_row(b, "dispatch only", "1024 f32", BENCH_ABOVE, 10e-6);
  if (whole == NULL || queueing == NULL) return;
  char path[128];
  snprintf(path, sizeof path, "%s/increment.hlo", b->folder);
  FILE *file = fopen(path, "w");
  if (file == NULL || fputs(dispatch_text, file) < 0 || fclose(file) != 0) {
    perror(path);
    exit(1);
  }
  bench_program program;
  halo_status status = bench_program_open(b->client, path, NULL, &program);
  double *t = calloc(DISPATCH_RUNS * 4, sizeof *t);
  double *ours = t, *ours_queued = t + DISPATCH_RUNS;
  double *bare = t + 2 * DISPATCH_RUNS, *bare_queued = t + 3 * DISPATCH_RUNS;
  const bench_yardstick *yardstick = &b->machine.increment;
  for (int i = 0; i < DISPATCH_RUNS && status == HALO_OK; i++) {
    status = dispatch_once(&program, &ours[i], &ours_queued[i]);
    bare[i] = bench_yardstick_run(yardstick);
    bare_queued[i] = bench_yardstick_enqueue(yardstick);
  }
  if (status == HALO_OK) {
    whole->seconds = bench_median(ours, DISPATCH_RUNS);
    whole->limit = bench_median(bare, DISPATCH_RUNS);
    queueing->seconds = bench_median(ours_queued, DISPATCH_RUNS);
    queueing->limit = bench_median(bare_queued, DISPATCH_RUNS);
  } else {
    bench_fail_row(whole, status);
    bench_fail_row(queueing, status);
  }
  bench_program_close(&program);
  free(t);
}
