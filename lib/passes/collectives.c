/* passes/collectives.c: collectives of programs of several replicas or partitions, before anything else looks
 * at them: starts and dones become asynchronous pairs around the plain operation, small reductions that do not
 * wait for one another become one, and each gets a number, which is the same on every device. */
#include "base/pointer_map.h"
#include "hlo/collective.h"
#include "passes/passes.h"
#include "passes/rewrite.h"

#include <string.h>

/* ---- Starts and dones ---- */

typedef struct collective_pair {
  halo_opcode start, plain, done;
  int result; /* element of the start's shape; -1: all of it */
} collective_pair;
static const collective_pair collective_pairs[] = {
    {HALO_OP_ALL_GATHER_START, HALO_OP_ALL_GATHER, HALO_OP_ALL_GATHER_DONE, 1},
    {HALO_OP_ALL_REDUCE_START, HALO_OP_ALL_REDUCE, HALO_OP_ALL_REDUCE_DONE, -1},
    {HALO_OP_COLLECTIVE_PERMUTE_START, HALO_OP_COLLECTIVE_PERMUTE, HALO_OP_COLLECTIVE_PERMUTE_DONE,
     1},
};
enum { COLLECTIVE_PAIRS = sizeof collective_pairs / sizeof collective_pairs[0] };

/* What the start does, as a computation of its operands. */
static halo_computation *collective_wrap(halo_instr *start, halo_opcode plain,
                                         const halo_shape *result) {
  halo_module *module = start->parent->module;
  halo_computation *body = halo_computation_create(module, NULL);
  HALO_VEC(halo_instr *) params = {0};
  body->name = halo_module_fresh_name(module, halo_opcode_name(plain));
  for (int32_t i = 0; i < start->operand_count; i++) {
    halo_instr_spec spec = {.opcode = HALO_OP_PARAMETER,
                            .shape = start->operands[i]->shape,
                            .parameter_number = i,
                            .line = start->line};
    halo_vec_push(&params, halo_instr_create_unchecked(body, &spec));
  }
  halo_instr_spec root = {.opcode = plain,
                          .name = start->name,
                          .shape = result,
                          .operands = params.data,
                          .operand_count = params.count,
                          .attrs = start->attrs,
                          .attr_count = start->attr_count,
                          .line = start->line};
  body->root = halo_instr_create_unchecked(body, &root);
  halo_vec_deinit(&params);
  return body;
}

static halo_instr *collective_async_start(halo_rewriter *r, halo_instr *start,
                                          const collective_pair *pair) {
  halo_module *module = r->computation->module;
  const halo_shape *result = start->shape;
  if (pair->result >= 0) {
    if (!halo_shape_is_tuple(result) || result->count <= pair->result) return NULL;
    result = result->elements[pair->result];
  }
  const halo_shape **inputs =
      halo_arena_array(&module->arena, const halo_shape *, start->operand_count + 1);
  for (int32_t i = 0; i < start->operand_count; i++) inputs[i] = start->operands[i]->shape;
  const halo_shape *parts[] = {halo_shape_new_tuple(&module->arena, start->operand_count, inputs),
                               result};
  halo_computation **comps = halo_arena_new(&module->arena, halo_computation *);
  *comps = collective_wrap(start, pair->plain, result);
  halo_attr calls = {.id = HALO_ATTR_CALLS, .comps = {comps, 1}};
  return halo_rewrite_make(r, start, HALO_OP_ASYNC_START,
                           halo_shape_new_tuple(&module->arena, 2, parts), start->operands,
                           start->operand_count, &calls, 1);
}

static halo_status collective_pair_up(halo_computation *computation, bool *changed) {
  halo_rewriter r;
  halo_pointer_map made = {0};
  halo_status status = HALO_OK;
  halo_rewrite_begin(&r, computation);
  int32_t count = computation->instrs.count;
  for (int32_t i = 0; i < count && status == HALO_OK; i++) {
    halo_instr *instr = halo_rewrite_next(&r, i);
    if (!instr) continue;
    bool ends = false;
    for (int p = 0; p < COLLECTIVE_PAIRS; p++) {
      ends |= instr->opcode == collective_pairs[p].done;
      if (instr->opcode != collective_pairs[p].start) continue;
      halo_instr *start = collective_async_start(&r, instr, &collective_pairs[p]);
      if (!start) continue;
      halo_pointer_map_set(&made, start, start);
      halo_rewrite_replace(&r, instr, start);
    }
    for (int32_t o = 0; o < instr->operand_count; o++) {
      if (!halo_pointer_map_get(&made, instr->operands[o]) || ends) continue;
      status = halo_fail(HALO_UNIMPLEMENTED, "%s: the result of %s has no use but its done",
                         instr->name, instr->operands[o]->name);
    }
    if (ends && halo_pointer_map_get(&made, instr->operands[0])) {
      halo_instr *start = instr->operands[0];
      halo_rewrite_replace(
          &r, instr,
          halo_rewrite_make_unary(&r, instr, HALO_OP_ASYNC_DONE, start->shape->elements[1], start));
    }
  }
  halo_status ended = halo_rewrite_end(&r, changed);
  halo_pointer_map_deinit(&made);
  return status != HALO_OK ? status : ended;
}

/* ---- Combining ---- */

enum { COMBINE_EACH = 1 << 20, COMBINE_ALL = 16 << 20 }; /* bytes */

static bool collective_same_groups(const halo_instr *a, const halo_instr *b) {
  const halo_attr *x = halo_instr_attr(a, HALO_ATTR_REPLICA_GROUPS);
  const halo_attr *y = halo_instr_attr(b, HALO_ATTR_REPLICA_GROUPS);
  int32_t xs = x ? x->groups->count : 0, ys = y ? y->groups->count : 0;
  if (xs != ys) return false;
  if (xs == 0) return true;
  int32_t ids = x->groups->starts[xs];
  return memcmp(x->groups->starts, y->groups->starts, sizeof(int32_t) * (size_t)(xs + 1)) == 0 &&
         memcmp(x->groups->ids, y->groups->ids, sizeof(int64_t) * (size_t)ids) == 0;
}

/* Equal reducers are one computation, or do one and the same operation to both parameters. */
static bool collective_same_reducer(const halo_instr *a, const halo_instr *b) {
  const halo_computation *x = halo_instr_comp(a, HALO_ATTR_TO_APPLY);
  const halo_computation *y = halo_instr_comp(b, HALO_ATTR_TO_APPLY);
  if (x == y) return true;
  const halo_instr *p = x->root, *q = y->root;
  if (p->opcode != q->opcode || p->operand_count != 2 || q->operand_count != 2) return false;
  if (p->attr_count || q->attr_count || p->shape->type != q->shape->type) return false;
  for (int i = 0; i < 2; i++) {
    const halo_instr *u = p->operands[i], *v = q->operands[i];
    if (u->opcode != HALO_OP_PARAMETER || v->opcode != HALO_OP_PARAMETER) return false;
    if (u->parameter_number != v->parameter_number) return false;
  }
  return true;
}

static bool collective_is_small(const halo_instr *instr) {
  return instr->opcode == HALO_OP_ALL_REDUCE && instr->operand_count == 1 &&
         halo_shape_is_array(instr->shape) && !halo_rewrite_pinned(instr) &&
         !halo_shape_is_dynamic(instr->shape) && halo_shape_byte_size(instr->shape) <= COMBINE_EACH;
}

static bool collective_goes_with(const halo_instr *a, const halo_instr *b) {
  return a->shape->type == b->shape->type && collective_same_groups(a, b) &&
         collective_same_reducer(a, b) &&
         (halo_instr_int(a, HALO_ATTR_CHANNEL_ID, 0) > 0) ==
             (halo_instr_int(b, HALO_ATTR_CHANNEL_ID, 0) > 0) &&
         halo_instr_int(a, HALO_ATTR_USE_GLOBAL_DEVICE_IDS, 0) ==
             halo_instr_int(b, HALO_ATTR_USE_GLOBAL_DEVICE_IDS, 0);
}

typedef HALO_VEC(halo_instr *) collective_list;

/* Those that can be done with instruction `first`: none needs another's result. `mark`: it does. */
static void collective_collect(halo_computation *computation, int32_t first, collective_list *out) {
  int64_t bytes = 0;
  out->count = 0;
  for (int32_t i = 0; i < computation->instrs.count; i++) computation->instrs.data[i]->mark = 0;
  for (int32_t i = first; i < computation->instrs.count; i++) {
    halo_instr *instr = computation->instrs.data[i];
    for (int32_t o = 0; o < instr->operand_count; o++) instr->mark |= instr->operands[o]->mark;
    for (int32_t p = 0; p < instr->control_pred_count; p++) {
      instr->mark |= instr->control_preds[p]->mark;
    }
    if (instr->mark || !collective_is_small(instr)) continue;
    if (out->count > 0 && !collective_goes_with(out->data[0], instr)) continue;
    bytes += halo_shape_byte_size(instr->shape);
    if (bytes > COMBINE_ALL) break;
    instr->mark = 1;
    halo_vec_push(out, instr);
  }
}

static halo_status collective_join(halo_computation *computation, const collective_list *list,
                                   bool *changed) {
  halo_arena *arena = &computation->module->arena;
  const halo_shape **shapes = halo_arena_array(arena, const halo_shape *, list->count);
  HALO_VEC(halo_instr *) operands = {0};
  halo_rewriter r;
  halo_rewrite_begin(&r, computation);
  for (int32_t i = 0; i < list->count; i++) {
    shapes[i] = list->data[i]->shape;
    halo_vec_push(&operands, list->data[i]->operands[0]);
  }
  const halo_instr *first = list->data[0];
  halo_instr *all = halo_rewrite_make(
      &r, first, HALO_OP_ALL_REDUCE, halo_shape_new_tuple(arena, list->count, shapes),
      operands.data, operands.count, first->attrs, first->attr_count);
  for (int32_t i = 0; i < list->count; i++) {
    halo_rewrite_replace(&r, list->data[i], halo_rewrite_make_gte(&r, first, all, i));
  }
  halo_vec_deinit(&operands);
  return halo_rewrite_end(&r, changed);
}

static halo_status collective_combine(halo_computation *computation, bool *changed) {
  collective_list list = {0};
  halo_status status = HALO_OK;
  /* What was joined is no longer small, and what cannot be joined is passed by. */
  for (int32_t i = 0; i < computation->instrs.count && status == HALO_OK; i++) {
    if (!collective_is_small(computation->instrs.data[i])) continue;
    collective_collect(computation, i, &list);
    if (list.count > 1) status = collective_join(computation, &list, changed);
  }
  halo_vec_deinit(&list);
  return status;
}

/* ---- The pass ---- */

/* An expansion makes up to so many exchanges of one operand. */
enum { COLLECTIVE_STRIDE = 4 };

static void collective_number(halo_module *module) {
  int64_t next = 1;
  for (int32_t c = 0; c < module->computations.count; c++) {
    halo_computation *computation = module->computations.data[c];
    for (int32_t i = 0; i < computation->instrs.count; i++) {
      halo_instr *instr = computation->instrs.data[i];
      if (halo_opcode_exec(instr->opcode) != HALO_EXEC_COLLECTIVE) continue;
      halo_instr_set_attr(instr, &(halo_attr){.id = HALO_ATTR_EXCHANGE, .i = next});
      next += COLLECTIVE_STRIDE * (int64_t)(instr->operand_count + 1);
    }
  }
}

halo_status halo_pass_collectives(halo_module *module, bool *changed) {
  *changed = false;
  if (halo_collective_world(module) == 1) return HALO_OK;
  int32_t count = module->computations.count;
  for (int32_t c = 0; c < count; c++) {
    HALO_TRY(collective_pair_up(module->computations.data[c], changed));
    HALO_TRY(collective_combine(module->computations.data[c], changed));
  }
  if (*changed) halo_module_remove_dead(module);
  collective_number(module);
  *changed = true;
  return HALO_OK;
}
