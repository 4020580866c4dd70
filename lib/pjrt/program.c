/* pjrt/program.c: from the bytes of a program to a module. */
#include "pjrt/pjrt.h"

halo_status pjrt_program_read(const char *code, size_t size, halo_module **out) {
  return halo_module_read(code, size, "the program", NULL, out);
}
