/* SPDX-License-Identifier: Apache-2.0 */
/* tests/fuzz/fuzz_proto.c: any bytes as an HLO proto. What can be read can be written, and reads back to the same text,
 * but for instructions of several computations with one name, which protos do not have: they get others. */
#include "base/map.h"
#include "halo/module.h"
#include "hlo/hlo.h"
#include "proto/proto.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_check(int good, const char *what, const char *text) {
  if (good) return;
  fprintf(stderr, "%s: %s\n%s\n", what, halo_error_message(), text);
  abort();
}

static int fuzz_shares_names(const halo_module *module) {
  halo_map taken = {0};
  int shares = 0;
  for (int32_t c = 0; c < module->computations.count; c++) {
    const halo_computation *computation = module->computations.data[c];
    for (int32_t i = 0; i < computation->instrs.count; i++) {
      const halo_instr *instr = computation->instrs.data[i];
      shares |= halo_map_get_text(&taken, instr->name) != NULL;
      halo_map_set_text(&taken, instr->name, (void *)instr);
    }
  }
  halo_map_deinit(&taken);
  return shares;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  halo_module *module, *copy;
  char *text, *again, *bytes;
  size_t length;
  if (halo_proto_read(data, size, "input", &module) != HALO_OK) return 0;
  fuzz_check(halo_module_to_text(module, 0, &text) == HALO_OK, "print", "");
  fuzz_check(halo_module_to_proto(module, &bytes, &length) == HALO_OK, "write", text);
  fuzz_check(halo_proto_read(bytes, length, "written", &copy) == HALO_OK, "read back", text);
  fuzz_check(halo_module_to_text(copy, 0, &again) == HALO_OK, "print again", text);
  fuzz_check(strcmp(text, again) == 0 || fuzz_shares_names(module),
             "it reads back as another module", text);
  halo_text_release(text);
  halo_text_release(again);
  halo_text_release(bytes);
  halo_module_release(module);
  halo_module_release(copy);
  return 0;
}
