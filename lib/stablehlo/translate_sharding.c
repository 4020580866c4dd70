/* stablehlo/translate_sharding.c: Shardy: shardings by axes of a mesh, and computations that are partitioned by
 * hand. */
#include "stablehlo/translate.h"

#include <string.h>

/* ---- Meshes ---- */

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
  halo_translate_wrong(t, "there is no mesh @%s", name ? name : "");
  return NULL;
}

/* A part of an axis, none of which has parts that a sharding names: a dimension of the array of devices. */
typedef struct sharding_axis {
  const char *name;
  int64_t pre, size; /* of the axis' extent: pre x size x rest */
  int place;         /* among the array dimensions' axes, in order; -1: not used */
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
  if (listed <= 0) {
    out->reshape = (halo_int_list){reshape, n};
    if (n > 1) out->transpose = (halo_int_list){transpose, n};
    return;
  }
  if (listed != all) {
    halo_translate_wrong(t, "a mesh of %lld devices lists %d", (long long)all, listed);
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

bool halo_translate_shardy(halo_translator *t, const halo_mlir_attr *attr, int rank,
                           halo_sharding *out) {
  *out = (halo_sharding){.kind = HALO_SHARDING_REPLICATED};
  if (!halo_translate_ok(t) || attr->kind != HALO_MLIR_STRUCT) return false;
  const halo_mlir_attr *mesh = halo_translate_mesh(t, halo_mlir_dict_get(attr, "mesh_or_ref"));
  const halo_mlir_attr *dims = sharding_array(attr, "dim_shardings");
  sharding_axes axes;
  if (!mesh || !sharding_read_mesh(t, mesh, &axes)) return false;
  int64_t *tiles = halo_arena_array(t->arena, int64_t, rank + 1), used = 1, all = 1;
  int place = 0;
  for (int d = 0; d < rank; d++) {
    tiles[d] = 1;
    const halo_mlir_attr *dim = dims && d < dims->array.count ? dims->array.data[d] : NULL;
    const halo_mlir_attr *list = dim ? sharding_array(dim, "axes") : NULL;
    for (int32_t i = 0; list && i < list->array.count; i++) {
      if (sharding_use(&axes, list->array.data[i], &place, &tiles[d])) continue;
      halo_translate_wrong(t, "a sharding names an axis that its mesh has not, or twice");
      return false;
    }
    used *= tiles[d];
  }
  for (int i = 0; i < axes.count; i++) all *= axes.data[i].size;
  if (used == 1) return true;
  out->kind = HALO_SHARDING_TILED;
  tiles[rank] = all / used;
  out->replicate_last = all != used;
  out->tiles = (halo_int_list){tiles, rank + (all != used)};
  sharding_devices(t, &axes, place, mesh, out);
  return halo_translate_ok(t);
}

/* ---- Bodies ---- */

void halo_translate_op_sharding_constraint(halo_translator *t, halo_mlir_op *op) {
  halo_translate_result(t, op, 0, halo_translate_operand(t, op, 0));
}

/* The region's operations here, its arguments being the operands. */
static void sharding_inline(halo_translator *t, halo_mlir_op *op) {
  halo_mlir_block *block = op->regions[0].block;
  if (!block || block->arg_count != op->operand_count) {
    halo_translate_wrong(t, "the region does not take the operands");
    return;
  }
  for (int32_t i = 0; i < block->arg_count; i++) {
    block->args[i].data = halo_translate_operand(t, op, i);
  }
  halo_instr **results = halo_arena_array(t->arena, halo_instr *, op->result_count + 1);
  halo_translate_block(t, block, results, op->result_count);
  for (int32_t i = 0; i < op->result_count; i++) halo_translate_result(t, op, i, results[i]);
}

void halo_translate_op_named_computation(halo_translator *t, halo_mlir_op *op) {
  sharding_inline(t, op);
}

void halo_translate_op_manual(halo_translator *t, halo_mlir_op *op) {
  const halo_mlir_block *block = op->regions[0].block;
  for (int32_t i = 0; block && i < block->arg_count && i < op->operand_count; i++) {
    const halo_shape *part = halo_translate_type(t, block->args[i].type);
    const halo_instr *whole = halo_translate_operand(t, op, i);
    if (!whole || !part || halo_shape_compatible(part, whole->shape)) continue;
    halo_translate_refuse(t, "argument %d is a part of what it is given", i);
    return;
  }
  sharding_inline(t, op);
}
