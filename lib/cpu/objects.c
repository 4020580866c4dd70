/* SPDX-License-Identifier: Apache-2.0 */
/* cpu/objects.c: what all objects share. */
#include "cpu/objects.h"

#include <CL/cl_icd.h>
#include <string.h>
#include <time.h>

struct _cl_icd_dispatch halo_cpu_dispatch;

cl_int cpu_answer(const void *value, size_t length, size_t room, void *out, size_t *size) {
  if (size) *size = length;
  if (!out) return CL_SUCCESS;
  if (room < length) return CL_INVALID_VALUE;
  if (length) memcpy(out, value, length);
  return CL_SUCCESS;
}

cl_int cpu_answer_text(const char *text, size_t room, void *out, size_t *size) {
  return cpu_answer(text, strlen(text) + 1, room, out, size);
}

cl_int cpu_answer_references(const atomic_int *references, size_t room, void *out, size_t *size) {
  cl_uint count = (cl_uint)atomic_load(references);
  return cpu_answer(&count, sizeof count, room, out, size);
}

cl_ulong cpu_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (cl_ulong)now.tv_sec * 1000000000u + (cl_ulong)now.tv_nsec;
}
