/* SPDX-License-Identifier: Apache-2.0 */
/* cpu/compile.c: a program's bitcode made machine code.
 *
 * Each kernel is compiled on its own, so that threads share the kernels of a program: an entry is made that takes the
 * arguments from memory, what it calls is read, the item's place is put where the text asked for it, and LLVM optimises that once. */
#include "cpu/compile.h"

#include "base/memory.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "cpu/llvm.h"
#include "cpu/source.h"
#include "cpu/target.h"

#include <string.h>

typedef struct compile_work {
  const halo_llvm *llvm;
  llvm_context *context;
  llvm_module *module;
  llvm_machine *machine;
  llvm_value *kernel, *entry;
} compile_work;

static void compile_ignore(llvm_diagnostic *what, void *data) {
  (void)what;
  (void)data;
}

/* ---- Reading ---- */

/* Without the bodies of functions, which are read when they are asked for. A handler of diagnostics is needed: without
 * one LLVM ends the process over bitcode that it does not know. */
static bool compile_parse(compile_work *w, const unsigned char *bitcode, size_t size) {
  const halo_llvm *l = w->llvm;
  w->context = l->context_create();
  l->set_diagnostics(w->context, compile_ignore, NULL);
  llvm_bytes *bytes = l->bytes_of((const char *)bitcode, size, "program");
  if (l->parse(w->context, bytes, &w->module) == 0) return true; /* the bytes are the module's */
  l->bytes_dispose(bytes);
  w->module = NULL;
  return false;
}

static void compile_close(compile_work *w) {
  const halo_llvm *l = w->llvm;
  if (w->machine) l->machine_dispose(w->machine);
  if (w->module) l->module_dispose(w->module);
  if (w->context) l->context_dispose(w->context);
}

static bool compile_is_unread(const compile_work *w, llvm_value *function) {
  return !w->llvm->is_declaration(function) && !w->llvm->first_block(function);
}

/* Reads the kernel and what it calls, and drops the rest of the program. */
static void compile_read(const compile_work *w) {
  const halo_llvm *l = w->llvm;
  llvm_passes *none = l->passes_create(w->module);
  for (bool found = true; found;) {
    found = false;
    for (llvm_value *f = l->first_function(w->module); f; f = l->next_function(f)) {
      if (!compile_is_unread(w, f) || (f != w->kernel && !l->first_use(f))) continue;
      l->passes_run(none, f); /* of no passes: that reads it */
      found = true;
    }
  }
  l->passes_dispose(none);
  for (llvm_value *f = l->first_function(w->module), *next; f; f = next) {
    next = l->next_function(f);
    if (compile_is_unread(w, f)) l->delete_function(f);
  }
}

/* ---- The kernels of a program ---- */

/* Kernels are all functions that others may call, but for these, which several kernels share. */
static const char compile_shared[] = "h_shared_";

static bool compile_is_kernel(const compile_work *w, llvm_value *function) {
  size_t length;
  const char *name = w->llvm->name(function, &length);
  bool shared =
      length >= strlen(compile_shared) && memcmp(name, compile_shared, strlen(compile_shared)) == 0;
  return !w->llvm->is_declaration(function) && w->llvm->linkage(function) == LLVM_LINK_EXTERNAL &&
         !shared;
}

static cpu_parameter compile_parameter(const halo_llvm *l, llvm_type *type) {
  switch (l->type_kind(type)) {
    case LLVM_KIND_POINTER: return (cpu_parameter){CPU_POINTER, sizeof(cl_mem)};
    case LLVM_KIND_HALF: return (cpu_parameter){CPU_VALUE, 2};
    case LLVM_KIND_FLOAT: return (cpu_parameter){CPU_VALUE, 4};
    case LLVM_KIND_DOUBLE: return (cpu_parameter){CPU_VALUE, 8};
    case LLVM_KIND_INTEGER: return (cpu_parameter){CPU_VALUE, (l->integer_width(type) + 7) / 8};
    default: return (cpu_parameter){CPU_VALUE, 0};
  }
}

static cpu_kernel_code compile_describe(const compile_work *w, llvm_value *function) {
  const halo_llvm *l = w->llvm;
  size_t length;
  const char *name = l->name(function, &length);
  cpu_kernel_code kernel = {.parameter_count = l->parameter_count(function)};
  kernel.name = halo_alloc(length + 1);
  memcpy(kernel.name, name, length);
  kernel.parameters = halo_alloc(sizeof *kernel.parameters * ((size_t)kernel.parameter_count + 1));
  for (uint32_t i = 0; i < kernel.parameter_count; i++) {
    kernel.parameters[i] = compile_parameter(l, l->type_of(l->parameter(function, i)));
  }
  return kernel;
}

bool cpu_compile_list(const unsigned char *bitcode, size_t size, cpu_kernel_code **out,
                      uint32_t *count, halo_strbuf *log) {
  compile_work w = {.llvm = halo_llvm_open(NULL, cpu_front_version())};
  HALO_VEC(cpu_kernel_code) kernels = {0};
  if (!w.llvm) {
    halo_strbuf_printf(log, "there is no libLLVM of version %d or newer, which makes code of what %s gives",
                       cpu_front_version(), cpu_front_name());
    return false;
  }
  bool good = compile_parse(&w, bitcode, size);
  if (!good) halo_strbuf_printf(log, "LLVM %d does not understand what %s gives", w.llvm->version, cpu_front_name());
  for (llvm_value *f = good ? w.llvm->first_function(w.module) : NULL; f;
       f = w.llvm->next_function(f)) {
    if (compile_is_kernel(&w, f)) halo_vec_push(&kernels, compile_describe(&w, f));
  }
  compile_close(&w);
  *out = kernels.data;
  *count = (uint32_t)kernels.count;
  return good;
}

/* ---- Attributes ---- */

static void compile_set_flag(const compile_work *w, llvm_value *function, const char *name,
                             bool on) {
  const halo_llvm *l = w->llvm;
  unsigned kind = l->attribute_kind(name, strlen(name));
  const unsigned whole = ~0u; /* the function itself */
  if (on) {
    l->attribute_add(function, whole, l->attribute_create(w->context, kind, 0));
  } else {
    l->attribute_remove(function, whole, kind);
  }
}

static void compile_put_in_place(const compile_work *w, llvm_value *function) {
  compile_set_flag(w, function, "noinline", false);
  compile_set_flag(w, function, "alwaysinline", true);
}

static void compile_set_text(const compile_work *w, llvm_value *function, const char *name,
                             const char *value) {
  const halo_llvm *l = w->llvm;
  unsigned length = (unsigned)strlen(name);
  l->attribute_text_remove(function, ~0u, name, length);
  if (!value) return;
  l->attribute_add(function, ~0u,
                   l->attribute_text_create(w->context, name, length, value,
                                            (unsigned)strlen(value)));
}

/* Functions are compiled for this processor, with vectors as long as it has them, and as leaves that nobody unwinds. */
static void compile_set_attributes(const compile_work *w, llvm_value *function,
                                   const cpu_target *target) {
  static const char *const dropped[] = {"tune-cpu", "frame-pointer", "stackrealign",
                                        "no-jump-tables", "min-legal-vector-width"};
  compile_set_flag(w, function, "uwtable", false);
  for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++) {
    compile_set_text(w, function, dropped[i], NULL);
  }
  compile_set_text(w, function, "target-cpu", target->cpu);
  compile_set_text(w, function, "target-features", target->features);
  compile_set_text(w, function, "prefer-vector-width", "512");
}

/* ---- The entry ---- */

static llvm_value *compile_load_at(const compile_work *w, llvm_builder *builder, llvm_type *type,
                                   llvm_type *step, llvm_value *base, unsigned index) {
  const halo_llvm *l = w->llvm;
  llvm_value *number = l->constant(l->int64(w->context), index, 0);
  llvm_value *place = l->build_element(builder, step, base, &number, 1, "");
  return l->build_load(builder, type, place, "");
}

/* void h_entry(void **arguments, const size_t *place): calls the kernel with what the arguments point to. */
static void compile_make_entry(compile_work *w) {
  const halo_llvm *l = w->llvm;
  enum { MOST = 256 };
  llvm_type *pointer = l->pointer_type(l->int8(w->context), 0), *both[] = {pointer, pointer};
  llvm_type *type = l->function_type(l->void_type(w->context), both, 2, 0);
  w->entry = l->add_function(w->module, CPU_COMPILE_ENTRY, type);
  compile_set_flag(w, w->entry, "nounwind", true);
  llvm_builder *builder = l->builder_create(w->context);
  l->builder_at_end(builder, l->add_block(w->context, w->entry, ""));
  unsigned count = l->parameter_count(w->kernel);
  llvm_value **values = halo_alloc(sizeof *values * ((size_t)count + 1));
  for (unsigned i = 0; i < count; i++) {
    llvm_value *place =
        compile_load_at(w, builder, pointer, pointer, l->parameter(w->entry, 0), i);
    values[i] = l->build_load(builder, l->type_of(l->parameter(w->kernel, i)), place, "");
  }
  llvm_value *call =
      l->build_call(builder, l->value_type(w->kernel), w->kernel, values, count, "");
  l->set_call_convention(call, l->convention(w->kernel));
  l->build_return(builder);
  l->builder_dispose(builder);
  halo_free(values);
}

/* ---- Places ---- */

/* Has functions other than the entry that ask for a place put in place. *asked: there are such. False: something
 * that is no function asks. */
static bool compile_mark(const compile_work *w, const char *variable, bool *asked) {
  const halo_llvm *l = w->llvm;
  llvm_value *global = l->find_global(w->module, variable);
  for (llvm_use *use = global ? l->first_use(global) : NULL; use; use = l->next_use(use)) {
    llvm_value *instruction = l->is_instruction(l->user(use));
    if (!instruction) return false;
    llvm_value *function = l->block_function(l->instruction_block(instruction));
    if (function == w->entry) continue;
    compile_put_in_place(w, function);
    *asked = true;
  }
  return true;
}

static bool compile_run(const compile_work *w, const char *passes) {
  const halo_llvm *l = w->llvm;
  llvm_options *options = l->options_create();
  l->options_set_slp(options, 1); /* as clang does; vectors of loops are usual */
  llvm_error *error = l->run_passes(w->module, passes, w->machine, options);
  l->options_dispose(options);
  if (error) l->error_drop(error);
  return !error;
}

/* Until the entry alone asks for places. */
static bool compile_gather(const compile_work *w) {
  enum { DEPTH = 8 }; /* of calls, between the entry and who asks */
  for (int round = 0; round < DEPTH; round++) {
    bool asked = false;
    if (!compile_run(w, "always-inline,globaldce")) return false;
    for (int v = 0; v < CPU_SOURCE_PLACES; v++) {
      if (!compile_mark(w, cpu_source_places[v], &asked)) return false;
    }
    if (!asked) return true;
  }
  return false;
}

/* The entry's own variables, with what its second parameter points to, in the place of the program's. */
static void compile_bind(const compile_work *w) {
  const halo_llvm *l = w->llvm;
  llvm_type *number = l->int64(w->context);
  llvm_builder *builder = l->builder_create(w->context);
  l->builder_before(builder, l->first_instruction(l->first_block(w->entry)));
  for (int v = 0; v < CPU_SOURCE_PLACES; v++) {
    llvm_value *global = l->find_global(w->module, cpu_source_places[v]);
    if (!global) continue;
    llvm_value *own = l->build_alloca(builder, number, "");
    llvm_value *value =
        compile_load_at(w, builder, number, number, l->parameter(w->entry, 1), (unsigned)v);
    l->build_store(builder, value, own);
    l->replace(global, own);
    l->delete_global(global);
  }
  l->builder_dispose(builder);
}

/* Takes out barriers; whether there were any. */
static bool compile_drop_barriers(const compile_work *w) {
  const halo_llvm *l = w->llvm;
  llvm_value *barrier = l->find_function(w->module, CPU_SOURCE_BARRIER);
  bool any = false;
  for (llvm_use *use; barrier && (use = l->first_use(barrier));) {
    any = true;
    l->erase(l->user(use));
  }
  if (barrier) l->delete_function(barrier);
  return any;
}

/* ---- All of it ---- */

static bool compile_open_machine(compile_work *w, const cpu_target *t) {
  const halo_llvm *l = w->llvm;
  llvm_target *target;
  char *message = NULL;
  const char *triple = l->module_triple(w->module);
  if (l->target_find(triple, &target, &message) == 0) {
    w->machine = l->machine_create(target, triple, t->cpu, t->features, LLVM_LEVEL_AGGRESSIVE,
                                   LLVM_RELOC_PIC, LLVM_MODEL_SMALL);
  }
  if (message) l->message_dispose(message);
  return w->machine != NULL;
}

static bool compile_emit(const compile_work *w, cpu_kernel_code *kernel) {
  const halo_llvm *l = w->llvm;
  char *message = NULL;
  llvm_bytes *object = NULL;
  bool good = l->machine_emit(w->machine, w->module, LLVM_FILE_OBJECT, &message, &object) == 0;
  if (message) l->message_dispose(message);
  if (good) {
    kernel->object_size = l->bytes_size(object);
    kernel->object = halo_alloc(kernel->object_size);
    memcpy(kernel->object, l->bytes_start(object), kernel->object_size);
  }
  if (object) l->bytes_dispose(object);
  return good;
}

/* Prepares the kernel and what it calls. */
static bool compile_prepare(compile_work *w, cpu_kernel_code *kernel, const cpu_target *target) {
  const halo_llvm *l = w->llvm;
  w->kernel = l->find_function(w->module, kernel->name);
  if (!w->kernel || !compile_open_machine(w, target)) return false;
  compile_read(w);
  kernel->waits = compile_drop_barriers(w);
  l->set_source_name(w->module, "program", strlen("program"));
  for (llvm_value *g = l->first_global(w->module); g; g = l->next_global(g)) {
    if (!l->is_declaration(g)) l->set_linkage(g, LLVM_LINK_INTERNAL);
  }
  compile_make_entry(w);
  for (llvm_value *f = l->first_function(w->module); f; f = l->next_function(f)) {
    if (l->is_declaration(f)) continue;
    compile_set_attributes(w, f, target);
    if (f != w->entry) l->set_linkage(f, LLVM_LINK_INTERNAL);
  }
  /* What is put in place knows from where its pointers come only when they are no variables any more, and what it calls is
   * in place itself: a call that gets two of them is one that may access both. */
  compile_set_flag(w, w->kernel, "noinline", true);
  bool good = compile_run(w, "globaldce,function(sroa,early-cse),cgscc(inline)");
  compile_put_in_place(w, w->kernel);
  if (!good || !compile_gather(w)) return false;
  compile_bind(w);
  return true;
}

bool cpu_compile_kernel(const unsigned char *bitcode, size_t size, cpu_kernel_code *kernel,
                        const char **why) {
  compile_work w = {.llvm = halo_llvm_opened()};
  const cpu_target *target = cpu_target_get();
  bool good = compile_parse(&w, bitcode, size);
  *why = good ? "LLVM cannot prepare it" : "LLVM cannot read it";
  good = good && compile_prepare(&w, kernel, target);
  if (good) *why = "LLVM cannot compile it";
  /* Higher levels promote arguments: a read becomes the caller's, who knows nothing of `restrict` any more. */
  good = good && compile_run(&w, "default<O2>") && compile_emit(&w, kernel);
  compile_close(&w);
  return good;
}
