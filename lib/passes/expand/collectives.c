/* SPDX-License-Identifier: Apache-2.0 */
/* passes/expand/collectives.c: collectives of programs of several replicas or partitions, before anything else looks
 * at them: starts and dones become asynchronous pairs around the plain operation, small reductions that do not
 * wait for one another become one, and each gets a number, which is the same on every device. */
#include "base/pointer_map.h"
#include "hlo/collective.h"
#include "passes/passes.h"
#include "rewrite/rewrite.h"

#include <stdlib.h>
#include <string.h>

/* ---- Starts and dones ---- */

typedef struct collective_pair {
  halo_opcode start, plain, done;
} collective_pair;
static const collective_pair collective_pairs[] = {
    {HALO_OP_ALL_GATHER_START, HALO_OP_ALL_GATHER, HALO_OP_ALL_GATHER_DONE},
    {HALO_OP_ALL_REDUCE_START, HALO_OP_ALL_REDUCE, HALO_OP_ALL_REDUCE_DONE},
    {HALO_OP_COLLECTIVE_PERMUTE_START, HALO_OP_COLLECTIVE_PERMUTE, HALO_OP_COLLECTIVE_PERMUTE_DONE},
};
enum { COLLECTIVE_PAIRS = sizeof collective_pairs / sizeof collective_pairs[0] };

/* What the start does, as a computation of its operands. */
static halo_computation *collective_wrap(halo_instr *start, halo_opcode plain,
                                         const halo_shape *result) {
  halo_module *module = start->parent->module;
  halo_computation *body = halo_computation_create(module, NULL);
  HALO_VEC(halo_instr *) params = {0};
  body->name = halo_module_fresh_name(module, halo_opcode_name(plain));
  body->execution_thread = "aside"; /* passes/expand/exchange.c asks */
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
  const halo_shape *result = halo_collective_result(start);
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
      if (instr == computation->root) {
        status = halo_fail(HALO_UNIMPLEMENTED, "%s: a start without a done cannot be the root",
                           instr->name);
        break;
      }
      halo_instr *start = collective_async_start(&r, instr, &collective_pairs[p]);
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

/* ---- Send and receive ---- */

static bool collective_is_channel(const halo_instr *instr, halo_opcode opcode) {
  return instr->opcode == opcode && !halo_instr_int(instr, HALO_ATTR_IS_HOST_TRANSFER, 0);
}

static halo_instr *collective_find_send(const halo_computation *computation, int64_t channel) {
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    halo_instr *instr = computation->instrs.data[i];
    if (!collective_is_channel(instr, HALO_OP_SEND)) continue;
    if (halo_instr_int(instr, HALO_ATTR_CHANNEL_ID, 0) == channel) return instr;
  }
  return NULL;
}

/* Who sends to whom, "{{0,1},{1,2}}" among the frontend attributes; their number, 0 for none. */
static int32_t collective_read_pairs(const halo_instr *instr, int64_t *out, int32_t most) {
  static const char name[] = "_xla_send_recv_source_target_pairs";
  const halo_attr *attr = halo_instr_attr(instr, HALO_ATTR_FRONTEND_ATTRIBUTES);
  int32_t count = 0;
  for (int32_t i = 0; attr && i + 1 < attr->strings.count; i += 2) {
    if (strcmp(attr->strings.data[i], name) != 0) continue;
    for (const char *at = attr->strings.data[i + 1]; *at && count < most;) {
      char *end;
      if (*at < '0' || *at > '9') {
        at++;
        continue;
      }
      out[count++] = strtoll(at, &end, 10);
      at = end;
    }
  }
  return count - count % 2;
}

/* What the send of the same channel sends, permuted: (data, token). */
static halo_instr *collective_receive(halo_rewriter *r, const halo_instr *done,
                                      const halo_instr *recv, halo_status *status) {
  enum { MOST_PAIRS = 8192 };
  halo_module *module = r->computation->module;
  halo_instr *send =
      collective_find_send(r->computation, halo_instr_int(recv, HALO_ATTR_CHANNEL_ID, 0));
  int64_t *pairs = halo_arena_array(&module->arena, int64_t, MOST_PAIRS);
  int32_t count = collective_read_pairs(recv, pairs, MOST_PAIRS);
  if (count == 0 && send) count = collective_read_pairs(send, pairs, MOST_PAIRS);
  if (!send || count == 0) {
    *status = halo_fail(HALO_UNIMPLEMENTED,
                        send ? "line %d: %s: which device sends to which is not said "
                               "(_xla_send_recv_source_target_pairs)"
                             : "line %d: %s: no send of its channel stands beside it",
                        recv->line, recv->name);
    return NULL;
  }
  halo_instr *data = halo_rewrite_resolve(send->operands[0]);
  if (!halo_shape_is_array(data->shape) || !halo_shape_is_tuple(done->shape) ||
      done->shape->count != 2 || !halo_shape_compatible(done->shape->elements[0], data->shape)) {
    *status = halo_fail(HALO_INVALID_ARGUMENT,
                        "line %d: %s: what is received has another shape than what is sent",
                        recv->line, recv->name);
    return NULL;
  }
  /* Ids are partitions where there are some. */
  halo_attr attrs[] = {halo_rewrite_list_attr(module, HALO_ATTR_SOURCE_TARGET_PAIRS, pairs, count),
                       {.id = HALO_ATTR_CHANNEL_ID, .i = 1}};
  halo_instr *value =
      halo_rewrite_make(r, recv, HALO_OP_COLLECTIVE_PERMUTE, done->shape->elements[0], &data, 1,
                        attrs, module->num_partitions > 1 ? 2 : 1);
  halo_instr *token =
      halo_rewrite_make(r, recv, HALO_OP_AFTER_ALL, done->shape->elements[1], NULL, 0, NULL, 0);
  halo_instr *parts[] = {value, token};
  return halo_rewrite_make(r, done, HALO_OP_TUPLE, done->shape, parts, 2, NULL, 0);
}

/* A value of the shape of a send or a receive, which its done alone looks at. */
static halo_instr *collective_stand_in(halo_rewriter *r, const halo_instr *instr) {
  const halo_shape *shape = instr->shape;
  if (!halo_shape_is_tuple(shape) || shape->count != 3) return NULL;
  halo_instr *parts[3];
  for (int i = 0; i < 3; i++) {
    const halo_shape *part = shape->elements[i];
    if (halo_shape_is_token(part)) {
      parts[i] = halo_rewrite_make(r, instr, HALO_OP_AFTER_ALL, part, NULL, 0, NULL, 0);
    } else if (halo_shape_is_array(part)) {
      halo_instr *zero = halo_rewrite_make_scalar(r, instr, part->type, 0);
      parts[i] = halo_rewrite_make_splat(r, instr, zero, part);
    } else {
      return NULL;
    }
  }
  return halo_rewrite_make(r, instr, HALO_OP_TUPLE, shape, parts, 3, NULL, 0);
}

/* Sends and receives between devices become permutations, where the receive ends. */
static halo_status collective_channels(halo_computation *computation, bool *changed) {
  halo_rewriter r;
  halo_pointer_map begun = {0}; /* what stands for a send or a receive -> that */
  halo_status status = HALO_OK;
  halo_rewrite_begin(&r, computation);
  int32_t count = computation->instrs.count;
  for (int32_t i = 0; i < count && status == HALO_OK; i++) {
    halo_instr *instr = halo_rewrite_next(&r, i), *value = NULL;
    if (!instr || instr->operand_count == 0) continue;
    const halo_instr *start = halo_pointer_map_get(&begun, instr->operands[0]);
    if (collective_is_channel(instr, HALO_OP_SEND) || collective_is_channel(instr, HALO_OP_RECV)) {
      value = collective_stand_in(&r, instr);
      if (value) halo_pointer_map_set(&begun, value, instr);
    } else if (start && instr->opcode == HALO_OP_RECV_DONE && start->opcode == HALO_OP_RECV) {
      value = collective_receive(&r, instr, start, &status);
    } else if (start && instr->opcode == HALO_OP_SEND_DONE && start->opcode == HALO_OP_SEND) {
      value = halo_rewrite_make(&r, instr, HALO_OP_AFTER_ALL, instr->shape, NULL, 0, NULL, 0);
    }
    if (value) halo_rewrite_replace(&r, instr, value);
  }
  halo_status ended = halo_rewrite_end(&r, changed);
  halo_pointer_map_deinit(&begun);
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
    HALO_TRY(collective_channels(module->computations.data[c], changed));
    HALO_TRY(collective_combine(module->computations.data[c], changed));
  }
  if (*changed) halo_module_remove_dead(module);
  collective_number(module);
  *changed = true;
  return HALO_OK;
}
