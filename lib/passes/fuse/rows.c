/* SPDX-License-Identifier: Apache-2.0 */
/* passes/fuse/rows.c: joins fusions over the same rows, of which some read what others reduce these rows to,
 * into one that goes over a row several times: the kernels of a softmax or a layer norm are one then, which
 * reads a row from memory once.
 *
 * Fusions are looked at in order. One that reads another's result joins its group, if both are over the same
 * rows and nothing that is read comes from another row; so does what makes the elements that a reduction
 * reads. */
#include "hlo/rows.h"
#include "base/memory.h"
#include "passes/fuse/groups.h"
#include "passes/fuse/state.h"
#include "passes/passes.h"

#include <stdlib.h>

enum {
  ROWS_MAX_MEMBERS = 64,
  ROWS_MAX_INSTRS = 200, /* copies in several members counted each */
  ROWS_TRANSPOSED = 4096 /* elements of an array whose reading along another dimension matters */
};

typedef struct rows_node {
  bool is_candidate, reduces;
  halo_rows seen; /* what follows is of the fusion over these rows */
  bool follows;
  uint64_t reads; /* as halo_rows_desc has it */
  int32_t heroes;
  /* of groups, by representative */
  halo_rows rows; /* n is 0 as long as they are not known */
  int32_t members, instrs;
} rows_node;

typedef struct rows_state {
  halo_computation *computation;
  halo_groups_state groups;
  rows_node *nodes; /* by position */
} rows_state;

/* ---- Candidates ---- */

static bool rows_transposes(const halo_instr *instr) {
  if (instr->opcode != HALO_OP_TRANSPOSE) return false;
  int32_t count;
  const int64_t *dims = halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &count);
  return count > 0 && dims[count - 1] != count - 1 &&
         halo_shape_element_count(instr->shape) >= ROWS_TRANSPOSED;
}

/* Whether it puts dear elements side by side, where few work items are the whole device: along a row, which operand an element is
 * of would be asked for each, and compilers make no vectors (fusion_is_chosen in fusion.c). */
static bool rows_chooses(const halo_computation *body) {
  const halo_target *target = &body->module->target;
  bool joins = false, dear = false;
  for (int32_t i = 0; i < body->instrs.count; i++) {
    const halo_instr *instr = body->instrs.data[i];
    joins |= halo_opcode_has_trait(instr->opcode, HALO_TRAIT_JOIN);
    dear |= halo_op_info_of(instr->opcode)->cost >= target->prices.fusion_dear;
  }
  return joins && dear && halo_target_has_few_items(target);
}

/* A loop over elements, or one that ends in reductions. */
static bool rows_is_plain(const halo_instr *fusion) {
  int64_t kind = halo_instr_int(fusion, HALO_ATTR_FUSION_KIND, 0);
  const halo_computation *body = halo_instr_comp(fusion, HALO_ATTR_CALLS);
  for (int32_t i = 0; i < body->instrs.count; i++) {
    if (rows_transposes(body->instrs.data[i])) return false;
  }
  return (kind == HALO_FUSION_LOOP && !rows_chooses(body)) || kind == HALO_FUSION_INPUT;
}

/* The rows that a fusion which ends in one reduction goes over. */
static bool rows_is_reduction(const halo_instr *fusion, halo_rows *rows) {
  halo_reduce_desc desc;
  halo_reduce_value value;
  const char *why;
  return halo_reduce_describe(halo_instr_comp(fusion, HALO_ATTR_CALLS), &desc, &why) &&
         desc.hero_count == 1 && halo_rows_of(desc.heroes[0], rows, &value);
}

static void rows_describe_node(rows_state *s, int32_t i) {
  const halo_instr *instr = s->computation->instrs.data[i];
  rows_node *node = &s->nodes[i];
  if (instr->opcode != HALO_OP_FUSION || instr->control_pred_count > 0 ||
      !halo_shape_is_array(instr->shape) || halo_shape_element_count(instr->shape) == 0 ||
      !halo_shape_has_default_layout(instr->shape) || instr->operand_count > FUSION_MAX_INPUTS) {
    return;
  }
  node->is_candidate = rows_is_plain(instr);
  node->reduces = node->is_candidate && rows_is_reduction(instr, &node->rows);
  if (!node->reduces) node->rows = (halo_rows){0, 0};
  node->members = 1;
  node->instrs = halo_instr_comp(instr, HALO_ATTR_CALLS)->instrs.count;
}

/* ---- Joining ---- */

static bool rows_same(halo_rows a, halo_rows b) { return a.outer == b.outer && a.n == b.n; }

static bool rows_has_shape(const halo_instr *instr, halo_rows rows) {
  int64_t count = halo_shape_element_count(instr->shape);
  return count == rows.outer || count == rows.outer * rows.n;
}

/* Looks at a fusion as one over these rows. */
static const rows_node *rows_see(rows_state *s, int32_t i, halo_rows rows) {
  rows_node *node = &s->nodes[i];
  if (rows_same(node->seen, rows)) return node;
  const halo_instr *instr = s->computation->instrs.data[i];
  halo_rows_desc desc;
  const char *why;
  node->follows = halo_rows_follow(halo_instr_comp(instr, HALO_ATTR_CALLS), rows, &desc, &why);
  node->reads = desc.reads;
  node->heroes = desc.count;
  node->seen = rows;
  return node;
}

/* What two groups would read and write as one. */
typedef struct rows_traffic {
  const halo_instr *inputs[FUSION_MAX_INPUTS];
  int32_t input_count, output_count, heroes;
} rows_traffic;

/* Counts what group `of`, joined with `with`, reads and writes. False when it cannot be done row by row, reads too
 * much, or what the other makes in another row. */
static bool rows_count(rows_state *s, int32_t of, int32_t with, halo_rows rows, rows_traffic *t) {
  int32_t most = fusion_max_inputs(&s->computation->module->target);
  for (int32_t m = of; m != HALO_GROUPS_END; m = s->groups.next[m]) {
    const halo_instr *member = s->computation->instrs.data[m];
    const rows_node *seen = rows_see(s, m, rows);
    if (!seen->follows) return false;
    t->heroes += seen->heroes;
    for (int32_t o = 0; o < member->operand_count; o++) {
      const halo_instr *operand = member->operands[o];
      int32_t from = s->groups.group_of[operand->mark];
      if (from == with && (o >= 64 || !(seen->reads >> o & 1))) return false;
      if (from == with || from == of) continue;
      bool known = false;
      for (int32_t k = 0; k < t->input_count && !known; k++) known = t->inputs[k] == operand;
      if (known) continue;
      if (t->input_count == most) return false;
      t->inputs[t->input_count++] = operand;
    }
    t->output_count += halo_groups_is_output(&s->groups, m, of, with);
  }
  return true;
}

static void rows_try(rows_state *s, int32_t a, int32_t b, halo_rows rows) {
  int32_t members = s->nodes[a].members + s->nodes[b].members;
  int32_t instrs = s->nodes[a].instrs + s->nodes[b].instrs;
  rows_traffic traffic = {0};
  if (members > ROWS_MAX_MEMBERS || instrs > ROWS_MAX_INSTRS ||
      !rows_count(s, a, b, rows, &traffic) || !rows_count(s, b, a, rows, &traffic) ||
      traffic.output_count > FUSION_MAX_OUTPUTS || traffic.heroes > HALO_ROWS_HEROES ||
      !halo_groups_are_free(&s->groups, a, b)) {
    return;
  }
  rows_node *joined = &s->nodes[halo_groups_join(&s->groups, a, b)];
  joined->rows = rows;
  joined->members = members;
  joined->instrs = instrs;
}

/* Joins a fusion with those whose results it reads, and these with what they read. */
static void rows_place(rows_state *s, int32_t i) {
  const halo_instr *instr = s->computation->instrs.data[i];
  if (!s->nodes[i].is_candidate) return;
  for (int pass = 0; pass < 2; pass++) { /* the rows may be those of a later operand */
    for (int32_t o = 0; o < instr->operand_count; o++) {
      const halo_instr *operand = instr->operands[o];
      int32_t a = s->groups.group_of[i], b = s->groups.group_of[operand->mark];
      if (a == b || !s->nodes[operand->mark].is_candidate) continue;
      halo_rows ours = s->nodes[a].rows, theirs = s->nodes[b].rows;
      halo_rows rows = ours.n ? ours : theirs;
      if (!rows.n || (theirs.n && !rows_same(rows, theirs))) continue;
      if (!rows_has_shape(instr, rows) || !rows_has_shape(operand, rows)) continue;
      rows_try(s, a, b, rows);
      if (!theirs.n && s->groups.group_of[i] == s->groups.group_of[b]) {
        rows_place(s, operand->mark);
      }
    }
  }
}

/* ---- Groups ---- */

/* Whether the family of reductions could not do it: an element of a row needs what the row is reduced to. */
static bool rows_is_chain(const rows_state *s, const int32_t *members, int32_t count,
                          halo_rows rows) {
  for (int32_t m = 0; m < count; m++) {
    const halo_instr *instr = s->computation->instrs.data[members[m]];
    if (halo_shape_element_count(instr->shape) != rows.outer) return true;
    if (!s->nodes[members[m]].reduces) continue;
    const halo_computation *body = halo_instr_comp(instr, HALO_ATTR_CALLS);
    halo_reduce_desc desc;
    const char *why;
    halo_reduce_describe(body, &desc, &why);
    for (int32_t o = 0; o < instr->operand_count; o++) {
      int32_t from = s->groups.group_of[instr->operands[o]->mark];
      if (from == s->groups.group_of[members[m]] && !halo_reduce_reads_behind(body, &desc, o)) {
        return true;
      }
    }
  }
  return false;
}

/* Whether one kernel with that body is expected to take no longer than one for each member. A row is the work of one core, or of
 * one work group: few long ones leave most of a device idle, where kernels of their own would divide them. */
static bool rows_pays(const halo_groups_part *parts, int32_t count, const halo_computation *body,
                      bool in_rounds) {
  const halo_quotes *quotes = &body->module->target.quotes;
  if (!quotes->ask) return true;
  double joined = quotes->ask(quotes->device, body, in_rounds), divided = 0;
  for (int32_t m = 0; m < count; m++) {
    double one =
        quotes->ask(quotes->device, halo_instr_comp(parts[m].instr, HALO_ATTR_CALLS), in_rounds);
    if (one < 0) return true;
    divided += one;
  }
  return joined >= 0 && joined <= divided;
}

static int rows_compare(const void *a, const void *b) {
  return *(const int32_t *)a - *(const int32_t *)b;
}

/* Makes a group one kernel, if that pays. */
static void rows_build(const rows_state *s, halo_rewriter *r, halo_instr *const *instrs,
                       int32_t group) {
  int32_t members[ROWS_MAX_MEMBERS], count = 0;
  for (int32_t m = group; m != HALO_GROUPS_END; m = s->groups.next[m]) members[count++] = m;
  qsort(members, (size_t)count, sizeof *members, rows_compare);
  halo_groups_part parts[ROWS_MAX_MEMBERS];
  for (int32_t m = 0; m < count; m++) {
    bool is_output = halo_groups_is_output(&s->groups, members[m], group, group);
    parts[m] = (halo_groups_part){instrs[members[m]], is_output};
  }
  halo_groups_body joined = halo_groups_join_bodies(s->computation->module, parts, count);
  bool in_rounds = s->computation != s->computation->module->entry;
  if (rows_pays(parts, count, joined.body, in_rounds)) {
    halo_groups_build(r, parts, count, HALO_FUSION_CUSTOM, &joined);
  } else {
    halo_groups_drop(&joined);
  }
}

/* Which groups may become kernels: those are left whose `members` is more than 1. */
static void rows_choose(rows_state *s) {
  for (int32_t i = 0; i < s->computation->instrs.count; i++) {
    if (s->groups.group_of[i] != i || s->nodes[i].members < 2) continue;
    int32_t members[ROWS_MAX_MEMBERS], count = 0;
    for (int32_t m = i; m != HALO_GROUPS_END; m = s->groups.next[m]) members[count++] = m;
    if (!rows_is_chain(s, members, count, s->nodes[i].rows)) s->nodes[i].members = 1;
  }
}

static halo_status rows_run(halo_computation *computation, bool *changed) {
  rows_state s = {.computation = computation};
  int32_t n = computation->instrs.count;
  s.nodes = halo_alloc(sizeof *s.nodes * ((size_t)n + 1));
  halo_groups_begin(&s.groups, computation);
  for (int32_t i = 0; i < n; i++) rows_describe_node(&s, i);
  for (int32_t i = 0; i < n; i++) rows_place(&s, i);
  rows_choose(&s);
  /* The rewriter takes the marks over: from here on instructions are named by pointers. */
  halo_instr **instrs = halo_alloc(sizeof *instrs * ((size_t)n + 1));
  for (int32_t i = 0; i < n; i++) instrs[i] = computation->instrs.data[i];
  halo_rewriter r;
  halo_rewrite_begin(&r, computation);
  for (int32_t i = 0; i < n; i++) {
    if (s.groups.group_of[i] == i && s.nodes[i].members > 1) rows_build(&s, &r, instrs, i);
  }
  halo_status status = halo_rewrite_end(&r, changed);
  /* Members whose results stay inside have no users any more. */
  if (status == HALO_OK) halo_computation_remove_dead(computation);
  halo_free(instrs);
  halo_free(s.nodes);
  halo_groups_end(&s.groups);
  return status;
}

halo_status halo_pass_rows(halo_module *module, bool *changed) {
  HALO_TRY(halo_rewrite_computations(module, rows_run, changed));
  halo_module_remove_dead(module); /* bodies that did not pay, too */
  return HALO_OK;
}
