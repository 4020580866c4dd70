/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/accumulator.c: what reductions and scans carry along. */
#include "kernels/accumulator.h"

#include "codegen/ctype.h"

const char *halo_accumulator_ctype(const halo_reduce_value *value) {
  /* bool has no promised size, which an array in local memory should have */
  return value->accumulator == HALO_PRED ? "uchar" : halo_ctype_compute(value->accumulator);
}

size_t halo_accumulator_size(const halo_reduce_value *values, int32_t count) {
  size_t bytes = 0, most = 1;
  for (int32_t i = 0; i < count; i++) {
    size_t size = halo_ctype_size(values[i].accumulator);
    bytes = (bytes + size - 1) / size * size + size;
    if (size > most) most = size;
  }
  return (bytes + most - 1) / most * most;
}

const char *halo_accumulator_member(const halo_accumulator *a, const char *name, int32_t i) {
  return a->count == 1 ? name : halo_arena_printf(a->arena, "%s.m%d", name, i);
}

halo_value halo_accumulator_load(const halo_accumulator *a, const char *name, int32_t i) {
  halo_type type = a->values[i].type;
  const char *text = halo_accumulator_member(a, name, i);
  if (type == HALO_PRED) text = halo_arena_printf(a->arena, "((bool)%s)", text);
  return halo_value_name(type, text);
}

void halo_accumulator_return(const halo_accumulator *a, halo_emitter *e, const halo_value *values) {
  if (a->count == 1) {
    halo_emit_line(e, "return %s;", values[0].text);
    return;
  }
  halo_emit_line(e, "%s result;", a->type);
  for (int32_t i = 0; i < a->count; i++) {
    halo_emit_line(e, "result.m%d = %s;", i, values[i].text);
  }
  halo_emit_line(e, "return result;");
}

void halo_accumulator_combine(const halo_accumulator *a, halo_emitter *e, const halo_value *x,
                              const halo_value *y, halo_value *results) {
  e->keep_f32 = true;
  for (int32_t first = 0, n; first < a->count; first += n) {
    const halo_instr *reduce = a->values[first].reduce;
    n = reduce->operand_count / 2;
    halo_value *both = halo_arena_array(e->arena, halo_value, 2 * n);
    for (int32_t i = 0; i < n; i++) {
      both[i] = x[first + i];
      both[n + i] = y[first + i];
    }
    halo_emit_apply(e, halo_instr_comp(reduce, HALO_ATTR_TO_APPLY), both, results + first);
  }
  e->keep_f32 = false;
}

halo_value halo_accumulator_round(const halo_accumulator *a, halo_emitter *e, const char *prefix,
                                  const halo_value *results, int32_t i) {
  const halo_reduce_value *value = &a->values[i];
  const char *text = results[i].text;
  if (value->type != value->accumulator) text = halo_ctype_fit(e->arena, value->type, text);
  const char *name = halo_arena_printf(e->arena, "%s%d", prefix, i);
  halo_emit_line(e, "const %s %s = %s;", halo_ctype_compute(value->type), name, text);
  return halo_value_name(value->type, name);
}

void halo_accumulator_declare_type(halo_lowering *l, halo_accumulator *a, const char *name,
                                   const halo_reduce_value *values, int32_t count) {
  *a = (halo_accumulator){.arena = l->arena, .values = values, .count = count};
  a->type = halo_accumulator_ctype(&a->values[0]);
  if (a->count == 1) return;
  a->type = halo_arena_printf(l->arena, "%s_t", name);
  halo_strbuf_append(l->source, "typedef struct {");
  for (int32_t i = 0; i < a->count; i++) {
    halo_strbuf_printf(l->source, " %s m%d;", halo_accumulator_ctype(&a->values[i]), i);
  }
  halo_strbuf_printf(l->source, " } %s;\n", a->type);
}

halo_status halo_accumulator_declare(halo_lowering *l, halo_accumulator *out, const char *name,
                                     const halo_reduce_value *values, int32_t count) {
  halo_accumulator_declare_type(l, out, name, values, count);
  halo_emitter e;
  halo_emitter_init(&e, l->arena, l->computation);
  halo_value *x = halo_arena_array(l->arena, halo_value, 3 * count), *y = x + count;
  for (int32_t i = 0; i < count; i++) {
    x[i] = halo_accumulator_load(out, "a", i);
    y[i] = halo_accumulator_load(out, "b", i);
  }
  halo_accumulator_combine(out, &e, x, y, y + count);
  halo_accumulator_return(out, &e, y + count);
  halo_strbuf_printf(l->source, "static inline %s %s_op(%s a, %s b) {\n%s}\n", out->type, name,
                     out->type, out->type, halo_strbuf_text(&e.body));
  halo_sections_join(l->sections, &e.sections);
  l->facts.has_loops |= e.has_loops;
  l->facts.private_bytes += e.private_bytes;
  halo_status status = e.status;
  halo_emitter_deinit(&e);
  return status;
}
