/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/dot.c: the type of sums of products. */
#include "hlo/dot.h"

halo_type halo_dot_accumulator(halo_type result) {
  switch (halo_type_class_of(result)) {
    case HALO_CLASS_FLOAT: return result == HALO_F64 ? HALO_F64 : HALO_F32;
    case HALO_CLASS_SINT: return halo_type_size(result) == 8 ? HALO_S64 : HALO_S32;
    case HALO_CLASS_UINT: return halo_type_size(result) == 8 ? HALO_U64 : HALO_U32;
    case HALO_CLASS_PRED:
    case HALO_CLASS_COMPLEX:
    case HALO_CLASS_OTHER: break;
  }
  return result;
}
