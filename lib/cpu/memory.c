/* SPDX-License-Identifier: Apache-2.0 */
/* cpu/memory.c: memory objects, which are pieces of the host's memory. */
#include "base/memory.h"
#include "cpu/objects.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
  MEMORY_ALIGNMENT = 128, /* of OpenCL C's largest type */
  MEMORY_PAGES = 4 << 20, /* bytes from which on large pages are asked for */
  MEMORY_LARGE_PAGE = 2 << 20
};

/* NULL: there is no memory. */
static char *memory_get(size_t size) {
  void *data = NULL;
  bool large = size >= MEMORY_PAGES;
  if (posix_memalign(&data, large ? MEMORY_LARGE_PAGE : MEMORY_ALIGNMENT, size) != 0) return NULL;
#ifdef MADV_HUGEPAGE
  if (large) madvise(data, size, MADV_HUGEPAGE);
#endif
  return data;
}

cl_mem CL_API_CALL cpu_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size,
                                      void *host, cl_int *code) {
  cl_int ignored;
  if (!code) code = &ignored;
  bool uses = (flags & CL_MEM_USE_HOST_PTR) != 0, copies = (flags & CL_MEM_COPY_HOST_PTR) != 0;
  *code = size == 0                    ? CL_INVALID_BUFFER_SIZE
          : (uses || copies) != !!host ? CL_INVALID_HOST_PTR
                                       : CL_SUCCESS;
  if (*code != CL_SUCCESS) return NULL;
  char *data = uses ? host : memory_get(size);
  *code = data ? CL_SUCCESS : CL_MEM_OBJECT_ALLOCATION_FAILURE;
  if (!data) return NULL;
  if (copies) memcpy(data, host, size);
  struct _cl_mem *mem = halo_alloc(sizeof *mem);
  mem->tag = &halo_cpu_dispatch;
  mem->context = context;
  mem->flags = flags;
  mem->data = data;
  mem->size = size;
  mem->owned = !uses;
  atomic_init(&mem->references, 1);
  pthread_mutex_init(&mem->lock, NULL);
  return mem;
}

void cpu_mem_retain(cl_mem mem) { atomic_fetch_add(&mem->references, 1); }

cl_int CL_API_CALL cpu_clReleaseMemObject(cl_mem mem) {
  if (!mem) return CL_INVALID_MEM_OBJECT;
  if (atomic_fetch_sub(&mem->references, 1) != 1) return CL_SUCCESS;
  for (struct cpu_mem_call *c = mem->calls, *next; c; c = next) {
    next = c->next;
    c->call(mem, c->data);
    halo_free(c);
  }
  if (mem->owned) free(mem->data);
  pthread_mutex_destroy(&mem->lock);
  halo_free(mem);
  return CL_SUCCESS;
}

cl_int CL_API_CALL cpu_clSetMemObjectDestructorCallback(cl_mem mem,
                                                        void(CL_CALLBACK *call)(cl_mem, void *),
                                                        void *data) {
  if (!call) return CL_INVALID_VALUE;
  struct cpu_mem_call *c = halo_alloc(sizeof *c);
  c->call = call;
  c->data = data;
  pthread_mutex_lock(&mem->lock);
  c->next = mem->calls;
  mem->calls = c;
  pthread_mutex_unlock(&mem->lock);
  return CL_SUCCESS;
}

cl_int CL_API_CALL cpu_clGetMemObjectInfo(cl_mem mem, cl_mem_info what, size_t room, void *out,
                                          size_t *size) {
  cl_mem_object_type type = CL_MEM_OBJECT_BUFFER;
  const cl_uint maps = 0; /* nobody counts them */
  const size_t offset = 0;
  const cl_mem whole = NULL;
  switch (what) {
    case CL_MEM_TYPE: return cpu_answer(&type, sizeof type, room, out, size);
    case CL_MEM_FLAGS: return cpu_answer(&mem->flags, sizeof mem->flags, room, out, size);
    case CL_MEM_SIZE: return cpu_answer(&mem->size, sizeof mem->size, room, out, size);
    case CL_MEM_CONTEXT: return cpu_answer(&mem->context, sizeof mem->context, room, out, size);
    case CL_MEM_MAP_COUNT: return cpu_answer(&maps, sizeof maps, room, out, size);
    case CL_MEM_OFFSET: return cpu_answer(&offset, sizeof offset, room, out, size);
    case CL_MEM_ASSOCIATED_MEMOBJECT: return cpu_answer(&whole, sizeof whole, room, out, size);
    case CL_MEM_REFERENCE_COUNT: return cpu_answer_references(&mem->references, room, out, size);
    case CL_MEM_HOST_PTR: return cpu_answer(&mem->data, sizeof mem->data, room, out, size);
    default: return CL_INVALID_VALUE;
  }
}

void *CL_API_CALL cpu_clSVMAlloc(cl_context context, cl_bitfield flags, size_t size,
                                 cl_uint align) {
  (void)context;
  (void)flags;
  (void)align; /* MEMORY_ALIGNMENT is the most that may be asked for */
  return size ? memory_get(size) : NULL;
}

void CL_API_CALL cpu_clSVMFree(cl_context context, void *data) {
  (void)context;
  free(data);
}
