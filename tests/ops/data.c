/* SPDX-License-Identifier: Apache-2.0 */
/* data.c: reading the recorded cases and the worked examples (the format is record.py's). */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *data_read_text(const char *path) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) {
    fprintf(stderr, "test_ops: cannot read %s\n", path);
    return NULL;
  }
  fseek(file, 0, SEEK_END);
  long size = ftell(file);
  rewind(file);
  char *text = malloc((size_t)size + 1);
  size_t got = fread(text, 1, (size_t)size, file);
  text[got] = 0;
  fclose(file);
  return text;
}

/* Cuts the next line off *rest and returns it. */
static char *data_next_line(char **rest) {
  char *line = *rest, *end = strchr(line, '\n');
  if (end != NULL) {
    *end = 0;
    *rest = end + 1;
  } else {
    *rest = line + strlen(line);
  }
  return line;
}

static bool data_starts(const char *text, const char *prefix) {
  return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* "LABEL BOUND REASON..." */
static bool data_add_bound(ops_case *one, char *text) {
  char *space = strchr(text, ' ');
  if (space == NULL) {
    return false;
  }
  *space = 0;
  one->bounds = realloc(one->bounds, sizeof(ops_bound) * (size_t)(one->bound_count + 1));
  one->bounds[one->bound_count++] = (ops_bound){text, strtoull(space + 1, NULL, 10)};
  return true;
}

/* Where the module text that begins at `text` ends: the text is cut there. */
static char *data_cut_module(char *text) {
  char *end = data_starts(text, "//! ") ? text : strstr(text, "\n//! ");
  if (end == NULL) {
    return text + strlen(text);
  }
  if (end != text) {
    *end++ = 0;
  }
  return end;
}

bool ops_family_load(const char *folder, const char *name, ops_family *family) {
  char path[4096];
  memset(family, 0, sizeof *family);
  family->name = strdup(name);
  snprintf(path, sizeof path, "%s/%s.hlo", folder, name);
  family->buffer = data_read_text(path);
  if (family->buffer == NULL) {
    return false;
  }
  char *rest = family->buffer;
  ops_case *one = NULL;
  bool good = true;
  while (*rest != 0 && good) {
    if (!data_starts(rest, "//! ")) { /* the text of a module, after its header lines */
      if (one == NULL) {
        data_next_line(&rest);
        continue;
      }
      one->text = rest;
      rest = data_cut_module(rest);
      continue;
    }
    char *line = data_next_line(&rest) + 4;
    if (data_starts(line, "case ")) {
      family->cases = realloc(family->cases, sizeof(ops_case) * (size_t)(family->case_count + 1));
      one = &family->cases[family->case_count++];
      *one = (ops_case){.name = line + 5};
    } else if (one == NULL) {
      good = false;
    } else if (data_starts(line, "inputs ")) {
      one->inputs = line + 7;
    } else if (data_starts(line, "outputs ")) {
      one->outputs = line + 8;
    } else if (data_starts(line, "sizes ")) {
      one->sizes = line + 6;
    } else if (data_starts(line, "result ")) {
      good = data_add_bound(one, line + 7);
    } else if (data_starts(line, "values")) {
      one->values = rest;
      rest = data_cut_module(rest);
    } else {
      good = false;
    }
  }
  bool recorded = false;
  for (int i = 0; i < family->case_count; i++) {
    good = good && family->cases[i].text != NULL;
    recorded = recorded || family->cases[i].inputs != NULL;
  }
  if (!good || family->case_count == 0) {
    fprintf(stderr, "test_ops: %s is damaged\n", path);
    return false;
  }
  snprintf(path, sizeof path, "%s/%s.npz", folder, name);
  if (recorded && halo_npz_open(path, &family->npz) != HALO_OK) {
    fprintf(stderr, "test_ops: %s: %s\n", path, halo_error_message());
    return false;
  }
  return true;
}

void ops_family_free(ops_family *family) {
  for (int i = 0; i < family->case_count; i++) {
    free(family->cases[i].bounds);
  }
  free(family->cases);
  free(family->buffer);
  free(family->name);
  halo_npz_close(family->npz);
}

/* A member of the archive: bytes. */
static halo_literal *data_read_member(const ops_family *family, const char *name) {
  for (int i = 0; i < halo_npz_count(family->npz); i++) {
    halo_literal *literal;
    if (strcmp(halo_npz_name(family->npz, i), name) == 0) {
      return halo_npz_read(family->npz, i, HALO_TYPE_INVALID, &literal) == HALO_OK ? literal : NULL;
    }
  }
  return NULL;
}

/* Cuts one member's bytes into arrays of the given shapes. */
static bool data_split(const ops_family *family, const char *member, int count,
                       const halo_shape *const *shapes, halo_literal **out) {
  halo_literal *bytes = data_read_member(family, member);
  if (bytes == NULL) {
    return false;
  }
  const char *from = halo_literal_data(bytes);
  int64_t left = halo_shape_byte_size(halo_literal_shape(bytes));
  bool good = true;
  for (int i = 0; i < count && good; i++) {
    int64_t size = halo_shape_byte_size(shapes[i]);
    good = size <= left && halo_literal_create(shapes[i], &out[i]) == HALO_OK;
    if (good && size > 0) {
      memcpy(halo_literal_data(out[i]), from, (size_t)size);
      from += size;
      left -= size;
    }
  }
  halo_literal_release(bytes);
  return good && left == 0;
}

/* The constant of this name in the values module of a worked example, retained. */
static halo_literal *data_find_constant(const halo_module *module, const char *prefix, int number) {
  char name[32];
  snprintf(name, sizeof name, "%s%d", prefix, number);
  for (int32_t i = 0; i < (int32_t)module->entry->instrs.count; i++) {
    const halo_instr *instr = module->entry->instrs.data[i];
    if (strcmp(instr->name, name) == 0 && instr->literal != NULL) {
      halo_literal_retain(instr->literal);
      return instr->literal;
    }
  }
  return NULL;
}

static bool data_open_worked(const ops_case *one, ops_values *values) {
  halo_module *module;
  if (halo_module_parse(one->values, strlen(one->values), one->name, &module) != HALO_OK) {
    fprintf(stderr, "test_ops: values of %s: %s\n", one->name, halo_error_message());
    return false;
  }
  bool good = true;
  for (int i = 0; i < values->argument_count; i++) {
    values->arguments[i] = data_find_constant(module, "in", i);
    good = good && values->arguments[i] != NULL;
  }
  for (int i = 0; i < values->expected_count; i++) {
    values->expected[i] = data_find_constant(module, "out", i);
    good = good && values->expected[i] != NULL;
  }
  halo_module_release(module);
  if (!good) {
    fprintf(stderr, "test_ops: %s lacks values\n", one->name);
  }
  return good;
}

/* The shape with its dynamic dimensions as long as the next numbers of *sizes say. */
static halo_shape *data_sized_shape(const halo_shape *shape, char **sizes) {
  int64_t dims[HALO_MAX_RANK];
  halo_shape *sized = NULL;
  for (int d = 0; d < halo_shape_rank(shape); d++) {
    dims[d] = halo_shape_dim(shape, d);
    if (halo_shape_dim_is_dynamic(shape, d) && *sizes != NULL) {
      dims[d] = strtoll(*sizes, sizes, 10);
    }
  }
  return halo_shape_create_array(halo_shape_type(shape), halo_shape_rank(shape), dims, &sized) ==
                 HALO_OK
             ? sized
             : NULL;
}

/* The recorded results, of which those with dynamic dimensions are as long as they were then. */
static bool data_open_outputs(const ops_family *family, const ops_case *one,
                              const halo_shape *const *shapes, ops_values *values) {
  int count = values->expected_count * values->device_count;
  halo_shape **sized = calloc((size_t)count + 1, sizeof(*sized));
  char *sizes = one->sizes;
  bool good = true;
  for (int i = 0; i < count && good; i++) {
    sized[i] = data_sized_shape(shapes[i], &sizes);
    good = sized[i] != NULL;
  }
  good = good && data_split(family, one->outputs, count, (const halo_shape *const *)sized,
                            values->expected);
  for (int i = 0; i < count; i++) {
    halo_shape_release(sized[i]);
  }
  free(sized);
  return good;
}

bool ops_case_open(const ops_family *family, const ops_case *one, ops_values *values) {
  memset(values, 0, sizeof *values);
  if (halo_module_parse(one->text, strlen(one->text), one->name, &values->module) != HALO_OK) {
    fprintf(stderr, "test_ops: %s: %s\n", one->name, halo_error_message());
    return false;
  }
  const halo_shape *result = halo_module_result_shape(values->module);
  bool is_tuple = halo_shape_type(result) == HALO_TUPLE;
  values->argument_count = halo_module_parameter_count(values->module);
  values->expected_count = is_tuple ? halo_shape_tuple_count(result) : 1;
  int devices = (int)(values->module->replica_count * values->module->num_partitions);
  values->device_count = devices;
  values->arguments =
      calloc((size_t)(values->argument_count * devices) + 1, sizeof(halo_literal *));
  values->expected = calloc((size_t)(values->expected_count * devices) + 1, sizeof(halo_literal *));
  if (one->values != NULL) {
    return data_open_worked(one, values);
  }
  int most = values->argument_count > values->expected_count ? values->argument_count
                                                             : values->expected_count;
  const halo_shape **shapes = calloc((size_t)(most * devices) + 1, sizeof(*shapes));
  for (int i = 0; i < values->argument_count * devices; i++) {
    shapes[i] = halo_module_parameter_shape(values->module, i % values->argument_count);
  }
  bool good =
      one->inputs != NULL && one->outputs != NULL && values->expected_count == one->bound_count &&
      data_split(family, one->inputs, values->argument_count * devices, shapes, values->arguments);
  for (int i = 0; i < values->expected_count * devices; i++) {
    shapes[i] = is_tuple ? halo_shape_tuple_element(result, i % values->expected_count) : result;
  }
  good = good && data_open_outputs(family, one, shapes, values);
  free(shapes);
  if (!good) {
    fprintf(stderr, "test_ops: the recorded values of %s %s do not fit it\n", family->name,
            one->name);
  }
  return good;
}

void ops_values_free(ops_values *values) {
  for (int i = 0; values->arguments != NULL && i < values->argument_count * values->device_count;
       i++) {
    halo_literal_release(values->arguments[i]);
  }
  for (int i = 0; values->expected != NULL && i < values->expected_count * values->device_count;
       i++) {
    halo_literal_release(values->expected[i]);
  }
  free(values->arguments);
  free(values->expected);
  halo_module_release(values->module);
}
