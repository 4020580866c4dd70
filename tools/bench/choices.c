/* SPDX-License-Identifier: Apache-2.0 */
/* choices.c: `halo bench choices`: the implementation that compiling chooses for each step of a program, against all
 * others that can do the step. */
#include "bench/choices.h"
#include "args.h"
#include "tool.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

typedef struct choices_run {
  const char *device, *folder, *only, *json;
  bool slow_only;
  choices_clients clients;
  char **paths;
  choices_program *programs;
  int count;
} choices_run;

/* ---- Which programs ---- */

static void choices_add(choices_run *r, const char *path) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  int length = (int)strlen(name) - (tool_ends_with(name, ".hlo") ? 4 : 0);
  r->paths = tool_realloc(r->paths, sizeof *r->paths * (size_t)(r->count + 1));
  r->programs = tool_realloc(r->programs, sizeof *r->programs * (size_t)(r->count + 1));
  r->paths[r->count] = tool_strdup(path);
  choices_program *program = &r->programs[r->count++];
  *program = (choices_program){.whole.chosen = -1};
  snprintf(program->name, sizeof program->name, "%.*s", length, name);
}

static int choices_is_module(const struct dirent *entry) {
  return tool_ends_with(entry->d_name, ".hlo");
}

/* As --only of `halo bench programs`: a part of the name, or the field, or the size. */
static bool choices_wants(const choices_run *r, const char *path, const char *name) {
  if (r->only == NULL || strstr(name, r->only) != NULL) return true;
  bench_heading heading;
  bench_heading_read(path, &heading);
  bool wanted = strcmp(heading.field, r->only) == 0 || strcmp(heading.size, r->only) == 0;
  bench_heading_release(&heading);
  return wanted;
}

static bool choices_find(choices_run *r) {
  struct dirent **entries;
  int found = scandir(r->folder, &entries, choices_is_module, alphasort);
  if (found < 0) return tool_error("cannot read the folder %s", r->folder), false;
  for (int i = 0; i < found; i++) {
    char *path = tool_printf("%s/%s", r->folder, entries[i]->d_name);
    if (choices_wants(r, path, entries[i]->d_name)) choices_add(r, path);
    free(path);
    free(entries[i]);
  }
  free(entries);
  if (r->count == 0) return tool_error("no program is called %s", r->only ? r->only : ""), false;
  return true;
}

/* ---- The command ---- */

/* Writes what is known so far, so that it is there when somebody loses patience. */
static bool choices_keep(const choices_run *r, int count) {
  if (r->json == NULL) return true;
  FILE *file = fopen(r->json, "w");
  if (file != NULL) choices_write_json(file, r->programs, count);
  bool good = file != NULL && fclose(file) == 0;
  if (!good) tool_error("cannot write %s", r->json);
  return good;
}

static int choices_run_all(choices_run *r) {
  int failed = 0;
  bool good = true;
  halo_client_options options = {.device = r->device};
  if (!tool_check(halo_client_create(&options, &r->clients.plain))) return TOOL_FAILED;
  options.profile = true;
  if (!tool_check(halo_client_create(&options, &r->clients.profiling))) {
    halo_client_release(r->clients.plain);
    return TOOL_FAILED;
  }
  for (int i = 0; i < r->count && good; i++) {
    choices_measure(&r->clients, r->paths[i], &r->programs[i]);
    choices_print(&r->programs[i], r->slow_only);
    failed += r->programs[i].failure[0] != '\0';
    good = choices_keep(r, i + 1);
  }
  if (good) choices_print_summary(r->programs, r->count);
  halo_client_release(r->clients.profiling);
  halo_client_release(r->clients.plain);
  return good && failed == 0 ? TOOL_OK : TOOL_FAILED;
}

/* Kernels are kept in a folder of this run: the many that are forced would only fill the user's. */
static int choices_start(choices_run *r) {
  char folder[BENCH_FOLDER];
  if (r->count == 0 && !choices_find(r)) return TOOL_FAILED;
  if (!bench_make_folder(folder)) return TOOL_FAILED;
  setenv("HALO_CACHE_DIR", folder, 1);
  setenv("POCL_CACHE_DIR", folder, 1);
  unsetenv("HALO_KERNELS");
  int code = choices_run_all(r);
  bench_remove_folder(folder);
  return code;
}

enum {
  CHOICES_ONLY = 1,
  CHOICES_ROUNDS,
  CHOICES_LIMIT,
  CHOICES_SLOW_ONLY,
  CHOICES_DEVICE,
  CHOICES_FOLDER,
  CHOICES_JSON,
  CHOICES_HELP
};

static const tool_option choices_options[] = {
    {CHOICES_ONLY, 0, "only", "NAME",
     "only programs whose name contains NAME, or whose field or size it is"},
    {CHOICES_ROUNDS, 0, "rounds", "N",
     "how often each is measured, three times as often where it looks slow (5)"},
    {CHOICES_LIMIT, 0, "limit", "SECONDS",
     "leave out what is expected to take longer in one run of a program (2)"},
    {CHOICES_SLOW_ONLY, 0, "slow", NULL, "show only steps that are marked slow"},
    {CHOICES_DEVICE, 'd', "device", "NAME", "which device, as `halo info` lists them"},
    {CHOICES_FOLDER, 0, "folder", "FOLDER",
     "where the programs are (default: those that come with halo)"},
    {CHOICES_JSON, 0, "json", "FILE", "write the figures there as well"},
    {CHOICES_HELP, 'h', "help", NULL, "this text"},
    {0},
};

static void choices_help(void) {
  puts(
      "Usage: halo bench choices [OPTIONS] [FILE...]\n\n"
      "Compares the implementation that compiling chooses for each step of a program with all "
      "others\n"
      "that can do the step, each forced as HALO_KERNELS does and timed on the device, in turns.\n"
      "Steps are marked slow where the chosen one takes over 1.3 times the fastest. The last line "
      "of a\n"
      "program compares its whole run with other ways to put steps into regions and bundles.\n"
      "Without FILEs the programs are those of `halo bench programs`.\n");
  args_print_options(stdout, choices_options);
}

int bench_choices(int argc, char **argv) {
  tool_args args = {.command = "bench choices",
                    .options = choices_options,
                    .argc = argc,
                    .argv = argv,
                    .next = 1};
  choices_run r = {.folder = tool_data("tools/bench/programs", "programs"), .clients.limit = 2};
  const char *value;
  int64_t rounds = 5;
  int code = TOOL_OK;
  for (int id; code == TOOL_OK && (id = args_next(&args, &value)) != ARGS_END;) {
    switch (id) {
      case CHOICES_ONLY: r.only = value; break;
      case CHOICES_ROUNDS:
        if (!args_integer(&args, "rounds", value, 1, 1000, &rounds)) code = TOOL_USAGE;
        break;
      case CHOICES_LIMIT:
        if (!args_number(&args, "limit", value, &r.clients.limit)) code = TOOL_USAGE;
        break;
      case CHOICES_SLOW_ONLY: r.slow_only = true; break;
      case CHOICES_DEVICE: r.device = value; break;
      case CHOICES_FOLDER: r.folder = value; break;
      case CHOICES_JSON: r.json = value; break;
      case CHOICES_HELP: choices_help(); return TOOL_OK;
      case ARGS_OPERAND: choices_add(&r, value); break;
      default: code = TOOL_USAGE;
    }
  }
  r.clients.rounds = (int)rounds;
  if (code == TOOL_OK) code = choices_start(&r);
  for (int i = 0; i < r.count; i++) {
    choices_release(&r.programs[i]);
    free(r.paths[i]);
  }
  free(r.programs);
  free(r.paths);
  return code;
}
