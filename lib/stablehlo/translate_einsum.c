/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/translate_einsum.c: einsum: a product of two arrays, before which each is put in order by itself, and after which
 * its dimensions are. */
#include "stablehlo/translate_forms.h"

#include <string.h>

/* Dimensions that `...` stands for have labels of their own, the last one the first of these. */
enum { EINSUM_HIDDEN = 256 };

typedef struct einsum_list {
  int labels[2 * HALO_MAX_RANK];
  int count;
} einsum_list;

static int einsum_find(const einsum_list *list, int label, int from) {
  for (int i = from; i < list->count; i++) {
    if (list->labels[i] == label) return i;
  }
  return -1;
}

static void einsum_remove(einsum_list *list, int at) {
  for (int i = at + 1; i < list->count; i++) list->labels[i - 1] = list->labels[i];
  list->count--;
}

/* ---- The text ---- */

static bool einsum_is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/* Letters from `from` to before `end`, with `hidden` dimensions for the dots; false for anything else. */
static bool einsum_read(const char *from, const char *end, int hidden, einsum_list *list) {
  bool dots = false;
  for (const char *c = from; c < end; c++) {
    if (end - c >= 3 && memcmp(c, "...", 3) == 0 && !dots && hidden >= 0) {
      if (list->count + hidden > HALO_MAX_RANK) return false;
      for (int h = hidden; h > 0; h--) list->labels[list->count++] = EINSUM_HIDDEN + h - 1;
      dots = true;
      c += 2;
    } else if (einsum_is_letter(*c) && list->count < HALO_MAX_RANK) {
      list->labels[list->count++] = *c;
    } else {
      return false;
    }
  }
  return true;
}

/* How many dimensions the dots stand for in an operand of this rank. */
static int einsum_hidden(const char *from, const char *end, int rank) {
  int letters = 0;
  for (const char *c = from; c < end; c++) letters += einsum_is_letter(*c);
  return rank - letters;
}

/* The labels of the result when none are given: those that occur once, those of dots first, then letters as the alphabet
 * has them. */
static void einsum_imply(const einsum_list sides[2], int hidden, einsum_list *out) {
  for (int h = hidden; h > 0; h--) out->labels[out->count++] = EINSUM_HIDDEN + h - 1;
  for (int letter = 'A'; letter <= 'z'; letter++) {
    int found = 0;
    for (int s = 0; s < 2; s++) {
      for (int i = 0; i < sides[s].count; i++) found += sides[s].labels[i] == letter;
    }
    if (found == 1) out->labels[out->count++] = letter;
  }
}

/* Splits "ij,jk->ik" and reads its parts. */
static bool einsum_parse(const char *config, halo_instr *const operands[2], einsum_list sides[2],
                         einsum_list *out) {
  const char *end = config + strlen(config), *comma = strchr(config, ',');
  const char *arrow = strstr(config, "->");
  if (!comma || (arrow && arrow < comma)) return false;
  const char *begin[2] = {config, comma + 1}, *stop[2] = {comma, arrow ? arrow : end};
  int most = 0;
  for (int s = 0; s < 2; s++) {
    int hidden = einsum_hidden(begin[s], stop[s], operands[s]->shape->rank);
    if (!einsum_read(begin[s], stop[s], hidden, &sides[s])) return false;
    if (sides[s].count != operands[s]->shape->rank) return false;
    if (hidden > most) most = hidden;
  }
  if (arrow) return einsum_read(arrow + 2, end, most, out);
  einsum_imply(sides, most, out);
  return true;
}

/* ---- One array by itself ---- */

static halo_instr *einsum_sum(halo_translator *t, halo_instr *x, int dimension) {
  if (!halo_translate_ok(t)) return NULL;
  halo_type type = x->shape->type;
  halo_instr *zero = halo_translate_number(t, halo_shape_new(t->arena, type, 0, NULL), 0);
  int64_t dim = dimension;
  halo_computation *add = halo_translate_scalar_body(t, HALO_OP_ADD, type);
  halo_attr attrs[] = {halo_translate_ints(t, HALO_ATTR_DIMENSIONS, &dim, 1),
                       halo_translate_comp(t, HALO_ATTR_TO_APPLY, add)};
  return halo_translate_emit(t, HALO_OP_REDUCE, NULL, (halo_instr *[]){x, zero}, 2, attrs, 2);
}

/* The array with 0 wherever two of its indices differ. */
static halo_instr *einsum_mask(halo_translator *t, halo_instr *x, int first, int second) {
  if (!halo_translate_ok(t)) return NULL;
  const halo_shape *places = halo_shape_with_type(t->arena, x->shape, HALO_S32);
  halo_instr *at[2];
  for (int i = 0; i < 2; i++) {
    halo_attr attr = halo_translate_int(HALO_ATTR_IOTA_DIMENSION, i ? second : first);
    at[i] = halo_translate_emit(t, HALO_OP_IOTA, places, NULL, 0, &attr, 1);
  }
  halo_instr *same = halo_translate_compare(t, HALO_EQ, at[0], at[1]);
  return halo_translate_select(t, same, x, form_number(t, x, 0));
}

/* Dimensions of extent 1 whose counterpart is longer say nothing. */
static halo_instr *einsum_drop_ones(halo_translator *t, halo_instr *x, einsum_list *own,
                                    const halo_instr *other, const einsum_list *others) {
  int64_t dims[HALO_MAX_RANK];
  bool dynamic[HALO_MAX_RANK];
  int kept = 0;
  if (!halo_translate_ok(t)) return NULL;
  const halo_shape *from = x->shape;
  for (int d = 0; d < from->rank; d++) {
    int at = einsum_find(others, own->labels[kept], 0);
    if (from->dims[d] == 1 && at >= 0 && other->shape->dims[at] != 1) {
      einsum_remove(own, kept);
      continue;
    }
    dims[kept] = from->dims[d];
    dynamic[kept++] = halo_shape_dim_is_dynamic(from, d);
  }
  if (kept == from->rank) return x;
  const halo_shape *shape = halo_shape_new_full(t->arena, from->type, kept, dims, dynamic, NULL);
  return halo_translate_emit(t, HALO_OP_RESHAPE, shape, &x, 1, NULL, 0);
}

/* Each label once, and none that nobody else has. */
static halo_instr *einsum_tidy(halo_translator *t, halo_instr *x, einsum_list *own,
                               const einsum_list *other, const einsum_list *out) {
  for (int d = 0; d < own->count && halo_translate_ok(t);) {
    int again = einsum_find(own, own->labels[d], d + 1);
    int gone = again >= 0 ? again : d;
    if (again >= 0) {
      if (x->shape->dims[d] != x->shape->dims[again]) {
        halo_translate_wrong(t, "extents %lld and %lld have one label",
                             (long long)x->shape->dims[d], (long long)x->shape->dims[again]);
      }
      x = einsum_mask(t, x, d, again);
    } else if (einsum_find(other, own->labels[d], 0) >= 0 ||
               einsum_find(out, own->labels[d], 0) >= 0) {
      d++;
      continue;
    }
    x = einsum_sum(t, x, gone);
    einsum_remove(own, gone);
  }
  return x;
}

/* ---- The product ---- */

typedef struct einsum_product {
  int64_t batch[2][HALO_MAX_RANK], contracting[2][HALO_MAX_RANK];
  int batches, contractions;
  einsum_list made; /* labels of the product's dimensions */
  int64_t dims[2 * HALO_MAX_RANK];
  bool dynamic[2 * HALO_MAX_RANK];
} einsum_product;

static void einsum_keep(einsum_product *p, const halo_instr *x, int label, int d) {
  p->dims[p->made.count] = x->shape->dims[d];
  p->dynamic[p->made.count] = halo_shape_dim_is_dynamic(x->shape, d);
  p->made.labels[p->made.count++] = label;
}

/* Labels of both that the result has are batch dimensions, those that it has not are summed over. */
static void einsum_place(halo_instr *const operands[2], const einsum_list sides[2],
                         const einsum_list *out, einsum_product *p) {
  for (int d = 0; d < sides[0].count; d++) {
    int label = sides[0].labels[d], at = einsum_find(&sides[1], label, 0);
    if (at < 0) continue;
    bool kept = einsum_find(out, label, 0) >= 0;
    int64_t(*to)[HALO_MAX_RANK] = kept ? p->batch : p->contracting;
    int *count = kept ? &p->batches : &p->contractions;
    to[0][*count] = d;
    to[1][(*count)++] = at;
    if (kept) einsum_keep(p, operands[0], label, d);
  }
  for (int s = 0; s < 2; s++) {
    for (int d = 0; d < sides[s].count; d++) {
      if (einsum_find(&sides[1 - s], sides[s].labels[d], 0) >= 0) continue;
      einsum_keep(p, operands[s], sides[s].labels[d], d);
    }
  }
}

static halo_instr *einsum_multiply(halo_translator *t, halo_instr *const operands[2],
                                   const einsum_product *p, halo_type type) {
  if (!halo_translate_ok(t)) return NULL;
  if (p->made.count > HALO_MAX_RANK) {
    halo_translate_refuse(t, "the product has %d dimensions, of which at most %d are supported",
                          p->made.count, HALO_MAX_RANK);
    return NULL;
  }
  const halo_shape *shape =
      halo_shape_new_full(t->arena, type, p->made.count, p->dims, p->dynamic, NULL);
  halo_attr attrs[] = {
      halo_translate_ints(t, HALO_ATTR_LHS_BATCH_DIMS, p->batch[0], p->batches),
      halo_translate_ints(t, HALO_ATTR_RHS_BATCH_DIMS, p->batch[1], p->batches),
      halo_translate_ints(t, HALO_ATTR_LHS_CONTRACTING_DIMS, p->contracting[0], p->contractions),
      halo_translate_ints(t, HALO_ATTR_RHS_CONTRACTING_DIMS, p->contracting[1], p->contractions)};
  return halo_translate_emit(t, HALO_OP_DOT, shape, operands, 2, attrs, 4);
}

/* ---- The result ---- */

/* Puts the product's dimensions in order. A label that stands there again is a diagonal of zeros beside it. */
static halo_instr *einsum_arrange(halo_translator *t, halo_instr *x, const einsum_product *p,
                                  const einsum_list *out) {
  int64_t order[HALO_MAX_RANK], dims[2 * HALO_MAX_RANK], where[HALO_MAX_RANK];
  bool dynamic[2 * HALO_MAX_RANK], sorted = true;
  int count = 0;
  if (!halo_translate_ok(t)) return NULL;
  for (int d = 0; d < out->count; d++) {
    int from = einsum_find(&p->made, out->labels[d], 0);
    dims[d] = p->dims[from];
    dynamic[d] = p->dynamic[from];
    if (einsum_find(out, out->labels[d], 0) < d) continue;
    sorted = sorted && from == count;
    where[count] = d;
    order[count++] = from;
  }
  halo_attr attr = halo_translate_ints(t, HALO_ATTR_DIMENSIONS, order, count);
  if (!sorted) x = halo_translate_emit(t, HALO_OP_TRANSPOSE, NULL, &x, 1, &attr, 1);
  if (count == out->count || !halo_translate_ok(t)) return x;
  const halo_shape *shape =
      halo_shape_new_full(t->arena, x->shape->type, out->count, dims, dynamic, NULL);
  x = halo_translate_stretch(t, x, shape, where);
  for (int d = 0; d < out->count; d++) {
    int first = einsum_find(out, out->labels[d], 0);
    if (first < d) x = einsum_mask(t, x, first, d);
  }
  return x;
}

void halo_translate_op_einsum(halo_translator *t, halo_mlir_op *op) {
  const char *config = halo_mlir_string(op, "einsum_config", "");
  einsum_list sides[2] = {{.count = 0}, {.count = 0}}, out = {.count = 0};
  einsum_product product = {.batches = 0};
  halo_instr *x[2] = {halo_translate_operand(t, op, 0), halo_translate_operand(t, op, 1)};
  if (!halo_translate_ok(t)) return;
  if (!einsum_parse(config, x, sides, &out)) {
    halo_translate_wrong(t,
                         "einsum_config \"%s\" does not fit the operands: expected letters for "
                         "their dimensions, as in ij,jk->ik",
                         config);
  }
  for (int d = 0; d < out.count; d++) {
    if (einsum_find(&sides[0], out.labels[d], 0) >= 0) continue;
    if (einsum_find(&sides[1], out.labels[d], 0) >= 0) continue;
    halo_translate_wrong(
        t, "einsum_config \"%s\" names a dimension of the result that no operand has", config);
  }
  if (!halo_translate_ok(t)) return;
  const halo_instr *first = x[0];
  einsum_list firsts = sides[0];
  x[0] = einsum_drop_ones(t, x[0], &sides[0], x[1], &sides[1]);
  x[1] = einsum_drop_ones(t, x[1], &sides[1], first, &firsts);
  for (int s = 0; s < 2; s++) x[s] = einsum_tidy(t, x[s], &sides[s], &sides[1 - s], &out);
  if (!halo_translate_ok(t)) return;
  einsum_place(x, sides, &out, &product);
  halo_type type = op->results[0].type->kind == HALO_MLIR_TENSOR ? op->results[0].type->element
                                                                 : x[0]->shape->type;
  halo_instr *made = einsum_multiply(t, x, &product, type);
  halo_translate_results(t, op, einsum_arrange(t, made, &product, &out));
}
