/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/write.h: writing HLO modules as StableHLO text; shared by the files write*.c and by nobody else.
 *
 * Every instruction becomes one operation in generic form. HLO's tuples are not written: an instruction stands for a list
 * of values, one for each leaf of its shape. */
#ifndef HALO_STABLEHLO_WRITE_H
#define HALO_STABLEHLO_WRITE_H

#include "base/pointer_map.h"
#include "base/strbuf.h"
#include "hlo/hlo.h"

/* The numbers of an instruction's values: `%0` and so on. */
typedef struct halo_write_values {
  const int64_t *ids;
  int32_t count;
} halo_write_values;

typedef struct halo_writer {
  halo_strbuf *out;
  halo_arena arena;
  const halo_module *module;
  halo_pointer_map values; /* of instructions, to halo_write_values */
  halo_pointer_map called; /* computations that are functions, to their number */
  HALO_VEC(const halo_computation *) functions;
  int64_t next; /* number of the next value */
  int indent;
  int depth; /* of regions */
} halo_writer;

/* ---- write.c ---- */

/* "x in main: custom-call is not written as StableHLO: <why>". */
halo_status halo_write_refuse(const halo_instr *instr, const char *why);
halo_write_values halo_write_values_of(const halo_writer *w, const halo_instr *instr);
void halo_write_set_values(halo_writer *w, const halo_instr *instr, halo_write_values values);
void halo_write_type(halo_strbuf *out, const halo_shape *leaf);
/* "%3 = "name"(%1, %2)", or the part of it before regions and attributes. The results are set as the instruction's. */
void halo_write_begin(halo_writer *w, const halo_instr *instr, const char *name);
/* " {attributes} : (types) -> types" behind it; `attrs` without braces. */
void halo_write_end(halo_writer *w, const halo_instr *instr, const char *attrs);
/* "({...}, {...})" behind the operands: each computation with arguments of its own for all leaves of its parameters
 * (`arguments`), or with these values for them. */
halo_status halo_write_region(halo_writer *w, const halo_computation *computation, bool arguments,
                              const halo_write_values *given, int32_t given_count);

/* ---- write_op.c ---- */

halo_status halo_write_op(halo_writer *w, const halo_instr *instr);

/* ---- write_attr.c ---- */

/* Each appends ", name = value", without the comma when it is the first. */
void halo_write_text(halo_strbuf *out, const char *name, const char *value);
void halo_write_int(halo_strbuf *out, const char *name, int64_t value);
void halo_write_flag(halo_strbuf *out, const char *name, bool value);
void halo_write_ints(halo_strbuf *out, const char *name, const int64_t *data, int32_t count);
/* The list that an attribute of an instruction holds, every `step`-th from `first` on. */
void halo_write_list(halo_strbuf *out, const char *name, const halo_instr *instr, halo_attr_id id,
                     int32_t first, int32_t step);
void halo_write_enum(halo_strbuf *out, const char *name, const char *kind, const char *value);
/* "dense<...> : tensor<...>" */
void halo_write_literal(halo_strbuf *out, halo_literal *literal);
/* Parts of windows; what says nothing is left out. */
void halo_write_window(halo_strbuf *out, const halo_instr *instr, bool conv);
void halo_write_precision(halo_strbuf *out, const halo_instr *instr);
/* replica_groups, channel_handle and use_global_device_ids. */
void halo_write_collective(halo_strbuf *out, const halo_instr *instr);

#endif
