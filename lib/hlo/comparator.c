/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/comparator.c: what a sort's comparator compares. */
#include "hlo/comparator.h"

#include <string.h>

/* Pairs of instructions that are looked at for one key, at most. */
enum { COMPARATOR_PAIRS = 256 };

/* What is known of two expressions while they are compared. */
typedef struct comparator_pair {
  int side;  /* of the first; -1: not known yet */
  int pairs; /* looked at */
} comparator_pair;

static bool comparator_same_literal(const halo_literal *a, const halo_literal *b) {
  if (a == b) return true;
  if (!halo_shape_equal(a->shape, b->shape) || a->elided || b->elided) return false;
  return memcmp(a->data, b->data, (size_t)halo_shape_byte_size(a->shape)) == 0;
}

/* Attributes that say what is computed, of the opcodes that keys are made of. */
static bool comparator_same_attrs(const halo_instr *a, const halo_instr *b) {
  for (const halo_attr_spec *spec = halo_op_info_of(a->opcode)->attrs; spec->used; spec++) {
    const halo_attr *x = halo_instr_attr(a, spec->id), *y = halo_instr_attr(b, spec->id);
    if (!x && !y) continue;
    halo_attr_kind kind = halo_attr_kind_of(spec->id);
    bool number = kind == HALO_KIND_INT || kind == HALO_KIND_BOOL || kind == HALO_KIND_ENUM;
    if (!number || !x || !y || x->i != y->i) return false;
  }
  return true;
}

/* Whether `a` computes from the parameters of one side what `b` does from those of the other. */
static bool comparator_mirrors(const halo_instr *a, const halo_instr *b, comparator_pair *pair) {
  if (a->opcode != b->opcode || ++pair->pairs > COMPARATOR_PAIRS) return false;
  if (!halo_shape_equal(a->shape, b->shape)) return false;
  if (a->opcode == HALO_OP_PARAMETER) {
    int of = (int)(a->parameter_number & 1);
    if (pair->side < 0) pair->side = of;
    return of == pair->side && (a->parameter_number ^ 1) == b->parameter_number;
  }
  if (a->opcode == HALO_OP_CONSTANT) return comparator_same_literal(a->literal, b->literal);
  bool plain = halo_opcode_has_trait(a->opcode, HALO_TRAIT_EW) ||
               halo_opcode_exec(a->opcode) == HALO_EXEC_MOVEMENT;
  if (!plain || a->operand_count != b->operand_count || !comparator_same_attrs(a, b)) return false;
  for (int32_t i = 0; i < a->operand_count; i++) {
    if (!comparator_mirrors(a->operands[i], b->operands[i], pair)) return false;
  }
  return true;
}

/* A comparison of mirrored values in one of the given directions. */
static bool comparator_compares(const halo_instr *root, bool equality, halo_sort_key *key) {
  if (root->opcode != HALO_OP_COMPARE) return false;
  int64_t direction = halo_instr_int(root, HALO_ATTR_DIRECTION, HALO_EQ);
  bool fits = equality ? direction == HALO_EQ : direction == HALO_LT || direction == HALO_GT;
  if (!fits || halo_type_is_complex(root->operands[0]->shape->type)) return false;
  *key = (halo_sort_key){.value = root->operands[0], .compare = halo_compare_type_of(root)};
  comparator_pair pair = {.side = -1};
  if (!comparator_mirrors(root->operands[0], root->operands[1], &pair)) return false;
  key->side = pair.side;
  /* Of the first place, or turned round. */
  key->descending = (direction == HALO_GT) != (key->side == 1);
  return key->side >= 0;
}

/* "less or (equal and rest)", operands in either order. */
static int32_t comparator_keys(const halo_instr *root, halo_sort_key *keys, int32_t room) {
  if (room == 0) return 0;
  if (comparator_compares(root, false, keys)) return 1;
  if (root->opcode != HALO_OP_OR) return 0;
  for (int first = 0; first < 2; first++) {
    const halo_instr *less = root->operands[first], *rest = root->operands[1 - first];
    if (rest->opcode != HALO_OP_AND || !comparator_compares(less, false, keys)) continue;
    for (int equal = 0; equal < 2; equal++) {
      const halo_instr *test = rest->operands[equal];
      halo_sort_key same;
      if (!comparator_compares(test, true, &same) || same.compare != keys->compare) continue;
      /* Equal expressions are one instruction by now. */
      if (test->operands[0] != keys->value && test->operands[1] != keys->value) continue;
      int32_t more = comparator_keys(rest->operands[1 - equal], keys + 1, room - 1);
      if (more) return more + 1;
    }
  }
  return 0;
}

int32_t halo_comparator_keys(const halo_computation *comparator, halo_sort_key *keys) {
  return comparator_keys(comparator->root, keys, HALO_COMPARATOR_KEYS);
}

bool halo_comparator_reads(const halo_computation *comparator, int64_t number) {
  const halo_instr *parameter = comparator->params.data[number];
  if (comparator->root == parameter) return true;
  for (int32_t i = 0; i < comparator->instrs.count; i++) {
    const halo_instr *instr = comparator->instrs.data[i];
    for (int32_t o = 0; o < instr->operand_count; o++) {
      if (instr->operands[o] == parameter) return true;
    }
  }
  return false;
}
