/* SPDX-License-Identifier: Apache-2.0 */
/* kernels/scatter/describe.c: what a scatter's attributes say, and the text that its implementations share. */
#include "kernels/scatter/scatter.h"

static int scatter_find(const int64_t *list, int32_t count, int64_t value) {
  for (int32_t i = 0; i < count; i++) {
    if (list[i] == value) return i;
  }
  return -1;
}

static int64_t scatter_product(const halo_scatter_dim *dims, int rank, bool free) {
  int64_t product = 1;
  for (int i = 0; i < rank; i++) product *= dims[i].free == free ? dims[i].size : 1;
  return product;
}

/* The dimensions of the indices that number windows. Windows of different batches never meet. */
static void scatter_describe_batch(halo_scatter_desc *v, const int64_t *window_dims, int32_t count,
                                   bool unique) {
  int at = 0;
  for (int d = 0; d < v->indices->rank; d++) {
    if (d == v->vector_dim) continue;
    while (scatter_find(window_dims, count, at) >= 0) at++;
    bool free = unique || scatter_find(v->indices_batching, v->batching_count, d) >= 0;
    v->batch[v->batch_rank++] = (halo_scatter_dim){v->indices->dims[d], at++, d, free};
  }
  v->groups = scatter_product(v->batch, v->batch_rank, true);
  v->steps = scatter_product(v->batch, v->batch_rank, false);
}

/* Two windows share elements only at equal offsets along a dimension that is not indexed, in which a window
 * is one element thick, or where it is as large as the array. */
static void scatter_describe_window(halo_scatter_desc *v, const int64_t *window_dims,
                                    int32_t count) {
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
    v->window[v->window_rank++] = (halo_scatter_dim){size, updates, d, free};
  }
  v->strip = scatter_product(v->window, v->window_rank, true);
  v->inner = scatter_product(v->window, v->window_rank, false);
}

halo_scatter_desc halo_scatter_describe(const halo_lowering *l, bool unique) {
  const halo_instr *scatter = halo_lowering_root(l);
  int32_t arity = scatter->operand_count / 2, count, ignored;
  halo_scatter_desc v = {.scatter = scatter,
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

/* ---- Text ---- */

halo_value halo_scatter_convert(halo_emitter *e, halo_value value, halo_type to) {
  return value.type == to ? value : halo_emit_convert(e, value, to);
}

/* Coordinates along the dimensions that are free, or along the others, from a position among them. */
void halo_scatter_digits(halo_emitter *e, const halo_scatter_dim *dims, int rank, bool free,
                         const halo_integer *position, const halo_integer **at) {
  for (int i = rank - 1; i >= 0; i--) {
    if (dims[i].free != free) continue;
    at[i] = halo_integer_mod(&e->integers, position, dims[i].size);
    position = halo_integer_div(&e->integers, position, dims[i].size);
  }
}

/* Where a window starts in the array, behind the test that all of it lies inside (else nothing of it is
 * used), which opens a scope. */
void halo_scatter_emit_starts(halo_emitter *e, emit_frame *frame, const halo_scatter_desc *v,
                              bool parts, const halo_integer **batch, const halo_integer **starts) {
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

/* ---- Operands ---- */

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
  halo_lowering_emitter(l, &e);
  emit_frame *frame = halo_frame_kernel(&e, l->computation);
  const char *itype = halo_emitter_index_type(&e);
  halo_emit_line(&e, "const %s i = (%s)" HALO_GLOBAL_ID_0 ";", itype, itype);
  halo_emit_branch(&e, halo_arena_printf(l->arena, "if (i < %lld)", (long long)items));
  const halo_integer *at = halo_emit_counter(&e, "i", items);
  emit_index *index = halo_index_from_position(&e, shape, at);
  halo_value value = halo_emit_value(&e, frame, scatter->operands[k], 0, index);
  halo_emit_store(&e, halo_emit_arg(&e, HALO_ROLE_OUTPUT, k, shape->type, NULL), at,
                  halo_scatter_convert(&e, value, shape->type));
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

halo_status halo_scatter_lower_operands(halo_lowering *l, const halo_scatter_desc *v,
                                        const int32_t **out_updates) {
  /* Without windows there is no launch that could take an operand's memory over. */
  bool any = halo_shape_element_count(v->updates) > 0;
  int32_t *updates = halo_arena_array(l->arena, int32_t, v->arity);
  for (int32_t k = 0; k < v->arity; k++) {
    const halo_instr *operand = v->scatter->operands[k];
    bool over = any && scatter_takes_over(operand, halo_leaf_shape(v->scatter->shape, k));
    updates[k] = over ? halo_lowering_input(l, operand) : -1;
    if (!over) HALO_TRY(scatter_lower_operand(l, k));
  }
  *out_updates = any ? updates : NULL;
  return HALO_OK;
}
