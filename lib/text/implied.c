/* SPDX-License-Identifier: Apache-2.0 */
/* text/implied.c: computations that a text means without spelling them out. */
#include "text/parser.h"

/* A computation of the module with parameters of these shapes; its root is still to be set. */
static halo_computation *implied_begin(halo_text_parser *p, const char *prefix,
                                       const halo_shape *const *shapes, int32_t count,
                                       int32_t line) {
  halo_computation *computation =
      halo_text_new_computation(p, halo_text_fresh_name(p, &p->computations, prefix));
  for (int32_t i = 0; i < count; i++) {
    halo_instr_spec spec = {.opcode = HALO_OP_PARAMETER,
                            .name = halo_arena_printf(p->arena, "param_%d", i),
                            .shape = shapes[i],
                            .parameter_number = i,
                            .line = line};
    halo_instr_create_unchecked(computation, &spec);
  }
  halo_vec_push(&p->module->computations, computation);
  computation->data = p; /* made up: gives way to a name of the text */
  halo_map_set_text(&p->computations, computation->name, computation);
  return computation;
}

static void implied_attach(halo_text_parser *p, halo_text_draft *draft, halo_attr_id id,
                           halo_computation *computation) {
  halo_attr attr = {.id = id};
  attr.comps.data = halo_arena_copy(p->arena, &computation, sizeof computation);
  attr.comps.count = 1;
  halo_vec_push(&draft->attrs, attr);
}

void halo_text_wrap(halo_text_parser *p, halo_text_draft *draft) {
  const char *name = halo_opcode_name(draft->sugar);
  int32_t line = halo_text_line_of(p, draft->start), count = draft->operands.count;
  const halo_shape **shapes = halo_alloc(sizeof *shapes * (size_t)count);
  for (int32_t i = 0; i < count; i++) shapes[i] = draft->operands.data[i]->shape;
  const char *prefix = halo_arena_printf(p->arena, "%s-wrapped", name);
  halo_computation *computation = implied_begin(p, prefix, shapes, count, line);
  halo_free(shapes);
  halo_instr_spec spec = {.opcode = draft->sugar,
                          .name = halo_arena_printf(p->arena, "%s.wrapped", name),
                          .shape = draft->shape->elements[1],
                          .operands = computation->params.data,
                          .operand_count = count,
                          .attrs = draft->wrapped.data,
                          .attr_count = draft->wrapped.count,
                          .line = line};
  computation->root = halo_instr_create_unchecked(computation, &spec);
  implied_attach(p, draft, HALO_ATTR_CALLS, computation);
}

void halo_text_make_comparator(halo_text_parser *p, halo_text_draft *draft) {
  int32_t line = halo_text_line_of(p, draft->start), count = draft->operands.count;
  const halo_shape **shapes = halo_alloc(sizeof *shapes * 2 * (size_t)count);
  bool floating = false;
  for (int32_t i = 0; i < count; i++) {
    halo_type type = draft->operands.data[i]->shape->type;
    /* A sort of tuples is an error that verification will find. */
    if (!halo_type_is_array(type)) type = HALO_PRED;
    if (i == 0) floating = halo_type_is_float(type);
    shapes[2 * i] = shapes[2 * i + 1] = halo_shape_new(p->arena, type, 0, NULL);
  }
  halo_computation *computation = implied_begin(p, "sort-ascending", shapes, 2 * count, line);
  halo_free(shapes);
  halo_attr attrs[] = {{.id = HALO_ATTR_DIRECTION, .i = HALO_LT},
                       {.id = HALO_ATTR_COMPARE_TYPE, .i = HALO_COMPARE_TOTALORDER}};
  halo_instr_spec spec = {.opcode = HALO_OP_COMPARE,
                          .name = "less",
                          .shape = halo_shape_new(p->arena, HALO_PRED, 0, NULL),
                          .operands = computation->params.data,
                          .operand_count = 2,
                          .attrs = attrs,
                          .attr_count = floating ? 2 : 1,
                          .line = line};
  computation->root = halo_instr_create_unchecked(computation, &spec);
  implied_attach(p, draft, HALO_ATTR_TO_APPLY, computation);
}
