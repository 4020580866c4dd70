/* text/print.h: the printer's parts, shared by the files of this room and by nobody else. */
#ifndef HALO_TEXT_PRINT_H
#define HALO_TEXT_PRINT_H

#include "text/text.h"

/* The value; `elide`: arrays of more than 10 elements as {...}. */
void halo_text_print_literal(halo_strbuf *out, const halo_literal *literal, bool elide);
/* A name as printed: `%` first unless HALO_PRINT_SHORT is set, and even then when the bare word would
 * be a keyword or a type; bytes that names cannot have become '_'. */
void halo_text_print_name(halo_strbuf *out, const char *name, unsigned flags);
/* In double quotes, escaped. */
void halo_text_print_string(halo_strbuf *out, const char *text);
/* "{0,1}". */
void halo_text_print_ints(halo_strbuf *out, const int64_t *ints, int32_t count);
/* "{0}: (1, {}<kind>)"; the first part only when `from`. */
void halo_text_print_alias(halo_strbuf *out, const halo_alias *alias, bool from, const char *kind);
/* ", name=value" for every attribute that is not at its default, in the order that XLA has. */
void halo_text_print_attrs(halo_strbuf *out, const halo_instr *instr, unsigned flags);

#endif
