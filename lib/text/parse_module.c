/* SPDX-License-Identifier: Apache-2.0 */
/* text/parse_module.c: computations and whole modules. */
#include "base/file.h"
#include "text/parser.h"

#include <stdio.h>
#include <string.h>

/* ---- Computations ---- */

halo_computation *halo_text_new_computation(halo_text_parser *p, const char *name) {
  halo_computation *computation = halo_arena_new(p->arena, halo_computation);
  computation->module = p->module;
  computation->name = name;
  return computation;
}

halo_status halo_text_find_computation(halo_text_parser *p, halo_computation **out) {
  if (p->tok.kind != TOK_WORD && p->tok.kind != TOK_NAME) {
    return halo_text_expected(p, "the name of a computation, or a body in braces");
  }
  size_t length = (size_t)(p->tok.end - p->tok.start);
  *out = halo_map_get(&p->computations, p->tok.start, length);
  if (!*out) {
    return halo_text_error(p, p->tok.start,
                           "computation '%.*s' does not exist: expected the name "
                           "of one defined earlier",
                           length > 200 ? 200 : (int)length, p->tok.start);
  }
  halo_text_advance(p);
  return HALO_OK;
}

static halo_status module_check_params(halo_text_parser *p, const halo_computation *computation,
                                       const char *at) {
  for (int32_t i = 0; i < computation->params.count; i++) {
    if (!computation->params.data[i]) {
      return halo_text_error(p, at,
                             "computation '%.200s' has a parameter %d but no parameter %d: "
                             "expected parameter numbers without a gap",
                             computation->name, computation->params.count - 1, i);
    }
  }
  return HALO_OK;
}

static halo_status module_body_instrs(halo_text_parser *p, halo_text_scope *scope) {
  halo_computation *computation = scope->computation;
  HALO_TRY(halo_text_expect(p, '{', "'{' to open a computation"));
  if (p->tok.kind == '}') return halo_text_expected(p, "an instruction");
  halo_instr *last = NULL;
  while (p->tok.kind != '}') {
    const char *at = p->tok.start;
    bool root = false;
    HALO_TRY(halo_text_instr(p, scope, &last, &root));
    if (!root) continue;
    if (computation->root) {
      return halo_text_error(p, at, "expected one ROOT: '%.200s' on line %d is one already",
                             computation->root->name, computation->root->line);
    }
    computation->root = last;
  }
  if (!computation->root) computation->root = last;
  HALO_TRY(module_check_params(p, computation, p->tok.start));
  halo_text_advance(p);
  return HALO_OK;
}

halo_status halo_text_body(halo_text_parser *p, const char *name, const char *prefix,
                           halo_computation **out) {
  HALO_TRY(halo_text_enter(p));
  halo_text_scope scope = {0};
  bool made = !name;
  if (made) name = halo_text_fresh_name(p, &p->computations, prefix);
  halo_computation *computation = halo_text_new_computation(p, name);
  scope.computation = computation;
  halo_status status = module_body_instrs(p, &scope);
  computation->data = made ? p : NULL;
  /* After those it calls; on a failure too, so that the module frees it. */
  halo_vec_push(&p->module->computations, computation);
  halo_map_deinit(&scope.names);
  HALO_TRY(status);
  halo_map_set_text(&p->computations, computation->name, computation);
  halo_text_leave(p);
  *out = computation;
  return HALO_OK;
}

/* ---- Named computations ---- */

static halo_status module_signature(halo_text_parser *p, const halo_shape **result,
                                    const char **result_at) {
  const char *name;
  const halo_shape *shape;
  halo_text_advance(p);
  while (p->tok.kind != ')') {
    HALO_TRY(halo_text_name(p, "a parameter's name or ')'", &name));
    halo_text_accept(p, ':'); /* of "%x: f32[]" and "x : f32[]"; it may be missing */
    HALO_TRY(halo_text_shape(p, &shape));
    HALO_TRY(halo_text_separator(p, ')', "',' or ')' after a parameter"));
  }
  halo_text_advance(p);
  HALO_TRY(halo_text_expect(p, TOK_ARROW, "'->' and the result's shape"));
  *result_at = p->tok.start;
  return halo_text_shape(p, result);
}

/* One that the parser made up under this name gets another. */
static halo_status module_claim_name(halo_text_parser *p, const char *name, const char *at) {
  halo_computation *old = halo_map_get_text(&p->computations, name);
  if (!old) return HALO_OK;
  if (!old->data) {
    return halo_text_error(p, at,
                           "computation '%.200s' is defined twice: its first instruction "
                           "is on line %d",
                           name, old->instrs.data[0]->line);
  }
  old->name = halo_text_fresh_name(p, &p->computations, name);
  halo_map_set_text(&p->computations, old->name, old);
  return HALO_OK;
}

static halo_status module_thread(halo_text_parser *p, halo_computation *computation) {
  halo_text_token next = halo_text_peek(p);
  if (p->tok.kind != ',' || !halo_text_token_is(&next, "execution_thread")) return HALO_OK;
  halo_text_advance(p);
  halo_text_advance(p);
  HALO_TRY(halo_text_expect(p, '=', "'=' after execution_thread"));
  const char *thread;
  HALO_TRY(halo_text_string(p, "the name of a thread in quotes", &thread));
  if (strcmp(thread, "main") != 0) computation->execution_thread = thread;
  return HALO_OK;
}

static halo_status module_computation(halo_text_parser *p) {
  const char *at = p->tok.start, *name, *result_at = NULL;
  const halo_shape *result = NULL;
  halo_computation *computation = NULL;
  bool entry = halo_text_is_word(p, "ENTRY");
  if (entry) {
    if (p->module->entry) {
      return halo_text_error(p, at, "expected one ENTRY: computation '%.200s' is one already",
                             p->module->entry->name);
    }
    halo_text_advance(p);
  }
  if (halo_text_is_word(p, "HloModule")) {
    return halo_text_error(p, at, "expected the end of the text: one text holds one module");
  }
  at = p->tok.start;
  HALO_TRY(halo_text_name(p, "a computation", &name));
  HALO_TRY(module_claim_name(p, name, at));
  if (p->tok.kind == '(') HALO_TRY(module_signature(p, &result, &result_at));
  HALO_TRY(halo_text_body(p, name, NULL, &computation));
  if (result && !halo_shape_compatible(result, computation->root->shape)) {
    halo_arena scratch = {0};
    halo_status status =
        halo_text_error(p, result_at, "expected %s, the shape of the computation's root",
                        halo_shape_text(&scratch, computation->root->shape, false));
    halo_arena_deinit(&scratch);
    return status;
  }
  if (entry) p->module->entry = computation;
  return module_thread(p, computation);
}

/* ---- Modules ---- */

/* "name (...) ->" starts a computation, "name(...)" and all else a lone instruction. */
static bool module_has_signature(halo_text_parser *p) {
  halo_text_parser ahead = *p;
  int depth = 0;
  halo_text_advance(&ahead);
  do {
    depth += ahead.tok.kind == '(';
    depth -= ahead.tok.kind == ')';
    if (ahead.tok.kind == TOK_END || ahead.tok.kind == TOK_ERROR) return false;
    halo_text_advance(&ahead);
  } while (depth > 0);
  return ahead.tok.kind == TOK_ARROW;
}

static halo_status module_lone_instr(halo_text_parser *p) {
  halo_text_scope scope = {.lone = true};
  scope.computation = halo_text_new_computation(p, "main");
  halo_vec_push(&p->module->computations, scope.computation);
  bool root;
  halo_status status = halo_text_instr(p, &scope, &scope.computation->root, &root);
  halo_map_deinit(&scope.names);
  HALO_TRY(status);
  if (p->tok.kind != TOK_END) return halo_text_expected(p, "the end of the instruction");
  p->module->entry = scope.computation;
  /* Inline bodies were finished, and listed, before the one they are called from. */
  halo_computation **list = p->module->computations.data;
  int32_t last = p->module->computations.count - 1;
  memmove(list, list + 1, sizeof *list * (size_t)last);
  list[last] = scope.computation;
  return module_check_params(p, scope.computation, p->begin);
}

static halo_status module_read(halo_text_parser *p) {
  halo_module *module = p->module;
  halo_text_header header = {0};
  halo_text_token next = halo_text_peek(p);
  bool has_header = halo_text_is_word(p, "HloModule");
  if (has_header) {
    halo_text_advance(p);
    HALO_TRY(halo_text_name(p, "the module's name", &module->name));
    HALO_TRY(halo_text_header_attrs(p, &header));
    HALO_TRY(halo_text_stack_tables(p));
  } else if (p->tok.kind == TOK_END || p->tok.kind == TOK_ERROR) {
    return halo_text_expected(p, "HloModule, ENTRY, a computation or an instruction");
  } else if (!halo_text_is_word(p, "ENTRY") && next.kind != '{' &&
             !(next.kind == '(' && module_has_signature(p))) {
    HALO_TRY(module_lone_instr(p));
    return halo_text_finish_entry(p, &header);
  }
  do {
    HALO_TRY(module_computation(p));
  } while (p->tok.kind != TOK_END);
  if (!module->entry) module->entry = module->computations.data[module->computations.count - 1];
  if (!has_header) {
    module->name = halo_arena_printf(p->arena, "module_%s", module->entry->name);
  }
  return halo_text_finish_entry(p, &header);
}

/* Where the text defines a name on a line. */
static const char *module_find_definition(const halo_text_parser *p, const char *name, int line) {
  const char *at = p->begin;
  for (int i = 1; i < line && at; i++) {
    at = strchr(at, '\n');
    if (at) at++;
  }
  if (!at) return p->begin;
  size_t length = strlen(name);
  const char *start = at;
  while (halo_text_is_blank(*start) && *start != '\n') start++;
  for (; (at = strstr(at, name)); at++) {
    const char *behind = at + length;
    if (at > p->begin && halo_text_is_name_char(at[-1])) continue;
    while (*behind == ' ') behind++;
    if (*behind == '=') return at;
  }
  return start;
}

/* Checks the module. The message says "<instruction> in <computation>, line <n>: ..." where it is
 * about an instruction: it gets the usual form with the place in the text. */
static halo_status module_verify(halo_text_parser *p) {
  halo_status status = halo_module_verify(p->module);
  if (status == HALO_OK) return status;
  char *message = halo_error_save();
  char *name = halo_strdup(message);
  int line;
  const char *at = p->begin;
  if (sscanf(message, "%s in %*s line %d:", name, &line) == 2) {
    at = module_find_definition(p, name, line);
  }
  status = halo_text_error_as(p, status, at, "%s", message);
  halo_free(name);
  halo_free(message);
  return status;
}

typedef struct module_request {
  const char *text, *name;
  size_t length;
  halo_module *out;
} module_request;

static halo_status module_run(void *user) {
  module_request *request = user;
  halo_text_parser p = {0};
  HALO_TRY(halo_text_begin(&p, request->text, request->length, request->name));
  p.module = halo_module_create("module");
  p.arena = &p.module->arena;
  halo_status status = halo_text_refuse_foreign(&p);
  if (status == HALO_OK) status = halo_text_advise_foreign(&p, module_read(&p));
  for (int32_t i = 0; i < p.module->computations.count; i++) {
    p.module->computations.data[i]->data = NULL;
  }
  if (status == HALO_OK) status = module_verify(&p);
  if (status == HALO_OK) {
    request->out = p.module;
  } else {
    halo_module_release(p.module);
  }
  halo_text_finish(&p);
  return status;
}

halo_status halo_module_parse(const char *text, size_t length, const char *name,
                              halo_module **out) {
  if (!out) return halo_fail(HALO_INVALID_ARGUMENT, "halo_module_parse: out is NULL");
  *out = NULL;
  if (!text) return halo_fail(HALO_INVALID_ARGUMENT, "halo_module_parse: text is NULL");
  module_request request = {.text = text, .name = name, .length = length};
  HALO_TRY(halo_memory_guard(module_run, &request));
  *out = request.out;
  return HALO_OK;
}

/* ---- Files ---- */

halo_status halo_module_parse_file(const char *path, halo_module **out) {
  if (!out) return halo_fail(HALO_INVALID_ARGUMENT, "halo_module_parse_file: out is NULL");
  *out = NULL;
  if (!path) return halo_fail(HALO_INVALID_ARGUMENT, "halo_module_parse_file: path is NULL");
  char *text = NULL;
  size_t length = 0;
  HALO_TRY(halo_file_read(path, &text, &length));
  halo_status status = halo_module_parse(text, length, path, out);
  halo_free(text);
  return status;
}
