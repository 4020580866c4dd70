/* SPDX-License-Identifier: Apache-2.0 */
/* pjrt/memory.c: small pieces of memory, and texts. */
#include "pjrt/pjrt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As the library's own small things, these are not survivable; arrays are never allocated here. */
void *pjrt_alloc(size_t size) {
  void *memory = calloc(1, size ? size : 1);
  if (memory) return memory;
  fprintf(stderr, "halo: out of memory\n");
  abort();
}

char *pjrt_copy(const char *data, size_t size) {
  char *copy = pjrt_alloc(size + 1);
  if (size && data) memcpy(copy, data, size);
  return copy;
}

char *pjrt_vformat(const char *format, va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  int length = vsnprintf(NULL, 0, format, arguments);
  char *text = pjrt_alloc((size_t)length + 1);
  vsnprintf(text, (size_t)length + 1, format, again);
  va_end(again);
  return text;
}

char *pjrt_format(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char *text = pjrt_vformat(format, arguments);
  va_end(arguments);
  return text;
}
