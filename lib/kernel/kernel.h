/* SPDX-License-Identifier: Apache-2.0 */
/* kernel/kernel.h: a kernel as an object: its parameters, facts about its code, and its text with holes.
 *
 * The code generator and the templates make it, and know all that is said here. Two forms are printed of it: a kernel of
 * a program, and a function that a region or a bundle calls for each work item. Nothing reads a printed text again. */
#ifndef HALO_KERNEL_KERNEL_H
#define HALO_KERNEL_KERNEL_H

#include "base/arena.h"
#include "base/strbuf.h"
#include "shape/shape.h"

#include <stdint.h>

/* ---- Text with holes ---- */

/* A hole is one byte, which OpenCL C never has, for what depends on the form. These go into formats and templates. */
#define HALO_HEAD "\001"   /* in front of the kernel's name */
#define HALO_PLACES "\002" /* behind the parenthesis that opens its parameters */
#define HALO_GLOBAL_ID_0 "\007"
#define HALO_GLOBAL_ID_1 "\010"
#define HALO_GROUP_ID_0 "\017"
#define HALO_LOCAL_ID_0 "\022"
#define HALO_LOCAL "\024"   /* the address space, with a blank behind it */
#define HALO_BARRIER "\025" /* with the parenthesis behind it */
#define HALO_SHARED "\026"  /* in front of "[COUNT]);", see has_block */
/* The number of the kernel's unit in the program: in texts and in the names of kernels. */
#define HALO_UNIT "@"

typedef enum halo_hole {
#define HALO_HOLE(NAME, byte, kernel, function, single_item, in_group) HALO_HOLE_##NAME = byte,
#include "kernel/holes.def"
#undef HALO_HOLE
} halo_hole;

typedef enum halo_kernel_form {
  HALO_FORM_KERNEL,
  HALO_FORM_FUNCTION, /* of a work item at (h_x, h_y), its first two parameters */
  HALO_FORM_SINGLE_ITEM, /* the same, where groups are of one work item: it shares memory with nobody and waits for nobody */
  HALO_FORM_IN_GROUP /* of a work item at (h_x, 0) in group h_y, which all of a group call; of kernels with has_block */
} halo_kernel_form;

/* Appends `length` bytes of a text in a form, with `unit` for the number of its unit; NULL: that stays a hole. */
void halo_text_render(halo_strbuf *out, const char *text, size_t length, halo_kernel_form form,
                      const char *unit);

/* ---- Launches ---- */

/* The shape of a launch. */
typedef struct halo_grid {
  uint32_t dims;              /* 1 to 3 */
  size_t global[3], local[3]; /* work items along each dimension, of all and of a group */
  size_t items;               /* along the first dimension, that do something; 0: all do */
  bool any_local;             /* halo_kernel_takes_any_group of the kernel */
  bool any_x;                 /* parts along x will do: asks_x of the kernel is not set */
  uint64_t
      part_groups; /* along x, that a part may have at most: each work item of a part has memory of its own; 0: any number */
} halo_grid;

/* So many work items, or a few more that do nothing, in groups of `local`. */
halo_grid halo_grid_line(int64_t items, size_t local);
/* Work items along the first dimension that do something, and along the second. */
size_t halo_grid_width(const halo_grid *grid);
size_t halo_grid_height(const halo_grid *grid);
/* All work items, and groups. */
double halo_grid_count(const halo_grid *grid);
double halo_grid_groups(const halo_grid *grid);
/* Parts that a launch can be cut into at most. */
double halo_grid_pieces(const halo_grid *grid);
/* Whether each work item is a group of its own. */
bool halo_grid_has_single_items(const halo_grid *grid);

/* A part of a launch: work items from `offset` on. get_global_id counts the offset, and get_group_id does not: along y and z
 * kernels ask for the former only, and along x halo_kernel_render adds the offset. */
typedef struct halo_grid_part {
  size_t offset[3], global[3];
} halo_grid_part;
/* Sets `part` to the next part of a launch in groups of `local`, which has `most` groups along each dimension at most (0: any
 * number), along x only where any_x is set. All zeros come before the first part. False: there is none left. `most` may be another
 * for each part. */
bool halo_grid_next(const halo_grid *grid, const size_t local[3], const uint64_t most[3],
                    halo_grid_part *part);
/* Lowers `most` so that a part has at most `groups` groups in all, and at least one. */
void halo_grid_most(const halo_grid *grid, const size_t local[3], double groups, uint64_t most[3]);

/* ---- Kernels ---- */

/* Meaning of a kernel's arguments by value. */
typedef enum halo_argument_value {
  HALO_VALUE_NONE,         /* a buffer */
  HALO_VALUE_NUMBER,       /* a number known when the plan is made, such as a size */
  HALO_VALUE_REPLICA_ID,   /* of the run: which replica, */
  HALO_VALUE_PARTITION_ID, /* and which partition of the program it is */
  HALO_VALUE_TIME /* nanoseconds, as a region estimates them, until it leaves; the plan's, or what the executor found out */
} halo_argument_value;

/* A parameter: memory, as a pointer and an offset in elements, or a value. */
typedef struct halo_kernel_param {
  const char *name, *type; /* `type`: of elements, or of the value, in OpenCL C */
  bool is_value;
  bool is_const;    /* the kernel does not write to this memory, */
  bool is_restrict; /* or not through any other parameter */
  bool is_whole;    /* it begins at offset 0, and has none as an argument */
} halo_kernel_param;

/* Appends parameters as a kernel declares them: "__global const float *restrict a0_, ulong a0o, const int n1". */
void halo_kernel_declare(halo_strbuf *out, const halo_kernel_param *params, int32_t count);

/* Appends all that a kernel gets as arguments of a function that declares the same. */
void halo_kernel_pass(halo_strbuf *out, const halo_kernel_param *params, int32_t count);

/* What is known of a kernel's code. */
typedef struct halo_kernel_facts {
  /* Work items of a group along each dimension that the code is written for; the kernel tells compilers so. Zeros: groups of any
   * size will do, as work items share nothing. */
  size_t group[3];
  /* Bytes of arrays: of a group in local memory, and of a work item in private memory, at most: compilers keep some of the latter
   * in registers. Kernels for CPUs do not declare all of it. */
  int64_t local_bytes, private_bytes;
  /* The group is along x, and all its local memory is one block, "HALO_SHARED [COUNT]);" at the kernel's start: h_local, of COUNT
   * ulong2. Such a kernel can be a function that gets this block (HALO_FORM_IN_GROUP). */
  bool has_block;
  bool has_loops;    /* that compilers are not told to write out */
  bool has_barriers; /* halo_kernel_make finds out */
  bool
      asks_x; /* for the number of all work items along x: no part may do; halo_kernel_make finds out */
} halo_kernel_facts;

typedef struct halo_kernel {
  const char *name; /* with a hole for its unit's number */
  const halo_kernel_param *params;
  int32_t param_count;
  const char *text; /* with holes: the functions that it calls, then itself */
  size_t bytes;     /* of the text as a kernel */
  halo_kernel_facts facts;
} halo_kernel;

/* Appends a kernel in a form, as halo_text_render does; as a kernel of a program it begins with the size of its groups. */
void halo_kernel_render(halo_strbuf *out, const halo_kernel *kernel, halo_kernel_form form,
                        const char *unit);
/* Whether groups of any size will do. */
bool halo_kernel_takes_any_group(const halo_kernel *kernel);

/* Bytes of all arguments of a kernel, at most. */
int64_t halo_kernel_argument_bytes(const halo_kernel *kernel, uint32_t address_bits);

/* Copies a kernel whose text is complete into the arena, and fills in `bytes`. */
const halo_kernel *halo_kernel_make(halo_arena *arena, const halo_kernel *kernel);
/* The copy of a kernel in another arena, with all that it points to. */
const halo_kernel *halo_kernel_copy(halo_arena *arena, const halo_kernel *kernel);

#endif
