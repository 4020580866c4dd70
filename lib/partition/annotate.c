/* SPDX-License-Identifier: Apache-2.0 */
/* partition/annotate.c: what a module says of shardings, for each array in it. */
#include "base/status.h"
#include "hlo/collective.h"
#include "partition/spmd.h"

#include <stdlib.h>
#include <string.h>

/* ---- One caller for each computation ---- */

static halo_computation *annotate_copy(halo_computation *from) {
  halo_module *module = from->module;
  halo_computation *to = halo_computation_create(module, NULL);
  HALO_VEC(halo_instr *) params = {0};
  to->name = halo_module_fresh_name(module, from->name);
  for (int32_t i = 0; i < from->params.count; i++) {
    const halo_instr *param = from->params.data[i];
    halo_instr_spec spec = {.opcode = HALO_OP_PARAMETER,
                            .name = param->name,
                            .shape = param->shape,
                            .attrs = param->attrs,
                            .attr_count = param->attr_count,
                            .parameter_number = i,
                            .line = param->line};
    halo_vec_push(&params, halo_instr_create_unchecked(to, &spec));
  }
  to->root = halo_computation_inline(to, from, params.data);
  halo_vec_deinit(&params);
  return to;
}

static bool annotate_is_control(const halo_instr *instr) {
  return instr->opcode == HALO_OP_WHILE || instr->opcode == HALO_OP_CONDITIONAL;
}

/* `mark`: somebody calls it. */
static void annotate_claim(halo_computation *computation) {
  computation->mark = 1;
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    halo_instr *instr = computation->instrs.data[i];
    if (!annotate_is_control(instr)) continue;
    for (int32_t a = 0; a < instr->attr_count; a++) {
      halo_attr *attr = &instr->attrs[a];
      if (halo_attr_kind_of(attr->id) != HALO_KIND_COMPS) continue;
      halo_computation **comps =
          halo_arena_array(&computation->module->arena, halo_computation *, attr->comps.count);
      for (int32_t c = 0; c < attr->comps.count; c++) {
        comps[c] = attr->comps.data[c];
        if (comps[c]->mark) comps[c] = annotate_copy(comps[c]);
        annotate_claim(comps[c]);
      }
      attr->comps.data = comps;
    }
  }
}

/* ---- Reading what is said ---- */

static halo_status annotate_fail(const halo_instr *instr, halo_status status) {
  if (instr->line <= 0) return halo_fail_in(status, "%s: its sharding", instr->name);
  return halo_fail_in(status, "line %d: %s: its sharding", instr->line, instr->name);
}

/* The sharding of leaf `k` as written, checked; NULL when nothing is said. */
static halo_status annotate_said(const halo_spmd *p, const halo_instr *instr, int32_t k,
                                 const halo_sharding **out) {
  const halo_attr *attr = halo_instr_attr(instr, HALO_ATTR_SHARDING);
  *out = NULL;
  if (!attr) return HALO_OK;
  const halo_shape *shape = halo_leaf_shape(instr->shape, k);
  const halo_sharding *said = attr->sharding;
  int32_t leaves = halo_shape_leaf_count(instr->shape);
  if (said->kind == HALO_SHARDING_TUPLE && said->element_count != leaves) {
    return annotate_fail(instr, halo_fail(HALO_INVALID_ARGUMENT, "it has %d elements for %d arrays",
                                          said->element_count, leaves));
  }
  said = halo_sharding_leaf(said, k);
  if (said->kind == HALO_SHARDING_UNKNOWN || !halo_shape_is_array(shape)) return HALO_OK;
  halo_status status = halo_sharding_check_array(said, shape->rank, p->module->num_partitions);
  if (status != HALO_OK) return annotate_fail(instr, status);
  *out = said;
  return HALO_OK;
}

/* Custom calls that mark shardings may leave some dimensions open: "unspecified_dims=[0,2]". */
static uint64_t annotate_open(const halo_instr *instr) {
  const halo_attr *config = halo_instr_attr(instr, HALO_ATTR_BACKEND_CONFIG);
  if (instr->opcode != HALO_OP_CUSTOM_CALL || !config || !config->text) return 0;
  const char *at = strstr(config->text, "unspecified_dims=[");
  uint64_t dims = 0;
  if (!at) return 0;
  for (at = strchr(at, '['); at && (*at == '[' || *at == ','); at += strspn(at, "0123456789 ")) {
    unsigned long dim = strtoul(++at, NULL, 10);
    if (dim < 64) dims |= UINT64_C(1) << dim;
  }
  return dims;
}

/* The axes of the text's own mesh, where its devices have more than one dimension. */
static void annotate_axes(halo_spmd_mesh *mesh, const halo_sharding *said) {
  int64_t stride = 1;
  for (int32_t k = said->reshape.count - 1; k > 0; k--) {
    stride *= said->reshape.data[k];
    for (int a = 0; a < mesh->axes; a++) {
      if (mesh->stride[a] == stride) mesh->separate |= 1u << a;
    }
  }
}

/* Which axes the text has apart from the next. */
static void annotate_separate(halo_spmd_mesh *mesh, const halo_spmd_sharding *said) {
  const uint32_t sets[] = {said->manual, said->unreduced};
  for (int a = 0; a + 1 < mesh->axes; a++) {
    for (int k = 0; k < 2; k++) {
      if ((sets[k] >> a & 1) != (sets[k] >> (a + 1) & 1)) mesh->separate |= 1u << a;
    }
  }
  for (int d = 0; d < said->rank; d++) {
    const halo_spmd_axes *axes = &said->dims[d];
    for (int k = 0; k < axes->count; k++) {
      int a = axes->id[k];
      if (k + 1 == axes->count || axes->id[k + 1] != a + 1) mesh->separate |= 1u << a;
      if (a > 0 && (k == 0 || axes->id[k - 1] != a - 1)) mesh->separate |= 1u << (a - 1);
    }
  }
}

static halo_status annotate_box(halo_spmd *p, const halo_instr *instr, const halo_sharding *said,
                                halo_spmd_leaf *leaf) {
  bool direct;
  if (!said) return HALO_OK;
  halo_status status = halo_spmd_read(p, said, leaf->shape->rank, &leaf->box->sharding, &direct);
  if (status != HALO_OK) return annotate_fail(instr, status);
  if (direct) annotate_axes(&p->mesh, said);
  if (direct) annotate_separate(&p->mesh, &leaf->box->sharding);
  halo_spmd_make_even(p, leaf->shape, &leaf->box->sharding);
  uint64_t open = annotate_open(instr);
  /* What only says to which region it belongs lies as suits the program. */
  bool marker = halo_spmd_marker_of(instr) != HALO_SPMD_NO_MARKER;
  bool place = leaf->box->sharding.manual && !halo_spmd_set(&leaf->box->sharding) && !marker;
  if (place || said->kind == HALO_SHARDING_MAXIMAL) open = ~UINT64_C(0);
  leaf->box->fixed = !open;
  leaf->box->closed = ~open;
  return HALO_OK;
}

/* A leaf that is said to lie as others do gets the box of the first of them. */
static void annotate_group(halo_spmd *p, const halo_instr *instr, int32_t k, halo_spmd_leaf *leaf) {
  const halo_attr *attr = halo_instr_attr(instr, HALO_ATTR_SHARDING);
  const halo_sharding *said = attr ? halo_sharding_leaf(attr->sharding, k) : NULL;
  if (!said || said->group == HALO_SHARD_ALONE || !halo_spmd_is_array(leaf)) return;
  for (int32_t i = 0; i < p->groups.count; i++) {
    const halo_spmd_group *group = &p->groups.data[i];
    if (group->id != said->group_id || !halo_shape_same_dims(group->first->shape, leaf->shape)) {
      continue;
    }
    leaf->box = group->first->box;
    return;
  }
  halo_spmd_group group = {said->group_id, leaf};
  halo_vec_push(&p->groups, group);
}

/* ---- Nodes ---- */

static halo_spmd_box *annotate_new_box(halo_spmd *p, const halo_shape *shape) {
  halo_spmd_box *box = halo_arena_new(&p->arena, halo_spmd_box);
  box->sharding = halo_spmd_replicated(p, shape->rank, 0);
  box->fixed = !halo_shape_is_array(shape);
  return box;
}

static halo_spmd_leaf *annotate_new_leaf(halo_spmd *p, const halo_shape *shape,
                                         halo_spmd_box *box) {
  halo_spmd_leaf *leaf = halo_arena_new(&p->arena, halo_spmd_leaf);
  leaf->shape = shape;
  leaf->box = box ? box : annotate_new_box(p, shape);
  return leaf;
}

/* A node with leaves of its own, in the boxes of `like` if there is one. */
static halo_spmd_node *annotate_new_node(halo_spmd *p, halo_instr *instr,
                                         const halo_spmd_node *like) {
  halo_spmd_node *node = halo_arena_new(&p->arena, halo_spmd_node);
  node->count = halo_shape_leaf_count(instr->shape);
  node->leaves = halo_arena_array(&p->arena, halo_spmd_leaf *, node->count + 1);
  for (int32_t k = 0; k < node->count; k++) {
    node->leaves[k] =
        annotate_new_leaf(p, halo_leaf_shape(instr->shape, k), like ? like->leaves[k]->box : NULL);
  }
  instr->data = node;
  return node;
}

/* A node that names leaves which are there. */
static halo_spmd_node *annotate_names(halo_spmd *p, halo_instr *instr, halo_spmd_leaf **leaves) {
  halo_spmd_node *node = halo_arena_new(&p->arena, halo_spmd_node);
  node->count = halo_shape_leaf_count(instr->shape);
  node->leaves = leaves;
  instr->data = node;
  return node;
}

static void annotate_tuple(halo_spmd *p, halo_instr *instr) {
  int32_t count = halo_shape_leaf_count(instr->shape), next = 0;
  halo_spmd_leaf **leaves = halo_arena_array(&p->arena, halo_spmd_leaf *, count + 1);
  for (int32_t i = 0; i < instr->operand_count; i++) {
    const halo_spmd_node *from = halo_spmd_node_of(instr->operands[i]);
    for (int32_t k = 0; k < from->count; k++) leaves[next++] = from->leaves[k];
  }
  annotate_names(p, instr, leaves);
}

static void annotate_link(halo_spmd *p, const halo_spmd_node *a, const halo_spmd_node *b) {
  for (int32_t k = 0; k < a->count; k++) {
    halo_spmd_link link = {a->leaves[k], b->leaves[k]};
    halo_vec_push(&p->links, link);
  }
}

static halo_status annotate_computation(halo_spmd *p, halo_computation *computation);

/* The state has one sharding, which what enters and what a round gives are brought to. */
static halo_status annotate_while(halo_spmd *p, halo_instr *instr) {
  halo_spmd_node *state = halo_spmd_node_of(instr);
  halo_computation *body = halo_instr_comp(instr, HALO_ATTR_BODY);
  halo_computation *condition = halo_instr_comp(instr, HALO_ATTR_CONDITION);
  annotate_new_node(p, body->params.data[0], state);
  annotate_new_node(p, condition->params.data[0], state);
  HALO_TRY(annotate_computation(p, condition));
  HALO_TRY(annotate_computation(p, body));
  annotate_link(p, halo_spmd_node_of(instr->operands[0]), state);
  annotate_link(p, halo_spmd_node_of(body->root), state);
  return HALO_OK;
}

static halo_status annotate_conditional(halo_spmd *p, halo_instr *instr) {
  for (int32_t b = 0; b < halo_conditional_branch_count(instr); b++) {
    halo_computation *branch = halo_conditional_branch(instr, b);
    annotate_new_node(p, branch->params.data[0], NULL);
    HALO_TRY(annotate_computation(p, branch));
    annotate_link(p, halo_spmd_node_of(instr->operands[1 + b]),
                  halo_spmd_node_of(branch->params.data[0]));
    annotate_link(p, halo_spmd_node_of(branch->root), halo_spmd_node_of(instr));
  }
  return HALO_OK;
}

static halo_status annotate_instr(halo_spmd *p, halo_instr *instr) {
  if (instr->opcode == HALO_OP_TUPLE) {
    annotate_tuple(p, instr);
  } else if (instr->opcode == HALO_OP_GET_TUPLE_ELEMENT) {
    const halo_instr *tuple = instr->operands[0];
    int64_t index = halo_instr_int(instr, HALO_ATTR_INDEX, 0);
    annotate_names(p, instr,
                   halo_spmd_node_of(tuple)->leaves + halo_leaf_start(tuple->shape, index));
  } else if (instr->opcode != HALO_OP_PARAMETER) {
    halo_spmd_node *node = annotate_new_node(p, instr, NULL);
    for (int32_t k = 0; k < node->count; k++) {
      const halo_sharding *said;
      annotate_group(p, instr, k, node->leaves[k]);
      HALO_TRY(annotate_said(p, instr, k, &said));
      HALO_TRY(annotate_box(p, instr, said, node->leaves[k]));
    }
    node->rule = halo_spmd_rule_of(p, instr);
  }
  if (instr->opcode == HALO_OP_WHILE) HALO_TRY(annotate_while(p, instr));
  if (instr->opcode == HALO_OP_CONDITIONAL) HALO_TRY(annotate_conditional(p, instr));
  halo_vec_push(&p->instrs, instr);
  return HALO_OK;
}

static halo_status annotate_computation(halo_spmd *p, halo_computation *computation) {
  for (int32_t i = 0; i < computation->instrs.count; i++) {
    HALO_TRY(annotate_instr(p, computation->instrs.data[i]));
  }
  return HALO_OK;
}

/* ---- The entry ---- */

static halo_status annotate_params(halo_spmd *p) {
  halo_computation *entry = p->module->entry;
  int32_t leaves = 0, next = 0;
  for (int32_t i = 0; i < entry->params.count; i++) {
    leaves += halo_shape_leaf_count(entry->params.data[i]->shape);
  }
  p->params = halo_arena_array(&p->arena, const halo_sharding *, leaves + 1);
  for (int32_t i = 0; i < entry->params.count; i++) {
    halo_instr *param = entry->params.data[i];
    halo_spmd_node *node = annotate_new_node(p, param, NULL);
    bool is_free = halo_spmd_is_free(p->module, false, i);
    for (int32_t k = 0; k < node->count; k++, next++) {
      HALO_TRY(annotate_said(p, param, k, &p->params[next]));
      HALO_TRY(annotate_box(p, param, p->params[next], node->leaves[k]));
      if (p->params[next] || !is_free) node->leaves[k]->box->fixed = true;
    }
  }
  return HALO_OK;
}

static bool annotate_divides(const halo_sharding *said, const halo_shape *shape) {
  for (int d = 0; said->kind == HALO_SHARDING_TILED && d < shape->rank; d++) {
    if (shape->dims[d] % said->tiles.data[d] != 0) return false;
  }
  return true;
}

/* What is said of results speaks to what they come from. Results that may lie as suits the program are not cut into
 * unequal pieces, whatever a mark says of them: callers such as JAX know arrays of equal ones alone. */
static halo_status annotate_results(halo_spmd *p) {
  halo_instr *root = p->module->entry->root;
  const halo_spmd_node *node = halo_spmd_node_of(root);
  p->results = halo_arena_array(&p->arena, const halo_sharding *, node->count + 1);
  for (int32_t k = 0; k < node->count; k++) {
    HALO_TRY(annotate_said(p, root, k, &p->results[k]));
    if (annotate_open(root)) p->results[k] = NULL; /* it is a mark, and open */
    if (!p->results[k] || p->results[k]->kind == HALO_SHARDING_MANUAL) continue;
    halo_spmd_leaf *outside = annotate_new_leaf(p, node->leaves[k]->shape, NULL);
    HALO_TRY(annotate_box(p, root, p->results[k], outside));
    halo_spmd_link link = {node->leaves[k], outside};
    halo_vec_push(&p->links, link);
    int32_t index = halo_shape_is_tuple(root->shape) ? halo_leaf_element(root->shape, k) : 0;
    if (halo_spmd_is_free(p->module, true, index) &&
        !annotate_divides(p->results[k], outside->shape)) {
      p->results[k] = NULL;
    }
  }
  return HALO_OK;
}

/* ---- Manual regions ---- */

static bool annotate_spread_mask(halo_spmd_leaf *leaf, uint32_t mask) {
  uint32_t more = mask & ~leaf->box->sharding.manual;
  leaf->box->sharding.manual |= mask;
  return more != 0;
}

/* What is computed from what each partition has for itself is each partition's own. */
static bool annotate_spread_instr(const halo_instr *instr) {
  const halo_spmd_node *node = halo_spmd_node_of(instr);
  bool changed = false;
  uint32_t mask = 0;
  if (instr->opcode == HALO_OP_PARAMETER || instr->opcode == HALO_OP_TUPLE ||
      instr->opcode == HALO_OP_GET_TUPLE_ELEMENT || instr->opcode == HALO_OP_WHILE) {
    return false;
  }
  halo_spmd_marker marker = halo_spmd_marker_of(instr);
  if (marker == HALO_SPMD_TO_PART || marker == HALO_SPMD_TO_ALL) return false;
  bool leafwise = node->rule && instr->operand_count == 1 && halo_shape_is_tuple(instr->shape) &&
                  node->count == halo_spmd_node_of(instr->operands[0])->count;
  for (int32_t i = 0; i < instr->operand_count; i++) {
    const halo_spmd_node *from = halo_spmd_node_of(instr->operands[i]);
    bool branch = instr->opcode == HALO_OP_CONDITIONAL && i > 0;
    for (int32_t k = 0; k < from->count && !branch; k++)
      mask |= from->leaves[k]->box->sharding.manual;
  }
  for (int32_t k = 0; k < node->count; k++) {
    const halo_spmd_leaf *own = leafwise ? halo_spmd_node_of(instr->operands[0])->leaves[k] : NULL;
    changed |= annotate_spread_mask(node->leaves[k], own ? own->box->sharding.manual : mask);
  }
  return changed;
}

static void annotate_spread(halo_spmd *p) {
  for (bool changed = true; changed;) {
    changed = false;
    for (int32_t i = 0; i < p->instrs.count; i++)
      changed |= annotate_spread_instr(p->instrs.data[i]);
    for (int32_t i = 0; i < p->links.count; i++) {
      const halo_spmd_link *link = &p->links.data[i];
      changed |= annotate_spread_mask(link->b, link->a->box->sharding.manual);
    }
  }
}

/* Axes along which each partition has its own array do not cut it, and give no summands. */
static void annotate_drop_manual(halo_spmd *p) {
  for (int32_t i = 0; i < p->instrs.count; i++) {
    const halo_spmd_node *node = halo_spmd_node_of(p->instrs.data[i]);
    for (int32_t k = 0; k < node->count; k++) {
      halo_spmd_sharding *s = &node->leaves[k]->box->sharding;
      s->unreduced &= ~s->manual;
      for (int d = 0; d < s->rank; d++) {
        if (halo_spmd_axes_set(&s->dims[d]) & s->manual) s->dims[d].count = 0;
      }
    }
  }
}

/* How a region's arrays are cut along its manual axes the text says, in the shapes that they have there. */
static void annotate_bar(halo_spmd *p) {
  for (int32_t i = 0; i < p->instrs.count; i++) {
    const halo_instr *instr = p->instrs.data[i];
    if (halo_spmd_marker_of(instr) != HALO_SPMD_TO_PART) continue;
    halo_spmd_box *from = halo_spmd_node_of(instr->operands[0])->leaves[0]->box;
    const halo_spmd_box *to = halo_spmd_node_of(instr)->leaves[0]->box;
    from->barred |= to->sharding.manual & ~from->sharding.manual;
  }
}

/* A partition's place along the axes that are not in `manual`. */
static int64_t annotate_place(const halo_spmd *p, uint32_t manual, int64_t partition) {
  halo_spmd_axes rest = {0};
  for (int a = 0; a < p->mesh.axes; a++) {
    if (!(manual & 1u << a)) rest.id[rest.count++] = (int8_t)a;
  }
  return halo_spmd_position(p, &rest, partition % p->mesh.devices);
}

/* Whether a collective stays among partitions that differ along manual axes alone, so that what others of its arrays
 * are cut along is nothing to it. */
static halo_status annotate_stays(halo_spmd *p, const halo_instr *instr, bool *out) {
  uint32_t manual = halo_spmd_node_of(instr)->leaves[0]->box->sharding.manual;
  *out = manual != 0 && manual != (1u << p->mesh.axes) - 1;
  if (!*out) return HALO_OK;
  if (instr->opcode == HALO_OP_COLLECTIVE_PERMUTE) {
    int64_t *pairs;
    int32_t count;
    HALO_TRY(halo_collective_pairs(instr, &p->arena, &pairs, &count));
    for (int32_t i = 0; i < count; i++) {
      *out &=
          annotate_place(p, manual, pairs[2 * i]) == annotate_place(p, manual, pairs[2 * i + 1]);
    }
    return HALO_OK;
  }
  halo_groups groups;
  HALO_TRY(halo_collective_groups(instr, &p->arena, &groups));
  for (int32_t g = 0; g < groups.count; g++) {
    const int64_t *ids = groups.ids + groups.starts[g];
    for (int32_t i = 1; i < groups.starts[g + 1] - groups.starts[g]; i++) {
      *out &= annotate_place(p, manual, ids[i]) == annotate_place(p, manual, ids[0]);
    }
  }
  return HALO_OK;
}

static halo_status annotate_collectives(halo_spmd *p) {
  for (int32_t i = 0; i < p->instrs.count; i++) {
    const halo_instr *instr = p->instrs.data[i];
    halo_spmd_node *node = halo_spmd_node_of(instr);
    bool stays = true;
    if (!node->rule || !halo_opcode_has_trait(instr->opcode, HALO_TRAIT_COLL)) continue;
    HALO_TRY(annotate_stays(p, instr, &stays));
    if (!stays) node->rule = NULL;
  }
  return HALO_OK;
}

halo_status halo_spmd_annotate(halo_spmd *p) {
  for (int32_t c = 0; c < p->module->computations.count; c++) {
    p->module->computations.data[c]->mark = 0;
  }
  HALO_TRY(halo_module_check_size(p->module, true));
  annotate_claim(p->module->entry);
  HALO_TRY(annotate_params(p));
  HALO_TRY(annotate_computation(p, p->module->entry));
  HALO_TRY(annotate_results(p));
  halo_spmd_want_summands(p);
  annotate_spread(p);
  annotate_drop_manual(p);
  annotate_bar(p);
  return annotate_collectives(p);
}
