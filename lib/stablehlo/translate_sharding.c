/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/translate_sharding.c: shardings by axes of a mesh, as Shardy has them, in HLO's form. */
#include "stablehlo/translate.h"

#include <string.h>

/* ---- Meshes ---- */

const halo_mlir_attr *halo_translate_shardy_text(halo_translator *t, const halo_mlir_attr *frontend,
                                                 const char *name) {
  const halo_mlir_attr *text = halo_mlir_dict_get(frontend, name), *attr = NULL;
  if (!halo_translate_ok(t) || !text || text->kind != HALO_MLIR_STRING) return NULL;
  halo_status status = halo_mlir_read_attr(t->program, text->string.text, &attr);
  if (status != HALO_OK) halo_translate_failed(t, halo_fail_in(status, "%s", name));
  return attr;
}

const halo_mlir_attr *halo_translate_mesh(halo_translator *t, const halo_mlir_attr *mesh) {
  if (!halo_translate_ok(t)) return NULL;
  if (mesh && mesh->kind == HALO_MLIR_STRUCT) return mesh;
  const char *name = mesh && (mesh->kind == HALO_MLIR_SYMBOL || mesh->kind == HALO_MLIR_STRING)
                         ? mesh->string.text
                         : NULL;
  const halo_mlir_block *block = t->program->module->regions[0].block;
  for (int32_t i = 0; name && i < block->ops.count; i++) {
    const halo_mlir_op *op = block->ops.data[i];
    if (op->opcode != HALO_MLIR_OP_SDY_MESH) continue;
    if (strcmp(halo_mlir_string(op, "sym_name", ""), name) == 0) {
      return halo_mlir_attr_of(op, "mesh");
    }
  }
  /* Programs without Shardy have them as text. */
  const halo_mlir_attr *frontend =
      halo_mlir_attr_of(t->program->module, "mhlo.frontend_attributes");
  const halo_mlir_attr *meshes = halo_translate_shardy_text(t, frontend, "xla.sdy.meshes");
  const halo_mlir_attr *found = name ? halo_mlir_dict_get(meshes, name) : NULL;
  if (found) return found;
  halo_translate_wrong(t, "there is no mesh @%s", name ? name : "");
  return NULL;
}

/* A part of an axis, none of which has parts that a sharding names: a dimension of the array of devices. */
typedef struct sharding_axis {
  const char *name;
  int64_t pre, size; /* of the axis' extent: pre x size x rest */
  int place;         /* among those that were named, in order; -1: not used */
} sharding_axis;

enum { SHARDING_MAX_AXES = 32 };

typedef struct sharding_axes {
  sharding_axis data[SHARDING_MAX_AXES];
  int count;
} sharding_axes;

static int64_t sharding_number(const halo_mlir_attr *of, const char *name, int64_t default_) {
  const halo_mlir_attr *attr = halo_mlir_dict_get(of, name);
  return attr && attr->kind == HALO_MLIR_INT ? attr->i : default_;
}

static const char *sharding_name(const halo_mlir_attr *of) {
  const halo_mlir_attr *attr = of;
  if (of->kind == HALO_MLIR_STRUCT) attr = halo_mlir_dict_get(of, "name");
  return attr && attr->kind == HALO_MLIR_STRING ? attr->string.text : "";
}

static const halo_mlir_attr *sharding_array(const halo_mlir_attr *of, const char *name) {
  const halo_mlir_attr *attr = halo_mlir_dict_get(of, name);
  return attr && attr->kind == HALO_MLIR_ARRAY ? attr : NULL;
}

static bool sharding_read_mesh(halo_translator *t, const halo_mlir_attr *mesh, sharding_axes *out) {
  const halo_mlir_attr *axes = mesh ? sharding_array(mesh, "axes") : NULL;
  out->count = axes ? axes->array.count : 0;
  if (out->count > SHARDING_MAX_AXES) {
    halo_translate_refuse(t, "a mesh has %d axes, of which at most %d are supported", out->count,
                          SHARDING_MAX_AXES);
    return false;
  }
  for (int i = 0; i < out->count; i++) {
    const halo_mlir_attr *axis = axes->array.data[i];
    out->data[i] = (sharding_axis){sharding_name(axis), 1, sharding_number(axis, "size", 1), -1};
    if (out->data[i].size < 1) halo_translate_wrong(t, "an axis of the mesh has no devices");
  }
  return halo_translate_ok(t);
}

/* Cuts the part of an axis that starts at `pre` behind its first `size`; false when that does not fit. */
static bool sharding_cut(sharding_axes *axes, const char *name, int64_t pre) {
  for (int i = 0; i < axes->count; i++) {
    sharding_axis *axis = &axes->data[i];
    if (strcmp(axis->name, name) != 0 || pre <= axis->pre || pre >= axis->pre * axis->size)
      continue;
    int64_t first = pre / axis->pre;
    if (pre % axis->pre || axis->size % first || axes->count == SHARDING_MAX_AXES) return false;
    memmove(axis + 2, axis + 1, sizeof *axis * (size_t)(axes->count - i - 1));
    axis[1] = (sharding_axis){name, pre, axis->size / first, -1};
    axis->size = first;
    axes->count++;
  }
  return true;
}

/* Marks an axis, or a part of one, as the next that an array's dimension is cut along. */
static bool sharding_use(sharding_axes *axes, const halo_mlir_attr *reference, int *place,
                         int64_t *tiles) {
  const char *name = sharding_name(reference);
  const halo_mlir_attr *part = halo_mlir_dict_get(reference, "sub_axis_info");
  int64_t pre = part ? sharding_number(part, "pre_size", 1) : 1, size = 0;
  if (part) size = sharding_number(part, "size", 1);
  bool found = false;
  if (part && (pre < 1 || size < 1 || pre > INT64_MAX / size || !sharding_cut(axes, name, pre) ||
               !sharding_cut(axes, name, pre * size))) {
    return false;
  }
  for (int i = 0; i < axes->count; i++) {
    sharding_axis *axis = &axes->data[i];
    bool inside = !part || (axis->pre >= pre && axis->pre < pre * size);
    if (strcmp(axis->name, name) != 0 || !inside) continue;
    if (axis->place >= 0) return false;
    axis->place = (*place)++;
    *tiles *= axis->size;
    found = true;
  }
  return found;
}

/* Whether the numbers of tiles show where each axis ends. Where several axes cut one dimension they do not, and the
 * partitioner, which cuts results along the program's axes only, has to be told. */
static bool sharding_tiles_show(const sharding_axes *axes, halo_int_list tiles) {
  int64_t tiled = 1, named = 1;
  int32_t d = 0;
  for (int i = 0; i < axes->count; i++) {
    named *= axes->data[i].size;
    while (d < tiles.count && tiled < named) tiled *= tiles.data[d++];
    if (tiled != named) return false;
  }
  return true;
}

/* Numbers of devices, row-major over the axes in the order in which the array uses them. */
static void sharding_devices(halo_translator *t, const sharding_axes *axes, int used,
                             const halo_mlir_attr *mesh, halo_sharding *out) {
  int n = axes->count, at = used;
  int64_t *reshape = halo_arena_array(t->arena, int64_t, n + 1);
  int64_t *transpose = halo_arena_array(t->arena, int64_t, n + 1);
  int64_t all = 1;
  for (int i = 0; i < n; i++) {
    const sharding_axis *axis = &axes->data[i];
    reshape[i] = axis->size;
    transpose[axis->place >= 0 ? axis->place : at++] = i;
    all *= axis->size;
  }
  int32_t listed;
  const int64_t *ids = halo_mlir_ints(t->program, halo_mlir_dict_get(mesh, "device_ids"), &listed);
  bool simple = true;
  for (int i = 0; i < n; i++) simple &= transpose[i] == i;
  if (listed <= 0) {
    simple = simple && sharding_tiles_show(axes, out->tiles);
    if (simple) reshape[0] = all;
    out->reshape = (halo_int_list){reshape, simple ? 1 : n};
    if (!simple) out->transpose = (halo_int_list){transpose, n};
    return;
  }
  if (listed != all) {
    halo_translate_wrong(t, "a mesh of %lld device%s lists %d", (long long)all, halo_plural(all),
                         listed);
    return;
  }
  int64_t *devices = halo_arena_array(t->arena, int64_t, all), index[SHARDING_MAX_AXES] = {0};
  for (int64_t d = 0; d < all; d++) {
    int64_t number = 0;
    for (int i = 0; i < n; i++) number = number * reshape[i] + index[i];
    devices[d] = ids[number];
    for (int i = n - 1; i >= 0 && ++index[transpose[i]] == reshape[transpose[i]]; i--) {
      index[transpose[i]] = 0;
    }
  }
  out->devices = (halo_int_list){devices, listed};
}

/* Whether an axis is one of those along which the program at hand is partitioned by hand. */
static bool sharding_is_manual(const halo_mlir_attr *manual, const char *name) {
  for (int32_t i = 0; manual && i < manual->array.count; i++) {
    if (strcmp(sharding_name(manual->array.data[i]), name) == 0) return true;
  }
  return false;
}

/* The tiles of an array's dimensions by the axes that are not in `without`. */
static bool sharding_tiles(halo_translator *t, const halo_mlir_attr *attr, int rank,
                           const halo_mlir_attr *without, sharding_axes *axes, int *place,
                           int64_t *tiles) {
  const halo_mlir_attr *dims = attr ? sharding_array(attr, "dim_shardings") : NULL;
  for (int d = 0; d < rank; d++) {
    tiles[d] = 1;
    const halo_mlir_attr *dim = dims && d < dims->array.count ? dims->array.data[d] : NULL;
    const halo_mlir_attr *list = dim ? sharding_array(dim, "axes") : NULL;
    for (int32_t i = 0; list && i < list->array.count; i++) {
      const halo_mlir_attr *axis = list->array.data[i];
      if (sharding_is_manual(without, sharding_name(axis))) continue;
      if (sharding_use(axes, axis, place, &tiles[d])) continue;
      halo_translate_wrong(t, "a sharding names an axis that its mesh has not, or twice");
      return false;
    }
  }
  return true;
}

/* The devices of axes that are partitioned by hand stand behind those of the tiles. */
static int64_t sharding_manual(sharding_axes *axes, const halo_mlir_attr *manual, int *place) {
  int64_t devices = 1;
  for (int i = 0; i < axes->count; i++) {
    if (axes->data[i].place >= 0 || !sharding_is_manual(manual, axes->data[i].name)) continue;
    axes->data[i].place = (*place)++;
    devices *= axes->data[i].size;
  }
  return devices;
}

/* The devices of axes along which each has a summand; they stand behind those. */
static int64_t sharding_unreduced(halo_translator *t, const halo_mlir_attr *attr,
                                  const halo_mlir_attr *without, sharding_axes *axes, int *place) {
  const halo_mlir_attr *list = attr ? sharding_array(attr, "unreduced_axes") : NULL;
  const halo_mlir_attr *reduction = attr ? halo_mlir_dict_get(attr, "unreduced_reduction") : NULL;
  int64_t devices = 1;
  if (list && list->array.count && reduction && reduction->i != 0) {
    halo_translate_refuse(t,
                          "an array that is unreduced over devices by another operation than "
                          "a sum (a maximum or a minimum) is not supported");
    return 1;
  }
  for (int32_t i = 0; list && i < list->array.count; i++) {
    const halo_mlir_attr *axis = list->array.data[i];
    if (sharding_is_manual(without, sharding_name(axis))) continue;
    if (sharding_use(axes, axis, place, &devices)) continue;
    halo_translate_wrong(t, "a sharding is unreduced along an axis that cuts, or that is none");
    return 1;
  }
  return devices;
}

/* A mesh without axes is one device. */
static bool sharding_is_maximal(halo_translator *t, const halo_mlir_attr *mesh,
                                halo_sharding *out) {
  int32_t listed;
  const halo_mlir_attr *axes = sharding_array(mesh, "axes");
  const int64_t *ids = halo_mlir_ints(t->program, halo_mlir_dict_get(mesh, "device_ids"), &listed);
  if ((axes && axes->array.count) || listed != 1) return false;
  *out = (halo_sharding){.kind = HALO_SHARDING_MAXIMAL, .device = ids[0]};
  return true;
}

/* `attr` NULL: nothing cuts the array. */
static bool sharding_read(halo_translator *t, const halo_mlir_attr *mesh,
                          const halo_mlir_attr *attr, int rank, const halo_mlir_attr *manual,
                          halo_sharding *out) {
  *out = (halo_sharding){.kind = HALO_SHARDING_REPLICATED};
  sharding_axes axes;
  if (!mesh) return false;
  if (sharding_is_maximal(t, mesh, out)) return true;
  int64_t *tiles = halo_arena_array(t->arena, int64_t, rank + 3), used = 1, all = 1;
  int place = 0;
  if (!sharding_read_mesh(t, mesh, &axes)) return false;
  if (!sharding_tiles(t, attr, rank, manual, &axes, &place, tiles)) return false;
  for (int d = 0; d < rank; d++) used *= tiles[d];
  int64_t by_hand = sharding_manual(&axes, manual, &place);
  int64_t summands = sharding_unreduced(t, attr, manual, &axes, &place);
  for (int i = 0; i < axes.count; i++) all *= axes.data[i].size;
  if (used == 1 && by_hand == 1 && summands == 1) return true;
  if (used == 1 && (by_hand == all || summands == all)) {
    out->kind = by_hand == all ? HALO_SHARDING_MANUAL : HALO_SHARDING_UNREDUCED;
    return true;
  }
  const int64_t counts[] = {by_hand, summands, all / used / by_hand / summands};
  static const halo_sharding_kind kind_of[] = {HALO_SHARDING_MANUAL, HALO_SHARDING_UNREDUCED,
                                               HALO_SHARDING_REPLICATED};
  int64_t *kinds = halo_arena_array(t->arena, int64_t, 3);
  int last = 0;
  out->kind = HALO_SHARDING_TILED;
  for (int k = 0; k < 3; k++) {
    if (counts[k] == 1) continue;
    tiles[rank + last] = counts[k];
    kinds[last++] = kind_of[k];
  }
  out->replicate_last = last == 1 && kinds[0] == HALO_SHARDING_REPLICATED;
  if (last && !out->replicate_last) out->last_kinds = (halo_int_list){kinds, last};
  out->tiles = (halo_int_list){tiles, rank + last};
  sharding_devices(t, &axes, place, mesh, out);
  return halo_translate_ok(t);
}

bool halo_translate_shardy(halo_translator *t, const halo_mlir_attr *attr, int rank,
                           const halo_mlir_attr *manual, halo_sharding *out) {
  if (!halo_translate_ok(t) || attr->kind != HALO_MLIR_STRUCT) return false;
  const halo_mlir_attr *mesh = halo_translate_mesh(t, halo_mlir_dict_get(attr, "mesh_or_ref"));
  return sharding_read(t, mesh, attr, rank, manual, out);
}

bool halo_translate_shardy_manual(halo_translator *t, int rank, halo_sharding *out) {
  if (!t->manual_mesh || !halo_translate_ok(t)) return false;
  const halo_mlir_attr *mesh = halo_translate_mesh(t, t->manual_mesh);
  if (!sharding_read(t, mesh, NULL, rank < 0 ? 0 : rank, t->manual, out)) return false;
  return out->kind == HALO_SHARDING_MANUAL || (out->kind == HALO_SHARDING_TILED && rank >= 0);
}
