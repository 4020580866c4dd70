/* SPDX-License-Identifier: Apache-2.0 */
/* pjrt/descriptions.c: what is known of devices' memories before there are any buffers: kinds, and how arrays lie. */
#include "pjrt/pjrt.h"

#include <stdlib.h>
#include <string.h>

/* ---- Kinds of memory ---- */

struct PJRT_MemoryDescription {
  pjrt_memory_kind kind;
};

static const PJRT_MemoryDescription descriptions_kinds[] = {
    {PJRT_MEMORY_DEVICE}, {PJRT_MEMORY_PINNED_HOST}, {PJRT_MEMORY_UNPINNED_HOST}};
static const PJRT_MemoryDescription *const descriptions_list[PJRT_MEMORY_KINDS] = {
    &descriptions_kinds[0], &descriptions_kinds[1], &descriptions_kinds[2]};
static const int descriptions_ids[PJRT_MEMORY_KINDS] = {PJRT_MEMORY_DEVICE, PJRT_MEMORY_PINNED_HOST,
                                                        PJRT_MEMORY_UNPINNED_HOST};

/* Also of devices of other processes. */
static size_t descriptions_count(const PJRT_DeviceDescription *description) {
  static const char shared[] = "shares_host_memory";
  for (size_t i = 0; i < description->attribute_count; i++) {
    const PJRT_NamedValue *value = &description->attributes[i];
    bool found = value->name_size == sizeof shared - 1 &&
                 memcmp(value->name, shared, sizeof shared - 1) == 0;
    if (found) return value->int64_value ? PJRT_MEMORY_KINDS : 1;
  }
  return 1;
}

static PJRT_Error *descriptions_of_device(PJRT_DeviceDescription_MemoryDescriptions_Args *args) {
  if (!args || !args->device_description) {
    return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "the description of the device is NULL");
  }
  args->memory_descriptions = descriptions_list;
  args->num_memory_descriptions = descriptions_count(args->device_description);
  args->default_memory_index = 0;
  return NULL;
}

static PJRT_Error *descriptions_kind(PJRT_MemoryDescription_Kind_Args *args) {
  if (!args || !args->memory_description) {
    return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "the description of the memory is NULL");
  }
  args->kind = pjrt_memory_kind_name(args->memory_description->kind);
  args->kind_size = strlen(args->kind);
  args->kind_id = (int)args->memory_description->kind;
  return NULL;
}

PJRT_MemoryDescriptions_Extension pjrt_descriptions_extension = {
    .base = {.struct_size = sizeof pjrt_descriptions_extension,
             .type = PJRT_Extension_Type_MemoryDescriptions,
             .next = &pjrt_layouts_extension.base},
    .descriptions = descriptions_of_device,
    .kind = descriptions_kind};

/* Those that all devices of the topology have. */
static size_t descriptions_of_topology(const PJRT_TopologyDescription *topology) {
  size_t least = PJRT_MEMORY_KINDS;
  for (size_t i = 0; i < topology->count; i++) {
    size_t count = descriptions_count(topology->descriptions[i]);
    if (count < least) least = count;
  }
  return least;
}

PJRT_Error *pjrt_TopologyDescription_GetMemorySpaceKindIds(
    PJRT_TopologyDescription_GetMemorySpaceKindIds_Args *args) {
  args->memory_space_kind_ids = descriptions_ids;
  args->num_memory_space_kind_ids = descriptions_of_topology(args->topology);
  return NULL;
}

/* ---- How arrays lie ---- */

/* A ShapeProto. The numbers of element types are the library's. */
static void descriptions_write_shape(pjrt_writer *out, const halo_shape *shape) {
  enum { SHAPE_TYPE = 2, SHAPE_DIMS = 3, SHAPE_LAYOUT = 5, SHAPE_DYNAMIC = 6, LAYOUT_ORDER = 1 };
  int64_t dims[64], order[64], fixed[64] = {0};
  size_t rank = (size_t)halo_shape_rank(shape);
  pjrt_writer layout = {0};
  for (size_t d = 0; d < rank; d++) {
    dims[d] = halo_shape_dim(shape, (int)d);
    order[d] = halo_shape_minor_to_major(shape, (int)d);
  }
  pjrt_write_number(out, SHAPE_TYPE, (uint64_t)halo_shape_type(shape));
  pjrt_write_packed(out, SHAPE_DIMS, dims, rank);
  pjrt_write_packed(&layout, LAYOUT_ORDER, order, rank);
  pjrt_write_bytes(out, SHAPE_LAYOUT, layout.data, layout.size);
  pjrt_write_packed(out, SHAPE_DYNAMIC, fixed, rank);
  pjrt_writer_deinit(&layout);
}

static void descriptions_free(const char *shape) { free((char *)shape); }

/* All kinds of memory have arrays in the layout that is asked for, or row-major. */
PJRT_Error *pjrt_TopologyDescription_MakeCanonicalShapeForMemorySpace(
    PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args *args) {
  halo_shape *shape;
  pjrt_writer out = {0};
  int kind = args->memory_space_kind_id;
  if (kind < 0 || (size_t)kind >= descriptions_of_topology(args->topology)) {
    return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "the devices have no memory of the kind %d",
                      kind);
  }
  PJRT_PASS(
      pjrt_shape_create(args->element_type, args->dims, args->num_dims, args->layout, &shape));
  descriptions_write_shape(&out, shape);
  halo_shape_release(shape);
  args->serialized_shape = (char *)out.data;
  args->serialized_shape_size = out.size;
  args->serialized_shape_deleter = descriptions_free;
  return NULL;
}
