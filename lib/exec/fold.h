/* SPDX-License-Identifier: Apache-2.0 */
/* exec/fold.h: reductions of tiny arrays by the host, with the bits that kernels give. */
#ifndef HALO_EXEC_FOLD_H
#define HALO_EXEC_FOLD_H

#include "plan/plan.h"

/* Combines `rows`, [members][bytes], to `out`, [bytes]: row by row, or in `pairs` of neighbours, pairs of these and so
 * on. As in kernels, bf16 and f16 are combined in f32 and rounded once; an extreme is NaN if either is NaN, and +0 lies
 * above -0; subnormal numbers are as the calling thread takes them (base/subnormals.h); integers wrap; of two NaNs the
 * first stays, and a NaN becomes quiet by arithmetic. `op` is none that halo_collective_folds (hlo/collective.h) has not
 * for the type. `out` is not among the rows. */
void halo_fold(halo_fold_op op, halo_type type, bool pairs, int64_t members, size_t bytes,
               const void *rows, void *out);

#endif
