/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/conv/text.c: text that kernels of convolutions share. */
#include "kernels/conv/conv.h"

#include "codegen/ctype.h"

bool halo_conv_is_plain(const halo_conv_desc *v, const char **why) {
  if (v->groups == 0 || v->m == 0 || v->n == 0 || v->k == 0 ||
      halo_shape_element_count(v->lhs->shape) == 0) {
    *why = "an extent is 0";
    return false;
  }
  if (v->accumulator == HALO_PRED || halo_type_is_complex(v->accumulator)) {
    *why = "the element type is pred or complex";
    return false;
  }
  if (halo_type_is_complex(v->lhs->shape->type) || halo_type_is_complex(v->rhs->shape->type)) {
    *why = "an operand is complex";
    return false;
  }
  return true;
}

void halo_conv_begin(halo_helpers *p, halo_lowering *l, const halo_conv_desc *v, const char *name) {
  /* Images with their padding, and panels, may be larger than any array of the program. */
  double image = (double)v->products * (double)v->batch * (double)(v->inputs + 64);
  for (int s = 0; s < v->dims->spatial; s++) {
    const halo_window_dim *w = &v->window[s];
    int64_t out = v->conv->shape->dims[v->dims->out_spatial[s]];
    image *= (double)out * (double)w->stride + (double)w->size * (double)w->window_dilation;
  }
  double panels = (double)v->products * ((double)v->n + 64) * ((double)v->k + 64);
  double rows = ((double)v->m + 64) * ((double)v->k + 64);
  halo_helpers_begin(p, l, name, image > 1e9 || panels > 1e9 || rows > 1e9);
  halo_sections_add(&p->e.sections, halo_ctype_section(v->accumulator));
}

/* Opens a helper for a result, which is the sum v, and whatever is fused behind it. */
static emit_frame *conv_open_result(halo_helpers *p, const halo_conv_desc *v) {
  halo_emitter *e = &p->e;
  emit_frame *frame = halo_helpers_open(p);
  halo_value sum = halo_emit_convert(e, halo_value_name(v->accumulator, "v"), v->result);
  halo_frame_bind(e, frame, v->conv, 0, sum);
  return frame;
}

static emit_index *conv_result_index(halo_helpers *p, const halo_conv_desc *v,
                                     const char *outside) {
  halo_emitter *e = &p->e;
  halo_conv_axes rows = halo_conv_rows(v);
  return halo_conv_result_index(e, v, &rows, halo_emit_counter(e, "b", v->products),
                                halo_emit_counter(e, "x", v->m), halo_emit_counter(e, "y", v->n),
                                outside);
}

void halo_conv_store(halo_helpers *p, const halo_conv_desc *v) {
  emit_frame *frame = conv_open_result(p, v);
  halo_helpers_store(p, frame, v->conv->shape, conv_result_index(p, v, ""));
  halo_helpers_close(p, "void", "_out", "b, x, y", halo_ctype_compute(v->accumulator));
}

void halo_conv_store_split(halo_helpers *p, const halo_conv_desc *v) {
  const char *type = halo_ctype_compute(halo_lowering_root(p->l)->shape->type);
  emit_frame *frame = conv_open_result(p, v);
  halo_helpers_value(p, frame, conv_result_index(p, v, "0"));
  halo_helpers_close(p, type, "_value", "b, x, y", halo_ctype_compute(v->accumulator));
  halo_helpers_open(p);
  halo_helpers_put(p, conv_result_index(p, v, ""));
  halo_helpers_close(p, "void", "_put", "b, x, y", type);
}

void halo_conv_emit_at(halo_helpers *p, const halo_conv_desc *v) {
  halo_emitter *e = &p->e;
  halo_helpers_open(p);
  emit_index *index = conv_result_index(p, v, "-1");
  halo_emit_line(e, "return %s;",
                 halo_emit_integer(e, halo_index_position(e, index, v->conv->shape)));
  halo_helpers_close(p, p->itype, "_at", "b, x, y", NULL);
}

const char *halo_conv_operand(halo_helpers *p, const halo_conv_desc *v, const halo_instr *operand,
                              int32_t scratch) {
  halo_role role = scratch < 0 ? HALO_ROLE_INPUT : HALO_ROLE_SCRATCH;
  int32_t number = scratch < 0 ? (int32_t)operand->parameter_number : scratch;
  return halo_emit_arg(&p->e, role, number, v->accumulator, NULL);
}
