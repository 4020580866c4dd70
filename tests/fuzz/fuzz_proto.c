/* SPDX-License-Identifier: Apache-2.0 */
/* tests/fuzz/fuzz_proto.c: any bytes as an HLO proto. What can be read can be written, and reads back to the same text. */
#include "halo/module.h"
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  halo_module *module, *copy;
  char *text, *again, *bytes;
  size_t length;
  if (halo_proto_read(data, size, "input", &module) != HALO_OK) return 0;
  fuzz_check(halo_module_to_text(module, 0, &text) == HALO_OK, "print", "");
  fuzz_check(halo_module_to_proto(module, &bytes, &length) == HALO_OK, "write", text);
  fuzz_check(halo_proto_read(bytes, length, "written", &copy) == HALO_OK, "read back", text);
  fuzz_check(halo_module_to_text(copy, 0, &again) == HALO_OK, "print again", text);
  fuzz_check(strcmp(text, again) == 0, "it reads back as another module", text);
  halo_text_release(text);
  halo_text_release(again);
  halo_text_release(bytes);
  halo_module_release(module);
  halo_module_release(copy);
  return 0;
}
