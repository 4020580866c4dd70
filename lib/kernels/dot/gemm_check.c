/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/dot/gemm_check.c: one product by CLBlast whose result is checked, since CLBlast before 1.6.3 computes wrong ones on some
 * GPUs and tells no version at run time. */
#include "base/memory.h"
#include "base/strbuf.h"
#include "kernels/dot/gemm.h"
#include "opencl/event.h"

#include <pthread.h>

/* Large enough for CLBlast's kernels for large products, and whole numbers that f32 sums exactly. */
enum { CHECK_M = 520, CHECK_N = 516, CHECK_K = 530, CHECK_ROWS = 37 };

static int check_a(int64_t row, int64_t k) { return (int)((row * 7 + k * 3) % 11) - 5; }
static int check_b(int64_t k, int64_t column) { return (int)((k * 5 + column * 2) % 13) - 6; }

/* Every 37th row: all of them would take a processor some tenths of a second. */
static bool check_is_right(const float *c) {
  bool right = true;
  for (int64_t row = 0; row < CHECK_M && right; row += CHECK_ROWS) {
    for (int64_t column = 0; column < CHECK_N && right; column++) {
      int64_t sum = 0;
      for (int64_t k = 0; k < CHECK_K; k++) sum += check_a(row, k) * check_b(k, column);
      right = c[row * CHECK_N + column] == (float)sum;
    }
  }
  return right;
}

static halo_status check_write(halo_cl_block *block, float *values, int64_t rows, int64_t columns,
                               int (*element)(int64_t row, int64_t column)) {
  for (int64_t i = 0; i < rows * columns; i++) {
    values[i] = (float)element(i / columns, i % columns);
  }
  return halo_cl_write(block, values, sizeof *values * (size_t)(rows * columns), NULL);
}

static halo_status check_run(halo_cl_device *device, halo_cl_block *const blocks[3], float *values,
                             bool *right) {
  const halo_gemm gemm = {.type = HALO_F32,
                          .m = CHECK_M,
                          .n = CHECK_N,
                          .k = CHECK_K,
                          .batch = 1,
                          .lda = CHECK_K,
                          .ldb = CHECK_N,
                          .ldc = CHECK_N,
                          .stride_a = (int64_t)CHECK_M * CHECK_K,
                          .stride_b = (int64_t)CHECK_K * CHECK_N,
                          .stride_c = (int64_t)CHECK_M * CHECK_N};
  const cl_mem memories[3] = {blocks[0]->mem, blocks[1]->mem, blocks[2]->mem};
  static const size_t offsets[3] = {0};
  cl_event done = NULL;
  HALO_TRY(check_write(blocks[0], values, CHECK_M, CHECK_K, check_a));
  HALO_TRY(check_write(blocks[1], values, CHECK_K, CHECK_N, check_b));
  HALO_TRY(halo_gemm_enqueue(device->queue, &gemm, memories, offsets, &done));
  halo_status status = halo_cl_await(done);
  halo_cl.clReleaseEvent(done);
  HALO_TRY(status);
  HALO_TRY(halo_cl_read(blocks[2], values, sizeof *values * CHECK_M * CHECK_N, NULL));
  *right = check_is_right(values);
  return HALO_OK;
}

static halo_status check_product(halo_cl_device *device, bool *right) {
  static const size_t sizes[3] = {(size_t)CHECK_M * CHECK_K, (size_t)CHECK_K * CHECK_N,
                                  (size_t)CHECK_M * CHECK_N};
  float *values = halo_alloc(sizeof *values * CHECK_M * CHECK_K);
  halo_cl_block *blocks[3] = {0};
  halo_status status = HALO_OK;
  for (int i = 0; i < 3 && status == HALO_OK; i++) {
    status = halo_cl_alloc(device, sizeof *values * sizes[i], "a check of CLBlast", &blocks[i]);
  }
  if (status == HALO_OK) status = check_run(device, blocks, values, right);
  for (int i = 0; i < 3; i++) halo_cl_free(blocks[i]);
  halo_free(values);
  return status;
}

/* Finds out whether products are right, from disk or by one. */
static halo_status check_once(halo_cl_device *device, bool *right) {
  const char *directory = halo_cl_programs_directory(device);
  char *library = halo_gemm_library();
  halo_strbuf about = {0};
  uint8_t kept = 0;
  if (library) halo_strbuf_printf(&about, "CLBlast's product 1, by %s", library);
  const char *name = library ? halo_strbuf_text(&about) : NULL;
  halo_status status = HALO_OK;
  if (name && halo_cl_fact_load(directory, &device->caps, name, &kept, sizeof kept)) {
    *right = kept;
  } else {
    status = check_product(device, right);
    kept = *right;
    if (name && status == HALO_OK)
      halo_cl_fact_save(directory, &device->caps, name, &kept, sizeof kept);
  }
  halo_strbuf_deinit(&about);
  halo_free(library);
  return status;
}

halo_status halo_gemm_check(halo_cl_device *device) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  halo_caps *caps = &device->caps;
  if (!caps->is_gpu) return HALO_OK;
  halo_status status = HALO_OK;
  pthread_mutex_lock(&lock);
  bool wrong = halo_caps_clblast_is_wrong(caps);
  if (!caps->clblast_is_right && !wrong) {
    bool right = false;
    status = check_once(device, &right);
    wrong = status == HALO_OK && !right;
    caps->clblast_is_right = right;
    __atomic_store_n(&caps->clblast_is_wrong, wrong, __ATOMIC_RELEASE); /* plans are being made */
  }
  pthread_mutex_unlock(&lock);
  HALO_TRY(status);
  if (!wrong) return HALO_OK;
  return halo_fail(HALO_UNIMPLEMENTED,
                   "CLBlast computes wrong products on the device %s; 1.6.3 and newer may not",
                   caps->name);
}
