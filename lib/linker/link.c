/* SPDX-License-Identifier: Apache-2.0 */
/* linker/link.c: links objects of kernels into shared libraries.
 *
 * It does what these objects need, which is little, and refuses all that it does not know.
 *
 * What it makes has two segments: what is read and run, and, a page behind, what is written. Addresses are places in the
 * file. Names are bound within the library where they can be; what is missing is looked for in the C library and that of
 * mathematics when the library is loaded. */
#include "linker/link.h"

#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GLIBC__)

enum { LINKER_PAGE = 4096, LINKER_PLT = 8, LINKER_SEGMENTS = 4, LINKER_TAGS = 16 };

typedef struct linker_object linker_object;

/* A symbol of an object, and what it gets in the library; 0: nothing. */
typedef struct linker_symbol {
  uint64_t got, plt; /* addresses */
  uint32_t number;   /* among the library's symbols */
  /* Of one that is not in its object: which it is of another one. NULL: it is in none. */
  const linker_object *in;
  uint32_t as;
} linker_symbol;

struct linker_object {
  const unsigned char *bytes;
  size_t size;
  const Elf64_Shdr *sections;
  uint64_t *addresses; /* of sections, 0: is not in the library */
  uint32_t section_count;
  const Elf64_Sym *symbols;
  linker_symbol *found; /* beside `symbols` */
  uint32_t symbol_count;
  const char *names; /* of symbols */
  uint64_t names_size;
};

typedef struct linker {
  linker_object *objects;
  int object_count;

  /* The library: how many there are of each, where they are, and where the next one of them goes. */
  uint32_t exported, missing, gots, plts, relocations;
  uint64_t hash, dynsym, dynstr, dynstr_size, rela, plt, got, dynamic, code_end, data, data_end,
      end;
  uint64_t next_rela, next_name;
  unsigned char *out;
} linker;

/* ---- Objects ---- */

static bool linker_is_inside(const linker_object *o, uint64_t at, uint64_t size) {
  return at <= o->size && size <= o->size - at;
}

static bool linker_read_symbols(linker_object *o, const Elf64_Shdr *table) {
  if (o->symbols || table->sh_entsize != sizeof *o->symbols || table->sh_link >= o->section_count) {
    return false;
  }
  const Elf64_Shdr *names = &o->sections[table->sh_link];
  if (names->sh_type != SHT_STRTAB || names->sh_size == 0) return false;
  o->symbols = (const void *)(o->bytes + table->sh_offset);
  o->symbol_count = (uint32_t)(table->sh_size / sizeof *o->symbols);
  o->names = (const char *)o->bytes + names->sh_offset;
  o->names_size = names->sh_size;
  return o->names[names->sh_size - 1] == 0;
}

static bool linker_read(linker_object *o) {
  const Elf64_Ehdr *head = (const void *)o->bytes;
  static const unsigned char magic[] = {ELFMAG0,    ELFMAG1,     ELFMAG2,   ELFMAG3,
                                        ELFCLASS64, ELFDATA2LSB, EV_CURRENT};
  if (o->size < sizeof *head || memcmp(head->e_ident, magic, sizeof magic) != 0 ||
      head->e_type != ET_REL || head->e_machine != EM_X86_64 ||
      head->e_shentsize != sizeof(Elf64_Shdr) || head->e_shoff % sizeof(uint64_t) != 0 ||
      !linker_is_inside(o, head->e_shoff, (uint64_t)head->e_shnum * sizeof(Elf64_Shdr))) {
    return false;
  }
  o->sections = (const void *)(o->bytes + head->e_shoff);
  o->section_count = head->e_shnum;
  for (uint32_t s = 0; s < o->section_count; s++) {
    const Elf64_Shdr *section = &o->sections[s];
    if (section->sh_type == SHT_NULL || section->sh_type == SHT_NOBITS) continue;
    bool is_table = section->sh_type == SHT_SYMTAB || section->sh_type == SHT_RELA;
    if (!linker_is_inside(o, section->sh_offset, section->sh_size) ||
        (is_table && section->sh_offset % sizeof(uint64_t) != 0)) {
      return false;
    }
  }
  for (uint32_t s = 0; s < o->section_count; s++) {
    if (o->sections[s].sh_type == SHT_SYMTAB && !linker_read_symbols(o, &o->sections[s])) {
      return false;
    }
  }
  o->addresses = calloc(o->section_count + 1, sizeof *o->addresses);
  o->found = calloc(o->symbol_count + 1, sizeof *o->found);
  return o->symbols && o->addresses && o->found;
}

/* Whether a section is in the library; *known: whether it is of a kind that can be. */
static bool linker_is_kept(const Elf64_Shdr *section, bool *known) {
  if (!(section->sh_flags & SHF_ALLOC) || section->sh_size == 0) return false;
  if (section->sh_type == SHT_NOTE) return false;
  bool plain = section->sh_type == SHT_PROGBITS || section->sh_type == SHT_NOBITS;
  uint64_t flags = SHF_ALLOC | SHF_WRITE | SHF_EXECINSTR | SHF_MERGE | SHF_STRINGS | SHF_INFO_LINK;
  *known &= plain && !(section->sh_flags & ~flags) && section->sh_addralign <= LINKER_PAGE;
  return true;
}

static bool linker_is_exported(const Elf64_Sym *symbol) {
  int visibility = ELF64_ST_VISIBILITY(symbol->st_other);
  return symbol->st_shndx != SHN_UNDEF && ELF64_ST_BIND(symbol->st_info) != STB_LOCAL &&
         (visibility == STV_DEFAULT || visibility == STV_PROTECTED);
}

static bool linker_check_symbols(const linker_object *o) {
  for (uint32_t s = 1; s < o->symbol_count; s++) {
    const Elf64_Sym *symbol = &o->symbols[s];
    int type = ELF64_ST_TYPE(symbol->st_info), bind = ELF64_ST_BIND(symbol->st_info);
    if (symbol->st_name >= o->names_size) return false;
    if (type == STT_FILE) continue;
    if (type != STT_NOTYPE && type != STT_OBJECT && type != STT_FUNC && type != STT_SECTION) {
      return false;
    }
    if (symbol->st_shndx == SHN_UNDEF ? bind != STB_GLOBAL : symbol->st_shndx >= o->section_count) {
      return false;
    }
  }
  return true;
}

/* Where it is that other objects may name. */
static bool linker_is_given(const Elf64_Sym *symbol) {
  return symbol->st_shndx != SHN_UNDEF && ELF64_ST_BIND(symbol->st_info) == STB_GLOBAL;
}

/* Finds what has this name that is missing in an object, or that it has itself; false: two objects have it. */
static bool linker_find(const linker *l, const linker_object *o, uint32_t symbol) {
  const char *name = o->names + o->symbols[symbol].st_name;
  const linker_object *in = NULL;
  uint32_t as = 0;
  for (int i = 0; i < l->object_count; i++) {
    const linker_object *other = &l->objects[i];
    for (uint32_t s = 1; s < other->symbol_count; s++) {
      if (!linker_is_given(&other->symbols[s])) continue;
      if (strcmp(other->names + other->symbols[s].st_name, name) != 0) continue;
      if (in) return false;
      in = other;
      as = s;
    }
  }
  if (o->symbols[symbol].st_shndx == SHN_UNDEF) {
    o->found[symbol].in = in;
    o->found[symbol].as = as;
  }
  return true;
}

static bool linker_find_all(const linker *l) {
  for (int i = 0; i < l->object_count; i++) {
    if (!linker_check_symbols(&l->objects[i])) return false;
  }
  for (int i = 0; l->object_count > 1 && i < l->object_count; i++) {
    const linker_object *o = &l->objects[i];
    for (uint32_t s = 1; s < o->symbol_count; s++) {
      int bind = ELF64_ST_BIND(o->symbols[s].st_info);
      if (bind != STB_LOCAL && bind != STB_GLOBAL) return false; /* weak ones */
      if (bind == STB_GLOBAL && !linker_find(l, o, s)) return false;
    }
  }
  return true;
}

static bool linker_is_missing(const linker_object *o, uint32_t symbol) {
  return o->symbols[symbol].st_shndx == SHN_UNDEF && !o->found[symbol].in;
}

/* ---- What relocations ask for ---- */

typedef bool linker_visit(linker *l, linker_object *o, const Elf64_Rela *r,
                          const Elf64_Shdr *target, uint64_t address);

static bool linker_relocations_of(linker *l, linker_object *o, linker_visit *visit) {
  for (uint32_t s = 0; s < o->section_count; s++) {
    const Elf64_Shdr *section = &o->sections[s];
    bool known = true;
    if (section->sh_type == SHT_REL) return false;
    if (section->sh_type != SHT_RELA) continue;
    if (section->sh_info >= o->section_count || section->sh_entsize != sizeof(Elf64_Rela)) {
      return false;
    }
    const Elf64_Shdr *target = &o->sections[section->sh_info];
    if (!linker_is_kept(target, &known)) continue;
    const Elf64_Rela *list = (const void *)(o->bytes + section->sh_offset);
    for (uint64_t r = 0; r < section->sh_size / sizeof *list; r++) {
      uint64_t size = ELF64_R_TYPE(list[r].r_info) == R_X86_64_64 ? 8 : 4;
      if (ELF64_R_SYM(list[r].r_info) >= o->symbol_count || target->sh_type == SHT_NOBITS ||
          target->sh_size < size || list[r].r_offset > target->sh_size - size) {
        return false;
      }
      if (!visit(l, o, &list[r], target, o->addresses[section->sh_info] + list[r].r_offset)) {
        return false;
      }
    }
  }
  return true;
}

/* Calls `visit` with each relocation of what is in the library. */
static bool linker_relocations(linker *l, linker_visit *visit) {
  for (int i = 0; i < l->object_count; i++) {
    if (!linker_relocations_of(l, &l->objects[i], visit)) return false;
  }
  return true;
}

/* Counts what a relocation needs; nothing has an address yet but what is marked by a 1. */
static bool linker_count(linker *l, linker_object *o, const Elf64_Rela *r, const Elf64_Shdr *target,
                         uint64_t address) {
  (void)address;
  uint32_t number = (uint32_t)ELF64_R_SYM(r->r_info);
  const Elf64_Sym *symbol = &o->symbols[number];
  linker_symbol *found = &o->found[number];
  bool is_missing = linker_is_missing(o, number), needs_got = false;
  /* What is hidden is nowhere else. */
  bool is_lost = is_missing && ELF64_ST_VISIBILITY(symbol->st_other) != STV_DEFAULT;
  if (number == 0 || is_lost) return false;
  if (is_missing && !found->number) {
    found->number = 1;
    l->missing++;
    l->dynstr_size += strlen(o->names + symbol->st_name) + 1;
  }
  switch (ELF64_R_TYPE(r->r_info)) {
    case R_X86_64_64: l->relocations++; return (target->sh_flags & SHF_WRITE) != 0;
    case R_X86_64_PC32: return !is_missing;
    case R_X86_64_PLT32:
      if (is_missing && !found->plt) {
        found->plt = 1;
        l->plts++;
      }
      needs_got = is_missing;
      break;
    case R_X86_64_GOTPCREL:
    case R_X86_64_GOTPCRELX:
    case R_X86_64_REX_GOTPCRELX: needs_got = true; break;
    default: return false;
  }
  if (needs_got && !found->got) {
    found->got = 1;
    l->gots++;
    l->relocations++;
  }
  return true;
}

/* ---- Places ---- */

static uint64_t linker_place(uint64_t *at, uint64_t size, uint64_t align) {
  uint64_t place = align > 1 ? (*at + align - 1) / align * align : *at;
  *at = place + size;
  return place;
}

/* Sections with these of the flags for writing and for being run. */
static void linker_place_sections(linker *l, uint64_t *at, uint64_t flags, bool zeros) {
  for (int i = 0; i < l->object_count; i++) {
    linker_object *o = &l->objects[i];
    for (uint32_t s = 0; s < o->section_count; s++) {
      const Elf64_Shdr *section = &o->sections[s];
      bool known = true;
      if (!linker_is_kept(section, &known) || (section->sh_type == SHT_NOBITS) != zeros ||
          (section->sh_flags & (SHF_WRITE | SHF_EXECINSTR)) != flags) {
        continue;
      }
      o->addresses[s] = linker_place(at, section->sh_size, section->sh_addralign);
    }
  }
}

static const char linker_mathematics[] = "libm.so.6", linker_c[] = "libc.so.6";

/* Whether all sections of an object have a place. */
static bool linker_knows_sections(const linker_object *o) {
  bool known = true;
  for (uint32_t s = 0; s < o->section_count; s++) {
    if (!linker_is_kept(&o->sections[s], &known)) continue;
    /* Zeros have room behind what is written only, and code that changes itself none. */
    bool written = (o->sections[s].sh_flags & SHF_WRITE) != 0;
    known &=
        written ? !(o->sections[s].sh_flags & SHF_EXECINSTR) : o->sections[s].sh_type != SHT_NOBITS;
  }
  return known;
}

static void linker_count_exported(linker *l, const linker_object *o) {
  for (uint32_t s = 1; s < o->symbol_count; s++) {
    if (!linker_is_exported(&o->symbols[s])) continue;
    l->exported++;
    l->dynstr_size += strlen(o->names + o->symbols[s].st_name) + 1;
  }
}

static bool linker_lay_out(linker *l) {
  for (int i = 0; i < l->object_count; i++) {
    if (!linker_knows_sections(&l->objects[i])) return false;
  }
  if (!linker_find_all(l) || !linker_relocations(l, linker_count)) return false;
  for (int i = 0; i < l->object_count; i++) linker_count_exported(l, &l->objects[i]);
  l->dynstr_size += 1 + sizeof linker_mathematics + sizeof linker_c;
  uint64_t at = sizeof(Elf64_Ehdr) + LINKER_SEGMENTS * sizeof(Elf64_Phdr);
  uint64_t symbols = 1 + (uint64_t)l->exported + l->missing;
  l->hash = linker_place(&at, (2 + 2 * symbols) * sizeof(uint32_t), 8);
  l->dynsym = linker_place(&at, symbols * sizeof(Elf64_Sym), 8);
  l->dynstr = linker_place(&at, l->dynstr_size, 1);
  l->rela = l->next_rela = linker_place(&at, l->relocations * sizeof(Elf64_Rela), 8);
  linker_place_sections(l, &at, 0, false);
  l->plt = linker_place(&at, l->plts * (uint64_t)LINKER_PLT, LINKER_PLT);
  linker_place_sections(l, &at, SHF_EXECINSTR, false);
  l->code_end = at;
  l->data = linker_place(&at, 0, LINKER_PAGE);
  l->dynamic = linker_place(&at, LINKER_TAGS * sizeof(Elf64_Dyn), 8);
  l->got = linker_place(&at, l->gots * sizeof(uint64_t), 8);
  linker_place_sections(l, &at, SHF_WRITE, false);
  l->data_end = at;
  linker_place_sections(l, &at, SHF_WRITE, true);
  l->end = at;
  l->out = l->data_end < INT32_MAX && l->end < INT32_MAX ? calloc(1, l->data_end) : NULL;
  return l->out != NULL;
}

/* ---- Writing ---- */

static void linker_put(linker *l, uint64_t at, const void *data, size_t size) {
  memcpy(l->out + at, data, size);
}

/* False: it is in no section of the library. */
static bool linker_value(const linker_object *o, uint32_t symbol, uint64_t *out) {
  const linker_symbol *found = &o->found[symbol];
  if (found->in) {
    symbol = found->as;
    o = found->in;
  }
  const Elf64_Sym *s = &o->symbols[symbol];
  if (s->st_shndx == SHN_UNDEF || s->st_shndx >= o->section_count || !o->addresses[s->st_shndx]) {
    return false;
  }
  *out = o->addresses[s->st_shndx] + s->st_value;
  return true;
}

static uint64_t linker_put_name(linker *l, const char *name) {
  uint64_t at = l->next_name, size = strlen(name) + 1;
  linker_put(l, l->dynstr + at, name, size);
  l->next_name += size;
  return at;
}

/* As the System V interface has it. */
static uint32_t linker_hash(const char *name) {
  uint32_t hash = 0;
  for (; *name; name++) {
    hash = (hash << 4) + (unsigned char)*name;
    uint32_t high = hash & 0xf0000000;
    hash = (hash ^ high >> 24) & ~high;
  }
  return hash;
}

/* With the numbers from *number on. */
static bool linker_put_symbols_of(linker *l, const linker_object *o, uint32_t *number) {
  uint32_t *hash = (uint32_t *)(void *)(l->out + l->hash), count = hash[0];
  uint32_t *first = hash + 2, *next = first + count;
  for (uint32_t s = 1; s < o->symbol_count; s++) {
    bool exported = linker_is_exported(&o->symbols[s]);
    if (!exported && !o->found[s].number) continue;
    const char *name = o->names + o->symbols[s].st_name;
    Elf64_Sym symbol = o->symbols[s];
    if (exported && !linker_value(o, s, &symbol.st_value)) return false;
    /* Sections are not listed: any number says that it is in one. */
    if (exported) symbol.st_shndx = 1;
    symbol.st_name = (uint32_t)linker_put_name(l, name);
    linker_put(l, l->dynsym + *number * sizeof symbol, &symbol, sizeof symbol);
    uint32_t bucket = linker_hash(name) % count;
    next[*number] = first[bucket];
    first[bucket] = *number;
    o->found[s].number = (*number)++;
  }
  return true;
}

static bool linker_put_symbols(linker *l) {
  uint32_t *hash = (uint32_t *)(void *)(l->out + l->hash), number = 1;
  hash[0] = hash[1] = 1 + l->exported + l->missing;
  l->next_name = 1;
  for (int i = 0; i < l->object_count; i++) {
    if (!linker_put_symbols_of(l, &l->objects[i], &number)) return false;
  }
  return true;
}

static void linker_put_rela(linker *l, const linker_object *o, uint64_t at, uint32_t symbol,
                            uint64_t value) {
  uint32_t number = o->found[symbol].number;
  Elf64_Rela r = {.r_offset = at,
                  .r_info = linker_is_missing(o, symbol)
                                ? ELF64_R_INFO((uint64_t)number, R_X86_64_64)
                                : ELF64_R_INFO(0, R_X86_64_RELATIVE),
                  .r_addend = (int64_t)value};
  linker_put(l, l->next_rela, &r, sizeof r);
  l->next_rela += sizeof r;
}

static bool linker_put_tables(linker *l, const linker_object *o, uint64_t *got, uint64_t *plt) {
  for (uint32_t s = 1; s < o->symbol_count; s++) {
    linker_symbol *found = &o->found[s];
    uint64_t value = 0;
    if (!found->got) continue;
    if (!linker_is_missing(o, s) && !linker_value(o, s, &value)) return false;
    found->got = *got;
    *got += sizeof(uint64_t);
    linker_put_rela(l, o, found->got, s, value);
    if (!found->plt) continue;
    found->plt = *plt;
    *plt += LINKER_PLT;
    unsigned char jump[LINKER_PLT] = {0xff, 0x25, 0, 0, 0, 0, 0x66, 0x90};
    int32_t distance = (int32_t)(found->got - (found->plt + 6));
    memcpy(jump + 2, &distance, sizeof distance);
    linker_put(l, found->plt, jump, sizeof jump);
  }
  return true;
}

static bool linker_put_relocated(linker *l, linker_object *o, const Elf64_Rela *r,
                                 const Elf64_Shdr *target, uint64_t address) {
  (void)target;
  uint32_t symbol = (uint32_t)ELF64_R_SYM(r->r_info);
  const linker_symbol *found = &o->found[symbol];
  bool is_missing = linker_is_missing(o, symbol);
  uint64_t value = 0;
  if (!is_missing && !linker_value(o, symbol, &value)) return false;
  switch (ELF64_R_TYPE(r->r_info)) {
    case R_X86_64_64:
      linker_put_rela(l, o, address, symbol, value + (uint64_t)r->r_addend);
      return true;
    case R_X86_64_PLT32:
      if (is_missing) value = found->plt;
      break;
    case R_X86_64_GOTPCREL:
    case R_X86_64_GOTPCRELX:
    case R_X86_64_REX_GOTPCRELX: value = found->got; break;
    default: break;
  }
  int64_t distance = (int64_t)(value + (uint64_t)r->r_addend - address);
  int32_t narrow = (int32_t)distance;
  linker_put(l, address, &narrow, sizeof narrow);
  return narrow == distance;
}

static void linker_put_sections(linker *l, const linker_object *o) {
  for (uint32_t s = 0; s < o->section_count; s++) {
    const Elf64_Shdr *section = &o->sections[s];
    if (!o->addresses[s] || section->sh_type == SHT_NOBITS) continue;
    linker_put(l, o->addresses[s], o->bytes + section->sh_offset, section->sh_size);
  }
}

static void linker_put_dynamic(linker *l) {
  uint64_t mathematics = linker_put_name(l, linker_mathematics), c = linker_put_name(l, linker_c);
  Elf64_Dyn tags[LINKER_TAGS] = {
      {DT_HASH, {l->hash}},         {DT_STRTAB, {l->dynstr}},         {DT_SYMTAB, {l->dynsym}},
      {DT_STRSZ, {l->dynstr_size}}, {DT_SYMENT, {sizeof(Elf64_Sym)}},
  };
  int count = 5;
  if (l->missing) {
    tags[count++] = (Elf64_Dyn){DT_NEEDED, {mathematics}};
    tags[count++] = (Elf64_Dyn){DT_NEEDED, {c}};
  }
  if (l->relocations) {
    tags[count++] = (Elf64_Dyn){DT_RELA, {l->rela}};
    tags[count++] = (Elf64_Dyn){DT_RELASZ, {l->relocations * sizeof(Elf64_Rela)}};
    tags[count++] = (Elf64_Dyn){DT_RELAENT, {sizeof(Elf64_Rela)}};
  }
  linker_put(l, l->dynamic, tags, sizeof tags);
}

static Elf64_Phdr linker_segment(uint32_t type, uint32_t flags, uint64_t from, uint64_t file_end,
                                 uint64_t end, uint64_t align) {
  return (Elf64_Phdr){.p_type = type,
                      .p_flags = flags,
                      .p_offset = from,
                      .p_vaddr = from,
                      .p_paddr = from,
                      .p_filesz = file_end - from,
                      .p_memsz = end - from,
                      .p_align = align};
}

static void linker_put_head(linker *l) {
  uint64_t dynamic_end = l->dynamic + LINKER_TAGS * sizeof(Elf64_Dyn);
  Elf64_Phdr segments[LINKER_SEGMENTS] = {
      linker_segment(PT_LOAD, PF_R | PF_X, 0, l->code_end, l->code_end, LINKER_PAGE),
      linker_segment(PT_LOAD, PF_R | PF_W, l->data, l->data_end, l->end, LINKER_PAGE),
      linker_segment(PT_DYNAMIC, PF_R | PF_W, l->dynamic, dynamic_end, dynamic_end, 8),
      /* Stacks need not be run. */
      linker_segment(PT_GNU_STACK, PF_R | PF_W, 0, 0, 0, 16),
  };
  Elf64_Ehdr head = *(const Elf64_Ehdr *)(const void *)l->objects->bytes;
  head.e_type = ET_DYN;
  head.e_entry = 0;
  head.e_phoff = sizeof head;
  head.e_phentsize = sizeof *segments;
  head.e_phnum = LINKER_SEGMENTS;
  head.e_shoff = head.e_shnum = head.e_shstrndx = 0;
  linker_put(l, 0, &head, sizeof head);
  linker_put(l, sizeof head, segments, sizeof segments);
}

static bool linker_make(linker *l) {
  uint64_t got, plt;
  for (int i = 0; i < l->object_count; i++) {
    if (!linker_read(&l->objects[i])) return false;
  }
  if (!linker_lay_out(l)) return false;
  for (int i = 0; i < l->object_count; i++) linker_put_sections(l, &l->objects[i]);
  if (!linker_put_symbols(l)) return false;
  got = l->got;
  plt = l->plt;
  for (int i = 0; i < l->object_count; i++) {
    if (!linker_put_tables(l, &l->objects[i], &got, &plt)) return false;
  }
  if (!linker_relocations(l, linker_put_relocated)) return false;
  linker_put_dynamic(l);
  linker_put_head(l);
  return true;
}

bool halo_link(const halo_link_object *objects, int count, unsigned char **out, size_t *out_size) {
  linker l = {.object_count = count};
  l.objects = calloc((size_t)count, sizeof *l.objects);
  for (int i = 0; l.objects && i < count; i++) {
    l.objects[i].bytes = objects[i].bytes;
    l.objects[i].size = objects[i].size;
  }
  bool good = l.objects && linker_make(&l);
  for (int i = 0; l.objects && i < count; i++) {
    free(l.objects[i].addresses);
    free(l.objects[i].found);
  }
  free(l.objects);
  if (!good) free(l.out);
  *out = good ? l.out : NULL;
  *out_size = good ? l.data_end : 0;
  return good;
}

#else

bool halo_link(const halo_link_object *objects, int count, unsigned char **out, size_t *out_size) {
  (void)objects;
  (void)count;
  *out = NULL;
  *out_size = 0;
  return false;
}

#endif
