/* SPDX-License-Identifier: Apache-2.0 */
/* passes/fuse/placed_updates.c: rows that are put into a value which what makes it, and what reads it, do elementwise. Each element
 * is chosen by its place: then all of that is one kernel, where an update in place needs the value in memory, and
 * whoever reads it goes through it once more. */
#include "base/memory.h"
#include "passes/passes.h"
#include "rewrite/expander.h"
#include "rewrite/users.h"

/* Where the update lies: at one place along some dimensions, and all along the others. */
typedef struct placed_site {
  int64_t sizes
      [HALO_MAX_RANK]; /* of the update along each dimension of the operand: 1, or all there is */
  int64_t dims[HALO_MAX_RANK]; /* those along which it is at one place */
  int32_t count;
} placed_site;

/* Whole numbers that can count places. */
static bool placed_counts(const halo_instr *index, const halo_shape *shape) {
  halo_type type = index->shape->type;
  if (halo_type_size(type) < 4) return false;
  for (int d = 0; d < shape->rank; d++) {
    if (shape->dims[d] > INT32_MAX) return false;
  }
  return true;
}

static bool placed_slice_site(const halo_instr *update, placed_site *site) {
  const halo_shape *shape = update->shape, *part = update->operands[1]->shape;
  *site = (placed_site){.count = 0};
  for (int d = 0; d < shape->rank; d++) {
    site->sizes[d] = part->dims[d];
    if (part->dims[d] == shape->dims[d]) continue;
    if (part->dims[d] != 1) return false;
    site->dims[site->count++] = d;
  }
  return site->count > 0 && placed_counts(update->operands[2 + site->dims[0]], shape);
}

/* Of scatters those of one window, whose dimensions come as the operand has them. */
static bool placed_scatter_site(const halo_instr *scatter, placed_site *site) {
  int32_t batching, mapped, inserted_count, window_count;
  const int64_t *map = halo_instr_ints(scatter, HALO_ATTR_SCATTER_DIMS_TO_OPERAND_DIMS, &mapped);
  const int64_t *inserted =
      halo_instr_ints(scatter, HALO_ATTR_INSERTED_WINDOW_DIMS, &inserted_count);
  const int64_t *window = halo_instr_ints(scatter, HALO_ATTR_UPDATE_WINDOW_DIMS, &window_count);
  halo_instr_ints(scatter, HALO_ATTR_INPUT_BATCHING_DIMS, &batching);
  if (scatter->operand_count != 3 || batching > 0) return false;
  const halo_shape *shape = scatter->shape, *updates = scatter->operands[2]->shape;
  if (mapped == 0 || halo_shape_element_count(scatter->operands[1]->shape) != mapped ||
      !placed_counts(scatter->operands[1], shape)) {
    return false;
  }
  *site = (placed_site){.count = mapped};
  int32_t next = 0;
  for (int d = 0; d < shape->rank; d++) {
    bool is_inserted = false, is_mapped = false;
    for (int32_t i = 0; i < inserted_count; i++) is_inserted |= inserted[i] == d;
    for (int32_t i = 0; i < mapped; i++) is_mapped |= map[i] == d;
    if (!is_inserted && next > 0 && window[next] < window[next - 1]) return false;
    site->sizes[d] = is_inserted ? 1 : updates->dims[window[next++]];
    if (site->sizes[d] != (is_mapped ? 1 : shape->dims[d])) return false;
  }
  for (int32_t i = 0; i < mapped; i++) site->dims[i] = map[i];
  return true;
}

/* What the scatter's computation makes of old and new elements is the new ones. */
static bool placed_replaces(const halo_instr *scatter) {
  const halo_computation *body = halo_instr_comp(scatter, HALO_ATTR_TO_APPLY);
  return body->root == body->params.data[1];
}

static bool placed_find(const halo_instr *instr, placed_site *site) {
  if (instr->opcode == HALO_OP_DYNAMIC_UPDATE_SLICE) return placed_slice_site(instr, site);
  return instr->opcode == HALO_OP_SCATTER && placed_scatter_site(instr, site) &&
         placed_replaces(instr);
}

static bool placed_is_elementwise(const halo_instr *instr, const halo_shape *shape) {
  return halo_opcode_exec(instr->opcode) == HALO_EXEC_ELEMENTWISE && instr->operand_count > 0 &&
         halo_shape_is_array(instr->shape) && halo_shape_same_dims(instr->shape, shape);
}

/* Whether the value is made elementwise for this update alone, and only one elementwise operation reads the result. */
static bool placed_fits(const halo_computation *c, const halo_users *users, const halo_instr *instr,
                        placed_site *site) {
  if (!placed_find(instr, site) || instr->control_pred_count > 0 || instr == c->root) return false;
  const halo_instr *operand = instr->operands[0];
  int32_t before = operand->mark, here = instr->mark;
  return users->first[before + 1] - users->first[before] == 1 &&
         users->first[here + 1] - users->first[here] == 1 &&
         placed_is_elementwise(operand, instr->shape) &&
         placed_is_elementwise(c->instrs.data[users->list[users->first[here]]], instr->shape);
}

/* The place along the i-th of the site's dimensions. */
static halo_instr *placed_index(halo_expander *x, const halo_instr *instr, const placed_site *site,
                                int32_t i) {
  if (instr->opcode == HALO_OP_SCATTER) {
    const int64_t all = site->count;
    halo_instr *indices = halo_expand_reshape(x, instr->operands[1], 1, &all);
    return halo_expand_reshape(x, halo_expand_range(x, indices, 0, i, i + 1), 0, NULL);
  }
  halo_instr *start = instr->operands[2 + site->dims[i]];
  halo_type type = start->shape->type;
  int64_t last = instr->shape->dims[site->dims[i]] - 1;
  start = halo_expand_binary(x, HALO_OP_MAXIMUM, start, halo_expand_scalar(x, type, 0));
  return halo_expand_binary(x, HALO_OP_MINIMUM, start, halo_expand_scalar(x, type, (double)last));
}

static halo_instr *placed_choice(halo_expander *x, const halo_instr *instr,
                                 const placed_site *site) {
  const halo_shape *shape = instr->shape;
  halo_arena *arena = &x->r->computation->module->arena;
  halo_instr *here = NULL;
  for (int32_t i = 0; i < site->count; i++) {
    halo_instr *index = placed_index(x, instr, site, i);
    if (!index) return NULL;
    const halo_shape *places = halo_shape_new(arena, index->shape->type, shape->rank, shape->dims);
    halo_instr *same = halo_expand_compare(x, halo_expand_iota(x, places, site->dims[i]), HALO_EQ,
                                           halo_expand_splat(x, index, places));
    here = here ? halo_expand_binary(x, HALO_OP_AND, here, same) : same;
  }
  int64_t kept[HALO_MAX_RANK], sizes[HALO_MAX_RANK];
  int rank = 0;
  for (int d = 0; d < shape->rank; d++) {
    bool single = false;
    for (int32_t i = 0; i < site->count; i++) single |= site->dims[i] == d;
    if (single) continue;
    kept[rank] = d;
    sizes[rank++] = site->sizes[d];
  }
  halo_instr *update = instr->operands[instr->opcode == HALO_OP_SCATTER ? 2 : 1];
  update = halo_expand_broadcast(x, halo_expand_reshape(x, update, rank, sizes), kept, shape);
  return halo_expand_select(x, here, update, instr->operands[0]);
}

static halo_status placed_computation(halo_computation *c, bool *changed) {
  int32_t count = c->instrs.count;
  bool *fits = halo_alloc((size_t)count);
  placed_site site;
  halo_users users;
  bool any = false;
  for (int32_t i = 0; i < count; i++) c->instrs.data[i]->mark = i;
  halo_users_collect(&users, c, true);
  for (int32_t i = 0; i < count; i++) {
    fits[i] = placed_fits(c, &users, c->instrs.data[i], &site);
    any |= fits[i];
  }
  halo_users_deinit(&users);
  halo_status status = HALO_OK;
  halo_rewriter r;
  if (any) halo_rewrite_begin(&r, c);
  for (int32_t i = 0; any && i < count && status == HALO_OK; i++) {
    halo_instr *instr = halo_rewrite_next(&r, i);
    if (!instr || !fits[i] || !placed_find(instr, &site)) continue;
    halo_expander x = {.r = &r, .like = instr};
    halo_instr *value = placed_choice(&x, instr, &site);
    status = x.status;
    if (value && status == HALO_OK) halo_rewrite_replace(&r, instr, value);
  }
  halo_free(fits);
  halo_status ended = any ? halo_rewrite_end(&r, changed) : HALO_OK;
  return status != HALO_OK ? status : ended;
}

halo_status halo_pass_placed_updates(halo_module *module, bool *changed) {
  HALO_TRY(halo_rewrite_computations(module, placed_computation, changed));
  if (*changed) halo_module_remove_dead(module);
  return HALO_OK;
}
