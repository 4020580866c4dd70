/* SPDX-License-Identifier: Apache-2.0 */
/* kernel/prelude.c: cutting the embedded files of helpers at their "//!" lines. */
#include "kernel/prelude.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

extern const char halo_cl_scalar[], halo_cl_half[], halo_cl_math_f32[], halo_cl_math_f64[],
    halo_cl_complex[];

typedef struct prelude_section {
  const char *name, *needs, *text; /* into the embedded text */
  size_t name_length, needs_length, text_length;
} prelude_section;

static prelude_section prelude_sections[HALO_SECTIONS_MOST];
static int prelude_count;
static pthread_once_t prelude_once = PTHREAD_ONCE_INIT;

static void prelude_split_file(const char *text) {
  const char *mark = strstr(text, "\n//! ");
  while (mark) {
    assert(prelude_count < HALO_SECTIONS_MOST);
    prelude_section *section = &prelude_sections[prelude_count++];
    section->name = mark + 5;
    size_t line = strcspn(section->name, "\n");
    section->name_length = strcspn(section->name, " \n");
    const char *colon = memchr(section->name, ':', line);
    section->needs = colon ? colon + 1 : section->name + line;
    section->needs_length = (size_t)(section->name + line - section->needs);
    section->text = section->name + line + 1;
    mark = strstr(section->text - 1, "\n//! ");
    section->text_length = mark ? (size_t)(mark + 1 - section->text) : strlen(section->text);
  }
}

/* In the order of their printing: what is needed comes first. */
static void prelude_split(void) {
  prelude_split_file(halo_cl_scalar);
  prelude_split_file(halo_cl_half);
  prelude_split_file(halo_cl_math_f32);
  prelude_split_file(halo_cl_math_f64);
  prelude_split_file(halo_cl_complex);
}

static bool prelude_has(const halo_sections *set, int section) {
  return set->words[section / 64] >> (section % 64) & 1;
}

static bool prelude_add(halo_sections *set, const char *name, size_t length) {
  for (int i = 0; i < prelude_count; i++) {
    const prelude_section *section = &prelude_sections[i];
    if (section->name_length != length || memcmp(section->name, name, length) != 0) continue;
    if (prelude_has(set, i)) return true;
    set->words[i / 64] |= UINT64_C(1) << (i % 64);
    const char *needs = section->needs, *end = needs + section->needs_length;
    while (needs < end) {
      size_t skip = strspn(needs, " ");
      needs += skip;
      size_t word = strcspn(needs, " \n");
      if (needs < end && word) prelude_add(set, needs, word);
      needs += word;
    }
    return true;
  }
  return false;
}

int halo_sections_count(void) {
  pthread_once(&prelude_once, prelude_split);
  return prelude_count;
}

void halo_sections_add(halo_sections *set, const char *name) {
  if (!name) return;
  pthread_once(&prelude_once, prelude_split);
  bool found = prelude_add(set, name, strlen(name));
  assert(found && "no such section");
  (void)found;
}

bool halo_sections_has(const halo_sections *set, const char *name) {
  halo_sections one = {0};
  bool all = true;
  halo_sections_add(&one, name);
  for (int i = 0; i < HALO_SECTIONS_MOST / 64; i++) all &= !(one.words[i] & ~set->words[i]);
  return all;
}

void halo_sections_join(halo_sections *set, const halo_sections *other) {
  for (int i = 0; i < HALO_SECTIONS_MOST / 64; i++) set->words[i] |= other->words[i];
}

/* Whether the code calls helpers that a line "H_SDIV(s32, int, uint)" makes: "h_div_s32(" and such. */
static bool prelude_is_used(const char *line, size_t length, const char *code) {
  char call[40];
  const char *type = memchr(line, '(', length), *comma = memchr(line, ',', length);
  if (line[0] != 'H' || line[1] != '_' || !type || !comma) return true;
  size_t size = (size_t)(comma - type - 1);
  if (size + 3 > sizeof call) return true;
  call[0] = '_';
  memcpy(call + 1, type + 1, size);
  memcpy(call + 1 + size, "(", 2);
  return strstr(code, call) != NULL;
}

void halo_sections_print(halo_strbuf *out, const halo_sections *set, const char *code) {
  pthread_once(&prelude_once, prelude_split);
  for (int i = 0; i < prelude_count; i++) {
    const char *line = prelude_sections[i].text, *end = line + prelude_sections[i].text_length;
    while (prelude_has(set, i) && line < end) {
      size_t length = strcspn(line, "\n") + 1;
      if (prelude_is_used(line, length, code)) halo_strbuf_append_n(out, line, length);
      line += length;
    }
  }
}
