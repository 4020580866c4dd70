/* SPDX-License-Identifier: Apache-2.0 */
/* passes/fuse/state.h: what the parts of fusion share: fusion.c decides, updates.c corrects it, build.c
 * builds. */
#ifndef HALO_PASSES_FUSE_STATE_H
#define HALO_PASSES_FUSE_STATE_H

#include "hlo/hlo.h"
#include "rewrite/users.h"

enum {
  FUSION_MAX_INSTRS = 400, /* of one kernel: keeps its compile time and registers in bounds */
  FUSION_MAX_INPUTS = 24,  /* buffers that one kernel reads, where the device allows that many */
  FUSION_MAX_OUTPUTS = 8   /* and writes, once multi-output fusion is done */
};

/* Buffers that one kernel may read on a device, with room for all that it may write. */
static inline int32_t fusion_max_inputs(const halo_target *target) {
  int32_t room = target->max_buffers - FUSION_MAX_OUTPUTS;
  return room < FUSION_MAX_INPUTS ? room : FUSION_MAX_INPUTS;
}

/* What the pass knows of an instruction; found by its `mark`. */
typedef struct fusion_node {
  halo_instr *instr;
  bool possible; /* a kernel can compute it */
  bool hero;     /* its result is worth a buffer: it is not computed inside other kernels */
  bool pinned;   /* a result of the computation, or ordered by control edges */
  bool late;     /* needs the end of an asynchronous pair */
  bool stored;   /* kernels that use it had rather read it than all that it is made of */
  bool materialised;
  halo_instr *root; /* the one kernel it is computed in, or NULL when there are several */
  int64_t cost;     /* to compute one element, fused operands included */
  int64_t repeats;  /* how many times one kernel evaluates it for one of its elements */
  int32_t place;    /* where it is evaluated; instructions of one place share element positions */
  int32_t asked;    /* the question that last counted this place, or this */
  int64_t runs;     /* how many elements of it are evaluated in all kernels together */
  int32_t size;     /* instructions in the kernel, of materialised ones */
  bool at_root;     /* its kernel evaluates it at the position that is written, and nowhere else */
  bool has_hero;    /* of materialised ones: the kernel finishes another instruction elementwise */
} fusion_node;

typedef struct fusion_state {
  halo_computation *computation;
  const halo_target *target;
  int32_t max_inputs;
  bool in_rounds; /* of a loop, each of which is little work */
  /* All of it is likely to become one kernel, on a device where work items are few. */
  bool is_small;
  fusion_node *nodes;
  int32_t count;
  int32_t asked; /* questions to the users of a node until now, of which each has a number */
  halo_users users;
} fusion_state;

static inline fusion_node *fusion_node_of(const fusion_state *s, const halo_instr *instr) {
  return &s->nodes[instr->mark];
}

/* Constants that a kernel spells as a number. */
static inline bool fusion_is_inline_constant(const halo_instr *instr) {
  return instr->opcode == HALO_OP_CONSTANT && halo_shape_element_count(instr->shape) == 1;
}

/* Made from less than it is, so that a kernel rather makes it again than reads it, however much it does
 * already. */
static inline bool fusion_is_spread(const halo_instr *instr) {
  return instr->opcode == HALO_OP_BROADCAST || instr->opcode == HALO_OP_IOTA ||
         fusion_is_inline_constant(instr);
}

/* Whether an instruction is code in a kernel, which its limit is for: a reshape or a slice is not more than
 * another index. */
static inline bool fusion_is_code(const halo_instr *instr) {
  return !fusion_is_spread(instr) && halo_op_info_of(instr->opcode)->cost > 0;
}

/* Materialises parts of arrays that have to be read before the arrays are updated in place. All is decided. */
void halo_fusion_read_before_updates(fusion_state *s);
/* Makes node i a fusion of all that is computed inside it. What does not fit (too many instructions or
 * inputs) is materialised instead: those nodes come before i and are to be built after it. */
void halo_fusion_build(fusion_state *s, int32_t i);

#endif
