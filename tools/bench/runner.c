/* SPDX-License-Identifier: Apache-2.0 */
/* runner.c: measures one case: arguments, poisoned memory for the answers, a checked first run, then samples. */
#include "bench/runner.h"
#include "bench/choices.h"
#include "inputs.h"
#include "progress.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>

enum { RUNNER_SETS = 8, RUNNER_SAMPLES = 1000, RUNNER_RUNS = 1000 };

struct bench_subject {
  const bench_runner *runner;
  const bench_case *c;
  bench_fault fault;
  halo_module *module;
  halo_executable *executable;
  input_list inputs;        /* of the module; their values are the arguments */
  halo_literal **arguments; /* owned by `inputs` */
  halo_buffer **sets;       /* equal arguments in different memory, one set after the other */
  halo_buffer **results;    /* of the last run */
  halo_literal **answers;   /* of the first run */
  int set_count, argument_count, result_count, next_set;
};

void bench_row_fail(bench_row *row, bench_status status, const char *why) {
  if (row->status == BENCH_FAILED || row->status == BENCH_WRONG) return; /* the first one counts */
  const char *text = why != NULL ? why : halo_error_message();
  row->status = status;
  snprintf(row->reason, sizeof row->reason, "%.*s", (int)strcspn(text, "\n"), text);
}

void bench_row_judge(bench_row *row) {
  row->status = BENCH_OK;
  double part = bench_row_efficiency(row);
  if (part <= 1.05)
    return; /* limits and rows are measured one after the other, and differ by some per cent of themselves */
  row->status = BENCH_ABOVE;
  snprintf(row->reason, sizeof row->reason, "%.2f times the limit %s", part, row->limit);
}

void bench_summarize(double *seconds, int count, bench_row *row) {
  row->samples = count;
  row->median = bench_median(seconds, count); /* which sorts them */
  row->minimum = seconds[0];
  row->spread = (seconds[count - 1 - count / 4] - seconds[count / 4]) / row->median;
}

/* ---- Arguments ---- */

/* The recipes in the heading of the case; a message is in the row when they do not fit. */
static bool runner_make_inputs(bench_subject *p, bench_row *row) {
  int place = 0, code = TOOL_OK, generated;
  inputs_create(p->module, &p->inputs);
  for (const char *at = p->c->text; (at = strstr(at, "//! input ")) != NULL && code == TOOL_OK;) {
    at += strlen("//! input ");
    char *text = tool_printf("%d=%.*s", place++, (int)strcspn(at, "\n"), at);
    code = inputs_assign(&p->inputs, text);
    free(text);
  }
  if (code == TOOL_OK) code = inputs_generate(&p->inputs, &generated);
  if (code != TOOL_OK) {
    bench_row_fail(row, BENCH_FAILED, "its inputs do not fit it");
    return false;
  }
  p->argument_count = p->inputs.count;
  p->arguments = tool_alloc(sizeof *p->arguments * (size_t)(p->argument_count + 1));
  for (int i = 0; i < p->argument_count; i++) p->arguments[i] = p->inputs.data[i].value;
  return true;
}

/* As many sets as the caches could not hold. */
static halo_status runner_make_sets(bench_subject *p) {
  uint64_t bytes = 1;
  for (int i = 0; i < p->argument_count; i++) {
    bytes += (uint64_t)halo_shape_byte_size(p->inputs.data[i].shape);
  }
  uint64_t sets = bytes >= 2 * p->runner->cache ? 1 : 2 * p->runner->cache / bytes + 1;
  p->set_count = (int)(sets > RUNNER_SETS ? RUNNER_SETS : sets);
  size_t count = (size_t)(p->set_count * p->argument_count);
  p->sets = calloc(count + 1, sizeof *p->sets);
  halo_status status = p->sets ? HALO_OK : HALO_OUT_OF_MEMORY;
  for (size_t i = 0; i < count && status == HALO_OK; i++) {
    status = halo_buffer_from_literal(p->runner->client,
                                      p->arguments[i % (size_t)p->argument_count], &p->sets[i]);
  }
  return status;
}

static void runner_close(bench_subject *p) {
  for (int i = 0; p->sets != NULL && i < p->set_count * p->argument_count; i++) {
    halo_buffer_release(p->sets[i]);
  }
  for (int i = 0; i < p->result_count; i++) {
    if (p->results != NULL) halo_buffer_release(p->results[i]);
    if (p->answers != NULL) halo_literal_release(p->answers[i]);
  }
  free(p->sets);
  free(p->results);
  free(p->answers);
  free(p->arguments);
  inputs_release(&p->inputs);
  halo_executable_release(p->executable);
  halo_module_release(p->module);
}

/* ---- Compiling ---- */

/* "dot:panels+loop:spans": each implementation once. */
static void runner_name_implementations(halo_executable *executable, bench_row *row) {
  choices_program program = {0};
  choices_read_steps(halo_executable_report(executable, HALO_REPORT_EXPLAIN), &program);
  size_t used = 0;
  for (int i = 0; i < program.step_count; i++) {
    const choices_step *step = &program.steps[i];
    const char *name = step->entries[step->chosen].name;
    if (strstr(row->implementation, name) != NULL) continue;
    if (used + strlen(name) + 5 > sizeof row->implementation) {
      strcpy(row->implementation + used, "+..");
      break;
    }
    used += (size_t)sprintf(row->implementation + used, "%s%s", used ? "+" : "", name);
  }
  choices_release(&program);
}

static bool runner_open(bench_subject *p, const char *kernels, bench_row *row) {
  const halo_compile_options options = {.kernels = kernels};
  progress_start();
  halo_status status =
      halo_module_read(p->c->text, strlen(p->c->text), p->c->name, NULL, &p->module);
  if (status == HALO_OK) {
    status = halo_client_compile(p->runner->client, p->module, &options, &p->executable);
  }
  progress_stop();
  if (status != HALO_OK) {
    bench_row_fail(row, status == HALO_UNIMPLEMENTED ? BENCH_SKIPPED : BENCH_FAILED, NULL);
    return false;
  }
  runner_name_implementations(p->executable, row);
  if (!runner_make_inputs(p, row)) return false;
  p->result_count = halo_executable_result_count(p->executable);
  p->results = calloc((size_t)p->result_count + 1, sizeof *p->results);
  p->answers = calloc((size_t)p->result_count + 1, sizeof *p->answers);
  status = runner_make_sets(p);
  if (status != HALO_OK) bench_row_fail(row, BENCH_SKIPPED, NULL);
  return status == HALO_OK;
}

/* ---- Running ---- */

/* Runs once, with the next set of arguments; the results of the run before are released. */
static halo_status runner_once(bench_subject *p) {
  for (int i = 0; i < p->result_count; i++) {
    halo_buffer_release(p->results[i]);
    p->results[i] = NULL;
  }
  p->next_set = (p->next_set + 1) % p->set_count;
  return halo_executable_execute(p->executable, p->sets + p->next_set * p->argument_count,
                                 p->argument_count, NULL, p->results);
}

/* Seconds of the device's events since the program was compiled. */
static halo_status runner_device_seconds(bench_subject *p, double *out) {
  const halo_profile_row *steps;
  int count;
  *out = 0;
  halo_status status = halo_executable_profile(p->executable, &steps, &count);
  for (int i = 0; i < count && status == HALO_OK; i++) *out += steps[i].seconds;
  return status;
}

halo_status bench_subject_sample(bench_subject *p, int runs, double *seconds) {
  int all = p->fault == BENCH_FAULT_SLOW ? 2 * runs : runs;
  double before = 0, after = 0;
  halo_status status = HALO_OK;
  if (p->runner->device_times) status = runner_device_seconds(p, &before);
  double start = tool_now();
  for (int i = 0; i < all && status == HALO_OK; i++) {
    status = runner_once(p);
    if (p->c->waited && status == HALO_OK) status = bench_wait(p->results, p->result_count);
  }
  if (status == HALO_OK) status = bench_wait(p->results, p->result_count);
  *seconds = (tool_now() - start) / runs;
  if (p->runner->device_times && status == HALO_OK) {
    status = runner_device_seconds(p, &after);
    *seconds = (after - before) / runs;
  }
  return status;
}

/* ---- The checked run ---- */

/* Memory that the results will get back, when the device gives out what was released last, holds no old answer: all its bits are
 * ones, which is NaN or -1. With `keep` that memory itself is the result. */
static halo_status runner_poison(bench_subject *p, bool keep) {
  halo_status status = HALO_OK;
  for (int i = 0; i < p->result_count && status == HALO_OK; i++) {
    const halo_shape *shape = halo_executable_result_shape(p->executable, i);
    size_t size = (size_t)halo_shape_byte_size(shape);
    void *ones = tool_alloc(size + 1);
    memset(ones, halo_shape_type(shape) == HALO_PRED ? 1 : 0xff, size);
    status = halo_buffer_from_host(p->runner->client, ones, shape, &p->results[i]);
    free(ones);
  }
  for (int i = 0; i < p->result_count && !keep; i++) {
    halo_buffer_release(p->results[i]);
    p->results[i] = NULL;
  }
  return status;
}

static void runner_spoil(halo_literal *answer) {
  size_t size = halo_type_size(halo_shape_type(halo_literal_shape(answer)));
  unsigned char *first = halo_literal_data(answer);
  first[size - 1] ^= 0x41;
}

/* False: the row says why there is nothing to measure. */
static bool runner_check(bench_subject *p, bench_row *row) {
  bool missing = p->fault == BENCH_FAULT_MISSING;
  progress_start(); /* some runtimes compile kernels when they are first launched */
  halo_status status = runner_poison(p, missing);
  if (status == HALO_OK && !missing) status = runner_once(p);
  for (int i = 0; i < p->result_count && status == HALO_OK; i++) {
    status = halo_buffer_to_literal(p->results[i], &p->answers[i]);
  }
  progress_stop();
  if (status != HALO_OK) {
    bench_row_fail(row, BENCH_FAILED, NULL);
    return false;
  }
  if (p->fault == BENCH_FAULT_WRONG) runner_spoil(p->answers[0]);
  bench_verify(p->c, p->arguments, p->argument_count, p->answers, p->result_count, row);
  if (row->status != BENCH_OK) return false;
  if (row->wrong == 0) return true;
  char why[80];
  snprintf(why, sizeof why, "%lld of %lld checked elements are wrong", (long long)row->wrong,
           (long long)row->checked);
  bench_row_fail(row, BENCH_WRONG, why);
  return false;
}

/* Every run has the same arguments, so that its answer has the same bits. */
static void runner_check_last(bench_subject *p, bench_row *row) {
  for (int i = 0; i < p->result_count; i++) {
    halo_literal *last;
    if (halo_buffer_to_literal(p->results[i], &last) != HALO_OK) {
      bench_row_fail(row, BENCH_FAILED, NULL);
      return;
    }
    const halo_shape *shape = halo_literal_shape(last);
    size_t size = halo_type_size(halo_shape_type(shape));
    const char *a = halo_literal_data(last), *b = halo_literal_data(p->answers[i]);
    for (int64_t k = 0; k < halo_shape_element_count(shape); k++) {
      row->wrong += memcmp(a + (size_t)k * size, b + (size_t)k * size, size) != 0;
    }
    halo_literal_release(last);
  }
  if (row->wrong == 0) return;
  row->median = row->minimum = 0;
  bench_row_fail(row, BENCH_WRONG, "the last run has another answer than the first");
}

/* ---- Samples ---- */

int bench_subject_runs(double seconds, double sample) {
  if (seconds >= sample) return 1;
  return seconds * RUNNER_RUNS <= sample ? RUNNER_RUNS : (int)(sample / seconds) + 1;
}

/* Seconds of one run, ours and the reference's, as far as they are taken. */
typedef struct runner_samples {
  double ours[RUNNER_SAMPLES], other[RUNNER_SAMPLES];
  int taken, others;
  double jax; /* the last of `other`; 0: there is no reference */
} runner_samples;

/* One of two batches: half of the time that a row's samples have. Ours and the reference's are taken in turns. */
static halo_status runner_take_batch(bench_subject *p, const char *path, bench_row *row,
                                     runner_samples *s) {
  enum { LEAST = 2 };
  const bench_runner *r = p->runner;
  double once, sample = r->min_time / 20;
  int chained = p->c->waited ? BENCH_WAITED : 0, first = s->taken;
  halo_status status = bench_subject_sample(p, 1, &once);
  if (status == HALO_OK) {
    status = bench_subject_sample(p, bench_subject_runs(once, sample / 2), &once);
  }
  if (first == 0) {
    row->runs = bench_subject_runs(once, sample);
    s->jax = path != NULL ? bench_jax_run(r->jax, path, 1, BENCH_WAITED) : 0;
  }
  double start = tool_now();
  while (status == HALO_OK && s->taken < RUNNER_SAMPLES / (first ? 1 : 2)) {
    double spent = tool_now() - start;
    int taken = s->taken - first;
    if (taken >= LEAST && spent > r->max_time / 2) break;
    if (2 * taken >= r->repeat && spent > r->min_time / 2) break;
    status = bench_subject_sample(p, row->runs, &s->ours[s->taken++]);
    if (s->jax > 0) {
      s->jax = bench_jax_run(r->jax, path, bench_subject_runs(s->jax, sample), chained);
      if (s->jax > 0) s->other[s->others++] = s->jax;
    }
  }
  return status;
}

/* The spread is what the samples of both batches differ by, and at least what the batches do: other programs disturb all samples of a
 * moment alike. `first`: samples of the first batch. */
static void runner_summarize(runner_samples *s, int first, bench_row *row) {
  double before = bench_median(s->ours, first);
  double after = bench_median(s->ours + first, s->taken - first);
  bench_summarize(s->ours, s->taken, row);
  double among = (before > after ? before - after : after - before) / row->median;
  if (among > row->spread) row->spread = among;
  if (s->others > 0) row->reference = bench_median(s->other, s->others);
}

/* In new processes: with empty caches, and with what the first one left there. */
static void runner_measure_starts(const bench_runner *r, const char *path, bench_row *row) {
  char *cache = tool_printf("%s/cache", r->folder);
  bench_start start;
  if (tool_make_folder(cache) && bench_start_process(r->device, path, cache, 0, &start)) {
    row->cold = start.first;
    if (bench_start_process(r->device, path, cache, 0, &start)) row->warm = start.first;
  }
  bench_remove_folder(cache);
  free(cache);
}

static bool runner_write(const bench_case *c, const char *path) {
  FILE *file = fopen(path, "w");
  bool good = file != NULL && fputs(c->text, file) >= 0;
  return file != NULL && fclose(file) == 0 && good;
}

bench_subject *bench_subject_open(const bench_runner *runner, const bench_case *c,
                                  const char *kernels, bench_row *row) {
  bench_subject *p = tool_alloc(sizeof *p);
  *p = (bench_subject){.runner = runner, .c = c};
  if (runner_open(p, kernels, row) && runner_check(p, row)) return p;
  bench_subject_close(p);
  return NULL;
}

const char *bench_subject_source(bench_subject *p) {
  return halo_executable_report(p->executable, HALO_REPORT_SOURCE);
}

void bench_subject_close(bench_subject *p) {
  if (p == NULL) return;
  runner_close(p);
  free(p);
}

void bench_runner_measure(const bench_runner *runner, const bench_case *c, const char *kernels,
                          bench_fault fault, bench_row *row) {
  bench_subject p = {.runner = runner, .c = c, .fault = fault};
  char *path = tool_printf("%s/case.%s.hlo", runner->folder, c->name);
  bool needs_file = kernels == NULL && (runner->jax != NULL || runner->starts);
  if (needs_file && !runner_write(c, path)) {
    bench_row_fail(row, BENCH_FAILED, "its program cannot be written to /tmp");
  } else if (runner_open(&p, kernels, row) && runner_check(&p, row)) {
    const char *reference = needs_file && runner->jax != NULL ? path : NULL;
    runner_samples *samples = tool_alloc(sizeof *samples);
    samples->taken = samples->others = 0;
    halo_status status = runner_take_batch(&p, reference, row, samples);
    int first = samples->taken;
    /* Starting takes a second or more, so that the batches are not of the same moment. */
    if (status == HALO_OK && runner->starts && needs_file) runner_measure_starts(runner, path, row);
    if (status == HALO_OK) status = runner_take_batch(&p, reference, row, samples);
    if (status == HALO_OK) {
      runner_summarize(samples, first, row);
      bench_row_judge(row);
      runner_check_last(&p, row);
    } else {
      bench_row_fail(row, BENCH_FAILED, NULL);
    }
    free(samples);
  }
  runner_close(&p);
  if (needs_file) remove(path);
  free(path);
}
