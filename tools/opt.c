/* SPDX-License-Identifier: Apache-2.0 */
/* tools/opt.c: `halo opt`: a module after the optimisation passes, or only checked. */
#include "args.h"
#include "graph.h"
#include "program.h"
#include "tool.h"

#include "halo/passes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
  OPT_HELP = 1,
  OPT_PASSES,
  OPT_DISABLE,
  OPT_NO_FUSION,
  OPT_NO_OPTIMIZATION,
  OPT_SHORT,
  OPT_ELIDE,
  OPT_EMIT,
  OPT_OUTPUT,
  OPT_GRAPH,
  OPT_DUMP,
  OPT_INPUT,
  OPT_VERIFY_ONLY,
  OPT_LIST
};

static const tool_option opt_options[] = {
    {.help = "Which passes"},
    {OPT_PASSES, 'p', "passes", "A,B",
     "run only these passes (in the order of the table, not of this list)"},
    {OPT_DISABLE, 0, "disable", "A,B", "run all passes but these"},
    {OPT_NO_FUSION, 0, "no-fusion", NULL, "run all passes but fusion"},
    {OPT_NO_OPTIMIZATION, 0, "no-optimization", NULL,
     "run only the passes that running a module cannot do without"},
    {OPT_LIST, 'l', "list-passes", NULL, "list the passes, each with what it does; needs no FILE"},
    {.help = "What to print"},
    {OPT_SHORT, 's', "short", NULL, "no '%' before names, no signatures, no metadata"},
    {OPT_ELIDE, 0, "elide", NULL, "constants of more than 10 elements as {...}"},
    {OPT_EMIT, 0, "emit", "FORMAT",
     "hlo (the default), proto: an HloModuleProto for XLA's own tools, or stablehlo: MLIR text, of "
     "the "
     "module as it is unless passes are named"},
    {OPT_OUTPUT, 'o', "output", "FILE", "write the module there instead of to standard output"},
    {OPT_GRAPH, 'g', "graph", "FILE",
     "draw the module instead of printing it: FILE.html is a page to look at and search, in which "
     "fusions and loops open; FILE.dot is for Graphviz, and FILE.svg is drawn by it"},
    {OPT_DUMP, 0, "dump", "DIR", "also write the module after each pass that changed it there"},
    {OPT_INPUT, 'i', "input", "INPUT",
     "an input of a program that leaves extents open, as for 'halo run': x=[8,3] gives its "
     "extents"},
    {OPT_VERIFY_ONLY, 0, "verify-only", NULL,
     "run no pass and print nothing: only check the module (exit code 1: it is wrong)"},
    {OPT_HELP, 'h', "help", NULL, "this text"},
    {0}};

typedef struct opt_request {
  const char *file, *passes, *disable, *output, *graph, *dump_dir;
  bool verify_only, proto, stablehlo;
  unsigned flags;
  halo_pass_options pass;
  program_inputs inputs;
  int dumped;    /* passes written to dump_dir */
  bool dump_bad; /* one of them could not be written */
} opt_request;

static void opt_help(void) {
  fputs(
      "Prints an HLO module after the optimisation passes that 'halo run' puts it through.\n\n"
      "Usage: halo opt FILE [OPTIONS]\n       halo opt --list-passes\n\n"
      "FILE is HLO text, an HLO proto, or a StableHLO program as MLIR text or as a portable "
      "artifact; - is standard input.\n",
      stdout);
  args_print_options(stdout, opt_options);
}

static void opt_list(void) {
  size_t width = 0;
  for (int i = 0; halo_pass_name(i); i++) {
    if (strlen(halo_pass_name(i)) > width) width = strlen(halo_pass_name(i));
  }
  for (int i = 0; halo_pass_name(i); i++) {
    printf("%-*s  %s\n", (int)width, halo_pass_name(i), halo_pass_description(i));
  }
}

static bool opt_names(const char *list, const char *name) {
  size_t length = strlen(name);
  for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
    if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0')) return true;
  }
  return false;
}

/* Checks the names of a list of passes; false after a message. */
static bool opt_check_names(const tool_args *args, const char *option, const char *list) {
  for (const char *at = list; *at;) {
    size_t length = strcspn(at, ",");
    bool known = false;
    for (int i = 0; halo_pass_name(i) && !known; i++) {
      known = strlen(halo_pass_name(i)) == length && strncmp(halo_pass_name(i), at, length) == 0;
    }
    if (!known) {
      args_usage_error(args, "--%s: there is no pass '%.*s' (--list-passes lists them)", option,
                       (int)length, at);
      return false;
    }
    at += length;
    if (*at == ',') at++;
  }
  return true;
}

/* The library takes the names of passes to leave out: those of `disable`, or all that `only` lacks. */
static char *opt_disabled(const char *only, const char *disable) {
  char *list = tool_strdup(disable ? disable : "");
  for (int i = 0; only && halo_pass_name(i); i++) {
    if (opt_names(only, halo_pass_name(i))) continue;
    char *longer = tool_printf("%s%s%s", list, *list ? "," : "", halo_pass_name(i));
    free(list);
    list = longer;
  }
  return list;
}

/* Writes bytes to a file, or to stdout when path is NULL; false after a message. */
static bool opt_write(const char *path, const char *text, size_t size) {
  FILE *file = path ? fopen(path, "wb") : stdout;
  if (!file) return tool_error("cannot write %s: %s", path, strerror(errno)) == TOOL_OK;
  bool ok = fwrite(text, 1, size, file) == size;
  if (path && fclose(file) != 0) ok = false;
  if (!ok && path) tool_error("cannot write %s: %s", path, strerror(errno));
  return ok || !path;
}

static bool opt_print(const halo_module *module, unsigned flags, const char *path) {
  char *text;
  if (!tool_check(halo_module_to_text(module, flags, &text))) return false;
  bool ok = opt_write(path, text, strlen(text));
  halo_text_release(text);
  return ok;
}

static bool opt_emit(const halo_module *module, const opt_request *request) {
  char *bytes;
  size_t size;
  if (request->stablehlo) {
    if (!tool_check(halo_module_to_stablehlo(module, &bytes))) return false;
    size = strlen(bytes);
  } else if (request->proto) {
    if (!tool_check(halo_module_to_proto(module, &bytes, &size))) return false;
  } else {
    return opt_print(module, request->flags, request->output);
  }
  bool ok = opt_write(request->output, bytes, size);
  halo_text_release(bytes);
  return ok;
}

static void opt_dump(void *user, const char *pass, const halo_module *module) {
  opt_request *request = user;
  if (request->dump_bad) return;
  char *path = tool_printf("%s/%02d-%s.hlo", request->dump_dir, ++request->dumped, pass);
  request->dump_bad = !opt_print(module, request->flags, path);
  free(path);
}

static int opt_work(opt_request *request) {
  halo_module *module, *optimized;
  if (request->dump_dir && !tool_make_folder(request->dump_dir)) return TOOL_FAILED;
  int code = program_read(request->file, 0, program_assign_inputs, &request->inputs, &module);
  if (code != TOOL_OK) return code;
  bool ok = tool_check(halo_module_verify(module));
  bool as_it_is = request->stablehlo && !request->passes && !request->disable &&
                  !request->pass.no_fusion && !request->pass.no_optimization;
  if (ok && !request->verify_only && as_it_is) {
    ok = opt_emit(module, request);
  } else if (ok && !request->verify_only) {
    char *disabled = opt_disabled(request->passes, request->disable);
    request->pass.disabled = disabled;
    request->pass.dump = request->dump_dir ? opt_dump : NULL;
    request->pass.user = request;
    ok = tool_check(halo_module_optimize(module, &request->pass, &optimized));
    free(disabled);
    if (ok) {
      ok = request->graph ? graph_write(optimized, request->graph, NULL, 0)
                          : opt_emit(optimized, request);
      ok = ok && !request->dump_bad;
      halo_module_release(optimized);
    }
  }
  halo_module_release(module);
  return ok ? TOOL_OK : TOOL_FAILED;
}

/* What the command line says; false to leave with *code. */
static bool opt_read_arguments(tool_args *args, opt_request *request, int *code) {
  const char *value;
  for (int id; (id = args_next(args, &value)) != ARGS_END;) {
    *code = TOOL_USAGE;
    switch (id) {
      case OPT_HELP:
        opt_help();
        *code = TOOL_OK;
        return false;
      case OPT_LIST:
        opt_list();
        *code = TOOL_OK;
        return false;
      case OPT_PASSES: request->passes = value; break;
      case OPT_DISABLE: request->disable = value; break;
      case OPT_NO_FUSION: request->pass.no_fusion = true; break;
      case OPT_NO_OPTIMIZATION: request->pass.no_optimization = true; break;
      case OPT_SHORT: request->flags |= HALO_PRINT_SHORT; break;
      case OPT_ELIDE: request->flags |= HALO_PRINT_ELIDE_LARGE; break;
      case OPT_EMIT:
        request->proto = strcmp(value, "proto") == 0;
        request->stablehlo = strcmp(value, "stablehlo") == 0;
        if (request->proto || request->stablehlo || strcmp(value, "hlo") == 0) break;
        args_usage_error(args, "--emit: there is no format '%s', only hlo, stablehlo and proto",
                         value);
        return false;
      case OPT_OUTPUT: request->output = value; break;
      case OPT_GRAPH:
        request->graph = value;
        if (graph_knows(value)) break;
        args_usage_error(args, "--graph takes FILE.html, FILE.dot or FILE.svg, not '%s'", value);
        return false;
      case OPT_DUMP: request->dump_dir = value; break;
      case OPT_INPUT: request->inputs.texts[request->inputs.count++] = value; break;
      case OPT_VERIFY_ONLY: request->verify_only = true; break;
      case ARGS_OPERAND:
        if (request->file) {
          args_usage_error(args, "one FILE at a time, not '%s' too", value);
          return false;
        }
        request->file = value;
        break;
      default: return false;
    }
  }
  if (!request->file) args_usage_error(args, "which FILE? (- for standard input)");
  return request->file && (!request->passes || opt_check_names(args, "passes", request->passes)) &&
         (!request->disable || opt_check_names(args, "disable", request->disable));
}

int tool_opt(int argc, char **argv) {
  tool_args args = {
      .command = argv[0], .options = opt_options, .argc = argc, .argv = argv, .next = 1};
  opt_request request = {0};
  int code = TOOL_USAGE;
  request.inputs.texts = tool_alloc(sizeof *request.inputs.texts * (size_t)argc);
  if (opt_read_arguments(&args, &request, &code)) code = opt_work(&request);
  free(request.inputs.texts);
  return code;
}
