/* SPDX-License-Identifier: Apache-2.0 */
/* plan/lower_buffer.c: numbered buffers, and which of them an instruction's value is. */
#include "plan/lowering.h"

int32_t lower_buffer(lower_state *s, halo_place place, int32_t index, int64_t size,
                     const char *name) {
  halo_plan_buffer buffer = {.place = size ? place : HALO_PLACE_NONE,
                             .index = index,
                             .size = size,
                             .first = INT32_MAX,
                             .last = -1,
                             .name = halo_arena_strdup(&s->plan->arena, name)};
  if (place == HALO_PLACE_ARGUMENT || place == HALO_PLACE_RESULT) buffer.place = place;
  halo_vec_push(&s->plan->buffers, buffer);
  return s->plan->buffers.count - 1;
}

int32_t lower_temp(lower_state *s, const halo_shape *shape, const char *name) {
  return lower_buffer(s, HALO_PLACE_TEMP, 0, halo_shape_byte_size(shape), name);
}

void lower_touch(lower_state *s, int32_t buffer, int32_t step) {
  halo_plan_buffer *b = &s->plan->buffers.data[buffer];
  if (step < b->first) b->first = step;
  if (step > b->last) b->last = step;
}

int32_t *lower_leaves(lower_state *s, halo_instr *instr) {
  int32_t *leaves = halo_arena_array(&s->plan->arena, int32_t, halo_shape_leaf_count(instr->shape));
  instr->data = leaves;
  return leaves;
}

static void lower_collect_leaves(const halo_shape *shape, const halo_shape **out, int32_t *next) {
  if (!halo_shape_is_tuple(shape)) {
    out[(*next)++] = shape;
    return;
  }
  for (int32_t i = 0; i < shape->count; i++) lower_collect_leaves(shape->elements[i], out, next);
}

const halo_shape **lower_leaf_shapes(lower_state *s, const halo_shape *shape, int32_t *count) {
  int32_t next = 0;
  const halo_shape **leaves =
      halo_arena_array(&s->plan->arena, const halo_shape *, halo_shape_leaf_count(shape));
  lower_collect_leaves(shape, leaves, &next);
  *count = next;
  return leaves;
}

int32_t lower_constant_leaf(lower_state *s, halo_literal *literal, const char *name) {
  int64_t size = halo_shape_byte_size(literal->shape);
  int32_t id = lower_buffer(s, HALO_PLACE_CONSTANT, 0, size, name);
  if (size == 0) return id;
  intptr_t known = (intptr_t)halo_map_get(&s->constants, &literal, sizeof literal);
  if (!known) {
    halo_vec_push(&s->plan->constants, (halo_plan_constant){s->plan->constant_bytes, literal});
    halo_literal_retain(literal);
    s->plan->constant_bytes += (size + 127) / 128 * 128;
    known = s->plan->constants.count;
    halo_map_set(&s->constants, &literal, sizeof literal, (void *)known);
  }
  s->plan->buffers.data[id].offset = s->plan->constants.data[known - 1].offset;
  return id;
}

int32_t lower_constant(lower_state *s, halo_literal *literal, const char *name, int32_t *leaves) {
  if (!halo_shape_is_tuple(literal->shape)) {
    leaves[0] = halo_shape_is_token(literal->shape) ? LOWER_NO_BUFFER
                                                    : lower_constant_leaf(s, literal, name);
    return 1;
  }
  int32_t count = 0;
  for (int32_t i = 0; i < literal->shape->count; i++) {
    count += lower_constant(s, literal->elements[i], name, leaves + count);
  }
  return count;
}
