/* kernels/gemm.c: matrix products by CLBlast. Its codes are translated here and nowhere else. */
#include "kernels/gemm.h"

#ifdef HALO_HAVE_CLBLAST
#include <clblast_c.h>

bool halo_gemm_available(void) { return true; }

halo_status halo_gemm_enqueue(cl_command_queue queue, const halo_gemm *g, const cl_mem *memories,
                              const size_t *offsets, cl_event *event) {
  CLBlastTranspose ta = g->transpose_a ? CLBlastTransposeYes : CLBlastTransposeNo;
  CLBlastTranspose tb = g->transpose_b ? CLBlastTransposeYes : CLBlastTransposeNo;
  size_t m = (size_t)g->m, n = (size_t)g->n, k = (size_t)g->k;
  CLBlastStatusCode code;
  halo_cl_turn_begin(queue);
  if (g->type == HALO_F64) {
    code = CLBlastDgemmStridedBatched(CLBlastLayoutRowMajor, ta, tb, m, n, k, 1.0, memories[0],
                                      offsets[0], (size_t)g->lda, (size_t)g->stride_a, memories[1],
                                      offsets[1], (size_t)g->ldb, (size_t)g->stride_b, 0.0,
                                      memories[2], offsets[2], (size_t)g->ldc, (size_t)g->stride_c,
                                      (size_t)g->batch, &queue, event);
  } else {
    code = CLBlastSgemmStridedBatched(CLBlastLayoutRowMajor, ta, tb, m, n, k, 1.0f, memories[0],
                                      offsets[0], (size_t)g->lda, (size_t)g->stride_a, memories[1],
                                      offsets[1], (size_t)g->ldb, (size_t)g->stride_b, 0.0f,
                                      memories[2], offsets[2], (size_t)g->ldc, (size_t)g->stride_c,
                                      (size_t)g->batch, &queue, event);
  }
  halo_cl_turn_end(queue);
  if (code == CLBlastSuccess) return HALO_OK;
  if (code > CLBlastNotImplemented) return halo_cl_check((cl_int)code, "CLBlast");
  return halo_fail(HALO_DEVICE_ERROR, "CLBlast failed with its status %d", (int)code);
}

#else

bool halo_gemm_available(void) { return false; }

halo_status halo_gemm_enqueue(cl_command_queue queue, const halo_gemm *g, const cl_mem *memories,
                              const size_t *offsets, cl_event *event) {
  (void)queue, (void)g, (void)memories, (void)offsets, (void)event;
  return halo_fail(HALO_UNIMPLEMENTED, "this library was built without CLBlast");
}

#endif
