/* SPDX-License-Identifier: Apache-2.0 */
/* passes/expand/scatter_rows.c: scatters that put one element into each row of an array that is the same everywhere,
 * as what picking an element of each row becomes backwards: each element of the result is chosen by its place, which
 * fuses with whatever comes behind it. */
#include "passes/expand/expand.h"

/* The dimensions of rows, their number and that of places in a row. */
typedef struct scatter_rows {
  const int64_t *batch; /* ascending */
  int32_t count;
  int64_t dim, sizes[HALO_MAX_RANK]; /* of rows */
} scatter_rows;

static bool scatter_is_ascending(const int64_t *list, int32_t count) {
  for (int32_t i = 1; i < count; i++) {
    if (list[i] <= list[i - 1]) return false;
  }
  return true;
}

/* Whether an index is a row's, and there is one for each; and the same of updates. */
static bool scatter_is_one_a_row(const halo_instr *scatter, scatter_rows *rows) {
  int32_t count, inserted, window, mapped;
  const halo_shape *shape = scatter->operands[0]->shape, *indices = scatter->operands[1]->shape;
  rows->batch = halo_instr_ints(scatter, HALO_ATTR_INPUT_BATCHING_DIMS, &rows->count);
  const int64_t *batch = halo_instr_ints(scatter, HALO_ATTR_SCATTER_INDICES_BATCHING_DIMS, &count);
  const int64_t *map = halo_instr_ints(scatter, HALO_ATTR_SCATTER_DIMS_TO_OPERAND_DIMS, &mapped);
  halo_instr_ints(scatter, HALO_ATTR_INSERTED_WINDOW_DIMS, &inserted);
  halo_instr_ints(scatter, HALO_ATTR_UPDATE_WINDOW_DIMS, &window);
  if (rows->count != shape->rank - 1 || rows->count == 0 || mapped != 1 || inserted != 1 ||
      window != 0 || count != rows->count || !scatter_is_ascending(rows->batch, count) ||
      !scatter_is_ascending(batch, count)) {
    return false;
  }
  rows->dim = map[0];
  int64_t all = 1;
  for (int32_t i = 0; i < count; i++) {
    rows->sizes[i] = shape->dims[rows->batch[i]];
    all *= rows->sizes[i];
  }
  return halo_shape_element_count(indices) == all &&
         halo_shape_element_count(scatter->operands[2]->shape) == all;
}

/* Places that the index's type cannot count would be taken for others. */
static bool scatter_counts(const halo_instr *scatter, const scatter_rows *rows) {
  halo_type type = scatter->operands[1]->shape->type;
  return halo_type_size(type) >= 4 && scatter->operands[0]->shape->dims[rows->dim] <= INT32_MAX;
}

halo_instr *halo_expand_scatter_rows(halo_expander *x, halo_instr *scatter) {
  scatter_rows rows;
  halo_instr *operand = scatter->operands[0], *updates = scatter->operands[2];
  bool uniform = operand->opcode == HALO_OP_BROADCAST && operand->operands[0]->shape->rank == 0;
  if (!uniform || !scatter_is_one_a_row(scatter, &rows) || !scatter_counts(scatter, &rows)) {
    return NULL;
  }
  const halo_shape *shape = operand->shape;
  halo_arena *arena = &x->r->computation->module->arena;
  halo_instr *index = halo_expand_reshape(x, scatter->operands[1], rows.count, rows.sizes);
  updates = halo_expand_reshape(x, updates, rows.count, rows.sizes);
  updates = halo_expand_broadcast(x, updates, rows.batch, shape);
  const halo_shape *places =
      halo_shape_new(arena, scatter->operands[1]->shape->type, shape->rank, shape->dims);
  halo_instr *here = halo_expand_compare(x, halo_expand_iota(x, places, rows.dim), HALO_EQ,
                                         halo_expand_broadcast(x, index, rows.batch, shape));
  const halo_computation *body = halo_instr_comp(scatter, HALO_ATTR_TO_APPLY);
  if (body->root != body->params.data[1]) {
    bool old_first = body->root->operands[0] == body->params.data[0];
    updates = halo_expand_binary(x, body->root->opcode, old_first ? operand : updates,
                                 old_first ? updates : operand);
  }
  return halo_expand_select(x, here, updates, operand);
}
