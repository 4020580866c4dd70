/* SPDX-License-Identifier: Apache-2.0 */
/* rewrite/rewrite.c: batched replacement, and short cuts for new instructions. */
#include "rewrite/rewrite.h"

/* `mark` of an instruction while rewriting. */
enum { REWRITE_HAS_CONTROL_SUCC = 1 };

void halo_rewrite_begin(halo_rewriter *r, halo_computation *computation) {
  *r = (halo_rewriter){.computation = computation};
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    computation->instrs.data[i]->data = NULL;
    computation->instrs.data[i]->mark = 0;
  }
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    halo_instr *instr = computation->instrs.data[i];
    for (int32_t p = 0; p < instr->control_pred_count; p++) {
      instr->control_preds[p]->mark |= REWRITE_HAS_CONTROL_SUCC;
    }
  }
}

halo_instr *halo_rewrite_resolve(halo_instr *instr) {
  while (instr->data) {
    halo_instr *next = instr->data;
    /* Shorten the path, unless that would lose the order that `next` stands for. */
    if (next->data && next->control_pred_count == 0) instr->data = next->data;
    instr = next;
  }
  return instr;
}

bool halo_rewrite_pinned(const halo_instr *instr) {
  return instr->control_pred_count > 0 || (instr->mark & REWRITE_HAS_CONTROL_SUCC);
}

void halo_rewrite_add_control_pred(halo_instr *instr, halo_instr *pred) {
  if (instr == pred) return;
  for (int32_t i = 0; i < instr->control_pred_count; i++) {
    if (instr->control_preds[i] == pred) return;
  }
  halo_arena *arena = &instr->parent->module->arena;
  halo_instr **preds = halo_arena_array(arena, halo_instr *, instr->control_pred_count + 1);
  for (int32_t i = 0; i < instr->control_pred_count; i++) preds[i] = instr->control_preds[i];
  preds[instr->control_pred_count++] = pred;
  instr->control_preds = preds;
  pred->mark |= REWRITE_HAS_CONTROL_SUCC;
}

void halo_rewrite_replace(halo_rewriter *r, halo_instr *instr, halo_instr *with) {
  with = halo_rewrite_resolve(with);
  if (with == instr) return;
  instr->data = with;
  r->changed = true;
}

/* The order that the replaced instructions between `from` and what it resolves to stood for. */
static void rewrite_inherit_order(halo_instr *instr, halo_instr *from) {
  for (; from->data; from = from->data) {
    for (int32_t i = 0; i < from->control_pred_count; i++) {
      halo_instr *pred = from->control_preds[i];
      rewrite_inherit_order(instr, pred);
      halo_rewrite_add_control_pred(instr, halo_rewrite_resolve(pred));
    }
  }
}

static void rewrite_resolve_edges(halo_instr *instr) {
  for (int32_t o = 0; o < instr->operand_count; o++) {
    halo_instr *operand = instr->operands[o];
    if (!operand->data) continue;
    rewrite_inherit_order(instr, operand);
    instr->operands[o] = halo_rewrite_resolve(operand);
  }
  int32_t preds = instr->control_pred_count;
  bool moved = false;
  for (int32_t p = 0; p < preds; p++) moved |= instr->control_preds[p]->data != NULL;
  if (!moved) return;
  halo_instr **old = instr->control_preds;
  instr->control_preds = NULL;
  instr->control_pred_count = 0;
  for (int32_t p = 0; p < preds; p++) {
    if (old[p]->data) rewrite_inherit_order(instr, old[p]);
    halo_rewrite_add_control_pred(instr, halo_rewrite_resolve(old[p]));
  }
}

halo_instr *halo_rewrite_next(halo_rewriter *r, int32_t i) {
  halo_instr *instr = r->computation->instrs.data[i];
  if (instr->data) return NULL;
  rewrite_resolve_edges(instr);
  return instr;
}

halo_status halo_rewrite_end(halo_rewriter *r, bool *changed) {
  halo_computation *computation = r->computation;
  if (!r->changed) return HALO_OK;
  *changed = true;
  int32_t kept = 0;
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    halo_instr *instr = computation->instrs.data[i];
    if (instr->data) continue;
    rewrite_resolve_edges(instr);
    computation->instrs.data[kept++] = instr;
  }
  computation->instrs.count = kept;
  computation->root = halo_rewrite_resolve(computation->root);
  if (!halo_computation_sort(computation)) {
    return halo_fail(HALO_INTERNAL, "rewriting made a cycle in %s", computation->name);
  }
  return HALO_OK;
}

halo_status halo_rewrite_computations(halo_module *module, halo_rewrite_run *run, bool *changed) {
  *changed = false;
  for (int32_t c = 0, count = module->computations.count; c < count; c++) {
    HALO_TRY(run(module->computations.data[c], changed));
  }
  return HALO_OK;
}

halo_status halo_rewrite_instrs(halo_module *module, halo_rewrite_rule *rule, bool *changed) {
  *changed = false;
  for (int32_t c = 0; c < module->computations.count; c++) {
    halo_rewriter r;
    halo_rewrite_begin(&r, module->computations.data[c]);
    for (int32_t i = 0; i < r.computation->instrs.count; i++) {
      halo_instr *instr = halo_rewrite_next(&r, i);
      if (instr) rule(&r, instr);
    }
    HALO_TRY(halo_rewrite_end(&r, changed));
  }
  return HALO_OK;
}

/* ---- New instructions ---- */

halo_instr *halo_rewrite_make(halo_rewriter *r, const halo_instr *like, halo_opcode opcode,
                              const halo_shape *shape, halo_instr *const *operands,
                              int32_t operand_count, const halo_attr *attrs, int32_t attr_count) {
  halo_instr_spec spec = {.opcode = opcode,
                          .shape = shape,
                          .operands = operands,
                          .operand_count = operand_count,
                          .attrs = attrs,
                          .attr_count = attr_count,
                          .line = like->line};
  halo_instr *instr = halo_instr_create_unchecked(r->computation, &spec);
  const halo_attr *metadata = halo_instr_attr(like, HALO_ATTR_METADATA);
  if (metadata) halo_instr_set_attr(instr, metadata);
  return instr;
}

halo_instr *halo_rewrite_make_unary(halo_rewriter *r, const halo_instr *like, halo_opcode opcode,
                                    const halo_shape *shape, halo_instr *operand) {
  return halo_rewrite_make(r, like, opcode, shape, &operand, 1, NULL, 0);
}

halo_instr *halo_rewrite_make_binary(halo_rewriter *r, const halo_instr *like, halo_opcode opcode,
                                     const halo_shape *shape, halo_instr *lhs, halo_instr *rhs) {
  halo_instr *operands[] = {lhs, rhs};
  return halo_rewrite_make(r, like, opcode, shape, operands, 2, NULL, 0);
}

halo_attr halo_rewrite_list_attr(halo_module *module, halo_attr_id id, const int64_t *list,
                                 int32_t count) {
  halo_attr attr = {.id = id};
  attr.ints.data = halo_arena_copy(&module->arena, list, sizeof *list * (size_t)count);
  attr.ints.count = count;
  return attr;
}

halo_instr *halo_rewrite_make_listed(halo_rewriter *r, const halo_instr *like, halo_opcode opcode,
                                     const halo_shape *shape, halo_instr *operand,
                                     halo_attr_id attr, const int64_t *list, int32_t count) {
  halo_attr value = halo_rewrite_list_attr(r->computation->module, attr, list, count);
  return halo_rewrite_make(r, like, opcode, shape, &operand, 1, &value, 1);
}

halo_instr *halo_rewrite_make_gte(halo_rewriter *r, const halo_instr *like, halo_instr *tuple,
                                  int64_t index) {
  halo_attr attr = {.id = HALO_ATTR_INDEX, .i = index};
  return halo_rewrite_make(r, like, HALO_OP_GET_TUPLE_ELEMENT, tuple->shape->elements[index],
                           &tuple, 1, &attr, 1);
}

halo_instr *halo_rewrite_make_shared_constant(halo_rewriter *r, const halo_instr *like,
                                              halo_literal *literal) {
  halo_instr *instr = halo_instr_constant(r->computation, literal);
  instr->line = like->line;
  return instr;
}

halo_instr *halo_rewrite_make_constant(halo_rewriter *r, const halo_instr *like,
                                       halo_literal *literal) {
  halo_instr *instr = halo_rewrite_make_shared_constant(r, like, literal);
  halo_literal_release(literal);
  return instr;
}

halo_instr *halo_rewrite_make_scalar(halo_rewriter *r, const halo_instr *like, halo_type type,
                                     int64_t value) {
  halo_literal *literal = halo_literal_new_scalar(type);
  if (halo_type_is_integral(type) || type == HALO_PRED) {
    halo_literal_set_i64(literal, 0, value);
  } else if (halo_type_is_complex(type)) {
    halo_literal_set_c128(literal, 0, (double)value, 0);
  } else {
    halo_literal_set_f64(literal, 0, (double)value);
  }
  return halo_rewrite_make_constant(r, like, literal);
}

halo_instr *halo_rewrite_make_splat(halo_rewriter *r, const halo_instr *like, halo_instr *scalar,
                                    const halo_shape *shape) {
  if (shape->rank == 0) return scalar;
  return halo_rewrite_make_listed(r, like, HALO_OP_BROADCAST, shape, scalar, HALO_ATTR_DIMENSIONS,
                                  NULL, 0);
}
