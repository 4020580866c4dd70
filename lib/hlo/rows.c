/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/rows.c: which computations can be done row by row. */
#include "hlo/rows.h"

#include "base/pointer_map.h"

/* ---- What stays in its row ---- */

static bool rows_fit(const halo_shape *shape, halo_rows rows) {
  if (!halo_shape_is_array(shape)) return false;
  int64_t count = halo_shape_element_count(shape);
  return count == rows.outer || count == rows.outer * rows.n;
}

bool halo_rows_of(const halo_instr *reduce, halo_rows *out, halo_reduce_value *value) {
  halo_reduce_desc v;
  const char *why;
  if (reduce->opcode != HALO_OP_REDUCE || reduce->operand_count != 2 ||
      !halo_reduce_describe_one(reduce, &v, &why)) {
    return false;
  }
  halo_type type = v.values[0].accumulator;
  bool plain = type == HALO_F32 || type == HALO_F64 || type == HALO_PRED || type == HALO_S32 ||
               type == HALO_U32 || type == HALO_S64 || type == HALO_U64;
  *out = (halo_rows){v.outer, v.n};
  *value = v.values[0];
  return plain && v.inner == 1 && !v.ordered;
}

bool halo_rows_spreads(const halo_instr *broadcast, halo_rows rows) {
  int32_t count;
  const int64_t *dims = halo_instr_ints(broadcast, HALO_ATTR_DIMENSIONS, &count);
  const halo_shape *to = broadcast->shape;
  int64_t next = 0, size = 1; /* of the result's dimensions, those that are the operand's */
  for (int32_t i = 0; i < count; i++) {
    if (to->dims[dims[i]] == 1) continue;
    if (dims[i] < next) return false;
    for (int64_t d = next; d < dims[i]; d++) {
      if (to->dims[d] != 1) return false;
    }
    next = dims[i] + 1;
    size *= to->dims[dims[i]];
  }
  return size == rows.outer && rows_fit(to, rows) && rows_fit(broadcast->operands[0]->shape, rows);
}

/* Whether each element of the result needs of an operand the element at its own place, the value of its row, or,
 * if it is a row's itself, the row's elements together. */
static bool rows_stays(const halo_instr *instr, int32_t o, halo_rows rows) {
  const halo_shape *from = instr->operands[o]->shape;
  if (!rows_fit(from, rows)) return false;
  if (instr->opcode == HALO_OP_REDUCE) {
    halo_rows own;
    halo_reduce_value value;
    return o == 0 && halo_rows_of(instr, &own, &value) && own.outer == rows.outer &&
           own.n == rows.n;
  }
  if (!rows_fit(instr->shape, rows)) return false;
  if (instr->opcode == HALO_OP_BROADCAST) return halo_rows_spreads(instr, rows);
  if (instr->opcode == HALO_OP_RESHAPE || instr->opcode == HALO_OP_COPY) return true;
  return halo_opcode_has_trait(instr->opcode, HALO_TRAIT_EW) &&
         halo_shape_same_dims(from, instr->shape);
}

/* Puts into the map what results need of another row or place. */
static void rows_find_strays(const halo_computation *body, halo_rows rows,
                             halo_pointer_map *strays) {
  const halo_instr *root = body->root;
  bool packs = root->opcode == HALO_OP_TUPLE;
  if (!packs && !rows_fit(root->shape, rows)) halo_pointer_map_set(strays, root, body->root);
  for (int32_t i = body->instrs.count - 1; i >= 0; i--) {
    halo_instr *instr = body->instrs.data[i];
    bool stray = halo_pointer_map_get(strays, instr) != NULL;
    for (int32_t o = 0; o < instr->operand_count; o++) {
      halo_instr *operand = instr->operands[o];
      bool stays = packs && instr == root ? rows_fit(operand->shape, rows)
                                          : !stray && rows_stays(instr, o, rows);
      if (!stays) halo_pointer_map_set(strays, operand, operand);
    }
  }
}

static uint64_t rows_reads(const halo_computation *body, halo_rows rows,
                           const halo_pointer_map *strays) {
  uint64_t bits = 0;
  for (int32_t p = 0; p < body->params.count && p < 64; p++) {
    const halo_instr *param = body->params.data[p];
    bool stays = rows_fit(param->shape, rows) && !halo_pointer_map_get(strays, param);
    bits |= (uint64_t)stays << p;
  }
  return bits;
}

/* ---- All together ---- */

/* Adds a reduction behind those of its phase and of earlier ones. */
static void rows_add(halo_rows_desc *v, halo_rows_hero hero) {
  int32_t at = v->count++;
  while (at > 0 && v->heroes[at - 1].phase > hero.phase) {
    v->heroes[at] = v->heroes[at - 1];
    at--;
  }
  v->heroes[at] = hero;
  if (hero.phase >= v->phases) v->phases = hero.phase + 1;
}

/* Finds the reductions and in which order they come; `after` has, of instructions, how many phases they need. */
static bool rows_order(const halo_computation *body, halo_rows_desc *v,
                       const halo_pointer_map *strays, halo_pointer_map *after, const char **why) {
  enum { SIDE = 64 }; /* elements that are reduced on the side */
  for (int32_t i = 0; i < body->instrs.count; i++) {
    halo_instr *instr = body->instrs.data[i];
    intptr_t phase = 0;
    for (int32_t o = 0; o < instr->operand_count; o++) {
      intptr_t needs = (intptr_t)halo_pointer_map_get(after, instr->operands[o]);
      if (needs > phase) phase = needs;
    }
    *why = "something in it has kernels of its own";
    if (halo_opcode_exec(instr->opcode) == HALO_EXEC_STRUCTURED) return false;
    if (instr->opcode == HALO_OP_REDUCE) {
      halo_rows own = {0, 0};
      halo_reduce_value value;
      bool able =
          halo_rows_of(instr, &own, &value) && own.outer == v->rows.outer && own.n == v->rows.n;
      const halo_shape *to = halo_leaf_shape(instr->shape, 0);
      int64_t from = halo_shape_element_count(instr->operands[0]->shape);
      *why = "a reduction is not one of these rows";
      if (!able && from > SIDE * halo_shape_element_count(to)) return false;
      *why = "a row's value is used in another row";
      if (able && halo_pointer_map_get(strays, instr)) return false;
      *why = "too many reductions";
      if (able && v->count == HALO_ROWS_HEROES) return false;
      if (able) rows_add(v, (halo_rows_hero){value, (int32_t)phase});
      phase += able;
    }
    if (phase) halo_pointer_map_set(after, instr, (void *)phase);
  }
  return true;
}

bool halo_rows_follow(const halo_computation *body, halo_rows rows, halo_rows_desc *v,
                      const char **why) {
  *v = (halo_rows_desc){.rows = rows};
  halo_pointer_map strays = {0}, after = {0};
  rows_find_strays(body, rows, &strays);
  bool fits = rows_order(body, v, &strays, &after, why);
  int32_t leaves = halo_shape_leaf_count(body->root->shape);
  for (int32_t k = 0; k < leaves && fits; k++) {
    const halo_shape *leaf = halo_leaf_shape(body->root->shape, k);
    *why = "a result has neither an element a row nor rows of them";
    fits = rows_fit(leaf, rows);
    v->elements |= fits && halo_shape_element_count(leaf) != rows.outer;
  }
  v->reads = rows_reads(body, rows, &strays);
  halo_pointer_map_deinit(&strays);
  halo_pointer_map_deinit(&after);
  return fits;
}

bool halo_rows_describe(const halo_computation *body, halo_rows_desc *v, const char **why) {
  const char *last = "it reduces no rows";
  halo_rows tried = {0, 0};
  *v = (halo_rows_desc){0};
  for (int32_t i = 0; i < body->instrs.count; i++) {
    halo_rows rows;
    halo_reduce_value value;
    if (!halo_rows_of(body->instrs.data[i], &rows, &value)) continue;
    if (rows.outer == tried.outer && rows.n == tried.n) continue;
    tried = rows;
    if (!halo_rows_follow(body, rows, v, &last)) continue;
    last = "its reductions need no chain";
    if (v->count && (v->phases > 1 || v->elements)) return true;
  }
  *why = last;
  return false;
}
