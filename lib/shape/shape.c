/* SPDX-License-Identifier: Apache-2.0 */
/* shape/shape.c: making, comparing and printing shapes. */
#include "shape/shape.h"

#include "base/memory.h"

#include <stdio.h>
#include <string.h>

static const int32_t *shape_default_layout(halo_arena *arena, int rank) {
  int32_t *m2m = halo_arena_array(arena, int32_t, rank);
  for (int i = 0; i < rank; i++) m2m[i] = rank - 1 - i;
  return m2m;
}

const halo_shape *halo_shape_new_full(halo_arena *arena, halo_type type, int rank,
                                      const int64_t *dims, const bool *dynamic,
                                      const int32_t *minor_to_major) {
  halo_shape *s = halo_arena_new(arena, halo_shape);
  s->type = type;
  s->rank = rank;
  s->dims = halo_arena_copy(arena, dims, sizeof *dims * (size_t)rank);
  bool any = false;
  for (int i = 0; dynamic && i < rank; i++) any |= dynamic[i];
  if (any) s->dynamic = halo_arena_copy(arena, dynamic, sizeof *dynamic * (size_t)rank);
  s->has_dynamic = any;
  s->minor_to_major =
      minor_to_major ? halo_arena_copy(arena, minor_to_major, sizeof *minor_to_major * (size_t)rank)
                     : shape_default_layout(arena, rank);
  return s;
}

const halo_shape *halo_shape_new(halo_arena *arena, halo_type type, int rank, const int64_t *dims) {
  return halo_shape_new_full(arena, type, rank, dims, NULL, NULL);
}

/* Elements may be shared, so that a small shape can have more leaves than fit: those are refused later
 * (halo_infer_check_size), and here only must not overflow. */
static const int32_t *shape_leaf_starts(halo_arena *arena, int count,
                                        const halo_shape *const *elements) {
  int32_t *starts = halo_arena_array(arena, int32_t, count + 1);
  for (int i = 0; i < count; i++) {
    if (__builtin_add_overflow(starts[i], halo_shape_leaf_count(elements[i]), &starts[i + 1])) {
      starts[i + 1] = INT32_MAX;
    }
  }
  return starts;
}

const halo_shape *halo_shape_new_tuple(halo_arena *arena, int count,
                                       const halo_shape *const *elements) {
  halo_shape *s = halo_arena_new(arena, halo_shape);
  s->type = HALO_TUPLE;
  s->count = count;
  s->elements = halo_arena_copy(arena, elements, sizeof *elements * (size_t)count);
  s->leaf_starts = shape_leaf_starts(arena, count, s->elements);
  for (int i = 0; i < count; i++) s->has_dynamic |= elements[i]->has_dynamic;
  return s;
}

const halo_shape *halo_shape_new_token(halo_arena *arena) {
  halo_shape *s = halo_arena_new(arena, halo_shape);
  s->type = HALO_TOKEN;
  return s;
}

const halo_shape *halo_shape_clone(halo_arena *arena, const halo_shape *shape) {
  halo_shape *s = halo_arena_new(arena, halo_shape);
  s->type = shape->type;
  if (shape->layout_extras) s->layout_extras = halo_arena_strdup(arena, shape->layout_extras);
  if (halo_shape_is_tuple(shape)) {
    const halo_shape **elements = halo_arena_array(arena, const halo_shape *, shape->count);
    for (int i = 0; i < shape->count; i++) {
      elements[i] = halo_shape_clone(arena, shape->elements[i]);
    }
    s->count = shape->count;
    s->elements = elements;
    s->leaf_starts = shape_leaf_starts(arena, s->count, elements);
    for (int i = 0; i < s->count; i++) s->has_dynamic |= elements[i]->has_dynamic;
  } else if (shape->rank > 0) {
    size_t rank = (size_t)shape->rank;
    s->rank = shape->rank;
    s->dims = halo_arena_copy(arena, shape->dims, sizeof *shape->dims * rank);
    s->minor_to_major =
        halo_arena_copy(arena, shape->minor_to_major, sizeof *shape->minor_to_major * rank);
    if (shape->dynamic) {
      s->has_dynamic = true;
      s->dynamic = halo_arena_copy(arena, shape->dynamic, sizeof *shape->dynamic * rank);
    }
  }
  return s;
}

/* A public shape is a halo_shape whose own arena sits right behind it. */
typedef struct shape_heap {
  halo_shape shape;
  halo_arena arena;
} shape_heap;

halo_shape *halo_shape_clone_heap(const halo_shape *shape) {
  shape_heap *heap = halo_alloc(sizeof *heap);
  heap->shape = *halo_shape_clone(&heap->arena, shape);
  return &heap->shape;
}

void halo_shape_release(halo_shape *shape) {
  if (!shape) return;
  shape_heap *heap = (shape_heap *)shape;
  halo_arena_deinit(&heap->arena);
  halo_free(heap);
}

const halo_shape *halo_shape_with_type(halo_arena *arena, const halo_shape *shape, halo_type type) {
  halo_shape *s = (halo_shape *)halo_shape_clone(arena, shape);
  s->type = type;
  return s;
}

const halo_shape *halo_shape_with_default_layout(halo_arena *arena, const halo_shape *shape) {
  if (halo_shape_is_tuple(shape)) {
    const halo_shape **elements = halo_arena_array(arena, const halo_shape *, shape->count);
    for (int i = 0; i < shape->count; i++) {
      elements[i] = halo_shape_with_default_layout(arena, shape->elements[i]);
    }
    return halo_shape_new_tuple(arena, shape->count, elements);
  }
  if (!halo_shape_is_array(shape)) return halo_shape_clone(arena, shape);
  return halo_shape_new_full(arena, shape->type, shape->rank, shape->dims, shape->dynamic, NULL);
}

const halo_shape *halo_shape_static(halo_arena *arena, const halo_shape *shape) {
  if (!shape->has_dynamic) return shape;
  if (!halo_shape_is_tuple(shape)) {
    return halo_shape_new_full(arena, shape->type, shape->rank, shape->dims, NULL,
                               shape->minor_to_major);
  }
  const halo_shape **elements = halo_arena_array(arena, const halo_shape *, shape->count);
  for (int i = 0; i < shape->count; i++) {
    elements[i] = halo_shape_static(arena, shape->elements[i]);
  }
  return halo_shape_new_tuple(arena, shape->count, elements);
}

bool halo_shape_fits(const halo_shape *extents, const halo_shape *shape) {
  if (!shape->has_dynamic) return halo_shape_compatible(extents, shape);
  if (extents->type != shape->type || extents->rank != shape->rank ||
      extents->count != shape->count) {
    return false;
  }
  for (int i = 0; i < shape->rank; i++) {
    int64_t size = extents->dims[i], bound = shape->dims[i];
    if (shape->dynamic[i] ? size > bound : size != bound) return false;
  }
  for (int i = 0; i < shape->count; i++) {
    if (!halo_shape_fits(extents->elements[i], shape->elements[i])) return false;
  }
  return true;
}

int32_t halo_shape_dynamic_count(const halo_shape *shape) {
  int32_t count = 0;
  if (!shape->has_dynamic) return 0;
  for (int i = 0; i < shape->rank; i++) count += shape->dynamic[i];
  for (int i = 0; i < shape->count; i++) count += halo_shape_dynamic_count(shape->elements[i]);
  return count;
}

halo_status halo_shape_check_array(halo_type type, int rank, const int64_t *dims) {
  if (!halo_type_is_array(type)) {
    return halo_fail(HALO_INVALID_ARGUMENT, "%s is not an array element type",
                     halo_type_name(type));
  }
  if (rank < 0 || rank > HALO_MAX_RANK) {
    return halo_fail(HALO_INVALID_ARGUMENT, "rank %d is outside 0 to %d", rank, HALO_MAX_RANK);
  }
  if (rank > 0 && !dims) return halo_fail(HALO_INVALID_ARGUMENT, "dims is NULL, rank is %d", rank);
  /* The product of the non-zero extents must fit, so that strides of empty arrays are legal too. */
  int64_t size = (int64_t)halo_type_size(type);
  for (int i = 0; i < rank; i++) {
    if (dims[i] == HALO_UNBOUNDED || dims[i] == 0) continue;
    if (dims[i] < 0) {
      return halo_fail(HALO_INVALID_ARGUMENT, "dimension %d has negative extent %lld", i,
                       (long long)dims[i]);
    }
    if (!halo_mul_i64(size, dims[i], &size)) {
      return halo_fail(HALO_INVALID_ARGUMENT, "the array's size in bytes does not fit 63 bits");
    }
  }
  return HALO_OK;
}

halo_status halo_shape_check_layout(int rank, const int32_t *minor_to_major) {
  bool seen[HALO_MAX_RANK] = {false};
  for (int i = 0; i < rank; i++) {
    int32_t d = minor_to_major[i];
    if (d < 0 || d >= rank || seen[d]) {
      return halo_fail(HALO_INVALID_ARGUMENT,
                       "layout is not a permutation of the dimensions 0 to %d", rank - 1);
    }
    seen[d] = true;
  }
  return HALO_OK;
}

halo_status halo_shape_create_array_with_layout(halo_type type, int rank, const int64_t *dims,
                                                const int32_t *minor_to_major, halo_shape **out) {
  if (!out) return halo_fail(HALO_INVALID_ARGUMENT, "halo_shape_create_array: out is NULL");
  *out = NULL;
  HALO_TRY(halo_shape_check_array(type, rank, dims));
  for (int i = 0; i < rank; i++) {
    if (dims[i] == HALO_UNBOUNDED) {
      return halo_fail(HALO_INVALID_ARGUMENT, "dimension %d is unbounded", i);
    }
  }
  if (minor_to_major) HALO_TRY(halo_shape_check_layout(rank, minor_to_major));
  halo_arena arena = {0};
  *out = halo_shape_clone_heap(halo_shape_new_full(&arena, type, rank, dims, NULL, minor_to_major));
  halo_arena_deinit(&arena);
  return HALO_OK;
}

halo_status halo_shape_create_array(halo_type type, int rank, const int64_t *dims,
                                    halo_shape **out) {
  return halo_shape_create_array_with_layout(type, rank, dims, NULL, out);
}

halo_status halo_shape_create_dynamic(halo_type type, int rank, const int64_t *dims,
                                      const bool *dynamic, halo_shape **out) {
  HALO_TRY(halo_shape_create_array(type, rank, dims, out));
  if (rank && !dynamic) {
    halo_shape_release(*out);
    *out = NULL;
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_shape_create_dynamic: dynamic is NULL");
  }
  shape_heap *heap = (shape_heap *)*out;
  for (int i = 0; i < rank; i++) heap->shape.has_dynamic |= dynamic[i];
  if (heap->shape.has_dynamic) {
    heap->shape.dynamic = halo_arena_copy(&heap->arena, dynamic, sizeof *dynamic * (size_t)rank);
  }
  return HALO_OK;
}

halo_status halo_shape_create_tuple(int count, const halo_shape *const *elements,
                                    halo_shape **out) {
  if (!out) return halo_fail(HALO_INVALID_ARGUMENT, "halo_shape_create_tuple: out is NULL");
  *out = NULL;
  if (count < 0 || (count > 0 && !elements)) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_shape_create_tuple: no elements given");
  }
  for (int i = 0; i < count; i++) {
    if (!elements[i]) {
      return halo_fail(HALO_INVALID_ARGUMENT, "halo_shape_create_tuple: element %d is NULL", i);
    }
  }
  halo_shape tuple = {.type = HALO_TUPLE, .count = count, .elements = elements};
  *out = halo_shape_clone_heap(&tuple);
  return HALO_OK;
}

halo_status halo_shape_create_token(halo_shape **out) {
  if (!out) return halo_fail(HALO_INVALID_ARGUMENT, "halo_shape_create_token: out is NULL");
  halo_shape token = {.type = HALO_TOKEN};
  *out = halo_shape_clone_heap(&token);
  return HALO_OK;
}

halo_type halo_shape_type(const halo_shape *shape) { return shape->type; }
int halo_shape_rank(const halo_shape *shape) { return shape->rank; }
int64_t halo_shape_dim(const halo_shape *shape, int dimension) { return shape->dims[dimension]; }
bool halo_shape_dim_is_dynamic(const halo_shape *shape, int dimension) {
  return shape->dynamic && shape->dynamic[dimension];
}
int halo_shape_minor_to_major(const halo_shape *shape, int i) { return shape->minor_to_major[i]; }
int halo_shape_tuple_count(const halo_shape *shape) { return shape->count; }
const halo_shape *halo_shape_tuple_element(const halo_shape *shape, int index) {
  return shape->elements[index];
}

int64_t halo_shape_element_count(const halo_shape *shape) {
  if (!halo_shape_is_array(shape)) return 0;
  int64_t count = 1;
  for (int i = 0; i < shape->rank; i++) {
    count *= shape->dims[i] == HALO_UNBOUNDED ? 0 : shape->dims[i];
  }
  return count;
}

int64_t halo_shape_byte_size(const halo_shape *shape) {
  if (!halo_shape_is_tuple(shape)) {
    return halo_shape_element_count(shape) * (int64_t)halo_type_size(shape->type);
  }
  int64_t size = 0;
  for (int i = 0; i < shape->count; i++) {
    if (__builtin_add_overflow(size, halo_shape_byte_size(shape->elements[i]), &size)) {
      return INT64_MAX;
    }
  }
  return size;
}

bool halo_shape_has_default_layout(const halo_shape *shape) {
  for (int i = 0; i < shape->rank; i++) {
    if (shape->minor_to_major[i] != shape->rank - 1 - i) return false;
  }
  for (int i = 0; i < shape->count; i++) {
    if (!halo_shape_has_default_layout(shape->elements[i])) return false;
  }
  return true;
}

bool halo_shape_same_dims(const halo_shape *a, const halo_shape *b) {
  if (a->rank != b->rank) return false;
  for (int i = 0; i < a->rank; i++) {
    if (a->dims[i] != b->dims[i]) return false;
  }
  return true;
}

bool halo_shape_compatible(const halo_shape *a, const halo_shape *b) {
  if (a == b) return true;
  if (a->type != b->type || a->count != b->count || !halo_shape_same_dims(a, b)) return false;
  for (int i = 0; i < a->count; i++) {
    if (!halo_shape_compatible(a->elements[i], b->elements[i])) return false;
  }
  return true;
}

bool halo_shape_equal(const halo_shape *a, const halo_shape *b) {
  if (a == b) return true;
  if (a->type != b->type || a->count != b->count || !halo_shape_same_dims(a, b)) return false;
  for (int i = 0; i < a->rank; i++) {
    if (a->minor_to_major[i] != b->minor_to_major[i]) return false;
    if (halo_shape_dim_is_dynamic(a, i) != halo_shape_dim_is_dynamic(b, i)) return false;
  }
  for (int i = 0; i < a->count; i++) {
    if (!halo_shape_equal(a->elements[i], b->elements[i])) return false;
  }
  return true;
}

void halo_shape_strides(const halo_shape *shape, int64_t *strides) {
  int64_t stride = 1;
  for (int i = 0; i < shape->rank; i++) {
    int d = shape->minor_to_major[i];
    strides[d] = stride;
    stride *= shape->dims[d];
  }
}

int32_t halo_leaf_element(const halo_shape *tuple, int32_t leaf) {
  /* The last element that begins at or before the leaf: empty tuples begin where the next does. */
  int32_t low = 0, high = tuple->count - 1;
  while (low < high) {
    int32_t middle = low + (high - low + 1) / 2;
    if (tuple->leaf_starts[middle] <= leaf) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

int32_t halo_leaf_at(const halo_shape *shape, const int64_t *index, int32_t count) {
  int32_t leaf = 0;
  for (int32_t i = 0; i < count; i++) {
    if (!halo_shape_is_tuple(shape) || index[i] < 0 || index[i] >= shape->count) return -1;
    leaf += halo_leaf_start(shape, index[i]);
    shape = shape->elements[index[i]];
  }
  return halo_shape_is_array(shape) ? leaf : -1;
}

const halo_shape *halo_leaf_shape(const halo_shape *shape, int32_t leaf) {
  while (halo_shape_is_tuple(shape)) {
    int32_t i = halo_leaf_element(shape, leaf);
    leaf -= shape->leaf_starts[i];
    shape = shape->elements[i];
  }
  return shape;
}

static void shape_print_tuple(halo_strbuf *out, const halo_shape *shape, bool with_layout) {
  halo_strbuf_char(out, '(');
  for (int i = 0; i < shape->count; i++) {
    if (i) halo_strbuf_append(out, ", ");
    if (i && i % 5 == 0) halo_strbuf_printf(out, "/*index=%d*/", i);
    halo_shape_print(out, shape->elements[i], with_layout);
  }
  halo_strbuf_char(out, ')');
}

void halo_shape_print(halo_strbuf *out, const halo_shape *shape, bool with_layout) {
  if (halo_shape_is_tuple(shape)) {
    shape_print_tuple(out, shape, with_layout);
    return;
  }
  halo_strbuf_printf(out, "%s[", halo_type_name(shape->type));
  for (int i = 0; i < shape->rank; i++) {
    if (i) halo_strbuf_char(out, ',');
    if (shape->dims[i] == HALO_UNBOUNDED) {
      halo_strbuf_char(out, '?');
      continue;
    }
    halo_strbuf_printf(out, "%s%lld", halo_shape_dim_is_dynamic(shape, i) ? "<=" : "",
                       (long long)shape->dims[i]);
  }
  halo_strbuf_char(out, ']');
  if (!with_layout || (shape->rank == 0 && !shape->layout_extras)) return;
  halo_strbuf_char(out, '{');
  for (int i = 0; i < shape->rank; i++) {
    halo_strbuf_printf(out, "%s%d", i ? "," : "", shape->minor_to_major[i]);
  }
  if (shape->layout_extras) halo_strbuf_printf(out, ":%s", shape->layout_extras);
  halo_strbuf_char(out, '}');
}

const char *halo_shape_text(halo_arena *arena, const halo_shape *shape, bool with_layout) {
  halo_strbuf text = {0};
  halo_shape_print(&text, shape, with_layout);
  const char *copy = halo_arena_strdup(arena, halo_strbuf_text(&text));
  halo_strbuf_deinit(&text);
  return copy;
}

size_t halo_shape_to_text(const halo_shape *shape, bool with_layout, char *buffer, size_t size) {
  halo_strbuf text = {0};
  halo_shape_print(&text, shape, with_layout);
  size_t length = text.length;
  if (buffer && size > 0) snprintf(buffer, size, "%s", halo_strbuf_text(&text));
  halo_strbuf_deinit(&text);
  return length;
}

void halo_shape_texts(const halo_shape *a, const halo_shape *b, char *a_text, char *b_text,
                      size_t size) {
  halo_shape_to_text(a, false, a_text, size);
  halo_shape_to_text(b, false, b_text, size);
  if (strcmp(a_text, b_text) != 0) return;
  halo_shape_to_text(a, true, a_text, size);
  halo_shape_to_text(b, true, b_text, size);
}

const halo_shape *halo_shape_part(const halo_shape *shape, const int64_t *index, int32_t count) {
  for (int32_t i = 0; i < count; i++) {
    if (!halo_shape_is_tuple(shape) || index[i] < 0 || index[i] >= shape->count) return NULL;
    shape = shape->elements[index[i]];
  }
  return shape;
}
