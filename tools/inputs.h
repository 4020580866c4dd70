/* SPDX-License-Identifier: Apache-2.0 */
/* tools/inputs.h: the arguments of a program: from files, from the command line, or generated. */
#ifndef HALO_TOOLS_INPUTS_H
#define HALO_TOOLS_INPUTS_H

#include "halo/literal.h"
#include "halo/module.h"

#include <stdbool.h>

/* One array that the program takes: a parameter, or a leaf of a tuple parameter. */
typedef struct input {
  char *name;              /* "x.1"; leaves of a tuple: "state.3.0" */
  const halo_shape *shape; /* owned by the module */
  halo_literal *value;     /* NULL until it is given or generated */
  char *origin;            /* where it came from, for people */
} input;

typedef struct input_list {
  input *data;
  int count;
  int next;      /* where the next file without a name goes */
  bool convert;  /* element types of files may differ */
  uint64_t seed; /* of generated values */
  int part,
      part_count; /* of a program on several devices: which piece of what is split; 0, 1 for one */
  int split;      /* while an input is set: the dimension that its value is split along; -1: none */
} input_list;

/* One entry for each array; tokens are left out. The module must outlive the list. */
void inputs_create(const halo_module *module, input_list *list);
void inputs_release(input_list *list);

/* The functions below return an exit code, after a message unless it is TOOL_OK. */

/* What --input says: "FILE.npy" for the next parameter, or "WHICH=WHAT". */
int inputs_assign(input_list *list, const char *text);
/* What --inputs says: the arrays of a .npz file, by name or, failing that, by number. */
int inputs_assign_archive(input_list *list, const char *path);
/* Whether an extent of an input follows from the array that it is given (`?` in MLIR). */
bool inputs_are_open(const input_list *list);
bool inputs_is_open(const halo_shape *shape);
/* Makes up what is still missing; *generated receives how many that were. */
int inputs_generate(input_list *list, int *generated);

#endif
