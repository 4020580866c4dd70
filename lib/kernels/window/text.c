/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/window/text.c: what the kernels of a reduce-window have in common. */
#include "kernels/window/text.h"

#include "codegen/ctype.h"
#include "kernels/families.h"

halo_status halo_window_declare(halo_window_text *w, halo_lowering *l, const char *suffix) {
  w->l = l;
  w->name = halo_kernel_name(l, suffix);
  if (w->is_inlined && w->count == 1) {
    const char *type = halo_accumulator_ctype(&w->values[0]);
    halo_strbuf_printf(l->source,
                       "static inline %s %s_op(%s a, %s b) __attribute__((always_inline));\n", type,
                       w->name, type, type);
  }
  return halo_accumulator_declare(l, &w->a, w->name, w->values, w->count);
}

/* The element at the row-major position "p" of an array of these dimensions. */
static emit_index *window_index(halo_emitter *e, const halo_shape *shape) {
  const halo_shape *row_major = halo_shape_new(e->arena, shape->type, shape->rank, shape->dims);
  return halo_index_from_position(e, row_major,
                                  halo_emit_counter(e, "p", halo_shape_element_count(shape)));
}

/* Values of operands from the first one on, as what the accumulator holds. */
static void window_emit_operands(const halo_window_text *w, halo_helpers *p, emit_frame *frame,
                                 int32_t first, emit_index *index) {
  halo_value values[HALO_REDUCE_VALUES];
  for (int32_t i = 0; i < w->count; i++) {
    values[i] = halo_emit_value(&p->e, frame, w->instr->operands[first + i], 0, index);
    if (values[i].type != w->values[i].type) {
      values[i] = halo_emit_convert(&p->e, values[i], w->values[i].type);
    }
  }
  halo_accumulator_return(&w->a, &p->e, values);
}

void halo_window_emit_in(const halo_window_text *w, halo_helpers *p) {
  emit_frame *frame = halo_helpers_open(p);
  window_emit_operands(w, p, frame, 0, window_index(&p->e, w->instr->operands[0]->shape));
  halo_helpers_close(p, w->a.type, "_in", "p", NULL);
}

void halo_window_emit_start(const halo_window_text *w, halo_helpers *p) {
  emit_frame *frame = halo_helpers_open(p);
  window_emit_operands(w, p, frame, w->count, halo_index_scalar(&p->e));
  halo_helpers_close(p, w->a.type, "_start", "p", NULL);
}

void halo_window_emit_out(const halo_window_text *w, halo_helpers *p) {
  halo_emitter *e = &p->e;
  halo_helpers_open(p);
  emit_index *index = window_index(e, halo_leaf_shape(w->instr->shape, 0));
  halo_value values[HALO_REDUCE_VALUES];
  for (int32_t i = 0; i < w->count; i++) values[i] = halo_accumulator_load(&w->a, "v", i);
  for (int32_t i = 0; i < w->count; i++) {
    const halo_shape *leaf = halo_leaf_shape(w->instr->shape, i);
    halo_value value = halo_accumulator_round(&w->a, e, "result", values, i);
    halo_emit_store(e, halo_emit_arg(e, HALO_ROLE_OUTPUT, i, leaf->type, NULL),
                    halo_index_position(e, index, leaf), value);
  }
  halo_helpers_close(p, "void", "_out", "p", w->a.type);
}

bool halo_window_streams(const halo_window_text *w, int line) {
  const halo_shape *shape = halo_leaf_shape(w->instr->shape, 0);
  const halo_reduce_value *value = &w->values[0];
  return w->l->caps->is_cpu && w->count == 1 && (int)halo_type_size(value->type) * line == 64 &&
         value->type == value->accumulator && halo_shape_has_default_layout(shape) &&
         halo_shape_byte_size(shape) >= HALO_STREAM_BYTES;
}

void halo_window_stream_holes(const halo_window_text *w, halo_helpers *p, halo_template *k,
                              bool stream) {
  halo_template_define_int(k, "H_STREAM", stream);
  if (!stream) return;
  halo_type type = w->values[0].type;
  halo_sections_add(&p->e.sections, "stream");
  halo_helpers_hole(p, k, "H_OUTV(p, line)",
                    "h_stream(vload%d(0, line), (__global %s%d *)(%s + (p)))", HALO_WINDOW_LINE,
                    halo_ctype_storage(type), HALO_WINDOW_LINE,
                    halo_emit_arg(&p->e, HALO_ROLE_OUTPUT, 0, type, NULL));
}

void halo_window_holes(const halo_window_text *w, halo_helpers *p, halo_template *k) {
  halo_helpers_hole(p, k, "H_T", "%s", w->a.type);
  halo_helpers_hole(p, k, "H_OP(a, b)", "%s_op(a, b)", w->name);
  halo_helpers_call(p, k, "H_IN", "_in", "p");
  halo_helpers_call(p, k, "H_START", "_start", "p");
  halo_helpers_call(p, k, "H_OUT", "_out", "p, v");
}
