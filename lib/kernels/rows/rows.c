/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/rows/rows.c: chains of reductions of the same rows, and everything elementwise around them, in one
 * kernel. rows:item has a work item a row, for CPUs, whose compilers make vectors of its loops; rows:group a
 * work group a row; rows:few a work item a row without loops, for short rows. What takes long to compute, and is needed more than once, is kept. The order in which
 * elements are combined depends on the row's length and the class of device alone. */
#include "kernels/families.h"
#include "kernels/rows/text.h"

#include <math.h>

enum {
  ROWS_FEW = 16,           /* elements of a row that are written out */
  ROWS_ITEM_KEEPS = 32768, /* bytes that a work item of a CPU keeps: what its nearest cache holds */
  ROWS_GROUP_KEEPS = 16384,
  ROWS_IN_REGION = 16, /* rows, at most, whose groups are as large as a region's */
  ROWS_DEAR = 6        /* simple operations that are more than keeping what they make */
};

/* Work items a row of rows:group, as its length and the device's limits allow. */
static int rows_group(const halo_lowering *l, const halo_rows_desc *v) {
  uint64_t most = l->caps->local_memory / (uint64_t)(2 * 8 * v->count);
  if (most > halo_caps_largest_group(l->caps)) most = halo_caps_largest_group(l->caps);
  int local = 1;
  const int wanted = halo_lowering_parameters(l)->rows_group_items;
  /* Regions hold groups of their own size. Of few rows that costs nothing: idle work items combine nothing. */
  bool whole = l->region && v->rows.outer <= ROWS_IN_REGION;
  while (local < wanted && (whole || local < v->rows.n) && 2 * (uint64_t)local <= most) local *= 2;
  return local;
}

/* How a CPU's work item stores results that have elements. Narrow ones fill no line of a cache. */
static void rows_choose_stores(halo_rows_text *t) {
  const halo_lowering *l = t->l;
  const halo_shape *shape = halo_lowering_root(l)->shape;
  int64_t bytes = 0;
  bool wide = true;
  t->lines = l->caps->is_cpu && t->v.rows.n % HALO_ROWS_LINE == 0;
  for (int32_t k = 0; k < halo_shape_leaf_count(shape); k++) {
    const halo_shape *leaf = halo_leaf_shape(shape, k);
    if (halo_shape_element_count(leaf) == t->v.rows.outer) continue;
    t->lines &= !halo_type_is_complex(leaf->type) && halo_shape_has_default_layout(leaf);
    wide &= halo_type_size(leaf->type) >= 4;
    bytes += halo_shape_byte_size(leaf);
  }
  t->stream = t->lines && wide && halo_loop_leaves_caches(l, bytes);
}

/* Inputs whose elements a work item reads in its row alone, or at its own places of the row, before it writes
 * there. A group's values of the row are written while others may still read what belongs to the row. */
static uint64_t rows_in_place(const halo_lowering *l, const halo_rows_desc *v, bool group) {
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

static halo_status rows_begin(halo_lowering *l, halo_rows_text *t) {
  *t = (halo_rows_text){.l = l, .v = *(const halo_rows_desc *)l->desc, .local = 1};
  t->name = halo_kernel_name(l, "rows");
  for (int32_t h = 0; h < t->v.count; h++) {
    const char *name = halo_arena_printf(l->arena, "%s_%d", t->name, h);
    HALO_TRY(halo_accumulator_declare(l, &t->accumulators[h], name, &t->v.heroes[h].value, 1));
  }
  return HALO_OK;
}

/* Launches what was written: groups of `local` work items, `items` in all or a few more. */
static halo_status rows_end(halo_lowering *l, halo_rows_text *t, const char *how, int64_t items,
                            size_t local) {
  if (t->e.status == HALO_OK) {
    const char *label = halo_arena_printf(l->arena, "%s rows:%s", l->name, how);
    uint64_t in_place = rows_in_place(l, &t->v, t->local > 1);
    if (t->local > 1) halo_kernel_group(l, (size_t)t->local, 1);
    halo_launch_line(halo_kernel_add(l, &t->e, t->name, label, in_place), items, local);
  }
  halo_status status = t->e.status;
  halo_rows_text_deinit(t);
  return status;
}

static halo_status rows_item_lower(halo_lowering *l) {
  halo_rows_text t;
  HALO_TRY(rows_begin(l, &t));
  rows_choose_stores(&t);
  halo_rows_write(&t, ROWS_ITEM_KEEPS, ROWS_DEAR);
  /* A few rows a group, so that groups cost nothing, but enough groups to share out evenly. */
  size_t local = 1;
  while ((int)local < halo_lowering_parameters(l)->rows_item_rows &&
         t.v.rows.outer >= (int64_t)(64 * local))
    local *= 2;
  return rows_end(l, &t, "item", t.v.rows.outer, local);
}

static halo_status rows_group_lower(halo_lowering *l) {
  halo_rows_text t;
  HALO_TRY(rows_begin(l, &t));
  t.local = rows_group(l, &t.v);
  int64_t keeps = (int64_t)l->caps->local_memory - 8 * t.v.count * (int64_t)t.local;
  halo_rows_write(&t, keeps < ROWS_GROUP_KEEPS ? keeps : ROWS_GROUP_KEEPS, 1);
  return rows_end(l, &t, "group", t.v.rows.outer * t.local, (size_t)t.local);
}

static halo_status rows_few_lower(halo_lowering *l) {
  halo_rows_text t;
  HALO_TRY(rows_begin(l, &t));
  int64_t rows = t.v.rows.outer;
  size_t local = halo_kernel_local_size(l->caps, rows);
  halo_rows_write_few(&t, rows % (int64_t)local != 0);
  return rows_end(l, &t, "few", rows, local);
}

/* A work group of one item is rows:item. */
static bool rows_group_supports(const halo_lowering *l, const char **why) {
  *why = "the device has no work groups for it";
  return rows_group(l, l->desc) > 1;
}

static bool rows_few_supports(const halo_lowering *l, const char **why) {
  *why = "the rows are long";
  const halo_rows_desc *v = l->desc;
  return v->rows.n <= ROWS_FEW;
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
  return true;
}

/* Bytes that rows take: memory gives each element once, and takes one of a result; where rows are looked at again, they are near. */
static double rows_bytes(const halo_lowering *l) {
  const halo_rows_desc *v = l->desc;
  const halo_prices *p = halo_lowering_prices(l);
  double first = v->elements ? p->loop_element : p->rows_element;
  double again = v->elements ? v->phases : v->phases - 1;
  double near = p->near_gain > 1 ? p->near_gain : 1;
  return (first + again * p->rows_element / near) * (double)v->rows.outer * (double)v->rows.n;
}

/* Pieces into which reductions of a CPU are cut (reduce_row_limits in reduce/cut.c). */
static double rows_pieces(const halo_lowering *l) {
  const double simple = 4, longest = 32768, shortest = 2048; /* operations; elements */
  const halo_rows_desc *v = l->desc;
  double elements = (double)v->rows.outer * (double)v->rows.n;
  double each = simple + fmax(halo_kernel_operations(l->computation), 0) / elements;
  return elements / fmax(longest * simple / each, shortest);
}

/* `slower`: for what neighbours in a row are not worked on side by side; `items`: work items of a row. Few long rows leave cores
 * idle, which reductions that are cut into pieces would use. */
static double rows_cost(const halo_lowering *l, double slower, double items) {
  const halo_rows_desc *v = l->desc;
  const halo_prices *p = halo_lowering_prices(l);
  double outer = (double)v->rows.outer, all = items * outer, bytes = slower * rows_bytes(l);
  double most = 1 / p->rows_part;
  double pieces = fmax(outer, rows_pieces(l));
  double idle = fmin(pieces, most) / fmin(outer, most);
  double some = halo_lowering_seconds(l, bytes, all) + halo_lowering_body(l, all * p->item_overlap);
  double whole = halo_lowering_seconds(l, bytes, INFINITY) + halo_lowering_body(l, INFINITY);
  return fmax(some, p->launch + (whole - p->launch) * idle);
}

/* On a CPU sums of whole lines are vectors; a row that ends within one has loops of as many elements as are left, which are none. */
static double rows_item_cost(const halo_lowering *l) {
  const halo_prices *p = halo_lowering_prices(l);
  int64_t n = ((const halo_rows_desc *)l->desc)->rows.n;
  bool cut = l->caps->is_cpu && n > HALO_ROWS_LANES && n % HALO_ROWS_LANES != 0;
  return rows_cost(l, p->rows_item * (cut ? p->vector_gain : 1), 1);
}

/* Each phase combines what the work items of a group have, in pairs. */
static double rows_group_cost(const halo_lowering *l) {
  const halo_rows_desc *v = l->desc;
  double barriers = v->phases * log2(HALO_ROWS_GROUP) * halo_lowering_prices(l)->barrier;
  return barriers +
         rows_cost(l, halo_lowering_prices(l)->rows_group, l->caps->is_cpu ? 1 : HALO_ROWS_GROUP);
}

/* Instructions that are worth being written out where there are not rows enough to be worked on side by side:
 * compilers take as long for each as for one of a loop. */
enum { ROWS_FEW_CODE = 256, ROWS_FEW_LEAST = 16 };

static double rows_few_cost(const halo_lowering *l) {
  const halo_rows_desc *v = l->desc;
  bool long_text = v->rows.n * l->computation->instrs.count > ROWS_FEW_CODE;
  const halo_prices *p = halo_lowering_prices(l);
  bool is_long = long_text && v->rows.outer < ROWS_FEW_LEAST;
  return rows_cost(l, is_long ? p->rows_few_long : p->rows_few, 1);
}

/* A work item an element of a result, which goes over its row anew, and over that for each element there ... */
static double rows_loop_cost(const halo_lowering *l) {
  const halo_rows_desc *v = l->desc;
  double work = 1;
  for (int p = v->elements ? 0 : 1; p < v->phases; p++) work *= (double)v->rows.n;
  double items = (double)v->rows.outer * (double)v->rows.n;
  return halo_lowering_seconds(l, rows_bytes(l) * work, items) +
         work * halo_lowering_body(l, items);
}

static const halo_implementation rows_implementations[] = {
    {"few", rows_few_supports, rows_few_cost, rows_few_lower, HALO_COUNTS_ON_CPUS},
    {"item", halo_loop_supports, rows_item_cost, rows_item_lower, HALO_COUNTS_ON_CPUS},
    {"group", rows_group_supports, rows_group_cost, rows_group_lower},
    {"loop", rows_loop_supports, rows_loop_cost, halo_loop_lower},
    {0}};

static const void *rows_describe(const halo_lowering *l) {
  halo_rows_desc *v = halo_desc_new(l, halo_rows_desc);
  const char *why;
  return halo_rows_describe(l->computation, v, &why) ? v : NULL;
}

const halo_family halo_family_rows = {"rows", HALO_OPCODE_COUNT, rows_implementations,
                                      rows_describe};
