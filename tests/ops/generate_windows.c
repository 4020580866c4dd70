/* SPDX-License-Identifier: Apache-2.0 */
/* tests/ops/generate_windows.c: reductions of windows with random attributes. */
#include "generator.h"

/* A body of `count` pairs of scalars, each combined by one operation. */
static halo_computation *windows_body(generator *g, halo_type type, halo_opcode opcode, int count) {
  halo_computation *body = halo_computation_create(g->module, "combine"), *outer = g->computation;
  halo_instr *params[4] = {NULL}, *results[2];
  for (int i = 0; i < 2 * count; i++) {
    halo_instr_spec spec = {
        .opcode = HALO_OP_PARAMETER, .parameter_number = i, .shape = gen_shape(g, type, 0, NULL)};
    if (halo_instr_create(body, &spec, &params[i]) != HALO_OK) g->failed = true;
  }
  g->computation = body;
  for (int i = 0; i < count; i++) results[i] = gen_binary(g, opcode, params[i], params[count + i]);
  body->root = count == 1 ? results[0] : gen_emit(g, HALO_OP_TUPLE, NULL, count, results, 0, NULL);
  g->computation = outer;
  return body;
}

/* A window along a dimension, or all that comes before or after. Gives how many elements of the array it may
 * hold. */
static int64_t windows_choose(generator *g, int64_t extent, halo_window_dim *w) {
  *w = (halo_window_dim){.size = 1, .stride = 1, .base_dilation = 1, .window_dilation = 1};
  if (gen_chance(g, 30)) return 1;
  if (extent > 1 && gen_chance(g, 20)) {
    w->size = extent;
    *(gen_chance(g, 50) ? &w->pad_low : &w->pad_high) = extent - 1;
    return extent;
  }
  w->size = 1 + gen_below(g, 4);
  w->stride = 1 + gen_below(g, 3);
  w->pad_low = (int64_t)gen_below(g, 6) - 2;
  w->pad_high = (int64_t)gen_below(g, 6) - 2;
  if (gen_chance(g, 30)) w->base_dilation = 1 + gen_below(g, 3);
  if (gen_chance(g, 30)) w->window_dilation = 1 + gen_below(g, 3);
  return w->size;
}

bool gen_window(generator *g, gen_value a) {
  const halo_shape *shape = a.instr->shape;
  halo_type type = shape->type;
  bool floating = halo_type_is_float(type);
  if (shape->rank == 0 || halo_type_is_complex(type)) return false;
  halo_window_dim *window = halo_arena_array(&g->module->arena, halo_window_dim, shape->rank);
  double n = 1, results = 1;
  for (int d = 0; d < shape->rank; d++) {
    n *= (double)windows_choose(g, shape->dims[d], &window[d]);
    results *= (double)(shape->dims[d] * window[d].base_dilation + window[d].pad_low +
                        window[d].pad_high + 1);
  }
  bool adds = type == HALO_PRED ? false : gen_chance(g, 60);
  if (results > GEN_MAX_ELEMENTS || (adds && n * a.size > 16384)) return false;
  halo_opcode opcode = type == HALO_PRED ? HALO_OP_OR : adds ? HALO_OP_ADD : HALO_OP_MAXIMUM;
  int count = gen_chance(g, 25) ? 2 : 1;
  /* No greatest element: windows without elements would leave an infinity. */
  gen_value init = gen_constant(g, type, 0, NULL, 0);
  halo_instr *operands[4] = {a.instr, init.instr, init.instr, init.instr};
  if (count == 2) operands[1] = gen_partner(g, a).instr;
  halo_attr attrs[2] = {{.id = HALO_ATTR_WINDOW},
                        gen_comp(g, HALO_ATTR_TO_APPLY, windows_body(g, type, opcode, count))};
  attrs[0].window.data = window;
  attrs[0].window.count = shape->rank;
  a.instr = gen_emit(g, HALO_OP_REDUCE_WINDOW, NULL, 2 * count, operands, 2, attrs);
  if (!a.instr) return false;
  if (count == 2) {
    /* The partner's bounds are not known here. */
    halo_attr index = gen_int(HALO_ATTR_INDEX, 0);
    a.instr = gen_emit(g, HALO_OP_GET_TUPLE_ELEMENT, NULL, 1, &a.instr, 1, &index);
  }
  if (floating && adds) {
    double size = n * a.size;
    bool exact = a.whole && a.error == 0 && size <= gen_whole_limit(type);
    a.error = exact ? 0 : n * a.error + n * size * gen_epsilon(type);
    a.size = size;
    a.whole = exact;
  }
  gen_push(g, a);
  return true;
}
