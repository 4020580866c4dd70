/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/native_parts.c: the functions of a kernel, shared out among threads that compile it together, and those that are
 * compiled once for several kernels.
 *
 * A program that is one long kernel would be compiled by one core. Its long steps are functions that are not put in place
 * (plan/region_text.c), so that threads can compile some each; the linker then finds where they are. */
#include "base/memory.h"
#include "base/vec.h"
#include "opencl/native_work.h"

#include <string.h>

/* Instructions, before anything is optimised, that are worth a part, which begins by reading the kernel again. */
enum { PARTS_WORTH = 500 };

enum {
  PARTS_NONE = -1,
  PARTS_SHARED = -2 /* what shared functions are in, which are none of a kernel's */
};

typedef struct parts_function {
  llvm_value *function;
  int64_t weight; /* instructions */
  int part;
  bool wanted; /* by functions of other parts */
} parts_function;

typedef HALO_VEC(parts_function) parts_list;

static int64_t parts_weigh(const halo_native_work *w, llvm_value *function) {
  const halo_llvm *l = w->m.llvm;
  int64_t weight = 0;
  for (llvm_block *b = l->first_block(function); b; b = l->next_block(b)) {
    for (llvm_value *i = l->first_instruction(b); i; i = l->next_instruction(i)) weight++;
  }
  return weight;
}

/* Gives each function, the heaviest of those that are left first, to the part that has least; the group is the first one's.
 * Gives what the part has that has most. */
static int64_t parts_share(const halo_native_work *w, const parts_list *list, int parts) {
  int64_t loads[NATIVE_PARTS] = {0}, most = 0;
  for (int32_t i = 0; i < list->count; i++) {
    bool is_group = list->data[i].function == w->m.entry;
    if (list->data[i].part != PARTS_SHARED) list->data[i].part = is_group ? 0 : PARTS_NONE;
    if (is_group) loads[0] += list->data[i].weight;
  }
  for (int32_t left = list->count; left > 0; left--) {
    parts_function *heaviest = NULL;
    int least = 0;
    for (int32_t i = 0; i < list->count; i++) {
      parts_function *f = &list->data[i];
      if (f->part == PARTS_NONE && (!heaviest || f->weight > heaviest->weight)) heaviest = f;
    }
    if (!heaviest) break;
    for (int p = 1; p < parts; p++) least = loads[p] < loads[least] ? p : least;
    heaviest->part = least;
    loads[least] += heaviest->weight;
  }
  for (int p = 0; p < parts; p++) most = loads[p] > most ? loads[p] : most;
  return most;
}

static bool parts_is_shared(const halo_native_work *w, llvm_value *function) {
  static const char begin[] = HALO_NATIVE_SHARED_NAME;
  size_t length;
  const char *name = w->m.llvm->name(function, &length);
  return length >= sizeof begin - 1 && memcmp(name, begin, sizeof begin - 1) == 0;
}

/* Gives the weight of those that are the kernel's. */
static int64_t parts_list_all(const halo_native_work *w, parts_list *list) {
  const halo_llvm *l = w->m.llvm;
  int64_t weight = 0;
  int shared = 0;
  for (llvm_value *f = l->first_function(w->m.module); f; f = l->next_function(f)) {
    if (l->is_declaration(f)) continue;
    parts_function function = {.function = f, .weight = parts_weigh(w, f), .part = PARTS_NONE};
    if (shared < HALO_NATIVE_SHARED && parts_is_shared(w, f)) {
      function.part = PARTS_SHARED;
      shared++;
    } else {
      weight += function.weight;
    }
    halo_vec_push(list, function);
  }
  return weight;
}

int halo_native_shared(const halo_native_work *work, char *names[HALO_NATIVE_SHARED]) {
  parts_list list = {0};
  int count = 0;
  parts_list_all(work, &list);
  for (int32_t i = 0; i < list.count; i++) {
    if (list.data[i].part != PARTS_SHARED) continue;
    size_t length;
    const char *name = work->m.llvm->name(list.data[i].function, &length);
    names[count] = halo_alloc(length + 1);
    memcpy(names[count++], name, length);
  }
  halo_vec_deinit(&list);
  return count;
}

int halo_native_parts(halo_native_work *work, int most) {
  parts_list list = {0};
  int64_t weight = parts_list_all(work, &list);
  int parts = most < NATIVE_PARTS ? most : NATIVE_PARTS;
  if (parts > weight / PARTS_WORTH) parts = (int)(weight / PARTS_WORTH);
  /* As many as shorten it. */
  while (parts > 1 &&
         parts_share(work, &list, parts) + PARTS_WORTH / 2 > parts_share(work, &list, parts - 1)) {
    parts--;
  }
  halo_vec_deinit(&list);
  return parts > 1 ? parts : 1;
}

static int parts_of(const parts_list *list, llvm_value *function) {
  int32_t i = 0;
  while (i < list->count && list->data[i].function != function) i++;
  return i < list->count ? list->data[i].part : PARTS_NONE;
}

static bool parts_is_wanted(const halo_native_work *w, const parts_list *list,
                            const parts_function *f) {
  const halo_llvm *l = w->m.llvm;
  for (llvm_use *use = l->first_use(f->function); use; use = l->next_use(use)) {
    llvm_value *instruction = l->is_instruction(l->user(use));
    if (!instruction) return true;
    llvm_value *by = l->block_function(l->instruction_block(instruction));
    int part = parts_of(list, by);
    if (part != f->part && part != PARTS_SHARED) return true;
  }
  return false;
}

/* What is known of the function, which its declaration is to say too. */
static void parts_copy_attributes(const halo_native_work *w, llvm_value *from, llvm_value *to) {
  enum { MOST = 64 };
  const halo_llvm *l = w->m.llvm;
  llvm_attribute *attributes[MOST];
  unsigned last = l->parameter_count(from);
  for (unsigned i = 0; i <= last + 1; i++) {
    unsigned at = i - 1; /* the function itself, its result, its parameters */
    unsigned count = l->attribute_count(from, at);
    if (count > MOST) continue;
    l->attribute_list(from, at, attributes);
    for (unsigned a = 0; a < count; a++) l->attribute_add(to, at, attributes[a]);
  }
}

/* Puts a declaration in the function's place. */
static void parts_declare(const halo_native_work *w, llvm_value *function) {
  const halo_llvm *l = w->m.llvm;
  size_t length;
  const char *name = l->name(function, &length);
  halo_strbuf text = {0};
  halo_strbuf_append_n(&text, name, length);
  llvm_value *there = l->add_function(w->m.module, "", l->value_type(function));
  l->set_convention(there, l->convention(function));
  parts_copy_attributes(w, function, there);
  l->replace(function, there);
  l->delete_function(function);
  l->set_name(there, halo_strbuf_text(&text), text.length);
  l->set_visibility(there, LLVM_HIDDEN);
  halo_strbuf_deinit(&text);
}

void native_keep_part(const halo_native_work *w, int part, int parts) {
  const halo_llvm *l = w->m.llvm;
  parts_list list = {0};
  parts_list_all(w, &list);
  parts_share(w, &list, parts);
  bool all = true; /* functions are this part's */
  for (int32_t i = 0; i < list.count; i++) all = all && list.data[i].part == part;
  /* That an array is not kept, as that what is called only reads: declarations do not show it. */
  if (!all) cpu_module_run(&w->m, "cgscc(function-attrs)");
  for (int32_t i = 0; i < list.count; i++) {
    parts_function *f = &list.data[i];
    f->wanted = f->function != w->m.entry && parts_is_wanted(w, &list, f);
  }
  for (int32_t i = 0; i < list.count; i++) {
    const parts_function *f = &list.data[i];
    if (f->part != part) {
      parts_declare(w, f->function);
    } else if (f->wanted) {
      l->set_linkage(f->function, LLVM_LINK_EXTERNAL);
      l->set_visibility(f->function, LLVM_HIDDEN);
    }
  }
  halo_vec_deinit(&list);
}
