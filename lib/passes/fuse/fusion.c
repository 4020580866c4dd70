/* SPDX-License-Identifier: Apache-2.0 */
/* passes/fuse/fusion.c: decides what becomes a kernel.
 *
 * Working backwards from each computation's results, an instruction is either materialised (it gets
 * a kernel and a buffer) or computed inside the kernels of those that use it. It is materialised when
 * a plan step needs its bytes, when different kernels use it and recomputing is not cheap, or when one
 * kernel would compute it many times over. Each materialised instruction then becomes a fusion that
 * holds everything computed inside it (build.c).
 *
 * What an operation is comes from the opcode table, what things cost from the module's target. */
#include "passes/fuse/fusion.h"

#include "base/memory.h"
#include "passes/fuse/state.h"
#include "passes/passes.h"

enum {
  FUSION_MAX_COST = 100000, /* of an element: more makes no difference, and sums stay in range */
  FUSION_MAX_NEST = 24, /* loops and branches in one another in a kernel: compilers have limits */
  FUSION_MAX_CONTROL =
      10 * FUSION_MAX_INSTRS /* instructions of these, at each place that calls them */
};

/* ---- What a kernel can compute ---- */

static bool fusion_all_scalars(const halo_shape *shape, int32_t *leaves) {
  for (int32_t i = 0; i < shape->count; i++) {
    if (!fusion_all_scalars(shape->elements[i], leaves)) return false;
  }
  if (halo_shape_is_tuple(shape)) return true;
  ++*leaves;
  return halo_shape_is_scalar(shape);
}

static bool fusion_is_branching(const halo_instr *instr) {
  return halo_opcode_exec(instr->opcode) == HALO_EXEC_CONTROL &&
         halo_opcode_is_elemental(instr->opcode);
}

/* Control flow whose state is scalars, not too many and not too deep, runs inside a kernel, if all it
 * does is elementwise; *room: instructions that the kernel may still have. */
static bool fusion_is_scalar_control(const halo_instr *instr, int depth, int32_t *room) {
  int32_t leaves = 0;
  if (!fusion_is_branching(instr) || depth > FUSION_MAX_NEST) return false;
  if (!fusion_all_scalars(instr->shape, &leaves) || halo_instr_has_side_effect(instr)) return false;
  for (int32_t i = 0; i < instr->operand_count; i++) {
    if (!fusion_all_scalars(instr->operands[i]->shape, &leaves)) return false;
  }
  if (leaves > FUSION_MAX_INPUTS + FUSION_MAX_INPUTS) return false;
  int32_t called = halo_instr_called_count(instr);
  for (int32_t c = 0; c < called; c++) {
    const halo_computation *body = halo_instr_called(instr, c);
    *room -= body->instrs.count;
    if (body->instrs.count > FUSION_MAX_INSTRS || *room < 0) return false;
    for (int32_t i = 0; i < body->instrs.count; i++) {
      const halo_instr *inner = body->instrs.data[i];
      bool control = fusion_is_branching(inner);
      if (control && !fusion_is_scalar_control(inner, depth + 1, room)) return false;
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

static bool fusion_is_small_control(const halo_instr *instr) {
  int32_t room = FUSION_MAX_CONTROL;
  return fusion_is_scalar_control(instr, 0, &room);
}

/* Classes of which a kernel computes an instruction. */
static bool fusion_is_computed(const halo_instr *instr) {
  switch (halo_opcode_exec(instr->opcode)) {
    case HALO_EXEC_ELEMENTWISE:
    case HALO_EXEC_MOVEMENT:
    case HALO_EXEC_REDUCTION:
    case HALO_EXEC_STRUCTURED:
    case HALO_EXEC_EXPANDED: return !halo_opcode_has_trait(instr->opcode, HALO_TRAIT_EFFECT);
    case HALO_EXEC_VALUE:
    case HALO_EXEC_ALIAS:
    case HALO_EXEC_CONTROL:
    case HALO_EXEC_ASYNC:
    case HALO_EXEC_COLLECTIVE:
    case HALO_EXEC_HOST: break;
  }
  return false;
}

bool halo_fusion_is_compute(const halo_instr *instr) {
  if (!fusion_is_branching(instr)) return fusion_is_computed(instr);
  for (int32_t i = 0; i < instr->operand_count; i++) {
    if (halo_shape_is_tuple(instr->operands[i]->shape)) return false;
  }
  return fusion_is_small_control(instr);
}

/* What the pass can make a kernel of: also control flow whose tuples are put together from scalars
 * right before it, which then happens inside the kernel. */
static bool fusion_is_possible(const halo_instr *instr) {
  if (!fusion_is_branching(instr)) return fusion_is_computed(instr);
  for (int32_t i = 0; i < instr->operand_count; i++) {
    const halo_instr *operand = instr->operands[i];
    if (!halo_shape_is_tuple(operand->shape)) continue;
    if (operand->opcode != HALO_OP_TUPLE) return false;
    for (int32_t k = 0; k < operand->operand_count; k++) {
      if (halo_shape_is_tuple(operand->operands[k]->shape)) return false;
    }
  }
  return fusion_is_small_control(instr);
}

/* ---- Prices ---- */

/* Simple operations that cost less than starting a kernel. */
static int64_t fusion_tiny(const fusion_state *s) {
  return (int64_t)(s->target->prices.launch * s->target->prices.rate);
}

/* Simple operations that cost less than one more step of a region. */
static int64_t fusion_step(const fusion_state *s) {
  return (int64_t)(s->target->prices.region_handing * s->target->prices.item_rate);
}

/* Operations an element that are not worth a buffer: writing and reading it again takes longer. */
static int64_t fusion_cheap(const fusion_state *s) {
  const halo_prices *p = &s->target->prices;
  return (int64_t)(p->loop_element / p->bandwidth * p->rate);
}

/* Elements that a reduction combines for one of its result. */
static int64_t fusion_extent(const halo_instr *reduce) {
  int64_t results = halo_shape_element_count(halo_leaf_shape(reduce->shape, 0));
  int64_t inputs = halo_shape_element_count(reduce->operands[0]->shape);
  return results > 0 ? inputs / results : 0;
}

/* A reduction that reads its elements once, so that what makes them can be fused into it. */
static bool fusion_is_reduction(const halo_instr *instr) {
  return halo_opcode_exec(instr->opcode) == HALO_EXEC_REDUCTION &&
         halo_opcode_reading(instr->opcode, 0) == HALO_READ_ONCE;
}

/* What ends a kernel, or is finished by one: its result is not computed on the side. */
static bool fusion_is_hero(const fusion_state *s, const halo_instr *instr) {
  switch (halo_opcode_exec(instr->opcode)) {
    case HALO_EXEC_REDUCTION:
      return !fusion_is_reduction(instr) || !halo_shape_is_array(instr->shape) ||
             (double)fusion_extent(instr) > s->target->prices.side_extent;
    case HALO_EXEC_STRUCTURED:
    case HALO_EXEC_EXPANDED:
    case HALO_EXEC_CONTROL: return true;
    case HALO_EXEC_MOVEMENT: return instr->operand_count > s->max_inputs;
    case HALO_EXEC_ELEMENTWISE:
    case HALO_EXEC_VALUE:
    case HALO_EXEC_ALIAS:
    case HALO_EXEC_ASYNC:
    case HALO_EXEC_COLLECTIVE:
    case HALO_EXEC_HOST: break;
  }
  return false;
}

/* Whether there are operands at all that a kernel may compute on the fly; they are few then. */
static bool fusion_accepts_some(const fusion_state *s, const fusion_node *user) {
  return user->possible && user->instr->operand_count <= s->max_inputs;
}

/* Whether a kernel may compute operand `i` of `user` on the fly. */
static bool fusion_accepts(const fusion_state *s, const fusion_node *user, int32_t i) {
  halo_reading reading = halo_opcode_reading(user->instr->opcode, i);
  if (reading == HALO_READ_MEMORY || reading == HALO_READ_UPDATED) return false;
  return fusion_accepts_some(s, user);
}

/* How often `user`, evaluated once an element of its own, evaluates an element of the operand. What puts arrays
 * side by side, or something around one, is larger than they are, and evaluates each element once. */
static int64_t fusion_expansion(const halo_instr *user, const halo_instr *operand) {
  if (halo_opcode_has_trait(user->opcode, HALO_TRAIT_JOIN)) return 1;
  int64_t to =
      halo_shape_element_count(halo_shape_is_tuple(user->shape) ? operand->shape : user->shape);
  int64_t from = halo_shape_element_count(operand->shape);
  if (from <= 0 || to <= from || fusion_is_reduction(user)) return 1;
  return to / from;
}

/* What one element costs with everything that may be fused before it; operands are priced already. */
static int64_t fusion_price(const fusion_state *s, const fusion_node *node) {
  const halo_instr *instr = node->instr;
  int64_t cost = halo_op_info_of(instr->opcode)->cost;
  for (int32_t o = 0; o < instr->operand_count; o++) {
    const fusion_node *operand = fusion_node_of(s, instr->operands[o]);
    if (operand->hero || !operand->possible) continue;
    /* What is costly and would be computed over and over is going to be a buffer. */
    bool spread = fusion_expansion(instr, operand->instr) > 1 && operand->cost > fusion_cheap(s) &&
                  operand->cost * halo_shape_element_count(instr->shape) > fusion_tiny(s);
    if (!spread) cost += operand->cost;
  }
  if (fusion_is_reduction(instr) && !node->hero) cost = fusion_extent(instr) * (cost + 2);
  return cost < FUSION_MAX_COST ? cost : FUSION_MAX_COST;
}

/* Counts the arrays that are as large as it or larger and that whoever computes `node` reads, each once, into *arrays. False:
 * too much is looked at. */
static bool fusion_count_arrays(fusion_state *s, fusion_node *node, int64_t own, int *room,
                                int64_t *arrays) {
  const halo_instr *instr = node->instr;
  node->asked = s->asked;
  for (int32_t o = 0; o < instr->operand_count; o++) {
    fusion_node *operand = fusion_node_of(s, instr->operands[o]);
    const halo_shape *shape = operand->instr->shape;
    if (operand->asked == s->asked) continue;
    if (!halo_shape_is_array(shape) || --*room < 0) return false;
    if (halo_shape_element_count(shape) < own) continue;
    if (operand->hero || operand->stored || !operand->possible) {
      operand->asked = s->asked;
      ++*arrays;
    } else if (!fusion_count_arrays(s, operand, own, room, arrays)) {
      return false;
    }
  }
  return true;
}

/* How many instructions use it. What uses it twice is there twice, one behind the other. */
static int64_t fusion_count_users(const fusion_state *s, int32_t i) {
  int64_t users = 0;
  for (int32_t u = s->users.first[i]; u < s->users.first[i + 1]; u++) {
    users += u == s->users.first[i] || s->users.list[u] != s->users.list[u - 1];
  }
  return users;
}

/* Whether users that each compute this on their own would read more than one that stores it and others that read that, as
 * of sums that are added to in each layer of a network: there, kernels of layers are the same kernels only if they read as
 * many arrays. */
static bool fusion_is_stored(fusion_state *s, fusion_node *node) {
  enum {
    BYTES = 4, /* of an element, as loop_element has it */
    ROOM = 64  /* instructions to look at, which compile time is for */
  };
  int64_t users = fusion_count_users(s, node->instr->mark), arrays = 0;
  int room = ROOM;
  if (s->in_rounds || s->is_small || users < 2 || node->hero || !node->possible ||
      !halo_shape_is_array(node->instr->shape) ||
      !halo_opcode_has_trait(node->instr->opcode, HALO_TRAIT_EW)) {
    return false;
  }
  int64_t own = halo_shape_element_count(node->instr->shape);
  s->asked++;
  if (!fusion_count_arrays(s, node, own, &room, &arrays)) return false;
  int64_t saved = (users - 1) * (arrays - 1);
  double bytes = (double)own * BYTES * (double)saved;
  const halo_prices *p = &s->target->prices;
  return (double)(saved * BYTES) >= p->loop_element && bytes / p->bandwidth > p->launch;
}

/* A little work, `runs` times a node: it is cheaper done over than handed on. In what becomes a part of one
 * kernel, rounds and one number for all elements of small arrays, handing on costs no launch, so that only what
 * is done over counts. */
static bool fusion_is_tiny(const fusion_state *s, const fusion_node *node, int64_t runs) {
  int64_t most = fusion_tiny(s);
  int64_t once = halo_shape_element_count(halo_leaf_shape(node->instr->shape, 0));
  if (s->in_rounds || (s->is_small && once == 1)) {
    int64_t over = runs > once ? runs - once : 0;
    if (over * node->cost > fusion_step(s)) return false;
  }
  return runs <= most && runs * node->cost <= most &&
         (double)node->cost <= s->target->prices.launch * s->target->prices.item_rate;
}

/* ---- Decisions ---- */

/* Whether results need a hero's result of this shape at their own row-major position alone. Families but
 * that of reductions know it by coordinates. */
static bool fusion_keeps_place(const halo_instr *hero, const halo_instr *user,
                               const halo_shape *shape) {
  if (user->opcode == HALO_OP_RESHAPE) {
    return fusion_is_reduction(hero) && halo_shape_has_default_layout(user->shape);
  }
  return halo_opcode_has_trait(user->opcode, HALO_TRAIT_EW) &&
         halo_shape_same_dims(shape, user->shape);
}

/* Whether all users of a hero are operations of one kernel that keep the position which it writes; gives
 * that kernel's root. */
static halo_instr *fusion_finisher(const fusion_state *s, int32_t i) {
  halo_instr *root = NULL;
  for (int32_t u = s->users.first[i]; u < s->users.first[i + 1]; u++) {
    const fusion_node *user = &s->nodes[s->users.list[u]];
    halo_instr *user_root = user->materialised ? user->instr : user->root;
    if (!user_root || (root && root != user_root) || !user->at_root ||
        !fusion_keeps_place(s->nodes[i].instr, user->instr, s->nodes[i].instr->shape)) {
      return NULL;
    }
    root = user_root;
  }
  return root && fusion_keeps_place(s->nodes[i].instr, root, root->shape) ? root : NULL;
}

/* Whether what `owner` computes is better done by the kernel of a reduction. A kernel that combines many
 * elements at a time does what follows for one result at a time: that is for little work, or for work
 * that is small against the reduction's own. */
static bool fusion_is_small_behind(const fusion_state *s, const fusion_node *node,
                                   const fusion_node *owner) {
  if (!fusion_is_reduction(node->instr)) return true;
  int64_t results = halo_shape_element_count(owner->instr->shape);
  return owner->cost * results <= fusion_tiny(s) ||
         (double)owner->cost * s->target->prices.fusion_finish <=
             (double)fusion_extent(node->instr);
}

/* Whether what is computed within this, an element for each of its own, gets no vectors of neighbours where these
 * matter: a transform does its lines side by side, so that what it reads and writes next is elsewhere. */
static bool fusion_is_scattered(const fusion_state *s, const halo_instr *instr) {
  return halo_opcode_has_trait(instr->opcode, HALO_TRAIT_LINES) &&
         halo_target_has_few_items(s->target);
}

/* Whether this combines several values at once, as argmax does, and so asks for elements one by one: dear ones, as
 * random numbers are, are better made beside their neighbours. (Elements that are summed get vectors.) */
static bool fusion_is_one_by_one(const fusion_state *s, const fusion_node *user,
                                 const fusion_node *node) {
  return fusion_is_reduction(user->instr) && !halo_shape_is_array(user->instr->shape) &&
         (double)node->cost >= s->target->prices.fusion_dear_choice &&
         halo_target_has_few_items(s->target);
}

/* Whether this puts elements in between others along rows. */
static bool fusion_is_between(const halo_instr *instr) {
  if (instr->opcode != HALO_OP_PAD || instr->shape->rank == 0) return false;
  int32_t count; /* numbers: what is put before, behind and in between, for each dimension */
  const int64_t *padding = halo_instr_ints(instr, HALO_ATTR_PADDING, &count);
  return padding[count - 1] > 0;
}

/* Whether this puts short pieces of rows side by side, or elements in between others, so that what is dear of them gets no
 * vectors of neighbours where those make the speed; and there is so much of it that another kernel is worth it. */
static bool fusion_is_interleaved(const fusion_state *s, const halo_instr *user,
                                  const fusion_node *node) {
  const halo_prices *p = &s->target->prices;
  const halo_shape *from = node->instr->shape, *to = user->shape;
  if (!halo_opcode_has_trait(user->opcode, HALO_TRAIT_JOIN)) return false;
  if ((double)node->cost < p->fusion_dear || to->rank == 0 || from->rank != to->rank ||
      !halo_target_has_few_items(s->target)) {
    return false;
  }
  double all = (double)node->cost * (double)halo_shape_element_count(from);
  if (all < p->fusion_pieces * (double)fusion_tiny(s)) return false;
  int64_t row = from->dims[to->rank - 1];
  return row != to->dims[to->rank - 1] &&
         ((double)row <= p->fusion_piece || fusion_is_between(user));
}

/* Whether this chooses between places for what a kernel's reduction reads: there, the test stands in the loop over all that
 * is combined, and what is dear behind it gets no vectors; a kernel of its own goes row by row. */
static bool fusion_is_chosen(const fusion_state *s, const halo_instr *root,
                             const fusion_node *node) {
  return halo_opcode_has_trait(node->instr->opcode, HALO_TRAIT_JOIN) && root &&
         fusion_is_reduction(root) && (double)node->cost >= s->target->prices.fusion_dear &&
         halo_target_has_few_items(s->target);
}

/* Whether so much is done to each of so many elements that it is worth a kernel of its own there. */
static bool fusion_is_much(const fusion_state *s, const fusion_node *node) {
  int64_t elements = halo_shape_element_count(halo_leaf_shape(node->instr->shape, 0));
  return node->cost > fusion_cheap(s) && node->cost * elements > fusion_tiny(s);
}

/* What follows a hero elementwise is done to its results before they are stored, where its family can
 * do that and nobody else wants them. A hero that can be computed while something goes on beside it does
 * not wait for that. */
static bool fusion_is_finished(fusion_state *s, int32_t i) {
  fusion_node *node = &s->nodes[i];
  if (!halo_opcode_has_trait(node->instr->opcode, HALO_TRAIT_FINISH)) return false;
  halo_instr *root = fusion_finisher(s, i);
  if (!root) return false;
  fusion_node *owner = fusion_node_of(s, root);
  if (owner->has_hero || owner->size >= FUSION_MAX_INSTRS || !owner->possible ||
      !fusion_is_small_behind(s, node, owner) || owner->late != node->late ||
      (fusion_is_scattered(s, node->instr) && fusion_is_much(s, owner)) ||
      !halo_shape_has_default_layout(root->shape)) {
    return false;
  }
  owner->has_hero = true;
  owner->size++;
  node->materialised = false;
  node->root = root;
  return true;
}

/* What the users of a node would make of it. */
typedef struct fusion_wish {
  halo_instr *root; /* of the last user's kernel */
  bool several, at_root, scattered;
  int32_t place;   /* the one where all evaluate it, or FUSION_OWN_PLACE */
  int64_t repeats; /* in all places together */
  int32_t asked_root;
  int64_t expansion, runs;
} fusion_wish;

/* Places: an instruction is evaluated where its users are, if they take its elements at their own position, so that
 * values which are used together there are computed once. What reads it elsewhere, or several that are in different
 * places themselves, each evaluate it again. The parts of a concatenation are one place: an element is in one part. */
enum { FUSION_ROOT_PLACE = -1, FUSION_NO_PLACE = -2, FUSION_OWN_PLACE = -3 };

/* Where a user evaluates its operands. */
static int32_t fusion_place_of(const fusion_node *user) {
  halo_opcode opcode = user->instr->opcode;
  if (opcode == HALO_OP_CONCATENATE) return user->instr->mark;
  bool same = opcode == HALO_OP_RESHAPE || halo_opcode_has_trait(opcode, HALO_TRAIT_EW) ||
              fusion_is_reduction(user->instr);
  return same ? user->place : FUSION_OWN_PLACE;
}

/* Adds a user's place to those where a node is evaluated. */
static void fusion_add_place(const fusion_state *s, const fusion_node *user, fusion_wish *w) {
  int32_t place = fusion_place_of(user);
  if (w->place == place && place != FUSION_OWN_PLACE) return;
  w->place = w->place == FUSION_NO_PLACE ? place : FUSION_OWN_PLACE;
  if (place != FUSION_OWN_PLACE) {
    int32_t *asked = place == FUSION_ROOT_PLACE ? &w->asked_root : &s->nodes[place].asked;
    if (*asked == s->asked) return;
    *asked = s->asked;
  }
  w->repeats += user->repeats;
}

/* How many elements of an operand a user evaluates, or as many as make no difference. What has no elements of
 * its own that are computed one by one (a sort, the largest few) reads each of them, whatever it gives. */
static int64_t fusion_runs(const fusion_node *user, const halo_instr *operand) {
  if (fusion_is_reduction(user->instr)) return user->runs * fusion_extent(user->instr);
  if (halo_opcode_exec(user->instr->opcode) != HALO_EXEC_STRUCTURED) return user->runs;
  int64_t all = halo_shape_element_count(operand->shape);
  return user->runs > all ? user->runs : all;
}

/* False when a user needs the node's bytes. */
static bool fusion_ask_users(fusion_state *s, int32_t i, fusion_wish *w) {
  const halo_instr *instr = s->nodes[i].instr;
  int64_t many = fusion_tiny(s) + 1;
  s->asked++;
  *w = (fusion_wish){.at_root = true, .place = FUSION_NO_PLACE, .expansion = 1};
  for (int32_t u = s->users.first[i]; u < s->users.first[i + 1]; u++) {
    const fusion_node *user = &s->nodes[s->users.list[u]];
    bool elementwise = halo_opcode_has_trait(user->instr->opcode, HALO_TRAIT_EW);
    if (!fusion_accepts_some(s, user)) return false;
    for (int32_t o = 0; o < user->instr->operand_count; o++) {
      if (user->instr->operands[o] == instr && !fusion_accepts(s, user, o)) return false;
    }
    halo_instr *user_root = user->materialised ? user->instr : user->root;
    if (!user_root || (w->root && w->root != user_root)) w->several = true;
    w->root = user_root;
    w->scattered |= fusion_is_scattered(s, user->instr) ||
                    fusion_is_one_by_one(s, user, &s->nodes[i]) ||
                    fusion_is_chosen(s, user_root, &s->nodes[i]) ||
                    fusion_is_interleaved(s, user->instr, &s->nodes[i]);
    fusion_add_place(s, user, w);
    w->at_root &=
        user->at_root && elementwise && halo_shape_same_dims(user->instr->shape, instr->shape);
    int64_t e = fusion_expansion(user->instr, instr);
    if (e > w->expansion) w->expansion = e;
    w->runs += fusion_runs(user, instr);
    if (w->runs > many) w->runs = many;
  }
  return true;
}

/* Whether neighbours of this lie apart in memory, as those of a matrix's column do. */
static bool fusion_is_strided(const halo_instr *instr) {
  while (instr->opcode == HALO_OP_RESHAPE) instr = instr->operands[0];
  if (instr->opcode != HALO_OP_SLICE && instr->opcode != HALO_OP_DYNAMIC_SLICE) return false;
  const halo_shape *in = instr->operands[0]->shape, *out = instr->shape;
  return in->rank > 1 && out->dims[in->rank - 1] == 1 && in->dims[in->rank - 1] > 1 &&
         halo_shape_element_count(out) > 1;
}

/* Whether it is repeated for each line of a larger array, along which its elements then lie. */
static bool fusion_is_repeated(const fusion_state *s, int32_t i) {
  const halo_instr *instr = s->nodes[i].instr;
  for (int32_t u = s->users.first[i]; u < s->users.first[i + 1]; u++) {
    const halo_instr *user = s->nodes[s->users.list[u]].instr;
    if (user->opcode != HALO_OP_BROADCAST || instr->shape->rank == 0) continue;
    int32_t count;
    const int64_t *dims = halo_instr_ints(user, HALO_ATTR_DIMENSIONS, &count);
    if (dims[count - 1] == user->shape->rank - 1 &&
        (double)fusion_expansion(user, instr) >= s->target->prices.fusion_gathered) {
      return true;
    }
  }
  return false;
}

/* Whether a kernel reads this so often that it is worth having its elements side by side, where few work items are the
 * whole device: these get vectors from neighbours in memory, and gather others one by one. */
static bool fusion_is_gathered(const fusion_state *s, int32_t i, const fusion_wish *w) {
  return fusion_is_strided(s->nodes[i].instr) && fusion_is_repeated(s, i) &&
         halo_target_has_few_items(s->target) && (s->in_rounds || w->runs > fusion_tiny(s));
}

/* Decides one node, whose users are decided already. */
static void fusion_decide(fusion_state *s, int32_t i) {
  fusion_node *node = &s->nodes[i];
  halo_instr *instr = node->instr;
  int64_t tiny_work = fusion_tiny(s);
  node->root = instr;
  node->materialised = node->at_root = true;
  node->repeats = 1;
  node->place = FUSION_ROOT_PLACE;
  bool leaves = halo_shape_leaf_count(instr->shape) > 0;
  node->runs = leaves ? halo_shape_element_count(halo_leaf_shape(instr->shape, 0)) : 0;
  if (node->runs > tiny_work) node->runs = tiny_work + 1;
  if (!node->possible || node->pinned) return;
  if (node->hero) {
    fusion_is_finished(s, i);
    return;
  }
  fusion_wish w;
  if (s->users.first[i] == s->users.first[i + 1] || !fusion_ask_users(s, i, &w)) return;
  if ((w.scattered && fusion_is_much(s, node)) || fusion_is_gathered(s, i, &w)) return;
  if (node->stored && w.several) return;
  int64_t repeats = w.repeats;
  bool tiny = fusion_is_tiny(s, node, w.runs);
  bool cheap = node->cost <= fusion_cheap(s) || tiny;
  if (fusion_is_reduction(instr) && !tiny) {
    fusion_is_finished(s, i);
    return;
  }
  const int64_t most = (int64_t)s->target->prices.fusion_repeats_free;
  if (repeats > most) {
    if (!fusion_is_spread(instr)) return;
    repeats = most;
  }
  if ((w.several || w.expansion > 1) && !cheap) return;
  if (node->cost > 0 && !tiny && (double)repeats > (cheap ? s->target->prices.fusion_repeats : 1)) {
    return;
  }
  if (!w.several) {
    fusion_node *owner = fusion_node_of(s, w.root);
    if (fusion_is_code(instr)) {
      if (owner->size >= FUSION_MAX_INSTRS) return;
      owner->size++;
    }
  }
  node->materialised = false;
  node->root = w.several ? NULL : w.root;
  node->repeats = repeats;
  node->place = w.place == FUSION_OWN_PLACE ? i : w.place;
  node->runs = w.runs;
  node->at_root = w.at_root && !w.several;
}

/* What only takes elements of a buffer from elsewhere needs none of its own: a kernel reads them where they are.
 * It was priced with what makes that buffer, which nobody knew to be one. */
static void fusion_read_in_place(fusion_state *s) {
  for (int32_t i = s->count - 1; i >= 0; i--) {
    fusion_node *node = &s->nodes[i];
    const halo_instr *instr = node->instr;
    if (!node->materialised || !node->possible || node->pinned || node->hero || node->has_hero)
      continue;
    if (instr->opcode != HALO_OP_SLICE && instr->opcode != HALO_OP_RESHAPE) continue;
    if (!fusion_node_of(s, instr->operands[0])->materialised) continue;
    node->cost = halo_op_info_of(instr->opcode)->cost;
    fusion_decide(s, i);
  }
}

/* ---- The pass ---- */

static void fusion_begin(fusion_state *s) {
  for (int32_t i = 0; i < s->count; i++) {
    s->nodes[i].instr = s->computation->instrs.data[i];
    s->nodes[i].instr->mark = i;
    s->nodes[i].instr->data = NULL;
  }
  halo_users_collect(&s->users, s->computation, false);
  for (int32_t i = 0; i < s->count; i++) {
    fusion_node *node = &s->nodes[i];
    node->possible = fusion_is_possible(node->instr);
    node->hero = fusion_is_hero(s, node->instr);
    node->pinned |= node->instr->control_pred_count > 0;
    node->late = node->instr->opcode == HALO_OP_ASYNC_DONE;
    for (int32_t o = 0; o < node->instr->operand_count; o++) {
      node->late |= fusion_node_of(s, node->instr->operands[o])->late;
    }
    for (int32_t c = 0; c < node->instr->control_pred_count; c++) {
      fusion_node_of(s, node->instr->control_preds[c])->pinned = true;
    }
    node->cost = fusion_price(s, node);
    /* It is going to be a buffer, so it does not make dear what reads it. */
    if (fusion_is_reduction(node->instr) && !node->hero) {
      node->hero = !fusion_is_tiny(s, node, halo_shape_element_count(node->instr->shape));
    }
    node->stored = fusion_is_stored(s, node);
  }
  fusion_node_of(s, s->computation->root)->pinned = true;
}

/* Simple operations of all that kernels compute element by element, products left out. */
static double fusion_operations(const halo_computation *body) {
  double operations = 0;
  for (int32_t i = 0; i < body->instrs.count; i++) {
    const halo_instr *instr = body->instrs.data[i];
    if (instr->opcode == HALO_OP_DOT) continue;
    if (!fusion_is_computed(instr) || halo_shape_leaf_count(instr->shape) == 0) continue;
    int64_t most = halo_shape_element_count(halo_leaf_shape(instr->shape, 0));
    if (fusion_is_reduction(instr)) most = halo_shape_element_count(instr->operands[0]->shape);
    operations += (double)most * halo_op_info_of(instr->opcode)->cost;
  }
  return operations;
}

static bool fusion_has_dot(const halo_computation *body) {
  for (int32_t i = 0; i < body->instrs.count; i++) {
    if (body->instrs.data[i]->opcode == HALO_OP_DOT) return true;
  }
  return false;
}

/* Decides whether regions are going to take all of it: rounds of a loop that compute not much more than launching
 * some kernels takes, or as much of a program as takes a few dozen launches. */
static void fusion_foresee_regions(fusion_state *s, bool in_rounds) {
  const halo_prices *p = &s->target->prices;
  double launches = fusion_operations(s->computation) / (p->launch * p->rate);
  s->in_rounds = in_rounds && launches <= p->fusion_round && !fusion_has_dot(s->computation);
  s->is_small = halo_target_has_few_items(s->target) && launches <= p->fusion_whole;
}

static bool fusion_run(halo_computation *computation, bool in_rounds) {
  fusion_state s = {.computation = computation,
                    .target = &computation->module->target,
                    .count = computation->instrs.count};
  fusion_foresee_regions(&s, in_rounds);
  s.max_inputs = fusion_max_inputs(s.target);
  s.nodes = halo_alloc(sizeof *s.nodes * (size_t)s.count);
  fusion_begin(&s);
  for (int32_t i = s.count - 1; i >= 0; i--) fusion_decide(&s, i);
  fusion_read_in_place(&s);
  halo_fusion_read_before_updates(&s);
  bool changed = false;
  for (int32_t i = s.count - 1; i >= 0; i--) {
    if (!s.nodes[i].materialised || !s.nodes[i].possible) continue;
    halo_fusion_build(&s, i);
    changed = true;
  }
  halo_free(s.nodes);
  halo_users_deinit(&s.users);
  if (changed) {
    halo_computation_sort(computation);
    halo_computation_remove_dead(computation);
  }
  return changed;
}

/* The computations that a plan walks. */
static void fusion_visit(halo_computation *computation, bool in_rounds, bool *changed) {
  if (computation->mark) return;
  computation->mark = 1;
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    halo_instr *instr = computation->instrs.data[i];
    bool walked = fusion_is_branching(instr) || instr->opcode == HALO_OP_ASYNC_START;
    if (!walked || fusion_is_possible(instr)) continue;
    int32_t called = halo_instr_called_count(instr);
    bool rounds = in_rounds || instr->opcode == HALO_OP_WHILE;
    for (int32_t c = 0; c < called; c++) fusion_visit(halo_instr_called(instr, c), rounds, changed);
  }
  *changed |= fusion_run(computation, in_rounds);
}

halo_status halo_pass_fusion(halo_module *module, bool *changed) {
  *changed = false;
  for (int32_t i = 0; i < module->computations.count; i++) module->computations.data[i]->mark = 0;
  fusion_visit(module->entry, false, changed);
  if (*changed) halo_module_remove_dead(module);
  return HALO_OK;
}
