/* SPDX-License-Identifier: Apache-2.0 */
/* client/sizes.c: the run-time sizes of a buffer's dynamic dimensions, each an s32 scalar on the device. */
#include "base/memory.h"
#include "client/client.h"

static const halo_shape sizes_scalar = {.type = HALO_S32};

static halo_status sizes_put_one(halo_device *device, int32_t size, halo_device_value **out) {
  halo_cl_block *block;
  HALO_TRY(halo_cl_alloc(device->cl, sizeof size, "a size", &block));
  *out = halo_device_value_create(device->cl, block, NULL);
  return halo_transfer_in(block, &sizes_scalar, (halo_host_array){&size, NULL}, NULL);
}

halo_status halo_sizes_put(halo_device *device, const halo_shape *shape, const int64_t *extents,
                           halo_device_value ***out) {
  int32_t count = halo_shape_dynamic_count(shape), next = 0;
  halo_status status = HALO_OK;
  *out = NULL;
  if (count == 0) return HALO_OK;
  halo_device_value **sizes = halo_alloc(sizeof *sizes * (size_t)count);
  for (int d = 0; d < shape->rank && status == HALO_OK; d++) {
    if (!halo_shape_dim_is_dynamic(shape, d)) continue;
    int64_t size = extents ? extents[d] : shape->dims[d];
    if (size > INT32_MAX) {
      status = halo_fail(HALO_INVALID_ARGUMENT,
                         "the size of dynamic dimension %d, %lld, does not "
                         "fit s32",
                         d, (long long)size);
    } else {
      status = sizes_put_one(device, (int32_t)size, &sizes[next++]);
    }
  }
  if (status == HALO_OK) {
    *out = sizes;
  } else {
    halo_sizes_release(shape, sizes);
  }
  return status;
}

halo_status halo_sizes_across(const halo_shape *shape, halo_device_value *const *sizes,
                              halo_cl_device *device, halo_device_value ***out) {
  int32_t count = halo_shape_dynamic_count(shape);
  halo_status status = HALO_OK;
  *out = NULL;
  if (count == 0) return HALO_OK;
  halo_device_value **copies = halo_alloc(sizeof *copies * (size_t)count);
  for (int32_t i = 0; i < count && status == HALO_OK; i++) {
    status = halo_transfer_across(sizes[i], sizeof(int32_t), device, "a size", &copies[i]);
  }
  if (status == HALO_OK) {
    *out = copies;
  } else {
    halo_sizes_release(shape, copies);
  }
  return status;
}
