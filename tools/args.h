/* SPDX-License-Identifier: Apache-2.0 */
/* tools/args.h: options of the command line, for all subcommands. */
#ifndef HALO_TOOLS_ARGS_H
#define HALO_TOOLS_ARGS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* One option: `--name`, and `-l` when letter is not 0. `argument` names its value in the help; NULL
 * for a flag. An entry without a name is a heading in the help. Ends with an entry of NULLs. */
typedef struct tool_option {
  int id; /* positive; what args_next returns */
  char letter;
  const char *name, *argument, *help;
} tool_option;

typedef struct tool_args {
  const char *command; /* "run": for messages */
  const tool_option *options;
  int argc, next; /* argv[next] comes next */
  char **argv;
  const char *cluster; /* what is left of "-xyz" */
  bool only_operands;  /* behind "--" */
} tool_args;

enum { ARGS_END = 0, ARGS_OPERAND = -1, ARGS_BAD = -2 };

/* The next option's id, with its value (NULL for flags); ARGS_OPERAND with the operand ("-" is one);
 * ARGS_END; or ARGS_BAD after a message on stderr. Options and operands may be mixed; "--name=value",
 * "--name value", "-l value" and "-lvalue" are the same. */
int args_next(tool_args *args, const char **value);

/* A whole number from `low` to `high`; false after a message. `option` is its name, without dashes. */
bool args_integer(const tool_args *args, const char *option, const char *value, int64_t low,
                  int64_t high, int64_t *out);
/* A finite number that is not negative; false after a message. */
bool args_number(const tool_args *args, const char *option, const char *value, double *out);
/* "halo: run: MESSAGE" and where to find help, on stderr. Returns the exit code for wrong usage. */
int args_usage_error(const tool_args *args, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Prints `text` in lines of at most 96 columns, all but the first indented; the first begins in column `column`. */
void args_print_wrapped(FILE *out, const char *text, int column, int indent);
/* The options with their help, aligned. */
void args_print_options(FILE *out, const tool_option *options);

/* Of `count` names, `stride` bytes apart, the one that `wrong` is most likely a slip of; or NULL. */
const char *args_nearest(const char *wrong, const char *const *names, int count, size_t stride);

#endif
