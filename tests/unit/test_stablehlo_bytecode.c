/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_stablehlo_bytecode.c: portable artifacts (tests/data/stablehlo), as StableHLO's own reader reads them
 * (NAME.expected), and broken ones. */
#include "base/memory.h"
#include "halo/status.h"
#include "mlir_print.h"
#include "suite.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

/* ---- Files ---- */

enum { MOST_FILES = 512 };

typedef struct file_bytes {
  char *data;
  size_t size;
} file_bytes;

static file_bytes slurp(const char *path) {
  FILE *file = fopen(path, "rb");
  ck_assert_msg(file != NULL, "%s", path);
  fseek(file, 0, SEEK_END);
  file_bytes out = {.size = (size_t)ftell(file)};
  rewind(file);
  out.data = calloc(1, out.size + 1);
  ck_assert_uint_eq(fread(out.data, 1, out.size, file), out.size);
  fclose(file);
  return out;
}

static const char *data_path(const char *folder, const char *name) {
  static char path[2048];
  snprintf(path, sizeof path, "%s/%.64s/%.64s", HALO_TEST_DATA, folder, name);
  return path;
}

static bool ends_with(const char *text, const char *end) {
  size_t length = strlen(text), tail = strlen(end);
  return length >= tail && strcmp(text + length - tail, end) == 0;
}

static int by_text(const void *a, const void *b) { return strcmp(a, b); }

/* Names of files in a folder with this end, sorted; how many there are. */
static int list_files(const char *folder, const char *end, char names[MOST_FILES][64]) {
  DIR *dir = opendir(data_path(folder, ""));
  ck_assert_ptr_nonnull(dir);
  int count = 0;
  for (struct dirent *entry; (entry = readdir(dir));) {
    if (!ends_with(entry->d_name, end)) continue;
    ck_assert_int_lt(count, MOST_FILES);
    snprintf(names[count++], 64, "%.63s", entry->d_name);
  }
  closedir(dir);
  qsort(names, (size_t)count, 64, by_text);
  return count;
}

static halo_mlir_program *read_good(const char *name) {
  file_bytes file = slurp(data_path("stablehlo", name));
  halo_mlir_program *program;
  halo_status status = halo_mlir_read_bytecode(file.data, file.size, name, &program);
  ck_assert_msg(status == HALO_OK, "%s", halo_error_message());
  free(file.data); /* nothing of the program may be in it */
  return program;
}

static const halo_mlir_op *main_op(const halo_mlir_program *program, int32_t i) {
  const halo_mlir_op *function = mlir_function(program, "main");
  ck_assert_ptr_nonnull(function);
  ck_assert_int_lt(i, function->regions[0].block->ops.count);
  return function->regions[0].block->ops.data[i];
}

/* ---- Programs ---- */

START_TEST(artifacts_are_read_as_stablehlo_reads_them) {
  static char names[MOST_FILES][64];
  int count = list_files("stablehlo", ".mlirbc", names);
  ck_assert_int_ge(count, 90);
  for (int i = 0; i < count; i++) {
    char expected_name[96];
    snprintf(expected_name, sizeof expected_name, "%.*s.expected", (int)strcspn(names[i], "."),
             names[i]);
    file_bytes expected = slurp(data_path("stablehlo", expected_name));
    halo_mlir_program *program = read_good(names[i]);
    halo_strbuf text = {0};
    mlir_print(&text, program, 0);
    ck_assert_msg(strcmp(halo_strbuf_text(&text), expected.data) == 0, "%s reads as\n%s\nnot\n%s",
                  names[i], halo_strbuf_text(&text), expected.data);
    halo_strbuf_deinit(&text);
    halo_mlir_program_release(program);
    free(expected.data);
  }
}
END_TEST

typedef struct loc_row {
  const char *name, *file;
  int line, column;
} loc_row;

static void expect_loc(const halo_mlir_loc *loc, const loc_row *row, const char *file) {
  if (!row->name && !row->file) {
    ck_assert_msg(!loc, "%s: a location where none was", file);
    return;
  }
  ck_assert_msg(loc != NULL, "%s: no location", file);
  ck_assert_pstr_eq(loc->name, row->name);
  ck_assert_pstr_eq(loc->file, row->file);
  ck_assert_int_eq(loc->line, row->line);
  ck_assert_int_eq(loc->column, row->column);
}

START_TEST(locations_come_to_a_name_and_a_place) {
  static const loc_row rows[] = {{"jit(f)/add", "model.py", 12, 34},
                                 {"inner", "deep.py", 1, 2},
                                 {"jit(f)/mul", "deep.py", 1, 2},
                                 {"first", "deep.py", 1, 2},
                                 {NULL, "a.py", 5, 6},
                                 {NULL, NULL, 0, 0},
                                 {"only name", NULL, 0, 0},
                                 {NULL, "end.py", 7, 1}};
  static const loc_row argument = {"x", NULL, 0, 0}, none = {NULL, NULL, 0, 0};
  static const char *const versions[] = {"0.9.0", "0.14.0", "1.8.0", "1.9.0", "1.17.0"};
  for (size_t v = 0; v < sizeof versions / sizeof *versions; v++) {
    char name[64];
    snprintf(name, sizeof name, "locations.%s.mlirbc", versions[v]);
    halo_mlir_program *program = read_good(name);
    for (int32_t i = 0; i < (int32_t)(sizeof rows / sizeof *rows); i++)
      expect_loc(main_op(program, i)->loc, &rows[i], name);
    const halo_mlir_block *block = main_op(program, 0)->block;
    expect_loc(block->args[0].loc, &argument, name);
    expect_loc(block->args[1].loc, &none, name);
    halo_mlir_program_release(program);
  }
}
END_TEST

START_TEST(splats_keep_one_value) {
  static const struct {
    int32_t op;
    int64_t elements, kept;
    double value;
  } rows[] = {{2, 64, 64, 7}, {3, 65, 1, -7},  {4, 1000000000, 1, 1.0e-300},
              {11, 3, 3, 1},  {12, 100, 1, 0}, {13, 100, 1, 1},
              {5, 0, 0, 0}};
  halo_mlir_program *program = read_good("constants.1.17.0.mlirbc");
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
    const halo_mlir_attr *value = halo_mlir_attr_of(main_op(program, rows[r].op), "value");
    ck_assert_int_eq(value->kind, HALO_MLIR_DENSE);
    const halo_shape *shape = halo_literal_shape(value->literal);
    int64_t elements = 1;
    for (int32_t d = 0; d < value->type->rank; d++) elements *= value->type->dims[d];
    ck_assert_int_eq(elements, rows[r].elements);
    ck_assert_int_eq(halo_shape_element_count(shape), rows[r].kept);
    if (rows[r].kept) ck_assert_double_eq(halo_literal_get_f64(value->literal, 0), rows[r].value);
  }
  halo_mlir_program_release(program);
}
END_TEST

START_TEST(attributes_have_the_form_of_text) {
  halo_mlir_program *program = read_good("custom_calls.1.3.0.mlirbc");
  ck_assert_str_eq(program->producer, "StableHLO_v1.3.0");
  const halo_mlir_op *old = main_op(program, 1), *ffi = main_op(program, 3);
  ck_assert_int_eq(old->opcode, HALO_MLIR_OP_CUSTOM_CALL);
  ck_assert_int_eq(halo_mlir_int(old, "api_version", -1), 2);
  const halo_mlir_attr *config = halo_mlir_attr_of(old, "backend_config");
  ck_assert_int_eq(config->string.length, strlen("text") + 1 + strlen("more"));
  ck_assert_str_eq(config->string.text + 5, "more");
  const halo_mlir_attr *called = halo_mlir_attr_of(old, "called_computations");
  ck_assert_int_eq(called->array.count, 1);
  ck_assert_int_eq(called->array.data[0]->kind, HALO_MLIR_SYMBOL);
  const halo_mlir_attr *options = halo_mlir_attr_of(ffi, "backend_config");
  ck_assert_int_eq(options->kind, HALO_MLIR_DICT);
  ck_assert_int_eq(halo_mlir_dict_get(options, "uplo")->i, 76);
  ck_assert_int_eq(halo_mlir_dict_get(options, "n")->i, -3);
  int32_t count;
  const halo_mlir_attr *layouts = halo_mlir_attr_of(main_op(program, 2), "operand_layouts");
  const int64_t *layout = halo_mlir_ints(program, layouts->array.data[0], &count);
  ck_assert_int_eq(count, 2);
  ck_assert_int_eq(layout[1], 1);
  halo_mlir_program_release(program);
}
END_TEST

/* ---- Broken files ---- */

START_TEST(broken_files_are_refused) {
  static const struct {
    const char *name, *part;
  } rows[] = {
      {"attribute", "attribute 5000 of"},
      {"bits", "3 bytes for a tensor of 9 elements"},
      {"blob", "16 bytes for a tensor of 3 elements"},
      {"blocks", "regions of several blocks are not supported"},
      {"code", "VHLO's attribute of code 99 is not known"},
      {"cycle", "an attribute or type that contains itself"},
      {"deep", "nested deeper than 128"},
      {"dimension", "dimension 0 of a tensor is -5"},
      {"dynamic", "an unknown or too large number of elements"},
      {"empty", "byte 0: this is no MLIR bytecode"},
      {"enum", "comparison_direction 6"},
      {"mask", "bytecode 6 has no operation of mask 80"},
      {"native", "operation stablehlo.add: this is MLIR bytecode of StableHLO itself"},
      {"producer", "the name of the producer does not end"},
      {"properties", "the properties of an operation should end here, but 1 bytes are left"},
      {"rank", "ranks above 64 are not supported"},
      {"regions", "regions are nested deeper than 256"},
      {"rest", "an attribute should end here, but 1 bytes are left"},
      {"section_cut", "10 bytes are announced, but 9 are left"},
      {"section_misaligned", "an alignment of 3 is no power of two"},
      {"section_missing", "the file has no section of number 1"},
      {"section_twice", "a second section of number 1"},
      {"section_unknown", "an unknown section of number 9"},
      {"shared", "the operations have too many attributes"},
      {"splat", "an unknown or too large number of elements"},
      {"string", "string 5000 of"},
      {"successors", "operation vhlo.br_v1 goes on in other blocks"},
      {"text", "this is no MLIR bytecode"},
      {"type_code", "VHLO's type of code 99 is not known"},
      {"undefined", "value 1 is used before it is defined"},
      {"value", "value 2 of 2"},
      {"values_fewer", "the region announces 1 value more than it has"},
      {"values_greedy", "40 entries are announced, but 7 bytes are left"},
      {"values_more", "the region has more values than it announces"},
      {"version", "MLIR bytecode of version 7"},
      {"wide", "is made of too many others"},
  };
  static char names[MOST_FILES][64];
  ck_assert_int_eq(list_files("stablehlo/broken", ".bytecode", names), sizeof rows / sizeof *rows);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char name[64];
    snprintf(name, sizeof name, "%s.bytecode", rows[i].name);
    file_bytes file = slurp(data_path("stablehlo/broken", name));
    halo_mlir_program *program;
    halo_status status = halo_mlir_read_bytecode(file.data, file.size, name, &program);
    ck_assert_msg(status == HALO_INVALID_ARGUMENT || status == HALO_UNIMPLEMENTED, "%s: %s", name,
                  halo_status_name(status));
    ck_assert_ptr_null(program);
    ck_assert_msg(strstr(halo_error_message(), rows[i].part) != NULL, "\"%s\" lacks \"%s\"",
                  halo_error_message(), rows[i].part);
    ck_assert_msg(strncmp(halo_error_message(), name, strlen(name)) == 0, "%s",
                  halo_error_message());
    free(file.data);
  }
}
END_TEST

/* A copy of exactly these bytes, so that reading beyond them is seen. */
static void read_exactly(const char *data, size_t size, bool must_fail, const char *name) {
  char *copy = malloc(size ? size : 1);
  if (size) memcpy(copy, data, size);
  halo_mlir_program *program;
  halo_status status = halo_mlir_read_bytecode(copy, size, name, &program);
  ck_assert_msg(!must_fail || status != HALO_OK, "%s is read, cut to %zu bytes", name, size);
  free(copy);
  if (status != HALO_OK) return;
  halo_strbuf text = {0};
  mlir_print(&text, program, MLIR_PRINT_LOCATIONS);
  halo_strbuf_deinit(&text);
  halo_mlir_program_release(program);
}

START_TEST(files_that_are_cut_are_refused) {
  static const char *const names[] = {"control.0.9.0.mlirbc", "control.1.17.0.mlirbc",
                                      "made_aligned.1.20.0.mlirbc"};
  for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
    file_bytes file = slurp(data_path("stablehlo", names[n]));
    for (size_t size = 0; size < file.size; size++) read_exactly(file.data, size, true, names[n]);
    free(file.data);
  }
}
END_TEST

START_TEST(any_byte_may_be_wrong) {
  static const char *const names[] = {
      "control.0.9.0.mlirbc",   "shardy.1.17.0.mlirbc",         "module_attributes.1.17.0.mlirbc",
      "products.1.17.0.mlirbc", "made_quantised.1.17.0.mlirbc", "locations.1.17.0.mlirbc"};
  static const unsigned char values[] = {0x00, 0x01, 0x03, 0x7F, 0x80, 0xFE, 0xFF};
  for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
    file_bytes file = slurp(data_path("stablehlo", names[n]));
    for (size_t i = 0; i < file.size; i++) {
      char good = file.data[i];
      for (size_t v = 0; v < sizeof values; v++) {
        file.data[i] = (char)values[v];
        read_exactly(file.data, file.size, false, names[n]);
      }
      file.data[i] = good;
    }
    free(file.data);
  }
}
END_TEST

/* Memory that ends at any allocation is a status, and nothing is left behind (as leak checkers see). */
START_TEST(memory_may_end) {
  file_bytes file = slurp(data_path("stablehlo", "custom_calls.1.17.0.mlirbc"));
  halo_mlir_program *program;
  int64_t n = 1;
  for (;; n++) {
    halo_memory_fail(n);
    halo_status status = halo_mlir_read_bytecode(file.data, file.size, "program", &program);
    halo_memory_fail(0);
    if (status == HALO_OK) break;
    ck_assert_int_eq(status, HALO_OUT_OF_MEMORY);
    ck_assert_ptr_null(program);
  }
  ck_assert_int_gt(n, 10);
  halo_mlir_program_release(program);
  free(file.data);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("stablehlo_bytecode");
  TCase *good = tcase_create("artifacts");
  tcase_set_timeout(good, 120);
  tcase_add_test(good, artifacts_are_read_as_stablehlo_reads_them);
  tcase_add_test(good, locations_come_to_a_name_and_a_place);
  tcase_add_test(good, splats_keep_one_value);
  tcase_add_test(good, attributes_have_the_form_of_text);
  suite_add_tcase(suite, good);
  TCase *bad = tcase_create("broken");
  tcase_set_timeout(bad, 300);
  tcase_add_test(bad, broken_files_are_refused);
  tcase_add_test(bad, files_that_are_cut_are_refused);
  tcase_add_test(bad, any_byte_may_be_wrong);
  tcase_add_test(bad, memory_may_end);
  suite_add_tcase(suite, bad);
  return suite_run(suite);
}
