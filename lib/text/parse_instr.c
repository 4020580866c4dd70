/* SPDX-License-Identifier: Apache-2.0 */
/* text/parse_instr.c: instructions. */
#include "base/suggest.h"
#include "hlo/infer.h"
#include "text/parser.h"

#include <stdio.h>
#include <string.h>

void halo_text_draft_deinit(halo_text_draft *draft) {
  halo_vec_deinit(&draft->operands);
  halo_vec_deinit(&draft->attrs);
  halo_vec_deinit(&draft->control);
  halo_vec_deinit(&draft->wrapped);
  halo_literal_release(draft->literal);
  draft->literal = NULL;
}

const char *halo_text_fresh_name(halo_text_parser *p, const halo_map *names, const char *prefix) {
  for (;;) {
    char *name = halo_arena_printf(p->arena, "%s.%lld", prefix, (long long)++p->fresh);
    if (!halo_map_get_text(names, name)) return name;
  }
}

/* ---- Opcodes ---- */

static const char *const instr_sugar_ends[] = {"-start", "-update", "-done"};
static const halo_opcode instr_sugar_ops[] = {HALO_OP_ASYNC_START, HALO_OP_ASYNC_UPDATE,
                                              HALO_OP_ASYNC_DONE};

/* Splits "add-start" into async-start over an add. */
static bool instr_sugar(const char *name, halo_text_draft *draft) {
  size_t length = strlen(name);
  for (int i = 0; i < 3; i++) {
    size_t tail = strlen(instr_sugar_ends[i]);
    if (length <= tail || strcmp(name + length - tail, instr_sugar_ends[i]) != 0) continue;
    char base[64];
    if (length - tail >= sizeof base) return false;
    memcpy(base, name, length - tail);
    base[length - tail] = '\0';
    halo_opcode op;
    if (!halo_opcode_from_name(base, &op) || halo_opcode_has_trait(op, HALO_TRAIT_ASYNC) ||
        op == HALO_OP_PARAMETER || op == HALO_OP_CONSTANT) {
      return false;
    }
    draft->opcode = instr_sugar_ops[i];
    draft->sugar = op;
    return true;
  }
  return false;
}

static halo_status instr_unknown(halo_text_parser *p, const char *start, size_t length) {
  halo_suggestion near = halo_suggestion_begin(start, length);
  for (int op = 0; op < HALO_OPCODE_COUNT; op++) {
    halo_suggestion_offer(&near, halo_opcode_name((halo_opcode)op));
  }
  const char *name = halo_suggestion_best(&near);
  int shown = length > 60 ? 60 : (int)length;
  if (name) {
    return halo_text_error(p, start, "unknown opcode '%.*s': did you mean '%s'?", shown, start,
                           name);
  }
  return halo_text_error(p, start, "unknown opcode '%.*s': expected an opcode of HLO", shown,
                         start);
}

static halo_status instr_opcode(halo_text_parser *p, halo_text_draft *draft) {
  const char *start = p->tok.start;
  size_t length = (size_t)(p->tok.end - start);
  char name[64];
  if (p->tok.kind != TOK_WORD) return halo_text_expected(p, "an opcode");
  bool known = length < sizeof name;
  if (known) {
    memcpy(name, start, length);
    name[length] = '\0';
    known = halo_opcode_from_name(name, &draft->opcode) || instr_sugar(name, draft);
    if (!known && strcmp(name, "generate-token") == 0) {
      draft->opcode = HALO_OP_AFTER_ALL;
      known = true;
    }
    if (!known && strcmp(name, "cross-replica-sum") == 0) {
      draft->opcode = HALO_OP_ALL_REDUCE;
      known = true;
    }
    if (!known && strcmp(name, "trace") == 0) {
      return halo_text_error_as(p, HALO_UNIMPLEMENTED, start,
                                "trace is gone from HLO since 2020: remove the instruction");
    }
  }
  if (!known) return instr_unknown(p, start, length);
  halo_text_advance(p);
  return HALO_OK;
}

halo_status halo_text_call(halo_text_parser *p, halo_text_scope *scope, halo_text_draft *draft) {
  HALO_TRY(instr_opcode(p, draft));
  return halo_text_operands(p, scope, draft);
}

/* ---- Checks before making ---- */

static bool instr_has(const halo_attr *attrs, int32_t count, halo_attr_id id) {
  for (int32_t i = 0; i < count; i++) {
    if (attrs[i].id == id) return true;
  }
  return false;
}

static halo_status instr_check_attrs(halo_text_parser *p, const char *at, halo_opcode op,
                                     const halo_attr *attrs, int32_t count) {
  const halo_op_info *info = halo_op_info_of(op);
  for (const halo_attr_spec *spec = info->attrs; spec->used; spec++) {
    if ((spec->flags & HALO_ATTR_REQUIRED) && !instr_has(attrs, count, spec->id)) {
      return halo_text_error(p, at, "%s expects attribute %s=", info->name,
                             halo_attr_name(spec->id));
    }
  }
  if (op == HALO_OP_COMPARE && instr_has(attrs, count, HALO_ATTR_COMPARE_TYPE) &&
      instr_has(attrs, count, HALO_ATTR_COMPARE_ORDER)) {
    return halo_text_error(p, at, "compare expects type= or order=, not both");
  }
  if (op == HALO_OP_CONDITIONAL) {
    bool list = instr_has(attrs, count, HALO_ATTR_BRANCH_COMPUTATIONS);
    bool on_true = instr_has(attrs, count, HALO_ATTR_TRUE_COMPUTATION);
    bool on_false = instr_has(attrs, count, HALO_ATTR_FALSE_COMPUTATION);
    if (list ? on_true || on_false : !on_true || !on_false) {
      return halo_text_error(p, at,
                             "conditional expects either true_computation= and "
                             "false_computation=, or branch_computations=");
    }
  }
  return HALO_OK;
}

static halo_status instr_check_operands(halo_text_parser *p, const halo_text_draft *draft,
                                        halo_opcode op) {
  const halo_op_info *info = halo_op_info_of(op);
  int32_t count = draft->operands.count;
  const halo_shape *shape = draft->shape;
  if (count < info->min_operands || (info->max_operands >= 0 && count > info->max_operands)) {
    return halo_text_error(p, draft->start, "%s expects %s%d operand%s, but has %d", info->name,
                           info->max_operands == info->min_operands ? ""
                           : count < info->min_operands             ? "at least "
                                                                    : "at most ",
                           count < info->min_operands ? info->min_operands : info->max_operands,
                           info->min_operands == 1 && info->max_operands == 1 ? "" : "s", count);
  }
  if (op == HALO_OP_TUPLE && shape && (shape->type != HALO_TUPLE || shape->count != count)) {
    return halo_text_error(p, draft->start,
                           "tuple expects as many operands as its shape has "
                           "elements, %d, but has %d",
                           shape->count, count);
  }
  return HALO_OK;
}

/* ---- Making ---- */

/* What async-start over one operation needs of it. */
static halo_status instr_check_sugar(halo_text_parser *p, halo_text_draft *draft) {
  halo_opcode op = draft->sugar;
  const halo_shape *shape = draft->shape;
  HALO_TRY(instr_check_operands(p, draft, op));
  HALO_TRY(instr_check_attrs(p, draft->start, op, draft->wrapped.data, draft->wrapped.count));
  if (!shape || shape->type != HALO_TUPLE || shape->count < 2) {
    return halo_text_error(p, draft->start,
                           "%s-start expects the shape ((operand shapes), result shape, ...)",
                           halo_opcode_name(op));
  }
  return HALO_OK;
}

/* Registers the name; one that the parser made up gives way. */
static halo_status instr_claim_name(halo_text_parser *p, halo_text_scope *scope,
                                    halo_text_draft *draft) {
  if (!draft->name) {
    draft->name = halo_text_fresh_name(p, &scope->names, halo_opcode_name(draft->opcode));
    return HALO_OK;
  }
  halo_instr *old = halo_map_get_text(&scope->names, draft->name);
  if (!old) return HALO_OK;
  if (!old->mark) {
    return halo_text_error(p, draft->start,
                           "instruction '%.200s' is defined twice in this "
                           "computation, first on line %d",
                           draft->name, old->line);
  }
  old->name = halo_text_fresh_name(p, &scope->names, halo_opcode_name(old->opcode));
  halo_map_set_text(&scope->names, old->name, old);
  return HALO_OK;
}

halo_status halo_text_build(halo_text_parser *p, halo_text_scope *scope, halo_text_draft *draft,
                            halo_instr **out) {
  const halo_op_info *info = halo_op_info_of(draft->opcode);
  bool made = !draft->name;
  HALO_TRY(instr_claim_name(p, scope, draft));
  /* XLA takes a third operand, which has no meaning. */
  if (draft->opcode == HALO_OP_RNG && draft->operands.count == 3) draft->operands.count = 2;
  HALO_TRY(instr_check_operands(p, draft, draft->opcode));
  if (draft->sugar != HALO_OPCODE_COUNT && draft->opcode == HALO_OP_ASYNC_START) {
    HALO_TRY(instr_check_sugar(p, draft));
    halo_text_wrap(p, draft);
  }
  if (draft->opcode == HALO_OP_SORT &&
      !instr_has(draft->attrs.data, draft->attrs.count, HALO_ATTR_TO_APPLY)) {
    halo_text_make_comparator(p, draft);
  }
  HALO_TRY(
      instr_check_attrs(p, draft->start, draft->opcode, draft->attrs.data, draft->attrs.count));
  if (!draft->shape && (info->traits & HALO_TRAIT_NOINFER)) {
    return halo_text_error(p, draft->start,
                           "expected the result shape before '%s', which cannot "
                           "be inferred",
                           info->name);
  }
  halo_instr_spec spec = {
      .opcode = draft->opcode,
      .name = draft->name,
      .shape = draft->shape,
      .operands = draft->operands.data,
      .operand_count = draft->operands.count,
      .attrs = draft->attrs.data,
      .attr_count = draft->attrs.count,
      .parameter_number = draft->parameter_number,
      .literal = draft->literal,
      .line = halo_text_line_of(p, draft->start),
  };
  if (draft->shape) {
    *out = halo_instr_create_unchecked(scope->computation, &spec);
  } else {
    halo_status status = halo_instr_create(scope->computation, &spec, out);
    if (status != HALO_OK) {
      return halo_text_error_as(p, status, draft->start, "%s", halo_error_message());
    }
    /* In text a scan that gives one value gives it outside of a tuple. */
    bool single = draft->opcode == HALO_OP_SCAN && (*out)->shape->count == 1;
    if (single) (*out)->shape = (*out)->shape->elements[0];
  }
  (*out)->mark = made;
  halo_map_set_text(&scope->names, draft->name, *out);
  int32_t count = draft->control.count;
  (*out)->control_pred_count = count;
  (*out)->control_preds =
      halo_arena_copy(p->arena, draft->control.data, sizeof(halo_instr *) * (size_t)count);
  return HALO_OK;
}

/* ---- Lines ---- */

/* A name with bytes that names cannot have: says so, with a name that would do. */
static halo_status instr_expect_equals(halo_text_parser *p) {
  const char *end = p->behind;
  if (p->tok.kind == '}') {
    return halo_text_expected(p,
                              "'=' after the instruction's name: braces hold a body, and a "
                              "computation is named without them, as in to_apply=%add");
  }
  if (p->tok.kind == '=' || *end == '\0' || halo_text_is_blank(*end) || *end == '(' ||
      *end == ',') {
    return halo_text_expect(p, '=', "'=' after the instruction's name");
  }
  const char *start = end;
  while (start > p->begin && halo_text_is_name_char(start[-1])) start--;
  char fixed[80];
  size_t length = 0;
  for (const char *c = start; *c && !halo_text_is_blank(*c) && length + 1 < sizeof fixed; c++) {
    fixed[length++] = halo_text_is_name_char(*c) ? *c : '_';
  }
  fixed[length] = '\0';
  return halo_text_error(p, end,
                         "expected letters, digits, '_', '.' and '-' only in a name, such "
                         "as '%s'",
                         fixed);
}

static halo_status instr_read(halo_text_parser *p, halo_text_scope *scope, halo_text_draft *draft,
                              bool *root) {
  *root = false;
  if (halo_text_is_word(p, "ROOT")) {
    halo_text_token next = halo_text_peek(p);
    *root = next.kind != '=';
    if (*root) halo_text_advance(p);
  }
  /* A lone instruction may go without a name. */
  halo_text_token next = halo_text_peek(p);
  bool named = p->tok.kind == TOK_NAME || !scope->lone || next.kind == '=';
  draft->start = p->tok.start;
  if (named) {
    HALO_TRY(halo_text_name(p, "an instruction or '}'", &draft->name));
    HALO_TRY(instr_expect_equals(p));
  }
  if (halo_text_at_shape(p)) HALO_TRY(halo_text_shape(p, &draft->shape));
  HALO_TRY(halo_text_call(p, scope, draft));
  return halo_text_attrs(p, scope, draft);
}

halo_status halo_text_instr(halo_text_parser *p, halo_text_scope *scope, halo_instr **out,
                            bool *root) {
  halo_text_draft draft = {.sugar = HALO_OPCODE_COUNT};
  halo_status status = instr_read(p, scope, &draft, root);
  if (status == HALO_OK) status = halo_text_build(p, scope, &draft, out);
  halo_text_draft_deinit(&draft);
  return status;
}
