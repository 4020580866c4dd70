/* passes/dynamic.h: following dimensions whose sizes are known at run time only.
 *
 * A dynamic dimension has room for its bound, and a size from 0 to that: the elements below the size are
 * valid, what lies behind them is padding. While the pass dynamic-sizes walks over a computation it keeps,
 * for each dynamic dimension of each value, the s32 scalar that is its size. A rule for each opcode says what
 * sizes the result has, and hides the padding where the operation would see it; afterwards all shapes are
 * static.
 *
 * Rules allocate in the module's arena and make instructions by `x`, whose shapes have no dynamic marks. The
 * first failure sticks in x.status; calls after it may give NULL and take NULL values. */
#ifndef HALO_PASSES_DYNAMIC_H
#define HALO_PASSES_DYNAMIC_H

#include "base/pointer_map.h"
#include "passes/expander.h"

/* What the computations of a module share. */
typedef struct halo_dynamic_module {
  halo_module *module;
  halo_pointer_map touched; /* computations in which something dynamic is, called ones included */
} halo_dynamic_module;

/* The walk over one computation. */
typedef struct halo_dynamic {
  halo_expander x; /* `like` is the instruction whose rule runs */
  halo_rewriter r;
  halo_dynamic_module *all;
  halo_pointer_map sizes; /* of values: see dynamic.c */
} halo_dynamic;

/* Notes the sizes of the result and gives what stands for `instr` from now on, most often itself. Called when
 * an operand has a dynamic dimension, and always for opcodes that make one. */
typedef halo_instr *halo_dynamic_rule(halo_dynamic *d, halo_instr *instr);

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
halo_instr *halo_dynamic_compare(halo_dynamic *d, halo_direction direction, halo_instr *a,
                                 halo_instr *b);
/* Positions along `dim`, as an s32 array of the extents of `like`. */
halo_instr *halo_dynamic_iota(halo_dynamic *d, const halo_shape *like, int dim);
/* The array with its padding along `dims` (NULL: all) replaced by a scalar, which has its element type. */
halo_instr *halo_dynamic_mask(halo_dynamic *d, halo_instr *array, const bool *dims,
                              halo_instr *scalar);
/* The same with zeros, and as an operand of an instruction. */
void halo_dynamic_mask_operand(halo_dynamic *d, halo_instr *instr, int32_t operand,
                               const bool *dims, halo_instr *scalar);
/* The array from `starts[dim]` on (NULL: 0) along each dimension; what would lie behind its end is whatever. */
halo_instr *halo_dynamic_shift(halo_dynamic *d, halo_instr *array, halo_instr *const *starts);
/* What a window along a dimension gives: its number of positions over `size` elements. */
halo_instr *halo_dynamic_window(halo_dynamic *d, halo_instr *size, const halo_window_dim *window);

/* ---- Computations (dynamic_sizes.c) ---- */

/* Whether a computation has something dynamic in it. */
bool halo_dynamic_touched(const halo_dynamic *d, const halo_computation *computation);
/* Begins the walk over a computation; then sizes of parameters may be noted; then the walk, the result of
 * which is the root's successor; then its end. */
void halo_dynamic_begin(halo_dynamic *d, halo_dynamic_module *all, halo_computation *computation);
halo_instr *halo_dynamic_walk(halo_dynamic *d);
halo_status halo_dynamic_end(halo_dynamic *d);

/* ---- The rules ---- */

halo_dynamic_rule halo_dynamic_elementwise, halo_dynamic_same, halo_dynamic_tuple,
    halo_dynamic_get_tuple_element, halo_dynamic_get_size, halo_dynamic_set_size,
    halo_dynamic_broadcast, halo_dynamic_transpose; /* dynamic_plain.c */
halo_dynamic_rule halo_dynamic_reduce;              /* dynamic_reduce.c */

#endif
