/* SPDX-License-Identifier: Apache-2.0 */
/* program.c: compiling a module and timing its runs with made-up arguments. */
#include "bench/bench.h"
#include "inputs.h"
#include "progress.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>

/* Element i, from 24 random bits. */
static void program_make_element(halo_type type, uint32_t bits, void *data, int64_t i) {
  float value = (float)bits * (0.1f / 16777216);
  if (type == HALO_F32) ((float *)data)[i] = value;
  if (type == HALO_F64) ((double *)data)[i] = value;
  if (type == HALO_C64) {
    ((float *)data)[2 * i] = value;
    ((float *)data)[2 * i + 1] = 0.1f - value;
  }
  if (type == HALO_S64) ((int64_t *)data)[i] = (int64_t)(bits % 10);
  if (type == HALO_S32) ((int32_t *)data)[i] = (int32_t)(bits % 10);
  if (type == HALO_S8) ((int8_t *)data)[i] = (int8_t)(bits % 10);
  /* The bits of numbers from 2^-5 to nearly 0.1. */
  if (type == HALO_F16) ((uint16_t *)data)[i] = (uint16_t)(0x2800 + bits % 0x600);
  if (type == HALO_BF16) ((uint16_t *)data)[i] = (uint16_t)(0x3d00 + bits % 0xc0);
}

/* Floats from 0 to 0.1, so that no program under- or overflows, and integers from 0 to 9. */
static halo_status program_make_argument(halo_client *client, const halo_shape *shape,
                                         halo_buffer **out) {
  halo_literal *literal;
  halo_status status = halo_literal_create(shape, &literal);
  if (status != HALO_OK) return status;
  int64_t count = halo_shape_element_count(shape);
  uint64_t state = 0x9e3779b97f4a7c15u;
  void *data = halo_literal_data(literal);
  for (int64_t i = 0; i < count; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    uint32_t bits = (uint32_t)(state >> 40); /* 24 random bits */
    program_make_element(halo_shape_type(shape), bits, data, i);
  }
  status = halo_buffer_from_literal(client, literal, out);
  halo_literal_release(literal);
  return status;
}

/* As the recipes say; a message was printed when they are wrong. */
static halo_status program_make_by_recipe(halo_client *client, const halo_module *module,
                                          const bench_heading *heading, bench_program *p) {
  input_list inputs;
  inputs_create(module, &inputs);
  int code =
      inputs.count == heading->recipe_count
          ? TOOL_OK
          : tool_error("%d parameters, and recipes for %d", inputs.count, heading->recipe_count);
  for (int i = 0; i < inputs.count && code == TOOL_OK; i++) {
    char *text = tool_printf("%d=%s", i, heading->recipes[i]);
    code = inputs_assign(&inputs, text);
    free(text);
  }
  halo_status status = code == TOOL_OK ? HALO_OK : HALO_INVALID_ARGUMENT;
  for (int i = 0; i < inputs.count && status == HALO_OK; i++) {
    status = halo_buffer_from_literal(client, inputs.data[i].value, &p->arguments[i]);
  }
  inputs_release(&inputs);
  return status;
}

static halo_status program_make_arguments(halo_client *client, const halo_module *module,
                                          const bench_heading *heading, bench_program *p) {
  halo_status status = HALO_OK;
  p->argument_count = halo_executable_argument_count(p->executable);
  p->result_count = halo_executable_result_count(p->executable);
  p->arguments = calloc((size_t)p->argument_count + 1, sizeof(halo_buffer *));
  p->results = calloc((size_t)p->result_count + 1, sizeof(halo_buffer *));
  if (heading->recipe_count > 0) return program_make_by_recipe(client, module, heading, p);
  for (int i = 0; i < p->argument_count && status == HALO_OK; i++) {
    status = program_make_argument(client, halo_executable_argument_shape(p->executable, i),
                                   &p->arguments[i]);
  }
  return status;
}

halo_status bench_program_open(halo_client *client, const char *path, const char *kernels,
                               bench_program *p) {
  memset(p, 0, sizeof *p);
  halo_module *module = NULL;
  bench_heading heading;
  halo_compile_options options = {.kernels = kernels};
  bench_heading_read(path, &heading);
  double start = tool_now();
  halo_status status = halo_module_read_file(path, NULL, &module);
  progress_start();
  if (status == HALO_OK) status = halo_client_compile(client, module, &options, &p->executable);
  progress_stop();
  p->compile_seconds = tool_now() - start;
  if (status == HALO_OK) status = program_make_arguments(client, module, &heading, p);
  bench_heading_release(&heading);
  halo_module_release(module);
  if (status != HALO_OK) bench_program_close(p);
  return status;
}

static void program_release_results(bench_program *p) {
  for (int i = 0; i < p->result_count; i++) {
    if (p->results[i] != NULL) halo_buffer_release(p->results[i]);
    p->results[i] = NULL;
  }
}

void bench_program_close(bench_program *p) {
  if (p->executable == NULL) return;
  program_release_results(p);
  for (int i = 0; i < p->argument_count; i++) {
    if (p->arguments[i] != NULL) halo_buffer_release(p->arguments[i]);
  }
  free(p->arguments);
  free(p->results);
  halo_executable_release(p->executable);
  memset(p, 0, sizeof *p);
}

halo_status bench_wait(halo_buffer *const *results, int count) {
  halo_status status = HALO_OK;
  for (int i = 0; i < count && status == HALO_OK; i++) {
    halo_event *event;
    status = halo_buffer_ready_event(results[i], &event);
    if (status != HALO_OK) break;
    status = halo_event_wait(event);
    halo_event_release(event);
  }
  return status;
}

halo_status bench_program_run(bench_program *p, int runs, int chained, double *seconds) {
  enum { MAX_CHAINED = 64 };
  int donated[MAX_CHAINED];
  bool waited = chained == BENCH_WAITED;
  if (chained > MAX_CHAINED) chained = MAX_CHAINED;
  if (chained < 0) chained = 0;
  for (int i = 0; i < chained; i++) donated[i] = i;
  halo_execute_options options = {.donated = donated, .donated_count = chained};

  halo_status status = HALO_OK;
  if (!p->ran) progress_start(); /* some runtimes compile kernels when they are first launched */
  double start = tool_now();
  for (int run = 0; run < runs && status == HALO_OK; run++) {
    program_release_results(p);
    status = halo_executable_execute(p->executable, p->arguments, p->argument_count, &options,
                                     p->results);
    for (int i = 0; i < chained && status == HALO_OK; i++) {
      halo_buffer_release(p->arguments[i]);
      p->arguments[i] = p->results[i];
      halo_buffer_retain(p->arguments[i]);
    }
    if (waited && status == HALO_OK) status = bench_wait(p->results, p->result_count);
  }
  if (status == HALO_OK) status = bench_wait(p->results, p->result_count);
  *seconds = (tool_now() - start) / runs;
  if (!p->ran) progress_stop();
  p->ran = true;
  program_release_results(p);
  return status;
}
