/* SPDX-License-Identifier: Apache-2.0 */
/* builder/control.c: ops that run computations, and dots. */
#include "builder/build.h"

#include <string.h>

static halo_attr control_comp(build_call *call, halo_attr_id id, halo_comp comp) {
  halo_computation *computation = halo_build_comp(call, comp);
  return halo_build_comps(call, id, 1, &computation);
}

halo_op halo_call(halo_builder *builder, halo_comp computation, int count, const halo_op *args) {
  build_call call = halo_build_begin(builder, "halo_call");
  halo_attr attr = control_comp(&call, HALO_ATTR_TO_APPLY, computation);
  return halo_build_nary(&call, HALO_OP_CALL, count, args, 1, &attr);
}

/* name = "value" among the frontend attributes. */
static void control_note(build_call *call, const char **strings, int *count, const char *name,
                         const char *value) {
  strings[(*count)++] = name;
  strings[(*count)++] = halo_arena_strdup(halo_build_arena(call), value);
}

halo_op halo_composite_call(halo_builder *builder, halo_comp computation, int count,
                            const halo_op *args, const char *name, const char *attributes,
                            int64_t version) {
  build_call call = halo_build_begin(builder, "halo_composite_call");
  if (call.ok && (!name || !*name)) halo_build_fail(&call, "the name is missing");
  if (call.ok && version < 0) halo_build_fail(&call, "the version is negative");
  if (!call.ok) return halo_build_result(&call, NULL);
  halo_arena *arena = halo_build_arena(&call);
  const char **strings = halo_arena_array(arena, const char *, 6);
  int strings_count = 0;
  control_note(&call, strings, &strings_count, "composite.attributes",
               attributes ? attributes : "{}");
  control_note(&call, strings, &strings_count, "composite.name", name);
  control_note(&call, strings, &strings_count, "composite.version",
               halo_arena_printf(arena, "%lld", (long long)version));
  halo_attr attrs[] = {control_comp(&call, HALO_ATTR_TO_APPLY, computation),
                       halo_build_int(HALO_ATTR_IS_COMPOSITE, 1),
                       {.id = HALO_ATTR_FRONTEND_ATTRIBUTES, .strings = {strings, 6}}};
  return halo_build_nary(&call, HALO_OP_CALL, count, args, 3, attrs);
}

halo_op halo_map_dims(halo_builder *builder, int count, const halo_op *operands,
                      halo_comp computation, int dim_count, const int64_t *dims, int static_count,
                      const halo_op *static_operands) {
  build_call call = halo_build_begin(builder, "halo_map_dims");
  (void)static_operands;
  if (call.ok && static_count != 0) {
    halo_build_fail(&call, "static operands are not supported, as in XLA");
  }
  if (!halo_build_check_list(&call, dim_count, dims, "dims")) return halo_build_result(&call, NULL);
  halo_attr attrs[] = {halo_build_ints(&call, HALO_ATTR_DIMENSIONS, dim_count, dims),
                       control_comp(&call, HALO_ATTR_TO_APPLY, computation)};
  return halo_build_nary(&call, HALO_OP_MAP, count, operands, 2, attrs);
}

halo_op halo_map_elements(halo_builder *builder, int count, const halo_op *operands,
                          halo_comp computation) {
  build_call call = halo_build_begin(builder, "halo_map_elements");
  if (call.ok && (count < 1 || !operands)) halo_build_fail(&call, "at least one operand is needed");
  halo_instr *first = call.ok ? halo_build_array(&call, operands[0]) : NULL;
  if (!first) return halo_build_result(&call, NULL);
  int64_t dims[HALO_MAX_RANK];
  for (int i = 0; i < first->shape->rank; i++) dims[i] = i;
  halo_attr attrs[] = {halo_build_ints(&call, HALO_ATTR_DIMENSIONS, first->shape->rank, dims),
                       control_comp(&call, HALO_ATTR_TO_APPLY, computation)};
  return halo_build_nary(&call, HALO_OP_MAP, count, operands, 2, attrs);
}

halo_op halo_while(halo_comp condition, halo_comp body, halo_op init) {
  build_call call = halo_build_begin_with("halo_while", 1, &init);
  halo_attr attrs[] = {control_comp(&call, HALO_ATTR_CONDITION, condition),
                       control_comp(&call, HALO_ATTR_BODY, body)};
  return halo_build_nary(&call, HALO_OP_WHILE, 1, &init, 2, attrs);
}

halo_op halo_conditional(halo_op pred, halo_op true_operand, halo_comp on_true,
                         halo_op false_operand, halo_comp on_false) {
  halo_op ops[] = {pred, true_operand, false_operand};
  build_call call = halo_build_begin_with("halo_conditional", 3, ops);
  halo_attr attrs[] = {control_comp(&call, HALO_ATTR_TRUE_COMPUTATION, on_true),
                       control_comp(&call, HALO_ATTR_FALSE_COMPUTATION, on_false)};
  return halo_build_nary(&call, HALO_OP_CONDITIONAL, 3, ops, 2, attrs);
}

halo_op halo_conditional_indexed(halo_op index, int count, const halo_comp *branches,
                                 const halo_op *operands) {
  build_call call = halo_build_begin_with("halo_conditional_indexed", 1, &index);
  if (call.ok && (count < 1 || !branches || !operands)) {
    halo_build_fail(&call, "at least one branch and its operand are needed");
  }
  if (!call.ok) return halo_build_result(&call, NULL);
  halo_arena *arena = halo_build_arena(&call);
  halo_op *ops = halo_arena_array(arena, halo_op, count + 1);
  halo_computation **comps = halo_arena_array(arena, halo_computation *, count);
  ops[0] = index;
  for (int i = 0; i < count; i++) {
    ops[i + 1] = operands[i];
    comps[i] = halo_build_comp(&call, branches[i]);
  }
  halo_attr attr = halo_build_comps(&call, HALO_ATTR_BRANCH_COMPUTATIONS, count, comps);
  return halo_build_nary(&call, HALO_OP_CONDITIONAL, count + 1, ops, 1, &attr);
}

/* ---- Reduce ---- */

static halo_op control_reduce(build_call *call, int n, const halo_op *operands,
                              const halo_op *inits, halo_comp computation, int count,
                              const int64_t *dims) {
  if (call->ok && (n < 1 || !operands || !inits)) {
    halo_build_fail(call, "at least one operand and its init value are needed");
  }
  if (!call->ok || !halo_build_check_list(call, count, dims, "dims")) {
    return halo_build_result(call, NULL);
  }
  halo_op *ops = halo_arena_array(halo_build_arena(call), halo_op, 2 * (size_t)n);
  memcpy(ops, operands, sizeof *ops * (size_t)n);
  memcpy(ops + n, inits, sizeof *ops * (size_t)n);
  halo_attr attrs[] = {halo_build_ints(call, HALO_ATTR_DIMENSIONS, count, dims),
                       control_comp(call, HALO_ATTR_TO_APPLY, computation)};
  return halo_build_nary(call, HALO_OP_REDUCE, 2 * n, ops, 2, attrs);
}

halo_op halo_reduce(halo_op operand, halo_op init, halo_comp computation, int count,
                    const int64_t *dims) {
  build_call call = halo_build_begin_with("halo_reduce", 2, (halo_op[]){operand, init});
  return control_reduce(&call, 1, &operand, &init, computation, count, dims);
}

halo_op halo_reduce_all(halo_op operand, halo_op init, halo_comp computation) {
  build_call call = halo_build_begin_with("halo_reduce_all", 2, (halo_op[]){operand, init});
  halo_instr *x = halo_build_array(&call, operand);
  int64_t dims[HALO_MAX_RANK];
  for (int i = 0; x && i < x->shape->rank; i++) dims[i] = i;
  return control_reduce(&call, 1, &operand, &init, computation, x ? x->shape->rank : 0, dims);
}

halo_op halo_reduce_many(halo_builder *builder, int n, const halo_op *operands,
                         const halo_op *inits, halo_comp computation, int count,
                         const int64_t *dims) {
  build_call call = halo_build_begin(builder, "halo_reduce_many");
  return control_reduce(&call, n, operands, inits, computation, count, dims);
}

static halo_comp control_scalar(halo_builder *builder, const char *name, halo_type type,
                                halo_op (*op)(halo_op, halo_op)) {
  halo_builder *sub = halo_builder_create_sub(builder, name);
  if (!sub) return (halo_comp){.id = -1};
  halo_shape scalar = {.type = type};
  halo_op a = halo_parameter(sub, 0, &scalar, "a"), b = halo_parameter(sub, 1, &scalar, "b");
  return halo_builder_finish_sub(sub, op(a, b));
}

halo_comp halo_scalar_add(halo_builder *builder, halo_type type) {
  return control_scalar(builder, "scalar_add", type, halo_add);
}
halo_comp halo_scalar_mul(halo_builder *builder, halo_type type) {
  return control_scalar(builder, "scalar_mul", type, halo_mul);
}
halo_comp halo_scalar_max(halo_builder *builder, halo_type type) {
  return control_scalar(builder, "scalar_max", type, halo_max);
}
halo_comp halo_scalar_min(halo_builder *builder, halo_type type) {
  return control_scalar(builder, "scalar_min", type, halo_min);
}
halo_comp halo_scalar_and(halo_builder *builder, halo_type type) {
  return control_scalar(builder, "scalar_and", type, halo_and);
}
halo_comp halo_scalar_or(halo_builder *builder, halo_type type) {
  return control_scalar(builder, "scalar_or", type, halo_or);
}

/* ---- Dot ---- */

/* A product of the operands, of which the first two are its sides; `extra` are its own attributes. */
static halo_op control_product(build_call *call, halo_opcode opcode, int operand_count,
                               const halo_op *operands, const halo_dot_dims *dims,
                               const halo_dot_options *options, int extra_count,
                               const halo_attr *extra) {
  static const halo_dot_options none = {0};
  if (!options) options = &none;
  halo_instr *l = halo_build_array(call, operands[0]), *r = halo_build_array(call, operands[1]);
  if (!halo_build_check_list(call, dims->batch_count, dims->lhs_batch, "lhs_batch") ||
      !halo_build_check_list(call, dims->batch_count, dims->rhs_batch, "rhs_batch") ||
      !halo_build_check_list(call, dims->contracting_count, dims->lhs_contracting,
                             "lhs_contracting") ||
      !halo_build_check_list(call, dims->contracting_count, dims->rhs_contracting,
                             "rhs_contracting")) {
    return halo_build_result(call, NULL);
  }
  if (l->shape->type != r->shape->type &&
      !(halo_type_is_float(l->shape->type) && halo_type_is_float(r->shape->type))) {
    halo_build_fail(call, "dot of %s and %s: element types must match",
                    halo_type_name(l->shape->type), halo_type_name(r->shape->type));
  }
  if (options->preferred_type != HALO_TYPE_INVALID &&
      !halo_type_is_array(options->preferred_type)) {
    halo_build_fail(call, "preferred_type is no element type");
  }
  halo_attr attrs[7];
  int count = 0;
  if (!call->ok) return halo_build_result(call, NULL);
  if (dims->batch_count) {
    attrs[count++] =
        halo_build_ints(call, HALO_ATTR_LHS_BATCH_DIMS, dims->batch_count, dims->lhs_batch);
    attrs[count++] =
        halo_build_ints(call, HALO_ATTR_RHS_BATCH_DIMS, dims->batch_count, dims->rhs_batch);
  }
  attrs[count++] = halo_build_ints(call, HALO_ATTR_LHS_CONTRACTING_DIMS, dims->contracting_count,
                                   dims->lhs_contracting);
  attrs[count++] = halo_build_ints(call, HALO_ATTR_RHS_CONTRACTING_DIMS, dims->contracting_count,
                                   dims->rhs_contracting);
  if (options->lhs_precision || options->rhs_precision) {
    int64_t precisions[] = {options->lhs_precision, options->rhs_precision};
    attrs[count++] = halo_build_ints(call, HALO_ATTR_OPERAND_PRECISION, 2, precisions);
  }
  for (int i = 0; i < extra_count; i++) attrs[count++] = extra[i];
  halo_op product = halo_build_nary(call, opcode, operand_count, operands, count, attrs);
  /* A dot's written type is its preferred one, and any is legal. */
  if (call->ok && options->preferred_type != HALO_TYPE_INVALID) {
    halo_instr *dot = halo_build_operand(call, product);
    dot->shape = halo_shape_with_type(halo_build_arena(call), dot->shape, options->preferred_type);
  }
  return product;
}

static halo_op control_dot(build_call *call, halo_op lhs, halo_op rhs, const halo_dot_dims *dims,
                           const halo_dot_options *options) {
  halo_op operands[] = {lhs, rhs};
  return control_product(call, HALO_OP_DOT, 2, operands, dims, options, 0, NULL);
}

static bool control_check_precisions(build_call *call, const halo_dot_options *options) {
  if (!call->ok || !options) return call->ok;
  if ((unsigned)options->lhs_precision > HALO_PRECISION_HIGHEST ||
      (unsigned)options->rhs_precision > HALO_PRECISION_HIGHEST) {
    halo_build_fail(call, "a precision is not one of default, high and highest");
  }
  return call->ok;
}

halo_op halo_dot(halo_op lhs, halo_op rhs, const halo_dot_options *options) {
  build_call call = halo_build_begin_with("halo_dot", 2, (halo_op[]){lhs, rhs});
  halo_instr *l = halo_build_array(&call, lhs), *r = halo_build_array(&call, rhs);
  if (l && r &&
      (l->shape->rank < 1 || l->shape->rank > 2 || r->shape->rank < 1 || r->shape->rank > 2)) {
    halo_build_fail(&call, "operands must be vectors or matrices, not of rank %d and %d",
                    l->shape->rank, r->shape->rank);
  }
  if (!control_check_precisions(&call, options)) return halo_build_result(&call, NULL);
  int64_t last = l->shape->rank - 1, first = 0;
  halo_dot_dims dims = {
      .contracting_count = 1, .lhs_contracting = &last, .rhs_contracting = &first};
  return control_dot(&call, lhs, rhs, &dims, options);
}

halo_op halo_dot_general(halo_op lhs, halo_op rhs, const halo_dot_dims *dims,
                         const halo_dot_options *options) {
  build_call call = halo_build_begin_with("halo_dot_general", 2, (halo_op[]){lhs, rhs});
  if (call.ok && !dims) halo_build_fail(&call, "dims is NULL");
  if (!control_check_precisions(&call, options)) return halo_build_result(&call, NULL);
  return control_dot(&call, lhs, rhs, dims, options);
}

halo_op halo_ragged_dot(halo_op lhs, halo_op rhs, halo_op group_sizes, const halo_dot_dims *dims,
                        int64_t lhs_ragged, int64_t rhs_group, const halo_dot_options *options) {
  halo_op operands[] = {lhs, rhs, group_sizes};
  build_call call = halo_build_begin_with("halo_ragged_dot", 3, operands);
  if (call.ok && !dims) halo_build_fail(&call, "dims is NULL");
  if (!control_check_precisions(&call, options)) return halo_build_result(&call, NULL);
  halo_attr extra[] = {halo_build_ints(&call, HALO_ATTR_LHS_RAGGED_DIMS, 1, &lhs_ragged),
                       halo_build_ints(&call, HALO_ATTR_RHS_GROUP_DIMS, 1, &rhs_group)};
  return control_product(&call, HALO_OP_RAGGED_DOT, 3, operands, dims, options,
                         rhs_group < 0 ? 1 : 2, extra);
}

halo_op halo_scaled_dot(halo_op lhs, halo_op lhs_scale, halo_op rhs, halo_op rhs_scale,
                        const halo_dot_dims *dims, const halo_dot_options *options) {
  halo_op operands[] = {lhs, rhs, lhs_scale, rhs_scale};
  build_call call = halo_build_begin_with("halo_scaled_dot", 4, operands);
  if (call.ok && !dims) halo_build_fail(&call, "dims is NULL");
  if (!control_check_precisions(&call, options)) return halo_build_result(&call, NULL);
  return control_product(&call, HALO_OP_SCALED_DOT, 4, operands, dims, options, 0, NULL);
}
