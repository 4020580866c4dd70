/* SPDX-License-Identifier: Apache-2.0 */
/* shape/literal.c: literals and typed access to their elements. */
#include "shape/literal.h"

#include "base/memory.h"
#include "shape/floats.h"

#include <math.h>
#include <string.h>

/* What a literal that is given up refers to, as far as it was made. */
static void literal_undo(void *object) {
  halo_literal *literal = object;
  for (int i = 0; literal->shape && literal->elements && i < literal->shape->count; i++) {
    halo_literal_release(literal->elements[i]);
    literal->elements[i] = NULL;
  }
}

static halo_literal *literal_new(void) {
  halo_literal *literal = halo_alloc_object(sizeof *literal, literal_undo);
  atomic_init(&literal->references, 1);
  return literal;
}

static halo_status literal_create(const halo_shape *shape, halo_literal **out) {
  if (shape->type == HALO_OPAQUE || shape->type == HALO_TYPE_INVALID) {
    return halo_fail(HALO_INVALID_ARGUMENT, "a literal cannot be %s", halo_type_name(shape->type));
  }
  for (int i = 0; i < shape->rank; i++) {
    if (shape->dims[i] == HALO_UNBOUNDED) {
      return halo_fail(HALO_INVALID_ARGUMENT, "a literal's dimensions must be bounded");
    }
  }
  halo_literal *literal = literal_new();
  literal->shape = halo_shape_clone_heap(shape);
  halo_status status = HALO_OK;
  if (halo_shape_is_tuple(shape)) {
    literal->elements = halo_alloc(sizeof(halo_literal *) * (size_t)shape->count);
    for (int i = 0; i < shape->count && status == HALO_OK; i++) {
      status = literal_create(shape->elements[i], &literal->elements[i]);
    }
  } else if (halo_shape_is_array(shape)) {
    status = halo_try_alloc((size_t)halo_shape_byte_size(shape), "a literal", &literal->data);
  }
  if (status != HALO_OK) {
    halo_literal_release(literal);
    return status;
  }
  *out = literal;
  return HALO_OK;
}

halo_literal *halo_literal_new_scalar(halo_type type) {
  halo_arena scratch = {0};
  halo_literal *literal = literal_new();
  literal->shape = halo_shape_clone_heap(halo_shape_new(&scratch, type, 0, NULL));
  literal->data = halo_alloc(halo_type_size(type));
  halo_arena_deinit(&scratch);
  return literal;
}

typedef struct literal_request {
  const halo_shape *shape;
  halo_literal *const *elements;
  halo_literal *out;
  int count;
} literal_request;

static halo_status literal_run_create(void *user) {
  literal_request *request = user;
  return literal_create(request->shape, &request->out);
}

halo_status halo_literal_create(const halo_shape *shape, halo_literal **out) {
  if (!shape || !out) return halo_fail(HALO_INVALID_ARGUMENT, "halo_literal_create: NULL argument");
  *out = NULL;
  literal_request request = {.shape = shape};
  HALO_TRY(halo_memory_guard(literal_run_create, &request));
  *out = request.out;
  return HALO_OK;
}

halo_status halo_literal_create_array(halo_type type, int rank, const int64_t *dims,
                                      const void *data, halo_literal **out) {
  if (!out) return halo_fail(HALO_INVALID_ARGUMENT, "halo_literal_create_array: out is NULL");
  *out = NULL;
  halo_shape *shape;
  HALO_TRY(halo_shape_create_array(type, rank, dims, &shape));
  int64_t size = halo_shape_byte_size(shape);
  halo_status status = size > 0 && !data ? halo_fail(HALO_INVALID_ARGUMENT,
                                                     "halo_literal_create_array: data is NULL")
                                         : halo_literal_create(shape, out);
  halo_shape_release(shape);
  if (status == HALO_OK && size > 0) memcpy((*out)->data, data, (size_t)size);
  return status;
}

static halo_status literal_run_create_tuple(void *user) {
  literal_request *request = user;
  int count = request->count;
  const halo_shape **shapes = halo_alloc(sizeof *shapes * (size_t)count);
  for (int i = 0; i < count; i++) shapes[i] = request->elements[i]->shape;
  halo_shape tuple = {.type = HALO_TUPLE, .count = count, .elements = shapes};
  halo_literal *literal = literal_new();
  literal->shape = halo_shape_clone_heap(&tuple);
  halo_free(shapes);
  literal->elements = halo_alloc(sizeof(halo_literal *) * (size_t)count);
  for (int i = 0; i < count; i++) {
    literal->elements[i] = request->elements[i];
    halo_literal_retain(request->elements[i]);
  }
  request->out = literal;
  return HALO_OK;
}

halo_status halo_literal_create_tuple(int count, halo_literal *const *elements,
                                      halo_literal **out) {
  if (!out || count < 0 || (count && !elements)) {
    return halo_fail(HALO_INVALID_ARGUMENT, "halo_literal_create_tuple: bad arguments");
  }
  *out = NULL;
  for (int i = 0; i < count; i++) {
    if (!elements[i]) {
      return halo_fail(HALO_INVALID_ARGUMENT, "halo_literal_create_tuple: element %d is NULL", i);
    }
  }
  literal_request request = {.elements = elements, .count = count};
  HALO_TRY(halo_memory_guard(literal_run_create_tuple, &request));
  *out = request.out;
  return HALO_OK;
}

void halo_literal_retain(halo_literal *literal) { atomic_fetch_add(&literal->references, 1); }

void halo_literal_release(halo_literal *literal) {
  if (!literal || atomic_fetch_sub(&literal->references, 1) != 1) return;
  for (int i = 0; literal->elements && i < literal->shape->count; i++) {
    halo_literal_release(literal->elements[i]);
  }
  halo_free(literal->elements);
  halo_free(literal->data);
  halo_shape_release(literal->shape);
  halo_free(literal);
}

const halo_shape *halo_literal_shape(const halo_literal *literal) { return literal->shape; }
void *halo_literal_data(halo_literal *literal) { return literal->data; }
halo_literal *halo_literal_element(const halo_literal *literal, int index) {
  return literal->elements[index];
}

static uint64_t literal_load(const halo_literal *literal, size_t size, int64_t i) {
  uint64_t bits = 0;
  memcpy(&bits, (const char *)literal->data + (size_t)i * size, size);
  return bits;
}

static void literal_store(halo_literal *literal, size_t size, int64_t i, uint64_t bits) {
  memcpy((char *)literal->data + (size_t)i * size, &bits, size);
}

int64_t halo_literal_get_i64(const halo_literal *literal, int64_t i) {
  halo_type type = literal->shape->type;
  switch (halo_type_class_of(type)) {
    case HALO_CLASS_PRED: return literal_load(literal, 1, i) != 0;
    case HALO_CLASS_UINT:
    case HALO_CLASS_SINT: {
      int bits = halo_type_bits(type);
      uint64_t raw = literal_load(literal, halo_type_size(type), i) << (64 - bits);
      if (halo_type_is_sint(type)) return (int64_t)raw >> (64 - bits);
      return (int64_t)(raw >> (64 - bits));
    }
    case HALO_CLASS_FLOAT:
    case HALO_CLASS_COMPLEX: return (int64_t)halo_literal_get_f64(literal, i);
    case HALO_CLASS_OTHER: break;
  }
  return 0;
}

void halo_literal_get_c128(const halo_literal *literal, int64_t i, double *re, double *im) {
  halo_type type = literal->shape->type;
  *im = 0;
  switch (halo_type_class_of(type)) {
    case HALO_CLASS_UINT: *re = (double)(uint64_t)halo_literal_get_i64(literal, i); return;
    case HALO_CLASS_PRED:
    case HALO_CLASS_SINT: *re = (double)halo_literal_get_i64(literal, i); return;
    case HALO_CLASS_FLOAT:
      *re = halo_float_decode(type, literal_load(literal, halo_type_size(type), i));
      return;
    case HALO_CLASS_COMPLEX: {
      halo_type part = halo_type_real_part(type);
      *re = halo_float_decode(part, literal_load(literal, halo_type_size(part), 2 * i));
      *im = halo_float_decode(part, literal_load(literal, halo_type_size(part), 2 * i + 1));
      return;
    }
    case HALO_CLASS_OTHER: *re = 0; return;
  }
}

double halo_literal_get_f64(const halo_literal *literal, int64_t i) {
  double re, im;
  halo_literal_get_c128(literal, i, &re, &im);
  return re;
}

void halo_literal_set_i64(halo_literal *literal, int64_t i, int64_t value) {
  halo_type type = literal->shape->type;
  switch (halo_type_class_of(type)) {
    case HALO_CLASS_PRED: literal_store(literal, 1, i, value != 0); return;
    case HALO_CLASS_UINT:
    case HALO_CLASS_SINT: {
      int bits = halo_type_bits(type);
      uint64_t raw = (uint64_t)value << (64 - bits);
      raw = halo_type_is_sint(type) ? (uint64_t)((int64_t)raw >> (64 - bits)) : raw >> (64 - bits);
      literal_store(literal, halo_type_size(type), i, raw);
      return;
    }
    case HALO_CLASS_FLOAT:
    case HALO_CLASS_COMPLEX:
      /* A double holds every integer of up to 53 bits; beyond that the bits below matter only for
       * rounding to f64 itself and to f32, where the compiler's own conversion rounds once. */
      if (type == HALO_F32 || type == HALO_C64) {
        halo_literal_set_c128(literal, i, (double)(float)value, 0);
      } else {
        halo_literal_set_c128(literal, i, (double)value, 0);
      }
      return;
    case HALO_CLASS_OTHER: return;
  }
}

static int64_t literal_truncate(halo_type type, double value) {
  int bits = halo_type_bits(type);
  if (isnan(value)) return 0;
  if (halo_type_is_uint(type)) {
    uint64_t most = UINT64_MAX >> (64 - bits);
    if (value <= 0) return 0;
    return value >= (double)most ? (int64_t)most : (int64_t)(uint64_t)value;
  }
  int64_t most = INT64_MAX >> (64 - bits);
  if (value >= (double)most) return most;
  if (value <= -(double)most - 1) return -most - 1;
  return (int64_t)value;
}

void halo_literal_set_c128(halo_literal *literal, int64_t i, double re, double im) {
  halo_type type = literal->shape->type;
  switch (halo_type_class_of(type)) {
    case HALO_CLASS_PRED: literal_store(literal, 1, i, re != 0); return;
    case HALO_CLASS_UINT:
    case HALO_CLASS_SINT: halo_literal_set_i64(literal, i, literal_truncate(type, re)); return;
    case HALO_CLASS_FLOAT:
      literal_store(literal, halo_type_size(type), i, halo_float_encode(type, re));
      return;
    case HALO_CLASS_COMPLEX: {
      halo_type part = halo_type_real_part(type);
      literal_store(literal, halo_type_size(part), 2 * i, halo_float_encode(part, re));
      literal_store(literal, halo_type_size(part), 2 * i + 1, halo_float_encode(part, im));
      return;
    }
    case HALO_CLASS_OTHER: return;
  }
}

void halo_literal_set_f64(halo_literal *literal, int64_t i, double value) {
  halo_literal_set_c128(literal, i, value, 0);
}

bool halo_literal_same_bits(const halo_literal *a, const halo_literal *b) {
  if (!halo_shape_compatible(a->shape, b->shape)) return false;
  for (int i = 0; i < a->shape->count; i++) {
    if (!halo_literal_same_bits(a->elements[i], b->elements[i])) return false;
  }
  int64_t size = a->data ? halo_shape_byte_size(a->shape) : 0;
  return size == 0 || memcmp(a->data, b->data, (size_t)size) == 0;
}
