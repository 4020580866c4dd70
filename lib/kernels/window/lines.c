/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/window/lines.c: windows whose neighbours along the last dimension are vectors, for CPUs: an operation, and how
 * lines are loaded and stored. */
#include "kernels/families.h"
#include "kernels/window/text.h"

/* Operations that have a vector form: an operator, and for maximum and minimum another one that makes one zero of
 * two of different signs. */
typedef struct lines_vector {
  const char *op, *zero;
} lines_vector;

static const lines_vector lines_vectors[HALO_OPCODE_COUNT] = {
    [HALO_OP_ADD] = {"+", NULL},    [HALO_OP_MULTIPLY] = {"*", NULL},
    [HALO_OP_AND] = {"&", NULL},    [HALO_OP_OR] = {"|", NULL},
    [HALO_OP_XOR] = {"^", NULL},    [HALO_OP_MAXIMUM] = {">", "&"},
    [HALO_OP_MINIMUM] = {"<", "|"},
};

/* Bytes of a line, instructions up to which computing each of its elements is worth the text, and how many bytes ahead
 * large arrays are fetched: a core that only waits for what it reads does not use the memory's bandwidth. */
enum { LINES_BYTES = 64, LINES_INSTRS = 32, LINES_AHEAD = 2048 };

int halo_window_line(const halo_window_text *w, const halo_lowering *l) {
  const halo_computation *body = halo_instr_comp(w->instr, HALO_ATTR_TO_APPLY);
  const halo_instr *root = body->root;
  halo_type type = w->values[0].accumulator;
  size_t size = halo_type_size(type);
  if (w->count != 1 || (size != 4 && size != 8)) return 0;
  if (!halo_type_is_float(type) && !halo_type_is_integral(type)) return 0;
  if (!lines_vectors[root->opcode].op || root->operands[0] == root->operands[1]) return 0;
  if (body->instrs.count != 3 || l->computation->instrs.count > LINES_INSTRS) return 0;
  return LINES_BYTES / (int)size;
}

static const char *lines_type(const halo_window_text *w, int line) {
  return halo_arena_printf(w->l->arena, "%s%d", halo_accumulator_ctype(&w->values[0]), line);
}

void halo_window_emit_line(const halo_window_text *w, int width) {
  halo_strbuf *out = w->l->source;
  halo_type type = w->values[0].accumulator;
  bool real = halo_type_is_float(type), wide = halo_type_size(type) == 8;
  lines_vector op = lines_vectors[halo_instr_comp(w->instr, HALO_ATTR_TO_APPLY)->root->opcode];
  const char *line = lines_type(w, width);
  const char *bits = halo_arena_printf(w->l->arena, "as_%s%d", wide ? "ulong" : "uint", width);
  halo_strbuf_printf(out, "static inline %s %s_line(%s a, %s b) {\n", line, w->name, line, line);
  if (op.zero) {
    halo_strbuf_printf(out, "%s r = a %s b ? a : b;\n", line, op.op);
    if (real) {
      /* Where b is NaN, comparing gives b. */
      halo_strbuf_printf(out, "r = a == b ? as_%s(%s(a) %s %s(b)) : r;\n", line, bits, op.zero,
                         bits);
      halo_strbuf_append(out, "r = a != a ? a : r;\n");
    }
    halo_strbuf_append(out, "return r;\n}\n");
  } else if (real) {
    halo_strbuf_printf(out, "return a %s b;\n}\n", op.op);
  } else {
    halo_strbuf_printf(out, "return as_%s(%s(a) %s %s(b));\n}\n", line, bits, op.op, bits);
  }
}

/* The input where it is read as it lies in memory, else NULL. */
static const halo_instr *lines_input(const halo_window_text *w) {
  const halo_instr *input = w->instr->operands[0];
  bool as_is = w->values[0].type == w->values[0].accumulator &&
               input->opcode == HALO_OP_PARAMETER && halo_shape_has_default_layout(input->shape);
  return as_is ? input : NULL;
}

void halo_window_line_holes(const halo_window_text *w, halo_helpers *p, halo_template *k, int width,
                            bool results, bool stream) {
  const halo_reduce_value *value = &w->values[0];
  const char *line = lines_type(w, width);
  const halo_instr *input = lines_input(w);
  bool stores = results && value->type == value->accumulator &&
                halo_shape_has_default_layout(halo_leaf_shape(w->instr->shape, 0));
  halo_template_define_int(k, "H_WIDTH", width);
  halo_helpers_hole(p, k, "H_LINE", "%s", line);
  halo_helpers_hole(p, k, "H_MASK", "%s%d",
                    halo_type_size(value->accumulator) == 8 ? "long" : "int", width);
  halo_helpers_hole(p, k, "H_LINE_OP(a, b)", "%s_line(a, b)", w->name);
  halo_template_define_int(k, "H_LOADS", input != NULL);
  halo_template_define_int(k, "H_STORES", stores);
  if (input) {
    const char *in =
        halo_emit_arg(&p->e, HALO_ROLE_INPUT, halo_lowering_input(w->l, input), value->type, NULL);
    const char *ahead = "";
    if (halo_shape_byte_size(input->shape) >= HALO_STREAM_BYTES) {
      halo_sections_add(&p->e.sections, "fetch");
      ahead =
          halo_arena_printf(w->l->arena, "h_fetch(%s + (p) %c %d), ", in, w->from_end ? '-' : '+',
                            LINES_AHEAD / (int)halo_type_size(value->type));
    }
    halo_helpers_hole(p, k, "H_INV(p)", "(%svload%d(0, %s + (p)))", ahead, width, in);
  }
  if (!stores) return;
  const char *out = halo_emit_arg(&p->e, HALO_ROLE_OUTPUT, 0, value->type, NULL);
  if (stream) {
    halo_sections_add(&p->e.sections, "stream");
    halo_helpers_hole(p, k, "H_OUTV(p, v)", "h_stream(v, (__global %s *)(%s + (p)))", line, out);
  } else {
    halo_helpers_hole(p, k, "H_OUTV(p, v)", "vstore%d(v, 0, %s + (p))", width, out);
  }
}
