/* SPDX-License-Identifier: Apache-2.0 */
/* passes/dynamic/dynamic.h: following dimensions whose sizes are known at run time only.
 *
 * A dynamic dimension has room for its bound, and a size from 0 to that: the elements below the size are
 * valid, what lies behind them is padding. While the pass dynamic-sizes walks over a computation it keeps,
 * for each dynamic dimension of each value, the s32 scalar that is its size. A rule for each opcode says what
 * sizes the result has, and hides the padding where the operation would see it; afterwards all shapes are
 * static.
 *
 * Rules allocate in the module's arena and make instructions by `x`, whose shapes have no dynamic marks. The
 * first failure sticks in x.status; calls after it may give NULL and take NULL values. */
#ifndef HALO_PASSES_DYNAMIC_DYNAMIC_H
#define HALO_PASSES_DYNAMIC_DYNAMIC_H

#include "base/pointer_map.h"
#include "rewrite/expander.h"

struct halo_dynamic;
/* Notes the sizes of the result and gives what stands for `instr` from now on, most often itself. Called when
 * an operand has a dynamic dimension, and always for opcodes that make one. */
typedef halo_instr *halo_dynamic_rule(struct halo_dynamic *d, halo_instr *instr);

/* What the computations of a module share. */
typedef struct halo_dynamic_module {
  halo_module *module;
  halo_dynamic_rule *(*rule_of)(halo_opcode opcode); /* NULL: there is none */
  halo_pointer_map touched; /* computations in which something dynamic is, called ones included */
} halo_dynamic_module;

/* The walk over one computation. */
typedef struct halo_dynamic {
  halo_expander x; /* `like` is the instruction whose rule runs */
  halo_rewriter r;
  halo_dynamic_module *all;
  halo_pointer_map sizes; /* of values: see dynamic.c */
} halo_dynamic;

/* ---- Sizes (dynamic.c) ---- */

/* The size of a dimension of a leaf; NULL: the whole bound. Leaf 0 of an array is the array. */
halo_instr *halo_dynamic_leaf_size(const halo_dynamic *d, const halo_instr *value, int32_t leaf,
                                   int dim);
halo_instr *halo_dynamic_size(const halo_dynamic *d, const halo_instr *array, int dim);
/* The size, or a constant for the bound. */
halo_instr *halo_dynamic_extent(halo_dynamic *d, const halo_instr *array, int dim);
/* Whether any dimension of any leaf is dynamic. */
bool halo_dynamic_any(const halo_dynamic *d, const halo_instr *value);
/* Notes a size; NULL, or a constant that is the bound, is no dynamic dimension. */
void halo_dynamic_set_leaf(halo_dynamic *d, const halo_instr *value, int32_t leaf, int dim,
                           halo_instr *size);
void halo_dynamic_set(halo_dynamic *d, const halo_instr *array, int dim, halo_instr *size);
/* Notes for one value, of the same shape, what is noted for another. */
void halo_dynamic_copy(halo_dynamic *d, const halo_instr *from, const halo_instr *to);
/* Notes for the leaves of `to` from `to_leaf` on what is noted for `count` leaves of `from`. */
void halo_dynamic_copy_leaves(halo_dynamic *d, const halo_instr *from, int32_t from_leaf,
                              const halo_instr *to, int32_t to_leaf, int32_t count);

/* HALO_UNIMPLEMENTED, with the instruction's name and line. NULL. */
halo_instr *halo_dynamic_fail(halo_dynamic *d, const halo_instr *instr, const char *why);

/* ---- New instructions (dynamic.c) ---- */

halo_instr *halo_dynamic_number(halo_dynamic *d, int64_t value);
/* Arithmetic on sizes; of two constants at once. Quotients are rounded down: operands are not negative. */
halo_instr *halo_dynamic_binary(halo_dynamic *d, halo_opcode opcode, halo_instr *a, halo_instr *b);
/* Positions along `dim`, as an s32 array of the extents of `like`. */
halo_instr *halo_dynamic_iota(halo_dynamic *d, const halo_shape *like, int dim);
/* The array where each position lies below the sizes [rank] (those that are NULL hide nothing; `sizes` NULL:
 * the array's own), and another of the same shape elsewhere. */
halo_instr *halo_dynamic_choose(halo_dynamic *d, halo_instr *array, halo_instr *const *sizes,
                                halo_instr *other);
/* Makes an operand such an array, with a scalar of its element type elsewhere. */
void halo_dynamic_mask_operand(halo_dynamic *d, halo_instr *instr, int32_t operand,
                               halo_instr *const *sizes, halo_instr *scalar);
/* The instruction once more, with its operands as they are now. */
halo_instr *halo_dynamic_again(halo_dynamic *d, const halo_instr *instr);
/* The array from `starts[dim]` on (NULL: 0) along each dimension; what would lie behind its end is whatever. */
halo_instr *halo_dynamic_shift(halo_dynamic *d, halo_instr *array, halo_instr *const *starts);
/* The extent of `size` elements that lie `step` apart. */
halo_instr *halo_dynamic_spread(halo_dynamic *d, halo_instr *size, int64_t step);
/* What a window along a dimension gives: its number of positions over `size` elements. */
halo_instr *halo_dynamic_window(halo_dynamic *d, halo_instr *size, const halo_window_dim *window);

/* ---- Computations (walk.c) ---- */

/* Opcodes that make sizes, or ask for them. */
bool halo_dynamic_makes_sizes(halo_opcode opcode);
/* Begins the walk over a computation; then sizes of parameters may be noted; then the walk, the result of
 * which is the root's successor; then its end. The first failure is the end's, too. */
void halo_dynamic_begin(halo_dynamic *d, halo_dynamic_module *all, halo_computation *computation);
halo_instr *halo_dynamic_walk(halo_dynamic *d);
halo_status halo_dynamic_end(halo_dynamic *d);
/* Walks over what a rule has made, from instruction number `first` of the computation on. */
void halo_dynamic_walk_from(halo_dynamic *d, int32_t first);

/* ---- The rules ---- */

/* Those of opcodes.def: plain.c has what keeps elements where they are or moves whole values, moves.c what moves
 * elements, combine.c reductions and products, indexed.c what goes by indices or orders, batched.c what treats each
 * problem of a batch by itself, control.c loops and branches. */
#define RULES(evaluator, work, sizes) halo_dynamic_rule halo_sized_##sizes;
#define OP(id, name, lo, hi, traits, types, infer, exec, rules, ...) rules
#include "hlo/opcodes.def"
#undef OP
#undef RULES

#endif
