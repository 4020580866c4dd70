/* SPDX-License-Identifier: Apache-2.0 */
/* passes/fuse/multi_output.c: joins loop fusions of one iteration space that read the same arrays, or one of
 * which reads another's result at the same position, into one fusion with several results: each array
 * is then read once, and there are fewer kernels to start. Likewise reductions over the same dimensions
 * of one array, and what follows them. */
#include "base/map.h"
#include "base/memory.h"
#include "hlo/reduction.h"
#include "passes/fuse/groups.h"
#include "passes/fuse/state.h"
#include "passes/passes.h"

#include <string.h>

enum {
  MULTI_MAX_MEMBERS = 64,
  MULTI_MAX_INSTRS = 160,
  MULTI_MAX_TRIES = 4,  /* groups looked at closely for one instruction */
  MULTI_RECENT = 16,    /* groups of the same dimensions that small ones are tried with */
  MULTI_READERS = 4,    /* groups remembered that read an array */
  MULTI_MAX_VALUES = 8, /* that a kernel accumulates side by side, in registers */
  MULTI_NO_GROUP = -1
};

typedef struct multi_group {
  int32_t members[MULTI_MAX_MEMBERS]; /* positions in the computation, ascending */
  int32_t count, instrs;
  int32_t values;   /* accumulated, of reductions; 0 of loops */
  int32_t previous; /* group of the same dimensions, or MULTI_NO_GROUP */
} multi_group;

typedef struct multi_state {
  halo_computation *computation;
  halo_groups_state joined;
  int32_t *group_of;                 /* by position */
  int32_t (*readers)[MULTI_READERS]; /* by position: the last groups that read it, + 1 */
  halo_map by_dims;                  /* dimensions -> last group of them, + 1 */
  HALO_VEC(multi_group) groups;
} multi_state;

/* A fusion that ends in reductions which one kernel can compute. */
static bool multi_is_reduction(const halo_instr *instr, halo_reduce_desc *v) {
  const char *why;
  return halo_instr_int(instr, HALO_ATTR_FUSION_KIND, 0) == HALO_FUSION_INPUT &&
         halo_reduce_describe(halo_instr_comp(instr, HALO_ATTR_CALLS), v, &why);
}

static bool multi_is_candidate(const halo_instr *instr) {
  if (instr->opcode != HALO_OP_FUSION || instr->control_pred_count > 0 ||
      !halo_shape_is_array(instr->shape) || halo_shape_element_count(instr->shape) == 0 ||
      !halo_shape_has_default_layout(instr->shape) || instr->operand_count > FUSION_MAX_INPUTS) {
    return false;
  }
  halo_reduce_desc desc;
  if (multi_is_reduction(instr, &desc)) return desc.value_count <= MULTI_MAX_VALUES;
  /* What a family computes as a whole is not part of a loop over elements. */
  halo_opcode root = halo_instr_comp(instr, HALO_ATTR_CALLS)->root->opcode;
  return halo_instr_int(instr, HALO_ATTR_FUSION_KIND, 0) == HALO_FUSION_LOOP &&
         halo_opcode_exec(root) != HALO_EXEC_STRUCTURED;
}

static bool multi_is_small(const multi_state *s, int64_t elements) {
  return (double)elements <= s->computation->module->target.prices.multi_small;
}

static bool multi_is_member(const multi_group *g, int32_t position) {
  for (int32_t i = 0; i < g->count; i++) {
    if (g->members[i] == position) return true;
  }
  return false;
}

/* ---- Groups ---- */

/* What computes an element from those at its position. */
static bool multi_is_flat(const halo_instr *instr) {
  return halo_opcode_has_trait(instr->opcode, HALO_TRAIT_EW) ||
         halo_opcode_exec(instr->opcode) == HALO_EXEC_VALUE || instr->opcode == HALO_OP_BROADCAST;
}

/* Whether two fusions compute the same of different arrays, as far as opcodes and types say, element by
 * element: their kernels have one text. */
static bool multi_is_alike(const halo_instr *a, const halo_instr *b) {
  const halo_computation *x = halo_instr_comp(a, HALO_ATTR_CALLS);
  const halo_computation *y = halo_instr_comp(b, HALO_ATTR_CALLS);
  bool alike = x->instrs.count == y->instrs.count;
  for (int32_t i = 0; alike && i < x->instrs.count; i++) {
    const halo_instr *p = x->instrs.data[i], *q = y->instrs.data[i];
    alike = p->opcode == q->opcode && multi_is_flat(p) && halo_shape_is_array(p->shape) &&
            halo_shape_is_array(q->shape) && p->shape->type == q->shape->type;
  }
  return alike;
}

/* Whether `instr` reads a member's result (at the same position only), or an array that a member reads
 * too, so that joining saves memory traffic; or is so small that joining saves a kernel's start. Kernels of
 * equal text are the plan's to launch together (plan/bundles.h). False also when it reads a member's result
 * elsewhere. */
static bool multi_shares(const multi_state *s, const multi_group *g, const halo_instr *instr) {
  uint64_t same = halo_computation_same_position(halo_instr_comp(instr, HALO_ATTR_CALLS));
  bool shares = multi_is_small(s, halo_shape_element_count(instr->shape)) &&
                !multi_is_alike(s->computation->instrs.data[g->members[0]], instr);
  for (int32_t o = 0; o < instr->operand_count; o++) {
    const halo_instr *operand = instr->operands[o];
    if (multi_is_member(g, operand->mark)) {
      if (o >= 64 || !(same >> o & 1)) return false;
      shares = true;
      continue;
    }
    if (!halo_shape_is_array(operand->shape) ||
        halo_shape_element_count(operand->shape) < halo_shape_element_count(instr->shape)) {
      continue;
    }
    for (int32_t m = 0; m < g->count; m++) {
      const halo_instr *member = s->computation->instrs.data[g->members[m]];
      for (int32_t k = 0; k < member->operand_count; k++) shares |= member->operands[k] == operand;
    }
  }
  return shares;
}

/* Whether a reduction goes over an array that the group goes over too, or a small one. False also when
 * it reads a member's result other than behind its own reduction, at the same position. */
static bool multi_shares_input(const multi_state *s, const multi_group *g, const halo_instr *instr,
                               const halo_reduce_desc *v) {
  int64_t elements = halo_shape_element_count(v->in);
  bool shares = multi_is_small(s, elements);
  for (int32_t o = 0; o < instr->operand_count; o++) {
    const halo_instr *operand = instr->operands[o];
    if (multi_is_member(g, operand->mark)) {
      if (!halo_reduce_reads_behind(halo_instr_comp(instr, HALO_ATTR_CALLS), v, o)) return false;
      continue;
    }
    if (!halo_shape_is_array(operand->shape) ||
        halo_shape_element_count(operand->shape) < elements) {
      continue;
    }
    for (int32_t m = 0; m < g->count && !shares; m++) {
      const halo_instr *member = s->computation->instrs.data[g->members[m]];
      for (int32_t k = 0; k < member->operand_count; k++) shares |= member->operands[k] == operand;
    }
  }
  return shares;
}

/* Whether an instruction goes with a group, and something is saved. */
static bool multi_matches(const multi_state *s, const multi_group *g, const halo_instr *instr) {
  const halo_instr *first = s->computation->instrs.data[g->members[0]];
  halo_reduce_desc ours, theirs;
  bool reduces = multi_is_reduction(instr, &ours);
  if (reduces != (g->values > 0)) return false;
  if (!reduces) {
    return halo_shape_same_dims(first->shape, instr->shape) && multi_shares(s, g, instr);
  }
  return g->values + ours.value_count <= MULTI_MAX_VALUES && multi_is_reduction(first, &theirs) &&
         halo_reduce_match(&ours, &theirs) && multi_shares_input(s, g, instr, &ours);
}

/* Arrays that the group with the instruction would read: an upper bound, since what two members read
 * counts twice. */
static int32_t multi_inputs(const multi_state *s, const multi_group *g, const halo_instr *instr) {
  int32_t count = 0;
  for (int32_t m = 0; m <= g->count; m++) {
    const halo_instr *member = m < g->count ? s->computation->instrs.data[g->members[m]] : instr;
    for (int32_t o = 0; o < member->operand_count; o++) {
      count += s->group_of[member->operands[o]->mark] != s->group_of[g->members[0]];
    }
  }
  return count;
}

/* Results of the group with instruction i that are needed outside. */
static int32_t multi_outputs(const multi_state *s, const multi_group *g, int32_t i) {
  int32_t count = 1;
  for (int32_t m = 0; m < g->count; m++) {
    count += halo_groups_is_output(&s->joined, g->members[m], g->members[0], i);
  }
  return count;
}

static bool multi_fits(const multi_state *s, const multi_group *g, const halo_instr *instr) {
  int32_t size = halo_instr_comp(instr, HALO_ATTR_CALLS)->instrs.count;
  if (g->count == MULTI_MAX_MEMBERS || g->instrs + size > MULTI_MAX_INSTRS) return false;
  int32_t most = fusion_max_inputs(&s->computation->module->target);
  return multi_inputs(s, g, instr) <= most && multi_matches(s, g, instr) &&
         multi_outputs(s, g, instr->mark) <= FUSION_MAX_OUTPUTS;
}

/* Groups worth a look for an instruction, the latest first: those that make or read what it reads, and
 * when it is small the latest of its dimensions. */
typedef struct multi_list {
  int32_t groups[64];
  int32_t count;
} multi_list;

static void multi_list_add(multi_list *list, int32_t g) {
  if (g == MULTI_NO_GROUP || list->count == 64) return;
  int32_t at = 0;
  while (at < list->count && list->groups[at] > g) at++;
  if (at < list->count && list->groups[at] == g) return;
  memmove(&list->groups[at + 1], &list->groups[at], sizeof g * (size_t)(list->count - at));
  list->groups[at] = g;
  list->count++;
}

static void multi_collect(const multi_state *s, const halo_instr *instr, int32_t last,
                          multi_list *list) {
  list->count = 0;
  int32_t g = multi_is_small(s, halo_shape_element_count(instr->shape)) ? last : MULTI_NO_GROUP;
  for (int n = 0; n < MULTI_RECENT && g != MULTI_NO_GROUP; n++) {
    multi_list_add(list, g);
    g = s->groups.data[g].previous;
  }
  for (int32_t o = 0; o < instr->operand_count; o++) {
    int32_t at = instr->operands[o]->mark;
    multi_list_add(list, s->group_of[at]);
    for (int r = 0; r < MULTI_READERS; r++) multi_list_add(list, s->readers[at][r] - 1);
  }
}

static void multi_note_readers(multi_state *s, const halo_instr *instr, int32_t g) {
  for (int32_t o = 0; o < instr->operand_count; o++) {
    int32_t *readers = s->readers[instr->operands[o]->mark];
    if (readers[0] == g + 1) continue;
    memmove(readers + 1, readers, sizeof *readers * (MULTI_READERS - 1));
    readers[0] = g + 1;
  }
}

static void multi_place(multi_state *s, int32_t i) {
  halo_instr *instr = s->computation->instrs.data[i];
  /* Groups are known by the dimensions of their results, those of reductions by those they go over. */
  halo_reduce_desc desc;
  int32_t values = multi_is_reduction(instr, &desc) ? desc.value_count : 0;
  const halo_shape *shape = values ? desc.in : instr->shape;
  int64_t key[HALO_MAX_RANK + 1] = {values ? -2 : -1};
  size_t key_size = sizeof *key * ((size_t)shape->rank + 1);
  if (shape->rank) memcpy(key + 1, shape->dims, sizeof *key * (size_t)shape->rank);
  int32_t last = (int32_t)(intptr_t)halo_map_get(&s->by_dims, key, key_size) - 1;
  multi_list list;
  multi_collect(s, instr, last, &list);
  int tries = MULTI_MAX_TRIES;
  int32_t size = halo_instr_comp(instr, HALO_ATTR_CALLS)->instrs.count;
  for (int32_t n = 0; n < list.count && tries > 0; n++) {
    multi_group *group = &s->groups.data[list.groups[n]];
    if (!multi_fits(s, group, instr)) continue;
    tries--;
    if (!halo_groups_are_free(&s->joined, group->members[0], i)) continue;
    halo_groups_join(&s->joined, group->members[0], i);
    group->members[group->count++] = i;
    group->instrs += size;
    group->values += values;
    s->group_of[i] = list.groups[n];
    multi_note_readers(s, instr, s->group_of[i]);
    return;
  }
  multi_group fresh = {
      .members = {i}, .count = 1, .instrs = size, .values = values, .previous = last};
  s->group_of[i] = s->groups.count;
  halo_vec_push(&s->groups, fresh);
  halo_map_set(&s->by_dims, key, key_size, (void *)(intptr_t)s->groups.count);
  multi_note_readers(s, instr, s->group_of[i]);
}

static void multi_find(multi_state *s) {
  int32_t n = s->computation->instrs.count;
  for (int32_t i = 0; i < n; i++) s->group_of[i] = MULTI_NO_GROUP;
  for (int32_t i = 0; i < n; i++) {
    if (multi_is_candidate(s->computation->instrs.data[i])) multi_place(s, i);
  }
}

static void multi_begin(multi_state *s, int32_t n) {
  size_t count = (size_t)n + 2;
  halo_groups_begin(&s->joined, s->computation);
  s->group_of = halo_alloc(sizeof *s->group_of * count);
  s->readers = halo_alloc(sizeof *s->readers * count);
}

static void multi_end(multi_state *s) {
  halo_free(s->group_of);
  halo_free(s->readers);
  halo_map_deinit(&s->by_dims);
  halo_vec_deinit(&s->groups);
  halo_groups_end(&s->joined);
}

/* ---- The pass ---- */

static halo_status multi_run(halo_computation *computation, bool *changed) {
  multi_state s = {.computation = computation};
  int32_t n = computation->instrs.count;
  multi_begin(&s, n);
  multi_find(&s);
  /* The rewriter takes the marks over: from here on instructions are named by pointers. */
  halo_instr **members = halo_alloc(sizeof *members * ((size_t)n + 1));
  for (int32_t i = 0; i < n; i++) members[i] = computation->instrs.data[i];
  halo_rewriter r;
  halo_rewrite_begin(&r, computation);
  for (int32_t g = 0; g < s.groups.count; g++) {
    const multi_group *group = &s.groups.data[g];
    if (group->count < 2) continue;
    halo_groups_part parts[MULTI_MAX_MEMBERS];
    for (int32_t m = 0; m < group->count; m++) {
      int32_t at = group->members[m];
      bool is_output = halo_groups_is_output(&s.joined, at, group->members[0], at);
      parts[m] = (halo_groups_part){members[at], is_output};
    }
    halo_fusion_kind kind = group->values ? HALO_FUSION_INPUT : HALO_FUSION_LOOP;
    halo_groups_body joined = halo_groups_join_bodies(computation->module, parts, group->count);
    halo_groups_build(&r, parts, group->count, kind, &joined);
  }
  halo_status status = halo_rewrite_end(&r, changed);
  /* Members whose results stay inside have no users any more. */
  if (status == HALO_OK) halo_computation_remove_dead(computation);
  halo_free(members);
  multi_end(&s);
  return status;
}

halo_status halo_pass_multi_output(halo_module *module, bool *changed) {
  HALO_TRY(halo_rewrite_computations(module, multi_run, changed));
  if (*changed) halo_module_remove_dead(module);
  return HALO_OK;
}
