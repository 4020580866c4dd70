/* SPDX-License-Identifier: Apache-2.0 */
/* passes/fuse/groups.c: groups of instructions without cycles, and making one fusion of each. */
#include "passes/fuse/groups.h"

#include "base/memory.h"
#include "passes/fuse/fusion.h"
#include "passes/fuse/state.h"

#include <stdlib.h>

enum { GROUPS_MAX_VISITS = 512 }; /* groups looked at for one answer whether a cycle would arise */

/* ---- Readers and updates ---- */

/* Readers that come before an update, as pairs of both. */
static void groups_collect_readers(const halo_groups_state *g, const halo_instr *update,
                                   order_pairs *pairs) {
  uint64_t over = order_updated(update);
  for (int32_t o = 0; o < update->operand_count && o < 64; o++) {
    const halo_instr *array = update->operands[o];
    if (!(over >> o & 1) || order_is_fixed(array) || !halo_shape_is_array(array->shape)) continue;
    if (halo_shape_byte_size(array->shape) < ORDER_SMALL) continue;
    for (int32_t u = g->users.first[array->mark]; u < g->users.first[array->mark + 1]; u++) {
      int32_t reader = g->users.list[u];
      if (reader < update->mark) halo_vec_push(pairs, (order_pair){reader, update->mark});
    }
  }
}

static void groups_find_updates(halo_groups_state *g) {
  order_pairs pairs = {0};
  int32_t count = g->computation->instrs.count;
  for (int32_t i = 0; i < count; i++) {
    const halo_instr *instr = g->computation->instrs.data[i];
    if (instr->opcode == HALO_OP_FUSION) groups_collect_readers(g, instr, &pairs);
  }
  g->updates = order_lists_make(&pairs, count);
  for (int32_t p = 0; p < pairs.count; p++) {
    pairs.data[p] = (order_pair){pairs.data[p].to, pairs.data[p].from};
  }
  g->readers = order_lists_make(&pairs, count);
  halo_vec_deinit(&pairs);
}

/* ---- Groups ---- */

static bool groups_has_kernels(const halo_computation *computation) {
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    if (computation->instrs.data[i]->opcode == HALO_OP_FUSION) return true;
  }
  return false;
}

void halo_groups_begin(halo_groups_state *g, halo_computation *computation) {
  if (groups_has_kernels(computation)) order_read_before_updates(computation);
  int32_t n = computation->instrs.count;
  size_t size = sizeof(int32_t) * ((size_t)n + 1);
  *g = (halo_groups_state){.computation = computation};
  int32_t **lists[] = {&g->group_of, &g->next, &g->last, &g->order, &g->stamp};
  for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) *lists[i] = halo_alloc(size);
  for (int32_t i = 0; i < n; i++) {
    computation->instrs.data[i]->mark = i;
    g->group_of[i] = g->last[i] = g->order[i] = i;
    g->next[i] = HALO_GROUPS_END;
  }
  halo_users_collect(&g->users, computation, true);
  groups_find_updates(g);
}

void halo_groups_end(halo_groups_state *g) {
  halo_users_deinit(&g->users);
  order_lists_deinit(&g->readers);
  order_lists_deinit(&g->updates);
  halo_free(g->group_of);
  halo_free(g->next);
  halo_free(g->last);
  halo_free(g->order);
  halo_free(g->stamp);
  halo_vec_deinit(&g->before);
  halo_vec_deinit(&g->after);
}

/* ---- The order ---- */

static void groups_note(halo_groups_state *g, int32_t at, bool before) {
  if (g->stamp[at] == g->question) return;
  g->stamp[at] = g->question;
  if (before) {
    halo_vec_push(&g->before, at);
  } else {
    halo_vec_push(&g->after, at);
  }
}

/* Notes what the members of group `of` come behind, if that comes behind `low` in the order. False when it is
 * `target`, unless that is used directly. */
static bool groups_look_before(halo_groups_state *g, int32_t of, int32_t low, int32_t target,
                               bool directly) {
  for (int32_t m = of; m != HALO_GROUPS_END; m = g->next[m]) {
    const halo_instr *instr = g->computation->instrs.data[m];
    for (int32_t o = 0; o < instr->operand_count + instr->control_pred_count; o++) {
      bool operand = o < instr->operand_count;
      const halo_instr *used =
          operand ? instr->operands[o] : instr->control_preds[o - instr->operand_count];
      int32_t at = g->group_of[used->mark];
      if (at == target && !(directly && operand)) return false;
      if (g->order[at] >= low) groups_note(g, at, true);
    }
    for (int32_t r = g->readers.first[m]; r < g->readers.first[m + 1]; r++) {
      int32_t at = g->group_of[g->readers.list[r]];
      if (at == target) return false;
      if (g->order[at] >= low) groups_note(g, at, true);
    }
  }
  return true;
}

static void groups_look_after(halo_groups_state *g, int32_t of, int32_t high) {
  for (int32_t m = of; m != HALO_GROUPS_END; m = g->next[m]) {
    for (int32_t u = g->users.first[m]; u < g->users.first[m + 1]; u++) {
      int32_t at = g->group_of[g->users.list[u]];
      if (g->order[at] <= high) groups_note(g, at, false);
    }
    for (int32_t u = g->updates.first[m]; u < g->updates.first[m + 1]; u++) {
      int32_t at = g->group_of[g->updates.list[u]];
      if (g->order[at] <= high) groups_note(g, at, false);
    }
  }
}

/* Fills `before` with what the later of the two uses, and `after` with what uses the earlier one, of what
 * lies between them in the order. */
bool halo_groups_are_free(halo_groups_state *g, int32_t a, int32_t b) {
  int32_t early = g->order[a] < g->order[b] ? a : b, late = early == a ? b : a;
  int32_t low = g->order[early], high = g->order[late];
  g->question++;
  g->before.count = g->after.count = 0;
  g->stamp[early] = g->stamp[late] = g->question;
  if (!groups_look_before(g, late, low, early, true)) return false;
  for (int32_t n = 0; n < g->before.count; n++) {
    if (g->before.count > GROUPS_MAX_VISITS) return false;
    if (!groups_look_before(g, g->before.data[n], low, early, false)) return false;
  }
  groups_look_after(g, early, high);
  for (int32_t n = 0; n < g->after.count; n++) {
    if (g->after.count > GROUPS_MAX_VISITS) return false;
    groups_look_after(g, g->after.data[n], high);
  }
  return true;
}

typedef struct groups_ranked {
  int32_t representative, order;
} groups_ranked;

static int groups_compare_ranked(const void *a, const void *b) {
  return ((const groups_ranked *)a)->order - ((const groups_ranked *)b)->order;
}

static int groups_compare_numbers(const void *a, const void *b) {
  return *(const int32_t *)a - *(const int32_t *)b;
}

/* Puts what was found into order again: what the later group uses, the two, what uses the earlier one. */
int32_t halo_groups_join(halo_groups_state *g, int32_t a, int32_t b) {
  int32_t early = g->order[a] < g->order[b] ? a : b, late = early == a ? b : a;
  int32_t before = g->before.count, after = g->after.count, count = before + after;
  groups_ranked *ranked = halo_alloc(sizeof *ranked * (size_t)(count + 1));
  int32_t *places = halo_alloc(sizeof *places * (size_t)(count + 2));
  for (int32_t n = 0; n < count; n++) {
    int32_t at = n < before ? g->before.data[n] : g->after.data[n - before];
    ranked[n] = (groups_ranked){at, g->order[at]};
    places[n] = g->order[at];
  }
  places[count] = g->order[early];
  places[count + 1] = g->order[late];
  qsort(ranked, (size_t)before, sizeof *ranked, groups_compare_ranked);
  qsort(ranked + before, (size_t)after, sizeof *ranked, groups_compare_ranked);
  qsort(places, (size_t)count + 2, sizeof *places, groups_compare_numbers);
  for (int32_t n = 0; n < before; n++) g->order[ranked[n].representative] = places[n];
  g->order[early] = places[before];
  for (int32_t n = 0; n < after; n++) {
    g->order[ranked[before + n].representative] = places[before + 2 + n];
  }
  halo_free(ranked);
  halo_free(places);
  for (int32_t m = late; m != HALO_GROUPS_END; m = g->next[m]) g->group_of[m] = early;
  g->next[g->last[early]] = late;
  g->last[early] = g->last[late];
  return early;
}

bool halo_groups_is_output(const halo_groups_state *g, int32_t member, int32_t a, int32_t b) {
  for (int32_t u = g->users.first[member]; u < g->users.first[member + 1]; u++) {
    int32_t at = g->group_of[g->users.list[u]];
    if (at != a && at != b) return true;
  }
  return g->computation->instrs.data[member] == g->computation->root;
}

/* ---- Building ---- */

typedef struct groups_input {
  halo_instr *outside, *inside; /* operand of the fusion, and what stands for it in the body */
} groups_input;

typedef struct groups_builder {
  halo_groups_body joined;
  HALO_VEC(groups_input) inputs;
} groups_builder;

/* What stands for an operand in the body: another member's result, or a parameter. */
static halo_instr *groups_argument(groups_builder *b, halo_instr *operand) {
  for (int32_t i = 0; i < b->inputs.count; i++) {
    if (b->inputs.data[i].outside == operand) return b->inputs.data[i].inside;
  }
  halo_instr *parameter = halo_fusion_parameter(b->joined.body, operand, b->joined.operands.count);
  halo_vec_push(&b->joined.operands, operand);
  halo_vec_push(&b->inputs, (groups_input){operand, parameter});
  return parameter;
}

halo_groups_body halo_groups_join_bodies(halo_module *module, const halo_groups_part *parts,
                                         int32_t count) {
  halo_arena *arena = &module->arena;
  groups_builder b = {.joined = {.body = halo_computation_create(module, NULL)}};
  halo_computation *body = b.joined.body;
  body->name =
      halo_module_fresh_name(module, halo_arena_printf(arena, "fused_%s", parts[0].instr->name));
  halo_instr *roots[FUSION_MAX_OUTPUTS];
  const halo_shape *shapes[FUSION_MAX_OUTPUTS];
  int32_t outputs = 0;
  for (int32_t m = 0; m < count; m++) {
    halo_instr *member = parts[m].instr;
    halo_instr **args = halo_alloc(sizeof *args * ((size_t)member->operand_count + 1));
    for (int32_t o = 0; o < member->operand_count; o++) {
      args[o] = groups_argument(&b, halo_rewrite_resolve(member->operands[o]));
    }
    halo_instr *root =
        halo_computation_inline(body, halo_instr_comp(member, HALO_ATTR_CALLS), args);
    /* Later members that read this one's result find its value inside. */
    halo_vec_push(&b.inputs, (groups_input){member, root});
    halo_free(args);
    if (!parts[m].is_output) continue;
    roots[outputs] = root;
    shapes[outputs++] = member->shape;
  }
  body->root = roots[0];
  if (outputs > 1) {
    const halo_shape *shape = halo_shape_new_tuple(arena, outputs, shapes);
    halo_instr_spec root = {
        .opcode = HALO_OP_TUPLE, .shape = shape, .operands = roots, .operand_count = outputs};
    body->root = halo_instr_create_unchecked(body, &root);
  }
  halo_vec_deinit(&b.inputs);
  return b.joined;
}

void halo_groups_build(halo_rewriter *r, const halo_groups_part *parts, int32_t count,
                       halo_fusion_kind kind, halo_groups_body *joined) {
  halo_arena *arena = &r->computation->module->arena;
  const halo_instr *first = parts[0].instr;
  int32_t outputs = 0;
  for (int32_t m = 0; m < count; m++) outputs += parts[m].is_output;
  halo_computation **calls = halo_arena_new(arena, halo_computation *);
  *calls = joined->body;
  halo_attr attrs[2] = {{.id = HALO_ATTR_FUSION_KIND, .i = kind},
                        {.id = HALO_ATTR_CALLS, .comps = {calls, 1}}};
  halo_instr *fusion = halo_rewrite_make(r, first, HALO_OP_FUSION, joined->body->root->shape,
                                         joined->operands.data, joined->operands.count, attrs, 2);
  fusion->name = halo_arena_printf(arena, "%s.and.%d", first->name, count - 1);
  for (int32_t m = 0, output = 0; m < count; m++) {
    if (!parts[m].is_output) continue;
    halo_instr *value =
        outputs > 1 ? halo_rewrite_make_gte(r, parts[m].instr, fusion, output++) : fusion;
    halo_rewrite_replace(r, parts[m].instr, value);
  }
  halo_groups_drop(joined);
}

void halo_groups_drop(halo_groups_body *joined) {
  halo_vec_deinit(&joined->operands);
  joined->body = NULL;
}
