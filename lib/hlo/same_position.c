/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/same_position.c: which parameters of a fused computation are read only where it writes. */
#include "base/pointer_map.h"
#include "hlo/hlo.h"

/* How an instruction is read, as far as its users were looked at: bits. */
enum { SAME = 1, OTHER = 2 };

static intptr_t same_get(const halo_pointer_map *reads, const halo_instr *instr) {
  return (intptr_t)halo_pointer_map_get(reads, instr);
}

static void same_add(halo_pointer_map *reads, const halo_instr *instr, intptr_t how) {
  how |= same_get(reads, instr);
  if (how) halo_pointer_map_set(reads, instr, (void *)how);
}

/* Whether two arrays have elements of equal indices in equal places. */
static bool same_places(const halo_shape *a, const halo_shape *b) {
  bool equal = halo_shape_is_array(a) && halo_shape_is_array(b) && halo_shape_same_dims(a, b);
  for (int d = 0; equal && d < a->rank; d++) {
    equal = a->minor_to_major[d] == b->minor_to_major[d];
  }
  return equal;
}

uint64_t halo_computation_same_position(const halo_computation *c) {
  for (int32_t i = 0; i < c->params.count; i++) {
    if (halo_shape_is_tuple(c->params.data[i]->shape)) return 0;
  }
  if (halo_shape_leaf_count(c->root->shape) == 0) return 0;
  halo_pointer_map reads = {0};
  same_add(&reads, c->root, SAME);
  uint64_t safe = 0;
  const halo_shape *shape = halo_leaf_shape(c->root->shape, 0);
  for (int32_t i = c->instrs.count - 1; i >= 0; i--) {
    const halo_instr *instr = c->instrs.data[i];
    bool elementwise = halo_opcode_has_trait(instr->opcode, HALO_TRAIT_EW);
    bool results = instr == c->root && instr->opcode == HALO_OP_TUPLE;
    for (int32_t o = 0; o < instr->operand_count; o++) {
      const halo_instr *operand = instr->operands[o];
      bool keeps = elementwise && halo_shape_same_dims(operand->shape, instr->shape);
      if (results) keeps = same_places(operand->shape, shape);
      same_add(&reads, operand, keeps ? same_get(&reads, instr) : OTHER);
    }
    if (instr->opcode != HALO_OP_PARAMETER || same_get(&reads, instr) != SAME) continue;
    bool equal = same_places(instr->shape, shape);
    if (equal && instr->parameter_number < 64) safe |= 1ull << instr->parameter_number;
  }
  halo_pointer_map_deinit(&reads);
  return safe;
}

/* ---- Updates ---- */

static bool same_constant(const halo_instr *start, int64_t *value) {
  if (start->opcode != HALO_OP_CONSTANT || !halo_type_is_integral(start->shape->type)) return false;
  *value = halo_literal_get_i64(start->literal, 0);
  return true;
}

static bool same_starts(const halo_instr *read, const halo_instr *update) {
  int32_t rank = update->shape->rank;
  for (int32_t d = 0; d < rank; d++) {
    const halo_instr *a = read->operands[1 + d], *b = update->operands[2 + d];
    int64_t x, y;
    if (a != b && !(same_constant(a, &x) && same_constant(b, &y) && x == y)) return false;
  }
  return true;
}

/* A slice does not move where it would not fit, as an update does. */
static bool same_slice(const halo_instr *slice, const halo_instr *update) {
  int32_t count;
  const int64_t *triples = halo_instr_ints(slice, HALO_ATTR_SLICE, &count); /* from, to, step */
  for (int32_t d = 0; d < update->shape->rank; d++) {
    int64_t start;
    if (!same_constant(update->operands[2 + d], &start)) return false;
    if (triples[3 * d] != start || triples[3 * d + 2] != 1) return false;
  }
  return true;
}

bool halo_update_reads_window(const halo_instr *update, const halo_instr *read) {
  if (!halo_shape_same_dims(read->shape, update->operands[1]->shape)) return false;
  if (update->operand_count != 2 + update->shape->rank) return false;
  if (read->opcode == HALO_OP_SLICE) return same_slice(read, update);
  return read->opcode == HALO_OP_DYNAMIC_SLICE && read->operand_count == 1 + update->shape->rank &&
         same_starts(read, update);
}

static bool same_reads(const halo_computation *c, const halo_instr *array) {
  for (int32_t i = 0; i < c->instrs.count; i++) {
    const halo_instr *instr = c->instrs.data[i];
    for (int32_t o = 0; o < instr->operand_count; o++) {
      if (instr->operands[o] == array && (instr != c->root || o > 0)) return true;
    }
  }
  return false;
}

bool halo_computation_updates_in_place(const halo_computation *c) {
  const halo_instr *update = c->root, *array = update->operands[0], *window = update->operands[1];
  if (array->opcode != HALO_OP_PARAMETER) return false;
  if (halo_shape_element_count(window->shape) == 1) return same_reads(c, array);
  halo_pointer_map reads = {0};
  same_add(&reads, window, SAME);
  bool same = true, read = false;
  for (int32_t i = c->instrs.count - 1; i >= 0 && same; i--) {
    const halo_instr *instr = c->instrs.data[i];
    if (instr == update) continue;
    bool elementwise = halo_opcode_has_trait(instr->opcode, HALO_TRAIT_EW);
    for (int32_t o = 0; o < instr->operand_count; o++) {
      const halo_instr *operand = instr->operands[o];
      bool keeps = elementwise && halo_shape_same_dims(operand->shape, instr->shape);
      if (operand != array) {
        same_add(&reads, operand, keeps ? same_get(&reads, instr) : OTHER);
        continue;
      }
      read = true;
      same &= o == 0 && same_get(&reads, instr) == SAME && halo_update_reads_window(update, instr);
    }
  }
  for (int32_t o = 1; o < update->operand_count; o++) same &= update->operands[o] != array;
  halo_pointer_map_deinit(&reads);
  return same && read;
}
