/* SPDX-License-Identifier: Apache-2.0 */
/* stablehlo/bytecode_dense.c: the elements of tensors. */
#include "stablehlo/bytecode.h"

#include <string.h>

/* Splats of up to so many elements are expanded (mlir.h). */
enum { DENSE_EXPANDED = 64 };

/* How the bytes of a tensor say its elements. */
typedef enum dense_form { DENSE_EACH, DENSE_SPLAT, DENSE_BITS, DENSE_WRONG } dense_form;

static bool dense_counts(const halo_mlir_type *type, int64_t *count) {
  if (halo_shape_check_array(type->element, type->rank, type->dims) != HALO_OK) return false;
  int64_t product = 1;
  bool empty = false;
  for (int32_t d = 0; d < type->rank; d++) {
    if (type->dims[d] == HALO_MLIR_DYNAMIC) return false;
    empty |= type->dims[d] == 0;
    if (type->dims[d]) product *= type->dims[d]; /* the check above says that it fits */
  }
  *count = empty ? 0 : product;
  return true;
}

/* Of i1: one byte of FF or 00 is a splat, eight or fewer elements are the bits of one byte, more are packed, or
 * a byte each as older writers had it. */
static dense_form dense_form_of_bits(halo_bytecode_cursor blob, int64_t count) {
  int64_t size = (int64_t)halo_bytecode_left(&blob);
  if (size == count && count != 1) return DENSE_EACH;
  if (size == 1 && (*blob.at == 0xFF || *blob.at == 0 || count == 1 || count > 8))
    return DENSE_SPLAT;
  return size == count / 8 + (count % 8 != 0) ? DENSE_BITS : DENSE_WRONG;
}

static dense_form dense_form_of(halo_bytecode_cursor blob, halo_type type, int64_t count,
                                bool packed) {
  int64_t size = (int64_t)halo_bytecode_left(&blob), each = (int64_t)halo_type_size(type);
  if (packed && type == HALO_PRED && count > 0) return dense_form_of_bits(blob, count);
  if (size % each == 0 && size / each == count) return DENSE_EACH;
  return packed && size == each ? DENSE_SPLAT : DENSE_WRONG;
}

/* Pred is 0 or 1; of elements narrower than a byte the low bits count, and signed ones are sign-extended. */
static void dense_clean(halo_type type, uint8_t *data, size_t size) {
  int bits = halo_type_bits(type);
  if (bits >= 8) return;
  for (size_t i = 0; i < size; i++) {
    if (type == HALO_PRED)
      data[i] = data[i] != 0;
    else if (halo_type_is_sint(type))
      data[i] = (uint8_t)((int8_t)(uint8_t)(data[i] << (8 - bits)) >> (8 - bits));
    else
      data[i] &= (uint8_t)((1 << bits) - 1);
  }
}

static void dense_fill(halo_bytecode_cursor blob, dense_form form, int64_t count,
                       halo_literal *literal) {
  uint8_t *data = halo_literal_data(literal);
  halo_type type = literal->shape->type;
  size_t each = halo_type_size(type);
  if (form == DENSE_BITS) {
    for (int64_t i = 0; i < count; i++) data[i] = blob.at[i / 8] >> (i % 8) & 1;
  } else if (form == DENSE_SPLAT) {
    for (int64_t i = 0; i < count; i++) memcpy(data + (size_t)i * each, blob.at, each);
  } else if (count) {
    memcpy(data, blob.at, (size_t)count * each);
  }
  dense_clean(type, data, (size_t)count * each);
}

halo_status halo_bytecode_dense(halo_bytecode_cursor blob, const halo_mlir_type *type, bool packed,
                                halo_mlir_attr *out) {
  int64_t count;
  if (type->kind != HALO_MLIR_TENSOR) { /* elements that no literal has, or a vector */
    out->kind = HALO_MLIR_OPAQUE;
    return HALO_OK;
  }
  if (!dense_counts(type, &count))
    return halo_bytecode_fail(&blob,
                              "a constant tensor of an unknown or too large number of elements");
  dense_form form = dense_form_of(blob, type->element, count, packed);
  if (form == DENSE_WRONG)
    return halo_bytecode_fail(&blob, "%zu bytes for a tensor of %lld element%s of %s",
                              halo_bytecode_left(&blob), (long long)count, halo_plural(count),
                              halo_type_name(type->element));
  bool one = form == DENSE_SPLAT && count > DENSE_EXPANDED;
  halo_shape *shape;
  halo_literal *literal;
  HALO_TRY(halo_shape_create_array(type->element, one ? 0 : type->rank, type->dims, &shape));
  halo_status status = halo_literal_create(shape, &literal);
  halo_shape_release(shape);
  HALO_TRY(status);
  out->kind = HALO_MLIR_DENSE;
  out->type = type;
  out->literal = halo_mlir_keep_literal(blob.reader->program, literal);
  dense_fill(blob, form, one ? 1 : count, literal);
  return HALO_OK;
}
