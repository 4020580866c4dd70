/* SPDX-License-Identifier: Apache-2.0 */
/* partition/reshard.c: values from one sharding to another: slices, all-gathers, all-to-alls and
 * permutations, and sums that are spread over partitions. */
#include "base/status.h"
#include "partition/spmd.h"

#include <stdlib.h>
#include <string.h>

/* ---- Groups ---- */

/* Groups of partitions that differ along `axes` alone, each in the order of these; for each replica. */
static const halo_groups *reshard_groups(halo_spmd *p, const halo_spmd_axes *axes) {
  halo_arena *arena = &p->module->arena;
  int64_t world = halo_spmd_tiles(p, axes), all = p->mesh.devices,
          replicas = p->module->replica_count;
  int32_t per = (int32_t)(all / world), count = (int32_t)(per * replicas);
  halo_groups *groups = halo_arena_new(arena, halo_groups);
  int64_t *ids = halo_arena_array(arena, int64_t, all * replicas);
  int32_t *starts = halo_arena_array(arena, int32_t, count + 1), group = 0;
  for (int64_t device = 0; device < all; device++) {
    if (halo_spmd_position(p, axes, device) != 0) continue;
    for (int64_t i = 0; i < world; i++) {
      int64_t member = device, rest = i;
      for (int k = axes->count - 1; k >= 0; k--) {
        int axis = axes->id[k];
        member += rest % p->mesh.radix[axis] * p->mesh.stride[axis];
        rest /= p->mesh.radix[axis];
      }
      for (int64_t r = 0; r < replicas; r++) ids[(r * per + group) * world + i] = r * all + member;
    }
    group++;
  }
  for (int32_t g = 0; g <= count; g++) starts[g] = (int32_t)(g * world);
  *groups = (halo_groups){.count = count, .starts = starts, .ids = ids};
  return groups;
}

/* Groups of partitions of one replica: all-to-all's, whose ids are partitions. */
static const halo_groups *reshard_partition_groups(halo_spmd *p, const halo_spmd_axes *axes) {
  halo_groups *groups = halo_arena_new(&p->module->arena, halo_groups);
  *groups = *reshard_groups(p, axes);
  groups->count /= (int32_t)p->module->replica_count;
  return groups;
}

static halo_attr reshard_dim_attr(halo_spmd *p, int64_t dim) {
  return halo_rewrite_list_attr(p->module, HALO_ATTR_DIMENSIONS, &dim, 1);
}

static const halo_shape *reshard_shape(halo_spmd *p, const halo_shape *like, const int64_t *dims) {
  return halo_shape_new(&p->module->arena, like->type, like->rank, dims);
}

/* ---- Positions ---- */

/* This partition's number in a table: a scalar of type `type`. */
static halo_instr *reshard_lookup(halo_spmd *p, halo_type type, const int64_t *table) {
  halo_arena *arena = &p->module->arena;
  const halo_shape *id = halo_shape_new(arena, HALO_U32, 0, NULL);
  halo_literal *list;
  int64_t one = 1;
  halo_status status = halo_literal_create(halo_shape_new(arena, type, 1, &p->mesh.devices), &list);
  if (status != HALO_OK) {
    if (p->x.status == HALO_OK) p->x.status = status;
    return NULL;
  }
  for (int64_t i = 0; i < p->mesh.devices; i++) halo_literal_set_i64(list, i, table[i]);
  halo_instr *values = halo_rewrite_make_constant(&p->r, p->x.like, list);
  halo_instr *me = halo_rewrite_make(&p->r, p->x.like, HALO_OP_PARTITION_ID, id, NULL, 0, NULL, 0);
  me = halo_expand_convert(&p->x, me, HALO_S32);
  return halo_expand_reshape(&p->x, halo_expand_dynamic_slice(&p->x, values, &me, &one), 0, NULL);
}

halo_instr *halo_spmd_offset(halo_spmd *p, const halo_spmd_axes *axes, int64_t scale) {
  int64_t *table = halo_arena_array(&p->arena, int64_t, p->mesh.devices), most = 0;
  for (int64_t i = 0; i < p->mesh.devices; i++) {
    table[i] = halo_spmd_position(p, axes, i) * scale;
    if (table[i] > most) most = table[i];
  }
  return reshard_lookup(p, most > INT32_MAX ? HALO_S64 : HALO_S32, table);
}

/* `size` elements along `dim`, from the scalar `at` on. */
static halo_instr *reshard_cut(halo_spmd *p, halo_instr *value, int dim, halo_instr *at,
                               int64_t size) {
  halo_instr *starts[HALO_MAX_RANK];
  int64_t sizes[HALO_MAX_RANK];
  if (!value || !at) return NULL;
  halo_instr *zero = halo_expand_scalar(&p->x, at->shape->type, 0);
  for (int d = 0; d < value->shape->rank; d++) {
    starts[d] = d == dim ? at : zero;
    sizes[d] = d == dim ? size : value->shape->dims[d];
  }
  return halo_expand_dynamic_slice(&p->x, value, starts, sizes);
}

/* ---- Steps ---- */

typedef enum reshard_kind {
  RESHARD_CUT,
  RESHARD_GATHER,
  RESHARD_SWAP,
  RESHARD_PERMUTE
} reshard_kind;

typedef struct reshard_step {
  reshard_kind kind;
  int from, to; /* dimensions that lose and get axes */
  halo_spmd_axes axes;
} reshard_step;

static int reshard_common(const halo_spmd_axes *a, const halo_spmd_axes *b) {
  int n = 0;
  while (n < a->count && n < b->count && a->id[n] == b->id[n]) n++;
  return n;
}

static halo_spmd_axes reshard_part(const halo_spmd_axes *axes, int from, int count) {
  halo_spmd_axes part = {.count = (int8_t)count};
  memcpy(part.id, axes->id + from, (size_t)count);
  return part;
}

/* Axes that nobody uses: each keeps a piece of what it has. */
static bool reshard_find_cut(const halo_spmd_sharding *cur, const halo_spmd_sharding *to,
                             reshard_step *step) {
  uint32_t used = halo_spmd_set(cur);
  for (int d = 0; d < cur->rank; d++) {
    int have = cur->dims[d].count, n = 0;
    if (reshard_common(&cur->dims[d], &to->dims[d]) < have) continue;
    while (have + n < to->dims[d].count && !(used & 1u << to->dims[d].id[have + n])) n++;
    if (n == 0) continue;
    *step = (reshard_step){RESHARD_CUT, d, d, reshard_part(&to->dims[d], have, n)};
    return true;
  }
  return false;
}

/* The last axes of one dimension that are the next of another. */
static bool reshard_find_swap(const halo_spmd_sharding *cur, const halo_spmd_sharding *to,
                              reshard_step *step) {
  if (cur->rank + 2 > HALO_MAX_RANK) return false; /* it needs dimensions on the way */
  for (int i = 0; i < cur->rank; i++) {
    int extra = cur->dims[i].count - reshard_common(&cur->dims[i], &to->dims[i]);
    for (int j = 0; j < cur->rank && extra > 0; j++) {
      int have = cur->dims[j].count, wanted = to->dims[j].count - have;
      if (j == i || wanted <= 0 || reshard_common(&cur->dims[j], &to->dims[j]) < have) continue;
      for (int n = extra < wanted ? extra : wanted; n > 0; n--) {
        halo_spmd_axes last = reshard_part(&cur->dims[i], cur->dims[i].count - n, n);
        halo_spmd_axes next = reshard_part(&to->dims[j], have, n);
        if (!halo_spmd_axes_equal(&last, &next)) continue;
        *step = (reshard_step){RESHARD_SWAP, i, j, last};
        return true;
      }
    }
  }
  return false;
}

static bool reshard_same_tiles(const halo_spmd *p, const halo_spmd_sharding *a,
                               const halo_spmd_sharding *b) {
  for (int d = 0; d < a->rank; d++) {
    if (halo_spmd_tiles(p, &a->dims[d]) != halo_spmd_tiles(p, &b->dims[d])) return false;
  }
  return true;
}

/* Gathers what stands in the way, first what is wanted nowhere. */
static void reshard_find_gather(const halo_spmd_sharding *cur, const halo_spmd_sharding *to,
                                reshard_step *step) {
  uint32_t wanted = halo_spmd_set(to);
  for (int round = 0; round < 2; round++) {
    for (int d = 0; d < cur->rank; d++) {
      int count = cur->dims[d].count, first = reshard_common(&cur->dims[d], &to->dims[d]), n = 0;
      while (count - n > first && (round || !(wanted & 1u << cur->dims[d].id[count - n - 1]))) n++;
      if (n == 0) continue;
      *step = (reshard_step){RESHARD_GATHER, d, d, reshard_part(&cur->dims[d], count - n, n)};
      return;
    }
  }
}

/* The next step from *cur, which it changes; false when it is `to`. */
static bool reshard_next(const halo_spmd *p, halo_spmd_sharding *cur, const halo_spmd_sharding *to,
                         reshard_step *step) {
  if (halo_spmd_equal(cur, to)) return false;
  if (!reshard_find_cut(cur, to, step) && !reshard_find_swap(cur, to, step)) {
    if (reshard_same_tiles(p, cur, to)) {
      *step = (reshard_step){.kind = RESHARD_PERMUTE};
    } else {
      reshard_find_gather(cur, to, step);
    }
  }
  if (step->kind == RESHARD_PERMUTE) {
    memcpy(cur->dims, to->dims, sizeof *cur->dims * (size_t)cur->rank);
    return true;
  }
  if (step->kind != RESHARD_CUT) {
    cur->dims[step->from].count = (int8_t)(cur->dims[step->from].count - step->axes.count);
  }
  if (step->kind != RESHARD_GATHER) {
    halo_spmd_axes *axes = &cur->dims[step->to];
    memcpy(axes->id + axes->count, step->axes.id, (size_t)step->axes.count);
    axes->count = (int8_t)(axes->count + step->axes.count);
  }
  return true;
}

double halo_spmd_reshard_cost(halo_spmd *p, const halo_shape *shape, const halo_spmd_sharding *from,
                              const halo_spmd_sharding *to) {
  if (!halo_shape_is_array(shape) || halo_spmd_equal(from, to)) return 0;
  halo_spmd_sharding cur = halo_spmd_copy(p, from);
  reshard_step step;
  double bytes = (double)halo_shape_byte_size(shape), cost = 0;
  for (int d = 0; d < cur.rank; d++) bytes /= (double)halo_spmd_tiles(p, &cur.dims[d]);
  if (cur.unreduced & ~to->unreduced) cost += 2 * bytes;
  cur.unreduced = to->unreduced;
  while (reshard_next(p, &cur, to, &step)) {
    double tiles = step.kind == RESHARD_PERMUTE ? 1 : (double)halo_spmd_tiles(p, &step.axes);
    switch (step.kind) {
      case RESHARD_CUT: bytes /= tiles; break;
      case RESHARD_GATHER:
        cost += bytes * (tiles - 1);
        bytes *= tiles;
        break;
      case RESHARD_SWAP: cost += bytes * (tiles - 1) / tiles; break;
      case RESHARD_PERMUTE: cost += bytes; break;
    }
  }
  return cost;
}

/* ---- Writing the steps ---- */

static halo_instr *reshard_cut_axes(halo_spmd *p, halo_instr *value, int dim,
                                    const halo_spmd_axes *axes) {
  int64_t size = value->shape->dims[dim] / halo_spmd_tiles(p, axes);
  return reshard_cut(p, value, dim, halo_spmd_offset(p, axes, size), size);
}

static halo_instr *reshard_gather(halo_spmd *p, halo_instr *value, int dim,
                                  const halo_spmd_axes *axes) {
  int64_t dims[HALO_MAX_RANK];
  for (int d = 0; d < value->shape->rank; d++) dims[d] = value->shape->dims[d];
  dims[dim] *= halo_spmd_tiles(p, axes);
  halo_attr attrs[] = {{.id = HALO_ATTR_CHANNEL_ID, .i = p->channel++},
                       {.id = HALO_ATTR_REPLICA_GROUPS, .groups = reshard_groups(p, axes)},
                       reshard_dim_attr(p, dim),
                       {.id = HALO_ATTR_USE_GLOBAL_DEVICE_IDS, .i = 1}};
  return halo_rewrite_make(&p->r, p->x.like, HALO_OP_ALL_GATHER,
                           reshard_shape(p, value->shape, dims), &value, 1, attrs, 4);
}

/* Pieces along `to` go to the members, and theirs are put next to each other along `from`. */
static halo_instr *reshard_swap(halo_spmd *p, halo_instr *value, int from, int to,
                                const halo_spmd_axes *axes) {
  const halo_shape *shape = value->shape;
  int64_t tiles = halo_spmd_tiles(p, axes), apart[HALO_MAX_RANK + 1], order[HALO_MAX_RANK + 1];
  int64_t moved[HALO_MAX_RANK + 1], result[HALO_MAX_RANK];
  int rank = shape->rank, count = 0;
  for (int d = 0; d < rank; d++) {
    if (d == to) apart[count++] = tiles;
    apart[count++] = d == to ? shape->dims[d] / tiles : shape->dims[d];
    result[d] = d == to     ? shape->dims[d] / tiles
                : d == from ? shape->dims[d] * tiles
                            : shape->dims[d];
  }
  halo_attr attrs[] = {
      {.id = HALO_ATTR_CHANNEL_ID, .i = p->channel++},
      {.id = HALO_ATTR_REPLICA_GROUPS, .groups = reshard_partition_groups(p, axes)},
      reshard_dim_attr(p, to)};
  value = halo_expand_reshape(&p->x, value, rank + 1, apart);
  value =
      halo_rewrite_make(&p->r, p->x.like, HALO_OP_ALL_TO_ALL, value->shape, &value, 1, attrs, 3);
  count = 0;
  for (int d = 0; d <= rank; d++) {
    if (d == to) continue;
    if (d == from + (from > to)) order[count++] = to;
    order[count++] = d;
  }
  for (int d = 0; d <= rank; d++) moved[d] = value->shape->dims[order[d]];
  value = halo_rewrite_make_listed(&p->r, p->x.like, HALO_OP_TRANSPOSE,
                                   halo_shape_new(&p->module->arena, shape->type, rank + 1, moved),
                                   value, HALO_ATTR_DIMENSIONS, order, rank + 1);
  return halo_expand_reshape(&p->x, value, rank, result);
}

/* Each device has a tile by `from` and wants one by `to`; as many have each. Those that have what they want
 * keep it. [devices] each. */
static halo_instr *reshard_permute(halo_spmd *p, halo_instr *value, const int64_t *from,
                                   const int64_t *to) {
  int64_t count = p->mesh.devices, *pairs = halo_arena_array(&p->arena, int64_t, 2 * count);
  bool *gives = halo_arena_array(&p->arena, bool, count), moves = false;
  for (int64_t i = 0; i < count; i++) pairs[2 * i] = -1;
  for (int64_t i = 0; i < count; i++) {
    if (from[i] != to[i]) continue;
    pairs[2 * i] = i;
    gives[i] = true;
  }
  for (int64_t i = 0; i < count; i++) {
    pairs[2 * i + 1] = i;
    for (int64_t s = 0; pairs[2 * i] < 0; s++) {
      if (gives[s] || from[s] != to[i]) continue;
      pairs[2 * i] = s;
      gives[s] = moves = true;
    }
  }
  if (!moves) return value;
  halo_attr attrs[] = {{.id = HALO_ATTR_CHANNEL_ID, .i = p->channel++},
                       halo_rewrite_list_attr(p->module, HALO_ATTR_SOURCE_TARGET_PAIRS, pairs,
                                              (int32_t)(2 * count))};
  return halo_rewrite_make(&p->r, p->x.like, HALO_OP_COLLECTIVE_PERMUTE, value->shape, &value, 1,
                           attrs, 2);
}

static void reshard_tiles_of(halo_spmd *p, const halo_spmd_sharding *s, uint32_t manual,
                             int64_t *out) {
  for (int64_t device = 0; device < p->mesh.devices; device++) {
    int64_t tile = 0;
    for (int d = 0; d < s->rank; d++) {
      tile = tile * halo_spmd_tiles(p, &s->dims[d]) + halo_spmd_position(p, &s->dims[d], device);
    }
    /* Partitions of other manual positions have other arrays, or other summands. */
    for (int a = 0; a < p->mesh.axes; a++) {
      if (!(manual & 1u << a)) continue;
      tile = tile * p->mesh.radix[a] + device / p->mesh.stride[a] % p->mesh.radix[a];
    }
    out[device] = tile;
  }
}

static halo_instr *reshard_permute_axes(halo_spmd *p, halo_instr *value,
                                        const halo_spmd_sharding *from,
                                        const halo_spmd_sharding *to) {
  int64_t *have = halo_arena_array(&p->arena, int64_t, p->mesh.devices);
  int64_t *want = halo_arena_array(&p->arena, int64_t, p->mesh.devices);
  uint32_t apart = from->manual | from->unreduced;
  reshard_tiles_of(p, from, apart, have);
  reshard_tiles_of(p, to, apart, want);
  return reshard_permute(p, value, have, want);
}

static halo_spmd_axes reshard_axes_of(const halo_spmd *p, uint32_t set) {
  halo_spmd_axes axes = {0};
  for (int a = 0; a < p->mesh.axes; a++) {
    if (set & 1u << a) axes.id[axes.count++] = (int8_t)a;
  }
  return axes;
}

/* Zeros, whose sum is the same. */
static bool reshard_is_zero(const halo_instr *value) {
  while (value->opcode == HALO_OP_BROADCAST) value = value->operands[0];
  if (value->opcode != HALO_OP_CONSTANT || value->shape->rank > 0) return false;
  halo_type type = value->shape->type;
  if (halo_type_is_complex(type)) return false;
  return halo_type_is_float(type) ? halo_literal_get_f64(value->literal, 0) == 0
                                  : halo_literal_get_i64(value->literal, 0) == 0;
}

/* Summands of a value: one partition along the axes of `set` has it, the others have nothing. */
static halo_instr *reshard_once(halo_spmd *p, halo_instr *value, uint32_t set) {
  if (!value || !set || reshard_is_zero(value)) return value;
  halo_spmd_axes axes = reshard_axes_of(p, set);
  halo_instr *place = halo_spmd_offset(p, &axes, 1);
  if (!place) return NULL;
  halo_instr *zero = halo_expand_scalar(&p->x, place->shape->type, 0);
  halo_instr *first = halo_expand_compare(&p->x, place, HALO_EQ, zero);
  const halo_shape *flags = halo_shape_with_type(&p->module->arena, value->shape, HALO_PRED);
  halo_instr *nothing =
      halo_expand_splat(&p->x, halo_expand_scalar(&p->x, value->shape->type, 0), value->shape);
  return halo_expand_select(&p->x, halo_expand_splat(&p->x, first, flags), value, nothing);
}

/* A value from one sharding to another, as cheaply as is known. */
static halo_instr *reshard_between(halo_spmd *p, halo_instr *value, const halo_spmd_sharding *from,
                                   const halo_spmd_sharding *to) {
  if (!value || !halo_shape_is_array(value->shape)) return value;
  halo_spmd_sharding cur = halo_spmd_copy(p, from);
  if (cur.unreduced & ~to->unreduced) {
    halo_computation *sum = halo_expand_combiner(&p->x, HALO_OP_ADD, value->shape->type);
    value = halo_spmd_combine(p, value, &cur, cur.unreduced, to, sum);
  }
  uint32_t more = to->unreduced & ~cur.unreduced;
  cur.unreduced = to->unreduced;
  halo_spmd_sharding before = halo_spmd_copy(p, &cur);
  before.unreduced &= ~more;
  reshard_step step;
  while (value && reshard_next(p, &cur, to, &step)) {
    switch (step.kind) {
      case RESHARD_CUT: value = reshard_cut_axes(p, value, step.to, &step.axes); break;
      case RESHARD_GATHER: value = reshard_gather(p, value, step.from, &step.axes); break;
      case RESHARD_SWAP: value = reshard_swap(p, value, step.from, step.to, &step.axes); break;
      case RESHARD_PERMUTE: value = reshard_permute_axes(p, value, &before, to); break;
    }
    memcpy(before.dims, cur.dims, sizeof *cur.dims * (size_t)cur.rank);
  }
  return reshard_once(p, value, more);
}

/* ---- Summands ---- */

static halo_instr *reshard_reduce(halo_spmd *p, halo_opcode opcode, halo_instr *value, int dim,
                                  const halo_spmd_axes *axes, halo_computation *combiner) {
  int64_t dims[HALO_MAX_RANK];
  bool scatter = opcode == HALO_OP_REDUCE_SCATTER;
  if (!value) return NULL;
  for (int d = 0; d < value->shape->rank; d++) dims[d] = value->shape->dims[d];
  if (scatter) dims[dim] /= halo_spmd_tiles(p, axes);
  halo_computation **comps = halo_arena_new(&p->module->arena, halo_computation *);
  *comps = combiner;
  halo_attr attrs[] = {{.id = HALO_ATTR_CHANNEL_ID, .i = p->channel++},
                       {.id = HALO_ATTR_REPLICA_GROUPS, .groups = reshard_groups(p, axes)},
                       {.id = HALO_ATTR_USE_GLOBAL_DEVICE_IDS, .i = 1},
                       {.id = HALO_ATTR_TO_APPLY, .comps = {comps, 1}},
                       reshard_dim_attr(p, dim)};
  return halo_rewrite_make(&p->r, p->x.like, opcode, reshard_shape(p, value->shape, dims), &value,
                           1, attrs, scatter ? 5 : 4);
}

halo_instr *halo_spmd_combine(halo_spmd *p, halo_instr *value, halo_spmd_sharding *sharding,
                              uint32_t partial, const halo_spmd_sharding *to,
                              halo_computation *combiner) {
  /* What other combiners have in parts is not summands. */
  uint32_t kept = combiner->root->opcode == HALO_OP_ADD ? to->unreduced : 0;
  sharding->unreduced = partial & kept;
  partial &= ~kept;
  for (int d = 0; d < sharding->rank; d++) {
    halo_spmd_axes *axes = &sharding->dims[d];
    int have = axes->count, n = 0;
    if (reshard_common(axes, &to->dims[d]) < have) continue;
    while (have + n < to->dims[d].count && (partial & 1u << to->dims[d].id[have + n])) n++;
    if (n == 0) continue;
    halo_spmd_axes run = reshard_part(&to->dims[d], have, n);
    value = reshard_reduce(p, HALO_OP_REDUCE_SCATTER, value, d, &run, combiner);
    partial &= ~halo_spmd_axes_set(&run);
    memcpy(axes->id + have, run.id, (size_t)n);
    axes->count = (int8_t)(have + n);
  }
  halo_spmd_axes rest = reshard_axes_of(p, partial);
  if (rest.count == 0) return value;
  return reshard_reduce(p, HALO_OP_ALL_REDUCE, value, 0, &rest, combiner);
}

/* ---- At the entry's edges ---- */

/* The tile of each device; those behind the array's rank do not count. */
static void reshard_places(const halo_sharding *s, int rank, int64_t devices, int64_t *out) {
  int64_t last = 1;
  for (int32_t d = rank; d < s->tiles.count; d++) last *= s->tiles.data[d];
  for (int64_t i = 0; i < devices; i++) out[halo_sharding_device_at(s, i)] = i / last;
}

/* Moves tiles from the devices that `from` says to those that `to` says: pairs (source, target), or NULL when
 * there is nothing to do. Both are checked, have the same tiles, and are TILED. */
static halo_instr *reshard_move(halo_spmd *p, halo_instr *value, const halo_sharding *from,
                                const halo_sharding *to) {
  int64_t *have = halo_arena_array(&p->arena, int64_t, p->mesh.devices);
  int64_t *want = halo_arena_array(&p->arena, int64_t, p->mesh.devices);
  if (!value) return NULL;
  reshard_places(from, value->shape->rank, p->mesh.devices, have);
  reshard_places(to, value->shape->rank, p->mesh.devices, want);
  return reshard_permute(p, value, have, want);
}

/* The sharding that a text says, by axes, and where those put its tiles. */
static bool reshard_edge(halo_spmd *p, const halo_sharding *said, int rank,
                         halo_spmd_sharding *axes, const halo_sharding **published) {
  bool direct;
  halo_status status = halo_spmd_read(p, said, rank, axes, &direct);
  if (p->x.status == HALO_OK) p->x.status = status;
  *published = direct || status != HALO_OK ? said : halo_spmd_publish(p, axes);
  return status == HALO_OK && said->kind == HALO_SHARDING_TILED;
}

halo_instr *halo_spmd_enter(halo_spmd *p, halo_instr *value, const halo_shape *shape,
                            const halo_sharding *from, const halo_spmd_sharding *to) {
  halo_spmd_sharding axes;
  const halo_sharding *published;
  if (!reshard_edge(p, from, shape->rank, &axes, &published)) return value;
  if (published != from) value = reshard_move(p, value, from, published);
  for (int d = 0; d < shape->rank && value; d++) {
    if (halo_spmd_axes_equal(&axes.dims[d], &to->dims[d])) continue;
    value = reshard_gather(p, value, d, &axes.dims[d]);
    value = halo_expand_range(&p->x, value, d, 0, shape->dims[d]);
  }
  return value;
}

halo_instr *halo_spmd_leave(halo_spmd *p, halo_spmd_leaf *leaf, const halo_sharding *to) {
  const halo_shape *shape = leaf->shape;
  halo_spmd_sharding axes, even;
  const halo_sharding *published;
  if (!halo_spmd_is_array(leaf)) return halo_spmd_value(p, leaf, &leaf->box->sharding);
  bool tiled = reshard_edge(p, to, shape->rank, &axes, &published);
  even = halo_spmd_copy(p, &axes);
  halo_spmd_make_even(p, shape, &even);
  halo_instr *value = halo_spmd_value(p, leaf, &even);
  if (!tiled) return value;
  for (int d = 0; d < shape->rank && value; d++) {
    if (halo_spmd_axes_equal(&axes.dims[d], &even.dims[d])) continue;
    int64_t tiles = halo_spmd_tiles(p, &axes.dims[d]), size = (shape->dims[d] + tiles - 1) / tiles;
    int64_t padding[3 * HALO_MAX_RANK] = {0};
    padding[3 * d + 1] = size * tiles - shape->dims[d];
    value = halo_expand_pad(&p->x, value, halo_expand_scalar(&p->x, shape->type, 0), padding);
    value = reshard_cut(p, value, d, halo_spmd_offset(p, &axes.dims[d], size), size);
  }
  return value && published != to ? reshard_move(p, value, published, to) : value;
}

/* ---- Leaves ---- */

/* What is there that takes the least to become `to`. */
static const halo_spmd_variant *reshard_nearest(halo_spmd *p, const halo_spmd_leaf *leaf,
                                                const halo_spmd_sharding *to, double *cost) {
  const halo_spmd_variant *best = NULL;
  *cost = 0;
  for (const halo_spmd_variant *v = leaf->variants; v; v = v->next) {
    double one = halo_spmd_reshard_cost(p, leaf->shape, &v->sharding, to);
    if (best && one >= *cost) continue;
    best = v;
    *cost = one;
  }
  return best;
}

double halo_spmd_value_cost(halo_spmd *p, const halo_spmd_leaf *leaf,
                            const halo_spmd_sharding *to) {
  double cost;
  reshard_nearest(p, leaf, to, &cost);
  return cost;
}

halo_instr *halo_spmd_value(halo_spmd *p, halo_spmd_leaf *leaf, const halo_spmd_sharding *to) {
  double cost;
  if (!leaf->variants) {
    if (p->x.status == HALO_OK) {
      p->x.status = halo_fail(HALO_UNIMPLEMENTED,
                              "line %d: %s: an operand has no value between its begin and its end",
                              p->x.like->line, p->x.like->name);
    }
    return NULL;
  }
  if (!halo_spmd_is_array(leaf)) return leaf->variants->value;
  for (halo_spmd_variant *v = leaf->variants; v; v = v->next) {
    if (halo_spmd_equal(&v->sharding, to)) return v->value;
  }
  const halo_spmd_variant *from = reshard_nearest(p, leaf, to, &cost);
  halo_spmd_variant *made = halo_arena_new(&p->arena, halo_spmd_variant);
  *made = (halo_spmd_variant){.sharding = halo_spmd_copy(p, to),
                              .value = reshard_between(p, from->value, &from->sharding, to),
                              .next = leaf->variants};
  if (!made->value) return NULL;
  leaf->variants = made;
  return made->value;
}

void halo_spmd_define(halo_spmd *p, halo_spmd_leaf *leaf, halo_instr *value,
                      const halo_spmd_sharding *from) {
  leaf->variants = NULL;
  if (!value) return;
  leaf->variants = halo_arena_new(&p->arena, halo_spmd_variant);
  *leaf->variants = (halo_spmd_variant){.sharding = halo_spmd_copy(p, from), .value = value};
}
