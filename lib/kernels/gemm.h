/* kernels/gemm.h: a matrix product as data, for the step that hands it to a library. */
#ifndef HALO_KERNELS_GEMM_H
#define HALO_KERNELS_GEMM_H

#include "halo/types.h"

/* C[b] = op(A[b]) * op(B[b]), row-major with these leading dimensions and batch strides (elements).
 * Arguments 0, 1 and 2 of the launch are A, B and C. */
typedef struct halo_gemm {
  halo_type type; /* F32 or F64 */
  int64_t m, n, k, batch;
  bool transpose_a, transpose_b;
  int64_t lda, ldb, ldc, stride_a, stride_b, stride_c;
} halo_gemm;

#endif
