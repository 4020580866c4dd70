/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/scatter/scatter.c: scatter: windows of updates are combined into what the result's memory holds, which the
 * plan arranges without a copy where the operand dies. Work items own elements of the result and take
 * the windows in order, so that results are XLA's and repeat bit for bit. */
#include "codegen/ctype.h"
#include "kernels/families.h"
#include "kernels/parts.h"

extern const char halo_cl_scatter[];

enum { SCATTER_VECTOR = 16 }; /* elements of a vector */

/* A dimension that is walked: of the indices (which window), or of windows (where in it). */
typedef struct scatter_dim {
  int64_t size;
  int updates; /* its number in the updates, */
  int other;   /* and in the indices; for one of windows in the array */
  bool free;   /* at different positions along it, different elements of the array are met */
} scatter_dim;

/* What a scatter's attributes say. */
typedef struct scatter_view {
  const halo_instr *scatter;
  int32_t arity; /* arrays, updates and results */
  const halo_shape *array, *indices, *updates;
  scatter_dim batch[HALO_MAX_RANK], window[HALO_MAX_RANK];
  int batch_rank, window_rank, vector_dim;
  int64_t extent[HALO_MAX_RANK]; /* of a window along the array's dimensions */
  const int64_t *map, *array_batching, *indices_batching;
  int32_t map_count, batching_count;
  int split; /* the dimension of the array, indexed and one element thick, that is cut into parts; -1 */
  int64_t groups, steps; /* windows: products of free and of other dimensions */
  int64_t strip, inner;  /* elements of a window, likewise */
} scatter_view;

/* How the work is cut. */
typedef struct scatter_cut {
  int64_t lanes, parts, share, items;
} scatter_cut;

static int scatter_find(const int64_t *list, int32_t count, int64_t value) {
  for (int32_t i = 0; i < count; i++) {
    if (list[i] == value) return i;
  }
  return -1;
}

static int64_t scatter_product(const scatter_dim *dims, int rank, bool free) {
  int64_t product = 1;
  for (int i = 0; i < rank; i++) product *= dims[i].free == free ? dims[i].size : 1;
  return product;
}

/* The dimensions of the indices that number windows. Windows of different batches never meet. */
static void scatter_describe_batch(scatter_view *v, const int64_t *window_dims, int32_t count,
                                   bool unique) {
  int at = 0;
  for (int d = 0; d < v->indices->rank; d++) {
    if (d == v->vector_dim) continue;
    while (scatter_find(window_dims, count, at) >= 0) at++;
    bool free = unique || scatter_find(v->indices_batching, v->batching_count, d) >= 0;
    v->batch[v->batch_rank++] = (scatter_dim){v->indices->dims[d], at++, d, free};
  }
  v->groups = scatter_product(v->batch, v->batch_rank, true);
  v->steps = scatter_product(v->batch, v->batch_rank, false);
}

/* Two windows share elements only at equal offsets along a dimension that is not indexed, in which a window
 * is one element thick, or where it is as large as the array. */
static void scatter_describe_window(scatter_view *v, const int64_t *window_dims, int32_t count) {
  int32_t removed_count;
  const int64_t *removed =
      halo_instr_ints(v->scatter, HALO_ATTR_INSERTED_WINDOW_DIMS, &removed_count);
  for (int d = 0; d < v->array->rank; d++) {
    v->extent[d] = 1;
    bool inside = scatter_find(removed, removed_count, d) < 0 &&
                  scatter_find(v->array_batching, v->batching_count, d) < 0;
    if (!inside || v->window_rank == count) continue;
    int updates = (int)window_dims[v->window_rank];
    int64_t size = v->extent[d] = v->updates->dims[updates];
    bool free = v->steps == 1 || scatter_find(v->map, v->map_count, d) < 0 || size == 1 ||
                size == v->array->dims[d];
    v->window[v->window_rank++] = (scatter_dim){size, updates, d, free};
  }
  v->strip = scatter_product(v->window, v->window_rank, true);
  v->inner = scatter_product(v->window, v->window_rank, false);
}

/* `unique`: no element is met twice. */
static scatter_view scatter_describe(const halo_lowering *l, bool unique) {
  const halo_instr *scatter = halo_lowering_root(l);
  int32_t arity = scatter->operand_count / 2, count, ignored;
  scatter_view v = {.scatter = scatter,
                    .arity = arity,
                    .array = scatter->operands[0]->shape,
                    .indices = scatter->operands[arity]->shape,
                    .updates = scatter->operands[arity + 1]->shape,
                    .vector_dim = (int)halo_instr_int(scatter, HALO_ATTR_INDEX_VECTOR_DIM, 0),
                    .split = -1};
  v.map = halo_instr_ints(scatter, HALO_ATTR_SCATTER_DIMS_TO_OPERAND_DIMS, &v.map_count);
  v.array_batching = halo_instr_ints(scatter, HALO_ATTR_INPUT_BATCHING_DIMS, &v.batching_count);
  v.indices_batching = halo_instr_ints(scatter, HALO_ATTR_SCATTER_INDICES_BATCHING_DIMS, &ignored);
  const int64_t *window_dims = halo_instr_ints(scatter, HALO_ATTR_UPDATE_WINDOW_DIMS, &count);
  scatter_describe_batch(&v, window_dims, count, unique);
  scatter_describe_window(&v, window_dims, count);
  for (int32_t k = 0; k < v.map_count; k++) {
    int d = (int)v.map[k];
    bool larger = v.split < 0 || v.array->dims[d] > v.array->dims[v.split];
    if (v.extent[d] == 1 && v.array->dims[d] > 1 && larger) v.split = d;
  }
  return v;
}

/* ---- Cutting ---- */

/* Elements that a work item of a CPU takes side by side, at least: a cache line. */
enum { SCATTER_LINE = 16, SCATTER_GPU_WIDTH = 64 };

/* Work items that a device has something to do with. No result depends on it. */
static int64_t scatter_width(const halo_lowering *l) {
  int64_t units = l->caps->compute_units > 0 ? l->caps->compute_units : 1;
  return l->caps->is_cpu ? units : units * SCATTER_GPU_WIDTH;
}

static int64_t scatter_ceil(int64_t a, int64_t b) { return (a + b - 1) / b; }

static scatter_cut scatter_choose(const halo_lowering *l, const scatter_view *v, bool parts) {
  scatter_cut cut = {.lanes = 1, .parts = 1, .share = 1};
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
    cut.share = scatter_ceil(size, want);
    cut.parts = scatter_ceil(size, cut.share);
    cut.items *= cut.parts;
  }
  return cut;
}

/* Seconds. A CPU cannot foretell which part an index falls into. */
static double scatter_time(const halo_lowering *l, const scatter_view *v, bool parts) {
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
  scatter_view v = scatter_describe(l, true);
  return scatter_time(l, &v, false);
}

static bool scatter_parts_supports(const halo_lowering *l, const char **why) {
  *why = "no indexed dimension in which windows are one element thick";
  return scatter_describe(l, false).split >= 0;
}

static double scatter_parts_cost(const halo_lowering *l) {
  scatter_view v = scatter_describe(l, false);
  return scatter_time(l, &v, true);
}

static double scatter_ordered_cost(const halo_lowering *l) {
  scatter_view v = scatter_describe(l, false);
  return scatter_time(l, &v, false);
}

/* ---- Text ---- */

static halo_value scatter_convert(halo_emitter *e, halo_value value, halo_type to) {
  return value.type == to ? value : halo_emit_convert(e, value, to);
}

/* Coordinates along the dimensions that are free, or along the others, from a position among them. */
static void scatter_digits(halo_emitter *e, const scatter_dim *dims, int rank, bool free,
                           const halo_integer *position, const halo_integer **at) {
  for (int i = rank - 1; i >= 0; i--) {
    if (dims[i].free != free) continue;
    at[i] = halo_integer_mod(&e->integers, position, dims[i].size);
    position = halo_integer_div(&e->integers, position, dims[i].size);
  }
}

/* Where a window starts in the array, behind the test that all of it lies inside (else nothing of it is
 * used), which opens a scope. */
static void scatter_emit_starts(halo_emitter *e, emit_frame *frame, const scatter_view *v,
                                bool parts, const halo_integer **batch,
                                const halo_integer **starts) {
  const halo_instr *indices = v->scatter->operands[v->arity];
  const halo_integer *from[HALO_MAX_RANK];
  for (int i = 0; i < v->batch_rank; i++) from[v->batch[i].other] = batch[i];
  for (int d = 0; d < v->array->rank; d++) starts[d] = halo_integer_constant(&e->integers, 0);
  for (int32_t k = 0; k < v->batching_count; k++) {
    starts[v->array_batching[k]] = from[v->indices_batching[k]];
  }
  halo_value values[HALO_MAX_RANK];
  halo_strbuf tests = {0};
  for (int32_t k = 0; k < v->map_count; k++) {
    int d = (int)v->map[k];
    if (v->vector_dim < v->indices->rank) {
      from[v->vector_dim] = halo_integer_constant(&e->integers, k);
    }
    emit_index *index = halo_index_of(e, v->indices->rank, v->indices->dims, from);
    values[k] = halo_emit_value(e, frame, indices, 0, index);
    halo_strbuf_printf(&tests, "%s%s", k ? " && " : "if (",
                       halo_emit_start_test(e, values[k], v->array->dims[d] - v->extent[d]));
    if (parts && d == v->split) {
      const char *itype = halo_emitter_index_type(e), *value = values[k].text;
      halo_strbuf_printf(&tests, " && (%s)%s >= low && (%s)%s < high", itype, value, itype, value);
    }
  }
  if (v->map_count > 0) halo_strbuf_char(&tests, ')');
  v->map_count > 0 ? halo_emit_branch(e, halo_strbuf_text(&tests)) : halo_emit_open(e);
  halo_strbuf_deinit(&tests);
  const char *itype = halo_emitter_index_type(e);
  for (int32_t k = 0; k < v->map_count; k++) {
    int64_t d = v->map[k];
    const char *name = halo_arena_printf(e->arena, "start%d", k);
    halo_emit_line(e, "const %s %s = (%s)%s;", itype, name, itype, values[k].text);
    starts[d] = halo_emit_counter(e, name, v->array->dims[d] - v->extent[d] + 1);
  }
}

/* One element: what the results hold and the updates go in, what is to be held comes out. */
static void scatter_emit_combine(halo_emitter *e, emit_frame *frame, const scatter_view *v,
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
    values[k] = scatter_convert(e, values[k], computation->params.data[k]->shape->type);
  }
  halo_emit_apply(e, computation, values, results);
  for (int32_t k = 0; k < n; k++) {
    halo_type type = halo_leaf_shape(v->scatter->shape, k)->type;
    results[k] = scatter_convert(e, results[k], type);
  }
  for (int32_t k = 0; k < n; k++) {
    const char *out = halo_emit_arg(e, HALO_ROLE_OUTPUT, k, results[k].type, NULL);
    halo_emit_store(e, out, positions[k], results[k]);
  }
}

/* What the template's H_APPLY does. */
static void scatter_emit_apply(halo_emitter *e, emit_frame *frame, const scatter_view *v,
                               bool parts) {
  const halo_integer *batch[HALO_MAX_RANK], *window[HALO_MAX_RANK], *starts[HALO_MAX_RANK];
  const halo_integer *from[HALO_MAX_RANK], *to[HALO_MAX_RANK];
  const char *itype = halo_emitter_index_type(e);
  scatter_digits(e, v->batch, v->batch_rank, true, halo_emit_counter(e, "group", v->groups), batch);
  scatter_digits(e, v->batch, v->batch_rank, false, halo_emit_counter(e, "step", v->steps), batch);
  scatter_emit_starts(e, frame, v, parts, batch, starts);
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
  scatter_digits(e, v->window, v->window_rank, true, halo_emit_counter(e, "w", v->strip), window);
  scatter_digits(e, v->window, v->window_rank, false, inner, window);
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

/* Whether the result may begin as the operand's memory. */
static bool scatter_takes_over(const halo_instr *operand, const halo_shape *result) {
  if (operand->opcode != HALO_OP_PARAMETER || operand->shape->type != result->type) return false;
  for (int i = 0; i < result->rank; i++) {
    if (operand->shape->minor_to_major[i] != result->minor_to_major[i]) return false;
  }
  return true;
}

/* A kernel that computes operand `k` where the result is to be. */
static halo_status scatter_lower_operand(halo_lowering *l, int32_t k) {
  const halo_instr *scatter = halo_lowering_root(l);
  const halo_shape *shape = halo_leaf_shape(scatter->shape, k);
  int64_t items = halo_shape_element_count(shape);
  halo_emitter e;
  halo_emitter_init(&e, l->arena, l->computation);
  emit_frame *frame = halo_frame_kernel(&e, l->computation);
  const char *itype = halo_emitter_index_type(&e);
  halo_emit_line(&e, "const %s i = (%s)" HALO_GLOBAL_ID_0 ";", itype, itype);
  halo_emit_branch(&e, halo_arena_printf(l->arena, "if (i < %lld)", (long long)items));
  const halo_integer *at = halo_emit_counter(&e, "i", items);
  emit_index *index = halo_index_from_position(&e, shape, at);
  halo_value value = halo_emit_value(&e, frame, scatter->operands[k], 0, index);
  halo_emit_store(&e, halo_emit_arg(&e, HALO_ROLE_OUTPUT, k, shape->type, NULL), at,
                  scatter_convert(&e, value, shape->type));
  halo_emit_close(&e);
  if (e.status == HALO_OK) {
    const char *label = halo_arena_printf(l->arena, "%s scatter:operand", l->name);
    halo_launch *launch = halo_kernel_add(l, &e, halo_kernel_name(l, "operand"), label, 0);
    halo_launch_items(l->caps, launch, items);
  }
  halo_status status = e.status;
  halo_emitter_deinit(&e);
  return status;
}

static void scatter_launch_size(const halo_lowering *l, const scatter_view *v,
                                const scatter_cut *cut, halo_launch *launch) {
  halo_launch_items(l->caps, launch, cut->items);
  if (!l->caps->is_cpu || v->steps * cut->lanes * v->inner <= SCATTER_LINE) return;
  /* Long work items: a few a group, but enough groups to share out. */
  size_t local = 1;
  while (local < 32 && cut->items >= (int64_t)(64 * local)) local *= 2;
  halo_launch_line(launch, cut->items, local);
}

static halo_status scatter_lower_windows(halo_lowering *l, const char *name, const scatter_view *v,
                                         bool parts, const int32_t *updates) {
  static const char parameters[] = "group, step, first, end, low, high";
  scatter_cut cut = scatter_choose(l, v, parts);
  halo_parts p;
  halo_parts_begin(&p, l, halo_kernel_name(l, name), false);
  scatter_emit_apply(&p.e, halo_parts_open(&p), v, parts);
  halo_parts_close(&p, "void", "_apply", parameters, NULL);
  halo_template k;
  halo_parts_template(&p, &k, halo_cl_scatter, "");
  halo_parts_call(&p, &k, "H_APPLY", "_apply", parameters);
  halo_template_define_int(&k, "H_GROUPS", v->groups);
  halo_template_define_int(&k, "H_STEPS", v->steps);
  halo_template_define_int(&k, "H_WINDOW", v->strip);
  halo_template_define_int(&k, "H_LANES", cut.lanes);
  halo_template_define_int(&k, "H_PARTS", cut.parts);
  halo_template_define_int(&k, "H_SHARE", cut.share);
  halo_parts_finish(&p, &k);
  halo_launch *launch = halo_parts_launch(&p, halo_arena_printf(l->arena, "scatter:%s", name));
  launch->updates = updates;
  launch->update_count = v->arity;
  scatter_launch_size(l, v, &cut, launch);
  return halo_parts_end(&p);
}

static halo_status scatter_lower(halo_lowering *l, const char *name, bool unique, bool parts) {
  scatter_view v = scatter_describe(l, unique);
  if (halo_shape_element_count(v.array) == 0) return HALO_OK;
  /* Without windows there is no launch that could take an operand's memory over. */
  bool any = halo_shape_element_count(v.updates) > 0;
  int32_t *updates = halo_arena_array(l->arena, int32_t, v.arity);
  for (int32_t k = 0; k < v.arity; k++) {
    const halo_instr *operand = v.scatter->operands[k];
    bool over = any && scatter_takes_over(operand, halo_leaf_shape(v.scatter->shape, k));
    updates[k] = over ? halo_lowering_input(l, operand) : -1;
    if (!over) HALO_TRY(scatter_lower_operand(l, k));
  }
  return any ? scatter_lower_windows(l, name, &v, parts, updates) : HALO_OK;
}

static halo_status scatter_unique_lower(halo_lowering *l) {
  return scatter_lower(l, "unique", true, false);
}

static halo_status scatter_parts_lower(halo_lowering *l) {
  return scatter_lower(l, "parts", false, true);
}

static halo_status scatter_ordered_lower(halo_lowering *l) {
  return scatter_lower(l, "ordered", false, false);
}

static const halo_implementation scatter_implementations[] = {
    {"unique", scatter_unique_supports, scatter_unique_cost, scatter_unique_lower},
    {"parts", scatter_parts_supports, scatter_parts_cost, scatter_parts_lower},
    {"ordered", halo_loop_supports, scatter_ordered_cost, scatter_ordered_lower},
    {0}};
const halo_family halo_family_scatter = {"scatter", HALO_OP_SCATTER, scatter_implementations};
