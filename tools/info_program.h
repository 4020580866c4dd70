/* SPDX-License-Identifier: Apache-2.0 */
/* tools/info_program.h: `halo info FILE`. */
#ifndef HALO_TOOLS_INFO_PROGRAM_H
#define HALO_TOOLS_INFO_PROGRAM_H

#include "program.h"

/* Prints what the program in a file ("-": on stdin) is, in any format. `inputs` give the extents that it leaves open, if
 * any. An exit code, after a message unless it is TOOL_OK. */
int info_program(const char *file, const program_inputs *inputs);

#endif
