/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_stablehlo_export.c: files that jax.export's serialize() made (tests/data/stablehlo/exported.jax), and
 * artifacts of versions that are not known. */
#include "stablehlo_test.h"
#include "suite.h"

#include <stdlib.h>

typedef struct file_bytes {
  unsigned char *data;
  size_t size;
} file_bytes;

static file_bytes slurp(const char *name) {
  char path[2048];
  snprintf(path, sizeof path, "%s/stablehlo/%s", HALO_TEST_DATA, name);
  FILE *file = fopen(path, "rb");
  ck_assert_msg(file != NULL, "%s", path);
  fseek(file, 0, SEEK_END);
  file_bytes out = {.size = (size_t)ftell(file)};
  rewind(file);
  out.data = malloc(out.size);
  ck_assert_uint_eq(fread(out.data, 1, out.size, file), out.size);
  fclose(file);
  return out;
}

/* f(x, y) = sin(x) @ y, x.sum() of f32[2,3] and f32[3,4]. */
START_TEST(exports_are_programs) {
  file_bytes file = slurp("exported.jax");
  halo_program_identity identity;
  halo_program_identify(file.data, file.size, &identity);
  ck_assert_str_eq(identity.format, "JAX export");
  ck_assert_str_eq(identity.producer, "StableHLO_v1.15.0");
  ck_assert_int_eq(identity.bytecode, 6);
  halo_module *module;
  ck_assert_msg(halo_module_read(file.data, file.size, "t", NULL, &module) == HALO_OK, "%s",
                halo_error_message());
  static const char *const args[] = {"{{0, 0, 0}, {0, 0, 0}}",
                                     "{{1, 2, 3, 4}, {1, 2, 3, 4}, {1, 2, 3, 4}}"};
  check_result(module, args, "( { { 0, 0, 0, 0 }, { 0, 0, 0, 0 } }, 0 )", "exported");
  halo_module_release(module);
  ck_assert_int_eq(halo_module_read_parameters(file.data, file.size, "t", &module), HALO_OK);
  ck_assert_int_eq(halo_module_parameter_count(module), 2);
  halo_module_release(module);
  free(file.data);
}
END_TEST

/* A copy of exactly these bytes, so that reading beyond them is seen. */
static bool read_exactly(const unsigned char *data, size_t size) {
  unsigned char *copy = malloc(size ? size : 1);
  if (size) memcpy(copy, data, size);
  halo_module *module = NULL;
  halo_status status = halo_module_read(copy, size, "t", NULL, &module);
  halo_module_release(module);
  free(copy);
  return status == HALO_OK;
}

START_TEST(broken_exports) {
  static const unsigned char values[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
  file_bytes file = slurp("exported.jax");
  const void *artifact;
  size_t size;
  ck_assert(halo_export_artifact(file.data, file.size, &artifact, &size));
  size_t behind = (size_t)((const unsigned char *)artifact - file.data) + size;
  for (size_t cut = 0; cut < behind; cut++) ck_assert(!read_exactly(file.data, cut));
  ck_assert(read_exactly(file.data, behind));
  /* Every byte before the artifact's own, which other tests break. */
  for (size_t i = 0; i < behind - size; i++) {
    unsigned char good = file.data[i];
    for (size_t v = 0; v < sizeof values; v++) {
      file.data[i] = values[v];
      read_exactly(file.data, file.size);
    }
    file.data[i] = good;
  }
  free(file.data);
}
END_TEST

/* Puts text of the same length in the place of the first of its like. */
static void replace(file_bytes *file, const char *from, const char *to) {
  for (size_t i = 0; i + strlen(from) <= file->size; i++) {
    if (memcmp(file->data + i, from, strlen(from)) != 0) continue;
    memcpy(file->data + i, to, strlen(to));
    return;
  }
  ck_abort_msg("no %s", from);
}

/* Whoever has an artifact of tomorrow learns that it is; a version alone is no fault. */
START_TEST(unknown_versions) {
  static const struct {
    const char *version, *says; /* NULL: it is known */
  } rows[] = {
      {"StableHLO_v1.21.0",
       "the artifact is of StableHLO 1.21, and only 0.9 to 1.20 are supported"},
      {"StableHLO_v2.17.0",
       "the artifact is of StableHLO 2.17, and only 0.9 to 1.20 are supported"},
      {"StableHLO_v0.08.0", "the artifact is of StableHLO 0.8, and only 0.9 to 1.20 are supported"},
      {"StableHLO_v1.20.0", NULL},
      {"StableHLO_v0.09.0", NULL},
      {"MLIR_trunk_______", NULL},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    file_bytes file = slurp("elementwise.1.17.0.mlirbc");
    halo_module *module = NULL;
    replace(&file, "StableHLO_v1.17.0", rows[i].version);
    ck_assert(read_exactly(file.data, file.size));
    replace(&file, "add_v1", "add_v7");
    ck_assert_int_eq(halo_module_read(file.data, file.size, "t", NULL, &module),
                     HALO_UNIMPLEMENTED);
    const char *message = halo_error_message();
    ck_assert_msg(strstr(message, "vhlo.add_v7") != NULL, "%s", message);
    bool said = strstr(message, "the artifact is of") != NULL;
    ck_assert_msg(said == (rows[i].says != NULL), "%s", message);
    if (said) ck_assert_msg(strstr(message, rows[i].says) == message, "%s", message);
    free(file.data);
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("stablehlo_export");
  TCase *tests = tcase_create("files");
  tcase_add_test(tests, exports_are_programs);
  tcase_add_test(tests, broken_exports);
  tcase_add_test(tests, unknown_versions);
  suite_add_tcase(suite, tests);
  return suite_run(suite);
}
