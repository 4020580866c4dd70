/* SPDX-License-Identifier: Apache-2.0 */
/* tests/fuzz/fuzz_bytecode.c: any bytes as a portable artifact. What can be read must print, twice the same. */
#include "mlir_print.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_print(halo_strbuf *out, const uint8_t *data, size_t size) {
  halo_mlir_program *program;
  if (halo_mlir_read_bytecode(data, size, "input", &program) != HALO_OK) return;
  mlir_print(out, program, MLIR_PRINT_LOCATIONS);
  for (int32_t i = 0; i < program->module->attr_count; i++) {
    int32_t count;
    halo_mlir_ints(program, program->module->attrs[i].value, &count);
  }
  halo_mlir_program_release(program);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  halo_strbuf text = {0}, again = {0};
  fuzz_print(&text, data, size);
  fuzz_print(&again, data, size);
  if (strcmp(halo_strbuf_text(&text), halo_strbuf_text(&again)) != 0) {
    fprintf(stderr, "the second print differs\n");
    abort();
  }
  halo_strbuf_deinit(&text);
  halo_strbuf_deinit(&again);
  return 0;
}
