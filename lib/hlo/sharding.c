/* SPDX-License-Identifier: Apache-2.0 */
/* hlo/sharding.c: which part of an array a sharding gives to which device. */
#include "hlo/sharding.h"

#include "base/memory.h"
#include "base/status.h"

int64_t halo_sharding_device_count(const halo_sharding *s) {
  int64_t count = 1;
  for (int32_t i = 0; i < s->tiles.count; i++) count *= s->tiles.data[i];
  return count;
}

int64_t halo_sharding_device_at(const halo_sharding *s, int64_t place) {
  if (s->devices.count) return s->devices.data[place];
  int64_t device = 0;
  for (int32_t k = s->reshape.count - 1; k >= 0; k--) {
    int64_t dim = s->transpose.count ? s->transpose.data[k] : k, stride = 1;
    for (int32_t d = s->reshape.count - 1; d > dim; d--) stride *= s->reshape.data[d];
    device += place % s->reshape.data[dim] * stride;
    place /= s->reshape.data[dim];
  }
  return device;
}

const halo_sharding *halo_sharding_leaf(const halo_sharding *s, int32_t leaf) {
  if (s->kind != HALO_SHARDING_TUPLE) return s;
  return leaf < s->element_count ? &s->elements[leaf] : NULL;
}

enum { SHARDING_MAX_DEVICES = 1 << 20 };
#define SHARDING_FAIL(...) halo_fail(HALO_INVALID_ARGUMENT, __VA_ARGS__)

/* Dimensions of `tiles` that are not of the array. */
static int32_t sharding_last_count(const halo_sharding *s) {
  return s->last_kinds.count ? s->last_kinds.count : s->replicate_last ? 1 : 0;
}

static halo_status sharding_check_distinct(const halo_sharding *s, int64_t devices) {
  unsigned char *seen = halo_alloc((size_t)devices);
  halo_status status = HALO_OK;
  for (int64_t i = 0; i < devices && status == HALO_OK; i++) {
    int64_t device = halo_sharding_device_at(s, i);
    if (device >= devices) {
      status = SHARDING_FAIL("there is no device %lld among %lld", (long long)device,
                             (long long)devices);
    } else if (seen[device]++) {
      status = SHARDING_FAIL("device %lld has two tiles", (long long)device);
    }
  }
  halo_free(seen);
  return status;
}

halo_status halo_sharding_check_array(const halo_sharding *s, int rank, int64_t devices) {
  HALO_TRY(halo_sharding_check(s));
  if (s->kind == HALO_SHARDING_MAXIMAL && s->device >= devices) {
    return SHARDING_FAIL("there is no device %lld among %lld", (long long)s->device,
                         (long long)devices);
  }
  if (s->kind != HALO_SHARDING_TILED) return HALO_OK;
  int32_t dims = s->tiles.count - sharding_last_count(s);
  if (dims != rank) {
    return SHARDING_FAIL("tiles of %d dimension%s do not fit an array of %d", dims,
                         halo_plural(dims), rank);
  }
  int64_t count = halo_sharding_device_count(s);
  if (count != devices) {
    return SHARDING_FAIL("it has %lld tile%s and there are %lld partitions", (long long)count,
                         halo_plural(count), (long long)devices);
  }
  return sharding_check_distinct(s, devices);
}

/* The place in the array of tiles that a device has; -1: none. */
static int64_t sharding_place_of(const halo_sharding *s, int64_t device) {
  int64_t count = halo_sharding_device_count(s);
  for (int64_t i = 0; i < count; i++) {
    if (halo_sharding_device_at(s, i) == device) return i;
  }
  return -1;
}

halo_status halo_sharding_piece(const halo_sharding *s, const halo_shape *shape, int64_t device,
                                int64_t *starts, int64_t *sizes) {
  if (!s || !shape || !starts || !sizes || !halo_shape_is_array(shape)) {
    return SHARDING_FAIL("halo_sharding_piece: NULL argument, or a shape that is no array");
  }
  for (int d = 0; d < shape->rank; d++) {
    starts[d] = 0;
    sizes[d] = shape->dims[d];
  }
  if (s->kind == HALO_SHARDING_TUPLE || s->kind == HALO_SHARDING_NAMED) {
    return SHARDING_FAIL(
        "halo_sharding_piece: the sharding is one of a tuple, or by axes of a mesh");
  }
  if (s->kind != HALO_SHARDING_TILED) return halo_sharding_check(s);
  HALO_TRY(halo_sharding_check(s));
  int64_t devices = halo_sharding_device_count(s);
  if (devices > SHARDING_MAX_DEVICES) return SHARDING_FAIL("a sharding over too many devices");
  HALO_TRY(halo_sharding_check_array(s, shape->rank, devices));
  int64_t place = sharding_place_of(s, device);
  if (place < 0)
    return SHARDING_FAIL("the sharding does not speak of device %lld", (long long)device);
  for (int32_t d = s->tiles.count - 1; d >= 0; d--) {
    int64_t tiles = s->tiles.data[d], tile = place % tiles;
    place /= tiles;
    if (d >= shape->rank) continue;
    sizes[d] = (shape->dims[d] + tiles - 1) / tiles;
    starts[d] = tile * sizes[d];
  }
  return HALO_OK;
}
