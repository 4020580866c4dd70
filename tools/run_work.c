/* SPDX-License-Identifier: Apache-2.0 */
/* tools/run_work.c: the work of `halo run`: reading and compiling a module, giving it its inputs, running it. */
#include "graph.h"
#include "pieces.h"
#include "program.h"
#include "progress.h"
#include "run.h"
#include "tool.h"
#include "trace.h"

#include "halo/trace.h"

#include <stdlib.h>
#include <string.h>

/* Waits for all results of one part. */
static bool run_await(halo_buffer **results, int count) {
  bool ok = true;
  for (int i = 0; i < count; i++) {
    halo_event *ready;
    halo_status status = halo_buffer_ready_event(results[i], &ready);
    if (status == HALO_OK) {
      status = halo_event_wait(ready);
      halo_event_release(ready);
    }
    /* One reason is enough; what was only waiting for it is another's word for it. */
    ok = ok && tool_check(status);
  }
  return ok;
}

/* One run, waited for. The results [parts][result_count] are new buffers; none when it fails. */
static bool run_once(run_state *state, halo_buffer **results, double *seconds) {
  int parts = state->part_count, count = state->result_count;
  halo_buffer *const **arguments = tool_alloc(sizeof *arguments * (size_t)parts);
  halo_buffer ***received = tool_alloc(sizeof *received * (size_t)parts);
  bool ok = true;
  for (int p = 0; p < parts && ok; p++) {
    arguments[p] = state->parts[p].arguments;
    received[p] = results + (ptrdiff_t)count * p;
    ok = feeds_give(halo_executable_device(state->executable, p), &state->infeed);
  }
  double start = tool_now();
  ok = ok && tool_check(halo_executable_execute_all(state->executable, arguments,
                                                    state->argument_count, NULL, received));
  bool began = ok;
  for (int p = 0; p < parts && began; p++) ok = ok && run_await(received[p], count);
  *seconds = tool_now() - start;
  for (int i = 0; i < parts * count && began && !ok; i++) halo_buffer_release(results[i]);
  free(received);
  free(arguments);
  return ok;
}

/* Puts what the partitions of each replica give together, in the place of the first one's. */
static bool run_join(run_state *state) {
  int partitions = state->counts.partitions;
  bool ok = true;
  for (int p = 0; p < state->part_count && ok; p++) {
    run_part *part = &state->parts[p], *first = &state->parts[p - part->place.partition];
    for (int i = 0; i < state->result_count && ok && part == first; i++) {
      const halo_shape *shape = halo_executable_whole_result_shape(state->executable, i);
      const halo_sharding *sharding = halo_executable_result_sharding(state->executable, i);
      halo_literal *whole = pieces_whole(shape, first[0].results[i]);
      ok = whole != NULL;
      for (int k = 0; k < partitions && ok; k++) {
        ok = pieces_join(whole, first[k].results[i], sharding, k);
        halo_literal_release(first[k].results[i]);
        first[k].results[i] = NULL;
      }
      first->results[i] = whole;
    }
    if (part == first) continue;
    free(part->results);
    part->results = NULL;
  }
  return ok;
}

static bool run_fetch(run_state *state, halo_buffer **buffers) {
  bool ok = true;
  for (int p = 0; p < state->part_count && ok; p++) {
    run_part *part = &state->parts[p];
    part->results = tool_alloc(sizeof(halo_literal *) * (size_t)state->result_count);
    for (int i = 0; i < state->result_count && ok; i++) {
      ok = tool_check(
          halo_buffer_to_literal(buffers[p * state->result_count + i], &part->results[i]));
    }
  }
  return ok && state->joined ? run_join(state) : ok;
}

static void run_release_buffers(const run_state *state, halo_buffer **buffers) {
  for (int i = 0; i < state->part_count * state->result_count; i++) {
    halo_buffer_release(buffers[i]);
  }
}

static int run_compare_times(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Of one process, unless each has a file of its own. */
static bool run_write_trace(const run_request *request, const run_state *state,
                            const halo_trace_span *spans, int count) {
  int rank = state->communicator ? state->communicator->process : 0;
  char *path = parts_text(request->trace, (parts_place){.rank = rank});
  bool is_own = strcmp(path, request->trace) != 0;
  bool ok = (rank > 0 && !is_own) || trace_write(path, spans, count);
  free(path);
  return ok;
}

/* The module whose instructions the steps are named after; of the first process. */
static bool run_write_graph(const run_request *request, const run_state *state,
                            const halo_trace_span *spans, int count) {
  if (state->communicator && state->communicator->process > 0) return true;
  const char *text = halo_executable_report(state->executable, HALO_REPORT_MODULE);
  halo_module *module;
  if (!tool_check(halo_module_parse(text, strlen(text), "the compiled module", &module))) {
    return false;
  }
  bool ok = graph_write(module, request->graph, spans, count);
  halo_module_release(module);
  return ok;
}

static bool run_is_recorded(const run_request *request) { return request->trace || request->graph; }

static bool run_write_recorded(const run_request *request, const run_state *state) {
  const halo_trace_span *spans;
  int count;
  if (!run_is_recorded(request)) return true;
  if (!tool_check(halo_trace_collect(&spans, &count))) return false;
  bool ok = !request->trace || run_write_trace(request, state, spans, count);
  return ok && (!request->graph || run_write_graph(request, state, spans, count));
}

/* The first run, whose results are kept, and the repeats. */
static bool run_all(const run_request *request, run_state *state) {
  halo_buffer **buffers =
      tool_alloc(sizeof(halo_buffer *) * (size_t)(state->result_count * state->part_count));
  bool ok = !run_is_recorded(request) || request->repeat > 0 || tool_check(halo_trace_start());
  progress_start(); /* some runtimes compile kernels when they are first launched */
  ok = ok && run_once(state, buffers, &state->first_seconds);
  progress_stop();
  feeds_take(halo_executable_device(state->executable, 0), &state->outfeed);
  if (ok) {
    ok = run_fetch(state, buffers);
    run_release_buffers(state, buffers);
  }
  state->seconds = tool_alloc(sizeof(double) * (size_t)request->repeat);
  if (ok && request->client.profile && request->repeat > 0) {
    ok = profile_take_mark(state->executable, &state->first);
  }
  if (ok && run_is_recorded(request) && request->repeat > 0) ok = tool_check(halo_trace_start());
  for (int64_t n = 0; n < request->repeat && ok; n++) {
    ok = run_once(state, buffers, &state->seconds[n]);
    if (ok) run_release_buffers(state, buffers);
    feed_list more = {0};
    feeds_take(halo_executable_device(state->executable, 0), &more);
    feeds_release(&more);
  }
  qsort(state->seconds, (size_t)request->repeat, sizeof(double), run_compare_times);
  free(buffers);
  if (run_is_recorded(request)) halo_trace_stop();
  return ok;
}

enum { RUN_MAX_RANK = 64 };

/* Copies a part's inputs to its device. */
static bool run_upload_part(run_state *state, int p) {
  run_part *part = &state->parts[p];
  part->arguments = tool_alloc(sizeof(halo_buffer *) * (size_t)state->argument_count);
  if (state->argument_count != part->inputs.count) {
    tool_error("the program takes %d arrays and its module %d: this is a bug in halo",
               state->argument_count, part->inputs.count);
    return false;
  }
  for (int i = 0; i < state->argument_count; i++) {
    input *in = &part->inputs.data[i];
    const halo_sharding *sharding = halo_executable_argument_sharding(state->executable, i);
    int64_t sizes[RUN_MAX_RANK];
    if (sharding && sharding->kind == HALO_SHARDING_TILED) {
      halo_literal *piece = pieces_cut(in->value, sharding, part->place.partition);
      halo_literal_release(in->value);
      in->value = piece;
      if (!piece) return false;
    }
    const halo_shape *shape = halo_literal_shape(in->value);
    for (int d = 0; d < halo_shape_rank(shape); d++) sizes[d] = halo_shape_dim(shape, d);
    halo_status status = halo_buffer_put_sized(
        halo_executable_device(state->executable, p), halo_literal_data(in->value), NULL,
        halo_executable_argument_shape(state->executable, i), sizes, &part->arguments[i]);
    if (!tool_check(status)) return false;
    halo_literal_release(in->value);
    in->value = NULL;
  }
  return true;
}

static bool run_upload(run_state *state) {
  state->argument_count = halo_executable_argument_count(state->executable);
  state->result_count = halo_executable_result_count(state->executable);
  for (int p = 0; p < state->part_count; p++) {
    if (!run_upload_part(state, p)) return false;
  }
  return true;
}

/* ---- The whole of it ---- */

/* What the command line says of the inputs of a module. */
static int run_assign(const run_request *request, const halo_module *module,
                      const parts_counts *counts, run_part *part) {
  inputs_create(module, &part->inputs);
  part->inputs.convert = request->convert;
  part->inputs.seed = request->seed;
  part->inputs.part = part->place.replica * counts->partitions + part->place.partition;
  part->inputs.part_count = counts->replicas * counts->partitions;
  int code = TOOL_OK;
  for (int i = 0; i < request->input_count && code == TOOL_OK; i++) {
    char *text = parts_text(request->inputs[i], part->place);
    code = request->is_archive[i] ? inputs_assign_archive(&part->inputs, text)
                                  : inputs_assign(&part->inputs, text);
    free(text);
  }
  return code;
}

static int run_give_part(const run_request *request, const run_state *state, run_part *part,
                         int *generated) {
  int code = run_assign(request, state->module, &state->counts, part);
  if (code != TOOL_OK || request->compile_only) return code;
  return inputs_generate(&part->inputs, generated);
}

/* For program_read: the inputs of a program on one device. */
static int run_assign_open(const void *user, const halo_module *parameters, input_list *inputs) {
  const parts_counts one = {1, 1};
  run_part part = {0};
  int code = run_assign(user, parameters, &one, &part);
  *inputs = part.inputs;
  return code;
}

/* Devices of this process that the program runs on, and what each is given. */
static int run_give_inputs(const run_request *request, run_state *state, int *generated) {
  int parts = state->counts.replicas * state->counts.partitions, mine = 0;
  int devices = halo_client_device_count(state->client);
  state->parts = tool_alloc(sizeof *state->parts * (size_t)devices);
  for (int d = 0; d < devices; d++) {
    int part = parts == 1 ? d : halo_device_id(halo_client_device(state->client, d));
    if (part >= parts) continue;
    state->parts[mine++].place =
        (parts_place){part / state->counts.partitions, part % state->counts.partitions,
                      halo_client_process_index(state->client)};
  }
  state->part_count = mine;
  for (int p = 0; p < mine; p++) {
    int code = run_give_part(request, state, &state->parts[p], generated);
    if (code != TOOL_OK) return code;
  }
  for (int i = 0; i < request->infeed_count; i++) {
    if (!feeds_read(request->infeeds[i], &state->infeed)) return TOOL_FAILED;
  }
  return TOOL_OK;
}

static bool run_compile(const run_request *request, run_state *state) {
  halo_compile_options options = request->compile;
  options.replica_count = state->counts.replicas;
  options.partition_count = state->counts.partitions;
  double start = tool_now();
  progress_start();
  halo_status status =
      halo_client_compile(state->client, state->module, &options, &state->executable);
  progress_stop();
  if (!tool_check(status)) return false;
  state->compile_seconds = tool_now() - start;
  /* Only where this process has all pieces. */
  state->joined = halo_client_process_count(state->client) == 1 &&
                  halo_executable_result_sharding(state->executable, 0) != NULL;
  state->shown = state->counts;
  if (state->joined) state->shown.partitions = 1;
  halo_executable_set_seed(state->executable, request->seed);
  return true;
}

int run_work(const run_request *request, run_state *state) {
  int generated = 0;
  int code =
      program_read(request->file, request->platform, run_assign_open, request, &state->module);
  if (code != TOOL_OK) return code;
  halo_client_options client = request->client;
  client.profile |= run_is_recorded(request); /* GPUs take no times else */
  client.communicator = state->communicator;
  state->counts = request->counts;
  if (!parts_open(state->module, &client, &state->counts, &state->client)) return TOOL_FAILED;
  code = run_give_inputs(request, state, &generated);
  if (code != TOOL_OK) return code;
  if (request->compile.dump_dir && !tool_make_folder(request->compile.dump_dir)) return TOOL_FAILED;
  /* The first process speaks for all; the others say on stderr what is wrong. */
  bool speaks = halo_client_process_index(state->client) == 0;
  if (!speaks && !freopen("/dev/null", "w", stdout)) return tool_error("cannot be silent");
  halo_device_info device;
  halo_device_get_info(halo_client_device(state->client, 0), &device);
  if (!request->quiet) run_print_heading(request, state);
  fflush(stdout);
  if (!run_compile(request, state) || !run_check_compare(request, state)) return TOOL_FAILED;
  run_print_reports(request, state);
  if (request->compile_only || strcmp(device.kind, "null") == 0) {
    if (!request->quiet || !request->compile_only) {
      printf("Compiled in %s; nothing was run%s.\n", tool_seconds(state->compile_seconds),
             request->compile_only ? "" : ", since the device is a null device");
    }
    bool ok = !request->graph || run_write_graph(request, state, NULL, 0);
    return ok ? TOOL_OK : TOOL_FAILED;
  }
  if (!request->quiet) run_print_inputs(request, state, generated);
  fflush(stdout);
  if (!run_check_output(request, state) || !run_upload(state) || !run_all(request, state))
    return TOOL_FAILED;
  run_print_results(request, state);
  feeds_print(&state->outfeed, request->print);
  if (request->outfeed && !feeds_write(request->outfeed, &state->outfeed)) return TOOL_FAILED;
  if (request->output && !run_write_results(request, state)) return TOOL_FAILED;
  if (request->compare.path) {
    code = run_compare_results(request, state);
    if (code == TOOL_FAILED && !speaks) tool_error("results differ from those expected");
    if (!request->quiet || request->client.profile) putchar('\n');
  }
  if (request->client.profile && !run_print_profile(request, state)) return TOOL_FAILED;
  if (!run_write_recorded(request, state)) return TOOL_FAILED;
  if (request->client.profile && !request->quiet) putchar('\n');
  if (!request->quiet) run_print_times(stdout, request, state);
  if (request->quiet && request->repeat > 0 && speaks) run_print_times(stderr, request, state);
  return code;
}

void run_release(run_state *state, int code) {
  for (int p = 0; p < state->part_count; p++) {
    run_part *part = &state->parts[p];
    for (int i = 0; i < state->argument_count && part->arguments; i++) {
      halo_buffer_release(part->arguments[i]);
    }
    for (int i = 0; i < state->result_count && part->results; i++) {
      halo_literal_release(part->results[i]);
    }
    free(part->arguments);
    free(part->results);
    inputs_release(&part->inputs);
  }
  free(state->parts);
  free(state->seconds);
  halo_executable_release(state->executable);
  halo_client_release(state->client);
  parts_disconnect(state->communicator, code);
  feeds_release(&state->infeed);
  feeds_release(&state->outfeed);
  halo_module_release(state->module);
}
