/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/native.c: kernels made machine code by LLVM.
 *
 * PoCL has clang optimise a program, and for each kernel and size of group copies the kernel, optimises it, makes loops
 * over the items of a group, makes two more functions of it that are nearly the same, and optimises all of that. Where
 * no item waits for another, a group is a loop that can be written in the program's own text, and optimising that once
 * takes half the time or less, in as many threads as there are. What comes out is put where PoCL keeps what it compiled. */
#include "opencl/native.h"

#include "base/file.h"
#include "base/map.h"
#include "base/memory.h"
#include "linker/link.h"
#include "opencl/native_work.h"
#include "opencl/pocl.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Text ---- */

/* The numbers of work items are variables of no program (pocl_alone.c), for which the group's own ones stand in the end:
 * in the order of native_variables. A group may use vectors as long as kernels do (HALO_KERNEL_APART says why). */
void halo_native_declare(halo_strbuf *out) {
  halo_strbuf_append(
      out,
      "extern __constant size_t h_most;\n"
      "void h_variables(size_t *, size_t *, size_t *, size_t *, size_t *, size_t *, size_t *, "
      "size_t *, size_t *);\n"
      "#define H_GROUP(KERNEL, VALUES, ...) \\\n"
      "__attribute__((min_vector_width(512))) \\\n"
      "void h_group_##KERNEL(uchar **h_v, const size_t *h_n, size_t h_i, size_t h_j, size_t h_k) { "
      "\\\n"
      "size_t h_x, h_y, h_z, h_a = h_n[0], h_b = h_n[1], h_c = h_n[2]; \\\n"
      "h_variables(&h_x, &h_y, &h_z, &h_i, &h_j, &h_k, &h_a, &h_b, &h_c); VALUES \\\n"
      "__builtin_assume(h_i < h_most && h_j < h_most && h_k < h_most); \\\n"
      "for (h_z = 0; h_z < _local_size_z; h_z++) for (h_y = 0; h_y < _local_size_y; h_y++) \\\n"
      "_Pragma(\"clang loop vectorize(assume_safety)\") \\\n"
      "for (h_x = 0; h_x < _local_size_x; h_x++) KERNEL(__VA_ARGS__); }\n");
}

static const char *const native_variables[] = {"_local_id_x",   "_local_id_y",   "_local_id_z",
                                               "_group_id_x",   "_group_id_y",   "_group_id_z",
                                               "_num_groups_x", "_num_groups_y", "_num_groups_z"};
enum { NATIVE_VARIABLES = sizeof native_variables / sizeof *native_variables };

void halo_native_group(halo_strbuf *out, const char *kernel, const char *parameters) {
  static const char qualifier[] = "const ";
  halo_strbuf values = {0}, names = {0};
  for (int n = 0; *parameters; n++) {
    parameters += strspn(parameters, " ,");
    size_t length = strcspn(parameters, ",");
    const char *type = parameters;
    if (strncmp(type, qualifier, strlen(qualifier)) == 0) type += strlen(qualifier);
    int word = (int)strcspn(type, " ,");
    if (memchr(parameters, '*', length)) {
      halo_strbuf_printf(&values, "__global void *h_v%d = *(__global void **)h_v[%d]; ", n, n);
    } else {
      halo_strbuf_printf(&values, "%.*s h_v%d = *(%.*s *)h_v[%d]; ", word, type, n, word, type, n);
    }
    halo_strbuf_printf(&names, ", h_v%d", n);
    parameters += length;
  }
  halo_strbuf_printf(out, "H_GROUP(%s, %s%s)\n", kernel, halo_strbuf_text(&values),
                     names.length ? halo_strbuf_text(&names) : ", ");
  halo_strbuf_deinit(&values);
  halo_strbuf_deinit(&names);
}

/* ---- The module of one kernel ---- */

bool halo_native_is_there(void) {
#if defined(__x86_64__) && defined(__GLIBC__)
  return halo_llvm_find() != NULL;
#else
  return false;
#endif
}

/* For the processor that clang compiled for. */
static bool native_open_machine(halo_native_work *w, llvm_value *function) {
  const halo_llvm *l = w->m.llvm;
  static const char *const names[] = {"target-cpu", "target-features"};
  halo_strbuf texts[2] = {{0}};
  for (int i = 0; i < 2; i++) {
    unsigned size = (unsigned)strlen(names[i]);
    llvm_attribute *attribute = l->attribute_text(function, ~0u, names[i], size);
    unsigned length = 0;
    const char *text = attribute ? l->attribute_value(attribute, &length) : "";
    halo_strbuf_append_n(&texts[i], text, length);
  }
  bool good =
      cpu_module_open_machine(&w->m, halo_strbuf_text(&texts[0]), halo_strbuf_text(&texts[1]));
  halo_strbuf_deinit(&texts[0]);
  halo_strbuf_deinit(&texts[1]);
  return good;
}

/* Reads the function that is compiled and what it calls; all else is of this module alone. */
static bool native_begin(halo_native_work *w) {
  const halo_llvm *l = w->m.llvm;
  if (!w->m.entry || !native_open_machine(w, w->m.entry)) return false;
  cpu_module_read(&w->m, w->m.entry);
  for (llvm_value *f = l->first_function(w->m.module); f; f = l->next_function(f)) {
    if (!l->is_declaration(f)) l->set_linkage(f, LLVM_LINK_INTERNAL);
  }
  l->set_linkage(w->m.entry, LLVM_LINK_EXTERNAL);
  return true;
}

/* Leaves the group alone with what it calls. */
static bool native_choose(halo_native_work *w) {
  const halo_llvm *l = w->m.llvm;
  halo_strbuf name = {0};
  halo_strbuf_printf(&name, "h_group_%s", w->kernel->name);
  w->m.entry = l->find_function(w->m.module, halo_strbuf_text(&name));
  halo_strbuf_deinit(&name);
  llvm_value *kernel = l->find_function(w->m.module, w->kernel->name);
  if (!kernel || !native_begin(w)) return false;
  halo_strbuf_printf(&name, "_pocl_kernel_%s_workgroup", w->kernel->name);
  l->set_name(w->m.entry, halo_strbuf_text(&name), name.length);
  halo_strbuf_deinit(&name);
  /* A function that is inlined knows where its pointers come from only if they are no variables any more and its own calls
   * are inlined already: LLVM takes a call that gets two pointers for an access to both. */
  cpu_module_set_flag(&w->m, kernel, "noinline", true);
  bool good = cpu_module_run(&w->m, "globaldce,function(sroa,early-cse),cgscc(inline)");
  cpu_module_inline(&w->m, kernel);
  return good;
}

/* ---- Variables ---- */

static void native_set_global(const halo_native_work *w, const char *name,
                              unsigned long long value) {
  const halo_llvm *l = w->m.llvm;
  llvm_value *global = l->find_global(w->m.module, name);
  if (!global) return;
  l->set_initializer(global, l->constant(l->int64(w->m.context), value, 0));
  l->set_linkage(global, LLVM_LINK_INTERNAL);
}

static void native_set_sizes(const halo_native_work *w) {
  const halo_native_kernel *k = w->kernel;
  native_set_global(w, "_local_size_x", k->local[0]);
  native_set_global(w, "_local_size_y", k->local[1]);
  native_set_global(w, "_local_size_z", k->local[2]);
  native_set_global(w, "_global_offset_x", 0);
  native_set_global(w, "_global_offset_y", 0);
  native_set_global(w, "_global_offset_z", 0);
  native_set_global(w, "h_most", k->small ? HALO_POCL_SMALL_GRID : ~0ull);
}

/* The call of h_variables, which names the group's own variables. */
static llvm_value *native_find_call(const halo_native_work *w, llvm_value *function) {
  const halo_llvm *l = w->m.llvm;
  llvm_use *use = function ? l->first_use(function) : NULL;
  return use && !l->next_use(use) ? l->is_call(l->user(use)) : NULL;
}

static bool native_bind(const halo_native_work *w) {
  const halo_llvm *l = w->m.llvm;
  llvm_value *function = l->find_function(w->m.module, "h_variables");
  llvm_value *call = native_find_call(w, function);
  if (!call) return false;
  for (int v = 0; v < NATIVE_VARIABLES; v++) {
    llvm_value *global = l->find_global(w->m.module, native_variables[v]);
    if (!global) continue;
    l->replace(global, l->operand(call, (unsigned)v));
    l->delete_global(global);
  }
  l->erase(call);
  l->delete_function(function);
  return true;
}

/* ---- Loops over items ---- */

/* Whether it says that accesses of the loop's rounds do not depend on each other. */
static bool native_is_parallel(const halo_native_work *w, llvm_value *property) {
  static const char name[] = "llvm.loop.parallel_accesses";
  const halo_llvm *l = w->m.llvm;
  llvm_value *parts[8];
  unsigned length = 0, count = property ? l->metadata_count(property) : 0;
  if (count < 1 || count > sizeof parts / sizeof *parts) return false;
  l->metadata_operands(property, parts);
  const char *text = parts[0] ? l->metadata_text(parts[0], &length) : NULL;
  return text && length == strlen(name) && memcmp(text, name, length) == 0;
}

/* Whether items keep more than single values in memory of their own. When their code is put in place all of them have one place
 * for it, by which rounds depend on one another whatever the text says. */
static bool native_has_arrays(const halo_native_work *w) {
  const halo_llvm *l = w->m.llvm;
  for (llvm_value *f = l->first_function(w->m.module); f; f = l->next_function(f)) {
    if (f != w->m.entry && !l->is_declaration(f) && cpu_module_has_array(&w->m, f)) return true;
  }
  return false;
}

static void native_keep_access(halo_native_work *w, llvm_value *property) {
  llvm_value *parts[8];
  if (w->m.llvm->metadata_count(property) != 2) return;
  w->m.llvm->metadata_operands(property, parts);
  w->access = parts[1];
}

/* Of what the text says of a loop over items only that is kept, where it is true: whether vectors pay is for LLVM to find. */
static void native_free_loop(halo_native_work *w, llvm_value *jump, unsigned kind, bool depend) {
  const halo_llvm *l = w->m.llvm;
  llvm_value *loop = l->metadata_get(jump, kind), *parts[8];
  if (loop && depend) l->metadata_set(jump, kind, NULL);
  unsigned count = loop && !depend ? l->metadata_count(loop) : 0;
  if (count < 2 || count > sizeof parts / sizeof *parts) return;
  l->metadata_operands(loop, parts);
  for (unsigned p = 1; p < count; p++) {
    if (!native_is_parallel(w, parts[p])) continue;
    /* A loop's own node is its first part. */
    llvm_metadata *own = l->metadata_later(w->m.context, NULL, 0);
    llvm_metadata *both[] = {own, l->metadata_of(parts[p])};
    llvm_metadata *node = l->metadata_node(w->m.context, both, 2);
    l->metadata_replace(own, node);
    l->metadata_set(jump, kind, l->metadata_value(w->m.context, node));
    native_keep_access(w, parts[p]);
    return;
  }
}

/* While the group's function has no loops but its own. */
static void native_free_loops(halo_native_work *w) {
  static const char name[] = "llvm.loop";
  const halo_llvm *l = w->m.llvm;
  unsigned kind = l->metadata_kind(w->m.context, name, sizeof name - 1);
  bool depend = native_has_arrays(w);
  for (llvm_block *block = l->first_block(w->m.entry); block; block = l->next_block(block)) {
    llvm_value *end = l->block_end(block);
    if (end) native_free_loop(w, end, kind, depend);
  }
}

/* Where a kernel with `restrict` was put in place stands a note that LLVM takes for an access to memory; of no group of
 * accesses, it made the whole loop one whose rounds may depend on one another: what is written in place then fails the tests
 * that stand before the vectors. */
static void native_mark_scopes(const halo_native_work *w) {
  static const char access[] = "llvm.access.group";
  const halo_llvm *l = w->m.llvm;
  llvm_value *note = l->find_function(w->m.module, "llvm.experimental.noalias.scope.decl");
  unsigned kind = l->metadata_kind(w->m.context, access, sizeof access - 1);
  for (llvm_use *use = note && w->access ? l->first_use(note) : NULL; use; use = l->next_use(use)) {
    llvm_value *call = l->is_call(l->user(use));
    if (!call || l->block_function(l->instruction_block(call)) != w->m.entry) continue;
    if (!l->metadata_get(call, kind)) l->metadata_set(call, kind, w->access);
  }
}

/* ---- Optimising ---- */

/* Tests that all items of a group answer alike, such as the row's, move out of the loop over the items, which then exists once
 * for each answer: otherwise vectors compute both branches and choose. */
static bool native_optimise(const halo_native_work *w) {
  static const char ask_first[] =
      "function(sroa,early-cse,loop-mssa(loop-rotate,licm,simple-loop-unswitch<nontrivial>))";
  bool good = w->kernel->shared || w->kernel->local[0] == 1 || cpu_module_run(&w->m, ask_first);
  /* Higher, arguments are promoted: a read becomes the caller's, who knows nothing of `restrict` any more. */
  return good && cpu_module_run(&w->m, "default<O2>");
}

/* ---- Files ---- */

/* Stands behind a library, where what loads it does not look. */
typedef struct native_seal {
  char magic[8];
  uint64_t size, checksum; /* of what is before it */
} native_seal;

static native_seal native_make_seal(const unsigned char *bytes, size_t size) {
  return (native_seal){"HALOSO1", size, halo_hash(bytes, size, 0)};
}

static bool native_write(const char *path, const unsigned char *bytes, size_t size) {
  halo_outfile *file;
  native_seal seal = native_make_seal(bytes, size);
  if (halo_outfile_create(path, &file) != HALO_OK) return false;
  if (halo_outfile_write(file, bytes, size) == HALO_OK &&
      halo_outfile_write(file, &seal, sizeof seal) == HALO_OK &&
      halo_outfile_sync(file) == HALO_OK) {
    return halo_outfile_commit(file) == HALO_OK;
  }
  halo_outfile_discard(file);
  return false;
}

bool halo_native_is_whole(const char *path) {
  char *bytes;
  size_t size;
  native_seal seal, expected;
  if (access(path, R_OK) != 0 || halo_file_read(path, &bytes, &size) != HALO_OK) return false;
  bool whole = size > sizeof seal;
  if (whole) {
    size -= sizeof seal;
    memcpy(&seal, bytes + size, sizeof seal);
    expected = native_make_seal((const unsigned char *)bytes, size);
    whole = memcmp(&seal, &expected, sizeof seal) == 0;
  }
  halo_free(bytes);
  return whole;
}

/* ---- A shared function ---- */

static bool native_open_shared(halo_native_work *w) {
  const halo_llvm *l = w->m.llvm;
  w->m.entry = l->find_function(w->m.module, w->kernel->name);
  if (!native_begin(w)) return false;
  l->set_visibility(w->m.entry, LLVM_HIDDEN);
  for (int v = 0; v < NATIVE_VARIABLES; v++) {
    llvm_value *global = l->find_global(w->m.module, native_variables[v]);
    if (global && l->first_use(global)) return false;
  }
  return true;
}

/* ---- A kernel ---- */

static bool native_open_kernel(halo_native_work *w) {
  if (!native_choose(w)) return false;
  native_free_loops(w);
  native_set_sizes(w);
  bool gathered = cpu_module_gather(&w->m, native_variables, NATIVE_VARIABLES);
  if (!gathered || !native_bind(w)) return false;
  native_mark_scopes(w);
  return true;
}

halo_native_work *halo_native_open(const halo_native_kernel *kernel) {
  const halo_llvm *llvm = halo_llvm_find();
  if (!llvm) return NULL;
  halo_native_work *w = halo_alloc(sizeof *w);
  *w = (halo_native_work){.m = {.llvm = llvm}, .kernel = kernel};
  bool parsed = cpu_module_parse(&w->m, kernel->bitcode, kernel->size);
  if (parsed && (kernel->shared ? native_open_shared(w) : native_open_kernel(w))) return w;
  halo_native_close(w);
  return NULL;
}

void *halo_native_make(halo_native_work *work, int part, int parts) {
  if (!work->kernel->shared) native_keep_part(work, part, parts);
  return native_optimise(work) ? cpu_module_emit(&work->m) : NULL;
}

void halo_native_close(halo_native_work *work) {
  cpu_module_close(&work->m);
  halo_free(work);
}

bool halo_native_link(void *const *objects, int count, const char *path) {
  const halo_llvm *l = halo_llvm_find();
  halo_link_object parts[NATIVE_OBJECTS];
  unsigned char *library = NULL;
  size_t size = 0;
  bool good = l && count <= NATIVE_OBJECTS;
  for (int i = 0; good && i < count; i++) {
    good = objects[i] != NULL;
    if (good) parts[i] = (halo_link_object){l->bytes_start(objects[i]), l->bytes_size(objects[i])};
  }
  good = good && halo_link(parts, count, &library, &size) && native_write(path, library, size);
  free(library);
  return good;
}

void halo_native_drop(void *object) {
  if (object) halo_llvm_find()->bytes_dispose(object);
}
