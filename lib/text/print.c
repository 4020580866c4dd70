/* SPDX-License-Identifier: Apache-2.0 */
/* text/print.c: modules, computations and instructions as text. */
#include "text/print.h"

#include "base/map.h"
#include "text/parser.h"

#include <string.h>

/* ---- Instructions ---- */

static void print_operands(halo_strbuf *out, const halo_instr *instr, unsigned flags) {
  if (instr->opcode == HALO_OP_CONSTANT) {
    halo_text_print_literal(out, instr->literal, flags);
    return;
  }
  if (instr->opcode == HALO_OP_PARAMETER) {
    halo_strbuf_printf(out, "%lld", (long long)instr->parameter_number);
    return;
  }
  bool comments = instr->operand_count > 5 && !(flags & HALO_PRINT_SHORT);
  for (int32_t i = 0; i < instr->operand_count; i++) {
    if (i) halo_strbuf_append(out, ", ");
    if (i && i % 5 == 0 && comments) halo_strbuf_printf(out, "/*index=%d*/", i);
    if (flags & HALO_PRINT_OPERAND_SHAPES) {
      halo_shape_print(out, instr->operands[i]->shape, true);
      halo_strbuf_char(out, ' ');
    }
    halo_text_print_name(out, instr->operands[i]->name, flags);
  }
}

static void print_instr(halo_strbuf *out, const halo_instr *instr, unsigned flags) {
  halo_text_print_name(out, instr->name, flags);
  halo_strbuf_append(out, " = ");
  halo_shape_print(out, instr->shape, true);
  halo_strbuf_printf(out, " %s(", halo_opcode_name(instr->opcode));
  print_operands(out, instr, flags);
  halo_strbuf_char(out, ')');
  halo_text_print_attrs(out, instr, flags);
}

void halo_instr_print(halo_strbuf *out, const halo_instr *instr, unsigned flags) {
  halo_c_locale locale = halo_c_locale_enter();
  print_instr(out, instr, flags);
  halo_c_locale_leave(locale);
}

/* ---- Computations ---- */

static void print_signature(halo_strbuf *out, const halo_computation *computation) {
  halo_strbuf_append(out, " (");
  for (int32_t i = 0; i < computation->params.count; i++) {
    if (i) halo_strbuf_append(out, ", ");
    halo_text_print_name(out, computation->params.data[i]->name, HALO_PRINT_SHORT);
    halo_strbuf_append(out, ": ");
    halo_shape_print(out, computation->params.data[i]->shape, false);
  }
  halo_strbuf_append(out, ") -> ");
  halo_shape_print(out, computation->root->shape, false);
}

static void print_computation(halo_strbuf *out, const halo_computation *computation,
                              unsigned flags) {
  if (computation->module->entry == computation) halo_strbuf_append(out, "ENTRY ");
  halo_text_print_name(out, computation->name, flags);
  if (!(flags & HALO_PRINT_SHORT)) print_signature(out, computation);
  halo_strbuf_append(out, " {\n");
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    const halo_instr *instr = computation->instrs.data[i];
    halo_strbuf_append(out, instr == computation->root ? "  ROOT " : "  ");
    print_instr(out, instr, flags);
    halo_strbuf_char(out, '\n');
  }
  halo_strbuf_char(out, '}');
  if (computation->execution_thread) {
    halo_strbuf_append(out, ", execution_thread=");
    halo_text_print_string(out, computation->execution_thread);
  }
  halo_strbuf_append(out, "\n\n");
}

/* Prints all computations in their order, but callees first: passes may have appended new ones.
 * Modules are shared between threads, so what was printed is noted beside them. */
static void print_computations(halo_strbuf *out, const halo_module *module, unsigned flags) {
  halo_map done = {0};
  HALO_VEC(halo_call_walk) stack = {0};
  for (int32_t i = 0; i < module->computations.count; i++) {
    halo_computation *root = module->computations.data[i];
    if (halo_map_set(&done, &root, sizeof root, root)) continue;
    halo_vec_push(&stack, (halo_call_walk){root, 0, 0});
    while (stack.count) {
      halo_call_walk *top = &stack.data[stack.count - 1];
      halo_computation *called = halo_call_walk_next(top, NULL);
      if (!called) {
        print_computation(out, top->computation, flags);
        stack.count--;
      } else if (!halo_map_set(&done, &called, sizeof called, called)) {
        halo_vec_push(&stack, (halo_call_walk){called, 0, 0});
      }
    }
  }
  halo_vec_deinit(&stack);
  halo_map_deinit(&done);
}

/* ---- Modules ---- */

static void print_alias_list(halo_strbuf *out, const char *name, const halo_alias *rows,
                             int32_t count, bool donors) {
  if (!count) return;
  halo_strbuf_printf(out, ", %s={ ", name);
  for (int32_t i = 0; i < count; i++) {
    if (i) halo_strbuf_append(out, ", ");
    const char *kind = donors ? "" : rows[i].must ? ", must-alias" : ", may-alias";
    halo_text_print_alias(out, &rows[i], !donors, kind);
  }
  halo_strbuf_append(out, " }");
}

static void print_layout(halo_strbuf *out, const char *name, const halo_shape *const *params,
                         int32_t count, const halo_shape *result) {
  if (!result) return;
  halo_strbuf_printf(out, ", %s={(", name);
  for (int32_t i = 0; i < count; i++) {
    if (i) halo_strbuf_append(out, ", ");
    if (i && i % 5 == 0) halo_strbuf_printf(out, "/*index=%d*/", i);
    halo_shape_print(out, params[i], true);
  }
  halo_strbuf_append(out, ")->");
  halo_shape_print(out, result, true);
  halo_strbuf_char(out, '}');
}

/* What a partitioned module's entry spoke of before. */
static void print_spmd(halo_strbuf *out, const halo_spmd_entry *spmd) {
  if (!spmd) return;
  print_layout(out, "spmd_whole_layout", spmd->whole_params, spmd->whole_param_count,
               spmd->whole_result);
  halo_strbuf_append(out, ", spmd_parameters_shardings=");
  halo_text_print_sharding(out, spmd->params, false);
  halo_strbuf_append(out, ", spmd_output_sharding=");
  halo_text_print_sharding(out, spmd->results, false);
}

/* Where a header attribute that is kept raw stands among those that are not. */
static int print_header_place(const char *name) {
  if (strcmp(name, "alias_passthrough_params") == 0) return 0;
  return strncmp(name, "allow_spmd", 10) == 0 ? 1 : 2;
}

static void print_raw_header(halo_strbuf *out, const halo_module *module, int place) {
  for (int32_t i = 0; i < module->header.count; i++) {
    const halo_header_attr *attr = &module->header.data[i];
    if (*attr->name && print_header_place(attr->name) == place) {
      halo_strbuf_printf(out, ", %s=%s", attr->name, attr->text);
    }
  }
}

static void print_header(halo_strbuf *out, const halo_module *module, unsigned flags) {
  halo_strbuf_append(out, "HloModule ");
  halo_text_print_name(out, module->name, HALO_PRINT_SHORT);
  if (module->is_scheduled) halo_strbuf_append(out, ", is_scheduled=true");
  print_alias_list(out, "input_output_alias", module->aliases.data, module->aliases.count, false);
  print_alias_list(out, "buffer_donor", module->donors.data, module->donors.count, true);
  print_raw_header(out, module, 0);
  print_layout(out, "entry_computation_layout", module->entry_params, module->entry->params.count,
               module->entry_result);
  print_raw_header(out, module, 1);
  if (module->replica_count != 1) {
    halo_strbuf_printf(out, ", replica_count=%lld", (long long)module->replica_count);
  }
  if (module->num_partitions != 1) {
    halo_strbuf_printf(out, ", num_partitions=%lld", (long long)module->num_partitions);
  }
  print_spmd(out, module->spmd);
  if (module->frontend_count) {
    halo_strbuf_append(out, ", frontend_attributes=");
    halo_text_print_strings(out, module->frontend, module->frontend_count);
  }
  print_raw_header(out, module, 2);
  halo_strbuf_append(out, "\n\n");
  for (int32_t i = 0; i < module->header.count && !(flags & HALO_PRINT_SHORT); i++) {
    if (*module->header.data[i].name) continue;
    halo_strbuf_printf(out, "%s\n\n", module->header.data[i].text);
  }
}

void halo_module_print(halo_strbuf *out, const halo_module *module, unsigned flags) {
  halo_c_locale locale = halo_c_locale_enter();
  print_header(out, module, flags);
  print_computations(out, module, flags);
  /* Every computation is followed by a blank line but the last. */
  if (out->length >= 2 && out->data[out->length - 2] == '\n') out->data[--out->length] = '\0';
  halo_c_locale_leave(locale);
}

typedef struct print_request {
  const halo_module *module;
  unsigned flags;
  char *text;
} print_request;

static halo_status print_run(void *user) {
  print_request *request = user;
  halo_strbuf text = {0};
  halo_module_print(&text, request->module, request->flags);
  request->text = halo_strbuf_take(&text);
  return HALO_OK;
}

halo_status halo_module_to_text(const halo_module *module, unsigned flags, char **out) {
  if (!out) return halo_fail(HALO_INVALID_ARGUMENT, "halo_module_to_text: out is NULL");
  *out = NULL;
  if (!module) return halo_fail(HALO_INVALID_ARGUMENT, "halo_module_to_text: module is NULL");
  print_request request = {.module = module, .flags = flags};
  HALO_TRY(halo_memory_guard(print_run, &request));
  *out = request.text;
  return HALO_OK;
}

halo_status halo_module_hash(const halo_module *module, uint64_t key[2]) {
  print_request request = {.module = module, .flags = HALO_TEXT_PRINT_HASH_LARGE};
  HALO_TRY(halo_memory_guard(print_run, &request));
  halo_hash_wide(key, request.text, strlen(request.text));
  halo_text_release(request.text);
  return HALO_OK;
}
