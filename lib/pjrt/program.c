/* pjrt/program.c: from the bytes of a program to a module. */
#include "pjrt/pjrt.h"

halo_status pjrt_program_read(const char *code, size_t size, const char *format,
                              halo_module **out) {
  (void)format; /* what it is shows in the bytes */
  return halo_module_parse(code, size, "the program", out);
}
