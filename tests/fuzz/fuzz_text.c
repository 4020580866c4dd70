/* SPDX-License-Identifier: Apache-2.0 */
/* tests/fuzz/fuzz_text.c: any bytes as HLO text. What can be read must print, and what was printed
 * must read back to the same text. */
#include "halo/module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__asan_default_options(void);

/* A lost constant ("{...}") may be of any size: memory that cannot be had is a status, no crash. */
const char *__asan_default_options(void) {
  return "allocator_may_return_null=1:max_allocation_size_mb=1500";
}

static void fuzz_check(int good, const char *what, const char *text) {
  if (good) return;
  fprintf(stderr, "%s: %s\n%s\n", what, halo_error_message(), text);
  abort();
}

static void fuzz_round_trip(const halo_module *module, unsigned flags) {
  char *text, *again;
  halo_module *copy;
  fuzz_check(halo_module_to_text(module, flags, &text) == HALO_OK, "print", "");
  fuzz_check(halo_module_parse(text, strlen(text), "printed", &copy) == HALO_OK,
             "the printed text does not read", text);
  fuzz_check(halo_module_to_text(copy, flags, &again) == HALO_OK, "print again", text);
  fuzz_check(strcmp(text, again) == 0, "the second print differs", again);
  halo_text_release(text);
  halo_text_release(again);
  halo_module_release(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  halo_module *module;
  if (halo_module_parse((const char *)data, size, "input", &module) != HALO_OK) return 0;
  fuzz_round_trip(module, 0);
  fuzz_round_trip(module, HALO_PRINT_SHORT);
  fuzz_round_trip(module, HALO_PRINT_OPERAND_SHAPES);
  halo_module_release(module);
  return 0;
}
