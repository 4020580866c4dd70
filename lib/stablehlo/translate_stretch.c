/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/translate_stretch.c: CHLO's operations whose operands are stretched to one shape first, as NumPy does it: they
 * become the plain operation on what is stretched. */
#include "stablehlo/translate.h"

#include <string.h>

enum { STRETCH_OPERANDS = 3 };

/* Which dimension of the result each of an operand's is. */
typedef struct stretch_map {
  int64_t at[HALO_MAX_RANK];
} stretch_map;

/* The operation behind "chlo.broadcast_". */
static halo_mlir_opcode stretch_plain(halo_mlir_opcode opcode) {
  const char *rest = halo_mlir_opcode_name(opcode) + strlen("chlo.broadcast_");
  char name[64] = "stablehlo.";
  strncat(name, rest, sizeof name - strlen(name) - 1);
  halo_mlir_opcode plain = halo_mlir_opcode_from_name(name);
  if (plain) return plain;
  strcpy(name, "chlo.");
  strncat(name, rest, sizeof name - strlen(name) - 1);
  return halo_mlir_opcode_from_name(name);
}

/* The last dimensions of operands belong together, or as broadcast_dimensions says of the operand of lower rank. */
static void stretch_place(halo_translator *t, const halo_mlir_op *op, halo_instr *const *operands,
                          int rank, stretch_map *maps) {
  bool told = halo_mlir_attr_of(op, "broadcast_dimensions") != NULL;
  int lower = -1;
  for (int32_t i = 0; i < op->operand_count; i++) {
    int own = operands[i]->shape->rank;
    for (int d = 0; d < own; d++) maps[i].at[d] = rank - own + d;
    if (own < rank) lower = i;
  }
  if (!told) return;
  int32_t count = lower < 0 ? rank : operands[lower]->shape->rank;
  const int64_t *list = halo_translate_list(t, op, "broadcast_dimensions", count, NULL);
  for (int32_t d = 0; list && d < count; d++) {
    if (lower < 0 && list[d] != d) {
      halo_translate_wrong(t, "broadcast_dimensions of operands of one rank must be 0, 1, ...");
      return;
    }
    if (list[d] < 0 || list[d] >= rank || (d && list[d] <= list[d - 1])) {
      halo_translate_wrong(t, "broadcast_dimensions must be dimensions of the result that grow");
      return;
    }
    if (lower >= 0) maps[lower].at[d] = list[d];
  }
}

/* Extents of 1 become those of the other operands, which must be equal. */
static void stretch_extents(halo_translator *t, const halo_mlir_op *op, halo_instr *const *operands,
                            const stretch_map *maps, int rank, int64_t *dims) {
  for (int d = 0; d < rank; d++) dims[d] = 1;
  for (int32_t i = 0; i < op->operand_count; i++) {
    const halo_shape *shape = operands[i]->shape;
    for (int d = 0; d < shape->rank; d++) {
      int64_t *to = &dims[maps[i].at[d]];
      if (shape->dims[d] == 1 || shape->dims[d] == *to) continue;
      if (*to != 1) {
        halo_translate_wrong(t,
                             "extents %lld and %lld of dimension %lld do not fit: expected "
                             "equal ones, or 1",
                             (long long)*to, (long long)shape->dims[d], (long long)maps[i].at[d]);
        return;
      }
      *to = shape->dims[d];
    }
  }
}

/* Sizes that are known at run time only stay those of the operand that has them. */
static const halo_shape *stretch_shape(halo_translator *t, const halo_shape *from,
                                       const stretch_map *map, int rank, const int64_t *dims) {
  bool dynamic[HALO_MAX_RANK] = {false};
  for (int d = 0; d < from->rank; d++) dynamic[map->at[d]] = halo_shape_dim_is_dynamic(from, d);
  return halo_shape_new_full(t->arena, from->type, rank, dims, dynamic, NULL);
}

static void stretch_operands(halo_translator *t, const halo_mlir_op *op, halo_instr **operands) {
  stretch_map maps[STRETCH_OPERANDS];
  int64_t dims[HALO_MAX_RANK];
  int rank = 0;
  bool same = true;
  for (int32_t i = 0; i < op->operand_count; i++) {
    if (operands[i]->shape->rank > rank) rank = operands[i]->shape->rank;
    same = same && halo_shape_same_dims(operands[i]->shape, operands[0]->shape);
  }
  if (same) return;
  stretch_place(t, op, operands, rank, maps);
  if (halo_translate_ok(t)) stretch_extents(t, op, operands, maps, rank, dims);
  for (int32_t i = 0; i < op->operand_count && halo_translate_ok(t); i++) {
    const halo_shape *shape = stretch_shape(t, operands[i]->shape, &maps[i], rank, dims);
    operands[i] = halo_translate_stretch(t, operands[i], shape, maps[i].at);
  }
}

void halo_translate_op_chlo_broadcast(halo_translator *t, halo_mlir_op *op) {
  halo_mlir_op plain = *op;
  halo_instr **operands = halo_translate_operands(t, op);
  plain.opcode = stretch_plain(op->opcode);
  int32_t expected = plain.opcode == HALO_MLIR_OP_SELECT ? 3 : 2;
  if (op->operand_count != expected) {
    halo_translate_wrong(t, "it has %d operand%s: expected %d", op->operand_count,
                         halo_plural(op->operand_count), expected);
  }
  for (int32_t i = 0; i < op->operand_count && halo_translate_ok(t); i++) {
    if (!halo_shape_is_array(operands[i]->shape)) halo_translate_wrong(t, "expected arrays");
  }
  if (!halo_translate_ok(t)) return;
  stretch_operands(t, op, operands);
  halo_mlir_value values[STRETCH_OPERANDS], *pointers[STRETCH_OPERANDS];
  for (int32_t i = 0; i < op->operand_count; i++) {
    values[i] = *op->operands[i];
    values[i].data = operands[i];
    pointers[i] = &values[i];
  }
  plain.operands = pointers;
  halo_translate_op(t, &plain);
}
