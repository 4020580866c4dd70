/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/infer_util.h: what the inference files share: messages, and checks that many ops make. */
#ifndef HALO_HLO_INFER_UTIL_H
#define HALO_HLO_INFER_UTIL_H

#include "hlo/infer.h"

/* Deeper or larger shapes than these are refused, so that walks over shapes may recurse. */
enum { HALO_MAX_SHAPE_DEPTH = 512, HALO_MAX_SHAPE_NODES = 1 << 20 };

/* HALO_INVALID_ARGUMENT with "op(operand shapes): " before the broken rule. */
halo_status halo_infer_fail(const halo_instr *instr, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static inline const halo_shape *halo_infer_operand(const halo_instr *instr, int32_t i) {
  return instr->operands[i]->shape;
}

/* Operands `from` to the last are arrays. */
halo_status halo_infer_need_arrays(const halo_instr *instr, int32_t from);
/* The written shape is there and is an array. */
halo_status halo_infer_need_written(const halo_instr *instr);
/* Depth, node count and byte sizes of a shape are within bounds. */
halo_status halo_infer_check_size(const halo_instr *instr, const halo_shape *shape);

/* Equal, or both floats: what XLA calls the same type but for precision. */
bool halo_infer_types_agree(halo_type a, halo_type b);
/* The one of two types that holds more: complex over float, range over precision over width. */
halo_type halo_infer_higher_type(halo_type a, halo_type b);
/* The result type of operands that agree: the higher one, or the written one where the operands
 * differ and it is one of theirs. */
halo_type halo_infer_result_type(const halo_instr *instr, halo_type a, halo_type b);

/* Entries of a dimension list are in 0..rank-1 and unique (strictly increasing, when `sorted`);
 * `seen` [HALO_MAX_RANK], if not NULL, gets true for each and must not have it already. */
halo_status halo_infer_check_dims(const halo_instr *instr, halo_attr_id id, int rank, bool sorted,
                                  bool *seen);
/* The single entry of `dimensions`, in 0..rank-1. */
halo_status halo_infer_one_dim(const halo_instr *instr, int rank, int *out);

/* The (first) computation of an attribute, complete: it has a root and dense parameters. */
halo_status halo_infer_comp(const halo_instr *instr, halo_attr_id id, const halo_computation **out);
static inline const halo_shape *halo_infer_param(const halo_computation *computation, int32_t i) {
  return computation->params.data[i]->shape;
}
/* The computation takes the operands from `from` on. */
halo_status halo_infer_args(const halo_instr *instr, const halo_computation *computation,
                            int32_t from);
/* The computation takes `count` scalars. */
halo_status halo_infer_scalar_params(const halo_instr *instr, const halo_computation *computation,
                                     int32_t count);
/* A reducer over `n` values: (accumulators.., values..) -> accumulators, fit for these init and
 * input types. *types [n] gets the accumulators' types; *tuple whether the result is one. */
halo_status halo_infer_reducer(const halo_instr *instr, const halo_computation *computation,
                               int32_t n, const halo_shape *const *inits, const halo_type *inputs,
                               halo_type *types, bool *tuple);

/* The extent that sliding a window along a dimension of `extent` leaves. */
halo_status halo_infer_window_extent(const halo_instr *instr, int64_t extent,
                                     const halo_window_dim *window, int64_t *out);

#endif
