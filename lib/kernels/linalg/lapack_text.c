/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/linalg/lapack_text.c: what kernels of LAPACK's routines share: arguments, elements, holes, launches. */
#include "kernels/linalg/lapack_text.h"

#include "codegen/ctype.h"

const void *lapack_describe(const halo_lowering *l) {
  halo_lapack_desc *v = halo_desc_new(l, halo_lapack_desc);
  halo_lapack_describe(halo_lowering_root(l), v);
  return v;
}

/* A helper of the kernel, which reads or stores the call's operand or result `leaf`, by coordinates with these names. */
typedef struct lapack_part {
  const char *hole, *suffix, *names[2];
  int rank, leaf;
  bool store;
} lapack_part;

/* The index of what belongs to a matrix: an element of it, one of a line of numbers, or a number. */
static emit_index *lapack_index(halo_emitter *e, const halo_shape *shape, int rank,
                                const halo_integer *batch, const halo_integer *const *last) {
  const halo_integer *at[HALO_MAX_RANK];
  int outer = shape->rank - rank;
  for (int d = 0; d < rank; d++) at[outer + d] = last[d];
  for (int d = outer - 1; d >= 0; d--) {
    at[d] = halo_integer_mod(&e->integers, batch, shape->dims[d]);
    batch = halo_integer_div(&e->integers, batch, shape->dims[d]);
  }
  return halo_index_of(e, shape->rank, shape->dims, at);
}

/* "b, i, j", and with ", v" for what is stored. */
static const char *lapack_names(halo_arena *arena, const lapack_part *part, bool with_value) {
  const char *text = "b";
  for (int d = 0; d < part->rank; d++)
    text = halo_arena_printf(arena, "%s, %s", text, part->names[d]);
  return with_value ? halo_arena_printf(arena, "%s, v", text) : text;
}

static void lapack_emit_helper(halo_helpers *p, const halo_instr *call, const halo_lapack_desc *v,
                               const lapack_part *part) {
  halo_emitter *e = &p->e;
  emit_frame *frame = halo_helpers_open(p);
  const halo_shape *shape =
      part->store ? halo_leaf_shape(call->shape, part->leaf) : call->operands[part->leaf]->shape;
  const halo_integer *batch = halo_emit_counter(e, "b", v->batch), *at[2];
  for (int d = 0; d < part->rank; d++) {
    at[d] = halo_emit_counter(e, part->names[d], shape->dims[shape->rank - part->rank + d]);
  }
  emit_index *index = lapack_index(e, shape, part->rank, batch, at);
  const char *type = halo_ctype_compute(shape->type);
  if (part->store) {
    const char *out = halo_emit_arg(e, HALO_ROLE_OUTPUT, part->leaf, shape->type, NULL);
    halo_emit_store(e, out, halo_index_position(e, index, shape),
                    halo_value_name(shape->type, "v"));
  } else {
    halo_value value = halo_emit_value(e, frame, call->operands[part->leaf], 0, index);
    halo_emit_line(e, "return %s;", value.text);
  }
  halo_helpers_close(p, part->store ? "void" : type, part->suffix,
                     lapack_names(p->l->arena, part, false), part->store ? type : NULL);
}

/* The helpers of each routine's kernel; a NULL hole ends a list. */
enum { LAPACK_PARTS = 5 };
static const lapack_part lapack_parts[][LAPACK_PARTS] = {
    [HALO_LAPACK_GETRF] = {{"H_A", "_a", {"i", "j"}, 2, 0, false},
                           {"H_OUT", "_out", {"i", "j"}, 2, 0, true},
                           {"H_PIVOT", "_pivot", {"k"}, 1, 1, true},
                           {"H_INFO", "_info", {NULL}, 0, 2, true}},
    [HALO_LAPACK_POTRF] = {{"H_A", "_a", {"i", "j"}, 2, 0, false},
                           {"H_OUT", "_out", {"i", "j"}, 2, 0, true},
                           {"H_INFO", "_info", {NULL}, 0, 1, true}},
    [HALO_LAPACK_GEQRF] = {{"H_A", "_a", {"i", "j"}, 2, 0, false},
                           {"H_OUT", "_out", {"i", "j"}, 2, 0, true},
                           {"H_TAU", "_tau", {"k"}, 1, 1, true}},
    [HALO_LAPACK_ORGQR] = {{"H_A", "_a", {"i", "j"}, 2, 0, false},
                           {"H_FACTOR", "_factor", {"k"}, 1, 1, false},
                           {"H_OUT", "_out", {"i", "j"}, 2, 0, true}},
};

void lapack_emit_helpers(halo_helpers *p, const halo_lapack_desc *v) {
  const halo_instr *call = halo_lowering_root(p->l);
  for (const lapack_part *part = lapack_parts[v->routine]; part->hole; part++) {
    lapack_emit_helper(p, call, v, part);
  }
}

void lapack_arithmetic(halo_helpers *p, halo_template *k, halo_type type) {
  halo_linalg_holes(p, k, type);
  bool wide = halo_type_real_part(type) == HALO_F64;
  halo_template_define(k, "H_LEAST", wide ? "H_LEAST 1e-200" : "H_LEAST 1e-25f");
  if (!halo_type_is_complex(type)) {
    halo_template_define(k, "H_IM", "H_IM(v) ((H_R)0)");
    halo_template_define(k, "H_MAKE", "H_MAKE(re, im) (re)");
    halo_template_define(k, "H_REAL", "H_REAL(r) ((H_T)(r))");
    halo_template_define(k, "H_MUL", "H_MUL(a, b) ((a) * (b))");
    halo_template_define(k, "H_SIZE", "H_SIZE(v) fabs(v)");
    halo_template_define(k, "H_IS_ZERO", "H_IS_ZERO(v) ((v) == 0)");
    return;
  }
  const char *t = halo_ctype_compute(type);
  halo_template_define(k, "H_IM", "H_IM(v) ((v).y)");
  halo_helpers_hole(p, k, "H_MAKE(re, im)", "((%s)(re, im))", t);
  halo_helpers_hole(p, k, "H_REAL(r)", "((%s)(r, 0))", t);
  halo_helpers_hole(p, k, "H_MUL(a, b)", "h_mul_%s(a, b)", halo_type_name(type));
  halo_template_define(k, "H_SIZE", "H_SIZE(v) (fabs((v).x) + fabs((v).y))");
  halo_template_define(k, "H_IS_ZERO", "H_IS_ZERO(v) ((v).x == 0 && (v).y == 0)");
}

void lapack_holes(halo_helpers *p, halo_template *k, const halo_lapack_desc *v) {
  for (const lapack_part *part = lapack_parts[v->routine]; part->hole; part++) {
    halo_helpers_call(p, k, part->hole, part->suffix, lapack_names(p->l->arena, part, part->store));
  }
  lapack_arithmetic(p, k, v->type);
  halo_template_define_int(k, "H_M", v->rows);
  halo_template_define_int(k, "H_N", v->columns);
  halo_template_define_int(k, "H_K", v->steps);
  halo_template_define_int(k, "H_BATCH", v->batch);
}

void lapack_launch_items(const halo_caps *caps, halo_launch *launch, int64_t batch) {
  enum { MOST = 32, GROUPS = 512 };
  halo_launch_items(caps, launch, batch);
  if (!caps->is_cpu) return;
  size_t local = 1;
  while (local < MOST && batch >= (int64_t)(GROUPS * local)) local *= 2;
  halo_launch_line(launch, batch, local);
}

double lapack_items_cost(const halo_lowering *l, double each, int64_t batch) {
  double items = (double)batch;
  return halo_lowering_prices(l)->launch + halo_lowering_operations(l, items * each, items);
}
