/* SPDX-License-Identifier: Apache-2.0 */
/* partition/write.c: computations written anew, for one partition. */
#include "base/status.h"
#include "partition/spmd.h"

#include <string.h>

/* ---- Markers ---- */

static void write_same(halo_spmd *p, halo_instr *instr) {
  const halo_spmd_node *node = halo_spmd_node_of(instr),
                       *from = halo_spmd_node_of(instr->operands[0]);
  for (int32_t k = 0; k < node->count; k++) {
    halo_spmd_leaf *leaf = node->leaves[k];
    halo_instr *value = halo_spmd_value(p, from->leaves[k], &leaf->box->sharding);
    halo_spmd_define(p, leaf, value, &leaf->box->sharding);
  }
}

static halo_status write_fail_manual(const halo_instr *instr, const char *why) {
  return halo_fail(HALO_INVALID_ARGUMENT, "line %d: %s: %s", instr->line, instr->name, why);
}

/* The axes at the front of a list that are in a set; -1: some stand behind others. */
static int write_front(const halo_spmd_axes *axes, uint32_t set) {
  int n = 0;
  while (n < axes->count && (set & 1u << axes->id[n])) n++;
  for (int k = n; k < axes->count; k++) {
    if (set & 1u << axes->id[k]) return -1;
  }
  return n;
}

static halo_spmd_axes write_axes_part(const halo_spmd_axes *axes, int from, int count) {
  halo_spmd_axes part = {.count = (int8_t)count};
  memcpy(part.id, axes->id + from, (size_t)count);
  return part;
}

/* A tile of what was one array becomes an array of its own: the value is what it was. */
static halo_status write_to_part(halo_spmd *p, halo_instr *instr) {
  halo_spmd_leaf *to = halo_spmd_node_of(instr)->leaves[0];
  halo_spmd_leaf *from = halo_spmd_node_of(instr->operands[0])->leaves[0];
  uint32_t manual = to->box->sharding.manual & ~from->box->sharding.manual;
  halo_spmd_sharding cut = halo_spmd_copy(p, &from->box->sharding), rest;
  rest = halo_spmd_replicated(p, to->shape->rank, to->box->sharding.manual);
  if (from->shape->rank != to->shape->rank) {
    return write_fail_manual(instr, "the part has another rank than all of it");
  }
  for (int d = 0; d < cut.rank; d++) {
    int front = write_front(&cut.dims[d], manual);
    if (front < 0) return write_fail_manual(instr, "manual axes stand behind others");
    rest.dims[d] = write_axes_part(&cut.dims[d], front, cut.dims[d].count - front);
    halo_spmd_axes mine = write_axes_part(&cut.dims[d], 0, front);
    if (to->shape->dims[d] * halo_spmd_tiles(p, &mine) != from->shape->dims[d]) {
      return write_fail_manual(instr,
                               "the part's shape does not follow from the operand's sharding");
    }
  }
  rest.unreduced = cut.unreduced & ~manual;
  halo_spmd_define(p, to, halo_spmd_value(p, from, &cut), &rest);
  return HALO_OK;
}

/* The arrays of the partitions are tiles of one. */
static halo_status write_to_all(halo_spmd *p, halo_instr *instr) {
  halo_spmd_leaf *to = halo_spmd_node_of(instr)->leaves[0];
  halo_spmd_leaf *from = halo_spmd_node_of(instr->operands[0])->leaves[0];
  uint32_t manual = from->box->sharding.manual & ~to->box->sharding.manual;
  const halo_attr *said = halo_instr_attr(instr, HALO_ATTR_SHARDING);
  halo_spmd_sharding tiles, joined = halo_spmd_copy(p, &from->box->sharding);
  bool direct;
  if (!said || from->shape->rank != to->shape->rank) {
    return write_fail_manual(instr, "how the parts lie in all of it is not said");
  }
  HALO_TRY(halo_spmd_read(p, said->sharding, to->shape->rank, &tiles, &direct));
  if (!direct) return write_fail_manual(instr, "its devices follow no mesh");
  joined.manual = to->box->sharding.manual;
  joined.unreduced |= tiles.unreduced & manual;
  for (int d = 0; d < joined.rank; d++) {
    int front = write_front(&tiles.dims[d], manual);
    if (front < 0) return write_fail_manual(instr, "manual axes stand behind others");
    halo_spmd_axes axes = write_axes_part(&tiles.dims[d], 0, front);
    if (from->shape->dims[d] * halo_spmd_tiles(p, &axes) != to->shape->dims[d]) {
      return write_fail_manual(instr, "the whole shape does not follow from its sharding");
    }
    const halo_spmd_axes *inner = &from->box->sharding.dims[d];
    memcpy(axes.id + front, inner->id, (size_t)inner->count);
    axes.count = (int8_t)(front + inner->count);
    joined.dims[d] = axes;
  }
  halo_spmd_define(p, to, halo_spmd_value(p, from, &from->box->sharding), &joined);
  return HALO_OK;
}

/* ---- Without a rule ---- */

static const halo_attr *write_attrs(halo_spmd *p, const halo_instr *instr, int32_t *count) {
  halo_attr *attrs = halo_arena_array(&p->module->arena, halo_attr, instr->attr_count + 1);
  *count = 0;
  for (int32_t i = 0; i < instr->attr_count; i++) {
    halo_attr_id id = instr->attrs[i].id;
    if (id != HALO_ATTR_SHARDING && id != HALO_ATTR_METADATA) attrs[(*count)++] = instr->attrs[i];
  }
  return attrs;
}

typedef enum write_how { WRITE_EACH, WRITE_ALONE, WRITE_LATER, WRITE_NEVER } write_how;

/* Whether each partition does it by itself. What has effects does so in manual regions alone; elsewhere it happens
 * once, a send or receive where it ends. */
static write_how write_how_of(const halo_spmd *p, const halo_instr *instr) {
  const halo_spmd_node *node = halo_spmd_node_of(instr);
  uint32_t all = (1u << p->mesh.axes) - 1, mask = 0;
  for (int32_t k = 0; k < node->count; k++) mask |= node->leaves[k]->box->sharding.manual;
  for (int32_t i = 0; i < instr->operand_count; i++) {
    const halo_spmd_node *from = halo_spmd_node_of(instr->operands[i]);
    for (int32_t k = 0; k < from->count; k++) mask |= from->leaves[k]->box->sharding.manual;
  }
  if (mask == all) return WRITE_EACH;
  if (halo_opcode_has_trait(instr->opcode, HALO_TRAIT_ASYNC)) return WRITE_NEVER;
  if (halo_opcode_has_trait(instr->opcode, HALO_TRAIT_COLL)) return mask ? WRITE_EACH : WRITE_NEVER;
  bool random = instr->opcode == HALO_OP_RNG || instr->opcode == HALO_OP_RNG_GET_AND_UPDATE_STATE;
  if (random || !halo_instr_has_side_effect(instr)) return WRITE_EACH;
  if (mask) return WRITE_NEVER;
  switch ((int)instr->opcode) {
    case HALO_OP_SEND:
    case HALO_OP_RECV:
      return halo_instr_int(instr, HALO_ATTR_IS_HOST_TRANSFER, 0) ? WRITE_LATER : WRITE_NEVER;
    case HALO_OP_SEND_DONE:
    case HALO_OP_RECV_DONE: {
      halo_opcode begins = instr->opcode == HALO_OP_SEND_DONE ? HALO_OP_SEND : HALO_OP_RECV;
      return instr->operands[0]->opcode == begins ? WRITE_ALONE : WRITE_NEVER;
    }
    case HALO_OP_INFEED:
    case HALO_OP_OUTFEED:
    case HALO_OP_CUSTOM_CALL: return WRITE_ALONE;
    default: return WRITE_NEVER;
  }
}

static halo_status write_fail_never(const halo_instr *instr) {
  return halo_fail(HALO_UNIMPLEMENTED,
                   "line %d: %s: %s in a program that is to be partitioned is not done",
                   instr->line, instr->name, halo_opcode_name(instr->opcode));
}

static halo_status write_whole(halo_spmd *p, halo_instr *instr) {
  halo_spmd_node *node = halo_spmd_node_of(instr);
  halo_instr **operands = halo_arena_array(&p->arena, halo_instr *, instr->operand_count + 1);
  for (int32_t i = 0; i < instr->operand_count; i++) {
    operands[i] = halo_spmd_whole_operand(p, instr->operands[i]);
    if (!operands[i]) return p->x.status;
  }
  halo_instr_spec spec = {.opcode = instr->opcode,
                          .name = instr->name,
                          .shape = instr->shape,
                          .operands = operands,
                          .operand_count = instr->operand_count,
                          .literal = instr->literal,
                          .line = instr->line};
  spec.attrs = write_attrs(p, instr, &spec.attr_count);
  node->written = halo_instr_create_unchecked(p->r.computation, &spec);
  const halo_attr *metadata = halo_instr_attr(instr, HALO_ATTR_METADATA);
  if (metadata) halo_instr_set_attr(node->written, metadata);
  halo_instr **values = halo_arena_array(&p->arena, halo_instr *, node->count + 1);
  halo_spmd_unpack(p, node->written, values);
  for (int32_t k = 0; k < node->count; k++) {
    halo_spmd_leaf *leaf = node->leaves[k];
    halo_spmd_sharding all = halo_spmd_replicated(p, leaf->shape->rank, leaf->box->sharding.manual);
    halo_spmd_define(p, leaf, values[k], &all);
  }
  return p->x.status;
}

/* ---- Loops and branches ---- */

/* Leaves as one value under the shardings of others. */
static halo_instr *write_as(halo_spmd *p, const halo_shape *shape, const halo_spmd_node *from,
                            const halo_spmd_node *like) {
  halo_instr **values = halo_arena_array(&p->arena, halo_instr *, from->count + 1);
  for (int32_t k = 0; k < from->count; k++) {
    values[k] = halo_spmd_value(p, from->leaves[k], &like->leaves[k]->box->sharding);
    if (!values[k]) return NULL;
    const halo_shape *layout = halo_shape_with_default_layout(&p->module->arena, values[k]->shape);
    if (halo_shape_is_array(layout) && !halo_shape_equal(layout, values[k]->shape)) {
      values[k] = halo_rewrite_make_unary(&p->r, p->x.like, HALO_OP_COPY, layout, values[k]);
    }
  }
  return halo_spmd_pack(p, shape, values);
}

static const halo_shape *write_local_shape(halo_spmd *p, const halo_shape *shape,
                                           const halo_spmd_node *node) {
  const halo_shape **leaves = halo_arena_array(&p->arena, const halo_shape *, node->count + 1);
  for (int32_t k = 0; k < node->count; k++) {
    leaves[k] = halo_shape_with_default_layout(
        &p->module->arena,
        halo_spmd_local(p, node->leaves[k]->shape, &node->leaves[k]->box->sharding));
  }
  return halo_spmd_with_leaves(p, shape, leaves);
}

static void write_define_all(halo_spmd *p, halo_spmd_node *node, halo_instr *value) {
  halo_instr **values = halo_arena_array(&p->arena, halo_instr *, node->count + 1);
  halo_spmd_unpack(p, value, values);
  for (int32_t k = 0; k < node->count; k++) {
    halo_spmd_define(p, node->leaves[k], values[k], &node->leaves[k]->box->sharding);
  }
}

static halo_status write_body(halo_spmd *p, halo_computation *computation);

/* A computation of a loop or branch; its root takes the shardings of `result`'s leaves (NULL: all of it
 * everywhere). */
static halo_status write_called(halo_spmd *p, halo_computation *computation,
                                const halo_spmd_node *result) {
  halo_rewriter r = p->r;
  halo_expander x = p->x;
  halo_instr *old = computation->params.data[0], *old_root = computation->root;
  p->r = (halo_rewriter){.computation = computation};
  p->x.like = old;
  halo_status status = write_body(p, computation);
  if (status == HALO_OK) {
    halo_instr *root = result ? write_as(p, old_root->shape, halo_spmd_node_of(old_root), result)
                              : halo_spmd_whole_operand(p, old_root);
    status = p->x.status;
    if (root) computation->root = root;
  }
  if (status == HALO_OK) status = halo_spmd_tidy(p, computation);
  halo_status inner = p->x.status;
  p->r = r;
  p->x = x;
  p->x.status = inner;
  return status;
}

static halo_instr *write_control(halo_spmd *p, halo_instr *instr, halo_instr *const *operands) {
  halo_spmd_node *node = halo_spmd_node_of(instr);
  int32_t count;
  const halo_attr *attrs = write_attrs(p, instr, &count);
  node->written =
      halo_rewrite_make(&p->r, instr, instr->opcode, write_local_shape(p, instr->shape, node),
                        operands, instr->operand_count, attrs, count);
  write_define_all(p, node, node->written);
  return node->written;
}

static halo_status write_while(halo_spmd *p, halo_instr *instr) {
  const halo_spmd_node *state = halo_spmd_node_of(instr);
  halo_instr *init = write_as(p, instr->shape, halo_spmd_node_of(instr->operands[0]), state);
  if (!init) return p->x.status;
  HALO_TRY(write_called(p, halo_instr_comp(instr, HALO_ATTR_CONDITION), NULL));
  HALO_TRY(write_called(p, halo_instr_comp(instr, HALO_ATTR_BODY), state));
  write_control(p, instr, &init);
  return p->x.status;
}

static halo_status write_conditional(halo_spmd *p, halo_instr *instr) {
  halo_instr **operands = halo_arena_array(&p->arena, halo_instr *, instr->operand_count + 1);
  operands[0] = halo_spmd_whole_operand(p, instr->operands[0]);
  for (int32_t b = 0; b + 1 < instr->operand_count; b++) {
    halo_computation *branch = halo_conditional_branch(instr, b);
    const halo_instr *operand = instr->operands[1 + b];
    operands[1 + b] = write_as(p, operand->shape, halo_spmd_node_of(operand),
                               halo_spmd_node_of(branch->params.data[0]));
    if (!operands[0] || !operands[1 + b]) return p->x.status;
    HALO_TRY(write_called(p, branch, halo_spmd_node_of(instr)));
  }
  write_control(p, instr, operands);
  return p->x.status;
}

/* ---- Instructions ---- */

/* Keeps what comes before from what comes behind, leaf by leaf. */
static halo_status write_barrier(halo_spmd *p, halo_instr *instr) {
  halo_spmd_node *node = halo_spmd_node_of(instr);
  halo_instr *value = write_as(p, instr->shape, halo_spmd_node_of(instr->operands[0]), node);
  if (!value) return p->x.status;
  node->written = halo_rewrite_make_unary(&p->r, instr, HALO_OP_OPT_BARRIER, value->shape, value);
  write_define_all(p, node, node->written);
  return p->x.status;
}

/* A constant of which all elements are the same: one number, as often as each partition needs it. */
static bool write_splat(halo_spmd *p, halo_instr *instr) {
  halo_spmd_leaf *leaf = halo_spmd_node_of(instr)->leaves[0];
  const halo_shape *shape = instr->shape;
  if (instr->opcode != HALO_OP_CONSTANT || !halo_shape_is_array(shape) || shape->rank == 0)
    return false;
  size_t size = halo_type_size(shape->type);
  int64_t count = halo_shape_element_count(shape);
  const char *data = instr->literal->data;
  if (count < 2 || halo_spmd_set(&leaf->box->sharding) == 0 ||
      memcmp(data, data + size, size * (size_t)(count - 1)) != 0) {
    return false;
  }
  halo_literal *one;
  const halo_shape *scalar = halo_shape_new(&p->module->arena, shape->type, 0, NULL);
  if (halo_literal_create(scalar, &one) != HALO_OK) return false;
  memcpy(one->data, data, size);
  halo_instr *number = halo_rewrite_make_constant(&p->r, instr, one);
  halo_spmd_sharding cut = halo_spmd_copy(p, &leaf->box->sharding);
  cut.unreduced = 0; /* each partition has the number itself, no summand of it */
  halo_instr *value = halo_expand_splat(&p->x, number, halo_spmd_local(p, shape, &cut));
  halo_spmd_define(p, leaf, value, &cut);
  return true;
}

static halo_status write_instr(halo_spmd *p, halo_instr *instr) {
  const halo_spmd_node *node = halo_spmd_node_of(instr);
  p->x.like = instr;
  switch ((int)instr->opcode) {
    case HALO_OP_PARAMETER:
    case HALO_OP_TUPLE:
    case HALO_OP_GET_TUPLE_ELEMENT: return HALO_OK;
    case HALO_OP_WHILE: return write_while(p, instr);
    case HALO_OP_CONDITIONAL: return write_conditional(p, instr);
    case HALO_OP_OPT_BARRIER: return write_barrier(p, instr);
    default: break;
  }
  switch (halo_spmd_marker_of(instr)) {
    case HALO_SPMD_SAME: write_same(p, instr); return p->x.status;
    case HALO_SPMD_TO_PART: return write_to_part(p, instr);
    case HALO_SPMD_TO_ALL: return write_to_all(p, instr);
    case HALO_SPMD_NO_MARKER: break;
  }
  if (instr->opcode == HALO_OP_COPY && halo_shape_is_tuple(instr->shape)) {
    write_same(p, instr);
    return p->x.status;
  }
  if (halo_spmd_is_custom(instr)) return halo_spmd_write_custom(p, instr);
  if (halo_spmd_is_pieces(instr)) return halo_spmd_write_pieces(p, instr);
  if (!node->rule || node->rule->operands != instr->operand_count) {
    switch (write_how_of(p, instr)) {
      case WRITE_EACH: return write_splat(p, instr) ? p->x.status : write_whole(p, instr);
      case WRITE_ALONE: return halo_spmd_write_single(p, instr);
      case WRITE_LATER: return HALO_OK;
      case WRITE_NEVER: return write_fail_never(instr);
    }
  }
  halo_spmd_write_ruled(p, instr);
  return p->x.status;
}

/* Order that the text asked for beside that of the data. */
static void write_control_edges(halo_instr *const *old, int32_t count) {
  for (int32_t i = 0; i < count; i++) {
    halo_instr *after = halo_spmd_node_of(old[i])->written;
    for (int32_t k = 0; k < old[i]->control_pred_count && after; k++) {
      halo_instr *before = halo_spmd_node_of(old[i]->control_preds[k])->written;
      if (before && before->parent == after->parent) halo_rewrite_add_control_pred(after, before);
    }
  }
}

/* The new instructions in the place of the old ones, all but the root. */
static halo_status write_body(halo_spmd *p, halo_computation *computation) {
  int32_t count = computation->instrs.count;
  halo_instr **old = halo_arena_array(&p->arena, halo_instr *, count + 1);
  for (int32_t i = 0; i < count; i++) old[i] = computation->instrs.data[i];
  computation->instrs.count = 0;
  if (computation == p->module->entry) {
    HALO_TRY(halo_spmd_write_params(p));
  } else {
    halo_instr *param = computation->params.data[0];
    halo_spmd_node *node = halo_spmd_node_of(param);
    halo_instr_spec spec = {.opcode = HALO_OP_PARAMETER,
                            .name = param->name,
                            .shape = write_local_shape(p, param->shape, node),
                            .line = param->line};
    computation->params.data[0] = NULL;
    write_define_all(p, node, halo_instr_create_unchecked(computation, &spec));
  }
  for (int32_t i = 0; i < count; i++) HALO_TRY(write_instr(p, old[i]));
  write_control_edges(old, count);
  return HALO_OK;
}

halo_status halo_spmd_write(halo_spmd *p) {
  halo_computation *entry = p->module->entry;
  const halo_instr *root = entry->root;
  p->r = (halo_rewriter){.computation = entry};
  p->x = (halo_expander){.r = &p->r, .like = root};
  HALO_TRY(write_body(p, entry));
  p->x.like = root;
  HALO_TRY(halo_spmd_write_results(p, root));
  return halo_spmd_tidy(p, entry);
}
