/* SPDX-License-Identifier: Apache-2.0 */
/* tools/run.c: the command line of `halo run`, which compiles a module, runs it on a device, and shows what came out. */
#include "run.h"
#include "args.h"
#include "tool.h"

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
  RUN_TRACE,
  RUN_GRAPH,
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
  RUN_STRICT_ORDER,
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
    {RUN_QUIET, 'q', "quiet", NULL,
     "print the results and nothing else; the times that --repeat asks for go to stderr"},
    {.help = "Speed"},
    {RUN_REPEAT, 'n', "repeat", "N", "run N times more, and say how long that took"},
    {RUN_PROFILE, 0, "profile", NULL, "say how long each step took on the device"},
    {RUN_TRACE, 0, "trace", "FILE.json",
     "write when each step ran, of the repeats or else of the first run, for Perfetto; of several "
     "processes the first one, or all if {rank} is in the name"},
    {RUN_GRAPH, 0, "graph", "FILE.html",
     "draw the module that is run, coloured by how long each step took, of the repeats or else of "
     "the first run"},
    {.help = "Compiling"},
    {RUN_DEVICE, 'd', "device", "DEVICE",
     "PLATFORM:DEVICE as 'halo info' lists, a part of the name, cpu, gpu, all, all-gpus, or "
     "null:FILE (default: "
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
    {RUN_STRICT_ORDER, 0, "strict-order", NULL,
     "combine elements one after the other where a computation may depend on their order"},
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

static void run_help(void) {
  fputs(
      "Compiles a program, runs it on an OpenCL device, and prints the results.\n\n"
      "Usage: halo run FILE [OPTIONS]\n\n"
      "FILE is HLO text, as XLA and JAX print it, an HLO proto, or a StableHLO program as MLIR "
      "text "
      "or as\n"
      "a portable artifact; - is standard input. If a program leaves extents open, they are those "
      "of the\n"
      "arrays that it is given.\n",
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
    case RUN_TRACE: request->trace = value; return true;
    case RUN_GRAPH:
      request->graph = value;
      if (tool_ends_with(value, ".html")) return true;
      args_usage_error(args, "--graph takes FILE.html, not '%s'; halo opt --graph writes others",
                       value);
      return false;
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
    case RUN_STRICT_ORDER: request->compile.strict_order = true; return true;
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
    /* Before anything can go wrong: messages say the rank, and the others are told. */
    bool ok = parts_connect(&state.communicator) && run_check_files(&request);
    code = ok ? run_work(&request, &state) : TOOL_FAILED;
    run_release(&state, code);
  }
  free(request.inputs);
  free(request.is_archive);
  free(request.infeeds);
  return code;
}
