/* exec/gemm.h: matrix products by CLBlast. */
#ifndef HALO_EXEC_GEMM_H
#define HALO_EXEC_GEMM_H

#include "opencl/opencl.h"

/* Whether the library was built with CLBlast. */
bool halo_gemm_available(void);
/* Queues a product. `gemm` is a halo_gemm (kernels/kernels.h); memories and offsets (elements) of A,
 * B, C; `event` as for clEnqueueNDRangeKernel. HALO_UNIMPLEMENTED without CLBlast. */
halo_status halo_gemm_enqueue(cl_command_queue queue, const void *gemm, const cl_mem *memories,
                              const size_t *offsets, cl_event *event);

#endif
