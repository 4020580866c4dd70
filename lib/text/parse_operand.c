/* SPDX-License-Identifier: Apache-2.0 */
/* text/parse_operand.c: what stands in the parentheses of an instruction. */
#include "text/parser.h"

#include <string.h>

/* ---- Names ---- */

static halo_instr *operand_lookup(const halo_text_scope *scope, const halo_text_token *tok) {
  return halo_map_get(&scope->names, tok->start, (size_t)(tok->end - tok->start));
}

halo_status halo_text_find_instr(halo_text_parser *p, halo_text_scope *scope, halo_instr **out) {
  if (p->tok.kind != TOK_WORD && p->tok.kind != TOK_NAME) {
    return halo_text_expected(p, "the name of an instruction");
  }
  *out = operand_lookup(scope, &p->tok);
  if (!*out) {
    int length = (int)(p->tok.end - p->tok.start);
    return halo_text_error(p, p->tok.start,
                           "instruction '%.*s' does not exist: expected the name "
                           "of one defined earlier in this computation",
                           length > 200 ? 200 : length, p->tok.start);
  }
  halo_text_advance(p);
  return HALO_OK;
}

/* A lone instruction's unknown operand becomes the next parameter. */
static halo_status operand_parameter(halo_text_parser *p, halo_text_scope *scope,
                                     const halo_shape *shape, halo_instr **out) {
  if (!shape) {
    return halo_text_error(p, p->tok.start,
                           "expected a shape before this operand, which is not "
                           "defined and so becomes a parameter");
  }
  size_t length = (size_t)(p->tok.end - p->tok.start);
  halo_instr_spec spec = {
      .opcode = HALO_OP_PARAMETER,
      .name = halo_arena_strndup(p->arena, p->tok.start, length),
      .shape = shape,
      .parameter_number = scope->parameters++,
      .line = halo_text_line_of(p, p->tok.start),
  };
  *out = halo_instr_create_unchecked(scope->computation, &spec);
  halo_map_set(&scope->names, p->tok.start, length, *out);
  halo_text_advance(p);
  return HALO_OK;
}

/* Takes "#1" behind a name: tuple element 1, through a get-tuple-element made for it once. */
static halo_status operand_element(halo_text_parser *p, halo_text_scope *scope,
                                   halo_instr **instr) {
  int64_t index;
  const char *at = p->tok.start;
  halo_text_advance(p);
  HALO_TRY(halo_text_int(p, "a tuple index after '#'", &index));
  const halo_shape *shape = (*instr)->shape;
  if (shape->type != HALO_TUPLE) {
    return halo_text_error(p, at, "expected a tuple before '#': '%.200s' is none", (*instr)->name);
  }
  if (index < 0 || index >= shape->count) {
    return halo_text_error(p, at, "expected a tuple index from 0 to %d", shape->count - 1);
  }
  char *name = halo_arena_printf(p->arena, "%s_%lld", (*instr)->name, (long long)index);
  halo_instr *old = halo_map_get_text(&scope->names, name);
  if (old && old->opcode == HALO_OP_GET_TUPLE_ELEMENT && old->operands[0] == *instr &&
      halo_instr_int(old, HALO_ATTR_INDEX, -1) == index) {
    *instr = old;
    return HALO_OK;
  }
  halo_attr attr = {.id = HALO_ATTR_INDEX, .i = index};
  halo_instr_spec spec = {
      .opcode = HALO_OP_GET_TUPLE_ELEMENT,
      .name = old ? halo_text_fresh_name(p, &scope->names, "get-tuple-element") : name,
      .shape = shape->elements[index],
      .operands = instr,
      .operand_count = 1,
      .attrs = &attr,
      .attr_count = 1,
      .line = halo_text_line_of(p, at),
  };
  halo_instr *made = halo_instr_create_unchecked(scope->computation, &spec);
  made->mark = 1;
  halo_map_set_text(&scope->names, made->name, made);
  *instr = made;
  return HALO_OK;
}

/* ---- Operands ---- */

static halo_status operand_one(halo_text_parser *p, halo_text_scope *scope, halo_instr **out) {
  const halo_shape *shape = NULL;
  const char *start = p->tok.start;
  if (halo_text_at_shape(p)) HALO_TRY(halo_text_shape(p, &shape));
  if (p->tok.kind != TOK_WORD && p->tok.kind != TOK_NAME) {
    return halo_text_expected(p, "the name of an operand");
  }
  halo_text_token next = halo_text_peek(p);
  if (p->tok.kind == TOK_WORD && next.kind == '(') {
    halo_text_draft draft = {.start = p->tok.start, .sugar = HALO_OPCODE_COUNT, .shape = shape};
    HALO_TRY(halo_text_enter(p));
    halo_status status = halo_text_call(p, scope, &draft);
    if (status == HALO_OK) status = halo_text_build(p, scope, &draft, out);
    halo_text_draft_deinit(&draft);
    HALO_TRY(status);
    halo_text_leave(p);
    return HALO_OK;
  }
  if (scope->lone && !operand_lookup(scope, &p->tok)) {
    return operand_parameter(p, scope, shape, out);
  }
  HALO_TRY(halo_text_find_instr(p, scope, out));
  while (p->tok.kind == '#') HALO_TRY(operand_element(p, scope, out));
  if (shape && !halo_shape_compatible(shape, (*out)->shape)) {
    halo_arena scratch = {0};
    halo_status status =
        halo_text_error(p, start, "expected shape %s, which is the shape of operand '%.200s'",
                        halo_shape_text(&scratch, (*out)->shape, false), (*out)->name);
    halo_arena_deinit(&scratch);
    return status;
  }
  return HALO_OK;
}

static halo_status operand_list(halo_text_parser *p, halo_text_scope *scope,
                                halo_text_draft *draft) {
  while (p->tok.kind != ')') {
    halo_instr *operand = NULL;
    HALO_TRY(operand_one(p, scope, &operand));
    halo_vec_push(&draft->operands, operand);
    HALO_TRY(halo_text_separator(p, ')', "',' or ')' after an operand"));
  }
  return HALO_OK;
}

static halo_status operand_constant(halo_text_parser *p, halo_text_draft *draft) {
  if (!draft->shape) {
    return halo_text_error(p, draft->start, "expected the result shape before 'constant'");
  }
  /* In 2018 the shape stood here too. */
  const halo_shape *shape;
  if (p->tok.kind == TOK_WORD && halo_text_at_shape(p)) HALO_TRY(halo_text_shape(p, &shape));
  HALO_TRY(halo_text_literal(p, draft->shape, &draft->literal));
  return HALO_OK;
}

static halo_status operand_number(halo_text_parser *p, halo_text_scope *scope,
                                  halo_text_draft *draft) {
  const char *at = p->tok.start;
  HALO_TRY(halo_text_int(p, "a parameter number", &draft->parameter_number));
  int64_t n = draft->parameter_number;
  /* The parameters that must still come to fill a gap take bytes of text: with fewer left there is
   * one for certain, and nothing has to be set aside for it. */
  if (n < 0 || n - scope->parameters > (p->end - at) / 8) {
    return halo_text_error(p, at, "expected parameter numbers 0, 1, 2, ... without a gap");
  }
  if (n < scope->computation->params.count && scope->computation->params.data[n]) {
    return halo_text_error(p, at, "parameter number %lld is used twice in this computation",
                           (long long)n);
  }
  scope->parameters++;
  return HALO_OK;
}

halo_status halo_text_operands(halo_text_parser *p, halo_text_scope *scope,
                               halo_text_draft *draft) {
  HALO_TRY(halo_text_expect(p, '(', "'(' after the opcode"));
  if (draft->opcode == HALO_OP_CONSTANT) {
    HALO_TRY(operand_constant(p, draft));
  } else if (draft->opcode == HALO_OP_PARAMETER) {
    HALO_TRY(operand_number(p, scope, draft));
  } else {
    HALO_TRY(operand_list(p, scope, draft));
  }
  return halo_text_expect(p, ')', "')' after the operands");
}
