/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/scatter/scatter.c: scatter: windows of updates are combined into what the result's memory holds, which the
 * plan arranges without a copy where the operand dies. Work items own elements of the result and take
 * the windows in order, so that results are XLA's and repeat bit for bit. */
#include "kernels/scatter/scatter.h"

#include "kernels/families.h"

#include <math.h>

extern const char halo_cl_scatter[];

enum { SCATTER_VECTOR = 16 }; /* elements of a vector */

/* How the work is cut. */
typedef struct scatter_cut {
  int64_t lanes, parts, chunk, items;
} scatter_cut;

/* ---- Cutting ---- */

/* Elements that a work item of a CPU takes side by side, at least: a cache line. */
enum { SCATTER_LINE = 16, SCATTER_GPU_WIDTH = 64 };

/* Work items that a device has something to do with. No result depends on it. */
static int64_t scatter_width(const halo_lowering *l) {
  int64_t units = l->caps->compute_units > 0 ? l->caps->compute_units : 1;
  return l->caps->is_cpu ? units : units * SCATTER_GPU_WIDTH;
}

static int64_t scatter_ceil(int64_t a, int64_t b) { return (a + b - 1) / b; }

static scatter_cut scatter_choose(const halo_lowering *l, const halo_scatter_desc *v, bool parts) {
  scatter_cut cut = {.lanes = 1, .parts = 1, .chunk = 1};
  int64_t width = scatter_width(l);
  if (l->caps->is_cpu && v->strip > 0) {
    int64_t strips = scatter_ceil(2 * width, v->groups > 0 ? v->groups : 1);
    cut.lanes = scatter_ceil(scatter_ceil(v->strip, strips), SCATTER_LINE) * SCATTER_LINE;
    if (cut.lanes > v->strip) cut.lanes = v->strip;
  }
  cut.items = v->groups * scatter_ceil(v->strip, cut.lanes);
  if (parts && v->split >= 0 && cut.items > 0) {
    /* Two at least, for the sake of those who ask for this. */
    int64_t size = v->array->dims[v->split], want = width / cut.items;
    want = want < 2 ? 2 : want > size ? size : want;
    cut.chunk = scatter_ceil(size, want);
    cut.parts = scatter_ceil(size, cut.chunk);
    cut.items *= cut.parts;
  }
  return cut;
}

/* Seconds. A CPU cannot foretell which part an index falls into. */
static double scatter_time(const halo_lowering *l, const halo_scatter_desc *v, bool parts) {
  scatter_cut cut = scatter_choose(l, v, parts);
  double rounds = (double)scatter_ceil(cut.items, scatter_width(l));
  const halo_prices *p = halo_lowering_prices(l);
  double elements = (double)(cut.lanes * v->inner) / (double)cut.parts;
  double each = p->scatter_index + p->scatter_element * elements;
  if (cut.parts > 1) each += p->scatter_guess;
  return p->launch + rounds * (double)v->steps * each / p->item_rate;
}

static bool scatter_unique_supports(const halo_lowering *l, const char **why) {
  *why = "indices may repeat";
  return halo_instr_int(halo_lowering_root(l), HALO_ATTR_UNIQUE_INDICES, 0) != 0;
}

static double scatter_unique_cost(const halo_lowering *l) {
  const halo_scatter_desc *v = &((const halo_scatter_descs *)l->desc)->unique;
  if (l->caps->is_cpu) return scatter_time(l, v, false);
  /* As other kernels of single elements: many work items, whose bytes count too. */
  const halo_prices *p = halo_lowering_prices(l);
  double items = (double)scatter_choose(l, v, false).items,
         all = items * (double)(v->steps * v->inner);
  double work = halo_lowering_operations(l, (p->scatter_index + p->scatter_element) * all, items);
  double bytes = p->loop_element * all;
  return p->launch + fmax(work, halo_target_bytes(halo_lowering_target(l), bytes, items));
}

static bool scatter_parts_supports(const halo_lowering *l, const char **why) {
  const halo_scatter_descs *descs = l->desc;
  *why = "no indexed dimension in which windows are one element thick";
  return descs->ordered.split >= 0;
}

static double scatter_parts_cost(const halo_lowering *l) {
  const halo_scatter_descs *descs = l->desc;
  return scatter_time(l, &descs->ordered, true);
}

static double scatter_ordered_cost(const halo_lowering *l) {
  const halo_scatter_descs *descs = l->desc;
  return scatter_time(l, &descs->ordered, false);
}

/* ---- Text ---- */

/* One element: what the results hold and the updates go in, what is to be held comes out. */
static void scatter_emit_combine(halo_emitter *e, emit_frame *frame, const halo_scatter_desc *v,
                                 emit_index *to, emit_index *from) {
  const halo_computation *computation = halo_instr_comp(v->scatter, HALO_ATTR_TO_APPLY);
  int32_t n = v->arity;
  halo_value *values = halo_arena_array(e->arena, halo_value, 2 * n);
  halo_value *results = halo_arena_array(e->arena, halo_value, n);
  const halo_integer **positions = halo_arena_array(e->arena, const halo_integer *, n);
  for (int32_t k = 0; k < n; k++) {
    const halo_shape *shape = halo_leaf_shape(v->scatter->shape, k);
    const char *out = halo_emit_arg(e, HALO_ROLE_OUTPUT, k, shape->type, NULL);
    positions[k] = halo_index_position(e, to, shape);
    values[k] = halo_emit_load(e, out, shape->type, positions[k]);
    values[n + k] = halo_emit_value(e, frame, v->scatter->operands[n + 1 + k], 0, from);
  }
  for (int32_t k = 0; k < 2 * n; k++) {
    values[k] = halo_scatter_convert(e, values[k], computation->params.data[k]->shape->type);
  }
  halo_emit_apply(e, computation, values, results);
  for (int32_t k = 0; k < n; k++) {
    halo_type type = halo_leaf_shape(v->scatter->shape, k)->type;
    results[k] = halo_scatter_convert(e, results[k], type);
  }
  for (int32_t k = 0; k < n; k++) {
    const char *out = halo_emit_arg(e, HALO_ROLE_OUTPUT, k, results[k].type, NULL);
    halo_emit_store(e, out, positions[k], results[k]);
  }
}

/* What the template's H_APPLY does. */
static void scatter_emit_apply(halo_emitter *e, emit_frame *frame, const halo_scatter_desc *v,
                               bool parts) {
  const halo_integer *batch[HALO_MAX_RANK], *window[HALO_MAX_RANK], *starts[HALO_MAX_RANK];
  const halo_integer *from[HALO_MAX_RANK], *to[HALO_MAX_RANK];
  const char *itype = halo_emitter_index_type(e);
  halo_scatter_digits(e, v->batch, v->batch_rank, true, halo_emit_counter(e, "group", v->groups),
                      batch);
  halo_scatter_digits(e, v->batch, v->batch_rank, false, halo_emit_counter(e, "step", v->steps),
                      batch);
  halo_scatter_emit_starts(e, frame, v, parts, batch, starts);
  /* One element after the other: updates of one place follow one another, and a masked store delays the next load. */
  bool holes = v->strip < SCATTER_VECTOR && (v->strip & (v->strip - 1)) != 0;
  if (holes) halo_emit_line(e, "#pragma unroll");
  halo_emit_loop(e, halo_arena_printf(e->arena, "for (%s w = first; w < end; ++w)", itype));
  const halo_integer *inner = halo_integer_constant(&e->integers, 0);
  if (v->inner > 1) {
    halo_emit_loop(e, halo_arena_printf(e->arena, "for (%s u = 0; u < %lld; ++u)", itype,
                                        (long long)v->inner));
    inner = halo_emit_counter(e, "u", v->inner);
  }
  halo_scatter_digits(e, v->window, v->window_rank, true, halo_emit_counter(e, "w", v->strip),
                      window);
  halo_scatter_digits(e, v->window, v->window_rank, false, inner, window);
  for (int d = 0; d < v->array->rank; d++) to[d] = starts[d];
  for (int i = 0; i < v->batch_rank; i++) from[v->batch[i].updates] = batch[i];
  for (int i = 0; i < v->window_rank; i++) {
    int d = v->window[i].other;
    from[v->window[i].updates] = window[i];
    to[d] = halo_integer_add(&e->integers, to[d], window[i]);
  }
  scatter_emit_combine(e, frame, v, halo_index_of(e, v->array->rank, v->array->dims, to),
                       halo_index_of(e, v->updates->rank, v->updates->dims, from));
  if (v->inner > 1) halo_emit_close(e);
  halo_emit_close(e);
  halo_emit_close(e);
}

/* ---- Launches ---- */

static void scatter_launch_size(const halo_lowering *l, const halo_scatter_desc *v,
                                const scatter_cut *cut, halo_launch *launch) {
  halo_launch_items(l->caps, launch, cut->items);
  if (!l->caps->is_cpu || v->steps * cut->lanes * v->inner <= SCATTER_LINE) return;
  /* Long work items: a few a group, but enough groups to share out. */
  size_t local = 1;
  while (local < 32 && cut->items >= (int64_t)(64 * local)) local *= 2;
  halo_launch_line(launch, cut->items, local);
}

static halo_status scatter_lower_windows(halo_lowering *l, const char *name,
                                         const halo_scatter_desc *v, bool parts,
                                         const int32_t *updates) {
  static const char parameters[] = "group, step, first, end, low, high";
  scatter_cut cut = scatter_choose(l, v, parts);
  halo_helpers p;
  halo_helpers_begin(&p, l, halo_kernel_name(l, name), false);
  scatter_emit_apply(&p.e, halo_helpers_open(&p), v, parts);
  halo_helpers_close(&p, "void", "_apply", parameters, NULL);
  halo_template k;
  halo_helpers_template(&p, &k, halo_cl_scatter, "");
  halo_helpers_call(&p, &k, "H_APPLY", "_apply", parameters);
  halo_template_define_int(&k, "H_GROUPS", v->groups);
  halo_template_define_int(&k, "H_STEPS", v->steps);
  halo_template_define_int(&k, "H_WINDOW", v->strip);
  halo_template_define_int(&k, "H_LANES", cut.lanes);
  halo_template_define_int(&k, "H_PARTS", cut.parts);
  halo_template_define_int(&k, "H_SHARE", cut.chunk);
  halo_helpers_finish(&p, &k);
  halo_launch *launch = halo_helpers_launch(&p, halo_arena_printf(l->arena, "scatter:%s", name));
  launch->updates = updates;
  launch->update_count = v->arity;
  scatter_launch_size(l, v, &cut, launch);
  return halo_helpers_end(&p);
}

static halo_status scatter_lower(halo_lowering *l, const char *name, const halo_scatter_desc *v,
                                 bool parts) {
  const int32_t *updates;
  if (halo_shape_element_count(v->array) == 0) return HALO_OK;
  HALO_TRY(halo_scatter_lower_operands(l, v, &updates));
  return updates ? scatter_lower_windows(l, name, v, parts, updates) : HALO_OK;
}

static halo_status scatter_unique_lower(halo_lowering *l) {
  const halo_scatter_descs *descs = l->desc;
  return scatter_lower(l, "unique", &descs->unique, false);
}

static halo_status scatter_parts_lower(halo_lowering *l) {
  const halo_scatter_descs *descs = l->desc;
  return scatter_lower(l, "parts", &descs->ordered, true);
}

static halo_status scatter_ordered_lower(halo_lowering *l) {
  const halo_scatter_descs *descs = l->desc;
  return scatter_lower(l, "ordered", &descs->ordered, false);
}

static const halo_implementation scatter_implementations[] = {
    {"unique", scatter_unique_supports, scatter_unique_cost, scatter_unique_lower},
    {"private", halo_scatter_private_supports, halo_scatter_private_cost,
     halo_scatter_private_lower, .works_on = halo_scatter_private_works_on, .in_groups = true},
    {"sorted", halo_scatter_sorted_supports, halo_scatter_sorted_cost, halo_scatter_sorted_lower,
     .in_groups = true},
    {"parts", scatter_parts_supports, scatter_parts_cost, scatter_parts_lower},
    {"ordered", halo_loop_supports, scatter_ordered_cost, scatter_ordered_lower},
    {0}};

static const void *scatter_describe(const halo_lowering *l) {
  halo_scatter_descs *descs = halo_desc_new(l, halo_scatter_descs);
  descs->ordered = halo_scatter_describe(l, false);
  descs->unique = halo_scatter_describe(l, true);
  descs->sorted = halo_scatter_sorted_describe(l, &descs->ordered);
  return descs;
}

const halo_family halo_family_scatter = {"scatter", HALO_OP_SCATTER, scatter_implementations,
                                         scatter_describe};
