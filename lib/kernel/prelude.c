/* SPDX-License-Identifier: Apache-2.0 */
/* kernel/prelude.c: sets of sections of helpers, and their text. */
#include "kernel/prelude.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const halo_cl_section *prelude_find(const char *name) {
  const halo_cl_section *section = halo_cl_sections;
  while (section->name && strcmp(section->name, name) != 0) section++;
  assert(section->name && "no such section");
  return section;
}

void halo_sections_add(halo_sections *set, const char *name) {
  if (name) halo_sections_join(set, &prelude_find(name)->with);
}

void halo_sections_add_for(halo_sections *set, const char *name, const char *type) {
  char both[40];
  snprintf(both, sizeof both, "%s.%s", name, type);
  halo_sections_add(set, both);
}

bool halo_sections_has(const halo_sections *set, const char *name) {
  const halo_sections *with = &prelude_find(name)->with;
  bool all = true;
  for (int i = 0; i < HALO_SECTIONS_MOST / 64; i++) all &= !(with->words[i] & ~set->words[i]);
  return all;
}

void halo_sections_join(halo_sections *set, const halo_sections *other) {
  for (int i = 0; i < HALO_SECTIONS_MOST / 64; i++) set->words[i] |= other->words[i];
}

void halo_sections_print(halo_strbuf *out, const halo_sections *set) {
  for (const halo_cl_piece *piece = halo_cl_pieces; piece->length; piece++) {
    if (set->words[piece->section / 64] >> (piece->section % 64) & 1) {
      halo_strbuf_append_n(out, piece->text, piece->length);
    }
  }
}
