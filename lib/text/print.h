/* SPDX-License-Identifier: Apache-2.0 */
/* text/print.h: the printer's parts, shared by the files of this room and by nobody else. */
#ifndef HALO_TEXT_PRINT_H
#define HALO_TEXT_PRINT_H

#include "text/text.h"

/* Beside the flags of halo/module.h: arrays of more than 10 elements as a hash of their bytes. */
enum { HALO_TEXT_PRINT_HASH_LARGE = 1 << 16 };

/* The value, of which flags say how large arrays are written. */
void halo_text_print_literal(halo_strbuf *out, const halo_literal *literal, unsigned flags);
/* A name as printed: `%` first unless HALO_PRINT_SHORT is set, and even then when the bare word would
 * be a keyword or a type; bytes that names cannot have become '_'. */
void halo_text_print_name(halo_strbuf *out, const char *name, unsigned flags);
/* In double quotes, escaped. */
void halo_text_print_string(halo_strbuf *out, const char *text);
/* "{0,1}". */
void halo_text_print_ints(halo_strbuf *out, const int64_t *ints, int32_t count);
/* "{0}: (1, {}<kind>)"; the first part only when `from`. */
void halo_text_print_alias(halo_strbuf *out, const halo_alias *alias, bool from, const char *kind);
/* "{name="value",name={json}}". */
void halo_text_print_strings(halo_strbuf *out, const char *const *strings, int32_t count);

/* print_annotation.c; `metadata`: with that of shardings. */
void halo_text_print_metadata(halo_strbuf *out, const halo_metadata *metadata);
/* Whether there is nothing for which XLA would print it. */
bool halo_text_metadata_is_empty(const halo_metadata *metadata);
void halo_text_print_sharding(halo_strbuf *out, const halo_sharding *sharding, bool metadata);
void halo_text_print_domain(halo_strbuf *out, const halo_domain *domain, bool metadata);
void halo_text_print_accuracy(halo_strbuf *out, const halo_accuracy *accuracy);
void halo_text_print_configs(halo_strbuf *out, halo_attr_id id,
                             const halo_operand_configs *configs);

/* ", name=value" for every attribute that is not at its default, in the order that XLA has. */
void halo_text_print_attrs(halo_strbuf *out, const halo_instr *instr, unsigned flags);

#endif
