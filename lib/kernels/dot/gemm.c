/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/dot/gemm.c: matrix products by CLBlast. Its codes are translated here and nowhere else. The library is opened
 * when a product is first lowered for a device that could use it. */
#include "kernels/dot/gemm.h"

#ifdef HALO_HAVE_CLBLAST
#include "base/memory.h"
#include "base/strbuf.h"
#include "os/file.h"
#include "os/library.h"

#include <clblast_c.h>
#include <inttypes.h>
#include <pthread.h>

static __typeof__(&CLBlastSgemmStridedBatched) gemm_f32; /* NULL: CLBlast is not installed */
static __typeof__(&CLBlastDgemmStridedBatched) gemm_f64;

static void gemm_open(void) {
  void *library = halo_os_library_open("libclblast.so.1", 0);
  if (!library) return;
  void *f32 = halo_os_library_symbol(library, "CLBlastSgemmStridedBatched");
  void *f64 = halo_os_library_symbol(library, "CLBlastDgemmStridedBatched");
  if (!f32 || !f64) return;
  *(void **)&gemm_f32 = f32;
  *(void **)&gemm_f64 = f64;
}

bool halo_gemm_available(const char **why) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, gemm_open);
  *why = "CLBlast is not installed (libclblast.so.1)";
  return gemm_f32 != NULL;
}

char *halo_gemm_library(void) {
  char path[4096];
  halo_os_file_info file;
  halo_strbuf text = {0};
  if (!halo_os_library_path((void *)gemm_f32, path, sizeof path)) return NULL;
  if (!halo_os_find_file(path, &file)) return NULL;
  halo_strbuf_printf(&text, "%s, %" PRIu64 " bytes of %" PRId64, path, file.size, file.changed);
  return halo_strbuf_take(&text);
}

halo_status halo_gemm_enqueue(cl_command_queue queue, const halo_gemm *g, const cl_mem *memories,
                              const size_t *offsets, cl_event *event) {
  CLBlastTranspose ta = g->transpose_a ? CLBlastTransposeYes : CLBlastTransposeNo;
  CLBlastTranspose tb = g->transpose_b ? CLBlastTransposeYes : CLBlastTransposeNo;
  size_t m = (size_t)g->m, n = (size_t)g->n, k = (size_t)g->k;
  CLBlastStatusCode code;
  halo_cl_queue_lock(queue);
  if (g->type == HALO_F64) {
    code = gemm_f64(CLBlastLayoutRowMajor, ta, tb, m, n, k, 1.0, memories[0], offsets[0],
                    (size_t)g->lda, (size_t)g->stride_a, memories[1], offsets[1], (size_t)g->ldb,
                    (size_t)g->stride_b, 0.0, memories[2], offsets[2], (size_t)g->ldc,
                    (size_t)g->stride_c, (size_t)g->batch, &queue, event);
  } else {
    code = gemm_f32(CLBlastLayoutRowMajor, ta, tb, m, n, k, 1.0f, memories[0], offsets[0],
                    (size_t)g->lda, (size_t)g->stride_a, memories[1], offsets[1], (size_t)g->ldb,
                    (size_t)g->stride_b, 0.0f, memories[2], offsets[2], (size_t)g->ldc,
                    (size_t)g->stride_c, (size_t)g->batch, &queue, event);
  }
  halo_cl_queue_unlock(queue);
  if (code == CLBlastSuccess) return HALO_OK;
  if (code > CLBlastNotImplemented) return halo_cl_check((cl_int)code, "CLBlast");
  return halo_fail(HALO_DEVICE_ERROR, "CLBlast failed with its status %d", (int)code);
}

#else

bool halo_gemm_available(const char **why) {
  *why = "the library was built without CLBlast";
  return false;
}

char *halo_gemm_library(void) { return NULL; }

halo_status halo_gemm_enqueue(cl_command_queue queue, const halo_gemm *g, const cl_mem *memories,
                              const size_t *offsets, cl_event *event) {
  (void)queue, (void)g, (void)memories, (void)offsets, (void)event;
  return halo_fail(HALO_UNIMPLEMENTED, "this library was built without CLBlast");
}

#endif
