/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/pocl_pages.c: the pages of constants of kernels that PoCL has loaded. */
#include "opencl/pocl.h"

#include <link.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

/* What was loaded at the last look: the objects that come behind are new, unless some went. */
static struct {
  pthread_mutex_t lock;
  unsigned long long adds, subs;
  size_t objects;
} pages_known = {.lock = PTHREAD_MUTEX_INITIALIZER};

typedef struct pages_look {
  size_t at, skip;
  unsigned long long adds, subs;
  unsigned sum; /* of bytes that were read */
} pages_look;

/* Whether a file is that of a kernel: PoCL calls it .../KERNEL/SIZES/KERNEL.so. */
static bool pages_is_kernel(const char *path) {
  const char *name = strrchr(path, '/'), *end = name ? strrchr(name, '.') : NULL;
  if (!end || strcmp(end, ".so") != 0) return false;
  size_t length = (size_t)(end - name); /* with the slash before it */
  const char *folder = name;
  while (folder > path && folder[-1] != '/') folder--;
  return (size_t)(folder - path) > length && memcmp(folder - 1 - length, name, length) == 0;
}

static int pages_touch(struct dl_phdr_info *info, size_t size, void *data) {
  pages_look *look = data;
  (void)size;
  if (look->at == 0) {
    if (info->dlpi_adds == pages_known.adds && info->dlpi_subs == pages_known.subs) return 1;
    if (info->dlpi_subs == pages_known.subs) look->skip = pages_known.objects;
    look->adds = info->dlpi_adds;
    look->subs = info->dlpi_subs;
  }
  if (look->at++ < look->skip || !pages_is_kernel(info->dlpi_name)) return 0;
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *part = &info->dlpi_phdr[i];
    if (part->p_type != PT_LOAD || !(part->p_flags & PF_R)) continue;
    const volatile unsigned char *bytes =
        (const volatile unsigned char *)(uintptr_t)(info->dlpi_addr + part->p_vaddr);
    for (size_t at = 0; at < part->p_memsz; at += page) look->sum += bytes[at];
    if (part->p_memsz > 0) look->sum += bytes[part->p_memsz - 1];
  }
  return 0;
}

void halo_pocl_touch_kernels(void) {
  pages_look look = {0};
  pthread_mutex_lock(&pages_known.lock);
  if (dl_iterate_phdr(pages_touch, &look) == 0) {
    pages_known.adds = look.adds;
    pages_known.subs = look.subs;
    pages_known.objects = look.at;
  }
  pthread_mutex_unlock(&pages_known.lock);
}
