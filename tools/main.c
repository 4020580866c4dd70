/* SPDX-License-Identifier: Apache-2.0 */
/* tools/main.c: the `halo` program: picks the subcommand. */
#include "args.h"
#include "tool.h"

#include "halo/client.h"
#include "halo/status.h"
#include "os/process.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

typedef struct main_command {
  const char *name;
  int (*run)(int argc, char **argv);
  const char *summary;
} main_command;

static const main_command main_commands[] = {
    {"run", tool_run, "run an HLO module on an OpenCL device"},
    {"opt", tool_opt, "print an HLO module after the optimisation passes"},
    {"info", tool_info, "list devices, what they can do, and the program cache"},
    {"doctor", tool_doctor, "say why there is no device, and what mends that"},
    {"check", tool_check_device, "check that a device and its driver compute right"},
    {"bench", tool_bench, "measure programs against what the device can do"},
    {"tune", tool_tune, "find the parameters of kernels that are fastest on a device"},
};
enum { MAIN_COMMANDS = sizeof main_commands / sizeof *main_commands };

static void main_help(FILE *out) {
  fputs(
      "halo runs XLA programs (HLO modules) on OpenCL devices.\n\n"
      "Usage: halo COMMAND [OPTIONS]\n\n"
      "Commands:\n",
      out);
  for (int i = 0; i < MAIN_COMMANDS; i++) {
    fprintf(out, "  %-8s %s\n", main_commands[i].name, main_commands[i].summary);
  }
  fputs(
      "\n'halo COMMAND --help' explains a command; 'halo --version' prints the version.\n"
      "Exit codes: 0 all is well, 1 it failed or results differ, 2 wrong usage.\n",
      out);
}

static const main_command *main_find(const char *name) {
  for (int i = 0; i < MAIN_COMMANDS; i++) {
    if (strcmp(main_commands[i].name, name) == 0) return &main_commands[i];
  }
  const char *near =
      args_nearest(name, &main_commands[0].name, MAIN_COMMANDS, sizeof main_commands[0]);
  if (!near && access(name, F_OK) == 0) {
    fprintf(stderr, "halo: there is no command '%s'; 'halo run %s' runs the file\n", name, name);
  } else {
    fprintf(stderr, "halo: there is no command '%s'%s%s%s\nTry 'halo --help'.\n", name,
            near ? "; is it '" : "", near ? near : "", near ? "'?" : "");
  }
  return NULL;
}

static int main_dispatch(int argc, char **argv) {
  const char *name = argc > 1 ? argv[1] : "";
  if (!*name) {
    main_help(stderr);
    return TOOL_USAGE;
  }
  if (strcmp(name, "--version") == 0 || strcmp(name, "version") == 0) {
    printf("halo %s\n", halo_version());
    return TOOL_OK;
  }
  bool help = strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0;
  if (help && argc == 2) {
    main_help(stdout);
    return TOOL_OK;
  }
  const main_command *command = main_find(help ? argv[2] : name);
  if (!command) return TOOL_USAGE;
  if (help) return command->run(2, (char *[]){(char *)command->name, "--help", NULL});
  return command->run(argc - 1, argv + 1);
}

int main(int argc, char **argv) {
  /* A reader that goes away (head, less) is no reason to die in the middle of writing files. */
  halo_os_keep_on_closed_pipes();
  int code = main_dispatch(argc, argv);
  bool lost = ferror(stdout) != 0;
  if ((fflush(stdout) != 0 || lost) && errno != EPIPE) {
    code = tool_error("cannot write to standard output: %s", strerror(errno));
  }
  return code;
}
