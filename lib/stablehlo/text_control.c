/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/text_control.c: reduce, while, scan, constant and Shardy's computations without quotes. */
#include "stablehlo/text_reader.h"

#include <string.h>

halo_status halo_mlir_text_constant(halo_mlir_reader *r, halo_mlir_draft *draft) {
  HALO_TRY(halo_mlir_text_attrs(r, draft));
  const char *at = r->tok.start;
  const halo_mlir_attr *value;
  HALO_TRY(halo_mlir_text_attr(r, &value));
  if (value->kind == HALO_MLIR_OPAQUE)
    return halo_mlir_text_error_as(r, HALO_UNIMPLEMENTED, at,
                                   "constants of this type are not supported");
  if (value->kind != HALO_MLIR_DENSE)
    return halo_mlir_text_error(r, at, "expected a constant such as dense<0> : tensor<i32>");
  halo_mlir_text_add(draft, "value", value);
  halo_vec_push(&draft->results, value->type);
  return HALO_OK;
}

/* ---- reduce ---- */

/* "(%x init: %z), (%y init: %w)": the operands, inputs first. */
static halo_status reduce_operands(halo_mlir_reader *r, halo_mlir_draft *draft) {
  halo_mlir_draft inits = {0};
  halo_status status;
  do {
    status = halo_mlir_text_expect(r, '(', "'(' and an operand");
    if (status == HALO_OK) status = halo_mlir_text_operand(r, draft);
    if (status == HALO_OK) status = halo_mlir_text_expect_word(r, "init");
    if (status == HALO_OK) status = halo_mlir_text_expect(r, ':', "':' after init");
    if (status == HALO_OK) status = halo_mlir_text_operand(r, &inits);
    if (status == HALO_OK) status = halo_mlir_text_expect(r, ')', "')' after an operand");
  } while (status == HALO_OK && halo_mlir_text_accept(r, ','));
  for (int32_t i = 0; status == HALO_OK && i < inits.operands.count; i++)
    halo_vec_push(&draft->operands, inits.operands.data[i]);
  halo_vec_deinit(&inits.operands);
  return status;
}

/* "reducer(%a: T, %b: T) (%c: U, %d: U) {...}": pair k has argument k and argument n + k. */
static halo_status reduce_long_body(halo_mlir_reader *r, halo_mlir_draft *draft) {
  halo_mlir_argument_list pairs = {0}, arguments = {0};
  const char *at = r->tok.start;
  halo_status status = halo_mlir_text_expect_word(r, "reducer");
  while (status == HALO_OK && r->tok.kind == '(') status = halo_mlir_text_arguments(r, &pairs);
  int32_t count = pairs.count / 2;
  if (status == HALO_OK && pairs.count != draft->operands.count)
    status =
        halo_mlir_text_error(r, at, "expected %d pair%s of arguments", draft->operands.count / 2,
                             halo_plural(draft->operands.count / 2));
  for (int32_t i = 0; status == HALO_OK && i < pairs.count; i++)
    halo_vec_push(&arguments, pairs.data[2 * (i % count) + i / count]);
  if (status == HALO_OK) status = halo_mlir_text_region(r, draft, &arguments);
  halo_vec_deinit(&pairs);
  halo_vec_deinit(&arguments);
  return status;
}

/* The body of "applies stablehlo.add": that operation on two scalars. */
static halo_status reduce_short_body(halo_mlir_reader *r, halo_mlir_draft *draft, const char *name,
                                     const char *at) {
  if (draft->operands.count != 2)
    return halo_mlir_text_error(r, at,
                                "expected one input: 'applies' cannot stand for a body of several");
  const halo_mlir_type *input = draft->operands.data[0].value->type;
  if (input->kind != HALO_MLIR_TENSOR)
    return halo_mlir_text_error(r, at, "expected a tensor to reduce");
  const halo_mlir_type *type = halo_mlir_text_tensor_type(r, input->element, 0, NULL);
  halo_mlir_region *region = halo_arena_new(r->arena, halo_mlir_region);
  halo_mlir_block *block = halo_mlir_block_create(r->program, region, 2);
  halo_vec_push(&draft->regions, *region);
  halo_mlir_op *op = halo_mlir_op_create(r->program, block, name, 2, 1, 0);
  halo_mlir_op *end = halo_mlir_op_create(r->program, block, "stablehlo.return", 1, 0, 0);
  for (int i = 0; i < 2; i++) {
    block->args[i].type = type;
    op->operands[i] = &block->args[i];
  }
  op->results[0].type = type;
  end->operands[0] = &op->results[0];
  op->line = end->line = halo_mlir_text_line_of(r, at);
  op->loc = end->loc = draft->loc;
  return HALO_OK;
}

halo_status halo_mlir_text_reduce(halo_mlir_reader *r, halo_mlir_draft *draft) {
  const char *applied = NULL, *at = NULL;
  HALO_TRY(reduce_operands(r, draft));
  if (halo_mlir_text_accept_word(r, "applies")) {
    at = r->tok.start;
    size_t length = (size_t)(r->tok.end - at);
    HALO_TRY(halo_mlir_text_expect(r, TOK_WORD, "the name of an operation"));
    applied = halo_mlir_text_intern(r, at, length);
  }
  HALO_TRY(halo_mlir_text_expect_word(r, "across"));
  HALO_TRY(halo_mlir_text_expect_word(r, "dimensions"));
  HALO_TRY(halo_mlir_text_expect(r, '=', "'=' after dimensions"));
  const halo_mlir_attr *dimensions;
  HALO_TRY(halo_mlir_text_ints(r, &dimensions));
  halo_mlir_text_add(draft, "dimensions", dimensions);
  HALO_TRY(halo_mlir_text_attrs(r, draft));
  HALO_TRY(halo_mlir_text_types(r, draft, HALO_MLIR_TYPES_FUNCTION));
  HALO_TRY(halo_mlir_text_loc(r, &draft->loc));
  if (applied) return reduce_short_body(r, draft, applied, at);
  return reduce_long_body(r, draft);
}

/* ---- while ---- */

/* "%i = %x, %v = %y": names of arguments, and operands. */
static halo_status while_bindings(halo_mlir_reader *r, halo_mlir_draft *draft,
                                  halo_mlir_argument_list *arguments) {
  HALO_TRY(halo_mlir_text_expect(r, '(', "'(' and loop values"));
  while (r->tok.kind != ')') {
    halo_mlir_argument argument = {.start = r->tok.start,
                                   .length = (size_t)(r->tok.end - r->tok.start)};
    HALO_TRY(halo_mlir_text_expect(r, TOK_VALUE, "the name of a loop value"));
    HALO_TRY(halo_mlir_text_expect(r, '=', "'=' and the first value"));
    HALO_TRY(halo_mlir_text_operand(r, draft));
    halo_vec_push(arguments, argument);
    HALO_TRY(halo_mlir_text_separator(r, ')', "',' or ')' after a loop value"));
  }
  halo_mlir_text_advance(r);
  return HALO_OK;
}

static halo_status while_read(halo_mlir_reader *r, halo_mlir_draft *draft,
                              halo_mlir_argument_list *arguments) {
  HALO_TRY(while_bindings(r, draft, arguments));
  HALO_TRY(halo_mlir_text_types(r, draft, HALO_MLIR_TYPES_PAIRS));
  for (int32_t i = 0; i < arguments->count; i++) {
    arguments->data[i].type = draft->operands.data[i].value->type;
  }
  if (halo_mlir_text_accept_word(r, "attributes")) HALO_TRY(halo_mlir_text_attrs(r, draft));
  HALO_TRY(halo_mlir_text_expect_word(r, "cond"));
  HALO_TRY(halo_mlir_text_region(r, draft, arguments));
  HALO_TRY(halo_mlir_text_expect_word(r, "do"));
  return halo_mlir_text_region(r, draft, arguments);
}

halo_status halo_mlir_text_while(halo_mlir_reader *r, halo_mlir_draft *draft) {
  halo_mlir_argument_list arguments = {0};
  halo_status status = while_read(r, draft, &arguments);
  halo_vec_deinit(&arguments);
  return status;
}

/* ---- scan ---- */

/* "(%x, %y) inits (%c) dimension=0 attributes {...} {...} : (T, ...) -> (U, ...)" */
halo_status halo_mlir_text_scan(halo_mlir_reader *r, halo_mlir_draft *draft) {
  const char *at = r->tok.start;
  const halo_mlir_attr *segments;
  int64_t counts[2];
  HALO_TRY(halo_mlir_text_spec(r, draft, "( $* ) inits"));
  counts[0] = draft->operands.count;
  HALO_TRY(halo_mlir_text_spec(r, draft, "( $* ) dimension = int:dimension"));
  counts[1] = draft->operands.count - counts[0];
  HALO_TRY(halo_mlir_text_new_list(r, at, counts, 2, &segments));
  halo_mlir_text_add(draft, "operandSegmentSizes", segments);
  if (halo_mlir_text_accept_word(r, "attributes")) HALO_TRY(halo_mlir_text_attrs(r, draft));
  HALO_TRY(halo_mlir_text_region(r, draft, NULL));
  return halo_mlir_text_types(r, draft, HALO_MLIR_TYPES_FUNCTION);
}

/* ---- Shardy's computations ---- */

/* "name=shardings" */
static halo_status sdy_shardings(halo_mlir_reader *r, halo_mlir_draft *draft, const char *name) {
  const halo_mlir_attr *value;
  HALO_TRY(halo_mlir_text_expect_word(r, name));
  HALO_TRY(halo_mlir_text_expect(r, '=', "'=' and shardings"));
  HALO_TRY(halo_mlir_text_shardings(r, &value));
  halo_mlir_text_add(draft, name, value);
  return HALO_OK;
}

/* "(%a: T) {...} {attributes} : type" */
static halo_status sdy_body(halo_mlir_reader *r, halo_mlir_draft *draft) {
  halo_mlir_argument_list arguments = {0};
  halo_status status = halo_mlir_text_arguments(r, &arguments);
  if (status == HALO_OK) status = halo_mlir_text_region(r, draft, &arguments);
  halo_vec_deinit(&arguments);
  HALO_TRY(status);
  HALO_TRY(halo_mlir_text_attrs(r, draft));
  return halo_mlir_text_types(r, draft, HALO_MLIR_TYPES_FUNCTION);
}

halo_status halo_mlir_text_manual_computation(halo_mlir_reader *r, halo_mlir_draft *draft) {
  const halo_mlir_attr *axes;
  HALO_TRY(halo_mlir_text_spec(r, draft, "( $* )"));
  HALO_TRY(sdy_shardings(r, draft, "in_shardings"));
  HALO_TRY(sdy_shardings(r, draft, "out_shardings"));
  HALO_TRY(halo_mlir_text_expect_word(r, "manual_axes"));
  HALO_TRY(halo_mlir_text_expect(r, '=', "'=' and axes"));
  HALO_TRY(halo_mlir_text_manual_axes(r, &axes));
  halo_mlir_text_add(draft, "manual_axes", axes);
  return sdy_body(r, draft);
}

halo_status halo_mlir_text_named_computation(halo_mlir_reader *r, halo_mlir_draft *draft) {
  HALO_TRY(halo_mlir_text_spec(r, draft, "< string:name > ( $* )"));
  if (halo_mlir_text_is(r, "in_shardings")) HALO_TRY(sdy_shardings(r, draft, "in_shardings"));
  if (halo_mlir_text_is(r, "out_shardings")) HALO_TRY(sdy_shardings(r, draft, "out_shardings"));
  return sdy_body(r, draft);
}
