/* linker/link.h: shared libraries of kernels' objects. */
#ifndef HALO_LINKER_LINK_H
#define HALO_LINKER_LINK_H

#include <stdbool.h>
#include <stddef.h>

/* Links one object, `size` bytes of ELF at an address that suits any type, into a shared library, whose bytes the caller
 * frees with free. False where that is not known to be possible, or this is no x86-64: a linker of the machine may do it.
 * Any thread. */
bool halo_link(const void *object, size_t size, unsigned char **out, size_t *out_size);

#endif
