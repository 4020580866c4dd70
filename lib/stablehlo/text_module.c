/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/text_module.c: modules, functions, and whole texts. */
#include "stablehlo/stablehlo.h"
#include "stablehlo/text_reader.h"

#include <string.h>

/* ---- Modules ---- */

static void module_add_text(halo_mlir_reader *r, halo_mlir_draft *draft, const char *name,
                            const char *text, size_t length) {
  halo_mlir_text_add(draft, name, halo_mlir_text_new_string(r, HALO_MLIR_STRING, text, length));
}

/* "attributes {...}" if it is here. */
static halo_status module_attributes(halo_mlir_reader *r, halo_mlir_draft *draft) {
  if (!halo_mlir_text_accept_word(r, "attributes")) return HALO_OK;
  return halo_mlir_text_dict(r, &draft->attrs);
}

/* "private" and the like, if it is here. */
static void module_visibility(halo_mlir_reader *r, halo_mlir_draft *draft) {
  static const char *const words[] = {"public", "private", "nested"};
  for (int i = 0; i < 3; i++) {
    if (!halo_mlir_text_accept_word(r, words[i])) continue;
    module_add_text(r, draft, "sym_visibility", words[i], strlen(words[i]));
    return;
  }
}

halo_status halo_mlir_text_module(halo_mlir_reader *r, halo_mlir_draft *draft) {
  const char *text;
  size_t length;
  module_visibility(r, draft);
  if (r->tok.kind == TOK_SYMBOL) {
    HALO_TRY(halo_mlir_text_symbol(r, "the name of the module", &text, &length));
    module_add_text(r, draft, "sym_name", text, length);
  }
  HALO_TRY(module_attributes(r, draft));
  return halo_mlir_text_region(r, draft, NULL);
}

/* ---- Functions ---- */

typedef struct module_signature {
  halo_mlir_argument_list arguments, results;
} module_signature;

/* A dictionary for each, or nothing when none has one. */
static void module_add_dicts(halo_mlir_reader *r, halo_mlir_draft *draft, const char *name,
                             const halo_mlir_argument_list *list) {
  bool any = false;
  for (int32_t i = 0; i < list->count; i++) any = any || list->data[i].attrs;
  if (!any) return;
  const halo_mlir_attr **dicts = halo_arena_array(r->arena, const halo_mlir_attr *, list->count);
  const halo_mlir_attr *none = halo_mlir_text_new_fields(r, HALO_MLIR_DICT, NULL, NULL, 0);
  for (int32_t i = 0; i < list->count; i++)
    dicts[i] = list->data[i].attrs ? list->data[i].attrs : none;
  halo_mlir_text_add(draft, name, halo_mlir_text_new_array(r, dicts, list->count));
}

static void module_add_type(halo_mlir_reader *r, halo_mlir_draft *draft,
                            const module_signature *signature) {
  halo_mlir_type_list inputs = {0}, results = {0};
  for (int32_t i = 0; i < signature->arguments.count; i++)
    halo_vec_push(&inputs, signature->arguments.data[i].type);
  for (int32_t i = 0; i < signature->results.count; i++)
    halo_vec_push(&results, signature->results.data[i].type);
  halo_mlir_attr *attr = halo_mlir_text_new_attr(r, HALO_MLIR_TYPE_ATTR);
  attr->type = halo_mlir_text_function_type(r, &inputs, &results);
  halo_mlir_text_add(draft, "function_type", attr);
  halo_vec_deinit(&inputs);
  halo_vec_deinit(&results);
}

/* "-> T", "-> (T {attributes}, U)" if it is here. */
static halo_status module_results(halo_mlir_reader *r, halo_mlir_argument_list *out) {
  if (!halo_mlir_text_accept(r, TOK_ARROW)) return HALO_OK;
  if (!halo_mlir_text_accept(r, '(')) {
    halo_mlir_argument result = {0};
    HALO_TRY(halo_mlir_text_type(r, &result.type));
    halo_vec_push(out, result);
    return HALO_OK;
  }
  while (r->tok.kind != ')') {
    HALO_TRY(halo_mlir_text_argument(r, false, out));
    HALO_TRY(halo_mlir_text_separator(r, ')', "',' or ')' after a result"));
  }
  halo_mlir_text_advance(r);
  return HALO_OK;
}

static halo_status module_function(halo_mlir_reader *r, halo_mlir_draft *draft,
                                   module_signature *signature) {
  const char *text;
  size_t length;
  module_visibility(r, draft);
  HALO_TRY(halo_mlir_text_symbol(r, "the name of the function, such as @main", &text, &length));
  module_add_text(r, draft, "sym_name", text, length);
  HALO_TRY(halo_mlir_text_expect(r, '(', "'(' and arguments"));
  bool named = r->tok.kind == TOK_VALUE;
  while (r->tok.kind != ')') {
    HALO_TRY(halo_mlir_text_argument(r, named, &signature->arguments));
    HALO_TRY(halo_mlir_text_separator(r, ')', "',' or ')' after an argument"));
  }
  halo_mlir_text_advance(r);
  HALO_TRY(module_results(r, &signature->results));
  HALO_TRY(module_attributes(r, draft));
  module_add_type(r, draft, signature);
  module_add_dicts(r, draft, "arg_attrs", &signature->arguments);
  module_add_dicts(r, draft, "res_attrs", &signature->results);
  if (r->tok.kind != '{') {
    halo_vec_push(&draft->regions, (halo_mlir_region){0});
    return HALO_OK;
  }
  if (!named && signature->arguments.count)
    return halo_mlir_text_error(r, r->tok.start,
                                "expected names of the arguments of a function with a body");
  return halo_mlir_text_region(r, draft, &signature->arguments);
}

halo_status halo_mlir_text_func(halo_mlir_reader *r, halo_mlir_draft *draft) {
  module_signature signature = {0};
  halo_status status = module_function(r, draft, &signature);
  halo_vec_deinit(&signature.arguments);
  halo_vec_deinit(&signature.results);
  return status;
}

/* ---- Texts ---- */

/* Everything at the top level: operations and definitions of aliases, then perhaps resources. */
static halo_status module_top(halo_mlir_reader *r, halo_mlir_block *block) {
  while (r->tok.kind != TOK_END && r->tok.kind != TOK_RESOURCES) {
    if (r->tok.kind == TOK_HASH || r->tok.kind == TOK_BANG) {
      HALO_TRY(halo_mlir_text_alias_definition(r));
    } else {
      HALO_TRY(halo_mlir_text_op(r, block));
    }
  }
  if (!block->ops.count) return halo_mlir_text_expected(r, "module or an operation");
  return HALO_OK;
}

static halo_status module_read(halo_mlir_reader *r) {
  halo_mlir_program *program = r->program;
  program->module = halo_mlir_op_create(program, NULL, "builtin.module", 0, 0, 1);
  halo_mlir_block *top = halo_mlir_block_create(program, &program->module->regions[0], 0);
  halo_mlir_text_find_aliases(r);
  HALO_TRY(module_top(r, top));
  for (int32_t i = 0; i < top->ops.count; i++) {
    halo_mlir_op *op = top->ops.data[i];
    if (op->opcode != HALO_MLIR_OP_MODULE) continue;
    if (top->ops.count > 1)
      return halo_fail(HALO_INVALID_ARGUMENT,
                       "%s:%d:1: error: expected one module in a text, or functions only", r->name,
                       op->line);
    if (op->region_count != 1 || !op->regions[0].block)
      return halo_fail(HALO_INVALID_ARGUMENT,
                       "%s:%d:1: error: expected a module with one region of one block", r->name,
                       op->line);
    op->block = NULL;
    program->module = op;
  }
  return HALO_OK;
}

typedef struct module_request {
  const char *text, *name;
  size_t size;
  halo_mlir_program *out;
} module_request;

static halo_status module_run(void *user) {
  module_request *request = user;
  halo_mlir_reader r = {0};
  HALO_TRY(halo_mlir_text_begin(&r, request->text, request->size, request->name));
  r.program = halo_mlir_program_create(r.name);
  r.arena = &r.program->arena;
  halo_status status = module_read(&r);
  if (status == HALO_OK) {
    request->out = r.program;
  } else {
    halo_mlir_program_release(r.program);
  }
  halo_mlir_text_finish(&r);
  return status;
}

halo_status halo_mlir_read_text(const char *text, size_t size, const char *name,
                                halo_mlir_program **out) {
  *out = NULL;
  module_request request = {.text = text, .name = name, .size = size};
  HALO_TRY(halo_memory_guard(module_run, &request));
  *out = request.out;
  return HALO_OK;
}

halo_status halo_mlir_read_attr(halo_mlir_program *program, const char *text,
                                const halo_mlir_attr **out) {
  halo_mlir_reader r = {.program = program, .arena = &program->arena};
  *out = NULL;
  HALO_TRY(halo_mlir_text_begin(&r, text, strlen(text), "attribute"));
  halo_status status = halo_mlir_text_attr(&r, out);
  if (status == HALO_OK && r.tok.kind != TOK_END) {
    status = halo_mlir_text_expected(&r, "the end of the attribute");
  }
  halo_mlir_text_finish(&r);
  return status;
}
