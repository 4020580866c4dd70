/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/scatter/select_scatter.c: select-and-scatter: each window settles on one of its elements; then each element of
 * the result looks through the windows that it lies in and combines the sources of those that settled on it,
 * in order. So no two work items write one element, and results are XLA's and repeat. */
#include "codegen/ctype.h"
#include "kernels/families.h"

typedef struct select_text {
  halo_lowering *l;
  const halo_instr *instr;
  const halo_shape *in, *source;
  const halo_window_dim *window; /* [rank] */
  halo_emitter e;
  emit_frame *frame;
  const char *itype;
  const char *chosen; /* the argument that holds, for each window, the row-major position or -1 */
} select_text;

static const halo_shape *select_row_major(const select_text *t, const halo_shape *shape) {
  return halo_shape_new(t->l->arena, shape->type, shape->rank, shape->dims);
}

static halo_value select_as(halo_emitter *e, halo_value value, halo_type type) {
  return value.type == type ? value : halo_emit_convert(e, value, type);
}

/* The result of a computation of two values, as a type. */
static halo_value select_apply(select_text *t, halo_attr_id id, halo_value a, halo_value b) {
  const halo_computation *computation = halo_instr_comp(t->instr, id);
  halo_value both[2] = {select_as(&t->e, a, computation->params.data[0]->shape->type),
                        select_as(&t->e, b, computation->params.data[1]->shape->type)};
  halo_value result;
  halo_emit_apply(&t->e, computation, both, &result);
  return result;
}

/* Starts a kernel with a work item for each element of `shape`, of which it gives the index. */
static emit_index *select_begin(select_text *t, const halo_shape *shape) {
  halo_lowering_emitter(t->l, &t->e);
  t->frame = halo_frame_kernel(&t->e, t->l->computation);
  t->itype = halo_emitter_index_type(&t->e);
  t->chosen = halo_emit_arg(&t->e, HALO_ROLE_SCRATCH, 0, t->e.wide ? HALO_S64 : HALO_S32, NULL);
  int64_t count = halo_shape_element_count(shape);
  halo_emit_line(&t->e, "const %s i = (%s)" HALO_GLOBAL_ID_0 ";", t->itype, t->itype);
  halo_emit_branch(&t->e, halo_arena_printf(t->l->arena, "if (i < %lld)", (long long)count));
  return halo_index_from_position(&t->e, select_row_major(t, shape),
                                  halo_emit_counter(&t->e, "i", count));
}

static halo_status select_end(select_text *t, const halo_shape *shape, const char *label) {
  halo_emit_close(&t->e);
  if (t->e.status == HALO_OK) {
    halo_launch *launch =
        halo_kernel_add(t->l, &t->e, halo_kernel_name(t->l, "select"),
                        halo_arena_printf(t->l->arena, "%s %s", t->l->name, label), 0);
    halo_launch_items(t->l->caps, launch, halo_shape_element_count(shape));
  }
  halo_status status = t->e.status;
  halo_emitter_deinit(&t->e);
  return status;
}

/* Opens loops over a window's elements that lie in the operand; gives their index. */
static emit_index *select_window(select_text *t, const emit_index *window, int *opened) {
  halo_emitter *e = &t->e;
  const halo_integer *at[HALO_MAX_RANK];
  for (int d = 0; d < t->in->rank; d++) {
    const halo_window_dim *w = &t->window[d];
    const char *name = halo_arena_printf(e->arena, "x%d", d);
    const halo_integer *first = halo_integer_mul(&e->integers, halo_index_at(window, d), w->stride);
    halo_emit_line(e, "const %s first%d = %s;", t->itype, d,
                   halo_emit_integer(e, halo_integer_plus(&e->integers, first, -w->pad_low)));
    halo_emit_loop(e, halo_arena_printf(e->arena, "for (%s k%d = 0; k%d < %lld; ++k%d)", t->itype,
                                        d, d, (long long)w->size, d));
    halo_emit_line(e, "const %s %s = first%d + k%d;", t->itype, name, d, d);
    halo_emit_line(e, "if (!h_inside(u%s, %s, %lld)) continue;", t->itype, name,
                   (long long)t->in->dims[d]);
    at[d] = halo_emit_counter(e, name, t->in->dims[d]);
    ++*opened;
  }
  return halo_index_of(e, t->in->rank, t->in->dims, at);
}

/* The element that each window settles on: another one takes its place unless `select` keeps it. */
static halo_status select_emit_choice(select_text *t) {
  emit_index *window = select_begin(t, t->source);
  halo_emitter *e = &t->e;
  halo_type type = t->in->type;
  int opened = 0;
  halo_emit_line(e, "%s best = -1;", t->itype);
  halo_emit_line(e, "%s held = %s;", halo_ctype_compute(type),
                 halo_ctype_constant_i64(e->arena, type, 0));
  emit_index *index = select_window(t, window, &opened);
  halo_value value = halo_emit_value(e, t->frame, t->instr->operands[0], 0, index);
  halo_value keep = select_apply(t, HALO_ATTR_SELECT, halo_value_name(type, "held"), value);
  halo_emit_branch(e, halo_arena_printf(e->arena, "if (best < 0 || !(%s))", keep.text));
  halo_emit_line(e, "best = %s;",
                 halo_emit_integer(e, halo_index_position(e, index, select_row_major(t, t->in))));
  halo_emit_line(e, "held = %s;", value.text);
  halo_emit_close(e);
  while (opened--) halo_emit_close(e);
  halo_emit_line(e, "%s[i] = best;", t->chosen);
  return select_end(t, t->source, "select-and-scatter:select");
}

/* Opens loops over the windows that an element lies in, in order; gives their index. */
static emit_index *select_windows_of(select_text *t, const emit_index *element, int *opened) {
  halo_emitter *e = &t->e;
  const halo_integer *at[HALO_MAX_RANK];
  for (int d = 0; d < t->in->rank; d++) {
    const halo_window_dim *w = &t->window[d];
    long long stride = (long long)w->stride, most = (w->size - 1) / w->stride;
    const char *name = halo_arena_printf(e->arena, "o%d", d);
    const halo_integer *place =
        halo_integer_plus(&e->integers, halo_index_at(element, d), w->pad_low);
    halo_emit_line(e, "const %s place%d = %s;", t->itype, d, halo_emit_integer(e, place));
    halo_emit_loop(e, halo_arena_printf(e->arena, "for (%s back%d = %lld; back%d >= 0; --back%d)",
                                        t->itype, d, most, d, d));
    /* The last window that begins at or before it, and those before that. */
    halo_emit_line(e, "const %s %s = place%d / %lld - back%d;", t->itype, name, d, stride, d);
    halo_emit_line(
        e, "if (place%d < 0 || !h_inside(u%s, %s, %lld) || place%d - %s * %lld >= %lld) continue;",
        d, t->itype, name, (long long)t->source->dims[d], d, name, stride, (long long)w->size);
    at[d] = halo_emit_counter(e, name, t->source->dims[d]);
    ++*opened;
  }
  return halo_index_of(e, t->in->rank, t->source->dims, at);
}

static halo_status select_emit_scatter(select_text *t) {
  const halo_shape *out = t->instr->shape;
  emit_index *element = select_begin(t, out);
  halo_emitter *e = &t->e;
  halo_value start = halo_emit_value(e, t->frame, t->instr->operands[2], 0, halo_index_scalar(e));
  halo_emit_line(e, "%s sum = %s;", halo_ctype_compute(out->type),
                 select_as(e, start, out->type).text);
  if (halo_shape_element_count(t->source) > 0) {
    int opened = 0;
    emit_index *window = select_windows_of(t, element, &opened);
    const halo_integer *position = halo_index_position(e, window, select_row_major(t, t->source));
    halo_emit_branch(e, halo_arena_printf(e->arena, "if (%s[%s] == i)", t->chosen,
                                          halo_emit_integer(e, position)));
    halo_value source = halo_emit_value(e, t->frame, t->instr->operands[1], 0, window);
    halo_value sum = select_apply(t, HALO_ATTR_SCATTER, halo_value_name(out->type, "sum"), source);
    halo_emit_line(e, "sum = %s;", select_as(e, sum, out->type).text);
    halo_emit_close(e);
    while (opened--) halo_emit_close(e);
  }
  halo_emit_store(e, halo_emit_arg(e, HALO_ROLE_OUTPUT, 0, out->type, NULL),
                  halo_index_position(e, element, out), halo_value_name(out->type, "sum"));
  return select_end(t, out, "select-and-scatter:scatter");
}

static halo_status select_lower(halo_lowering *l) {
  const halo_instr *instr = halo_lowering_root(l);
  const halo_attr *window = halo_instr_attr(instr, HALO_ATTR_WINDOW);
  select_text t = {
      .l = l, .instr = instr, .in = instr->operands[0]->shape, .source = instr->operands[1]->shape};
  halo_window_dim *dims = halo_arena_array(l->arena, halo_window_dim, t.in->rank + 1);
  for (int d = 0; d < t.in->rank; d++) {
    dims[d] = window ? window->window.data[d] : (halo_window_dim){.size = 1, .stride = 1};
  }
  t.window = dims;
  if (halo_shape_element_count(t.in) == 0) return HALO_OK;
  int64_t windows = halo_shape_element_count(t.source);
  halo_vec_push(&l->scratch, (halo_scratch){8 * (windows > 0 ? windows : 1)});
  if (windows > 0) HALO_TRY(select_emit_choice(&t));
  return select_emit_scatter(&t);
}

static const halo_implementation select_implementations[] = {
    {"gather", halo_loop_supports, halo_loop_cost, select_lower}, {0}};
const halo_family halo_family_select_scatter = {"select-and-scatter", HALO_OP_SELECT_AND_SCATTER,
                                                select_implementations};
