/* passes/multi_output.c: joins loop fusions of one iteration space that read the same arrays, or one of
 * which reads another's result at the same position, into one fusion with several results: each array
 * is then read once, and there are fewer kernels to start. */
#include "base/memory.h"
#include "passes/fusion.h"
#include "passes/passes.h"
#include "passes/rewrite.h"

#include <string.h>

enum {
  MULTI_MAX_COMPUTATION = 3000, /* instructions; finding cycles walks over all of them */
  MULTI_MAX_MEMBERS = 8,
  MULTI_MAX_INPUTS = 24,
  MULTI_MAX_INSTRS = 160,
  MULTI_MAX_TRIES = 4, /* groups looked at closely for one instruction */
  MULTI_SMALL = 4096,  /* elements: below, starting a kernel costs more than running it */
  MULTI_NO_GROUP = -1
};

typedef struct multi_group {
  int32_t members[MULTI_MAX_MEMBERS]; /* positions in the computation, ascending */
  int32_t count, instrs;
} multi_group;

typedef struct multi_state {
  halo_computation *computation;
  int32_t *group_of; /* by position */
  bool *tainted;     /* depends on the group at hand through something outside it */
  HALO_VEC(multi_group) groups;
} multi_state;

static bool multi_is_candidate(const halo_instr *instr) {
  return instr->opcode == HALO_OP_FUSION && instr->control_pred_count == 0 &&
         halo_shape_is_array(instr->shape) && halo_shape_element_count(instr->shape) > 0 &&
         halo_instr_int(instr, HALO_ATTR_FUSION_KIND, 0) == HALO_FUSION_LOOP &&
         halo_instr_comp(instr, HALO_ATTR_CALLS)->root->opcode != HALO_OP_DYNAMIC_UPDATE_SLICE;
}

static bool multi_same_space(const halo_instr *a, const halo_instr *b) {
  if (!halo_shape_same_dims(a->shape, b->shape)) return false;
  return halo_shape_has_default_layout(a->shape) && halo_shape_has_default_layout(b->shape);
}

static bool multi_is_member(const multi_group *g, int32_t position) {
  for (int32_t i = 0; i < g->count; i++) {
    if (g->members[i] == position) return true;
  }
  return false;
}

/* Marks everything that depends on a member of `g` without being one. A group is one instruction to
 * be, so a tainted member taints its whole group. */
static void multi_taint(multi_state *s, const multi_group *g) {
  int32_t n = s->computation->instrs.count;
  memset(s->tainted, 0, (size_t)n);
  for (bool again = true; again;) {
    again = false;
    for (int32_t i = 0; i < n; i++) {
      const halo_instr *instr = s->computation->instrs.data[i];
      if (s->tainted[i] || multi_is_member(g, i)) continue;
      bool hit = false;
      for (int32_t o = 0; o < instr->operand_count && !hit; o++) {
        int32_t at = instr->operands[o]->mark;
        hit = s->tainted[at] || multi_is_member(g, at);
      }
      for (int32_t o = 0; o < instr->control_pred_count && !hit; o++) {
        int32_t at = instr->control_preds[o]->mark;
        hit = s->tainted[at] || multi_is_member(g, at);
      }
      if (!hit) continue;
      s->tainted[i] = true;
      if (s->group_of[i] == MULTI_NO_GROUP) continue;
      const multi_group *other = &s->groups.data[s->group_of[i]];
      for (int32_t m = 0; m < other->count; m++) {
        again |= other->members[m] < i && !s->tainted[other->members[m]];
        s->tainted[other->members[m]] = true;
      }
    }
  }
}

/* Whether `instr` reads a member's result (at the same position only), or an array that a member reads
 * too, so that joining saves memory traffic; or is so small that joining saves a kernel's start. False
 * also when it reads a member's result elsewhere. */
static bool multi_shares(const multi_state *s, const multi_group *g, const halo_instr *instr) {
  uint64_t same = halo_computation_same_position(halo_instr_comp(instr, HALO_ATTR_CALLS));
  bool shares = halo_shape_element_count(instr->shape) <= MULTI_SMALL;
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

static int32_t multi_inputs(const multi_state *s, const multi_group *g, const halo_instr *instr) {
  int32_t count = instr->operand_count;
  for (int32_t m = 0; m < g->count; m++) {
    count += s->computation->instrs.data[g->members[m]]->operand_count;
  }
  return count; /* an upper bound: shared ones count twice */
}

static bool multi_fits(const multi_state *s, const multi_group *g, const halo_instr *instr) {
  const halo_instr *first = s->computation->instrs.data[g->members[0]];
  int32_t size = halo_instr_comp(instr, HALO_ATTR_CALLS)->instrs.count;
  if (g->count == MULTI_MAX_MEMBERS || g->instrs + size > MULTI_MAX_INSTRS) return false;
  if (!multi_same_space(first, instr) || !multi_shares(s, g, instr)) return false;
  return multi_inputs(s, g, instr) <= MULTI_MAX_INPUTS + g->count;
}

/* Whether joining makes no cycle: nothing that `instr` reads depends on the group from outside. */
static bool multi_is_free(multi_state *s, const multi_group *g, const halo_instr *instr) {
  multi_taint(s, g);
  for (int32_t o = 0; o < instr->operand_count; o++) {
    int32_t at = instr->operands[o]->mark;
    if (s->tainted[at]) return false;
  }
  return true;
}

static void multi_find(multi_state *s) {
  int32_t n = s->computation->instrs.count;
  for (int32_t i = 0; i < n; i++) {
    s->computation->instrs.data[i]->mark = i;
    s->group_of[i] = MULTI_NO_GROUP;
  }
  for (int32_t i = 0; i < n; i++) {
    halo_instr *instr = s->computation->instrs.data[i];
    if (!multi_is_candidate(instr)) continue;
    int tries = MULTI_MAX_TRIES;
    for (int32_t g = s->groups.count - 1; g >= 0 && s->group_of[i] == MULTI_NO_GROUP; g--) {
      multi_group *group = &s->groups.data[g];
      if (!multi_fits(s, group, instr)) continue;
      if (tries-- == 0) break;
      if (!multi_is_free(s, group, instr)) continue;
      group->members[group->count++] = i;
      group->instrs += halo_instr_comp(instr, HALO_ATTR_CALLS)->instrs.count;
      s->group_of[i] = g;
    }
    if (s->group_of[i] != MULTI_NO_GROUP) continue;
    multi_group fresh = {.members = {i},
                         .count = 1,
                         .instrs = halo_instr_comp(instr, HALO_ATTR_CALLS)->instrs.count};
    s->group_of[i] = s->groups.count;
    halo_vec_push(&s->groups, fresh);
  }
}

/* ---- Building ---- */

typedef struct multi_input {
  halo_instr *outside, *inside; /* operand of the fusion, and what stands for it in the body */
} multi_input;

static void multi_build(halo_rewriter *r, halo_instr *const *members, int32_t count) {
  halo_module *module = r->computation->module;
  halo_arena *arena = &module->arena;
  halo_computation *body = halo_computation_create(module, NULL);
  body->name =
      halo_module_fresh_name(module, halo_arena_printf(arena, "fused_%s", members[0]->name));
  HALO_VEC(multi_input) inputs = {0};
  HALO_VEC(halo_instr *) operands = {0};
  halo_instr *roots[MULTI_MAX_MEMBERS];
  const halo_shape *shapes[MULTI_MAX_MEMBERS];
  for (int32_t m = 0; m < count; m++) {
    halo_instr *member = members[m];
    halo_instr **args = halo_alloc(sizeof *args * ((size_t)member->operand_count + 1));
    for (int32_t o = 0; o < member->operand_count; o++) {
      halo_instr *operand = halo_rewrite_resolve(member->operands[o]);
      for (int32_t i = 0; i < inputs.count && !args[o]; i++) {
        if (inputs.data[i].outside == operand) args[o] = inputs.data[i].inside;
      }
      if (args[o]) continue;
      args[o] = halo_fusion_parameter(body, operand, operands.count);
      halo_vec_push(&operands, operand);
      halo_vec_push(&inputs, (multi_input){operand, args[o]});
    }
    roots[m] = halo_computation_inline(body, halo_instr_comp(member, HALO_ATTR_CALLS), args);
    shapes[m] = member->shape;
    /* Later members that read this one's result find its value inside. */
    halo_vec_push(&inputs, (multi_input){member, roots[m]});
    halo_free(args);
  }
  const halo_shape *tuple = halo_shape_new_tuple(arena, count, shapes);
  halo_instr_spec root = {
      .opcode = HALO_OP_TUPLE, .shape = tuple, .operands = roots, .operand_count = count};
  body->root = halo_instr_create_unchecked(body, &root);
  halo_computation **calls = halo_arena_new(arena, halo_computation *);
  *calls = body;
  halo_attr attrs[2] = {{.id = HALO_ATTR_FUSION_KIND, .i = HALO_FUSION_LOOP},
                        {.id = HALO_ATTR_CALLS, .comps = {calls, 1}}};
  halo_instr *fusion = halo_rewrite_make(r, members[0], HALO_OP_FUSION, tuple, operands.data,
                                         operands.count, attrs, 2);
  fusion->name = halo_arena_printf(arena, "%s.and.%d", members[0]->name, count - 1);
  for (int32_t m = 0; m < count; m++) {
    halo_instr *element = halo_rewrite_make_gte(r, members[m], fusion, m);
    halo_rewrite_replace(r, members[m], element);
  }
  halo_vec_deinit(&inputs);
  halo_vec_deinit(&operands);
}

static halo_status multi_run(halo_computation *computation, bool *changed) {
  multi_state s = {.computation = computation};
  int32_t n = computation->instrs.count;
  if (n > MULTI_MAX_COMPUTATION) return HALO_OK;
  s.group_of = halo_alloc(sizeof *s.group_of * ((size_t)n + 1));
  s.tainted = halo_alloc((size_t)n + 1);
  multi_find(&s);
  /* The rewriter takes the marks over: from here on instructions are named by pointers. */
  halo_instr **members = halo_alloc(sizeof *members * ((size_t)n + 1));
  for (int32_t i = 0; i < n; i++) members[i] = computation->instrs.data[i];
  halo_rewriter r;
  halo_rewrite_begin(&r, computation);
  for (int32_t g = 0; g < s.groups.count; g++) {
    const multi_group *group = &s.groups.data[g];
    if (group->count < 2) continue;
    halo_instr *of_group[MULTI_MAX_MEMBERS];
    for (int32_t m = 0; m < group->count; m++) of_group[m] = members[group->members[m]];
    multi_build(&r, of_group, group->count);
  }
  halo_status status = halo_rewrite_end(&r, changed);
  halo_free(members);
  halo_free(s.group_of);
  halo_free(s.tainted);
  halo_vec_deinit(&s.groups);
  return status;
}

halo_status halo_pass_multi_output(halo_module *module, bool *changed) {
  *changed = false;
  int32_t count = module->computations.count;
  for (int32_t i = 0; i < count; i++) {
    HALO_TRY(multi_run(module->computations.data[i], changed));
  }
  if (*changed) halo_module_remove_dead(module);
  return HALO_OK;
}
