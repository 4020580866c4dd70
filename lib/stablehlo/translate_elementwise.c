/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/translate_elementwise.c: elementwise operations that say more than an opcode. */
#include "shape/types.h"
#include "stablehlo/translate.h"

#include <string.h>

/* The kinds of comparison that an element type has say no more than it does, but for TOTALORDER. */
static void elementwise_check_compare(halo_translator *t, halo_type type, const char *kind) {
  static const char *const kinds[] = {
      [HALO_CLASS_PRED] = "UNSIGNED", [HALO_CLASS_SINT] = "SIGNED",
      [HALO_CLASS_UINT] = "UNSIGNED", [HALO_CLASS_FLOAT] = "FLOAT",
      [HALO_CLASS_COMPLEX] = "FLOAT",
  };
  halo_type_class class = halo_type_class_of(type);
  bool total = class == HALO_CLASS_FLOAT && strcmp(kind, "TOTALORDER") == 0;
  if (class == HALO_CLASS_OTHER || total || strcmp(kind, "NOTYPE") == 0 ||
      strcmp(kind, kinds[class]) == 0) {
    return;
  }
  halo_translate_wrong(t, "compare_type of operands of %s is %s: expected %s%s",
                       halo_type_name(type), kind, kinds[class],
                       class == HALO_CLASS_FLOAT ? " or TOTALORDER" : "");
}

void halo_translate_op_compare(halo_translator *t, halo_mlir_op *op) {
  halo_attr attrs[2];
  int32_t count = 1;
  attrs[0] =
      halo_translate_enum(t, HALO_ATTR_DIRECTION, halo_mlir_string(op, "comparison_direction", ""));
  const char *kind = halo_mlir_string(op, "compare_type", "NOTYPE");
  if (strcmp(kind, "TOTALORDER") == 0) {
    attrs[count++] = halo_translate_int(HALO_ATTR_COMPARE_TYPE, HALO_COMPARE_TOTALORDER);
  }
  halo_instr *operands[2] = {halo_translate_operand(t, op, 0), halo_translate_operand(t, op, 1)};
  if (halo_translate_ok(t)) elementwise_check_compare(t, operands[0]->shape->type, kind);
  halo_translate_results(t, op,
                         halo_translate_emit(t, HALO_OP_COMPARE, NULL, operands, 2, attrs, count));
}

void halo_translate_op_convert(halo_translator *t, halo_mlir_op *op) {
  halo_instr *operand = halo_translate_operand(t, op, 0);
  if (!operand) return;
  const halo_mlir_type *result = op->results[0].type;
  halo_type type = result->element;
  if (result->kind == HALO_MLIR_OTHER) {
    (void)halo_translate_type(t, result); /* says that there is none like it */
    return;
  }
  if (result->kind != HALO_MLIR_TENSOR || !halo_shape_is_array(operand->shape)) {
    halo_translate_wrong(t, "expected an array");
    return;
  }
  halo_translate_results(t, op, halo_translate_convert(t, operand, type));
}

static int elementwise_bits(halo_type type) { return type == HALO_PRED ? 8 : halo_type_bits(type); }

/* Narrower elements take another dimension behind the others, wider ones the last one's place. */
void halo_translate_op_bitcast_convert(halo_translator *t, halo_mlir_op *op) {
  halo_instr *operand = halo_translate_operand(t, op, 0);
  const halo_shape *shape = halo_translate_declared(t, op, 0);
  const halo_mlir_type *type = op->results[0].type;
  if (!operand) return;
  if (!shape && type->kind == HALO_MLIR_TENSOR && operand->shape->rank < HALO_MAX_RANK) {
    int64_t dims[HALO_MAX_RANK];
    int rank = operand->shape->rank;
    int from = elementwise_bits(operand->shape->type), to = elementwise_bits(type->element);
    memcpy(dims, operand->shape->dims, sizeof *dims * (size_t)rank);
    if (from > to) dims[rank++] = from / to;
    if (from < to && rank) rank--;
    shape = halo_translate_array(t, type->element, rank, dims);
  }
  halo_translate_results(
      t, op, halo_translate_emit(t, HALO_OP_BITCAST_CONVERT, shape, &operand, 1, NULL, 0));
}

/* One predicate for all elements, as an array of it: HLO has both, kernels one. */
void halo_translate_op_select(halo_translator *t, halo_mlir_op *op) {
  halo_instr *operands[3];
  for (int i = 0; i < 3; i++) operands[i] = halo_translate_operand(t, op, i);
  if (!halo_translate_ok(t)) return;
  operands[0] = halo_translate_fill(t, operands[0], operands[1]->shape);
  halo_translate_results(t, op, halo_translate_emit(t, HALO_OP_SELECT, NULL, operands, 3, NULL, 0));
}

void halo_translate_op_clamp(halo_translator *t, halo_mlir_op *op) {
  halo_instr *operands[3];
  for (int i = 0; i < 3; i++) operands[i] = halo_translate_operand(t, op, i);
  if (!halo_translate_ok(t)) return;
  for (int i = 0; i < 3; i += 2) {
    operands[i] = halo_translate_fill(t, operands[i], operands[1]->shape);
  }
  halo_translate_results(t, op, halo_translate_emit(t, HALO_OP_CLAMP, NULL, operands, 3, NULL, 0));
}
