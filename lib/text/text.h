/* SPDX-License-Identifier: Apache-2.0 */
/* text/text.h: HLO text, for the rooms above: values and shapes as text. Whole modules are read and
 * printed through halo/module.h. */
#ifndef HALO_TEXT_TEXT_H
#define HALO_TEXT_TEXT_H

#include "base/strbuf.h"
#include "hlo/hlo.h"

/* Appends the literal as HLO writes it on one line inside constant(...): "{ { 1, 2 }, { 3, 4 } }".
 * Every float is written so that reading gives the same bits back; an elided one is "{...}". */
void halo_literal_print(halo_strbuf *out, const halo_literal *literal);

/* Reads one shape, with or without layout, that fills the whole text. The shape lives in `arena`.
 * HALO_INVALID_ARGUMENT with a message in the form of halo_module_parse. */
halo_status halo_text_parse_shape(const char *text, halo_arena *arena, const halo_shape **out);

/* Reads one sharding, as sharding=... has it, that fills the whole text. Likewise in `arena`. */
halo_status halo_text_parse_sharding(const char *text, halo_arena *arena,
                                     const halo_sharding **out);

/* Reads one list of replica groups in any of HLO's spellings. Likewise. */
halo_status halo_text_parse_groups(const char *text, halo_arena *arena, const halo_groups **out);

/* Reads one value of the given shape that fills the whole text; "{...}" gives zeros, marked elided.
 * One reference. HALO_INVALID_ARGUMENT as above, or HALO_OUT_OF_MEMORY. */
halo_status halo_text_parse_literal(const char *text, const halo_shape *shape, halo_literal **out);

/* The module again as text for a dump file: what halo_module_to_text gives, never failing. Appends. */
void halo_module_print(halo_strbuf *out, const halo_module *module, unsigned flags);
/* Goes on with a hash (halo_hash_wide) of all that the module's text says. Large constants count by their bytes, so that
 * it takes little time whatever their size. HALO_OUT_OF_MEMORY at most. */
halo_status halo_module_hash(const halo_module *module, uint64_t key[2]);
/* One instruction as its line in a module, without indent or line end. */
void halo_instr_print(halo_strbuf *out, const halo_instr *instr, unsigned flags);

#endif
