/* SPDX-License-Identifier: Apache-2.0 */
/* tools/program.h: programs to be run, whose extents may follow from what they are given. */
#ifndef HALO_TOOLS_PROGRAM_H
#define HALO_TOOLS_PROGRAM_H

#include "inputs.h"

/* Makes the list of the inputs of a module and puts in it what the command line says; an exit code. */
typedef int program_assign_fn(const void *user, const halo_module *parameters, input_list *inputs);

/* Inputs as the command line has them (inputs_assign); and a program_assign_fn whose `user` is these. */
typedef struct program_inputs {
  const char **texts;
  int count;
} program_inputs;
program_assign_fn program_assign_inputs;

/* Reads the program in a file, or on stdin for "-", in any format. If it leaves extents open (`?`), they are those of the
 * arrays that `assign` gives it; else that is not called. `platform`: which of those that it was exported for. An
 * exit code, after a message unless it is TOOL_OK. */
int program_read(const char *file, int platform, program_assign_fn *assign, const void *user,
                 halo_module **out);
/* The same of its bytes; `name` is for messages. */
int program_read_bytes(const char *bytes, size_t size, const char *name, int platform,
                       program_assign_fn *assign, const void *user, halo_module **out);

#endif
