/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/text_region.c: regions, their arguments, and the names of values. */
#include "stablehlo/text_reader.h"

#include <string.h>

/* ---- Names ---- */

halo_status halo_mlir_text_define(halo_mlir_reader *r, const char *start, size_t length,
                                  halo_mlir_value *first, int32_t count) {
  halo_mlir_binding *binding = halo_map_get(&r->values, start, length);
  if (!binding) {
    binding = halo_arena_new(r->arena, halo_mlir_binding);
    halo_map_set(&r->values, start, length, binding);
  } else if (binding->first && binding->number >= r->floor) {
    int32_t line = halo_mlir_text_line_of(r, binding->at);
    return halo_mlir_text_error(r, start, "'%%%.*s' is defined twice: it is on line %d already",
                                length > 200 ? 200 : (int)length, start, line);
  }
  halo_vec_push(&r->undo, (halo_mlir_undo){binding, *binding});
  *binding = (halo_mlir_binding){first, count, r->undo.count - 1, start};
  return HALO_OK;
}

/* Forgets all names since there were `mark` of them. */
static void region_forget(halo_mlir_reader *r, int32_t mark) {
  while (r->undo.count > mark) {
    halo_mlir_undo *last = &r->undo.data[--r->undo.count];
    *last->binding = last->before;
  }
}

/* ---- Arguments ---- */

halo_status halo_mlir_text_argument(halo_mlir_reader *r, bool named, halo_mlir_argument_list *out) {
  halo_mlir_argument argument = {0};
  if (named) {
    argument.start = r->tok.start;
    argument.length = (size_t)(r->tok.end - r->tok.start);
    HALO_TRY(halo_mlir_text_expect(r, TOK_VALUE, "the name of an argument"));
    HALO_TRY(halo_mlir_text_expect(r, ':', "':' and the argument's type"));
  }
  HALO_TRY(halo_mlir_text_type(r, &argument.type));
  if (r->tok.kind == '{') HALO_TRY(halo_mlir_text_attr(r, &argument.attrs));
  HALO_TRY(halo_mlir_text_loc(r, &argument.loc));
  halo_vec_push(out, argument);
  return HALO_OK;
}

halo_status halo_mlir_text_arguments(halo_mlir_reader *r, halo_mlir_argument_list *out) {
  HALO_TRY(halo_mlir_text_expect(r, '(', "'(' and arguments"));
  while (r->tok.kind != ')') {
    HALO_TRY(halo_mlir_text_argument(r, true, out));
    HALO_TRY(halo_mlir_text_separator(r, ')', "',' or ')' after an argument"));
  }
  halo_mlir_text_advance(r);
  return HALO_OK;
}

/* ---- Blocks ---- */

static bool region_ends(halo_mlir_opcode opcode) {
  return opcode == HALO_MLIR_OP_RETURN || opcode == HALO_MLIR_OP_FUNC_RETURN ||
         opcode == HALO_MLIR_OP_SDY_RETURN;
}

/* The operations of the top level, or of a region: until `closer`, which stays. */
static halo_status region_block(halo_mlir_reader *r, halo_mlir_block *block, int closer) {
  while (r->tok.kind != closer) {
    if (r->tok.kind == TOK_BLOCK)
      return halo_mlir_text_error_as(r, HALO_UNIMPLEMENTED, r->tok.start,
                                     "regions of several blocks are not supported");
    if (r->tok.kind == TOK_END) return halo_mlir_text_expected(r, "an operation or '}'");
    HALO_TRY(halo_mlir_text_op(r, block));
    /* An operation that only gives its operand another name is not kept. */
    bool ended = block->ops.count > 0 && region_ends(block->ops.data[block->ops.count - 1]->opcode);
    if (ended && r->tok.kind != closer && r->tok.kind != TOK_BLOCK)
      return halo_mlir_text_expected(r, "'}' after the operation that ends its block");
  }
  return HALO_OK;
}

/* Of operations that are not known it is not known what ends their blocks. */
static halo_status region_check_end(halo_mlir_reader *r, halo_mlir_opcode owner,
                                    const halo_mlir_block *block) {
  if (owner == HALO_MLIR_OP_MODULE || owner == HALO_MLIR_OP_UNKNOWN) return HALO_OK;
  int32_t count = block->ops.count;
  if (count && region_ends(block->ops.data[count - 1]->opcode)) return HALO_OK;
  return halo_mlir_text_expected(r, owner == HALO_MLIR_OP_FUNC
                                        ? "a return at the end of the function"
                                        : "stablehlo.return at the end of the region");
}

static halo_status region_body(halo_mlir_reader *r, halo_mlir_draft *draft,
                               const halo_mlir_argument_list *arguments) {
  halo_mlir_region *region = halo_arena_new(r->arena, halo_mlir_region);
  halo_mlir_opcode owner = draft->name->opcode;
  halo_mlir_block *block = halo_mlir_block_create(r->program, region, arguments->count);
  halo_vec_push(&draft->regions, *region);
  for (int32_t i = 0; i < arguments->count; i++) {
    const halo_mlir_argument *argument = &arguments->data[i];
    block->args[i].type = argument->type;
    block->args[i].loc = argument->loc;
    HALO_TRY(halo_mlir_text_define(r, argument->start, argument->length, &block->args[i], 1));
  }
  HALO_TRY(region_block(r, block, '}'));
  HALO_TRY(region_check_end(r, owner, block));
  halo_mlir_text_advance(r);
  return HALO_OK;
}

/* "^bb0(%a: type):" if it is here. */
static halo_status region_label(halo_mlir_reader *r, halo_mlir_argument_list *out) {
  if (!halo_mlir_text_accept(r, TOK_BLOCK)) return HALO_OK;
  if (r->tok.kind == '(') HALO_TRY(halo_mlir_text_arguments(r, out));
  return halo_mlir_text_expect(r, ':', "':' after the label of a block");
}

/* Names of outer functions mean nothing in these. */
static bool region_is_isolated(halo_mlir_opcode opcode) {
  return opcode == HALO_MLIR_OP_FUNC || opcode == HALO_MLIR_OP_MODULE;
}

halo_status halo_mlir_text_region(halo_mlir_reader *r, halo_mlir_draft *draft,
                                  const halo_mlir_argument_list *arguments) {
  HALO_TRY(halo_mlir_text_enter(r));
  HALO_TRY(halo_mlir_text_expect(r, '{', "'{' and a region"));
  int32_t mark = r->undo.count, floor = r->floor;
  halo_mlir_opcode owner = draft->name->opcode;
  if (region_is_isolated(owner)) r->floor = mark;
  halo_mlir_argument_list labelled = {0};
  halo_status status = HALO_OK;
  if (!arguments && r->tok.kind == '}' && owner != HALO_MLIR_OP_MODULE) {
    halo_vec_push(&draft->regions, (halo_mlir_region){0}); /* of a declaration */
    halo_mlir_text_advance(r);
  } else {
    if (!arguments) status = region_label(r, &labelled);
    if (status == HALO_OK) status = region_body(r, draft, arguments ? arguments : &labelled);
  }
  halo_vec_deinit(&labelled);
  HALO_TRY(status);
  region_forget(r, mark);
  r->floor = floor;
  halo_mlir_text_leave(r);
  return HALO_OK;
}

halo_status halo_mlir_text_regions(halo_mlir_reader *r, halo_mlir_draft *draft) {
  HALO_TRY(halo_mlir_text_expect(r, '(', "'(' and regions"));
  while (r->tok.kind != ')') {
    HALO_TRY(halo_mlir_text_region(r, draft, NULL));
    HALO_TRY(halo_mlir_text_separator(r, ')', "',' or ')' after a region"));
  }
  halo_mlir_text_advance(r);
  return HALO_OK;
}
