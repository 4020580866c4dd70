/* SPDX-License-Identifier: Apache-2.0 */
/* passes/expand/factors.c: XLA's own custom calls that factor matrices, which its other backends expand: Qr,
 * ProductOfElementaryHouseholderReflectors and Eigh, as LAPACK's routines under JAX's names for them. */
#include "passes/expand/expand.h"

#include <string.h>

typedef struct factors_row {
  const char *target, *routine, *complex_routine;
  const char *
      parts; /* of the result: m: the matrix; t: a number for each reflector; w: for each column, real */
  int32_t operands;
  const char *config;
} factors_row;

#define FACTORS_EIGH(uplo) "{mode = 86 : ui8, uplo = " uplo " : ui8}"
static const factors_row factors_rows[] = {
    {"Qr", "geqrf", "geqrf", "mt", 1, "{}"},
    {"ProductOfElementaryHouseholderReflectors", "orgqr", "ungqr", "m", 2, "{}"},
    {"Eigh", "syevd", "heevd", "mw", 1, FACTORS_EIGH("76")},
};

static const factors_row *factors_find(const halo_instr *instr) {
  const halo_attr *target = halo_instr_attr(instr, HALO_ATTR_CUSTOM_CALL_TARGET);
  for (size_t i = 0; target && i < sizeof factors_rows / sizeof *factors_rows; i++) {
    if (strcmp(factors_rows[i].target, target->text) == 0) return &factors_rows[i];
  }
  return NULL;
}

static halo_instr *factors_fail(halo_expander *x, const halo_instr *instr, const char *what) {
  if (x->status == HALO_OK) {
    const halo_attr *target = halo_instr_attr(instr, HALO_ATTR_CUSTOM_CALL_TARGET);
    x->status = halo_fail(HALO_INVALID_ARGUMENT, "line %d: %s: the custom call %s %s", instr->line,
                          instr->name, target->text, what);
  }
  return NULL;
}

/* The shape of one part of the result, of matrices `a`. */
static const halo_shape *factors_part(halo_arena *arena, const halo_shape *a, char part) {
  if (part == 'm') return halo_shape_new(arena, a->type, a->rank, a->dims);
  int64_t dims[HALO_MAX_RANK], n = a->dims[a->rank - 1];
  int last = a->rank - 2;
  memcpy(dims, a->dims, sizeof *dims * (size_t)(a->rank - 1));
  if (part == 'w' || n < dims[last]) dims[last] = n;
  return halo_shape_new(arena, part == 'w' ? halo_type_real_part(a->type) : a->type, a->rank - 1,
                        dims);
}

static const halo_shape *factors_declared(const halo_instr *instr, int32_t i) {
  return halo_shape_is_tuple(instr->shape) ? instr->shape->elements[i] : instr->shape;
}

/* The operands and the result are what the call is made of. */
static bool factors_check(halo_expander *x, const factors_row *row, const halo_instr *instr) {
  halo_arena *arena = &x->r->computation->module->arena;
  int32_t parts = (int32_t)strlen(row->parts);
  if (instr->operand_count != row->operands) {
    factors_fail(x, instr, row->operands == 1 ? "takes one operand" : "takes two operands");
    return false;
  }
  const halo_shape *a = instr->operands[0]->shape;
  halo_type type = a->type;
  if (!halo_shape_is_array(a) || a->rank < 2 ||
      (!halo_type_is_float(type) && !halo_type_is_complex(type)) || halo_type_bits(type) < 16) {
    factors_fail(x, instr, "takes matrices of f16, bf16, f32, f64, c64 or c128");
    return false;
  }
  if (row->parts[parts - 1] == 'w' && a->dims[a->rank - 1] != a->dims[a->rank - 2]) {
    factors_fail(x, instr, "takes square matrices");
    return false;
  }
  bool fits = parts == 1 ? halo_shape_is_array(instr->shape)
                         : halo_shape_is_tuple(instr->shape) && instr->shape->count == parts;
  for (int32_t i = 0; i < parts && fits; i++) {
    fits = halo_shape_compatible(factors_declared(instr, i), factors_part(arena, a, row->parts[i]));
  }
  if (fits && row->operands == 2) {
    const halo_shape *taus = instr->operands[1]->shape;
    fits = halo_shape_is_array(taus) && taus->type == type && taus->rank == a->rank - 1 &&
           taus->dims[a->rank - 2] <= a->dims[a->rank - 1];
    for (int d = 0; d < a->rank - 2 && fits; d++) fits = taus->dims[d] == a->dims[d];
  }
  if (!fits) factors_fail(x, instr, "has operands and a result whose shapes do not go together");
  return fits;
}

/* LAPACK's matrices have their columns one after the other. */
static const halo_shape *factors_columns(halo_arena *arena, const halo_shape *shape) {
  int32_t order[HALO_MAX_RANK];
  for (int d = 0; d < shape->rank; d++) order[d] = shape->rank - 1 - d;
  order[0] = shape->rank - 2;
  order[1] = shape->rank - 1;
  return halo_shape_new_full(arena, shape->type, shape->rank, shape->dims, NULL, order);
}

/* "lower,sort,iterations,tolerance": eigenvalues of which triangle, and whether in ascending order. */
static bool factors_takes_lower(const halo_instr *instr) {
  const halo_attr *config = halo_instr_attr(instr, HALO_ATTR_BACKEND_CONFIG);
  return !config || config->text[0] != '0';
}

static halo_instr *factors_call(halo_expander *x, const factors_row *row, const halo_instr *like,
                                halo_instr **operands) {
  halo_arena *arena = &x->r->computation->module->arena;
  const halo_shape *a = operands[0]->shape;
  char letter = a->type == HALO_F32   ? 's'
                : a->type == HALO_F64 ? 'd'
                : a->type == HALO_C64 ? 'c'
                                      : 'z';
  const char *routine = halo_type_is_complex(a->type) ? row->complex_routine : row->routine;
  const halo_shape *parts[3], *wanted[2];
  int32_t count = (int32_t)strlen(row->parts);
  for (int32_t i = 0; i < row->operands; i++) wanted[i] = operands[i]->shape;
  for (int32_t i = 0; i < count; i++) parts[i] = factors_part(arena, a, row->parts[i]);
  wanted[0] = parts[0] = factors_columns(arena, a);
  bool eigh = row->parts[count - 1] == 'w';
  if (eigh) parts[count++] = halo_shape_new(arena, HALO_S32, a->rank - 2, a->dims); /* info */
  const char *config = eigh && !factors_takes_lower(like) ? FACTORS_EIGH("85") : row->config;
  halo_attr attrs[] = {
      {.id = HALO_ATTR_CUSTOM_CALL_TARGET,
       .text = halo_arena_printf(arena, "lapack_%c%s_ffi", letter, routine)},
      {.id = HALO_ATTR_OPERAND_LAYOUT_CONSTRAINTS,
       .shapes = {halo_arena_copy(arena, wanted, sizeof *wanted * (size_t)row->operands),
                  row->operands}},
      {.id = HALO_ATTR_API_VERSION, .i = HALO_API_TYPED_FFI},
      {.id = HALO_ATTR_BACKEND_CONFIG, .text = config}};
  const halo_shape *shape = count == 1 ? parts[0] : halo_shape_new_tuple(arena, count, parts);
  halo_instr *call =
      halo_rewrite_make(x->r, like, HALO_OP_CUSTOM_CALL, shape, operands, row->operands, attrs, 4);
  halo_instr *laid_out = halo_expand_custom_layout(x, call);
  return laid_out ? laid_out : call;
}

halo_instr *halo_expand_factors(halo_expander *x, halo_instr *instr) {
  const factors_row *row = factors_find(instr);
  if (!row || !factors_check(x, row, instr)) return NULL;
  halo_type type = instr->operands[0]->shape->type;
  halo_type computed = halo_type_bits(type) < 32 ? HALO_F32 : type;
  halo_instr *operands[2];
  for (int32_t i = 0; i < row->operands; i++) {
    operands[i] = halo_expand_convert(x, instr->operands[i], computed);
  }
  if (x->status != HALO_OK) return NULL;
  halo_instr *value = factors_call(x, row, instr, operands), *parts[2];
  int32_t count = (int32_t)strlen(row->parts);
  for (int32_t i = 0; i < count && x->status == HALO_OK; i++) {
    const halo_shape *shape = factors_declared(instr, i);
    bool tuple = halo_shape_is_tuple(value->shape);
    parts[i] = tuple ? halo_rewrite_make_gte(x->r, instr, value, i) : value;
    parts[i] = halo_expand_convert(x, parts[i], shape->type);
    if (parts[i] && !halo_shape_equal(parts[i]->shape, shape)) {
      parts[i] = halo_rewrite_make_unary(x->r, instr, HALO_OP_COPY, shape, parts[i]);
    }
  }
  if (x->status != HALO_OK) return NULL;
  return count == 1 ? parts[0] : halo_expand_tuple(x, parts, count);
}
