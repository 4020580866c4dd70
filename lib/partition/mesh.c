/* SPDX-License-Identifier: Apache-2.0 */
/* partition/mesh.c: partitions as a mesh of axes, and shardings by these. */
#include "base/status.h"
#include "partition/spmd.h"

#include <string.h>

/* ---- Lists of axes ---- */

bool halo_spmd_axes_equal(const halo_spmd_axes *a, const halo_spmd_axes *b) {
  return a->count == b->count && memcmp(a->id, b->id, (size_t)a->count) == 0;
}

bool halo_spmd_equal(const halo_spmd_sharding *a, const halo_spmd_sharding *b) {
  if (a->rank != b->rank || a->unreduced != b->unreduced) return false;
  for (int d = 0; d < a->rank; d++) {
    if (!halo_spmd_axes_equal(&a->dims[d], &b->dims[d])) return false;
  }
  return true;
}

uint32_t halo_spmd_axes_set(const halo_spmd_axes *axes) {
  uint32_t set = 0;
  for (int i = 0; i < axes->count; i++) set |= 1u << axes->id[i];
  return set;
}

uint32_t halo_spmd_set(const halo_spmd_sharding *sharding) {
  uint32_t set = 0;
  for (int d = 0; d < sharding->rank; d++) set |= halo_spmd_axes_set(&sharding->dims[d]);
  return set;
}

int64_t halo_spmd_tiles(const halo_spmd *p, const halo_spmd_axes *axes) {
  int64_t tiles = 1;
  for (int i = 0; i < axes->count; i++) tiles *= p->mesh.radix[axes->id[i]];
  return tiles;
}

int64_t halo_spmd_position(const halo_spmd *p, const halo_spmd_axes *axes, int64_t device) {
  int64_t position = 0;
  for (int i = 0; i < axes->count; i++) {
    int64_t radix = p->mesh.radix[axes->id[i]];
    position = position * radix + device / p->mesh.stride[axes->id[i]] % radix;
  }
  return position;
}

halo_spmd_sharding halo_spmd_replicated(halo_spmd *p, int rank, uint32_t manual) {
  return (halo_spmd_sharding){.rank = rank,
                              .dims = halo_arena_array(&p->arena, halo_spmd_axes, rank + 1),
                              .manual = manual};
}

halo_spmd_sharding halo_spmd_copy(halo_spmd *p, const halo_spmd_sharding *from) {
  halo_spmd_sharding copy = halo_spmd_replicated(p, from->rank, from->manual);
  copy.unreduced = from->unreduced;
  if (from->rank) memcpy(copy.dims, from->dims, sizeof *copy.dims * (size_t)from->rank);
  return copy;
}

void halo_spmd_make_even(const halo_spmd *p, const halo_shape *shape,
                         halo_spmd_sharding *sharding) {
  /* Exchanges do not carry sizes that are known at run time only. */
  bool whole = halo_shape_is_dynamic(shape);
  for (int d = 0; d < sharding->rank; d++) {
    bool even = shape->dims[d] % halo_spmd_tiles(p, &sharding->dims[d]) == 0;
    if (!even || whole || shape->dims[d] == 0) {
      sharding->dims[d].count = 0;
    }
  }
}

const halo_shape *halo_spmd_local(halo_spmd *p, const halo_shape *shape,
                                  const halo_spmd_sharding *sharding) {
  int64_t dims[HALO_MAX_RANK];
  if (!halo_shape_is_array(shape) || halo_spmd_set(sharding) == 0) return shape;
  for (int d = 0; d < shape->rank; d++) {
    dims[d] = shape->dims[d] / halo_spmd_tiles(p, &sharding->dims[d]);
  }
  return halo_shape_new_full(&p->module->arena, shape->type, shape->rank, dims, shape->dynamic,
                             shape->minor_to_major);
}

/* ---- Reading ---- */

static int mesh_axis_of_stride(const halo_spmd_mesh *mesh, int64_t stride) {
  for (int a = 0; a < mesh->axes; a++) {
    if (mesh->stride[a] == stride) return a;
  }
  return -1;
}

/* The axes that the tiles of each dimension of a TILED sharding follow, [tiles.count]; false: they do not follow
 * any. */
static bool mesh_read_axes(const halo_spmd_mesh *mesh, const halo_sharding *s,
                           halo_spmd_axes *out) {
  int64_t places = 1;
  uint32_t used = 0;
  if (halo_sharding_device_at(s, 0) != 0) return false;
  for (int32_t d = s->tiles.count - 1; d >= 0; d--) {
    int64_t tiles = s->tiles.data[d];
    out[d] = (halo_spmd_axes){0};
    for (int64_t unit = 1; unit < tiles;) {
      int axis = mesh_axis_of_stride(mesh, halo_sharding_device_at(s, unit * places));
      if (axis < 0 || (used & 1u << axis) || tiles % (unit * mesh->radix[axis]) != 0) return false;
      memmove(out[d].id + 1, out[d].id, (size_t)out[d].count++);
      out[d].id[0] = (int8_t)axis;
      used |= 1u << axis;
      unit *= mesh->radix[axis];
    }
    places *= tiles;
  }
  for (int64_t i = 0; i < places; i++) {
    int64_t device = 0, rest = i;
    for (int32_t d = s->tiles.count - 1; d >= 0; d--) {
      for (int k = out[d].count - 1; k >= 0; k--) {
        int axis = out[d].id[k];
        device += rest % mesh->radix[axis] * mesh->stride[axis];
        rest /= mesh->radix[axis];
      }
    }
    if (device != halo_sharding_device_at(s, i)) return false;
  }
  return true;
}

/* Any axes with as many tiles. */
static void mesh_stand_in(const halo_spmd_mesh *mesh, const halo_sharding *s, halo_spmd_axes *out) {
  uint32_t used = 0;
  for (int32_t d = 0; d < s->tiles.count; d++) {
    int64_t left = s->tiles.data[d];
    out[d] = (halo_spmd_axes){0};
    for (int a = 0; a < mesh->axes; a++) {
      if ((used & 1u << a) || left % mesh->radix[a] != 0) continue;
      left /= mesh->radix[a];
      used |= 1u << a;
      out[d].id[out[d].count++] = (int8_t)a;
    }
  }
}

static uint32_t mesh_all(const halo_spmd *p) { return (1u << p->mesh.axes) - 1; }

halo_status halo_spmd_read(halo_spmd *p, const halo_sharding *from, int rank,
                           halo_spmd_sharding *out, bool *direct) {
  halo_spmd_axes axes[HALO_MAX_RANK + HALO_MAX_RANK];
  *out = halo_spmd_replicated(p, rank, 0);
  *direct = true;
  switch (from->kind) {
    case HALO_SHARDING_REPLICATED:
    case HALO_SHARDING_MAXIMAL:
    case HALO_SHARDING_UNKNOWN: return HALO_OK;
    case HALO_SHARDING_MANUAL: out->manual = mesh_all(p); return HALO_OK;
    case HALO_SHARDING_UNREDUCED: out->unreduced = mesh_all(p); return HALO_OK;
    case HALO_SHARDING_NAMED:
      return halo_fail(HALO_UNIMPLEMENTED, "shardings by axes of a mesh cannot be partitioned");
    case HALO_SHARDING_TUPLE:
      return halo_fail(HALO_INVALID_ARGUMENT, "a tuple's sharding stands at an array");
    case HALO_SHARDING_TILED: break;
  }
  *direct = mesh_read_axes(&p->mesh, from, axes);
  if (!*direct) mesh_stand_in(&p->mesh, from, axes);
  for (int d = 0; d < rank; d++) out->dims[d] = axes[d];
  for (int32_t i = 0; i < from->last_kinds.count; i++) {
    uint32_t set = halo_spmd_axes_set(&axes[rank + i]);
    if (from->last_kinds.data[i] == HALO_SHARDING_MANUAL) out->manual |= set;
    if (from->last_kinds.data[i] == HALO_SHARDING_UNREDUCED) out->unreduced |= set;
  }
  if ((out->manual || out->unreduced) && !*direct) {
    return halo_fail(HALO_UNIMPLEMENTED,
                     "a manual or unreduced sharding whose devices follow no mesh cannot be "
                     "partitioned");
  }
  return HALO_OK;
}

/* ---- Choosing the mesh ---- */

static void mesh_set(halo_spmd_mesh *mesh, int axes, const int64_t *radix) {
  int64_t stride = 1;
  mesh->axes = axes;
  for (int a = axes - 1; a >= 0; a--) {
    mesh->radix[a] = radix[a];
    mesh->stride[a] = stride;
    stride *= radix[a];
  }
  mesh->devices = stride;
}

/* The next order of these numbers by the alphabet; false behind the last. */
static bool mesh_permute(int count, int64_t *list) {
  int i = count - 2, j = count - 1;
  while (i >= 0 && list[i] >= list[i + 1]) i--;
  if (i < 0) return false;
  while (list[j] <= list[i]) j--;
  int64_t swap = list[i];
  list[i] = list[j];
  list[j] = swap;
  for (int a = i + 1, b = count - 1; a < b; a++, b--) {
    swap = list[a];
    list[a] = list[b];
    list[b] = swap;
  }
  return true;
}

static int mesh_score_one(const halo_spmd_mesh *mesh, const halo_sharding *s) {
  halo_spmd_axes axes[2 * HALO_MAX_RANK];
  int score = 0;
  for (int32_t i = 0; i < s->element_count; i++) score += mesh_score_one(mesh, &s->elements[i]);
  if (s->kind != HALO_SHARDING_TILED || s->tiles.count > 2 * HALO_MAX_RANK) return score;
  if (halo_sharding_device_count(s) != mesh->devices) return score;
  return score + mesh_read_axes(mesh, s, axes);
}

static int mesh_score(const halo_module *module, const halo_spmd_mesh *mesh) {
  int score = 0;
  for (int32_t c = 0; c < module->computations.count; c++) {
    const halo_computation *computation = module->computations.data[c];
    for (int32_t i = 0; i < computation->instrs.count; i++) {
      const halo_attr *attr = halo_instr_attr(computation->instrs.data[i], HALO_ATTR_SHARDING);
      if (attr) score += mesh_score_one(mesh, attr->sharding);
    }
  }
  return score;
}

halo_status halo_spmd_mesh_choose(halo_spmd *p) {
  enum { MOST_ORDERS = 100 };
  int64_t radix[64], left = p->module->num_partitions;
  int axes = 0, best = -1;
  if (left > HALO_SPMD_MAX_DEVICES) {
    return halo_fail(HALO_UNIMPLEMENTED, "a program cannot be partitioned for more than %d devices",
                     HALO_SPMD_MAX_DEVICES);
  }
  for (int64_t prime = 2; left > 1; prime++) {
    for (; left % prime == 0; left /= prime) radix[axes++] = prime;
  }
  bool more = true;
  for (int order = 0; order < MOST_ORDERS && more; order++) {
    halo_spmd_mesh mesh = {0};
    mesh_set(&mesh, axes, radix);
    more = mesh_permute(axes, radix);
    int score = !more && order == 0 ? 0 : mesh_score(p->module, &mesh);
    if (score > best) p->mesh = mesh;
    if (score > best) best = score;
  }
  return HALO_OK;
}

/* ---- Writing ---- */

static halo_int_list mesh_list(halo_spmd *p, const int64_t *data, int32_t count) {
  return halo_int_list_clone(&p->module->arena, (halo_int_list){data, count});
}

const halo_sharding *halo_spmd_publish(halo_spmd *p, const halo_spmd_sharding *from) {
  halo_sharding *out = halo_arena_new(&p->module->arena, halo_sharding);
  uint32_t named = halo_spmd_set(from);
  if (!named && !from->unreduced) return out;
  if (from->unreduced == mesh_all(p)) {
    out->kind = HALO_SHARDING_UNREDUCED;
    return out;
  }
  int64_t tiles[HALO_MAX_RANK + 2], runs[HALO_SPMD_AXES], order[HALO_SPMD_AXES];
  int axes[HALO_SPMD_AXES], run_of[HALO_SPMD_AXES], count = 0, run_count = 0;
  for (int d = 0; d < from->rank; d++) {
    tiles[d] = halo_spmd_tiles(p, &from->dims[d]);
    for (int k = 0; k < from->dims[d].count; k++) axes[count++] = from->dims[d].id[k];
  }
  static const int64_t kinds[2] = {HALO_SHARDING_UNREDUCED, HALO_SHARDING_REPLICATED};
  int64_t rest[2] = {1, 1};
  for (int kind = 0; kind < 2; kind++) {
    for (int a = 0; a < p->mesh.axes; a++) {
      if ((named & 1u << a) || ((from->unreduced & 1u << a) == 0) != kind) continue;
      axes[count++] = a;
      rest[kind] *= p->mesh.radix[a];
    }
  }
  /* Axes that follow each other here and there are one dimension of the devices. */
  bool begins[HALO_SPMD_AXES];
  for (int i = 0; i < count; i++) begins[axes[i]] = i == 0 || axes[i] != axes[i - 1] + 1;
  for (int a = 0; a < count; a++) {
    if (begins[a]) runs[run_count++] = 1;
    run_of[a] = run_count - 1;
    runs[run_count - 1] *= p->mesh.radix[a];
  }
  for (int i = 0, k = 0; i < count; i++) {
    if (begins[axes[i]]) order[k++] = run_of[axes[i]];
  }
  out->kind = HALO_SHARDING_TILED;
  int32_t last = 0;
  for (int kind = 0; kind < 2; kind++) {
    if (rest[kind] > 1) tiles[from->rank + last++] = rest[kind];
  }
  out->replicate_last = last == 1 && !from->unreduced;
  if (from->unreduced) out->last_kinds = mesh_list(p, kinds, last);
  out->tiles = mesh_list(p, tiles, from->rank + last);
  out->reshape = mesh_list(p, runs, run_count);
  if (run_count > 1) out->transpose = mesh_list(p, order, run_count);
  return out;
}

/* ---- Shardings for callers ---- */

/* Cuts of a dimension up to the first by a part of an axis of the text's: callers know their axes alone. */
static void mesh_whole_axes(const halo_spmd_mesh *mesh, halo_spmd_axes *axes) {
  for (int k = 0; k < axes->count; k++) {
    int begin = k, a = axes->id[k];
    bool first = a == 0 || (mesh->separate >> (a - 1) & 1);
    while (!(mesh->separate >> a & 1) && k + 1 < axes->count && axes->id[k + 1] == a + 1) {
      k++;
      a++;
    }
    bool last = a + 1 == mesh->axes || (mesh->separate >> a & 1);
    if (!first || !last) axes->count = (int8_t)begin;
  }
}

const halo_sharding *halo_spmd_found(halo_spmd *p, const halo_spmd_leaf *leaf) {
  static const halo_sharding manual = {.kind = HALO_SHARDING_MANUAL};
  if (leaf->box->sharding.manual) return &manual;
  halo_spmd_sharding out = halo_spmd_copy(p, &leaf->box->sharding);
  out.unreduced &= ~leaf->box->derived;
  for (int d = 0; d < out.rank; d++) mesh_whole_axes(&p->mesh, &out.dims[d]);
  return halo_spmd_publish(p, &out);
}
