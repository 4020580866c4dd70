/* tools/run.c: `halo run`: compiles a module, runs it on a device, and shows what came out. */
#include "args.h"
#include "compare.h"
#include "feeds.h"
#include "inputs.h"
#include "output.h"
#include "parts.h"
#include "pieces.h"
#include "profile.h"
#include "program.h"
#include "tool.h"

#include "halo/client.h"
#include "halo/npy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  RUN_HELP = 1,
  RUN_INPUT,
  RUN_INPUTS,
  RUN_INFEED,
  RUN_SEED,
  RUN_CONVERT,
  RUN_PRINT,
  RUN_OUTPUT,
  RUN_OUTFEED,
  RUN_COMPARE,
  RUN_RTOL,
  RUN_ATOL,
  RUN_QUIET,
  RUN_REPEAT,
  RUN_PROFILE,
  RUN_EXPLAIN,
  RUN_PLAN,
  RUN_SOURCE,
  RUN_DEVICE,
  RUN_REPLICAS,
  RUN_PARTITIONS,
  RUN_PLATFORM,
  RUN_NO_FUSION,
  RUN_NO_OPTIMIZATION,
  RUN_KERNELS,
  RUN_DUMP,
  RUN_COMPILE_ONLY
};

static const tool_option run_options[] = {
    {.help = "Inputs"},
    {RUN_INPUT, 'i', "input", "INPUT", "one input, see below; give the option again for more"},
    {RUN_INPUTS, 0, "inputs", "FILE.npz",
     "inputs by name: an array goes to the parameter of its name, else arg0, arr_0, 0 to the "
     "first, and so on"},
    {RUN_INFEED, 0, "infeed", "FILE",
     "items for the infeed queue, for each run: FILE.npy is one, the arrays of FILE.npz are one "
     "each, or one together where their names are the same up to a dot; may be given again"},
    {RUN_SEED, 0, "seed", "N",
     "of inputs that are made up, and of the program's own random numbers (default 0)"},
    {RUN_CONVERT, 0, "convert", NULL,
     "convert the element types of input files, as int64 to s32; else they must be right"},
    {.help = "Results"},
    {RUN_PRINT, 'p', "print", "HOW",
     "full, summary or none (default: full up to 100 elements, else summary)"},
    {RUN_OUTPUT, 'o', "output", "WHERE",
     "write the results too: FILE.npz, FILE.npy (one result), or else a folder; they are called "
     "out0, out1, ..."},
    {RUN_OUTFEED, 0, "outfeed", "FILE.npz", "write what came out of the outfeed queue too"},
    {RUN_COMPARE, 0, "compare", "WHERE",
     "compare the results with those there (as --output writes, or any .npz in order); exit code 1 "
     "when they differ"},
    {RUN_RTOL, 0, "rtol", "X",
     "for --compare: |difference| may be atol + rtol * |expected| (default: by element type, 1e-5 "
     "for f32)"},
    {RUN_ATOL, 0, "atol", "X", "see --rtol (default: a tenth of the type's rtol)"},
    {RUN_QUIET, 'q', "quiet", NULL, "print the results and nothing else"},
    {.help = "Speed"},
    {RUN_REPEAT, 'n', "repeat", "N", "run N times more, and say how long that took"},
    {RUN_PROFILE, 0, "profile", NULL, "say how long each step took on the device"},
    {.help = "Compiling"},
    {RUN_DEVICE, 'd', "device", "DEVICE",
     "PLATFORM:DEVICE as 'halo info' lists, a part of the name, cpu, gpu, or null:FILE (default: "
     "HALO_DEVICE, else the first GPU, else the first device)"},
    {RUN_REPLICAS, 0, "replicas", "N",
     "run N replicas at once, each on a device (one device serves for several); default: as the "
     "module says, or one for each device of the processes that mpiexec started"},
    {RUN_PARTITIONS, 0, "partitions", "N", "run N partitions of each replica, likewise"},
    {RUN_PLATFORM, 0, "platform", "N",
     "of a program that was exported for several platforms, the number of the one to take "
     "(default: "
     "0)"},
    {RUN_KERNELS, 0, "kernels", "LIST",
     "implementations to force or to leave out, as dot:clblast,-reduce:row"},
    {RUN_NO_FUSION, 0, "no-fusion", NULL, "a kernel for every instruction"},
    {RUN_NO_OPTIMIZATION, 0, "no-optimization", NULL, "only the passes that are needed to run"},
    {RUN_EXPLAIN, 'e', "explain", NULL, "say which implementation each step got, and why"},
    {RUN_PLAN, 0, "plan", NULL, "print the steps and their buffers"},
    {RUN_SOURCE, 0, "source", NULL, "print the generated OpenCL C"},
    {RUN_DUMP, 0, "dump", "DIR",
     "write the module, the module after each pass, the OpenCL C and the plan there"},
    {RUN_COMPILE_ONLY, 0, "compile-only", NULL, "do not run the program"},
    {RUN_HELP, 'h', "help", NULL, "this text"},
    {0}};

typedef struct run_request {
  const char *file, *output, *outfeed;
  output_mode print;
  compare_request compare;
  bool quiet, compile_only, explain, plan, source;
  int64_t repeat;
  halo_client_options client;
  halo_compile_options compile;
  int platform;        /* of those that the program was exported for */
  const char **inputs; /* what --input and --inputs said, in order */
  bool *is_archive;
  int input_count;
  const char **infeeds;
  int infeed_count;
  uint64_t seed;
  bool convert;
  parts_counts counts; /* as asked for */
} run_request;

/* What one device of this process runs. */
typedef struct run_part {
  parts_place place;
  input_list inputs;
  halo_buffer **arguments;
  halo_literal **results;
} run_part;

typedef struct run_state {
  halo_module *module;
  halo_communicator *communicator;
  feed_list infeed, outfeed; /* of each run; of the first */
  halo_client *client;
  halo_executable *executable;
  parts_counts counts;
  bool joined;        /* results of partitions are put together: those of replicas are left */
  parts_counts shown; /* of which there are results */
  run_part *parts;
  int part_count;
  int argument_count, result_count; /* of each part */
  double compile_seconds, first_seconds;
  double *seconds;    /* of each repeat, in order of time */
  profile_mark first; /* with --profile and repeats: behind the first run */
} run_state;

static void run_help(void) {
  fputs(
      "Compiles a program, runs it on an OpenCL device, and prints the results.\n\n"
      "Usage: halo run FILE [OPTIONS]\n\n"
      "FILE is HLO text, as XLA and JAX print it, or a StableHLO program as MLIR text or as a "
      "portable\n"
      "artifact; - is standard input. Extents that a program leaves open are those of the arrays "
      "that\n"
      "it is given.\n",
      stdout);
  args_print_options(stdout, run_options);
  fputs(
      "\nINPUT is WHICH=WHAT, or just WHAT for the next parameter. WHICH is a parameter's name\n"
      "(x.1, or x when that is clear) or its number from 0; the elements of a tuple count one by\n"
      "one. WHAT is one of\n"
      "  FILE.npy          an array that NumPy wrote\n"
      "  FILE.npz:NAME     one of several\n"
      "  zeros, ones       every element the same\n"
      "  iota              0, 1, 2, ... in row-major order\n"
      "  random            floats in [-1, 1), whole numbers from 0 to 9\n"
      "  random:LOW:HIGH   from LOW on, below HIGH\n"
      "  normal            the normal distribution\n"
      "  2.5               every element this value\n"
      "  1,2,3             a vector; {{1,2},{3,4}} and so on, as HLO writes it\n"
      "  random[2,3]       of these extents, where the program leaves them open; likewise the "
      "others\n"
      "  split:D:FILE      of an array for all replicas, the piece along dimension D\n"
      "In WHAT, and in the names of files that are read or written, {replica}, {partition} and "
      "{rank}\n"
      "stand for their numbers; files that are written get them anyway. Under mpiexec each "
      "process\n"
      "takes a device, and the first one prints.\n"
      "An input that is not given is 'random'.\n\n"
      "Exit codes: 0 all is well, 1 it failed or results differ, 2 wrong usage.\n",
      stdout);
}

/* ---- Running ---- */

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
      halo_literal *whole;
      ok = tool_check(halo_literal_create(shape, &whole));
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

/* The first run, whose results are kept, and the repeats. */
static bool run_all(const run_request *request, run_state *state) {
  halo_buffer **buffers =
      tool_alloc(sizeof(halo_buffer *) * (size_t)(state->result_count * state->part_count));
  bool ok = run_once(state, buffers, &state->first_seconds);
  feeds_take(halo_executable_device(state->executable, 0), &state->outfeed);
  if (ok) {
    ok = run_fetch(state, buffers);
    run_release_buffers(state, buffers);
  }
  state->seconds = tool_alloc(sizeof(double) * (size_t)request->repeat);
  if (ok && request->client.profile && request->repeat > 0) {
    ok = profile_take_mark(state->executable, &state->first);
  }
  for (int64_t n = 0; n < request->repeat && ok; n++) {
    ok = run_once(state, buffers, &state->seconds[n]);
    if (ok) run_release_buffers(state, buffers);
    feed_list more = {0};
    feeds_take(halo_executable_device(state->executable, 0), &more);
    feeds_release(&more);
  }
  qsort(state->seconds, (size_t)request->repeat, sizeof(double), run_compare_times);
  free(buffers);
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

/* ---- Showing ---- */

static void run_print_heading(const run_request *request, const run_state *state) {
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

static void run_print_inputs(const run_request *request, const run_state *state, int generated) {
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

static void run_print_results(const run_request *request, const run_state *state) {
  for (int p = 0; p < state->part_count && request->print != OUTPUT_NONE; p++) {
    run_print_part(request, state, p);
  }
}

static void run_print_times(const run_request *request, const run_state *state) {
  int64_t n = request->repeat;
  if (n == 0) {
    printf("Compiled in %s, ran in %s.\n", tool_seconds(state->compile_seconds),
           tool_seconds(state->first_seconds));
    return;
  }
  const double *s = state->seconds;
  double sum = 0, median = (s[(n - 1) / 2] + s[n / 2]) / 2;
  for (int64_t i = 0; i < n; i++) sum += s[i];
  printf("Time\n  compile    %s\n  first run  %s\n", tool_seconds(state->compile_seconds),
         tool_seconds(state->first_seconds));
  char label[64];
  snprintf(label, sizeof label, "%s more", tool_count(n));
  printf("  %-9s  median %s, min %s, mean %s, max %s\n", label, tool_seconds(median),
         tool_seconds(s[0]), tool_seconds(sum / (double)n), tool_seconds(s[n - 1]));
  halo_memory_stats memory;
  halo_device_memory_stats(halo_client_device(state->client, 0), &memory);
  printf("  memory     %s at most\n", tool_bytes(memory.peak));
}

/* Where the time went: of the repeats, or else of the first run, in which drivers compile. */
static bool run_print_profile(const run_request *request, const run_state *state) {
  double wall = request->repeat > 0 ? 0 : state->first_seconds;
  for (int64_t i = 0; i < request->repeat; i++) wall += state->seconds[i];
  if (!profile_print_steps(state->executable)) return false;
  putchar('\n');
  return profile_print_wall(state->executable, &state->first, wall,
                            request->repeat > 0 ? request->repeat : 1);
}

static void run_print_reports(const run_request *request, const run_state *state) {
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

/* Whether files can be made beside `path`; an error message if not. */
static bool run_check_folder(const char *path) {
  const char *slash = strrchr(path, '/');
  char *folder = !slash          ? tool_strdup(".")
                 : slash == path ? tool_strdup("/")
                                 : tool_printf("%.*s", (int)(slash - path), path);
  bool ok = access(path, W_OK) == 0 || access(folder, W_OK) == 0;
  if (!ok) tool_error("cannot write %s: %s", path, strerror(errno));
  free(folder);
  return ok;
}

/* Finds out before anything is done whether the files that come afterwards can be read and written. */
static bool run_check_files(const run_request *request) {
  const char *output = request->output;
  if (!*request->file) return tool_error("the program's file has no name"), false;
  if (!output || request->compile_only) return true;
  if (!*output) return tool_error("--output is given nothing"), false;
  bool file = tool_ends_with(output, ".npy") || tool_ends_with(output, ".npz");
  return file ? run_check_folder(output) : tool_make_folder(output);
}

static bool run_check_compare(const run_request *request, const run_state *state) {
  bool ok = true;
  for (int p = 0; p < state->part_count && request->compare.path && ok; p++) {
    char *path = parts_path(request->compare.path, state->parts[p].place, state->shown);
    ok = access(path, R_OK) == 0;
    if (!ok) tool_error("cannot read %s: %s", path, strerror(errno));
    free(path);
  }
  return ok;
}

/* Finds out before running whether the results can go where they should; false after a message. */
static bool run_check_output(const run_request *request, const run_state *state) {
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

static bool run_write_results(const run_request *request, const run_state *state) {
  bool ok = true;
  for (int p = 0; p < state->part_count && ok; p++) {
    if (!state->parts[p].results) continue;
    char *where = parts_path(request->output, state->parts[p].place, state->shown);
    ok = run_write_part(request, state, &state->parts[p], where);
    free(where);
  }
  return ok;
}

/* Of all parts of this process; the worst exit code. */
static int run_compare_results(const run_request *request, const run_state *state) {
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
  if (!tool_check(
          halo_client_compile(state->client, state->module, &options, &state->executable))) {
    return false;
  }
  state->compile_seconds = tool_now() - start;
  /* Only where this process has all pieces. */
  state->joined = halo_client_process_count(state->client) == 1 &&
                  halo_executable_result_sharding(state->executable, 0) != NULL;
  state->shown = state->counts;
  if (state->joined) state->shown.partitions = 1;
  halo_executable_set_seed(state->executable, request->seed);
  return true;
}

static int run_work(const run_request *request, run_state *state) {
  int generated = 0;
  int code =
      program_read(request->file, request->platform, run_assign_open, request, &state->module);
  if (code != TOOL_OK) return code;
  if (!parts_connect(&state->communicator)) return TOOL_FAILED;
  halo_client_options client = request->client;
  client.communicator = state->communicator;
  state->counts = request->counts;
  if (!parts_open(state->module, &client, &state->counts, &state->client)) return TOOL_FAILED;
  code = run_give_inputs(request, state, &generated);
  if (code != TOOL_OK) return code;
  if (request->compile.dump_dir && !tool_make_folder(request->compile.dump_dir)) return TOOL_FAILED;
  if (!run_compile(request, state) || !run_check_compare(request, state)) return TOOL_FAILED;
  /* The first process speaks for all; the others say on stderr what is wrong. */
  bool speaks = halo_client_process_index(state->client) == 0;
  if (!speaks && !freopen("/dev/null", "w", stdout)) return tool_error("cannot be silent");
  halo_device_info device;
  halo_device_get_info(halo_client_device(state->client, 0), &device);
  if (!request->quiet) run_print_heading(request, state);
  run_print_reports(request, state);
  if (request->compile_only || strcmp(device.kind, "null") == 0) {
    if (!request->quiet || !request->compile_only) {
      printf("Compiled in %s; nothing was run%s.\n", tool_seconds(state->compile_seconds),
             request->compile_only ? "" : ", since the device is a null device");
    }
    return TOOL_OK;
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
  if (request->client.profile && !request->quiet) putchar('\n');
  if (!request->quiet) run_print_times(request, state);
  return code;
}

static void run_release(run_state *state, int code) {
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

/* ---- The command line ---- */

static bool run_parse_print(const tool_args *args, const char *value, output_mode *out) {
  static const char *const names[] = {"auto", "full", "summary", "none"};
  for (int i = 0; i < 4; i++) {
    if (strcmp(value, names[i]) != 0) continue;
    *out = (output_mode)i;
    return true;
  }
  args_usage_error(args, "--print must be full, summary or none, not '%s'", value);
  return false;
}

/* One option; false after a message. */
static bool run_take_option(const tool_args *args, int id, const char *value,
                            run_request *request) {
  int64_t number;
  switch (id) {
    case RUN_INPUT:
    case RUN_INPUTS:
      request->is_archive[request->input_count] = id == RUN_INPUTS;
      request->inputs[request->input_count++] = value;
      return true;
    case RUN_INFEED: request->infeeds[request->infeed_count++] = value; return true;
    case RUN_OUTFEED: request->outfeed = value; return true;
    case RUN_SEED:
      if (!args_integer(args, "seed", value, 0, INT64_MAX, &number)) return false;
      request->seed = (uint64_t)number;
      return true;
    case RUN_CONVERT: request->convert = true; return true;
    case RUN_PRINT: return run_parse_print(args, value, &request->print);
    case RUN_OUTPUT: request->output = value; return true;
    case RUN_COMPARE: request->compare.path = value; return true;
    case RUN_RTOL: return args_number(args, "rtol", value, &request->compare.rtol);
    case RUN_ATOL: return args_number(args, "atol", value, &request->compare.atol);
    case RUN_QUIET: request->quiet = true; return true;
    case RUN_REPEAT: return args_integer(args, "repeat", value, 0, 10000000, &request->repeat);
    case RUN_PROFILE: request->client.profile = true; return true;
    case RUN_EXPLAIN: request->explain = true; return true;
    case RUN_PLAN: request->plan = true; return true;
    case RUN_SOURCE: request->source = true; return true;
    case RUN_DEVICE: request->client.device = value; return true;
    case RUN_REPLICAS:
    case RUN_PARTITIONS:
      if (!args_integer(args, id == RUN_REPLICAS ? "replicas" : "partitions", value, 1, 4096,
                        &number)) {
        return false;
      }
      *(id == RUN_REPLICAS ? &request->counts.replicas : &request->counts.partitions) = (int)number;
      return true;
    case RUN_PLATFORM:
      if (!args_integer(args, "platform", value, 0, 64, &number)) return false;
      request->platform = (int)number;
      return true;
    case RUN_NO_FUSION: request->compile.no_fusion = true; return true;
    case RUN_NO_OPTIMIZATION: request->compile.no_optimization = true; return true;
    case RUN_KERNELS: request->compile.kernels = value; return true;
    case RUN_DUMP: request->compile.dump_dir = value; return true;
    case RUN_COMPILE_ONLY: request->compile_only = true; return true;
    case ARGS_OPERAND:
      if (!request->file) {
        request->file = value;
        return true;
      }
      args_usage_error(args, "one FILE at a time, not '%s' too (inputs: --input %s)", value, value);
      return false;
  }
  return false;
}

int tool_run(int argc, char **argv) {
  tool_args args = {
      .command = argv[0], .options = run_options, .argc = argc, .argv = argv, .next = 1};
  run_request request = {.compare = {.rtol = -1, .atol = -1},
                         .inputs = tool_alloc(sizeof(char *) * (size_t)argc),
                         .is_archive = tool_alloc(sizeof(bool) * (size_t)argc),
                         .infeeds = tool_alloc(sizeof(char *) * (size_t)argc)};
  const char *value;
  int id, code = TOOL_OK;
  bool help = false;
  while (code == TOOL_OK && !help && (id = args_next(&args, &value)) != ARGS_END) {
    help = id == RUN_HELP;
    if (!help && !run_take_option(&args, id, value, &request)) code = TOOL_USAGE;
  }
  if (help) {
    run_help();
  } else if (code == TOOL_OK && !request.file) {
    code = args_usage_error(&args, "which FILE? (- for standard input)");
  } else if (code == TOOL_OK) {
    run_state state = {0};
    code = run_check_files(&request) ? run_work(&request, &state) : TOOL_FAILED;
    run_release(&state, code);
  }
  free(request.inputs);
  free(request.is_archive);
  free(request.infeeds);
  return code;
}
