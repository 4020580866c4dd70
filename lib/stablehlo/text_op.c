/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/text_op.c: operations: their names, results, operands, types, and what they become. */
#include "stablehlo/text_reader.h"

#include <string.h>

/* ---- Forms ---- */

/* How many operands the opcodes of HLO have. */
enum {
#define OP(id, name, lo, ...) OP_OPERANDS_##id = lo,
#include "hlo/opcodes.def"
#undef OP
};

/* The row of an operation, or NULL. */
static const halo_mlir_form *op_form(halo_mlir_opcode opcode) {
  static const halo_mlir_form forms[HALO_MLIR_OP_COUNT] = {
#define HALO_MLIR_FORM(id, spec, types) [HALO_MLIR_OP_##id] = {spec, HALO_MLIR_TYPES_##types, NULL},
#define HALO_MLIR_FORM_BY(id, function)                                                            \
  [HALO_MLIR_OP_##id] = {NULL, HALO_MLIR_TYPES_ANY, halo_mlir_text_##function},
#define HALO_MLIR_FORM_OF(id)                                                                      \
  [HALO_MLIR_OP_##id] = {OP_OPERANDS_##id == 1 ? "$" : "$ , $", HALO_MLIR_TYPES_SAME, NULL},
#include "stablehlo/text_forms.def"
#undef HALO_MLIR_FORM_OF
#undef HALO_MLIR_FORM
#undef HALO_MLIR_FORM_BY
  };
  return forms[opcode].spec || forms[opcode].read ? &forms[opcode] : NULL;
}

/* ---- Operands ---- */

halo_status halo_mlir_text_operand(halo_mlir_reader *r, halo_mlir_draft *draft) {
  halo_mlir_token tok = r->tok;
  if (tok.kind != TOK_VALUE) return halo_mlir_text_expected(r, "a value");
  size_t length = (size_t)(tok.end - tok.start);
  int shown = length > 200 ? 200 : (int)length;
  const halo_mlir_binding *binding = halo_map_get(&r->values, tok.start, length);
  if (!binding || !binding->first || binding->number < r->floor)
    return halo_mlir_text_error(r, tok.start,
                                "'%%%.*s' is not defined: expected a value that is defined before",
                                shown, tok.start);
  halo_mlir_text_advance(r);
  int64_t index = 0;
  if (r->tok.kind == TOK_HASH && halo_mlir_is_digit(*r->tok.start)) {
    for (const char *c = r->tok.start; c < r->tok.end && index < INT32_MAX; c++)
      index = index * 10 + (*c - '0');
    if (index >= binding->count)
      return halo_mlir_text_error(r, r->tok.start, "'%%%.*s' has %d result%s", shown, tok.start,
                                  binding->count, halo_plural(binding->count));
    halo_mlir_text_advance(r);
  }
  halo_vec_push(&draft->operands, (halo_mlir_use){&binding->first[index], tok.start});
  return HALO_OK;
}

halo_status halo_mlir_text_operands(halo_mlir_reader *r, halo_mlir_draft *draft) {
  if (r->tok.kind != TOK_VALUE) return HALO_OK;
  do {
    HALO_TRY(halo_mlir_text_operand(r, draft));
  } while (halo_mlir_text_accept(r, ','));
  return HALO_OK;
}

void halo_mlir_text_add(halo_mlir_draft *draft, const char *name, const halo_mlir_attr *value) {
  halo_vec_push(&draft->attrs, (halo_mlir_named){name, value});
}

halo_status halo_mlir_text_attrs(halo_mlir_reader *r, halo_mlir_draft *draft) {
  return r->tok.kind == '{' ? halo_mlir_text_dict(r, &draft->attrs) : HALO_OK;
}

/* ---- Types ---- */

halo_status halo_mlir_text_check_operand(halo_mlir_reader *r, const halo_mlir_use *use,
                                         const halo_mlir_type *type) {
  if (halo_mlir_type_equal(use->value->type, type)) return HALO_OK;
  return halo_mlir_text_error(
      r, use->at, "this value is a %s: expected a %s, as its operation says",
      halo_mlir_text_type_name(r, use->value->type), halo_mlir_text_type_name(r, type));
}

static halo_status op_check_operands(halo_mlir_reader *r, const halo_mlir_draft *draft,
                                     const char *at, const halo_mlir_type_list *types) {
  if (types->count != draft->operands.count)
    return halo_mlir_text_error(r, at, "expected types of %d operand%s, found %d",
                                draft->operands.count, halo_plural(draft->operands.count),
                                types->count);
  for (int32_t i = 0; i < types->count; i++)
    HALO_TRY(halo_mlir_text_check_operand(r, &draft->operands.data[i], types->data[i]));
  return HALO_OK;
}

/* "T1, T2", or "(T1, T2)"; *paren tells which. */
static halo_status op_type_row(halo_mlir_reader *r, bool *paren, halo_mlir_type_list *out) {
  *paren = r->tok.kind == '(';
  if (*paren) return halo_mlir_text_type_list(r, out);
  do {
    const halo_mlir_type *type;
    HALO_TRY(halo_mlir_text_type(r, &type));
    halo_vec_push(out, type);
  } while (halo_mlir_text_accept(r, ','));
  return HALO_OK;
}

/* What a row without an arrow means in a form. */
static halo_status op_short_types(halo_mlir_reader *r, halo_mlir_draft *draft, const char *at,
                                  halo_mlir_types types, const halo_mlir_type_list *row) {
  int32_t operands = draft->operands.count;
  int32_t want = types == HALO_MLIR_TYPES_SAME     ? 1
                 : types == HALO_MLIR_TYPES_SELECT ? 2
                 : types == HALO_MLIR_TYPES_RESULT ? row->count
                                                   : operands;
  if (row->count != want)
    return halo_mlir_text_error(r, at, "expected %d type%s, found %d", want, halo_plural(want),
                                row->count);
  for (int32_t i = 0; i < operands && types != HALO_MLIR_TYPES_RESULT; i++) {
    const halo_mlir_type *type = types == HALO_MLIR_TYPES_SAME     ? row->data[0]
                                 : types == HALO_MLIR_TYPES_SELECT ? row->data[i > 0]
                                                                   : row->data[i];
    HALO_TRY(halo_mlir_text_check_operand(r, &draft->operands.data[i], type));
  }
  if (types == HALO_MLIR_TYPES_OPERANDS) return HALO_OK;
  if (types == HALO_MLIR_TYPES_SELECT) {
    halo_vec_push(&draft->results, row->data[1]);
    return HALO_OK;
  }
  for (int32_t i = 0; i < row->count; i++) halo_vec_push(&draft->results, row->data[i]);
  return HALO_OK;
}

halo_status halo_mlir_text_types(halo_mlir_reader *r, halo_mlir_draft *draft,
                                 halo_mlir_types types) {
  bool may_miss = types == HALO_MLIR_TYPES_ANY ||
                  (draft->operands.count == 0 &&
                   (types == HALO_MLIR_TYPES_OPERANDS || types == HALO_MLIR_TYPES_PAIRS));
  if (may_miss && r->tok.kind != ':') return HALO_OK;
  HALO_TRY(halo_mlir_text_expect(r, ':', "':' and types"));
  const char *at = r->tok.start;
  bool paren;
  halo_mlir_type_list row = {0};
  halo_status status = op_type_row(r, &paren, &row);
  if (status == HALO_OK && r->tok.kind == TOK_ARROW) {
    status = op_check_operands(r, draft, at, &row);
    halo_mlir_text_advance(r);
    if (status == HALO_OK) status = halo_mlir_text_type_list(r, &draft->results);
  } else if (status == HALO_OK && (paren || types == HALO_MLIR_TYPES_FUNCTION)) {
    status = halo_mlir_text_expected(r, "'->' and the types of results");
  } else if (status == HALO_OK) {
    if (types == HALO_MLIR_TYPES_ANY) types = HALO_MLIR_TYPES_SAME;
    status = op_short_types(r, draft, at, types, &row);
  }
  halo_vec_deinit(&row);
  return status;
}

/* ---- Names ---- */

static const halo_mlir_op_name *op_find_name(halo_mlir_reader *r, const char *start,
                                             size_t length) {
  halo_mlir_op_name *known = halo_map_get(&r->op_names, start, length);
  if (known) return known;
  known = halo_arena_new(r->arena, halo_mlir_op_name);
  const char *text = halo_mlir_text_intern(r, start, length);
  static const struct {
    const char *brief, *name;
  } briefs[] = {{"module", "builtin.module"},
                {"call", "func.call"},
                {"return", "func.return"},
                {"chlo.constant", "stablehlo.constant"},
                {"arith.constant", "stablehlo.constant"},
                {"unrealized_conversion_cast", "builtin.unrealized_conversion_cast"}};
  for (size_t i = 0; i < sizeof briefs / sizeof *briefs; i++)
    if (strcmp(text, briefs[i].brief) == 0) text = briefs[i].name;
  known->text = text;
  known->opcode = halo_mlir_opcode_from_name(text);
  halo_map_set(&r->op_names, start, length, known);
  return known;
}

/* ---- Generic form ---- */

static halo_status op_generic(halo_mlir_reader *r, halo_mlir_draft *draft) {
  const char *name;
  size_t length;
  HALO_TRY(halo_mlir_text_string(r, "the name of an operation", &name, &length));
  if (!length || memchr(name, '\0', length))
    return halo_mlir_text_error(r, draft->at, "expected the name of an operation");
  draft->name = op_find_name(r, name, length);
  HALO_TRY(halo_mlir_text_expect(r, '(', "'(' and operands"));
  HALO_TRY(halo_mlir_text_operands(r, draft));
  HALO_TRY(halo_mlir_text_expect(r, ')', "')' after the operands"));
  if (r->tok.kind == '[')
    return halo_mlir_text_error_as(r, HALO_UNIMPLEMENTED, r->tok.start,
                                   "operations with successors are not supported");
  if (halo_mlir_text_accept(r, '<')) {
    HALO_TRY(halo_mlir_text_attrs(r, draft));
    HALO_TRY(halo_mlir_text_expect(r, '>', "'>' after the properties"));
  }
  if (r->tok.kind == '(') HALO_TRY(halo_mlir_text_regions(r, draft));
  HALO_TRY(halo_mlir_text_attrs(r, draft));
  return halo_mlir_text_types(r, draft, HALO_MLIR_TYPES_FUNCTION);
}

/* ---- Form without quotes ---- */

static halo_status op_unknown(halo_mlir_reader *r, const halo_mlir_draft *draft, size_t length) {
  int shown = length > 200 ? 200 : (int)length;
  const char *at = draft->at, *like = halo_mlir_suggest(at, length);
  if (draft->name->opcode != HALO_MLIR_OP_UNKNOWN) {
    return halo_mlir_text_error(r, at,
                                "operation '%.*s' is not known in this form: expected the generic "
                                "form, \"%.*s\"(...) : (...) -> ...",
                                shown, at, shown, at);
  }
  if (like) {
    return halo_mlir_text_error(r, at, "operation '%.*s' is not known: did you mean '%s'?", shown,
                                at, like);
  }
  return halo_mlir_text_error(
      r, at, "operation '%.*s' is not known: expected one of StableHLO, CHLO or Shardy", shown, at);
}

static halo_status op_pretty(halo_mlir_reader *r, halo_mlir_draft *draft) {
  size_t length = (size_t)(r->tok.end - r->tok.start);
  draft->name = op_find_name(r, r->tok.start, length);
  const halo_mlir_form *form = op_form(draft->name->opcode);
  bool chlo = strncmp(draft->name->text, "chlo.", 5) == 0;
  if (!form && strncmp(draft->name->text, "cf.", 3) == 0) {
    return halo_mlir_text_error_as(r, HALO_UNIMPLEMENTED, draft->at,
                                   "branches between blocks (%s) are not supported",
                                   draft->name->text);
  }
  if (!form && !chlo) return op_unknown(r, draft, length);
  halo_mlir_text_advance(r);
  /* "stablehlo.constant() <{...}> : () -> T": generic but for the quotes. */
  if (r->tok.kind == '(' && draft->name->opcode == HALO_MLIR_OP_CONSTANT) {
    HALO_TRY(halo_mlir_text_expect(r, '(', "'('"));
    HALO_TRY(halo_mlir_text_expect(r, ')', "')': a constant has no operands"));
    HALO_TRY(halo_mlir_text_expect(r, '<', "'<' and properties"));
    HALO_TRY(halo_mlir_text_attrs(r, draft));
    HALO_TRY(halo_mlir_text_expect(r, '>', "'>' after the properties"));
    HALO_TRY(halo_mlir_text_attrs(r, draft));
    return halo_mlir_text_types(r, draft, HALO_MLIR_TYPES_FUNCTION);
  }
  if (form && form->read) return form->read(r, draft);
  HALO_TRY(halo_mlir_text_spec(r, draft, form ? form->spec : "$*"));
  HALO_TRY(halo_mlir_text_attrs(r, draft));
  return halo_mlir_text_types(r, draft, form ? form->types : HALO_MLIR_TYPES_ANY);
}

/* ---- Whole operations ---- */

typedef struct op_result {
  halo_mlir_token tok;
  int32_t count;
} op_result;

typedef HALO_VEC(op_result) op_result_list;

/* "%a, %b:2 =" if it is here. */
static halo_status op_results(halo_mlir_reader *r, op_result_list *out, int64_t *count) {
  *count = 0;
  if (r->tok.kind != TOK_VALUE) return HALO_OK;
  do {
    op_result result = {r->tok, 1};
    if (r->tok.kind != TOK_VALUE) return halo_mlir_text_expected(r, "the name of a result");
    halo_mlir_text_advance(r);
    if (halo_mlir_text_accept(r, ':')) {
      const char *at = r->tok.start;
      int64_t number;
      HALO_TRY(halo_mlir_text_int(r, "the number of results", &number));
      if (number < 1 || number > INT32_MAX)
        return halo_mlir_text_error(r, at, "expected a number of results from 1 on");
      result.count = (int32_t)number;
    }
    *count += result.count;
    halo_vec_push(out, result);
  } while (halo_mlir_text_accept(r, ','));
  return halo_mlir_text_expect(r, '=', "'=' after the results");
}

static halo_mlir_op *op_build(halo_mlir_reader *r, halo_mlir_block *block, halo_mlir_draft *draft,
                              int32_t line) {
  halo_mlir_op *op =
      halo_mlir_op_create(r->program, block, draft->name->text, draft->operands.count,
                          draft->results.count, draft->regions.count);
  for (int32_t i = 0; i < draft->operands.count; i++)
    op->operands[i] = draft->operands.data[i].value;
  for (int32_t i = 0; i < draft->results.count; i++) op->results[i].type = draft->results.data[i];
  for (int32_t i = 0; i < draft->regions.count; i++) {
    op->regions[i].block = draft->regions.data[i].block;
    if (op->regions[i].block) op->regions[i].block->region = &op->regions[i];
  }
  op->attrs = halo_arena_copy(r->arena, draft->attrs.data,
                              sizeof *draft->attrs.data * (size_t)draft->attrs.count);
  op->attr_count = draft->attrs.count;
  op->loc = draft->loc;
  op->line = line;
  return op;
}

/* A cast between equal types is its operand by another name. */
static bool op_is_alias(const halo_mlir_draft *draft, const op_result_list *names) {
  return draft->name->opcode == HALO_MLIR_OP_UNREALIZED_CAST && draft->operands.count == 1 &&
         draft->results.count == 1 && names->count == 1 &&
         halo_mlir_type_equal(draft->operands.data[0].value->type, draft->results.data[0]);
}

static halo_status op_read(halo_mlir_reader *r, halo_mlir_block *block, halo_mlir_draft *draft,
                           op_result_list *names) {
  int64_t named, first = 0;
  const char *start = r->tok.start;
  HALO_TRY(op_results(r, names, &named));
  draft->at = r->tok.start;
  int32_t line = halo_mlir_text_line_of(r, draft->at);
  if (r->tok.kind == TOK_STRING) {
    HALO_TRY(op_generic(r, draft));
  } else if (r->tok.kind == TOK_WORD) {
    HALO_TRY(op_pretty(r, draft));
  } else {
    return halo_mlir_text_expected(r, "an operation");
  }
  HALO_TRY(halo_mlir_text_loc(r, &draft->loc));
  if (named && named != draft->results.count)
    return halo_mlir_text_error(r, start, "expected names of %d result%s, found %lld",
                                draft->results.count, halo_plural(draft->results.count),
                                (long long)named);
  HALO_TRY(halo_mlir_text_flatten(r, draft->at, draft->name->opcode, &draft->attrs));
  if (op_is_alias(draft, names)) {
    halo_mlir_token name = names->data[0].tok;
    return halo_mlir_text_define(r, name.start, (size_t)(name.end - name.start),
                                 draft->operands.data[0].value, 1);
  }
  halo_mlir_op *op = op_build(r, block, draft, line);
  for (int32_t i = 0; i < names->count; i++) {
    const op_result *name = &names->data[i];
    HALO_TRY(halo_mlir_text_define(r, name->tok.start, (size_t)(name->tok.end - name->tok.start),
                                   &op->results[first], name->count));
    first += name->count;
  }
  return HALO_OK;
}

halo_status halo_mlir_text_op(halo_mlir_reader *r, halo_mlir_block *block) {
  halo_mlir_draft draft = {0};
  op_result_list names = {0};
  halo_status status = op_read(r, block, &draft, &names);
  halo_vec_deinit(&names);
  halo_vec_deinit(&draft.operands);
  halo_vec_deinit(&draft.attrs);
  halo_vec_deinit(&draft.results);
  halo_vec_deinit(&draft.regions);
  return status;
}
