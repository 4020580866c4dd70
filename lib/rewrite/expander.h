/* SPDX-License-Identifier: Apache-2.0 */
/* rewrite/expander.h: writing one operation as others.
 *
 *   halo_instr *mean = halo_expand_binary(x, HALO_OP_DIVIDE, sum, halo_expand_splat(x, n, sum->shape));
 *
 * Shapes are inferred. The first failure sticks (halo_expander.status); calls after it give NULL and take
 * NULL operands. New instructions have the line and metadata of the one that is expanded. */
#ifndef HALO_REWRITE_EXPANDER_H
#define HALO_REWRITE_EXPANDER_H

#include "rewrite/rewrite.h"

typedef struct halo_expander {
  halo_rewriter *r;
  const halo_instr *like; /* what is expanded */
  halo_status status;
} halo_expander;

halo_instr *halo_expand_op(halo_expander *x, halo_opcode opcode, halo_instr *const *operands,
                           int32_t operand_count, const halo_attr *attrs, int32_t attr_count);
halo_instr *halo_expand_unary(halo_expander *x, halo_opcode opcode, halo_instr *a);
halo_instr *halo_expand_binary(halo_expander *x, halo_opcode opcode, halo_instr *a, halo_instr *b);
/* The same extents in another element type; `a` itself where it has that type. */
halo_instr *halo_expand_convert(halo_expander *x, halo_instr *a, halo_type type);
/* The same elements as an array of these dimensions; `a` itself where it has them. */
halo_instr *halo_expand_reshape(halo_expander *x, halo_instr *a, int rank, const int64_t *dims);
/* What lies at bounds [3 rank]: start, limit and stride of each dimension. */
halo_instr *halo_expand_slice(halo_expander *x, halo_instr *a, const int64_t *bounds);
/* What is at `from` to `to` - 1 of one dimension. */
halo_instr *halo_expand_range(halo_expander *x, halo_instr *a, int64_t dim, int64_t from,
                              int64_t to);
/* Arrays next to each other along a dimension; one is itself. */
halo_instr *halo_expand_join(halo_expander *x, halo_instr *const *parts, int32_t count,
                             int64_t dim);
/* `fill`, a scalar, around and between the elements: padding [3 rank] is what is put before, behind and
 * between them, along each dimension. */
halo_instr *halo_expand_pad(halo_expander *x, halo_instr *a, halo_instr *fill,
                            const int64_t *padding);
/* `sizes` elements from the scalars `starts` on [rank each]. */
halo_instr *halo_expand_dynamic_slice(halo_expander *x, halo_instr *a, halo_instr *const *starts,
                                      const int64_t *sizes);
halo_instr *halo_expand_compare(halo_expander *x, halo_instr *a, halo_direction direction,
                                halo_instr *b);
/* `a` where `test` is true, else `b`. */
halo_instr *halo_expand_select(halo_expander *x, halo_instr *test, halo_instr *a, halo_instr *b);
/* Positions along a dimension. */
halo_instr *halo_expand_iota(halo_expander *x, const halo_shape *shape, int64_t dim);
/* A scalar constant. */
halo_instr *halo_expand_scalar(halo_expander *x, halo_type type, double value);
/* `a` along dimensions `dims` [a's rank] of a result with the extents of `like`. */
halo_instr *halo_expand_broadcast(halo_expander *x, halo_instr *a, const int64_t *dims,
                                  const halo_shape *like);
/* A scalar as an array of the extents of `like`. */
halo_instr *halo_expand_splat(halo_expander *x, halo_instr *scalar, const halo_shape *like);
/* A computation that applies `opcode` to two scalars. */
halo_computation *halo_expand_combiner(halo_expander *x, halo_opcode opcode, halo_type type);
/* Sums over `dims`. */
halo_instr *halo_expand_sum(halo_expander *x, halo_instr *a, const int64_t *dims, int32_t count);
halo_instr *halo_expand_tuple(halo_expander *x, halo_instr *const *elements, int32_t count);

#endif
