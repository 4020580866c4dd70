/* SPDX-License-Identifier: Apache-2.0 */
/* cpu/module.c: what is done to each module of LLVM. */
#include "cpu/module.h"

#include <string.h>

static const unsigned module_whole = ~0u; /* a function itself, among what has attributes */

/* Without a handler LLVM ends the process over bitcode that it does not know. */
static void module_ignore(llvm_diagnostic *what, void *data) {
  (void)what;
  (void)data;
}

bool cpu_module_parse(cpu_module *m, const void *bitcode, size_t size) {
  const halo_llvm *l = m->llvm;
  m->context = l->context_create();
  l->set_diagnostics(m->context, module_ignore, NULL);
  /* From the first pointer on LLVM 15 has pointers without a type, as all later ones; bitcode of LLVM 14 would turn it to those with types. */
  l->pointer_type(l->int8(m->context), 0);
  llvm_bytes *bytes = l->bytes_of(bitcode, size, "program");
  if (l->parse(m->context, bytes, &m->module) == 0) return true; /* the bytes are the module's */
  l->bytes_dispose(bytes);
  m->module = NULL;
  return false;
}

void cpu_module_close(cpu_module *m) {
  const halo_llvm *l = m->llvm;
  if (m->machine) l->machine_dispose(m->machine);
  if (m->module) l->module_dispose(m->module);
  if (m->context) l->context_dispose(m->context);
}

static bool module_is_unread(const cpu_module *m, llvm_value *function) {
  return !m->llvm->is_declaration(function) && !m->llvm->first_block(function);
}

void cpu_module_read(const cpu_module *m, llvm_value *wanted) {
  const halo_llvm *l = m->llvm;
  llvm_passes *none = l->passes_create(m->module);
  for (bool found = true; found;) {
    found = false;
    for (llvm_value *f = l->first_function(m->module); f; f = l->next_function(f)) {
      if (!module_is_unread(m, f) || (f != wanted && !l->first_use(f))) continue;
      l->passes_run(none, f); /* of no passes: that reads it */
      found = true;
    }
  }
  l->passes_dispose(none);
  for (llvm_value *f = l->first_function(m->module), *next; f; f = next) {
    next = l->next_function(f);
    if (module_is_unread(m, f)) l->delete_function(f);
  }
}

bool cpu_module_open_machine(cpu_module *m, const char *cpu, const char *features) {
  const halo_llvm *l = m->llvm;
  llvm_target *target;
  char *message = NULL;
  const char *triple = l->module_triple(m->module);
  if (l->target_find(triple, &target, &message) == 0) {
    m->machine = l->machine_create(target, triple, cpu, features, LLVM_LEVEL_AGGRESSIVE,
                                   LLVM_RELOC_PIC, LLVM_MODEL_SMALL);
  }
  if (message) l->message_dispose(message);
  return m->machine != NULL;
}

bool cpu_module_run(const cpu_module *m, const char *passes) {
  const halo_llvm *l = m->llvm;
  llvm_options *options = l->options_create();
  l->options_set_slp(options, 1); /* as clang does; vectors of loops are usual */
  llvm_error *error = l->run_passes(m->module, passes, m->machine, options);
  l->options_dispose(options);
  if (error) l->error_drop(error);
  return !error;
}

llvm_bytes *cpu_module_emit(const cpu_module *m) {
  const halo_llvm *l = m->llvm;
  char *message = NULL;
  llvm_bytes *object = NULL;
  bool good = l->machine_emit(m->machine, m->module, LLVM_FILE_OBJECT, &message, &object) == 0;
  if (message) l->message_dispose(message);
  if (!good && object) l->bytes_dispose(object);
  return good ? object : NULL;
}

void cpu_module_set_flag(const cpu_module *m, llvm_value *function, const char *name, bool on) {
  const halo_llvm *l = m->llvm;
  unsigned kind = l->attribute_kind(name, strlen(name));
  if (on) {
    l->attribute_add(function, module_whole, l->attribute_create(m->context, kind, 0));
  } else {
    l->attribute_remove(function, module_whole, kind);
  }
}

bool cpu_module_has_flag(const cpu_module *m, llvm_value *function, const char *name) {
  const halo_llvm *l = m->llvm;
  return l->attribute_get(function, module_whole, l->attribute_kind(name, strlen(name))) != NULL;
}

void cpu_module_inline(const cpu_module *m, llvm_value *function) {
  cpu_module_set_flag(m, function, "noinline", false);
  cpu_module_set_flag(m, function, "alwaysinline", true);
}

/* Has functions other than the entry that ask for one of the variables put in place. *asked: there are such. False: something
 * else does. */
static bool module_mark(const cpu_module *m, const char *variable, bool *asked) {
  const halo_llvm *l = m->llvm;
  llvm_value *global = l->find_global(m->module, variable);
  for (llvm_use *use = global ? l->first_use(global) : NULL; use; use = l->next_use(use)) {
    llvm_value *instruction = l->is_instruction(l->user(use));
    if (!instruction) return false;
    llvm_value *function = l->block_function(l->instruction_block(instruction));
    if (function == m->entry) continue;
    cpu_module_inline(m, function);
    *asked = true;
  }
  return true;
}

bool cpu_module_gather(const cpu_module *m, const char *const *variables, int count) {
  enum { DEPTH = 8 }; /* of calls, between the entry and a function that asks */
  for (int round = 0; round < DEPTH; round++) {
    bool asked = false;
    if (!cpu_module_run(m, "always-inline,globaldce")) return false;
    for (int v = 0; v < count; v++) {
      if (!module_mark(m, variables[v], &asked)) return false;
    }
    if (!asked) return true;
  }
  return false;
}

bool cpu_module_has_array(const cpu_module *m, llvm_value *function) {
  const halo_llvm *l = m->llvm;
  for (llvm_block *block = l->first_block(function); block; block = l->next_block(block)) {
    for (llvm_value *i = l->first_instruction(block); i; i = l->next_instruction(i)) {
      int kind = l->is_alloca(i) ? l->type_kind(l->allocated_type(i)) : -1;
      bool several =
          kind == LLVM_KIND_ARRAY || kind == LLVM_KIND_STRUCT || kind == LLVM_KIND_VECTOR;
      if (several) return true;
    }
  }
  return false;
}
