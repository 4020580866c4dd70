/* SPDX-License-Identifier: Apache-2.0 */
/* tests/fuzz/fuzz_mlir.c: any bytes as MLIR text. What can be read must print. */
#include "mlir_print.h"
#include "stablehlo/stablehlo.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  halo_mlir_program *program;
  halo_stablehlo_is_text((const char *)data, size);
  if (halo_mlir_read_text((const char *)data, size, "input", &program) != HALO_OK) return 0;
  halo_strbuf text = {0};
  mlir_print(&text, program, MLIR_PRINT_LOCATIONS);
  halo_strbuf_deinit(&text);
  for (int32_t i = 0; i < program->module->attr_count; i++) {
    int32_t count;
    halo_mlir_ints(program, program->module->attrs[i].value, &count);
  }
  halo_mlir_program_release(program);
  return 0;
}
