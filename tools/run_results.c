/* SPDX-License-Identifier: Apache-2.0 */
/* tools/run_results.c: what `halo run` shows of a program and its run, and where results are written and compared. */
#include "pieces.h"
#include "run.h"
#include "tool.h"

#include "halo/npy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void run_print_heading(const run_request *request, const run_state *state) {
  halo_device_info device;
  halo_device_get_info(halo_client_device(state->client, 0), &device);
  printf("%s (%s) on %s", strcmp(request->file, "-") == 0 ? "standard input" : request->file,
         halo_module_name(state->module), device.name);
  int all = state->counts.replicas * state->counts.partitions;
  if (all > 1) {
    printf(", %d replica%s", state->counts.replicas, state->counts.replicas == 1 ? "" : "s");
    if (state->counts.partitions > 1) printf(" of %d partitions", state->counts.partitions);
    int processes = halo_client_process_count(state->client);
    if (processes > 1) printf(" in %d processes", processes);
  }
  fputs("\n\n", stdout);
}

void run_print_inputs(const run_request *request, const run_state *state, int generated) {
  const input_list *list = &state->parts[0].inputs;
  size_t name = 0, shape = 0;
  for (int i = 0; i < list->count; i++) {
    size_t width = strlen(list->data[i].name);
    if (width > name) name = width;
    width = strlen(tool_shape(halo_literal_shape(list->data[i].value)));
    if (width > shape) shape = width;
  }
  if (list->count == 0) return;
  puts(list->count == 1 ? "Input" : "Inputs");
  for (int i = 0; i < list->count; i++) {
    const input *in = &list->data[i];
    printf("  %2d  %-*s  %-*s  %s\n", i, (int)name, in->name, (int)shape,
           tool_shape(halo_literal_shape(in->value)), in->origin);
  }
  if (generated > 0) {
    char some[32] = "";
    if (generated < list->count) snprintf(some, sizeof some, "%d ", generated);
    printf("  (%smade up from --seed %llu; --input and --inputs give your own)\n", some,
           (unsigned long long)request->seed);
  }
  putchar('\n');
}

static void run_print_part(const run_request *request, const run_state *state, int p) {
  const run_part *part = &state->parts[p];
  bool several = state->shown.replicas * state->shown.partitions > 1;
  for (int i = 0; i < state->result_count && part->results; i++) {
    const char *shape = tool_shape(halo_literal_shape(part->results[i]));
    fputs("Result ", stdout);
    if (state->result_count > 1) printf("%d", i);
    if (several) {
      printf("%s%s", state->result_count > 1 ? " of " : "of ",
             parts_name(part->place, state->shown));
    }
    printf("%s%s\n", state->result_count > 1 || several ? ": " : "", shape);
    output_value(part->results[i], request->print);
    int behind = state->joined ? state->counts.partitions : 1; /* parts without results */
    bool last = i + 1 == state->result_count && p + behind == state->part_count;
    if (!last || !request->quiet || request->compare.path || request->client.profile) putchar('\n');
  }
}

void run_print_results(const run_request *request, const run_state *state) {
  for (int p = 0; p < state->part_count && request->print != OUTPUT_NONE; p++) {
    run_print_part(request, state, p);
  }
}

void run_print_times(FILE *out, const run_request *request, const run_state *state) {
  int64_t n = request->repeat;
  if (n == 0) {
    fprintf(out, "Compiled in %s, ran in %s.\n", tool_seconds(state->compile_seconds),
            tool_seconds(state->first_seconds));
    return;
  }
  const double *s = state->seconds;
  double sum = 0, median = (s[(n - 1) / 2] + s[n / 2]) / 2;
  for (int64_t i = 0; i < n; i++) sum += s[i];
  fprintf(out, "Time\n  compile    %s\n  first run  %s\n", tool_seconds(state->compile_seconds),
          tool_seconds(state->first_seconds));
  char label[64];
  snprintf(label, sizeof label, "%s more", tool_count(n));
  fprintf(out, "  %-9s  median %s, min %s, mean %s, max %s\n", label, tool_seconds(median),
          tool_seconds(s[0]), tool_seconds(sum / (double)n), tool_seconds(s[n - 1]));
  halo_memory_stats memory;
  halo_device_memory_stats(halo_client_device(state->client, 0), &memory);
  fprintf(out, "  memory     %s at most\n", tool_bytes(memory.peak));
}

bool run_print_profile(const run_request *request, const run_state *state) {
  double wall = request->repeat > 0 ? 0 : state->first_seconds;
  for (int64_t i = 0; i < request->repeat; i++) wall += state->seconds[i];
  if (!profile_print_steps(state->executable)) return false;
  putchar('\n');
  return profile_print_wall(state->executable, &state->first, wall,
                            request->repeat > 0 ? request->repeat : 1);
}

void run_print_reports(const run_request *request, const run_state *state) {
  struct {
    bool wanted;
    halo_report report;
    const char *title;
  } reports[] = {{request->explain, HALO_REPORT_EXPLAIN, "Implementations"},
                 {request->plan, HALO_REPORT_PLAN, "Plan"},
                 {request->source, HALO_REPORT_SOURCE, "OpenCL C"}};
  for (int i = 0; i < 3; i++) {
    if (!reports[i].wanted) continue;
    const char *text = halo_executable_report(state->executable, reports[i].report);
    printf("%s\n%s%s\n", reports[i].title, text, tool_ends_with(text, "\n") ? "" : "\n");
  }
}

bool run_check_compare(const run_request *request, const run_state *state) {
  bool ok = true;
  for (int p = 0; p < state->part_count && request->compare.path && ok; p++) {
    char *path = parts_path(request->compare.path, state->parts[p].place, state->shown);
    ok = access(path, R_OK) == 0;
    if (!ok) tool_error("cannot read %s: %s", path, strerror(errno));
    free(path);
  }
  return ok;
}

bool run_check_output(const run_request *request, const run_state *state) {
  int count = halo_executable_result_count(state->executable);
  if (!request->output || !tool_ends_with(request->output, ".npy") || count == 1) return true;
  tool_error("the program has %d results; --output takes a .npz file or a folder for them", count);
  return false;
}

static bool run_write_part(const run_request *request, const run_state *state, const run_part *part,
                           const char *where) {
  int count = state->result_count;
  bool ok = true;
  if (tool_ends_with(where, ".npy")) {
    ok = tool_check(halo_npy_write(where, part->results[0]));
  } else if (tool_ends_with(where, ".npz")) {
    char **names = tool_alloc(sizeof *names * (size_t)count);
    for (int i = 0; i < count; i++) names[i] = tool_printf("out%d", i);
    ok = tool_check(halo_npz_write(where, count, (const char *const *)names,
                                   (const halo_literal *const *)part->results));
    for (int i = 0; i < count; i++) free(names[i]);
    free(names);
  } else {
    ok = tool_make_folder(where);
    for (int i = 0; i < count && ok; i++) {
      char *path = tool_printf("%s/out%d.npy", where, i);
      ok = tool_check(halo_npy_write(path, part->results[i]));
      free(path);
    }
  }
  if (ok && !request->quiet) {
    printf("Wrote %d result%s to %s\n\n", count, count == 1 ? "" : "s", where);
  }
  return ok;
}

bool run_write_results(const run_request *request, const run_state *state) {
  bool ok = true;
  for (int p = 0; p < state->part_count && ok; p++) {
    if (!state->parts[p].results) continue;
    char *where = parts_path(request->output, state->parts[p].place, state->shown);
    ok = run_write_part(request, state, &state->parts[p], where);
    free(where);
  }
  return ok;
}

int run_compare_results(const run_request *request, const run_state *state) {
  int worst = TOOL_OK;
  for (int p = 0; p < state->part_count; p++) {
    const run_part *part = &state->parts[p];
    if (!part->results) continue;
    char *where = parts_path(request->compare.path, part->place, state->shown);
    compare_request compare = request->compare;
    compare.path = where;
    bool several = state->joined ? state->shown.replicas > 1 : state->part_count > 1;
    if (several) printf("Of %s:\n", parts_name(part->place, state->shown));
    int code = compare_results(&compare, part->results, state->result_count);
    if (code > worst) worst = code;
    free(where);
  }
  return worst;
}
