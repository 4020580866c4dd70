/* SPDX-License-Identifier: Apache-2.0 */
/* pjrt/types.c: element types and shapes, from the interface's numbers to the library's and back. */
#include "pjrt/pjrt.h"

static const halo_type types_to_halo[] = {
    [PJRT_Buffer_Type_PRED] = HALO_PRED,
    [PJRT_Buffer_Type_S8] = HALO_S8,
    [PJRT_Buffer_Type_S16] = HALO_S16,
    [PJRT_Buffer_Type_S32] = HALO_S32,
    [PJRT_Buffer_Type_S64] = HALO_S64,
    [PJRT_Buffer_Type_U8] = HALO_U8,
    [PJRT_Buffer_Type_U16] = HALO_U16,
    [PJRT_Buffer_Type_U32] = HALO_U32,
    [PJRT_Buffer_Type_U64] = HALO_U64,
    [PJRT_Buffer_Type_F16] = HALO_F16,
    [PJRT_Buffer_Type_F32] = HALO_F32,
    [PJRT_Buffer_Type_F64] = HALO_F64,
    [PJRT_Buffer_Type_BF16] = HALO_BF16,
    [PJRT_Buffer_Type_C64] = HALO_C64,
    [PJRT_Buffer_Type_C128] = HALO_C128,
    [PJRT_Buffer_Type_F8E5M2] = HALO_F8E5M2,
    [PJRT_Buffer_Type_F8E4M3FN] = HALO_F8E4M3FN,
    [PJRT_Buffer_Type_F8E4M3B11FNUZ] = HALO_F8E4M3B11FNUZ,
    [PJRT_Buffer_Type_F8E5M2FNUZ] = HALO_F8E5M2FNUZ,
    [PJRT_Buffer_Type_F8E4M3FNUZ] = HALO_F8E4M3FNUZ,
    [PJRT_Buffer_Type_S4] = HALO_S4,
    [PJRT_Buffer_Type_U4] = HALO_U4,
    [PJRT_Buffer_Type_TOKEN] = HALO_TOKEN,
    [PJRT_Buffer_Type_S2] = HALO_S2,
    [PJRT_Buffer_Type_U2] = HALO_U2,
    [PJRT_Buffer_Type_F8E4M3] = HALO_F8E4M3,
    [PJRT_Buffer_Type_F8E3M4] = HALO_F8E3M4,
    [PJRT_Buffer_Type_F8E8M0FNU] = HALO_F8E8M0FNU,
    [PJRT_Buffer_Type_F4E2M1FN] = HALO_F4E2M1FN,
    [PJRT_Buffer_Type_S1] = HALO_S1,
    [PJRT_Buffer_Type_U1] = HALO_U1,
};
enum { TYPES_COUNT = sizeof types_to_halo / sizeof types_to_halo[0] };

halo_type pjrt_type_to_halo(PJRT_Buffer_Type type) {
  unsigned number = (unsigned)type;
  return number < TYPES_COUNT ? types_to_halo[number] : HALO_TYPE_INVALID;
}

PJRT_Buffer_Type pjrt_type_from_halo(halo_type type) {
  for (unsigned i = 1; i < TYPES_COUNT; i++) {
    if (types_to_halo[i] == type) return (PJRT_Buffer_Type)i;
  }
  return PJRT_Buffer_Type_INVALID;
}

/* ---- Narrow types ---- */

bool pjrt_type_differs(halo_type type) {
  return type == HALO_S4 || type == HALO_S2 || type == HALO_S1;
}

bool pjrt_type_needs_widening(halo_type type, const void *elements, size_t count) {
  const uint8_t *at = elements;
  uint8_t bits = 0;
  if (type != HALO_PRED) return pjrt_type_differs(type);
  for (size_t i = 0; i < count; i++) bits |= at[i];
  return bits > 1;
}

static void types_truths(uint8_t *at, size_t count) {
  for (size_t i = 0; i < count; i++) at[i] = at[i] != 0;
}

void pjrt_type_widen(halo_type type, void *elements, size_t count) {
  if (type == HALO_PRED) {
    types_truths(elements, count);
    return;
  }
  if (!pjrt_type_differs(type)) return;
  uint8_t *at = elements, sign = (uint8_t)(1 << (halo_type_bits(type) - 1));
  uint8_t mask = (uint8_t)(2 * sign - 1);
  for (size_t i = 0; i < count; i++) at[i] = (uint8_t)(((at[i] & mask) ^ sign) - sign);
}

void pjrt_type_narrow(halo_type type, void *elements, size_t count) {
  uint8_t *at = elements, mask = (uint8_t)((1 << halo_type_bits(type)) - 1);
  for (size_t i = 0; i < count; i++) at[i] &= mask;
}

/* ---- Shapes ---- */

/* The order of dimensions from the fastest varying one on, of strides in bytes: they must be those of a dense
 * array in some order. */
static bool types_order_of_strides(const int64_t *strides, const int64_t *dims, size_t rank,
                                   size_t element, int32_t *order) {
  bool taken[64] = {false};
  int64_t expected = (int64_t)element;
  for (size_t i = 0; i < rank; i++) {
    size_t found = rank;
    /* Of dimensions with one stride, those of one element come first, and of these the last. */
    for (size_t d = rank; d-- > 0 && found == rank;) {
      if (!taken[d] && strides[d] == expected && dims[d] == 1) found = d;
    }
    for (size_t d = rank; d-- > 0 && found == rank;) {
      if (!taken[d] && strides[d] == expected) found = d;
    }
    if (found == rank) return false;
    taken[found] = true;
    order[i] = (int32_t)found;
    expected *= dims[found];
  }
  return true;
}

static PJRT_Error *types_order(const PJRT_Buffer_MemoryLayout *layout, const int64_t *dims,
                               size_t rank, size_t element, int32_t *order) {
  bool strides = layout->type == PJRT_Buffer_MemoryLayout_Type_Strides;
  if (rank && !(strides ? layout->strides.byte_strides : layout->tiled.minor_to_major)) {
    return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT,
                      "a layout whose order of dimensions is NULL");
  }
  if (strides) {
    if (layout->strides.num_byte_strides == rank &&
        types_order_of_strides(layout->strides.byte_strides, dims, rank, element, order)) {
      return NULL;
    }
    return pjrt_error(PJRT_Error_Code_UNIMPLEMENTED,
                      "a layout on the device must be dense: these strides are not");
  }
  if (layout->tiled.num_tiles) {
    return pjrt_error(PJRT_Error_Code_UNIMPLEMENTED, "tiled layouts are not supported");
  }
  if (layout->tiled.minor_to_major_size != rank) {
    return pjrt_error(
        PJRT_Error_Code_INVALID_ARGUMENT, "a layout of %zu dimension%s for an array of %zu",
        layout->tiled.minor_to_major_size, layout->tiled.minor_to_major_size == 1 ? "" : "s", rank);
  }
  for (size_t i = 0; i < rank; i++) order[i] = (int32_t)layout->tiled.minor_to_major[i];
  return NULL;
}

PJRT_Error *pjrt_shape_create(PJRT_Buffer_Type type, const int64_t *dims, size_t rank,
                              const PJRT_Buffer_MemoryLayout *layout, halo_shape **out) {
  int32_t order[64];
  halo_type element = pjrt_type_to_halo(type);
  if (element == HALO_TYPE_INVALID || element == HALO_TOKEN) {
    return pjrt_error(PJRT_Error_Code_UNIMPLEMENTED,
                      "arrays of the element type with the number %d are not supported", (int)type);
  }
  if (rank > sizeof order / sizeof order[0]) {
    return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "an array of %zu dimensions", rank);
  }
  if (rank && !dims) {
    return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "the extents of %zu dimensions are NULL",
                      rank);
  }
  if (!layout) return pjrt_error_of(halo_shape_create_array(element, (int)rank, dims, out));
  PJRT_PASS(types_order(layout, dims, rank, halo_type_size(element), order));
  return pjrt_error_of(halo_shape_create_array_with_layout(element, (int)rank, dims, order, out));
}

void pjrt_shape_strides(const halo_shape *shape, int64_t *strides) {
  int64_t stride = (int64_t)halo_type_size(halo_shape_type(shape));
  for (int i = 0; i < halo_shape_rank(shape); i++) {
    int d = halo_shape_minor_to_major(shape, i);
    strides[d] = stride;
    stride *= halo_shape_dim(shape, d);
  }
}
