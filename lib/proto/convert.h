/* SPDX-License-Identifier: Apache-2.0 */
/* proto/convert.h: what reading and writing of modules is made of, a subject each, in both directions. */
#ifndef HALO_PROTO_CONVERT_H
#define HALO_PROTO_CONVERT_H

#include "proto/wire.h"

/* Shapes (shape.c). A fault gives an empty tuple. */
const halo_shape *halo_proto_read_shape(halo_proto_message message);
void halo_proto_write_shape(halo_proto_writer *out, uint32_t field, const halo_shape *shape);

/* Literals (literal.c): a reference that the module keeps, or NULL after a fault. */
halo_literal *halo_proto_read_literal(halo_proto_message message);
void halo_proto_write_literal(halo_proto_writer *out, uint32_t field, const halo_literal *literal);

/* Metadata, shardings, names with values (annotation.c). */
/* The module's table of places, for the metadata that is read afterwards. */
void halo_proto_read_frames(halo_proto_message message);
const halo_metadata *halo_proto_read_metadata(halo_proto_message message);
void halo_proto_write_metadata(halo_proto_writer *out, uint32_t field,
                               const halo_metadata *metadata);
void halo_proto_read_sharding(halo_proto_message message, halo_sharding *out);
void halo_proto_write_sharding(halo_proto_writer *out, uint32_t field,
                               const halo_sharding *sharding);
/* Two texts a pair. */
const char *const *halo_proto_read_pairs(halo_proto_message message, int32_t *count);
void halo_proto_write_pairs(halo_proto_writer *out, uint32_t field, const char *const *texts,
                            int32_t count);

/* Attributes whose value is a field, or a field of a message in a field (fields.c), after opcode and operands are
 * known. */
void halo_proto_read_fields(halo_proto_message message, halo_instr *instr);
void halo_proto_write_fields(halo_proto_writer *out, const halo_instr *instr);

/* Attributes of a form of their own (attr.c). */
void halo_proto_read_attrs(halo_proto_message message, halo_instr *instr);
void halo_proto_write_attrs(halo_proto_writer *out, const halo_instr *instr);

/* Whether the opcode has the attribute. */
bool halo_proto_has_attr(const halo_instr *instr, halo_attr_id id, bool *required);

#endif
