/* kernels/rows.c: chains of reductions of the same rows, and everything elementwise around them, in one
 * kernel. rows:item has a work item a row, for CPUs, whose compilers make vectors of its loops; rows:group a
 * work group a row. What takes long to compute, and is needed more than once, is kept. The order in which
 * elements are combined depends on the row's length and the class of device alone. */
#include "kernels/families.h"
#include "kernels/rows_text.h"

enum {
  ROWS_GROUP = 256,        /* work items of a group, at most */
  ROWS_ITEM_KEEPS = 32768, /* bytes that a work item of a CPU keeps: what its nearest cache holds */
  ROWS_GROUP_KEEPS = 16384,
  ROWS_DEAR = 6 /* simple operations that are more than keeping what they make */
};

/* Work items a row of rows:group, as its length and the device's limits allow. */
static int rows_group(const halo_lowering *l, const halo_rows_view *v) {
  uint64_t most = l->caps->local_memory / (uint64_t)(2 * 8 * v->count);
  if (most > l->caps->max_work_group) most = l->caps->max_work_group;
  if (most > l->caps->max_items[0]) most = l->caps->max_items[0];
  int local = 1;
  while (local < ROWS_GROUP && local < v->rows.n && 2 * (uint64_t)local <= most) local *= 2;
  return local;
}

/* Whether results are large enough, and of a form, to be written past a CPU's caches. */
static bool rows_streams(const halo_lowering *l, const halo_rows_view *v) {
  const halo_shape *shape = halo_lowering_root(l)->shape;
  int64_t bytes = 0;
  for (int32_t k = 0; k < halo_shape_leaf_count(shape); k++) {
    const halo_shape *leaf = halo_leaf_shape(shape, k);
    if (halo_shape_element_count(leaf) == v->rows.outer) continue;
    if (halo_type_size(leaf->type) != 4 || !halo_shape_has_default_layout(leaf)) return false;
    bytes += halo_shape_byte_size(leaf);
  }
  return l->caps->is_cpu && v->rows.n % HALO_ROWS_STREAM == 0 && bytes >= HALO_STREAM_BYTES;
}

/* Inputs whose elements a work item reads in its row alone, or at its own places of the row, before it writes
 * there. A group's values of the row are written while others may still read what belongs to the row. */
static uint64_t rows_in_place(const halo_lowering *l, const halo_rows_view *v, bool group) {
  const halo_computation *body = l->computation;
  const halo_shape *shape = body->root->shape;
  for (int32_t k = 0; k < halo_shape_leaf_count(shape); k++) {
    const halo_shape *leaf = halo_leaf_shape(shape, k);
    bool row = halo_shape_element_count(leaf) == v->rows.outer;
    if (!halo_shape_has_default_layout(leaf) || (group && row)) return 0;
  }
  uint64_t bits = v->reads;
  for (int32_t p = 0; p < body->params.count; p++) {
    const halo_shape *from = body->params.data[p]->shape;
    if (!halo_shape_is_array(from)) return 0;
    bool elements = halo_shape_element_count(from) != v->rows.outer;
    if (p < 64 && (!halo_shape_has_default_layout(from) || !elements)) bits &= ~(1ull << p);
  }
  return bits;
}

static halo_status rows_lower(halo_lowering *l, bool group) {
  halo_rows_text t = {.l = l};
  const char *why;
  halo_rows_describe(l->computation, &t.v, &why);
  t.local = group ? rows_group(l, &t.v) : 1;
  t.stream = !group && rows_streams(l, &t.v);
  t.name = halo_kernel_name(l, "rows");
  for (int32_t h = 0; h < t.v.count; h++) {
    const char *name = halo_arena_printf(l->arena, "%s_%d", t.name, h);
    HALO_TRY(halo_accumulator_declare(l, &t.accumulators[h], name, &t.v.heroes[h].value, 1));
  }
  int64_t keeps = ROWS_ITEM_KEEPS;
  if (t.local > 1) {
    keeps = (int64_t)l->caps->local_memory - 8 * t.v.count * (int64_t)t.local;
    if (keeps > ROWS_GROUP_KEEPS) keeps = ROWS_GROUP_KEEPS;
  }
  halo_rows_write(&t, keeps, t.local > 1 ? 1 : ROWS_DEAR);
  if (t.e.status == HALO_OK) {
    const char *how = group ? "group" : "item";
    const char *label = halo_arena_printf(l->arena, "%s rows:%s", l->name, how);
    uint64_t in_place = rows_in_place(l, &t.v, group);
    halo_launch *launch = halo_kernel_add(l, &t.e, t.name, label, in_place);
    int64_t rows = t.v.rows.outer;
    size_t local = (size_t)t.local;
    if (t.local == 1) {
      /* A few rows a group, so that groups cost nothing, but enough groups to share out evenly. */
      while (local < 32 && rows >= (int64_t)(64 * local)) local *= 2;
      launch->any_local = true;
      launch->global[0] = ((size_t)rows + local - 1) / local * local;
    } else {
      launch->global[0] = (size_t)rows * local;
    }
    launch->local[0] = local;
  }
  halo_status status = t.e.status;
  halo_rows_text_deinit(&t);
  return status;
}

static halo_status rows_item_lower(halo_lowering *l) { return rows_lower(l, false); }

static halo_status rows_group_lower(halo_lowering *l) { return rows_lower(l, true); }

static bool rows_supports(const halo_lowering *l, const char **why) {
  halo_rows_view v;
  return halo_rows_describe(l->computation, &v, why);
}

static bool rows_loop_supports(const halo_lowering *l, const char **why) {
  const halo_shape *shape = halo_lowering_root(l)->shape;
  *why = "results have different numbers of elements";
  for (int32_t k = 1; k < halo_shape_leaf_count(shape); k++) {
    if (halo_shape_element_count(halo_leaf_shape(shape, k)) !=
        halo_shape_element_count(halo_leaf_shape(shape, 0))) {
      return false;
    }
  }
  return rows_supports(l, why);
}

/* Bytes that phases read and results take; `slower`: for what neighbours in a row are not worked on side by
 * side. */
static double rows_cost(const halo_lowering *l, double slower) {
  halo_rows_view v;
  const char *why;
  halo_rows_describe(l->computation, &v, &why);
  double elements = (double)v.rows.outer * (double)v.rows.n;
  return halo_lowering_seconds(l, 4 * elements * (2 + v.phases + 2 * v.elements) * slower);
}

static double rows_item_cost(const halo_lowering *l) {
  return rows_cost(l, l->caps->is_cpu ? 1 : 16);
}

static double rows_group_cost(const halo_lowering *l) {
  return rows_cost(l, l->caps->is_cpu ? 4 : 1);
}

/* Each element of a result goes over its row anew, and over that for each element there ... */
static double rows_loop_cost(const halo_lowering *l) {
  halo_rows_view v;
  const char *why;
  halo_rows_describe(l->computation, &v, &why);
  double work = 1;
  for (int p = v.elements ? 0 : 1; p < v.phases; p++) work *= (double)v.rows.n;
  return rows_cost(l, work);
}

static const halo_implementation rows_implementations[] = {
    {"item", rows_supports, rows_item_cost, rows_item_lower},
    {"group", rows_supports, rows_group_cost, rows_group_lower},
    {"loop", rows_loop_supports, rows_loop_cost, halo_loop_lower},
    {0}};
const halo_family halo_family_rows = {"rows", HALO_OPCODE_COUNT, rows_implementations};
