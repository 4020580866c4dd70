/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/translate_forms.h: arithmetic in short, for functions that are written out. Each gives NULL where an operand is
 * NULL, after the error that made it so. */
#ifndef HALO_STABLEHLO_TRANSLATE_FORMS_H
#define HALO_STABLEHLO_TRANSLATE_FORMS_H

#include "stablehlo/translate.h"

/* A number of the shape of `like`. */
static inline halo_instr *form_number(halo_translator *t, const halo_instr *like, double value) {
  return like ? halo_translate_number(t, like->shape, value) : NULL;
}

static inline halo_instr *form_add(halo_translator *t, halo_instr *a, halo_instr *b) {
  return halo_translate_binary(t, HALO_OP_ADD, a, b);
}

static inline halo_instr *form_sub(halo_translator *t, halo_instr *a, halo_instr *b) {
  return halo_translate_binary(t, HALO_OP_SUBTRACT, a, b);
}

static inline halo_instr *form_mul(halo_translator *t, halo_instr *a, halo_instr *b) {
  return halo_translate_binary(t, HALO_OP_MULTIPLY, a, b);
}

static inline halo_instr *form_div(halo_translator *t, halo_instr *a, halo_instr *b) {
  return halo_translate_binary(t, HALO_OP_DIVIDE, a, b);
}

#endif
