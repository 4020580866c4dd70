/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/linalg/linalg.c: elements of matrices, and arithmetic on them, for kernels of linear algebra. */
#include "kernels/linalg/linalg.h"

#include "codegen/ctype.h"

halo_type halo_linalg_type(halo_type type) {
  bool wide = type == HALO_F64 || halo_type_is_complex(type);
  return wide ? type : HALO_F32;
}

int64_t halo_linalg_batch(const halo_shape *shape) {
  int64_t batch = 1;
  for (int d = 0; d < shape->rank - 2; d++) batch *= shape->dims[d];
  return batch;
}

/* The index of an element of matrix `batch`. */
static emit_index *linalg_index(halo_emitter *e, const halo_shape *shape, const halo_integer *batch,
                                const halo_integer *row, const halo_integer *column) {
  const halo_integer *at[HALO_MAX_RANK];
  int rank = shape->rank;
  at[rank - 2] = row;
  at[rank - 1] = column;
  for (int d = rank - 3; d >= 0; d--) {
    at[d] = halo_integer_mod(&e->integers, batch, shape->dims[d]);
    batch = halo_integer_div(&e->integers, batch, shape->dims[d]);
  }
  return halo_index_of(e, rank, shape->dims, at);
}

halo_value halo_linalg_element(halo_emitter *e, emit_frame *frame, const halo_instr *operand,
                               const halo_integer *batch, const halo_integer *row,
                               const halo_integer *column) {
  emit_index *index = linalg_index(e, operand->shape, batch, row, column);
  halo_value value = halo_emit_value(e, frame, operand, 0, index);
  halo_type type = halo_linalg_type(operand->shape->type);
  return value.type == type ? value : halo_emit_convert(e, value, type);
}

void halo_linalg_begin(halo_helpers *p, halo_lowering *l, const char *name, halo_type type,
                       bool wide) {
  halo_helpers_begin(p, l, name, wide);
  halo_sections_add(&p->e.sections,
                    halo_type_is_complex(type) ? halo_type_name(type) : halo_ctype_section(type));
}

void halo_linalg_store(halo_emitter *e, const halo_shape *result, halo_type type,
                       const halo_integer *batch, const halo_integer *row,
                       const halo_integer *column) {
  halo_value value = halo_value_name(type, "v");
  if (type != result->type) value = halo_emit_convert(e, value, result->type);
  const halo_integer *at =
      halo_index_position(e, linalg_index(e, result, batch, row, column), result);
  halo_emit_store(e, halo_emit_arg(e, HALO_ROLE_OUTPUT, 0, result->type, NULL), at, value);
}

void halo_linalg_holes(halo_helpers *p, halo_template *k, halo_type type) {
  const char *t = halo_ctype_compute(type), *r = halo_ctype_compute(halo_type_real_part(type));
  halo_helpers_hole(p, k, "H_T", "%s", t);
  halo_helpers_hole(p, k, "H_R", "%s", r);
  if (!halo_type_is_complex(type)) {
    halo_template_define(k, "H_RE", "H_RE(v) (v)");
    halo_template_define(k, "H_CONJ", "H_CONJ(v) (v)");
    halo_template_define(k, "H_NAN", "H_NAN ((H_R)NAN)");
    halo_template_define(k, "H_SUBMUL", "H_SUBMUL(c, a, b) ((c) - (a) * (b))");
    halo_template_define(k, "H_DIV", "H_DIV(a, b) ((a) / (b))");
    return;
  }
  const char *name = halo_type_name(type);
  halo_template_define(k, "H_RE", "H_RE(v) ((v).x)");
  halo_helpers_hole(p, k, "H_CONJ(v)", "((v) * (%s)(1, -1))", t);
  halo_helpers_hole(p, k, "H_NAN", "((%s)(NAN, 0))", t);
  halo_helpers_hole(p, k, "H_SUBMUL(c, a, b)", "((c) - h_mul_%s(a, b))", name);
  halo_helpers_hole(p, k, "H_DIV(a, b)", "h_div_%s(a, b)", name);
}

int halo_linalg_lanes(const halo_caps *caps, halo_type type, int64_t wanted) {
  int lanes = caps->simd_width >= 16 ? 16 : caps->simd_width >= 8 ? 8 : 4;
  lanes /= (int)(halo_type_size(type) / 4);
  if (lanes < 1) lanes = 1;
  while (lanes > 1 && lanes / 2 >= wanted) lanes /= 2;
  return lanes;
}

/* i b for a vector of complex numbers: real and imaginary parts change places. */
static const char *linalg_swap_parts(halo_arena *arena, const char *vector, int width) {
  halo_strbuf b = {0};
  halo_strbuf_append(&b, "((b).s");
  for (int i = 0; i < width; i++) halo_strbuf_printf(&b, "%x", i ^ 1);
  halo_strbuf_printf(&b, " * (%s)(-1, 1", vector);
  for (int i = 2; i < width; i += 2) halo_strbuf_append(&b, ", -1, 1");
  halo_strbuf_append(&b, "))");
  const char *text = halo_arena_printf(arena, "%s", halo_strbuf_text(&b));
  halo_strbuf_deinit(&b);
  return text;
}

/* Of each complex number of a vector one part, twice. */
static const char *linalg_doubled(halo_arena *arena, const char *of, int part, int width) {
  halo_strbuf b = {0};
  halo_strbuf_printf(&b, "(%s).s", of);
  for (int i = 0; i < width; i++) halo_strbuf_printf(&b, "%x", (i & ~1) | part);
  const char *text = halo_arena_printf(arena, "%s", halo_strbuf_text(&b));
  halo_strbuf_deinit(&b);
  return text;
}

void halo_linalg_vector_holes(halo_helpers *p, halo_template *k, halo_type type, int lanes) {
  bool complex = halo_type_is_complex(type);
  const char *part = halo_ctype_compute(halo_type_real_part(type));
  int width = complex ? 2 * lanes : lanes;
  halo_template_define_int(k, "H_W", lanes);
  if (width == 1) {
    halo_helpers_hole(p, k, "H_V", "%s", part);
    halo_template_define(k, "H_LOADV", "H_LOADV(space, p) (*(p))");
    halo_template_define(k, "H_STOREV", "H_STOREV(v, space, p) (*(p) = (v))");
  } else {
    halo_helpers_hole(p, k, "H_V", "%s%d", part, width);
    halo_helpers_hole(p, k, "H_LOADV(space, p)", "vload%d(0, (const space %s *)(p))", width, part);
    halo_helpers_hole(p, k, "H_STOREV(v, space, p)", "vstore%d(v, 0, (space %s *)(p))", width,
                      part);
  }
  if (!complex) {
    halo_template_define(k, "H_LESS", "H_LESS(c, a, b) ((c) - (a) * (b))");
    halo_template_define(k, "H_PLUS", "H_PLUS(c, a, b) ((c) + (a) * (b))");
    return;
  }
  halo_arena *arena = p->l->arena;
  const char *swapped =
      linalg_swap_parts(arena, halo_arena_printf(arena, "%s%d", part, width), width);
  halo_helpers_hole(p, k, "H_LESS(c, a, b)", "((c) - (a).x * (b) - (a).y * %s)", swapped);
  halo_helpers_hole(p, k, "H_PLUS(c, a, b)", "((c) + %s * (b) - %s * %s)",
                    linalg_doubled(arena, "a", 0, width), linalg_doubled(arena, "a", 1, width),
                    swapped);
}
