/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/dot/gemm.h: a matrix product as data, and the library that computes it: CLBlast. */
#ifndef HALO_KERNELS_DOT_GEMM_H
#define HALO_KERNELS_DOT_GEMM_H

#include "halo/types.h"
#include "opencl/opencl.h"

/* C[b] = op(A[b]) * op(B[b]), row-major with these leading dimensions and batch strides (elements).
 * Arguments 0, 1 and 2 of the launch are A, B and C. */
typedef struct halo_gemm {
  halo_type type; /* F32 or F64 */
  int64_t m, n, k, batch;
  bool transpose_a, transpose_b;
  int64_t lda, ldb, ldc, stride_a, stride_b, stride_c;
} halo_gemm;

/* Whether the library was built with CLBlast, and finds it; else why not. Any thread may ask. */
bool halo_gemm_available(const char **why);
/* The file that CLBlast was opened from, and its state, in one text; NULL: unknown. CLBlast tells no version. Free with halo_free. Only
 * after halo_gemm_available. */
char *halo_gemm_library(void);
/* Queues a product. Memories and offsets (elements) are those of A, B, C; `event` as for
 * clEnqueueNDRangeKernel. HALO_UNIMPLEMENTED without CLBlast. Only after halo_gemm_available. */
halo_status halo_gemm_enqueue(cl_command_queue queue, const halo_gemm *gemm, const cl_mem *memories,
                              const size_t *offsets, cl_event *event);

/* On a GPU: the first call has CLBlast compute a product, and checks it; what came of it is kept on disk for this library and
 * driver. HALO_UNIMPLEMENTED if that is wrong; from then on
 * the device's capabilities say so, and no plan takes CLBlast. Only after halo_gemm_available. */
halo_status halo_gemm_check(halo_cl_device *device);

#endif
