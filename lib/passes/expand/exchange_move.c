/* SPDX-License-Identifier: Apache-2.0 */
/* passes/expand/exchange_move.c: exchanges of pairs, and those whose sizes are known at run time only. */
#include "passes/expand/exchange_site.h"
#include "passes/expand/expand.h"

/* Pairs stand in groups of two. */
static bool exchange_open_pairs(halo_expander *x, halo_instr *instr, exchange_site *s) {
  halo_module *module = x->r->computation->module;
  int64_t *pairs;
  int32_t count;
  *s = (exchange_site){.x = x, .instr = instr, .module = module};
  s->number = halo_instr_int(instr, HALO_ATTR_EXCHANGE, 0);
  x->status = halo_collective_pairs(instr, &module->arena, &pairs, &count);
  if (x->status != HALO_OK) return false;
  int32_t *starts = halo_arena_array(&module->arena, int32_t, count + 1);
  for (int32_t i = 0; i <= count; i++) starts[i] = 2 * i;
  s->groups = (halo_groups){.count = count, .starts = starts, .ids = pairs};
  return true;
}

static halo_instr *exchange_permute_one(exchange_site *s, halo_instr *value) {
  int64_t *pairs = (int64_t *)s->groups.ids;
  halo_attr attrs[] = {
      {.id = HALO_ATTR_EXCHANGE, .i = s->number++},
      {.id = HALO_ATTR_EXCHANGE_FOR, .text = exchange_title(s)},
      halo_rewrite_list_attr(s->module, HALO_ATTR_SOURCE_TARGET_PAIRS, pairs, 2 * s->groups.count)};
  return halo_rewrite_make(s->x->r, s->instr, HALO_OP_COLLECTIVE_PERMUTE, value->shape, &value, 1,
                           attrs, 3);
}

/* (input, output, where from, where to): a slice of the input goes into the target's output. */
static halo_instr *exchange_permute_slice(exchange_site *s) {
  const halo_instr *instr = s->instr;
  halo_expander *x = s->x;
  halo_instr *input = instr->operands[0], *output = instr->operands[1];
  const halo_attr *sizes = halo_instr_attr(instr, HALO_ATTR_PERMUTE_SLICE_SIZES);
  int rank = input->shape->rank;
  const halo_shape *from = instr->operands[2]->shape, *to = instr->operands[3]->shape;
  if (!sizes || sizes->groups->count != 1 || sizes->groups->starts[1] != rank ||
      !halo_shape_is_array(output->shape) || output->shape->rank != rank ||
      !halo_shape_is_tuple(from) || !halo_shape_is_tuple(to) || from->count != rank ||
      to->count != rank) {
    return NULL;
  }
  halo_instr *starts[HALO_MAX_RANK], *operands[2 + HALO_MAX_RANK];
  for (int d = 0; d < rank; d++) {
    starts[d] = halo_rewrite_make_gte(x->r, instr, instr->operands[2], d);
    operands[2 + d] = halo_rewrite_make_gte(x->r, instr, instr->operands[3], d);
  }
  halo_instr *piece = halo_expand_dynamic_slice(x, input, starts, sizes->groups->ids);
  if (!piece) return NULL;
  piece = exchange_permute_one(s, piece);
  operands[0] = output;
  operands[1] = piece;
  halo_instr *updated =
      halo_expand_op(x, HALO_OP_DYNAMIC_UPDATE_SLICE, operands, 2 + rank, NULL, 0);
  int32_t *target = exchange_values(s);
  for (int32_t i = 0; i < s->groups.count; i++) target[s->groups.ids[2 * i + 1]] = 1;
  halo_instr *test = halo_expand_splat(x, exchange_above(s, target, 0), output->shape);
  return exchange_as(s, halo_expand_select(x, test, updated, output), instr->shape);
}

halo_instr *halo_expand_exchange_permute(halo_expander *x, halo_instr *instr) {
  exchange_site s;
  if (!exchange_open_pairs(x, instr, &s)) return NULL;
  if (instr->operand_count == 4 && halo_instr_attr(instr, HALO_ATTR_PERMUTE_SLICE_SIZES)) {
    return exchange_permute_slice(&s);
  }
  return exchange_each(&s, exchange_permute_one);
}

/* Offsets and sizes as s64, [members, updates]: lists of several updates for each member come flat, too. */
halo_instr *halo_expand_exchange_ragged(halo_expander *x, halo_instr *instr) {
  exchange_site s;
  if (!exchange_open_equal(x, instr, &s)) return NULL;
  const halo_shape *lists = instr->operands[2]->shape;
  if (lists->dims[0] % s.most != 0) {
    x->status = halo_fail(HALO_INVALID_ARGUMENT, "%s: %lld offsets do not go with %lld members",
                          instr->name, (long long)lists->dims[0], (long long)s.most);
    return NULL;
  }
  const int64_t dims[] = {s.most, halo_shape_element_count(lists) / s.most};
  halo_instr *operands[6] = {instr->operands[0], instr->operands[1]};
  for (int32_t i = 2; i < 6; i++) {
    operands[i] = halo_expand_convert(x, instr->operands[i], HALO_S64);
    operands[i] = halo_expand_reshape(x, operands[i], 2, dims);
  }
  halo_instr *result = exchange_make(&s, instr->opcode, operands[1]->shape, operands, 6);
  return exchange_as(&s, result, instr->shape);
}
