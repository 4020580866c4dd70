/* SPDX-License-Identifier: Apache-2.0 */
/* passes/expand/scatter.c: scatters whose indices are known and make one window, or a row of windows at equal
 * distances, as updates of a slice: they are no harder than that, and fuse as such. */
#include "passes/expand/expand.h"

/* Where windows lie in the operand: those next to each other along `dim` are one slice. */
typedef struct scatter_grid {
  int64_t start[HALO_MAX_RANK], size[HALO_MAX_RANK]; /* along each dimension of the operand */
  int64_t count, stride;                             /* windows along `dim`, and how far apart */
  int dim;                                           /* -1: there is one window */
  int64_t order[HALO_MAX_RANK]; /* dimensions of the updates, as the operand has them */
} scatter_grid;

/* ---- Indices ---- */

/* How deep an index may be computed, and how many windows are looked at. */
enum { SCATTER_DEPTH = 12, SCATTER_WINDOWS = 1 << 20 };

static bool scatter_known(const halo_instr *instr, const int64_t *at, int depth, int64_t *out);

static bool scatter_known_binary(const halo_instr *instr, const int64_t *at, int depth,
                                 int64_t *out) {
  int64_t a, b;
  if (!scatter_known(instr->operands[0], at, depth, &a) ||
      !scatter_known(instr->operands[1], at, depth, &b)) {
    return false;
  }
  if (instr->opcode == HALO_OP_ADD) return !__builtin_add_overflow(a, b, out);
  if (instr->opcode == HALO_OP_SUBTRACT) return !__builtin_sub_overflow(a, b, out);
  return !__builtin_mul_overflow(a, b, out);
}

/* Where the element at `at` lies among all of them. */
static int64_t scatter_position(const halo_shape *shape, const int64_t *at) {
  int64_t position = 0;
  for (int d = 0; d < shape->rank; d++) position = position * shape->dims[d] + at[d];
  return position;
}

static bool scatter_known_reshape(const halo_instr *instr, const int64_t *at, int depth,
                                  int64_t *out) {
  const halo_shape *from = instr->operands[0]->shape;
  int64_t position = scatter_position(instr->shape, at), before[HALO_MAX_RANK];
  for (int d = from->rank - 1; d >= 0; d--) {
    before[d] = position % from->dims[d];
    position /= from->dims[d];
  }
  return scatter_known(instr->operands[0], before, depth, out);
}

static bool scatter_known_broadcast(const halo_instr *instr, const int64_t *at, int depth,
                                    int64_t *out) {
  int32_t count;
  const int64_t *dims = halo_instr_ints(instr, HALO_ATTR_DIMENSIONS, &count);
  int64_t before[HALO_MAX_RANK];
  for (int32_t d = 0; d < count; d++) before[d] = at[dims[d]];
  return scatter_known(instr->operands[0], before, depth, out);
}

static bool scatter_known_part(const halo_instr *instr, const int64_t *at, int depth,
                               int64_t *out) {
  int64_t dim = halo_instr_attr(instr, HALO_ATTR_DIMENSIONS)->ints.data[0], before[HALO_MAX_RANK];
  for (int d = 0; d < instr->shape->rank; d++) before[d] = at[d];
  int32_t part = 0;
  while (before[dim] >= instr->operands[part]->shape->dims[dim]) {
    before[dim] -= instr->operands[part++]->shape->dims[dim];
  }
  return scatter_known(instr->operands[part], before, depth, out);
}

static bool scatter_known_constant(const halo_instr *instr, const int64_t *at, int64_t *out) {
  *out = halo_literal_get_i64(instr->literal, scatter_position(instr->shape, at));
  return !instr->literal->elided;
}

static bool scatter_known_value(const halo_instr *instr, const int64_t *at, int depth,
                                int64_t *out) {
  halo_opcode opcode = instr->opcode;
  if (opcode == HALO_OP_CONSTANT) return scatter_known_constant(instr, at, out);
  if (opcode == HALO_OP_IOTA) {
    *out = at[halo_instr_int(instr, HALO_ATTR_IOTA_DIMENSION, 0)];
    return true;
  }
  if (opcode == HALO_OP_ADD || opcode == HALO_OP_SUBTRACT || opcode == HALO_OP_MULTIPLY) {
    return scatter_known_binary(instr, at, depth, out);
  }
  if (opcode == HALO_OP_RESHAPE) return scatter_known_reshape(instr, at, depth, out);
  if (opcode == HALO_OP_BROADCAST) return scatter_known_broadcast(instr, at, depth, out);
  if (opcode == HALO_OP_CONCATENATE) return scatter_known_part(instr, at, depth, out);
  bool same = opcode == HALO_OP_COPY || opcode == HALO_OP_CONVERT;
  return same && scatter_known(instr->operands[0], at, depth, out);
}

/* The element at `at` of whole numbers that depend on nothing: folding leaves positions and uniform arrays as
 * the operations that make them. What could wrap around is left to the device. */
static bool scatter_known(const halo_instr *instr, const int64_t *at, int depth, int64_t *out) {
  halo_type type = instr->shape->type;
  if (depth == 0 || !halo_type_is_integral(type) || halo_type_size(type) < 4) return false;
  return scatter_known_value(instr, at, depth - 1, out) && *out >= 0 && *out <= INT32_MAX;
}

/* Index `k` of a window. */
static bool scatter_index(const halo_instr *scatter, int64_t window, int32_t k, int64_t *out) {
  const halo_shape *shape = scatter->operands[1]->shape;
  int vector_dim = (int)halo_instr_int(scatter, HALO_ATTR_INDEX_VECTOR_DIM, 0);
  int64_t at[HALO_MAX_RANK];
  for (int d = shape->rank - 1; d >= 0; d--) {
    if (d == vector_dim) {
      at[d] = k;
      continue;
    }
    at[d] = window % shape->dims[d];
    window /= shape->dims[d];
  }
  return scatter_known(scatter->operands[1], at, SCATTER_DEPTH, out);
}

/* ---- Windows ---- */

/* Sizes of a window along the operand's dimensions, and the order of the updates' dimensions, that of the number
 * of windows not among them: *numbered receives that one, or -1. False where several number them. */
static bool scatter_describe(const halo_instr *scatter, scatter_grid *g, int64_t *numbered) {
  int32_t inserted_count, window_count;
  const int64_t *inserted =
      halo_instr_ints(scatter, HALO_ATTR_INSERTED_WINDOW_DIMS, &inserted_count);
  const int64_t *window = halo_instr_ints(scatter, HALO_ATTR_UPDATE_WINDOW_DIMS, &window_count);
  const halo_shape *operand = scatter->operands[0]->shape, *updates = scatter->operands[2]->shape;
  int32_t next = 0;
  for (int d = 0; d < operand->rank; d++) {
    bool is_inserted = false;
    for (int32_t i = 0; i < inserted_count; i++) is_inserted |= inserted[i] == d;
    g->size[d] = is_inserted ? 1 : updates->dims[window[next]];
    g->order[d] = is_inserted ? -1 : window[next++];
  }
  *numbered = -1;
  g->count = 1;
  for (int u = 0; u < updates->rank; u++) {
    bool in_window = false;
    for (int32_t i = 0; i < window_count; i++) in_window |= window[i] == u;
    if (in_window || updates->dims[u] == 1) continue;
    if (*numbered >= 0) return false;
    *numbered = u;
    g->count = updates->dims[u];
  }
  return g->count > 0 && g->count <= SCATTER_WINDOWS;
}

/* Whether the windows are a slice of the operand that lies inside of it. */
static bool scatter_find_grid(const halo_instr *scatter, scatter_grid *g) {
  const halo_shape *operand = scatter->operands[0]->shape;
  int64_t numbered;
  int32_t map_count;
  const int64_t *map = halo_instr_ints(scatter, HALO_ATTR_SCATTER_DIMS_TO_OPERAND_DIMS, &map_count);
  *g = (scatter_grid){.stride = 1, .dim = -1};
  if (!scatter_describe(scatter, g, &numbered)) return false;
  for (int32_t k = 0; k < map_count; k++) {
    int d = (int)map[k];
    if (!scatter_index(scatter, 0, k, &g->start[d])) return false;
    if (g->count == 1) continue;
    int64_t next, stride;
    if (!scatter_index(scatter, 1, k, &next)) return false;
    stride = next - g->start[d];
    for (int64_t w = 2; w < g->count; w++) {
      if (!scatter_index(scatter, w, k, &next) || next != g->start[d] + w * stride) return false;
    }
    if (stride == 0) continue;
    if (stride < 0 || g->dim >= 0 || g->size[d] != 1) return false;
    g->dim = d;
    g->stride = stride;
  }
  if (g->count > 1 && g->dim < 0) return false; /* all at one place, one after the other */
  if (g->dim >= 0) {
    g->size[g->dim] = g->count;
    g->order[g->dim] = numbered;
  }
  for (int d = 0; d < operand->rank; d++) {
    int64_t last = g->start[d] + (g->size[d] - 1) * (d == g->dim ? g->stride : 1);
    if (g->start[d] < 0 || g->size[d] < 1 || last >= operand->dims[d]) return false;
  }
  return true;
}

/* ---- What becomes of them ---- */

/* The updates as the slice that they go to. */
static halo_instr *scatter_aligned(halo_expander *x, const scatter_grid *g, halo_instr *updates,
                                   int rank) {
  const halo_shape *shape = updates->shape;
  int64_t order[HALO_MAX_RANK], moved[HALO_MAX_RANK];
  int next = 0;
  bool used[HALO_MAX_RANK] = {false}, ordered = true;
  for (int d = 0; d < rank; d++) {
    if (g->order[d] < 0) continue;
    used[g->order[d]] = true;
    order[next++] = g->order[d];
  }
  /* What is left has one element. */
  for (int u = 0; u < shape->rank; u++) {
    if (!used[u]) order[next++] = u;
  }
  for (int i = 0; i < next; i++) {
    moved[i] = shape->dims[order[i]];
    ordered &= order[i] == i;
  }
  if (!ordered) {
    halo_arena *arena = &x->r->computation->module->arena;
    updates = halo_rewrite_make_listed(x->r, x->like, HALO_OP_TRANSPOSE,
                                       halo_shape_new(arena, shape->type, shape->rank, moved),
                                       updates, HALO_ATTR_DIMENSIONS, order, shape->rank);
  }
  return halo_expand_reshape(x, updates, rank, g->size);
}

/* What the scatter's computation, a simple operation, makes of old and new elements. */
static halo_instr *scatter_combine(halo_expander *x, const halo_computation *body, halo_instr *old,
                                   halo_instr *new) {
  const halo_instr *root = body->root;
  bool old_first = root->operands[0] == body->params.data[0];
  return halo_expand_binary(x, root->opcode, old_first ? old : new, old_first ? new : old);
}

static bool scatter_is_simple(const halo_computation *body) {
  const halo_instr *root = body->root, *a = body->params.data[0], *b = body->params.data[1];
  if (root == b) return true;
  bool binary = root->operand_count == 2 && halo_instr_is_bare(root) &&
                halo_opcode_exec(root->opcode) == HALO_EXEC_ELEMENTWISE;
  return binary && ((root->operands[0] == a && root->operands[1] == b) ||
                    (root->operands[0] == b && root->operands[1] == a));
}

/* The slice put in place between elements that stay: in a wider array, and chosen there. */
static halo_instr *scatter_spread(halo_expander *x, const scatter_grid *g, halo_instr *operand,
                                  halo_instr *slice) {
  const halo_shape *shape = operand->shape;
  int64_t padding[3 * HALO_MAX_RANK];
  for (int d = 0; d < shape->rank; d++) {
    int64_t between = d == g->dim ? g->stride - 1 : 0;
    int64_t extent = g->size[d] + (g->size[d] - 1) * between;
    padding[3 * d] = g->start[d];
    padding[3 * d + 1] = shape->dims[d] - g->start[d] - extent;
    padding[3 * d + 2] = between;
  }
  halo_instr *zero = halo_expand_scalar(x, shape->type, 0);
  halo_instr *no = halo_expand_scalar(x, HALO_PRED, 0), *yes = halo_expand_scalar(x, HALO_PRED, 1);
  halo_arena *arena = &x->r->computation->module->arena;
  const halo_shape *marks = halo_shape_new(arena, HALO_PRED, shape->rank, g->size);
  halo_instr *here = halo_expand_pad(x, halo_expand_splat(x, yes, marks), no, padding);
  return halo_expand_select(x, here, halo_expand_pad(x, slice, zero, padding), operand);
}

static halo_instr *scatter_update(halo_expander *x, const scatter_grid *g, halo_instr *operand,
                                  halo_instr *slice) {
  halo_instr *operands[2 + HALO_MAX_RANK] = {operand, slice};
  int rank = operand->shape->rank;
  halo_type type = HALO_S32;
  for (int d = 0; d < rank; d++) {
    if (operand->shape->dims[d] > INT32_MAX) type = HALO_S64;
  }
  for (int d = 0; d < rank; d++) {
    operands[2 + d] = halo_expand_scalar(x, type, (double)g->start[d]);
  }
  return halo_expand_op(x, HALO_OP_DYNAMIC_UPDATE_SLICE, operands, 2 + rank, NULL, 0);
}

halo_instr *halo_expand_scatter(halo_expander *x, halo_instr *scatter) {
  int32_t batching;
  halo_instr_ints(scatter, HALO_ATTR_INPUT_BATCHING_DIMS, &batching);
  const halo_computation *body = halo_instr_comp(scatter, HALO_ATTR_TO_APPLY);
  scatter_grid g;
  if (scatter->operand_count != 3 || !scatter_is_simple(body)) return NULL;
  if (batching) return halo_expand_scatter_rows(x, scatter);
  if (!scatter_find_grid(scatter, &g)) return NULL;
  halo_instr *operand = scatter->operands[0];
  int rank = operand->shape->rank;
  int64_t bounds[3 * HALO_MAX_RANK];
  for (int d = 0; d < rank; d++) {
    int64_t stride = d == g.dim ? g.stride : 1;
    bounds[3 * d] = g.start[d];
    bounds[3 * d + 1] = g.start[d] + (g.size[d] - 1) * stride + 1;
    bounds[3 * d + 2] = stride;
  }
  halo_instr *slice = scatter_aligned(x, &g, scatter->operands[2], rank);
  if (body->root != body->params.data[1]) {
    slice = scatter_combine(x, body, halo_expand_slice(x, operand, bounds), slice);
  }
  return g.stride > 1 ? scatter_spread(x, &g, operand, slice)
                      : scatter_update(x, &g, operand, slice);
}
