/* passes/fusion.c: groups instructions into kernels.
 *
 * Working backwards from each computation's results, an instruction is either materialised (it gets
 * a kernel and a buffer) or computed inside the kernels of those that use it. It is materialised when
 * a plan step needs its bytes, when different kernels use it and recomputing is not cheap, or when one
 * kernel would compute it many times over. Each materialised instruction then becomes a fusion that
 * holds everything computed inside it. */
#include "passes/fusion.h"

#include "base/memory.h"
#include "passes/passes.h"

#include <string.h>

enum {
  FUSION_MAX_INSTRS = 160, /* of one kernel: keeps its compile time and registers in bounds */
  FUSION_MAX_INPUTS = 24,  /* buffers of one kernel: OpenCL promises 1024 bytes of arguments */
  FUSION_CHEAP = 6,        /* cost an element that is not worth a buffer */
  FUSION_MAX_REPEATS = 4,  /* how often one kernel may compute a cheap value for one element */
  FUSION_TINY = 30000,     /* simple operations in all that cost less than starting a kernel */
  FUSION_MAX_EXTENT = 64   /* of a reduction that another kernel may do on the side */
};

/* What the pass knows of an instruction; found by its `mark`. */
typedef struct fusion_node {
  halo_instr *instr;
  bool materialised;
  halo_instr *root; /* the one kernel it is computed in, or NULL when there are several */
  int64_t cost;     /* to compute one element, fused operands included */
  int64_t repeats;  /* how many times one kernel evaluates it for one of its elements */
  int64_t runs;     /* how many elements of it are evaluated in all kernels together */
  int32_t size;     /* instructions in the kernel, of materialised ones */
  bool at_root;     /* its kernel evaluates it at the position that is written, and nowhere else */
  bool has_dot;     /* of materialised ones: the kernel finishes a matrix product */
} fusion_node;

typedef struct fusion_state {
  halo_computation *computation;
  fusion_node *nodes;
  int32_t count;
  int32_t *first_user; /* users of node i: users[first_user[i]] .. users[first_user[i + 1] - 1] */
  int32_t *users;
} fusion_state;

static bool fusion_all_scalars(const halo_shape *shape) {
  for (int32_t i = 0; i < shape->count; i++) {
    if (!fusion_all_scalars(shape->elements[i])) return false;
  }
  return halo_shape_is_tuple(shape) ? true : halo_shape_is_scalar(shape);
}

/* Control flow whose state is scalars runs inside a kernel, if all it does is elementwise. */
static bool fusion_is_scalar_control(const halo_instr *instr) {
  if (instr->opcode != HALO_OP_WHILE && instr->opcode != HALO_OP_CONDITIONAL) return false;
  if (!fusion_all_scalars(instr->shape) || halo_instr_has_side_effect(instr)) return false;
  for (int32_t i = 0; i < instr->operand_count; i++) {
    if (!fusion_all_scalars(instr->operands[i]->shape)) return false;
  }
  int32_t called = halo_instr_called_count(instr);
  for (int32_t c = 0; c < called; c++) {
    const halo_computation *body = halo_instr_called(instr, c);
    for (int32_t i = 0; i < body->instrs.count; i++) {
      const halo_instr *inner = body->instrs.data[i];
      bool control = inner->opcode == HALO_OP_WHILE || inner->opcode == HALO_OP_CONDITIONAL;
      if (control && !fusion_is_scalar_control(inner)) return false;
      if (!control && inner->opcode != HALO_OP_PARAMETER && inner->opcode != HALO_OP_CONSTANT &&
          inner->opcode != HALO_OP_TUPLE && inner->opcode != HALO_OP_GET_TUPLE_ELEMENT &&
          !halo_opcode_has_trait(inner->opcode, HALO_TRAIT_EW)) {
        return false;
      }
      if (inner->opcode == HALO_OP_CONSTANT && !halo_shape_is_scalar(inner->shape)) return false;
    }
  }
  return true;
}

bool halo_fusion_is_compute(const halo_instr *instr) {
  switch ((int)instr->opcode) {
    case HALO_OP_PARAMETER:
    case HALO_OP_CONSTANT:
    case HALO_OP_TUPLE:
    case HALO_OP_GET_TUPLE_ELEMENT:
    case HALO_OP_FUSION:
    case HALO_OP_CALL:
    case HALO_OP_AFTER_ALL:
    case HALO_OP_OPT_BARRIER:
    case HALO_OP_DOMAIN:
    case HALO_OP_ADD_DEPENDENCY: return false;
    case HALO_OP_WHILE:
    case HALO_OP_CONDITIONAL:
      for (int32_t i = 0; i < instr->operand_count; i++) {
        if (halo_shape_is_tuple(instr->operands[i]->shape)) return false;
      }
      return fusion_is_scalar_control(instr);
    default:
      return !halo_opcode_has_trait(instr->opcode,
                                    HALO_TRAIT_EFFECT | HALO_TRAIT_COLL | HALO_TRAIT_ASYNC);
  }
}

/* What the pass can make a kernel of: also control flow whose tuples are put together from scalars
 * right before it, which then happens inside the kernel. */
static bool fusion_is_possible(const halo_instr *instr) {
  if (instr->opcode != HALO_OP_WHILE && instr->opcode != HALO_OP_CONDITIONAL) {
    return halo_fusion_is_compute(instr);
  }
  for (int32_t i = 0; i < instr->operand_count; i++) {
    const halo_instr *operand = instr->operands[i];
    if (!halo_shape_is_tuple(operand->shape)) continue;
    if (operand->opcode != HALO_OP_TUPLE) return false;
    for (int32_t k = 0; k < operand->operand_count; k++) {
      if (halo_shape_is_tuple(operand->operands[k]->shape)) return false;
    }
  }
  return fusion_is_scalar_control(instr);
}

/* Constants that a kernel spells as a number. */
static bool fusion_is_inline_constant(const halo_instr *instr) {
  return instr->opcode == HALO_OP_CONSTANT && halo_shape_element_count(instr->shape) == 1;
}

/* Cost of the instruction itself for one element, in simple operations. */
static int64_t fusion_own_cost(const halo_instr *instr) {
  switch ((int)instr->opcode) {
    case HALO_OP_BROADCAST:
    case HALO_OP_RESHAPE:
    case HALO_OP_TRANSPOSE:
    case HALO_OP_REVERSE:
    case HALO_OP_SLICE:
    case HALO_OP_IOTA:
    case HALO_OP_CONSTANT:
    case HALO_OP_COPY: return 0;
    case HALO_OP_DIVIDE:
    case HALO_OP_REMAINDER:
    case HALO_OP_SQRT:
    case HALO_OP_RSQRT: return 8;
    case HALO_OP_ACOS:
    case HALO_OP_ACOSH:
    case HALO_OP_ASIN:
    case HALO_OP_ASINH:
    case HALO_OP_ATAN:
    case HALO_OP_ATANH:
    case HALO_OP_ATAN2:
    case HALO_OP_CBRT:
    case HALO_OP_COS:
    case HALO_OP_COSH:
    case HALO_OP_SIN:
    case HALO_OP_SINH:
    case HALO_OP_TAN:
    case HALO_OP_TANH:
    case HALO_OP_ERF:
    case HALO_OP_EXP:
    case HALO_OP_EXPM1:
    case HALO_OP_LOG:
    case HALO_OP_LOG1P:
    case HALO_OP_LOGISTIC:
    case HALO_OP_POWER: return 20;
    case HALO_OP_REDUCE: return 0; /* of its elements: counted by the caller */
    case HALO_OP_MAP:
    case HALO_OP_WHILE:
    case HALO_OP_CONDITIONAL:
    case HALO_OP_DOT: return 1000;
    default: return 1;
  }
}

/* Elements that a reduce combines for one of its result. */
static int64_t fusion_extent(const halo_instr *reduce) {
  int64_t results = halo_shape_element_count(halo_leaf_shape(reduce->shape, 0));
  int64_t inputs = halo_shape_element_count(reduce->operands[0]->shape);
  return results > 0 ? inputs / results : 0;
}

/* Ops that always end a kernel: their result is worth a buffer. */
static bool fusion_is_hero(const halo_instr *instr) {
  switch ((int)instr->opcode) {
    case HALO_OP_REDUCE:
      return !halo_shape_is_array(instr->shape) || fusion_extent(instr) > FUSION_MAX_EXTENT;
    case HALO_OP_REDUCE_WINDOW:
    case HALO_OP_DOT:
    case HALO_OP_WHILE:
    case HALO_OP_CONDITIONAL:
    case HALO_OP_DYNAMIC_UPDATE_SLICE: return true;
    default: return false;
  }
}

/* Whether a kernel may compute operand `i` of `user` on the fly. */
static bool fusion_accepts(const halo_instr *user, int32_t i) {
  if (user->opcode == HALO_OP_DOT || user->opcode == HALO_OP_REDUCE_WINDOW) return false;
  /* What is updated stays a buffer, so that the update can happen in place. */
  if (user->opcode == HALO_OP_DYNAMIC_UPDATE_SLICE && i == 0) return false;
  return fusion_is_possible(user);
}

static void fusion_collect_users(fusion_state *s) {
  s->first_user = halo_alloc(sizeof(int32_t) * ((size_t)s->count + 2));
  int32_t total = 0;
  for (int32_t i = 0; i < s->count; i++) {
    halo_instr *instr = s->nodes[i].instr;
    for (int32_t o = 0; o < instr->operand_count; o++) {
      s->first_user[instr->operands[o]->mark + 2]++;
      total++;
    }
  }
  for (int32_t i = 2; i < s->count + 2; i++) s->first_user[i] += s->first_user[i - 1];
  s->users = halo_alloc(sizeof(int32_t) * (size_t)(total + 1));
  for (int32_t i = 0; i < s->count; i++) {
    halo_instr *instr = s->nodes[i].instr;
    for (int32_t o = 0; o < instr->operand_count; o++) {
      s->users[s->first_user[instr->operands[o]->mark + 1]++] = i;
    }
  }
}

/* How often `user`, evaluated once an element of its own, evaluates an element of the operand. */
static int64_t fusion_expansion(const halo_instr *user, const halo_instr *operand) {
  int64_t to =
      halo_shape_element_count(halo_shape_is_tuple(user->shape) ? operand->shape : user->shape);
  int64_t from = halo_shape_element_count(operand->shape);
  if (from <= 0 || to <= from || user->opcode == HALO_OP_REDUCE) return 1;
  return to / from;
}

/* What follows a matrix product elementwise is done to its results before they are stored, when
 * nobody else wants them. */
static bool fusion_finishes_dot(fusion_state *s, int32_t i) {
  fusion_node *node = &s->nodes[i];
  if (node->instr->opcode != HALO_OP_DOT || s->first_user[i + 1] - s->first_user[i] != 1) {
    return false;
  }
  const fusion_node *user = &s->nodes[s->users[s->first_user[i]]];
  halo_instr *root = user->materialised ? user->instr : user->root;
  if (!root || !user->at_root || !halo_opcode_has_trait(user->instr->opcode, HALO_TRAIT_EW) ||
      !halo_opcode_has_trait(root->opcode, HALO_TRAIT_EW)) {
    return false;
  }
  fusion_node *owner = &s->nodes[root->mark];
  if (owner->has_dot || owner->size >= FUSION_MAX_INSTRS || !fusion_is_possible(root) ||
      !halo_shape_same_dims(node->instr->shape, root->shape) ||
      !halo_shape_same_dims(node->instr->shape, user->instr->shape) ||
      !halo_shape_has_default_layout(root->shape)) {
    return false;
  }
  owner->has_dot = true;
  owner->size++;
  node->materialised = false;
  node->root = root;
  return true;
}

/* Decides one node, whose users are decided already. */
static void fusion_decide(fusion_state *s, int32_t i) {
  fusion_node *node = &s->nodes[i];
  halo_instr *instr = node->instr;
  node->root = instr;
  node->materialised = true;
  node->repeats = 1;
  bool leaves = halo_shape_leaf_count(instr->shape) > 0;
  node->runs = leaves ? halo_shape_element_count(halo_leaf_shape(instr->shape, 0)) : 0;
  if (node->runs > FUSION_TINY) node->runs = FUSION_TINY + 1;
  bool pinned = instr == s->computation->root || instr->control_pred_count > 0;
  node->at_root = true;
  if (!fusion_is_possible(instr) || pinned || fusion_finishes_dot(s, i)) return;
  if (fusion_is_hero(instr)) return;
  int32_t begin = s->first_user[i], end = s->first_user[i + 1];
  if (begin == end) return;
  halo_instr *root = NULL;
  bool several = false, at_root = true;
  int64_t same_index = 0, other_index = 0, expansion = 1, runs = 0;
  for (int32_t u = begin; u < end; u++) {
    const fusion_node *user = &s->nodes[s->users[u]];
    for (int32_t o = 0; o < user->instr->operand_count; o++) {
      if (user->instr->operands[o] == instr && !fusion_accepts(user->instr, o)) return;
    }
    halo_instr *user_root = user->materialised ? user->instr : user->root;
    if (!user_root || (root && root != user_root)) several = true;
    root = user_root;
    if (halo_opcode_has_trait(user->instr->opcode, HALO_TRAIT_EW) ||
        user->instr->opcode == HALO_OP_REDUCE) {
      if (user->repeats > same_index) same_index = user->repeats;
    } else {
      other_index += user->repeats;
    }
    at_root &= user->at_root && halo_opcode_has_trait(user->instr->opcode, HALO_TRAIT_EW) &&
               halo_shape_same_dims(user->instr->shape, instr->shape);
    int64_t e = fusion_expansion(user->instr, instr);
    if (e > expansion) expansion = e;
    runs += user->instr->opcode == HALO_OP_REDUCE ? user->runs * fusion_extent(user->instr)
                                                  : user->runs;
    if (runs > FUSION_TINY) runs = FUSION_TINY + 1;
  }
  int64_t repeats = same_index + other_index;
  /* A little work is cheaper done over than handed on. */
  bool tiny = runs <= FUSION_TINY && runs * node->cost <= FUSION_TINY;
  bool cheap = node->cost <= FUSION_CHEAP || tiny;
  if (repeats > 64 || (instr->opcode == HALO_OP_REDUCE && !tiny)) return;
  if ((several || expansion > 1) && !cheap) return;
  if (node->cost > 0 && !tiny && repeats > (cheap ? FUSION_MAX_REPEATS : 1)) return;
  if (!several) {
    fusion_node *owner = &s->nodes[root->mark];
    if (owner->size >= FUSION_MAX_INSTRS) return;
    owner->size++;
  }
  node->materialised = false;
  node->root = several ? NULL : root;
  node->repeats = repeats;
  node->runs = runs;
  node->at_root = at_root && !several;
}

/* ---- Building ---- */

typedef struct fusion_builder {
  fusion_state *s;
  halo_computation *body;
  HALO_VEC(halo_instr *) inputs;
  HALO_VEC(halo_instr *) inner; /* in dependency order */
  HALO_VEC(halo_instr *) seen;  /* whose `data` is set */
} fusion_builder;

static void fusion_gather(fusion_builder *b, halo_instr *instr, bool is_root) {
  if (instr->data) return;
  fusion_node *node = &b->s->nodes[instr->mark];
  instr->data = instr; /* visited; replaced by the copy below */
  halo_vec_push(&b->seen, instr);
  bool inside = is_root || !node->materialised || fusion_is_inline_constant(instr) ||
                instr->opcode == HALO_OP_TUPLE;
  if (!inside) {
    halo_vec_push(&b->inputs, instr);
    return;
  }
  for (int32_t o = 0; o < instr->operand_count; o++) fusion_gather(b, instr->operands[o], false);
  halo_vec_push(&b->inner, instr);
}

static halo_instr *fusion_copy(halo_computation *body, halo_instr *instr) {
  halo_instr **operands = halo_alloc(sizeof(halo_instr *) * (size_t)instr->operand_count);
  for (int32_t o = 0; o < instr->operand_count; o++) operands[o] = instr->operands[o]->data;
  halo_instr_spec spec = {.opcode = instr->opcode,
                          .name = instr->name,
                          .shape = instr->shape,
                          .operands = operands,
                          .operand_count = instr->operand_count,
                          .attrs = instr->attrs,
                          .attr_count = instr->attr_count,
                          .literal = instr->literal,
                          .line = instr->line};
  halo_instr *copy = halo_instr_create_unchecked(body, &spec);
  halo_free(operands);
  return copy;
}

halo_instr *halo_fusion_parameter(halo_computation *body, const halo_instr *input, int32_t n) {
  halo_instr_spec spec = {.opcode = HALO_OP_PARAMETER,
                          .name = halo_arena_printf(&body->module->arena, "param_%d", n),
                          .shape = input->shape,
                          .parameter_number = n,
                          .line = input->line};
  return halo_instr_create_unchecked(body, &spec);
}

static halo_fusion_kind fusion_kind_of(const halo_instr *root, const halo_computation *body) {
  for (int32_t i = 0; i < body->instrs.count; i++) {
    if (body->instrs.data[i]->opcode == HALO_OP_DOT) return HALO_FUSION_OUTPUT;
  }
  return root->opcode == HALO_OP_REDUCE ? HALO_FUSION_INPUT : HALO_FUSION_LOOP;
}

/* Instruction names are unique in their computation only; the entry's keep the plain form. */
static const char *fusion_body_name(const halo_instr *root) {
  halo_module *module = root->parent->module;
  const char *name = halo_arena_printf(&module->arena, "fused_%s", root->name);
  return root->parent == module->entry ? name : halo_module_fresh_name(module, name);
}

/* Replaces a materialised instruction by a fusion over its body. False, with nothing changed, when it
 * would have too many inputs. */
static bool fusion_build(fusion_state *s, halo_instr *root) {
  halo_module *module = s->computation->module;
  fusion_builder b = {.s = s};
  fusion_gather(&b, root, true);
  bool fits = b.inputs.count <= FUSION_MAX_INPUTS;
  if (fits) {
    b.body = halo_computation_create(module, NULL);
    b.body->name = fusion_body_name(root);
    for (int32_t i = 0; i < b.inputs.count; i++) {
      b.inputs.data[i]->data = halo_fusion_parameter(b.body, b.inputs.data[i], i);
    }
    for (int32_t i = 0; i < b.inner.count; i++) {
      b.inner.data[i]->data = fusion_copy(b.body, b.inner.data[i]);
    }
    b.body->root = root->data;
    halo_computation **calls = halo_arena_new(&module->arena, halo_computation *);
    *calls = b.body;
    halo_attr attrs[3] = {{.id = HALO_ATTR_FUSION_KIND, .i = fusion_kind_of(root, b.body)},
                          {.id = HALO_ATTR_CALLS, .comps = {calls, 1}}};
    int32_t attr_count = 2;
    const halo_attr *metadata = halo_instr_attr(root, HALO_ATTR_METADATA);
    if (metadata) attrs[attr_count++] = *metadata;
    /* The instruction becomes the fusion itself: its users and its name stay. */
    root->opcode = HALO_OP_FUSION;
    root->operands = halo_arena_copy(&module->arena, b.inputs.data,
                                     sizeof(halo_instr *) * (size_t)b.inputs.count);
    root->operand_count = b.inputs.count;
    root->attrs = halo_arena_copy(&module->arena, attrs, sizeof *attrs * (size_t)attr_count);
    root->attr_count = attr_count;
    root->literal = NULL;
  }
  for (int32_t i = 0; i < b.seen.count; i++) b.seen.data[i]->data = NULL;
  halo_vec_deinit(&b.inputs);
  halo_vec_deinit(&b.inner);
  halo_vec_deinit(&b.seen);
  return fits;
}

/* Builds the fusion of node i; when it has too many inputs its operands are materialised first. */
static void fusion_build_node(fusion_state *s, int32_t i) {
  halo_instr *root = s->nodes[i].instr;
  while (!fusion_build(s, root)) {
    bool any = false;
    for (int32_t o = 0; o < root->operand_count; o++) {
      fusion_node *operand = &s->nodes[root->operands[o]->mark];
      if (operand->materialised || fusion_is_inline_constant(operand->instr)) continue;
      operand->materialised = true;
      any = true;
    }
    if (!any) return; /* an op of very many operands of its own: left to the plan's wrapper */
  }
}

static bool fusion_run(halo_computation *computation) {
  fusion_state s = {.computation = computation, .count = computation->instrs.count};
  s.nodes = halo_alloc(sizeof *s.nodes * (size_t)s.count);
  for (int32_t i = 0; i < s.count; i++) {
    s.nodes[i].instr = computation->instrs.data[i];
    s.nodes[i].instr->mark = i;
    s.nodes[i].instr->data = NULL;
  }
  fusion_collect_users(&s);
  /* Costs need operands first, decisions users first: two walks. */
  for (int32_t i = 0; i < s.count; i++) {
    halo_instr *instr = s.nodes[i].instr;
    s.nodes[i].cost = fusion_own_cost(instr);
    for (int32_t o = 0; o < instr->operand_count; o++) {
      const fusion_node *operand = &s.nodes[instr->operands[o]->mark];
      if (fusion_is_hero(operand->instr) || !fusion_is_possible(operand->instr)) continue;
      /* What is costly and would be computed over and over is going to be a buffer. */
      bool spread = fusion_expansion(instr, operand->instr) > 1 && operand->cost > FUSION_CHEAP &&
                    operand->cost * halo_shape_element_count(instr->shape) > FUSION_TINY;
      if (!spread) s.nodes[i].cost += operand->cost;
    }
    if (instr->opcode == HALO_OP_REDUCE && !fusion_is_hero(instr)) {
      s.nodes[i].cost = fusion_extent(instr) * (s.nodes[i].cost + 2);
    }
    if (s.nodes[i].cost > 100000) s.nodes[i].cost = 100000;
  }
  for (int32_t i = s.count - 1; i >= 0; i--) fusion_decide(&s, i);
  bool changed = false;
  for (int32_t i = s.count - 1; i >= 0; i--) {
    if (!s.nodes[i].materialised || !fusion_is_possible(s.nodes[i].instr)) continue;
    fusion_build_node(&s, i);
    changed = true;
  }
  halo_free(s.nodes);
  halo_free(s.first_user);
  halo_free(s.users);
  if (changed) {
    halo_computation_sort(computation);
    halo_computation_remove_dead(computation);
  }
  return changed;
}

/* The computations that a plan walks. */
static void fusion_visit(halo_computation *computation, bool *changed) {
  if (computation->mark) return;
  computation->mark = 1;
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    halo_instr *instr = computation->instrs.data[i];
    bool control = instr->opcode == HALO_OP_WHILE || instr->opcode == HALO_OP_CONDITIONAL;
    if (!control || fusion_is_possible(instr)) continue;
    int32_t called = halo_instr_called_count(instr);
    for (int32_t c = 0; c < called; c++) fusion_visit(halo_instr_called(instr, c), changed);
  }
  *changed |= fusion_run(computation);
}

halo_status halo_pass_fusion(halo_module *module, bool *changed) {
  *changed = false;
  for (int32_t i = 0; i < module->computations.count; i++) module->computations.data[i]->mark = 0;
  fusion_visit(module->entry, changed);
  if (*changed) halo_module_remove_dead(module);
  return HALO_OK;
}

halo_computation *halo_fusion_wrap(halo_instr *instr) {
  halo_module *module = instr->parent->module;
  halo_computation *body = halo_computation_create(module, NULL);
  body->name = fusion_body_name(instr);
  void **saved = halo_alloc(sizeof(void *) * (size_t)instr->operand_count);
  for (int32_t o = 0; o < instr->operand_count; o++) {
    saved[o] = instr->operands[o]->data;
    instr->operands[o]->data = halo_fusion_parameter(body, instr->operands[o], o);
  }
  body->root = fusion_copy(body, instr);
  for (int32_t o = instr->operand_count - 1; o >= 0; o--) instr->operands[o]->data = saved[o];
  halo_free(saved);
  return body;
}
