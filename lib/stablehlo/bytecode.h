/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/bytecode.h: what the files of the reader of portable artifacts share.
 *
 * An artifact is a file of sections (bytecode.c): strings, dialects and names of operations (bytecode_names.c), bytes of
 * attributes and types with an index of them, operations (bytecode_ir.c). Attributes and types are decoded when something
 * asks for them, and once (bytecode_entry.c). All of it comes from outside: every number is checked where it is read, and
 * what a few bytes may claim is bounded by the size of the file. */
#ifndef HALO_STABLEHLO_BYTECODE_H
#define HALO_STABLEHLO_BYTECODE_H

#include "stablehlo/mlir.h"

typedef struct halo_bytecode halo_bytecode;

/* Bytes that are still to be read. */
typedef struct halo_bytecode_cursor {
  halo_bytecode *reader;
  const uint8_t *at, *end;
} halo_bytecode_cursor;

typedef struct halo_bytecode_string {
  const char *text; /* in the program's arena, NUL-terminated; may hold more NULs */
  size_t length;
} halo_bytecode_string;

typedef enum halo_bytecode_dialect {
  HALO_BYTECODE_OTHER = 0,
  HALO_BYTECODE_BUILTIN,
  HALO_BYTECODE_VHLO,
  HALO_BYTECODE_SDY,
  HALO_BYTECODE_STABLEHLO
} halo_bytecode_dialect;

/* The name of a property, as ops.def lists them. */
typedef struct halo_bytecode_property {
  const char *name;
  bool optional;
} halo_bytecode_property;

/* A name of operations. */
typedef struct halo_bytecode_op {
  const char *name; /* as halo_mlir_op.name */
  halo_mlir_opcode opcode;
  int32_t version; /* of a VHLO operation; 0: of another one */
  halo_bytecode_property *properties;
  int32_t property_count; /* -1: the operation or its version is not known */
} halo_bytecode_op;

/* An attribute or a type. */
typedef struct halo_bytecode_entry {
  const uint8_t *at;
  size_t size;
  const void *decoded; /* halo_mlir_attr or halo_mlir_type; NULL: not yet */
  uint32_t weight;     /* how many entries it is made of, over all paths */
  uint8_t dialect;     /* halo_bytecode_dialect */
  bool custom;         /* else text */
  bool open;           /* is being decoded: asking for it again is a cycle */
} halo_bytecode_entry;

typedef struct halo_bytecode_blob {
  const uint8_t *at;
  size_t size;
} halo_bytecode_blob;

/* The attributes of an operation. */
typedef struct halo_bytecode_attrs {
  const halo_mlir_named *data;
  int32_t count;
} halo_bytecode_attrs;

struct halo_bytecode {
  halo_mlir_program *program;
  const char *name; /* of the file */
  const uint8_t *begin;
  size_t size;
  uint32_t version; /* of bytecode: 0 to 6 */

  halo_bytecode_string *strings;
  int32_t string_count;
  halo_bytecode_dialect *dialects;
  const char **dialect_names;
  int32_t dialect_count;
  HALO_VEC(halo_bytecode_op) ops;
  halo_bytecode_entry *attrs, *types;
  int32_t attr_count, type_count;
  halo_bytecode_blob *properties; /* one entry of the section each */
  int32_t property_count;
  HALO_VEC(halo_bytecode_blob) resources; /* `at` NULL: not a blob */

  int32_t depth;              /* of attributes and types within one another */
  uint32_t weight;            /* of the entry that is being decoded, so far */
  const halo_mlir_loc **locs; /* [attr_count] of attributes that were asked for as locations */
  halo_map attr_lists;        /* of operations, by name, properties and dictionary */
  size_t attr_room;           /* how many entries such lists may still take in all */

  /* While operations are read: the values in scope and how many of these are still to come. */
  HALO_VEC(halo_mlir_value *) scope;
  int64_t undefined;
  HALO_VEC(const halo_mlir_type *) result_types;
  HALO_VEC(halo_mlir_value *) operands;
};

/* ---- Primitives (bytecode_cursor.c) ---- */

/* HALO_INVALID_ARGUMENT with "name: byte N: message", where N is the cursor's place. */
halo_status halo_bytecode_fail(const halo_bytecode_cursor *cursor, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same for what is well-formed and not supported. */
halo_status halo_bytecode_refuse(const halo_bytecode_cursor *cursor, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static inline size_t halo_bytecode_left(const halo_bytecode_cursor *cursor) {
  return (size_t)(cursor->end - cursor->at);
}
halo_status halo_bytecode_byte(halo_bytecode_cursor *cursor, uint8_t *out);
/* A varint. */
halo_status halo_bytecode_vi(halo_bytecode_cursor *cursor, uint64_t *out);
/* A signed varint. */
halo_status halo_bytecode_si(halo_bytecode_cursor *cursor, int64_t *out);
/* A varint that counts what follows, at least one byte each. */
halo_status halo_bytecode_count(halo_bytecode_cursor *cursor, int32_t *out);
/* A varint below `limit`; `what` is what it numbers. */
halo_status halo_bytecode_index(halo_bytecode_cursor *cursor, int32_t limit, const char *what,
                                int32_t *out);
/* The index in the upper bits of a varint, a flag in its lowest. */
halo_status halo_bytecode_flagged(halo_bytecode_cursor *cursor, int32_t limit, const char *what,
                                  int32_t *out, bool *flag);
/* The low `width` bits of an integer of so many bits, 1 to 64. */
halo_status halo_bytecode_bits(halo_bytecode_cursor *cursor, int width, uint64_t *out);
/* So many bytes. */
halo_status halo_bytecode_take(halo_bytecode_cursor *cursor, uint64_t size,
                               halo_bytecode_cursor *out);
/* A size and so many bytes. */
halo_status halo_bytecode_blob_of(halo_bytecode_cursor *cursor, halo_bytecode_cursor *out);
/* Padding until the place in the file is a multiple of `alignment`. */
halo_status halo_bytecode_align(halo_bytecode_cursor *cursor, uint64_t alignment);
/* The header of a section and its bytes. */
halo_status halo_bytecode_section(halo_bytecode_cursor *cursor, uint8_t *id,
                                  halo_bytecode_cursor *out);
/* A fault when anything is left; `what` is what should have ended. */
halo_status halo_bytecode_finish(const halo_bytecode_cursor *cursor, const char *what);
/* A string by its index. */
halo_status halo_bytecode_string_of(halo_bytecode_cursor *cursor, halo_bytecode_string *out);

/* ---- Names (bytecode_names.c) ---- */

halo_status halo_bytecode_read_strings(halo_bytecode_cursor section);
/* Of dialects and operations; wants the strings. */
halo_status halo_bytecode_read_names(halo_bytecode_cursor section);

/* ---- Attributes and types ---- */

/* The index of them; `bodies` is the section of their bytes. Wants the dialects. */
halo_status halo_bytecode_read_entries(halo_bytecode_cursor index, halo_bytecode_cursor bodies);
/* The attribute or type that an index at the cursor names. */
halo_status halo_bytecode_attr(halo_bytecode_cursor *cursor, const halo_mlir_attr **out);
halo_status halo_bytecode_type(halo_bytecode_cursor *cursor, const halo_mlir_type **out);
/* The same of an index that was read already; `cursor` is where. */
halo_status halo_bytecode_attr_at(const halo_bytecode_cursor *cursor, int32_t index,
                                  const halo_mlir_attr **out);
halo_status halo_bytecode_type_at(const halo_bytecode_cursor *cursor, int32_t index,
                                  const halo_mlir_type **out);
/* A count and so many attributes: an ARRAY's contents. */
halo_status halo_bytecode_attr_list(halo_bytecode_cursor *cursor, halo_mlir_attr *array);

/* Decode the body of one entry (bytecode_attr.c, bytecode_type.c). */
halo_status halo_bytecode_decode_attr(halo_bytecode_cursor body, const halo_bytecode_entry *entry,
                                      halo_mlir_attr *out);
halo_status halo_bytecode_decode_type(halo_bytecode_cursor body, const halo_bytecode_entry *entry,
                                      halo_mlir_type *out);
/* The structure sdy.op_sharding_rule becomes OPAQUE, as MLIR text has it (bytecode_rule.c). */
void halo_bytecode_rule_text(halo_arena *arena, halo_mlir_attr *rule);
/* A structure of VHLO or Shardy (bytecode_struct.c), after its code; *found says whether the code is one. */
halo_status halo_bytecode_decode_struct(halo_bytecode_cursor *cursor, halo_bytecode_dialect dialect,
                                        uint64_t code, halo_mlir_attr *out, bool *found);
/* A tensor's elements (bytecode_dense.c): as VHLO and builtin pack them, or one after the other. */
halo_status halo_bytecode_dense(halo_bytecode_cursor blob, const halo_mlir_type *type, bool packed,
                                halo_mlir_attr *out);

/* ---- Operations ---- */

/* What a location comes to (bytecode_loc.c); NULL for one that says nothing. */
halo_status halo_bytecode_loc(halo_bytecode_cursor *cursor, const halo_mlir_loc **out);
/* The attributes of an operation with the properties and the dictionary of these numbers, -1: none, as they
 * are in the newest version (bytecode_op.c). */
halo_status halo_bytecode_attrs_of(const halo_bytecode_cursor *cursor, int32_t op,
                                   int32_t properties, int32_t dictionary,
                                   halo_bytecode_attrs *out);
/* The section of operations: the program's module (bytecode_ir.c). */
halo_status halo_bytecode_read_ir(halo_bytecode_cursor section);

#endif
