/* SPDX-License-Identifier: Apache-2.0 */
/* cpu/compile.c: a program's bitcode made machine code.
 *
 * Each kernel is compiled on its own, so that threads share the kernels of a program: an entry is made that takes the
 * arguments from memory, what it calls is read, the item's place is put where the text asked for it, and LLVM optimises that once. */
#include "cpu/compile.h"

#include "base/config.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "cpu/module.h"
#include "cpu/passes.h"
#include "cpu/source.h"
#include "cpu/target.h"

#include <string.h>

typedef struct compile_work {
  cpu_module m; /* its entry: the code of the kernel's object */
  llvm_value *kernel;
  llvm_value *places[CPU_SOURCE_PLACES]; /* the entry's own variables for them */
  bool loops;                            /* the entry goes over neighbours */
  bool rows;                             /* and over rows of them */
  bool flat;                             /* whose code has no loops */
} compile_work;

/* ---- The kernels of a program ---- */

bool cpu_compile_by_library(void) {
  const char *wish = halo_config_text(HALO_CONFIG_CPU);
  if (wish && strcmp(wish, CPU_COMPILE_BY_CLANG) == 0) return false;
  return halo_llvm_open(cpu_front_get()->version, cpu_front_get()->folder) != NULL;
}

static bool compile_is_kernel(const compile_work *w, llvm_value *function) {
  size_t length;
  const char *name = w->m.llvm->name(function, &length);
  size_t prefix = strlen(CPU_COMPILE_SHARED);
  bool shared = length >= prefix && memcmp(name, CPU_COMPILE_SHARED, prefix) == 0;
  return !w->m.llvm->is_declaration(function) &&
         w->m.llvm->linkage(function) == LLVM_LINK_EXTERNAL && !shared;
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
  const halo_llvm *l = w->m.llvm;
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
  compile_work w = {.m = {.llvm = halo_llvm_opened()}};
  HALO_VEC(cpu_kernel_code) kernels = {0};
  bool good = cpu_module_parse(&w.m, bitcode, size);
  if (!good)
    halo_strbuf_printf(log, "LLVM %d does not understand what %s gives", w.m.llvm->version,
                       cpu_front_get()->name);
  for (llvm_value *f = good ? w.m.llvm->first_function(w.m.module) : NULL; f;
       f = w.m.llvm->next_function(f)) {
    if (compile_is_kernel(&w, f)) halo_vec_push(&kernels, compile_describe(&w, f));
  }
  cpu_module_close(&w.m);
  *out = kernels.data;
  *count = (uint32_t)kernels.count;
  return good;
}

/* ---- Attributes ---- */

static void compile_set_text(const compile_work *w, llvm_value *function, const char *name,
                             const char *value) {
  const halo_llvm *l = w->m.llvm;
  unsigned length = (unsigned)strlen(name);
  l->attribute_text_remove(function, ~0u, name, length);
  if (!value) return;
  l->attribute_add(
      function, ~0u,
      l->attribute_text_create(w->m.context, name, length, value, (unsigned)strlen(value)));
}

/* A front end that was told not to optimise says of each function that it stays one: only those do that the text says it of. */
static void compile_allow_inlining(const compile_work *w, llvm_value *function) {
  bool stays = cpu_module_has_flag(&w->m, function, CPU_FRONT_STAYS);
  cpu_module_set_flag(&w->m, function, CPU_FRONT_STAYS, false);
  if (!cpu_module_has_flag(&w->m, function, "optnone")) return;
  cpu_module_set_flag(&w->m, function, "optnone", false);
  cpu_module_set_flag(&w->m, function, "noinline", stays);
}

/* Functions are compiled for this processor, with vectors as long as it has them, and as leaves that nobody unwinds. */
static void compile_set_attributes(const compile_work *w, llvm_value *function,
                                   const cpu_target *target) {
  static const char *const dropped[] = {"tune-cpu", "frame-pointer", "stackrealign",
                                        "no-jump-tables", "min-legal-vector-width"};
  cpu_module_set_flag(&w->m, function, "uwtable", false);
  for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++) {
    compile_set_text(w, function, dropped[i], NULL);
  }
  compile_set_text(w, function, "target-cpu", target->cpu);
  compile_set_text(w, function, "target-features", target->features);
  compile_set_text(w, function, "prefer-vector-width", "512");
  /* A loop that copies an array in registers stays a loop, which is unrolled: a call spills all of them. */
  compile_set_text(w, function, "no-builtin-memcpy", "");
}

/* ---- Kernels of few instructions ---- */

/* Whether a function has loops, or calls that were not put in place: jumps back, as the compiler orders blocks. */
static bool compile_is_long(const compile_work *w, llvm_value *function) {
  const halo_llvm *l = w->m.llvm;
  for (llvm_block *b = l->first_block(function); b; b = l->next_block(b)) {
    for (llvm_value *i = l->first_instruction(b); i; i = l->next_instruction(i)) {
      llvm_value *call = l->is_call(i);
      llvm_value *called = call ? l->is_function(l->called(call)) : NULL;
      if (called && !l->is_declaration(called)) return true;
    }
    llvm_value *end = l->block_end(b);
    for (unsigned s = 0; s < l->successor_count(end); s++) {
      llvm_block *to = l->successor(end, s);
      for (llvm_block *before = l->first_block(function);; before = l->next_block(before)) {
        if (before == to) return true;
        if (before == b) break;
      }
    }
  }
  return false;
}

static bool compile_asks(const compile_work *w, int place) {
  llvm_value *global = w->m.llvm->find_global(w->m.module, cpu_source_places[place]);
  return global && w->m.llvm->first_use(global);
}

/* ---- The entry ---- */

/* places */
enum {
  COMPILE_GLOBAL_X = 0,
  COMPILE_GLOBAL_Y = 1,
  COMPILE_LOCAL_X = 3,
  COMPILE_LOCAL_Y = 4,
  COMPILE_GROUP_X = 6,
  COMPILE_GROUP_Y = 7
};

cpu_run cpu_compile_run(bool waits, unsigned places) {
  const unsigned groups = 1u << COMPILE_LOCAL_X | 1u << COMPILE_GROUP_X;
  const unsigned row_groups = 1u << COMPILE_LOCAL_Y | 1u << COMPILE_GROUP_Y;
  if (waits || !(places & 1u << COMPILE_GLOBAL_X)) return CPU_RUN_ITEM;
  if (places & groups) return CPU_RUN_GROUP;
  bool rows = !(places & row_groups) && (places & 1u << COMPILE_GLOBAL_Y);
  return rows ? CPU_RUN_ROWS : CPU_RUN_ANY;
}

static llvm_value *compile_load_at(const compile_work *w, llvm_builder *builder, llvm_type *type,
                                   llvm_value *base, unsigned index) {
  const halo_llvm *l = w->m.llvm;
  llvm_value *number = l->constant(l->int64(w->m.context), index, 0);
  llvm_value *place = l->build_element(builder, type, base, &number, 1, "");
  return l->build_load(builder, type, place, "");
}

/* No launch is longer than an int counts, so that places can be computed in ints. */
static llvm_value *compile_bound(const compile_work *w, llvm_builder *builder, llvm_value *number) {
  const halo_llvm *l = w->m.llvm;
  llvm_type *wide = l->int64(w->m.context);
  llvm_value *room = l->build_alloca(builder, wide, "");
  l->build_store(builder, number, room);
  llvm_value *bound = l->build_load(builder, wide, room, "");
  llvm_metadata *limits[] = {l->metadata_of(l->constant(wide, 0, 0)),
                             l->metadata_of(l->constant(wide, 1ull << 31, 0))};
  unsigned kind = l->metadata_kind(w->m.context, "range", strlen("range"));
  l->metadata_set(bound, kind,
                  l->metadata_value(w->m.context, l->metadata_node(w->m.context, limits, 2)));
  return bound;
}

/* The entry's variables for places, with what is the same for all items of a call. Gives where the loops along x and y begin. */
static void compile_put_places(compile_work *w, llvm_builder *builder, llvm_value *first[2]) {
  const halo_llvm *l = w->m.llvm;
  llvm_type *number = l->int64(w->m.context);
  for (int v = 0; v < CPU_SOURCE_PLACES; v++) {
    bool wanted = v == COMPILE_GLOBAL_X || v == COMPILE_GLOBAL_Y || v == COMPILE_LOCAL_X;
    if (!wanted && !compile_asks(w, v)) continue;
    w->places[v] = l->build_alloca(builder, number, "");
    llvm_value *value =
        compile_load_at(w, builder, number, l->parameter(w->m.entry, 1), (unsigned)v);
    if (v <= COMPILE_GLOBAL_Y) first[v] = value = compile_bound(w, builder, value);
    l->build_store(builder, value, w->places[v]);
  }
}

/* A loop whose rounds do not depend on one another: nodes like these LLVM's C functions do not make, but they belong to
 * a context, in which other modules may use them. */
static const char compile_parallel[] =
    "define void @f(ptr %p) {\n  br label %loop\nloop:\n"
    "  store i8 0, ptr %p, !llvm.access.group !0\n"
    "  br i1 false, label %loop, label %end, !llvm.loop !1\nend:\n  ret void\n}\n"
    "!0 = distinct !{}\n!1 = distinct !{!1, !2}\n!2 = !{!\"llvm.loop.parallel_accesses\", !0}\n";

/* Says of a loop that its rounds do not depend on one another, as work items do not: of its end, and of the call in it. */
static void compile_free_loop(const compile_work *w, llvm_value *end, llvm_value *call) {
  static const char loop[] = "llvm.loop", group[] = "llvm.access.group";
  const halo_llvm *l = w->m.llvm;
  llvm_module *model = NULL;
  char *message = NULL;
  llvm_bytes *text = l->bytes_of(compile_parallel, sizeof compile_parallel - 1, "model");
  if (l->parse_text(w->m.context, text, &model, &message) != 0) {
    if (message) l->message_dispose(message);
    return; /* it is slower so */
  }
  llvm_block *block = l->next_block(l->first_block(l->first_function(model)));
  unsigned loop_kind = l->metadata_kind(w->m.context, loop, sizeof loop - 1);
  unsigned group_kind = l->metadata_kind(w->m.context, group, sizeof group - 1);
  l->metadata_set(end, loop_kind, l->metadata_get(l->block_end(block), loop_kind));
  l->metadata_set(call, group_kind, l->metadata_get(l->first_instruction(block), group_kind));
  l->module_dispose(model);
}

static llvm_value *compile_call(const compile_work *w, llvm_builder *builder, llvm_value **values) {
  const halo_llvm *l = w->m.llvm;
  unsigned count = l->parameter_count(w->kernel);
  llvm_value *call = l->build_call(builder, l->value_type(w->kernel), w->kernel, values, count, "");
  l->set_call_convention(call, l->convention(w->kernel));
  return call;
}

/* Ends a round of a loop whose variable is `at` and which begins in block `top`. Gives the jump. */
static llvm_value *compile_end_round(const compile_work *w, llvm_builder *builder, llvm_value *at,
                                     llvm_value *end, llvm_block *top, llvm_block *leave,
                                     llvm_value **next) {
  const halo_llvm *l = w->m.llvm;
  *next = l->build_add(builder, at, l->constant(l->int64(w->m.context), 1, 0), "");
  llvm_value *more = l->build_compare(builder, LLVM_LESS, *next, end, "");
  return l->build_branch(builder, more, top, leave);
}

/* The loop over neighbours and, where the kernel asks for y, that over rows: from block `start` on, until `leave`. */
static void compile_make_loops(compile_work *w, llvm_builder *builder, llvm_block *start,
                               llvm_block *leave, llvm_value *const first[2], llvm_value **values) {
  const halo_llvm *l = w->m.llvm;
  llvm_type *number = l->int64(w->m.context);
  llvm_block *row = w->rows ? l->add_block(w->m.context, w->m.entry, "") : start;
  llvm_block *items = l->add_block(w->m.context, w->m.entry, "");
  llvm_block *row_end = w->rows ? l->add_block(w->m.context, w->m.entry, "") : leave;
  llvm_value *local = l->build_load(builder, number, w->places[COMPILE_LOCAL_X], "");
  llvm_value *ends[2], *y = NULL, *next_y = NULL, *next_x;
  for (unsigned d = 0; d < 2; d++) {
    ends[d] = d == 0 || w->rows ? compile_bound(w, builder, l->parameter(w->m.entry, 2 + d)) : NULL;
  }
  if (w->rows) {
    l->build_jump(builder, row);
    l->builder_at_end(builder, row);
    y = l->build_phi(builder, number, "");
    l->build_store(builder, y, w->places[COMPILE_GLOBAL_Y]);
  }
  l->build_jump(builder, items);
  l->builder_at_end(builder, items);
  llvm_value *x = l->build_phi(builder, number, "");
  llvm_value *behind = l->build_sub(builder, x, first[0], "");
  l->build_store(builder, x, w->places[COMPILE_GLOBAL_X]);
  l->build_store(builder, l->build_add(builder, behind, local, ""), w->places[COMPILE_LOCAL_X]);
  llvm_value *call = compile_call(w, builder, values);
  llvm_value *jump = compile_end_round(w, builder, x, ends[0], items, row_end, &next_x);
  l->add_incoming(x, (llvm_value *[]){first[0], next_x}, (llvm_block *[]){row, items}, 2);
  /* When its code stands in a loop, all items have one place for an array of theirs, by which rounds depend on one another. */
  bool depend = cpu_module_has_array(&w->m, w->kernel);
  if (w->flat && !depend) compile_free_loop(w, jump, call);
  if (!w->rows) return;
  l->builder_at_end(builder, row_end);
  compile_end_round(w, builder, y, ends[1], row, leave, &next_y);
  l->add_incoming(y, (llvm_value *[]){first[1], next_y}, (llvm_block *[]){start, row_end}, 2);
}

/* void h_entry(void **arguments, const size_t *place, size_t end_x, size_t end_y): calls the kernel with what the arguments
 * point to, for one item, for neighbours, or for rows of these. */
static void compile_make_entry(compile_work *w) {
  const halo_llvm *l = w->m.llvm;
  llvm_type *pointer = l->pointer_type(l->int8(w->m.context), 0), *number = l->int64(w->m.context);
  llvm_type *parameters[] = {pointer, pointer, number, number};
  llvm_type *type = l->function_type(l->void_type(w->m.context), parameters, 4, 0);
  w->m.entry = l->add_function(w->m.module, CPU_COMPILE_ENTRY, type);
  cpu_module_set_flag(&w->m, w->m.entry, "nounwind", true);
  llvm_builder *builder = l->builder_create(w->m.context);
  llvm_block *start = l->add_block(w->m.context, w->m.entry, "");
  llvm_block *leave = l->add_block(w->m.context, w->m.entry, "");
  l->builder_at_end(builder, start);
  unsigned count = l->parameter_count(w->kernel);
  llvm_value **values = halo_alloc(sizeof *values * ((size_t)count + 1)), *first[2];
  for (unsigned i = 0; i < count; i++) {
    llvm_value *place = compile_load_at(w, builder, pointer, l->parameter(w->m.entry, 0), i);
    values[i] = l->build_load(builder, l->type_of(l->parameter(w->kernel, i)), place, "");
  }
  compile_put_places(w, builder, first);
  if (w->loops) {
    compile_make_loops(w, builder, start, leave, first, values);
  } else {
    compile_call(w, builder, values);
    l->build_jump(builder, leave);
  }
  l->builder_at_end(builder, leave);
  l->build_return(builder);
  l->builder_dispose(builder);
  halo_free(values);
}

/* ---- Places ---- */

/* The entry's own variables in the place of the program's. */
static void compile_bind(const compile_work *w) {
  const halo_llvm *l = w->m.llvm;
  for (int v = 0; v < CPU_SOURCE_PLACES; v++) {
    llvm_value *global = l->find_global(w->m.module, cpu_source_places[v]);
    if (!global) continue;
    if (w->places[v]) l->replace(global, w->places[v]);
    l->delete_global(global);
  }
}

/* Where a function with `restrict` was put in place stands a note that LLVM takes for an access to memory; of no group of
 * accesses, it would make a loop one whose rounds may depend on one another. It gets the group of the accesses behind it. */
static void compile_group_scopes(const compile_work *w) {
  static const char group[] = "llvm.access.group";
  const halo_llvm *l = w->m.llvm;
  unsigned kind = l->metadata_kind(w->m.context, group, sizeof group - 1);
  llvm_value *note = l->find_function(w->m.module, "llvm.experimental.noalias.scope.decl");
  for (llvm_use *use = note ? l->first_use(note) : NULL; use; use = l->next_use(use)) {
    llvm_value *call = l->is_call(l->user(use)), *found = NULL;
    for (llvm_value *i = call; i && !found; i = l->next_instruction(i)) {
      found = l->metadata_get(i, kind);
    }
    if (found) l->metadata_set(call, kind, found);
  }
}

/* Takes out barriers; whether there were any. */
static bool compile_drop_barriers(const compile_work *w) {
  const halo_llvm *l = w->m.llvm;
  llvm_value *barrier = l->find_function(w->m.module, CPU_SOURCE_BARRIER);
  bool any = false;
  for (llvm_use *use; barrier && (use = l->first_use(barrier));) {
    any = true;
    l->erase(l->user(use));
  }
  if (barrier) l->delete_function(barrier);
  return any;
}

/* ---- All of it ---- */

static bool compile_emit(const compile_work *w, cpu_kernel_code *kernel) {
  const halo_llvm *l = w->m.llvm;
  llvm_bytes *object = cpu_module_emit(&w->m);
  if (!object) return false;
  kernel->object_size = l->bytes_size(object);
  kernel->object = halo_alloc(kernel->object_size);
  memcpy(kernel->object, l->bytes_start(object), kernel->object_size);
  l->bytes_dispose(object);
  return true;
}

/* Prepares the kernel and what it calls. */
static bool compile_prepare(compile_work *w, cpu_kernel_code *kernel, const cpu_target *target) {
  const halo_llvm *l = w->m.llvm;
  w->kernel = l->find_function(w->m.module, kernel->name);
  if (!w->kernel || !cpu_module_open_machine(&w->m, target->cpu, target->features)) return false;
  cpu_module_read(&w->m, w->kernel);
  kernel->waits = compile_drop_barriers(w);
  l->set_source_name(w->m.module, "program", strlen("program"));
  for (llvm_value *g = l->first_global(w->m.module); g; g = l->next_global(g)) {
    if (!l->is_declaration(g)) l->set_linkage(g, LLVM_LINK_INTERNAL);
  }
  for (llvm_value *f = l->first_function(w->m.module); f; f = l->next_function(f)) {
    if (l->is_declaration(f)) continue;
    compile_allow_inlining(w, f);
    compile_set_attributes(w, f, target);
    if (f != w->kernel) l->set_linkage(f, LLVM_LINK_INTERNAL);
  }
  /* A function that is inlined knows where its pointers come from only if they are no variables any more and its own calls
   * are inlined already: LLVM takes a call that gets two pointers for an access to both. */
  if (!cpu_module_run(&w->m, "globaldce,function(sroa,early-cse),cgscc(inline)")) return false;
  unsigned places = 0;
  for (int v = 0; v < CPU_SOURCE_PLACES; v++) places |= (unsigned)compile_asks(w, v) << v;
  kernel->run = cpu_compile_run(kernel->waits, places);
  w->loops = kernel->run != CPU_RUN_ITEM;
  w->rows = kernel->run == CPU_RUN_ROWS;
  w->flat = w->loops && !compile_is_long(w, w->kernel);
  compile_make_entry(w);
  compile_set_attributes(w, w->m.entry, target);
  l->set_linkage(w->kernel, LLVM_LINK_INTERNAL);
  cpu_module_inline(&w->m, w->kernel);
  if (!cpu_module_gather(&w->m, cpu_source_places, CPU_SOURCE_PLACES)) return false;
  compile_bind(w);
  compile_group_scopes(w);
  return true;
}

/* Tests that all items of a call answer alike, such as the row's, move out of the loop over the items, which then exists once
 * for each answer: otherwise vectors compute both branches and choose. */
static bool compile_optimise(const compile_work *w) {
  static const char ask_first[] =
      "function(sroa,early-cse,loop-mssa(loop-rotate,licm,simple-loop-unswitch<nontrivial>))";
  if (w->flat && !cpu_module_run(&w->m, ask_first)) return false;
  /* LLVM 21 makes wrong code for x86 of what its pass slp-vectorizer makes: of a vector whose first lanes were bytes and whose others
   * were words. LLVM 22 and those up to 19 do not; 20 has not been tested, and may not know all of these passes. */
  enum { FIRST_FAULTY = 20, LAST_FAULTY = 21 };
  int version = w->m.llvm->version;
  if (version >= FIRST_FAULTY && version <= LAST_FAULTY &&
      cpu_module_run(&w->m, cpu_passes_without_slp)) {
    return true;
  }
  /* Higher levels promote arguments: a read becomes the caller's, who knows nothing of `restrict` any more. */
  return cpu_module_run(&w->m, "default<O2>");
}

bool cpu_compile_kernel(const unsigned char *bitcode, size_t size, cpu_kernel_code *kernel,
                        const char **why) {
  compile_work w = {.m = {.llvm = halo_llvm_opened()}};
  const cpu_target *target = cpu_target_get();
  bool good = cpu_module_parse(&w.m, bitcode, size);
  *why = good ? "LLVM cannot prepare it" : "LLVM cannot read it";
  good = good && compile_prepare(&w, kernel, target);
  if (good) *why = "LLVM cannot compile it";
  good = good && compile_optimise(&w) && compile_emit(&w, kernel);
  cpu_module_close(&w.m);
  return good;
}
