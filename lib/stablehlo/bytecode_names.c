/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/bytecode_names.c: strings, dialects and names of operations. */
#include "stablehlo/bytecode.h"

#include <stdlib.h>
#include <string.h>

/* ---- Strings ---- */

/* Sizes come in reverse order, then the strings in order, each with its NUL. */
halo_status halo_bytecode_read_strings(halo_bytecode_cursor section) {
  halo_bytecode *reader = section.reader;
  halo_arena *arena = &reader->program->arena;
  int32_t count;
  HALO_TRY(halo_bytecode_count(&section, &count));
  reader->strings = halo_arena_array(arena, halo_bytecode_string, count);
  uint64_t total = 0;
  for (int32_t i = count; i-- > 0;) {
    uint64_t size;
    halo_bytecode_cursor start = section;
    HALO_TRY(halo_bytecode_vi(&section, &size));
    if (!size || size > halo_bytecode_left(&section))
      return halo_bytecode_fail(&start, "a string of %llu bytes", (unsigned long long)size);
    reader->strings[i].length = (size_t)size - 1;
    total += size; /* of sizes below that of the file: no overflow before memory ends */
  }
  if (total != halo_bytecode_left(&section))
    return halo_bytecode_fail(&section, "the strings take %llu bytes, but %zu are left",
                              (unsigned long long)total, halo_bytecode_left(&section));
  const char *texts = halo_arena_copy(arena, section.at, (size_t)total);
  for (int32_t i = 0; i < count; i++) {
    halo_bytecode_string *string = &reader->strings[i];
    string->text = texts;
    section.at += string->length;
    if (texts[string->length]) return halo_bytecode_fail(&section, "a string does not end");
    section.at++;
    texts += string->length + 1;
  }
  reader->string_count = count;
  return HALO_OK;
}

/* ---- Dialects ---- */

static halo_status dialect_read(halo_bytecode_cursor *section, int32_t number) {
  halo_bytecode *reader = section->reader;
  int32_t name;
  bool versioned = false;
  if (reader->version == 0)
    HALO_TRY(halo_bytecode_index(section, reader->string_count, "string", &name));
  else
    HALO_TRY(halo_bytecode_flagged(section, reader->string_count, "string", &name, &versioned));
  if (versioned) { /* nothing that is decoded here depends on it */
    uint8_t id;
    halo_bytecode_cursor ignored, start = *section;
    HALO_TRY(halo_bytecode_section(section, &id, &ignored));
    if (id != 7) return halo_bytecode_fail(&start, "a dialect's version is no section %d", id);
  }
  const char *text = reader->strings[name].text;
  reader->dialect_names[number] = text;
  reader->dialects[number] = strcmp(text, "builtin") == 0     ? HALO_BYTECODE_BUILTIN
                             : strcmp(text, "vhlo") == 0      ? HALO_BYTECODE_VHLO
                             : strcmp(text, "sdy") == 0       ? HALO_BYTECODE_SDY
                             : strcmp(text, "stablehlo") == 0 ? HALO_BYTECODE_STABLEHLO
                                                              : HALO_BYTECODE_OTHER;
  return HALO_OK;
}

/* ---- Names of operations ---- */

/* "add_v1": 1, and `base` is "add"; 0 when the name ends otherwise. */
static int32_t op_version(halo_arena *arena, const char *name, const char **base) {
  const char *mark = strrchr(name, '_');
  if (!mark || mark[1] != 'v' || mark[2] < '1' || mark[2] > '9') return 0;
  char *end;
  long version = strtol(mark + 2, &end, 10);
  if (*end || version > 1000) return 0;
  *base = halo_arena_strndup(arena, name, (size_t)(mark - name));
  return (int32_t)version;
}

static void op_properties(halo_arena *arena, halo_bytecode_op *op, const char *attrs) {
  int32_t count = *attrs != 0;
  for (const char *at = attrs; *at; at++) count += *at == ' ';
  op->properties = halo_arena_array(arena, halo_bytecode_property, count);
  op->property_count = count;
  for (int32_t i = 0; i < count; i++) {
    size_t length = strcspn(attrs, " ");
    bool optional = attrs[length - 1] == '?';
    op->properties[i] =
        (halo_bytecode_property){halo_arena_strndup(arena, attrs, length - optional), optional};
    attrs += length + (attrs[length] == ' ');
  }
}

/* Finds what the name stands for. Operations and versions that are not known keep the name that they have. */
static void op_recognise(halo_bytecode *reader, halo_bytecode_op *op, halo_bytecode_dialect dialect,
                         const char *name) {
  halo_arena *arena = &reader->program->arena;
  const char *attrs = NULL, *base;
  op->opcode = HALO_MLIR_OP_UNKNOWN;
  op->property_count = -1;
  if (dialect == HALO_BYTECODE_VHLO) {
    op->version = op_version(arena, name, &base);
    if (op->version) {
      bool func = strcmp(base, "func") == 0 || strcmp(base, "call") == 0;
      const char *known = halo_arena_printf(arena, func ? "func.%s" : "stablehlo.%s", base);
      halo_mlir_opcode opcode = halo_mlir_opcode_from_name(known);
      attrs = halo_mlir_vhlo_attrs(opcode, op->version);
      if (attrs) {
        op->opcode = opcode;
        op->name = known;
      }
    }
  } else {
    op->opcode = halo_mlir_opcode_from_name(op->name);
    attrs = halo_mlir_vhlo_attrs(op->opcode, 0);
  }
  if (attrs) op_properties(arena, op, attrs);
}

/* Dialects of StableHLO programs that were written as they are, not as an artifact. */
static bool is_native(const char *dialect) {
  static const char *const native[] = {"stablehlo", "func", "chlo", "mhlo"};
  for (size_t i = 0; i < sizeof native / sizeof *native; i++)
    if (strcmp(dialect, native[i]) == 0) return true;
  return false;
}

/* Longer names than any operation has would take memory for each time that they are said. */
enum { LONGEST_NAME = 200 };

static halo_status ops_read_name(halo_bytecode_cursor *section, int32_t dialect) {
  halo_bytecode *reader = section->reader;
  halo_bytecode_cursor start = *section;
  int32_t string;
  bool registered;
  if (reader->version < 5)
    HALO_TRY(halo_bytecode_index(section, reader->string_count, "string", &string));
  else
    HALO_TRY(halo_bytecode_flagged(section, reader->string_count, "string", &string, &registered));
  const char *space = reader->dialect_names[dialect], *name = reader->strings[string].text;
  if (strlen(space) + strlen(name) > LONGEST_NAME)
    return halo_bytecode_fail(&start, "the name of an operation has more than %d bytes",
                              LONGEST_NAME);
  if (is_native(space))
    return halo_bytecode_refuse(
        &start,
        "operation %s.%s: this is MLIR bytecode of StableHLO itself, whose form changes from "
        "version "
        "to version: serialise the program as a portable artifact instead, as jax.export and "
        "stablehlo-translate --serialize do",
        space, name);
  halo_bytecode_op op = {.name = halo_arena_printf(&reader->program->arena, "%s.%s", space, name)};
  op_recognise(reader, &op, reader->dialects[dialect], name);
  halo_vec_push(&reader->ops, op);
  return HALO_OK;
}

halo_status halo_bytecode_read_names(halo_bytecode_cursor section) {
  halo_bytecode *reader = section.reader;
  halo_arena *arena = &reader->program->arena;
  int32_t count;
  HALO_TRY(halo_bytecode_count(&section, &count));
  reader->dialects = halo_arena_array(arena, halo_bytecode_dialect, count);
  reader->dialect_names = halo_arena_array(arena, const char *, count);
  reader->dialect_count = count;
  for (int32_t i = 0; i < count; i++) HALO_TRY(dialect_read(&section, i));
  halo_bytecode_cursor start = section;
  uint64_t total = 0;
  if (reader->version >= 4) HALO_TRY(halo_bytecode_vi(&section, &total));
  while (section.at < section.end) {
    int32_t dialect, names;
    HALO_TRY(halo_bytecode_index(&section, count, "dialect", &dialect));
    HALO_TRY(halo_bytecode_count(&section, &names));
    for (int32_t i = 0; i < names; i++) HALO_TRY(ops_read_name(&section, dialect));
  }
  if (reader->version >= 4 && total != (uint64_t)reader->ops.count)
    return halo_bytecode_fail(&start, "%llu names of operations are announced, but there are %d",
                              (unsigned long long)total, reader->ops.count);
  return HALO_OK;
}
