/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_proto.c: HLO protos: those that XLA made (tests/data/proto), our own, and broken ones. */
#include "base/memory.h"
#include "base/strbuf.h"
#include "halo/module.h"
#include "proto/proto.h"
#include "suite.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

/* ---- Files ---- */

enum { MOST_FILES = 256 };

typedef struct file_bytes {
  char *data;
  size_t size;
} file_bytes;

static file_bytes slurp(const char *folder, const char *name) {
  char path[2048];
  snprintf(path, sizeof path, "%s/%.64s/%.64s", HALO_TEST_DATA, folder, name);
  FILE *file = fopen(path, "rb");
  file_bytes out = {0};
  if (!file) return out;
  fseek(file, 0, SEEK_END);
  out.size = (size_t)ftell(file);
  rewind(file);
  out.data = calloc(1, out.size + 1);
  ck_assert_uint_eq(fread(out.data, 1, out.size, file), out.size);
  fclose(file);
  return out;
}

static int list_files(const char *folder, const char *end, char names[MOST_FILES][64]) {
  char path[2048];
  snprintf(path, sizeof path, "%s/%.64s", HALO_TEST_DATA, folder);
  DIR *dir = opendir(path);
  ck_assert_ptr_nonnull(dir);
  int count = 0;
  for (struct dirent *entry; (entry = readdir(dir));) {
    size_t length = strlen(entry->d_name), tail = strlen(end);
    if (length < tail || strcmp(entry->d_name + length - tail, end) != 0) continue;
    ck_assert_int_lt(count, MOST_FILES);
    snprintf(names[count++], 64, "%.63s", entry->d_name);
  }
  closedir(dir);
  return count;
}

/* The text that the proto was made of: NAME.hlo beside it, or in tests/data/hlo. */
static file_bytes source_of(const char *name) {
  char text[96];
  snprintf(text, sizeof text, "%.*s.hlo", (int)(strlen(name) - strlen(".pb")), name);
  file_bytes out = slurp("proto", text);
  if (!out.data) out = slurp("hlo", text);
  ck_assert_msg(out.data != NULL, "%s", text);
  return out;
}

/* ---- Comparing ---- */

static int by_text(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Computations may be in another order, and a proto has no replica counts and no marks for XLA's partitioner. */
static char *canonical(const halo_module *module) {
  char *text, *parts[512];
  int count = 0;
  ck_assert_int_eq(halo_module_to_text(module, HALO_PRINT_SHORT, &text), HALO_OK);
  for (char *at; (at = strstr(text, ", allow_spmd_"));)
    memmove(at, strchr(at, '}') + 1, strlen(strchr(at, '}') + 1) + 1);
  for (char *at = text; at && count < 512; at = strstr(at, "\n\n")) {
    if (at != text) {
      *at = '\0';
      at += 2;
    }
    parts[count++] = at;
  }
  for (int i = 0; i < count; i++)
    while (strlen(parts[i]) && parts[i][strlen(parts[i]) - 1] == '\n')
      parts[i][strlen(parts[i]) - 1] = '\0';
  qsort(parts, (size_t)count, sizeof *parts, by_text);
  halo_strbuf out = {0};
  for (int i = 0; i < count; i++) {
    halo_strbuf_append(&out, parts[i]);
    halo_strbuf_append(&out, "\n\n");
  }
  halo_text_release(text);
  return halo_strbuf_take(&out);
}

static void expect_equal(const halo_module *got, const halo_module *expected, const char *name) {
  char *a = canonical(got), *b = canonical(expected);
  ck_assert_msg(strcmp(a, b) == 0, "%s reads as\n%s\nnot\n%s", name, a, b);
  halo_free(a);
  halo_free(b);
}

static halo_module *parse(file_bytes source, const char *name) {
  halo_module *module;
  halo_status status = halo_module_parse(source.data, source.size, name, &module);
  ck_assert_msg(status == HALO_OK, "%s", halo_error_message());
  return module;
}

/* ---- Modules ---- */

START_TEST(protos_of_xla_are_read) {
  static char names[MOST_FILES][64];
  int count = list_files("proto", ".pb", names);
  ck_assert_int_ge(count, 24);
  for (int i = 0; i < count; i++) {
    file_bytes proto = slurp("proto", names[i]), source = source_of(names[i]);
    halo_module *read, *expected = parse(source, names[i]);
    ck_assert(halo_proto_is_module(proto.data, proto.size));
    halo_status status = halo_proto_read(proto.data, proto.size, names[i], &read);
    ck_assert_msg(status == HALO_OK, "%s", halo_error_message());
    free(proto.data);
    free(source.data);
    expect_equal(read, expected, names[i]);
    halo_module_release(read);
    halo_module_release(expected);
  }
}
END_TEST

/* What the texts of tests/data/hlo say comes back, but for what is lost in them already. */
START_TEST(what_is_written_reads_back) {
  static char names[MOST_FILES][64];
  int count = list_files("hlo", ".hlo", names), written = 0;
  for (int i = 0; i < count; i++) {
    file_bytes source = slurp("hlo", names[i]);
    halo_module *module = parse(source, names[i]), *again;
    char *bytes;
    size_t size;
    halo_status status = halo_module_to_proto(module, &bytes, &size);
    if (strstr(source.data, "{...}")) {
      ck_assert_int_eq(status, HALO_UNIMPLEMENTED);
      ck_assert_msg(strstr(halo_error_message(), "left out") != NULL, "%s", halo_error_message());
    } else {
      ck_assert_msg(status == HALO_OK, "%s: %s", names[i], halo_error_message());
      status = halo_module_read(bytes, size, names[i], NULL, &again);
      ck_assert_msg(status == HALO_OK, "%s: %s", names[i], halo_error_message());
      expect_equal(again, module, names[i]);
      halo_module_release(again);
      halo_text_release(bytes);
      written++;
    }
    halo_module_release(module);
    free(source.data);
  }
  ck_assert_int_ge(written, 40);
}
END_TEST

/* HloProto and HloSnapshot: a message whose first field is the module, and one whose first is that. */
START_TEST(names_are_the_modules) {
  static const char text[] =
      "HloModule m\nf {\n  x = f32[4] parameter(0)\n  ROOT y = f32[4] negate(x)\n}\n"
      "g {\n  x = f32[4] parameter(0)\n  x.c2 = f32[4] sine(x)\n  ROOT y = f32[4] negate(x.c2)\n}\n"
      "ENTRY e {\n  x = f32[4] parameter(0)\n  y = f32[4] fusion(x), kind=kLoop, calls=f\n"
      "  ROOT z = f32[4] fusion(y), kind=kLoop, calls=g\n}\n";
  halo_module *module, *again;
  char *bytes;
  size_t size;
  ck_assert_int_eq(halo_module_parse(text, strlen(text), "test", &module), HALO_OK);
  ck_assert_int_eq(halo_module_to_proto(module, &bytes, &size), HALO_OK);
  ck_assert_int_eq(halo_module_read(bytes, size, "test", NULL, &again), HALO_OK);
  char *printed;
  ck_assert_int_eq(halo_module_to_text(again, HALO_PRINT_SHORT, &printed), HALO_OK);
  /* Each name stands to the left of one "=". */
  for (const char *line = printed; *line; line += strcspn(line, "\n") + 1) {
    const char *at = line + strspn(line, " "), *name = strncmp(at, "ROOT ", 5) == 0 ? at + 5 : at;
    const char *end = strstr(name, " = ");
    if (!end || end > line + strcspn(line, "\n")) continue;
    char pattern[100];
    snprintf(pattern, sizeof pattern, " %.*s = ", (int)(end - name), name);
    const char *first = strstr(printed, pattern);
    ck_assert_msg(first && !strstr(first + 1, pattern), "twice%s: %s", pattern, printed);
  }
  halo_text_release(printed);
  halo_text_release(bytes);
  halo_module_release(again);
  halo_module_release(module);
}
END_TEST

START_TEST(messages_around_modules_are_read) {
  file_bytes proto = slurp("proto", "slice.pb");
  for (int depth = 1; depth <= 2; depth++) {
    char *outer = calloc(1, proto.size + 4);
    ck_assert_uint_lt(proto.size, 1 << 14);
    outer[0] = 1 << 3 | 2;
    outer[1] = (char)((proto.size & 0x7F) | 0x80);
    outer[2] = (char)(proto.size >> 7);
    memcpy(outer + 3, proto.data, proto.size);
    free(proto.data);
    proto.data = outer;
    proto.size += 3;
    halo_module *module;
    halo_status status = halo_module_read(proto.data, proto.size, "outer", NULL, &module);
    ck_assert_msg(status == HALO_OK, "%s", halo_error_message());
    halo_module_release(module);
  }
  free(proto.data);
}
END_TEST

START_TEST(texts_are_no_protos) {
  static char names[MOST_FILES][64];
  int count = list_files("hlo", ".hlo", names);
  for (int i = 0; i < count; i++) {
    file_bytes source = slurp("hlo", names[i]);
    ck_assert_msg(!halo_proto_is_module(source.data, source.size), "%s", names[i]);
    free(source.data);
  }
  ck_assert(!halo_proto_is_module("", 0));
  ck_assert(!halo_proto_is_module("\n\nHloModule m", 13));
  /* Another message of XLA's dumps, of which memory use is made: numbers where a module has a name. */
  ck_assert(!halo_proto_is_module("\x0a\x08\x08\x01\x10\x02\x1a\x02\x10\x05", 10));
}
END_TEST

START_TEST(places_come_from_the_table_of_frames) {
  file_bytes proto = slurp("proto", "gather_debug.pb");
  halo_module *module;
  char *text;
  ck_assert_int_eq(halo_proto_read(proto.data, proto.size, "gather", &module), HALO_OK);
  ck_assert_int_eq(halo_module_to_text(module, 0, &text), HALO_OK);
  ck_assert_msg(strstr(text, "source_file=\"") != NULL, "%s", text);
  ck_assert_msg(strstr(text, "stack_frame_id") == NULL, "%s", text);
  halo_text_release(text);
  halo_module_release(module);
  free(proto.data);
}
END_TEST

/* ---- Broken ones ---- */

static halo_status read_exactly(const char *data, size_t size) {
  char *copy = malloc(size ? size : 1);
  if (size) memcpy(copy, data, size);
  halo_module *module;
  halo_status status = halo_proto_read(copy, size, "broken.pb", &module);
  free(copy);
  if (status == HALO_OK) halo_module_release(module);
  return status;
}

START_TEST(any_byte_may_be_wrong) {
  static const char *const names[] = {"annotated.pb", "constants.pb", "scatter.pb",
                                      "while_compiled.pb", "gather_debug.pb"};
  static const unsigned char values[] = {0x00, 0x01, 0x7F, 0x80, 0xFF};
  for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
    file_bytes file = slurp("proto", names[n]);
    for (size_t size = 0; size < file.size; size++) {
      halo_status status = read_exactly(file.data, size);
      ck_assert_msg(status == HALO_OK || strncmp(halo_error_message(), "broken.pb", 9) == 0,
                    "%s cut to %zu: %s", names[n], size, halo_error_message());
    }
    for (size_t i = 0; i < file.size; i++) {
      char good = file.data[i];
      for (size_t v = 0; v < sizeof values; v++) {
        file.data[i] = (char)values[v];
        read_exactly(file.data, file.size);
      }
      file.data[i] = good;
    }
    free(file.data);
  }
}
END_TEST

START_TEST(memory_may_end) {
  file_bytes file = slurp("proto", "annotated.pb");
  halo_module *module;
  int64_t n = 1;
  for (;; n++) {
    halo_memory_fail(n);
    halo_status status = halo_proto_read(file.data, file.size, "program", &module);
    halo_memory_fail(0);
    if (status == HALO_OK) break;
    ck_assert_int_eq(status, HALO_OUT_OF_MEMORY);
  }
  ck_assert_int_gt(n, 10);
  char *bytes;
  size_t size;
  for (n = 1;; n++) {
    halo_memory_fail(n);
    halo_status status = halo_module_to_proto(module, &bytes, &size);
    halo_memory_fail(0);
    if (status == HALO_OK) break;
    ck_assert_int_eq(status, HALO_OUT_OF_MEMORY);
  }
  halo_text_release(bytes);
  halo_module_release(module);
  free(file.data);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("proto");
  TCase *good = tcase_create("modules");
  tcase_set_timeout(good, 120);
  tcase_add_test(good, protos_of_xla_are_read);
  tcase_add_test(good, what_is_written_reads_back);
  tcase_add_test(good, names_are_the_modules);
  tcase_add_test(good, messages_around_modules_are_read);
  tcase_add_test(good, texts_are_no_protos);
  tcase_add_test(good, places_come_from_the_table_of_frames);
  suite_add_tcase(suite, good);
  TCase *bad = tcase_create("broken");
  tcase_set_timeout(bad, 300);
  tcase_add_test(bad, any_byte_may_be_wrong);
  tcase_add_test(bad, memory_may_end);
  suite_add_tcase(suite, bad);
  return suite_run(suite);
}
