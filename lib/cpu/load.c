/* SPDX-License-Identifier: Apache-2.0 */
/* cpu/load.c: objects (ELF, x86-64) placed in memory, so that neither LLVM nor a linker is needed to run them. */
#include "base/memory.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "cpu/compile.h"

#include <elf.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>

/* Functions that code may call: of the C library, and compilers' own. */
static const struct {
  const char *name;
  void *address;
} load_outer[] = {
#define LOAD_ONE(NAME) {#NAME, (void *)NAME},
#define LOAD_BOTH(NAME) LOAD_ONE(NAME) LOAD_ONE(NAME##f)
    LOAD_ONE(memcpy) LOAD_ONE(memmove) LOAD_ONE(memset) LOAD_BOTH(acos) LOAD_BOTH(acosh)
        LOAD_BOTH(asin) LOAD_BOTH(asinh) LOAD_BOTH(atan) LOAD_BOTH(atan2) LOAD_BOTH(atanh)
            LOAD_BOTH(cbrt) LOAD_BOTH(ceil) LOAD_BOTH(cos) LOAD_BOTH(cosh) LOAD_BOTH(erf)
                LOAD_BOTH(erfc) LOAD_BOTH(exp) LOAD_BOTH(exp2) LOAD_BOTH(expm1) LOAD_BOTH(floor)
                    LOAD_BOTH(fma) LOAD_BOTH(fmod) LOAD_BOTH(ldexp) LOAD_BOTH(log) LOAD_BOTH(log1p)
                        LOAD_BOTH(log2) LOAD_BOTH(pow) LOAD_BOTH(rint) LOAD_BOTH(round)
                            LOAD_BOTH(sin) LOAD_BOTH(sinh) LOAD_BOTH(tan) LOAD_BOTH(tanh)
                                LOAD_BOTH(trunc){"__extendhfsf2", (void *)cpu_half_extend},
    {"__truncsfhf2", (void *)cpu_half_truncate},
#undef LOAD_BOTH
#undef LOAD_ONE
};

struct cpu_image {
  char *memory;
  size_t size;
};

enum {
  LOAD_SECTIONS = 256,
  LOAD_SLOT = 16,
  LOAD_ALIGN = 64,
  LOAD_MOST = 1 << 30,
  LOAD_PAGE = 4096
};

/* An object, and where its parts are in the image. */
typedef struct load_object {
  const char *bytes;
  size_t size;
  const Elf64_Shdr *sections;
  int section_count;
  const Elf64_Sym *symbols;
  size_t symbol_count;
  const char *names; /* `names_size` bytes, the last one a NUL */
  size_t names_size;
  size_t at[LOAD_SECTIONS]; /* of its sections, in the image */
  size_t slots;             /* an address and a jump to it for each symbol */
} load_object;

static bool load_fits(const load_object *o, size_t at, size_t size) {
  return at <= o->size && size <= o->size - at;
}

/* Finds the symbols and their names. */
static bool load_find_symbols(load_object *o, const Elf64_Shdr *s) {
  if (s->sh_link >= (unsigned)o->section_count) return false;
  const Elf64_Shdr *names = &o->sections[s->sh_link];
  o->symbols = (const Elf64_Sym *)(o->bytes + s->sh_offset);
  o->symbol_count = s->sh_size / sizeof *o->symbols;
  o->names = o->bytes + names->sh_offset;
  o->names_size = names->sh_size;
  if (!o->names_size || !load_fits(o, names->sh_offset, o->names_size)) return false;
  if (o->names[o->names_size - 1]) return false;
  for (size_t i = 0; i < o->symbol_count; i++) {
    if (o->symbols[i].st_name >= o->names_size) return false;
  }
  return true;
}

/* Checks an object's tables, and finds room for its sections from *room on. */
static const char *load_open(load_object *o, const void *bytes, size_t size, size_t *room) {
  const Elf64_Ehdr *head = bytes;
  *o = (load_object){.bytes = bytes, .size = size};
  if (size < sizeof *head || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0) return "no object";
  if (head->e_machine != EM_X86_64) return "an object for another processor";
  if (head->e_shentsize != sizeof *o->sections || head->e_shoff % 8) return "a damaged object";
  o->section_count = head->e_shnum;
  o->sections = (const Elf64_Shdr *)(o->bytes + head->e_shoff);
  if (o->section_count > LOAD_SECTIONS) return "more sections than are expected";
  if (!load_fits(o, head->e_shoff, sizeof *o->sections * (size_t)o->section_count))
    return "a cut object";
  for (int i = 0; i < o->section_count; i++) {
    const Elf64_Shdr *s = &o->sections[i];
    if (s->sh_type != SHT_NOBITS && !load_fits(o, s->sh_offset, s->sh_size)) return "a cut object";
    bool is_table = s->sh_type == SHT_SYMTAB || s->sh_type == SHT_RELA;
    if (is_table && s->sh_offset % 8) return "a damaged object";
    if (s->sh_type == SHT_SYMTAB && !load_find_symbols(o, s)) return "a damaged object";
    if (!(s->sh_flags & SHF_ALLOC)) continue;
    if (s->sh_addralign > LOAD_PAGE || s->sh_size > LOAD_MOST) return "a damaged object";
    size_t align = s->sh_addralign > 1 ? s->sh_addralign : 1;
    *room = (*room + align - 1) / align * align;
    o->at[i] = *room;
    *room += s->sh_size;
  }
  *room = (*room + LOAD_ALIGN - 1) / LOAD_ALIGN * LOAD_ALIGN;
  o->slots = *room;
  *room += o->symbol_count * LOAD_SLOT;
  *room = (*room + LOAD_ALIGN - 1) / LOAD_ALIGN * LOAD_ALIGN;
  return NULL;
}

static void *load_find_outer(const char *name) {
  for (size_t i = 0; i < sizeof load_outer / sizeof *load_outer; i++) {
    if (strcmp(load_outer[i].name, name) == 0) return load_outer[i].address;
  }
  return NULL;
}

/* The address of a symbol in its slot, and a jump to it; NULL, or the name of what is not there. */
static const char *load_symbols(const load_object *o, char *image) {
  for (size_t i = 1; i < o->symbol_count; i++) {
    const Elf64_Sym *symbol = &o->symbols[i];
    char *slot = image + o->slots + i * LOAD_SLOT, *address = NULL;
    if (symbol->st_shndx == SHN_UNDEF) {
      address = load_find_outer(o->names + symbol->st_name);
      if (!address) return o->names + symbol->st_name;
    } else if (symbol->st_shndx < o->section_count) {
      if (symbol->st_value > o->sections[symbol->st_shndx].sh_size) return "a damaged symbol";
      address = image + o->at[symbol->st_shndx] + symbol->st_value;
    }
    static const unsigned char jump[] = {0xff, 0x25, 0xf2, 0xff, 0xff, 0xff}; /* jmp *slot */
    memcpy(slot, &address, sizeof address);
    memcpy(slot + 8, jump, sizeof jump);
  }
  return NULL;
}

/* NULL, or what is not understood. */
static const char *load_relocate(const load_object *o, char *image, const Elf64_Shdr *list) {
  const Elf64_Rela *relocations = (const Elf64_Rela *)(o->bytes + list->sh_offset);
  for (size_t k = 0; k < list->sh_size / sizeof *relocations; k++) {
    const Elf64_Rela *r = &relocations[k];
    size_t number = ELF64_R_SYM(r->r_info);
    size_t width = ELF64_R_TYPE(r->r_info) == R_X86_64_64 ? 8 : 4;
    size_t room = o->sections[list->sh_info].sh_size;
    if (number >= o->symbol_count || room < width || r->r_offset > room - width) {
      return "a damaged relocation";
    }
    char *place = image + o->at[list->sh_info] + r->r_offset;
    char *slot = image + o->slots + number * LOAD_SLOT, *to;
    memcpy(&to, slot, sizeof to);
    /* Without signs: what a damaged file adds may be anything. */
    const uint64_t here = (uint64_t)(uintptr_t)place, add = (uint64_t)r->r_addend;
    uint64_t target = (uint64_t)(uintptr_t)to;
    switch (ELF64_R_TYPE(r->r_info)) {
      case R_X86_64_64:
        target += add;
        memcpy(place, &target, sizeof target);
        continue;
      case R_X86_64_PLT32:
        if (o->symbols[number].st_shndx == SHN_UNDEF) target = (uint64_t)(uintptr_t)(slot + 8);
        break;
      case R_X86_64_PC32: break;
      case R_X86_64_GOTPCREL:
      case R_X86_64_GOTPCRELX:
      case R_X86_64_REX_GOTPCRELX: target = (uint64_t)(uintptr_t)slot; break;
      default: return "a relocation of a kind that is not known";
    }
    int64_t value = (int64_t)(target + add - here);
    int32_t narrow = (int32_t)value;
    if (narrow != value) return "a relocation that reaches too far";
    memcpy(place, &narrow, sizeof narrow);
  }
  return NULL;
}

/* Copies an object's sections into the image and links them. */
static const char *load_place(const load_object *o, char *image) {
  for (int i = 0; i < o->section_count; i++) {
    const Elf64_Shdr *s = &o->sections[i];
    if (!(s->sh_flags & SHF_ALLOC) || s->sh_type == SHT_NOBITS) continue;
    memcpy(image + o->at[i], o->bytes + s->sh_offset, s->sh_size);
  }
  const char *fault = load_symbols(o, image);
  for (int i = 0; i < o->section_count && !fault; i++) {
    const Elf64_Shdr *s = &o->sections[i];
    bool wanted = s->sh_type == SHT_RELA && s->sh_info < (unsigned)o->section_count &&
                  (o->sections[s->sh_info].sh_flags & SHF_ALLOC);
    if (wanted) fault = load_relocate(o, image, s);
  }
  return fault;
}

static cpu_code *load_entry(const load_object *o, char *image) {
  for (size_t i = 1; i < o->symbol_count; i++) {
    if (strcmp(o->names + o->symbols[i].st_name, CPU_COMPILE_ENTRY) != 0) continue;
    cpu_code *code;
    memcpy(&code, image + o->slots + i * LOAD_SLOT, sizeof code);
    return code;
  }
  return NULL;
}

cpu_image *cpu_image_load(cpu_kernel_code *kernels, uint32_t count, char **why) {
  load_object *objects = halo_alloc(sizeof *objects * ((size_t)count + 1));
  size_t room = 0;
  const char *fault = NULL;
  uint32_t i = 0;
  for (; i < count && !fault; i++) {
    fault = load_open(&objects[i], kernels[i].object, kernels[i].object_size, &room);
  }
  char *memory = MAP_FAILED;
  if (!fault) {
    memory =
        mmap(NULL, room ? room : 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) fault = "no memory for code";
  }
  for (i = 0; i < count && !fault; i++) {
    fault = load_place(&objects[i], memory);
    if (!fault) kernels[i].code = load_entry(&objects[i], memory);
    if (!fault && !kernels[i].code) fault = "an object without its entry";
  }
  if (!fault && mprotect(memory, room ? room : 1, PROT_READ | PROT_EXEC) != 0) {
    fault = "the system lets no memory become code";
  }
  cpu_image *image = NULL;
  if (fault) {
    halo_strbuf text = {0};
    halo_strbuf_printf(&text, "kernel %s cannot be loaded: %s",
                       i > 0 && i <= count ? kernels[i - 1].name : "", fault);
    *why = halo_strbuf_take(&text);
    if (memory != MAP_FAILED) munmap(memory, room ? room : 1);
  } else {
    image = halo_alloc(sizeof *image);
    *image = (cpu_image){memory, room ? room : 1};
  }
  halo_free(objects);
  return image;
}

void cpu_image_drop(cpu_image *image) {
  if (!image) return;
  munmap(image->memory, image->size);
  halo_free(image);
}
