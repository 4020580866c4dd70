/* SPDX-License-Identifier: Apache-2.0 */
/* tests/fuzz/fuzz_executable.c: hostile bytes as a serialised executable whose checksum fits, for a device
 * that runs nothing. 'R' and the parts behind the checksum; or 'M', a byte that chooses what is asked of
 * the kernels, and the text of a module. What can be loaded must serialise again. */
#include "base/map.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "halo/client.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__asan_default_options(void);

/* Memory that cannot be had is a status. */
const char *__asan_default_options(void) {
  return "allocator_may_return_null=1:max_allocation_size_mb=1500";
}

static const char device_file[] =
    "name = A device that is not there\nhas_f64 = true\nkind = gpu\ncompute_units = 8\n"
    "max_work_group = 256\nmax_items = 1024 1024 1024\nlocal_memory = 32768\nglobal_memory = "
    "1073741824\n"
    "max_allocation = 268435456\naddress_bits = 64\nmax_parameters = 1024\n";

static halo_client *client;
static char *head; /* "version ...\ndevice ...\norigin ...\n" of what this client makes */

static void fuzz_check(int good, const char *what) {
  if (good) return;
  fprintf(stderr, "%s: %s\n", what, halo_error_message());
  abort();
}

static void fuzz_begin(void) {
  char path[] = "/tmp/halo-fuzz-XXXXXX", selector[64];
  int fd = mkstemp(path);
  fuzz_check(write(fd, device_file, sizeof device_file - 1) > 0, "write");
  close(fd);
  snprintf(selector, sizeof selector, "null:%s", path);
  halo_client_options options = {.device = selector, .cache_dir = ""};
  fuzz_check(halo_client_create(&options, &client) == HALO_OK, "client");
  unlink(path);
  static const char text[] = "ENTRY e { p = f32[2] parameter(0) ROOT n = negate(p) }";
  halo_module *module;
  halo_executable *executable;
  char *data;
  size_t size;
  fuzz_check(halo_module_parse(text, strlen(text), "t", &module) == HALO_OK, "parse");
  fuzz_check(halo_client_compile(client, module, NULL, &executable) == HALO_OK, "compile");
  fuzz_check(halo_executable_serialize(executable, &data, &size) == HALO_OK, "serialize");
  const char *start = strchr(data, '\n') + 1, *end = strstr(start, "\nreplicas ");
  head = strndup(start, (size_t)(end - start + 1));
  halo_text_release(data);
  halo_executable_release(executable);
  halo_module_release(module);
}

static const char *const kernels[] = {NULL, "", "loop:generic", "dot:loop,reduce:loop,-loop:turn"};

/* What is to be loaded, without the line that holds the checksum. */
static void fuzz_body(const uint8_t *data, size_t size, halo_strbuf *body) {
  const char *text = (const char *)data + 1;
  if (*data == 'R') {
    halo_strbuf_append(body, head);
    halo_strbuf_append_n(body, text, size - 1);
    return;
  }
  const char *wanted = kernels[(uint8_t)text[0] % 4];
  halo_strbuf_printf(body, "%sreplicas 1\npartitions 1\nkernels %d\n%s\nmodule %zu\n", head,
                     wanted ? (int)strlen(wanted) : -1, wanted ? wanted : "", size - 2);
  halo_strbuf_append_n(body, text + 1, size - 2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (!client) fuzz_begin();
  if (size < 2) return 0;
  halo_strbuf body = {0}, whole = {0};
  fuzz_body(data, size, &body);
  uint64_t key[2] = {0};
  halo_hash_wide(key, body.data, body.length);
  halo_strbuf_printf(&whole, "halo executable 2 %016" PRIx64 "%016" PRIx64 "\n", key[0], key[1]);
  halo_strbuf_append_n(&whole, body.data, body.length);
  halo_executable *executable;
  if (halo_client_deserialize(client, whole.data, whole.length, NULL, &executable) == HALO_OK) {
    char *again;
    size_t length;
    fuzz_check(halo_executable_serialize(executable, &again, &length) == HALO_OK, "again");
    halo_text_release(again);
    halo_executable_release(executable);
  }
  halo_strbuf_deinit(&body);
  halo_strbuf_deinit(&whole);
  return 0;
}
