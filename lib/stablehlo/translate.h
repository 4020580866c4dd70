/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/translate.h: a translation under way, for the files of this room that make HLO of operations.
 *
 * An operation's function makes instructions in `computation` and notes with halo_translate_result what its
 * results are. The first failure sticks: after it, everything that makes instructions does nothing and gives
 * NULL, so that a function needs to look at `status` only before it reads an instruction that it was given. */
#ifndef HALO_STABLEHLO_TRANSLATE_H
#define HALO_STABLEHLO_TRANSLATE_H

#include "base/pointer_map.h"
#include "base/status.h"
#include "hlo/hlo.h"
#include "stablehlo/stablehlo.h"

enum { HALO_TRANSLATE_NOTES = 2 };

typedef struct halo_translator {
  halo_mlir_program *program;
  halo_module *module;
  halo_arena *arena;             /* the module's */
  halo_computation *computation; /* being filled */
  halo_mlir_op *op;              /* being translated; NULL: none */
  halo_specialisation how;
  /* Whole numbers that are known are computed at once, branches on them are taken, and calls are put in place:
   * extents depend on them. */
  bool fold;
  bool
      reducing; /* in a computation on scalars that something applies: annotations in it say nothing */
  /* Axes of a mesh along which what is being translated is partitioned by hand; NULL: none. Calls are put in place
   * there. */
  const halo_mlir_attr *manual;
  const halo_mlir_attr *manual_mesh; /* theirs, as a sharding names it; NULL: not known */
  halo_status status;
  int32_t depth, numbered;
  int64_t inlined;                       /* operations of functions put in place */
  halo_map functions;                    /* by name */
  halo_pointer_map metadata;             /* of locations */
  halo_attr notes[HALO_TRANSLATE_NOTES]; /* that the operation's instructions carry */
  int32_t note_count;
} halo_translator;

static inline bool halo_translate_ok(const halo_translator *t) { return t->status == HALO_OK; }

/* ---- translate_make.c: failures, types, instructions ---- */

/* The message gets the operation's name and place before it. */
void halo_translate_fail(halo_translator *t, halo_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same with a failure that is recorded already. */
void halo_translate_failed(halo_translator *t, halo_status status);
#define halo_translate_wrong(t, ...) halo_translate_fail(t, HALO_INVALID_ARGUMENT, __VA_ARGS__)
#define halo_translate_refuse(t, ...) halo_translate_fail(t, HALO_UNIMPLEMENTED, __VA_ARGS__)

/* The type as HLO has it, `?` as HALO_UNBOUNDED; NULL after a failure for types that HLO has not. */
const halo_shape *halo_translate_type(halo_translator *t, const halo_mlir_type *type);
/* Of result `i` of the operation; NULL, without a failure, when an extent is not known. */
const halo_shape *halo_translate_declared(halo_translator *t, const halo_mlir_op *op, int32_t i);
/* The same, as one shape of all results: a tuple where they are several, or none. */
const halo_shape *halo_translate_declared_all(halo_translator *t, const halo_mlir_op *op);
bool halo_translate_is_bounded(const halo_shape *shape);
/* An array of other extents. */
const halo_shape *halo_translate_array(halo_translator *t, halo_type type, int rank,
                                       const int64_t *dims);

/* Instruction `i` of the operands; NULL after a failure. */
halo_instr *halo_translate_operand(halo_translator *t, const halo_mlir_op *op, int32_t i);
/* All of them, in the arena. */
halo_instr **halo_translate_operands(halo_translator *t, const halo_mlir_op *op);
/* Likewise for any value. */
halo_instr *halo_translate_value(halo_translator *t, const halo_mlir_value *value);
/* What result `i` is. */
void halo_translate_result(halo_translator *t, halo_mlir_op *op, int32_t i, halo_instr *instr);
/* What all results are: the instruction itself, or the elements of its tuple. */
void halo_translate_results(halo_translator *t, halo_mlir_op *op, halo_instr *instr);

/* An instruction; `shape` NULL: as inference says. Copies the attributes' list. */
halo_instr *halo_translate_emit(halo_translator *t, halo_opcode opcode, const halo_shape *shape,
                                halo_instr *const *operands, int32_t operand_count,
                                const halo_attr *attrs, int32_t attr_count);
/* Of one or two operands, without attributes, of the shape that follows. */
halo_instr *halo_translate_unary(halo_translator *t, halo_opcode opcode, halo_instr *a);
halo_instr *halo_translate_binary(halo_translator *t, halo_opcode opcode, halo_instr *a,
                                  halo_instr *b);
halo_instr *halo_translate_constant(halo_translator *t, halo_literal *literal);
/* An array of one number. */
halo_instr *halo_translate_number(halo_translator *t, const halo_shape *like, double value);
/* A scalar in every element of an array like `like`; an array is given back as it is. */
halo_instr *halo_translate_fill(halo_translator *t, halo_instr *a, const halo_shape *like);
/* An array in an array of other extents: its dimension i is dimension listed[i] there, where it may be 1 and become
 * longer. */
halo_instr *halo_translate_stretch(halo_translator *t, halo_instr *operand, const halo_shape *shape,
                                   const int64_t *listed);
halo_instr *halo_translate_convert(halo_translator *t, halo_instr *a, halo_type type);
halo_instr *halo_translate_compare(halo_translator *t, halo_direction direction, halo_instr *a,
                                   halo_instr *b);
halo_instr *halo_translate_select(halo_translator *t, halo_instr *pred, halo_instr *a,
                                  halo_instr *b);
halo_instr *halo_translate_element(halo_translator *t, halo_instr *tuple, int64_t index);
/* One value is itself, others are a tuple. */
halo_instr *halo_translate_pack(halo_translator *t, halo_instr *const *values, int32_t count);
halo_instr *halo_translate_parameter(halo_translator *t, int64_t number, const halo_shape *shape,
                                     const halo_mlir_loc *loc);

static inline halo_attr halo_translate_int(halo_attr_id id, int64_t value) {
  return (halo_attr){.id = id, .i = value};
}
halo_attr halo_translate_ints(halo_translator *t, halo_attr_id id, const int64_t *values,
                              int32_t count);
halo_attr halo_translate_text(halo_translator *t, halo_attr_id id, const char *text);
halo_attr halo_translate_comp(halo_translator *t, halo_attr_id id, halo_computation *computation);
/* A name of HLO's among the values of an attribute, whatever its case; fails for others. */
halo_attr halo_translate_enum(halo_translator *t, halo_attr_id id, const char *name);
/* A new computation, and what was being filled before it. */
halo_computation *halo_translate_begin(halo_translator *t, const char *name,
                                       halo_computation **outer);
void halo_translate_end(halo_translator *t, halo_instr *root, halo_computation *outer);
/* (a, b) -> opcode(a, b) on scalars. */
halo_computation *halo_translate_scalar_body(halo_translator *t, halo_opcode opcode,
                                             halo_type type);

/* ---- translate_read.c: attributes of operations ---- */

/* The list and its length in *count (or NULL); fails when it is missing, or not of `expected` (-1: any) numbers. NULL
 * and 0 after a failure. */
const int64_t *halo_translate_list(halo_translator *t, const halo_mlir_op *op, const char *name,
                                   int32_t expected, int32_t *count);
/* Pairs of numbers, `rows` of them, which are 0 where the attribute is missing, or any (-1), which fails then. *count (or
 * NULL) is that of the numbers. */
const int64_t *halo_translate_pairs(halo_translator *t, const halo_mlir_op *op, const char *name,
                                    int32_t rows, int32_t *count);
/* The same, where it may be missing: then all are `default_`. */
const int64_t *halo_translate_list_or(halo_translator *t, const halo_mlir_op *op, const char *name,
                                      int32_t expected, int64_t default_);
/* Fails when it is missing. */
int64_t halo_translate_integer(halo_translator *t, const halo_mlir_op *op, const char *name);
/* As HLO has it: precision_config, the algorithm of a product, result_accuracy. False: not said. */
bool halo_translate_precision(halo_translator *t, const halo_mlir_op *op, halo_attr *out);
bool halo_translate_algorithm(halo_translator *t, const halo_mlir_op *op, halo_attr *out);
bool halo_translate_accuracy(halo_translator *t, const halo_mlir_op *op, halo_attr *out);
/* Sets t->notes to what the operation says beside what it computes: metadata and frontend attributes. */
void halo_translate_annotate(halo_translator *t, const halo_mlir_op *op);
/* The sharding among attributes, mhlo's or Shardy's, of a value of this shape; false: there is none, or a failure. */
bool halo_translate_sharding(halo_translator *t, const halo_mlir_named *attrs, int32_t count,
                             const halo_shape *shape, halo_attr *out);
/* The metadata of a location; false: it says nothing. */
bool halo_translate_metadata(halo_translator *t, const halo_mlir_loc *loc, halo_attr *out);
/* The value of integers that are known, row by row; NULL without a failure when they are not. */
const int64_t *halo_translate_known(halo_translator *t, const halo_instr *instr, int32_t *count);
/* The same of an operand, which has to be known and a list of `expected` (-1: any); NULL after a failure. */
const int64_t *halo_translate_known_operand(halo_translator *t, const halo_mlir_op *op, int32_t i,
                                            int32_t expected, int32_t *count);
/* A dictionary as MLIR text, which is what backend_config of typed calls has. Heap. */
void halo_translate_print_attr(halo_strbuf *out, const halo_mlir_attr *attr);

/* ---- translate_control.c: blocks, regions, calls ---- */

/* Translates the block's operations; what it returns [expected] goes to `results`. */
void halo_translate_block(halo_translator *t, halo_mlir_block *block, halo_instr **results,
                          int32_t expected);
/* The same of a function's block; its `count` results must be of the types that the function declares. */
void halo_translate_function_block(halo_translator *t, const halo_mlir_op *function,
                                   halo_instr **results, int32_t count);
/* A region that something applies, as a computation with a parameter for each of its `count` arguments. Values from
 * outside must be constants. */
halo_computation *halo_translate_body(halo_translator *t, halo_mlir_region *region, int32_t count);
/* Whether a value is made in a region, or in one inside of it. */
bool halo_translate_is_inside(const halo_mlir_value *value, const halo_mlir_region *region);
/* Whether the instruction is a constant, or one number everywhere; such a one again in the computation under way. */
bool halo_translate_is_constant(const halo_instr *instr);
halo_instr *halo_translate_copy(halo_translator *t, const halo_instr *constant);
/* The function of this name; NULL after a failure. */
halo_mlir_op *halo_translate_function(halo_translator *t, const char *name);
/* One attribute's list of functions: the only one in it as a computation. */
halo_computation *halo_translate_called(halo_translator *t, const halo_mlir_op *op);

/* ---- translate_table.c ---- */

/* Translates one operation. */
void halo_translate_op(halo_translator *t, halo_mlir_op *op);
/* Fails unless the instruction (NULL: there is none) is of the declared type, `?` being any extent; the message calls it
 * `what` number `i`. */
void halo_translate_check(halo_translator *t, const char *what, int32_t i,
                          const halo_mlir_type *declared, const halo_instr *instr);
/* Whether it is an operation whose extents are operands. */
bool halo_translate_is_dynamic(const halo_mlir_op *op);

/* ---- Operations, by family ---- */

typedef void halo_translate_fn(halo_translator *t, halo_mlir_op *op);

/* translate_elementwise.c */
halo_translate_fn halo_translate_op_bitcast_convert, halo_translate_op_compare,
    halo_translate_op_convert, halo_translate_op_select, halo_translate_op_clamp;
/* translate_moves.c */
halo_translate_fn halo_translate_op_constant, halo_translate_op_constant_like,
    halo_translate_op_broadcast, halo_translate_op_broadcast_in_dim, halo_translate_op_slice,
    halo_translate_op_pad, halo_translate_op_reshape, halo_translate_op_concatenate,
    halo_translate_op_barrier, halo_translate_op_dimension_size, halo_translate_op_identity,
    halo_translate_op_iota, halo_translate_op_dynamic_slice_real,
    halo_translate_op_set_dimension_size;
/* translate_products.c */
halo_translate_fn halo_translate_op_dot, halo_translate_op_dot_general,
    halo_translate_op_convolution;
/* translate_einsum.c */
halo_translate_fn halo_translate_op_einsum;
/* translate_indexed.c */
halo_translate_fn halo_translate_op_gather, halo_translate_op_scatter,
    halo_translate_op_index_select;
/* translate_reduce.c */
halo_translate_fn halo_translate_op_reduce, halo_translate_op_reduce_window,
    halo_translate_op_select_and_scatter, halo_translate_op_sort, halo_translate_op_map,
    halo_translate_op_scan;
/* inputs, inits, then sizes, strides, base and window dilations, padding: stablehlo.dynamic_reduce_window. */
void halo_translate_reduce_window_by_operands(halo_translator *t, halo_mlir_op *op,
                                              halo_computation *body);
/* translate_control.c, translate_flow.c */
halo_translate_fn halo_translate_op_call, halo_translate_op_composite, halo_translate_op_while,
    halo_translate_op_if, halo_translate_op_case;
/* translate_host.c */
halo_translate_fn halo_translate_op_rng, halo_translate_op_rng_bits, halo_translate_op_infeed,
    halo_translate_op_outfeed, halo_translate_op_send, halo_translate_op_recv;
/* translate_collective.c */
halo_translate_fn halo_translate_op_collective, halo_translate_op_all_to_all,
    halo_translate_op_permute, halo_translate_op_async_start, halo_translate_op_async_done;
/* Of a custom call: the groups and the channel are in a dictionary. */
void halo_translate_ragged_all_to_all(halo_translator *t, halo_mlir_op *op,
                                      const halo_mlir_attr *config);
/* translate_async.c: of a custom call that stands for the collective's beginning. What it gives is what the end does. */
halo_translate_fn halo_translate_async_start;
/* translate_custom.c */
halo_translate_fn halo_translate_op_custom_call;
/* The first k of `operand` along its last dimension, the largest ones, and their places. */
void halo_translate_topk(halo_translator *t, halo_mlir_op *op, halo_instr *operand, int64_t k,
                         bool largest);
/* translate_chlo.c */
halo_translate_fn halo_translate_op_chlo, halo_translate_op_chlo_topk,
    halo_translate_op_chlo_ragged_dot;
/* translate_stretch.c */
halo_translate_fn halo_translate_op_chlo_broadcast;
/* The operation that "chlo.<name>" or "mhlo.<name>" stands for on these operands, as far as HLO has one: false
 * when it has none. Notes the results. */
bool halo_translate_named(halo_translator *t, halo_mlir_op *op, const char *name,
                          const halo_mlir_attr *attrs);
/* translate_special.c: of f32 or f64. */
halo_instr *halo_translate_erf_inv(halo_translator *t, halo_instr *x);
halo_instr *halo_translate_bessel_i1e(halo_translator *t, halo_instr *x); /* translate_bessel.c */
halo_instr *halo_translate_erfc(halo_translator *t, halo_instr *x);
halo_instr *halo_translate_lgamma(halo_translator *t, halo_instr *x);
halo_instr *halo_translate_digamma(halo_translator *t, halo_instr *x);
halo_instr *halo_translate_zeta(halo_translator *t, halo_instr *x,
                                halo_instr *q); /* translate_zeta.c */
halo_instr *halo_translate_polygamma(halo_translator *t, halo_instr *m, halo_instr *x);
/* The number behind x in the direction of y; of f16, bf16, f32 or f64. */
halo_instr *halo_translate_next_after(halo_translator *t, halo_instr *x, halo_instr *y);

/* translate_shardy.c */
halo_translate_fn halo_translate_op_manual, halo_translate_op_named_computation,
    halo_translate_op_sharding_constraint, halo_translate_op_sharding_group;
/* The custom call "xla.sdy.<name>". */
void halo_translate_shardy_call(halo_translator *t, halo_mlir_op *op, const char *name);
/* One of Shardy's attributes that a dictionary of frontend attributes holds as text; NULL: it holds none. */
const halo_mlir_attr *halo_translate_shardy_text(halo_translator *t, const halo_mlir_attr *frontend,
                                                 const char *name);

/* translate_places.c: layouts and kinds of memory of the entry's arguments and results, once it is complete. */
void halo_translate_places(halo_translator *t, const halo_mlir_op *main);

/* translate_sharding.c */
/* A sharding of Shardy's as HLO's, of an array of this rank, which does not name the axes in `manual` (or NULL), for
 * each of their devices has an array of its own. False after a failure. */
bool halo_translate_shardy(halo_translator *t, const halo_mlir_attr *attr, int rank,
                           const halo_mlir_attr *manual, halo_sharding *out);
/* That of an array of this rank (-1: of something else) of which each partition has its own along the axes in t->manual.
 * False where there is nothing to say, and after a failure. */
bool halo_translate_shardy_manual(halo_translator *t, int rank, halo_sharding *out);
/* The axes of a mesh: a symbol's, or given in place. NULL after a failure. */
const halo_mlir_attr *halo_translate_mesh(halo_translator *t, const halo_mlir_attr *mesh);

#endif
