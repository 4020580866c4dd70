/* SPDX-License-Identifier: Apache-2.0 */
/* base/format.h: printf's formats, fast where they are simple: texts of kernels are made of many short
 * pieces, and the C library takes most of the time there. */
#ifndef HALO_BASE_FORMAT_H
#define HALO_BASE_FORMAT_H

#include <stdarg.h>
#include <stddef.h>

/* As vsnprintf: what fits into `size` bytes is written, with a NUL at the end; the length of the whole. */
size_t halo_format(char *out, size_t size, const char *format, va_list args);

#endif
