/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/reduction.c: which reductions a fused computation ends in, and whether one pass over the
 * input can serve them all. */
#include "hlo/reduction.h"

#include "base/pointer_map.h"

#include <string.h>

/* ---- Finding ---- */

/* Where a walk from the root has been. */
static bool reduction_visit(halo_pointer_map *seen, const halo_instr *instr) {
  if (halo_pointer_map_get(seen, instr)) return false;
  halo_pointer_map_set(seen, instr, (void *)instr);
  return true;
}

/* Results at one position need this operand at the same row-major position. */
static bool reduction_stays(const halo_instr *instr, int32_t operand) {
  const halo_shape *to = instr->shape, *from = instr->operands[operand]->shape;
  if (instr->opcode == HALO_OP_GET_TUPLE_ELEMENT) return true;
  if (!halo_shape_is_array(from)) return false;
  if (instr->opcode == HALO_OP_RESHAPE) return true;
  return (instr->opcode == HALO_OP_COPY || halo_opcode_has_trait(instr->opcode, HALO_TRAIT_EW)) &&
         halo_shape_same_dims(to, from);
}

static void reduction_walk(halo_reduce_desc *v, halo_pointer_map *seen, const halo_instr *instr) {
  if (!reduction_visit(seen, instr)) return;
  if (instr->opcode == HALO_OP_REDUCE) {
    if (v->hero_count < HALO_REDUCE_HEROES) v->heroes[v->hero_count] = instr;
    v->hero_count++;
    return;
  }
  for (int32_t o = 0; o < instr->operand_count; o++) {
    if (reduction_stays(instr, o)) reduction_walk(v, seen, instr->operands[o]);
  }
}

void halo_reduce_find(const halo_computation *body, halo_reduce_desc *out) {
  halo_pointer_map seen = {0};
  *out = (halo_reduce_desc){0};
  const halo_instr *root = body->root;
  if (root->opcode == HALO_OP_TUPLE) {
    for (int32_t i = 0; i < root->operand_count; i++) reduction_walk(out, &seen, root->operands[i]);
  } else {
    reduction_walk(out, &seen, root);
  }
  halo_pointer_map_deinit(&seen);
}

/* ---- Together ---- */

/* The input as [outer, n, inner]. */
static bool reduction_measure(halo_reduce_desc *v, const char **why) {
  bool reduced[HALO_MAX_RANK] = {false};
  int32_t count;
  const int64_t *dims = halo_instr_ints(v->heroes[0], HALO_ATTR_DIMENSIONS, &count);
  for (int32_t i = 0; i < count; i++) reduced[dims[i]] = true;
  v->outer = v->n = v->inner = 1;
  v->in = v->heroes[0]->operands[0]->shape;
  v->out = halo_leaf_shape(v->heroes[0]->shape, 0);
  int stage = 0; /* 0 before, 1 in, 2 behind the reduced dimensions */
  for (int d = 0; d < v->in->rank; d++) {
    int64_t size = v->in->dims[d];
    if (size == 1) continue;
    if (reduced[d] && stage == 2) {
      *why = "kept and reduced dimensions alternate";
      return false;
    }
    if (reduced[d]) {
      stage = 1;
      v->n *= size;
    } else if (stage == 0) {
      v->outer *= size;
    } else {
      stage = 2;
      v->inner *= size;
    }
  }
  *why = "nothing to reduce";
  return v->n > 1 && v->outer > 0 && v->inner > 0;
}

/* A set, whatever the order it is written in. */
static bool reduction_same_dimensions(const halo_instr *a, const halo_instr *b) {
  int32_t x_count, y_count;
  const int64_t *x = halo_instr_ints(a, HALO_ATTR_DIMENSIONS, &x_count);
  const int64_t *y = halo_instr_ints(b, HALO_ATTR_DIMENSIONS, &y_count);
  uint64_t x_set = 0, y_set = 0;
  for (int32_t i = 0; i < x_count; i++) x_set |= 1ull << x[i];
  for (int32_t i = 0; i < y_count; i++) y_set |= 1ull << y[i];
  return x_set == y_set;
}

/* What an operation does in a body that chooses one of its arguments. */
typedef enum reduction_part {
  REDUCTION_OTHER, /* makes a value that is none of them */
  REDUCTION_CHOOSES,
  REDUCTION_DECIDES /* which, or holds what is chosen */
} reduction_part;

static const reduction_part reduction_parts[HALO_OPCODE_COUNT] = {
    [HALO_OP_SELECT] = REDUCTION_CHOOSES,    [HALO_OP_MAXIMUM] = REDUCTION_CHOOSES,
    [HALO_OP_MINIMUM] = REDUCTION_CHOOSES,   [HALO_OP_COMPARE] = REDUCTION_DECIDES,
    [HALO_OP_AND] = REDUCTION_DECIDES,       [HALO_OP_OR] = REDUCTION_DECIDES,
    [HALO_OP_NOT] = REDUCTION_DECIDES,       [HALO_OP_TUPLE] = REDUCTION_DECIDES,
    [HALO_OP_PARAMETER] = REDUCTION_DECIDES,
};

/* One associative and commutative operation on the two parameters: elements may change places. */
static bool reduction_is_plain(const halo_computation *body) {
  const halo_instr *root = body->root;
  if (!halo_opcode_has_trait(root->opcode, HALO_TRAIT_ASSOC) ||
      !halo_opcode_associates(root->opcode, root->shape->type)) {
    return false;
  }
  const halo_instr *a = root->operands[0], *b = root->operands[1];
  return a->opcode == HALO_OP_PARAMETER && b->opcode == HALO_OP_PARAMETER && a != b;
}

/* With several accumulators, a choice among the arguments by comparisons (argmax and its kin). It may prefer the
 * earlier of two (the first NaN), so that neighbours may be combined in groups but not change places. */
static bool reduction_is_choice(const halo_computation *body) {
  bool selects = false;
  for (int32_t i = 0; i < body->instrs.count; i++) {
    const halo_instr *instr = body->instrs.data[i];
    reduction_part part = reduction_parts[instr->opcode];
    bool extreme = part == REDUCTION_CHOOSES && instr->opcode != HALO_OP_SELECT;
    if (part == REDUCTION_OTHER) return false;
    if (extreme && !halo_opcode_associates(instr->opcode, instr->shape->type)) return false;
    selects |= part == REDUCTION_CHOOSES;
  }
  return selects && body->root->opcode == HALO_OP_TUPLE;
}

static bool reduction_keeps_order(const halo_module *module) {
  for (int32_t i = 0; i < module->header.count; i++) {
    const halo_header_attr *attr = &module->header.data[i];
    if (strcmp(attr->name, HALO_STRICT_ORDER_ATTR) == 0) return strcmp(attr->text, "true") == 0;
  }
  return false;
}

/* Any other body is taken as associative, as in XLA, unless the caller wants the order kept. XLA's CPU backend combines up to
 * 32 elements along each dimension in order, and more of them as a tree: so does this, of up to 32 x 32 elements. */
static bool reduction_may_be_tree(const halo_reduce_desc *v, const halo_instr *reduce,
                                  const char **why) {
  enum { SIDE = 32 };
  const halo_computation *body = halo_instr_comp(reduce, HALO_ATTR_TO_APPLY);
  if (reduction_is_plain(body) || reduction_is_choice(body)) return true;
  *why = "strict order: the computation may depend on the order of the elements";
  if (reduction_keeps_order(reduce->parent->module)) return false;
  int32_t count;
  const int64_t *dims = halo_instr_ints(reduce, HALO_ATTR_DIMENSIONS, &count);
  bool few = v->n <= SIDE * SIDE;
  for (int32_t i = 0; i < count; i++) few &= v->in->dims[dims[i]] <= SIDE;
  *why = "the computation may depend on the order of the elements, which are few";
  return !few;
}

/* The accumulators of one reduction. */
static bool reduction_add_values(halo_reduce_desc *v, const halo_instr *reduce, const char **why) {
  int32_t n = reduce->operand_count / 2;
  if (!reduction_may_be_tree(v, reduce, why)) return false;
  for (int32_t i = 0; i < n; i++) {
    halo_type type = halo_leaf_shape(reduce->shape, i)->type;
    *why = "input and result types differ";
    if (reduce->operands[i]->shape->type != type || reduce->operands[n + i]->shape->type != type) {
      return false;
    }
    *why = "the reductions have too many values";
    if (v->value_count == HALO_REDUCE_VALUES) return false;
    bool narrow = halo_type_is_float(type) && halo_type_size(type) < 4;
    v->values[v->value_count++] = (halo_reduce_value){reduce, i, type, narrow ? HALO_F32 : type};
  }
  v->ordered |= n > 1 || !reduction_is_plain(halo_instr_comp(reduce, HALO_ATTR_TO_APPLY));
  return true;
}

/* Whatever depends on a reduction, or on parameter `also`, must do so at the result's own position. */
static bool reduction_finishes(const halo_computation *body, const halo_reduce_desc *v,
                               int64_t also, const char **why) {
  halo_pointer_map depends = {0};
  bool fits = true;
  for (int32_t i = 0; i < body->instrs.count && fits; i++) {
    const halo_instr *instr = body->instrs.data[i];
    bool is_hero = false, any = false;
    bool is_also = instr->opcode == HALO_OP_PARAMETER && instr->parameter_number == also;
    for (int32_t h = 0; h < v->hero_count; h++) is_hero |= v->heroes[h] == instr;
    for (int32_t o = 0; o < instr->operand_count && fits; o++) {
      if (!halo_pointer_map_get(&depends, instr->operands[o])) continue;
      any = true;
      bool packs = instr == body->root && instr->opcode == HALO_OP_TUPLE;
      fits = !is_hero && (packs || reduction_stays(instr, o));
      *why = is_hero ? "one reduction reads another's result"
                     : "a reduction's result is used at another position";
    }
    if (is_hero || is_also || any) halo_pointer_map_set(&depends, instr, (void *)instr);
  }
  halo_pointer_map_deinit(&depends);
  return fits;
}

static bool reduction_results_fit(const halo_computation *body, const halo_reduce_desc *v,
                                  const char **why) {
  const halo_shape *shape = body->root->shape;
  *why = "results have different numbers of elements";
  int32_t leaves = halo_shape_leaf_count(shape);
  for (int32_t k = 0; k < leaves; k++) {
    const halo_shape *leaf = halo_leaf_shape(shape, k);
    if (!halo_shape_is_array(leaf)) return false;
    if (halo_shape_element_count(leaf) != halo_shape_element_count(v->out)) return false;
  }
  return true;
}

/* Keeps the reductions that go with the largest. Others that combine few elements are done on the side,
 * by each result for itself. */
static bool reduction_choose(halo_reduce_desc *v, const char **why) {
  const halo_instr *main = v->heroes[0];
  double side = main->parent->module->target.prices.side_extent;
  for (int32_t h = 1; h < v->hero_count; h++) {
    int64_t most = halo_shape_element_count(main->operands[0]->shape);
    if (halo_shape_element_count(v->heroes[h]->operands[0]->shape) > most) main = v->heroes[h];
  }
  int32_t kept = 0;
  for (int32_t h = 0; h < v->hero_count; h++) {
    const halo_instr *hero = v->heroes[h];
    const halo_shape *in = hero->operands[0]->shape, *out = halo_leaf_shape(hero->shape, 0);
    if (halo_shape_same_dims(in, main->operands[0]->shape) &&
        reduction_same_dimensions(hero, main)) {
      v->heroes[kept++] = hero;
    } else if ((double)halo_shape_element_count(in) >
               side * (double)halo_shape_element_count(out)) {
      *why = "the reductions go over different dimensions";
      return false;
    }
  }
  v->hero_count = kept;
  return true;
}

bool halo_reduce_describe(const halo_computation *body, halo_reduce_desc *v, const char **why) {
  halo_reduce_find(body, v);
  *why = "the root is no reduction and finishes none";
  if (v->hero_count == 0) return false;
  *why = "too many reductions";
  if (v->hero_count > HALO_REDUCE_HEROES) return false;
  if (!reduction_choose(v, why) || !reduction_measure(v, why)) return false;
  for (int32_t h = 0; h < v->hero_count; h++) {
    if (!reduction_add_values(v, v->heroes[h], why)) return false;
  }
  return reduction_results_fit(body, v, why) && reduction_finishes(body, v, -1, why);
}

bool halo_reduce_describe_one(const halo_instr *reduce, halo_reduce_desc *v, const char **why) {
  *v = (halo_reduce_desc){.heroes = {reduce}, .hero_count = 1};
  return reduction_measure(v, why) && reduction_add_values(v, reduce, why);
}

bool halo_reduce_reads_behind(const halo_computation *body, const halo_reduce_desc *v,
                              int64_t parameter) {
  const char *why;
  return reduction_finishes(body, v, parameter, &why);
}

bool halo_reduce_match(const halo_reduce_desc *a, const halo_reduce_desc *b) {
  return a->ordered == b->ordered && halo_shape_same_dims(a->in, b->in) &&
         reduction_same_dimensions(a->heroes[0], b->heroes[0]);
}
