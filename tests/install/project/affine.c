/* SPDX-License-Identifier: Apache-2.0 */
#include "affine.h"

halo_module *affine_module(int64_t count) {
  halo_shape *shape = NULL;
  halo_module *module = NULL;
  if (halo_shape_create_array(HALO_F32, 1, &count, &shape) != HALO_OK) return NULL;
  halo_builder *b = halo_builder_create("affine");
  halo_op x = halo_parameter(b, 0, shape, "x");
  halo_op y = halo_add(halo_mul(x, halo_constant_f32(b, 3)), halo_constant_f32(b, 1));
  if (halo_builder_build(b, y, &module) != HALO_OK) module = NULL;
  halo_builder_release(b);
  halo_shape_release(shape);
  return module;
}
