/* SPDX-License-Identifier: Apache-2.0 */
/* rewrite/expander.c: new instructions for rewrites, their shapes inferred. */
#include "rewrite/expander.h"

halo_instr *halo_expand_op(halo_expander *x, halo_opcode opcode, halo_instr *const *operands,
                           int32_t operand_count, const halo_attr *attrs, int32_t attr_count) {
  for (int32_t i = 0; i < operand_count; i++) {
    if (!operands[i]) return NULL;
  }
  halo_instr_spec spec = {.opcode = opcode,
                          .operands = operands,
                          .operand_count = operand_count,
                          .attrs = attrs,
                          .attr_count = attr_count,
                          .line = x->like->line};
  halo_instr *instr = NULL;
  halo_status status = halo_instr_create(x->r->computation, &spec, &instr);
  if (x->status == HALO_OK) x->status = status;
  if (status != HALO_OK) return NULL;
  const halo_attr *metadata = halo_instr_attr(x->like, HALO_ATTR_METADATA);
  if (metadata) halo_instr_set_attr(instr, metadata);
  return instr;
}

halo_instr *halo_expand_unary(halo_expander *x, halo_opcode opcode, halo_instr *a) {
  return halo_expand_op(x, opcode, &a, 1, NULL, 0);
}

halo_instr *halo_expand_binary(halo_expander *x, halo_opcode opcode, halo_instr *a, halo_instr *b) {
  return halo_expand_op(x, opcode, (halo_instr *[]){a, b}, 2, NULL, 0);
}

halo_instr *halo_expand_convert(halo_expander *x, halo_instr *a, halo_type type) {
  if (!a || a->shape->type == type) return a;
  const halo_shape *shape =
      halo_shape_new(&x->r->computation->module->arena, type, a->shape->rank, a->shape->dims);
  return halo_rewrite_make_unary(x->r, x->like, HALO_OP_CONVERT, shape, a);
}

halo_instr *halo_expand_reshape(halo_expander *x, halo_instr *a, int rank, const int64_t *dims) {
  if (!a) return NULL;
  const halo_shape *shape =
      halo_shape_new(&x->r->computation->module->arena, a->shape->type, rank, dims);
  if (halo_shape_same_dims(a->shape, shape)) return a;
  return halo_rewrite_make_unary(x->r, x->like, HALO_OP_RESHAPE, shape, a);
}

halo_instr *halo_expand_slice(halo_expander *x, halo_instr *a, const int64_t *bounds) {
  if (!a) return NULL;
  halo_attr attr = halo_rewrite_list_attr(x->r->computation->module, HALO_ATTR_SLICE, bounds,
                                          3 * a->shape->rank);
  return halo_expand_op(x, HALO_OP_SLICE, &a, 1, &attr, 1);
}

halo_instr *halo_expand_range(halo_expander *x, halo_instr *a, int64_t dim, int64_t from,
                              int64_t to) {
  if (!a) return NULL;
  int rank = a->shape->rank;
  int64_t bounds[3 * HALO_MAX_RANK];
  for (int d = 0; d < rank; d++) {
    bounds[3 * d] = d == dim ? from : 0;
    bounds[3 * d + 1] = d == dim ? to : a->shape->dims[d];
    bounds[3 * d + 2] = 1;
  }
  return halo_expand_slice(x, a, bounds);
}

halo_instr *halo_expand_join(halo_expander *x, halo_instr *const *parts, int32_t count,
                             int64_t dim) {
  if (count == 1) return parts[0];
  halo_attr attr = halo_rewrite_list_attr(x->r->computation->module, HALO_ATTR_DIMENSIONS, &dim, 1);
  return halo_expand_op(x, HALO_OP_CONCATENATE, parts, count, &attr, 1);
}

halo_instr *halo_expand_pad(halo_expander *x, halo_instr *a, halo_instr *fill,
                            const int64_t *padding) {
  if (!a) return NULL;
  halo_attr attr = halo_rewrite_list_attr(x->r->computation->module, HALO_ATTR_PADDING, padding,
                                          3 * a->shape->rank);
  return halo_expand_op(x, HALO_OP_PAD, (halo_instr *[]){a, fill}, 2, &attr, 1);
}

halo_instr *halo_expand_dynamic_slice(halo_expander *x, halo_instr *a, halo_instr *const *starts,
                                      const int64_t *sizes) {
  if (!a) return NULL;
  int rank = a->shape->rank;
  halo_instr *operands[1 + HALO_MAX_RANK] = {a};
  for (int d = 0; d < rank; d++) operands[1 + d] = starts[d];
  halo_attr attr =
      halo_rewrite_list_attr(x->r->computation->module, HALO_ATTR_DYNAMIC_SLICE_SIZES, sizes, rank);
  return halo_expand_op(x, HALO_OP_DYNAMIC_SLICE, operands, 1 + rank, &attr, 1);
}

halo_instr *halo_expand_compare(halo_expander *x, halo_instr *a, halo_direction direction,
                                halo_instr *b) {
  halo_attr attr = {.id = HALO_ATTR_DIRECTION, .i = direction};
  return halo_expand_op(x, HALO_OP_COMPARE, (halo_instr *[]){a, b}, 2, &attr, 1);
}

halo_instr *halo_expand_select(halo_expander *x, halo_instr *test, halo_instr *a, halo_instr *b) {
  return halo_expand_op(x, HALO_OP_SELECT, (halo_instr *[]){test, a, b}, 3, NULL, 0);
}

halo_instr *halo_expand_iota(halo_expander *x, const halo_shape *shape, int64_t dim) {
  halo_attr attr = {.id = HALO_ATTR_IOTA_DIMENSION, .i = dim};
  return halo_rewrite_make(x->r, x->like, HALO_OP_IOTA, shape, NULL, 0, &attr, 1);
}

halo_instr *halo_expand_scalar(halo_expander *x, halo_type type, double value) {
  halo_literal *literal = NULL;
  const halo_shape *shape = halo_shape_new(&x->r->computation->module->arena, type, 0, NULL);
  halo_status status = halo_literal_create(shape, &literal);
  if (x->status == HALO_OK) x->status = status;
  if (status != HALO_OK) return NULL;
  halo_literal_set_f64(literal, 0, value);
  return halo_rewrite_make_constant(x->r, x->like, literal);
}

halo_instr *halo_expand_broadcast(halo_expander *x, halo_instr *a, const int64_t *dims,
                                  const halo_shape *like) {
  if (!a) return NULL;
  const halo_shape *shape =
      halo_shape_new(&x->r->computation->module->arena, a->shape->type, like->rank, like->dims);
  return halo_rewrite_make_listed(x->r, x->like, HALO_OP_BROADCAST, shape, a, HALO_ATTR_DIMENSIONS,
                                  dims, a->shape->rank);
}

halo_instr *halo_expand_splat(halo_expander *x, halo_instr *scalar, const halo_shape *like) {
  return halo_expand_broadcast(x, scalar, NULL, like);
}

halo_computation *halo_expand_combiner(halo_expander *x, halo_opcode opcode, halo_type type) {
  halo_module *module = x->r->computation->module;
  halo_computation *combiner = halo_computation_create(module, NULL);
  const halo_shape *scalar = halo_shape_new(&module->arena, type, 0, NULL);
  halo_instr *params[2];
  combiner->name = halo_module_fresh_name(module, halo_opcode_name(opcode));
  for (int32_t p = 0; p < 2; p++) {
    halo_instr_spec spec = {.opcode = HALO_OP_PARAMETER,
                            .name = p ? "b" : "a",
                            .shape = scalar,
                            .parameter_number = p,
                            .line = x->like->line};
    params[p] = halo_instr_create_unchecked(combiner, &spec);
  }
  halo_instr_spec root = {.opcode = opcode,
                          .name = "result",
                          .shape = scalar,
                          .operands = params,
                          .operand_count = 2,
                          .line = x->like->line};
  combiner->root = halo_instr_create_unchecked(combiner, &root);
  return combiner;
}

halo_instr *halo_expand_sum(halo_expander *x, halo_instr *a, const int64_t *dims, int32_t count) {
  if (!a) return NULL;
  halo_module *module = x->r->computation->module;
  halo_computation **comps = halo_arena_new(&module->arena, halo_computation *);
  *comps = halo_expand_combiner(x, HALO_OP_ADD, a->shape->type);
  halo_attr attrs[2] = {halo_rewrite_list_attr(module, HALO_ATTR_DIMENSIONS, dims, count),
                        {.id = HALO_ATTR_TO_APPLY, .comps = {comps, 1}}};
  halo_instr *zero = halo_expand_scalar(x, a->shape->type, 0);
  return halo_expand_op(x, HALO_OP_REDUCE, (halo_instr *[]){a, zero}, 2, attrs, 2);
}

halo_instr *halo_expand_tuple(halo_expander *x, halo_instr *const *elements, int32_t count) {
  return halo_expand_op(x, HALO_OP_TUPLE, elements, count, NULL, 0);
}
