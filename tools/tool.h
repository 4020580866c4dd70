/* SPDX-License-Identifier: Apache-2.0 */
/* tools/tool.h: what the subcommands of `halo` share: exit codes, messages, units. */
#ifndef HALO_TOOLS_TOOL_H
#define HALO_TOOLS_TOOL_H

#include "halo/literal.h"
#include "halo/module.h"
#include "halo/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum {
  TOOL_OK = 0,
  TOOL_FAILED = 1, /* something went wrong while running, or results differ */
  TOOL_USAGE = 2   /* the command line makes no sense */
};

/* The subcommands. argv[0] is the subcommand's name; the result is the exit code. */
int tool_run(int argc, char **argv);
int tool_info(int argc, char **argv);
int tool_opt(int argc, char **argv);
int tool_bench(int argc, char **argv);
int tool_tune(int argc, char **argv);
int tool_doctor(int argc, char **argv);
int tool_check_device(int argc, char **argv);

/* "halo: MESSAGE" on stderr, behind what was printed on stdout. Returns TOOL_FAILED. */
int tool_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Messages begin with "halo: rank N: " from now on. */
void tool_set_rank(int rank);
/* Whether this process speaks for all: it is alone or of rank 0. */
bool tool_is_first(void);
/* True for HALO_OK; else prints the library's message. */
bool tool_check(halo_status status);
/* Like malloc, calloc and realloc in one; ends the program when there is no memory. */
void *tool_alloc(size_t size);
void *tool_realloc(void *old, size_t size);
char *tool_strdup(const char *text);
char *tool_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The path of a file or folder that comes with the program: `installed` is its place below share/halo of an installed
 * program, `in_tree` that in the build folder or the source tree. Where it is in none, `in_tree`, from the working
 * folder on. The text lives as long as the process. */
const char *tool_data(const char *in_tree, const char *installed);

/* The bytes of a file, of at most 2 GiB, or of stdin for "-", to be freed, and the name that messages have for it; false after a
 * message. */
bool tool_read_bytes(const char *path, char **out, size_t *size, const char **name);
/* Makes a folder and those above it, when they are not there; false after a message. */
bool tool_make_folder(const char *path);
bool tool_ends_with(const char *text, const char *end);

/* Seconds since some moment, for differences. */
double tool_now(void);

/* Short texts with units, in one of a few static buffers that are used in turn. */
const char *tool_bytes(uint64_t bytes);          /* "1.5 MiB" */
const char *tool_seconds(double seconds);        /* "12.3 ms" */
const char *tool_count(int64_t count);           /* "1,048,576" */
const char *tool_shape(const halo_shape *shape); /* "f32[2,3]"; cut when it is very long */

#endif
