/* SPDX-License-Identifier: Apache-2.0 */
/* builder/build.h: what the builder's files share: a call in progress, operands, handles. */
#ifndef HALO_BUILDER_BUILD_H
#define HALO_BUILDER_BUILD_H

#include "base/map.h"
#include "halo/builder.h"
#include "hlo/hlo.h"

struct halo_builder {
  halo_builder *top;             /* itself, for a top builder */
  halo_builder *next;            /* the list of subs, from the top on */
  halo_computation *computation; /* NULL once finished or built */
  HALO_VEC(halo_instr *) ops;    /* by handle id */
  halo_map names;                /* of the computation's instructions */
  HALO_VEC(halo_attr) notes;     /* that new instructions carry */
  /* Of a top builder only: */
  char *name;
  halo_module *module;                /* NULL once built */
  halo_map computations;              /* by name, finished or not */
  HALO_VEC(halo_computation *) comps; /* finished ones, by handle id */
  int32_t calls, numbered;
  halo_status status;
  char *message;
};

/* One call of a public function. Once `ok` is false all steps do nothing and give NULL. */
typedef struct build_call {
  halo_builder *builder;
  const char *function;
  bool ok;
} build_call;

/* Starts a call on a builder; NULL, or an earlier error, gives a call that is not ok. */
build_call halo_build_begin(halo_builder *builder, const char *function);
/* Starts a call on the builder of the first operand that has one. */
build_call halo_build_begin_with(const char *function, int count, const halo_op *operands);
/* Ends the call with an error, the builder's first or not. */
void halo_build_fail(build_call *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same with the status and the message that this thread has recorded. */
void halo_build_record(build_call *call, halo_status status);
/* A list argument: count not negative nor above HALO_MAX_RANK, array there when it has to be. */
bool halo_build_check_list(build_call *call, int count, const void *list, const char *what);

halo_instr *halo_build_operand(build_call *call, halo_op op);
/* The operand, which must be an array. */
halo_instr *halo_build_array(build_call *call, halo_op op);
/* All operands, in the module's arena. */
halo_instr **halo_build_operands(build_call *call, int count, const halo_op *ops);
halo_computation *halo_build_comp(build_call *call, halo_comp comp);

static inline halo_arena *halo_build_arena(const build_call *call) {
  return &call->builder->top->module->arena;
}
halo_attr halo_build_int(halo_attr_id id, int64_t value);
halo_attr halo_build_ints(build_call *call, halo_attr_id id, int count, const int64_t *values);
halo_attr halo_build_comps(build_call *call, halo_attr_id id, int count,
                           halo_computation *const *comps);

/* Adds an instruction under its given name, or "<opcode>.<n>". */
halo_instr *halo_build_add(build_call *call, const halo_instr_spec *spec);
/* The common cases of it: up to three operands (the first NULL one ends them), attributes. */
halo_instr *halo_build_op(build_call *call, halo_opcode opcode, const halo_shape *shape,
                          halo_instr *const operands[3], int attr_count, const halo_attr *attrs);
halo_instr *halo_build_literal(build_call *call, halo_literal *literal);
/* `text` with what may not stand in an HLO name replaced; heap. */
char *halo_build_clean_name(const char *text, const char *fallback);

/* The handle to hand out; invalid for NULL. */
halo_op halo_build_result(build_call *call, halo_instr *instr);

/* One instruction of any number of operands, and its handle: the whole of many ops. */
halo_op halo_build_nary(build_call *call, halo_opcode opcode, int count, const halo_op *ops,
                        int attr_count, const halo_attr *attrs);

/* An operand as part of a larger shape: its dimension i is dimension mapping[i] of `dims` and is of
 * that size or 1 (checked by the caller). Lowered to reshape and broadcast as needed. */
halo_instr *halo_build_expand(build_call *call, halo_instr *operand, int rank, const int64_t *dims,
                              const int64_t *mapping);
/* A scalar as an array of another operand's dimensions. */
halo_instr *halo_build_fill(build_call *call, halo_instr *scalar, const halo_shape *like);
/* XLA's rules for two operands; both are replaced by what they broadcast to. */
void halo_build_broadcast_pair(build_call *call, halo_instr **lhs, halo_instr **rhs, int count,
                               const int64_t *dims);

#endif
