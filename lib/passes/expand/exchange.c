/* SPDX-License-Identifier: Apache-2.0 */
/* passes/expand/exchange.c: collectives among several participants, written as exchanges: operations that
 * move bytes between devices and do nothing else, between reshapes, transposes and the program's own
 * reducers on arrays. What is left is
 *
 *   all-gather            [1, n] of each member -> [members, n], in the group's order
 *   all-to-all            row i of [members, n] goes to member i -> [members, n]
 *   collective-permute, collective-broadcast, ragged-all-to-all
 *   all-reduce            of [n], and reduce-scatter of [members * n] to [n], where both are tiny and the reducer is one
 *                         that the host knows: it combines what comes
 *
 * with groups of numbers (hlo/collective.h) and a number of its own (`exchange`), which is the same on all
 * devices. A reduction combines what the members give in the group's order, whatever its size and however the
 * messages come, so results repeat, and are the same on all members. */
#include "passes/expand/elementwise.h"
#include "passes/expand/exchange_site.h"
#include "passes/expand/expand.h"

#include <string.h>

/* Up to so many bytes that everybody sends to everybody, members combine all by themselves: one exchange
 * instead of two. */
enum { EXCHANGE_SMALL = 128 << 10 };
/* Up to so many bytes that a member gets, the host combines them as they come, if it knows the reducer: a launch
 * takes longer. */
enum { EXCHANGE_TINY = 16 << 10 };

bool exchange_open(halo_expander *x, halo_instr *instr, bool all, exchange_site *out) {
  halo_module *module = x->r->computation->module;
  *out = (exchange_site){.x = x, .instr = instr, .module = module};
  out->number = halo_instr_int(instr, HALO_ATTR_EXCHANGE, 0);
  x->status = halo_collective_groups(instr, &module->arena, &out->groups);
  if (x->status != HALO_OK) {
    x->status = halo_fail_in(x->status, "line %d: %s", instr->line, instr->name);
    return false;
  }
  const halo_groups *groups = &out->groups;
  for (int32_t g = 0; g < groups->count; g++) {
    int64_t size = groups->starts[g + 1] - groups->starts[g];
    if (size > out->most) out->most = size;
  }
  int64_t world = halo_collective_world(module);
  if (all && groups->starts[groups->count] != world) {
    x->status = halo_fail(
        HALO_INVALID_ARGUMENT,
        "line %d: %s: its groups name %d of the %lld that run the program: all must take part",
        instr->line, instr->name, groups->starts[groups->count], (long long)world);
  }
  return x->status == HALO_OK;
}

/* As above, with groups of one size. */
bool exchange_open_equal(halo_expander *x, halo_instr *instr, exchange_site *out) {
  if (!exchange_open(x, instr, true, out)) return false;
  if (halo_collective_size(&out->groups) > 0) return true;
  x->status =
      halo_fail(HALO_INVALID_ARGUMENT, "line %d: %s: its groups must have equally many members",
                instr->line, instr->name);
  return false;
}

static const halo_shape *exchange_shape(const exchange_site *s, halo_type type, int rank,
                                        const int64_t *dims) {
  return halo_shape_new(&s->module->arena, type, rank, dims);
}

/* "all-reduce sum.3 (channel 1)" */
const char *exchange_title(const exchange_site *s) {
  const halo_instr *instr = s->instr;
  int64_t channel = halo_instr_int(instr, HALO_ATTR_CHANNEL_ID, 0);
  const char *name = halo_opcode_name(instr->opcode);
  halo_arena *arena = &s->module->arena;
  if (channel <= 0) return halo_arena_printf(arena, "%s %s", name, instr->name);
  return halo_arena_printf(arena, "%s %s (channel %lld)", name, instr->name, (long long)channel);
}

/* The exchange itself. */
halo_instr *exchange_make(exchange_site *s, halo_opcode opcode, const halo_shape *shape,
                          halo_instr *const *operands, int32_t count) {
  for (int32_t i = 0; i < count; i++) {
    if (!operands[i]) return NULL;
  }
  int64_t dim = 0;
  bool along = opcode == HALO_OP_ALL_GATHER || opcode == HALO_OP_ALL_TO_ALL;
  halo_groups *groups = halo_arena_new(&s->module->arena, halo_groups);
  *groups = s->groups;
  halo_attr attrs[] = {{.id = HALO_ATTR_EXCHANGE, .i = s->number++},
                       {.id = HALO_ATTR_EXCHANGE_FOR, .text = exchange_title(s)},
                       {.id = HALO_ATTR_REPLICA_GROUPS, .groups = groups},
                       halo_rewrite_list_attr(s->module, HALO_ATTR_DIMENSIONS, &dim, 1)};
  return halo_rewrite_make(s->x->r, s->instr, opcode, shape, operands, count, attrs, along ? 4 : 3);
}

/* One that combines what comes: an all-reduce, or a reduce-scatter of [members * n] to [n]. NULL where the host does
 * not do that. */
static halo_instr *exchange_make_fold(exchange_site *s, halo_opcode opcode, const halo_shape *shape,
                                      halo_instr *operand) {
  halo_computation *reducer = halo_instr_comp(s->instr, HALO_ATTR_TO_APPLY);
  bool scatters = opcode == HALO_OP_REDUCE_SCATTER;
  int64_t bytes = halo_shape_byte_size(operand->shape) * (scatters ? 1 : s->most), dim = 0;
  if (bytes > EXCHANGE_TINY || !halo_collective_folds(reducer, shape->type)) return NULL;
  halo_groups *groups = halo_arena_new(&s->module->arena, halo_groups);
  halo_computation **comps = halo_arena_new(&s->module->arena, halo_computation *);
  *groups = s->groups;
  *comps = reducer;
  halo_attr attrs[] = {{.id = HALO_ATTR_EXCHANGE, .i = s->number++},
                       {.id = HALO_ATTR_EXCHANGE_FOR, .text = exchange_title(s)},
                       {.id = HALO_ATTR_REPLICA_GROUPS, .groups = groups},
                       {.id = HALO_ATTR_TO_APPLY, .comps = {comps, 1}},
                       halo_rewrite_list_attr(s->module, HALO_ATTR_DIMENSIONS, &dim, 1)};
  return halo_rewrite_make(s->x->r, s->instr, opcode, shape, &operand, 1, attrs, scatters ? 5 : 4);
}

/* [n] of each member as [members, n]. */
halo_instr *exchange_gather(exchange_site *s, halo_instr *flat) {
  if (!flat) return NULL;
  int64_t dims[2] = {s->most, halo_shape_element_count(flat->shape)}, one[2] = {1, dims[1]};
  halo_instr *row = halo_expand_reshape(s->x, flat, 2, one);
  return exchange_make(s, HALO_OP_ALL_GATHER, exchange_shape(s, flat->shape->type, 2, dims), &row,
                       1);
}

static halo_instr *exchange_swap(exchange_site *s, halo_instr *rows) {
  return rows ? exchange_make(s, HALO_OP_ALL_TO_ALL, rows->shape, &rows, 1) : NULL;
}

/* Row i of [members, ...] with these dimensions. */
static halo_instr *exchange_row(exchange_site *s, halo_instr *rows, int64_t i, int rank,
                                const int64_t *dims) {
  return halo_expand_reshape(s->x, halo_expand_range(s->x, rows, 0, i, i + 1), rank, dims);
}

/* ---- Who am I ---- */

/* A number for each that runs the program, looked up at run time: s32[]. */
halo_instr *exchange_mine(exchange_site *s, const int32_t *values) {
  halo_expander *x = s->x;
  const halo_shape *id_shape = halo_shape_new(&s->module->arena, HALO_U32, 0, NULL);
  halo_instr *replica =
      halo_rewrite_make(x->r, s->instr, HALO_OP_REPLICA_ID, id_shape, NULL, 0, NULL, 0);
  halo_instr *partition =
      halo_rewrite_make(x->r, s->instr, HALO_OP_PARTITION_ID, id_shape, NULL, 0, NULL, 0);
  halo_instr *count = halo_expand_scalar(x, HALO_U32, (double)s->module->num_partitions);
  halo_instr *flat = halo_expand_binary(
      x, HALO_OP_ADD, halo_expand_binary(x, HALO_OP_MULTIPLY, replica, count), partition);
  int64_t world = halo_collective_world(s->module), one = 1;
  halo_literal *table;
  halo_status status = halo_literal_create(exchange_shape(s, HALO_S32, 1, &world), &table);
  if (status != HALO_OK) {
    x->status = status;
    return NULL;
  }
  memcpy(table->data, values, sizeof *values * (size_t)world);
  halo_instr *list = halo_rewrite_make_constant(x->r, s->instr, table);
  halo_instr *start = halo_expand_convert(x, flat, HALO_S32);
  return halo_expand_reshape(x, halo_expand_dynamic_slice(x, list, &start, &one), 0, NULL);
}

/* pred[] that is true where my value in the table is above `than`. */
halo_instr *exchange_above(exchange_site *s, const int32_t *values, int64_t than) {
  halo_instr *mine = exchange_mine(s, values);
  return halo_expand_compare(s->x, mine, HALO_GT, halo_expand_scalar(s->x, HALO_S32, (double)than));
}

int32_t *exchange_values(const exchange_site *s) {
  return halo_arena_array(&s->module->arena, int32_t, halo_collective_world(s->module));
}

/* ---- Reductions ---- */

/* reducer(a, b) on arrays. */
static halo_instr *exchange_apply(exchange_site *s, halo_computation *reducer, halo_instr *a,
                                  halo_instr *b) {
  if (!a || !b) return NULL;
  halo_instr *args[] = {a, b};
  if (halo_elementwise_computation(reducer)) {
    return halo_elementwise_inline(s->x->r, s->instr, reducer, args, a->shape);
  }
  int64_t dims[HALO_MAX_RANK];
  for (int d = 0; d < a->shape->rank; d++) dims[d] = d;
  halo_computation **comps = halo_arena_new(&s->module->arena, halo_computation *);
  *comps = reducer;
  halo_attr attrs[] = {
      halo_rewrite_list_attr(s->module, HALO_ATTR_DIMENSIONS, dims, a->shape->rank),
      {.id = HALO_ATTR_TO_APPLY, .comps = {comps, 1}}};
  return halo_expand_op(s->x, HALO_OP_MAP, args, 2, attrs, 2);
}

/* The rows of [members, n] combined by pairs of neighbours: [n]. */
static halo_instr *exchange_fold_pairs(exchange_site *s, halo_instr *rows) {
  halo_expander *x = s->x;
  halo_computation *reducer = halo_instr_comp(s->instr, HALO_ATTR_TO_APPLY);
  halo_opcode opcode;
  bool plain = halo_collective_plain_reducer(reducer, &opcode);
  for (int64_t count; rows && (count = rows->shape->dims[0]) > 1;) {
    int64_t n = rows->shape->dims[1], half = count / 2;
    int64_t pairs[3] = {half, 2, n}, one[2] = {half, n};
    halo_instr *even = count % 2 ? halo_expand_range(x, rows, 0, 0, 2 * half) : rows;
    halo_instr *apart = halo_expand_reshape(x, even, 3, pairs);
    halo_instr *a = halo_expand_reshape(x, halo_expand_range(x, apart, 1, 0, 1), 2, one);
    halo_instr *b = halo_expand_reshape(x, halo_expand_range(x, apart, 1, 1, 2), 2, one);
    halo_instr *next =
        plain ? halo_expand_binary(x, opcode, a, b) : exchange_apply(s, reducer, a, b);
    if (next && count % 2) {
      halo_instr *parts[] = {next, halo_expand_range(x, rows, 0, count - 1, count)};
      next = halo_expand_join(x, parts, 2, 0);
    }
    rows = next;
  }
  return rows;
}

/* What sums of a type are made in: XLA takes f32 for bf16 and f16, and f16 for narrower floats, but for those that
 * are powers of two. */
static halo_type exchange_wide(halo_type type) {
  if (type == HALO_BF16 || type == HALO_F16 || type == HALO_F8E8M0FNU) return HALO_F32;
  return halo_type_is_float(type) && halo_type_bits(type) < 16 ? HALO_F16 : type;
}

/* The rows of [members, n] combined, each with these dimensions. Narrow floats are summed in wider ones, and
 * rounded to their own type once. */
static halo_instr *exchange_fold(exchange_site *s, halo_instr *rows, int rank,
                                 const int64_t *dims) {
  if (!rows) return NULL;
  halo_expander *x = s->x;
  halo_computation *reducer = halo_instr_comp(s->instr, HALO_ATTR_TO_APPLY);
  halo_type type = rows->shape->type, wide = type;
  halo_opcode opcode;
  bool plain = halo_collective_plain_reducer(reducer, &opcode);
  if (plain) wide = exchange_wide(type);
  /* Groups of several sizes: what is behind the members of the own one does not count. */
  int32_t *sizes = exchange_values(s);
  int64_t least = s->most;
  for (int32_t g = 0; g < s->groups.count; g++) {
    int64_t size = s->groups.starts[g + 1] - s->groups.starts[g];
    if (size < least) least = size;
    for (int32_t i = s->groups.starts[g]; i < s->groups.starts[g + 1]; i++) {
      sizes[s->groups.ids[i]] = (int32_t)size;
    }
  }
  if (halo_collective_in_pairs(&s->groups)) {
    halo_instr *all = exchange_fold_pairs(s, halo_expand_convert(x, rows, wide));
    return halo_expand_convert(x, halo_expand_reshape(x, all, rank, dims), type);
  }
  halo_instr *sum = halo_expand_convert(x, exchange_row(s, rows, 0, rank, dims), wide);
  for (int64_t i = 1; i < s->most && sum; i++) {
    halo_instr *row = halo_expand_convert(x, exchange_row(s, rows, i, rank, dims), wide);
    halo_instr *next =
        plain ? halo_expand_binary(x, opcode, sum, row) : exchange_apply(s, reducer, sum, row);
    if (i >= least && next) {
      halo_instr *test = exchange_above(s, sizes, i);
      next = halo_expand_select(x, halo_expand_splat(x, test, sum->shape), next, sum);
    }
    sum = next;
  }
  return halo_expand_convert(x, sum, type);
}

/* All members' arrays combined, in every member. */
halo_instr *exchange_reduce(exchange_site *s, halo_instr *value) {
  const halo_shape *shape = value->shape;
  int64_t count = halo_shape_element_count(shape), n = s->most;
  if (n == 1 || count == 0) return value;
  bool equal = halo_collective_size(&s->groups) > 0;
  int64_t bytes = halo_shape_byte_size(shape);
  halo_instr *flat = halo_expand_reshape(s->x, value, 1, &count);
  halo_instr *folded = flat ? exchange_make_fold(s, HALO_OP_ALL_REDUCE, flat->shape, flat) : NULL;
  if (folded) return halo_expand_reshape(s->x, folded, shape->rank, shape->dims);
  /* Between two, one exchange moves as many bytes as two do. What goes on beside other kernels does better with
   * one: a device that does kernels one after the other would do what stands between two exchanges late. */
  bool one = n == 2 && s->instr->parent->execution_thread != NULL;
  if (!equal || one || bytes <= EXCHANGE_SMALL / n) {
    return exchange_fold(s, exchange_gather(s, flat), shape->rank, shape->dims);
  }
  /* Each member combines a part, and gathers the others'. */
  int64_t part = (count + n - 1) / n, padded = part * n, dims[2] = {n, part};
  if (padded != count) {
    int64_t padding[3] = {0, padded - count, 0};
    flat = halo_expand_pad(s->x, flat, halo_expand_scalar(s->x, shape->type, 0), padding);
  }
  halo_instr *rows = exchange_swap(s, halo_expand_reshape(s->x, flat, 2, dims));
  halo_instr *all = exchange_gather(s, exchange_fold(s, rows, 1, &part));
  all = halo_expand_reshape(s->x, all, 1, &padded);
  if (padded != count) all = halo_expand_range(s->x, all, 0, 0, count);
  return halo_expand_reshape(s->x, all, shape->rank, shape->dims);
}

/* ---- Several operands: the results as the instruction gives them ---- */

halo_instr *exchange_as(exchange_site *s, halo_instr *value, const halo_shape *shape) {
  if (!value || halo_shape_equal(value->shape, shape)) return value;
  if (halo_shape_same_dims(value->shape, shape)) {
    return halo_rewrite_make_unary(s->x->r, s->instr, HALO_OP_COPY, shape, value);
  }
  char written[256], made[256];
  halo_shape_to_text(shape, false, written, sizeof written);
  halo_shape_to_text(value->shape, false, made, sizeof made);
  s->x->status = halo_fail(HALO_INVALID_ARGUMENT, "line %d: %s: %lld members make %s, not %s",
                           s->instr->line, s->instr->name, (long long)s->most, made, written);
  return NULL;
}

halo_instr *exchange_each(exchange_site *s, halo_instr *(*one)(exchange_site *, halo_instr *)) {
  const halo_instr *instr = s->instr;
  const halo_shape *shape = instr->shape;
  if (!halo_shape_is_tuple(shape)) return exchange_as(s, one(s, instr->operands[0]), shape);
  HALO_VEC(halo_instr *) parts = {0};
  bool good = shape->count == instr->operand_count;
  for (int32_t i = 0; i < shape->count && good; i++) {
    halo_instr *part = exchange_as(s, one(s, instr->operands[i]), shape->elements[i]);
    good = part != NULL;
    halo_vec_push(&parts, part);
  }
  halo_instr *tuple = good ? halo_rewrite_make(s->x->r, instr, HALO_OP_TUPLE, shape, parts.data,
                                               parts.count, NULL, 0)
                           : NULL;
  halo_vec_deinit(&parts);
  return tuple;
}

/* Operands of one type that are small are reduced as one array: a message costs more than a copy. */
static halo_instr *exchange_reduce_together(exchange_site *s) {
  enum { TOGETHER_MAX = 1 << 20 };
  const halo_instr *instr = s->instr;
  const halo_shape *shape = instr->shape;
  HALO_VEC(halo_instr *) flat = {0};
  int64_t at = 0;
  for (int32_t i = 0; i < instr->operand_count; i++) {
    halo_instr *operand = instr->operands[i];
    int64_t count = halo_shape_element_count(operand->shape);
    if (operand->shape->type != instr->operands[0]->shape->type ||
        halo_shape_byte_size(operand->shape) > TOGETHER_MAX) {
      halo_vec_deinit(&flat);
      return exchange_each(s, exchange_reduce);
    }
    halo_vec_push(&flat, halo_expand_reshape(s->x, operand, 1, &count));
  }
  halo_instr *all = halo_expand_join(s->x, flat.data, flat.count, 0);
  if (all) all = exchange_reduce(s, all);
  for (int32_t i = 0; i < instr->operand_count; i++) {
    const halo_shape *part = shape->elements[i];
    int64_t count = halo_shape_element_count(part);
    halo_instr *piece = halo_expand_range(s->x, all, 0, at, at + count);
    at += count;
    flat.data[i] = exchange_as(s, halo_expand_reshape(s->x, piece, part->rank, part->dims), part);
  }
  halo_instr *tuple =
      s->x->status == HALO_OK
          ? halo_rewrite_make(s->x->r, instr, HALO_OP_TUPLE, shape, flat.data, flat.count, NULL, 0)
          : NULL;
  halo_vec_deinit(&flat);
  return tuple;
}

/* ---- Dimensions ---- */

static int64_t exchange_dim(const exchange_site *s) {
  int32_t count;
  const int64_t *dims = halo_instr_ints(s->instr, HALO_ATTR_DIMENSIONS, &count);
  return count > 0 ? dims[0] : 0;
}

static halo_instr *exchange_transpose(exchange_site *s, halo_instr *value, const int64_t *order) {
  if (!value) return NULL;
  int64_t dims[HALO_MAX_RANK];
  int rank = value->shape->rank;
  for (int d = 0; d < rank; d++) dims[d] = value->shape->dims[order[d]];
  return halo_rewrite_make_listed(s->x->r, s->instr, HALO_OP_TRANSPOSE,
                                  exchange_shape(s, value->shape->type, rank, dims), value,
                                  HALO_ATTR_DIMENSIONS, order, rank);
}

/* The parts along `dim` that go to the members, as rows: [members, n]. */
static halo_instr *exchange_cut(exchange_site *s, halo_instr *value, int64_t dim) {
  int64_t dims[HALO_MAX_RANK + 1], order[HALO_MAX_RANK + 1];
  int rank = value->shape->rank;
  if (rank + 1 > HALO_MAX_RANK) return NULL;
  if (value->shape->dims[dim] % s->most != 0) {
    s->x->status =
        halo_fail(HALO_INVALID_ARGUMENT,
                  "line %d: %s: extent %lld of dimension %lld is no multiple of its %lld "
                  "members",
                  s->instr->line, s->instr->name, (long long)value->shape->dims[dim],
                  (long long)dim, (long long)s->most);
    return NULL;
  }
  for (int d = 0, k = 0; d < rank; d++) {
    if (d == dim) dims[k++] = s->most;
    dims[k++] = d == dim ? value->shape->dims[d] / s->most : value->shape->dims[d];
  }
  order[0] = dim;
  for (int d = 0, k = 1; d <= rank; d++) {
    if (d != dim) order[k++] = d;
  }
  halo_instr *apart = halo_expand_reshape(s->x, value, rank + 1, dims);
  int64_t flat[2] = {s->most, halo_shape_element_count(value->shape) / s->most};
  return halo_expand_reshape(s->x, exchange_transpose(s, apart, order), 2, flat);
}

/* Rows [members, n], each an array of dimensions `part`, next to each other along `dim`. */
static halo_instr *exchange_paste(exchange_site *s, halo_instr *rows, int rank, const int64_t *part,
                                  int64_t dim) {
  int64_t dims[HALO_MAX_RANK + 1], order[HALO_MAX_RANK + 1], joined[HALO_MAX_RANK];
  if (rank + 1 > HALO_MAX_RANK) return NULL;
  dims[0] = s->most;
  for (int d = 0, k = 0; d < rank; d++) {
    dims[d + 1] = part[d];
    if (d == dim) order[k++] = 0;
    order[k++] = d + 1;
    joined[d] = d == dim ? part[d] * s->most : part[d];
  }
  halo_instr *apart = halo_expand_reshape(s->x, rows, rank + 1, dims);
  return halo_expand_reshape(s->x, exchange_transpose(s, apart, order), rank, joined);
}

static halo_instr *exchange_gather_one(exchange_site *s, halo_instr *value) {
  int64_t count = halo_shape_element_count(value->shape);
  if (s->most == 1) return value;
  halo_instr *flat = halo_expand_reshape(s->x, value, 1, &count);
  return exchange_paste(s, exchange_gather(s, flat), value->shape->rank, value->shape->dims,
                        exchange_dim(s));
}

/* The dimensions of one member's part. */
static void exchange_part_dims(const exchange_site *s, const halo_shape *shape, int64_t dim,
                               int64_t *out) {
  for (int d = 0; d < shape->rank; d++) {
    out[d] = d == dim ? shape->dims[d] / s->most : shape->dims[d];
  }
}

static halo_instr *exchange_scatter_one(exchange_site *s, halo_instr *value) {
  int64_t dims[HALO_MAX_RANK], dim = exchange_dim(s);
  if (s->most == 1) return value;
  exchange_part_dims(s, value->shape, dim, dims);
  halo_instr *cut = exchange_cut(s, value, dim);
  if (!cut) return NULL;
  int64_t count = halo_shape_element_count(value->shape), part = count / s->most;
  halo_instr *flat = halo_expand_reshape(s->x, cut, 1, &count);
  halo_instr *folded =
      flat && part > 0 ? exchange_make_fold(s, HALO_OP_REDUCE_SCATTER,
                                            exchange_shape(s, value->shape->type, 1, &part), flat)
                       : NULL;
  if (folded) return halo_expand_reshape(s->x, folded, value->shape->rank, dims);
  return exchange_fold(s, exchange_swap(s, cut), value->shape->rank, dims);
}

static halo_instr *exchange_swap_one(exchange_site *s, halo_instr *value) {
  int64_t dims[HALO_MAX_RANK], dim = exchange_dim(s);
  if (s->most == 1) return value;
  exchange_part_dims(s, value->shape, dim, dims);
  return exchange_paste(s, exchange_swap(s, exchange_cut(s, value, dim)), value->shape->rank, dims,
                        dim);
}

/* One operand for each member. */
static halo_instr *exchange_swap_tuple(exchange_site *s) {
  const halo_instr *instr = s->instr;
  const halo_shape *part = instr->operands[0]->shape;
  if (instr->operand_count != s->most) {
    s->x->status = halo_fail(HALO_INVALID_ARGUMENT,
                             "line %d: %s: groups of %lld members need as many operands",
                             instr->line, instr->name, (long long)s->most);
    return NULL;
  }
  HALO_VEC(halo_instr *) parts = {0};
  int64_t row[2] = {1, halo_shape_element_count(part)};
  for (int32_t i = 0; i < instr->operand_count; i++) {
    halo_vec_push(&parts, halo_expand_reshape(s->x, instr->operands[i], 2, row));
  }
  halo_instr *rows = exchange_swap(s, halo_expand_join(s->x, parts.data, parts.count, 0));
  for (int32_t i = 0; i < instr->operand_count; i++) {
    halo_instr *value = exchange_row(s, rows, i, part->rank, part->dims);
    const halo_shape *shape = instr->shape;
    if (halo_shape_is_tuple(shape)) shape = shape->elements[i];
    parts.data[i] = exchange_as(s, value, shape);
  }
  halo_instr *result = parts.data[0];
  if (halo_shape_is_tuple(instr->shape) && s->x->status == HALO_OK) {
    result = halo_rewrite_make(s->x->r, instr, HALO_OP_TUPLE, instr->shape, parts.data, parts.count,
                               NULL, 0);
  }
  halo_vec_deinit(&parts);
  return result;
}

/* ---- The rewrites ---- */

halo_instr *halo_expand_exchange(halo_expander *x, halo_instr *instr) {
  exchange_site s;
  if (instr->opcode == HALO_OP_ALL_REDUCE) {
    if (!exchange_open(x, instr, true, &s)) return NULL;
    bool tuple = halo_shape_is_tuple(instr->shape) && instr->operand_count > 1;
    return tuple ? exchange_reduce_together(&s) : exchange_each(&s, exchange_reduce);
  }
  if (!exchange_open_equal(x, instr, &s)) return NULL;
  if (instr->opcode == HALO_OP_ALL_GATHER) return exchange_each(&s, exchange_gather_one);
  if (instr->opcode == HALO_OP_REDUCE_SCATTER) return exchange_each(&s, exchange_scatter_one);
  bool cut = halo_instr_attr(instr, HALO_ATTR_DIMENSIONS) != NULL;
  return cut ? exchange_each(&s, exchange_swap_one) : exchange_swap_tuple(&s);
}
