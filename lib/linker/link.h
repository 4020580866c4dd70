/* SPDX-License-Identifier: Apache-2.0 */
/* linker/link.h: shared libraries of kernels' objects. */
#ifndef HALO_LINKER_LINK_H
#define HALO_LINKER_LINK_H

#include <stdbool.h>
#include <stddef.h>

/* `size` bytes of ELF at an address that suits any type. */
typedef struct halo_link_object {
  const void *bytes;
  size_t size;
} halo_link_object;

/* Links objects, one at least, into a shared library, whose bytes the caller frees with free. They may name each other's
 * functions. False where that is not known to be possible, or this is no x86-64: a linker of the machine may do it. Any
 * thread. */
bool halo_link(const halo_link_object *objects, int count, unsigned char **out, size_t *out_size);

#endif
